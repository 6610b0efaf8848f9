"""What the queries found of a rank within a cut, as events of a process of their own."""

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from scalelens.traces.cut import Cut, StoredEvent

PROCESS = "ScaleLens"


def waits(connection: duckdb.DuckDBPyConnection, cut: Cut) -> Iterator[StoredEvent]:
    """Marks where the rank waits at a collective for the last one, and where the others wait for it."""
    calls = connection.execute(
        f"""
        WITH arrivals AS (
            SELECT a.*, e.start_ns, arg_min(a.rank, (a.wait_ns, a.rank)) OVER same AS last_rank,
                min(a.wait_ns) FILTER (WHERE a.wait_ns > 0) OVER same AS margin_ns
            FROM collective_arrivals(runs := {_this_run(cut)}) AS a JOIN events AS e USING (file_id, line)
            WHERE ranks > 1 WINDOW same AS (PARTITION BY a.run_id, call))
        SELECT kind, process_group, call, start_ns, wait_ns, last_rank, margin_ns, note FROM arrivals
        WHERE rank = ? AND start_ns BETWEEN ? AND ? ORDER BY start_ns, call""",
        [cut.rank, cut.from_ns, cut.to_ns],
    ).fetchall()
    for kind, group, call, start, wait, last, margin, note in calls:
        args = {"collective": call, "process_group": group, "note": note}
        if wait > 0:
            name = f"waits for rank {last} ({kind})"
            yield _mark(name, start, wait, "waiting", args | {"wait_us": wait / 1000})
        elif margin:
            name = f"others wait for this rank ({kind})"
            args |= {"later_than_last_but_one_us": margin / 1000}
            yield _mark(name, start - margin, margin, "kept waiting", args)


def verdicts(connection: duckdb.DuckDBPyConnection, cut: Cut) -> Iterator[StoredEvent]:
    """Marks with the verdict of `outlier_gpus` on the rank, unless it is ordinary."""
    rows = connection.execute(
        f"SELECT verdict, cause, evidence, reason FROM outlier_gpus(runs := {_this_run(cut)}) "
        "WHERE rank = ? AND verdict <> 'ordinary'",
        [cut.rank],
    ).fetchall()
    for verdict, cause, evidence, reason in rows:
        name = f"{verdict}: {cause}" if cause else verdict
        yield _mark(name, max(cut.from_ns, cut.base_ns), None, "verdict", {"evidence": evidence, "reason": reason})


def _this_run(cut: Cut) -> str:
    """The parameter `runs` of a query as a string of SQL: a macro takes no `?`."""
    condition = f"run_id = '{cut.run_id}'".replace("'", "''")
    return f"'{condition}'"


def _mark(name: str, start_ns: int, duration_ns: int | None, lane: str, args: dict[str, Any]) -> StoredEvent:
    ph = "i" if duration_ns is None else "X"
    return StoredEvent(ph, name, "scalelens", start_ns, duration_ns, PROCESS, lane, None, None, json.dumps(args))
