"""Tables of per-step metrics that no format knows: roles by name and unit, refusals, --map, presets, and who comes first."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

import scalelens
from asking import answer
from command_line import Run, one_line
from conftest import FIXTURES
from scalelens.errors import UserError
from scalelens.ingestion import formats
from scalelens.ingestion.format_check import check_formats
from scalelens.ingestion.identify import identify
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.format_file import name_of
from scalelens.tabular import markdown
from scalelens.tabular.cells import TableRecord, csv_header
from scalelens.tabular.column_names import read_name, words_of
from scalelens.tabular.column_values import ColumnValues, Survey, stamp_scales
from scalelens.tabular.growth import Growth
from scalelens.tabular.role_table import ROLES, UNITS_OF_KIND
from scalelens.tabular.roles import assign, mapped
from scalelens.tabular.unpowered import lacking_power

LOADED = formats.load()


def table(path: Path, header: str, *rows: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def asked(path: Path, tmp_path: Path, statement: str, *mapping: str) -> list[tuple]:
    """What a query says of a file, read into a warehouse of its own."""
    warehouse = tmp_path / f"w{len(list(tmp_path.glob('w*')))}"
    ingest([path], warehouse, jobs=1, columns=mapping)
    return answer(warehouse, statement).fetchall()


# Names


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("step", "step", None),
        ("global_step", "step", None),
        ("Iteration", "step", None),
        ("batch idx", "batch", None),
        ("step_time_ms", "batch_time", "ms"),
        ("stepTime (ms)", "batch_time", "ms"),
        ("time_per_step_us", "batch_time", "us"),
        ("ms_per_step", "batch_time", "ms"),
        ("metrics.perf.step_ms", "batch_time", "ms"),
        ("throughput_img_s", "samples_per_s", None),
        ("time_per_image_s", None, "s"),
        ("s/it", "batch_time", "s"),
        ("step_ms", "batch_time", "ms"),
        ("Batch Time [s]", "batch_time", "s"),
        ("iteration_time_in_seconds", "batch_time", "s"),
        ("iter_time", "batch_time", None),
        ("elapsed time per iteration (ms)", "batch_time", "ms"),
        ("elapsed_s", "elapsed", "s"),
        ("time", "time", None),
        ("time_ns", "time", "ns"),
        ("epoch_s", "epoch_time", "s"),
        ("epoch", "epoch", None),
        ("images_per_sec", "samples_per_s", None),
        ("img/s/gpu", "samples_per_s", "rank"),
        ("global_samples_per_second", "samples_per_s", "global"),
        ("Throughput (samples/s)", "samples_per_s", None),
        ("tokens/sec", "tokens_per_s", None),
        ("train/loss", "loss", None),
        ("val_loss", None, None),
        ("acc (%)", "accuracy", "%"),
        ("acc1", "accuracy", None),
        ("peak_mem_gb", "peak_memory", "GB"),
        ("max_memory_allocated_mib", "peak_memory", "MiB"),
        ("batch_size", None, None),
        ("batch_size_per_gpu", "micro_batch_size", None),
        ("world_size", "devices", None),
        ("# GPUs", "devices", None),
        ("GCDs", "devices", None),
        ("gbs", "global_batch_size", None),
        ("GBs", None, None),
        ("gpu", "place", None),
        ("avg_step_time_ms", None, "ms"),
        ("loss_min", None, None),
        ("target_epoch", None, None),
        ("", None, None),
    ],
)
def test_a_name_says_a_role_and_a_unit(name: str, role: str | None, unit: str | None) -> None:
    assert read_name(name) == (role, unit)


def test_each_name_of_the_table_claims_its_role_and_no_other() -> None:
    names = [name for role in ROLES for name in role.names]
    assert len(names) == len(set(names))
    for role in ROLES:
        for name in role.names:
            assert read_name(name).role == role.name, name


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["# GPUs,images/s", "1,402"], ("GPUs", "images/s")),
        (["# run of May, two nodes", "# epoch,loss", "1,2.3"], ("epoch", "loss")),
        (["# run of May, two nodes", "epoch,loss", "1,2.3"], ("epoch", "loss")),
        (["# lr=0.1, gpus=4", "0.5,2.3", "0.4,2.1"], ()),
        (["# epoch,loss,accuracy", "1,2.3", "2,2.1"], ()),
        (["# 1,2.3", "2,2.1", "3,2.0"], ()),
    ],
)
def test_a_comment_names_the_columns_where_the_first_row_is_one_of_numbers(
    lines: list[str], names: tuple[str, ...]
) -> None:
    assert csv_header("\n".join(lines).encode()) == names


@pytest.mark.parametrize(("unit", "seconds"), UNITS_OF_KIND["time"].items())
def test_times_become_seconds(unit: str, seconds: float, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,dt,loss", "1,3,2.5", "2,2,2.5", "3,4,2.5")
    found = asked(path, tmp_path, "SELECT step_s FROM steps ORDER BY step", f"batch_time=dt:{unit}")
    assert [step_s for (step_s,) in found] == pytest.approx([3 * seconds, 2 * seconds, 4 * seconds])


# What is not guessed


def test_a_time_without_a_unit_is_a_problem_that_names_the_map_and_the_map_settles_it(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,iter_time,loss", "1,250,2.5", "2,251,2.4")
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "--map batch_time=iter_time:UNIT" in reason
    assert asked(path, tmp_path, "SELECT step_s, loss FROM steps ORDER BY step") == [(None, 2.5), (None, 2.4)]
    assert asked(path, tmp_path, "SELECT value, unit FROM metrics WHERE name = 'iter_time'") == [
        (250, None),
        (251, None),
    ]
    told = "batch_time=iter_time:ms"
    assert asked(path, tmp_path, "FROM problems", told) == []
    assert asked(path, tmp_path, "SELECT step_s FROM steps ORDER BY step", told) == [(0.25,), (0.251,)]


def test_two_columns_that_claim_a_role_are_refused_until_a_map_says_which(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms,loss,train_loss", "1,250,2.5,3.5", "2,251,2.4,3.4")
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "loss and train_loss" in reason and "--map loss=loss or --map loss=train_loss" in reason
    assert asked(path, tmp_path, "SELECT DISTINCT loss FROM steps") == [(None,)]
    assert asked(path, tmp_path, "SELECT count(*) FROM metrics WHERE name IN ('loss', 'train_loss')") == [(4,)]
    assert asked(path, tmp_path, "SELECT loss FROM steps ORDER BY step", "loss=train_loss") == [(3.5,), (3.4,)]
    assert asked(path, tmp_path, "SELECT DISTINCT name FROM metrics", "loss=train_loss") == [("loss",)]


def test_gigabytes_and_accuracies_without_a_unit_stay_metrics(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms,peak_mem_gb,acc", "1,250,11.5,0.3", "2,251,11.5,0.4")
    assert asked(path, tmp_path, "SELECT DISTINCT peak_memory_bytes, accuracy FROM steps") == [(None, None)]
    assert asked(path, tmp_path, "FROM problems") == []
    found = asked(
        path, tmp_path, "SELECT peak_memory_bytes, accuracy FROM steps ORDER BY step",
        "peak_memory=peak_mem_gb:GiB", "accuracy=acc:%",
    )  # fmt: skip
    assert found == [(11.5 * 2**30, pytest.approx(0.003)), (11.5 * 2**30, pytest.approx(0.004))]


def test_another_time_needs_no_unit_where_the_time_of_the_step_is_known(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms,time,elapsed", "1,250,3,7", "2,251,4,8")
    assert asked(path, tmp_path, "FROM problems") == []
    assert asked(path, tmp_path, "SELECT DISTINCT name FROM metrics ORDER BY ALL") == [("elapsed",), ("time",)]


# Cumulative times


def growing(path: Path, name: str, steps: list[int], times: list[float]) -> Path:
    return table(path, f"step,{name},loss", *(f"{step},{time},2.5" for step, time in zip(steps, times, strict=True)))


def test_a_time_since_the_start_is_differenced(tmp_path: Path) -> None:
    path = growing(tmp_path / "a.csv", "elapsed_ms", [10, 20, 30, 40], [5000, 10000, 16000, 21000])
    found = asked(path, tmp_path, "SELECT step_s, averaged_steps, value_kind FROM steps ORDER BY step")
    assert found == [
        (None, None, None),
        (0.5, 10, "interval_mean"),
        (0.6, 10, "interval_mean"),
        (0.5, 10, "interval_mean"),
    ]


def test_a_time_since_the_start_that_goes_back_is_refused(tmp_path: Path) -> None:
    path = growing(tmp_path / "a.csv", "elapsed_ms", [10, 20, 30, 40], [5000, 10000, 9000, 21000])
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "goes back" in reason
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]


def test_without_a_step_a_time_since_the_start_is_of_epochs(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "epoch,elapsed_s,loss", "1,60,2.5", "2,121,2.4", "4,250,2.3")
    assert asked(path, tmp_path, "SELECT count(step_s), count(*) FROM steps") == [(0, 3)]
    assert asked(path, tmp_path, "SELECT phase, epoch, span_s, origin FROM phases") == [("epoch", 2, 61, "derived")]


def test_a_time_of_a_row_for_each_epoch_is_of_the_epoch(tmp_path: Path) -> None:
    rows = [f"{epoch},{30 + epoch % 2},2.5" for epoch in range(8)]
    path = table(tmp_path / "a.csv", "Epoch,Time(s),Train_Loss", *rows)
    assert asked(path, tmp_path, "SELECT count(step_s), count(*) FROM steps") == [(0, 8)]
    assert asked(path, tmp_path, "SELECT min(span_s), max(span_s), count(*) FROM phases") == [(30, 31, 8)]


def test_a_time_beside_every_tenth_step_may_be_of_ten_steps(tmp_path: Path) -> None:
    path = growing(tmp_path / "a.csv", "seconds", list(range(0, 300, 10)), [3.0 + k % 2 for k in range(30)])
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "--map batch_time=seconds:s" in reason
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]


def test_beside_a_rate_of_a_rank_the_other_one_is_of_the_job(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms,img/s,img/s/gpu", "1,250,2048,512", "2,251,2040,510")
    assert asked(path, tmp_path, "SELECT samples_per_s, rate_scope FROM steps") == [(2048, "global"), (2040, "global")]
    assert asked(path, tmp_path, "FROM problems") == []


@pytest.mark.parametrize("shape", ["falls", "grows", "grows, and is short"])
def test_a_column_called_time_is_what_its_values_say(shape: str, tmp_path: Path) -> None:
    chance = random.Random(3)
    steps = list(range(1, 11 if "short" in shape else 41))
    times = [round(chance.uniform(0.9, 1.1), 3) if shape == "falls" else 2.0 * step for step in steps]
    path = growing(tmp_path / "a.csv", "time_s", steps, times)
    found = asked(path, tmp_path, "SELECT step_s, value_kind FROM steps ORDER BY step")
    reasons = asked(path, tmp_path, "SELECT reason FROM problems")
    if shape == "falls":
        assert found == [(time, "instant") for time in times]
    elif shape == "grows":
        assert found == [(None, None), *[(2.0, "interval_mean")] * 39]
    else:
        assert {step_s for step_s, _ in found} == {None}
        assert "--map batch_time=time_s:s or --map elapsed=time_s:s" in reasons[0][0]
        assert asked(path, tmp_path, "SELECT max(step_s) FROM steps", "elapsed=time_s:s") == [(2.0,)]


def settling(shape: str, rows: int, noise: random.Random) -> list[float]:
    """Times that only grow, from row to row: of steps that come to rest, of a mean of them, or a clock's."""
    spans = [0.9 * noise.gauss(1, 0.003) * (6 if k == 0 else 1) for k in range(rows)]  # a slow first step
    if shape == "clock":
        return [round(sum(spans[: k + 1]), 3) for k in range(rows)]
    if shape == "mean":
        return [round((0.4 * 30 + sum(spans[1 : k + 1])) / (30 + k), 6) for k in range(rows)]
    rest = float(shape)
    return [round(0.4 + 0.5 * (1 - math.exp(-k / rest)), 6) for k in range(rows)]


@pytest.mark.parametrize("rows", [40, 170, 600])
@pytest.mark.parametrize("shape", ["clock", "mean", "60", "300", "1000"])
def test_a_time_that_grows_less_and_less_is_no_time_since_the_start(shape: str, rows: int, tmp_path: Path) -> None:
    times = settling(shape, rows, random.Random(rows))
    path = growing(tmp_path / "a.csv", "time_s", list(range(1, rows + 1)), times)
    ((timed,),) = asked(path, tmp_path, "SELECT count(step_s) FROM steps")
    assert timed == (rows - 1 if shape == "clock" else 0)
    reasons = asked(path, tmp_path, "SELECT reason FROM problems WHERE reason LIKE '%unclear which time%'")
    assert len(reasons) == (not timed)


@pytest.mark.parametrize("shape", ["clock", "mean", "60"])
def test_nor_is_one_that_does_so_in_each_epoch(shape: str, tmp_path: Path) -> None:
    of_epoch = [settling(shape, 40, random.Random(k)) for k in range(4)]
    rows = (f"{k // 40},{k % 40 + 1},{of_epoch[k // 40][k % 40]},{9 / (k + 1):.3f}" for k in range(160))
    path = table(tmp_path / "a.csv", "epoch,step,time_s,loss", *rows)
    ((timed,),) = asked(path, tmp_path, "SELECT count(step_s) FROM steps")
    assert timed == (156 if shape == "clock" else 0)


@pytest.mark.parametrize("cuts", [(1, 2), (7, 30), (2, 3), (31, 32)])
def test_the_growth_of_a_column_is_the_same_value_by_value_and_in_pieces(cuts: tuple[int, int]) -> None:
    values = np.cumsum(np.random.default_rng(3).normal(1, 0.1, 70))
    one, pieces = Growth(), Growth()
    for value in values:
        one.take(float(value))
    for piece in np.split(values, cuts):
        pieces.take_all(piece)
    assert vars(one).keys() == vars(pieces).keys()
    for name, found in vars(one).items():
        assert vars(pieces)[name] == pytest.approx(found)


def test_a_time_of_a_step_that_only_grows_is_refused(tmp_path: Path) -> None:
    path = growing(tmp_path / "a.csv", "step_time_s", list(range(30)), [2.0 * step for step in range(30)])
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "grows with each row" in reason
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]
    assert asked(path, tmp_path, "SELECT max(step_s) FROM steps", "elapsed=step_time_s:s") == [(2.0,)]
    assert asked(path, tmp_path, "SELECT max(step_s) FROM steps", "batch_time=step_time_s:s") == [(58.0,)]


# Steps, restarts, runs


@pytest.mark.parametrize("name", ["batch", "step"])
def test_a_step_that_begins_anew_with_each_epoch_is_counted_on(name: str, tmp_path: Path) -> None:
    rows = [f"{epoch},{batch},250" for epoch in (1, 2) for batch in (1, 2, 3)]
    path = table(tmp_path / "a.csv", f"epoch,{name},step_ms", *rows)
    found = asked(path, tmp_path, "SELECT step, attempt FROM steps ORDER BY line")
    assert [step for step, _ in found] == [0, 1, 2, 3, 4, 5]
    assert {attempt for _, attempt in found} == {0}


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_a_time_since_1970_tells_its_unit_by_its_size(per_second: int, tmp_path: Path) -> None:
    rows = (f"{step},{4 / step},{(1_700_000_000 + step) * per_second}" for step in range(1, 40))
    path = table(tmp_path / "train.csv", "step,loss,timestamp", *rows)
    found = asked(path, tmp_path, "SELECT epoch(min(ts)), epoch(max(ts)) FROM steps")
    assert found == [(1_700_000_001, 1_700_000_039)]


def test_clocks_of_trackers_tell_their_unit_by_their_size() -> None:
    scales, known = stamp_scales(np.array([1.7e9, 1.7e12, 1.7e15, 1.7e18, 5.0]))
    assert (scales.tolist(), known.tolist()) == ([1, 1e3, 1e6, 1e9, 1], [True, True, True, True, False])


def test_what_stands_in_an_array_in_place_of_a_record_is_shown(tmp_path: Path) -> None:
    rows = [{"step": step, "step_time_s": step / 4} for step in range(1, 40)]
    (tmp_path / "steps.json").write_text(json.dumps(rows)[:-1] + " and so on")
    found = asked(tmp_path / "steps.json", tmp_path, "SELECT text FROM problems WHERE text <> ''")
    assert found == [(" and so on",)]


def test_a_step_that_goes_back_is_a_restart(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms", "1,9", "2,8", "3,9", "step,step_ms", "2,8", "3,9")
    found = asked(path, tmp_path, "SELECT step, attempt FROM steps ORDER BY line")
    assert found == [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1)]


def test_interleaved_runs_of_one_table_are_apart(tmp_path: Path) -> None:
    rows = [f"{gpus},{step},{100 + gpus}" for step in (1, 2) for gpus in (4, 8)]
    path = table(tmp_path / "a.csv", "gpus,step,step_ms", *rows)
    found = asked(path, tmp_path, "SELECT devices, count(*), avg(step_s) FROM steps JOIN runs USING (run_id) GROUP BY 1 ORDER BY 1")  # fmt: skip
    assert found == [(4, 2, pytest.approx(0.104)), (8, 2, pytest.approx(0.108))]


def test_means_of_steps_are_of_runs_once_a_map_says_their_unit(tmp_path: Path) -> None:
    """A row, or each of several that a text names, is a run: never a step of one."""
    header = "config,schedule,global_batch_size,iter_time_mean,status"
    several = table(tmp_path / "a.csv", header, "a,1f1b,128,3.8,ok", "a,zb,128,4.1,ok", "a,dual,128,,oom")
    one = table(tmp_path / "b.csv", header, "a,1f1b,128,3.7,ok")
    statement = "SELECT value_kind, step_s FROM steps ORDER BY run_id, step_s"
    told = "batch_time=iter_time_mean:s"
    assert sorted(asked(several, tmp_path, statement, told)) == [("run_mean", 3.8), ("run_mean", 4.1)]
    outcomes = asked(several, tmp_path, "SELECT outcome, count(*) FROM runs GROUP BY 1", told)
    assert sorted(outcomes) == [("completed", 2), ("oom", 1)]
    assert asked(one, tmp_path, statement, told) == [("run_mean", 3.7)]


def test_times_of_whole_runs_are_compared_once_a_map_says_that_all_did_the_same(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "gpus,total_time_h", "1,10.2", "2,5.3")
    told = asked(path, tmp_path, "SELECT phase, span_s FROM phases ORDER BY span_s", "epoch_time=total_time_h:h")
    assert told == [("epoch", pytest.approx(19080)), ("epoch", pytest.approx(36720))]


@pytest.mark.parametrize("name", ["time_h", "total_time (h)", "duration_h"])
def test_an_h_after_a_time_is_of_hours(name: str) -> None:
    assert words_of(name)[1] == "h"
    assert words_of("latency_h")[1] is None  # of a height, a half, or anything


def test_utilization_beside_steps_or_an_energy_is_not_told_to_lack_a_power() -> None:
    assert lacking_power(b"step,gpu_util,gpu_mem\n1,97,30\n") is None
    assert lacking_power(b"gpu_util,gpu_mem,energy_j\n97,30,5\n") is None
    assert lacking_power(b"name,memory,price\na,30,5\n") is None


# Markdown


def test_a_document_with_a_study_says_so_and_is_read_when_asked(run: Run, tmp_path: Path) -> None:
    """A README repeats what the logs beside it say: each run would count twice."""
    study = tmp_path / "RESULTS.md"
    study.write_text("# Results\n\n| GPUs | images/s |\n|---|---|\n| 1 | 390 |\n| 8 | 2950 |\n")
    said = run("ingest", study, "-w", tmp_path / "w").err
    assert "a document with a table of GPUs, images/s; --documents reads documents, too" in said
    assert "plot -o figure.pdf" in run("ingest", study, "-w", tmp_path / "w", "--documents").err
    rates = run("query", "throughput", "-w", tmp_path / "w", "--format", "csv").out
    assert "390" in rates and "2950" in rates


@pytest.mark.parametrize("rates", [("1,52", "2,95"), ("1,520", "2,950"), ("~390", "~770"), ("n/a", "fast")])
def test_commas_that_may_stand_for_points_and_rough_numbers_are_not_read(
    rates: tuple[str, str], tmp_path: Path
) -> None:
    text = f"| GPUs | images/s |\n|---|---|\n| 1 | {rates[0]} |\n| 2 | {rates[1]} |\n"
    (tmp_path / "a.txt").write_text(text)
    assert asked(tmp_path / "a.txt", tmp_path, "SELECT count(*) FROM steps") == [(0,)]


def test_times_of_other_settings_are_not_those_of_steps(tmp_path: Path) -> None:
    """A benchmark of inference has a row for each batch, of which the time goes up and down as that of steps does."""
    sizes = [(batch, tokens) for tokens in (64, 128, 256) for batch in (1, 2, 4, 8, 16, 32, 64, 128)]
    rows = [f"{k},{b},{n},{0.4 + n / 64 + b / 90:.3f},{b * n / 3:.1f}" for k, (b, n) in enumerate(sizes)]
    path = table(tmp_path / "a.csv", ",batch_size,new_tokens,time (s),throughput (tokens/s)", *rows)
    ((note,),) = asked(path, tmp_path, "SELECT note FROM files")
    assert "if time (s) is one, use --map" in note
    same = table(
        tmp_path / "b.csv", "batch_size,time_s,tokens_per_s", *(f"8,{0.4 + k % 3 / 9:.3f},9" for k in range(24))
    )
    assert asked(same, tmp_path, "SELECT count(step_s) FROM steps") == [(24,)]


def test_words_that_are_no_outcomes_are_none(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "gpus,step_ms,status", "1,250,ok", "2,130,warm")
    assert asked(path, tmp_path, "SELECT DISTINCT outcome FROM runs") == [("unknown",)]


def test_an_energy_without_a_unit_is_read_with_a_map_that_says_it(tmp_path: Path) -> None:
    rows = [f"{gpu},{run},{name},{value}" for gpu in ("H100", "A100") for run in (1, 2)
            for name, value in (("Energy", run / 2), ("Time", f"00:0{run}:00"))]  # fmt: skip
    path = table(tmp_path / "a.csv", "gpu,run,metric,value", *rows)
    ((note,),) = asked(path, tmp_path, "SELECT note FROM files")
    assert "--map energy=Energy:UNIT" in note
    found = asked(
        path, tmp_path, "SELECT name, energy_j, span_s FROM energy JOIN runs USING (run_id)", "energy=Energy:kWh"
    )
    assert sorted(found) == [(f"{gpu} {run}", run * 1.8e6, 60.0 * run) for gpu in ("A100", "H100") for run in (1, 2)]


@pytest.mark.parametrize("keys", ["time_s", "step", "gpu"])
def test_energies_in_a_long_table_of_a_series_or_of_devices_are_no_runs(keys: str, tmp_path: Path) -> None:
    rows = [f"{k},{name},{value}" for k in range(8) for name, value in (("energy_j", 5.0 + k % 3), ("time_s ", 2.0))]
    path = table(tmp_path / "a.csv", f"{keys},metric,value", *rows)
    assert asked(path, tmp_path, "SELECT count(*) FROM energy") == [(0,)]


# Who comes first, and what is left alone


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("dataset,optimizer,time_per_epoch\ncifar,adam,11.2\n", "without a step, an epoch or a time per step"),
        ("timestamp,gpu,temperature.gpu\n2025-09-08T17:26:50+08:00,0,74.01\n", "without a step, an epoch"),
        ("epoch,power\n1795238790,74.01\n1795238791,75.01\n", "without a step, an epoch"),
        ("step,what\n1,mix\n2,stir\n", "with steps and no other numbers"),
        ("step,metric,value\n1,loss,2.5\n1,loss,2.4\n1,lr,0.1\n", "one value in each row, which metric names"),
        (
            "config,iter_time_mean\na,0.25\nb,0.5\n",
            "if iter_time_mean is one, use --map batch_time=iter_time_mean:UNIT",
        ),
        ("procs,avg step time [s]\n1,0.52\n2,0.27\n", "and --map devices=procs if each has a device"),
        ("gpus,throughput\n4,4120\n8,8190\n", "use --map samples_per_s=throughput or --map tokens_per_s=throughput"),
        ("gpu,clock_mhz,power_w\n0,1310,214.5\n1,1305,211.9\n", "power_w is a power at no time"),
        ("gpu,clock_mhz,power\n0,1310,214.5\n1,1305,211.9\n", "--map step=COLUMN"),  # of any unit
        ("gpu,num,images_per_s\nA100,1,780\nA100,8,5900\n", "if num counts the devices, use --map devices=num"),
        ("gpus,total_time_h\n1,10.2\n4,2.8\n", "or, if all did the same, --map epoch_time=total_time_h:h compares"),
        (
            "timestamp, utilization.gpu [%], memory.used [MiB]\n2026/01/02 03:04:05.678, 97 %, 30211 MiB\n",
            "add timestamp, index and power.draw to nvidia-smi's --query-gpu",
        ),
        ("time_s,cpu_percent,mem_percent\n0.0,31.5,12.0\n", "samples of cpu_percent, mem_percent without a power"),
        ("config,iter_no_of_all,x\na,1,0.25\nb,2,0.5\n", "use --map step=iter_no_of_all"),
        ("rank,model,step_ms\n0,a,250\n1,b,251\n", "model differs from row to row"),
        ("gpus,step_ms\n" + 11 * "4,250\n" + "8,251\n", "gpus differs from row to row"),  # steps, or repeats?
        ('{"a": 1.5}\n{"a": 2.5}\n', "without a step, an epoch"),
        ('{"world_size": 4, "per_rank": [{"mean_step_sec": 0.5}]}', "without a number of devices and a mean"),
        ("a log, of two\nlines, of text\n", "no known format"),
        ("1,2\n3,4\n", "no known format"),
        ("a,a\n3,4\n", "no known format"),
    ],
)
def test_what_is_no_table_of_steps_is_left_with_the_reason(text: str, lacking: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    ((status, note),) = asked(tmp_path / "a.txt", tmp_path, "SELECT status, note FROM files")
    assert status == "unknown"
    assert lacking in note


def test_fixtures_of_other_formats_are_taken_by_none_of_these(tmp_path: Path) -> None:
    ours = {name_of(format) for format in LOADED.last} - {"energy_table", "power_csv"}
    assert ours == {
        "column_lines", "generic_csv", "generic_json", "generic_jsonl", "generic_lines", "generic_markdown",
                "headed_lines", "json_lists",
            "numbered_lines",
        "power_lines",
        "run_summary",
        "stated_means",
    }  # fmt: skip
    names = {name_of(format) for format in (*LOADED.of_lines, *LOADED.of_files)} - ours
    files = [path for name in names for path in (FIXTURES / name).glob("*")]
    others = [
        path for path in files if path.suffix != ".status" and not (path.suffix == ".csv" and path.name.count(".") > 1)
    ]
    ingest(others, tmp_path / "w", jobs=1)
    found = answer(tmp_path / "w", "SELECT path, formats FROM files").fetchall()
    assert len(found) > 50
    assert [path for path, taken in found if ours & set(taken)] == []


def test_a_mapping_is_part_of_what_decides_whether_a_table_is_read_again(run: Run, tmp_path: Path) -> None:
    table(tmp_path / "logs" / "a.csv", "it,iter_time,cost", "1,250,2.5", "2,251,2.4")
    power = next(path for path in sorted((FIXTURES / "jpwr").glob("*.csv")) if path.name.count(".") == 1)
    (tmp_path / "logs" / "power.csv").write_bytes(power.read_bytes())  # no mapping has to do with it
    again = ("ingest", tmp_path / "logs", "-w", tmp_path / "w")
    told = ("--map", "batch_time=iter_time:ms", "--map", "loss=cost")
    assert "columns of a.csv: step=it; metrics: iter_time, cost" in run(*again).err
    assert "--map batch_time=iter_time" in run("sql", "SELECT reason FROM problems", "-w", tmp_path / "w").out
    assert "2 files have not changed" in run(*again).err
    second = run(*again, *told)
    assert "columns of a.csv: step=it, batch_time=iter_time [ms], loss=cost" in second.err
    assert "1 files have not changed" in second.err
    assert run("sql", "SELECT step_s, loss FROM steps", "-w", tmp_path / "w").out.split()[1:] == [
        "0.25,2.5",
        "0.251,2.4",
    ]
    assert "2 files have not changed" in run(*again, *told).err


def test_columns_are_printed_once_for_each_header_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    for number in range(3):
        table(tmp_path / "logs" / f"{number}.csv", "step,step_ms", f"1,{number}", "2,251")
    table(tmp_path / "logs" / "other.csv", "step,step_us", "1,250", "2,251")
    ran = run("ingest", tmp_path / "logs", "-w", tmp_path / "w", "--dry-run")
    said = [line for line in ran.err.splitlines() if line.startswith("columns of ")]
    assert said == [
        "columns of 0.csv and 2 more: step=step, batch_time=step_ms [ms]",
        "columns of other.csv: step=step, batch_time=step_us [us]",
    ]
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("nothing=x", "does not name a role"),
        ("batch_time", "does not name a role"),
        ("batch_time=", "does not name a role"),
        ("batch_time=dt", "has no unit"),
        ("accuracy=acc", "has no unit"),
    ],
)
def test_a_mapping_that_says_nothing_is_wrong_use(run: Run, tmp_path: Path, said: str, told: str) -> None:
    path = table(tmp_path / "a.csv", "step,dt", "1,250")
    one_line(run("ingest", path, "-w", tmp_path / "w", "--map", said), told)
    one_line(run("identify", path, "--map", said), told)


def test_a_role_may_be_given_once() -> None:
    with pytest.raises(UserError, match="two columns"):
        mapped(["loss=a", "loss=b"])
    assert mapped(["batch_time=a:b:ms", "elapsed=x_s"]) == {"batch_time": ("a:b", "ms"), "elapsed": ("x_s", "s")}


def test_a_mapping_of_a_column_that_is_not_there_is_said(run: Run, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,dt", "1,250")
    one_line(run("identify", path, "--map", "batch_time=tick:ms"), "has no column tick", "step, dt")


# Identify and presets


def test_identify_shows_the_roles_and_what_would_settle_the_rest(run: Run, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms,acc,foo,note", "1,250,0.5,7,fine")
    ran = run("identify", path)
    assert [line.split() for line in ran.err.splitlines()[:6]] == [
        ["a.csv:", "ok"],
        ["step", "step"],
        ["batch_time", "step_ms", "ms"],
        ["a", "metric", "acc"],
        ["a", "metric", "foo"],
        ["text", "note"],
    ]
    assert "--map accuracy=acc:% or --map accuracy=acc:1" in ran.err
    assert "generic_csv,steps,1,2,2" in ran.out


@pytest.mark.parametrize(
    "fixture",
    ["generic_csv/batches.csv", "generic_csv/sizes.csv", "generic_csv/epochs.csv", "generic_jsonl/steps.jsonl"],
)
def test_a_preset_gives_the_same_rows(fixture: str, tmp_path: Path) -> None:
    path, folder = FIXTURES / fixture, tmp_path / "own"
    folder.mkdir()
    identify(path, preset=folder / "mine.py")
    assert check_formats(folder) == []
    tables = {}
    for name, folders in (("guessed", ()), ("preset", (folder,))):
        ingest([path], tmp_path / name, jobs=1, format_folders=folders)
        connection = scalelens.connect(tmp_path / name)
        ((taken,),) = connection.execute("SELECT formats FROM files").fetchall()
        assert taken == ["mine" if folders else path.parent.name]
        tables[name] = {
            table: sorted(connection.execute(f"FROM {table}").fetchall(), key=repr)
            for table in ("steps", "phases", "metrics", "params")
        }
    assert tables["preset"] == tables["guessed"]
    assert tables["preset"]["steps"]


def test_a_new_preset_takes_over_what_was_guessed(tmp_path: Path) -> None:
    path, folder = table(tmp_path / "a.csv", "step,iter_time", "1,250", "2,251"), tmp_path / "own"
    folder.mkdir()
    ingest([path], tmp_path / "w", jobs=1)
    identify(path, mapping=("batch_time=iter_time:ms",), preset=folder / "mine.py")
    report = ingest([path], tmp_path / "w", jobs=1, format_folders=(folder,))
    assert [entry.formats for entry in report.entries] == [["mine"]]
    assert answer(tmp_path / "w", "SELECT sum(step_s) FROM steps").fetchall() == [(0.501,)]


def test_a_preset_is_written_once_and_for_tables_alone(run: Run, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms", "1,250")
    assert "formats --check" in run("identify", path, "--preset", tmp_path / "mine.py").err
    one_line(run("identify", path, "--preset", tmp_path / "mine.py"), "cannot be written", "File exists")
    one_line(run("identify", path, "--preset", tmp_path / "my-own.py"), "not a name for a format file")
    (tmp_path / "a.log").write_text("nothing\n")
    one_line(run("identify", tmp_path / "a.log", "--preset", tmp_path / "b.py"), "not a table")


def test_a_preset_with_a_wrong_role_or_column_says_so(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "step,step_ms", "1,250", "2,251")
    folder = tmp_path / "own"
    folder.mkdir()
    identify(path, preset=folder / "mine.py")
    text = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(text.replace('"step": "step"', '"step": "it"'))
    ingest([path], tmp_path / "w", jobs=1, format_folders=(folder,))
    found = answer(tmp_path / "w", "SELECT reason FROM problems").fetchall()
    assert found == [("there is no column it for the role step",)]
    (folder / "mine.py").write_text(text.replace('"step": "step"', '"stride": "step"'))
    with pytest.raises(UserError, match="stride is not a role"):
        ingest([path], tmp_path / "v", jobs=1, format_folders=(folder,))


def test_the_epicure_preset_takes_its_header_and_no_other(tmp_path: Path) -> None:
    fixture = FIXTURES / "epicure_vision" / "two_epochs.csv"
    assert asked(fixture, tmp_path, "SELECT formats FROM files") == [(["epicure_vision"],)]
    path = tmp_path / "b.csv"
    path.write_text(fixture.read_text().replace("data_time", "wait_time"))
    assert asked(path, tmp_path, "SELECT formats FROM files") == [(["generic_csv"],)]
    left_out = asked(fixture, tmp_path, "SELECT list_sort(list(DISTINCT rule)) FROM (SELECT unnest(excluded_by) AS rule FROM selected_steps())")  # fmt: skip
    assert {"first_of_epoch", "last_of_epoch"} <= set(left_out[0][0])


# Summaries


def test_of_a_summary_the_median_counts_and_the_slowest_rank(tmp_path: Path) -> None:
    path = FIXTURES / "run_summary" / "two_ranks.json"
    assert asked(path, tmp_path, "SELECT n_steps, step_s, value_kinds FROM batch_stats()") == [(1, 0.25, "run_median")]
    assert asked(path, tmp_path, "SELECT value_kind, step_s, ranks FROM step_times ORDER BY ALL") == [
        ("run_mean", 0.2515, 2),
        ("run_median", 0.25, 2),
    ]
    facts = "SELECT devices, nodes, model, precision, micro_batch_size, global_batch_size FROM runs"
    assert asked(path, tmp_path, facts) == [(2, 1, "resnet50", "bf16", 64, 128)]


def test_summaries_of_several_sizes_are_a_series(tmp_path: Path) -> None:
    said = json.loads((FIXTURES / "run_summary" / "two_ranks.json").read_text())
    for devices, median_ms in ((2, 250.0), (4, 260.0)):
        said |= {"world_size": devices, "global_batch_size": 64 * devices, "median_step_time_ms": median_ms}
        said |= {"per_rank": [], "mean_step_time_ms": 300.0}
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{devices}.json").write_text(json.dumps(said))
    found = asked(
        tmp_path / "logs", tmp_path, "SELECT scaling, devices, step_s, efficiency FROM scaling() ORDER BY devices"
    )
    assert found == [("weak", 2, 0.25, 1.0), ("weak", 4, 0.26, pytest.approx(0.25 / 0.26))]


def test_values_alone_decide_nothing_without_a_name() -> None:
    seen = {name: ColumnValues() for name in ("alpha", "beta")}
    for values in seen.values():
        values.numbers = 30
    assert [one.role for one in assign(seen, {})] == [None, None]


# Time stamps, and losses of several names


def stamped(path: Path, stamps: list[float], *others: str) -> Path:
    rows = (f"{10 * k},{stamp},2.5,{others[k % len(others)] if others else ''}" for k, stamp in enumerate(stamps))
    return table(path, "step,timestamp,loss,val_loss", *rows)


@pytest.mark.parametrize(
    ("stamps", "timed"),
    [
        ([1772409600.5 + 4.5 * k for k in range(8)], 7),
        ([1772409600 + 30 * k + k % 2 for k in range(8)], 7),
        ([1772409600 + 4 * k for k in range(8)], 0),  # too coarse
        ([1772409600 + 3600 * k for k in range(8)], 0),  # a series of data, by the hour
        ([1772409600.5] * 8, 0),
        ([1772409600.5 + 500 * (k // 20) + k / 50 for k in range(60)], 0),  # in bursts
    ],
)
def test_time_stamps_are_the_time_of_steps_where_they_are_fine_enough(
    tmp_path: Path, stamps: list[float], timed: int
) -> None:
    path = stamped(tmp_path / "a.csv", stamps)
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(timed,)]
    origin = asked(path, tmp_path, "SELECT value FROM params WHERE key = 'step_s_origin'")
    assert origin == ([("derived",)] if timed else [])


def test_no_time_is_taken_from_stamps_next_to_a_validation(tmp_path: Path) -> None:
    path = stamped(tmp_path / "a.csv", [1772409600.5 + 4.5 * k for k in range(12)], "", "", "", "2.5")
    found = asked(path, tmp_path, "SELECT step, step_s FROM steps WHERE step_s IS NOT NULL ORDER BY step")
    assert found == [(10, 0.45), (20, 0.45), (50, 0.45), (60, 0.45), (90, 0.45), (100, 0.45)]


@pytest.mark.parametrize(
    ("names", "loss"),
    [
        ("total_loss box_loss", "total_loss"),
        ("loss total_loss", "loss"),
        ("NER_loss", "NER_loss"),
        ("loss_all mask_loss val_total_loss", "loss_all"),
        ("mask_loss box_loss", None),
        ("part_loss loss_scaled", None),
        ("best_loss", None),
        ("aux_loss", None),
        ("val_loss", None),
        ("loss_scale", None),
    ],
)
def test_the_total_loss_or_the_only_one_is_the_loss(names: str, loss: str | None) -> None:
    rows = Survey(iter([TableRecord(k, dict.fromkeys(names.split(), 2.5 - k), None, "") for k in range(3)]))
    assert [reading.column for reading in assign(rows.columns, {}) if reading.role == "loss"] == [loss] * bool(loss)


PROFILES = {  # tables in which each row is something that a profiler timed
    "kernels": "Kernel Name,Grid,Duration (ns)",
    "calls": "Function,Process,Duration (ms)",
    "ranges": "range,thread,time_us",
    "without a name": "Start (ns),Duration (ns),Stream",
}


@pytest.mark.parametrize("header", PROFILES.values(), ids=PROFILES)
def test_what_a_profiler_timed_is_not_a_step(tmp_path: Path, header: str) -> None:
    named, took = ["gemm", "add", "norm"], [5.5, 3.25, 8.75]
    first = [str(n * 40) if header.startswith("Start") else named[n % 3] for n in range(60)]
    rows = [f"{first[n]},{took[n % 3]},{took[n % 3]}" for n in range(60)]
    (tmp_path / "profile.csv").write_text("\n".join([header, *rows, ""]))
    ingest([tmp_path / "profile.csv"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT count(*) FROM steps").fetchall() == [(0,)]


NO_HISTORIES = {  # lists of objects in a document that are no course of a training
    "a recipe": {"steps": [{"step": 1, "text": "mix", "time": 30.5}, {"step": 2, "text": "bake", "time": 600.25}]},
    "an agent": {"history": [{"step": 1, "reward": 0.5, "action": 3}, {"step": 2, "reward": 0.75, "action": 1}]},
    "a table of results": {"results": [{"epoch": 30, "loss": 0.25}, {"epoch": 10, "loss": 0.5}]},
    "two courses": {k: [{"epoch": n, "loss": 1 / n} for n in (1, 2, 3)] for k in ("train", "validation")},
    "one epoch": {"epochs": [{"epoch": 1, "loss": 0.25}]},
    "models": {"models": [{"name": "a", "accuracy": 0.5}, {"name": "b", "accuracy": 0.75}]},
}


@pytest.mark.parametrize("name", NO_HISTORIES)
def test_objects_that_count_no_course_are_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(NO_HISTORIES[name], indent=1))
    assert asked(tmp_path / "a.json", tmp_path, "SELECT count(*) FROM steps") == [(0,)]


@pytest.mark.parametrize(
    "table",
    [
        "| GPUs | price per hour |\n|---|---|\n| 1 | 2.10 |\n| 8 | 15.90 |",
        "| GPUs | images/s |\n|---|---|\n| many | fast |\n| few | slow |",
        "| GPUs | images/s |\n|---|---|\n| 8 | 1,52 |\n| 16 | 2,95 |",  # a comma that may be a decimal mark
    ],
)
def test_other_tables_of_markdown_are_no_study(table: str) -> None:
    assert markdown.study_in(f"# Results\n\n{table}\n".encode()) is None
    study = "| GPUs | images/s |\n|---|---|\n| 8 | 1520 |\n| 16 | 2950 |"
    assert markdown.study_in(f"# Results\n\n{study}\n".encode()) is not None
