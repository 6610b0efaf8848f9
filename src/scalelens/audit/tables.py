"""Makes a table of rows of cells: headings, what each column measures, the numbers with their bounds."""

import re
from itertools import pairwise

from scalelens.audit.document import TextTable
from scalelens.audit.headings import ColumnMeaning, meaning_of_heading
from scalelens.audit.html_tables import Cell
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.raw_tables import RawTable
from scalelens.audit.units import COUNTED

_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__|\\(?:textbf|mathbf|bm)\{([^}]*)\}|<b>(.+?)</b>")
_MARKUP = re.compile(r"\\(?:textit|emph|underline|num|text)\{([^}]*)\}|\$|\\,|<[^>]+>(?=\s*$)")
_QUOTED = re.compile(r"^(\s*)`([-+\u2212]?\d[\d,.]*\s?(?:%|[A-Za-z/]{0,8}))`\s*$")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_WRAPPED = re.compile(r"\s*(?:\*\*|__)?((?:<\w+>)+)(?P<inner>.*?)((?:</\w+>)+)(?:\*\*|__)?\s*$", re.DOTALL)
_TAG = re.compile(r"</?(?:sub|sup|b|i|em|strong|small|span|font|center)>", re.IGNORECASE)
_FOOTNOTE = re.compile(r"(?<=[\d%a-z])\s?(?:\^\{?\(?[a-z0-9*†]\)?\}?|[*†‡§¹²³]+|<sup>.*?</sup>|\[\d+\])\s*$")
_THOUSANDS = re.compile(r"(?<=\d)K\Z")  # 300K parameters
_SPREAD = re.compile(r"(?:±|\+/-|\\pm)\s*[\d.]+")
_EACH = re.compile(r"\d \(?each\b")
_ROUGH = re.compile(r"[*`\s]*[~≈∼]\s?\d")
_COUNTS = ("batch", "micro_batch", "devices", "nodes", "length", "work", "steps")
LINES_BEFORE, LINES_AFTER = 12, 12
_KEYED = 2


def table_of(raw: RawTable, index: int, lines: list[str]) -> TextTable | None:
    """A table with headings and at least one row of numbers; None for anything else."""
    width = max(len(cells) for _, cells in raw.rows)
    if width == _KEYED and not raw.is_ruled and re.match(r"\d", raw.rows[0][1][-1][0]):
        return None  # names with a value each, not headings
    rows = [(line, (*cells, *[("", 0)] * (width - len(cells)))) for line, cells in raw.rows]
    first = _heading_rows([cells for _, cells in rows]) or int(raw.is_ruled and len(rows) > 1)
    if not first:
        return None
    headings = _merged([[_plain(text) for text, _ in cells] for _, cells in rows[:first]])
    meanings = tuple(meaning_of_heading(heading) for heading in headings)
    body = rows[first:]
    texts = tuple(tuple(_plain(text) for text, _ in cells) for _, cells in body)
    numbers = []
    for row, (line, cells) in enumerate(body):
        label = _row_label(texts[row])
        numbers.append(
            tuple(
                _number_of(cells[cell], f"{label} {headings[cell]}".strip(), meanings[cell], (line, index, row, cell))
                for cell in range(width)
            )
        )
    start, end = raw.rows[0][0] - 1, raw.end
    return TextTable(
        index=index,
        line=start + 1,
        headings=tuple(headings),
        meanings=meanings,
        cells=tuple(numbers),
        texts=texts,
        bold=frozenset(
            (row, cell) for row, (_, cells) in enumerate(body) for cell in range(width) if _BOLD.search(cells[cell][0])
        ),
        caption=" ".join(line.strip() for line in lines[max(0, start - 3) : start] if line.strip()),
        nearby="\n".join(lines[max(0, start - LINES_BEFORE) : start] + lines[end : end + LINES_AFTER]),
    )


def _heading_rows(rows: list[tuple[Cell, ...]]) -> int:
    """How many rows are headings: two if one of them has an empty first cell, 0 if numbers come first."""
    if len(rows) < 2 or _holds_numbers(rows[0]):
        return 0
    two = len(rows) > 2 and not _holds_numbers(rows[1]) and not (rows[0][0][0] and rows[1][0][0])
    return 2 if two else 1


def _holds_numbers(cells: tuple[Cell, ...]) -> bool:
    """Whether a row has a cell that is a number, not just one that contains a number."""
    return any(re.match(r"[-+\u2212]?\d[\d,.' ]*(?:\s?[%A-Za-zµ/]{1,12})?$", _plain(text)) for text, _ in cells)


def _plain(text: str) -> str:
    """A cell without markup and footnote marks; tags for small print go only where they enclose the whole cell."""
    text = _BREAK.sub(" ", text)
    if wrapped := _WRAPPED.match(text):
        inner = wrapped["inner"]
        text = inner if re.match(r"[-+\u2212]?\d", inner) else _TAG.sub(" ", inner)
    text = _BOLD.sub(lambda found: next(part for part in found.groups() if part is not None), text)
    text = _QUOTED.sub(r"\1\2", text)
    text = _MARKUP.sub(lambda found: found[1] or "", text).replace(r"\%", "%").replace("~", " ").strip()
    return _FOOTNOTE.sub("", text) if re.match(r"[-+\u2212]?\d", text) else text


def _merged(rows: list[list[str]]) -> list[str]:
    """Headings of several rows in one: a heading that spans columns applies to each with a heading below it."""
    for upper, lower in pairwise(rows):
        for k in range(1, len(upper)):
            if not upper[k] and lower[k]:
                upper[k] = upper[k - 1]
    return [" ".join(part for part in dict.fromkeys(parts) if part) for parts in zip(*rows, strict=True)]


def _row_label(texts: tuple[str, ...]) -> str:
    """What a row is about: its first cell, and other cells of words."""
    return " ".join(text for k, text in enumerate(texts) if text and (k == 0 or not re.match(r"[-+]?\d", text)))


def _number_of(cell: Cell, words: str, meaning: ColumnMeaning, position: tuple[int, int, int, int]) -> Number | None:
    """The number of a cell; None if it has none, or several, or a number within words."""
    text, start = cell
    is_rough = bool(_SPREAD.search(text) or _ROUGH.match(text))
    if _EACH.search(text):
        return None  # of several things
    shown = _THOUSANDS.sub("k", _SPREAD.sub("", _plain(text)).strip())
    found = numerals(shown)
    if len(found) != 1 or found[0].start > 0 or not re.fullmatch(r"[\s%A-Za-zµ/().]*", shown[found[0].end :]):
        return None
    unit = found[0].unit or meaning.unit
    span = bounds_of(found[0].text, count=unit in COUNTED or meaning.kind in _COUNTS)
    line, table, row, column = position
    return Number(
        text=found[0].text, low=span.low, high=span.high, unit=unit, line=line, column=start + 1, words=words,
        table=table, row=row, cell=column, hedge=found[0].hedge or ("about" if is_rough else ""),
    )  # fmt: skip
