"""Logs that no format knows: numbers by the names beside them, which lines are records, refusals, and real files."""

import contextlib
import itertools
import random
import statistics
import struct
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from asking import answer
from conftest import FIXTURES
from scalelens.ingestion.format_check import check_formats
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.identify import identify
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing import dispatch
from scalelens.parsing.bar_times import times_of
from scalelens.parsing.format_file import heading, name_of
from scalelens.parsing.progress_bars import Drawing
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source
from scalelens.tabular.unknown_logs import shapes
from scalelens.tabular.unknown_logs.clock import Clock, stamp_in
from scalelens.tabular.unknown_logs.fields import parsed

LOADED = load()
FILES = FIXTURES / "generic_lines"


def without_steps(formats: Formats) -> Formats:
    """The formats without all those of training, except the one that reads any lines."""
    kept = [format for format in formats.of_files if name_of(format) == "generic_lines"]
    others = [f for f in formats.of_files if "steps" not in (heading(f, "Yields") or "")]
    return Formats([f for f in formats.of_lines if "steps" not in (heading(f, "Yields") or "")], others + kept)


class Kept(Rows):
    """Rows that also remember those of training steps: format, line and row."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps: list[tuple[str, int, dict[str, Any]]] = []

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        if table == "steps" and row.get("phase") == "train":
            self.steps.append((self.format or "", line or 0, dict(row)))
        super().put(table, line, row)


def steps_of(path: Path, formats: Formats = LOADED) -> list[tuple[str, int, dict[str, Any]]]:
    rows = Kept()
    with contextlib.closing(open_source(path)) as source:
        read_rows(source, formats, rows)
    return rows.steps


def log(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "a.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def asked(path: Path, tmp_path: Path, statement: str, *mapping: str) -> list[tuple]:
    """What a query says of a file, read into a warehouse of its own."""
    warehouse = tmp_path / f"w{len(list(tmp_path.glob('w*')))}"
    ingest([path], warehouse, jobs=1, columns=mapping)
    return answer(warehouse, statement).fetchall()


# Numbers and their names


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("loss: 8.9", [("loss", 8.9, None)]),
        ("time=0.31s lr 1e-4", [("time", 0.31, "s"), ("lr", 1e-4, None)]),
        ("step 7 took 250 ms", [("step", 7, None), ("took", 250, "ms")]),
        ("iter 3, 3.1 it/s", [("iter", 3, None), ("", 3.1, "it/s")]),
        ("epoch_time: 130.0min", [("epoch_time", 130, "min")]),
        ("elapsed time per iteration (ms): 23.8 |", [("elapsed time per iteration (ms)", 23.8, None)]),
        ("Acc@1   0.09 top1: 0.5", [("Acc@1", 0.09, None), ("top1", 0.5, None)]),
        ("loss 1.5, tps: 4,101", [("loss", 1.5, None), ("tps", 4101, None)]),
        ("step_time: 0,312 s", [("step_time", None, "s")]),  # a point or a thousand
        ("tokens 21.5K 3x 4th", [("tokens", 21500, None)]),
        ("number of nan iterations: 0", [("number of nan iterations", 0, None)]),
        ("loss: nan lr: 2", [("loss", pytest.approx(float("nan"), nan_ok=True), None), ("lr", 2, None)]),
        ("2026-01-02 03:04:05,678 - INFO - loss 2.5", [("loss", 2.5, None)]),
        ("Batch [0-20] Speed: 5.5 samples/sec", [("Batch", 20, None), ("Speed", 5.5, "samples/sec")]),
    ],
)
def test_a_number_has_the_name_and_the_unit_beside_it(text: str, fields: list[tuple]) -> None:
    assert [(field.name, field.value, field.unit) for field in parsed(text).fields] == fields


def test_what_counts_is_told_from_its_total_and_a_value_from_its_mean() -> None:
    count, time, mean = parsed("[12:391] Time 0.31 (0.35)").fields
    assert (count.value, count.total) == (12, 391)
    assert (time.value, time.is_mean, mean.name, mean.value, mean.is_mean) == (0.31, False, "Time", 0.35, True)
    assert parsed("eta: 1 day, 0:00:10 iter 12/391").left_s == 86_410
    assert parsed("train: 37%|███ | 146/391 [00:12<00:20, 12.1it/s]").left_s == 20


@pytest.mark.parametrize(
    ("text", "iso", "resolution_s"),
    [
        ("[2026-01-02 03:04:05,678] x", "2026-01-02T03:04:05.678", 1e-3),
        ("2026/01/02 03:04:05 x", "2026-01-02T03:04:05", 1),
        ("2026-01-02T03:04:05.123456Z x", "2026-01-02T03:04:05.123456Z", 1e-6),
        ("10-03 15:41:47: a.py", None, 1),
        ("I0304 10:00:12.750000 77 a.py", None, 1e-6),
        ("[15:41:47] x", None, 1),
        ("[1767323045] x", "2026-01-02T03:04:05+00:00", 1),
        ("1767323045.678 x", "2026-01-02T03:04:05.678000+00:00", 1e-3),
    ],
)
def test_a_time_stamp_and_its_resolution(text: str, iso: str | None, resolution_s: float) -> None:
    stamp = stamp_in(text)
    assert stamp and (stamp.iso, stamp.resolution_s) == (iso, pytest.approx(resolution_s))


def test_a_time_that_something_took_is_no_stamp_and_midnight_is_no_leap() -> None:
    assert stamp_in("step 3 elapsed 00:05:10") is None
    assert stamp_in("2026-13-45 03:04:05 x") is None
    assert stamp_in("1767323045 samples") is None
    assert stamp_in("1767323045.5 bytes") is None
    clock = Clock()
    assert [clock.seconds(s) for t in ("23:59:50", "00:00:10") if (s := stamp_in(f"10-0{t[0]} {t} x"))] == [0, 20]


DAY_S = 86_400


@pytest.mark.parametrize(
    ("first", "then", "days"),
    [
        ("25-01-25", "25-01-27", 2),  # the year may be first or last
        ("31/01", "02/02", 2),
        ("01/31", "02/02", 2),
        ("12/31", "01/02", 2),
        ("Feb 27", "Mar  1", 2),  # of most years
        ("28.02.2025", "02.03.2025", 2),
        ("30-Apr-25", "02-May-25", 2),
        ("01-02", "01-01", -1),  # another process printed it late
        ("I0131", "I0202", 2),
    ],
)
def test_whole_days_pass_between_dates_whose_order_is_unknown(first: str, then: str, days: int) -> None:
    clock = Clock()
    stamps = [stamp_in(f"{day} 10:00:00{'.5 7 a.py' if 'I' in day else ''} x") for day in (first, then)]
    assert all(stamps)
    assert [clock.seconds(stamp) for stamp in stamps if stamp] == [0, days * DAY_S]


# Which lines are records


def test_a_log_without_any_format_gives_steps_and_says_what_was_read_as_what(tmp_path: Path) -> None:
    found = asked(FILES / "stamped.log", tmp_path, "SELECT formats, status, note FROM files")
    assert found[0][:2] == (["generic_lines"], "ok")
    assert "loss=Loss" in found[0][2] and "seconds by the time stamps" in found[0][2]


@pytest.mark.parametrize(
    "template",
    [
        "[$i/40] Building CXX object train/loss.cpp.o",
        "Step $i/40 : RUN pip install torch",
        "  Downloading torch-2.$i-cp310.whl ($x MB)  time 0.5 s",
        "epoch $i: val loss $x, time $x s",
        "Loading checkpoint shards:  33%|███▎      | $i/30 [00:01<00:02,  1.21s/it]",
        "saved checkpoint at step $i (loss $x, took $x s)",
        "step $i: eval loss $x",
        "step $i residual $x time $x s",  # a solver, as far as anyone can tell
        '{"step": $i, "note": "step 3 loss 2.5 time 0.5 s"}',
        '  "log": "step $i loss $x step_time_ms 25.0",',
        "slurmstepd: error: *** STEP 4711.$i ON node7 CANCELLED AT 2026-01-02T03:04:05 ***",
        "NCCL INFO Channel 0$i/16 : 0 1 2 3",
    ],
)
def test_other_lines_give_no_steps(tmp_path: Path, template: str) -> None:
    chance = random.Random(4)
    lines = [template.replace("$i", str(i)).replace("$x", f"{chance.uniform(1, 9):.3f}") for i in range(1, 30)]
    assert steps_of(log(tmp_path, "started", *lines)) == []


def test_records_that_are_printed_twice_and_drawings_of_a_bar_count_once(tmp_path: Path) -> None:
    lines = [f"step {i} loss {9 / i:.3f} step_time_ms {20 + i % 3}" for i in range(1, 9) for _ in range(2)]
    assert len(steps_of(log(tmp_path, *lines))) == 8
    bar = "\r".join(
        f"train: {i}0%|{'█' * i}| {i}/9 [00:{5 * i:02}<00:05, 5.00s/it, loss={k}.5]"
        for i in range(1, 10)
        for k in (1, 2)
    )
    rows = [row for _, _, row in steps_of(log(tmp_path, bar))]
    assert [row["step"] for row in rows] == [*range(1, 10)]
    assert {(round(row["step_s"], 6), row["value_kind"], row["loss"]) for row in rows} == {(5, "instant", 2.5)}


def test_a_line_that_may_be_cut_is_a_problem_and_no_row(tmp_path: Path) -> None:
    lines = [f"step {i} loss {9 / i:.3f} step_time_ms {20 + i}" for i in range(1, 9)]
    text = "\n".join(lines)
    for end in range(len(text) - 12, len(text)):
        path = tmp_path / "a.log"
        path.write_text(text[:end])
        assert {round(1000 * row["step_s"], 6) for _, _, row in steps_of(path)} == {20 + i for i in range(1, 8)}
    path.write_text(text[:-9] + "\n")
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "cut" in reason


@pytest.mark.parametrize("count", [10, 20])
def test_two_shapes_that_tell_of_different_steps_are_not_read(tmp_path: Path, count: int) -> None:
    one = [f"step {i} loss {9 / i:.3f} step_time_ms {20 + i}" for i in range(1, 21)]
    two = [f"actor: step {i} loss {5 / i:.3f} step_time_ms {70 + i}" for i in range(1, count + 1)]
    path = log(tmp_path, *one, *two)
    assert steps_of(path) == []
    ((note,),) = asked(path, tmp_path, "SELECT note FROM files")
    assert "such as line 1 and such as line 21" in note and "--preset" in note


# Times


def test_a_time_without_a_unit_is_asked_for_unless_the_stamps_prove_it(tmp_path: Path) -> None:
    bare = [f"iter {i * 10} loss {9 / i:.3f} time {0.5 + i % 3 / 100:.2f}" for i in range(1, 21)]
    stamped = [f"2026-01-02 03:{i * 5 // 60:02}:{i * 5 % 60:02} {line}" for i, line in enumerate(bare)]
    ((reason,),) = asked(log(tmp_path, *bare), tmp_path, "SELECT reason FROM problems")
    assert "--map batch_time=time:s" in reason
    rows = [row for _, _, row in steps_of(log(tmp_path, *stamped))]
    assert statistics.median(row["step_s"] for row in rows) == pytest.approx(0.51)
    assert {row["value_kind"] for row in rows} == {"interval_mean"}
    wrong = [line.replace("time 0.", "time 7.") for line in stamped]  # no time of a step, and no time of ten
    assert {row.get("step_s") for _, _, row in steps_of(log(tmp_path, *wrong))} == {None}


def test_a_window_and_the_mean_beside_it_are_not_told_apart(tmp_path: Path) -> None:
    lines = [
        f"2026-01-02 03:{i * 5 // 60:02}:{i * 5 % 60:02} iter {i * 10} loss 2.5 time: 0.46 (0.50)" for i in range(1, 21)
    ]
    assert {row.get("step_s") for _, _, row in steps_of(log(tmp_path, *lines))} == {None}
    near = [line.replace("0.46", "0.50") for line in lines]
    assert {row.get("step_s") for _, _, row in steps_of(log(tmp_path, *near))} == {0.5}


def test_stamps_tell_the_time_only_where_they_are_fine_enough_and_no_other_time_stands_there(tmp_path: Path) -> None:
    coarse = [f"2026-01-02 03:04:{i:02} step {i} loss {9 / (i + 1):.3f}" for i in range(1, 31)]
    assert {row.get("step_s") for _, _, row in steps_of(log(tmp_path, *coarse))} == {None}
    fine = [line.replace(" step", ".250 step") for line in coarse]
    assert {row.get("step_s") for _, _, row in steps_of(log(tmp_path, *fine))} == {None, 1.0}
    found = asked(log(tmp_path, *fine), tmp_path, "SELECT key, value FROM params WHERE key LIKE 'step_s%' ORDER BY key")
    assert found == [("step_s_origin", "derived"), ("step_s_resolution_s", "0.001")]


def test_a_named_time_that_is_longer_than_what_lies_between_the_lines_is_refused(tmp_path: Path) -> None:
    lines = [f"2026-01-02 03:04:{i:02}.500 step {i} loss 2.5 step_time 9.5 s" for i in range(1, 31)]
    path = log(tmp_path, *lines)
    assert {row.get("step_s") for _, _, row in steps_of(path)} == {None}
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "longer than the time between its lines" in reason
    assert asked(path, tmp_path, "SELECT DISTINCT step_s FROM steps", "batch_time=step_time [s]:s") == [(9.5,)]


# identify, and presets


def test_three_formats_look_at_the_lines_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, lines_of = 0, shapes.log_lines

    def counted(source: Any, *others: Any) -> Any:
        nonlocal looked
        looked += 1
        return lines_of(source, *others)

    monkeypatch.setattr(shapes, "log_lines", counted)
    path = log(tmp_path, *(f"[epoch=1][batch{k}=20/3200]:" for k in range(1, 40)))
    assert steps_of(path) == [] and looked == 1


def test_identify_shows_shapes_and_lines_and_writes_a_preset_that_reads_the_same(tmp_path: Path) -> None:
    preset = tmp_path / "formats" / "my_loop.py"
    preset.parent.mkdir()
    sentence, _ = identify(FILES / "ranks.log", preset=preset)
    assert "24 lines" in sentence and "counted by step" in sentence
    assert sentence.count("    line ") == 3
    assert check_formats(preset.parent) == []
    told = steps_of(FILES / "ranks.log", load((preset.parent,)))
    assert {format for format, _, _ in told} == {"my_loop"}
    assert [row for _, _, row in told] == [row for _, _, row in steps_of(FILES / "ranks.log")]


# Real files

GROUPS = ("llm", "vision", "more", "mlperf_v3.0")
LOGS = (".log", ".out", ".err", ".txt", "")


def verdicts(corpus: Path, share: int) -> dict[str, list[str]]:
    """What `generic_lines` alone says of one real log in `share`, against the format that takes the same lines."""
    alone, said = without_steps(LOADED), defaultdict(list)
    for group in GROUPS:
        for path in sorted((corpus / group).rglob("*"))[::share]:
            is_log = path.suffix in LOGS or path.name.endswith("_log") or path.suffix[:2] == ".o"
            if not path.is_file() or not is_log:
                continue
            known, found = [step for step in steps_of(path) if step[0] != "generic_lines"], steps_of(path, alone)
            lines = {line for _, line, _ in found}
            by_format: dict[str, list[tuple[int, Any]]] = defaultdict(list)
            for format, line, row in known:
                by_format[format].append((line, row.get("step_s")))
            if not by_format:
                continue
            format = max(by_format, key=lambda f: (sum(line in lines for line, _ in by_format[f]), len(by_format[f])))
            times = [time for _, time in by_format[format] if time is not None]
            ours = [row["step_s"] for _, _, row in found if row.get("step_s") is not None]
            if format == "mllog" and not found:
                said["MLPerf's events alone"].append(path.name)
                continue
            said["files"].append(path.name)
            close = abs(len(found) - len(by_format[format])) <= 0.01 * len(by_format[format])
            said["count right" if close else "count refused" if not found else "count wrong"].append(str(path))
            if not ours:
                said["time refused"].append(path.name)
            elif times:
                near = abs(statistics.median(ours) / statistics.median(times) - 1) <= 0.02
                said["time right" if near else "time wrong"].append(str(path))
    return said


@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_format_is_needed_for_most_real_logs_and_nothing_is_wrong(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    monkeypatch.setattr(dispatch, "FEWEST_RECORDS", 1 << 30)  # the rows are taken one by one
    said = verdicts(corpus, share)
    assert said["count wrong"] == said["time wrong"] == []
    assert len(said["count right"]) >= 0.7 * len(said["files"]) >= 50 / share
    assert len(said["time right"]) >= 0.6 * len(said["files"])


def test_real_files_that_are_no_training_give_no_steps(corpus: Path) -> None:
    for group in ("power", "traces"):
        for path in sorted((corpus / group).rglob("*")):
            if path.is_file() and path.suffix in LOGS:
                assert [step for step in steps_of(path) if step[0] == "generic_lines"] == [], path


# Bars


@pytest.mark.parametrize(
    ("text", "count", "total", "rate"),
    [
        ("train:  24%|##4       | 1.21k/5.00k [00:12<00:38, 101it/s, loss=2.5]", 1210, 5000, (101, "it/s")),
        ("train:  24%|##4       | 96/391 [00:12<00:38, 1.21kit/s, loss=2.5]", 96, 391, (1210, "it/s")),
        ("train:  24%|##4       | 96/391 [04:12<12:38,  2.50s/batches, loss=2.5]", 96, 391, (2.5, "s/it")),
        ("train: 96it [00:12,  8.01it/s, loss=2.5]", 96, None, (8.01, "it/s")),
        ("96 steps [00:12,  8.01 steps/s]", 96, None, (8.01, "it/s")),
    ],
)
def test_a_bar_is_written_out(text: str, count: int, total: int | None, rate: tuple[float, str]) -> None:
    fields = parsed(text).fields
    assert (fields[0].value, fields[0].total) == (count, total)
    assert (fields[1].value, fields[1].unit) == rate


@pytest.mark.parametrize(
    ("before", "unit"),
    [
        ("train: ", "B"),  # counts bytes
        ("train Epochs: ", "it"),  # counts epochs
        ("train: ", "epoch"),
    ],
)
def test_a_bar_that_counts_no_steps_gives_none(tmp_path: Path, before: str, unit: str) -> None:
    bars = [
        f"{before}{k:3d}%|###       | {k}/100 [0{k // 60}:{k % 60:02d}<00:30, 1.01s/{unit}, loss=2.5]"
        for k in range(60)
    ]
    assert steps_of(log(tmp_path, "\r".join(bars))) == []


@pytest.mark.parametrize(("before", "rates"), [("train: ", [0.99]), ("Epoch 1/3: ", [0.99]), ("evaluating: ", [])])
def test_a_bar_that_counts_samples_of_the_training_gives_their_rate_alone(
    tmp_path: Path, before: str, rates: list[float]
) -> None:
    bars = [f"{before}{k:3d}%|##       | {k}/100 [0{k // 60}:{k % 60:02d}<00:30, 1.01s/img]" for k in range(60)]
    rows = [row for _, _, row in steps_of(log(tmp_path, "\r".join(bars)))]
    assert [row.get("samples_per_s") for row in rows] == [pytest.approx(rate, rel=0.02) for rate in rates]
    assert not any({"step", "step_s"} & row.keys() for row in rows)


def test_of_two_counts_the_first_is_the_epoch_where_the_second_begins_anew_with_it(tmp_path: Path) -> None:
    places = [(epoch, step) for epoch in range(1, 4) for step in range(1, 9)]
    nested = [f"Train {epoch}/3 [{step}/8] loss: {9 - step}.5 step_time: 0.25s" for epoch, step in places]
    assert [row["epoch"] for *_, row in steps_of(log(tmp_path, *nested))] == [epoch for epoch, _ in places]
    apart = [f"Train {step}/30 [{step}/80] loss: {9 - step % 7}.5 step_time: 0.25s" for step in range(1, 25)]
    assert {row["epoch"] for *_, row in steps_of(log(tmp_path, *apart))} <= {None}


def test_an_iteration_is_the_epoch_of_its_steps_and_a_step_is_not_the_epoch_of_its_micro_batches(
    tmp_path: Path,
) -> None:
    places = [(outer, inner) for outer in range(1, 5) for inner in range(1, 5)]
    loop = [f"iteration:{outer} step:{inner}/4, loss: {9 - inner}.5" for outer, inner in places]
    assert [row["epoch"] for *_, row in steps_of(log(tmp_path, *loop))] == [outer for outer, _ in places]
    accumulating = [f"step:{outer} batch:{inner}/4, loss: {9 - inner}.5" for outer, inner in places]
    assert {row["epoch"] for *_, row in steps_of(log(tmp_path, *accumulating))} == {None}


def test_a_loss_at_a_step_is_a_record_and_that_of_a_validation_is_not(tmp_path: Path) -> None:
    lines = [f"2026-01-02 03:04:{k:02}.250 Loss at step {k}: {9 / k:.4f}" for k in range(1, 9)]
    rows = [(row["step"], row["loss"]) for *_, row in steps_of(log(tmp_path, *lines))]
    assert rows == [(k, float(f"{9 / k:.4f}")) for k in range(1, 9)]
    assert not steps_of(log(tmp_path, *(line.replace("Loss", "Validation loss") for line in lines)))


@pytest.mark.parametrize("together", [1, 30])
def test_stamps_of_lines_that_come_in_bursts_tell_no_time(tmp_path: Path, together: int) -> None:
    """A buffer between a program and `ts` keeps lines back, and lets many go at once."""
    start = datetime(2026, 1, 2, 3)
    lines = []
    for k in range(1, 121):
        seconds = k // together * together * 0.5 + k * 2e-5
        lines.append(f"{start + timedelta(seconds=seconds, microseconds=7)} step {k} loss {9 / k:.4f}")
    timed = [row["step_s"] for *_, row in steps_of(log(tmp_path, *lines)) if row.get("step_s")]
    assert len(timed) == (119 if together == 1 else 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m 42s", 102), ("2h 03m 04.5s", 7384.5), ("1h5m", 3900), ("3 min 5 sec", 185), ("3m12s", 192)],
)
def test_a_time_in_hours_and_minutes_is_in_seconds(text: str, seconds: float) -> None:
    (field,) = parsed(f"elapsed_time: {text}").fields
    assert (field.name, field.value, field.unit) == ("elapsed_time", seconds, "s")
    assert [field.name for field in parsed("params: 125m 10 steps").fields] != ["params"]


def test_times_since_the_start_in_whole_seconds_are_of_ten_seconds_or_more(tmp_path: Path) -> None:
    lines = [
        f"step {k} loss {9 / k:.3f} elapsed_time: {17 * k // 10 // 60}m {17 * k // 10 % 60}s" for k in range(1, 60)
    ]
    timed = [row for _, _, row in steps_of(log(tmp_path, *lines)) if row.get("step_s")]
    assert {row["averaged_steps"] for row in timed} == {6}
    assert all(abs(row["step_s"] / 1.7 - 1) < 0.1 for row in timed)
    assert len(timed) == 9


def test_a_rate_that_its_seconds_contradict_is_a_contradiction(tmp_path: Path) -> None:
    bar = "\r".join(
        f"train: {k}%|##| {k}/100 [{4 * k // 60:02}:{4 * k % 60:02}<05:00,  8.0{k % 7}s/it, loss={9 / (k + 1):.3f}]"
        for k in range(1, 90)
    )
    path = log(tmp_path, bar)
    found = asked(path, tmp_path, "SELECT key, round(value::DOUBLE, 1), origin, chosen FROM contradictions()")
    assert found == [("step_s", 4.0, "log", True), ("step_s", 8.0, "inferred", False)]
    assert asked(path, tmp_path, "SELECT round(median(step_s), 1), min(averaged_steps) FROM steps") == [(4.0, 3)]


def bar_of(total: int, step_s: float, label: str = "", postfix: str = "") -> str:
    """A bar of slow steps from its start to its end, with the drawing of the closed one."""
    texts = [f"{label}  0%|          | 0/{total} [00:00<?, ?it/s]"]
    for k in [*range(1, total + 1), total]:
        at = int(k * step_s)
        clock = f"{at // 60:02}:{at % 60:02}<{0:02}:{0:02}"
        texts.append(f"{label}{100 * k // total:3}%|##        | {k}/{total} [{clock}, {step_s:5.2f}s/it{postfix}]")
    return "\r".join(texts)


def timed_of(path: Path) -> tuple[int, set[float]]:
    """The number of steps with a time, and the times."""
    rows = [row for _, _, row in steps_of(path) if row.get("step_s")]
    return len(rows), {round(row["step_s"], 1) for row in rows}


def test_a_bar_that_names_an_epoch_of_an_evaluation_is_not_the_trainings(tmp_path: Path) -> None:
    lines = []
    for epoch in range(1, 4):
        lines += [bar_of(40, 1.5, f"Epoch {epoch}/9 train: "), bar_of(10, 0.4, f"Epoch {epoch}/9 val: ")]
        lines += [
            f"Epoch {epoch}/9 Train Loss: {1 / epoch:.4f}",
            bar_of(20, 4.0, f"[Eval] Best Model at Epoch {epoch}: "),
        ]
    path = log(tmp_path, *lines)
    assert timed_of(path) == (120, {1.5})
    assert {name for name, _, _ in steps_of(path)} == {"generic_lines"}


def test_a_second_bar_of_an_epoch_is_not_the_trainings(tmp_path: Path) -> None:
    lines = [bar_of(total, pace, f"Epoch {epoch}: ") for epoch in range(3) for total, pace in ((40, 1.5), (30, 0.4))]
    assert timed_of(log(tmp_path, *lines)) == (120, {1.5})


@pytest.mark.parametrize("label", ["Validation: ", "Evaluating "])
def test_a_bar_without_a_label_is_the_trainings_where_another_validates(tmp_path: Path, label: str) -> None:
    lines = ["Using loss ce"]
    for epoch in range(4):
        lines += [bar_of(40, 1.5), f"[{epoch}] 10 44.3", bar_of(10, 0.4, label), f"Validation loss: {5 / (epoch + 1)}"]
    path = log(tmp_path, *lines)
    assert timed_of(path) == (160, {1.5})
    assert [row["step"] for _, _, row in steps_of(path)] == list(range(1, 161))


def test_a_bar_without_a_label_is_the_trainings_where_each_is_followed_by_its_loss(tmp_path: Path) -> None:
    lines = [
        text for k in range(1, 4) for text in (bar_of(40, 1.5), f"Epoch {k}: loss {3 / k:.3f} val_loss {4 / k:.3f}")
    ]
    assert timed_of(log(tmp_path, *lines)) == (120, {1.5})


@pytest.mark.parametrize(
    "after",
    [
        ("{bar}", "accuracy: 0.5"),  # nothing says that anything is trained
        ("{bar}", "val loss: 0.5"),  # the bar of the validation
        ("train loss: 0.5", "{bar}", "val acc: 0.5"),  # the loss of what was trained before the bar
    ],
)
def test_a_bar_without_a_label_that_may_be_the_validations_is_not_read(tmp_path: Path, after: tuple[str, ...]) -> None:
    lines = [text.replace("{bar}", bar_of(40, 1.5)) for _ in range(4) for text in after]
    assert timed_of(log(tmp_path, *lines)) == (0, set())


def test_of_two_bars_without_labels_one_is_read_only_where_something_tells_which(tmp_path: Path) -> None:
    train, other = bar_of(40, 1.5), bar_of(10, 0.4)
    told = [text for k in range(4) for text in (train, f"train loss: {1 / (k + 1)}", other, f"val loss: {1 / (k + 1)}")]
    assert timed_of(log(tmp_path, *told)) == (160, {1.5})
    # Both losses come after the second bar: the first trains, as it has more steps and is no faster.
    losses = [f"Epoch {k}: train loss {k + 1}, val loss {k + 2}" for k in range(4)]
    assert timed_of(log(tmp_path, *[text for line in losses for text in (train, other, line)])) == (160, {1.5})
    for first, second in ((other, train), (bar_of(40, 0.3), other)):
        assert timed_of(log(tmp_path, *[text for line in losses for text in (first, second, line)])) == (0, set())
    postfixes = [bar_of(total, 1.5, postfix=", loss=1.5") for _ in range(4) for total in (40, 10)]
    path = log(tmp_path, *postfixes)
    assert timed_of(path) == (0, set())
    ((note,),) = asked(path, tmp_path, "SELECT note FROM files")
    assert "desc='train'" in note and "--preset" in note and "40" in note


def test_a_bar_of_keras_with_the_label_of_an_evaluation_is_not_the_epochs(tmp_path: Path) -> None:
    done = "10/10 [==============================] - 5s {}ms/step - loss: 1.5"
    lines = ["Epoch 1/2", done.format(45), "Epoch 2/2", done.format(46), "Evaluating " + done.format(9)]
    assert [row["step_s"] for _, _, row in steps_of(log(tmp_path, *lines))] == [0.045, 0.046]


def test_a_time_is_the_steps_where_it_is_the_sum_of_its_parts_and_each_step_has_a_line(tmp_path: Path) -> None:
    def times(every: int, growing: bool, rest: float = 0.0) -> list[float | None]:
        lines = []
        for k in range(12):
            fwd, bwd = (0.1 * (k + 1), 0.2 * (k + 1)) if growing else (0.1 + k % 3 / 100, 0.2)
            parts = f"fwd {fwd:.3f}s bwd {bwd:.3f}s total {fwd + bwd + rest:.3f}s"
            lines.append(f"step {k * every} loss {3 - k / 10:.3f} {parts}")
        return [step.get("step_s") for _, _, step in steps_of(log(tmp_path, *lines))]

    assert times(1, growing=False) == pytest.approx([0.3 + k % 3 / 100 for k in range(12)])
    assert set(times(10, growing=False)) == {None}  # may be of ten steps
    assert set(times(1, growing=True)) == {None}  # may be since the start
    assert set(times(1, growing=False, rest=0.1)) == {None}  # something else is in it


def test_a_rate_of_steps_by_its_name_is_of_what_the_line_counts(tmp_path: Path) -> None:
    def times(count: str, name: str) -> list[float | None]:
        lines = (f"{count} {k * 10} loss {3 - k / 10:.2f} {name} 4.0" for k in range(1, 9))
        return [step.get("step_s") for _, _, step in steps_of(log(tmp_path, *lines))]

    assert set(times("global_step", "steps/sec")) == {0.25}
    assert set(times("iter", "it/s")) == {0.25}
    assert set(times("iter", "steps/sec")) == {None}  # steps may be those of an environment


def test_what_a_step_took_is_read_like_a_time(tmp_path: Path) -> None:
    lines = (f"Iter {k}: loss={3 - k / 10:.2f} took {0.71 + k % 3 / 100:.3f} seconds" for k in range(24))
    assert {step.get("step_s") for _, _, step in steps_of(log(tmp_path, *lines))} == {0.71, 0.72, 0.73}


@pytest.mark.parametrize(
    ("heading", "between", "timed"),
    [
        ("---- Iteration: {} ----", "", 7),
        ("---- Iteration: {} ----", "Validation follows", 0),
        ("---- Epoch: {} ----", "", 0),  # its time is one of epochs
    ],
)
def test_numbers_below_a_heading_are_of_its_step(tmp_path: Path, heading: str, between: str, timed: int) -> None:
    lines = []
    for k in range(1, 9):
        lines += [heading.format(100 * k), f"Loss: {3 - k / 10:.2f}", f"Elapsed Time: {5.5 * k:.2f} seconds", between]
    found = steps_of(log(tmp_path, *lines))
    assert len(found) == 8
    counted = "epoch" if "Epoch" in heading else "step"
    assert [step[counted] for _, _, step in found] == [100 * k for k in range(1, 9)]
    assert [step["step_s"] for _, _, step in found if step.get("step_s")] == pytest.approx([0.055] * timed)


def test_a_block_below_a_heading_that_may_be_cut_is_a_problem(tmp_path: Path) -> None:
    block = "== Step {} ==\nloss: {:.2f}\nElapsed Time: {:.2f} seconds"
    path = log(tmp_path, *(block.format(100 * k, 3 - k / 10, 5.5 * k) for k in range(1, 9)))
    path.write_text(path.read_text().rpartition("Elapsed")[0])
    assert len(steps_of(path)) == 7
    assert asked(path, tmp_path, "SELECT count(*) FROM problems WHERE reason LIKE 'the line is cut%'") == [(1,)]


def test_two_kinds_of_headings_that_count_steps_are_not_read(tmp_path: Path) -> None:
    lines = []
    for k in range(1, 9):
        lines += [f"== Step {100 * k} ==", f"loss: {3 - k / 10:.2f}", f"== Iteration {50 * k} ==", f"loss: {k:.2f}"]
    assert steps_of(log(tmp_path, *lines)) == []


@pytest.mark.parametrize(
    ("template", "mean", "timed"),
    [
        ("[Rank 0] Step {}: loss={:.2f}, time={:.3f}s", "avg_step_time=0.1004", True),
        ("[Rank 0] Step {}: loss={:.2f}, time={:.3f}s", "avg_step_time=0.0201", False),  # it is of five steps
        ("[Rank 0] Step {}: loss={:.2f}, time={:.3f}", "avg_step_time=0.1004", False),  # in an unknown unit
        ("[Rank 0] Step {}: loss={:.2f}, time={:.3f}s", "avg_epoch_time=0.1004", False),
    ],
)
def test_a_time_is_that_of_a_step_where_another_line_states_its_mean(
    tmp_path: Path, template: str, mean: str, timed: bool
) -> None:
    lines = (template.format(5 * k, 3 - k / 10, 0.1 + k % 2 / 1000) for k in range(8))
    found = [step.get("step_s") for _, _, step in steps_of(log(tmp_path, *lines, f"Summary: batch_size=4 {mean}"))]
    assert found == ([0.1, 0.101] * 4 if timed else [None] * 8)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("loss 2.3 (0.12 sec)", [("loss", 2.3, None), ("", 0.12, "s")]),
        ("loss 2.3 (2.5)", [("loss", 2.3, None), ("loss", 2.5, None)]),
        ("Time 0.31 (0.35 s)", [("Time", 0.31, None), ("Time", 0.35, "s")]),
        ("time elapsed = 51.26 [s]", [("time elapsed", 51.26, "s")]),
        ("Time elapsed 0:01:01", [("Time elapsed", 61, "s")]),
        ("step 3 time=0.2m", [("step", 3, None), ("time", 0.2, "min")]),
    ],
)
def test_times_beside_other_numbers_keep_their_meaning(text: str, fields: list[tuple[str, float, str | None]]) -> None:
    assert [(field.name, field.value, field.unit) for field in parsed(text).fields] == fields


@pytest.mark.parametrize(("rest", "spans"), [("elapsed {since:.1f}s", 7), ("elapsed {each:.1f}s", 0)])
def test_a_time_since_the_start_tells_epochs_and_a_time_of_each_does_not(tmp_path: Path, rest: str, spans: int) -> None:
    lines = (f"Epoch {k} | loss {3 / k:.3f} | {rest.format(since=12.5 * k, each=12.5 + k / 10)}" for k in range(1, 9))
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT span_s FROM phases")
    assert [span for (span,) in found] == pytest.approx([12.5] * spans)


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        ("[E{0:02d}] train_mae=0.{0}21 val: RMSE=1{0}.089 ({1}s)", [61.5, 33.2, 30.1, 32.0]),
        ("[E{0:02d}] train_mae=0.{0}21 val: RMSE=1{0}.089 ({0}2.5s)", []),  # it only grows
        ("[E{0:02d}] train_mae=0.{0}21 val: RMSE=1{0}.089 ({1})", []),
        ("[E{0:02d}] took {1}s to copy", []),
    ],
)
def test_a_few_epochs_in_short_have_the_time_in_brackets(tmp_path: Path, line: str, spans: list[float]) -> None:
    lines = (line.format(k, each) for k, each in enumerate((61.5, 33.2, 30.1, 32.0), 1))
    path = log(tmp_path, "[LOAD] X=(5120, 64)", *lines, "[EARLY-STOP]")
    assert [span for (span,) in asked(path, tmp_path, "SELECT span_s FROM phases ORDER BY ALL DESC")] == sorted(
        spans, reverse=True
    )


def test_bars_of_other_lengths_are_counted_on(tmp_path: Path) -> None:
    lines = []
    for total in (8, 6, 7):
        lines.append(f"Train:   0%|  | 0/{total} [00:00<?, ?it/s]")
        lines += [
            f"Train: {100 * k // total}%|##  | {k}/{total} [00:{2 * k:02d}<00:09,  2.00s/it]"
            for k in range(1, total + 1)
        ]
    steps = [row["step"] for _, _, row in steps_of(log(tmp_path, *lines))]
    assert (min(steps), max(steps)) == (1, 21)


def test_of_two_counts_the_multiple_is_no_step(tmp_path: Path) -> None:
    lines = (f"[it {k}] step={1024 * k} | loss={3 / k:.3f} | took 1.{k % 4} s" for k in range(1, 30))
    assert [row["step"] for _, _, row in steps_of(log(tmp_path, *lines))] == list(range(1, 30))


def test_short_bars_are_held_against_what_they_drew_when_closed() -> None:
    rates = (None, 3.53, 3.65, 3.7, 2.77, 1.2)  # the last is drawn when the bar is closed
    counts = (0, 1, 2, 3, 4, 4)
    drawings = [
        Drawing(step, 4, int(step > 2) + 2 * (rate == 1.2), rate and 1 / rate, 0.0015)
        for step, rate in zip(counts, rates, strict=True)
    ]
    times = times_of(drawings).by_step
    assert sum(time.step_s * time.steps for time in times.values()) == pytest.approx(4 / 1.2, rel=0.1)


# What two numbers of a line, or two lines, show together


def times_by(path: Path) -> dict[tuple[str, str | None], list[float]]:
    found: dict[tuple[str, str | None], list[float]] = defaultdict(list)
    for format, _, row in steps_of(path):
        if row.get("step_s") is not None:
            found[format, row["value_kind"]].append(row["step_s"])
    return found


def test_times_between_readings_of_pythons_clock_are_seconds_and_those_of_a_device_are_not(tmp_path: Path) -> None:
    clock = [1772359200.25 + k * 5.4321 + (k % 3) * 0.7 for k in range(40)]
    device = [struct.unpack("f", struct.pack("f", 412.3 + k * 1.37 - (k % 3) * 7))[0] for k in range(40)]
    for number, (times, known) in enumerate(
        [
            ([later - now for now, later in itertools.pairwise(clock)], True),
            ([round(later - now, 4) for now, later in itertools.pairwise(clock)], False),
            ([(later - now) * 1000 for now, later in itertools.pairwise(clock)], False),
            (device, False),
        ]
    ):
        path = tmp_path / f"{number}.log"
        path.write_text("".join(f"step {k} loss {3 / (k + 1):.3f} time {time}\n" for k, time in enumerate(times)))
        found = times_by(path)
        assert found == ({("generic_lines", "instant"): pytest.approx(times)} if known else {})


def test_the_time_of_all_steps_between_two_lines_is_divided_where_stamps_show_it(tmp_path: Path) -> None:
    def lines(each: float) -> Iterator[str]:
        at = datetime(2026, 3, 1)
        for k in range(100, 2100, 100):
            at += timedelta(seconds=25 + k % 300 / 100)
            yield f"{at:%F %T} iter {k} loss {3 / k:.4f} time {(25 + k % 300 / 100) * each:.2f}"

    assert statistics.median(times_by(log(tmp_path, *lines(1)))["generic_lines", "interval_mean"]) == pytest.approx(
        0.26
    )
    assert times_by(log(tmp_path, *lines(0.5))) == {}  # half of the time between the lines, of whatever


@pytest.mark.parametrize(("label", "read"), [("Iteration", True), ("Processed prompts", False), ("Episode 3", False)])
def test_a_bar_gives_the_times_of_steps_that_another_format_reads_without_them(
    tmp_path: Path, label: str, read: bool
) -> None:
    bars = [f"{label}: {k}%|#| {k}/100 [00:{k // 2:02d}<00:{50 - k // 2:02d},  2.00it/s]" for k in range(1, 101)]
    records = "DLL 2026-03-01 10:00:{:02d}.500000 - Training Epoch: 0 Training Iteration: {}  step_loss : 2.5 "
    lines = [
        line for k, bar in enumerate(bars) for line in (bar, *([records.format(k // 2, k)] if k % 20 == 7 else []))
    ]
    formats = {format for format, _ in times_by(log(tmp_path, *lines))}
    assert formats == ({"generic_lines"} if read else set())


def test_a_configuration_is_not_a_record(tmp_path: Path) -> None:
    config = "[2026-03-01 10:00:{:02d}] INFO - Config: {{'epochs': {}, 'lr': 0.1, 'loss': 'l1', 'warmup_epochs': 5}}"
    assert steps_of(log(tmp_path, *(config.format(k, k + 1) for k in range(9)))) == []
