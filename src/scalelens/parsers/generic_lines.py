"""Lines of a training loop that no other format knows.

Tool: any script that prints a line for each step, or for each tenth
Versions: one line for each record, or one drawing of a progress bar
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognised, docs/generic.md prints them

TODO

Samples:
    [Epoch 1/500][ 100:391]  Loss: 1.03 LR: 0.0001
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps


def recognise(head: bytes, name: str) -> bool:
    return tabular.is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    return tabular.read_lines(source, rows)
