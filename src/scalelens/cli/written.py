"""Answers as files that say where they come from: LaTeX, Markdown, envelopes."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.cli.envelopes import envelope_text
from scalelens.cli.output import WITH_PROVENANCE, Format, errors, show, to_stdout
from scalelens.cli.pieces import is_for_people
from scalelens.cli.run_names import names_of_runs
from scalelens.errors import UserError
from scalelens.report.columns import Columns
from scalelens.report.glance import by_names
from scalelens.report.text.latex_tables import full_table, glance_table
from scalelens.report.text.markdown import markdown
from scalelens.report.text.table_columns import table_column

if TYPE_CHECKING:
    import polars as pl

    from scalelens.queries.header import Query
    from scalelens.report.answers import Answer


def write(root: Path, asked: Mapping[str, Any], folders: tuple[Path, ...] = ()) -> tuple[str, "Answer"]:
    """The text of an answer, and the answer.  `asked` is that of `answered`, with a `format` and perhaps `glance`.

    With `glance` a table has the columns that matter alone, in units that people read.
    """
    from scalelens.report.answers import answered
    from scalelens.report.provenance import latex_comment, markdown_comment
    from scalelens.report.text.latex import PACKAGES

    answer = answered(root, asked, folders)
    rows, said = answer.rows, answer.provenance
    if asked["format"] == Format.envelope:
        return envelope_text(answer), answer
    if asked["format"] == Format.markdown:
        return f"{markdown(rows)}\n{markdown_comment(said)}", answer
    if asked["format"] != Format.latex:
        raise UserError(f"'{asked['format']}' is not a format that says where it comes from", "write an envelope")
    at_a_glance = asked.get("glance") and answer.query and not rows.is_empty()
    table = latex_glance(root, rows, answer.query) if at_a_glance and answer.query else full_table(rows)
    return f"{PACKAGES}{latex_comment(said)}{table}", answer


def show_with_provenance(
    root: Path, asked: Mapping[str, Any], format: Format, folders: tuple[Path, ...], unsafe: bool
) -> None:
    """Prints an answer with where it comes from."""
    text, _ = write(root, {**asked, "format": str(format), **({"unsafe": True} if unsafe else {})}, folders)
    to_stdout(lambda: sys.stdout.write(text))


def show_answer(
    root: Path, rows: "pl.DataFrame", name: str, format: Format | None, folders: tuple[Path, ...],
    parameters: Mapping[str, Any], without: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Prints the answer to a query: for people at one glance, `without` what the caller says in words; else as rows.

    A format that says where the rows come from needs the `parameters` that they were asked with.
    """
    from scalelens.queries.load import load

    if format in WITH_PROVENANCE:
        texts = {key: str(value) for key, value in parameters.items()}
        show_with_provenance(root, {"query": name, "parameters": texts, "glance": True}, format, folders, unsafe=False)
    elif is_for_people(format):
        query = load(folders, name)[name]
        show_to_people(Columns(rows.to_arrow()).without(without), query, names_of_runs(root, query), has_options=False)
    else:
        show(rows, format)


def show_to_people(
    rows: Columns, query: "Query", runs: Mapping[str, str], limit: int | None = None, has_options: bool = True,
    n_rows: int | None = None,
) -> None:  # fmt: skip
    """Prints the answer to a query, at one glance where the query names one.  `runs` are their names, by id.

    `has_options` and `n_rows` are those of `show_at_a_glance`.
    """
    from scalelens.cli.terminal_tables import print_table, show_at_a_glance

    if not query.glance:
        to_stdout(lambda: print_table(rows, n_rows))
    elif not rows.height:
        errors.print(f"no rows; what the query needs: scalelens explain {query.name}", style="dim", markup=False)
    else:
        columns = {column.name: column for column in query.columns}
        show_at_a_glance(rows, query.glance, columns, runs, limit, has_options, n_rows)


def latex_glance(root: Path, rows: "pl.DataFrame", query: "Query") -> str:
    """The columns that a query names in its header, as a table of LaTeX."""
    of_query = {column.name: column for column in query.columns}
    runs = names_of_runs(root, query)
    answer = Columns(rows.to_arrow()).with_floats()
    if query.glance[0].rstrip("~") == "run_id":  # the ids say nothing, so the names give the order
        answer = by_names(answer, runs)
    beside = [name.rstrip("~") for name in query.glance if "%" not in name]
    columns = [
        table_column(answer, name, of_query, runs, neighbors=beside)
        for name in query.glance
        if name.rstrip("%~") in answer.columns
    ]
    heading = columns.pop(0) if columns[0].name == "series" and len(columns) > 1 else None
    return glance_table(columns, heading)
