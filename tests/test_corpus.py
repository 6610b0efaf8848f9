"""Real files that no one here wrote, and what their authors publish about them.  Skipped where they do not lie beside the project.

By day the series whose numbers somebody published; all files together are read at night.
"""

import gzip
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import scalelens
from asking import answer
from conftest import CORPUS, ROOT
from scalelens.ingestion.ingest import ingest

SERIES = CORPUS / "llm" / "bigscience-workshop__bigscience" / "experiments" / "gpt2-meg"
PUBLISHED = CORPUS.parent / "reference" / "published_logs.json"


@pytest.mark.slow
@pytest.mark.parametrize("group", ["llm", "vision", "traces"])
def test_facts_counted_by_an_independent_script(corpus: Path, group: str) -> None:
    done = subprocess.run(
        [sys.executable, corpus.parent / "check" / "corpus.py", group, "--scalelens", shlex.join([sys.executable, "-m", "scalelens"])],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_published_medians_of_a_growing_model(corpus: Path, tmp_path: Path) -> None:
    ingest([SERIES], tmp_path / "w", jobs=1)
    rows = scalelens.query("scaling", tmp_path / "w").sort("devices")
    published = next(iter(json.loads(PUBLISHED.read_text()).values()))
    assert rows["devices"].to_list() == published["gpus"]
    assert set(rows["scaling"]) == {"mixed"}
    assert rows["efficiency"].null_count() == rows.height
    for median, said in zip(rows["step_s"], published["step_s"], strict=True):
        assert median == pytest.approx(said, rel=0.01)
    runs = answer(
        tmp_path / "w",
        "SELECT r.devices, r.tp, r.pp, r.parameters / 1e9, p.value FROM runs r JOIN params p USING (run_id) "
        "WHERE p.key = 'num_layers' AND r.global_batch_size = 4 ORDER BY r.devices"
    ).fetchall()  # fmt: skip
    assert [run[2] for run in runs] == published["pp"]
    assert {run[1] for run in runs} == {published["tp"]}
    assert [int(run[4]) for run in runs] == [40, 48, 64, 64, 64]
    for run, billions in zip(runs, published["parameters_b"], strict=True):
        assert run[3] == pytest.approx(billions, rel=0.03)


def test_published_hardware_flops_follow_from_ours(corpus: Path, tmp_path: Path) -> None:
    """Their formula, 8 N per token with recomputation, from our medians and parameters."""
    ingest([SERIES], tmp_path / "w", jobs=1)
    published = next(iter(json.loads(PUBLISHED.read_text()).values()))
    rows = answer(
        tmp_path / "w",
        "SELECT 8 * r.parameters * r.seq_length * r.global_batch_size / (s.step_s * r.devices * 1e12) "
        "FROM scaling() s JOIN runs r USING (run_id) ORDER BY r.devices"
    ).fetchall()  # fmt: skip
    for (ours,), said in zip(rows, published["tflops_per_gpu_hardware"], strict=True):
        assert ours == pytest.approx(said, rel=0.04)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of all that is not a trace."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    warehouse = tmp_path_factory.mktemp("logs")
    ingest([CORPUS / group for group in ("llm", "vision", "generated", "power", "more", "mlperf_v3.0")], warehouse)
    return warehouse


@pytest.mark.slow
def test_whole_corpus_is_read_without_a_failure_of_a_format(logs: Path, traces: duckdb.DuckDBPyConnection) -> None:
    failures = "SELECT * FROM problems WHERE reason LIKE 'the format % failed%'"
    assert answer(logs, failures).fetchall() == []
    assert traces.execute(failures).fetchall() == []


UNREAD = {  # by the name of the file: what its lines that look like training begin with, and how many there are
    ("train.log", "2025-12-26", "101"),
    ("training.log", "2025-12-12", "1,010"),
    ("pretrain.log", "Epoch:[1/1", "3,970"),
    ("training_log.txt", "10-03 15:4", "1,205"),
    ("result_0.txt", "TRAIN [0][", "264"),
    ("result_0.txt", "Performanc", "8"),
}


@pytest.mark.slow
def test_lines_that_look_like_training_are_reported_where_they_are(logs: Path) -> None:
    """A format may come to read some of them; what is reported beside them is a false alarm, unless it is looked at."""
    rows = answer(
        logs,
        "SELECT parse_filename(f.path), p.text[:10], split_part(p.reason, ' ', 1) FROM problems p "
        "JOIN files f USING (file_id) WHERE p.format IS NULL AND p.reason LIKE '% look like training%'",
    )
    assert set(rows.fetchall()) <= UNREAD


# What each number of a real log is


PERF = "vision/PaddlePaddle__Perf/ResNet50V1.5/OtherReports/PyTorch/logs/A100-LOG/pytorch_gpu8_amp_bs256.txt"


def test_three_rates_of_one_log_under_their_names(corpus: Path, tmp_path: Path) -> None:
    """8 A100, mixed precision: the median, the tool's own mean of rates, and images over time differ by a factor of two."""
    ingest([corpus / PERF], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    (of_records,) = connection.execute(
        "SELECT median(samples_per_s), any_value(rate_scope), any_value(value_kind) FROM steps WHERE phase = 'train'"
    ).fetchall()
    assert of_records == (pytest.approx(10_942, abs=0.5), "global", "instant")
    (summary,) = connection.execute(
        "SELECT value, unit, stat FROM metrics WHERE name = 'Summary: train.total_ips'"
    ).fetchall()
    assert summary == (pytest.approx(10_515.76), "images/s", "mean")
    (over_time,) = connection.execute(
        "SELECT samples_per_s, 2048 / step_s FROM batch_stats(exclude := 'none')"
    ).fetchall()
    assert over_time == (pytest.approx(5_094, abs=0.5), pytest.approx(10_942, abs=0.5))


@pytest.mark.parametrize(
    ("folders", "series"),
    [
        (
            ("llm/mlcommons__training_results_v5.1/University-of-Florida",
             "vision/mlcommons__training_results_v5.1/University-of-Florida"),
            {("weak", 8, 16), ("weak", 32, 64, 128, 256), ("strong", 8, 32), ("strong", 16, 64)},
        ),
        (
            ("vision/mlcommons__training_results_v3.0/Dell",),
            {("weak", 8, 16, 64), ("strong", 16, 32)},  # 4 devices are A100 of 80 GB, all others of 40 GB
        ),
    ],
    ids=["HiPerGator", "Dell"],
)  # fmt: skip
def test_sizes_of_different_batches_are_never_one_curve(
    corpus: Path, tmp_path: Path, folders: tuple[str, ...], series: set[tuple]
) -> None:
    ingest([corpus / folder for folder in folders], tmp_path / "w", jobs=1)
    rows = answer(
        tmp_path / "w",
        "SELECT any_value(scaling), list(devices ORDER BY devices), list(global_batch_size ORDER BY devices), "
        "min(efficiency), max(efficiency) FROM scaling() WHERE model <> 'retinanet' GROUP BY series"
    ).fetchall()  # fmt: skip
    assert {(scaling, *devices) for scaling, devices, *_ in rows} == series
    for scaling, devices, batches, low, high in rows:
        per_device = {batch / count for batch, count in zip(batches, devices, strict=True)}
        assert len(per_device if scaling == "weak" else set(batches)) == 1
        assert high == 1 and low > 0.7


def test_speedometers_rate_is_that_of_the_job(corpus: Path, tmp_path: Path) -> None:
    """20 batches of 1632 images lie between two stamps 1.44 s apart: 22 700 images a second are of all eight GPUs."""
    logs = corpus / "vision" / "mlcommons__training_results_v3.0" / "Dell" / "results"
    ingest([logs], tmp_path / "w", jobs=1)
    rows = answer(
        tmp_path / "w",
        "WITH between AS (SELECT run_id, samples * averaged_steps / nullif(epoch_ms(ts - lag(ts) OVER w) / 1000, 0) "
        "AS seen, samples_per_s AS printed FROM steps WHERE value_kind = 'interval_mean' AND rate_scope = 'global' "
        "WINDOW w AS (PARTITION BY run_id, epoch ORDER BY step)) "
        "SELECT run_id, median(seen / printed) FROM between GROUP BY ALL"
    ).fetchall()  # fmt: skip
    assert len(rows) == 5
    for _, ratio in rows:
        assert ratio == pytest.approx(1, abs=0.01)


def test_steps_that_two_formats_log_are_counted_once(corpus: Path, tmp_path: Path) -> None:
    """RetinaNet on 16 B200: torchvision's lines and MLPerf's throughput of each epoch speak of the same steps."""
    log = (
        corpus / "vision/mlcommons__training_results_v5.1/Dell/results/2xXE9685Lx8B200-SXM-180GB/retinanet/result_0.txt"
    )
    ingest([log], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    kinds = connection.execute("SELECT value_kind, count(*) FROM steps WHERE phase = 'train' GROUP BY ALL ORDER BY ALL")
    assert kinds.fetchall() == [("epoch_mean", 6), ("interval_mean", 583)]
    assert connection.execute("SELECT count(*) FROM exclusions() WHERE rule = 'summary'").fetchall() == [(6,)]
    ((n_steps, kind, rate),) = connection.execute(
        "SELECT n_steps, value_kinds, samples_per_s FROM batch_stats()"
    ).fetchall()
    assert (n_steps, kind) == (583 - 2, "interval_mean")
    (printed,) = connection.execute(
        "SELECT median(samples_per_s) FROM steps WHERE value_kind = 'epoch_mean'"
    ).fetchall()
    assert rate == pytest.approx(printed[0], rel=0.005)


def test_a_system_that_was_copied_from_another_size_is_contradicted(corpus: Path, tmp_path: Path) -> None:
    ingest([corpus / "vision" / "mlcommons__hpc_results_v2.0" / "HelmholtzAI"], tmp_path / "w", jobs=1)
    runs = "contradictions(runs := 'path LIKE ''%n2048%''')"
    rows = answer(tmp_path / "w", f"SELECT key, value, origin, line FROM {runs} WHERE origin <> 'log'").fetchall()
    assert rows == [
        ("system", "juwelsbooster_gpu_n128_pytorch1.13", "environment", 5),
        ("system", "juwelsbooster_gpu_n2048_pytorch1.13", "path", None),
    ]


def test_summaries_of_a_ddp_benchmark_scale_as_their_rates(corpus: Path, tmp_path: Path) -> None:
    """By the medians: 0.25433 / 0.26638 = 0.955 weakly, 0.13883 / (8 * 0.09289) = 0.187 strongly."""
    ingest([corpus / "vision" / "willgpaik__pytorch-ddp-scaling-benchmark"], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    rows = connection.execute("SELECT scaling, devices, efficiency FROM scaling() WHERE devices = 8 ORDER BY ALL")
    assert rows.fetchall() == [
        ("strong", 8, pytest.approx(0.187, abs=5e-4)),
        ("weak", 8, pytest.approx(0.955, abs=5e-4)),
    ]
    kinds = connection.execute(
        "SELECT DISTINCT value_kind, rate_scope FROM steps WHERE samples_per_s IS NOT NULL ORDER BY ALL"
    )
    assert kinds.fetchall() == [("run_mean", "global"), ("run_mean", "rank")]


def test_documents_that_quote_logs_give_no_rows(corpus: Path, tmp_path: Path) -> None:
    """The corpus's own list quotes five lines of Speedometer within JSON strings."""
    ingest([corpus / "manifest.jsonl"], tmp_path / "w", jobs=1)
    rows = answer(tmp_path / "w", "SELECT formats, rows, problems FROM files").fetchall()
    assert rows == [([], 0, 0)]


@pytest.mark.slow
def test_every_file_is_understood_or_named(logs: Path) -> None:
    """No line of a format is beyond it; what is no log is a document, or the table named here."""
    connection = scalelens.connect(logs)
    folders = " OR ".join(f"contains(path, '/corpus/{group}/')" for group in ("llm", "vision"))
    connection.execute(f"CREATE TEMP TABLE read AS SELECT parse_filename(path) AS name, * FROM files WHERE {folders}")
    problems = connection.execute("SELECT name, format, reason FROM problems JOIN read USING (file_id)").fetchall()
    others = [problem for problem in problems if problem[1] != "generic_csv"]
    ((ahead_in, by, reason),) = others  # one job on 512 GPUs
    assert by == "mllog" and "the host waits" in reason
    ((table, _, of_its_end),) = [problem for problem in problems if problem[1] == "generic_csv"]  # a row per size
    assert table == "strong_scaling.csv" and "the line has no end" in of_its_end
    documents = connection.execute("SELECT name FROM read WHERE status = 'document' ORDER BY path").fetchall()
    assert documents == [("README.md",), ("DESCRIPTION.md",)]
    others = connection.execute("SELECT name FROM read WHERE status NOT IN ('ok', 'document')").fetchall()
    assert {name for (name,) in others} <= {"strong_scaling.csv", ahead_in}  # a table of results, one row per job


def test_jube_benchmark_that_jube_made(corpus: Path, tmp_path: Path) -> None:
    ingest([corpus / "generated" / "jube"], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    runs = connection.execute(
        "SELECT name, global_batch_size, system, max(step_s), min(averaged_steps) FROM runs JOIN step_times t USING (run_id) "
        "WHERE value_kind = 'instant' GROUP BY ALL ORDER BY 2"
    ).fetchall()
    assert runs == [
        ("000000_benchmark", 64, "GC200", 0.9847668872134175, 1),
        ("000001_benchmark", 128, "GC200", 1.969533774426835, 1),
    ]
    assert connection.execute("SELECT count(*) FROM runs").fetchall() == [(2,)]


def test_reports_that_were_not_fetched_say_so(corpus: Path, tmp_path: Path) -> None:
    ingest([corpus / "power" / "graphcore__popliner"], tmp_path / "w", jobs=1)
    notes = answer(tmp_path / "w", "SELECT status, note FROM files ORDER BY path").fetchall()
    assert [status for status, _ in notes] == ["unknown", "unknown"]
    assert all("git-LFS" in note and "git lfs pull" in note for _, note in notes)


# Traces

TRACES = CORPUS / "traces"


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    warehouse = tmp_path_factory.mktemp("traces")
    ingest([TRACES], warehouse, jobs=1)
    return scalelens.connect(warehouse)


# Distinct names of device work per folder: compute, communication, memory.  A change of `kernels.py` shows here.
CLASSES = {
    "AMD-AGI__TraceLens/tests/rocprof": (77, 1, 2),
    "AMD-AGI__TraceLens/tests/traces/h100": (74, 0, 5),
    "AMD-AGI__TraceLens/tests/traces/inference/sglang_decode": (27, 0, 2),
    "AMD-AGI__TraceLens/tests/traces/inference/sglang_prefilldecode": (27, 0, 2),
    "AMD-AGI__TraceLens/tests/traces/inference/vllm_decode_full": (24, 0, 1),
    "AMD-AGI__TraceLens/tests/traces/inference/vllm_prefilldecode_piecewise": (22, 0, 2),
    "AMD-AGI__TraceLens/tests/traces/mi210/gpu_only_trace": (45, 0, 0),
    "AMD-AGI__TraceLens/tests/traces/mi300": (127, 1, 4),
    "AMD-AGI__TraceLens/tests/traces/mi300/ddp_resnet18_no_pool": (50, 0, 2),
    "AMD-AGI__TraceLens/tests/traces/perf_model/normalization": (36, 0, 1),
    "AMD-AGI__TraceLens/tests/traces/torch_compile_triton": (8, 0, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/amd_trace": (12, 0, 1),
    "facebookresearch__HolisticTraceAnalysis/tests/data/call_stack": (1, 0, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/critical_path/alexnet": (16, 0, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/critical_path/cuda_event_sync": (4, 0, 1),
    "facebookresearch__HolisticTraceAnalysis/tests/data/critical_path/cuda_event_sync_multi_stream": (1, 0, 1),
    "facebookresearch__HolisticTraceAnalysis/tests/data/critical_path/end_to_end/simple_add/input": (16, 0, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/critical_path/end_to_end/simple_add/output": (16, 0, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/df_index_resolver": (48, 1, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/execution_trace": (2, 0, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/large_integer_trace": (0, 1, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/mtia_inference_trace": (3, 0, 1),
    "facebookresearch__HolisticTraceAnalysis/tests/data/mtia_trace_single_rank": (69, 0, 1),
    "facebookresearch__HolisticTraceAnalysis/tests/data/nccl_parser_config": (68, 2, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/negative_queue_length_values_check": (84, 1, 6),
    "facebookresearch__HolisticTraceAnalysis/tests/data/ns_resolution_trace": (77, 0, 2),
    "facebookresearch__HolisticTraceAnalysis/tests/data/trace_compare/base": (3, 0, 3),
    "facebookresearch__HolisticTraceAnalysis/tests/data/trace_compare/test": (3, 0, 3),
    "facebookresearch__HolisticTraceAnalysis/tests/data/trace_diff/test": (129, 2, 4),
    "facebookresearch__HolisticTraceAnalysis/tests/data/trace_file_list": (4, 0, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/triton_example": (1, 0, 0),
    "facebookresearch__HolisticTraceAnalysis/tests/data/with_gpu_user_annotation": (10, 0, 1),
    "facebookresearch__param/et_replay/tests/data": (59, 0, 3),
    "facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz": (74, 2, 5),
    "pytorch__kineto/docs/traces": (1, 0, 0),
    "pytorch__kineto/tb_plugin/samples/resnet50_num_workers_0": (63, 0, 2),
    "pytorch__kineto/tb_plugin/samples/resnet50_num_workers_4": (62, 0, 2),
}
# Wider than ours on purpose: whatever could be communication, by a library's name or by that of what it does.
COMMUNICATES = re.compile(
    r"ccl|gloo|(?<![a-z])mpi|shmem|deep_?ep|all_?(red|gath|to)|reduce_?scat|scatter_?reduce|broad_?cast(?!ed)|_?bcast|send|recv|"
    r"cross_device|(one|two)_?shot|lamport|symm_?mem|multimem|nvls|p2p|peer|barrier|quick_?reduce|(?<![a-z])ring",
    re.IGNORECASE,
)


@pytest.mark.slow
def test_class_of_every_kernel(traces: duckdb.DuckDBPyConnection) -> None:
    rows = traces.execute(
        "SELECT regexp_replace(split_part(path, '/corpus/traces/', 2), '!.*|/[^/]*$', '') AS folder, "
        "count(DISTINCT name) FILTER (class = 'compute'), count(DISTINCT name) FILTER (class = 'communication'), "
        "count(DISTINCT name) FILTER (class = 'memory') "
        "FROM events JOIN files USING (file_id) WHERE class IS NOT NULL GROUP BY ALL"
    ).fetchall()  # fmt: skip
    assert {folder: tuple(counts) for folder, *counts in rows} == CLASSES


@pytest.mark.slow
def test_no_name_of_communication_is_compute(traces: duckdb.DuckDBPyConnection) -> None:
    names = [name for (name,) in traces.execute(
        "SELECT DISTINCT name FROM events WHERE class = 'compute'"
    ).fetchall()]  # fmt: skip
    assert len(names) > 800
    found = [name for name in names if COMMUNICATES.search(name)]
    assert found == []


@pytest.mark.slow
def test_every_file_of_traces_is_understood_or_named(traces: duckdb.DuckDBPyConnection) -> None:
    """Reports of analysers, maps and settings beside the traces are no traces; all else is whole."""
    assert traces.execute("FROM problems").fetchall() == []
    rows = traces.execute("SELECT status, note, path FROM files WHERE status <> 'ok' ORDER BY path").fetchall()
    reasons = Counter((status, (note or "").split(",")[0]) for status, note, _ in rows)
    assert reasons == {
        ("unknown", "no known format in it"): 21,
        ("unknown", "an execution trace of PyTorch"): 2,
        ("unknown", "metadata that macOS keeps next to a file"): 1,
    }
    others = {
        re.sub(r"[-_](AR|SE|ST|trace\d)(?=\.)", "", Path(path).name) for _, note, path in rows if "no known" in note
    }
    assert others == {
        "category_manifest.json", "cpu_op_map.json", "gemm_metrics.json", "kernel_fusion_metrics.json",
        "kernels",  # lists of names in a map of operators
        "meta.yaml", "ms.json", "multi_tensor_apply_metrics.json", "mw.json", "norm_metrics.json", "other_metrics.json",
        "plot_data.json", "reduce_metrics.json", "result.json", "sdpa_fwd_metrics.json",
    }  # fmt: skip


@pytest.mark.slow
def test_memory_timeline_by_category(traces: duckdb.DuckDBPyConnection) -> None:
    """Bytes held by category at the end, and the most of all together, as the file's numbers add up."""
    file = TRACES / "facebookresearch__HolisticTraceAnalysis/tests/data/memory_analysis/memory_timeline.raw.gz"
    held: Counter[int] = Counter()
    most = 0
    for _, _, changed, category in json.loads(gzip.decompress(file.read_bytes())):
        held[category] += changed
        most = max(most, held.total())
    changes = "SELECT *, (args->>'bytes')::BIGINT AS changed FROM events JOIN files USING (file_id) WHERE path LIKE '%memory_timeline%'"
    ours = traces.execute(f"SELECT category, sum(changed)::BIGINT FROM ({changes}) GROUP BY ALL").fetchall()
    names = (
        "parameter",
        "optimizer_state",
        "input",
        "temporary",
        "activation",
        "gradient",
        "autograd_detail",
        "unknown",
    )
    assert dict(ours) == {names[category]: total for category, total in held.items()}
    assert min(held.values()) >= 0
    peak = traces.execute(f"SELECT max(held) FROM (SELECT sum(changed) OVER (ORDER BY line) AS held FROM ({changes}))")
    assert peak.fetchall() == [(most,)]


@pytest.mark.parametrize("folder", ["out_gh", "out_gc2", "out_h5", "out_caraml"])
def test_jpwrs_own_energies_come_out_of_its_rule(corpus: Path, tmp_path: Path, folder: str) -> None:
    ingest([corpus / "generated" / "jpwr" / folder], tmp_path / "w", jobs=1)
    rows = scalelens.query("energy_integrated", tmp_path / "w", extent="readings", method="right")
    for ours, said in zip(rows["energy_j"], rows["reported_j"], strict=True):
        assert ours == pytest.approx(said, rel=1e-9)
    assert set(rows["reported_method"]) == {"riemann_right"}
    assert rows["run_id"].n_unique() == 1
    devices = rows.filter(rows["scope"].is_in(["gpu", "ipu"]))["device"].to_list()
    assert devices == [f"{'gc' if folder == 'out_gc2' else 'pynvml'}:{k}" for k in range(4)]


def test_two_ranks_of_caraml_measure_four_gpus_once(corpus: Path, tmp_path: Path) -> None:
    """Each rank's files name all GPUs of the node, and combined_energy.csv both ranks."""
    ingest([corpus / "generated" / "jpwr" / "out_caraml"], tmp_path / "w", jobs=1)
    said = (corpus / "generated" / "jpwr" / "out_caraml" / "combined_energy.csv").read_text().splitlines()
    watt_hours = [float(cell) for cell in said[1].split(",")[3:]]  # of rank 0, whose readings are the longer
    (row,) = scalelens.query("energy_of_runs", tmp_path / "w", extent="readings", method="right").to_dicts()
    assert (row["units"], row["energy_j"]) == (4, pytest.approx(3600 * sum(watt_hours), rel=1e-9))
    assert row["reported_j"] == pytest.approx(3600 * sum(watt_hours), rel=1e-12)


def mllog(path: Path, *keys: str) -> list[tuple[str, float, float]]:
    """Key, seconds and value of the lines of a :::MLLOG file that have one of these keys."""
    lines = [json.loads(line[line.index("{") :]) for line in path.read_text().splitlines() if ":::MLLOG" in line]
    return [(line["key"], line["time_ms"] / 1000, line["value"]) for line in lines if line["key"] in keys]


@pytest.mark.parametrize("benchmark", ["bert", "llama2_70b_lora"])
def test_mlperf_power_by_its_rule_and_by_ours(corpus: Path, tmp_path: Path, benchmark: str) -> None:
    """The official energy is mean power, idling included, times the time to train; ours what the run itself took."""
    v4 = corpus / "power" / "mlcommons__training_results_v4.0"
    folder = v4 / "smc-ac-power" / "results" / "1xSMC-H100-SXM-80GB" / benchmark
    ingest([folder], tmp_path / "w", jobs=1)
    (row,) = scalelens.query("mlperf_energy", tmp_path / "w").to_dicts()

    (power,), (result,) = folder.glob("power/*/node_0.txt"), folder.glob("result_*.txt")
    ((_, begun, _), (_, ended, _)) = mllog(power, "power_measurement_start", "power_measurement_stop")
    assert begun == ended and row["note"] == "the stop is not after the start: measured until the last reading"
    readings = sorted((time, watts) for _, time, watts in mllog(power, "power_reading"))
    ((_, start, _), (_, stop, _)) = mllog(result, "run_start", "run_stop")
    assert row["time_to_train_s"] == pytest.approx(stop - start)
    times = [begun, *(time for time, _ in readings)]
    riemann = sum(
        (after - before) * watts for before, after, (_, watts) in zip(times, times[1:], readings, strict=False)
    )
    assert row["official_j"] == pytest.approx(riemann / (times[-1] - begun) * (stop - start), rel=1e-6)

    fine = np.linspace(start, stop, 2_000_001)
    watts = np.interp(fine, [time for time, _ in readings], [watts for _, watts in readings])
    assert row["energy_j"] == pytest.approx(float(watts.mean()) * (stop - start), rel=1e-5)
    stops = answer(tmp_path / "w", "SELECT reason FROM problems").fetchall()
    assert ("power_measurement_stop has the time of the start",) in stops


# Only like is compared with like


def scaling_of(corpus: Path, home: Path, *folders: str) -> pl.DataFrame:
    ingest([corpus / folder for folder in folders], home)
    return scalelens.query("scaling", home)


def test_devices_in_the_names_of_folders_are_not_repeats(corpus: Path, tmp_path: Path) -> None:
    rows = scaling_of(corpus, tmp_path / "w", "vision/PaddlePaddle__Perf/ResNet50V1.5/OtherReports/PyTorch")
    assert set(rows["n_runs"]) == {1}
    by_size = {(row["series"], row["devices"]): row for row in rows.iter_rows(named=True)}
    amp = sorted({series for series, _ in by_size if " amp " in series})
    assert len(amp) == 2  # A100 and V100
    efficiencies = [by_size[series, 32]["efficiency"] for series in amp if (series, 32) in by_size]
    assert efficiencies == [pytest.approx(0.861, abs=0.005)]
    fp32 = sorted(row["step_s"] for (series, devices), row in by_size.items() if " fp32 " in series and devices == 1)
    assert fp32 == [pytest.approx(0.277, abs=0.001), pytest.approx(0.691, abs=0.001)]


def test_models_of_other_widths_and_depths_have_no_efficiency(corpus: Path, tmp_path: Path) -> None:
    rows = scaling_of(corpus, tmp_path / "w", "llm/bigscience-workshop__bigscience/experiments/gpt2-hf-ds")
    assert rows["efficiency"].null_count() == rows.height


def test_runs_at_other_clocks_are_not_pooled_in_silence(corpus: Path, tmp_path: Path) -> None:
    rows = scaling_of(corpus, tmp_path / "w", "llm/stark-sim__megatron-deepspeed-lock-clock")
    times = {row[0]: row[1] for row in answer(tmp_path / "w", "SELECT run_id, step_s FROM batch_stats()").fetchall()}
    for row in rows.iter_rows(named=True):
        pooled = [times[run] for run in row["run_ids"] or []]
        assert not pooled or max(pooled) / min(pooled) < 1.1 or "differ by a factor" in (row["note"] or "")
        assert (row["efficiency"] or 0) < 1.02 or "above 102 %" in row["note"]


@pytest.mark.slow
def test_no_repeats_of_the_corpus_differ_without_a_warning(logs: Path) -> None:
    rows = scalelens.query("scaling", logs)
    times = {row[0]: row[1] for row in answer(logs, "SELECT run_id, step_s FROM batch_stats()").fetchall()}
    pooled = [row for row in rows.iter_rows(named=True) if row["n_runs"] > 1]
    assert pooled
    for row in pooled:
        medians = [times[run] for run in row["run_ids"]]
        if max(medians) / min(medians) > 1.1:
            assert "repeats differ by a factor" in (row["note"] or ""), row


# What authors publish of scaling, by the query that a user would call


def test_published_step_times_of_the_hugging_face_series(corpus: Path, tmp_path: Path) -> None:
    """58, 114 and 222 s: rates over the whole training, of which their logs print 57.4, 112.0 and 217.9 s a step."""
    published = json.loads(PUBLISHED.read_text())["bigscience gpt2-hf-ds (Hugging Face Trainer with DeepSpeed)"]
    ingest([corpus / "llm/bigscience-workshop__bigscience/experiments/gpt2-hf-ds"], tmp_path / "w", jobs=1)
    batches = answer(
        tmp_path / "w", "SELECT nodes, mean_s FROM batch_stats(exclude := 'none') JOIN runs USING (run_id) ORDER BY nodes"
    ).fetchall()  # fmt: skip
    assert len(batches) == 3
    for (_, mean_s), said, logged in zip(batches, published["step_s"], published["step_s_in_the_logs"], strict=True):
        assert mean_s == pytest.approx(logged, rel=0.025)
        assert mean_s == pytest.approx(said, rel=0.03)


def test_published_efficiencies_of_willgpaik(corpus: Path, tmp_path: Path) -> None:
    rows = scaling_of(corpus, tmp_path / "w", "vision/willgpaik__pytorch-ddp-scaling-benchmark")
    at_eight = {row["scaling"]: row["efficiency"] for row in rows.filter(pl.col("devices") == 8).iter_rows(named=True)}
    assert at_eight == {"weak": pytest.approx(0.955, abs=0.0005), "strong": pytest.approx(0.187, abs=0.0005)}
    # By total work over total time, as in images_per_sec_global: the published ones are of the median step.
    by_rate = scalelens.query("scaling", tmp_path / "w", metric="throughput").filter(pl.col("devices") == 8)
    assert sorted(by_rate["efficiency"]) == [pytest.approx(0.1841, abs=0.0001), pytest.approx(0.9541, abs=0.0001)]


def test_published_minutes_of_hipergator(corpus: Path, tmp_path: Path) -> None:
    """Result 0 of each size, from run_start to run_stop."""
    folders = ("llm", "vision")
    ingest(
        [corpus / group / "mlcommons__training_results_v5.1/University-of-Florida" for group in folders], tmp_path / "w"
    )
    costs = scalelens.query("cost_of_work", tmp_path / "w", runs="model = 'llama31_8b'").filter(
        pl.col("work_unit") == "run"
    )
    minutes = {row["devices"]: row["run_s"] / 60 for row in costs.iter_rows(named=True)}
    said = {8: 92.79, 16: 59.21, 32: 35.86, 64: 17.40, 128: 12.53, 256: 10.00}
    assert minutes == {devices: pytest.approx(value, abs=0.005) for devices, value in said.items()}
    assert set(costs["run_origin"]) == {"run"}


@pytest.mark.slow
def test_every_metric_answers_of_the_corpus_and_sums_are_exact(logs: Path) -> None:
    study = scalelens.open(logs)
    epochs = study.query("epoch_times").filter(pl.col("epoch_s").is_not_null())
    parts = ("batches_s", "first_batch_s", "tail_s", "validation_s", "startup_s", "rest_s")
    assert epochs.height > 300
    for row in epochs.iter_rows(named=True):
        assert sum(row[part] or 0 for part in parts) == pytest.approx(row["epoch_s"], rel=1e-12)
        assert row["train_s"] is None or row["train_s"] <= row["epoch_s"] * 1.001
        assert row["rest_s"] > -0.01 * row["epoch_s"], row
    for metric in ("t_b", "mean_s", "t_ep", "t_tr", "throughput", "tflops"):
        rows = study.query("scaling", metric=metric)
        assert rows.height > 0, metric
        assert rows.filter(pl.col("efficiency") > 1.02, ~pl.col("note").fill_null("").str.contains("102 %")).is_empty()


@pytest.mark.parametrize(
    ("folder", "a", "b", "setting", "ratio", "verdict"),
    [
        # Medians of the logs' own lines: 14.9559 s over 18.2219 s, and 0.3240 s over 0.6914 s, as 256 / total_ips.
        ("llm/stark-sim__megatron-deepspeed-lock-clock/logs", "qwen7b_baseline_500", "qwen7b_static_1200_500",
         "device_clock_mhz", 0.8208, "inconclusive"),
        # Beyond what identical runs of any published system ever showed: a verdict by precedent.
        ("vision/PaddlePaddle__Perf/ResNet50V1.5/OtherReports/PyTorch/logs/V100-LOG", "pytorch_gpu1_fp32_bs256",
         "pytorch_gpu1_amp_bs256", "precision", 0.4686, "faster"),
    ],
)  # fmt: skip
def test_comparisons_of_one_run_a_side_name_what_differs_and_claim_nothing_beyond_the_runs(
    corpus: Path, tmp_path: Path, folder: str, a: str, b: str, setting: str, ratio: float, verdict: str
) -> None:
    ingest([corpus / folder], tmp_path / "w", jobs=1)
    (row,) = scalelens.query("compare", tmp_path / "w", a=a, b=b).rows(named=True)
    assert row["ratio"] == pytest.approx(ratio, rel=0.005)
    assert (row["interval_of"], row["verdict"]) == ("steps", verdict)
    assert ("by precedent" in row["sentence"]) is (verdict != "inconclusive")
    differing = scalelens.query("differences", tmp_path / "w", a=a, b=b)
    assert setting in differing.filter(pl.col("class") == "performance")["setting"].to_list()
