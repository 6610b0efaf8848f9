"""Status of a running job by NCCL's RAS: how many collectives each rank has launched, and which ranks do not answer.

Tool: ncclras -f json, of NCCL and of RCCL
Versions: NCCL 2.28.7 to 2.30, by the writer's source and by programs that read it; no real file was found
Yields: metrics, params
Source: NVIDIA/nccl, src/ras/client_support.cc

A status is of one moment, which has no zone: its text is the param `nccl_ras_time`.  The names of metrics are
`ras.COMMUNICATOR.NAME`: the launches of each collective, of a rank that is missing whether it is unresponsive and
considered dead, and what is not as it should be.  Who has launched fewest is who the others wait for.

A line is the place of a rank in the document, over all communicators.  The rank is that within the communicator: it
stands in its column only where one communicator is larger than all others, which is that of all ranks.

NCCL 2.28.9 forgets the comma before the status of a missing rank.

Samples:
    {"nccl_version": "2.29.1", "communicators_count": 1, "communicators": [{"hash": "0x1b2c", "size": 2, "ranks_count": 1, "missing_ranks_count": 1,
    "ranks": [{"rank": 0, "host": "10.0.0.1", "pid": 77, "cuda_dev": 0, "nvml_dev": 3, "status": {"init_state": 0}, "collective_counts": {"AllReduce": 12}}]}]}
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count, json_whole

VERSION = 1

WITHOUT_COMMA = re.compile(r'(\d)(\s*\n\s*"status"\s*:)')
OF_A_COMMUNICATOR = ("size", "ranks_count", "missing_ranks_count")
WRONG_UNLESS_ZERO = ("init_state", "async_error", "abort_flag")  # of the status of a rank
OF_A_MISSING_RANK = ("unresponsive", "considered_dead")

Dict = dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(
        key in head for key in (b'"nccl_version"', b'"communicators"')
    )


def read(source: Source, rows: Rows) -> str | None:
    text = b"".join(source.utf8()).decode("utf-8-sig", "replace")
    try:
        said = status_of(text)
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the status is cut, or its JSON is damaged")
        return None
    for key, fact in (("nccl_version", "nccl_version"), ("timestamp", "nccl_ras_time")):
        rows.param(fact, value if isinstance(value := said.get(key), str) else None, 1, origin="nccl")
    communicators = list(dicts_of(said, "communicators"))
    sizes = Counter(json_count(one.get("size")) or 0 for one in communicators)
    largest = max(sizes, default=0)
    line = 0
    for one in communicators:
        is_of_all = sizes[largest] == 1 and one.get("size") == largest
        line = counts_of(one, rows, line, is_of_all)
    return None


def status_of(text: str) -> Dict:
    """The document.  Raises ValueError where it is none."""
    try:
        said = json.loads(text)
    except ValueError:
        said = json.loads(WITHOUT_COMMA.sub(r"\1,\2", text))
    if not isinstance(said, dict):
        raise ValueError("no object")
    return said


def dicts_of(holder: Dict, key: str) -> Iterator[Dict]:
    found = holder.get(key)
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def counts_of(communicator: Dict, rows: Rows, line: int, is_of_all: bool) -> int:
    """Metrics of one communicator; the line of its last rank, counted on from that of the last one before."""
    known = communicator.get("hash")
    name = f"ras.{known if isinstance(known, str) else None}"
    for key in OF_A_COMMUNICATOR:
        if (count := json_count(communicator.get(key))) is not None:
            rows.metric(line + 1, None, None, None, f"{name}.{key}", count)
    for rank, is_missing in (
        *((rank, False) for rank in dicts_of(communicator, "ranks")),
        *((rank, True) for rank in dicts_of(communicator, "missing_ranks")),
    ):
        line += 1
        number = json_count(rank.get("rank"), 32) if is_of_all else None
        for key, value in numbers_of(rank, is_missing):
            rows.metric(line, number, place_of(rank), None, f"{name}.{key}", value)
    return line


def numbers_of(rank: Dict, is_missing: bool) -> Iterator[tuple[str, int]]:
    """What is said of a rank, by name."""
    status, counts = (
        found if isinstance(found := rank.get(key), dict) else {} for key in ("status", "collective_counts")
    )
    if is_missing:
        yield from ((key, int({**rank, **status}.get(key) is True)) for key in OF_A_MISSING_RANK)
    for key in WRONG_UNLESS_ZERO:
        value = status.get(key)
        if (code := int(value) if isinstance(value, bool) else json_whole(value)) is not None and code:
            yield key, code
    yield from ((str(key), count) for key, value in counts.items() if (count := json_count(value)) is not None)


def place_of(rank: Dict) -> str | None:
    """Host and GPU, as far as they are told."""
    host, device = rank.get("host"), json_count(rank.get("nvml_dev"))
    words = [host if isinstance(host, str) else "", "" if device is None else f"gpu {device}"]
    return " ".join(word for word in words if word) or None
