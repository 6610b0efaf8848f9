"""Commit records: what they contain, and how they are stored.

The name of a record contains its order and a digest of its bytes, so an altered record no longer fits its name.  A
record also names those that it builds on, so that a missing record is noticed.
"""

import hashlib
import re

import msgspec

from scalelens.parsing.part_facts import Int32, Int64, PartFacts
from scalelens.tables import OLDEST_SCHEMA

_NAME = re.compile(r"(\d{20})-([0-9a-f]{32})\.json")  # records of older versions have eight random digits instead


class Entry(msgspec.Struct, omit_defaults=True):
    """What a record says about one path: which content it had, and which batch has the rows of that content."""

    path: str
    root: str = ""
    file_id: str = ""
    batch: str = ""  # empty if the content was read before under another path
    size_bytes: Int64 = 0
    modified_ns: Int64 = 0
    changed_ns: Int64 = 0  # ctime of the file; 0 where it is not known
    read_by: str = ""  # version of ScaleLens that read it
    committed_ns: Int64 = 0  # by the writer's clock, only for display; `order` decides what is newer
    order: int = 0  # of its commit; 0 in records of older versions, in which the clock decides
    rewrites: int = 0  # how often `compact` gave its rows another batch
    status: str = "ok"  # ok partial unknown empty document duplicate; `forgotten` removes the path
    formats: list[str] = []
    parser_version: str = ""
    rows: Int64 = 0
    problems: Int64 = 0
    note: str | None = None
    parts: dict[Int32, PartFacts] = {}
    rows_by_format: dict[str, int] = msgspec.field(default_factory=dict, name="rows_of")
    problems_by_format: dict[str, int] = msgspec.field(default_factory=dict, name="problems_of")
    sidecar: str = ""  # text of a scalelens.toml, which is applied when the warehouse is opened


class Segment(msgspec.Struct):
    """Size and hash of the bytes of a segment."""

    size_bytes: int
    sha256: str


class Batch(msgspec.Struct):
    """Segments that were written together, and the contents that have rows in them."""

    id: str
    tables: dict[str, int]  # number of rows by table
    file_ids: list[str]
    schema: int = OLDEST_SCHEMA  # of its segments; records of the oldest schema do not name it
    segments: dict[str, Segment] = {}  # by table; older versions did not write it
    is_compact: bool = False  # whether `compact` wrote it, in the order of runs


class CommitRecord(msgspec.Struct):
    """One commit, as it is stored."""

    schema: int
    written_by: str
    batches: list[Batch] = []
    entries: list[Entry] = []
    folds: list[str] = []  # names of the records that this one replaces
    builds_on: list[str] = []  # the newest records that its writer had read


class RecordHeader(msgspec.Struct):
    """The fields that a commit record has in every schema."""

    schema: int


def record_name(order: int, content: bytes) -> str:
    """The name under which a record is stored."""
    return f"{order:020d}-{digest(content)}.json"


def order_of(name: str) -> int:
    """The order of a record, from its name.  Older versions wrote the time there."""
    number = name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def has_digest(name: str) -> bool:
    """Whether a record can be checked; those of older versions cannot."""
    return _NAME.fullmatch(name) is not None


def fits_name(name: str, content: bytes) -> bool:
    """Whether the bytes of a record are those that were written."""
    match = _NAME.fullmatch(name)
    return match is None or match[2] == digest(content)


def segment(table: str, batch: str) -> str:
    """File name of a batch's segment of `table`."""
    return f"{table}-{batch}.parquet"


def digest(content: bytes | memoryview) -> str:
    """Hash of some bytes, short enough for a name."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
