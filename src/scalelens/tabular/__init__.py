"""Tables of per-step metrics: CSV, JSON lines, or the lines of a log.

A format file for such a table (a preset) needs these functions:

    from scalelens import tabular

    tabular.has_header(head, HEADER)
    tabular.read_as(source, rows, COLUMNS)
    tabular.read(source, rows, records)

and one for the lines of a log these:

    tabular.is_text(head)
    tabular.read_lines_as(source, rows, SHAPE, COLUMNS)
"""

from scalelens.tabular.steps import has_header, read_as, read_runs
from scalelens.tabular.steps import read_table as read
from scalelens.tabular.unknown_logs.read import is_text, read_lines, read_lines_as

__all__ = ["has_header", "is_text", "read", "read_as", "read_lines", "read_lines_as", "read_runs"]
