"""The time of a step in a line of its own, beside the line that counts the step.

    iter: 20 / 70000, total loss: 1.2          Step 20: loss = 1.2
    speed: 0.524s / iter                           step time: 0.524 s

Such a line counts nothing, says by its name or its unit that it is of a step, and stands once between two records.
"""

from collections import defaultdict
from typing import Any

from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS
from scalelens.parsing.source import Source
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import RUNNING, LineTable
from scalelens.tabular.unknown_logs.shapes import lines_with_times_alone, shaped

_MOSTLY = 0.9
_MOST = 1_000_000  # lines that are looked at


def times_beside(source: Source, table: LineTable) -> dict[int, tuple[str, Any]]:
    """By the line of a record, the column and value of the time that stands beside it; empty where nothing does.

    It is in the lines after a record, up to the next one, or in those before it where the first of them comes before
    the first record.
    """
    shape = table.shape
    if shape.bar or not shape.counts_steps or lines_with_times_alone(source) < RECURS:
        return {}
    records: list[int] = []
    told: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # by column: the value, by how many records come before
    twice: set[str] = set()
    for k, (line, whole) in enumerate(log_lines(source)):
        if k >= _MOST or line.rank is not None or line.location is not None:
            return {}
        parts = shaped(line.text)
        if parts and table.is_of_shape(parts):
            records.append(line.number)
            continue
        if parts or not whole or ELSEWHERE.search(line.text):
            continue
        named = [one for one in map(table.named, parsed(line.text).fields) if one and _is_of_a_step(one[0])]
        if len(named) == 1:
            column, value = named[0]
            twice |= {column} if len(records) in told[column] else set()
            told[column][len(records)] = value
    enough = max(RECURS, _MOSTLY * len(records) - 1)
    found = [column for column, at in told.items() if column not in twice and len(at) >= enough]
    if len(found) != 1:
        return {}
    at = told[found[0]]
    before = 0 in at  # records that a time belongs to: the next one, or the one before it
    return {
        records[k if before else k - 1]: (found[0], value)
        for k, value in at.items()
        if 0 <= (k if before else k - 1) < len(records)
    }


def _is_of_a_step(column: str) -> bool:
    """Whether a column is the time of a step, with its unit."""
    role, unit = read_name(column)
    return column == RUNNING or (role == "batch_time" and unit is not None)
