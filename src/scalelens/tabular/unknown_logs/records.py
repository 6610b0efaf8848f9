"""Lines of one shape as records of a table: a column for each name, with its unit, and one for the time stamps."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.recurring_lines import ELSEWHERE
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import SPELT, read_name
from scalelens.tabular.role_table import UNITS_OF_KIND
from scalelens.tabular.roles import ColumnReading
from scalelens.tabular.unknown_logs.clock import Clock
from scalelens.tabular.unknown_logs.drawn_bars import EPOCH, STEP, Drawn, DrawnBars
from scalelens.tabular.unknown_logs.fields import Field
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import CONSTANT, MASK, Shape, Shaped, shaped
from scalelens.tabular.unknown_logs.stated_times import StatedTimes, Whole
from scalelens.tabular.unknown_logs.trainings import Trainings
from scalelens.tabular.unknown_logs.validations import Validations

TIMES = UNITS_OF_KIND["time"]
BY_CLOCK = "seconds by the time stamps"
LEFT = "time left [s]"
TOTAL = "batches_per_epoch"
RUNNING = "running_step_time [s]"
_STEPS = (
    "it",
    "itr",
    "iter",
    "iteration",
    "step",
    "batch",
    "iters",
    "iterations",
    "steps",
    "batches",
    "updates",
    "update",
    "",
)  # what a rate of steps counts
_NAMED_RATE = re.compile(
    r"(?:(?:train(?:ing)?|avg|average|mean|interval)[_ ])?(?P<what>it|step|batch|update)(?:er|eration)?(?:e?s)?"
    r"(?:/| per |_per_)(?:s|secs?|seconds?)\Z|ups\Z",
    re.IGNORECASE,
)
_MOST_KEPT = 50_000  # records that are kept in memory; more are parsed again for each pass
_TIMES_OF_DAY = (BY_CLOCK, "timestamp")
_OF_BARS = ("rank", "worker", TOTAL)  # columns of a drawing, whatever its postfix is
_WRITTEN_OUT = {"min": "minutes", "h": "hours"}  # "loss [min]" is the least loss
_USUAL, _ALWAYS = 0.5, 0.9  # shares of the lines of a shape that have a name
_STAMPED = 0.9  # share of the lines that have a time stamp, where these are times of the records
_LEAST_NAMES = 0.5  # share of the usual names that a record has
_OFTEN = 0.1  # of the records
PAUSES = re.compile(
    rb"eval|(?<![a-z])(?:val|test)(?!ue)|(?<![a-z])(?<!std )dev[ _-](?:acc|loss|f1|ppl|bleu|wer|cer|set|score)"
    rb"|checkpoint|saving|saved",
    re.IGNORECASE,
)
MEAN_TIME = re.compile(
    r"(?:step|iter|iteration|batch)[ _]avg|(?:avg|average|mean)[ _.]{1,2}(?:(?:step|iter|iteration|batch)[ _]time"
    r"|time(?:[ _]per[ _]| ?/ ?|[ _])(?:step|iter|iteration|batch))|time_each_(?:step|iter)",
    re.IGNORECASE,
)
TIME_IN_SHORT = (
    "t", "T", "ep_time", "used", "Used", "spent", "Spent", "done", "Done", "finished", "Finished", "completed",
    "Completed", "timer", "Timer",
)  # fmt: skip
FRAMES_PER_S = ("sps", "fps")  # beside what an agent gained: a frame, or a step of its environment, is a sample
_TRAINS = re.compile(r"train(?:ing)?(?: in)?", re.IGNORECASE)
_BY_PHASE = re.compile(
    r"(?:train(?:ing)?|val(?:id|idation)?|eval(?:uation)?|test(?:ing)?|dev)(?: in)?", re.IGNORECASE
)  # `train: 9.1s - val: 3.2s`, `train in: 0m 9s ... valid in: 0m 3s`
_VALIDATES, _OF_EPOCH = re.compile(r"(?<![a-z])(?:val|eval|test)", re.IGNORECASE), re.compile("epoch", re.IGNORECASE)
_VALIDATED = re.compile(r"(?:val|valid|validation|eval|test|dev)(?![a-z])", re.IGNORECASE)
_TRAINED = re.compile(r"(?<![a-z])(?:train|total)", re.IGNORECASE)
_OWN_LOSS = re.compile(r"(?<![a-z])loss\W{1,4}\d", re.IGNORECASE)  # before that of a validation
_MEAN_STEP = re.compile(
    rb"(?<![a-z])(?:avg|average|mean)[ _](?:step|iter|iteration|batch)[ _]time[^\w.]{1,4}(\d{1,9}\.\d{1,9})",
    re.IGNORECASE,
)
_MICRO_STEP = re.compile(r"(?:micro|accum\w{0,12})[ _-]?(?:steps?|batch(?:es)?|iter\w{0,8})?\Z", re.IGNORECASE)
CUT = "the line is cut: numbers that all others have at their end are missing, and the last one may be cut too"
_NEAREST = 2  # words before the lead of a line, which say what it is of
_NO_END = "the line has no end and may be cut: it is not read"


class LineTable:
    """The records of a log whose lines have one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.columns: dict[str, str] = {}  # by role: what the counts are
        least = min(_ALWAYS * shape.lines, max(shape.lines - 1, 0.6 * shape.lines))  # of few lines, one may be cut
        names = Counter({MASK.sub("#", name): 0 for name in shape.order})
        for name, lines in shape.names.items():
            names[MASK.sub("#", name)] += lines
        self.usual = [name for name, lines in names.items() if lines >= _USUAL * shape.lines]
        self.always = [name for name in self.usual if names[name] >= least]
        self.epochs_are_timed = False  # whether other lines state the time of each epoch
        self.beside: dict[int, tuple[str, Any]] = {}  # by line: the time of its step that another line states
        self.results: dict[int, dict[str, Any]] = {}  # by line: what its epoch gave, in lines beside it
        self.left_out = 0  # lines of the shape that are not records
        self.taken = self.paused = 0  # records, and those before which a line mentions validation or saving
        self.after_pauses: set[int] = set()  # lines of the records before which one mentions validation or saving
        self.after_launches: set[int] = set()  # lines of the records before which the program was launched again
        self.other_trainings: set[int] = set()  # lines of the first records of other trainings than the one before
        self.methods: dict[int, str] = {}  # what headings call them, by the line of the first record
        self.stated = StatedTimes()
        self.rate_decimals: int | None = None  # most digits after the point of its rates of steps per second
        self.mean_steps: set[float] = set()  # mean times of a step that other lines state
        self._units: dict[str, str] = {}  # of times, by name
        timed = [name for name, unit in shape.units.items() if unit in TIMES]
        # `train: 9.1s - val: 3.2s`, where nothing else has a time
        self.times_by_phase = shape.of_epochs_alone and all(_BY_PHASE.fullmatch(name) for name in timed)
        self.wholes: Callable[[], Iterable[Whole]] = list  # how long all of its records took together
        # Writes the times of the epochs that other lines state, where these show which time that of its records is.
        self.write_epochs: Callable[[Source, Rows], list[ColumnReading]] | None = None
        self.bars: DrawnBars | None = None  # of tqdm, where its lines are drawings
        self.bars_as_wholes = False  # their times are means of whole bars
        self.bars_are_timed = True
        self.kept: list[TableRecord] | None = None  # its records, where these are not too many
        self._labels = self.labels()

    def labels(self) -> list[str]:
        """Columns of the counts, in their order; `columns` says what they are."""
        if self.shape.is_pair:
            self.columns |= {"epoch": "epoch", "batch": "batch"}
            return ["batch"]
        names = [name.strip() for name in self.shape.key[1]]
        names = ["" if name == "/" else name for name in names]  # of a count that has no name but its total
        roles = self.shape.roles
        epoch = "epoch" in roles or self.epoch_name is not None
        labels: list[str] = []
        of_an_epoch = ("batch", "step") if roles == ["step"] and self.shape.has_total else ("batch",)  # `step 20/328`
        for k, (name, role) in enumerate(zip(names, roles, strict=True)):
            if k == self.shape.drawn:  # the step through the run follows from it
                self.columns["step"] = STEP
                labels.append(STEP)
                continue
            if role == CONSTANT:
                labels.append(CONSTANT)
                continue
            if role == "of_all":
                role = "batch" if epoch else "step"
                if role in roles:  # (2/8) beside `batch 50` is a rank and the number of ranks
                    labels.append(f"{name or role} {k + 1}")
                    continue
            taken = role in self.columns and k in self.shape.differing
            if taken and self.shape.drawn is not None:
                taken = False  # what a bar draws are its own steps
            elif taken and "global" in name.lower() and self.counts_within_epochs(labels.index(self.columns[role])):
                taken = False  # what comes before it counts the steps of the epoch
                del self.columns[role]
            label = EPOCH if role == "epoch" and self.shape.drawn is not None else name or role
            label = f"{label} {k + 1}" if label in labels else label
            self.columns.setdefault(role, label)
            if taken:  # two counts of steps that differ
                self.columns["?"] = label
            labels.append(label)
        if self.shape.drawn is not None:
            if not epoch and (self.shape.is_drawn_again or self.shape.one_for_each_epoch):
                self.columns["epoch"] = EPOCH
        elif not epoch and any(
            self.shape.falls[k] and (role == "of_all" or (role in of_an_epoch and self.shape.is_between_epochs))
            for k, role in enumerate(roles)
        ):
            self.columns["epoch"] = EPOCH  # from the lines before
        if self.epoch_name is not None:
            self.columns["epoch"] = EPOCH
        return labels

    def counts_within_epochs(self, k: int) -> bool:
        """Whether a count is of steps that begins anew in each epoch."""
        return "epoch" in self.shape.roles and self.shape.falls[k] > 0

    @property
    def resolution_s(self) -> float:
        """Of the time stamps, where nearly each line has one; else 0."""
        return self.shape.resolution_s if _STAMPED * self.shape.lines <= self.shape.with_stamp else 0.0

    @property
    def mostly_paused(self) -> bool:
        """Whether validation or saving stands between most records: the time between them is not a time of steps."""
        return self.shape.of_epochs or 2 * self.paused > self.taken

    @property
    def often_paused(self) -> bool:
        """Whether so many records follow a validation or saving that these would move the median of the rest."""
        return self.paused > _OFTEN * self.taken

    @property
    def pauses_between_steps(self) -> bool:
        """Whether that is so, and its lines count steps rather than epochs."""
        counts_steps = {"step", "batch"} & set(self.columns) and not self.shape.of_epochs
        return bool(counts_steps) and self.mostly_paused

    @property
    def counts_steps_alone(self) -> bool:
        """Whether its lines count steps and are not drawings of a bar."""
        return bool({"step", "batch"} & set(self.columns)) and not (self.shape.of_epochs or self.shape.bar)

    @property
    def epoch_name(self) -> str | None:
        """The name of a number ahead of the count that grows where the count restarts."""
        if "epoch" in self.shape.roles:
            return None
        return next((name for name, grows in self.shape.epochs.items() if grows and self.cycles), None)

    @property
    def cycles(self) -> bool:
        return any(self.shape.falls)

    def records(self, source: Source) -> Iterator[TableRecord]:
        """The records of a log.  A record that is printed twice, or redrawn by a bar, counts once."""
        if self.kept is not None:
            yield from self.kept
            return
        kept: list[TableRecord] = []
        begun = self.other_trainings  # is known once all have been read
        parsed = self._parsed(source)
        if self.shape.drawn is None:
            records = self.of_lines(one.record for one in parsed)
        else:
            self.bars = DrawnBars(
                EPOCH in self.columns.values(),
                self.shape.one_for_each_epoch,
                as_wholes=self.bars_as_wholes,
                are_timed=self.bars_are_timed,
                trainings=begun,
            )
            records = self.bars.records(parsed)
        for record in records:
            if len(kept) <= _MOST_KEPT:
                kept.append(record)
            yield record
        if len(kept) <= _MOST_KEPT and (self.bars is None or begun == self.other_trainings):
            self.kept = kept

    def read_bars_as_wholes(self) -> None:
        """Lets the records be read again, with the mean of its steps as the time of each bar; then without times."""
        self.bars_as_wholes, self.bars_are_timed, self.kept = True, not self.bars_as_wholes, None

    def of_lines(self, records: Iterator[TableRecord]) -> Iterator[TableRecord]:
        """The records of lines that are no drawings, each step's once."""
        counts = list(self.columns.values())
        if not self.shape.bar and any(map(_MICRO_STEP.match, self.usual)):
            return _whole_steps(records, counts)
        return _without_repeats(records, self.shape.bar, counts)

    def _parsed(self, source: Source) -> Iterator[Drawn]:
        clocks: dict[Any, Clock] = {}
        epoch = self.shape.first_ended if self.shape.follows_ends else None
        last: tuple[bool, Drawn] | None = None
        self.left_out = self.taken = self.paused = 0
        self.stated = StatedTimes()
        after_other = False  # whether another bar was drawn since the last record
        pause = paused = False  # before the line, and before the record that it may go on with
        validations, trainings = Validations(BY_CLOCK), Trainings()

        def look(raw: bytes) -> None:
            nonlocal pause
            trainings.look(raw)
            pause = pause or bool(PAUSES.search(raw))
            self.note_times(raw)

        for line, whole in log_lines(source, look):
            parts = shaped(line.text)
            if parts is None:
                look(line.text.encode())
                continue
            proven = parts.parsed.tail == self.shape.tail != "" and not self.lacks_end(parts, self.usual)
            if not whole and not proven:
                if parts.key == self.shape.key:
                    yield Drawn(TableRecord(line.number, {}, _NO_END, line.text), None)
            elif self.is_of_shape(parts):
                cells = self.cells(line, parts, clocks.setdefault((line.rank, line.location), Clock()))
                pause = (self.counts_steps_alone and validations.is_anew(cells)) or pause
                if epoch is not None and self.columns.get("epoch") == "epoch":
                    cells.setdefault("epoch", epoch)
                is_cut = self.is_cut(parts)
                if parts.parsed.drawing and not parts.parsed.text.endswith("]"):  # in a narrow terminal, the postfix is
                    cells = {column: cells[column] for column in (*self._labels, *_OF_BARS) if column in cells}
                    is_cut = False
                if last and self.goes_on(last[1].record, cells):
                    if self.counts_steps_alone:
                        pause = pause or validations.is_long(last[1].record.cells, cells) or paused
                    self.taken, self.paused, is_cut = self.taken - 1, self.paused - paused, False
                    cells |= last[1].record.cells | ({} if self.shape.spaced.end_once else _printed(cells))
                    trainings.launches.go_on(last[1].record.line, line.number)
                elif last and self.is_told(last[1].record):
                    validations.told(last[1].record)
                    yield last[1]
                self.note_pause(line.number, pause)
                trainings.take(line.number, (cells.get("rank"), cells.get("worker")), self.counts_of(cells))
                self.taken, self.paused, paused, pause = self.taken + 1, self.paused + pause, pause, False
                record = TableRecord(line.number, cells, CUT if is_cut else None, line.text)
                drawn, after_other = Drawn(record, parts.parsed.drawing, after_other), False
                last = not self.shape.goes_on and self.lacks_end(parts, self.usual), drawn
            elif parts.is_heading:
                epoch = parts.parsed.fields[0].value
            else:
                after_other = after_other or parts.parsed.drawing is not None
                if self.shape.follows_ends and parts.ended is not None:
                    epoch = parts.ended + 1
                look(line.text.encode())
        self.after_launches, self.other_trainings, self.methods = trainings.told
        if last and self.is_told(last[1].record):  # what was written last may be cut, even where a line end follows
            record = last[1].record
            yield last[1]._replace(record=record._replace(damage=CUT if last[0] else record.damage))

    def counts_of(self, cells: dict[str, Any]) -> list[Any]:
        """What a record counts: the epoch, or the step where none is known."""
        role = "epoch" if "epoch" in self.columns else "step" if "step" in self.columns else "batch"
        return [cells.get(self.columns.get(role, ""), cells.get(STEP) if self.shape.drawn is not None else None)]

    def note_pause(self, number: int, pause: bool) -> None:
        """Notes the line of a record before which one mentions validation or saving."""
        if pause and len(self.after_pauses) < _MOST_KEPT:
            self.after_pauses.add(number)

    def note_times(self, raw: bytes) -> None:
        """Notes the times that a line states which is not a record."""
        if b"ime" in raw and (mean := _MEAN_STEP.search(raw)):
            self.mean_steps.add(float(mean[1]))
        self.stated.look(raw)

    def goes_on(self, before: TableRecord, cells: dict[str, Any]) -> bool:
        """Whether a line says more of the epoch of the record before it, where each epoch has several lines."""
        same = all(before.cells.get(name) == cells.get(name) for name in (*self._labels, "rank", "worker"))
        return bool(self.shape.goes_on) and same and before.damage in (None, CUT)

    def is_told(self, record: TableRecord) -> bool:
        """Whether a record says more than that an epoch began, where each epoch has several lines."""
        told = len(record.cells) - sum(name in record.cells for name in (*self._labels, *_TIMES_OF_DAY, *_OF_BARS))
        return not self.shape.goes_on or record.damage is not None or told >= _LEAST_NAMES * (len(self.usual) - 1)

    def is_of_shape(self, parts: Shaped) -> bool:
        """Whether a line is a record.  Something else, printed without a line end, may stand before it."""
        lead, *others = self.shape.key
        if list(parts.key[1:]) != others or not (parts.key[0] == lead or _ends_in(parts.key[0], lead)):
            return False
        names = {_masked(field.name) for field in parts.parsed.fields}
        least = 1 if self.shape.goes_on else _LEAST_NAMES * len(self.usual)
        is_record = len(names.intersection(self.usual)) >= least
        self.left_out += not is_record
        return is_record

    def is_cut(self, parts: Shaped) -> bool:
        """Whether a line ends otherwise than the others, and before some numbers that all of these have."""
        ends_otherwise = parts.parsed.tail != self.shape.tail and not self.shape.goes_on
        return ends_otherwise and self.lacks_end(parts, self.always)

    def lacks_end(self, parts: Shaped, wanted: list[str]) -> bool:
        """Whether a line ends before some of the numbers that other lines have at their end."""
        if parts.parsed.drawing:
            return False  # some drawings have no rate, or nothing after it
        names = [_masked(field.name) for field in parts.parsed.fields]
        indexes = [wanted.index(name) for name in names if name in wanted]
        return max(indexes, default=-1) < len(wanted) - 1

    def cells(self, line: Line, parts: Shaped, clock: Clock) -> dict[str, Any]:
        """The values of a line by column."""
        cells: dict[str, Any] = {}
        counts = {count.field: label for count, label in zip(parts.counts, self._labels, strict=False)}
        # Of several lines of an epoch, that of the validation states its own time.
        validates = self.shape.goes_on and is_of_validation(line.text)
        validated = False
        for index, field in enumerate(parts.parsed.fields):
            validated = validated or bool(_VALIDATED.match(field.name))
            if index in counts and self.shape.is_pair:
                cells |= {"epoch": int(field.value or 0), "batch": field.total}
            elif counts.get(index) == CONSTANT:
                continue
            elif index in counts:
                cells[counts[index]] = int(field.value or 0) if field.is_integer else field.value
            elif field.name == self.epoch_name and "epoch" not in cells:
                cells["epoch"] = int(field.value or 0)
            elif (
                index < parts.counts[0].field and field.is_integer and not field.unit and not read_name(field.name).role
            ):
                continue  # the line of a source file, a process
            elif validates and field.unit in TIMES and not _OF_EPOCH.search(field.name):
                continue
            elif named := self.named(field):
                column, value = named
                if validated and column not in cells and column.lower() in map(str.lower, cells):
                    column = f"validation {column}"  # `Loss: 0.3 | Val Acc: 0.8 loss: 0.4`
                cells.setdefault(column, value)
        if line.number in self.beside:
            column, value = self.beside[line.number]
            cells.setdefault(column, value)
        cells = {**self.results.get(line.number, {}), **cells}
        if line.rank is not None:
            cells.setdefault("rank", line.rank)
        if line.location is not None:
            cells.setdefault("worker", line.location)
        counted = zip(parts.counts, self._labels, strict=False)
        within = [self.columns[role] for role in ("step", "batch") if role in self.columns]
        total = next((parts.parsed.fields[count.field].total for count, label in counted if label in within), None)
        if total is not None and not self.shape.is_pair:
            cells[TOTAL] = total
        if parts.parsed.left_s is not None:
            cells[LEFT] = parts.parsed.left_s
        if stamp := parts.parsed.stamp:
            cells[BY_CLOCK] = round(clock.seconds(stamp), 6)
            if stamp.iso:
                cells["timestamp"] = stamp.iso
        return cells

    def named(self, field: Field) -> tuple[str, Any] | None:
        """Column and value of a number that does not count."""
        unit, value = field.unit, int(field.value) if field.is_integer and field.value is not None else field.value
        if unit and "/" in unit and value:
            what, _, per = unit.partition("/")
            if self.shape.drawn is not None and not field.name and what.lower() in ("it", "s"):
                return None  # the bar's own, which is smoothed
            if what.lower() in _STEPS[:-1] and per in ("s", "sec", "second"):
                return RUNNING, self._inverted(field, value)
            if what.lower() in SPELT and per in _STEPS and SPELT[what.lower()] in TIMES:
                return RUNNING, value * TIMES[SPELT[what.lower()]]
        rate = _NAMED_RATE.match(field.name) if value and not unit else None
        if rate and value and self.counts_what(rate["what"] or "up"):
            return RUNNING, self._inverted(field, value)
        if unit in TIMES and value is not None and MEAN_TIME.fullmatch(field.name):
            return RUNNING, value * TIMES[unit]
        if self.shape.in_play and not unit and field.name.lower() in FRAMES_PER_S:
            return "samples/s", value
        if not unit and field.name.lower() == "tps" and self.shape.in_training and not self.shape.in_play:
            return "tokens/s", value
        name = field.name if not unit or any(map(str.isalnum, field.name)) else ""
        name = name or ("time" if unit in TIMES else "")
        if unit in TIMES and (name in TIME_IN_SHORT or (name.lower() == "dt" and self.shape.of_epochs_alone)):
            name = "time"  # beside an epoch, it is not that of a step
        if unit in TIMES and self.times_by_phase and _TRAINS.fullmatch(name):
            name = "training epoch time"
        if unit and len(unit) > 2 and "/" in unit and not name:
            name, unit = unit, None  # 191004 tok/s
        if not name:
            return None
        if unit in TIMES and value is not None:
            first = self._units.setdefault(name, unit)
            value = value if unit == first else value * TIMES[unit] / TIMES[first]
            unit = first
        return column_of(f"{name} mean" if field.is_mean else name, unit), value

    def counts_what(self, what: str) -> bool:
        """Whether what a rate counts is what the lines do: by its name, or where nothing else is a step."""
        what, names = what.lower(), self.shape.key[1]
        return any(what in name for name in names) or (not self.shape.in_play and (what == "it" or "/" in names))

    def _inverted(self, field: Field, per_second: float) -> float:
        """The time of a step by its rate, whose digits are noted: after a point stands one, be it a zero."""
        decimals = 0 if field.is_integer else len(repr(float(per_second)).partition(".")[2])
        self.rate_decimals = max(self.rate_decimals or 0, decimals)
        return 1.0 / per_second


def _printed(cells: dict[str, Any]) -> dict[str, Any]:
    """When a line was printed."""
    return {name: cells[name] for name in _TIMES_OF_DAY if name in cells}


@functools.lru_cache(maxsize=4096)  # the lines of a log have the same names
def _masked(name: str) -> str:
    """A name with `#` for its numbers."""
    return MASK.sub("#", name)


def is_of_validation(text: str) -> bool:
    """Whether a line states what a validation gave, and nothing of the training."""
    validates = _VALIDATES.search(text)
    if validates is None or _TRAINED.search(text):
        return False
    return not _OWN_LOSS.search(text, 0, validates.start())


def column_of(name: str, unit: str | None) -> str:
    """A column's name with its unit; one that could be read as another word is written out."""
    return f"{name} [{_WRITTEN_OUT.get(unit, unit)}]" if unit else name


def mean_of(column: str) -> str:
    """The column of the mean that stands in brackets after a number."""
    name, bracket, unit = column.partition(" [")
    return f"{name} mean{bracket}{unit}"


def _without_repeats(records: Iterator[TableRecord], bar: str, counts: list[str]) -> Iterator[TableRecord]:
    """Records without repetitions.

    Where a bar is drawn several times at one count, the last drawing counts, and only with a rate; of Keras' bars only
    the full ones, because their times are means over the epoch.
    """
    last: dict[Any, TableRecord] = {}
    for record in records:
        cells = record.cells
        if record.damage:
            yield record
            continue
        at = [cells.get(name) for name in counts]
        if (bar and RUNNING not in cells) or (bar == "keras" and cells.get(TOTAL) not in at):
            continue
        whose = (cells.get("rank"), cells.get("worker"))
        before = last.get(whose)
        last[whose] = record
        if not bar:
            if before is None or before.cells != cells:
                yield record
        elif before is not None and [before.cells.get(name) for name in counts] != at:
            yield before
    if bar:
        yield from last.values()


def _ends_in(text: str, lead: str) -> bool:
    """Whether a line was begun by something else and goes on with a lead.

    `val_loss` does not go on with `loss`, nor `Inference [` with `[`: these are lines of other work.
    """
    before = text.removesuffix(lead) if lead else text
    if before == text:
        return False
    goes_on = before[-1] == "_" or (before[-1].isalpha() and lead[0].islower())
    return not goes_on and not ELSEWHERE.search(" ".join(before.split()[-_NEAREST:]))


def _whole_steps(records: Iterator[TableRecord], counts: list[str]) -> Iterator[TableRecord]:
    """The last record of each step, where a step has one for each of its micro-steps.

    What is written last may be the beginning of a step: it counts where it has as many micro-steps as the step before.
    """
    last: dict[Any, TableRecord] = {}
    sizes: dict[Any, tuple[int, int]] = {}  # records of the step that is read, and of the one before
    for record in records:
        if record.damage:
            yield record
            continue
        cells = record.cells
        whose = (cells.get("rank"), cells.get("worker"))
        before, (size, size_before) = last.get(whose), sizes.get(whose, (0, 0))
        if before and [before.cells.get(name) for name in counts] != [cells.get(name) for name in counts]:
            yield before
            size, size_before = 0, size
        last[whose], sizes[whose] = record, (size + 1, size_before)
    for whose, record in last.items():
        size, size_before = sizes[whose]
        if size >= size_before:
            yield record
