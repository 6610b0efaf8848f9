"""Lines of a file that the warehouse has read, if it still holds the bytes that were read."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scalelens.errors import UserError
from scalelens.inert import visible
from scalelens.parsing.archive_names import archives_of
from scalelens.parsing.archives import open_members
from scalelens.parsing.secrets import masked
from scalelens.parsing.source import Source, open_source

if TYPE_CHECKING:
    from scalelens.warehouse.records import Entry

_MOST_SKIPPED = 2 << 30  # bytes of text before the first line
_LONGEST = 1 << 16  # bytes of a line that are kept
_MOST_DIGESTS = 1_000
_digests: dict[tuple[str, int, int, int], str] = {}


def lines_of(entry: "Entry", first: int, last: int) -> list[str]:
    """Lines of a file from one number to another, without secrets and control characters.

    Raises UserError where the file is gone, or has changed since it was read.
    """
    source = _opened(entry)
    try:
        source.size_bytes = min(source.size_bytes, entry.size_bytes)
        if not _holds(source, entry):
            raise UserError("the file has changed since it was read", "ingest it again")
        return [visible(masked(line.decode("utf-8", "replace"))) for line in _between(source, first, last)]
    except OSError as error:
        raise UserError(f"the file cannot be read ({error.strerror})", "ingest it again") from None
    finally:
        source.close()


def _opened(entry: "Entry") -> Source:
    archive = next(filter(os.path.isfile, archives_of(entry.path)), None)
    try:
        if archive and not os.path.exists(entry.path):
            for source in open_members(Path(archive)):
                if source.path == entry.path:
                    return source
                source.close()
        return open_source(entry.path)
    except (OSError, ValueError, EOFError):
        raise UserError(
            "the file that was read is gone or cannot be read", "its rows are still there: ask those"
        ) from None


def _holds(source: Source, entry: "Entry") -> bool:
    """Whether a source has the bytes that were read.  What was hashed once is not hashed again."""
    when = (source.path, source.size_bytes, source.modified_ns, source.changed_ns)
    if when not in _digests:
        if len(_digests) >= _MOST_DIGESTS:
            _digests.clear()
        _digests[when] = source.digest()
    return _digests[when] == entry.file_id


def _between(source: Source, first: int, last: int) -> list[bytes]:
    lines: list[bytes] = []
    number, rest, skipped = 1, b"", 0
    for block in source.utf8():
        skipped += len(block)
        if skipped > _MOST_SKIPPED:
            raise UserError("the line is too far into the file to be shown here", "open the file itself")
        count = block.count(b"\n")
        if number + count < first:  # none of its lines is wanted
            number, rest = number + count, block.rpartition(b"\n")[2][:_LONGEST]
            continue
        *complete, rest = (rest + block).split(b"\n")
        for line in complete:
            if first <= number <= last:
                lines.append(line.rstrip(b"\r"))
            number += 1
        rest = rest[:_LONGEST]
        if number > last:
            return lines
    if rest and first <= number <= last:
        lines.append(rest.rstrip(b"\r"))
    return lines
