"""The logs that come along are the project's own runs: all of them are understood, and come out as they were started."""

from importlib.resources import files
from pathlib import Path

import pytest

import scalelens
from asking import answer, ask
from scalelens.cli.demo import demo
from scalelens.database import views
from scalelens.ingestion.ingest import ingest

LOGS = Path(str(files("scalelens") / "demo" / "logs"))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "w"
    ingest([LOGS], folder, jobs=1)
    return folder


def test_every_file_is_understood(warehouse: Path) -> None:
    connection = scalelens.connect(warehouse)
    assert connection.execute("SELECT path, status FROM files WHERE status NOT IN ('ok', 'document')").fetchall() == []
    assert connection.execute("SELECT * FROM problems").fetchall() == []


def test_each_folder_is_one_run_with_its_traces(warehouse: Path) -> None:
    rows = (
        scalelens.connect(warehouse)
        .execute("SELECT name, devices, outcome, precision FROM runs ORDER BY name")
        .fetchall()
    )
    folders = sorted(folder.name for folder in LOGS.iterdir() if folder.is_dir())
    assert [row[0] for row in rows] == folders
    for name, devices, outcome, precision in rows:
        assert (devices, outcome, precision) == (int(name[-1]), "completed", "bf16" if "bf16" in name else "fp32")


def test_runs_come_out_weak_and_strong_as_they_were_started(warehouse: Path) -> None:
    rows = scalelens.query("scaling", warehouse)
    found = {(row["model"], row["scaling"], row["precision"], row["devices"]) for row in rows.iter_rows(named=True)}
    series = {
        ("resnet50", "weak", "fp32"), ("resnet50", "strong", "fp32"), ("resnet50", "weak", "bf16"),
        ("gpt-toy", "weak", "fp32"), ("gpt-toy", "strong", "fp32"),
    }  # fmt: skip
    assert found == {(*one, devices) for one in series for devices in (1, 2)}
    for row in rows.filter(rows["devices"] == 1).iter_rows(named=True):
        assert row["efficiency"] == pytest.approx(1)


def test_every_step_of_every_rank(warehouse: Path) -> None:
    steps = answer(
        warehouse,
        "SELECT r.name, s.rank, count(*), count(DISTINCT step), max(step) FROM steps s JOIN runs r USING (run_id) GROUP BY ALL"
    ).fetchall()  # fmt: skip
    for name, rank, records, distinct, last in steps:
        assert records == distinct == last == 50, (name, rank)
    assert len(steps) == sum(int(folder.name[-1]) for folder in LOGS.iterdir() if folder.is_dir())


def test_the_demo_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(tmp_path / "out")
    for name in ("scaling.pdf", "scaling.png"):
        assert (tmp_path / "out" / name).stat().st_size > 5_000
    assert "weak" in capsys.readouterr().out


@pytest.mark.parametrize("query", ["batch_stats", "scaling", "runs_overview"])
def test_what_is_small_is_answered_as_what_is_large(
    warehouse: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small segments are read into tables, and asked in one thread."""
    small = ask(warehouse, query)
    monkeypatch.setattr(views, "SMALL_BYTES", -1)
    assert small.equals(ask(warehouse, query))
    assert small.height
