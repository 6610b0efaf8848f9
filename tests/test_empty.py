"""An answer without rows says why, and what would give it some."""

from pathlib import Path

import pytest

import scalelens
from command_line import Run
from conftest import FIXTURES
from scalelens.errors import UserError
from scalelens.question.empty import reasons
from scalelens.question.question import Question
from scalelens.question.session import Session

SKIPPED = (
    " iteration {n:8d}/ 500 | consumed samples: {n:12d} | elapsed time per iteration (ms): 1000.5 | "
    "global batch size:    16 | lm loss: 1.0E+00 | number of skipped iterations:   1 | number of nan iterations:   0 |\n"
)


def warehouse_of(tmp_path: Path, text: str = "", fixture: Path | None = None) -> Path:
    logs, home = tmp_path / "logs", tmp_path / "w"
    logs.mkdir()
    name = fixture.name if fixture else "train.log"
    (logs / name).write_bytes(fixture.read_bytes() if fixture else text.encode())
    scalelens.ingest(logs, warehouse=home)
    return home


FILES = [sorted((FIXTURES / folder).glob(pattern))[0] for folder, pattern in (
    ("kineto", "*.json"), ("megatron", "*.log"), ("nvidia_smi", "*.csv"),
)]  # fmt: skip


@pytest.mark.parametrize("fixture", FILES, ids=lambda path: path.parent.name)
def test_every_query_without_rows_has_a_reason(tmp_path: Path, fixture: Path) -> None:
    with Session(warehouse_of(tmp_path, fixture=fixture)) as session:
        empty = 0
        for name, query in session.queries.items():
            try:
                is_empty = not session.ask(Question(name)).table.num_rows
            except UserError:
                continue  # it needs a parameter, and says which
            if is_empty and not query.is_helper:
                empty += 1
                found = reasons(session, Question(name))
                assert found and all(reason.reason and reason.remedy for reason in found), name
        assert empty > 10


def test_records_that_are_all_left_out_are_not_called_missing(run: Run, tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, "".join(SKIPPED.format(n=n) for n in range(1, 12)))
    for query in ("throughput", "scaling"):
        ran = run("query", query, "-w", home)
        assert (
            "1 run: every record that times a step is left out; see by which rule: scalelens query exclusions"
            in ran.err
        )


def test_a_selection_without_runs_is_named(run: Run, tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, SKIPPED.format(n=1))
    ran = run("query", "batch_stats", "runs=devices = 99", "-w", home)
    assert "no run fulfills devices = 99; see the runs with: scalelens query runs_overview" in ran.err


def test_a_warm_up_that_nothing_leaves_out_is_refused(tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, SKIPPED.format(n=1))
    with pytest.raises(
        UserError, match="exclude=none leaves nothing out, and warmup=20 leaves out the first 20 records"
    ):
        scalelens.query("batch_stats", warehouse=home, exclude="none", warmup=20)
    assert scalelens.query("batch_stats", warehouse=home, exclude="none", warmup=0)["n_steps"].to_list() == [1]
