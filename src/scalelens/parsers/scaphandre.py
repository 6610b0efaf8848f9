"""Scaphandre's reports in JSON: power of the machine, of its sockets and of their memory.

Tool: scaphandre json -f FILE
Versions: 0.1 to 1.0
Yields: power
Source: hubblo-org/scaphandre src/exporters/json.rs

Microwatts since the report before, at the time of `timestamp` (seconds since 1970); the power of a machine is that of
its platform where it has such a counter, else of its sockets and memory: it holds what is measured next to it (scope
`total`).  Reports are one array, one object in each line, or follow each other.  The powers of processes (`consumers`)
are shares of it, and not read.

Samples:
    {"host": {"consumption": 11233214.0, "timestamp": 1767323045.3}, "consumers": [], "sockets": [{"id": 0, "consumption": 8233214.0, "domains": [], "timestamp": 1767323045.3}]}
"""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import LONGEST_NAME, SCALES, Samples, Sensor, stamp_of
from scalelens.parsing.source import Source

VERSION = 1
IN_HEAD = (b'"consumption"',)

_REPORT = re.compile(rb'\s*(?:\[\s*)?\{\s*"host"\s*:\s*\{\s*"(?:consumption|timestamp)"\s*:\s*\d')
_MOST_BYTES = 256 << 20
_BETWEEN = re.compile(r"[\s,\[\]]*")


def recognise(head: bytes, name: str) -> bool:
    return _REPORT.match(head) is not None and b'"consumption"' in head


def read(source: Source, rows: Rows) -> str | None:
    if source.size_bytes > _MOST_BYTES:
        return "reports of Scaphandre of more than 256 MB, which are not read"
    samples = Samples(rows)
    for report, line in _reports(source.text().decode("utf-8-sig", "replace"), rows):
        host = report.get("host")
        stamp = _word(host.get("timestamp")) if isinstance(host, dict) else ""
        _sample(samples, Sensor(None, "host", "total"), host, stamp, line)
        for socket in _objects(report.get("sockets")):
            number = f"socket {_word(socket.get('id', 0))}"
            _sample(samples, Sensor(None, number, "cpu"), socket, stamp, line)
            for domain in _objects(socket.get("domains")):
                word = _word(domain.get("name", ""))
                sensor = Sensor(None, f"{number} {word}".strip(), scope_of_words(word) or "cpu_part")
                _sample(samples, sensor, domain, stamp, line)
    return None


def _reports(text: str, rows: Rows) -> Iterator[tuple[dict[str, Any], int]]:
    """Each report, with the line in which it begins."""
    decoder = json.JSONDecoder()
    at, line = 0, 1
    while True:
        start = match.end() if (match := _BETWEEN.match(text, at)) else at
        line += text.count("\n", at, start)
        if start >= len(text):
            return
        try:
            report, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            rows.problem(
                line, "the report is cut or damaged here: everything before is kept", text[start : start + 200]
            )
            return
        if isinstance(report, dict):
            yield report, line
        line += text.count("\n", start, end)
        at = end


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _word(value: Any) -> str:
    """A number or a text; "" for what is neither, and is not read again for each socket."""
    text = str(value) if isinstance(value, int | float | str) else ""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME + 1]  # which no sensor has


def _sample(samples: Samples, sensor: Sensor, report: Any, of_host: str, line: int) -> None:
    """The power of a part of the report, at its own time or that of the host."""
    power = report.get("consumption") if isinstance(report, dict) else None
    if not isinstance(power, int | float) or isinstance(power, bool):
        return
    said = _word(report["timestamp"]) if "timestamp" in report else of_host
    stamp = stamp_of(said)
    if stamp is None:
        samples.rows.problem(line, "the report has no time", said)
        return
    samples.power(line, sensor, str(power), stamp, SCALES["uw"])
