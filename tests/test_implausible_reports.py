"""What users reported as wrong numbers, as small logs of our own with the same relations: each is explained; and true ones are not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scalelens
from scalelens import catalog
from scalelens.ingestion.ingest import ingest
from scalelens.report.findings import contradictions, implausible

GPUS = "PyTorch version: 2.5.1+cu124\nGPU models and configuration:\n{}\nNvidia driver version: 550.54.15\n"
FILES = dict[str, str]


def environment(device: str, count: int = 1) -> str:
    return GPUS.format("\n".join(f"GPU {k}: {device}" for k in range(count)))


def nanogpt(mfu: float, device: str | None = None, step_ms: float = 500.0) -> FILES:
    lines = [
        f"iter {10 * k}: loss {9 - k / 10:.4f}, time {step_ms + k / 10:.2f}ms, mfu {mfu:.2f}%" for k in range(1, 13)
    ]
    head = environment(device) if device else ""
    return {
        "train.log": f"{head}number of parameters: 123.59M\ntokens per iteration will be: 491,520\n"
        + "\n".join(lines)
        + "\n"
    }


def nanochat(mfu: float, device: str, step_ms: float = 990.0, batch: int = 524_288) -> FILES:
    """A model of 561 M parameters on eight devices."""
    lines = [
        f"step {k:05}/21400 (0.0{k % 10}%) | loss: {8.9 - k / 10:.6f} | lrm: 1.00 | dt: {step_ms:.2f}ms | tok/sec: {1000 * batch / step_ms:,.0f}"
        f" | mfu: {mfu:.2f} | total time: 0.00m"
        for k in range(12)
    ]
    world = "2026-03-16 22:57:30,775 - nanochat.common - INFO - Distributed world size: 8\n"
    sizes = f"Number of parameters: 560,988,160\nTotal batch size {batch:,} => gradient accumulation steps: 1\n"
    return {"train.log": environment(device, 8) + world + sizes + "\n".join(lines) + "\n"}


def torchtitan(device: str, peak: float, mfu: float) -> FILES:
    stamp = "[titan] 2026-05-03 01:{:02}:{:02},868 - root - INFO - "
    head = (
        "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1, etp=1",
        f"CUDA capacity: {device} with 287.98GiB memory",
        "Model llama3 8B size: 8,030,261,248 total parameters",
        f"Peak FLOPS used for computing MFU: {peak:.3e}",
        "Trainer is initialized with local batch size 4, global batch size 32, gradient accumulation steps 1, sequence length 8192, total steps 100 (warmup 2)",
    )
    record = "step: {:2}  loss: {:8.5f}  grad_norm:  0.3290  memory: 155.52GiB(54.00%)  tps: 30,405  tflops: 1,756.56  mfu: {:.2f}%"
    lines = [stamp.format(0, k) + text for k, text in enumerate(head)]
    lines += [stamp.format(1, k) + record.format(k, 9 - k / 10, mfu) for k in range(1, 13)]
    return {"train.log": "\n".join(lines) + "\n"}


def profiled_beside_a_log(tgs: float = 806.3) -> FILES:
    """Of 128 devices, eight of them to a model: the profiler misses what fused kernels and recomputation do."""
    summary = (
        ("world size", "128"), ("data parallel size", "16"), ("model parallel size", "8"), ("batch size per GPU", "8"),
        ("params per gpu", "2300.5 M"), ("params of model = params per GPU * mp_size", "18404 M"),
        ("fwd flops per GPU", "11500.5 G"), ("fwd latency", "1.2 s"), ("bwd latency", "1.38 s"),
        ("fwd+bwd FLOPS per GPU = 3 * fwd flops per GPU / (fwd+bwd latency)", "13.4 TFLOPS"), ("iter latency", "2.6 s"),
    )  # fmt: skip
    record = (
        " iteration {:8}/    1000 | consumed samples: {:12} | consumed tokens: {:12} | elapsed time per iteration (s): 2.54 | "
        "learning rate: 6.000E-07 | global batch size:   128 | lm loss: 1.264347E+01 | loss scale: 1.0 | grad norm: 20.145 | "
        "num zeros: 0.0 | actual seqlen:  2048 | number of skipped iterations:   0 | number of nan iterations:   0 | "
        f"samples per second: 50.394 | tokens per gpu per second (tgs): {tgs} | TFLOPs: 125.10 |"
    )
    block = (
        "\nProfile Summary at step 2:\n"
        + "".join(f"{label}:{' ' * 12}{value}\n" for label, value in summary)
        + "\n---------------- Aggregated\n"
    )
    lines = [record.format(k, 128 * k, 128 * 2048 * k) for k in range(1, 13)]
    return {"train.log": "\n".join(lines[:2]) + block + "\n".join(lines[2:]) + "\n"}


def eight_trackers() -> FILES:
    """One process for each of eight GPUs, and a tracker of the whole machine in each."""
    header = "timestamp,project_name,run_id,duration,emissions,gpu_power,gpu_energy,energy_consumed,cpu_model,gpu_count,gpu_model,ram_total_size,tracking_mode"
    row = (
        "2026-05-05T10:00:0{0},Test,t{0},36000.{0},1.5,2400.2,24.2{0},24.2{0},EPYC 7713,8,8 x NVIDIA A40,503.7,machine"
    )
    return {f"emissions_{k}.csv": f"{header}\n{row.format(k)}\n" for k in range(8)}


def counter_beside_power() -> FILES:
    """An idle GPU: the counter says 37.5 W over five minutes, the power readings 65.3 W."""
    start = 1_767_323_045
    window = f"start_time,window_name,elapsed_time,gpu0_energy\n{start}.0,test,300.0,11246.5\n"
    seconds = (f"2026/01/02 03:{4 + (5 + k) // 60:02}:{(5 + k) % 60:02}.000, 0, 65.3{k % 10} W" for k in range(301))
    return {"zeus.csv": window, "power.csv": "timestamp, index, power.draw [W]\n" + "\n".join(seconds) + "\n"}


def all_reduce(processes: int, in_place_us: float = 4.1, ranks: int = 1) -> FILES:
    """Each process prints a table of its own, or one the table of all."""
    line = "# nThread 1 nGpus 1 minBytes 134217728 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
    text = line * processes
    for process in range(processes):
        for rank in range(ranks):
            text += f"#  Rank {rank:2} Group  0 Pid {4100 + process + rank:6} on    node{process} device {rank:2} [0x0{rank + 1}] NVIDIA H100 80GB HBM3\n"
    text += (
        "#                                                              out-of-place                       in-place\n"
    )
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    factor = 2 * (ranks - 1) / ranks
    for size in (134_217_728, 268_435_456):
        for _ in range(processes):
            sides = (size / 4e5, in_place_us if ranks == 1 else size / 4e5)
            cells = "".join(f" {us:8.2f} {size / us / 1e3:7.2f} {factor * size / us / 1e3:7.2f}      0" for us in sides)
            text += f"{size:12} {size // 4:13}     float     sum      -1{cells}\n"
    return {"all_reduce.log": text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n"}


def found(folder: Path, files: FILES) -> list[dict[str, Any]]:
    (folder / "logs").mkdir()
    for name, text in files.items():
        (folder / "logs" / name).write_text(text)
    ingest([folder / "logs"], folder / "w")
    return scalelens.query("implausible", warehouse=folder / "w").to_dicts()


def a_tracker_of_the_whole_machine() -> FILES:
    """The job has one of eight GPUs, by its log; the tracker reports all of them."""
    return {"train.log": nanogpt(38.1)["train.log"], "emissions.csv": eight_trackers()["emissions_0.csv"],
            "scalelens.toml": "[facts]\ndevices = 1\n"}  # fmt: skip


def memory_of_a_shared_machine(memory_gb: float = 1008.0) -> FILES:
    """A container with 100 GB on a machine with more: 0.375 W for each GB, beside a GPU of 102 W, for an hour."""
    header = "timestamp,project_name,run_id,duration,emissions,gpu_power,ram_power,gpu_energy,ram_energy,energy_consumed,gpu_count,gpu_model,ram_total_size,tracking_mode"
    memory_w = 0.375 * memory_gb
    row = (
        f"2026-05-05T10:00:00,Test,t0,3600.0,0.1,102.0,{memory_w},0.102,{memory_w / 1000},{0.102 + memory_w / 1000:.4f},"
        f"1,1 x NVIDIA A100 80GB,{memory_gb},machine"
    )
    return {"emissions.csv": f"{header}\n{row}\n"}


def megatron(tflops: float, device: str | None = None, extra: str = "") -> FILES:
    """512 sequences in 15 s; the log states no model, no number of devices and no precision."""
    record = (
        " iteration {:8}/  292968 | consumed samples: {:12} | elapsed time per iteration (ms): 15010.{} | "
        "throughput per GPU (TFLOP/s/GPU): {} | learning rate: 9.9E-05 | global batch size:   512 | lm loss: 2.5E+00 | "
        "loss scale: 4096.0 | grad norm: 0.3 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )
    lines = [record.format(k, 512 * k, k % 10, tflops) for k in range(1, 13)]
    return {"train.log": (environment(device) if device else "") + extra + "\n".join(lines) + "\n"}


def memory_of_titan(used_gib: float, tps: int = 6_205, devices: int = 8) -> FILES:
    """Steps of 1.32 s by their stamps, of eight sequences of 8,192 tokens."""
    stamp = "[titan] 2026-05-03 01:{:02}:{:06.3f} - root - INFO - "
    head = (
        f"Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard={devices}, cp=1, tp=1, ep=1, etp=1",
        "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory",
        f"Trainer is initialized with local batch size {8 // devices}, global batch size 8, gradient accumulation steps 1, "
        "sequence length 8192, total steps 1000 (warmup 2)",
    )
    record = f"step: {{:2}}  loss: {{:8.5f}}  grad_norm:  0.3290  memory: {used_gib}GiB({100 * used_gib / 79.11:.2f}%)  tps: {tps:,}"
    lines = [stamp.format(0, k).replace(".", ",") + text for k, text in enumerate(head)]
    for k in range(1, 13):
        minutes, seconds = divmod(13.2 * k, 60)
        lines.append(stamp.format(1 + int(minutes), seconds).replace(".", ",") + record.format(10 * k, 9 - k / 10))
    return {"train.log": "\n".join(lines) + "\n"}


Report = tuple[Callable[[], FILES], str, str, float | None, str]
REPORTS: dict[str, Report] = {
    "nanoGPT on an H100 prints 104 %": (
        lambda: nanogpt(104.0, "NVIDIA H100 80GB HBM3"), "mfu", "likely", 1.04 * 312 / 989.4, "an MFU of 32.8 %",
    ),
    "nanoGPT prints 104 % and no device": (lambda: nanogpt(104.0), "mfu", "likely", None, "324 TFLOP/s for each"),
    "nanoGPT on a TITAN Xp prints 7,301 %, more than any device does": (
        lambda: nanogpt(7301.0, "NVIDIA TITAN Xp", 33_785), "mfu", "likely", None, "its operations or its tokens are counted too high as well",
    ),
    "nanoGPT on a TITAN Xp prints 0.96 %": (
        lambda: nanogpt(0.96, "NVIDIA TITAN Xp", 33_785), "mfu", "likely", None, "3 TFLOP/s for each device: divide by the peak of NVIDIA TITAN Xp",
    ),
    "nanochat on A100s prints 23 %": (
        lambda: nanochat(23.4, "NVIDIA A100-SXM4-80GB"), "mfu", "certain", 0.234 * 989 / 312, "an MFU of 74.2 %",
    ),
    "nanochat on RTX 4090s prints 8 %": (
        lambda: nanochat(8.4, "NVIDIA GeForce RTX 4090", 2760), "mfu", "certain", 0.084 * 989 / 165, "an MFU of 50.3 %",
    ),
    "torchtitan on an MI355X prints 563 %": (
        lambda: torchtitan("AMD Instinct MI355X", 312e12, 563.0), "mfu", "certain", 5.63 * 312 / 2500, "an MFU of 70.3 %",
    ),
    "a profiler prints a tenth of the log": (profiled_beside_a_log, "profiler tflops", "likely", 125.1, "it counted 11.5 TFLOP"),
    "eight trackers of one machine": (eight_trackers, "energy", "likely", None, "do not add them up"),
    "a tracker of the whole machine": (a_tracker_of_the_whole_machine, "energy", "possible", None, "did not use"),
    "the memory of a shared machine": (memory_of_a_shared_machine, "energy", "likely", None, "whatever part of it the job has"),
    "an energy counter beside power": (counter_beside_power, "energy", "possible", None, "measure for longer"),
    "bus bandwidth 0 on two nodes": (lambda: all_reduce(2), "busbw", "certain", None, "2 processes with a communicator of their own"),
    "bus bandwidth 0 on four nodes": (lambda: all_reduce(4), "busbw", "certain", None, "4 processes with a communicator of their own"),
    "Megatron prints 31,000 TFLOP/s": (
        lambda: megatron(30950.5), "tflops", "possible", None, "31 TFLOP/s, the sum over the devices, or a time",
    ),
    "Megatron on one V100 prints 43,000 TFLOP/s": (
        lambda: megatron(43210.5, "Tesla V100-SXM2-32GB", "using world size: 1, data-parallel-size: 1, tensor-model-parallel size: 1, "
            "pipeline-model-parallel size: 1 \n"), "tflops", "likely", 43.2105, "GFLOP/s under the unit of TFLOP/s: 43.2 TFLOP/s",
    ),
    "Megatron on A100s prints 400 TFLOP/s, in a precision that it does not name": (
        lambda: megatron(400.5, "NVIDIA A100-SXM4-80GB"), "tflops", "possible", None, "a peak with sparsity",
    ),
    "torchtitan prints more memory than there is": (
        lambda: memory_of_titan(96.86), "memory", "possible", 80 * 1024**3, "the memory of several devices",
    ),
    "torchtitan prints ten times the tokens that its stamps allow": (
        lambda: memory_of_titan(60.5, tps=62_054), "step time", "possible", 1.32, "a rate that counts too much",
    ),
    "Megatron-DeepSpeed prints ten times the tokens of its batch": (
        lambda: profiled_beside_a_log(8063.0), "rate of a device", "possible", 2048 / 2.54, "the rate of several devices",
    ),
    "263 TB/s": (lambda: all_reduce(1, in_place_us=1.02), "algbw", "certain", 3350e9, "the operation did nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_explained(tmp_path: Path, name: str) -> None:
    files, quantity, certainty, expected, meaning = REPORTS[name]
    rows = [row for row in found(tmp_path, files()) if row["quantity"] == quantity]
    assert rows
    assert {row["certainty"] for row in rows} == {certainty}
    assert all(meaning in row["meaning"] for row in rows), rows
    assert expected is None or rows[0]["expected"] == pytest.approx(expected)
    assert all(row["line"] for row in rows)


TRUE = {
    "nanoGPT on an A100": lambda: nanogpt(38.1, "NVIDIA A100-SXM4-80GB"),
    "nanochat on H100s": lambda: nanochat(48.0, "NVIDIA H100 80GB HBM3", 483.0),
    "a nanochat that looks the device up": lambda: nanochat(74.13, "NVIDIA A100-SXM4-80GB"),
    "torchtitan with the peak of its device": lambda: torchtitan("AMD Instinct MI300X", 1300e12, 30.0),
    "FP8 on an H100": lambda: megatron(1200.5, "NVIDIA H100 80GB HBM3"),
    "FP4 on a device that no log names": lambda: megatron(6100.5),
    "all memory of an H100": lambda: memory_of_titan(79.05),
    "eight ranks of one communicator": lambda: all_reduce(1, ranks=8),
    "the memory of a container": lambda: memory_of_a_shared_machine(100.0),
    "one tracker": lambda: {"emissions.csv": eight_trackers()["emissions_0.csv"]},
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_number_is_not_listed(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, TRUE[name]()) == []


def test_the_report_says_it_in_sentences(tmp_path: Path) -> None:
    """Runs of which the same is said share one; the surest comes first."""
    rows = found(tmp_path, nanogpt(104.0, "NVIDIA H100 80GB HBM3"))
    twice = [*rows, rows[0] | {"run_id": "other"}]
    (sentence,) = implausible.sentences(pl.DataFrame(twice), {rows[0]["run_id"]: "a", "other": "b"})
    assert sentence.text.startswith(
        "a, b: the printed MFU of 104 % is not what it says: nanogpt divides by 312 TFLOP/s"
    )
    assert sentence.doubt == "Most likely: an MFU of 32.8 %."
    many = [rows[0] | {"run_id": name} for name in "abcd"]
    (sentence,) = implausible.sentences(pl.DataFrame(many), {})
    assert sentence.text.startswith("4 runs: the printed MFU of 104 %")
    assert sentence.doubt.endswith("Among them a, b and 2 more.")
    assert implausible.nothing(pl.DataFrame(twice).clear()).startswith("No printed number")


def test_runs_share_a_sentence_only_where_the_same_is_meant() -> None:
    meant = {"a": (0.05, "20 TFLOP/s for each of 8: divide by the peak of RTX 5090"),
             "b": (0.01, "3.99 TFLOP/s for each of 8: divide by the peak of RTX 5090"),
             "c": (152.5, "its tokens are counted too high as well")}  # fmt: skip
    rows = pl.DataFrame([
        {"run_id": run, "quantity": "mfu", "relation": "r", "certainty": "certain", "unit": "1",
         "printed_value": value, "meaning": meaning}
        for run, (value, meaning) in meant.items()
    ])  # fmt: skip
    shared, alone = implausible.sentences(rows, {})
    assert shared.text.startswith("a, b: the printed MFU of 1 to 5 % ")
    assert shared.doubt == "Certainly: 3.99 to 20 TFLOP/s for each of 8: divide by the peak of RTX 5090."
    assert alone.text.startswith("c: the printed MFU of 15,250 % ")


@pytest.mark.parametrize(("is_timed", "weight"), [(True, 1.0), (False, 0.0)])
def test_a_batch_that_differs_in_one_log_weighs_where_steps_are_timed(is_timed: bool, weight: float) -> None:
    said = pl.DataFrame([
        {"run_id": "a", "key": "global_batch_size", "value": value, "origin": "log", "chosen": value == "1",
         "is_timed": is_timed}
        for value in ("1", "4", "4")
    ])  # fmt: skip
    (sentence,) = contradictions.sentences(said, {"a": "a"})
    assert sentence.text == "a: the global batch is 1 and 4 by the log."
    assert sentence.weight == weight and ("factor of 4" in sentence.doubt) == is_timed


def test_a_formula_has_a_source_and_a_peak_is_that_of_its_device() -> None:
    rows = catalog.rows("formulas_catalog")
    assert all(row["source"].startswith("https://") and row["formula"] for row in rows)
    for row in rows:
        if row["peak_tflops"]:
            devices = [device for device in catalog.rows("devices_catalog") if row["peak_of"] in device["device"]]
            assert any(device["bf16_tflops"] == pytest.approx(row["peak_tflops"], rel=1e-3) for device in devices), row
