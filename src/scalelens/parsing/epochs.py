"""Epochs that follow from the time stamps of their start and stop, where another format may print their time too.

The same epoch is one row of `phases`: the one that is logged.  The line with its time stands just before or just after
the stop, so that a derived epoch is kept back until the next one has stopped.
"""

from typing import Any

from scalelens.parsing.rows import Rows

NEAR_S, NEAR_SHARE = 0.1, 0.02  # both clocks read the same epoch


class DerivedEpochs:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.held: tuple[int, int, dict[str, Any]] | None = None  # line of the start, line of the stop, row

    def put(self, start_line: int, line: int, row: dict[str, Any]) -> None:
        self.settle()
        self.held = start_line, line, row

    def settle(self) -> None:
        """Writes the epoch that is kept back, unless its time was logged."""
        if not self.held:
            return
        (start_line, line, row), self.held = self.held, None
        span_s = row["span_s"]
        for logged in self.rows.logged_epochs:
            if logged[0] > start_line and abs(logged[1] - span_s) <= max(NEAR_S, NEAR_SHARE * span_s):
                self.rows.logged_epochs.remove(logged)  # it stands for one epoch
                return
        self.rows.put("phases", line, row)
