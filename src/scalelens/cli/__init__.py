"""The command line: each file of this folder is a command, each folder in it a group of commands.

A module is a command if it has a function of its own name.  Its PANEL says where the help lists it; its
CONTEXT_SETTINGS, if it has any, go to click.  Exit codes: 0 done, 1 the answer is no, 2 wrong use or unreadable input,
3 `verify`: the values are the same and the picture was not compared, 130 interrupted.
"""

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import typer

from scalelens import ending
from scalelens.cli.output import discard_stdout, errors, say
from scalelens.cli.pasting import in_warehouse
from scalelens.cli.plain_arguments import Command, Group
from scalelens.cli.refusals import end_for_lack_of_memory, is_for_lack_of_memory, refusal_of
from scalelens.cli.startup import end_process, open_streams, reduce_overhead
from scalelens.errors import UserError
from scalelens.version import __version__
from scalelens.warehouse.root import root_of

PANELS = ("Read", "Ask", "Draw", "Traces", "Run")  # in the order of the help; any other comes last


def make_app(word: str | None = None) -> typer.Typer:
    """The command line; with the first word of a call, only the command or group that it names, if it names one."""
    app = typer.Typer(
        name="scalelens",
        cls=Group,
        help="Training logs, power logs and profiler traces to Parquet, SQL and figures.\n\n"
        "First: scalelens ingest logs/      then: scalelens query runs_overview",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(scalelens)
    add_commands(app, sys.modules[__name__], word)
    if word is not None and not (app.registered_commands or app.registered_groups):
        return make_app()  # says which commands there are
    return app


def add_commands(group: typer.Typer, package: ModuleType, word: str | None = None) -> None:
    """Adds the commands of a folder to a group, or the one that a word of the command line names."""
    files = pkgutil.iter_modules(package.__path__)
    found = {file.name: file.ispkg for file in files if word in (None, spelt(file.name))}
    modules = {name: importlib.import_module(f"{package.__name__}.{name}") for name in sorted(found)}
    commands = {name: module for name, module in modules.items() if not found[name] and hasattr(module, name)}
    for name, module in sorted(commands.items(), key=lambda command: (panel_place(command[1]), command[0])):
        group.command(
            spelt(name),
            cls=Command,
            context_settings=getattr(module, "CONTEXT_SETTINGS", None),
            rich_help_panel=getattr(module, "PANEL", None),
        )(with_root(getattr(module, name)))
    for name in (name for name in modules if found[name]):
        commands_of_folder = typer.Typer(cls=Group, help=modules[name].__doc__, no_args_is_help=True)
        add_commands(commands_of_folder, modules[name])
        group.add_typer(commands_of_folder, name=name, rich_help_panel=getattr(modules[name], "PANEL", None))


def with_root(command: Callable[..., None]) -> Callable[..., None]:
    """A command that gets a bucket as such: older versions of typer make a path anew of what a callback returned."""

    @functools.wraps(command)
    def called(**arguments: Any) -> None:
        if arguments.get("warehouse") is not None:
            arguments["warehouse"] = root_of(arguments["warehouse"])
        command(**arguments)

    return called


def spelt(name: str) -> str:
    """The name of a module as a command."""
    return name.replace("_", "-")


def panel_place(module: ModuleType) -> int:
    """Place of a command's panel in the order of the help."""
    panel = getattr(module, "PANEL", None)
    return PANELS.index(panel) if panel in PANELS else len(PANELS)


def scalelens(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")
) -> None:
    if version:
        say(f"scalelens {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(2)


def run() -> None:
    """The command `scalelens`: runs the command line, and ends the process with its exit code."""
    ending.is_near = sys.argv[1:2] in (["query"], ["sql"])
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            end_process(end.code)
        raise


def main() -> None:
    """Runs the command line.  A mistake of the user, or what the system refuses, is one line on stderr."""
    open_streams()
    reduce_overhead(sys.argv[1:2])
    try:
        _run()
    except BaseException as error:
        if is_for_lack_of_memory(error):
            end_for_lack_of_memory()
        raise


def _run() -> None:
    try:
        app = make_app(*sys.argv[1:2])  # to load all commands takes as long as a third of a small question
        app(standalone_mode=True)
    except UserError as error:
        errors.print(f"scalelens: {in_warehouse(str(error))}", markup=False)
        sys.exit(2)
    except OSError as error:
        errors.print(f"scalelens: {refusal_of(error)}", markup=False)
        discard_stdout()
        sys.exit(2)
    except SystemExit as end:
        if end.code == 130:  # typer's code for ^C
            errors.print("interrupted; committed work is kept; run the same command again to continue")
        raise
