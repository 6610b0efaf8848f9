"""Answers as texts that say where they come from: LaTeX, Markdown, envelopes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.charts.layout import width_of
from scalelens.errors import UserError
from scalelens.question.empty import told_reasons
from scalelens.question.inputs import NEEDED_FOR_INPUTS
from scalelens.question.question import Question
from scalelens.question.run_names import RUN_NAMES
from scalelens.question.session import Session, ask
from scalelens.report.columns import Columns
from scalelens.report.envelopes import envelope_text
from scalelens.report.glance import by_names, glance_of, shows_runs
from scalelens.report.provenance_in_files import latex_comment, markdown_comment
from scalelens.report.text.latex import PACKAGES
from scalelens.report.text.latex_tables import full_table, glance_table
from scalelens.report.text.markdown import markdown
from scalelens.report.text.table_columns import table_column

if TYPE_CHECKING:
    from scalelens.queries.header import Query
    from scalelens.question.answer import Answer


def write(
    root: Path, question: Question, format: str, at_a_glance: bool, folders: tuple[Path, ...] = (), width: str = ""
) -> "tuple[str, Answer, dict[str, Any]]":
    """The text of an answer, the answer, and the provenance that is in the text.

    With `at_a_glance` a table of LaTeX has the columns that matter alone, in units that people read.  With a
    `width`, such as ieee-single, it fits a column of that width.  Raises UserError for a width that is none.
    """
    mm = width_of(width) if width else None
    answer = ask(root, question, folders, also=f"{NEEDED_FOR_INPUTS}; {RUN_NAMES}")
    told = question.told() | {"format": str(format)} | ({"glance": at_a_glance} if question.query else {})
    told |= {"width": width} if width else {}
    provenance = answer.provenance(told)
    if format == "envelope":
        return envelope_text(answer, provenance, _why_empty(root, answer, folders)), answer, provenance
    if format == "markdown":
        return f"{markdown(answer.frame)}\n{markdown_comment(provenance)}", answer, provenance
    if format != "latex":
        raise UserError(f"'{format}' does not record where the result comes from", "write an envelope")
    query = answer.query if at_a_glance and answer.table.num_rows else None
    has_glance = query and glance_of(query, answer.table.column_names)
    table = _latex_glance(answer, query, mm) if query and has_glance else full_table(answer.frame, mm)
    return f"{PACKAGES}{latex_comment(provenance)}{table}", answer, provenance


def _why_empty(root: Path, answer: "Answer", folders: tuple[Path, ...]) -> list[dict[str, str]]:
    """Why a query has no rows; nothing where it has some, and of the user's own SQL."""
    if answer.table.num_rows or answer.question.query is None:
        return []
    with Session(root, folders) as session:
        return told_reasons(session, answer.question)


def _latex_glance(answer: "Answer", query: "Query", mm: float | None) -> str:
    """The columns that a query names in its header, as a table of LaTeX."""
    runs = answer.run_names if shows_runs(query) else {}
    rows = Columns(answer.table).with_floats()
    glance = glance_of(query, rows.columns)
    if glance[0].rstrip("~") == "run_id":  # the ids say nothing, so the names give the order
        rows = by_names(rows, runs)
    beside = [name.rstrip("~") for name in glance if "%" not in name]
    columns = [table_column(rows, name, answer.columns, runs, neighbors=beside, one_form=True) for name in glance]
    heading = columns.pop(0) if columns[0].name == "series" and len(columns) > 1 else None
    return glance_table(columns, heading, mm)
