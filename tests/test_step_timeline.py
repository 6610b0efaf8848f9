"""One step of a trace across its ranks: which step, on which clock, and what is put together.  Times in microseconds."""

import random
from collections.abc import Sequence

import polars as pl
import pytest

from little_warehouse import Row, Warehouse
from scalelens.charts import step_timeline
from scalelens.errors import UserError
from test_charts import marks, render
from test_collectives import fill, kernel


def gemm(rank: int, start: float, end: float, stream: int = 20, step: int | None = None) -> Row:
    return kernel(rank, start, end, name="gemm", stream=stream, train_step=step)


def covered(rows: Sequence[Row], slots: int, whole_ns: int) -> set[tuple[int, int, str, int]]:
    """Columns of a drawing in which something runs, by rank, stream and class."""
    return {
        (row["rank"], row["stream"], row["class"], slot)
        for row in rows
        for slot in range(row["begins_ns"] * slots // whole_ns, row["ends_ns"] * slots // whole_ns + 1)
    }


def test_no_column_of_the_drawing_changes(warehouse: Warehouse) -> None:
    rng = random.Random(1)
    events = []
    for rank in range(2):
        at = 0.0
        for _ in range(400):
            at += rng.expovariate(1 / 30)
            begin, at = at, at + rng.expovariate(1 / 10)
            events.append(rng.choice([gemm, kernel])(rank, begin, at))
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", events)
    rows = warehouse.ask("FROM step_timeline(step_slots := 200)")
    assert {row["clock"] for row in rows} == {"own"}, "collectives of unequal times tell no clock"
    zeros = {rank: min(event["start_ns"] for event in events if event["rank"] == rank) for rank in range(2)}
    singles = [
        {
            "rank": event["rank"], "stream": event["stream"],
            "class": "compute" if event["name"] == "gemm" else "communication",
            "begins_ns": event["start_ns"] - zeros[event["rank"]],
            "ends_ns": event["start_ns"] + event["duration_ns"] - zeros[event["rank"]],
        }
        for event in events
    ]  # fmt: skip
    whole_ns = max(row["ends_ns"] for row in singles)
    assert covered(rows, 200, whole_ns) == covered(singles, 200, whole_ns)
    assert len(rows) < len(events) / 2
    assert sum(row["n_events"] for row in rows) == len(events)
    assert sum(row["work_ns"] for row in rows) == sum(event["duration_ns"] for event in events)
    assert {row["begins_ns"] for row in rows} <= {row["begins_ns"] for row in singles}
    assert len(warehouse.ask("FROM step_timeline(step_slots := 1000000)")) > 790, (
        "far finer than the gaps: little is joined"
    )


def test_clocks_that_are_known_are_taken_off(warehouse: Warehouse) -> None:
    fill(warehouse, clocks=(0, 5000, -300))
    warehouse.insert("events", [gemm(1, 5001, 5005)])
    rows = warehouse.ask("FROM step_timeline()")
    assert {row["clock"] for row in rows} == {"common"}
    ends: dict[int, list[float]] = {}
    for row in rows:
        if row["class"] == "communication":
            ends.setdefault(row["rank"], []).append(row["ends_ns"] / 1000)
    assert ends[0] == ends[1] == ends[2] == [34, 124, 264, 344], "a collective ends at once; the first work is at 1 us"
    (compute,) = (row for row in rows if row["class"] == "compute")
    assert (compute["begins_ns"], compute["ends_ns"]) == (0, 4000)


def test_the_step_is_one_of_median_length_that_all_ranks_have(warehouse: Warehouse) -> None:
    lengths = {1: 90, 2: 10, 3: 50, 4: 30, 5: 20}
    both = [gemm(rank, 100 * step, 100 * step + lengths[step], step=step) for step in (1, 2, 3, 5) for rank in (0, 1)]
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [*both, gemm(0, 400, 430, step=4)])
    assert set(warehouse.column("SELECT train_step FROM step_timeline()")) == {3}, "1, 2 and 3 are whole on both ranks"
    assert set(warehouse.column("SELECT train_step FROM step_timeline(step_number := 2)")) == {2}
    assert warehouse.ask("FROM step_timeline(step_number := 9)") == []


def test_traces_without_steps_are_taken_whole(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [gemm(0, 10, 20), gemm(0, 70, 90)])
    rows = warehouse.ask("FROM step_timeline()")
    assert [(row["begins_ns"], row["ends_ns"], row["train_step"]) for row in rows] == [
        (0, 10_000, None), (60_000, 80_000, None),
    ]  # fmt: skip


def rows_of_lanes(ranks: int, streams: int) -> pl.DataFrame:
    return pl.DataFrame([
        {"run_id": "r", "file_id": f"f{rank}", "line": 1, "rank": rank, "process": "0", "stream": stream,
         "class": "compute", "train_step": 3, "begins_ns": 0, "ends_ns": 2_000_000, "work_ns": 100 + stream,
         "n_events": 5, "clock": "common", "name": "run"}
        for rank in range(ranks) for stream in range(streams)
    ])  # fmt: skip


def test_streams_with_little_work_give_way() -> None:
    drawn = step_timeline.draw(rows_of_lanes(32, 5), {})
    spec = render.specification(drawn, {})
    (bars,) = [mark for mark in marks(spec) if mark["mark"]["type"] == "bar"]
    streams = {row["stream"] for row in bars["data"]["values"]}
    assert streams == {2, 3, 4} and len(bars["data"]["values"]) == 96
    assert "Not drawn: 64 streams with 39 % of the work." in spec["description"]
    assert "Step 3: 32 ranks, 160 streams, 800 kernels, copies and fills." in spec["description"]


def test_what_one_timeline_cannot_show() -> None:
    with pytest.raises(UserError, match="97 ranks are more than one chart can show"):
        step_timeline.draw(rows_of_lanes(97, 1), {})
    with pytest.raises(UserError, match="that step contains no device activity to draw; see which steps"):
        step_timeline.draw(rows_of_lanes(1, 1).clear(), {})
    two = pl.concat([rows_of_lanes(1, 1), rows_of_lanes(1, 1).with_columns(run_id=pl.lit("s"))])
    with pytest.raises(UserError, match="a step of one run, not of 2"):
        step_timeline.draw(two, {})
