"""A JSON array of objects with metrics of steps, epochs or runs, that no other format knows.

Tool: any script that writes the points of a sweep, or the history of a run, as one array
Versions: an array of objects; numbers of nested objects are named with a dot, lists are passed over
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Keys are columns; the rest is as in generic_csv.  A point with other devices, nodes, model or precision is another run.
Points of several runs without a step or an epoch are no steps: the file is named so and not read, as a CSV of them is.
A row's line is that in which its object begins.

Samples:
    [{"nodes": 1, "devices": 4, "step": 20, "step_time_ms": 251.2, "samples_per_s": 1019.1},
     {"nodes": 2, "devices": 8, "step": 20, "step_time_ms": 133.5, "samples_per_s": 1917.6}]
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import json_array

VERSION = 4
LAST = True  # any other format comes first


def recognise(head: bytes, name: str) -> bool:
    return bool(json_array.array_header(head))


def read(source: Source, rows: Rows) -> str | None:
    return tabular.read(source, rows, json_array.array_records)
