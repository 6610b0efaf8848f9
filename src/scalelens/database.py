"""A warehouse as a DuckDB connection: documented tables as views over the live segments, queries as macros."""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from scalelens import catalog, queries
from scalelens.errors import UserError
from scalelens.members import runs_of, sidecars_of
from scalelens.paths import facts_of
from scalelens.rows import TEXT_LIMIT
from scalelens.tables import FILES, MEMBERS, ORIGINS, RUN_FACTS, RUN_ID, STORED, TEXT, Column, documented, schema
from scalelens.templates import FACTS
from scalelens.warehouse import Live, Warehouse, segment

_RUN_BASICS = (
    Column("run_id", TEXT, ""), Column("name", TEXT, ""), Column("path", TEXT, ""),
    Column("started_at", TEXT, ""), Column("ended_at", TEXT, ""), Column("attempts", pa.int32(), ""),
    Column("outcome", TEXT, ""), Column("outcome_line", pa.int64(), ""),
)  # fmt: skip

# Rows that follow from names and sidecars, beside those of the segments.
FROM_NAMES = {"params": "path_params", "problems": "sidecar_problems"}

REMEDIES = {
    "CatalogException": "see scalelens tables and scalelens queries",
    "BinderException": "columns are listed by scalelens tables, parameters by scalelens queries",
    "IOException": "if a segment is missing, ingest the logs again",
    "OutOfMemoryException": "ask for fewer runs with a WHERE clause",
}

# A running mean, or a mean of an epoch or a run, never takes the place of the step's own time, nor is it one with it.
STEP_TIMES = """
CREATE VIEW step_times AS
SELECT run_id,
       coalesce(arg_max(file_id, step_s), any_value(file_id)) AS file_id,
       coalesce(arg_max(line, step_s), any_value(line)) AS line,
       attempt, min(epoch) AS epoch, step,
       max(step_s) AS step_s,
       coalesce(arg_max(averaged_steps, step_s), any_value(averaged_steps)) AS averaged_steps,
       coalesce(arg_max(value_kind, step_s), any_value(value_kind)) AS value_kind,
       max(samples) AS samples, max(tokens) AS tokens, median(tflops_per_device) AS tflops_per_device,
       max(skipped_steps) AS skipped_steps, count(DISTINCT rank) AS ranks, min(ts) AS ts
FROM steps
WHERE phase = 'train' AND file_id NOT IN (SELECT file_id FROM members WHERE why = 'twin')
GROUP BY run_id, attempt, step, coalesce(value_kind NOT IN ('instant', 'interval_mean'), false),
         CASE WHEN step IS NULL THEN concat(file_id, if(value_kind[:4] = 'run_', value_kind, line::VARCHAR)) END
"""


def connect(root: Path, query_folders: tuple[Path, ...] = (), asked: str | None = None) -> duckdb.DuckDBPyConnection:
    """Opens a warehouse.  Tables: see `tables.py`; macros: one per file of `queries/` and of `query_folders`.

    With `asked`, a statement, only what it needs is made: DuckDB takes a third of a second to parse all macros.

    Raises UserError where there is no warehouse at `root`, or one written by a newer version.
    """
    warehouse = Warehouse(root)
    live = warehouse.live()
    connection = duckdb.connect(":memory:")
    connection.execute(
        "SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; "
        "SET parquet_metadata_cache = true"  # segments never change
    )
    macros = queries.load(query_folders, asked)
    named = _named(asked, macros)
    labels = _files_and_runs(connection, live, named)
    for name in catalog.CATALOGS:
        if name in named:
            connection.from_arrow(catalog.table(name)).create(name)
    for table, columns in STORED.items():
        if table not in named:
            continue
        more = f" UNION ALL BY NAME FROM _{FROM_NAMES[table]}" if table in FROM_NAMES else ""
        try:
            connection.execute(
                f"CREATE VIEW {table} AS SELECT m.run_id, s.file_id, s.line, s.* EXCLUDE (file_id, line, part), s.part "
                f"FROM ({_rows_of(table, columns, warehouse, live)}{more}) s LEFT JOIN members m USING (file_id, part)"
                + (" UNION ALL BY NAME FROM _sidecar_params" if table == "params" else "")
            )
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(
                f"a segment of {root} is missing or damaged ({reason})", "make a new warehouse from the logs"
            ) from None
    if "runs" in named:
        connection.execute(_runs_view(labels))
    if "step_times" in named:
        connection.execute(STEP_TIMES)
    queries.create(connection, macros, asked)
    return connection


def _named(asked: str | None, macros: Mapping[str, queries.Query]) -> set[str]:
    """Tables that a statement needs, those that others are made of included; all where none is given."""
    if asked is None:
        return {*documented()}
    ours = all(query.path.parent == queries.FOLDER for query in macros.values())  # a user's SQL may give a text
    reads = (query.reads(asked if ours else None) for query in macros.values())
    named = queries.words(asked).union(["members"], *reads)
    return named | {made_of for name, made_of in (("runs", "params"), ("step_times", "steps")) if name in named}


def ask(
    root: Path, name: str, parameters: Mapping[str, Any] | None = None, query_folders: tuple[Path, ...] = ()
) -> pl.DataFrame:
    """Rows of a query.  Raises UserError for a query or parameter that does not exist."""
    statement = f"FROM {call(name, parameters or {}, query_folders)}"
    return rows_of(connect(root, query_folders, statement), statement)


def rows_of(connection: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    """Rows of a statement.  What DuckDB refuses becomes a UserError in one line."""
    try:
        relation = connection.sql(statement)
        if relation is None:
            return pl.DataFrame()
        frame = pl.from_arrow(plain(relation).to_arrow_table())
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = " ".join(line for line in lines if not re.match(r"LINE \d+:|\^", line))
        raise UserError(text.rstrip("."), REMEDIES.get(type(error).__name__, "mend the SQL")) from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def plain(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """A relation that polars takes: each column has a name of its own, and intervals are text."""
    names: list[str] = []
    for name in relation.columns:
        others = (f"{name}_{number}" for number in itertools.count(1))
        names.append(next(other for other in others if other not in names) if name in names else name)
    kinds = list(map(str, relation.types))
    if names == relation.columns and not any("INTERVAL" in kind for kind in kinds):
        return relation
    values = (f"CAST(#{k} AS VARCHAR)" if "INTERVAL" in kind else f"#{k}" for k, kind in enumerate(kinds, 1))
    return relation.project(", ".join(f'{value} AS "{name}"' for value, name in zip(values, names, strict=True)))


def call(name: str, parameters: Mapping[str, Any], query_folders: tuple[Path, ...] = ()) -> str:
    """SQL that calls a query's macro, `batch_stats(warmup := 5)`."""
    known = queries.load(query_folders, name)
    if name not in known:
        raise UserError(f"there is no query '{name}'", f"there are: {', '.join(sorted(queries.load(query_folders)))}")
    allowed = [parameter.name for parameter in known[name].parameters]
    for key in parameters:
        if key not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise UserError(f"'{key}' is no parameter of {name}", takes)
    return f"{name}({', '.join(f'{key} := {_literal(value)}' for key, value in parameters.items())})"


def _literal(value: Any) -> str:
    """A parameter as SQL: numbers and booleans as they are, also where they come as text, the rest as text."""
    text = str(value)
    if value is None or re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|True|False", text):
        return "NULL" if value is None else text
    return _quoted(text)


def _files_and_runs(connection: duckdb.DuckDBPyConnection, live: Live, named: set[str]) -> dict[str, str]:
    """The tables that follow from the commit records alone: members, and those of `files` and `runs` that are named.

    Returns the labels that sidecars give, with the SQL type of each.
    """
    paths = defaultdict(list)
    for path, entry in sorted(live.paths.items()):
        paths[entry.file_id or path].append(entry)  # of a file that could not be read there is no hash
    files = []
    for file_id, entries in paths.items():
        entry = live.providers.get(file_id, entries[0])
        files.append({
            "file_id": entry.file_id or None, "path": entries[0].path, "paths": [other.path for other in entries],
            "size_bytes": entry.size_bytes, "modified_at": entries[0].modified_ns // 1000, "formats": entry.formats,
            "status": entry.status, "rows": entry.rows, "problems": entry.problems, "note": entry.note,
            "parser_version": entry.parser_version, "ingested_at": entry.committed_ns // 1000,
        })  # fmt: skip
    runs = runs_of(live)
    members = [
        {"file_id": part.file_id, "part": part.part, "run_id": run.run_id, "why": run.why_of(part)}
        for run in runs
        for part in run.parts
    ]
    basics = [
        {
            "run_id": run.run_id, "name": run.name, "path": run.parts[0].path,
            "started_at": min((p.facts["started_at"] for p in run.parts if "started_at" in p.facts), default=None),
            "ended_at": max((p.facts["ended_at"] for p in run.parts if "ended_at" in p.facts), default=None),
            "attempts": max(part.facts["attempts"] for part in run.parts),
            "outcome": run.outcome[0], "outcome_line": run.outcome[1],
        }
        for run in runs
    ]  # fmt: skip
    named_by = [
        {"file_id": part.file_id, "part": part.part, "key": key, "value": value, "origin": "path"}
        for part in (run.parts[0] for run in runs)
        if part.facts["steps"]
        for key, value in facts_of(part.path, part.root).items()
    ]
    said: list[dict[str, Any]] = [
        {
            "run_id": run.run_id, "file_id": live.paths[one.path].file_id, "part": 0, "line": one.line,
            "key": key, "value": one.value, "origin": one.origin, "is_int": one.is_int,
        }
        for run in runs
        for key, one in run.said.items()
    ]  # fmt: skip
    faults = [
        {
            "file_id": live.paths[fault.path].file_id, "part": 0, "line": fault.line, "format": "sidecar",
            "reason": fault.reason, "text": fault.text[:TEXT_LIMIT],
        }
        for fault in sidecars_of(live).faults
    ]  # fmt: skip
    tables = (
        ("members", members, MEMBERS, "members"), ("files", files, FILES, "files"),
        ("_run_basics", basics, _RUN_BASICS, "runs"), ("_path_params", named_by, STORED["params"], "params"),
        ("_sidecar_params", said, (RUN_ID, *STORED["params"]), "params"),
        ("_sidecar_problems", faults, STORED["problems"], "problems"),
    )  # fmt: skip
    for name, rows, columns, part_of in tables:
        if part_of in named:
            connection.from_arrow(pa.Table.from_pylist(rows, schema=schema(columns))).create(name)
    labels: dict[str, str] = {}
    for one in said:
        if one["key"] not in FACTS:
            integer = one["is_int"] and labels.get(one["key"], "BIGINT") == "BIGINT"
            labels[one["key"]] = "BIGINT" if integer else "VARCHAR"
    return labels


def _rows_of(table: str, columns: tuple[Column, ...], warehouse: Warehouse, live: Live) -> str:
    """SQL for the live rows of a stored table.  A batch whose contents all count needs no filter."""
    current: dict[str, set[str]] = defaultdict(set)
    for file_id, entry in live.providers.items():
        current[entry.batch].add(file_id)
    whole, selects = [], []
    for batch in live.batches.values():
        counting = current.get(batch.id)
        if not counting or table not in batch.tables:
            continue
        path = _quoted(str(warehouse.segments / segment(table, batch.id)))
        if stale := set(batch.file_ids) - counting:
            left_out = ", ".join(_quoted(file_id) for file_id in sorted(stale))
            selects.append(f"FROM read_parquet({path}) WHERE file_id NOT IN ({left_out})")
        else:
            whole.append(path)
    if whole:
        selects.insert(0, f"FROM read_parquet([{', '.join(whole)}])")
    if not selects:
        types = ", ".join(f"CAST(NULL AS {_sql_type(column)}) AS {column.name}" for column in columns)
        return f"SELECT {types} WHERE false"
    return " UNION ALL ".join(selects)


def _runs_view(labels: Mapping[str, str]) -> str:
    """One row per run: of each fact the candidate of the most trusted origin, then the first said; then its labels."""
    facts_of_params = [fact for fact in RUN_FACTS if fact.name != "outcome"]
    precedence = " ".join(f"WHEN '{origin}' THEN {rank}" for rank, origin in enumerate(ORIGINS))
    facts = ", ".join(
        f"TRY_CAST(max(value) FILTER (key = '{fact.name}') AS {_sql_type(fact)}) AS {fact.name}"
        for fact in facts_of_params
    )
    wanted = ", ".join(f"'{fact.name}'" for fact in facts_of_params)
    names = ", ".join(f"f.{fact.name}" for fact in facts_of_params)
    columns = "".join(f", l.label_{name}" for name in sorted(labels))
    labelled = "".join(
        f", TRY_CAST(max(value) FILTER (key = '{name}') AS {labels[name]}) AS label_{name}" for name in sorted(labels)
    )
    return f"""
CREATE VIEW runs AS
WITH candidates AS (
    SELECT run_id, key, value, line, row_number() OVER (
        PARTITION BY run_id, key ORDER BY CASE origin {precedence} END, file_id, line) AS place
    FROM params WHERE key IN ({wanted})),
facts AS (
    SELECT run_id, {facts}
    FROM candidates WHERE place = 1 GROUP BY run_id),
labels AS (SELECT run_id{labelled} FROM _sidecar_params GROUP BY run_id)
SELECT b.run_id, b.name, b.path, {names}, b.outcome, b.outcome_line,
       CAST(b.started_at AS TIMESTAMP) AS started_at, CAST(b.ended_at AS TIMESTAMP) AS ended_at, b.attempts{columns}
FROM _run_basics b LEFT JOIN facts f USING (run_id) LEFT JOIN labels l USING (run_id)"""


def _sql_type(column: Column) -> str:
    names = {
        "string": "VARCHAR",
        "int64": "BIGINT",
        "int32": "INTEGER",
        "double": "DOUBLE",
        "timestamp[us]": "TIMESTAMP",
        "timestamp[ns]": "TIMESTAMP_NS",
    }
    return names.get(str(column.type), "VARCHAR[]")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
