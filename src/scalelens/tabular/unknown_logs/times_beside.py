"""The time of a step in a line of its own, beside the line that counts the step.

    iter: 20 / 70000, total loss: 1.2          Step 20: loss = 1.2
    speed: 0.524s / iter                           step time: 0.524 s

Such a line counts nothing, says by its name or its unit that it is of a step, and stands once between two records.  So
does one that states the time since the start, in any language that is known, if it grows from record to record.

    step 200/1200 loss 1.21
    Elapsed time: 0:01:12
"""

import itertools
from collections import defaultdict
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.other_languages import in_english
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS
from scalelens.parsing.source import Source
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import RUNNING, LineTable
from scalelens.tabular.unknown_logs.shapes import lines_with_times_alone, shaped

_MOSTLY = 0.9
_LONGEST = 200  # bytes of a line without a word of training
_GROWTH = 0.3  # of the first time, from record to record on average
_MAY_TELL = re.compile(r"time|elapsed|/ ?(?:it|step|batch)|[^\x00-\x7f]", re.IGNORECASE)
_MOST = 1_000_000  # lines that are looked at


def times_beside(source: Source, table: LineTable) -> dict[int, tuple[str, Any]]:
    """By the line of a record, the column and value of the time that stands beside it; empty where nothing does.

    It is in the lines after a record, up to the next one, or in those before it where the first of them comes before
    the first record.
    """
    shape = table.shape
    if shape.bar or not shape.counts_steps or (shape.with_stamp and lines_with_times_alone(source) < RECURS):
        return {}
    others: list[str] = []  # lines without a word of training, since the one before

    def look(raw: bytes) -> None:
        if len(raw) <= _LONGEST:
            others.append(raw.decode("utf-8", "replace"))

    records: list[int] = []
    told: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # by column: the value, by how many records come before
    twice: set[str] = set()

    def take(text: str) -> None:
        if not _MAY_TELL.search(text) or ELSEWHERE.search(text):
            return
        named = [one for one in map(table.named, parsed(text).fields) if one and _may_tell(one[0])]
        if len(named) == 1 and named[0][1] is not None:
            column, value = named[0]
            twice.update({column} if len(records) in told[column] else ())
            told[column][len(records)] = value

    for k, (line, whole) in enumerate(log_lines(source, look)):
        if k >= _MOST or line.rank is not None or line.location is not None:
            return {}
        for text in others:
            take(in_english(text, below_a_count=True))
        others.clear()
        parts = shaped(line.text)
        if parts and table.is_of_shape(parts):
            records.append(line.number)
        elif not parts and whole:
            take(line.text)
    for text in others:
        take(in_english(text, below_a_count=True))
    enough = max(RECURS, _MOSTLY * len(records) - 1)
    often = [column for column, at in told.items() if column not in twice and len(at) >= enough]
    found = [column for column in often if _is_of_a_step(column)]
    found = found or [column for column in often if _only_grows(list(told[column].values()))]
    if len(found) != 1:
        return {}
    at = told[found[0]]
    before = 0 in at  # records that a time belongs to: the next one, or the one before it
    return {
        records[k if before else k - 1]: (found[0], value)
        for k, value in at.items()
        if 0 <= (k if before else k - 1) < len(records)
    }


def _may_tell(column: str) -> bool:
    """Whether a column is the time of a step, or one since the start, with its unit."""
    role, unit = read_name(column)
    return _is_of_a_step(column) or (role == "elapsed" and unit is not None)


def _only_grows(values: list[Any]) -> bool:
    """Whether values grow as those of a clock since the start do: each time, and by as much as the first one is.

    The times of intervals may grow a little as well.
    """
    grows = all(before < now for before, now in itertools.pairwise(values))
    return grows and values[-1] - values[0] >= _GROWTH * values[0] * (len(values) - 1)


def _is_of_a_step(column: str) -> bool:
    """Whether a column is the time of a step, with its unit."""
    role, unit = read_name(column)
    return column == RUNNING or (role == "batch_time" and unit is not None)
