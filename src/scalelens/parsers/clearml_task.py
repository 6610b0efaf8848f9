"""task.json of ClearML's offline mode: what a task is, and its settings.

Tool: ClearML, Task.set_offline(True) or CLEARML_OFFLINE_MODE; the folder or the .zip of the session
Versions: 1 and 2; files of 2.1 were at hand
Yields: params
Source: clearml/task.py, Task.close() in offline mode

Hyperparameters are facts under their own names, without their section, and under canonical names.  The file keeps the
program's code as well, which is not read.

Samples:
    {"hyperparams": {"General": {"lr": {"name": "lr", "section": "General", "value": "0.1"}}}, "id": "offline-0", "name": "t", "offline_folder": "/tmp/offline-0", "type": "training"}
"""

import json
from typing import Any

from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 2
IN_HEAD = (b'"offline_folder"',)

_KEYS = (b'"offline_folder"', b'"id"', b'"offline-')
_FACTS = {"id": "clearml_task_id", "name": "run_name", "project_name": "project"}


def recognise(head: bytes, name: str) -> bool:
    return head.lstrip().startswith(b"{") and all(key in head for key in _KEYS)


def read(source: Source, rows: Rows) -> None:
    text = b"".join(source.utf8()).decode("utf-8", "replace")
    try:
        task = json.loads(text)
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text)
        return
    rows.param("tracker", "clearml", 1)
    for key, fact in _FACTS.items():
        if isinstance(task.get(key), str):
            rows.param(fact, task[key][:500] or None, 1)
    tags = [tag for tag in task.get("tags") or () if isinstance(tag, str)]
    rows.param("tags", ", ".join(tags)[:500] or None, 1)
    write_configuration(dict(_settings(task.get("hyperparams"))), rows, 1)


def _settings(sections: Any) -> list[tuple[str, Any]]:
    parts = [part for part in sections.values() if isinstance(part, dict)] if isinstance(sections, dict) else []
    entries = [(name, entry) for part in parts for name, entry in part.items() if isinstance(entry, dict)]
    return [(str(name).replace("/", "."), entry.get("value")) for name, entry in entries]
