"""Steps or epochs of a log that no format knows, whose numbers are in the lines below the one that counts.

Tool: any script that prints a heading for each step, hundredth step or epoch, and its numbers below
Versions: a heading that counts and holds no other number; one to twelve lines of numbers below one of steps
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Asked after generic_lines, where that reads nothing.  The lines below a heading belong to its step, up to one without a
number or one that counts something; a warning does not end them.  Their numbers are read as those of one line are in
generic_lines.  A time needs its unit there; where no line tells a time, the time stamps of the headings do (`step_s_origin` = derived), as in generic_lines, unless
the number after `/` changes.  Of headings such as `Step: 0 / 5` among those of 2,398, which are fewer, an evaluation prints
the ones with the smaller number: they count no steps.  Below a heading such as `===== Step 3/100 =====`, or one with such
a rule below it, come up to 40 lines, and those without a number among them end nothing, but for another rule.  A heading
of a step may hold the time that has passed, which is left out.  `Elapsed Time: 29.5 seconds` is since the start where it only grows; not
where validation or saving comes between most headings; and that of the step where it goes up and down from one to the next.  Where two kinds of headings count steps, nothing is read; of those of epochs that come once in each, the first counts.  The
last heading, where numbers are missing that all others have, may be cut: a problem.

`Epoch [1/3], Step [10/40]` counts the steps of each epoch.  Where no heading counts steps, those that count epochs are read.  Up to 200 lines below one are of its epoch, whatever
comes between them: its loss, and its time with a unit (`Epoch time: 30.5 s`), but not that of other work
(`Inference finished in 3.5 s`).  Without that, and where each heading has a
time stamp, an epoch's time is that until the next heading, with the validation in it (`derived`), if a loss is
below it (that of a validation, where the heading says of how many epochs), or the heading or a name below speaks of training.  Fewer than five are read only where
they count on to a total, and each states its epoch's time.  `Epoch 1 (1/200)` counts once.  Where no time is told, the one
total of the training after all epochs gives their mean, a metric.  A heading after which its own count comes again, or
an earlier one, is of a launch that may have failed: it needs no numbers below it.  Bars between such lines, which may be anything, take nothing from that.
A line below a heading that states a time in Chinese, Japanese or Korean is read as if its words were English.
In a line that begins with the validation, numbers whose names do not say so are of it: `Val   Loss: 2.2 Acc: 0.4`.
Where training and validation have a line and a time each, that of the training is a `train` phase.
No time by stamps goes over a second launch: what stands before the first heading comes again there.

Samples:
    ----- Iteration: 1000 -----
"""

from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.launcher_prefixes import ANSI, without_prefix
from scalelens.parsing.other_languages import in_english
from scalelens.parsing.recurring_lines import RECURS
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import is_text
from scalelens.tabular.cells import TableRecord, lines_of
from scalelens.tabular.column_names import read_name
from scalelens.tabular.column_values import Survey
from scalelens.tabular.roles import ColumnReading, assign
from scalelens.tabular.steps import lacks, write_rows
from scalelens.tabular.unknown_logs.choice import chosen
from scalelens.tabular.unknown_logs.clock import Clock, is_stamp_alone, stamp_in
from scalelens.tabular.unknown_logs.epoch_times import is_elsewhere
from scalelens.tabular.unknown_logs.fields import Field
from scalelens.tabular.unknown_logs.launches import Launches
from scalelens.tabular.unknown_logs.records import BY_CLOCK, CUT, PAUSES, TIMES, TOTAL, LineTable, column_of
from scalelens.tabular.unknown_logs.results_beside import named_by_phase
from scalelens.tabular.unknown_logs.shapes import CONSTANT, Shape, shaped, shapes_in
from scalelens.tabular.unknown_logs.times import LineTimes
from scalelens.tabular.unknown_logs.whole_trainings import means_of_trainings

VERSION = 2
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps

_MOST_LINES = 300_000
_LINES_BELOW = {"step": 12, "epoch": 200}
_RULED, _BELOW_A_RULE = re.compile(r"[=#*~\u2500-\u257f-]{3,}"), 40  # `===== Step 3/100 =====`, and the lines below it
_WARNS = re.compile(r"(?<![a-z])(?:[a-z]{0,20}warn(?:ing)?|deprecated)(?![a-z])", re.IGNORECASE)  # ends no block
_RULE_ALONE = re.compile(r"\s*[=#*~\u2500-\u257f-]{3,}\s*")
_MOSTLY = 0.9
_OFTENER = 3  # epochs that follow one another, for each restart
_SELDOM = 10  # headings of steps, of which at most one follows a validation or saving
_EVALUATES = re.compile(r"\W*(?:val|valid|validat(?:ion|ing)|dev|test|testing|eval|evaluation)\b", re.IGNORECASE)
_EPOCH_AND_STEP = (["epoch", "step"], ["epoch", "batch"], ["epoch", "of_all"])  # Epoch [1/3], Step [10/40]
_TRAINS = re.compile(r"(?<![a-z])train(?:ing|ed)?(?![a-z])", re.IGNORECASE)  # in the heading
# Of one epoch of so many: what is trained is validated.
_VALIDATION_LOSS = re.compile(r"val(?:id(?:ation)?)?[ _]loss(?![a-z])", re.IGNORECASE)
_TIMES = {"elapsed", "batch_time", "interval_time", "span_time", "running_time"}
_TOLD = {"loss", "elapsed", "batch_time", "epoch_time"}  # one of these is in the lines below


def recognise(head: bytes, name: str) -> bool:
    return is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    if rows.part:
        return ""
    shapes = shapes_in(source, _MOST_LINES)
    headings = [shape for shape in shapes if _counts_alone(shape, "step")]
    if not headings:
        epochs = [shape for shape in shapes if _counts_alone(shape, "epoch")]
        headings = _first_of_epochs([shape for shape in epochs if shape.lines >= RECURS] or epochs)
        shapes = [shape for shape in shapes if not shape.bar]  # what a bar counts takes nothing from an epoch
    if chosen(shapes) or len(headings) != 1:
        return ""
    blocks = _Blocks(headings[0])
    times = LineTimes(blocks.counts[-1] if blocks.role == "step" else None, headings[0].resolution_s)
    survey = Survey(times.seen(blocks.records(source)))
    blocks.wanted = {name for name, values in survey.columns.items() if values.numbers >= _MOSTLY * blocks.finished - 1}
    blocks.wanted -= {BY_CLOCK} | {name for name in blocks.repeated if read_name(name).unit in TIMES}
    readings = assign({name: survey.columns[name] for name in survey.columns if name in blocks.wanted}, rows.mapping)
    if not blocks.tells_elapsed(survey) and "elapsed" not in rows.mapping:
        readings = [reading._replace(role=None) if reading.role == "elapsed" else reading for reading in readings]
    roles = {reading.role for reading in readings}
    if headings[0].lines < RECURS and "epoch_time" not in roles:
        return ""  # of few epochs, nothing less than their times is enough
    by_clock = blocks.stamped and blocks.role == "epoch" and not {"epoch_time", "elapsed"} & roles
    validates = headings[0].has_total and headings[0].of_training and any(map(_VALIDATION_LOSS.match, blocks.wanted))
    trains = validates or any(map(_TRAINS.search, (headings[0].example, *blocks.wanted)))
    if _TOLD.isdisjoint(roles) and not (by_clock and trains):
        told = trains and blocks.role == "epoch" and means_of_trainings(source, rows, headings[0])
        return None if told else ""
    one_count = not any(headings[0].totals) or blocks.own_total is not None
    stamps_tell = blocks.stamped and one_count and times.stamps_tell and 2 * blocks.paused <= blocks.headings
    untimed = roles.isdisjoint(_TIMES) and not any(map(times.claims, blocks.wanted))
    steps_by_clock = blocks.role == "step" and stamps_tell and untimed and "elapsed" not in rows.mapping
    if by_clock or steps_by_clock:
        readings.append(ColumnReading(BY_CLOCK, "elapsed", "s"))
    if lacking := lacks(survey, readings):
        return lacking
    rows.assigned = readings
    parts = write_rows(
        source, rows, blocks.records, survey, readings, begins_epochs=by_clock,
        without_validation=bool(blocks.validated), least_steps=times.least_steps if steps_by_clock else 0,
        after_pauses=blocks.after_pauses, often_paused=_SELDOM * blocks.paused > blocks.headings or blocks.own_total is not None,
        after_launches=blocks.after_launches,
    )  # fmt: skip
    for part in parts if steps_by_clock else ():
        rows.part = part
        first = headings[0].first
        rows.param("step_s_origin", "derived", first, origin="inferred")
        rows.param("step_s_resolution_s", headings[0].resolution_s, first, unit="s", origin="inferred")
    if blocks.role == "epoch" and {reading.role for reading in readings}.isdisjoint({"epoch_time", "elapsed"}):
        means_of_trainings(source, rows, headings[0])
    return None


def _begun(number: int, text: str, cells: dict[str, Any]) -> TableRecord:
    """The record of a heading, of which nothing more is known yet."""
    return TableRecord(number, {name: value for name, value in cells.items() if value is not None}, None, text)


def _counts_alone(shape: Shape, role: str) -> bool:
    """Whether its lines count steps or epochs that rise, and hold no other number."""
    if role == "step" and _counts_both(shape):
        return True
    numbers = [name for name in shape.names if role != "step" or not _is_passed(name, shape.units[name])]
    alone = shape.roles in ([role], [role, CONSTANT]) and len(numbers) == len(shape.roles) and not shape.bar
    restarts = shape.falls[0] if role == "epoch" and _OFTENER * shape.falls[0] <= shape.rises[0] else 0
    few = role == "epoch" and shape.has_total and shape.rises[0] == shape.lines - 1
    return alone and shape.lines >= (2 if few else RECURS) and shape.rises[0] + restarts >= _MOSTLY * (shape.lines - 1)


def _is_passed(name: str, unit: str | None) -> bool:
    """Whether a number of a heading is the time that has passed: `Step 3 | Time: 0:01:02`."""
    return unit in TIMES and read_name(column_of(name, unit)).role in ("time", "elapsed")


def _counts_both(shape: Shape) -> bool:
    """Whether its lines count the epochs and the steps of each, and hold no other number."""
    alone = shape.roles in _EPOCH_AND_STEP and len(shape.names) == 2 and not shape.bar and not shape.crosses
    return alone and shape.lines >= RECURS and shape.rises[1] + shape.turns >= _MOSTLY * (shape.lines - 1)


def _first_of_epochs(headings: list[Shape]) -> list[Shape]:
    """Of headings that come once in each epoch, the first: `Epoch 3` is before `finished training epoch 3`.

    Beside `Epoch 3 begins training`, one that begins validating is none.
    """
    trains = [shape for shape in headings if not _EVALUATES.match(shape.key[2])]
    headings = trains or headings
    lines = [shape.lines for shape in headings]
    once = bool(lines) and max(lines) - min(lines) <= 1
    return [min(headings, key=lambda shape: shape.first)] if once else headings


class _Blocks:
    """The numbers below each heading, as records."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.table = shape, LineTable(shape)
        self.counts = shape.roles if shape.roles[1:] in ([], [CONSTANT]) else ["epoch", "batch"]
        self.role = "epoch" if shape.of_epochs_alone else "step"
        self.repeated: set[str] = set()  # columns of which a block holds several values
        self.wanted: set[str] = set()  # columns that all headings but the last have below them
        self.begun_anew = (
            0  # headings after which the same count, or an earlier one, comes: launches that may have failed
        )
        self.headings = self.paused = 0  # those before which a line mentions validation or saving
        self.validated = 0  # times of validations
        self.after_pauses: set[int] = set()  # lines of the headings before which a line mentions one of these
        self.after_launches: set[int] = set()  # lines of those before which the program was launched again
        self.own_total = shape.own_total if shape.roles == ["step"] else None  # other headings are of an evaluation
        self.is_ruled = self.role == "step" and bool(_RULED.search(shape.example))
        self.lines_below = _BELOW_A_RULE if self.is_ruled else _LINES_BELOW[self.role]

    def records(self, source: Source) -> Iterator[TableRecord]:
        """A record for each heading, with the numbers below it."""
        self.headings = self.paused = self.validated = self.begun_anew = 0
        opened: dict[Any, TableRecord] = {}
        clocks: dict[Any, Clock] = {}
        left: dict[Any, int] = {}  # lines that may still be of the block
        pause, held = False, ""  # of the line before, which held nothing else
        under_rule, launches = False, Launches()  # whether the line before is a heading
        for number, text, whole in lines_of(source):
            text = ANSI.sub("", text) if "\x1b" in text else text
            if held and text.strip() and not stamp_in(text):
                text = held + text
            held = f"{text.strip()} " if is_stamp_alone(text) else held if not text.strip() else ""
            text, rank, location = without_prefix(text)
            text, whose = in_english(text, below_a_count=True), (rank, location)
            parts = shaped(text)
            if parts and parts.key == self.shape.key and self.is_heading(parts.parsed.fields):
                if self.own_total and parts.parsed.fields[0].total != self.own_total:
                    pause, left[whose] = True, 0
                    continue
                last = opened.get(whose)
                if last and (last.line, last.text) == (number - 1, text):
                    continue  # as two ranks print it
                launches.take(number, whose)
                if last:
                    yield last
                self.after_pauses |= {number} if pause else set()
                self.headings, self.paused, pause = self.headings + 1, self.paused + pause, False
                count = self.counted(parts.parsed.fields) if whole else {}
                self.begun_anew += self.is_anew(last, count)
                under_rule, stamp = True, parts.parsed.stamp
                now = round(clocks.setdefault(whose, Clock()).seconds(stamp), 6) if stamp else None
                opened[whose] = _begun(number, text, {"rank": rank, "worker": location, BY_CLOCK: now, **count})
                left[whose] = self.lines_below
                continue
            launches.look(raw := text.encode())
            pause = pause or bool(PAUSES.search(raw))
            if not left.get(whose):
                continue
            if under_rule and self.role == "step" and _RULE_ALONE.fullmatch(text):
                under_rule, self.is_ruled = False, True
                left[whose] = self.lines_below = _BELOW_A_RULE
                continue
            under_rule = False
            fields = named_by_phase(text) if not parts else []
            ends = not fields and self.role == "step" and not _WARNS.search(text)
            left[whose] = 0 if ends and (not self.is_ruled or _RULED.search(text)) else left[whose] - 1
            evaluates, elsewhere = bool(_EVALUATES.match(text)), is_elsewhere(text)
            for column, value in filter(None, map(self.table.named, fields if whole else [])):
                role, unit = read_name(column)
                if evaluates and unit in TIMES:
                    self.validated += 1  # its own time, whatever that is called
                    continue
                if elsewhere and unit in TIMES and role in ("time", "elapsed"):
                    continue  # `Inference finished in 3.5 s`
                if opened[whose].cells.setdefault(column, value) != value:
                    self.repeated.add(column)  # of training, then of validation
        self.after_launches = launches.told
        for record in opened.values():
            yield record._replace(damage=CUT) if not self.wanted <= set(record.cells) else record

    @property
    def finished(self) -> int:
        """How many headings may have all of their lines below them."""
        return self.headings - self.begun_anew

    def is_anew(self, before: TableRecord | None, count: dict[str, int]) -> bool:
        """Whether an epoch follows itself or a later one."""
        return self.role == "epoch" and before is not None and before.cells.get("epoch", -1) >= count.get("epoch", 0)

    def is_heading(self, fields: list[Field]) -> bool:
        """Whether a line holds no more than the counts, and the time that has passed."""
        others = fields[len(self.counts) :]
        return len(fields) >= len(self.counts) and all(_is_passed(field.name, field.unit) for field in others)

    def counted(self, fields: list[Field]) -> dict[str, int]:
        """What a heading counts, by name; and how many batches an epoch has, if it says so."""
        fields = fields[: len(self.counts)]
        named = zip(self.counts, fields, strict=True)
        cells = {name: int(field.value or 0) for name, field in named if name != CONSTANT}
        total = fields[-1].total
        return cells | ({TOTAL: total} if total and len(cells) == 2 else {})

    @property
    def stamped(self) -> bool:
        """Whether each heading has a time stamp."""
        return self.shape.with_stamp == self.shape.lines

    def tells_elapsed(self, survey: Survey) -> bool:
        """Whether the time since the start tells that of what a heading counts: an epoch holds its validation."""
        if self.role == "epoch":
            times = [values for name, values in survey.columns.items() if read_name(name).role == "elapsed"]
            return all(values.adds_up for values in times)
        return 2 * self.paused <= self.headings
