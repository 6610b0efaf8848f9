"""Lines of a log as `scalelens identify` shows them, and a preset for them: a format file to be edited."""

import itertools
from collections.abc import Sequence

from scalelens.parsing.source import Source
from scalelens.tabular.preset import column_lines, role_lines
from scalelens.tabular.roles import ColumnReading
from scalelens.tabular.unknown_logs.choice import chosen, records_among
from scalelens.tabular.unknown_logs.records import LineTable
from scalelens.tabular.unknown_logs.shapes import Shape, shapes_in

_EXAMPLES = 3
_SHOWN = 160  # characters of an example
_MOST_SHAPES = 3


def _record_shapes(source: Source) -> list[Shape]:
    """The shapes of lines that may be records of training, the one that is read first."""
    return records_among(shapes_in(source))[:_MOST_SHAPES]


def line_listing(source: Source) -> list[str]:
    """The shapes of lines that look like records of training, each with its first lines."""
    shown: list[str] = []
    for shape in _record_shapes(source):
        lead, names, phase, _, *total = shape.key
        counts = ", ".join(name if name != "/" else f"# of {total[0] if total else '#'}" for name in names)
        shown.append(
            f"  {shape.lines:,} lines  {f'{lead} ... ' if lead else ''}counted by {counts}{phase and f', of {phase}'}"
        )
        records = (record for record in LineTable(shape).records(source) if not record.damage)
        shown += [
            f"    line {record.line}: {record.text.strip()[:_SHOWN]}" for record in itertools.islice(records, _EXAMPLES)
        ]
    return shown


def line_preset_text(name: str, source: Source, readings: Sequence[ColumnReading]) -> str:
    """A format file for the lines of a log; empty where none look like records of training."""
    shapes = _record_shapes(source)
    if not shapes:
        return ""
    best = chosen(shapes)
    shape, *others = [best, *(other for other in shapes if other is not best)] if isinstance(best, Shape) else shapes
    return _PRESET.format(
        name=name,
        shape=repr(shape.key),
        others="".join(f"# or {other.key!r}  such as line {other.first}\n" for other in others),
        columns=column_lines(readings),
        roles=role_lines(),
    )


_PRESET = '''"""Lines of {name}, as a preset.

Tool: name what prints such lines
Versions: those that you have seen
Yields: steps, metrics
Source: where it prints them
"""

from scalelens import tabular

VERSION = 1  # raise it with every edit: what was read is then read again
LAST = True
SECOND_READ = True

# What stands before the first count (numbers are #, times @, words such as train %), the names that count, the phase,
# the kind of progress bar, and the total of a bar without a label.
SHAPE = {shape}
{others}
# What a number is: "role": "name beside it", with its unit after a colon where a role has several.  All other numbers
# are metrics under their own names.  The roles:
{roles}
COLUMNS = {{
{columns}
}}


def recognise(head, name):
    return tabular.is_text(head)


def read(source, rows):
    return tabular.read_lines_as(source, rows, SHAPE, COLUMNS)
'''
