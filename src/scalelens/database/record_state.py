"""What is known of the records: the tables that follow from them, and what bringing these up to date needs."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import pyarrow as pa

from scalelens.database.record_tables import TABLES, RecordTables, record_tables
from scalelens.parsing.archive_names import archives_of, is_archive
from scalelens.runs.joining import described_folders_of, sorted_parts
from scalelens.runs.submissions import SYSTEM, described_results
from scalelens.runs.ties import ties_of
from scalelens.warehouse.live import Live, live_of, order
from scalelens.warehouse.records import CommitRecord, Entry, order_of

# Contents are numbers here, as there are many rows.  Two of one number are tied to each other, which costs time alone.
TIES = pa.schema([("content", pa.uint64()), ("tie", pa.uint32()), ("is_sought", pa.bool_())])
PLACES = pa.schema([("content", pa.uint64()), ("path", pa.string()), ("record", pa.int32()), ("has_rows", pa.bool_())])
ALL = {part_of for _, part_of in TABLES.values()}


class Known(msgspec.Struct):
    """What is known beside the tables."""

    order: int  # of the newest commit
    folders: dict[str, str]  # that files describe
    always: list[str]  # paths of sidecars and system files: each run may be theirs
    shared: list[str]  # paths and contents whose change may change many runs
    records: list[str]  # names of all, as `places` counts them


class State(msgspec.Struct):
    """Record tables, the ties between contents, and the records that hold the entries of each content."""

    tables: RecordTables
    known: Known
    ties: pa.Table
    places: pa.Table


def state_of(records: dict[str, CommitRecord]) -> State:
    """The state by the records themselves."""
    live = live_of(records)
    parts, _, _ = sorted_parts(live)
    entries, systems = live.paths.values(), described_results(live)
    shared = {entry.path for entry in entries if is_shared(entry)} | {*systems}
    known = Known(
        newest_order(records),
        described_folders_of(parts),
        sorted(entry.path for entry in entries if entry.sidecar or entry.file_id in systems),
        sorted(shared | {content for content, entry in live.providers.items() if describes(entry)}),
        [*records],
    )
    place_of = {id(entry): number for number, name in enumerate(records) for entry in records[name].entries}
    return State(record_tables(live, ALL), known, ties_in(live, known), places_in(live, place_of))


def newest_order(records: Mapping[str, CommitRecord]) -> int:
    entries = (entry for record in records.values() for entry in record.entries)
    return max((*map(order_of, records), *map(order, entries)), default=0)


def is_shared(entry: Entry) -> bool:
    """Whether an entry may change the runs of files that nothing else ties to it."""
    in_archive = is_archive(entry.path) or any(True for _ in archives_of(entry.path))
    return bool(entry.sidecar) or describes(entry) or in_archive or SYSTEM.fullmatch(entry.path) is not None


def describes(entry: Entry) -> bool:
    return any(facts.folders for facts in entry.parts.values())


def content_of(entry: Entry) -> str:
    """What a path holds; a file that could not be read has no hash, and is by itself."""
    return entry.file_id or entry.path


def number_of(content: str) -> int:
    return int.from_bytes(hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest())


def ties_in(live: Live, known: Known) -> pa.Table:
    """What each content offers and seeks."""
    parts, twins, _ = sorted_parts(live)
    contents: list[int] = []
    ties: list[int] = []
    sought: list[bool] = []
    for part in (*parts, *(twin for twin, _ in twins)):
        number = number_of(part.file_id)
        for is_sought, found in enumerate(ties_of(part, known.folders)):
            contents += [number] * len(found)
            ties += found
            sought += [bool(is_sought)] * len(found)
    return pa.table(
        [pa.array(contents, pa.uint64()), pa.array(ties, pa.uint32()), pa.array(sought, pa.bool_())], schema=TIES
    )


def places_in(live: Live, place_of: Mapping[int, int]) -> pa.Table:
    """The records that hold the entries of each content: those that count, and the one whose batch has its rows."""
    entries, rows = live.paths.values(), live.providers.items()
    columns = (
        [*(number_of(content_of(entry)) for entry in entries), *(number_of(content) for content, _ in rows)],
        [*(entry.path for entry in entries), *(entry.path for _, entry in rows)],
        [*(place_of[id(entry)] for entry in entries), *(place_of[id(entry)] for _, entry in rows)],
        [*[False] * len(entries), *[True] * len(rows)],
    )
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, PLACES, strict=True)], schema=PLACES
    )


def among(table: pa.Table, column: str, values: Iterable[object]) -> pa.Array:
    """For each row, whether its value is one of these."""
    import pyarrow.compute as pc  # slow to load, and most questions do without it

    kind = table.schema.field(column).type
    return pc.is_in(table[column], value_set=pa.array(list(values), kind))


def tied_to(contents: set[int], state: State, new_ties: pa.Table) -> set[int]:
    """Contents that are tied to these, directly or over others; `new_ties` are what these have from now on."""
    everything = pa.concat_tables([state.ties, new_ties])
    content, tie = everything["content"].to_numpy(), everything["tie"].to_numpy()
    is_sought = everything["is_sought"].to_numpy()
    reached = np.array(sorted(contents), np.uint64)
    while True:
        of_reached = np.isin(content, reached)
        offered, sought = np.unique(tie[of_reached & ~is_sought]), np.unique(tie[of_reached & is_sought])
        met = (is_sought & np.isin(tie, offered)) | (~is_sought & np.isin(tie, sought))
        grown = np.union1d(reached, content[met])
        if len(grown) == len(reached):
            return set(reached.tolist())
        reached = grown
