"""Offline files of trackers with a JSON value in each line, in which a value of a metric stands for itself."""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import YEARS_2000_TO_2100, json_number
from scalelens.tabular.cells import lines_of
from scalelens.tabular.history.values import OWN, Values
from scalelens.tabular.history.writing import write_history

_NO_STEP = "nothing shows what a step counts: times of steps need a column that counts steps, or --map step=_step"


def json_lines(source: Source, rows: Rows, kind: type) -> Iterator[tuple[int, Any]]:
    """Number and value of each line; one that is cut or of another kind is a problem."""
    for line, text, whole in lines_of(source):
        try:
            value = json.loads(text)
            if not isinstance(value, kind):
                raise ValueError
        except (ValueError, RecursionError):
            rows.problem(line, "the line is damaged, or not of the tracker" if whole else "the line is cut", text)
            continue
        yield line, value


class LoggedValues:
    """The values of one run, on their way to its history."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.values = rows, Values()

    def take(self, line: int, name: Any, value: Any, seconds: Any, step: Any, epoch: Any = None) -> None:
        """A value with its time in seconds since 1970; without a step or a time it is a metric alone."""
        if not isinstance(value, int | float) or isinstance(value, bool) or not isinstance(name, str):
            self.rows.problem(line, "the metric has no name, or its value is not a number", f"{name}: {value}")
            return
        number = float(value) if abs(value) < 1 << 1000 else float("nan")
        known = isinstance(seconds, int | float) and YEARS_2000_TO_2100[0] < seconds < YEARS_2000_TO_2100[1]
        if type(step) is int and abs(step) < 1 << 53 and known and name not in OWN:
            self.values.take(line, name, number, float(seconds), step, json_number(epoch))
        else:
            self.rows.metric(line, None, None, None, name, number)

    def finish(self) -> str | None:
        """Writes the rows.  Returns a note where no times of steps could be made."""
        found = write_history(self.values.finish(), OWN, self.rows)
        return _NO_STEP if found.lacks_times and self.values.history.records > 1 else None
