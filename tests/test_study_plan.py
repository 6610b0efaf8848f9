"""A whole study by `scalelens bench --study`: its jobs, its plan, and what the plan says of what came back."""

import csv
import json
import subprocess
from pathlib import Path

import pytest
import typer.testing

import scalelens
from asking import answer
from command_line import app
from running import runner_module
from scalelens.bench import launching
from scalelens.bench.request import Request
from scalelens.bench.study import PRECISIONS, Study
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest

DATA = ["--data", "/data/imagenet", "--epochs", "5"]


def written(out: Path, study: Study, options: list[str] = DATA, nodes: tuple[int, ...] = (1, 2, 4)) -> list[Path]:
    return launching.write_study(Request("vision", options, account="p7"), [*nodes], "lumi", out, study=study)


def planned(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "plan.csv").open()))


def came_back(folder: Path, name: str, nodes: int, outcome: str | None = "completed", precision: str = "amp") -> None:
    """The log of a job of the study."""
    settings = {
        "framework": "pytorch",
        "model": "resnet50",
        "precision": precision,
        "nodes": nodes,
        "devices": 8 * nodes,
    }
    steps = [{"event": "step", "phase": "train", "step": k, "step_s": 0.5, "samples": 64} for k in range(1, 9)]
    events = [{"event": "run", **settings}, *steps, *([{"event": "end", "outcome": outcome}] if outcome else [])]
    lines = [f":::SCALELENS {json.dumps({'rank': 0, **event})}\n" for event in events]
    (folder / name / "rank0.log").write_text("".join(lines))


def test_a_study_has_each_precision_with_each_data_set_on_each_size(tmp_path: Path) -> None:
    *scripts, submit = written(tmp_path, Study(("fp32", "amp"), 2, Path("/data/tiny imagenet")))
    rows = planned(tmp_path)
    assert len(scripts) == len(rows) == 2 * 2 * 3 * 2
    assert [row["repeat"] for row in rows] == ["1"] * 12 + ["2"] * 12
    assert {(row["precision"], row["dataset"], row["nodes"]) for row in rows} == {
        (precision, data, str(nodes))
        for precision in ("fp32", "amp") for data in ("imagenet", "tiny imagenet") for nodes in (1, 2, 4)
    }  # fmt: skip
    for row, script in zip(rows, scripts, strict=True):
        subprocess.run(["bash", "-n", script], check=True)
        text, folder = script.read_text(), tmp_path / row["planned_run"]
        assert row["command"] == f"sbatch {script.name}" and script.name in submit.read_text()
        assert folder.is_dir() and f"#SBATCH --output={folder}/%x-%j.out\n" in text
        assert f"#SBATCH --nodes={row['nodes']}\n" in text
        data = "/data/imagenet" if row["dataset"] == "imagenet" else "'/data/tiny imagenet'"
        assert f"--out {folder} --precision {row['precision']} --data {data} --epochs 5\n" in text


def test_what_is_missing_and_the_line_that_makes_it(tmp_path: Path) -> None:
    study, warehouse = tmp_path / "study", tmp_path / "w"
    written(study, Study(("amp",), 2), [])
    assert {row["dataset"] for row in planned(study)} == {"synthetic"}
    for nodes in (1, 2):
        came_back(study, f"amp-synthetic-n{nodes}-r1", nodes)
    came_back(study, "amp-synthetic-n1-r2", 1, outcome="oom")
    came_back(study, "amp-synthetic-n2-r2", 2, outcome=None, precision="fp32")
    ingest([study], warehouse, jobs=1)
    rows = answer(warehouse, "SELECT planned_run, state, outcome, command, note FROM planned_runs()").fetchall()
    assert rows == [
        ("amp-synthetic-n1-r1", "completed", None, None, None),
        ("amp-synthetic-n2-r1", "completed", None, None, None),
        ("amp-synthetic-n4-r1", "missing", None, "sbatch vision-amp-synthetic-n4-r1.sh", None),
        ("amp-synthetic-n1-r2", "ended early", "oom", "sbatch vision-amp-synthetic-n1-r2.sh", None),
        ("amp-synthetic-n2-r2", "unclear", None, None, "its log says fp32"),
        ("amp-synthetic-n4-r2", "missing", None, "sbatch vision-amp-synthetic-n4-r2.sh", None),
    ]
    assert answer(warehouse, "SELECT count(*) FROM runs").fetchall() == [(4,)], "a plan is no run"
    assert answer(warehouse, "FROM problems").fetchall() == []
    page = tmp_path / "page.html"
    ran = typer.testing.CliRunner().invoke(app, ["report", "-w", str(warehouse), "-o", str(page)])
    assert ran.exit_code == 0, ran.output
    text = page.read_text()
    assert f"3 of 6 planned runs in {study} came back incomplete." in text
    assert "2 missing, 1 ended early. In that folder: sbatch vision-amp-synthetic-n4-r1.sh; " in text
    assert "amp-synthetic-n2-r2 is not the run that was planned: its log says fp32." in text
    for row in rows:  # what was missing comes back, and the same command reads it
        came_back(study, row[0], int(row[0].partition("-n")[2][0]))
    scalelens.ingest(study, warehouse=warehouse)
    assert answer(warehouse, "SELECT DISTINCT state FROM planned_runs()").fetchall() == [("completed",)]


def test_a_report_without_a_plan_says_nothing_of_plans(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    came_back(tmp_path, "one", 1)
    ingest([tmp_path / "one"], tmp_path / "w", jobs=1)
    page = tmp_path / "page.html"
    ran = typer.testing.CliRunner().invoke(app, ["report", "-w", str(tmp_path / "w"), "-o", str(page)])
    assert ran.exit_code == 0, ran.output
    assert "planned" not in page.read_text()


@pytest.mark.parametrize(
    ("study", "options", "sentence"),
    [
        (Study(("fp8",)), DATA, "vision has no precision 'fp8'"),
        (Study(()), DATA, "vision has no precision ''"),
        (Study(("amp",)), ["--precision", "amp"], "it cannot be combined with --precision"),
        (Study(("amp",), 3, Path("/data/tiny")), [], "--data is missing"),
        (Study(("amp",), 3, Path("/other/imagenet")), DATA, "are both called imagenet"),
    ],
)
def test_a_study_that_cannot_be_is_refused(study: Study, options: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=sentence):
        written(tmp_path / "study", study, options)
    assert not (tmp_path / "study").exists()


def test_a_study_of_the_command_line(tmp_path: Path) -> None:
    words = [
        "bench",
        "language",
        "--study",
        "--repeats",
        "1",
        "--nodes",
        "1,2",
        "--out",
        str(tmp_path / "s"),
        "--dry-run",
    ]
    ran = typer.testing.CliRunner().invoke(app, words)
    assert isinstance(ran.exception, UserError) and "--slurm is missing" in str(ran.exception)
    ran = typer.testing.CliRunner().invoke(app, [*words, "--slurm"])
    assert ran.exit_code == 0, ran.output
    assert [row["planned_run"] for row in planned(tmp_path / "s")] == [
        f"{precision}-synthetic-n{nodes}-r1" for precision in ("fp32", "bf16") for nodes in (1, 2)
    ]


@pytest.mark.parametrize("workload", PRECISIONS)
def test_a_study_knows_the_precisions_of_the_runners(workload: str) -> None:
    pytest.importorskip("megatron.core" if workload == "language" else "torch")
    module = runner_module("language") if workload == "language" else runner_module("measuring")
    own = module.PRECISIONS if workload == "language" else module.AUTOCAST
    assert PRECISIONS[workload] == tuple(own)
