"""What to call runs where people read: one rule for tables, charts and the report."""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Names of runs, and the model of the device that tells those of one name and system apart.  There is no text in it: a
# question with a text may read more tables.
RUN_NAMES = """SELECT run_id, name, CASE WHEN count(DISTINCT device_model) OVER (PARTITION BY name, system) > 1
    THEN device_model END FROM runs WHERE name IS NOT NULL ORDER BY run_id"""


_SHORT_ID = 4  # characters at least


def names_by_id(rows: "pa.Table") -> dict[str, str]:
    """The names of runs by their id, of the answer to RUN_NAMES.

    Names that runs would share end in the start of the id, with as many characters as tell all ids apart.
    """
    found = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    names = {run_id: f"{name} {model}" if model else name for run_id, name, model in found}
    counts = Counter(names.values())
    length = _SHORT_ID
    while len({run_id[:length] for run_id in names}) < len(names):
        length += 1
    return {run_id: name if counts[name] == 1 else f"{name} {run_id[:length]}" for run_id, name in names.items()}
