"""Values of steps that cannot be true: times, rates, energy not above zero or infinite, times longer than their file.

They are kept, and named in the column `implausible`, so that no statistic counts them.  Tools print a loss or norm of
-1 where a rank has none, as in a pipeline on all ranks but those of the last stage: at every step of a rank it is NULL.
"""

import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress
from typing import Any, NamedTuple

import pyarrow as pa

from scalelens import arrow_compute as pc

_Row = dict[str, Any]

_POSITIVE = ("step_s", "samples_per_s", "tflops_per_device", "energy_j", "power_w")
_MAY_BE_ZERO = {"tflops_per_device"}  # of a small model, rounded
_PLACEHOLDERS = {"loss": -1.0, "grad_norm": -1.0}
INTERVAL_KINDS = ("instant", "interval_mean")  # kinds of times that are of certain steps, not of all so far
# A time is too long beyond this share of the time between the first and the last stamp, and these seconds.
_SHARE, _SLACK_S = 1.1, 60.0
_DIGITS = (1.0, 0.1, 0.01, 0.001)  # of a second, to which times may be rounded
_FEW = 3  # a time of fewer such digits may be rounded to zero
_LARGEST = sys.float_info.max  # an integer beyond it cannot be shown as a float
_TOO_SMALL = "not above zero"
_INFINITE = "infinite"
_TOO_LONG = "longer than the time from the first stamp to the last"


class _Problem(NamedTuple):
    """A sentence about the values of a column that cannot be true."""

    part: int
    line: int | None
    reason: str
    text: str


class _Doubt(NamedTuple):
    line: int | None  # of the first value
    value: float
    records: int


class Doubts:
    """Finds such values among the steps of one file."""

    def __init__(self) -> None:
        self._held: list[_Row] = []  # whose time may be too long, until all stamps of the file are known
        self._found: dict[tuple[int, str, str], _Doubt] = {}  # by part, column and reason
        self._spans: dict[int, tuple[datetime, datetime]] = {}  # by part, from its first stamp to its last
        # By part and attempt the first stamp and its step: what came before it has no stamp.  Rows that come as columns
        # may come before those of earlier lines.
        self._first_steps: dict[tuple[int, int], tuple[datetime, Any]] = {}

    def look(self, rows: list[_Row], columns: Mapping[str, Sequence[Any]]) -> list[_Row] | None:
        """Marks rows of steps, which have some columns.  Returns those that are done; None if all are, and unchanged.

        Others are held until all stamps are known.  Raises what arithmetic raises where a value fits into no column.
        """
        may_be_too_long = self._may_be_too_long(rows, columns)  # first, as it raises before a row is changed
        too_long = [self._is_too_long(row) for row in rows] if may_be_too_long else []
        doubtful = [name for name in _POSITIVE if _has_doubtful(columns.get(name, ()))]
        for name in doubtful:
            self._mark_doubtful(rows, name)
        empty = [name for name, placeholder in _PLACEHOLDERS.items() if placeholder in columns.get(name, ())]
        for name in empty:
            _take_out_placeholders(rows, name, _PLACEHOLDERS[name])
        if not any(too_long):
            return rows if doubtful or empty else None
        self._held += compress(rows, too_long)
        return [row for row, is_too_long in zip(rows, too_long, strict=True) if not is_too_long]

    def _may_be_too_long(self, rows: list[_Row], columns: Mapping[str, Sequence[Any]]) -> bool:
        """Notes the stamps of rows.  Returns whether one of their times may be longer than its part of the file."""
        if "ts" not in columns or "step_s" not in columns:
            return False
        parts, longest_s = set(columns["part"]), max(filter(None, columns["step_s"]), default=0.0)
        averaged = max(filter(None, columns.get("averaged_steps", ())), default=1)
        attempts = set(columns.get("attempt", (0,)))
        new = {(part, attempt or 0) for part in parts for attempt in attempts}
        if len(new) > 1 and not (len(parts) == 1 and new <= self._first_steps.keys()):
            for row in rows:
                self._note_time(row["part"], row.get("attempt"), row.get("step"), row.get("ts"), row.get("ts"))
        elif stamps := [*filter(None, columns["ts"])]:
            first = next(row for row in rows if row.get("ts"))
            self._note_time(first["part"], first.get("attempt"), first.get("step"), min(stamps), max(stamps))
        return any(longest_s * averaged > self._longest_s(part) for part in parts)

    def look_at_columns(self, rows: pa.Table, part: int) -> tuple[pa.Table, list[_Row]]:
        """The same for many rows that come as columns.  Where a value is doubtful, they become rows."""
        names = {*rows.column_names}
        ends = {name: pc.ends(rows[name]) for name in (*_POSITIVE, *_PLACEHOLDERS) if name in names}
        is_doubtful = any(name in names and _may_be_doubtful(name, *ends[name]) for name in _POSITIVE)
        is_doubtful |= any(name in names and ends[name][0] == least for name, least in _PLACEHOLDERS.items())
        if {"ts", "step_s"} <= names and not is_doubtful:
            first, last = pc.ends(rows["ts"])
            attempt, step = (rows[name][0].as_py() if name in names else None for name in ("attempt", "step"))
            self._note_time(part, attempt, step, first, last)
            averaged = pc.ends(rows["averaged_steps"])[1] if "averaged_steps" in names else None
            is_doubtful = (ends["step_s"][1] or 0) > self._longest_s(part) / (averaged or 1)
        if not is_doubtful:
            return rows, []
        return rows.slice(0, 0), [row | {"part": part} for row in rows.to_pylist()]

    def release(self) -> list[_Row]:
        """The rows that were held; those that are too long for their part of the file are marked."""
        held, self._held = self._held, []
        for row in held:
            if self._is_too_long(row):
                self._mark(row, "step_s", _TOO_LONG)
        return held

    def problems(self) -> Iterator[_Problem]:
        """A problem for each column with such values, once."""
        found, self._found = self._found, {}
        for (part, name, reason), doubt in found.items():
            values = f"{name} of this record is" if doubt.records == 1 else f"{name} of {doubt.records:,} records is"
            sentence = f"{values} {reason}, which cannot be true: it is kept, and counted nowhere"
            yield _Problem(part, doubt.line, sentence, f"{name} = {doubt.value:g}")

    def _mark_doubtful(self, rows: list[_Row], name: str) -> None:
        times = [value for row in rows if (value := row.get(name))] if name == "step_s" else []
        zero_is_rounded = name in _MAY_BE_ZERO or _are_rounded(times)
        for row in rows:
            value = row.get(name)
            if value is not None and (value < 0 or (value == 0 and not zero_is_rounded)):
                self._mark(row, name, _TOO_SMALL)
            elif value == math.inf:
                self._mark(row, name, _INFINITE)

    def _mark(self, row: _Row, name: str, reason: str) -> None:
        if name in (row.get("implausible") or "").split():
            return
        row["implausible"] = " ".join(filter(None, (row.get("implausible"), name)))
        key = row["part"], name, reason
        first = self._found.get(key, _Doubt(row["line"], min(max(row[name], -_LARGEST), _LARGEST), 0))
        self._found[key] = first._replace(records=first.records + 1)

    def _note_time(
        self, part: int, attempt: int | None, step: Any, first: datetime | None, last: datetime | None
    ) -> None:
        if first and last:
            earliest = self._first_steps.get((part, attempt or 0))
            if not earliest or first < earliest[0]:
                self._first_steps[part, attempt or 0] = first, step
            begin, end = self._spans.get(part, (first, last))
            self._spans[part] = min(begin, first), max(end, last)

    def _longest_s(self, part: int) -> float:
        first, last = self._spans.get(part, (datetime.max, datetime.max))
        return _SHARE * (last - first).total_seconds() + _SLACK_S

    def _is_too_long(self, row: _Row) -> bool:
        """Whether a record's interval is longer than the file, and does not begin before its first stamp."""
        step_s, part = row.get("step_s"), row["part"]
        if (
            not step_s
            or not row.get("ts")
            or row.get("value_kind") not in INTERVAL_KINDS
            or row.get("phase") != "train"
        ):
            return False
        earliest = self._first_steps.get((part, row.get("attempt") or 0))
        is_first = earliest is not None and row.get("step") == earliest[1]
        return not is_first and bool(step_s * (row.get("averaged_steps") or 1) > self._longest_s(part))


def _has_doubtful(values: Sequence[Any]) -> bool:
    """Whether one of the values is not above zero, or infinite; or the first is not a number, which hides others."""
    numbers = [value for value in values if value is not None]
    return bool(numbers) and (not min(numbers) > 0 or max(numbers) == math.inf)


def _may_be_doubtful(name: str, least: float | None, greatest: float | None) -> bool:
    """Whether one of a column's values is negative, infinite, or a zero that cannot be."""
    return least is not None and (least < 0 or (least == 0 and name not in _MAY_BE_ZERO) or greatest == math.inf)


def _are_rounded(times_s: list[float]) -> bool:
    """Whether times are rounded so that a short one may be zero."""
    positive = [time for time in times_s if 0 < time < math.inf]
    typical = statistics.median(positive) if positive else 0
    return any(
        0 < typical < _FEW * digit and all(abs(time / digit - round(time / digit)) < 1e-6 for time in positive)
        for digit in _DIGITS
    )


def _take_out_placeholders(rows: list[_Row], name: str, placeholder: float) -> None:
    """Takes a value out of the rows of those ranks that have it at every step."""
    of_ranks: dict[tuple[int, Any, Any], list[_Row]] = defaultdict(list)
    for row in rows:
        of_ranks[row["part"], row.get("rank"), row.get("place")].append(row)
    for of_rank in of_ranks.values():
        if {row.get(name) for row in of_rank} <= {None, placeholder}:
            for row in of_rank:
                row.pop(name, None)
