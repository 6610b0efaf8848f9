"""Values that a tracker keeps one by one, as records: those of one step that come one after the other."""

from scalelens.tabular.history.columns import History
from scalelens.tabular.history.meanings import Own

OWN = Own("_step", "_timestamp")


class Values:
    """Gathers values.  A name whose step goes back begins another attempt."""

    def __init__(self) -> None:
        self.history = History()
        self.last: dict[str, int] = {}  # step of each name in this attempt
        self.attempt = 0
        self.line, self.step = 0, 0
        self.values: dict[str, float] = {}
        self.epoch: float | None = None

    def take(self, line: int, name: str, value: float, seconds: float, step: int, epoch: float | None = None) -> None:
        """A value at a step, and when it was logged in seconds since 1970.  A tracker may keep the epoch beside it."""
        restarts = step < self.last.get(name, step)
        if restarts or step != self.step or name in self.values:
            self._close()
        if restarts:
            self.attempt += 1
            self.last = {}
        if not self.values:
            self.line, self.step, self.values = line, step, {OWN.step: float(step), OWN.clock: seconds}
        self.last[name] = step
        self.values.setdefault(name, value)
        if epoch is not None:
            self.epoch = epoch

    def finish(self) -> History:
        self._close()
        return self.history

    def _close(self) -> None:
        if self.values:
            beside = {} if self.epoch is None else {"epoch": self.epoch}
            self.history.add(self.line, beside | self.values, self.attempt)
        self.values, self.epoch = {}, None
