"""metrics.jsonl of ClearML's offline mode: the scalars of a task.

Tool: ClearML, Task.set_offline(True) or CLEARML_OFFLINE_MODE; the folder or the .zip of the session
Versions: 1 and 2; files of 2.1 were at hand
Yields: steps, metrics
Source: clearml/backend_interface/metrics/interface.py, _offline_write_metrics(); clearml/backend_interface/metrics/events.py

Each line is a list of events.  A scalar is named TITLE/SERIES, or by its title alone where the series has the same name.
Scalars of one iteration that come one after the other are a record, whose numbers have the roles that columns of a CSV
have (docs/generic.md).  Values without an iteration (report_single_value), and those of ClearML's own monitor, are
metrics without a step.  Plots and pictures are passed over.  What an iteration counts is not said; `--map step=_step`
says that it is a step, as do leaps.  Settings are in task.json, console lines in log.jsonl, which is not read.

Samples:
    [{"timestamp": 1790000002500, "type": "training_stats_scalar", "task": "offline-0", "iter": 10, "metric": "loss", "variant": "loss", "value": 4.0}]
    [{"timestamp": 1790000005000, "type": "training_stats_scalar", "task": "offline-0", "iter": 20, "metric": "loss", "variant": "loss", "value": 2.0}]
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number
from scalelens.tabular.history.json_values import LoggedValues, json_lines

VERSION = 2
IN_HEAD = (b'"training_stats_',)

_FIRST = re.compile(rb'\s*\[\s*\{"timestamp": \d{13}, "type": "training_stats_')
_SCALAR = "training_stats_scalar"
_NO_ITERATION = -(1 << 31)
_MONITOR = ":monitor:"


def recognise(head: bytes, name: str) -> bool:
    return _FIRST.match(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    rows.param("tracker", "clearml", 1)
    values = LoggedValues(rows)
    for line, events in json_lines(source, rows, list):
        for event in events:
            if not isinstance(event, dict) or event.get("type") != _SCALAR:
                continue
            title, series, step = event.get("metric"), event.get("variant"), event.get("iter")
            name = str(title) if title == series else f"{title}/{series}"
            ms = json_number(event.get("timestamp"))
            known = step != _NO_ITERATION and not name.startswith(_MONITOR)
            values.take(line, name, event.get("value"), ms and ms / 1000, step if known else None)
    return values.finish()
