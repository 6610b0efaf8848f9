"""Tables of per-step metrics: CSV, JSON lines, or the lines of a log.

A format file for such a table (a preset) needs these functions:

    from scalelens import tabular

    tabular.has_header(head, HEADER)
    tabular.read_as(source, rows, COLUMNS)
    tabular.read(source, rows, records)

and one for the lines of a log these:

    tabular.is_text(head)
    tabular.read_lines_as(source, rows, SHAPE, COLUMNS)

Their modules are loaded when they are used: most formats need a few of this folder, and a log may need none.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalelens.tabular.steps import has_header, read_as, read_runs
    from scalelens.tabular.steps import read_table as read
    from scalelens.tabular.unknown_logs.read import is_text, read_lines, read_lines_as

__all__ = ["has_header", "is_text", "read", "read_as", "read_lines", "read_lines_as", "read_runs"]
_MODULES = {"has_header": "steps", "read": "steps", "read_as": "steps", "read_runs": "steps"}
_NAMES = {"read": "read_table"}  # in their modules, where they are other ones


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'unknown_logs.read')}")
    value = globals()[name] = getattr(module, _NAMES.get(name, name))
    return value
