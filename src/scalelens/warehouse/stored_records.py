"""Commit records as they are stored in the log: their bytes, their content, and what is wrong with them."""

import contextlib
import errno
from pathlib import Path
from typing import NamedTuple

import msgspec

from scalelens.errors import UserError
from scalelens.tables import OLDEST_SCHEMA, SCHEMA_VERSION
from scalelens.warehouse.files import LocalFiles
from scalelens.warehouse.live import missing_records
from scalelens.warehouse.records import CommitRecord, RecordHeader, fits_name

_PASSING = (errno.EIO, errno.ESTALE)  # a disk or a server fails for one record, not for the whole warehouse


class Damage(NamedTuple):
    """A record that cannot be used."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"commit record {self.name} {self.what}"


Texts = dict[str, bytes | Damage]  # by name of the record


def names_in(files: LocalFiles, log: Path) -> list[str]:
    """Names of the records in a log."""
    return sorted(name for name in files.names(log) if name.endswith(".json"))


def texts_in(files: LocalFiles, log: Path) -> Texts:
    """The bytes of each record, or what is wrong with it."""
    while True:
        names = names_in(files, log)
        files.fetch(log, names)
        with contextlib.suppress(FileNotFoundError):  # another process folded the log meanwhile: list it again
            return {name: text_of(log, name) for name in names}


def text_of(log: Path, name: str) -> bytes | Damage:
    try:
        text = (log / name).read_bytes()
    except OSError as error:
        if error.errno in _PASSING:
            return Damage(name, f"cannot be read ({error.strerror})")
        raise
    return text if fits_name(name, text) else Damage(name, "is damaged (its bytes are not those that were written)")


def records_and_damages(root: Path, texts: Texts) -> tuple[dict[str, CommitRecord], list[Damage]]:
    """The records that can be used, and what is wrong with those that are damaged or gone.

    Raises UserError if a record has a schema that cannot be read.
    """
    records: dict[str, CommitRecord] = {}
    damages: list[Damage] = []
    for name, text in texts.items():
        record = text if isinstance(text, Damage) else decoded(root, name, text)
        if isinstance(record, Damage):
            damages.append(record)
        else:
            records[name] = record
    folded = {name for record in records.values() for name in record.folds}
    damages = [damage for damage in damages if damage.name not in folded]
    gone = [name for name in missing_records(records) if name not in texts]
    return records, damages + [Damage(name, "is gone") for name in gone]


def decoded(root: Path, name: str, text: bytes) -> CommitRecord | Damage:
    """A record from its bytes.  Raises UserError for a schema that cannot be read."""
    try:
        schema = msgspec.json.decode(text, type=RecordHeader).schema
        if schema > SCHEMA_VERSION:
            raise UserError(
                f"{root} was written by a newer ScaleLens (schema {schema}, this one knows {SCHEMA_VERSION})",
                "upgrade with: pip install --upgrade scalelens",
            )
        if schema < OLDEST_SCHEMA:
            raise UserError(
                f"{root} was written by an older ScaleLens, whose tables lack columns",
                f"make a new warehouse: scalelens ingest logs/ -w {root}-2",
            )
        return msgspec.json.decode(text, type=CommitRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Damage(name, f"is damaged ({error})")
