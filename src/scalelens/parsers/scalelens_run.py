"""Structured lines of ScaleLens's own runners.

Tool: scalelens.runners (vision.py, language.py)
Versions: 0.1
Yields: params, steps, phases, metrics
Source: src/scalelens/runners/runlog.py, open_log(); vision.py and language.py, main()

A JSON object for each event: `run` holds the settings of the run, `facts` what may differ between its ranks and
restarts (host, versions, environment), `step` one step of one rank by its own clock, `phase` a span, `end` how it
ended.  Numbers of a `step` that have no column of their own become `metrics`.  The rank of the record holds, whatever
the launcher's prefix says.  Text after the object does no harm.

Samples:
    :::SCALELENS {"event": "run", "rank": 0, "framework": "pytorch", "model": "resnet50", "precision": "bf16", "devices": 2}
    :::SCALELENS {"event": "facts", "rank": 0, "host": "n01", "torch_version": "2.13.0", "env_OMP_NUM_THREADS": "7"}
    :::SCALELENS {"event": "phase", "rank": 1, "phase": "startup", "step": 0, "span_s": 2.96235, "time": 1795255998.124462}
    :::SCALELENS {"event": "step", "rank": 0, "phase": "train", "epoch": 0, "step": 6, "step_s": 0.382827, "loss": 6.9}
    :::SCALELENS {"event": "end", "rank": 0, "outcome": "completed", "time": 1795256007.329512}
"""

import json
import math
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, ValidationError, convert, defstruct, to_builtins

from scalelens import tables
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = (":::SCALELENS ",)

_WHOLE, _SMALL = Annotated[int, Meta(ge=0, le=2**63 - 1)], Annotated[int, Meta(ge=0, le=2**31 - 1)]
_FINITE, _SECONDS = Annotated[float, Meta(ge=-1e300, le=1e300)], Annotated[float, Meta(ge=0, le=1e11)]
_TYPES: dict[Any, Any] = {tables.TEXT: str, tables.INT: _WHOLE, tables.SMALL: _SMALL, tables.FLOAT: _FINITE}
_PHASES = ("epoch", "train", "validation", "compile", "checkpoint", "evaluation", "startup", "run")
_ENVELOPE = ("event", "rank", "time")
_NO_SETTING = (*_ENVELOPE, "host", "job_id", "device_model")  # may differ between ranks and restarts of one run
_OURS = {column.name for column in (*tables.KEY, *tables.RANK, *tables.STAMP)}
_OURS |= {"averaged_steps", "value_kind", "rate_scope", "origin"}  # filled in here, whatever a record holds
_UNITS = {"s": "s", "bytes": "bytes", "w": "W", "j": "J"}
_decode = json.JSONDecoder().raw_decode


def _record_type(columns: tuple[tables.Column, ...], **fields: Any) -> Any:
    """The type that msgspec checks a record against: the columns of a table, all optional, and then `fields`."""
    others = [(c.name, _TYPES[c.type] | None, None) for c in columns if c.name not in _OURS and c.name not in fields]
    return defstruct("Record", [*fields.items(), *others], omit_defaults=True)


_HEAD: Any = defstruct("Head", [("rank", _SMALL | None, None), ("time", _SECONDS | None, None)])
_RUN = _record_type(tables.RUN_FACTS)
_STEP = _record_type(tables.STORED["steps"], step=_WHOLE, step_s=_SECONDS, phase=Literal[tables.PHASES_OF_STEPS])
_PHASE = _record_type(tables.STORED["phases"], phase=Literal[_PHASES], span_s=_SECONDS)
_END: Any = defstruct("End", [("outcome", Literal[tables.OUTCOMES]), ("outcome_text", str | None, None)])


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.settings = ""
        self.said: dict[Any, str] = {}  # by rank: its last record, its last step, its restarts
        self.steps: dict[Any, int] = {}
        self.attempts: dict[Any, int] = {}

    def take(self, line: Line) -> bool:
        texts = [text.lstrip() for text in line.text.split(ANCHORS[0])[1:]]
        texts = [text for text in texts if text.startswith('{"') or text in ("{", "")]  # no prose
        for text in texts:
            try:
                record, end = _decode(text)
                self.take_record(record, text[:end], line)
            except (ValidationError, UnicodeError) as error:
                self.rows.problem(line.number, f"the record is not understood: {error}", ANCHORS[0] + text)
            except (ValueError, RecursionError):
                self.rows.problem(line.number, "the record is cut, or its JSON is damaged", ANCHORS[0] + text)
        return bool(texts)

    def take_record(self, record: dict[str, Any], text: str, line: Line) -> None:
        "".join([*record, *(value for value in record.values() if isinstance(value, str))]).encode()  # lone surrogates
        head = convert(record, _HEAD)
        rank = line.rank if head.rank is None else head.rank
        place = line.location if rank is None else None
        if self.said.get((rank, place)) == text:
            return  # printed twice
        self.said[rank, place] = text
        row: dict[str, Any] = {"rank": rank, "place": place}
        if head.time is not None:
            row |= {"ts": datetime.fromtimestamp(head.time, UTC).replace(tzinfo=None), "ts_origin": "utc"}
        match record.get("event"):
            case "run":
                self.take_run(record, line.number)
            case "facts":
                self.take_facts(record, line.number)
            case "step":
                self.take_step(record, row, line.number)
            case "phase":
                row |= {"origin": "logged", **to_builtins(convert(record, _PHASE))}
                row["attempt"] = self.attempt(row, again=False)
                self.rows.put("phases", line.number, row)
            case "end":
                end = convert(record, _END)
                self.rows.param("outcome", end.outcome, line.number)
                if end.outcome_text:
                    self.rows.param("outcome_text", end.outcome_text, line.number)
            case event:
                raise ValidationError(f"there is no event {json.dumps(event)[:40]}")

    def take_run(self, record: dict[str, Any], number: int) -> None:
        convert(record, _RUN)
        settings = json.dumps({key: value for key, value in record.items() if key not in _NO_SETTING}, sort_keys=True)
        if self.settings not in ("", settings):
            self.rows.new_part()
            self.steps, self.attempts = {}, {}
        self.settings = settings
        self.take_facts(record, number)

    def take_facts(self, record: dict[str, Any], number: int) -> None:
        convert(record, _RUN)
        for key, value in record.items():
            if key not in _ENVELOPE and value is not None:
                self.rows.param(key, value if isinstance(value, str | int | float) else json.dumps(value), number)

    def take_step(self, record: dict[str, Any], row: dict[str, Any], number: int) -> None:
        diverged = {name: None for name in ("loss", "grad_norm") if _not_finite(record.get(name))}
        values = to_builtins(convert(record | diverged, _STEP))
        row |= {"averaged_steps": 1, "value_kind": "instant", **values, **({"nan_steps": 1} if diverged else {})}
        if row["phase"] == "validation":  # it counts its own steps, and begins anew without a restart
            row["attempt"] = self.attempts.get((row["rank"], row["place"]), 0)
        else:
            row["attempt"] = self.rows.attempt = self.attempt(row, again=True)
        self.rows.put("steps", number, row)
        for name, value in record.items():
            if name not in row and name not in _ENVELOPE and type(value) in (int, float) and abs(value) < 1e300:
                unit = _UNITS.get(name.rpartition("_")[2])
                self.rows.metric(number, row["rank"], row["place"], row["step"], name, float(value), unit)

    def attempt(self, row: dict[str, Any], again: bool) -> int:
        """Restarts of the rank so far: each shows in a step below the last one, or in the same step `again`."""
        rank, step = (row["rank"], row["place"]), row.get("step")
        last = self.steps.get(rank)
        if step is not None:
            self.steps[rank] = step
            if last is not None and (step < last or (again and step == last)):
                self.attempts[rank] = self.attempts.get(rank, 0) + 1
        return self.attempts.get(rank, 0)


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
