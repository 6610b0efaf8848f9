"""The views of a warehouse, as SQL: stored tables over their live segments, `runs` and `step_times`."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from string import Template

from scalelens.tables import ORIGINS, RUN_FACTS, SCHEMA_VERSION, STORED, Column, sql_type
from scalelens.warehouse.log import Live, Warehouse, segment

FOLDER = Path(__file__).parent
# Rows that follow from names and sidecars, beside those of the segments.
FROM_NAMES = {"params": "path_params", "problems": "sidecar_problems"}


def stored(table: str, warehouse: Warehouse, live: Live) -> str:
    """The statement that creates a stored table's view."""
    more = f" UNION ALL BY NAME FROM _{FROM_NAMES[table]}" if table in FROM_NAMES else ""
    return (
        f"CREATE VIEW {table} AS SELECT m.run_id, s.file_id, s.line, s.* EXCLUDE (file_id, line, part), s.part "
        f"FROM ({live_rows(table, warehouse, live)}{more}) s LEFT JOIN members m USING (file_id, part)"
        + (" UNION ALL BY NAME FROM _sidecar_params" if table == "params" else "")
    )


def live_rows(table: str, warehouse: Warehouse, live: Live) -> str:
    """SQL for the live rows of a stored table.  A batch whose contents all count needs no filter."""
    current: dict[str, set[str]] = defaultdict(set)
    for file_id, entry in live.providers.items():
        current[entry.batch].add(file_id)
    whole: list[str] = []
    older: list[str] = []  # of an older schema, which may lack columns
    selects: list[str] = []
    for batch in live.batches.values():
        counting = current.get(batch.id)
        if not counting or table not in batch.tables:
            continue
        path = quoted(str(warehouse.segments / segment(table, batch.id)))
        if stale := set(batch.file_ids) - counting:
            left_out = ", ".join(quoted(file_id) for file_id in sorted(stale))
            selects.append(f"FROM read_parquet({path}) WHERE file_id NOT IN ({left_out})")
        else:
            (whole if batch.schema == SCHEMA_VERSION else older).append(path)
    if older:
        selects.insert(0, f"FROM read_parquet([{', '.join(older)}], union_by_name = true)")
    if whole:
        selects.insert(0, f"FROM read_parquet([{', '.join(whole)}])")
    if not selects or any(batch.schema != SCHEMA_VERSION for batch in live.batches.values()):
        selects.insert(0, no_rows(STORED[table]))  # gives the columns that older segments lack
        return " UNION ALL BY NAME ".join(selects)
    return " UNION ALL ".join(selects)


def no_rows(columns: tuple[Column, ...]) -> str:
    """A SELECT with these columns and without a row."""
    typed = ", ".join(f"CAST(NULL AS {sql_type(column)}) AS {column.name}" for column in columns)
    return f"SELECT {typed} WHERE false"


def step_times() -> str:
    """The statement that creates the view `step_times`."""
    return (FOLDER / "step_times.sql").read_text(encoding="utf-8")


def runs(labels: Mapping[str, str]) -> str:
    """The statement that creates the view `runs`; `labels` are those of sidecars, with the SQL type of each."""
    facts = [fact for fact in RUN_FACTS if fact.name != "outcome"]

    def value(key: str, type_: str, name: str) -> str:
        return f"TRY_CAST(max(value) FILTER (key = '{key}') AS {type_}) AS {name}"

    return Template((FOLDER / "runs.sql").read_text(encoding="utf-8")).substitute(
        precedence=" ".join(f"WHEN '{origin}' THEN {rank}" for rank, origin in enumerate(ORIGINS)),
        keys=", ".join(f"'{fact.name}'" for fact in facts),
        facts=", ".join(value(fact.name, sql_type(fact), fact.name) for fact in facts),
        names=", ".join(f"f.{fact.name}" for fact in facts),
        labelled="".join(f", {value(name, labels[name], f'label_{name}')}" for name in sorted(labels)),
        labels="".join(f", l.label_{name}" for name in sorted(labels)),
    )


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
