"""Commands that bring files in and look at them: ingest, identify, forget, formats."""

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.output import Format, errors, show
from scalelens.errors import UserError

# `readable=False`: not looked at by typer, whose message would be a box of many lines.
Home = Annotated[
    Path,
    typer.Option("-w", "--warehouse", envvar="SCALELENS_WAREHOUSE", help="Folder of the warehouse.", readable=False),
]
HOME = Path("scalelens-warehouse")
Mapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="ROLE=COLUMN[:UNIT]", help="What a column of a CSV is: batch_time=iter_time:ms."),
]
FormatFolders = Annotated[list[Path] | None, typer.Option("--formats", help="Folder with format files of your own.")]


def add_to(app: typer.Typer) -> None:
    for command in (ingest, identify, forget, formats):
        app.command()(command)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", readable=False)],
    warehouse: Home = HOME,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; outside a Slurm job at most four by default.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit 1 when anything was not understood.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report; write nothing.")] = False,
    tz: Annotated[
        str | None,
        typer.Option(help="Zone of times that name none, such as Europe/Berlin, where no scalelens.toml says it."),
    ] = None,
    documents: Annotated[bool, typer.Option(help="Read documents and source code as if they were logs.")] = False,
    mapping: Mapping = None,
    formats: FormatFolders = None,
) -> None:
    """Read logs, power files and traces into the warehouse.

    The same files again cost nothing; a file that grew replaces what it said before.  What a scalelens.toml in or
    above the folders says is taken up too (see: scalelens label).

    Columns of a CSV that no format knows are read by their names; which as what is printed, and --map says it better.

    Examples:  scalelens ingest logs/      scalelens ingest logs/ -w study --tz Europe/Stockholm
    scalelens ingest metrics.csv --dry-run --map batch_time=iter_time:ms --map step=it
    """
    from scalelens import ingestion as work

    bar = Bar()
    with bar:
        report = work.ingest(
            paths, warehouse, jobs, tuple(formats or ()), documents, dry_run, bar.begin, zone(tz), tuple(mapping or ())
        )
    summarise(report, warehouse, dry_run)
    if strict and (
        report.unreadable or any(entry.problems or entry.status in ("unknown", "partial") for entry in report.entries)
    ):
        raise typer.Exit(1)


def zone(name: str | None) -> str | None:
    """A time zone's name, checked."""
    from scalelens.sidecar import is_zone

    if name is not None and not is_zone(name):
        raise UserError(f"there is no time zone '{name}'", "name one such as Europe/Berlin or UTC")
    return name


class Bar:
    """A progress bar in bytes, for people only."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self.progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeElapsedColumn(),
            console=errors, disable=not sys.stderr.isatty(), transient=False,
        )  # fmt: skip

    def __enter__(self) -> None:
        self.progress.start()

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def begin(self, files: int, size_bytes: int):  # type: ignore[no-untyped-def]
        task = self.progress.add_task(f"{files} files", total=size_bytes)
        return lambda count: self.progress.advance(task, count)


def summarise(report, warehouse: Path, dry_run: bool) -> None:  # type: ignore[no-untyped-def]
    """What was understood, what was not, and what to do next."""
    from scalelens.members import runs_of
    from scalelens.reading import COLUMNS
    from scalelens.warehouse import Warehouse

    read_as: dict[str, list[str]] = defaultdict(list)  # names of files by what their columns are read as
    by_format: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    others: dict[str, list[str]] = defaultdict(list)
    for entry in report.entries:
        for name in entry.formats:
            tally = by_format[name]
            tally[0] += 1
            tally[1] += entry.rows_of.get(name, 0)
            tally[2] += entry.problems_of.get(name, 0)
        note, _, columns = (entry.note or "").partition(COLUMNS)
        if columns:
            read_as[columns].append(Path(entry.path).name)
        if entry.status in ("unknown", "document", "empty", "duplicate") or (entry.status == "partial" and note):
            others[entry.status].append(
                f"{Path(entry.path).name} ({note.rstrip('; ')})" if note else Path(entry.path).name
            )
    if by_format:
        width = max(len(name) for name in by_format) + 2
        errors.print(f"{'':{width}}{'files':>7}{'rows':>12}{'problems':>10}")
        for name, (files, rows, problems) in sorted(by_format.items(), key=lambda item: -item[1][1]):
            hint = '   scalelens sql "FROM problems"' if problems else ""
            errors.print(f"{name:{width}}{files:>7}{rows:>12,}{problems:>10,}{hint}")
    for columns, alike in read_as.items():
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        errors.print(f"columns of {alike[0]}{more}: {columns}", markup=False)
    for status, said in (
        ("partial", "in part"),
        ("unknown", "not understood"),
        ("document", "documents"),
        ("empty", "empty"),
        ("duplicate", "duplicates"),
    ):
        if names := others.get(status):
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            errors.print(f"{said}  {len(names)}   {shown}", markup=False)
    for line in report.unreadable:
        errors.print(f"cannot be read: {line}", markup=False)
    for fault in report.faults:
        errors.print(fault, markup=False)
    if report.unchanged:
        errors.print(f"{report.unchanged} files have not changed since they were read")
    if dry_run:
        errors.print("nothing was written (--dry-run)")
        return
    runs = runs_of(Warehouse(warehouse).live())
    if not runs:
        errors.print(f"no runs in {warehouse}")
        return
    outcomes = Counter(run.outcome[0] for run in runs).most_common()
    total = len(runs)
    said = ", ".join(
        f"{count} {outcome.replace('oom', 'out of memory').replace('_', ' ')}" for outcome, count in outcomes
    )
    errors.print(
        f"{total} run{'s' if total > 1 else ''} ({said}) in {warehouse}      next: scalelens query runs_overview",
        markup=False,
    )


def identify(
    file: Annotated[Path, typer.Argument(help="A file.", readable=False)],
    mapping: Mapping = None,
    preset: Annotated[
        Path | None, typer.Option(help="Write a format file for tables like this one, to be edited.", readable=False)
    ] = None,
    formats: FormatFolders = None,
    format: Annotated[Format | None, typer.Option("--format", help="Output format.")] = None,
) -> None:
    """Show which format takes which lines of a file, what its columns are read as, and what is not understood.

    Examples:  scalelens identify slurm-123456.out      scalelens identify metrics.csv --map batch_time=iter_time:ms
    scalelens identify metrics.csv --preset my_formats/my_metrics.py
    """
    from scalelens.identify import identify as look

    if not file.is_file():
        raise UserError(f"there is no file {file}", "give the path of one file")
    status, rows = look(file, tuple(formats or ()), tuple(mapping or ()), preset)
    errors.print(status, markup=False)
    if preset:
        errors.print(f"wrote {preset}; test it with: scalelens formats --check {preset.parent}", markup=False)
    show(rows, format)


def forget(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or run ids.")],
    warehouse: Home = HOME,
) -> None:
    """Take files or runs out of the warehouse; the files themselves stay where they are.

    Examples:  scalelens forget logs/bad.out      scalelens forget 3f9a0c1d2e4b
    """
    from scalelens.database import connect
    from scalelens.warehouse import Warehouse

    store = Warehouse(warehouse)
    known = store.live().paths
    members = (
        connect(warehouse).execute("SELECT run_id, unnest(paths) FROM members JOIN files USING (file_id)").fetchall()
    )
    gone: set[str] = set()
    for text in paths:
        path = str(Path(text).resolve())
        matched = {p for p in known if p == path or p.startswith((path + "/", path + "!"))} | {
            p for run, p in members if run == text
        }
        if not matched:
            raise UserError(
                f"nothing in the warehouse is called {text}", 'list paths with: scalelens sql "SELECT path FROM files"'
            )
        gone |= matched
    store.forget(sorted(gone))
    errors.print(f"{len(gone)} files are forgotten")


def formats(
    check: Annotated[Path | None, typer.Option("--check", help="Test the format files of a folder of yours.")] = None,
    folders: FormatFolders = None,
    format: Annotated[Format | None, typer.Option("--format", help="Output format.")] = None,
) -> None:
    """List the formats: name, tool, versions, what each yields.  With --check, test those of a folder.

    Examples:  scalelens formats      scalelens formats --check my_formats/
    """
    import polars as pl

    from scalelens import formats as known
    from scalelens.lines import name_of

    if check is not None:
        from scalelens.identify import check_formats

        complaints = check_formats(check)
        for complaint in complaints:
            errors.print(complaint, markup=False)
        if complaints:
            raise typer.Exit(1)
        errors.print(f"the formats of {check} hold")
        return
    loaded = known.load(tuple(folders or ()))
    modules = sorted((*loaded.of_lines, *loaded.of_files), key=name_of)
    show(
        pl.DataFrame(
            [
                {
                    "name": name_of(module), "what": known.title(module), "tool": known.heading(module, "Tool"),
                    "versions": known.heading(module, "Versions"), "yields": known.heading(module, "Yields"),
                    "kind": "lines" if hasattr(module, "ANCHORS") else "file",
                }
                for module in modules
            ]
        ),
        format,
    )  # fmt: skip
