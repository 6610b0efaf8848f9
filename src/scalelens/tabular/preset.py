"""A preset: a format file for tables of certain columns, written with what was guessed, to be edited."""

import json
from collections.abc import Sequence

from scalelens.inert import visible
from scalelens.tabular.role_table import ROLE
from scalelens.tabular.roles import ColumnReading


def preset_text(name: str, header: Sequence[str], readings: Sequence[ColumnReading]) -> str:
    """A format file for tables of these columns, with the roles that were found, for the user to edit."""
    shown = "".join(f"    {_string_literal(column)},\n" for column in header)
    return _PRESET.format(name=name, header=shown, columns=column_lines(readings), roles=role_lines())


def role_lines() -> str:
    """The roles, as a comment."""
    return "\n".join(f"#   {role.name:18} {role.meaning}" for role in ROLE.values())


def column_lines(readings: Sequence[ColumnReading]) -> str:
    """Columns by role as they were found, and as a comment those that may have a role."""
    lines = [
        f'    "{reading.role}": {_string_literal(_column_with_unit(reading))},' for reading in readings if reading.role
    ]
    for reading in readings:
        if reading.choices:
            first, *others = (choice.partition("=") for choice in reading.choices)
            more = visible(f"  # or {', '.join(''.join(other) for other in others)}") if others else ""
            lines.append(f'    # "{first[0]}": {_string_literal(first[2])},{more}')
    return "\n".join(lines)


def _column_with_unit(reading: ColumnReading) -> str:
    return reading.column + (f":{reading.unit}" if reading.unit else "")


def _string_literal(text: str) -> str:
    """A text as Python writes it, on one line.  A column may have any name, with line feeds or half a character."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


_PRESET = '''"""Columns of {name}, as a preset.

Tool: name what writes such files
Versions: those that you have seen
Yields: steps, metrics
Source: where it writes the header
"""

from scalelens import tabular

VERSION = 1  # raise it with every edit: what was read is then read again

HEADER = (
{header})

# What a column is: "role": "column", with its unit after a colon where a role has several.  All other numbers are
# metrics under their own names.  The roles:
{roles}
COLUMNS = {{
{columns}
}}


def recognise(head, name):
    return tabular.has_header(head, HEADER)


def read(source, rows):
    tabular.read_as(source, rows, COLUMNS)
'''
