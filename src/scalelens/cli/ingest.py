"""Read logs, power files and traces into the warehouse."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scalelens.cli.ingest_summary import summarise
from scalelens.cli.options import (
    WAREHOUSE,
    ColumnMapping,
    DaskCluster,
    ForeignSidecars,
    FormatFolders,
    JobArray,
    ShardOfWork,
    WarehouseOption,
    checked_zone,
)
from scalelens.cli.output import say

if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress

    from scalelens.warehouse.records import Entry

PANEL = "Read"


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", readable=False)],
    warehouse: WarehouseOption = WAREHOUSE,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; outside a Slurm job at most four by default.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit 1 if anything was not understood.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report; write nothing.")] = False,
    tz: Annotated[
        str | None,
        typer.Option(help="Time zone of times without one, such as Europe/Berlin; a scalelens.toml takes precedence."),
    ] = None,
    documents: Annotated[bool, typer.Option(help="Read documents and source code as if they were logs.")] = False,
    reread: Annotated[bool, typer.Option("--reread", "--again", help="Read files that have not changed, too.")] = False,
    sidecars: ForeignSidecars = False,
    mapping: ColumnMapping = None,
    formats: FormatFolders = None,
    shard: ShardOfWork = None,
    slurm: JobArray = None,
    dask: DaskCluster = None,
) -> None:
    """Read logs, power files and traces into the warehouse.

    Files that have not changed are skipped; the rows of a file that has changed are replaced.  A scalelens.toml in or
    above the folders is read too (see: scalelens label); one above is named, and not read from a folder into which
    anybody may write.

    Columns of a CSV that no format knows are read by their names; what each is read as is printed, --map corrects it.

    Examples:  scalelens ingest logs/      scalelens ingest logs/ -w study --tz Europe/Stockholm
    scalelens ingest metrics.csv --dry-run --map batch_time=iter_time:ms --map step=it
    scalelens ingest logs/ -w study --slurm 8 > array.sh && sbatch array.sh
    """
    from scalelens.ingestion import ingest as ingestion
    from scalelens.ingestion.shards import job_array, shard_of

    if slurm:
        flags = {"--strict": strict, "--documents": documents, "--reread": reread, "--sidecars": sidecars}
        values = {"--tz": [tz] if tz else [], "--map": mapping or [], "--formats": _resolved(formats)}
        say(job_array(slurm, paths, warehouse, flags, values).rstrip("\n"))
        return
    with ProgressBar() as bar:
        report = ingestion.ingest(
            paths, warehouse, jobs, tuple(formats or ()), documents, dry_run, bar.begin, checked_zone(tz),
            tuple(mapping or ()), reread, shard_of(shard) if shard else None, dask, sidecars,
        )  # fmt: skip
    summarise(report, warehouse, dry_run)
    if strict and (report.unreadable or not all(map(_is_understood, report.entries))):
        raise typer.Exit(1)


def _is_understood(entry: "Entry") -> bool:
    return not entry.problems and entry.status not in ("unknown", "partial")


def _resolved(folders: list[Path] | None) -> list[str]:
    return [str(folder.resolve()) for folder in folders or ()]


class ProgressBar:
    """A progress bar in bytes, on a terminal only: elsewhere rich is not loaded."""

    def __init__(self) -> None:
        self.progress = _progress() if sys.stderr.isatty() else None

    def __enter__(self) -> "Self":
        if self.progress:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress:
            self.progress.stop()

    def begin(self, files: int, size_bytes: int) -> Callable[[int], None]:
        if not (progress := self.progress):
            return lambda count: None
        task = progress.add_task(f"{files} files", total=size_bytes)
        return lambda count: progress.advance(task, count)


def _progress() -> "Progress":
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from scalelens.cli.inert_console import errors

    return Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeElapsedColumn(),
        console=errors, transient=False,
    )  # fmt: skip
