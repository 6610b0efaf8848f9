"""Times of steps that follow from what trainers print instead: a rate of a device, a clock since the start."""

import io
import itertools
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import as_dicts
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from test_robustness import InBlocks

LOADED = formats.load()


def steps_of(text: str, name: str = "job.log") -> list[dict[str, Any]]:
    """The rows of `steps` of a file."""
    batches: list[pa.RecordBatch] = []
    rows = Rows("f", lambda table, batch: batches.append(batch) if table == "steps" else None)
    content = text.encode()
    read_rows(InBlocks(name, io.BytesIO(content), len(content), 0), LOADED, rows)
    rows.flush()
    return as_dicts(pa.Table.from_batches(batches)) if batches else []


@given(
    degrees=st.tuples(*[st.sampled_from((1, 2, 4))] * 5),
    batch=st.tuples(st.integers(1, 16), st.integers(1, 8), st.sampled_from((1024, 2048, 8192))),
    step_s=st.floats(0.01, 50),
)
def test_a_rate_of_one_device_gives_the_time_of_the_step(
    degrees: tuple[int, ...], batch: tuple[int, int, int], step_s: float
) -> None:
    """As torchtitan computes it: tokens of the data parallel rank, by the time and the ranks that share them."""
    pp, replicate, shard, cp, tp = degrees
    local, accumulation, seq = batch
    rate = round(local * accumulation * seq / (step_s * pp * cp * tp))
    if rate < 10:
        return
    say = "[titan] 2026-03-02 08:00:00,000 - root - INFO - "
    text = (
        f"{say}Building device mesh with parallelism: pp={pp}, dp_replicate={replicate}, dp_shard={shard}, cp={cp}, "
        f"tp={tp}, ep={shard}, etp=1\n"
        f"{say}Trainer is initialized with local batch size {local}, global batch size "
        f"{local * accumulation * replicate * shard}, gradient accumulation steps {accumulation}, sequence length {seq}, "
        f"total steps 10 (warmup 2)\n"
        f"{say}step:  1  loss:  8.50000  grad_norm:  1.5000  memory:  1.25GiB(1.95%)  tps: {rate:,}  tflops: 1.00  mfu: 0.05%\n"
    )
    (row,) = steps_of(text)
    assert row["step_s"] == pytest.approx(step_s, rel=0.6 / rate)
    assert row["tokens"] == local * accumulation * replicate * shard * seq


@pytest.mark.parametrize(("stamped_s", "step_s"), [(9.6, 10.0), (9.3, 9.3)])
def test_a_rate_of_few_digits_is_doubted_only_beyond_its_rounding(stamped_s: float, step_s: float) -> None:
    """100 tokens at 10 per second take at least 9.5 s, because the 10 is rounded."""
    record = "step: {}  loss:  8.50000  memory:  1.25GiB(1.95%)  tps: 10  mfu: 0.05%\n"
    said = (
        (0, "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=1, cp=1, tp=1, ep=1, etp=1\n"),
        (0, "Training starts at step 1, with local batch size 1, global batch size 1, sequence length 100\n"),
        (10, record.format(1)),
        (10 + stamped_s, record.format(2)),
    )
    text = "".join(
        f"[titan] 2026-03-02 08:00:{at_s:06.3f} - root - INFO - ".replace(".", ",") + line for at_s, line in said
    )
    assert steps_of(text)[-1]["step_s"] == pytest.approx(step_s)


@given(
    steps=st.lists(st.integers(1, 5), min_size=2, max_size=30),
    step_s=st.floats(0.05, 200),
    jitter=st.lists(st.floats(0.5, 2), min_size=30, max_size=30),
    digit_s=st.sampled_from((1.0, 0.1, 0.001)),
)
def test_the_times_of_a_clock_add_up_to_it(
    steps: list[int], step_s: float, jitter: list[float], digit_s: float
) -> None:
    clock, step, seconds, last = SinceStart(), 0, 0.0, (0, 0.0)
    found: list[dict[str, Any]] = []
    clock.times(0, 0.0, digit_s)
    for more, factor in zip(steps, itertools.cycle(jitter)):
        step, seconds = step + more, seconds + more * step_s * factor
        printed = math.floor(seconds / digit_s) * digit_s
        if times := clock.times(step, printed, digit_s):
            found.append(times)
            last = step, printed
    assert sum(times["averaged_steps"] for times in found) == last[0]
    assert sum(times["averaged_steps"] * times["step_s"] for times in found) == pytest.approx(last[1])
    for times in found:
        assert times["step_s"] * times["averaged_steps"] >= 10 * digit_s * (1 - 1e-9)


@given(times=st.lists(st.floats(2, 30), min_size=3, max_size=12), started_at=st.sampled_from((0, 100)))
def test_the_speed_of_ms_swift_is_its_clock(times: list[float], started_at: int) -> None:
    """After a resumption it counts other steps than the clock: then the whole seconds are taken."""
    records, seconds = [], 0.0
    for k, step_s in enumerate(times, 1):
        seconds += 10 * step_s
        minutes, rest = divmod(int(seconds), 60)
        record = {"loss": 1.5, "epoch": k / 100, "global_step/max_steps": f"{started_at + 10 * k}/900"}
        record |= {
            "elapsed_time": f"{minutes}m {rest}s" if minutes else f"{rest}s",
            "train_speed(iter/s)": round(10 * k / seconds, 6),
        }
        records.append(json.dumps(record))
    rows = steps_of("\n".join(records) + "\n", "logging.jsonl")
    assert [row["step"] for row in rows] == [started_at + 10 * k for k in range(1, len(times) + 1)]
    assert rows[0]["step_s"] is None
    # Of ten steps: a second, or the sixth digit of the speed.  A speed that ends in zeros is printed without them.
    short = [f"{json.loads(record)['train_speed(iter/s)']:.6f}".endswith("0") for record in records]
    for k, (row, step_s) in enumerate(zip(rows[1:], times[1:], strict=True)):
        within = 0.1 if started_at or any(short[k : k + 2]) else 0.02
        assert row["step_s"] == pytest.approx(step_s, abs=within + 0.001)
