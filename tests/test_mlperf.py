"""MLPerf submissions: their layout, the scores, and facts of the system file."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scalelens
from asking import answer
from command_line import Run
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.mlperf import platform_of

SECOND = 1_000


def mllog(key: str, seconds: float, value: object = None, **metadata: object) -> str:
    stamp = 1_800_000_000_000 + round(seconds * SECOND)
    return f":::MLLOG {json.dumps({'time_ms': stamp, 'key': key, 'value': value, 'metadata': metadata})}\n"


def result(seconds: float, status: str | None = "success", batch: int = 64) -> str:
    """A log that trains for some seconds.  Without a status it ends before its run_stop."""
    lines = mllog("submission_division", 0, "open") + mllog("global_batch_size", 0, batch)
    lines += mllog("gradient_accumulation_steps", 0, 1) + mllog("d_batch_size", 0, 4) + mllog("run_start", 5)
    lines += mllog("tracked_stats", 6, {"throughput": 100.0}, step=1)
    return lines + (mllog("run_stop", 5 + seconds, status=status) if status else "")


def submission(
    folder: Path, minutes: list[float], failed: tuple[int, ...] = (), benchmark: str = "toy", system: str = "2xBOX"
) -> Path:
    """Results of one benchmark; those whose places are in `failed` did not converge."""
    results = folder / "acme" / "results" / system / benchmark
    results.mkdir(parents=True)
    for place, time in enumerate(minutes):
        log = result(time * 60, "aborted" if place in failed else "success")
        (results / f"result_{place}.txt").write_text(log)
    return results


def system_file(folder: Path, system: str = "2xBOX", accelerators: int = 4, nodes: int = 2) -> None:
    systems = folder / "acme" / "systems"
    systems.mkdir(parents=True, exist_ok=True)
    facts = {
        "submitter": "ACME Inc.", "division": "closed", "system_name": "BOX", "number_of_nodes": str(nodes),
        "host_processors_per_node": "2", "host_processor_model_name": "Processor 9",
        "accelerators_per_node": str(accelerators),
        "accelerator_model_name": "NVIDIA A100-SXM4-40GB" if accelerators else "N/A",
    }  # fmt: skip
    (systems / f"{system}.json").write_text(json.dumps(facts, indent=1))


def score(tmp_path: Path) -> dict[str, Any]:
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    (row,) = scalelens.query("mlperf_scores", tmp_path / "w").to_dicts()
    return row


@pytest.mark.parametrize(
    ("minutes", "failed", "mean"),
    [
        ([10, 12, 20, 11, 13], (), (11 + 12 + 13) / 3),
        ([float(k) for k in range(1, 11)], (), 5.5),
        ([10, 12, 1, 11, 13], (2,), 12),  # the one that failed after a minute counts as the slowest
        ([10, 12, 20], (), 12),
        ([float(k * k) for k in range(1, 41)], (), sum(k * k for k in range(5, 37)) / 32),
        ([float(k) for k in range(1, 41)], (0, 1, 2, 3), sum(range(9, 41)) / 32),
    ],
    ids=["5", "10", "5, one failed", "3", "40", "40, four failed"],
)
def test_score_leaves_out_the_fastest_and_the_slowest(
    tmp_path: Path, minutes: list[float], failed: tuple[int, ...], mean: float
) -> None:
    submission(tmp_path, minutes, failed)
    system_file(tmp_path)
    row = score(tmp_path)
    assert (row["n_results"], row["n_converged"]) == (len(minutes), len(minutes) - len(failed))
    assert row["minutes"] == pytest.approx(mean)
    assert (row["submitter"], row["system"], row["benchmark"]) == ("acme", "2xBOX", "toy")
    assert (row["division"], row["nodes"], row["devices"], row["note"]) == ("closed", 2, 8, None)


@pytest.mark.parametrize(
    ("minutes", "failed", "benchmark", "note"),
    [
        ([10, 12, 11, 13, 14], (0, 1), "toy", "2 results did not converge, and at most 1 may"),
        ([float(k) for k in range(1, 41)], (0, 1, 2, 3, 4), "unet3d", "5 results did not converge, and at most 4 may"),
        ([10, 12], (), "toy", "MLPerf requires 3 results"),
        ([10, 12, 11, 13], (), "resnet", "MLPerf requires 5 results"),
    ],
)
def test_no_score_without_enough_results(
    tmp_path: Path, minutes: list[float], failed: tuple[int, ...], benchmark: str, note: str
) -> None:
    submission(tmp_path, minutes, failed, benchmark)
    system_file(tmp_path)
    row = score(tmp_path)
    assert (row["minutes"], row["note"]) == (None, note)


def test_a_result_that_is_cut_or_empty_is_one_that_did_not_converge(tmp_path: Path) -> None:
    results = submission(tmp_path, [10, 12, 11, 13])
    (results / "result_4.txt").write_text(result(60, None))
    system_file(tmp_path)
    row = score(tmp_path)
    assert (row["n_results"], row["n_converged"], row["minutes"]) == (5, 4, pytest.approx(12))
    (results / "result_4.txt").write_text("")
    assert score(tmp_path) == row


def test_a_result_is_a_run_and_its_neighbours_are_none(tmp_path: Path) -> None:
    results = submission(tmp_path, [10, 12, 11])
    (results / "compliance_17.out").write_text("INFO - Running compliance\n" + result(60))
    (results / "scaling.json").write_text('{"scaling_factor": 1.004}')
    system_file(tmp_path)
    system_file(tmp_path, "another")
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    runs = answer(tmp_path / "w", "SELECT parse_filename(path), nodes, devices, device_model FROM runs ORDER BY ALL")
    assert runs.fetchall() == [(f"result_{k}.txt", 2, 8, "NVIDIA A100-SXM4-40GB") for k in range(3)]
    files = answer(tmp_path / "w", "SELECT status FROM files WHERE path LIKE '%.out' OR path LIKE '%scaling.json'")
    assert files.fetchall() == [("document",), ("document",)]


def test_other_files_in_such_folders_are_not_results(tmp_path: Path) -> None:
    folder = tmp_path / "acme" / "results" / "study" / "ranks"
    folder.mkdir(parents=True)
    for rank in range(2):
        lines = (f"{rank}: DLL 2026-01-02 03:04:0{k}.5 - Epoch: 0 Iteration: {k}  train.loss : 1.5\n" for k in range(3))
        (folder / f"result_{rank}.txt").write_text("".join(lines))
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT count(*) FROM runs").fetchall() == [(1,)]
    assert answer(tmp_path / "w", "FROM mlperf_scores()").fetchall() == []


def test_results_of_one_job_are_runs_of_their_own(tmp_path: Path) -> None:
    results = submission(tmp_path, [10, 12])
    for log in results.glob("result_*.txt"):
        log.write_text(":::DLPAL image 4711 2 n[1-2] 'toy' BOX_002x04x004\n" + log.read_text())
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    ((count,),) = answer(tmp_path / "w", "SELECT count(*) FROM runs").fetchall()
    assert count == 2


def test_arithmetic_never_stands_against_the_system_file(tmp_path: Path) -> None:
    """64 samples in micro-batches of 4 look like 16 devices; the system file that comes later says 8."""
    submission(tmp_path, [10])
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT devices FROM runs").fetchall() == [(16,)]
    system_file(tmp_path)
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT devices FROM runs").fetchall() == [(8,)]
    disputed = "SELECT value, origin, chosen FROM contradictions() WHERE key = 'devices' ORDER BY ALL"
    assert answer(tmp_path / "w", disputed).fetchall() == [("16", "inferred", False), ("8", "environment", True)]


def test_what_the_log_states_wins_over_a_system_file_that_was_copied(tmp_path: Path) -> None:
    (log,) = submission(tmp_path, [10]).glob("*.txt")
    log.write_text(mllog("number_of_nodes", 0, 16) + mllog("accelerators_per_node", 0, 4) + log.read_text())
    system_file(tmp_path)
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT nodes, devices FROM runs").fetchall() == [(16, 64)]
    (row,) = scalelens.query("mlperf_scores", tmp_path / "w").to_dicts()
    assert (row["devices"], row["note"]) == (8, "MLPerf requires 3 results; the logs state 64 devices")


@pytest.mark.parametrize(
    ("before", "devices"),
    [
        (mllog("init_start", 0) * 8 + mllog("submission_benchmark", 0, "toy"), 8),
        ((mllog("init_start", 0) + mllog("submission_benchmark", 0, "toy")) * 2, 16),  # every line is printed twice
        (mllog("number_of_ranks", 0, 32), 32),
        ("", 16),
    ],
    ids=["ranks that begin", "a copy of each line", "number of ranks", "batches"],
)
def test_devices_are_those_of_the_ranks_before_those_of_the_batches(tmp_path: Path, before: str, devices: int) -> None:
    (log,) = submission(tmp_path, [10]).glob("*.txt")
    log.write_text(before + log.read_text())
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT devices FROM runs").fetchall() == [(devices,)]
    assert answer(tmp_path / "w", "SELECT count(*) FROM params WHERE key = 'devices'").fetchall() == [(1,)]


def test_systems_without_accelerators_have_no_devices_in_their_score(tmp_path: Path) -> None:
    submission(tmp_path, [10, 11, 12])
    system_file(tmp_path, accelerators=0)
    assert (score(tmp_path)["nodes"], score(tmp_path)["devices"]) == (2, None)
    runs = answer(tmp_path / "w", "SELECT DISTINCT devices, device_unit, device_model FROM runs")
    assert runs.fetchall() == [(4, "cpu", "Processor 9")]


def test_systems_with_the_same_bytes_each_have_their_results(tmp_path: Path) -> None:
    for system in ("small", "small-too"):
        submission(tmp_path, [10, 11, 12 + len(system)], system=system)
        system_file(tmp_path, system)
    ingest([tmp_path / "acme"], tmp_path / "w", jobs=1)
    rows = answer(tmp_path / "w", "SELECT system, devices, n_results, minutes FROM mlperf_scores()").fetchall()
    assert rows == [("small", 8, 3, pytest.approx(11)), ("small-too", 8, 3, pytest.approx(11))]


def test_without_a_system_file_the_logs_count(tmp_path: Path) -> None:
    submission(tmp_path, [10, 11, 12])
    row = score(tmp_path)
    assert (row["division"], row["devices"], row["minutes"]) == ("open", 16, pytest.approx(11))
    assert row["note"] == "no system file"


def train(*steps: int, batch: int = 8, counted: bool = True, own: bool = False) -> str:
    """A log whose `step` is what the caller says, at two samples a second."""
    lines = mllog("global_batch_size", 0, batch) + mllog("run_start", 0) + mllog("block_start", 0, samples_count=0)
    for step in steps:
        count = {"samples_count": step} if own else {}
        lines += mllog("tracked_stats", step / 2, {"throughput": 2.0}, step=step, **count)
        lines += mllog("block_stop", step / 2, **({"samples_count": step} if counted else {}))
    return lines + mllog("run_stop", steps[-1] / 2, status="success")


@pytest.mark.parametrize(
    ("log", "steps_done", "last", "step_s"),
    [
        (train(64, 96, 128), 16, 16, 4.0),
        (train(64, 96, 128, counted=False, own=True), 16, 16, 4.0),
        (train(64, 96, 128, counted=False), 65, 128, 4.0),  # nothing says that these are samples
        (train(1, 2, 3, counted=False), 3, 3, 4.0),
    ],
    ids=["blocks count samples", "records count samples", "steps", "epochs"],
)
def test_steps_that_count_samples_are_steps(
    tmp_path: Path, log: str, steps_done: int, last: int, step_s: float
) -> None:
    (tmp_path / "result_0.txt").write_text(log)
    ingest([tmp_path / "result_0.txt"], tmp_path / "w", jobs=1)
    statement = "SELECT max(step), median(step_s) FROM step_times"
    assert answer(tmp_path / "w", statement).fetchall() == [(last, step_s)]
    assert answer(tmp_path / "w", "SELECT steps_done FROM work_done()").fetchall() == [(steps_done,)]


def test_a_run_that_goes_on_from_a_checkpoint_has_only_its_own_steps(tmp_path: Path) -> None:
    log = train(640, 672).replace('"samples_count": 0', '"samples_count": 608')
    (tmp_path / "result_0.txt").write_text(log)
    ingest([tmp_path / "result_0.txt"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT steps_done FROM work_done()").fetchall() == [(8,)]


@pytest.mark.parametrize("old", [False, True], ids=["MLLOG", "MLL"])
def test_an_epoch_that_is_logged_and_derived_is_one(tmp_path: Path, old: bool) -> None:
    """MXNet prints its line before the stop or after it; the third epoch is not printed at all."""

    def at(key: str, seconds: float, epoch: int) -> str:
        if old:
            return f":::MLL {1_800_000_000 + seconds:.3f} {key}: {json.dumps({'metadata': {'epoch_num': epoch}})}\n"
        return mllog(key, seconds, epoch_num=epoch)

    def logged(epoch: int, seconds: float) -> str:
        return f"2026-11-22 10:00:{seconds:06.3f} Node[0] Epoch[{epoch}] Time cost=10.001\n".replace(".", ",", 1)

    log = at("epoch_start", 0, 1) + logged(0, 10) + at("epoch_stop", 10, 1)
    log += at("epoch_start", 11, 2) + at("epoch_stop", 21, 2) + logged(1, 21)
    log += at("epoch_start", 22, 3) + at("epoch_stop", 32, 3)
    (tmp_path / "a.log").write_text(log)
    ingest([tmp_path / "a.log"], tmp_path / "w", jobs=1)
    rows = answer(tmp_path / "w", "SELECT origin, round(span_s) FROM phases WHERE phase = 'epoch' ORDER BY line")
    assert rows.fetchall() == [("logged", 10), ("logged", 10), ("derived", 10)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("8xBOX4x4A100", ("BOX4", "8", "4", "A100")), ("BOX8440x8xA30-BRIDGE", ("BOX8440", None, "8", "A30-BRIDGE")),
        ("64xNVIDIA DGX H100", ("NVIDIA DGX H100", "64", None, "H100")), ("8xNVIDIA HGX B200", ("NVIDIA HGX B200", "8", None, "B200")),
        ("DGX Cloud n4", ("DGX Cloud", "4", None, None)), ("4xDGXH100x8A100", ("DGXH100", "4", "8", "A100")), ("tinybox", ("tinybox", None, None, None)),
        ("Cloud B200 n4 (32x B200-SXM-180GB)", ("Cloud B200", "4", None, None)),
        ("Cloud (8x NVIDIA GB200 NVL72)", ("Cloud", None, None, None)), ("Box V7(8x NVIDIA L40)", ("Box V7", None, None, None)),
        ("Cloud (new)", ("Cloud (new)", None, None, None)), ("Cloud B200 n4", ("Cloud B200", "4", None, None)), ("Cloud n4x", ("Cloud n4x", None, None, None)),
    ],
)  # fmt: skip
def test_the_name_of_a_platform_counts_nodes_and_devices(name: str, parts: tuple[str | None, ...]) -> None:
    assert platform_of(name) == parts


def scores_alone(folder: Path, sizes: dict[int, float], model: str = "bert") -> None:
    """Two results at each number of devices, of so many minutes, with scores and no steps; the last one has no end."""
    for devices, minutes in sizes.items():
        (folder / f"n{devices}").mkdir(parents=True)
        for place in range(2):
            lines = mllog("submission_benchmark", 0, model) + mllog("number_of_ranks", 0, devices)
            lines += mllog("seed", 0, 40 + place) + mllog("run_start", 5)
            for part, score in ((0.5, 0.4), (1, 0.72)):
                lines += (
                    mllog("eval_accuracy", 5 + 60 * minutes * part, score, epoch_num=part * 300_000) + "other\n" * 3
                )
            is_cut = place == 1 and devices == max(sizes)
            lines += "" if is_cut else mllog("run_stop", 5 + 60 * minutes, status="aborted" if place else "success")
            (folder / f"n{devices}" / f"result_{place}.txt").write_text(lines)


def test_results_without_steps_have_a_table_a_figure_and_a_report(run: Run, tmp_path: Path) -> None:
    scores_alone(tmp_path / "logs", {8: 40, 32: 12})
    logs, home = tmp_path / "logs", tmp_path / "w"
    assert run("ingest", logs, "-w", home).code == 0
    rows = scalelens.query("time_to_train", home).sort("devices", "seed")
    known = rows.select("devices", "seed", "minutes", "is_converged", "n_evaluations", "last_score").rows()
    assert known == [
        (8, "40", pytest.approx(40), True, 2, 0.72), (8, "41", pytest.approx(40), False, 2, 0.72),
        (32, "40", pytest.approx(12), True, 2, 0.72), (32, "41", None, None, 2, 0.72),
    ]  # fmt: skip
    curve = scalelens.query("accuracy_curve", home).filter(pl.col("run_id") == rows["run_id"][0])
    assert curve.select("score", "elapsed_s", "clock", "epoch").rows() == [
        (0.4, pytest.approx(1200), "run start", None), (0.72, pytest.approx(2400), "run start", None),
    ]  # fmt: skip
    refused = run("plot", "scaling", "-w", home, "-o", tmp_path / "scaling.pdf")
    assert refused.code == 2 and "scalelens plot time_to_train -o time_to_train.pdf" in refused.err
    for name in ("time_to_train", "accuracy"):
        assert run("plot", name, "-w", home, "-o", tmp_path / f"{name}.svg").code == 0
    assert run("report", "-w", home, "-o", tmp_path / "report.html").code == 0
    page = (tmp_path / "report.html").read_text()
    assert "bert: 40 min, on 8 devices." in page and "bert: 12 min, on 32 devices." in page


@pytest.mark.parametrize(
    ("model", "command"),
    [("bert", "plot accuracy -o accuracy.pdf"), ("rnnt", "plot accuracy score_name=eval_accuracy -o accuracy.pdf")],
)
def test_results_of_one_size_are_drawn_by_their_scores(run: Run, tmp_path: Path, model: str, command: str) -> None:
    scores_alone(tmp_path / "logs", {8: 40}, model)
    assert run("ingest", tmp_path / "logs", "-w", tmp_path / "w").code == 0
    refused = run("plot", "scaling", "-w", tmp_path / "w", "-o", tmp_path / "x.pdf")
    assert refused.code == 2 and f"scalelens {command}" in refused.err, refused
    refused = run("plot", "time_to_train", "-w", tmp_path / "w", "-o", tmp_path / "x.pdf")
    assert refused.code == 2 and "scalelens plot accuracy score_name=eval_accuracy" in refused.err, refused
    assert run("plot", "accuracy", "score_name=eval_accuracy", "-w", tmp_path / "w", "-o", tmp_path / "x.pdf").code == 0
    assert run(*command.split()[:-1], tmp_path / "a.pdf", "-w", tmp_path / "w").code == 0
