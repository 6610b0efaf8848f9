"""What a record of MLPerf's logs leaves open until a later line shows it: rows are kept back until then.

CountedSteps      whether `step` counts steps or samples
DerivedEpochs     whether the time of an epoch is logged, too
EpochBlocks       whether the times of epochs are those of the devices, or of a host that runs ahead of them
Evaluations       when an evaluation took place: by its own lines, else by the line of its score
is_of_one_rank    whether a rate is of one rank or of the job
platform_of       what submitters write into the name of a platform: `8xBOX4x4A100`
"""

from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows

# What follows the name of a machine: ` n4 (32x B200-SXM-180GB)`, ` n4`, ` (8x NVIDIA GB200 NVL72)`.
_SIZE = re.compile(r"(?: n(?P<nodes>\d{1,5})|(?= ?\())(?: ?\(\d{1,6}x [^()]*\))?\Z")
_PLATFORM = re.compile(r"(?:(?P<nodes>\d+)x)?(?:(?P<box>.+)x(?P<devices>\d+)x?(?P<model>[A-Z]+\d\S*)|(?P<name>.+))")

_OF_NVIDIA = re.compile(r"\b[DH]GX[- ]?([A-Z]{1,2}\d{3})\b")  # machines that are named after their device: DGX H100
_MOST_HELD = 1000  # rows that are kept back; then they are taken as printed
_NEAR_S, _NEAR_SHARE = 0.1, 0.02  # both clocks read the same epoch
_AHEAD = 0.25  # of the epochs of a block
_TOLERANCE = 0.02  # of the work: the rate and the time stamps are of two clocks
_BESIDE = 3  # lines between a score and the end of its evaluation, as in the query accuracy_curve
_Row = dict[str, Any]


class _Platform(NamedTuple):
    """The parts of a platform's name: `8xBOX4x4A100` is eight nodes BOX4 with four A100 each."""

    machine: str
    nodes: str | None
    devices_per_node: str | None
    device_model: str | None


def platform_of(name: str) -> _Platform | None:
    """The parts of a platform's name, in the form that submitters of servers use; None for an empty name."""
    size = _SIZE.search(name[:200])
    if not (match := _PLATFORM.fullmatch(name[: size.start() if size else 200])):
        return None
    nodes = match["nodes"] or (size["nodes"] if size else None)
    machine = match["box"] or match["name"]
    named_after = _OF_NVIDIA.search(machine)
    return _Platform(machine, nodes, match["devices"], match["model"] or (named_after[1] if named_after else None))


class CountedSteps:
    """Rows of steps, written as soon as it is known what `step` counts.

    AMD and others write the number of samples into the field of the step.  A single record does not show which it
    is.  So rows are kept back until a count of samples comes: in the record itself, or at the end of a block or an
    evaluation.
    """

    def __init__(self, rows: Rows) -> None:
        self.counts_samples: bool | None = None  # None while that is open
        self._rows = rows
        self._samples_count = 0.0  # the last one of a block or an evaluation
        self._held: list[tuple[int, _Row, float | None]] = []  # line, row, and the record's own count of samples
        self._last_step = 0  # of those that count samples

    def put(self, line: int, row: _Row, counted: float | None) -> None:
        """A row with `step` and the `samples` of a step; `counted` is its own count of samples."""
        step, batch = row["step"], row["samples"]
        self._rows.reached(line, step)
        if self.counts_samples is not None or not step:
            self._write(line, row)
            return
        self._held.append((line, row, counted))
        if not batch or batch == 1 or step % batch or counted not in (None, step) or len(self._held) > _MOST_HELD:
            self._decide(False)
        elif step == self._samples_count:
            self._decide(True)
        elif len({row["step"] for _, row, counted in self._held if counted == row["step"]}) > 1:
            self._decide(True)  # the count goes on with the step

    def see_count(self, samples: float, batch: float | None, begins: bool) -> None:
        """Takes the samples that a block or evaluation counts as proof of what the steps around it count."""
        self._samples_count = samples
        if self._held:
            step, batch = self._held[-1][1]["step"], self._held[-1][1]["samples"]
            if samples in (step, step * batch):
                self._decide(samples == step)
        elif begins and batch:  # a run that goes on from a checkpoint
            self._last_step = max(self._last_step, int(samples // batch))

    def settle(self) -> None:
        """Writes the rows whose unit is open: they are taken for steps."""
        self._decide(self.counts_samples)

    def _decide(self, counts_samples: bool | None) -> None:
        self.counts_samples = counts_samples
        held, self._held = self._held, []
        for line, row, _ in held:
            self._write(line, row)

    def _write(self, line: int, row: _Row) -> None:
        if self.counts_samples and row["step"] and row["samples"]:
            row["step"] = int(row["step"] // row["samples"])
            if row["step"] > self._last_step:
                row["averaged_steps"] = row["step"] - self._last_step
            self._last_step = row["step"]
        self._rows.put("steps", line, row)


class DerivedEpochs:
    """Epochs that follow from the time stamps of their start and stop, where another format may print their time too.

    The same epoch is one row of `phases`: the one that is logged.  The line with its time stands just before or just
    after the stop, so a derived epoch is kept back until the next one has stopped.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._held: tuple[int, int, _Row] | None = None  # line of the start, line of the stop, row

    def put(self, start_line: int, line: int, row: _Row) -> None:
        """A row of `phases` of an epoch that has stopped."""
        self.settle()
        self._held = start_line, line, row

    def settle(self) -> None:
        """Writes the epoch that is kept back, unless its time was logged."""
        if not self._held:
            return
        (start_line, line, row), self._held = self._held, None
        span_s = row["span_s"]
        for logged in self._rows.logged_epochs:
            if logged[0] > start_line and abs(logged[1] - span_s) <= max(_NEAR_S, _NEAR_SHARE * span_s):
                self._rows.logged_epochs.remove(logged)  # it stands for one epoch
                return
        self._rows.put("phases", line, row)


class Evaluations:
    """Evaluations, as rows of `phases`.

    Many logs of BERT print the score of an evaluation and not when it began.  A score without the end of an evaluation
    beside it is a row of its own, whose `span_s` is not known: its time stamp is all that tells when it was reached.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._last_line = -_BESIDE - 1  # with the end of an evaluation
        self._held: tuple[int, _Row] | None = None  # line and row of the last score, until the next lines are known
        self._whose: tuple[int | None, str | None] | None = None  # rank and place of the first score

    def put(self, line: int, row: _Row) -> None:
        """A row of an evaluation that has stopped."""
        if self._held and line - self._held[0] <= _BESIDE:
            self._held = None
        self._last_line = line
        self._rows.put("phases", line, row)

    def put_score(self, line: int, row: _Row) -> None:
        """A row of an evaluation of which this line has the score; of ranks that all print it the first one counts."""
        self.settle()
        self._whose = self._whose or (row["rank"], row["place"])
        if "ts" in row and self._whose == (row["rank"], row["place"]) and line - self._last_line > _BESIDE:
            self._held = line, row | {"phase": "evaluation", "origin": "logged"}

    def settle(self) -> None:
        """Writes the row that is kept back."""
        if self._held:
            (line, row), self._held = self._held, None
            self._rows.put("phases", line, row)


class EpochBlocks:
    """Times and rates of the epochs in a block, where the host that prints them may run ahead of the devices.

    A host that only queues work reaches the end of an epoch before the devices do.  It then waits before the
    evaluation, and the time and the rate that it has printed of each epoch are those of queueing.  MLPerf v3.0's ResNet
    on 512 GPUs prints four epochs of 0.2 s, waits 1.6 s, and prints a rate that is about three times the true one.  So
    they are kept back until the block ends: if the wait is longer than a quarter of the block's epochs, they are left
    out and a problem says so.  Where the host waits for the devices in each epoch, the wait before the evaluation is at
    most 5 % of the epochs, in five rounds of results.
    """

    def __init__(self, rows: Rows, epochs: DerivedEpochs) -> None:
        self._rows, self._epochs = rows, epochs
        # the line of an epoch's start, None of a rate; its own line; the row
        self._held: list[tuple[int | None, int, _Row]] = []
        self._runs_ahead = False  # in the last block that ended

    def put_rate(self, line: int, row: _Row) -> None:
        """A row of `steps` with the rate of an epoch."""
        self._rows.reached(line, row["step"])
        self._hold(None, line, row)

    def put_epoch(self, start_line: int, line: int, row: _Row) -> None:
        """A row of `phases` of an epoch that has stopped at `ts`."""
        self._hold(start_line, line, row)

    def end(self, line: int, ts: Any) -> None:
        """The block ends at `ts`, or its evaluation begins: were the devices done when the host printed?"""
        epochs = [row for start, _, row in self._held if start is not None]
        if epochs and ts is not None:
            by_marks, waited = sum(row["span_s"] for row in epochs), (ts - epochs[-1]["ts"]).total_seconds()
            runs_ahead = waited > _AHEAD * by_marks > 0
            if runs_ahead and not self._runs_ahead:
                self._rows.problem(
                    line,
                    f"the epochs before this line take {by_marks:.2f} s by their marks, and then the host waits "
                    f"{waited:.2f} s for the devices: it runs ahead of them, so that the times and rates which it "
                    "prints of epochs are left out; the time of the block is in phases",
                )
            self._runs_ahead = runs_ahead
        self.settle()

    def settle(self) -> None:
        """Writes what is kept back; a block that does not end is taken as the one before."""
        held, self._held = self._held, []
        for start_line, line, row in held:
            if start_line is None:
                without = {"step_s": None, "samples_per_s": None, "rate_scope": None} if self._runs_ahead else {}
                self._rows.put("steps", line, row | without)
            elif self._runs_ahead:
                self._rows.put("phases", line, row | {"span_s": None})
            else:
                self._epochs.put(start_line, line, row)

    def _hold(self, start_line: int | None, line: int, row: _Row) -> None:
        self._held.append((start_line, line, row))
        if len(self._held) > _MOST_HELD:
            self.settle()


def is_of_one_rank(rate: float, epoch_s: float, counted: float, batch: float, local_batch: float) -> bool:
    """Whether `rate` is of one of many ranks: what it processes in an epoch is what one rank is given.

    `rate` is in samples per second, `epoch_s` in seconds, both batches are in samples.  `counted` is what the log calls
    the samples of an epoch.  NVIDIA's RetinaNet (SSD) of MLPerf v3 writes the length of each rank's loader there: 4,572
    batches of 32 on each of eight ranks for 1.17 million images.  Its later versions print the rate of the job.
    A count below the global batch cannot be of samples.
    """
    work = rate * epoch_s
    if local_batch >= batch or abs(work - counted * local_batch) > _TOLERANCE * work:
        return False
    return counted < batch or abs(work - counted) > _TOLERANCE * work
