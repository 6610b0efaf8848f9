"""Finds the tables of a text: HTML, or cells between tabs, pipes, commas, LaTeX's `&` or runs of spaces."""

import csv
import re
from dataclasses import dataclass

from scalelens.audit.html_tables import Cell, html_rows

_BY_SPACES = re.compile(r"\S+(?: \S+)*")
_BETWEEN_PIPES = re.compile(r"^[\s|:+-]+$")
_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?\s*)?$")
_GRID_RULE = re.compile(r"^\s*\+[-=+:]{3,}\+\s*$")
_LATEX_TABLE = re.compile(r"\\begin\{(tabular[x*]?|longtable|array)\}")
_LATEX_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|centering|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\}|addlinespace)"
)
_PLAIN_RULE = re.compile(r"^\s*[-=_\u2500\u2501]{3,}(?:\s+[-=_\u2500\u2501]{2,})*\s*$")
_LEAST_ROWS_BY_SPACES = 3


@dataclass(frozen=True)
class RawTable:
    """Rows of a table: the line of the file, from 1, and its cells; and the last line of the table.

    `is_ruled` says that a rule of Markdown below the first row marks this as the headings.
    """

    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    end: int
    is_ruled: bool = False


def raw_tables(lines: list[str], is_csv: bool = False) -> list[RawTable]:
    """The tables of a text in their order."""
    if is_csv:
        rows = [(number, _csv_cells(line)) for number, line in enumerate(lines, 1) if line.strip()]
        return [RawTable(tuple(rows), rows[-1][0])] if rows else []
    tables = []
    number = 0
    while number < len(lines):
        rows = next(
            (
                rows
                for read in (html_rows, _latex_rows, _pipe_rows, _tab_rows, _space_rows)
                if (rows := read(lines, number))
            ),
            [],
        )
        if rows:
            filled = tuple((line, cells) for line, cells in rows if any(text for text, _ in cells))
            is_ruled = rows[0][0] < len(lines) and bool(_RULE.match(lines[rows[0][0]]))
            tables += [RawTable(filled, rows[-1][0], is_ruled and filled[0] == rows[0])] if filled else []
            number = rows[-1][0]
        else:
            number += 1
    return tables


def _csv_cells(line: str) -> tuple[Cell, ...]:
    delimiter = max(",;\t", key=line.count)
    return tuple((text.strip(), max(line.find(text), 0)) for text in next(csv.reader([line], delimiter=delimiter)))


def _split(line: str, separator: str) -> tuple[Cell, ...]:
    """Cells between separators, each with the position of its text."""
    cells, start = [], 0
    for part in line.split(separator):
        cells.append((part.strip(), start + len(part) - len(part.lstrip())))
        start += len(part) + len(separator)
    return tuple(cells)


def _tab_rows(lines: list[str], start: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """Lines with tabs, at least two in a row."""
    end = start
    while end < len(lines) and "\t" in lines[end].strip("\n"):
        end += 1
    return [(number + 1, _split(lines[number], "\t")) for number in range(start, end)] if end - start > 1 else []


def _pipe_rows(lines: list[str], start: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """A table of Markdown or of a database: lines with at least two pipes; rules are skipped."""
    end = start
    while end < len(lines) and (lines[end].count("|") > 1 or _GRID_RULE.match(lines[end])):
        end += 1
    if end - start < 2:
        return []
    rows = []
    for number in range(start, end):
        line = lines[number]
        if not _BETWEEN_PIPES.match(line) and not _GRID_RULE.match(line):
            cells = _split(line.replace(r"\|", "  "), "|")
            cells = cells[1:] if line.lstrip().startswith("|") else cells
            rows.append((number + 1, cells[:-1] if line.rstrip().endswith("|") else cells))
    return rows


def _latex_rows(lines: list[str], start: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """A tabular of LaTeX, from begin to end; a row may span several lines."""
    begin = _LATEX_TABLE.search(lines[start])
    if not begin:
        return []
    rows: list[tuple[int, tuple[Cell, ...]]] = []
    pending, first = "", start + 2
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if f"\\end{{{begin[1]}}}" in line:
            return rows or [(number + 1, ())]
        first = first if pending.strip() else number + 1
        pending += _LATEX_RULES.sub("", line) + " "
        while r"\\" in pending:
            row, _, pending = pending.partition(r"\\")
            rows.append((first, tuple((text, max(line.find(text), 0)) for text, _ in _latex_cells(row))))
            first = number + 1
    return rows


def _latex_cells(row: str) -> list[Cell]:
    """Cells of a row; `\\multicolumn{2}{c}{x}` is x and an empty cell."""
    cells: list[Cell] = []
    for text, position in _split(row.replace(r"\&", "and"), "&"):
        wide = re.match(r"\\multicolumn\{(\d+)\}\{[^}]*\}\{(.*)\}$", text)
        cells.append((wide[2] if wide else text, position))
        cells += [("", position)] * (int(wide[1]) - 1 if wide else 0)
    return cells


def _space_rows(lines: list[str], start: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """Columns separated by two spaces or more: at least three lines with equally many cells, most with digits.

    A rule below the headings, or above a total, is skipped.
    """
    if _PLAIN_RULE.match(lines[start]):
        return []
    above = lines[start - 1] if start else ""
    if not _PLAIN_RULE.match(above) and len(_space_cells(above)) == len(_space_cells(lines[start])):
        return []  # within a block that is not a table
    rows: list[tuple[int, tuple[Cell, ...]]] = []
    for number in range(start, len(lines)):
        cells = _space_cells(lines[number])
        if rows and _PLAIN_RULE.match(lines[number]):
            continue
        if len(cells) < 2 or (rows and len(cells) != len(rows[0][1])):
            break
        rows.append((number + 1, cells))
    digits = sum(any(re.match(r"[-+]?\d", text) for text, _ in cells) for _, cells in rows)
    return rows if len(rows) >= _LEAST_ROWS_BY_SPACES and digits >= len(rows) - 1 else []


def _space_cells(line: str) -> tuple[Cell, ...]:
    return tuple((match[0], match.start()) for match in _BY_SPACES.finditer(line))
