"""What follows from the commit records: the record tables, and what is needed to update them after a commit."""

import hashlib
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.database.record_rows import record_tables
from scalelens.database.record_tables import State, UpdateContext
from scalelens.parsing.archive_names import LOGS_IN_JSON, archives_of, is_archive
from scalelens.runs.joining import join
from scalelens.runs.lookups import Tie
from scalelens.runs.submissions import SYSTEM, described_results
from scalelens.warehouse.live import Live, live_of, order
from scalelens.warehouse.records import CommitRecord, Entry, order_of

# Contents and keys are numbers because there are many rows.  If two have the same number, more is joined again than is
# needed.
_TIES = pa.schema(
    [("content", pa.uint64()), ("key", pa.uint32()), ("is_offered", pa.bool_()), ("is_sought", pa.bool_())]
)
# The record that holds each entry that counts, and the one whose batch has the rows of a content.
_ENTRY_RECORDS = pa.schema(
    [("content", pa.uint64()), ("path", pa.string()), ("record", pa.int32()), ("has_rows", pa.bool_())]
)


def state_of(records: dict[str, CommitRecord]) -> State:
    """The state that follows from all records."""
    live = live_of(records)
    joined = join(live)
    entries, systems = live.paths.values(), described_results(live)
    describing = {content for content, entry in live.providers.items() if _describes(entry)}
    shared = {entry.path for entry in entries if is_shared(entry) or entry.file_id in describing}
    context = UpdateContext(
        newest_order(records),
        dict(joined.described_folders),
        sorted(entry.path for entry in entries if entry.sidecar or entry.file_id in systems),
        sorted(shared | describing | {*systems}),
        [*records],
    )
    record_of = {id(entry): index for index, name in enumerate(records) for entry in records[name].entries}
    tables = record_tables(live, joined.runs)
    return State(tables, context, ties_table(joined.ties), entry_records_of(live, record_of))


def newest_order(records: Mapping[str, CommitRecord]) -> int:
    """The highest order of any commit."""
    entries = (entry for record in records.values() for entry in record.entries)
    return max((*map(order_of, records), *map(order, entries)), default=0)


def is_shared(entry: Entry) -> bool:
    """Whether an entry may change the runs of files that no tie connects to it."""
    holds = is_archive(entry.path) or LOGS_IN_JSON in entry.formats
    in_archive = holds or any(True for _ in archives_of(entry.path))
    return bool(entry.sidecar) or _describes(entry) or in_archive or SYSTEM.fullmatch(entry.path) is not None


def _describes(entry: Entry) -> bool:
    return any(facts.folders for facts in entry.parts.values())


def content_of(entry: Entry) -> str:
    """The content of a path; a file that could not be read has no hash, so its path stands for it."""
    return entry.file_id or entry.path


def number_of(content: str) -> int:
    """A number for a content."""
    return int.from_bytes(hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest())


def ties_table(ties: Iterable[Tie]) -> pa.Table:
    """Ties as a table of numbers."""
    numbers: dict[str, int] = {}
    contents: list[int] = []
    keys: list[int] = []
    offered: list[bool] = []
    sought: list[bool] = []
    for file_id, key, is_offered, is_sought in ties:
        if (number := numbers.get(file_id)) is None:
            number = numbers[file_id] = number_of(file_id)
        contents.append(number)
        keys.append(zlib.crc32(key.encode(errors="surrogatepass")))
        offered.append(is_offered)
        sought.append(is_sought)
    return _table([contents, keys, offered, sought], _TIES)


def entry_records_of(live: Live, record_of: Mapping[int, int]) -> pa.Table:
    """The indexes of the records that hold the entries of each content, from the record of each entry by its id()."""
    entries, rows = live.paths.values(), live.providers.items()
    columns = [
        [*(number_of(content_of(entry)) for entry in entries), *(number_of(content) for content, _ in rows)],
        [*(entry.path for entry in entries), *(entry.path for _, entry in rows)],
        [*(record_of[id(entry)] for entry in entries), *(record_of[id(entry)] for _, entry in rows)],
        [*[False] * len(entries), *[True] * len(rows)],
    ]
    return _table(columns, _ENTRY_RECORDS)


def _table(columns: list[Any], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def among(table: pa.Table, column: str, values: Iterable[object]) -> pa.Array:
    """For each row, whether its value is one of these."""
    kind = table.schema.field(column).type
    return pc.is_in(table[column], value_set=pa.array(list(values), kind))


def tied_to(contents: Collection[int], ties: pa.Table) -> set[int]:
    """Contents that are tied to these, directly or through others, and these themselves."""
    content, key, is_offered, is_sought = (ties[name].to_numpy() for name in _TIES.names)
    reached = np.array(sorted(contents), np.uint64)
    while True:
        of_reached = np.isin(content, reached)
        offered, sought = np.unique(key[of_reached & is_offered]), np.unique(key[of_reached & is_sought])
        met = (is_sought & np.isin(key, offered)) | (is_offered & np.isin(key, sought))
        grown = np.union1d(reached, content[met])
        if len(grown) == len(reached):
            return set(reached.tolist())
        reached = grown
