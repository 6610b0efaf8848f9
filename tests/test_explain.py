"""`explain`: what a query computes, in the order in which a reader asks, from the header of its file."""

from pathlib import Path

import pytest

import scalelens
from command_line import Run, one_line
from little_warehouse import QUERIES
from scalelens.errors import UserError
from scalelens.queries.explain import page
from scalelens.queries.header import NOTES

ASKED = sorted(name for name, query in QUERIES.items() if not query.is_helper)

LISTINGS = {  # they show, count or add up what is recorded; whatever else is asked computes, and must explain itself
    "annotation_summary", "collective_benchmarks", "compared_runs", "compared_traces", "configuration", "contradictions",
    "differences", "exclusions", "kernel_launches", "kernel_sequences", "kernel_summary", "kernel_tree", "launch_stats",
    "memory_copies", "not_compared", "not_timed", "op_summary", "planned_runs", "power_clock", "power_over_time",
    "run_matrix", "run_names", "runs_overview", "time_to_train", "trace_diff", "trace_steps",
}  # fmt: skip
STATISTICS = sorted({*ASKED, "accuracy_curve", "model_flops"} - LISTINGS)

MINE = """\
-- Runs of one size.
--
-- Answers: Which runs are of this size?
--   Every run that says so.
--
-- Formula:
--   devices = size
--     and nothing else
--
-- Limits: only runs that say how many
--
-- Sources: runs
--
-- Parameters:
--   size := 2    devices
--
-- Columns:
--   run_id      VARCHAR      run
--   of_whom_s   DOUBLE s     a time
SELECT run_id, 1.0 AS of_whom_s FROM runs WHERE devices = size
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "of_size.sql").write_text(MINE)
    return tmp_path


def test_a_page_holds_what_the_header_says(mine: Path) -> None:
    assert scalelens.explain("of_size", queries=[mine]) == "\n\n".join([
        "of_size: Runs of one size.",
        "Definition\n  Which runs are of this size?\n  Every run that says so.",
        "Formula\n  devices = size\n    and nothing else",
        "Limits\n  only runs that say how many",
        "Parameters\n  size := 2   devices",
        "Columns\n  run_id      VARCHAR    run\n  of_whom_s   DOUBLE s   a time",
        "Reads\n  runs",
        "SQL\n  SELECT run_id, 1.0 AS of_whom_s FROM runs WHERE devices = size",
    ])  # fmt: skip


def test_the_command_prints_the_same(run: Run, mine: Path) -> None:
    ran = run("explain", "of_size", "--queries", mine)
    assert (ran.code, ran.out) == (0, scalelens.explain("of_size", queries=[str(mine)]) + "\n")


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_says_its_formula_and_its_limits(name: str) -> None:
    notes = QUERIES[name].notes
    assert {"Formula", "Limits"} <= notes.keys()
    assert list(notes) == [heading for heading in NOTES if heading in notes], "in the order of a page"
    assert all(len(text) > 20 for text in notes.values() if not text.startswith("see "))


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_has_a_page_with_its_sql(name: str) -> None:
    text = page(QUERIES[name])
    assert text.startswith(f"{name}: {QUERIES[name].title}\n\nDefinition\n")
    assert all(f"\n{heading}\n" in text for heading in (*QUERIES[name].notes, "Columns", "SQL"))
    lines = [line.strip() for line in text.splitlines()]
    assert all(line.strip() in lines for line in QUERIES[name].sql.splitlines())


def test_queries_that_a_reference_names_exist() -> None:
    for query in QUERIES.values():
        for text in query.notes.values():
            if text.startswith("see "):
                assert text.removeprefix("see ").strip(".") in QUERIES


def test_a_column_is_explained_where_it_is_returned(run: Run, mine: Path) -> None:
    text = run("explain", "hfu").out
    assert text.startswith("hfu is a column of\n  mfu.hfu   DOUBLE   hardware FLOP/s over peak")
    assert (
        scalelens.explain("of_whom_s", queries=[mine])
        == "of_whom_s is a column of\n  of_size.of_whom_s   DOUBLE s   a time"
    )


def test_a_name_that_is_nearly_one_is_suggested(run: Run) -> None:
    one_line(run("explain", "scalin"), "there is no query, format, table or column 'scalin'; did you mean scaling")
    one_line(run("explain", "MFU"), "did you mean mfu")
    one_line(run("explain", "megatorn"), "did you mean megatron")
    with pytest.raises(UserError, match="did you mean throughput"):
        scalelens.explain("througput")
    with pytest.raises(UserError, match="there are ablation, "):
        scalelens.explain("zzzzzz")


def test_queries_are_listed_by_topic_with_their_question(run: Run, mine: Path) -> None:
    names = run("queries", "--format", "table").out
    assert len(names.splitlines()) < 40 and "scaling_times, sensitivity" in " ".join(names.split())
    assert "scaling_points" not in names and "scaling_points" in run("queries", "--format", "table", "--all").out
    shown = run("queries", "scaling", "--format", "table").out
    assert (
        shown.startswith("scaling\n")
        and "How different would the efficiency be" in shown
        and "batch_stats" not in shown
    )
    one_line(run("queries", "scalin", "--format", "table"), "there is no topic 'scalin'; did you mean scaling")
    assert "Which runs are of this size?" in run("queries", "--format", "table", "--queries", mine).out


@pytest.mark.parametrize("name", ASKED)
def test_a_question_fits_a_line(name: str) -> None:
    assert QUERIES[name].question.endswith("?")
    assert len(QUERIES[name].question) <= 70
