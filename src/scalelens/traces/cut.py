"""What is cut out of the warehouse: the events of one rank of a run between two times."""

from typing import NamedTuple

import duckdb

from scalelens.errors import UserError


class Cut(NamedTuple):
    """What is cut out: a rank of a run, from one time to another."""

    run_id: str
    rank: int
    base_ns: int  # first event of the rank
    from_ns: int
    to_ns: int


class StoredEvent(NamedTuple):
    """A row of the table `events`, or a mark in the same shape."""

    ph: str
    name: str | None
    category: str | None
    start_ns: int
    duration_ns: int | None
    process: str | None
    thread: str | None
    stream: int | None
    correlation: int | None
    args: str | None


def cut_of(connection: duckdb.DuckDBPyConnection, rank: int, from_s: float | None, to_s: float | None, run: str) -> Cut:
    """The one run that has a trace of this rank, and the times since 1970 or the trace's own zero."""
    rows = connection.execute(
        "SELECT run_id, min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM events "
        "WHERE coalesce(rank, 0) = ? AND starts_with(run_id, ?) AND start_ns IS NOT NULL GROUP BY run_id ORDER BY ALL",
        [rank, run],
    ).fetchall()
    if not rows:
        raise UserError(f"the warehouse has no trace of rank {rank}", "see which there are: scalelens query rank_work")
    if len(rows) > 1:
        ids = ", ".join(row[0] for row in rows[:8])
        raise UserError(f"{len(rows)} runs have a trace of rank {rank}", f"name the run with --run: one of {ids}")
    ((run_id, first, last),) = rows
    start = first if from_s is None else first + round(from_s * 1e9)
    end = last + 1 if to_s is None else first + round(to_s * 1e9)
    if end <= start:
        raise UserError(
            "the cut ends before it begins", "give --from and --to in seconds since the trace's first event"
        )
    return Cut(run_id, rank, first, start, end)


def events_of(connection: duckdb.DuckDBPyConnection, cut: Cut) -> list[StoredEvent]:
    """Events that overlap the cut.  Raises UserError where there are none."""
    rows = connection.execute(
        f"SELECT {', '.join(StoredEvent._fields)} FROM events WHERE run_id = ? AND coalesce(rank, 0) = ? "
        "AND start_ns < ? AND start_ns + coalesce(duration_ns, 0) >= ? "
        "ORDER BY start_ns, duration_ns DESC, file_id, line",
        [cut.run_id, cut.rank, cut.to_ns, cut.from_ns],
    ).fetchall()
    if not rows:
        raise UserError("no event falls between these times", f"the trace is {_length_s(connection, cut):.6g} s long")
    return [StoredEvent(*row) for row in rows]


def _length_s(connection: duckdb.DuckDBPyConnection, cut: Cut) -> float:
    ((last_ns,),) = connection.execute(
        "SELECT max(start_ns + coalesce(duration_ns, 0)) FROM events WHERE run_id = ? AND coalesce(rank, 0) = ?",
        [cut.run_id, cut.rank],
    ).fetchall()
    return float(last_ns - cut.base_ns) / 1e9
