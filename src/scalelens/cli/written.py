"""Prints the answer to a query: with where it comes from, for people at a glance, or as rows."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scalelens.cli.output import WITH_PROVENANCE, Format, errors, show, to_stdout
from scalelens.cli.pieces import is_for_people
from scalelens.report.columns import Columns
from scalelens.report.glance import glance_of

if TYPE_CHECKING:
    from scalelens.queries.header import Query
    from scalelens.question.answer import Answer
    from scalelens.question.question import Question

_Folders = tuple[Path, ...]


def show_with_provenance(
    root: Path, question: "Question", format: Format, at_a_glance: bool, folders: _Folders, width: str | None = None
) -> None:
    """Prints an answer with where it comes from; a table of LaTeX fits the width."""
    from scalelens.report.written import write

    text, _, _ = write(root, question, format, at_a_glance, folders, width or "")
    to_stdout(lambda: sys.stdout.write(text))


def show_answer(
    root: Path, answer: "Answer", format: Format | None, folders: _Folders, without: tuple[str, ...] = ()
) -> None:
    """Prints the answer to a query: for people at a glance, `without` what the caller says in words; else as rows."""
    if format in WITH_PROVENANCE:
        show_with_provenance(root, answer.question, format, at_a_glance=True, folders=folders)
    elif is_for_people(format) and answer.query:
        show_to_people(Columns(answer.table).without(without), answer.query, answer.run_names, has_options=False)
    else:
        show(answer.frame, format)


def show_to_people(
    rows: Columns, query: "Query", runs: Mapping[str, str], limit: int | None = None, has_options: bool = True,
    n_rows: int | None = None,
) -> None:  # fmt: skip
    """Prints the answer to a query, at one glance where the query names one.  `runs` are their names, by id.

    `has_options` and `n_rows` are those of `show_at_a_glance`.
    """
    from scalelens.cli.terminal_tables import print_table, show_at_a_glance

    glance = glance_of(query, rows.columns)
    if not glance:
        to_stdout(lambda: print_table(rows, n_rows))
    elif not rows.height:
        errors.print("no rows", style="dim")
    else:
        columns = {column.name: column for column in query.columns}
        show_at_a_glance(rows, glance, columns, runs, limit, has_options, n_rows)
