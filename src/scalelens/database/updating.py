"""Brings the state up to date with new commits: only the runs that these can change are understood anew.

The entries that they need are read again from the records that hold them.  Where new commits may change the runs of
many files at once, all is understood anew: a sidecar, an archive, a file that describes others, a fold of the log, and
a commit whose writer had not read what is known.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import msgspec
import pyarrow as pa

from scalelens.database.record_state import (
    ALL,
    Known,
    State,
    among,
    content_of,
    is_shared,
    newest_order,
    number_of,
    places_in,
    tied_to,
    ties_in,
)
from scalelens.database.record_tables import LiveBatch, RecordTables, in_order, live_batches, record_tables
from scalelens.warehouse.live import FORGOTTEN, Live, newness, order
from scalelens.warehouse.records import CommitRecord, Entry, order_of

MOST = 0.3  # of all files: where more of them are tied to new ones, all anew takes no longer

Records = Mapping[str, CommitRecord]


def updated(state: State, new: Records, names: Collection[str], read: Callable[[str], CommitRecord]) -> State | None:
    """The state after new records; None where all must be understood anew.

    `names` are those of all records, and `read` gives one that was known before.
    """
    entries = sorted((entry for record in new.values() for entry in record.entries), key=newness)
    if not is_simple(state.known, new, entries, names):
        return None
    source = Source(state, new, entries, read)
    held = {content_of(entry) for entry in entries if entry.status != FORGOTTEN}
    begin = source.contents_of({entry.path for entry in entries}) | set(map(number_of, held))
    tied = tied_to(begin, state, ties_in(source.gathered(begin), state.known))
    if len(tied) > MOST * state.tables.tables["files"].num_rows:
        return None
    live = source.gathered(tied)
    contents = {content for content in source.texts if number_of(content) in tied} | held
    batches = updated_batches(state.tables.batches, new, source.batch_before, live, contents)
    tables = updated_tables(state.tables, live, contents)
    if batches is None or tables is None:
        return None
    places = places_in(live, source.place_of)
    return State(
        RecordTables(*tables, batches),
        msgspec.structs.replace(state.known, order=newest_order(new), records=source.records),
        pa.concat_tables([without(state.ties, "content", tied), ties_in(live, state.known)]),
        pa.concat_tables([without(state.places, "content", tied), places.filter(among(places, "content", tied))]),
    )


def is_simple(known: Known, new: Records, entries: list[Entry], names: Collection[str]) -> bool:
    """Whether new commits come after all that is known, and change nothing that many runs depend on."""
    shared = set(known.shared)
    return (
        all(order_of(name) > known.order and not record.folds for name, record in new.items())
        and all(name in names for record in new.values() for name in record.builds_on)
        and all(order(entry) > known.order and not is_shared(entry) for entry in entries)
        and shared.isdisjoint(text for entry in entries for text in (entry.path, entry.file_id))
    )


class Source:
    """Where entries come from: the new records, and those that were known before."""

    def __init__(self, state: State, new: Records, entries: list[Entry], read: Callable[[str], CommitRecord]) -> None:
        self.known, self.places = state.known, state.places
        self.records = [*state.known.records, *new]
        self.read = functools.lru_cache(None)(read)  # an entry that was gathered twice stays the same
        self.newest = {entry.path: entry for entry in entries}
        self.new_rows = {entry.file_id: entry for entry in entries if entry.batch}  # by content
        first = len(state.known.records)
        self.place_of = {id(entry): k for k, name in enumerate(new, first) for entry in new[name].entries}
        self.batch_before: dict[str, str] = {}  # by content
        self.texts: set[str] = set()  # contents that were gathered

    def contents_of(self, paths: Collection[str]) -> set[int]:
        """Contents that the entries of some paths were about."""
        return set(self.places.filter(among(self.places, "path", paths))["content"].to_pylist())

    def gathered(self, contents: set[int]) -> Live:
        """What counts of some contents, and of what is always needed."""
        always = set(self.known.always)
        paths, providers = self.known_entries(contents | self.contents_of(always))
        self.batch_before |= {content: entry.batch for content, entry in providers.items()}
        self.texts |= {content_of(entry) for entry in paths.values()} | {*providers}
        newest = [entry for entry in (paths | self.newest).values() if entry.status != FORGOTTEN]
        asked = [entry for entry in newest if number_of(content_of(entry)) in contents]
        beside = [entry for entry in newest if entry.path in always]
        held = {entry.file_id for entry in asked} | {entry.file_id for entry in beside if not entry.sidecar}
        rows = {content: entry for content, entry in (providers | self.new_rows).items() if content in held}
        return Live({entry.path: entry for entry in (*beside, *asked)}, rows, {}, [])

    def known_entries(self, contents: set[int]) -> tuple[dict[str, Entry], dict[str, Entry]]:
        """Entries that counted before: by path, and by content those whose batch has its rows."""
        wanted: dict[int, set[tuple[int, str, bool]]] = defaultdict(set)
        for place in self.places.filter(among(self.places, "content", contents)).to_pylist():
            wanted[place["record"]].add((place["content"], place["path"], place["has_rows"]))
        paths: dict[str, Entry] = {}
        providers: dict[str, Entry] = {}
        for record, of_record in wanted.items():
            in_record = {path for _, path, _ in of_record}
            for entry in sorted(self.read(self.records[record]).entries, key=newness):
                if entry.path not in in_record:
                    continue
                self.place_of[id(entry)] = record
                number = number_of(content_of(entry))
                if (number, entry.path, False) in of_record:
                    paths[entry.path] = entry
                if (number, entry.path, True) in of_record and entry.batch:
                    providers[entry.file_id] = entry
        return paths, providers


def updated_batches(
    old: list[LiveBatch], new: Records, batch_before: Mapping[str, str], live: Live, contents: set[str]
) -> list[LiveBatch] | None:
    """Batches that hold rows which count; None where a content has no rows, or those of a batch given up before."""
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


def updated_tables(old: RecordTables, live: Live, contents: set[str]) -> tuple[dict[str, pa.Table], pa.Table] | None:
    """The tables and the labels, with the rows of some contents and of their runs replaced.

    None where a run has parts that are tied to no other of it, which must not be.
    """
    new = record_tables(live, ALL)
    members = old.tables["members"]
    runs = set(members.filter(among(members, "file_id", contents))["run_id"].to_pylist())
    in_runs = set(members.filter(among(members, "run_id", runs))["file_id"].to_pylist())
    if not in_runs <= contents | {entry.file_id for entry in live.paths.values()}:
        return None
    kept = {
        "members": without(members, "run_id", runs),
        "files": files_of(old.tables["files"], contents, others=True),
        "_run_basics": without(old.tables["_run_basics"], "run_id", runs),
        "_path_params": without(old.tables["_path_params"], "file_id", contents),
        "_sidecar_params": without(old.tables["_sidecar_params"], "run_id", runs),
    }
    new.tables["files"] = files_of(new.tables["files"], contents)  # and not what is always needed
    tables = {name: in_order(name, pa.concat_tables([table, new.tables[name]])) for name, table in kept.items()}
    labels = pa.concat_tables([without(old.label_values, "run_id", runs), new.label_values])
    return tables | {"_sidecar_problems": new.tables["_sidecar_problems"]}, labels


def files_of(files: pa.Table, contents: Collection[str], others: bool = False) -> pa.Table:
    """The rows of `files` of some contents, or of all others."""
    import pyarrow.compute as pc  # takes long to load, and only an update needs it

    texts = pc.coalesce(files["file_id"], files["path"])
    found = pc.is_in(texts, value_set=pa.array(list(contents), pa.string()))
    return files.filter(pc.invert(found) if others else found)


def without(table: pa.Table, column: str, values: Collection[object]) -> pa.Table:
    """The rows of a table whose value is none of these."""
    import pyarrow.compute as pc

    return table.filter(pc.invert(among(table, column, values)))
