"""Old names answer for one version: of modules in users' formats, of columns in users' SQL, queries and charts."""

import csv
import io
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from command_line import Run
from little_warehouse import FIXTURES, QUERIES, Warehouse, little_warehouse
from scalelens import charts
from scalelens.charts import load as charts_of
from scalelens.ingestion.ingest import ingest
from scalelens.old_names import OLD_COLUMNS, OLD_NAMES, keep_old_names
from scalelens.question.once import SharedHelpers
from test_queries import ADDED, ARGUMENTS

# Modules and what they define

OLD_FORMAT = """'''An old format.'''
import re
from scalelens.parsing import lines
from scalelens.parsing.line_times import line_time
from scalelens.parsing.lines import Line

VERSION = 1
ANCHORS = ("step ",)
LINE = re.compile(r"(.+?) step ([0-9]+)")


class Reader:
    claims = None

    def __init__(self, rows):
        self.rows = rows

    def take(self, line: Line):
        assert isinstance(line, lines.Line)
        found = LINE.fullmatch(line.text)
        ts = line_time(found[1], line, self.rows)
        self.rows.add("steps", line.number, place=line.place, step=int(found[2]), ts=ts)
        return True
"""


@pytest.mark.parametrize(("kind", "old"), [(kind, old) for kind, names in OLD_NAMES.items() for old in names])
def test_an_old_name_leads_to_what_has_a_new_one(kind: str, old: str) -> None:
    keep_old_names(kind)
    assert pkgutil.resolve_name(old) is pkgutil.resolve_name(OLD_NAMES[kind][old])


def test_a_format_with_old_names_reads_as_before(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(OLD_FORMAT)
    code = (
        "import sys; from pathlib import Path; from scalelens.ingestion.formats import load; "
        "from scalelens.parsing.dispatch import LineDispatcher; from scalelens.parsing.rows import Rows; "
        "rows = Rows('', lambda table, batch: print(table, batch.to_pylist()[0])); "
        "old = [f for f in load((Path(sys.argv[1]),)).of_lines if f.__name__.endswith('.old')]; "
        "LineDispatcher(old, rows).read([b'node7: 2026-01-02T03:04:05 step 12\\n']); rows.flush()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("steps ") and "problems" not in done.stdout
    assert "'place': 'node7'" in done.stdout and "'step': 12" in done.stdout and "2026, 1, 2, 3, 4, 5" in done.stdout


# Columns

PAIRS = [(query, old, new) for query, names in OLD_COLUMNS.items() for old, new in names.items()]


@pytest.fixture
def little() -> Warehouse:
    return little_warehouse()


def called(query: str) -> str:
    return f"{query}({ARGUMENTS.get(query, '')})"


def macros_in_place(warehouse: Warehouse) -> list[Any]:
    """The queries in whose place there is another macro."""
    return warehouse.column(
        "SELECT function_name FROM duckdb_functions() WHERE function_type = 'table_macro' AND schema_name = 'main' "
        f"AND database_name = current_database() AND function_name IN ({', '.join(map(repr, QUERIES))})"
    )


def old_value(old: str, value: Any) -> Any:
    return " ".join(value) if old == "rules" and value is not None else value


@pytest.mark.parametrize(("query", "old", "new"), PAIRS)
def test_sql_with_an_old_column_has_its_rows(little: Warehouse, query: str, old: str, new: str) -> None:
    if query in ADDED:
        ADDED[query](little)
    columns = {column.name for column in QUERIES[query].columns}
    assert new in columns and old not in columns
    rows = little.ask(f"SELECT {new}, {old} FROM {called(query)} WHERE {old} IS NULL OR {old} IS NOT NULL")
    with (FIXTURES / f"{query}.csv").open(encoding="utf-8") as golden:
        assert rows and len(rows) == len([*csv.DictReader(golden)])
    assert [row[old] for row in rows] == [old_value(old, row[new]) for row in rows]


def test_all_old_columns_in_one_statement(little: Warehouse) -> None:
    ADDED["ablation"](little)  # the others of these queries have rows without more
    counts = [
        f"(SELECT count(*) FROM (SELECT {', '.join(names)} FROM {called(query)})) AS {query}"
        for query, names in OLD_COLUMNS.items()
    ]
    (row,) = little.ask(f"SELECT {', '.join(counts)}")
    assert len(row) == len(OLD_COLUMNS) and all(row.values())


def test_other_sql_has_the_columns_of_the_header_alone(little: Warehouse) -> None:
    """Also after a question with an old name, and where the word is in a text or comment or the user's own name."""
    helpers = SharedHelpers(little.connection, QUERIES)
    columns = [column.name for column in QUERIES["scaling"].columns]
    helpers.share("SELECT warning FROM scaling()")
    assert {*macros_in_place(little)} - helpers.spared == {"scaling"}
    for statement in (
        "FROM scaling()",
        "FROM scaling() WHERE note <> 'warning' -- no warning",
        "SELECT * RENAME (note AS warning) FROM scaling()",
    ):
        helpers.share(statement)
        assert not {*macros_in_place(little)} - helpers.spared
        names = [column[0] for column in little.connection.execute(statement).description or ()]
        assert names == [name if "RENAME" not in statement or name != "note" else "warning" for name in columns]
    helpers.forget()
    assert macros_in_place(little) == []


def test_a_helper_that_is_shared_has_its_old_columns(little: Warehouse) -> None:
    statement = "SELECT a.place_in_run FROM selected_steps() AS a JOIN selected_steps() AS b USING (run_id, line)"
    helpers = SharedHelpers(little.connection, QUERIES)
    helpers.share(statement)
    assert helpers.tables and little.connection.execute(statement).fetchall()
    helpers.share("FROM selected_steps()")
    described = little.connection.execute("DESCRIBE FROM selected_steps()").fetchall()
    assert [column[0] for column in described] == [column.name for column in QUERIES["selected_steps"].columns]
    helpers.forget()
    assert macros_in_place(little) == []


OLD_QUERY = """-- Records that count.
--
-- Answers: Which records count?
--
-- Sources: selected_steps
--
-- Columns:
--   run_id     VARCHAR      run
--   warning    VARCHAR[]    nothing
SELECT run_id, left_out AS warning FROM selected_steps() WHERE left_out IS NULL ORDER BY run_id, place_in_run
"""
OLD_PLACES = """-- Ranks and their nodes.
--
-- Answers: Where did each rank run?
--
-- Sources: steps, selected_runs
--
-- Glance: run_id rank told_by
--
-- Parameters: runs
--
-- Columns:
--   run_id     VARCHAR    run
--   rank       INTEGER    rank
--   node       VARCHAR    node
--   device     INTEGER    device
--   told_by    VARCHAR    what says so
SELECT DISTINCT run_id, rank, 'mine' AS node, rank AS device, 'me' AS told_by
FROM steps JOIN selected_runs(runs := runs) USING (run_id) ORDER BY ALL
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("old") / "w"
    ingest([Path(charts.__file__).parents[1] / "demo" / "logs"], home)
    return home


def rows_of(run: Run, *words: str | Path) -> list[dict[str, str]]:
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    return list(csv.DictReader(io.StringIO(ran.out)))


def test_a_users_query_may_use_old_columns(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.sql").write_text(OLD_QUERY)
    kept = rows_of(run, "query", "kept", "-w", home, "--queries", tmp_path)
    assert list(kept[0]) == ["run_id", "warning"]
    (counted,) = rows_of(run, "sql", "SELECT count(*) AS n FROM selected_steps() WHERE excluded_by IS NULL", "-w", home)
    assert len(kept) == int(counted["n"])
    again = rows_of(run, "sql", "SELECT run_id, warning FROM kept()", "-w", home, "--queries", tmp_path)
    assert again == kept


def test_a_users_query_in_the_place_of_ours_may_have_old_columns(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "rank_places.sql").write_text(OLD_PLACES)
    more = ("-w", home, "--queries", tmp_path)
    rows = rows_of(run, "query", "rank_places", *more)
    assert {row["source"] for row in rows} == {"me"}
    assert len(rows_of(run, "query", "rank_places", "--where", "told_by = 'me'", *more)) == len(rows)
    assert {row["node"] for row in rows_of(run, "query", "outlier_gpus", *more)} == {"mine"}
    table = run("query", "rank_places", "--format", "table", *more).out
    assert "source" in table and "told_by" not in table


@pytest.mark.parametrize("choice", [("--where", "warning IS NULL"), ("--sort", "-warning")])
def test_a_choice_of_rows_or_columns_may_name_old_columns(run: Run, home: Path, choice: tuple[str, ...]) -> None:
    rows = rows_of(run, "query", "scaling", *choice, "-w", home)
    assert rows and all(row["warning"] == row["note"] for row in rows)


OLD_CHART = '''"""Records.

Shows: records
Query: step_course
Encodings: none
Source: me
"""
QUERY = "step_course"


def draw(rows, left_out, parameters=None, page=None):
    return rows["rules"].to_list(), rows["place_in_run"].to_list(), rows["excluded_by"].to_list()
'''


def test_a_users_chart_may_read_old_columns(tmp_path: Path) -> None:
    (tmp_path / "records.py").write_text(OLD_CHART)
    chart = charts_of.find("records", [tmp_path])
    rows = pl.DataFrame({"excluded_by": [["warmup", "skipped"], None], "position_in_run": [1, 2]})
    assert chart.draw(rows, {}) == (["warmup skipped", None], [1, 2], [["warmup", "skipped"], None])
