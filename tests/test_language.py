"""The language runner as a user starts it: by torchrun, on the CPU, at data, tensor and pipeline parallel 2."""

import gzip
import importlib.util
import json
import re
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

import scalelens
from asking import answer
from conftest import FIXTURES
from running import carried_out, finished, of, records, runner_module, start, wait_for
from scalelens.ingestion.ingest import ingest

torch = pytest.importorskip("torch")
if not importlib.util.find_spec("megatron"):  # to import it takes seconds, of each process that collects the tests
    pytest.skip("megatron-core is not installed", allow_module_level=True)

SIZES = {"dp1": (1, 1, 1), "dp2": (2, 1, 1), "tp2": (1, 2, 1), "pp2": (1, 1, 2)}  # dp, tp, pp
STEPS, WARMUP = 10, 5


def language_run(out: Path, *options: object, tp: int = 1, pp: int = 1, dp: int = 1):
    return start("language.py", "--out", out, "--tp", tp, "--pp", pp, *options, ranks=tp * pp * dp)


@pytest.fixture(scope="module")
def language() -> ModuleType:
    return runner_module("language")


@pytest.fixture(scope="module")
def shapes() -> ModuleType:
    return runner_module("language_shapes")


@pytest.fixture(scope="module")
def megatron_log() -> ModuleType:
    return runner_module("megatron_log")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same work four ways, with what the launcher printed beside it."""
    folder = tmp_path_factory.mktemp("language")
    options = ("--steps", STEPS, "--global-batch-size", 4, "--warmup-steps", 0, "--lr", 3e-3, "--timing-log-level", 1)
    for name, (dp, tp, pp) in SIZES.items():
        interval = ("--profile-steps", 3, "--log-interval", 1 if tp * pp == 1 else 5)
        words = ("--out", folder / name, "--tp", tp, "--pp", pp, *options, *interval)
        (folder / name / "job.out").write_text(carried_out("language.py", *words, ranks=dp * tp * pp))
    return folder


@pytest.fixture(scope="module")
def warehouse(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warehouse") / "w"
    ingest([runs], folder, jobs=1)
    return folder


def losses(log: Path) -> list[float]:
    return [record["loss"] for record in of(records(log), "step")]


def test_losses_are_the_same_however_the_work_is_shared(runs: Path) -> None:
    alone = losses(runs / "dp1/rank0.log")
    assert losses(runs / "tp2/rank1.log") == pytest.approx(alone, rel=1e-4)
    replicas = zip(losses(runs / "dp2/rank0.log"), losses(runs / "dp2/rank1.log"), strict=True)
    assert [sum(pair) / 2 for pair in replicas] == pytest.approx(alone, rel=1e-4)
    assert alone[-1] < alone[0] - 0.3


def test_every_step_of_every_rank_is_read(warehouse: Path) -> None:
    connection = scalelens.connect(warehouse)
    assert connection.execute("FROM problems").fetchall() == []
    assert connection.execute("SELECT path FROM files WHERE status <> 'ok'").fetchall() == []
    rows = connection.execute(
        "SELECT name, dp, tp, pp, devices, nodes, precision, micro_batch_size, global_batch_size, seq_length, parameters, "
        "outcome, framework, dataset FROM runs ORDER BY name"
    ).fetchall()
    assert rows == [
        (name, *sizes, sizes[0] * sizes[1] * sizes[2], 1, "fp32", 1, 4, 64, 236_928, "completed", "megatron-lm", "synthetic")
        for name, sizes in sorted(SIZES.items())
    ]  # fmt: skip
    steps = connection.execute(
        "SELECT r.name, s.rank, list(s.step ORDER BY s.step), count(DISTINCT phase) FROM steps s JOIN runs r USING (run_id) "
        "WHERE s.rank IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    ranks = [(name, rank) for name, (dp, tp, pp) in sorted(SIZES.items()) for rank in range(dp * tp * pp)]
    assert steps == [(name, rank, list(range(1, STEPS + 1)), 2) for name, rank in ranks]
    tokens = connection.execute("SELECT DISTINCT samples, tokens, value_kind FROM steps WHERE rank = 0").fetchall()
    assert tokens == [(4.0, 256.0, "instant")]


def test_the_launchers_log_counts_nothing_twice(warehouse: Path) -> None:
    times = answer(
        warehouse,
        "SELECT name, ranks, count(*), count(DISTINCT t.file_id) FROM step_times t JOIN runs USING (run_id) GROUP BY ALL ORDER BY 1"
    ).fetchall()  # fmt: skip
    assert [(name, ranks, steps) for name, ranks, steps, _ in times] == [
        (name, dp * tp * pp, STEPS - WARMUP) for name, (dp, tp, pp) in sorted(SIZES.items())
    ]


def form(line: str) -> str:
    """A record without its values: decimals and exponents stay."""
    return re.sub(r"E[+-]", "E", re.sub(r"-?\d+|inf|nan", "9", re.sub(" +", " ", line)))


def test_the_record_is_megatrons_field_for_field(runs: Path) -> None:
    fixture = FIXTURES / "megatron/core016_second_record.log"
    (real, *_), printed = (
        [line for line in log.read_text().splitlines() if "elapsed time per iteration" in line]
        for log in (fixture, runs / "dp2/job.out")
    )
    assert {form(line) for line in printed} == {form(real)}
    assert len(printed) == STEPS
    assert printed[0].index("| elapsed") == real.index("| elapsed")


def test_the_record_means_what_megatrons_does(runs: Path) -> None:
    """It is of the last rank and its second value holds the first step too."""
    text = (runs / "dp2/job.out").read_text()
    printed = [float(value) / 1000 for value in re.findall(r"per iteration \(ms\): ([\d.]+)", text)]
    own = [record["step_s"] for record in of(records(runs / "dp2/rank1.log"), "step")]
    assert printed[0] >= own[0] - 0.001
    assert 2 * printed[1] >= own[0] + own[1] - 0.001
    for value, step_s in zip(printed[2:], own[2:], strict=True):
        assert step_s - 0.001 <= value
    text = (runs / "tp2/job.out").read_text()  # of every fifth step, and of the first
    own = [record["step_s"] for record in of(records(runs / "tp2/rank1.log"), "step")]
    printed = [float(value) / 1000 for value in re.findall(r"per iteration \(ms\): ([\d.]+)", text)]
    assert len(printed) == 3
    assert 5 * printed[1] >= sum(own[:5]) - 0.001
    assert 5 * printed[2] >= sum(own[5:]) - 0.001


def test_megatrons_timers_are_read(warehouse: Path) -> None:
    timers = answer(
        warehouse,
        "SELECT DISTINCT m.name, unit, stat FROM metrics m JOIN runs r USING (run_id) WHERE r.name = 'dp2' AND m.rank IS NULL"
    ).fetchall()  # fmt: skip
    assert {("forward-backward", "ms", "min"), ("optimizer", "ms", "max"), ("all-grads-sync", "ms", "max")} <= set(
        timers
    )


def test_steps_last_as_long_in_the_trace_as_in_the_log(runs: Path) -> None:
    for name in ("tp2", "pp2"):  # no record is printed in steps 2 to 4
        for rank in (0, 1):
            steps = {record["step"]: record for record in of(records(runs / name / f"rank{rank}.log"), "step")}
            trace = json.loads(gzip.decompress((runs / name / f"trace_rank{rank}.json.gz").read_bytes()))
            traced = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
            assert [event["name"] for event in traced] == [f"ProfilerStep#{k}" for k in (2, 3, 4)]
            ratios = [event["dur"] / 1e6 / steps[int(event["name"][13:])]["step_s"] for event in traced]
            # Logging follows the clock's second reading: another process may have the core just then.
            assert 0.999 < min(ratios) < 1.02


# Layers, hidden size, tokens, vocabulary, sequences; then worked out by hand from the matrix products of a layer: queries,
# keys and values 6 h^2, scores and their sums 4 s h, output 2 h^2, the two of the MLP 16 h^2, and once 2 h V for the
# logits, each a token, three times for forward and backward; a causal mask leaves half of 4 s h.
FLOPS = {
    "toy": ((4, 64, 64, 512, 4), 402_653_184, 377_487_360),
    "gpt2-like": ((24, 1024, 1024, 51_200, 8), 19_894_288_515_072, 18_657_337_933_824),
    "175b": ((96, 12288, 2048, 51_200, 1536), 3_386_196_746_387_324_928, 3_340_597_800_160_198_656),
}


@pytest.mark.parametrize("name", FLOPS)
def test_operations_are_those_of_megatrons_formula(megatron_log: ModuleType, shapes: ModuleType, name: str) -> None:
    (layers, hidden, seq_length, vocabulary, batch), full, causal = FLOPS[name]
    shape = shapes.gpt(layers, hidden, 4, seq_length, vocabulary)
    token = 3 * (layers * (24 * hidden**2 + 4 * seq_length * hidden) + 2 * hidden * vocabulary)
    assert full == token * batch * seq_length
    assert causal == full - 3 * layers * 2 * seq_length * hidden * batch * seq_length
    assert megatron_log.model_flops(shape, vocabulary, batch, causal=False) == pytest.approx(full, rel=1e-12)
    assert megatron_log.model_flops(shape, vocabulary, batch) == pytest.approx(causal, rel=1e-12)


# By hand: queries and output 2 h^2 weights, keys and values 2 h^2 g/a, three matrices of SwiGLU for each expert that a
# token meets, logits h V: 6 operations for each weight and token; scores and sums 12 s h, of which the mask leaves half.
@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("toy-llama", 4 * (2 * 64**2 + 2 * 64 * 32 + 3 * 64 * 224) + 64 * 512),
        ("toy-moe", 4 * (2 * 64**2 + 2 * 64 * 32 + 2 * 3 * 64 * 224) + 64 * 512),
        ("llama-3.1-8b", 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) + 4096 * 128_256),
    ],
)
def test_operations_of_llama_and_of_experts(
    megatron_log: ModuleType, shapes: ModuleType, name: str, weights: int
) -> None:
    shape = shapes.SHAPES[name]
    token = 6 * weights + 6 * shape.layers * shape.seq_length * shape.hidden
    expected = token * 3 * shape.seq_length
    assert megatron_log.model_flops(shape, shape.vocabulary, 3) == pytest.approx(expected, rel=1e-12)


def test_shapes_have_the_sizes_of_their_names(shapes: ModuleType) -> None:
    sizes = {}
    for name in ("toy", "857m", "175b"):
        shape = shapes.SHAPES[name]
        padded = -(-shape.vocabulary // 128) * 128
        layer = 12 * shape.hidden**2 + 13 * shape.hidden
        sizes[name] = shape.layers * layer + 2 * shape.hidden + shape.hidden * (padded + shape.seq_length)
    assert sizes["toy"] == 236_928
    assert sizes["857m"] == pytest.approx(857e6, rel=1e-3)
    assert sizes["175b"] == pytest.approx(175e9, rel=5e-3)
    llama = shapes.SHAPES["llama-3.1-8b"]
    attention = 2 * llama.hidden**2 * (1 + llama.query_groups / llama.heads)
    layer = attention + 3 * llama.hidden * llama.ffn + 2 * llama.hidden
    assert llama.layers * layer + llama.hidden + 2 * llama.vocabulary * llama.hidden == 8_030_261_248  # as published


@pytest.mark.parametrize(("shape", "parameters", "tp"), [("toy-llama", 287_296, 2), ("toy-moe", 1_493_568, 1)])
def test_llama_and_a_mixture_of_experts_learn(tmp_path: Path, shape: str, parameters: int, tp: int) -> None:
    options = ("--shape", shape, "--steps", 12, "--warmup-steps", 5, "--profile-steps", 0, "--lr", 3e-3)
    options += ("--out", tmp_path / "logs/run", "--global-batch-size", 4, "--tp", tp)
    printed = carried_out("language.py", *options, ranks=tp)
    (tmp_path / "logs/job.out").write_text(printed)  # beside the folder, where Slurm writes unless it is told otherwise
    (tmp_path / "logs/run/tee.out").write_text(f"the same once more\n{printed}")
    seen = losses(tmp_path / f"logs/run/rank{tp - 1}.log")
    assert seen[-1] < seen[0] - 0.3
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    (row,) = connection.execute("SELECT model, parameters, devices FROM runs").fetchall()
    assert row == (shape, parameters, tp)
    kept = connection.execute("SELECT count(*) FROM selected_steps() WHERE excluded_by IS NULL").fetchall()
    assert kept == [(12 - 5,)]  # warm-up is left out once
    (logged, counted) = connection.execute(
        "SELECT median(tflops_per_device * 1e12 * devices * step_s / tokens), any_value(flops_per_token) "
        "FROM steps JOIN model_flops() USING (run_id) JOIN runs USING (run_id) WHERE rank = 0"
    ).fetchall()[0]
    assert logged == pytest.approx(counted, rel=1e-9)


@pytest.mark.slow
def test_an_indexed_data_set_and_a_checkpoint(tmp_path: Path) -> None:
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    builder = IndexedDatasetBuilder(str(tmp_path / "text.bin"))
    for k in range(8):
        builder.add_item(torch.arange(k, k + 200) % 50)
        builder.end_document()
    builder.finalize(str(tmp_path / "text.idx"))
    options = ("--data", tmp_path / "text", "--global-batch-size", 4, "--profile-steps", 0, "--lr", 3e-3)
    finished(language_run(tmp_path / "first", "--steps", 12, *options, "--save", tmp_path / "weights"))
    before = losses(tmp_path / "first/rank0.log")
    assert before[-1] < before[0] - 1
    finished(language_run(tmp_path / "second", "--steps", 2, *options, "--load", tmp_path / "weights", tp=2))
    after = losses(tmp_path / "second/rank1.log")
    assert after[0] < before[0] - 1
    events = records(tmp_path / "second/rank0.log")
    assert events[0]["dataset"] == "text"
    assert [phase["phase"] for phase in of(events, "phase")] == ["checkpoint", "startup", "train"]


@pytest.mark.parametrize("sign", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_a_killed_job_leaves_whole_lines(tmp_path: Path, sign: signal.Signals) -> None:
    process = language_run(tmp_path, "--steps", 100_000, "--profile-steps", 0)
    wait_for(lambda: (tmp_path / "rank0.log").read_text().count('"event": "step"') > 9, process)
    process.send_signal(sign)
    (tmp_path / "job.out").write_text(process.communicate(timeout=60)[0])
    assert process.returncode in (-signal.SIGKILL, 128 + signal.SIGTERM)
    connection_of = tmp_path / "w"
    ingest([tmp_path], connection_of, jobs=1)
    connection = scalelens.connect(connection_of)
    assert connection.execute("FROM problems").fetchall() == []
    (read,) = connection.execute("SELECT count(*) FROM steps WHERE rank = 0").fetchall()[0]
    assert read == (tmp_path / "rank0.log").read_text().count('"event": "step"') > 5
    outcome = connection.execute("SELECT outcome FROM runs").fetchall()
    assert outcome == [("cancelled" if sign == signal.SIGTERM else "unknown",)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--tp", "3"], "not a multiple of --tp 3 times --pp 1"),
        (["--pp", "8"], "not a multiple of --tp 1 times --pp 8"),
        (["--pp", "4", "--global-batch-size", "3", "--micro-batch-size", "2"], "not a multiple of 2, one micro-batch a replica"),
        (["--precision", "bf16"], "megatron-core needs GPUs for bf16"),
        (["--sequence-parallel", "--tp", "4"], "sequence parallel"),
        (["--sequence-parallel"], "it needs --tp 2 or more"),
        (["--shape", "toy-llama", "--tp", "4"], "2 heads of keys cannot be shared equally by --tp 4"),
        (["--shape", "toy-moe", "--tp", "2"], "only beside --sequence-parallel"),
        (["--accumulation", "4", "--global-batch-size", "16"], "not allowed with"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused(
    language: ModuleType, monkeypatch, capsys, options: list[str], sentence: str
) -> None:
    monkeypatch.setattr(language, "WORLD", 4)
    monkeypatch.setattr(sys, "argv", ["language.py", "--device", "cpu", "--out", "nowhere", *options])
    with pytest.raises(SystemExit, match="2"):
        language.arguments()
    assert sentence in capsys.readouterr().err
