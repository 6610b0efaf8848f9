"""How much text the rows of a file may hold: a file may name one long text, once, in each of a million rows."""

from collections.abc import Mapping
from typing import Any

from scalelens.parsing.arrow_rows import COLUMN_TYPES
from scalelens.parsing.secrets import masked
from scalelens.tables import TEXT

# Letters of any file, and more for each of its bytes: events of traces take up to 1, or 30 where they are packed.
BASE, PER_BYTE = 64 << 20, 100
_MOST_PACKED = 10  # times as much of a file that is packed
AT_ONCE = 64 << 20  # letters of rows that become Arrow together
LONGEST_REASON = 1000  # letters of a sentence that names something of its file
TOO_MUCH = "rows from here on hold far more text than the size of the file allows: they are left out"
_LABELS = {  # columns of texts that come from a file, and not from a list of ours
    table: {name for name, column in columns.items() if column.kind == TEXT}
    - {"file_id", "unit", "stat", "origin", "phase"}
    for table, columns in COLUMN_TYPES.items()
}


class TextBound:
    """What is left of the text that a file may give; without a bound before `of_file`."""

    def __init__(self) -> None:
        self._left: int | None = None
        self.is_spent = False

    def of_file(self, size_bytes: int, packed: bool) -> None:
        self._left = BASE + size_bytes * PER_BYTE * (_MOST_PACKED if packed else 1)

    def takes(self, letters: int) -> bool:
        """Takes so much of it, if that is left."""
        if self._left is None or letters <= self._left:
            self._left = None if self._left is None else self._left - letters
            return True
        return False


def text_bytes(table: str, columns: Mapping[str, Any]) -> int:
    """About how many letters the columns of rows hold; problems are cut as they are written."""
    labels = _LABELS[table] if table != "problems" else ()
    return sum(_length(values) for name, values in columns.items() if name in labels)


def _length(values: Any) -> int:
    if not isinstance(values, list | tuple):  # a column of Arrow or numpy, or one value
        return int(getattr(values, "nbytes", 0))
    try:
        return sum(map(len, filter(None, values)))
    except TypeError:  # a number, which does not fit either
        return sum(len(value) for value in values if isinstance(value, str))


def cut(text: str, longest: int) -> str:
    """A text without secrets, and not longer than told."""
    return masked(text[: 2 * longest])[:longest]
