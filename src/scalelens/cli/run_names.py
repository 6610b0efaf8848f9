"""What to call the runs that an answer shows: their names, not their ids."""

from pathlib import Path
from typing import TYPE_CHECKING

from scalelens.report.text.table_columns import NAME_RUNS

if TYPE_CHECKING:
    import pyarrow as pa

    from scalelens.queries.header import Query

# Names of runs, and the model of the device that tells those of one name and system apart.  There is no text in it: a
# question with a text may read more tables.
NAMES = """SELECT run_id, name, CASE WHEN count(DISTINCT device_model) OVER (PARTITION BY name, system) > 1
    THEN device_model END FROM runs WHERE name IS NOT NULL"""


def names_of_runs(warehouse: Path, query: "Query") -> dict[str, str]:
    """Names of the runs by their id, where the glance of a query shows runs."""
    from scalelens.database.ask import answer_in_pieces

    return by_id(next(answer_in_pieces(warehouse, NAMES, queries={}, whole=True))) if shows_runs(query) else {}


def shows_runs(query: "Query") -> bool:
    return any(name.rstrip("~").endswith(NAME_RUNS) for name in query.glance)


def by_id(names: "pa.Table") -> dict[str, str]:
    """The answer to NAMES: what to call each run, by its id."""
    rows = zip(*(column.to_pylist() for column in names.columns), strict=True)
    return {run_id: f"{name} {model}" if model else name for run_id, name, model in rows}
