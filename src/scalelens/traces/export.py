"""A cut of one rank's trace as Chrome's trace event JSON, with what was found marked on it.

Perfetto (ui.perfetto.dev), chrome://tracing and ScaleLens open it.  Events that overlap the cut are whole; arguments
are as they were.  Launches and the work they launched are joined by arrows again.  Marks are a process of their own,
`ScaleLens`: where the rank waits for the last at a collective and for whom, where the others wait for it, and the
verdict of `outlier_gpus`.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from scalelens.database.connect import connect
from scalelens.errors import UserError

MARKS = "ScaleLens"
COLUMNS = (
    "ph", "name", "category", "start_ns", "duration_ns", "process", "thread", "stream", "correlation", "args",
)  # fmt: skip


class Cut(NamedTuple):
    """What is cut out: a rank of a run, from one time to another."""

    run_id: str
    rank: int
    base_ns: int  # first event of the rank
    from_ns: int
    to_ns: int


def export(
    root: Path, path: Path, rank: int, from_s: float | None = None, to_s: float | None = None, run: str = ""
) -> tuple[int, int]:
    """Writes the events of a rank between two times, in seconds since the rank's first event.

    Returns how many events and how many marks were written.  Raises UserError where there is no such trace or event.
    """
    connection = connect(root)
    cut = cut_of(connection, rank, from_s, to_s, run)
    cursor = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM events WHERE run_id = ? AND coalesce(rank, 0) = ? AND start_ns < ? "
        "AND start_ns + coalesce(duration_ns, 0) >= ? ORDER BY start_ns, duration_ns DESC, file_id, line",
        [cut.run_id, rank, cut.to_ns, cut.from_ns],
    )
    events = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    if not events:
        raise UserError("no event lies between these times", f"the trace is {_seconds(connection, cut)} s long")
    found = list(marks(connection, cut))
    lanes = Lanes()
    written = [
        *(chrome_event(event, lanes, cut.base_ns) for event in events),
        *arrows(events, lanes, cut.base_ns),
        *(chrome_event(mark, lanes, cut.base_ns) for mark in found),
    ]
    document = ",\n".join([*lanes.names(), *written])
    head = {
        "schemaVersion": 1, "displayTimeUnit": "ms", "distributedInfo": {"rank": rank},
        "baseTimeNanoseconds": cut.base_ns, "scalelens": {"run_id": cut.run_id, "marks": len(found)},
    }  # fmt: skip
    text = f'{json.dumps(head)[:-1]}, "traceEvents": [\n{document}\n]}}\n'.encode()
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror})", "name another file with -o") from None
    return len(events), len(found)


def cut_of(connection: duckdb.DuckDBPyConnection, rank: int, from_s: float | None, to_s: float | None, run: str) -> Cut:
    """The one run that has a trace of this rank, and the times since 1970 or the trace's own zero."""
    rows = connection.execute(
        "SELECT run_id, min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM events "
        "WHERE coalesce(rank, 0) = ? AND starts_with(run_id, ?) AND start_ns IS NOT NULL GROUP BY run_id ORDER BY ALL",
        [rank, run],
    ).fetchall()
    if not rows:
        raise UserError(
            f"no trace of rank {rank} is in the warehouse", 'see which there are: scalelens sql "FROM rank_work()"'
        )
    if len(rows) > 1:
        ids = ", ".join(row[0] for row in rows[:8])
        raise UserError(f"{len(rows)} runs have a trace of rank {rank}", f"name one with --run, of {ids}")
    run_id, first, last = rows[0]
    start = first if from_s is None else first + round(from_s * 1e9)
    end = last + 1 if to_s is None else first + round(to_s * 1e9)
    if end <= start:
        raise UserError(
            "the cut ends before it begins", "give --from and --to in seconds since the trace's first event"
        )
    return Cut(run_id, rank, first, start, end)


def _seconds(connection: duckdb.DuckDBPyConnection, cut: Cut) -> str:
    last = connection.execute(
        "SELECT max(start_ns + coalesce(duration_ns, 0)) FROM events WHERE run_id = ? AND coalesce(rank, 0) = ?",
        [cut.run_id, cut.rank],
    ).fetchall()[0][0]
    return f"{(last - cut.base_ns) / 1e9:.6g}"


def marks(connection: duckdb.DuckDBPyConnection, cut: Cut) -> Iterator[dict[str, Any]]:
    """What the queries found of this rank within the cut, as events of a process of their own."""
    chosen = f"run_id = '{cut.run_id}'".replace("'", "''")
    calls = connection.execute(
        f"""
        WITH arrivals AS (
            SELECT a.*, e.start_ns, arg_min(a.rank, (a.wait_ns, a.rank)) OVER same AS last_rank,
                min(a.wait_ns) FILTER (WHERE a.wait_ns > 0) OVER same AS margin_ns
            FROM collective_arrivals(runs := '{chosen}') AS a JOIN events AS e USING (file_id, line)
            WHERE ranks > 1 WINDOW same AS (PARTITION BY a.run_id, call))
        SELECT kind, process_group, call, start_ns, wait_ns, last_rank, margin_ns, note FROM arrivals
        WHERE rank = ? AND start_ns BETWEEN ? AND ? ORDER BY start_ns, call""",
        [cut.rank, cut.from_ns, cut.to_ns],
    ).fetchall()
    for kind, group, call, start, wait, last, margin, note in calls:
        said = {"collective": call, "process_group": group, "note": note}
        if wait > 0:
            yield mark(f"waits for rank {last} ({kind})", start, wait, "waiting", said | {"wait_us": wait / 1000})
        elif margin:
            name = f"others wait for this rank ({kind})"
            yield mark(
                name, start - margin, margin, "kept waiting", said | {"later_than_last_but_one_us": margin / 1000}
            )
    verdicts = connection.execute(
        f"SELECT verdict, cause, evidence, reason FROM outlier_gpus(runs := '{chosen}') "
        "WHERE rank = ? AND verdict <> 'ordinary'",
        [cut.rank],
    ).fetchall()
    for verdict, cause, evidence, reason in verdicts:
        said = {"evidence": evidence, "reason": reason}
        yield mark(f"{verdict}: {cause}" if cause else verdict, max(cut.from_ns, cut.base_ns), None, "verdict", said)


def mark(name: str, start: int, duration: int | None, lane: str, said: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "i" if duration is None else "X", "name": name, "category": "scalelens", "start_ns": start,
        "duration_ns": duration, "process": MARKS, "thread": lane, "args": json.dumps(said),
    }  # fmt: skip


class Lanes:
    """Numbers of processes and threads: viewers want numbers where traces may have names."""

    def __init__(self) -> None:
        self.processes: dict[str, int] = {}
        self.threads: dict[tuple[str, str], int] = {}

    def of(self, process: str | None, thread: str | None) -> tuple[int, int]:
        process, thread = process or "", thread or ""
        return (
            number(process, self.processes, process, 1 << 24),
            number(thread, self.threads, (process, thread), 1 << 25),
        )

    def names(self) -> Iterator[str]:
        """Metadata events with the names of those that had no number."""
        for process, pid in self.processes.items():
            yield json.dumps({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}})
            if process == MARKS:
                first = {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": -1}}
                yield json.dumps(first)
        for (process, thread), tid in self.threads.items():
            pid = self.of(process, thread)[0]
            yield json.dumps({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}})


def number(text: str, known: dict[Any, int], key: Any, first: int) -> int:
    """The number that a text is, else one of its own."""
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return int(text)
    return known.setdefault(key, first + len(known))


def chrome_event(event: dict[str, Any], lanes: Lanes, base: int) -> str:
    """An event as Chrome has it; its arguments as the text they were."""
    pid, tid = lanes.of(event["process"], event["thread"])
    fields = {"ph": event["ph"], "name": event["name"], "cat": event["category"], "pid": pid, "tid": tid}
    text = json.dumps({key: value for key, value in fields.items() if value is not None})[:-1]
    text += f', "ts": {microseconds(event["start_ns"] - base)}'
    if event["ph"] == "X":
        text += f', "dur": {microseconds(event["duration_ns"] or 0)}'
    if event["ph"] == "i":
        text += ', "s": "t"'
    if is_object(event["args"]):
        text += f', "args": {event["args"]}'
    return text + "}"


def is_object(text: str | None) -> bool:
    """Whether arguments are JSON: those of a damaged trace may not be."""
    try:
        return text is not None and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def microseconds(nanoseconds: int) -> str:
    """Exact, as decimal text."""
    sign, nanoseconds = "-" if nanoseconds < 0 else "", abs(nanoseconds)
    return f"{sign}{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def arrows(events: Iterable[dict[str, Any]], lanes: Lanes, base: int) -> Iterator[str]:
    """Flow events from each launch to the work it launched."""
    launches: dict[int, dict[str, Any]] = {}
    work: list[dict[str, Any]] = []
    for event in events:
        if event["ph"] == "X" and event["correlation"] is not None and event["correlation"] > 0:
            if event["stream"] is not None and event["stream"] >= 0:
                work.append(event)
            else:
                launches.setdefault(event["correlation"], event)
    for event in work:
        if launch := launches.get(event["correlation"]):
            for ph, end in (("s", launch), ("f", event)):
                pid, tid = lanes.of(end["process"], end["thread"])
                flow = {"ph": ph, "name": "ac2g", "cat": "ac2g", "id": event["correlation"], "pid": pid, "tid": tid}
                bound = ', "bp": "e"' if ph == "f" else ""
                yield f'{json.dumps(flow)[:-1]}, "ts": {microseconds(end["start_ns"] - base)}{bound}}}'
