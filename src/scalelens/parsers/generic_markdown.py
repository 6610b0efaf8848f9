"""Markdown with a table of runs: a row for each size of a study, or a column for each.

Tool: people, and scripts that print their results for a README
Versions: tables with a rule of dashes below their names; bold numbers, thousands parted by commas, a unit in each cell
Yields: steps, phases, metrics, params
Source: https://github.github.com/gfm/#tables-extension-; tabular/role_table.py says which names are recognized

A document is read only with --documents: a README repeats what the logs beside it say, and each run would count twice.
Any other text, such as results.txt, is read like a table if no other format takes a line of it.

Columns become roles as in generic_csv, and each row is a run, where devices or nodes differ from row to row beside a
rate or a time with its unit.  All other tables are passed over.  Of several studies in a text, each heading is a
setting (row_label): what stands in two tables is not a repeat.  A comma parts thousands only where the column shows it
(1,234,567 or 1,234.5, or a number below 1000 without one); else the cell stays a text.

Samples:
    | GPUs | images/s |
    |-----:|---------:|
    | 1    | 390      |
    | 8    | 2950     |
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import markdown, read_runs
from scalelens.tabular.cells import lines_of

VERSION = 1
LAST = True  # any other format comes first


def recognise(head: bytes, name: str) -> bool:
    return markdown.study_in(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    lines = ((line, text) for line, text, _ in lines_of(source))
    studies = [table for table in markdown.tables_in(lines) if table.is_study]
    titles = markdown.titles_of(studies)
    return read_runs([(title, table.records) for title, table in zip(titles, studies, strict=True)], rows)
