"""Answers of large warehouses: some runs at a time, and in pieces.  They are those of a small warehouse."""

import io
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scalelens
from asking import ask, ask_sql
from command_line import Run
from scalelens import ending
from scalelens.cli import pieces
from scalelens.database import connect, execute
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load
from scalelens.question import by_run, once, session
from scalelens.question.question import Question
from spread import spread

FIXTURES = Path(__file__).parent / "fixtures"
READ = (
    "flight_recorder", "jpwr", "kineto", "megatron", "megatron_straggler", "mllog", "mlperf_power", "nccl_inspector",
    "nccl_ras", "nccl_tests", "nsys_sqlite", "nvidia_smi",
)  # fmt: skip
BY_RUN = [name for name, query in sorted(load().items()) if query.is_by_run]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of some dozens of runs, written in several batches."""
    home = tmp_path_factory.mktemp("several")
    ingest([Path(scalelens.__file__).parent / "demo" / "logs"], home)
    for half in (READ[::2], READ[1::2]):
        ingest([FIXTURES / name for name in half], home)
    return home


@pytest.fixture
def as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes any warehouse a large one, with few rows in a group and in a piece."""
    monkeypatch.setattr(session, "LARGE_BYTES", 0)
    monkeypatch.setattr(by_run, "GROUP_ROWS", 8000)  # three groups of the runs of `several`
    monkeypatch.setattr(by_run, "LIGHT_GROUP_ROWS", 8000)
    monkeypatch.setattr(execute, "PIECE_ROWS", 2048)  # as many as DuckDB gives at once


@cache
def session_of(home: Path) -> session.Session:
    """One connection for all questions: to open one takes longer than most answers."""
    return session.Session(home)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers but for the last bits: sums depend on the order of what is summed."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if k % 16 == 0 else pytest.mark.slow) for k, name in enumerate(BY_RUN)]
)
def test_runs_asked_apart_say_what_all_at_once_say(several: Path, name: str, request: pytest.FixtureRequest) -> None:
    at_once = session_of(several).ask(Question(name)).frame
    request.getfixturevalue("as_large")
    apart = ask(several, name)
    assert apart.schema == at_once.schema
    assert same([*map(list, apart.rows())], [*map(list, at_once.rows())])


def test_groups_hold_each_run_once_and_all_its_batches(several: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = []
    monkeypatch.setattr(by_run, "GROUP_ROWS", 2000)
    groups_of = by_run.groups_of

    def noted(*given: Any) -> Any:
        pieces.extend(groups_of(*given))
        return pieces

    monkeypatch.setattr(by_run, "groups_of", noted)
    monkeypatch.setattr(session, "LARGE_BYTES", 0)
    ask(several, "elbow")
    runs = [{*group.tables["members"]["run_id"].to_pylist()} for group in pieces]
    assert len(groups_of_runs := [group for group in runs if group]) > 2
    assert sum(map(len, groups_of_runs)) == len(set().union(*runs)) == ask(several, "runs_overview").height
    for group in pieces:
        contents = {*group.tables["members"]["file_id"].to_pylist()}
        assert all(contents.intersection(batch.contents) for batch in group.batches)
        assert contents <= {content for batch in group.batches for content in batch.contents} | unread(group)


def unread(group: Any) -> set[str]:
    """Contents without rows: no batch has them."""
    files = group.tables["files"].to_pylist()
    return {file["file_id"] for file in files if not file["rows"]}


@pytest.mark.usefixtures("as_large")
def test_a_condition_may_be_about_all_runs(several: Path) -> None:
    """It would select others, were it asked of each group."""
    many = "devices > (SELECT avg(devices) FROM runs)"
    expected = "FROM elbow() WHERE run_id IN (SELECT run_id FROM runs WHERE {}) ORDER BY run_id"
    found = ask(several, "elbow", {"runs": many})["run_id"].to_list()
    assert found == ask_sql(several, expected.format(many))["run_id"].to_list()
    assert found


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("rows", ["FROM steps ORDER BY ALL", "SELECT 1 AS a WHERE false"])
def test_what_is_printed_in_parts_is_the_whole(
    several: Path, run: Run, monkeypatch: pytest.MonkeyPatch, rows: str, format: str
) -> None:
    whole = run("sql", rows, "-w", several, "--format", format).out
    monkeypatch.setattr(pieces, "PART_ROWS", 7)
    assert run("sql", rows, "-w", several, "--format", format).out == whole


@pytest.mark.usefixtures("as_large")
def test_no_run_is_selected(several: Path) -> None:
    assert ask(several, "elbow", {"runs": "devices = 12345"}).height == 0
    with pytest.raises(UserError, match="nonsense"):
        ask(several, "elbow", {"runs": "nonsense > 3"})


@pytest.mark.usefixtures("as_large")
def test_refined_answers_and_queries_of_a_user_are_asked_at_once(several: Path, tmp_path: Path) -> None:
    """A row may be chosen among those of all runs, and a user's query may replace one that ours reads."""
    assert ask(several, "elbow", select="count(*) AS n FROM {}")["n"].to_list() == [ask(several, "elbow").height]
    (tmp_path / "elbow.sql").write_text(
        "-- Mine.\n--\n-- Answers: How many?\n--\n-- Partition: run_id\n--\n-- Sources: members\n--\n"
        "-- Columns:\n--   n    BIGINT    members\nSELECT count(*) AS n FROM members"
    )
    rows = ask(several, "elbow", folders=(tmp_path,))
    assert rows.height == 1


def test_another_partition_is_refused(several: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text(
        "-- Mine.\n--\n-- Answers: How many?\n--\n-- Partition: system\n--\n-- Sources: members\n--\n"
        "-- Columns:\n--   n    BIGINT    members\nSELECT count(*) AS n FROM members"
    )
    with pytest.raises(UserError, match="'Partition:' is not run_id"):
        ask(several, "mine", folders=(tmp_path,))


MANY = "SELECT i, i / 8 AS part, CASE WHEN i % 1000 = 0 THEN '=' || i END AS text, to_days(i::INTEGER) AS i FROM range(9000) r(i)"
STATEMENTS = (MANY, f"{MANY} LIMIT 0", "/* nothing */", "SELECT 1 AS one", "SELECT * FROM runs ORDER BY run_id")
PRINTED = [(shape, statement) for shape in ("csv", "json", "table") for statement in STATEMENTS]


@pytest.mark.parametrize("shape_of", spread(PRINTED, lambda one: f"{one[0]}/{STATEMENTS.index(one[1])}", "pieces"))
def test_pieces_are_printed_as_one_answer(
    several: Path, run: Run, shape_of: tuple[str, str], request: pytest.FixtureRequest
) -> None:
    shape, statement = shape_of
    command = ("sql", statement, "-w", several, "--format", shape)
    whole = run(*command)
    request.getfixturevalue("as_large")
    in_pieces = run(*command)
    assert (in_pieces.code, in_pieces.out, in_pieces.err) == (whole.code, whole.out, whole.err)
    if shape == "json":
        json.loads(in_pieces.out)


@pytest.mark.usefixtures("as_large")
def test_pieces_are_pieces_and_become_one_parquet_file(
    several: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [piece.num_rows for piece in session.ask(several, Question(sql=MANY)).pieces]
    assert len(pieces) > 3
    assert sum(pieces) == 9000
    path = tmp_path / "rows.parquet"
    with path.open("w") as file:
        monkeypatch.setattr("sys.stdout", file)
        from scalelens.cli.output import Format
        from scalelens.cli.pieces import show_pieces

        assert show_pieces(session.ask(several, Question(sql=MANY)).pieces, Format.parquet) == 9000
    assert pl.read_parquet(path).equals(ask_sql(several, MANY))


@pytest.mark.usefixtures("as_large")
def test_a_page_of_an_answer_may_lie_in_two_pieces(several: Path) -> None:
    page, rows_in_all = session.ask(several, Question(sql=MANY)).part(2000, 500)
    assert (page.table["i"].to_pylist(), rows_in_all) == ([*range(2000, 2500)], 9000)


@pytest.mark.usefixtures("as_large")
def test_a_fault_in_a_later_piece_is_one_sentence(several: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = "SELECT CASE WHEN i = 8999 THEN error('here') ELSE i END AS i FROM range(9000) r(i)"
    printed = run("sql", failing, "-w", several, "--format", "json")
    assert printed.code == 2
    assert "here" in printed.err
    assert "Traceback" not in printed.err
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
    assert run("sql", failing, "-w", several, "--format", "parquet").out == ""


@pytest.mark.usefixtures("as_large")
def test_the_first_rows_are_shown_and_all_are_counted(
    several: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalelens.cli.pieces.ROWS_LOOKED_AT", 3000)
    shown = run("sql", MANY, "-w", several, "--format", "table")
    assert "8,000 more rows" in shown.err
    (tmp_path / "many.sql").write_text(
        "-- Mine.\n--\n-- Answers: Which numbers?\n--\n-- Sources: members\n--\n"
        "-- Columns:\n--   i    BIGINT    number\nSELECT i FROM range(9000) r(i)"
    )
    shown = run("query", "many", "-w", several, "--format", "table", "--queries", tmp_path)  # it has no glance
    assert "8,000 more rows" in shown.err
    pieces = list(session.ask(several, Question("batch_cdf")).pieces)
    assert pl.concat(map(execute.as_frame, pieces)).height == ask(several, "batch_cdf").height


@pytest.mark.usefixtures("as_large")
def test_a_command_that_asks_once_keeps_no_connection_of_a_group(
    several: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(connect, "KEPT", kept)
    monkeypatch.setattr(ending, "is_near", True)
    assert len(ask(several, "batch_stats"))
    assert not kept, "each would hold what its group was read into, until the process ends"
    assert len(ask_sql(several, "FROM runs"))
    assert len(kept) == 1


def test_a_table_of_rows_is_not_asked_again_for_each_group(several: Path) -> None:
    table = FIXTURES / "queries" / "what_if_operations.csv"
    rows = ask(several, "what_if", {"operations": f"read_csv('{table}')"}, unsafe=True)
    assert rows.height == rows.unique().height > 0


@pytest.mark.parametrize("name", [name for name, query in load().items() if query.is_unordered])
def test_a_table_of_all_runs_has_the_rows_of_some(several: Path, name: str) -> None:
    of_some = Question(name, parameters={"runs": "devices > (SELECT avg(devices) FROM runs)"})
    with session.Session(several) as opened:
        alone = opened.ask(of_some).frame
        opened.share(Question(name), Question(name))
        (table,) = opened.helpers.tables.values()
        from_table = opened.ask(of_some).frame
        assert alone.height and same([*map(list, from_table.sort("*").rows())], [*map(list, alone.sort("*").rows())])
        opened.connection.execute(f"DELETE FROM {table}")
        assert not opened.ask(of_some).frame.height


def test_a_helper_reads_the_table_of_all_runs_for_those_that_it_looks_for(several: Path) -> None:
    with session.Session(several) as opened:
        opened.share(*(Question(name) for name in ("batch_stats", "batch_stats", "exclusions", "elbow")))
        made = [use.name for use in opened.helpers.tables]
        assert made.index("selected_steps") < made.index("batch_stats")
        expected = session_of(several).ask(Question("batch_stats")).frame
        assert same([*map(list, opened.ask(Question("batch_stats")).frame.rows())], [*map(list, expected.rows())])


@pytest.mark.parametrize(("most", "is_made"), [(1 << 20, True), (2, False)])
def test_a_table_is_made_for_one_question_of_all_runs_and_one_of_some(
    several: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_made: bool
) -> None:
    monkeypatch.setattr(once, "MANY_STEPS", most)
    with session.Session(several) as opened:
        opened.share(Question("batch_stats"), Question("exclusions"))
        assert ("selected_steps" in {use.name for use in opened.helpers.tables}) == is_made
        expected = session_of(several).ask(Question("batch_stats")).frame
        assert same([*map(list, opened.ask(Question("batch_stats")).frame.rows())], [*map(list, expected.rows())])
