"""Prints the man page from the commands' own help: `python docs/manual.py > docs/scalelens.1`, or `make man`.

The page is troff with the macros of man(7).  It names no date, so that it changes only when a command does.
"""

import re
import sys
from typing import Any

import typer

from scalelens.cli import make_app
from scalelens.version import __version__

HEAD = f""".\\" Printed from the code by docs/manual.py; do not edit.
.TH SCALELENS 1 "" "ScaleLens {__version__}" "User Commands"
.SH NAME
scalelens \\- training logs, power logs and profiler traces to Parquet, SQL and figures
.SH SYNOPSIS
.B scalelens
.I COMMAND
.RI [ OPTION "]... [" ARGUMENT ]...
.SH DESCRIPTION
ScaleLens reads the logs, power files and traces that a training on a supercomputer left, keeps them in a folder of
Parquet files, the warehouse, and answers questions about them.
First
.B scalelens ingest logs/,
then
.B scalelens query runs_overview.
.B scalelens queries
lists the questions,
.B scalelens explain
.I NAME
says what one of them means.
"""

TAIL = """.SH ENVIRONMENT
.TP
.B SCALELENS_WAREHOUSE
Folder of the warehouse where \\-w is not given; else ./scalelens\\-warehouse.
.TP
.BR SCALELENS_FORMATS ", " SCALELENS_QUERIES ", " SCALELENS_CHARTS
Folders with formats, queries and charts of your own.
.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
the answer is no: a regression, a problem with \\-\\-strict, a figure that no longer holds
.TP
.B 2
wrong use, or input that cannot be read
.TP
.B 130
interrupted; what was committed is kept
"""


def page() -> str:
    """The man page."""
    return f"{HEAD}.SH COMMANDS\n{''.join(commands_of(typer.main.get_command(make_app()), 'scalelens'))}{TAIL}"


def commands_of(group: Any, name: str) -> list[str]:
    """The sections of the commands of a group, and of groups within it."""
    sections: list[str] = []
    for word, command in sorted(group.commands.items()):
        called = f"{name} {word}"
        sections += commands_of(command, called) if hasattr(command, "commands") else [section(command, called)]
    return sections


def section(command: Any, called: str) -> str:
    """One command: how it is called, its help, its options."""
    context = typer.Context(command, info_name=called)
    pieces = [re.sub("[{}]", "", piece) for p in arguments_of(command) for piece in p.get_usage_pieces(context)]
    usage = " ".join(["[OPTION]...", *pieces])
    lines = [f".SS {escaped(called)}", f".B {escaped(called)}", escaped(usage), ".PP", *paragraphs(command.help or "")]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and not (getattr(parameter, "hidden", False) or parameter.name == "help"):
            lines += [".TP", f".B {escaped(record[0])}", escaped(record[1])]
    return "".join(f"{line}\n" for line in lines if line)


def arguments_of(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.param_type_name == "argument"]


def paragraphs(text: str) -> list[str]:
    """A docstring as paragraphs; those that are commands keep their lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        folded = escaped(" ".join(paragraph.split()))
        lines += [".PP", ".RS", f".B {folded}", ".RE"] if paragraph.startswith("scalelens ") else [".PP", folded]
    return lines[1:]


def escaped(text: str) -> str:
    """Text as troff prints it: hyphens that can be copied, and no line that begins as a macro."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    sys.stdout.write(page())
