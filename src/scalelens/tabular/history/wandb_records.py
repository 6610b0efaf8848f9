"""History records of W&B as a history.  A run may hold millions: the usual form of an item is read byte by byte."""

from scalelens.parsing.protobuf import fields
from scalelens.parsing.wandb_messages import read_item
from scalelens.tabular.history.columns import History, Series

_ITEM, _STEP = 0x0A, 0x12  # first bytes within a record: an item, the message with the step
_BEGINS_WITH_ITEM = bytes([_ITEM])
_KEY, _VALUE = 0x12, b"\x82\x01"  # first bytes within an item: a part of its name, its value
_SHORT = 128  # a length below it takes one byte


class HistoryRecords:
    """The history records of one run."""

    def __init__(self) -> None:
        self.history = History()
        self._single: dict[bytes, Series] = {}  # by a name that is not nested

    def take(self, number: int, record: bytes, at: int = 0) -> None:
        """The values of a record.  Most names and values are short, and stand alone in their item."""
        row, single, end = self.history.begin(number), self._single, len(record)
        while at < end and record[at] == _ITEM and record[at + 1] < _SHORT:
            begin = at + 2
            at = begin + record[at + 1]
            if record[begin] == _KEY:
                name = begin + 2 + record[begin + 1]
                if record[name : name + 2] == _VALUE and name + 3 + record[name + 2] == at <= end:
                    key = record[begin + 2 : name]
                    try:
                        value = float(record[name + 3 : at])
                    except ValueError:  # true, a text, a list
                        continue
                    series = single.get(key)
                    if series is None:
                        series = single[key] = self.history.series(key.decode("utf-8", "replace"))
                    series.rows.append(row)
                    series.values.append(value)
                    continue
            self._take_item(row, record[begin:at])
        if at < end and record[at] != _STEP:  # the step, which is an item as well
            for field, item in fields(record[at:]):
                if field == 1:
                    self._take_item(row, item)

    def last(self, name: str) -> float | None:
        """The last value of a name that is not nested, if it has one."""
        series = self._single.get(name.encode())
        return series.values[-1] if series and series.values else None

    def repeated_by(self, record: bytes, at: int) -> bool:
        """Whether the client made this summary of the history by itself, as it does after each of its records."""
        if record[at : at + 1] != _BEGINS_WITH_ITEM or record[at + 1] >= _SHORT:
            return False
        key = record[at + 4 : at + 4 + record[at + 3]]
        return key in self._single or key in (b"_wandb", b"_runtime")

    def _take_item(self, row: int, item: bytes) -> None:
        name, value = read_item(item)
        if name and value is not None:
            series = self.history.series(name)
            series.rows.append(row)
            series.values.append(value)
