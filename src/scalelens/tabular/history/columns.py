"""Named numbers record by record, kept column by column until it is known what each of them means.

A history may hold millions of records.  They are gathered in blocks, which wait in memory while they are small, else in
a temporary file.  What a column's values are like is noted on the way, as for the columns of a CSV.
"""

import tempfile
from array import array
from collections.abc import Iterator, KeysView, Mapping
from typing import NamedTuple

import numpy as np

from scalelens.tabular.column_values import ColumnValues

_MOST_COLUMNS = 5000
_MOST_ROWS, _LEAST_ROWS = 1 << 13, 1 << 5  # of a block
_VALUES = 1 << 17  # of a block, about
_IN_MEMORY = 16 << 20  # bytes of blocks
_LONGEST_NAME = 300  # characters


class Series:
    """The values of one column in the block that is being filled, and the rows that they are in."""

    __slots__ = ("last", "look", "name", "rows", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.look = ColumnValues()
        self.last: float | None = None
        self.rows = array("i")
        self.values = array("d")


class Block(NamedTuple):
    """Some records in a row."""

    lines: np.ndarray
    attempts: np.ndarray
    columns: dict[str, tuple[np.ndarray, np.ndarray]]  # rows and values by name

    def dense(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A value for each record, NaN where there is none, and where there is one."""
        values, present = np.full(len(self.lines), np.nan), np.zeros(len(self.lines), bool)
        if name in self.columns:
            rows, given = self.columns[name]
            values[rows] = given
            present[rows] = True
        return values, present


class History:
    """The records of one run.

    A record begins with `begin`, which returns its row; its values are appended to the series of their names:

        row = history.begin(line)
        series = history.series("loss")
        series.rows.append(row); series.values.append(1.5)
    """

    def __init__(self) -> None:
        self.records = 0
        self.restarts = 0  # the last attempt
        self.left_out = 0  # columns beyond those that are kept
        self._series: dict[str, Series] = {}
        self._lines, self._attempts = array("q"), array("i")
        self._most_rows = 1 << 10
        self._blocks: list[tuple[int, np.ndarray, np.ndarray]] = []  # place, numbers of series, values of each
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  it lives as long as the history
        self._idle = Series("")

    def begin(self, line: int, attempt: int = 0) -> int:
        """Begins a record.  Returns its row in the block."""
        if len(self._lines) >= self._most_rows:
            self._close_block()
        self._lines.append(line)
        self._attempts.append(attempt)
        self.records += 1
        self.restarts = attempt
        return len(self._lines) - 1

    @property
    def names(self) -> KeysView[str]:
        return self._series.keys()

    def series(self, name: str) -> Series:
        """The series of a name."""
        name = name[:_LONGEST_NAME]
        series = self._series.get(name)
        if series is None:
            if len(self._series) >= _MOST_COLUMNS:
                self.left_out += 1
                self._idle.rows, self._idle.values = array("i"), array("d")
                return self._idle
            series = self._series[name] = Series(name)
        return series

    def add(self, line: int, values: Mapping[str, float], attempt: int = 0) -> None:
        """A whole record."""
        row = self.begin(line, attempt)
        for name, value in values.items():
            series = self.series(name)
            series.rows.append(row)
            series.values.append(value)

    @property
    def columns(self) -> dict[str, ColumnValues]:
        """What the values of each column are like, in the order in which they came."""
        self._close_block()
        return {name: series.look for name, series in self._series.items()}

    def blocks(self) -> Iterator[Block]:
        """All records."""
        self._close_block()
        names = [*self._series]
        for place, numbers, counts in self._blocks:
            self._file.seek(place)
            lines = self._read(np.int64, counts[0])
            attempts = self._read(np.int32, counts[0])
            columns = {
                names[number]: (self._read(np.int32, count), self._read(np.float64, count))
                for number, count in zip(numbers, counts[1:], strict=True)
            }
            yield Block(lines, attempts, columns)

    def _read(self, kind: type, count: int) -> np.ndarray:
        return np.frombuffer(self._file.read(int(count) * np.dtype(kind).itemsize), kind)

    def _close_block(self) -> None:
        if not self._lines:
            return
        self._file.seek(0, 2)
        place, numbers, counts = self._file.tell(), [], [len(self._lines)]
        self._file.write(self._lines.tobytes())
        self._file.write(self._attempts.tobytes())
        for number, series in enumerate(self._series.values()):
            if series.values:
                numbers.append(number)
                counts.append(len(series.values))
                self._file.write(series.rows.tobytes())
                self._file.write(series.values.tobytes())
                series.last = series.look.take_numbers(np.frombuffer(series.values), series.last)
                series.rows, series.values = array("i"), array("d")
        self._blocks.append((place, np.array(numbers, np.int32), np.array(counts, np.int32)))
        width = max(1, sum(counts[1:]) // counts[0])
        self._most_rows = min(_MOST_ROWS, max(_LEAST_ROWS, _VALUES // width))
        self._lines, self._attempts = array("q"), array("i")
