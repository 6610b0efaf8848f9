"""The command line: arguments in, printing, exit codes.

Exit 0 done, 1 the answer is no, 2 wrong use or unreadable input, 130 interrupted.
"""

import sys

import typer

from scalelens.cli import bench, data, figures, questions, sidecars, traces
from scalelens.cli.output import errors
from scalelens.errors import UserError
from scalelens.version import __version__

app = typer.Typer(
    name="scalelens",
    help="Training logs, power logs and profiler traces to Parquet, SQL and figures.\n\n"
    "First: scalelens ingest logs/      then: scalelens query runs_overview",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data.add_to(app)
sidecars.add_to(app)
questions.add_to(app)
figures.add_to(app)
traces.add_to(app)
bench.add_to(app)


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")
) -> None:
    if version:
        typer.echo(f"scalelens {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Runs the command line; what a user did wrong is one line on stderr."""
    try:
        app(standalone_mode=True)
    except UserError as error:
        errors.print(f"scalelens: {error}", markup=False)
        sys.exit(2)
    except SystemExit as ending:
        if ending.code == 130:  # typer's code for ^C
            errors.print("interrupted; what was committed is kept, run the same command again to go on")
        raise
