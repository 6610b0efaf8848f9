"""Statements that create what a question reads: stored tables over their live segments, `runs` and `step_times`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from scalelens.database.inferred_params import NEEDED, keys
from scalelens.database.record_tables import LiveBatch
from scalelens.database.texts import sql_text
from scalelens.tables import ORIGINS, RUN_FACTS, SCHEMA_VERSION, STORED, Column, documented, sql_type
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import segment

_RUNS = Path(__file__).with_name("runs.sql")
STEP_TIMES = Path(__file__).with_name("step_times.sql")
SMALL_BYTES = 1 << 18  # of segments: some ten thousand rows, read in some milliseconds
# Tables that have rows besides those of the segments, and the tables of record_tables.py with these rows.
_MORE_ROWS = {"params": ("_path_params",), "problems": ("_sidecar_problems", "_copy_problems")}

# Only an MLPerf system file belongs to several runs, and it has no steps.  DuckDB sees by the GROUP BY that a part has
# one run: where a question does not ask for the run, it joins none to millions of steps.
_ONE_RUN_OF_A_PART = "(SELECT file_id, part, any_value(run_id) AS run_id FROM members GROUP BY file_id, part)"


def stored(
    table: str, warehouse: Warehouse, batches: list[LiveBatch], copies_small: bool = False, of_members: bool = False
) -> str:
    """The statement that creates a stored table: a view of its segments, or with `copies_small` a table where small.

    DuckDB plans and reads a view once for each mention, and many questions mention one several times.  A table without
    a segment is made of its columns alone.  `of_members` leaves out rows that are of no member of a run.
    """
    if copies_small and table not in _MORE_ROWS and not any(table in batch.tables for batch in batches):
        columns = ", ".join(f"{column.name} {sql_type(column)}" for column in documented()[table])
        return f"CREATE TABLE {table} ({columns})"
    kind = "TABLE" if copies_small and is_small(table, warehouse, batches) else "VIEW"
    members = _ONE_RUN_OF_A_PART if table == "steps" else "members"
    more = "".join(f" UNION ALL BY NAME FROM {others}" for others in _MORE_ROWS.get(table, ()))
    return (
        f"CREATE {kind} {table} AS SELECT m.run_id, s.file_id, s.line, s.* EXCLUDE (file_id, line, part), s.part "
        f"FROM ({_live_rows(table, warehouse, batches)}{more}) s "
        f"{'' if of_members else 'LEFT '}JOIN {members} m USING (file_id, part)"
        + (" UNION ALL BY NAME FROM _sidecar_params" if table == "params" else "")
    )


def is_small(table: str, warehouse: Warehouse, batches: list[LiveBatch]) -> bool:
    """Whether the segments of a table are small enough to be read before it is known what is asked of them."""
    left = SMALL_BYTES
    for path in (warehouse.segments / segment(table, batch.id) for batch in batches if table in batch.tables):
        if not path.exists() or (left := left - path.stat().st_size) < 0:
            return False
    return True


def _live_rows(table: str, warehouse: Warehouse, batches: list[LiveBatch]) -> str:
    """SQL for the live rows of a stored table.  A segment whose contents all count needs no filter."""
    unfiltered: list[str] = []  # segments that need no filter
    older: list[str] = []  # such segments of an older schema, which may lack columns
    selects: list[str] = []
    for batch in batches:
        if table not in batch.tables:
            continue
        path = sql_text(str(warehouse.segments / segment(table, batch.id)))
        if batch.stale:
            stale = ", ".join(map(sql_text, batch.stale))
            selects.append(f"FROM read_parquet({path}) WHERE file_id NOT IN ({stale})")
        else:
            (unfiltered if batch.schema == SCHEMA_VERSION else older).append(path)
    if older:
        selects.insert(0, f"FROM read_parquet([{', '.join(older)}], union_by_name = true)")
    if unfiltered:
        selects.insert(0, f"FROM read_parquet([{', '.join(unfiltered)}])")
    if not selects or any(batch.schema != SCHEMA_VERSION for batch in batches):
        selects.insert(0, no_rows(STORED[table]))  # has the columns that older segments lack
        return " UNION ALL BY NAME ".join(selects)
    return " UNION ALL ".join(selects)


def no_rows(columns: tuple[Column, ...]) -> str:
    """A SELECT that gives these columns and no row."""
    typed = ", ".join(f"CAST(NULL AS {sql_type(column)}) AS {column.name}" for column in columns)
    return f"SELECT {typed} WHERE false"


def step_times() -> str:
    """The statement that creates the view `step_times`."""
    return Template(STEP_TIMES.read_text(encoding="utf-8")).substitute(what="VIEW step_times", kind="", chosen="")


def step_times_macro() -> str:
    """The statement that creates the macro `_step_times_of`, which gathers the steps of some runs."""
    chosen = """ AND (
        trim(runs) = '' OR run_id IN (FROM query('SELECT run_id FROM runs WHERE true' || and_selected(runs))))
        AND (NOT of_epochs OR epoch IS NOT NULL)"""
    what = "MACRO _step_times_of(runs := '', of_epochs := false)"
    return Template(STEP_TIMES.read_text(encoding="utf-8")).substitute(what=what, kind="TABLE", chosen=chosen)


def stated_facts() -> str:
    """SQL for the facts from which devices or a batch follow, of the runs that have one: fields of a `StatedFact`."""
    needed = f"key IN {NEEDED} AND run_id IS NOT NULL"
    return (
        "SELECT run_id, key, value, TRY_CAST(value AS BIGINT), TRY_CAST(value AS DOUBLE), origin, file_id, part, line "
        f"FROM ({_chosen_params(keys())}) WHERE run_id IN (SELECT run_id FROM params WHERE {needed})"
    )


def with_inferred_params(warehouse: Warehouse, batches: list[LiveBatch], copies_small: bool, of_members: bool) -> str:
    """The statement that adds the table `_inferred_params` to `params`."""
    if copies_small and is_small("params", warehouse, batches):
        return "INSERT INTO params BY NAME FROM _inferred_params"
    view = stored("params", warehouse, batches, copies_small, of_members)
    return view.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1) + " UNION ALL BY NAME FROM _inferred_params"


def runs(labels: Mapping[str, str]) -> str:
    """The statement that creates `runs`.  `labels` are those of sidecars, with the SQL type of each.

    A table: a question names it several times, and DuckDB plans and reads a view each time anew.
    """
    facts = [fact for fact in RUN_FACTS if fact.name != "outcome"]
    return Template(_RUNS.read_text(encoding="utf-8")).substitute(
        chosen=_chosen_params([fact.name for fact in facts]),
        facts=", ".join(f"TRY_CAST(f.facts['{fact.name}'] AS {sql_type(fact)}) AS {fact.name}" for fact in facts),
        labelled="".join(
            f", TRY_CAST(max(value) FILTER (key = '{name}') AS {labels[name]}) AS label_{name}"
            for name in sorted(labels)
        ),
        labels="".join(f", l.label_{name}" for name in sorted(labels)),
    )


def _chosen_params(keys: Iterable[str]) -> str:
    """SQL for the row of `params` that counts, of each run and key: that of the most trusted origin, then the first.

    What an MLPerf system file says about many runs comes after what a run's own files say, at equal trust.
    """
    precedence = " ".join(f"WHEN '{origin}' THEN {rank}" for rank, origin in enumerate(ORIGINS))
    return (
        f"SELECT * FROM params WHERE key IN ({', '.join(map(sql_text, keys))}) QUALIFY row_number() OVER ("
        f"PARTITION BY run_id, key ORDER BY CASE origin {precedence} END, "
        "file_id IN (SELECT file_id FROM members WHERE why = 'system file'), file_id, line) = 1"
    )
