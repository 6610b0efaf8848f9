"""Answers as files that say where they come from: LaTeX, Markdown, envelopes."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.cli.envelopes import envelope_text
from scalelens.cli.output import WITH_PROVENANCE, Format, errors, show, to_stdout
from scalelens.cli.pieces import is_for_people
from scalelens.errors import UserError
from scalelens.report.columns import Columns
from scalelens.report.glance import by_names
from scalelens.report.text.latex_tables import full_table, glance_table
from scalelens.report.text.markdown import markdown
from scalelens.report.text.table_columns import NAME_RUNS, table_column

if TYPE_CHECKING:
    from scalelens.queries.header import Query
    from scalelens.question.answer import Answer
    from scalelens.question.question import Question

Folders = tuple[Path, ...]


def write(
    root: Path, question: "Question", format: str, at_a_glance: bool, folders: Folders = ()
) -> "tuple[str, Answer, dict[str, Any]]":
    """The text of an answer, the answer, and the provenance that is in the text.

    With `at_a_glance` a table of LaTeX has the columns that matter alone, in units that people read.
    """
    from scalelens.question.inputs import NEEDED_FOR_INPUTS
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import ask
    from scalelens.report.provenance_in_files import latex_comment, markdown_comment
    from scalelens.report.text.latex import PACKAGES

    answer = ask(root, question, folders, also=f"{NEEDED_FOR_INPUTS}; {RUN_NAMES}")
    told = question.told() | {"format": str(format)} | ({"glance": at_a_glance} if question.query else {})
    provenance = answer.provenance(told)
    if format == Format.envelope:
        return envelope_text(answer, provenance), answer, provenance
    if format == Format.markdown:
        return f"{markdown(answer.frame)}\n{markdown_comment(provenance)}", answer, provenance
    if format != Format.latex:
        raise UserError(f"'{format}' is not a format that says where it comes from", "write an envelope")
    query = answer.query if at_a_glance and answer.table.num_rows else None
    has_glance = query and glance_of(query, answer.table.column_names)
    table = latex_glance(answer, query) if query and has_glance else full_table(answer.frame)
    return f"{PACKAGES}{latex_comment(provenance)}{table}", answer, provenance


def show_with_provenance(root: Path, question: "Question", format: Format, at_a_glance: bool, folders: Folders) -> None:
    """Prints an answer with where it comes from."""
    text, _, _ = write(root, question, format, at_a_glance, folders)
    to_stdout(lambda: sys.stdout.write(text))


def show_answer(
    root: Path, answer: "Answer", format: Format | None, folders: Folders, without: tuple[str, ...] = ()
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
        errors.print(f"no rows; what the query needs: scalelens explain {query.name}", style="dim", markup=False)
    else:
        columns = {column.name: column for column in query.columns}
        show_at_a_glance(rows, glance, columns, runs, limit, has_options, n_rows)


def glance_of(query: "Query", columns: Sequence[str]) -> list[str]:
    """What a query shows at one glance, of the columns that its answer has; empty where it names none of them."""
    return [name for name in query.glance if name.rstrip("%~") in columns]


def shows_runs(query: "Query") -> bool:
    """Whether people see runs in its answer."""
    return any(name.rstrip("~").endswith(NAME_RUNS) for name in query.glance)


def latex_glance(answer: "Answer", query: "Query") -> str:
    """The columns that a query names in its header, as a table of LaTeX."""
    runs = answer.run_names if shows_runs(query) else {}
    rows = Columns(answer.table).with_floats()
    glance = glance_of(query, rows.columns)
    if glance[0].rstrip("~") == "run_id":  # the ids say nothing, so the names give the order
        rows = by_names(rows, runs)
    beside = [name.rstrip("~") for name in glance if "%" not in name]
    columns = [table_column(rows, name, answer.columns, runs, neighbors=beside) for name in glance]
    heading = columns.pop(0) if columns[0].name == "series" and len(columns) > 1 else None
    return glance_table(columns, heading)
