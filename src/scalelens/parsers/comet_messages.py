"""messages.json of a Comet experiment that was kept offline: its metrics and settings.

Tool: Comet, OfflineExperiment; ID.zip
Versions: 3; files of 3.58 were at hand
Yields: steps, metrics, params
Source: comet_ml/messages.py, which names the types; comet_ml/offline.py

A message in each line.  Metrics of one step that come one after the other are a record, whose numbers have the roles
that columns of a CSV have (docs/generic.md); those without a step, as Comet's own of the machine (sys.), are metrics
alone.  A context comes before the name.  What a step counts is not said; `--map step=_step` says that it is a step, as
do leaps.

Samples:
    {"payload":{"local_timestamp":1790000000100,"message_id":5,"param":{"paramName":"lr","paramValue":0.1,"source":"manual","step":null}},"type":"parameter_msg"}
    {"payload":{"local_timestamp":1790000002500,"message_id":7,"metric":{"epoch":null,"metricName":"loss","metricValue":4.0,"step":10}},"type":"metric_msg"}
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number
from scalelens.tabular.history.json_values import LoggedValues, json_lines

VERSION = 2
IN_HEAD = (b'"message_id"',)

_FIRST = re.compile(rb'\s*\{"payload": ?\{[^\n]{0,60000}"message_id"')


def recognise(head: bytes, name: str) -> bool:
    return _FIRST.match(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    rows.param("tracker", "comet", 1)
    values, settings, first = LoggedValues(rows), dict[str, Any](), 1
    for line, message in json_lines(source, rows, dict):
        kind, payload = message.get("type"), message.get("payload")
        content = payload if isinstance(payload, dict) else {}
        if kind == "metric_msg" and isinstance(metric := content.get("metric"), dict):
            ms, context = json_number(content.get("local_timestamp")), metric.get("context") or content.get("context")
            name = f"{context}/{metric.get('metricName')}" if context else metric.get("metricName")
            step, epoch = metric.get("step"), metric.get("epoch")
            values.take(line, name, metric.get("metricValue"), ms and ms / 1000, step, epoch)
        elif kind == "parameter_msg" and isinstance(parameter := content.get("param"), dict):
            first = line if not settings else first
            settings[str(parameter.get("paramName")).replace("|", ".")] = parameter.get("paramValue")
        elif kind == "log_other" and content.get("key") == "Name":
            rows.param("run_name", str(content.get("value"))[:500], line)
        elif kind == "system_details":
            command = content.get("command")
            rows.param("host_name", content.get("hostname"), line)
            rows.param("command", " ".join(map(str, command))[:500] if isinstance(command, list) else None, line)
    write_configuration(settings, rows, first)
    return values.finish()
