"""Tables written in HTML within a text, as rows of cells."""

import re
from html.parser import HTMLParser

Cell = tuple[str, int]  # its text, and the character of the line at which it begins, from 0
_BOLD = ("b", "strong")
_MOST_COLUMNS = 60


def html_rows(lines: list[str], start: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """Rows of the table that begins in this line, each with the line of its first cell; then a row without cells at its
    end.  Empty if no table begins here."""
    if not re.search(r"<table\b", lines[start], re.IGNORECASE):
        return []
    reader = _Reader()
    for number in range(start, len(lines)):
        reader.line = number + 1
        reader.feed(lines[number] + "\n")
        if reader.is_closed:
            return [*reader.rows, (number + 1, ())]
    return []


class _Reader(HTMLParser):
    """Collects the cells of the first table; a cell over several columns or rows leaves the others empty."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[int, tuple[Cell, ...]]] = []
        self.line = 0
        self.is_closed = False
        self._cells: list[Cell] | None = None
        self._below: dict[int, int] = {}  # column, and how many further rows a cell above it takes
        self._text: list[str] | None = None
        self._width = self._height = 1
        self._first = self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
        elif tag == "tr":
            self._end_row()
            self._cells, self._first = [], self.line
        elif tag in ("td", "th") and self._cells is not None:
            self._end_cell()
            self._first = self._first if self._cells else self.line
            self._text = []
            self._width, self._height = (_size(dict(attrs).get(name)) for name in ("colspan", "rowspan"))
        elif tag in _BOLD and self._text is not None:
            self._text.append("**")
        elif tag == "br" and self._text is not None:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag in _BOLD and self._text is not None:
            self._text.append("**")
        elif tag == "table":
            self._depth -= 1
            if self._depth < 1:
                self._end_row()
                self.is_closed = True

    def handle_data(self, data: str) -> None:
        if self._text is not None and not self.is_closed:
            self._text.append(data)

    def _end_cell(self) -> None:
        if self._text is None or self._cells is None:
            return
        self._skip_taken()
        text = " ".join("".join(self._text).split())
        for column in range(len(self._cells), len(self._cells) + self._width):
            if self._height > 1:
                self._below[column] = self._height
            self._cells.append((text, 0))
            text = ""
        self._text = None

    def _skip_taken(self) -> None:
        """Empty cells where a cell of a row above reaches down."""
        while self._cells is not None and self._below.get(len(self._cells), 0) > 0:
            self._cells.append(("", 0))

    def _end_row(self) -> None:
        self._end_cell()
        if self._cells:
            self._skip_taken()
            self.rows.append((self._first, tuple(self._cells[:_MOST_COLUMNS])))
            self._below = {column: left - 1 for column, left in self._below.items() if left > 1}
        self._cells = None


def _size(text: str | None) -> int:
    return min(int(text), _MOST_COLUMNS) if text and text.isdigit() and int(text) else 1
