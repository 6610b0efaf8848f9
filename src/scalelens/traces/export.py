"""A cut of one rank's trace as Chrome's trace event JSON, with what the queries found marked on it.

Perfetto (ui.perfetto.dev), chrome://tracing and ScaleLens open it.  Events that overlap the cut are written whole, with
their arguments unchanged.  Arrows join launches and the work they launched again.  The marks form a process of their
own, `ScaleLens`: where the rank waits for the last one at a collective and for whom, where the others wait for it, and
the verdict of `outlier_gpus`.
"""

import gzip
from pathlib import Path

import msgspec

from scalelens.errors import UserError
from scalelens.question.session import Session
from scalelens.traces.chrome_events import ChromeEvent, Lanes, arrows, chrome_event
from scalelens.traces.cut import Cut, cut_of, events_of
from scalelens.traces.marks import verdicts, waits


def export(
    root: Path, path: Path, rank: int, from_s: float | None = None, to_s: float | None = None, run: str = ""
) -> tuple[int, int]:
    """Writes the events of a rank between two times, in seconds since the rank's first event.

    Returns how many events and how many marks were written.  Raises UserError where there is no such trace or event.
    """
    connection = Session(root).connection
    cut = cut_of(connection, rank, from_s, to_s, run)
    events = events_of(connection, cut)
    marks = [*waits(connection, cut), *verdicts(connection, cut)]
    lanes = Lanes()
    written = [
        *(chrome_event(event, lanes, cut.base_ns) for event in events),
        *arrows(events, lanes, cut.base_ns),
        *(chrome_event(mark, lanes, cut.base_ns) for mark in marks),
    ]
    text = _document(cut, [*lanes.names(), *written], len(marks))
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    except OSError as error:
        raise UserError(f"cannot write {path} ({error.strerror})", "name another file with -o") from None
    return len(events), len(marks)


def _document(cut: Cut, events: list[ChromeEvent], marks: int) -> bytes:
    """The file, with one event a line."""
    encoder = msgspec.json.Encoder()
    lines = b",\n".join(encoder.encode(event) for event in events)
    content = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "distributedInfo": {"rank": cut.rank},
        "baseTimeNanoseconds": cut.base_ns,
        "scalelens": {"run_id": cut.run_id, "marks": marks},
        "traceEvents": msgspec.Raw(b"[\n" + lines + b"\n]"),
    }
    return encoder.encode(content) + b"\n"
