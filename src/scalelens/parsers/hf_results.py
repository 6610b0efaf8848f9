"""Hugging Face train_results.json, eval_results.json, all_results.json: what a Trainer says when it is done.

Tool: transformers, Trainer.save_metrics(), as the example scripts, LLaMA-Factory and the alignment handbook call it
Versions: 4 and 5
Yields: phases, metrics, params
Source: transformers/trainer_pt_utils.py, save_metrics(); transformers/trainer_utils.py, speed_metrics()

One flat object: of one split, or of all together.  The rates are those of the whole job, from the first step to the end,
evaluations and checkpoints included.  Their samples are the planned ones, those that a restart passed over among them:
no step's time is taken from them.  What the same folder's trainer_state.json says, or else all_results.json, these files
say again: they are its twins.

Samples:
    {
        "epoch": 2.0,
        "total_flos": 1.5e+17,
        "train_loss": 1.75,
        "train_runtime": 640.5,
        "train_samples_per_second": 12.49,
        "train_steps_per_second": 0.195
    }
"""

import json

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number_or_nan

VERSION = 1
IN_HEAD = (b'_runtime"',)

_BEGIN = re.compile(rb'\s*\{\s*"[\w.-]+"\s*:')  # LLaMA-Factory begins with predict_bleu-4
_ONE = re.compile(rb'"(?:train|eval|test|predict)(?:_\w+)?_runtime"\s*:\s*[\d.]')
_OTHERS = (b'"log_history"', b'"_timestamp"', b"\n{")  # trainer_state.json, wandb-summary.json, JSON lines
_SPAN = re.compile(r"((train)|(?:eval|test|predict)(?:_\w+)?)_runtime")
_UNITS = (
    ("samples_per_second", "samples/s"), ("steps_per_second", "steps/s"), ("tokens_per_second", "tokens/s"),
    ("total_flos", "flops"), ("_delta", "bytes"),
)  # fmt: skip


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return bool(_BEGIN.match(head) and _ONE.search(head)) and not any(other in head for other in _OTHERS)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace")
    try:
        summary = json.loads(text)  # it may hold NaN, which stricter readers refuse
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text)
        return
    values = {name: value for name, field in summary.items() if (value := json_number_or_nan(field)) is not None}
    epoch = values.pop("epoch", None)
    rows.param("framework", "transformers", 1)
    for name in [name for name in values if name.endswith("_runtime")]:
        if not (span := _SPAN.fullmatch(name)):
            continue
        rows.add(
            "phases", 1, attempt=0, phase="run" if span[2] else "evaluation", epoch=epoch, span_s=values.pop(name),
            samples_per_s=values.pop(f"{span[1]}_samples_per_second", None), origin="logged",
        )  # fmt: skip
        if span[2]:
            rows.param("outcome", "completed", 1, origin="inferred")
    units = {name: unit for name in values for end, unit in _UNITS if name.endswith(end)}
    rows.metrics(1, None, None, None, [(name, value, units.get(name)) for name, value in values.items()])
