"""Tables of per-step metrics, CSV or JSON lines.

A format file for such a table (a preset) needs three names, and finds them here:

    from scalelens import tabular

    tabular.has_header(head, HEADER)
    tabular.read_as(source, rows, COLUMNS)
    tabular.read(source, rows, records)
"""

from scalelens.tabular.lines import read_lines
from scalelens.tabular.steps import has_header, read_as
from scalelens.tabular.lines import read_lines
from scalelens.tabular.steps import read_table as read

__all__ = ["has_header", "read", "read_as", "read_lines"]
