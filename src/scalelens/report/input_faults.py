"""Whether the files that an answer rests on still hold the bytes that were read."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scalelens.parsing.archive_names import archives_of
from scalelens.parsing.archives import open_members
from scalelens.parsing.source import Source, open_source
from scalelens.question.inputs import name_of
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry


class _Fault(NamedTuple):
    """What is wrong with a file that an answer rests on."""

    sentence: str
    is_gone: bool  # nobody can say what its bytes are


def faults_of(root: Path, inputs: Mapping[str, str]) -> list[_Fault]:
    """Hashes the files again.  `inputs` are names by id, as `inputs_of` gives them."""
    live = Warehouse(root).live()
    paths: dict[str, list[Entry]] = defaultdict(list)
    for entry in live.paths.values():
        paths[entry.file_id].append(entry)
    faults = [_unknown(file_id, name, live) for file_id, name in inputs.items() if file_id not in paths]
    entries = [min(paths[file_id], key=_is_missing) for file_id in inputs if file_id in paths]
    return faults + [fault for entry, fault in _hashed_again(entries) if fault]


def _unknown(file_id: str, name: str, live: Live) -> _Fault:
    """What happened to a content that the warehouse does not hold."""
    others = [path for path, entry in live.paths.items() if name_of(entry, path) == name]
    if others:
        return _Fault(f"{name} has changed and was read again ({others[0]})", False)
    return _Fault(f"{name or file_id[:12]} is not in this warehouse", True)


def _is_missing(entry: Entry) -> bool:
    return not any(os.path.exists(path) for path in (entry.path, *archives_of(entry.path)))


def _hashed_again(entries: list[Entry]) -> Iterator[tuple[Entry, _Fault | None]]:
    """Each entry with what is wrong with its file.  An archive is unpacked once, whatever the number of its members."""
    members: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        archive = next(filter(os.path.isfile, archives_of(entry.path)), None)
        if archive and not os.path.exists(entry.path):
            members[archive][entry.path] = entry
            continue
        try:
            source = open_source(Path(entry.path))
        except (OSError, ValueError) as error:
            yield entry, _unreadable(entry, error)
        else:
            yield entry, _fault_of(entry, source)
    for archive, wanted in members.items():
        try:
            for source in open_members(Path(archive)):
                if source.path in wanted:
                    entry = wanted.pop(source.path)
                    yield entry, _fault_of(entry, source)
                else:
                    source.close()
        except (OSError, ValueError, EOFError) as error:
            yield from ((entry, _unreadable(entry, error)) for entry in wanted.values())
        else:
            yield from ((entry, _Fault(f"{entry.path} is gone from the archive", True)) for entry in wanted.values())


def _unreadable(entry: Entry, error: Exception) -> _Fault:
    if isinstance(error, FileNotFoundError):
        return _Fault(f"{entry.path} is gone", True)
    return _Fault(f"{entry.path} cannot be read ({getattr(error, 'strerror', None) or error})", True)


def _fault_of(entry: Entry, source: Source) -> _Fault | None:
    """What is wrong with the bytes of a source, which is closed."""
    try:
        more = source.size_bytes - entry.size_bytes
        source.size_bytes = min(source.size_bytes, entry.size_bytes)
        if source.digest() != entry.file_id:
            return _Fault(f"{entry.path} has changed since it was read", False)
        if more > 0:
            return _Fault(f"{entry.path} has grown by {more:,} bytes since it was read", False)
    except OSError as error:
        return _unreadable(entry, error)
    finally:
        source.close()
    return None
