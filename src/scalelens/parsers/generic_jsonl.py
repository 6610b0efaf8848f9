"""JSON objects, one in each line, of per-step metrics that no other format knows.

Tool: any script that writes a JSON object for each step, or for each epoch
Versions: one object in a line; numbers of nested objects are named with a dot, lists are passed over
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Keys are columns; the rest is as in generic_csv.

Samples:
    {"epoch": 0, "step": 1, "step_time_ms": 251.2, "samples_per_s": 1019.1, "loss": 6.9301}
    {"epoch": 0, "step": 2, "step_time_ms": 249.8, "samples_per_s": 1024.8, "loss": 6.9214}
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import cells

VERSION = 8
LAST = True  # any other format comes first


def recognise(head: bytes, name: str) -> bool:
    return bool(cells.jsonl_header(head))


def read(source: Source, rows: Rows) -> str | None:
    return tabular.read(source, rows, cells.jsonl_records)
