"""Loads the entries of some contents when a warehouse is updated, from the new records and from earlier ones."""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from scalelens import arrow_compute as pc
from scalelens.database.record_state import among, content_of, number_of
from scalelens.database.record_tables import State
from scalelens.warehouse.live import FORGOTTEN, Live, newness
from scalelens.warehouse.records import CommitRecord, Entry


class EntryLoader:
    """Loads entries; `entries` are those of the new records, and `read` returns an earlier record."""

    def __init__(
        self, state: State, new: Mapping[str, CommitRecord], entries: list[Entry], read: Callable[[str], CommitRecord]
    ) -> None:
        self.context, self.entry_records = state.context, state.entry_records
        self.records = [*state.context.records, *new]
        self.read = functools.lru_cache(None)(read)  # an entry that is loaded twice stays the same object
        self.newest = {entry.path: entry for entry in entries}
        self.new_rows = {entry.file_id: entry for entry in entries if entry.batch}  # by content
        first = len(state.context.records)
        self.record_of = {id(entry): k for k, name in enumerate(new, first) for entry in new[name].entries}
        self.batch_before: dict[str, str] = {}  # by content
        self.contents: set[str] = set()  # that were loaded

    def contents_of(self, paths: Collection[str]) -> set[int]:
        """Contents that some paths had before."""
        return set(pc.filter(self.entry_records, among(self.entry_records, "path", paths))["content"].to_pylist())

    def load(self, contents: set[int]) -> Live:
        """What counts of some contents, and of the files that are always needed."""
        needed = set(self.context.needed)
        paths, providers = self._known_entries(contents | self.contents_of(needed))
        self.batch_before |= {content: entry.batch for content, entry in providers.items()}
        self.contents |= {content_of(entry) for entry in paths.values()} | {*providers}
        newest = [entry for entry in (paths | self.newest).values() if entry.status != FORGOTTEN]
        of_contents = [entry for entry in newest if number_of(content_of(entry)) in contents]
        always = [entry for entry in newest if entry.path in needed]
        loaded = {entry.file_id for entry in of_contents} | {entry.file_id for entry in always if not entry.sidecar}
        rows = {content: entry for content, entry in (providers | self.new_rows).items() if content in loaded}
        return Live({entry.path: entry for entry in (*always, *of_contents)}, rows, {}, [])

    def _known_entries(self, contents: set[int]) -> tuple[dict[str, Entry], dict[str, Entry]]:
        """Entries that counted before: by path, and by content those whose batch has its rows."""
        wanted: dict[int, set[tuple[int, str, bool]]] = defaultdict(set)
        for row in pc.filter(self.entry_records, among(self.entry_records, "content", contents)).to_pylist():
            wanted[row["record"]].add((row["content"], row["path"], row["has_rows"]))
        paths: dict[str, Entry] = {}
        providers: dict[str, Entry] = {}
        for record, of_record in wanted.items():
            in_record = {path for _, path, _ in of_record}
            for entry in sorted(self.read(self.records[record]).entries, key=newness):
                if entry.path not in in_record:
                    continue
                self.record_of[id(entry)] = record
                number = number_of(content_of(entry))
                if (number, entry.path, False) in of_record:
                    paths[entry.path] = entry
                if (number, entry.path, True) in of_record and entry.batch:
                    providers[entry.file_id] = entry
        return paths, providers
