"""Where the time of a job went: worked examples of each part, and that the parts add up."""

from datetime import datetime, timedelta
from math import log

import numpy as np
import pytest

from generated_jobs import CAUSES, GeneratedJob
from little_warehouse import Warehouse
from scalelens.queries.load import load

START = datetime(2026, 11, 20)


def stamped(
    warehouse: Warehouse, times: list[float], *, run: str = "r", delay_s: float = 0.0, attempt: int = 0
) -> None:
    """Step records of a run with the time of their end; the first begins `delay_s` after START."""
    ends = np.cumsum([delay_s, *times])[1:]
    rows = [
        {
            "run_id": run, "file_id": run, "line": k, "attempt": attempt, "step": k, "step_s": time, "averaged_steps": 1,
            "value_kind": "instant", "ts": START + timedelta(seconds=float(end)),
        }
        for k, (time, end) in enumerate(zip(times, ends, strict=True), 1)
    ]  # fmt: skip
    warehouse.insert("step_times", rows)
    warehouse.insert("steps", [row | {"phase": "train", "ts_origin": "utc", "rank": 0} for row in rows])


def phase(warehouse: Warehouse, name: str, **facts: object) -> None:
    at_s = facts.pop("at_s", None)
    clock = {} if at_s is None else {"ts": START + timedelta(seconds=float(str(at_s))), "ts_origin": "utc"}
    warehouse.insert("phases", [{"run_id": "r", "file_id": "r", "attempt": 0, "phase": name, **clock, **facts}])


def usual(n: int) -> list[float]:
    """Steps of one second, with a jitter that sums to nothing: without any, no step can be called slow."""
    return [1 + 0.002 * (-1) ** k for k in range(n)]


def parts(warehouse: Warehouse, source: str = "log") -> dict[str, float]:
    """Seconds of each part of the only run; they add up to the whole, and none is below zero."""
    rows = warehouse.ask(f"FROM waterfall() WHERE source = '{source}'")
    assert sum(row["percent"] for row in rows) == pytest.approx(100, abs=1e-9)
    assert rows[-1]["after_percent"] == pytest.approx(rows[-1]["percent"], abs=1e-9)
    assert min(row["percent"] for row in rows) >= 0
    return {row["part"]: row["lost_s"] for row in rows if row["part"] != "rest" or row["lost_s"] > 1e-9}


def note(warehouse: Warehouse) -> str | None:
    [found] = {row["note"] for row in warehouse.ask("FROM waterfall()")}
    return found


def test_start_up_first_batches_and_a_slow_step(warehouse: Warehouse) -> None:
    """7 s until the first step, which takes 3 s more than the usual second; one of the others takes 2 s more."""
    warehouse.run("r")
    times = [4.0, *usual(49)]
    times[30] = 3.0
    stamped(warehouse, times, delay_s=7)
    phase(warehouse, "startup", at_s=0)
    assert parts(warehouse) == pytest.approx({"start-up": 7, "first batches": 3, "slow tail": 2, "left": 50}, abs=0.02)


def test_a_step_that_waits_for_its_data_is_not_slow_twice(warehouse: Warehouse) -> None:
    warehouse.run("r")
    times = [1.25] * 50
    times[20] = 3.0
    stamped(warehouse, times)
    warehouse.connection.execute("UPDATE steps SET data_s = CASE WHEN step = 21 THEN 2.0 ELSE 0.25 END")
    assert parts(warehouse) == pytest.approx({"data wait": 49 * 0.25 + 2, "left": 50})


def test_steps_done_again_after_a_restart_are_lost(warehouse: Warehouse) -> None:
    """The second attempt begins with step 41; 41 to 60 were done before, one of them slowly."""
    first = [1.0] * 60
    first[50] = 5.0
    warehouse.run("r", first, devices=8)
    later = {"attempt": 1, "averaged_steps": 1, "value_kind": "instant", "run_id": "r", "file_id": "r"}
    warehouse.insert("step_times", [later | {"line": k, "step": k, "step_s": 1.0} for k in range(41, 101)])
    assert parts(warehouse) == pytest.approx({"repeated": 24, "left": 100})
    [row] = warehouse.ask("FROM goodput()")
    assert (row["steps"], row["repeated_steps"], row["step_time_s"]) == (100, 20, 100)
    assert row["goodput"] == pytest.approx(100 / 124)
    assert row["lost_hours"] == pytest.approx(24 * 8 / 3600)


def test_the_scheduler_knows_the_whole(warehouse: Warehouse) -> None:
    """Both allocations of the job count; where another run was in it, nobody knows which had how long."""
    warehouse.run("r", [1.0] * 50, job_id="7")
    jobs = [
        {
            "run_id": "r",
            "file_id": "j",
            "line": n,
            "job_id": "7",
            "elapsed_s": span,
            "started_at": START + n * timedelta(1),
        }
        for n, span in enumerate([60.0, 40.0])
    ]
    warehouse.insert("jobs", [*jobs, jobs[0] | {"step_id": "0", "elapsed_s": 59.0}])
    assert parts(warehouse) == pytest.approx({"rest": 50, "left": 50})
    assert [row["time_origin"] for row in warehouse.ask("FROM goodput()")] == ["scheduler"]
    warehouse.run("other", job_id="7")
    assert parts(warehouse) == pytest.approx({"left": 50})
    assert note(warehouse) == "the allocated time is the sum of the parts in the log"


def test_a_gap_of_the_clock_is_the_checkpoint_that_is_logged_for_it(warehouse: Warehouse) -> None:
    """Saving begins after step 20 and takes 9 s; a pause of 4 s after step 30 has no reason."""
    warehouse.run("r")
    stamped(warehouse, [1.0] * 50)
    for step, pause in ((20, 9), (30, 4)):
        warehouse.connection.execute(f"UPDATE step_times SET ts = ts + to_seconds({pause}) WHERE step > {step}")
        warehouse.connection.execute(f"UPDATE steps SET ts = ts + to_seconds({pause}) WHERE step > {step}")
    phase(warehouse, "checkpoint", step=20)
    assert parts(warehouse) == pytest.approx({"checkpoints": 9, "rest": 4, "left": 50})


def test_a_slow_step_at_which_a_validation_is_logged(warehouse: Warehouse) -> None:
    """Its span is in the log as well, and counts once."""
    warehouse.run("r")
    times = usual(50)
    times[19] = 7.0
    stamped(warehouse, times)
    phase(warehouse, "validation", step=20, span_s=6.0)
    assert parts(warehouse) == pytest.approx({"validation": 6, "left": 50}, abs=0.02)


def test_a_validation_beside_the_steps_is_cut_and_said(warehouse: Warehouse) -> None:
    warehouse.run("r")
    stamped(warehouse, [1.0] * 50)
    phase(warehouse, "validation", span_s=20.0, at_s=60)
    assert parts(warehouse) == pytest.approx({"validation": 10, "left": 50})
    assert note(warehouse) == "validation is cut from 20 s: it ran in parallel to the steps, or within them"


@pytest.mark.parametrize("part", ["validation", "checkpoint"])
@pytest.mark.parametrize(("span_s", "is_said"), [(11.0, False), (11.1, True)])
def test_a_cut_of_half_a_percent_of_the_job_is_not_said(
    warehouse: Warehouse, part: str, span_s: float, is_said: bool
) -> None:
    warehouse.run("r")
    stamped(warehouse, [1.0] * 190)
    phase(warehouse, part, span_s=span_s, at_s=200)
    assert (note(warehouse) is not None) == is_said


def test_steps_that_are_longer_than_the_clock(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0] * 50)
    phase(warehouse, "startup", at_s=0)
    phase(warehouse, "run", at_s=10)
    assert parts(warehouse) == pytest.approx({"left": 50})
    assert note(warehouse) == (
        "the steps take 50 s, longer than the 10 s of the whole job: the allocated time is the sum of the parts in the log"
    )


def test_a_mean_over_steps_that_the_record_before_has_too(warehouse: Warehouse) -> None:
    """Primus prints step 1, and then the mean of 1 and 2: 11 and 6 s are steps of 11 and 1 s."""
    warehouse.run("r", [11.0, *[1.0] * 49])
    warehouse.connection.execute(
        "UPDATE step_times SET step_s = 6, averaged_steps = 2, value_kind = 'interval_mean' WHERE step = 2"
    )
    assert parts(warehouse) == pytest.approx({"first batches": 10, "left": 50})


def test_one_step_of_ten_is_logged(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0] * 50)
    warehouse.connection.execute("UPDATE step_times SET step = step * 10")
    assert parts(warehouse) == pytest.approx({"left": 500})
    assert str(note(warehouse)).startswith("one step in 10 is logged, and stands for all of them")


def test_epochs_alone(warehouse: Warehouse) -> None:
    warehouse.run("r")
    for epoch in range(3):
        phase(warehouse, "train", epoch=float(epoch), span_s=20.0, at_s=24 + 25 * epoch)
        phase(warehouse, "validation", epoch=float(epoch), span_s=4.0, at_s=28 + 25 * epoch)
    assert parts(warehouse) == pytest.approx({"validation": 12, "rest": 2, "left": 60})
    assert str(note(warehouse)).startswith("single steps are not logged")


def test_a_run_of_several_writers_is_not_counted(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0] * 50)
    warehouse.insert("params", [{"run_id": "r", "key": "writers", "value": "ambiguous", "origin": "inferred"}])
    assert warehouse.ask("FROM waterfall()") == [] == warehouse.ask("FROM goodput()")


def test_factors_of_a_trace_by_the_shares_of_their_logarithms(warehouse: Warehouse) -> None:
    """Two ranks compute 4 and 8 ms of 16, and the second communicates for 2: 0.75, 0.8 and 0.625 make 0.375."""
    warehouse.run("r", devices=2)
    kernels = [
        (0, 0, 4, "sgemm"),
        (1, 0, 8, "sgemm"),
        (1, 8, 2, "ncclDevKernel_AllReduce"),
        (0, 16, 0, "sgemm"),
        (1, 16, 0, "sgemm"),
    ]
    rows = [
        {
            "run_id": "r", "file_id": f"t{rank}", "rank": rank, "line": line, "ph": "X", "category": "kernel",
            "name": name, "start_ns": start * 1000, "duration_ns": span * 1000,
        }
        for line, (rank, start, span, name) in enumerate(kernels)
    ]  # fmt: skip
    warehouse.insert("events", rows)
    shares = {name: log(f) / log(0.375) * 0.625 for name, f in
              {"load balance": 0.75, "communication": 0.8, "orchestration": 0.625}.items()}  # fmt: skip
    expected = {name: share * 16e-6 for name, share in (shares | {"left": 0.375}).items()}
    assert parts(warehouse, "trace") == pytest.approx(expected)


@pytest.mark.parametrize("cause", CAUSES)
def test_the_parts_of_any_job_add_up(warehouse: Warehouse, cause: str) -> None:
    GeneratedJob("r", cause, seed=1).insert(warehouse)
    assert sum(parts(warehouse).values()) > 50
    assert "load balance" in parts(warehouse, "trace")


def test_the_question_alone_brings_all_queries_that_it_needs() -> None:
    """gpu_classes names gpu_events in a text, which a caller with `per := 'step'` needs."""
    assert "gpu_events" in load(about="FROM waterfall()")
