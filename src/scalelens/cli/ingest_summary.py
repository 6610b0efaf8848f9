"""Prints the summary of an ingest: what was understood, what was not, how the runs ended, and what to do next."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalelens.cli.output import errors
from scalelens.cli.pasting import in_warehouse, pasted
from scalelens.parsing import lazy_re as re
from scalelens.report.text.sentences import few_of

if TYPE_CHECKING:
    from scalelens.ingestion.ingest import IngestReport
    from scalelens.parsing.part_facts import PartFacts
    from scalelens.runs.run import Run
    from scalelens.warehouse.live import Live
    from scalelens.warehouse.records import Entry

_STATUSES = {  # of files that are listed by name, with the words for each
    "partial": "in part", "unknown": "not understood", "document": "documents", "empty": "empty",
    "duplicate": "duplicates",
}  # fmt: skip
_UNKNOWN = "of unknown outcome"
_OUTCOMES = {
    "oom": "out of memory",
    "time_limit": "at the time limit",
    "error": "with an error",
    "unknown": _UNKNOWN,
}  # in words, where they are not its own
_DRAWN = {"power", "energy", "collective_benchmarks"}  # tables of which some chart draws any row
_RATED_SIZES = re.compile(r"columns: (?=[^;]*\b(?:devices|nodes)=)[^;]*\b(?:tokens|samples)_per_s=")  # a study
_FEWEST_RECORDS = 3  # of steps: the first two of a run are warm-up
_OF_COLLECTIVES = {"nccl_profiler", "nccl_inspector", "flight_recorder"}  # drawn where ranks wait for each other
_REASONS_SHOWN = 5  # of one status
_UNREADABLE_SHOWN = 4  # files and folders that cannot be read for one reason


def summarise(report: "IngestReport", warehouse: Path, dry_run: bool) -> None:
    """Prints the whole summary."""
    if not (report.entries or report.unreadable or report.unchanged):
        errors.print("the named paths contain no files")
    _print_formats(report.entries, dry_run)
    _print_columns(report.entries)
    _print_not_understood(report.entries)
    _print_unreadable(report.unreadable)
    for sentence in (*report.remarks, *report.faults):
        errors.print(sentence, markup=False)
    if report.unchanged:
        errors.print(f"{report.unchanged} files have not changed since they were read")
    for damage in report.damages:
        errors.print(f"{damage}: {pasted(['check'], warehouse)}", markup=False)
    if dry_run:
        errors.print("nothing was written (--dry-run)")
    else:
        _print_runs(warehouse)


def _print_formats(entries: Iterable["Entry"], dry_run: bool) -> None:
    """Files, rows and problems of each format, the one with most rows first.  After a dry run no table holds them."""
    from scalelens.ingestion.report_text import by_format

    tallies = by_format(entries)
    if not tallies:
        return
    see = "" if dry_run else in_warehouse('   scalelens sql "FROM problems"')
    width = max(len(name) for name, *_ in tallies) + 2
    errors.print(f"{'':{width}}{'files':>7}{'rows':>12}{'problems':>10}")
    for name, files, rows, problems in tallies:
        hint = see if problems else ""
        errors.print(f"{name:{width}}{files:>7}{rows:>12,}{problems:>10,}{hint}", markup=False, soft_wrap=True)


def _print_columns(entries: Iterable["Entry"]) -> None:
    """What the columns of tables are read as, once for all files with the same columns."""
    files_by_columns: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        if columns := _note_and_columns(entry)[1]:
            files_by_columns[columns].append(Path(entry.path).name)
    for columns, files in files_by_columns.items():
        errors.print(f"columns of {few_of(files, 1)}: {columns}", markup=False)


def _print_not_understood(entries: Iterable["Entry"]) -> None:
    """Files that were not read, or not in full, by status and reason."""
    by_status: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        note = _note_and_columns(entry)[0].rstrip("; ")
        if entry.status in _STATUSES and (note or entry.status != "partial"):
            by_status[entry.status][note].append(Path(entry.path).name)
    for status, words in _STATUSES.items():
        if reasons := by_status.get(status):
            count = sum(map(len, reasons.values()))
            files = [few_of(names, 2) + (f" ({note})" if note else "") for note, names in reasons.items()]
            more = f", and {len(files) - _REASONS_SHOWN} more reasons" if len(files) > _REASONS_SHOWN else ""
            errors.print(f"{words}  {count}   {', '.join(files[:_REASONS_SHOWN])}{more}", markup=False)


def _print_unreadable(unreadable: Iterable[str]) -> None:
    """Files and folders that cannot be read: some of each reason with their paths, then how many more there are."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for line in unreadable:
        by_reason[line.rpartition(": ")[2]].append(line)
    for reason, lines in by_reason.items():
        for line in lines[:_UNREADABLE_SHOWN]:
            errors.print(f"cannot be read: {line}", markup=False)
        if len(lines) > _UNREADABLE_SHOWN:
            errors.print(f"cannot be read: {len(lines) - _UNREADABLE_SHOWN:,} more ({reason})", markup=False)


def _note_and_columns(entry: "Entry") -> tuple[str, str]:
    """The note of an entry without the part on its columns, and that part."""
    from scalelens.ingestion.recognize import COLUMNS_NOTE

    note, _, columns = (entry.note or "").partition(COLUMNS_NOTE)
    return note, columns


def _may_be_drawn(live: "Live", runs: Sequence["Run"]) -> bool:
    """Whether `plot` finds a chart for what was read, as far as the commit records tell."""
    counts: Counter[str] = Counter()
    timed = 0
    for run in runs:
        for part in run.parts:
            counts.update(part.facts.rows)
        timed += any(part.facts.timed or "phases" in part.facts.rows for part in run.parts)
        if len({rank for part in run.parts for rank in part.facts.traced}) > 1:
            return True
    if not _DRAWN.isdisjoint(counts) or counts["steps"] >= _FEWEST_RECORDS or timed > 1:
        return True
    if len(runs) > 1 and any(_RATED_SIZES.search(entry.note or "") for entry in live.providers.values()):
        return True
    of_events = [
        entry for entry in live.providers.values() if any("events" in part.rows for part in entry.parts.values())
    ]
    return any(not _OF_COLLECTIVES.issuperset(entry.formats) for entry in of_events)


def _has_energy(facts: "PartFacts") -> bool:
    """Whether a part has an energy, or readings of power over a time that gives one."""
    return bool(facts.rows.get("energy")) or (facts.measured is not None and facts.measured[0] < facts.measured[1])


def _print_runs(warehouse: Path) -> None:
    """How many runs the warehouse holds, and how they ended."""
    from scalelens.runs.joining import runs_of
    from scalelens.warehouse.log import Warehouse

    live, _ = Warehouse(warehouse).read()
    runs = runs_of(live)
    if not runs:
        errors.print(f"no runs in {warehouse}")
        return
    has_steps = any(part.facts.steps for run in runs for part in run.parts)
    # A list of runs without steps has nothing but names; the report draws what there is.
    following = "scalelens query runs_overview" if has_steps else "scalelens report -o report.html"
    if _may_be_drawn(live, runs):
        following += ", scalelens plot -o figure.pdf"
    if not has_steps and any(_has_energy(part.facts) for run in runs for part in run.parts):
        following += ", scalelens query energy_reconciled"
    outcomes = Counter(_OUTCOMES.get(run.outcome[0], run.outcome[0].replace("_", " ")) for run in runs)
    ended = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    how = f" {_UNKNOWN}" if outcomes.keys() == {_UNKNOWN} else f" ({ended})"
    errors.print(
        f"{len(runs)} run{'s' if len(runs) > 1 else ''}{how} in {warehouse}      next: {in_warehouse(following)}",
        markup=False,
        soft_wrap=True,
    )
