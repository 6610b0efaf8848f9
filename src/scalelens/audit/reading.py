"""Reads a file or a text into sentences and tables."""

import re
from bisect import bisect
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from scalelens.audit.document import Document, Sentence
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Bounds, Number, bounds_of
from scalelens.audit.raw_tables import RawTable, raw_tables
from scalelens.audit.tables import table_of
from scalelens.audit.units import COUNTED
from scalelens.errors import UserError

_SUFFIXES = (".tex", ".md", ".txt", ".csv")
_SENTENCE_END = re.compile(
    r"(?<![A-Z])(?<!e\.g)(?<!i\.e)(?<!cf)(?<!vs)(?<!Fig)(?<!Eq)(?<!approx)(?<!resp)[.!?][)\"”*]*\s+(?=[A-Z\"“(*$\\])"
)
_NEW_PARAGRAPH = re.compile(
    r"\s*(?:[-*+•]\s|\d{1,2}[.)]\s|#|>|\\(?:item|section|subsection|paragraph|begin|end|caption)\b|\$\$)"
)
_KEY = re.compile(r"(?<=\S)\s{2,}(?=\S)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_COMMENT = re.compile(r"(?<!\\)%.*")
_SIUNITX = re.compile(r"\\(?:SI|qty)\{([^}]*)\}\{([^}]*)\}")
_SIUNITX_NAMES = {"watt": "W", "hour": "h", "second": "s", "percent": "%", "joule": "J", "kilo": "k", "milli": "m"}
_SPELLED = {r"\%": "%", "~": " ", "{,}": ",", r"\,": " ", r"\;": " "}
_NAME_AND_VALUE = 2
_LARGEST = 20_000_000
_ORDERS = ("100", "1000", "1,000")  # "100x" for 289 h and 2.5 h says how large, not how much
_ROUGHLY = (Decimal("0.75"), Decimal("1.25"))


def read(path: Path) -> Document:
    """Reads a file.  Raises UserError if it is not a text of a known kind."""
    if path.suffix.lower() not in _SUFFIXES:
        raise UserError(
            f"{path} is not a text file of a known type", f"give a file that ends in {', '.join(_SUFFIXES)}"
        )
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path} is larger than {_LARGEST // 10**6} MB", "give the text alone")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})", "check its name") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not text in UTF-8", "convert it: iconv -t UTF-8") from None
    return document_of(text, str(path), path.suffix.lower())


def document_of(text: str, path: str = "text", suffix: str = ".txt") -> Document:
    """Sentences and tables of a text; `suffix` says of which kind it is."""
    lines = text.splitlines()
    shown = [_without_latex(line) for line in lines] if suffix == ".tex" else lines
    raw = raw_tables(shown, is_csv=suffix == ".csv")
    read_tables = [None if _is_list(table) else table_of(table, index, shown) for index, table in enumerate(raw)]
    tables = tuple(table for table in read_tables if table)
    of_tables = {
        line
        for table, is_table in zip(raw, read_tables, strict=True)
        if is_table or table.end > table.rows[-1][0] or any(len(cells) > 2 for _, cells in table.rows)
        for line in range(table.rows[0][0], table.end + 1)
    }
    keyed = {line for table in raw for line, _ in table.rows} - of_tables  # a name and its value in each line
    sentences = () if suffix == ".csv" else tuple(_sentences_of(shown, of_tables, keyed))
    numbers = [number for table in tables for row in table.cells for number in row if number]
    numbers += [number for sentence in sentences for number in sentence.numbers]
    numbers.sort(key=lambda number: (number.line, number.column))
    return Document(path, tuple(lines), tables, sentences, tuple(numbers))


def _without_latex(line: str) -> str:
    """A line of LaTeX without its comment; `\\SI{3}{\\watt\\hour}` becomes `3 Wh`, `88\\,\\%` becomes `88 %`."""
    line = _SIUNITX.sub(lambda found: f"{found[1]} {_unit_of(found[2])}", _COMMENT.sub("", line))
    for macro, text in _SPELLED.items():
        line = line.replace(macro, text)
    return line


def _unit_of(macros: str) -> str:
    parts = [_SIUNITX_NAMES.get(part, part) for part in re.split(r"\\", macros) if part]
    return "".join(parts)


def _sentences_of(lines: list[str], of_tables: set[int], keyed: set[int]) -> list[Sentence]:
    """Sentences of the lines outside of tables and of fenced blocks of Markdown; a keyed line is one of its own."""
    sentences: list[Sentence] = []
    paragraph: list[tuple[int, str]] = []
    fenced = False
    for number, line in enumerate([*lines, ""], 1):
        fenced ^= bool(_FENCE.match(line))
        ends = not line.strip() or number in of_tables or fenced or _FENCE.match(line)
        if paragraph and (ends or number in keyed or _NEW_PARAGRAPH.match(line)):
            sentences += _sentences_of_paragraph(paragraph)
            paragraph = []
        if not ends:
            paragraph.append((number, _KEY.sub(_with_colon, line) if number in keyed else line))
    return sentences


def _is_list(table: RawTable) -> bool:
    """Whether the lines are names, with a colon each, and their values."""
    names = [cells[0][0] for _, cells in table.rows if len(cells) == _NAME_AND_VALUE]
    return len(names) == len(table.rows) and all(name.endswith(":") for name in names)


def _with_colon(spaces: re.Match[str]) -> str:
    """A colon and as many spaces as there are between a name and its value."""
    if spaces.string[: spaces.start()].endswith(":"):
        return spaces[0]
    return ":" + " " * (len(spaces[0]) - 1)


def _sentences_of_paragraph(paragraph: list[tuple[int, str]]) -> list[Sentence]:
    """Splits a paragraph at the ends of sentences, and finds the line of each number."""
    text, starts = "", []
    for number, line in paragraph:
        starts.append((len(text), number))
        text += line + " "
    bounds = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    sentences = []
    for start, end in pairwise(bounds):
        part = text[start:end].rstrip()
        if part.strip():
            first, _ = _position_of(start + len(part) - len(part.lstrip()), starts)
            sentences.append(_sentence_of(part, first, start, starts))
    return sentences


def _position_of(offset: int, starts: list[tuple[int, int]]) -> tuple[int, int]:
    """Line of the file and character in the line, both from 1, of an offset in a paragraph."""
    begin, line = starts[bisect(starts, offset, key=lambda start: start[0]) - 1]
    return line, offset - begin + 1


def _sentence_of(text: str, line: int, offset: int, starts: list[tuple[int, int]]) -> Sentence:
    """A sentence with its numbers."""
    numbers, positions = [], []
    for numeral in numerals(text):
        span = bounds_of(numeral.text, count=numeral.unit in COUNTED)
        if numeral.unit == "x" and numeral.text in _ORDERS:
            span = Bounds(span.low * _ROUGHLY[0], span.high * _ROUGHLY[1])
        at, column = _position_of(offset + numeral.start, starts)
        numbers.append(
            Number(numeral.text, span.low, span.high, numeral.unit, at, column, text.strip(), hedge=numeral.hedge)
        )
        positions.append((numeral.start, numeral.end))
    return Sentence(text, line, tuple(numbers), tuple(positions))
