"""wandb-summary.json: the last values of a W&B run.

Tool: Weights & Biases client
Versions: 0.8 to 0.2x
Yields: phases, metrics
Source: wandb/sdk/internal/sender.py and core/internal/runsummary; public/runs.py, summary

The last value that each key was logged with, at the step `_step`; `_runtime` is the whole run, in seconds.  Histograms,
tables and pictures are passed over.  The file has no history, and so no times of steps.

Samples:
    {"loss": 1.5, "train/images_per_s": 812.5, "_step": 500, "_runtime": 731.2, "_timestamp": 1714979309.5, "_wandb": {"runtime": 731}}
"""

import json
from datetime import UTC, datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import YEARS_2000_TO_2100, json_number
from scalelens.tabular.cells import nested_values

VERSION = 1
IN_HEAD = (b'"_runtime"',)

_KEYS = tuple(re.compile(rb'"%s"\s*:' % key) for key in (b"_step", b"_runtime", b"_timestamp"))


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and b"\n{" not in head and all(key.search(head) for key in _KEYS)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace")
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text)
        return
    summary = summary if isinstance(summary, dict) else {}
    nested = nested_values(summary, marker="_type")  # of a table or a picture
    numbers = {name: value for name, field in nested if (value := json_number(field)) is not None}
    step = summary.get("_step")
    step = step if type(step) is int and abs(step) < 2**62 else None
    span_s, stamp = numbers.get("_runtime"), numbers.get("_timestamp")
    if not numbers:
        rows.problem(1, "the summary holds no number", text)
    if span_s is not None:
        known = stamp is not None and YEARS_2000_TO_2100[0] < stamp < YEARS_2000_TO_2100[1]
        ts = datetime.fromtimestamp(stamp, UTC).replace(tzinfo=None) if known and stamp is not None else None
        rows.add(
            "phases", 1, phase="run", step=step, span_s=span_s, origin="logged", ts=ts, ts_origin="utc" if ts else None
        )
    named = [(name, value, None) for name, value in numbers.items() if not name.startswith("_")]
    rows.metrics(1, None, None, step, named)
