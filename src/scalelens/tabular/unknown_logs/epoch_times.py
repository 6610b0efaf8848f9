"""The time of each epoch, in lines beside those that record its steps.

    Epoch 3/10, Step 300/391, Loss: 1.2          Epoch 3/10, Step 300/391, Loss: 1.2
    Epoch 3 took 61.2 s, train loss 1.1          Time taken for 1 epoch: 61.2 sec

Such a line counts the epoch, or stands once in each.  `Time for the last 500 epochs: 55.2 s` gives the mean of these
(a metric), if the epochs that are counted show that there were as many since the line before.
"""

import functools
import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS, SOURCE_FILE, VALIDATED
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import SPELT, read_name
from scalelens.tabular.column_values import ColumnValues, Survey
from scalelens.tabular.roles import ColumnReading, alike_in_few_epochs, assign
from scalelens.tabular.steps import write_rows
from scalelens.tabular.unknown_logs.choice import tells_epochs
from scalelens.tabular.unknown_logs.fields import Field, parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import TIMES, column_of, is_of_validation
from scalelens.tabular.unknown_logs.shapes import Shape, lines_with_times_alone, shaped
from scalelens.tabular.unknown_logs.stated_times import StatedTimes, mean_of_epoch

EPOCHS = "epochs"  # in which they rise, apart from the steps
_OF_EPOCH = re.compile(r"(?<![a-z])epoch(?!s)", re.IGNORECASE)
_NOT_OF_ONE = re.compile(
    r"total|overall|since|per[ _]|/ ?(?:it|step|batch|sample)|avg|average|mean|(?<![a-z])(?:eta|left|remain\w*|best)",
    re.IGNORECASE,
)
_SINCE_START = re.compile(r"(?:time |elapsed )?(?:elapsed )?since (?:the )?(?:start|beginning)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNIT_IN_NAME = re.compile(r"[(\[]\s?([A-Za-z]{1,12})\s?[)\]]\Z")
_SEVERAL_EPOCHS = re.compile(r"(?<![\d./-])(?P<count>[1-9]\d{0,6}) epochs(?![a-z])", re.IGNORECASE)
_MEAN_LOSS = re.compile(
    r"(?:avg|average|mean|best)[ _](?:(?:train|training|epoch|batch)[ _])?(?:loss|acc(?:uracy)?)(?![a-z])",
    re.IGNORECASE,
)
_LOSS = re.compile(r"(?<![a-z])loss", re.IGNORECASE)
_DONE_IN = re.compile(
    r"(?:^|[\]|:>]|\s-\s)(?P<what>[^\]|:>]*?)(?<![a-z])(?:finished|completed?|done|ended) in(?![a-z])", re.IGNORECASE
)
_OF_TRAINING = {"training", "train", "epoch", "the", "this", "all", "is", "was", "info", "debug"}
_WORD = re.compile(r"[a-z]+")
# What Julia's @time prints: `12.3 seconds (1.25 M allocations: 123.4 MiB, 2.11% gc time)`.
_OF_JULIA = re.compile(r"\A\s*(\d+\.\d+ seconds) \([^()]{0,200}(?:allocation|gc time|compilation)[^()]{0,80}\)\s*\Z")
_UNITS = ("s", "ms", "min", "h")
_NEAR = 0.01  # of the mean that is stated
_MOSTLY = 0.9
_UNLIKE = 1.5  # times as long: two times of one epoch that are of different work
_FALLS = 0.2  # share of the lines in which a time of an epoch is less than in the one before
_AGAIN = 0.05  # share of such lines that come again in an epoch of the same number


_WHOSE = {"epoch", "rank", "worker"}
_OWN_EPOCH = re.compile(r"epoch_(\d{1,6})(?![\d.])", re.IGNORECASE)


class _EpochTimes(NamedTuple):
    """Lines that state the time of each epoch."""

    records: Callable[[Source], Iterator[TableRecord]]
    survey: Survey
    readings: list[ColumnReading]
    time: ColumnReading

    def write(self, source: Source, rows: Rows) -> list[ColumnReading]:
        """Rows of `phases`.  Returns what was read as a time."""
        write_rows(source, rows, self.records, self.survey, [*self.readings, self.time], stream=EPOCHS)
        return [self.time]

    def seconds(self, source: Source) -> float:
        """Of all epochs together."""
        times = [float(record.cells.get(self.time.column, 0.0)) for record in self.records(source)]
        return (times[-1] if self.time.role == "elapsed" else sum(times)) * self.time.factor


def epoch_times_in(source: Source, shapes: Sequence[Shape], steps: Shape | None = None) -> _EpochTimes | None:
    """The time of each epoch, in lines beside those of `steps`, which have none; or where no line is a record."""
    for shape in shapes:
        counts = shape is not steps and shape.of_epochs_alone and shape.of_training and _tells_rising(shape)
        timed = any(unit in TIMES for unit in shape.units.values()) or any(map(_is_untold, shape.names))
        records = functools.partial(_counted_times, shape)
        if counts and timed and (found := _times_in(source, records, _is_beside_loss(shape))):
            return found
    return _times_in(source, _Uncounted(source).records) if lines_with_times_alone(source) >= RECURS else None


def means_of_epochs(source: Source, rows: Rows) -> bool:
    """Metrics of the mean times that lines state for several epochs each.  Whether there are such lines."""
    told: list[tuple[int, float, int, float]] = []  # line, epoch, epochs, and their seconds
    means: list[tuple[int, str, float, str]] = []  # line, and what it states of all epochs
    epoch: float | None = None
    for line, whole in log_lines(source) if lines_with_times_alone(source) else ():
        parts = shaped(line.text)
        counted = [count for count in parts.counts if count.role == "epoch"] if parts else []
        if parts and counted:
            epoch = parts.parsed.fields[counted[0].field].value
        elif whole and epoch is not None and not (parts and parts.counts):
            if mean := mean_of_epoch(line.text):
                means.append((line.number, *mean))
            several = _SEVERAL_EPOCHS.search(line.text)
            times = [field for field in parsed(line.text).fields if field.unit in TIMES] if several else []
            if several and len(times) == 1 and times[0].value and line.rank is None and line.location is None:
                told.append((line.number, epoch, int(several["count"]), times[0].value * TIMES[times[0].unit or "s"]))
    for number, name, seconds, stat in means:
        rows.turn_to(number)
        rows.metrics(number, None, None, None, [(name, seconds, "s")], stat=stat)
    as_counted = [now[1] - before[1] == now[2] for before, now in itertools.pairwise(told)]
    if len(told) < RECURS or sum(as_counted) < _MOSTLY * len(as_counted):
        return bool(means)
    for (number, at, epochs, seconds), counts in zip(told, [as_counted[0], *as_counted], strict=True):
        if counts:
            rows.turn_to(number)
            rows.metrics(number, None, None, int(at), [("epoch time", seconds / epochs, "s")], stat="mean")
    return True


def _tells_rising(shape: Shape) -> bool:
    """Whether its lines count one epoch after the other, by stamps or without."""
    return tells_epochs(shape) or (shape.lines >= RECURS and shape.rises[0] >= _MOSTLY * (shape.lines - 1))


def _is_beside_loss(shape: Shape) -> bool:
    """Whether its lines state a loss, and no stamp may contradict a time that is the same in each."""
    return not shape.with_stamp and shape.states_loss


def _times_in(
    source: Source, records: Callable[[Source], Iterator[TableRecord]], beside_loss: bool = False
) -> _EpochTimes | None:
    """What some records state, if it is the time of each epoch."""
    survey = Survey(records(source))
    readings = assign(survey.columns, {"epoch": ("epoch", None)} if "epoch" in survey.columns else {})
    readings = alike_in_few_epochs(readings, survey.columns) if beside_loss else readings
    times = [
        reading for reading in readings
        if reading.role == "epoch_time" or (reading.role == "elapsed" and _adds_up(survey.columns[reading.column]))
    ]  # fmt: skip
    times = times or [
        reading._replace(role="epoch_time")
        for reading in readings
        if reading.role == "elapsed" and _goes_up_and_down(survey, reading.column)
    ]
    if not times and (stated := _as_stated(source, survey, records)):
        times = [stated]
    if len(times) != 1 or _holds_two_times(records(source), times[0].column):
        return None
    of_epochs = [reading for reading in readings if reading.role in ("epoch", "rank", "place")]
    return _EpochTimes(records, survey, of_epochs, times[0])


def _holds_two_times(records: Iterator[TableRecord], column: str) -> bool:
    """Whether most epochs have two times that differ as those of a training and of its validation do."""
    timed: list[dict[str, Any]] = [record.cells for record in records if column in record.cells]
    pairs = [
        sorted((one[column], other[column]))
        for one, other in itertools.pairwise(timed)
        if {name: one.get(name) for name in _WHOSE} == {name: other.get(name) for name in _WHOSE}
    ]
    apart = sum(shorter * _UNLIKE < longer for shorter, longer in pairs)
    return bool(apart >= RECURS and 2 * apart >= len({cells.get("epoch") for cells in timed}))


def _adds_up(values: ColumnValues) -> bool:
    """Whether a time is one since the start, or since each launch began."""
    return values.adds_up or values.sums_in_launches


def _goes_up_and_down(survey: Survey, column: str) -> bool:
    """Whether a time falls too often, while the epochs go on, to be one since the start."""
    values, epochs = survey.columns[column], survey.columns.get("epoch")
    return epochs is not None and values.falls > _FALLS * values.numbers + 2 * epochs.falls


def _as_stated(
    source: Source, survey: Survey, records: Callable[[Source], Iterator[TableRecord]]
) -> ColumnReading | None:
    """The time of epochs, in the one unit in which it has the mean that a line states of them all."""
    untold = [name for name, values in survey.columns.items() if _is_epoch_time(name) and values.numbers >= RECURS]
    if len(untold) != 1:
        return None
    stated = StatedTimes()
    for line, whole in log_lines(source, stated.look):
        if whole:
            stated.look(line.text.encode())
    mean = statistics.fmean(record.cells[untold[0]] for record in records(source) if untold[0] in record.cells)
    fitting = [unit for unit in _UNITS for told in stated.epoch_means if abs(mean * TIMES[unit] / told - 1) <= _NEAR]
    return ColumnReading(untold[0], "epoch_time", fitting[0]) if len(fitting) == 1 else None


def is_elsewhere(text: str) -> bool:
    """Whether a line is of other work than training; what a validation gave may stand after a time."""
    text = SOURCE_FILE.sub("", text)
    done = _DONE_IN.search(text)
    if done and not _OF_TRAINING.issuperset(_WORD.findall(done["what"].lower())):
        return True  # `Clustering finished in 3.5 s`
    if not ELSEWHERE.search(text):
        return False
    if not VALIDATED.search(text):
        return True
    line = parsed(text)
    timed = next((field.start for field in line.fields if field.unit in TIMES), len(line.text))
    return bool(ELSEWHERE.search(line.text[:timed] + VALIDATED.sub("", line.text[timed:])))


def _is_epoch_time(name: str) -> bool:
    """Whether a name is that of the time of an epoch, and does not say its unit."""
    return read_name(name) == ("epoch_time", None)


def _is_untold(name: str) -> bool:
    """Whether a name may be that of the time of an epoch, and does not say its unit: its digits may."""
    reading = read_name(name)
    return reading.role in ("epoch_time", "time") and reading.unit is None


def _with_unit(field: Field) -> Field:
    """A number with the unit that its name holds: `Epoch Time(s): 4.9`."""
    in_name = _UNIT_IN_NAME.search(field.name) if field.unit is None else None
    unit = SPELT.get(in_name[1].lower()) if in_name else None
    return (
        field._replace(name=field.name[: in_name.start()].rstrip(), unit=unit) if in_name and unit in TIMES else field
    )


def _is_of_epoch(field: Field) -> bool:
    """Whether a number without a unit is the time of an epoch by its name: its digits may tell the unit."""
    return field.unit is None and not field.is_integer and read_name(field.name).role == "epoch_time"


def _is_of_counted(field: Field) -> bool:
    """Whether a number without a unit, in a line that counts epochs alone, may be the time of one."""
    return field.unit is None and not field.is_integer and _is_untold(field.name)


def _cells(epoch: float, fields: Iterable[Field], rank: int | None, place: str | None) -> dict[str, Any]:
    """The epoch of a line, and the times with a unit that may be of it."""
    cells: dict[str, Any] = {"epoch": int(epoch)}
    for field in fields:
        name = field.name or "time"
        timed = field.unit in TIMES or _is_of_counted(field)
        if timed and field.value is not None and not field.is_mean and not _NOT_OF_ONE.search(name):
            cells.setdefault(column_of(name, field.unit), field.value)
    return cells | ({} if rank is None else {"rank": rank}) | ({} if place is None else {"worker": place})


def _counted_times(shape: Shape, source: Source) -> Iterator[TableRecord]:
    """A record for each line of a shape that counts epochs; what a validation took is its own time.

    `Epoch 3 Loss 1.02` before `Time taken for epoch 3 is 41.2 sec` is of the same record.
    """
    untimed: TableRecord | None = None  # says nothing but its epoch
    for line, whole in log_lines(source):
        parts = shaped(line.text) if whole else None
        if parts and parts.key == shape.key and not is_of_validation(SOURCE_FILE.sub("", line.text)):
            epoch = parts.parsed.fields[parts.counts[0].field]
            cells = _cells(epoch.value or 0, parts.parsed.fields, line.rank, line.location)
            record = TableRecord(line.number, cells, None, line.text)
            if untimed and not untimed.cells.items() <= cells.items():
                yield untimed
            untimed = None if cells.keys() - _WHOSE else record
            if untimed is None:
                yield record
    if untimed:
        yield untimed


class _Uncounted:
    """Lines with a time that count nothing and stand once in each epoch."""

    def __init__(self, source: Source) -> None:
        by_kind: defaultdict[str, list[tuple[int, TableRecord]]] = defaultdict(list)
        epochs: set[tuple[int, float]] = set()
        epoch: float | None = None
        launch = 0  # counted by the epochs that go back
        changes = leaps = 0  # from one epoch to another, and to one that is not the next
        for line, whole in log_lines(source):
            parts = shaped(line.text)
            counted = [count for count in parts.counts if count.role == "epoch"] if parts else []
            if parts and counted:
                before, epoch = epoch, parts.parsed.fields[counted[0].field].value or 0.0
                launch += before is not None and epoch < before - 1
                changes += before not in (None, epoch)
                leaps += before is not None and epoch > before + 1
                epochs.add((launch, epoch))
            elif whole and epoch is not None and not (parts and parts.counts) and not is_elsewhere(line.text):
                text = _OF_JULIA.sub(r"\1", line.text)
                fields = [_with_unit(field) for field in parsed(text).fields]
                timed = [f for f in fields if (f.unit in TIMES or _is_of_epoch(f)) and f.value is not None]
                of_one = [field for field in timed if not _NOT_OF_ONE.search(field.name)]
                beside = len(timed) > 1 and len(of_one) == 1 and _OF_EPOCH.search(of_one[0].name)
                alone = len(timed) == len(fields)  # `Epoch time: 54.2s | Total time: 0.9m | ETA: 6.4m`
                timed = of_one if beside else timed
                loss = any(_LOSS.search(field.name) for field in fields)
                since_start = bool(alone and len(timed) == 1 and _SINCE_START.fullmatch(timed[0].name))
                if (
                    len(timed) != 1
                    or (len(fields) > 2 and not loss and not (beside and alone))
                    or (_NOT_OF_ONE.search(_MEAN_LOSS.sub("loss", line.text)) and not (beside or since_start))
                ):
                    continue
                name = "epoch time" if _OF_EPOCH.search(line.text) else timed[0].name
                if read_name(column_of(name or "time", timed[0].unit)).role in ("epoch_time", "time", "elapsed"):
                    own = _OWN_EPOCH.search(line.text)  # `Timer 'train_epoch_3': 8.2 seconds` may come before its epoch
                    cells = _cells(
                        float(own[1]) if own else epoch, [timed[0]._replace(name=name)], line.rank, line.location
                    )
                    record = TableRecord(line.number, cells, None, line.text)
                    kind = by_kind[_NUMBER.sub("#", line.text)]
                    again = kind and (kind[-1][0], kind[-1][1].cells) == (launch, cells)  # as two ranks print it
                    kind += [] if again else [(launch, record)]
        kinds = [found for found in by_kind.values() if self._is_of_each(found, len(epochs))]
        named = [found for found in kinds if _OF_EPOCH.search(found[0][1].text)]
        found = next(iter(named or kinds), []) if len(named or kinds) == 1 else []
        each = leaps <= (1 - _MOSTLY) * changes  # of each tenth epoch, a time may be that of ten
        self.found = [record for _, record in found] if each else []

    @staticmethod
    def _is_of_each(found: list[tuple[int, TableRecord]], epochs: int) -> bool:
        """Whether a line of this kind stands once in each epoch of a launch."""
        times = Counter((launch, record.cells["epoch"], record.cells.get("rank")) for launch, record in found)
        again = sum(count - 1 for count in times.values())  # after launches that ended in their first epoch
        return len(found) >= RECURS and again <= _AGAIN * len(found) and len(found) >= _MOSTLY * epochs - 1

    def records(self, source: Source) -> Iterator[TableRecord]:
        yield from self.found
