"""Answers as files that say where they come from: LaTeX, Markdown, envelopes."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.cli.envelopes import envelope_text
from scalelens.cli.latex_tables import latex_table
from scalelens.cli.output import WITH_PROVENANCE, Format, errors, show, to_stdout
from scalelens.cli.pieces import is_for_people
from scalelens.errors import UserError
from scalelens.report.column_texts import NAME_RUNS, shown
from scalelens.report.text_formats import latex, markdown

if TYPE_CHECKING:
    import polars as pl

    from scalelens.queries.header import Query
    from scalelens.report.answers import Answer


def write(root: Path, asked: Mapping[str, Any], folders: tuple[Path, ...] = ()) -> tuple[str, "Answer"]:
    """The text of an answer, and the answer.  `asked` is that of `answered`, with a `format` and perhaps `glance`.

    With `glance` a table has the columns that matter alone, in units that people read.
    """
    from scalelens.report.answers import answered
    from scalelens.report.latex import PACKAGES
    from scalelens.report.provenance import latex_comment, markdown_comment

    answer = answered(root, asked, folders)
    rows, said = answer.rows, answer.provenance
    if asked["format"] == Format.envelope:
        return envelope_text(answer), answer
    if asked["format"] == Format.markdown:
        return f"{markdown(rows)}\n{markdown_comment(said)}", answer
    if asked["format"] != Format.latex:
        raise UserError(f"'{asked['format']}' is not a format that says where it comes from", "write an envelope")
    at_a_glance = asked.get("glance") and answer.query and not rows.is_empty()
    table = latex_glance(root, rows, answer.query) if at_a_glance and answer.query else latex(rows)
    return f"{PACKAGES}{latex_comment(said)}{table}", answer


def show_with_provenance(
    root: Path, asked: Mapping[str, Any], format: Format, folders: tuple[Path, ...], unsafe: bool
) -> None:
    """Prints an answer with where it comes from."""
    text, _ = write(root, {**asked, "format": str(format), **({"unsafe": True} if unsafe else {})}, folders)
    to_stdout(lambda: sys.stdout.write(text))


def show_answer(
    root: Path, rows: "pl.DataFrame", name: str, format: Format | None, folders: tuple[Path, ...] = (),
    limit: int | None = None, without: tuple[str, ...] = (), parameters: Mapping[str, Any] | None = None,
    n_rows: int | None = None,
) -> None:  # fmt: skip
    """Prints the answer to a query: for people at one glance, `without` what the caller says in words; else as rows.

    A format that says where the rows come from needs the `parameters` that they were asked with.  `n_rows` is how many
    rows there are, where not all are held.
    """
    from scalelens.queries.load import load

    if parameters is not None and format in WITH_PROVENANCE:
        texts = {key: str(value) for key, value in parameters.items()}
        show_with_provenance(root, {"query": name, "parameters": texts, "glance": True}, format, folders, unsafe=False)
        return
    query = load(folders, name)[name]
    for_people = is_for_people(format)
    if query.glance and for_people and rows.is_empty():
        errors.print(f"no rows; what the query needs: scalelens explain {name}", style="dim", markup=False)
    elif query.glance and for_people:
        from scalelens.cli.terminal_tables import show_at_a_glance

        columns = {column.name: column for column in query.columns}
        runs, has_options = names_of_runs(root, query), parameters is None  # `query` shows where rows come from itself
        show_at_a_glance(rows.drop(without, strict=False), query.glance, columns, runs, limit, has_options, n_rows)
    elif for_people:
        from scalelens.cli.terminal_tables import print_table

        to_stdout(lambda: print_table(rows, n_rows))
    else:
        show(rows, format)


def latex_glance(root: Path, rows: "pl.DataFrame", query: "Query") -> str:
    """The columns that a query names in its header, as a table of LaTeX."""
    of_query = {column.name: column for column in query.columns}
    runs = names_of_runs(root, query)
    if query.glance[0].rstrip("~") == "run_id":  # the ids say nothing, so the names give the order
        rows = rows[sorted(range(rows.height), key=lambda k: runs.get(rows["run_id"][k], rows["run_id"][k]))]
    beside = [name.rstrip("~") for name in query.glance if "%" not in name]
    columns = [
        shown(rows, name, of_query, runs, beside=beside) for name in query.glance if name.rstrip("%~") in rows.columns
    ]
    heading = columns.pop(0) if columns[0].name == "series" and len(columns) > 1 else None
    return latex_table(columns, heading)


def names_of_runs(warehouse: Path, query: "Query") -> dict[str, str]:
    """Names of the runs by their id, where the glance of a query shows runs.

    Runs of one name and system on other devices are told apart by the model of the device.
    """
    from scalelens.database.answering import answer
    from scalelens.database.connect import connect

    if not any(name.rstrip("~").endswith(NAME_RUNS) for name in query.glance):
        return {}
    statement = """SELECT run_id, CASE WHEN count(DISTINCT device_model) OVER (PARTITION BY name, system) > 1
        THEN concat_ws(' ', name, device_model) ELSE name END FROM runs WHERE name IS NOT NULL"""
    return dict(answer(connect(warehouse, (), statement), statement).iter_rows())
