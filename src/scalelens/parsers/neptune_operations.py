"""data-N.log of a Neptune run that was kept offline: its series and fields.

Tool: Neptune client, init_run(mode="offline"); .neptune/offline/run__ID
Versions: 1; files of 1.14 were at hand
Yields: steps, metrics, params
Source: neptune/internal/operation.py, which names the operations; neptune/internal/disk_queue.py

An operation in each line, numbered from data-1.log on in several files.  Values of series that come one after the other
with the same step are a record, whose numbers have the roles that columns of a CSV have (docs/generic.md).  Where no
step is given, Neptune counts the values of a series, and so does this.  Series of the machine (monitoring/) are metrics
without a step, plain fields are facts.  What a step counts is not said; `--map step=_step` says that it is a step, as do
leaps.

Samples:
    {"obj": {"type": "AssignFloat", "path": ["parameters", "lr"], "value": 0.1}, "version": 1, "at": 1790000000.1}
    {"obj": {"type": "LogFloats", "path": ["train", "loss"], "values": [{"value": 4.0, "step": 10, "ts": 1790000002.5}]}, "version": 2, "at": 1790000002.5}
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number
from scalelens.tabular.history.json_values import LoggedValues, json_lines

VERSION = 2
IN_HEAD = (b'{"obj"',)

_FIRST = re.compile(rb'\s*\{"obj": ?\{"type": ?"[A-Z]\w+", ?"path": ?\[')
_ASSIGNED = ("AssignFloat", "AssignInt", "AssignString", "AssignBool")
_OWN = ("sys", "monitoring", "source_code")


def recognise(head: bytes, name: str) -> bool:
    return _FIRST.match(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    rows.param("tracker", "neptune", 1)
    values, counts = LoggedValues(rows), dict[str, int]()
    settings, first = dict[str, Any](), 1
    for line, operation in json_lines(source, rows, dict):
        content = operation.get("obj")
        path = content.get("path") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(path, list) or not path:
            rows.problem(line, "the operation has no path", str(operation))
            continue
        kind, name = content.get("type"), "/".join(map(str, path))
        if kind == "LogFloats":
            for entry in content.get("values") or ():
                _take_value(line, name, entry, values, counts)
        elif kind in _ASSIGNED and name == "sys/name":
            rows.param("run_name", str(content.get("value"))[:500] or None, line)
        elif kind in _ASSIGNED and name.startswith("monitoring/") and name.endswith("/hostname"):
            rows.param("host_name", str(content.get("value"))[:500], line)
        elif kind in _ASSIGNED and path[0] not in _OWN:
            first = line if not settings else first
            settings[".".join(map(str, path))] = content.get("value")
    write_configuration(settings, rows, first)
    return values.finish()


def _take_value(line: int, name: str, entry: Any, values: LoggedValues, counts: dict[str, int]) -> None:
    step = json_number(entry.get("step")) if isinstance(entry, dict) else None
    counts[name] = counts.get(name, -1) + 1 if step is None else int(step)
    whole = (step is None or step == int(step)) and not name.startswith("monitoring/")
    if isinstance(entry, dict):
        values.take(line, name, entry.get("value"), entry.get("ts"), counts[name] if whole else None)
