"""Hugging Face trainer_state.json: what a Trainer logged until a checkpoint.

Tool: transformers, Trainer
Versions: 4 and 5
Yields: steps, phases, metrics, params
Source: transformers/trainer_callback.py, TrainerState.save_to_json()

`log_history` holds the dictionaries that the trainer printed, here with their step; `line` is the number of the record
in it.  Only with include_num_input_tokens_seen, since 4.50, are there times: then each record has the time since the
start, and the difference of two is that of the steps between, with evaluations and checkpoints.  The last record
of a training has its seconds: without those of the evaluations a mean over all steps, if it was not resumed, which its
loss shows.  A checkpoint later in
the run repeats the records of those before it.

Samples:
    {
      "best_metric": null,
      "epoch": 0.5,
      "global_step": 20,
      "log_history": [
        {"epoch": 0.25, "grad_norm": 0.5, "learning_rate": 5e-05, "loss": 2.25, "step": 10}
      ],
      "max_steps": 80
    }
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import RunningMean, mean_of_training
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_integer, json_number_or_nan

VERSION = 3

_BEGIN = re.compile(rb'\s*\{\s*"(?:best_(?:global_step|metric|model_checkpoint)|epoch|eval_steps|global_step)":')
_FACTS = {"max_steps": "max_steps", "train_batch_size": "micro_batch_size", "num_train_epochs": "num_train_epochs"}
_EVALUATED = re.compile(r"eval_(?:\w+_)?runtime")
_COLUMNS = ("loss", "learning_rate", "grad_norm")
_Before = tuple[int, float] | None  # the step and the seconds since the start of the record before


def recognise(head: bytes, name: str) -> bool:
    return bool(_BEGIN.match(head)) and (name.endswith("trainer_state.json") or b'"log_history"' in head)


def read(source: Source, rows: Rows) -> None:
    try:
        state = json.loads(source.text())  # it may hold NaN, which stricter readers refuse
    except (ValueError, RecursionError) as error:
        rows.problem(None, f"the file is not a whole JSON object ({error})")
        return
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        rows.problem(None, "the file has no list log_history")
        return
    rows.param("framework", "transformers")
    for key, fact in _FACTS.items():
        if isinstance(value := state.get(key), int):
            rows.param(fact, value)
    if flos := json_number_or_nan(state.get("total_flos")):
        rows.metric(None, None, None, json_integer(state.get("global_step")), "total_flos", flos, "flops")
    before: _Before = None
    losses, evaluated_s = RunningMean(), 0.0
    for position, entry in enumerate(history, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
            rows.problem(position, "the record has no step", str(entry))
        else:
            if "train_runtime" in entry and "loss" not in entry:
                _mean(rows, position, entry, losses.value, evaluated_s)
            before = _record(rows, position, entry, before)
        if isinstance(entry, dict):
            if (loss := json_number_or_nan(entry.get("loss"))) is not None:
                losses.add(loss)
            evaluated_s += sum(json_number_or_nan(entry[key]) or 0.0 for key in entry if _EVALUATED.fullmatch(key))
    if state.get("global_step") == state.get("max_steps"):
        rows.param("outcome", "completed", origin="inferred")


def _mean(rows: Rows, position: int, last: dict[str, Any], mean_loss: float, evaluated_s: float) -> None:
    """The mean over a training, by its last record and those before."""
    values = {key: number for key, field in last.items() if (number := json_number_or_nan(field)) is not None}
    if mean := mean_of_training(values, json_integer(last["step"]), mean_loss, evaluated_s):
        rows.add("steps", position, attempt=0, phase="train", epoch=values.get("epoch"), **mean)


def _record(rows: Rows, position: int, entry: dict[str, Any], before: _Before) -> _Before:
    """A dictionary of the history: of a step, an evaluation or the whole training.  Returns step and time of the last step."""
    values = {key: value for key, field in entry.items() if (value := json_number_or_nan(field)) is not None}
    step, epoch = entry["step"], values.pop("epoch", None)
    values.pop("step", None)
    prefix, phase = ("train_", "run") if "train_runtime" in values else ("eval_", "evaluation")
    if prefix + "runtime" in values and "loss" not in values:
        rows.add(
            "phases", position, attempt=0, phase=phase, epoch=epoch, step=step, span_s=values.pop(prefix + "runtime"),
            samples_per_s=values.pop(prefix + "samples_per_second", None), origin="logged",
        )  # fmt: skip
    elif "loss" in values:
        row: dict[str, Any] = {column: values.pop(column, None) for column in _COLUMNS}
        time = values.pop("train_runtime", None)
        if time is not None and before and step > before[0] and time > before[1]:
            steps = step - before[0]
            row |= {"step_s": (time - before[1]) / steps, "averaged_steps": steps}
            row |= {"value_kind": "instant" if steps == 1 else "interval_mean"}
        rows.add("steps", position, attempt=0, phase="train", step=step, epoch=epoch, **row)
        before = (step, time) if time is not None else None
    named = [(key, value, "tokens/s" if key == "train_tokens_per_second" else None) for key, value in values.items()]
    rows.metrics(position, None, None, json_integer(step), named)
    return before
