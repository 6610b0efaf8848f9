"""Prints results on stdout in the format asked for.  Everything else goes to stderr, by `errors`."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from scalelens.errors import UserError
from scalelens.inert import visible
from scalelens.report.columns import Columns

if TYPE_CHECKING:
    import polars as pl

_CONSOLES = "scalelens.cli.inert_console"


class _Errors:
    """What is said beside a result.  rich is loaded for what has a style, and by what shows progress."""

    def print(self, text: str, style: str | None = None, **options: Any) -> None:
        if style is None and _CONSOLES not in sys.modules:
            sys.stderr.write(f"{visible(text, lines=True)}\n")
            sys.stderr.flush()
            return
        from scalelens.cli.inert_console import errors

        errors.print(text, style=style, **options)


errors = _Errors()


def say(text: str) -> None:
    """Prints lines that are a result, whatever they hold."""
    to_stdout(lambda: sys.stdout.write(f"{visible(text, lines=True)}\n"))


class Format(StrEnum):
    """Output formats of every command that prints rows."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    parquet = "parquet"
    envelope = "envelope"


WITH_PROVENANCE = (Format.latex, Format.markdown, Format.envelope)  # these say where the rows come from


def show(rows: "pl.DataFrame", format: Format | None) -> None:
    """Prints rows; without a format as a table on a terminal, else as CSV."""
    check_terminal(format)
    to_stdout(lambda: _write_rows(rows, format or (Format.table if sys.stdout.isatty() else Format.csv)))


def check_terminal(format: Format | None) -> None:
    """Raises UserError where a terminal would get what only programs read."""
    if format is Format.parquet and sys.stdout.isatty():
        raise UserError("Parquet is binary and cannot be shown on a terminal", "write it to a file: ... > rows.parquet")


def to_stdout(write: Callable[[], object]) -> None:
    """Writes to stdout.  Raises UserError where it cannot be written."""
    try:
        write()
        sys.stdout.flush()
    except OSError as error:
        discard_stdout()
        if not isinstance(error, BrokenPipeError):  # `| head` has all that it wants
            raise UserError(f"cannot write the result ({error.strerror})", "write it elsewhere") from None


def discard_stdout() -> None:
    """Lets go of what is not written yet, so that Python does not try again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_rows(rows: "pl.DataFrame", format: Format) -> None:
    """Writes rows to stdout in a format."""
    from scalelens.report.text.csv_text import csv_text
    from scalelens.report.text.json_text import json_text
    from scalelens.report.text.latex_tables import full_table
    from scalelens.report.text.markdown import markdown

    if format is Format.parquet:
        content = io.BytesIO()  # if polars wrote the file itself, its error would not say what went wrong
        rows.write_parquet(content)
        sys.stdout.buffer.write(content.getbuffer())
        return
    if format is Format.csv:
        text = csv_text(rows.to_arrow())
    elif format is Format.json:
        text = json_text(rows)
    elif format is Format.markdown:
        text = markdown(rows)
    elif format is Format.latex:
        text = full_table(rows)
    elif format is Format.envelope:
        raise UserError("only query and sql can write an envelope", "take --format json")
    else:
        from scalelens.cli.terminal_tables import print_table

        print_table(Columns(rows.to_arrow()))
        return
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
