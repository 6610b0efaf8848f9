"""From a folder of logs to one page."""

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.anonymous import leaving
from scalelens.cli.options import WAREHOUSE, Anonymous, QueryFolders, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Draw"


def report(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; new files in them are read first.", readable=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write, one HTML file.")] = Path(
        "report.html"
    ),
    warehouse: WarehouseOption = WAREHOUSE,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Report on traces only; the files are read into a temporary warehouse."),
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the page; without one, what the logs are about.")] = "",
    folders: QueryFolders = None,
    anonymous: Anonymous = False,
) -> None:
    """Write one offline page, for the screen and for paper: a summary first, then the findings by weight.

    Each finding has its chart, table, SQL and doubts; runs, further tables and files follow.

    Examples:

    scalelens report logs/ -o report.html

    scalelens report --trace traces/ -o traces.html
    """
    from scalelens.report.html import write_report
    from scalelens.warehouse.log import Warehouse

    if trace and not paths:
        raise UserError("no trace is named", "name files or a folder: scalelens report --trace traces/")
    with _chosen_warehouse(warehouse, trace) as root:
        if paths:
            _read(paths, root, with_summary=not trace)
        elif not Warehouse(root).exists():
            raise UserError(f"there is no warehouse at {root}", "name a folder of logs: scalelens report logs/")
        named = ", ".join(path.name or str(path) for path in paths or [warehouse])
        again = _commands(paths or [], output, warehouse, trace)
        if anonymous:
            named, again = "", ["scalelens report -w warehouse -o report.html"]
        with leaving(root, anonymous) as (shown, _):
            write_report(shown, output, title, trace, tuple(folders or ()), again, named or "warehouse")
    errors.print(f"{output}  {output.stat().st_size / 1e6:.1f} MB", markup=False)


@contextmanager
def _chosen_warehouse(warehouse: Path, trace: bool) -> Iterator[Path]:
    """The warehouse that is named; for traces one that is gone afterwards, so that no other run is in the page."""
    if not trace:
        yield warehouse
        return
    with tempfile.TemporaryDirectory(prefix="scalelens-") as folder:
        yield Path(folder, "traces")


def _read(paths: list[Path], root: Path, with_summary: bool) -> None:
    """Reads what is new."""
    from scalelens.cli.ingest import ProgressBar
    from scalelens.cli.ingest_summary import summarise
    from scalelens.ingestion import ingest

    bar = ProgressBar()
    with bar:
        done = ingest.ingest(paths, root, on_progress=bar.begin)
    if with_summary:
        summarise(done, root, dry_run=False)


def _commands(paths: list[Path], output: Path, warehouse: Path, trace: bool) -> list[str]:
    """The commands that make the page again."""
    names = " ".join(shlex.quote(str(path)) for path in paths)
    if trace:
        return [f"scalelens report --trace {names} -o {shlex.quote(str(output))}"]
    place = shlex.quote(str(warehouse))
    first = [f"scalelens ingest {names} -w {place}"] if names else []
    return [*first, f"scalelens report -w {place} -o {shlex.quote(str(output))}"]
