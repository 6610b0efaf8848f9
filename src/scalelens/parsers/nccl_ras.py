"""Status of a running job by NCCL's RAS: how many collectives each rank has launched, and which ranks do not answer.

Tool: ncclras -f json, of NCCL and of RCCL
Versions: NCCL 2.28.7 to 2.30, by the writer's source and by programs that read it; no real file was found
Yields: metrics, params
Source: NVIDIA/nccl, src/ras/client_support.cc

A status is of one moment, which has no zone: its text is the param `nccl_ras_time`.  A file may hold several, one after
the other: the number of the status is the `step` of its metrics.  Their names are `ras.COMMUNICATOR.NAME`, with both
hashes of the communicator, as the first alone is not unique: the rank within the communicator, the launches of each
collective, and what is not as it should be.  A missing rank is `missing`, and `unresponsive` or `considered_dead` if it is.

A line is the place of a rank in the file, over all communicators.  Which rank of the job it is, is not told.

NCCL 2.28.7 to 2.28.9 forget the comma before the status of a missing rank.

Samples:
    {"nccl_version": "2.29.1", "communicators_count": 1, "communicators": [{"hash": "0x1b2c", "size": 2, "ranks_count": 1, "missing_ranks_count": 1,
    "ranks": [{"rank": 0, "host": "10.0.0.1", "pid": 77, "cuda_dev": 0, "nvml_dev": 3, "status": {"init_state": 0}, "collective_counts": {"AllReduce": 12}}]}]}
"""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count, json_integer

VERSION = 1
IN_HEAD = (b'"nccl_version"',)

_WITHOUT_COMMA = re.compile(r'(\d)(\s*\n\s*"status"\s*:)')
_LETTER = re.compile(r"\S")
_OF_A_COMMUNICATOR = ("size", "ranks_count", "missing_ranks_count")
_WRONG_UNLESS_ZERO = ("init_state", "async_error", "abort_flag")  # of the status of a rank
_OF_A_MISSING_RANK = ("unresponsive", "considered_dead")
_LONGEST_HASH = 100  # letters: it stands in the name of each number of its ranks

_Dict = dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(
        key in head for key in (b'"nccl_version"', b'"communicators"')
    )


def read(source: Source, rows: Rows) -> str | None:
    text = source.text().decode("utf-8-sig", "replace")
    line = 0
    for number, said in enumerate(_statuses(text, rows), 1):
        for key, fact in (("nccl_version", "nccl_version"), ("timestamp", "nccl_ras_time")):
            value = said.get(key)
            rows.param(fact, value if isinstance(value, str) else None, line + 1, origin="nccl")
        for communicator in _dicts_of(said, "communicators"):
            line = _counts_of(communicator, rows, line, number)
    return None


def _statuses(text: str, rows: Rows) -> Iterator[_Dict]:
    """The documents of a file, one after the other, up to one that is cut."""
    decoder, place = json.JSONDecoder(), 0
    while (place := _next_letter(text, place)) < len(text):
        try:
            said, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            mended = _WITHOUT_COMMA.sub(r"\1,\2", text[place:])
            if mended == text[place:]:
                rows.problem(None, "the status is cut, or its JSON is damaged", text[place : place + 200])
                return
            text, place = mended, 0
        else:
            if isinstance(said, dict):
                yield said
            else:
                rows.problem(None, "a status is not a JSON object", str(said)[:200])


def _next_letter(text: str, place: int) -> int:
    """The first place from there on that is not blank; the end where all is."""
    found = _LETTER.search(text, place)
    return found.start() if found else len(text)


def _dicts_of(holder: _Dict, key: str) -> Iterator[_Dict]:
    found = holder.get(key)
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def _counts_of(communicator: _Dict, rows: Rows, line: int, status: int) -> int:
    """Metrics of one communicator; the line of its last rank, counted on from that of the last one before."""
    hashes = [value for key in ("hash", "secondary_hash") if isinstance(value := communicator.get(key), str)]
    if any(len(value) > _LONGEST_HASH for value in hashes):
        rows.problem(line + 1, f"the hash of a communicator has more than {_LONGEST_HASH} letters: it is not read")
        return line
    name = f"ras.{':'.join(hashes)}"
    for key in _OF_A_COMMUNICATOR:
        if (count := json_count(communicator.get(key))) is not None:
            rows.metric(line + 1, None, None, status, f"{name}.{key}", count)
    for rank, is_missing in (
        *((rank, False) for rank in _dicts_of(communicator, "ranks")),
        *((rank, True) for rank in _dicts_of(communicator, "missing_ranks")),
    ):
        line += 1
        for key, value in _numbers_of(rank, is_missing):
            rows.metric(line, None, _place_of(rank), status, f"{name}.{key}", value)
    return line


def _numbers_of(rank: _Dict, is_missing: bool) -> Iterator[tuple[str, int]]:
    """What is said of a rank, by name."""
    status, counts = (
        found if isinstance(found := rank.get(key), dict) else {} for key in ("status", "collective_counts")
    )
    if (number := json_count(rank.get("rank"), 32)) is not None:
        yield "rank", number
    if is_missing:
        yield "missing", 1
        yield from ((key, 1) for key in _OF_A_MISSING_RANK if {**rank, **status}.get(key) is True)
    for key in _WRONG_UNLESS_ZERO:
        value = status.get(key)
        if (code := int(value) if isinstance(value, bool) else json_integer(value)) is not None and code:
            yield key, code
    yield from ((str(key), count) for key, value in counts.items() if (count := json_count(value)) is not None)


def _place_of(rank: _Dict) -> str | None:
    """Host and GPU, as far as they are told."""
    host, device = rank.get("host"), json_count(rank.get("nvml_dev"))
    words = [host if isinstance(host, str) else "", "" if device is None else f"gpu {device}"]
    return " ".join(word for word in words if word) or None
