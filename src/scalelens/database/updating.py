"""Updates the state with new commits: only the runs that these can change are joined again.

The entries for that are read again from the records that hold them.  Everything is joined again if new commits may
change the runs of many files at once: a sidecar, an archive, a file that describes others, a fold of the log, or a
commit whose writer had not read all earlier ones.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import msgspec
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.database.entry_loader import EntryLoader
from scalelens.database.record_rows import live_batches, record_tables
from scalelens.database.record_state import (
    among,
    content_of,
    entry_records_of,
    is_shared,
    newest_order,
    number_of,
    tied_to,
    ties_table,
)
from scalelens.database.record_tables import LiveBatch, RecordTables, State, UpdateContext, in_order
from scalelens.runs.joining import Joined, join
from scalelens.runs.run import Run
from scalelens.warehouse.live import FORGOTTEN, Live, newness, order
from scalelens.warehouse.records import CommitRecord, Entry, order_of

MAX_TIED_SHARE = 0.3  # of all files: if more are tied to new ones, joining everything takes no longer

_Records = Mapping[str, CommitRecord]


def updated(state: State, new: _Records, names: Collection[str], read: Callable[[str], CommitRecord]) -> State | None:
    """The state after new records; None if everything must be joined again.

    `names` are those of all records, and `read` returns one of the earlier records.
    """
    entries = sorted((entry for record in new.values() for entry in record.entries), key=newness)
    if not _is_simple(state.context, new, entries, names):
        return None
    loader = EntryLoader(state, new, entries, read)
    changed = {content_of(entry) for entry in entries if entry.status != FORGOTTEN}
    begin = loader.contents_of({entry.path for entry in entries}) | set(map(number_of, changed))
    result = _join_with_ties(begin, state, loader)
    if result is None:
        return None
    tied, live, joined = result
    contents = {content for content in loader.contents if number_of(content) in tied} | changed
    batches = _updated_batches(state.tables.batches, new, loader.batch_before, live, contents)
    tables = _updated_tables(state.tables, live, joined.runs, contents)
    if batches is None or tables is None:
        return None
    return State(
        RecordTables(*tables, batches),
        msgspec.structs.replace(state.context, newest_order=newest_order(new), records=loader.records),
        _replaced(state.ties, ties_table(joined.ties), tied),
        _replaced(state.entry_records, entry_records_of(live, loader.record_of), tied),
    )


def _is_simple(context: UpdateContext, new: _Records, entries: list[Entry], names: Collection[str]) -> bool:
    """Whether new commits come after all earlier ones, and change nothing that many runs depend on."""
    shared = set(context.shared)
    return (
        all(order_of(name) > context.newest_order and not record.folds for name, record in new.items())
        and all(name in names for record in new.values() for name in record.builds_on)
        and all(order(entry) > context.newest_order and not is_shared(entry) for entry in entries)
        and shared.isdisjoint(text for entry in entries for text in (entry.path, entry.file_id))
    )


def _join_with_ties(begin: set[int], state: State, loader: EntryLoader) -> tuple[set[int], Live, Joined] | None:
    """Joins contents with all that are tied to them; None if these are too many.

    The ties of a content are only known after joining it, so this is repeated until nothing else is tied to them.
    """
    tied = begin
    while len(tied) <= MAX_TIED_SHARE * state.tables.tables["files"].num_rows:
        live = loader.load(tied)
        joined = join(live, state.context.described_folders)
        grown = tied_to(tied, pa.concat_tables([state.ties, ties_table(joined.ties)]))
        if len(grown) == len(tied):
            return tied, live, joined
        tied = grown
    return None


def _updated_batches(
    old: list[LiveBatch], new: _Records, batch_before: Mapping[str, str], live: Live, contents: set[str]
) -> list[LiveBatch] | None:
    """Batches with rows that count; None if a content has no rows, or those of a batch that was given up before."""
    if any(entry.status == "duplicate" and entry.file_id not in live.providers for entry in live.paths.values()):
        return None
    known = {batch.id: batch for batch in old}
    added = {batch.id: batch for record in new.values() for batch in record.batches}
    gone: dict[str, list[str]] = defaultdict(list)
    for content in contents:
        before, provider = batch_before.get(content), live.providers.get(content)
        if provider and provider.batch not in (before, *added):
            return None
        if before and not (provider and provider.batch == before):
            gone[before].append(content)
    for name, stale in gone.items():
        batch = known[name]
        left = sorted({*batch.contents}.difference(stale))
        known[name] = LiveBatch(name, batch.tables, batch.schema, sorted([*batch.stale, *stale]), left)
    of_added = {content: entry for content, entry in live.providers.items() if entry.batch in added}
    return [batch for batch in known.values() if batch.contents] + live_batches(Live({}, of_added, added, []))


def _updated_tables(
    old: RecordTables, live: Live, runs: list[Run], contents: set[str]
) -> tuple[dict[str, pa.Table], pa.Table] | None:
    """The tables and the labels, with the rows of some contents and of their runs replaced.

    None if an earlier run has a part that is not tied to its other parts, which must not happen.
    """
    new = record_tables(live, runs)
    members = old.tables["members"]
    run_ids = set(pc.filter(members, among(members, "file_id", contents))["run_id"].to_pylist())
    in_runs = set(pc.filter(members, among(members, "run_id", run_ids))["file_id"].to_pylist())
    if not in_runs <= contents | {entry.file_id for entry in live.paths.values()}:
        return None
    kept = {
        "members": _without(members, "run_id", run_ids),
        "files": _files_of(old.tables["files"], contents, others=True),
        "_run_basics": _without(old.tables["_run_basics"], "run_id", run_ids),
        "_path_params": _without(old.tables["_path_params"], "file_id", contents),
        "_sidecar_params": _without(old.tables["_sidecar_params"], "run_id", run_ids),
        "_copy_problems": _without(old.tables["_copy_problems"], "file_id", contents),
    }
    new.tables["files"] = _files_of(new.tables["files"], contents)  # without those that are only always needed
    tables = {name: in_order(name, pa.concat_tables([table, new.tables[name]])) for name, table in kept.items()}
    labels = pa.concat_tables([_without(old.label_values, "run_id", run_ids), new.label_values])
    return tables | {"_sidecar_problems": new.tables["_sidecar_problems"]}, labels


def _replaced(old: pa.Table, new: pa.Table, contents: set[int]) -> pa.Table:
    """A table by content, with the rows of some contents replaced by new ones."""
    return pa.concat_tables([_without(old, "content", contents), pc.filter(new, among(new, "content", contents))])


def _files_of(files: pa.Table, contents: Collection[str], others: bool = False) -> pa.Table:
    """The rows of `files` of some contents, or of all others."""
    texts = pc.coalesce(files["file_id"], files["path"])
    are_of_contents = pc.is_in(texts, value_set=pa.array(list(contents), pa.string()))
    return pc.filter(files, pc.invert(are_of_contents) if others else are_of_contents)


def _without(table: pa.Table, column: str, values: Collection[object]) -> pa.Table:
    """The rows of a table whose value is none of these."""
    return pc.filter(table, pc.invert(among(table, column, values)))
