"""What a parser produces: rows of the warehouse's tables, and problems.

A reader of a format gets one `Rows` per file and calls

    rows.add("steps", line=12, step=10, step_s=1.38)     a row; columns left out are NULL
    rows.param("tp", 4, line=3)                          a fact about the run, visible to the file's other formats
    rows.problem(12, "the record is cut", text)          a line of the format that could not be read
    rows.attempt_of(12, step, line.rank, line.location)  which launch printed this record; see parsing/attempts.py
    rows.reached(12, 10)                                 the training is at step 10, whose row of `steps` comes later
    rows.launched()                                      a header: what follows is another launch
    rows.job("4711", 12, "scheduler")                    the job's id; another one is another run
    rows.new_part()                                      what follows is another run
    rows.announce_part()                                 a command: what follows is another run
    rows.other_settings(12)                              printed settings differ: what follows is another run
"""

import bisect
import contextlib
import itertools
import operator
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import IO, Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import text_bounds
from scalelens.parsing.arrow_rows import COLUMN_TYPES, Columns, GatheredRows, Write, batch_of, columns_of, repeated
from scalelens.parsing.attempts import AMBIGUOUS, Launch, Position, Writers
from scalelens.parsing.implausible import INTERVAL_KINDS, Doubts
from scalelens.parsing.kernel_classes import with_class
from scalelens.parsing.part_facts import PartFacts
from scalelens.parsing.secrets import masked_value
from scalelens.parsing.text_bounds import LONGEST_REASON, TOO_MUCH, TextBound, cut, text_bytes
from scalelens.parsing.values import integer_valued
from scalelens.tables import LONGEST_TEXT, RUN_FACTS, SCHEMAS, SMALL, TEXT

BATCH = 20_000  # rows of one table that are gathered as Python objects before they become Arrow
_MOST_LETTERS = 8 << 20  # of their names and arguments: a file may state one long text for each of many rows
_LONG = ("name", "args")
_ARROW_BATCH_BYTES = 1 << 20  # of rows that are gathered as Arrow columns
_UNFIT = (pa.ArrowException, ArithmeticError, TypeError, ValueError)  # raised for a value that a column cannot hold
# Adds the columns of a table that follow from its other columns.
_DERIVED: dict[str, Callable[[pa.RecordBatch], pa.RecordBatch]] = {"events": with_class}

_METRICS = SCHEMAS["metrics"].names[1:]  # the columns of the tuples that are gathered
_OF_RANKS = ("steps", "phases")  # tables whose rows may name a rank or a place
_VALIDATION = "validation"  # the phase of steps that are not of the training
_TRAINED = ("epoch", "train")  # phases in which steps were made, whether or not they are logged
_COUNTS = {fact.name for fact in RUN_FACTS if pa.types.is_integer(fact.type)}


class _LastStep:
    """The last record of training."""

    __slots__ = ("line", "step")

    def __init__(self, line: int, step: int | None) -> None:
        self.line = line
        self.step = step  # None where it names none


class Rows:
    """Rows of one file, gathered by table and handed over as Arrow in batches.

    `params` holds the facts of the current part, whichever format gave them: a record of one format may need the
    sequence length from the argument dump of another.  Facts that count something are integers there: text such as
    `4k` or `None` becomes a row, but cannot be calculated with.
    """

    def __init__(
        self,
        file_id: str = "",
        write: Write | None = None,
        zone: tzinfo | None = None,
        mapping: Mapping[str, tuple[str, str | None]] | None = None,
        gathered: GatheredRows | None = None,
    ) -> None:
        self.file_id = file_id
        self.path = ""  # of the file: some tools print facts into its name
        self.rank: int | None = None  # of all rows of steps and phases that name no rank and no place
        self.place: str | None = None  # the same
        self.zone = zone  # of naive times, where the user gives it
        self.mapping = mapping or {}  # column and unit by role, where the user gives them
        self.assigned: list[Any] = []  # what each column of a CSV or the like is read as
        self.part = 0
        self.params: dict[str, Any] = {}
        self.attempt = 0
        self.last_steps: dict[int, _LastStep] = {}  # by part; `reached` keeps it, and the line of the last one of all
        self.last_step_line = 0
        self.logged_epochs: deque[tuple[int, float]] = deque(maxlen=64)  # line and seconds of the last ones
        self.evaluations: deque[tuple[int, float]] = deque(maxlen=1024)  # line and seconds of those within a training
        self.timed_steps: tuple[int, int] | None = None  # lines of the first and last step with a time or a rate
        self.writers = Writers(self._ambiguous)
        self._timed: set[tuple[int, str | None]] = set()  # parts and formats that gave times of steps
        self._job: str | None = None  # named by a scheduler or an environment, in this part
        self._announced: int | None = None  # the part that a command began
        self._stretches: list[int] = []  # lines from which on other settings were printed
        self._part_of_stretch: dict[int, int] = {}
        self._parts_of_settings = 0  # parts that other settings began
        self._job_over = 0  # line in which the scheduler says that the job of this part ended
        self.format: str | None = None  # the format that reads now
        self.taken: dict[str, int] = {}  # lines by line format; 1 for a file format
        self.of_lines = False  # line formats read the file
        self.times_are_lacking = False  # other formats read steps of the file, and none has a time or a rate
        self.many = False  # records seem to be many, so that their form is worth learning
        self.rows_by_format: dict[str | None, int] = {}  # rows other than problems, by format
        self.problems_by_format: dict[str | None, int] = {}
        self.parts: dict[int, PartFacts] = {}
        self.printed: IO[bytes] | None = None  # lines of a log that a file format found within its file
        self._doubts = Doubts()
        self._format_of_steps: str | None = None  # the last format that gave some
        self.text = TextBound()  # of all rows
        self._write = write
        self._gathered = gathered  # takes rows in place of `write` where they are few
        self._pending: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._columns: dict[tuple[str, int], list[pa.Table]] = {}
        self._columns_bytes: dict[tuple[str, int], int] = {}
        self._metrics: list[tuple[Any, ...]] = []
        self._event_letters = self._metric_letters = 0  # of what is gathered
        self._params_given: set[tuple[int, str, str, str]] = set()

    @property
    def of_one_label(self) -> bool:
        """Whether the file's name or a label of all its lines names the rank or place that wrote it."""
        return self.rank is not None or self.place is not None

    def add(self, table: str, line: int | None, **values: Any) -> None:
        """One row of `table`, from `line`.  Values are in the units of the column names; columns left out are NULL."""
        self.put(table, line, values)

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        """`add` with the row as a dict.  A caller may still change the dict until it adds the next row."""
        row["line"], row["part"] = line, self.part
        labeled = self.rank is not None or self.place is not None
        if labeled and table in _OF_RANKS and row.get("rank") is None and row.get("place") is None:
            row["rank"], row["place"] = self.rank, self.place
        if table == "steps":
            self._format_of_steps = self.format
            if row.get("phase") != _VALIDATION:
                kind = row.get("value_kind")
                self.reached(line or 0, self.step if kind == "run_mean" else row.get("step"))
                if kind in INTERVAL_KINDS and row.get("step_s") is not None:
                    self._timed.add((self.part, self.format))
        elif table == "phases" and row.get("phase") in _TRAINED:
            self.reached(line or 0, self.step)
        elif table == "events":
            self._event_letters += sum(len(text) for name in _LONG if isinstance(text := row.get(name), str))
        pending = self._pending[table]
        pending.append(row)
        self.rows_by_format[self.format] = self.rows_by_format.get(self.format, 0) + 1
        if len(pending) >= BATCH or self._event_letters > _MOST_LETTERS:
            self._hand_over(table)

    def put_columns(self, table: str, columns: Mapping[str, Any]) -> None:
        """Many rows of `table`: `line` and others as arrays, or as the one value of all rows.

        Steps are timed ones of the training, in the order of the file.
        """
        fields, count = COLUMN_TYPES[table], len(columns["line"])
        given = {name: values for name, values in columns.items() if values is not None}
        if self.of_one_label and table in _OF_RANKS and not {"rank", "place"} & given.keys():
            given |= {"rank": self.rank} if self.place is None else {"place": self.place}
        repeated_text = count * max((len(values) for values in given.values() if isinstance(values, str)), default=0)
        first = columns["line"][0]
        line = first.as_py() if isinstance(first, pa.Scalar) else int(first)
        if not self._affords(text_bytes(table, given) + repeated_text, line, count):
            return
        rows = pa.table({name: _array_of(values, fields[name].kind, count) for name, values in given.items()})
        if table == "steps":
            self._note_timed_steps(rows["line"][0].as_py(), rows["line"][-1].as_py())
            self._timed.add((self.part, self.format))
            self._format_of_steps = self.format
            self.reached(rows["line"][-1].as_py(), rows["step"][-1].as_py() if "step" in given else None)
        self.rows_by_format[self.format] = self.rows_by_format.get(self.format, 0) + rows.num_rows
        if table == "steps":
            rows, doubtful = self._doubts.look_at_columns(rows, self.part)
            self._pending[table] += doubtful
            if doubtful:
                return
        self._facts_of(self.part).add_columns(table, rows)
        key = table, self.part
        self._columns.setdefault(key, []).append(rows)
        self._columns_bytes[key] = self._columns_bytes.get(key, 0) + rows.nbytes
        if self._columns_bytes[key] >= _ARROW_BATCH_BYTES:
            self._hand_over_columns(*key)

    @property
    def step(self) -> int | None:
        """The step of the last record of training in this part, for lines that follow it."""
        last = self.last_steps.get(self.part)
        return last.step if last else None

    @step.setter
    def step(self, step: int | None) -> None:
        """Format files of users may still set it, as those of version 1.0 did; this goes with the next version."""
        last = self.last_steps.get(self.part)
        self.last_steps[self.part] = _LastStep(last.line if last else 0, step)

    def reached(self, line: int, step: int | None) -> None:
        """The training is at a step.  Each row of `steps` says so; what keeps a row back says it when it is read."""
        last = self.last_steps.get(self.part)
        if last is None:
            self.last_steps[self.part] = _LastStep(line, step)
        elif line >= last.line:
            last.line, last.step = line, step
        if line > self.last_step_line:
            self.last_step_line = line

    def timed_by(self, part: int) -> set[str | None]:
        """The formats that gave times of the steps of a part."""
        return {format for of_part, format in self._timed if of_part == part}

    def disputed_time(self, line: int | None, taken_s: float | None, other_s: float | None) -> None:
        """Two sources of the time of a step disagree by more than they leave open: a contradiction."""
        if taken_s and other_s:
            self.param("step_s", f"{taken_s:.4g}", line, unit="s")
            self.param("step_s", f"{other_s:.4g}", line, unit="s", origin="inferred")

    def metric(
        self, line: int | None, rank: int | None, place: str | None, step: int | None, name: str, value: float,
        unit: str | None = None, stat: str = "value",
    ) -> None:  # fmt: skip
        """A number with no column of its own."""
        self._metrics.append((self.part, line, self.attempt, rank, place, step, name, value, unit, stat))
        self._metric_letters += len(name)
        self.rows_by_format[self.format] = self.rows_by_format.get(self.format, 0) + 1
        if len(self._metrics) >= BATCH or self._metric_letters > _MOST_LETTERS:
            self._hand_over_metrics()

    def spread(
        self, line: int | None, rank: int | None, place: str | None, step: int | None, name: str, low: float,
        high: float, unit: str | None = None,
    ) -> None:  # fmt: skip
        """A number with no column of its own, as its smallest and largest value over the ranks."""
        begin, end = (self.part, line, self.attempt, rank, place, step, name), unit
        self._metrics += ((*begin, low, end, "min"), (*begin, high, end, "max"))
        self.rows_by_format[self.format] = self.rows_by_format.get(self.format, 0) + 2
        if len(self._metrics) >= BATCH:
            self._hand_over_metrics()

    def metrics(
        self, line: int | None, rank: int | None, place: str | None, step: int | None,
        values: Sequence[tuple[str, float, str | None]], stat: str = "value",
    ) -> None:  # fmt: skip
        """Numbers of one line, each as name, value, unit.  They are kept as tuples: a log holds far more than steps."""
        part, attempt = self.part, self.attempt
        self._metrics += [
            (part, line, attempt, rank, place, step, name, value, unit, stat) for name, value, unit in values
        ]
        self.rows_by_format[self.format] = self.rows_by_format.get(self.format, 0) + len(values)
        if len(self._metrics) >= BATCH:
            self._hand_over_metrics()

    def param(
        self, key: str, value: Any, line: int | None = None, unit: str | None = None, origin: str = "log"
    ) -> None:
        """A fact about the run.  The same fact twice is one row; another value of it is kept as a row of its own."""
        if value is None:
            return
        if self._job_over and origin == "environment" and (line or 0) > self._job_over:
            self.new_part()  # jobs begin by showing where they run
        if key not in _COUNTS:
            self.params[key] = value
        elif (count := integer_valued(value)) is not None:
            self.params[key] = count
        if isinstance(value, str):
            value = masked_value(key, value)
        fact = (self.part, key, str(value), origin)
        if fact not in self._params_given:
            self._params_given.add(fact)
            self.add("params", line, key=key, value=str(value), unit=unit, origin=origin)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        """A line of the format that could not be read, with the reason in a sentence."""
        row = {"line": line, "part": self.part, "format": self.format, "reason": cut(reason, LONGEST_REASON)}
        row["text"] = cut(text, LONGEST_TEXT)
        self._put_problem(row)

    def _put_problem(self, row: dict[str, Any]) -> None:
        self._pending["problems"].append(row)
        self.problems_by_format[row["format"]] = self.problems_by_format.get(row["format"], 0) + 1

    def new_part(self) -> None:
        """What follows belongs to another run: other settings, or another job."""
        if self._announced == self.part and self.part not in self.last_steps:
            self._announced = None  # its settings were to be expected
        else:
            self.part += 1
        self.params, self.attempt = {}, 0
        self.writers, self._job, self._job_over = Writers(self._ambiguous), None, 0

    def announce_part(self) -> None:
        """A command begins another run, whose settings may follow: they do not begin one more."""
        self.new_part()
        self._announced = self.part

    def other_settings(self, line: int) -> None:
        """The settings that a program prints from here on differ: records before and after are of different runs.

        A format that reads the file a second time finds the run of each of its records with `turn_to`.
        """
        self._stretches.append(line)
        if self.part in self.last_steps:
            self._parts_of_settings += 1
            self.announce_part()

    def divide(self, lines: Iterable[int]) -> None:
        """Records from each of these lines on are of another run, where no printed settings have divided the file."""
        if not self._stretches:
            self._stretches = sorted(lines)

    @property
    def is_split_otherwise(self) -> bool:
        """Whether something other than printed settings began a part."""
        return max((self.part, *self.last_steps)) > self._parts_of_settings

    def turn_to(self, line: int | None) -> None:
        """Goes to the part of a record by the settings that were printed before its line, in a second reading."""
        if not self._stretches:
            return
        stretch, parts = self.stretch_of(line), self._part_of_stretch
        if stretch not in parts:
            parts |= {self.stretch_of(last.line): part for part, last in self.last_steps.items()}
        self.part = parts.setdefault(stretch, 1 + max(parts.values(), default=-1))
        self._parts_of_settings = max(self._parts_of_settings, self.part)

    def part_of(self, line: int, part: int) -> int:
        """The part of a line that the first reading met in `part`: a second one may have split it by its settings."""
        if not self._part_of_stretch:
            return part
        here = self.part
        self.turn_to(line)
        found, self.part = self.part, here
        return found

    def stretch_of(self, line: int | None) -> int:
        """How many times the printed settings had changed before a line."""
        return bisect.bisect_right(self._stretches, line or 0)

    def facts_of(self, part: int) -> set[str]:
        """The names of the facts that are known of a part."""
        return {key for of_part, key, _, _ in self._params_given if of_part == part}

    def attempt_of(
        self, line: int, step: Any, rank: int | None = None, place: str | None = None, ts: datetime | None = None,
        step_s: float | None = None, once: bool = True,
    ) -> Position:  # fmt: skip
        """The attempt of a record of training, and whether it is the first of it; see `Writers.position_of`."""
        whose = (self.format, place)
        if self._job_over and self.writers.begins_launch(whose, rank, step):
            self.new_part()
        position = self.writers.position_of(whose, step, line, rank, ts, step_s, once)
        if position.attempt > self.attempt:
            self.attempt = position.attempt
        return position

    def following(self, rank: int | None, place: str | None) -> tuple[int, Launch] | None:
        """Attempt and launch that later steps of a rank go on with, in records of the format; see `Writers`."""
        return self.writers.following((self.format, place), rank)

    def launched(self, rank: int | None = None) -> None:
        """The header of a launch was read: the next record is the first of an attempt, or of another job's run."""
        if self._job_over:
            self.new_part()
        self.writers.launched(rank)

    def job(self, job_id: str, line: int, origin: str) -> None:
        """A line names the job that writes the file.  Several lines and ranks name it; another job is another run."""
        if self._job not in (None, job_id):
            self.new_part()
        self._job = job_id
        self.param("job_id", job_id, line, origin=origin)

    def job_ended(self, line: int) -> None:
        """The scheduler says that the job is over: the next launch in this file is that of another job."""
        self._job_over = line

    def _ambiguous(self, line: int | None) -> None:
        self.param("writers", "ambiguous", line, origin="inferred")
        self.problem(line, AMBIGUOUS)

    def flush(self) -> None:
        """Hands over everything that is still gathered."""
        self._hand_over_metrics()
        for table, part in [*self._columns]:
            self._hand_over_columns(table, part)
        if self._pending["steps"]:
            self._hand_over("steps")
        if held := self._doubts.release():
            self._hand_over_rows("steps", held, columns_of(held))
        for part, line, reason, text in self._doubts.problems():
            row = {"line": line, "part": part, "format": self._format_of_steps, "reason": reason, "text": text}
            self._put_problem(row)
        for table, rows in self._pending.items():
            if rows:
                self._hand_over(table)

    def _hand_over(self, table: str) -> None:
        rows, self._pending[table] = self._pending[table], []
        if table == "events":
            self._event_letters = 0
        if self.zone:
            for row in rows:
                _to_utc(row, self.zone)
        columns = columns_of(rows)
        if table == "steps" and (done := self._looked_at(rows, columns)) is not None:
            rows = done
            columns = columns_of(rows) if rows else {}
        if rows:
            self._hand_over_rows(table, rows, columns)

    def _looked_at(self, rows: list[dict[str, Any]], columns: Columns) -> list[dict[str, Any]] | None:
        """Rows of steps that are done, None for all; see `Doubts.look`."""
        try:
            return self._doubts.look(rows, columns)
        except _UNFIT:
            self._take_out_unfit("steps", rows)
            done = self._doubts.look(rows, columns_of(rows))
            return rows if done is None else done

    def _hand_over_rows(self, table: str, rows: list[dict[str, Any]], columns: Columns) -> None:
        letters = text_bytes(table, columns)
        if letters > text_bounds.AT_ONCE and len(rows) > 1:
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                self._hand_over_rows(table, half, columns_of(half))
            return
        if not self._affords(letters, rows[0]["line"], len(rows)):
            return
        if not self._gather(table, columns, len(rows)):
            try:
                batch = self._batch_of(table, rows)
            except _UNFIT:
                self._take_out_unfit(table, rows)
                batch = self._batch_of(table, rows)
            self._write_batch(table, batch)
        for part, rows_of_part in itertools.groupby(rows, key=operator.itemgetter("part")):
            self._facts_of(part).add(table, list(rows_of_part))
        if table == "steps" and any(map(_is_timed_step, rows)):
            lines = [row["line"] or 0 for row in rows]
            self._note_timed_steps(min(lines), max(lines))

    def _note_timed_steps(self, first: int, last: int) -> None:
        before = self.timed_steps or (first, last)
        self.timed_steps = min(before[0], first), max(before[1], last)

    def _affords(self, text_bytes: int, line: int | None, count: int) -> bool:
        """Whether rows fit into the text that the file may give.  Those beyond are left out, and that is a problem."""
        if self.text.takes(text_bytes):
            return True
        if not self.text.is_spent:
            self.text.is_spent = True
            self.problem(line, TOO_MUCH)
        self.rows_by_format[self.format] = max(self.rows_by_format.get(self.format, 0) - count, 0)
        return False

    def _gather(self, table: str, columns: Columns, count: int) -> bool:
        """Whether rows are gathered with those of other files."""
        gathered = self._gathered if table not in _DERIVED else None
        return gathered is not None and gathered.take(table, self.file_id, columns, count)

    def _batch_of(self, table: str, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        return batch_of(table, {**columns_of(rows), "file_id": [self.file_id] * len(rows)}, len(rows))

    def _write_batch(self, table: str, batch: pa.RecordBatch) -> None:
        if self._write:
            derive = _DERIVED.get(table)
            self._write(table, derive(batch) if derive else batch)

    def _take_out_unfit(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Takes out values that their columns cannot hold: a number of thirty digits, half a character."""
        for row in rows:
            for field in SCHEMAS[table]:
                value = row.get(field.name)
                try:
                    pa.scalar(value, field.type)
                except _UNFIT:
                    if isinstance(value, str) and field.type == pa.string():
                        row[field.name] = value.encode("utf-8", "replace").decode()
                    else:
                        row[field.name] = None
                        self.problem(row["line"], f"the table {table} cannot hold this value of {field.name}")

    def _hand_over_columns(self, table: str, part: int) -> None:
        tables = self._columns.pop((table, part))
        self._columns_bytes.pop((table, part))
        if self._write:
            rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
            filled = {name: column.chunk(0) for name, column in zip(rows.column_names, rows.columns, strict=True)}
            filled["file_id"] = repeated(self.file_id, TEXT, rows.num_rows)
            filled["part"] = repeated(part, SMALL, rows.num_rows)
            arrays = [
                filled[name] if name in filled else pa.nulls(rows.num_rows, field.kind)
                for name, field in COLUMN_TYPES[table].items()
            ]
            self._write_batch(table, pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS[table]))

    def _hand_over_metrics(self) -> None:
        rows, self._metrics, self._metric_letters = self._metrics, [], 0
        if not rows:
            return
        for part, count in Counter(map(operator.itemgetter(0), rows)).items():
            self._facts_of(part).count("metrics", count)
        columns = dict(zip(_METRICS, zip(*rows, strict=True), strict=True))
        if not self._affords(text_bytes("metrics", columns), rows[0][1], len(rows)):
            return
        if self._write and not self._gather("metrics", columns, len(rows)):
            try:
                batch = batch_of("metrics", {**columns, "file_id": [self.file_id] * len(rows)}, len(rows))
            except _UNFIT:
                fitting = [dict(zip(_METRICS, values, strict=True)) for values in rows]
                self._take_out_unfit("metrics", fitting)
                batch = self._batch_of("metrics", fitting)
            self._write("metrics", batch)

    def _facts_of(self, part: int) -> PartFacts:
        facts = self.parts.get(part)
        if facts is None:
            facts = self.parts[part] = PartFacts(of_lines=self.of_lines)
        return facts


def _is_timed_step(row: Mapping[str, Any]) -> bool:
    """Whether a row of `steps` is of a step or epoch, not of a whole run or of validation, and has a time or a rate."""
    counted = row.get("step") is not None or row.get("epoch") is not None
    timed = row.get("step_s") is not None or row.get("samples_per_s") is not None
    return counted and timed and row.get("phase") != _VALIDATION


def _array_of(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    """An array of a type, from an array of another one, or from the one value of all rows."""
    if isinstance(values, pa.Array):
        return values if values.type == kind else pc.cast(values, kind)
    if isinstance(values, np.ndarray):
        return pa.array(values, kind)
    return repeated(values, kind, count)


def _to_utc(row: dict[str, Any], zone: tzinfo) -> None:
    """Turns a naive time of a row into UTC."""
    if row.get("ts_origin") == "naive" and row.get("ts"):
        with contextlib.suppress(OverflowError):  # the year 1 or 9999: not a time of a log
            row["ts"], row["ts_origin"] = row["ts"].replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None), "utc"
