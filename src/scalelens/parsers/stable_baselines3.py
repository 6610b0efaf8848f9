"""Stable-Baselines3's progress.csv: a row for each iteration, or for some episodes.

Tool: Stable-Baselines3 (CSVOutputFormat), sb3-contrib
Versions: 1 and 2
Yields: steps, metrics, params
Source: stable_baselines3/common/on_policy_algorithm.py and off_policy_algorithm.py, dump_logs();
    stable_baselines3/common/logger.py

A step is an iteration, rollout and update; of algorithms without iterations a step is one of the environment.  `fps` is
steps of the environment by the time since the start, with more digits than `time_elapsed`, which is whole seconds: what
that time grows by between two rows is the time of the steps between.  `samples` are steps of the environment, of all
environments.  Rows of an evaluation alone are metrics.

Samples:
    time/time_elapsed,time/fps,time/total_timesteps,time/iterations,rollout/ep_rew_mean,train/loss,train/learning_rate
    0,4307,2048,1,7.25,,
    1,2840,4096,2,9.75,3.5,0.0003
"""

from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import csv_header, csv_records

VERSION = 1

_ELAPSED, _FPS, _TOTAL, _ITERATION = "time/time_elapsed", "time/fps", "time/total_timesteps", "time/iterations"
_COLUMNS = {"train/loss": "loss", "train/learning_rate": "learning_rate"}
_OF_TIME = (_ELAPSED, _FPS, _TOTAL, _ITERATION)


def recognise(head: bytes, name: str) -> bool:
    return _TOTAL in csv_header(head)


def read(source: Source, rows: Rows) -> None:
    clock = SinceStart()
    before, by_rate = (
        (0, 0.0),
        True,
    )  # step, and steps of the environment, of the last row; whether fps counts all of them
    for record in csv_records(source):
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
            continue
        values = {name: value for name, cell in record.cells.items() if (value := number(cell)) is not None}
        total, step = values.get(_TOTAL), _whole(values.get(_ITERATION if _ITERATION in record.cells else _TOTAL))
        named = [(name, value, None) for name, value in values.items() if name not in (*_OF_TIME, *_COLUMNS)]
        if step is not None and total is not None and {_FPS, _ELAPSED, *_COLUMNS} & values.keys():
            position = rows.attempt_of(record.line, step)
            if position.begins:
                clock, before, by_rate = SinceStart(), (step, total), True
            seconds, rate = values.get(_ELAPSED), values.get(_FPS)
            elapsed = _elapsed(total, rate, seconds) if by_rate and rate and seconds is not None else None
            if by_rate and elapsed is None and seconds is not None:
                clock, by_rate = SinceStart(), False
            row: dict[str, Any] = {"attempt": position.attempt, "phase": "train", "step": step}
            if seconds is not None:
                row |= clock.times(step, *(elapsed or (seconds, 1.0)))
            if total > before[1] and step > before[0]:
                row["samples"] = (total - before[1]) / (step - before[0])
            before = step, total
            row |= {column: values.get(name) for name, column in _COLUMNS.items()}
            rows.put("steps", record.line, row)
            named += [(_FPS, rate, None)] if rate is not None else []
        rows.metrics(record.line, None, None, step, named)
    rows.param("framework", "stable-baselines3")


def _elapsed(steps: float, fps: float, seconds: float) -> tuple[float, float] | None:
    """Seconds since the start by the rate, which is cut to a whole number as the seconds are, and their last digit.

    None where the rate is too coarse, or of a training that went on from another: it does not count those steps.
    """
    digit_s = steps / fps**2 if fps else 1.0
    exact = steps / (fps + 0.5)
    return (exact, digit_s) if digit_s < 1 and -digit_s <= exact - seconds <= 1 + digit_s else None


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**50 else None
