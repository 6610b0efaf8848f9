"""MFU and what it rests on: operations by formula, worked out by hand; images by layers; peaks; refusals with a reason."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from asking import answer
from conftest import CORPUS
from little_warehouse import Row, Warehouse
from running import runner_module
from scalelens.ingestion.ingest import ingest
from scalelens.statistics.model_work import ImageWork, image_model_work

GPT3 = {
    "num_layers": 96,
    "hidden_size": 12288,
    "ffn_hidden_size": 49152,
    "num_attention_heads": 96,
    "vocabulary": 51200,
}
GPT_857M = {
    "num_layers": 40,
    "hidden_size": 1280,
    "ffn_hidden_size": 5120,
    "num_attention_heads": 20,
    "vocabulary": 50304,
}
LLAMA_1B = {
    "num_layers": 16, "hidden_size": 2048, "ffn_hidden_size": 8192, "num_attention_heads": 32, "num_query_groups": 8,
    "group_query_attention": True, "swiglu": True, "vocabulary": 131200,
}  # fmt: skip


def gpt_parameters(layers: int, hidden: int, vocabulary: int, positions: int) -> int:
    """Of a GPT with biases and learned positions: 12 h^2 + 13 h a layer, the last norm, the two tables."""
    return layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden + hidden * (vocabulary + positions)


def params(warehouse: Warehouse, run_id: str, values: Row, origin: str = "log") -> None:
    warehouse.insert(
        "params",
        [{"run_id": run_id, "key": key, "value": str(value), "origin": origin} for key, value in values.items()],
    )


def language(warehouse: Warehouse, shape: Row, *, step_s: float = 1.0, extra: Row | None = None, **facts: Any) -> None:
    """A run `a` of a language model with a device whose peaks are round."""
    warehouse.run("a", [step_s] * 50, **{"device_model": "d", "devices": 8, "precision": "bf16"} | facts)
    params(warehouse, "a", shape | (extra or {}))
    peaks = {
        "fp32_tflops": 50.0,
        "tf32_tflops": 400.0,
        "fp16_tflops": 800.0,
        "bf16_tflops": 800.0,
        "fp8_tflops": 1600.0,
    }
    device = {
        "place": 1,
        "device": "D",
        "unit": "gpu",
        "pattern": "^d$",
        "tdp_w": 500.0,
        "source": "https://example.org/d",
    }
    warehouse.insert("devices_catalog", [device | peaks])


def flops(warehouse: Warehouse, **arguments: str) -> Row:
    call = ", ".join(f"{name} := '{value}'" for name, value in arguments.items())
    (row,) = warehouse.ask(f"FROM model_flops({call})")
    return row


def mfu(warehouse: Warehouse, **arguments: str) -> Row:
    call = ", ".join(f"{name} := '{value}'" for name, value in arguments.items())
    (row,) = warehouse.ask(f"FROM mfu({call})")
    return row


# Operations of a token, by hand


def test_gpt3_175b(warehouse: Warehouse) -> None:
    n = gpt_parameters(96, 12288, 51200, 2048)
    language(warehouse, GPT3, parameters=float(n), seq_length=2048, global_batch_size=1536)
    assert flops(warehouse, formula="6N")["flops_per_token"] == 6 * n
    assert flops(warehouse, formula="palm")["flops_per_token"] == pytest.approx(1.0767e12, rel=5e-5)
    full = 3 * (96 * (24 * 12288**2 + 4 * 2048 * 12288) + 2 * 12288 * 51200)
    assert flops(warehouse, formula="megatron", attention="full")["flops_per_token"] == full
    causal = flops(warehouse)
    assert causal["flops_per_token"] == full - 3 * 96 * 2 * 2048 * 12288
    assert (causal["formula_used"], causal["attention_counted"]) == ("megatron", "causal")


def test_gpt_of_857_million(warehouse: Warehouse) -> None:
    n = gpt_parameters(40, 1280, 50304, 4096)
    assert n == pytest.approx(857e6, rel=1e-3)
    language(warehouse, GPT_857M, parameters=float(n), seq_length=4096, global_batch_size=256)
    assert flops(warehouse, formula="palm")["flops_per_token"] == pytest.approx(7.657e9, rel=5e-5)


def test_a_llama_with_causal_attention_at_8192_tokens(warehouse: Warehouse) -> None:
    """Keys and values of 8 groups of 32, three products in the MLP, half of the scores; 0.5057 s a step on 8 devices."""
    layer = 4 * 2048 * (2048 + 512) + 6 * 2048 * 8192 + 2 * 8192 * 2048
    token = 3 * (16 * layer + 2 * 2048 * 131200)
    language(
        warehouse,
        LLAMA_1B,
        step_s=0.5057,
        parameters=1510541312.0,
        seq_length=8192,
        global_batch_size=32,
        precision="fp8",
    )
    row = mfu(warehouse)
    assert flops(warehouse)["flops_per_token"] == token
    assert row["model_tflops"] == pytest.approx(32 * 8192 * token / 0.5057 / 8 / 1e12)
    assert round(row["model_tflops"]) == 587
    assert row["mfu"] == pytest.approx(row["model_tflops"] / 1600)
    assert round(mfu(warehouse, formula="palm")["model_tflops"]) == 796, (
        "embeddings as work, and attention to what is masked"
    )


def test_a_mixture_counts_the_experts_that_a_token_uses(warehouse: Warehouse) -> None:
    shape = {
        "num_layers": 2, "hidden_size": 64, "ffn_hidden_size": 256, "num_attention_heads": 4, "vocabulary": 1000, "swiglu": True,
        "num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 32, "moe_shared_expert_intermediate_size": 16,
    }  # fmt: skip
    language(warehouse, shape, parameters=1e6, seq_length=128)
    row = flops(warehouse)
    assert row["flops_per_token"] == 3 * (2 * (8 * 64**2 + 6 * 64 * (2 * 32 + 16) + 2 * 128 * 64) + 2 * 64 * 1000)
    assert row["active_parameters"] == 1e6 - 2 * 6 * 3 * 64 * 32
    assert flops(warehouse, formula="6N")["flops_per_token"] == 6 * row["active_parameters"]
    params(warehouse, "a", {"moe_layer_freq": "[0,1]"})
    row = flops(warehouse)
    assert row["flops_per_token"] is None and "mixture of experts" in row["reason"]


def test_a_sidecar_corrects_the_shape(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=1e9, seq_length=1024)
    params(warehouse, "a", {"num_layers": 2}, origin="sidecar")
    assert flops(warehouse)["layers"] == 2


@pytest.mark.parametrize(("origin", "counts"), [("sidecar", 2), ("log", 8)])
def test_of_several_values_that_of_a_sidecar_counts_or_the_largest(
    warehouse: Warehouse, origin: str, counts: int
) -> None:
    keys = {
        "layers": "num_layers", "hidden_size": "hidden_size", "ffn": "ffn_hidden_size", "heads": "num_attention_heads",
        "head_size": "kv_channels", "query_groups": "num_query_groups", "vocabulary": "vocabulary",
        "experts": "num_experts", "top_k": "moe_router_topk", "expert_ffn": "moe_ffn_hidden_size",
        "shared_ffn": "moe_shared_expert_intermediate_size",
    }  # fmt: skip
    warehouse.run("a", [1.0])
    params(warehouse, "a", dict.fromkeys(keys.values(), 8))
    params(warehouse, "a", dict.fromkeys(keys.values(), 2), origin=origin)
    (shape,) = warehouse.ask("FROM model_shapes()")
    assert {name: shape[name] for name in keys} == dict.fromkeys(keys, counts)


def test_the_null_of_a_dump_hides_no_number(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=1e9, seq_length=1024, extra={"padded_vocab_size": None})
    assert flops(warehouse)["formula_used"] == "megatron"


# What is computed twice


LAYERS = 40 * (24 * 1280**2 + 2 * 4096 * 1280)  # forward pass of a token, causal
SCORES = 40 * 2 * 4096 * 1280


@pytest.mark.parametrize(
    ("arguments", "said", "twice"),
    [
        ({"recompute_granularity": None}, "none", 0),
        ({"recompute_granularity": "full", "recompute_method": "uniform"}, "full", LAYERS),
        ({"checkpoint_activations": True}, "full", LAYERS),
        ({"recompute_granularity": "selective", "recompute_modules": "['core_attn']"}, "selective", SCORES),
        ({"recompute_granularity": "selective", "recompute_modules": "['mlp']"}, "selective, of other modules", None),
        ({"recompute_granularity": "full", "recompute_method": "block"}, "full, of some layers", None),
        ({}, None, None),
    ],
)
def test_hardware_adds_what_is_computed_twice(
    warehouse: Warehouse, arguments: Row, said: str, twice: int | None
) -> None:
    language(warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=8, extra=arguments)
    row = flops(warehouse)
    assert row["recomputation"] == said
    assert row["hardware_flops_per_token"] == (None if twice is None else row["flops_per_token"] + twice)
    used = mfu(warehouse)
    assert used["hfu"] == (None if twice is None else pytest.approx(used["mfu"] * (1 + twice / row["flops_per_token"])))


def test_full_recomputation_makes_8n_of_6n(warehouse: Warehouse) -> None:
    language(warehouse, {"checkpoint_activations": True}, parameters=1e9, seq_length=1024)
    assert flops(warehouse, formula="6N")["hardware_flops_per_token"] == 8e9


# What is refused


@pytest.mark.parametrize(
    ("shape", "facts", "reason"),
    [
        (GPT_857M, {"precision": None}, "no log names the precision"),
        (GPT_857M, {"precision": "int8"}, "precision int8 has no peak"),
        (GPT_857M, {"device_model": None}, "no log names the device"),
        (GPT_857M, {"device_model": "x100"}, "the catalog has no device x100"),
        (GPT_857M, {"devices": None}, "no log states the number of devices"),
        (GPT_857M, {"global_batch_size": None}, "tokens of a step are not known"),
        ({"num_layers": 4}, {"parameters": None}, "formula palm needs parameters, hidden_size"),
        (GPT_857M | {"multi_latent_attention": True}, {}, "no formula counts multi_latent_attention"),
        (GPT_857M | {"attn_sliding_window": 128}, {}, "no formula counts attn_sliding_window"),
        ({}, {"model": "resnet50"}, "the size of the images is not known"),
        (GPT_857M, {"global_batch_size": 10**6}, "% of the peak is impossible"),
    ],
)
def test_a_refusal_is_a_row_with_its_reason(warehouse: Warehouse, shape: Row, facts: Row, reason: str) -> None:
    language(warehouse, shape, **{"parameters": 857e6, "seq_length": 4096, "global_batch_size": 8} | facts)
    row = mfu(warehouse)
    assert row["mfu"] is None and row["hfu"] is None and reason in row["reason"]


def test_a_run_without_steps_is_there_too(warehouse: Warehouse) -> None:
    warehouse.run("a", devices=8)
    assert "no step time is known" in mfu(warehouse)["reason"]


def test_a_device_of_which_there_are_several_is_named_with_them(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=8, device_model="X100")
    warehouse.connection.execute("UPDATE devices_catalog SET device = 'NVIDIA X100 SXM 80GB'")
    assert mfu(warehouse)["reason"] == "the catalog has no device X100, but NVIDIA X100 SXM 80GB"


def test_a_peak_without_a_source_is_no_peak(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=8)
    warehouse.connection.execute("UPDATE devices_catalog SET bf16_tflops = NULL")
    assert mfu(warehouse)["reason"] == "the catalog has no peak for D in bf16"


@pytest.mark.parametrize(
    ("precision", "fp8", "bf16", "peak"),
    [
        ("bf16", None, 800.0, 800.0),
        ("amp", None, 800.0, 800.0),
        ("amp", None, None, 800.0),  # fp16
        ("amp", None, 100.0, None),
        ("fp32", None, 800.0, 50.0),
        ("tf32", None, 800.0, 400.0),
        ("bf16", "hybrid", 800.0, 1600.0),
        ("bf16", "None", 800.0, 800.0),
    ],
)
def test_the_peak_is_that_of_the_precision(
    warehouse: Warehouse, precision: str, fp8: str | None, bf16: float | None, peak: float | None
) -> None:
    extra = {} if fp8 is None else {"fp8": fp8, "fp8_recipe": "delayed"}
    language(
        warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=8, precision=precision, extra=extra
    )
    warehouse.connection.execute("UPDATE devices_catalog SET bf16_tflops = ?", [bf16])
    row = mfu(warehouse)
    assert row["peak_tflops"] == peak
    assert ("TF32" in (row["note"] or "")) == (precision == "fp32")
    if peak is None:
        assert row["reason"] == "amp is fp16 or bf16, and this device is not equally fast in both"


def test_unknown_words_are_refused(warehouse: Warehouse) -> None:
    for arguments, message in (("formula := '7N'", "formula is"), ("attention := 'half'", "attention is")):
        with pytest.raises(duckdb.Error, match=message):
            warehouse.ask(f"FROM mfu({arguments})")
    warehouse.run("a", [1.0] * 5)
    with pytest.raises(duckdb.Error, match="statistic is"):
        warehouse.ask("FROM mfu(statistic := 'loss')")


# What must follow from what


def test_times_k_divide_and_the_interval_turns(warehouse: Warehouse) -> None:
    facts: Row = {"parameters": 857e6, "seq_length": 4096, "global_batch_size": 64}
    language(warehouse, GPT_857M, **facts)
    warehouse.run("b", [2.0] * 50, device_model="d", devices=8, precision="bf16", **facts)
    params(warehouse, "b", GPT_857M)
    a, b = warehouse.ask("FROM mfu() ORDER BY run_id")
    assert b["mfu"] == pytest.approx(a["mfu"] / 2, rel=1e-12)
    assert a["total_tflops"] == pytest.approx(8 * a["model_tflops"], rel=1e-12)
    assert a["gflops_per_tdp_watt"] == pytest.approx(1000 * a["model_tflops"] / 500, rel=1e-12)
    warehouse.run("c", [1.0, 1.1] * 30, device_model="d", devices=8, precision="bf16", **facts)
    params(warehouse, "c", GPT_857M)
    c = warehouse.ask("FROM mfu() WHERE run_id = 'c'")[0]
    times = warehouse.ask("FROM batch_stats() WHERE run_id = 'c'")[0]
    assert c["mfu_low"] == pytest.approx(c["mfu"] * times["step_s"] / times["step_s_high"])
    assert c["mfu_high"] == pytest.approx(c["mfu"] * times["step_s"] / times["step_s_low"])
    assert c["mfu_low"] <= c["mfu"] <= c["mfu_high"]


def test_the_power_limit_of_a_gcd_is_half_of_its_package(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=64)
    warehouse.connection.execute("UPDATE devices_catalog SET device = 'D GCD', unit = 'gcd', tdp_w = NULL")
    assert mfu(warehouse)["gflops_per_tdp_watt"] is None
    package = {"place": 2, "device": "D OAM", "unit": "gpu", "pattern": "^no name$", "tdp_w": 500.0}
    warehouse.insert("devices_catalog", [package])
    row = mfu(warehouse)
    assert row["gflops_per_tdp_watt"] == pytest.approx(1000 * row["model_tflops"] / 250)


def test_the_mean_holds_the_stalls(warehouse: Warehouse) -> None:
    language(warehouse, GPT_857M, parameters=857e6, seq_length=4096, global_batch_size=64)
    warehouse.insert(
        "step_times",
        [{"run_id": "a", "file_id": "a", "line": 99, "step": 99, "step_s": 49.0, "averaged_steps": 1, "value_kind": "instant",
          "attempt": 0}],
    )  # fmt: skip
    mean = warehouse.ask("FROM batch_stats()")[0]["mean_s"]
    assert mfu(warehouse)["step_s"] == 1.0
    assert mfu(warehouse, statistic="mean")["mfu"] == pytest.approx(mfu(warehouse)["mfu"] / mean)


def test_throughput_is_total_work_over_total_time(warehouse: Warehouse) -> None:
    steps = {"samples": 8.0, "tokens": 64.0}
    warehouse.run("a", [9.0, 9.0, 1.0, 2.0, 3.0], steps=steps, devices=4, nodes=2, global_batch_size=8)
    (row,) = warehouse.ask("FROM throughput()")
    assert row["samples_per_s"] == pytest.approx(24 / 6)
    assert (row["node_samples_per_s"], row["device_samples_per_s"]) == (pytest.approx(2), pytest.approx(1))
    assert (row["tokens_per_s"], row["device_tokens_per_s"]) == (pytest.approx(32), pytest.approx(8))
    assert (row["step_s"], row["batch_per_device"]) == (2.0, 2.0)


def test_a_log_of_rates_alone_shows_them(warehouse: Warehouse) -> None:
    warehouse.run("a", devices=4)
    rate = {"run_id": "a", "phase": "train", "rate_scope": "rank", "attempt": 0}
    warehouse.insert("steps", [rate | {"step": step, "samples_per_s": 100.0 + step} for step in range(3)])
    rows = warehouse.ask("SELECT samples_per_s, printed_samples_per_s, rate_scope FROM throughput()")
    assert rows == [{"samples_per_s": None, "printed_samples_per_s": 102.0, "rate_scope": "rank"}]  # two are warm-up


# Images, by their layers


@pytest.mark.parametrize(
    ("model", "size", "published"),
    [  # 10^9 multiply-adds of a forward pass, as torchvision's documentation lists them ("GFLOPS")
        ("resnet18", "224", 1.81),
        ("resnet34", "224", 3.66),
        ("resnet50", "3,224,224", 4.09),
        ("ResNet-50_v1.5", "224x224", 4.09),
        ("resnet101", "224", 7.80),
        ("resnet152", "224", 11.51),
        ("vit_b_16", "224", 17.56),
        ("vit_b_32", "224", 4.41),
        ("vit_l_16", "224", 61.55),
        ("vit_base_patch16_224", None, 17.56),
        ("vit_h_14", "518", 1016.72),
        ("mobilenet_v2", "224", 0.3008),
        ("EfficientNet-B0", "224", 0.3860),
        ("inception-v3", "299", 5.713 + 0.0057),  # and the auxiliary head, which torchvision leaves out
    ],
)
def test_images_by_their_layers(model: str, size: str | None, published: float) -> None:
    work = image_model_work(model, size)
    assert work.flops == pytest.approx(2 * 3 * published * 1e9, rel=3e-3)


@pytest.mark.parametrize("size", [(299, 299), (224, 224), (330, 310), (65, 97)])
@pytest.mark.parametrize("name", ["resnet50", "resnet101", "inception_v3", "mobilenet_v2", "efficientnet_b0"])
def test_images_as_the_runners_models_compute_them(name: str, size: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        model = runner_module("vision_models").MODELS[name](1000).train()
        images = torch.empty(2, 3, *size)
    counted = 0

    def count(layer: Any, inputs: Any, output: Any) -> None:
        nonlocal counted
        counted += 2 * layer.weight[0].numel() * output[0].numel()

    for layer in model.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            layer.register_forward_hook(count)
    work = image_model_work(name, f"{size[0]}x{size[1]}")
    if name == "inception_v3" and min(size) < 299:
        assert work.flops is None
        return
    model(images)
    assert work.flops == 3 * counted


def test_a_unet_by_its_layers() -> None:
    """Two 3x3 convolutions a level at 64, 128, ... channels, 2x2 upwards, by hand for 256 x 256."""
    down = [
        (3, 64),
        (64, 64),
        (64, 128),
        (128, 128),
        (128, 256),
        (256, 256),
        (256, 512),
        (512, 512),
        (512, 1024),
        (1024, 1024),
    ]
    products = sum(9 * i * o * (256 >> k // 2) ** 2 for k, (i, o) in enumerate(down))
    for level, wide in enumerate((128, 256, 512, 1024)):
        narrow, pixels = wide // 2, (256 >> level) ** 2
        products += wide * narrow * pixels + 9 * wide * narrow * pixels + 9 * narrow**2 * pixels
    products += 2 * 64 * 256**2
    assert image_model_work("unet", "256", 64).flops == 6 * products


@pytest.mark.parametrize(
    ("model", "size", "channels", "reason"),
    [
        ("resnet50_v2", "224", None, "does not say its layers"),
        ("resnet50_v1", "224", None, "does not say its layers"),
        ("wide_resnet50_2", "224", None, "does not say its layers"),
        ("resnet50", None, None, "image_size = ... under [labels]"),
        ("vit_b_16", "200", None, "not whole patches of 16"),
        ("mobilenet_v3", "224", None, "does not say its layers"),
        ("efficientnet_v2", "224", None, "does not say its layers"),
        ("inception_v4", "299", None, "does not say its layers"),
        ("inception_v3", "224", None, "on images of 299 pixels and more"),
        ("unet", "256", None, "unet_channels = ... under [labels]"),
        ("unet", "250", 64, "cannot be halved 4 times"),
    ],
)
def test_an_image_model_is_refused_with_a_reason(
    model: str, size: str | None, channels: int | None, reason: str
) -> None:
    work = image_model_work(model, size, channels)
    assert work.flops is None and reason in (work.reason or "")
    assert work.is_known == ("does not say its layers" not in reason)


def test_images_in_sql(warehouse: Warehouse) -> None:
    facts: Row = {"model": "resnet50", "global_batch_size": 512, "precision": "fp16"}
    language(warehouse, {"image_size": 224}, step_s=0.25, **facts)
    row = mfu(warehouse)
    work = image_model_work("resnet50", "224")
    assert isinstance(work, ImageWork) and work.flops
    assert row["formula_used"] == "layers"
    assert row["model_tflops"] == pytest.approx(work.flops * 512 / 0.25 / 8 / 1e12, rel=1e-12)


# Real logs


def answers(folder: str, tmp_path: Path, query: str) -> list[tuple[Any, ...]]:
    ingest([CORPUS / folder], tmp_path / "w", jobs=1)
    rows: list[tuple[Any, ...]] = answer(tmp_path / "w", query).fetchall()
    return rows


def test_a_real_llama_has_587_tflops_not_752(corpus: Path, tmp_path: Path) -> None:
    log = "llm/AMD-AGI__Primus/pilot/pilot/state/runs/real_e2e_plan_graph_demo_baseline/train.log"
    query = """
        SELECT model_tflops, formula_used, attention_counted, peak_of, printed_tflops,
            (SELECT model_tflops FROM mfu(formula := 'palm', statistic := 'mean')) FROM mfu()"""
    ((ours, formula, attention, peak_of, printed, palm),) = answers(log, tmp_path, query)
    assert (round(ours), formula, attention, peak_of) == (587, "megatron", "causal", "fp8")
    assert ours == pytest.approx(printed, rel=2e-4)
    assert round(palm) == 752


def test_megatron_prints_what_its_formula_gives(corpus: Path, tmp_path: Path) -> None:
    """Where no documents are masked from each other; forks that count other than the formula stand beside."""
    query = """
        SELECT model_tflops / printed_tflops FROM mfu() JOIN batch_stats() USING (run_id)
        WHERE formula_used = 'megatron' AND printed_tflops > 0 ORDER BY 1"""
    ratios = [ratio for (ratio,) in answers("llm/elena-lyulina__Megatron-LM-Attention-Benchmark", tmp_path, query)]
    assert sum(abs(ratio - 1) < 1e-3 for ratio in ratios) >= 3


def test_tflops_of_bigscience_by_its_own_formula(corpus: Path, tmp_path: Path) -> None:
    """8 N a token, with recomputation: 26.7, 19.0, 12.2, 7.0, 3.9 TFLOP/s a device, as they published them."""
    query = """
        SELECT devices, hardware_tflops FROM mfu(formula := '6N') JOIN runs USING (run_id, devices)
        WHERE global_batch_size = 4 AND hardware_tflops IS NOT NULL ORDER BY devices"""
    rows = answers("llm/bigscience-workshop__bigscience/experiments/gpt2-meg", tmp_path, query)
    assert [devices for devices, _ in rows] == [16, 32, 64, 128, 256]
    for (_, ours), said in zip(rows, (26.7, 19.0, 12.2, 7.0, 3.9), strict=True):
        assert ours == pytest.approx(said, rel=0.04)


# BERT: attention in both directions


BERT = {
    "bert-base": {"num_layers": 12, "hidden_size": 768, "ffn_hidden_size": 3072, "num_attention_heads": 12},
    "bert-large": {"num_layers": 24, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16},
}


@pytest.mark.parametrize(
    ("shape", "published"),
    [  # 10^9 multiply-adds of a forward pass over 128 tokens
        ("bert-base", 11.17),  # of the encoder: flops-profiler 0.1.1, README
        ("bert-large", 3139.93 / 80),  # deepspeed.ai/tutorials/flops-profiler: a batch of 80
    ],
)
def test_bert_as_published(warehouse: Warehouse, shape: str, published: float) -> None:
    """Without the head: one is of the encoder alone, and the other scores the few masked tokens."""
    language(warehouse, BERT[shape] | {"vocabulary": 30522}, model=shape, seq_length=128, global_batch_size=80)
    row = flops(warehouse)
    head = 2 * float(BERT[shape]["hidden_size"]) * 30522
    assert (row["formula_used"], row["attention_counted"]) == ("megatron", "full")
    assert 128 * (row["flops_per_token"] / 3 - head) == pytest.approx(2 * published * 1e9, rel=0.01)


@pytest.mark.parametrize("seq_length", [128, 512])
def test_bert_as_the_runners_model_computes_it(warehouse: Warehouse, seq_length: int) -> None:
    torch = pytest.importorskip("torch")
    counting = pytest.importorskip("torch.utils.flop_counter")
    bert = runner_module("bert_model")
    shape = bert.SHAPES["bert-base"]
    with torch.device("meta"), counting.FlopCounterMode(display=False) as counter:
        bert.Bert(shape)(torch.zeros(2, seq_length, dtype=torch.long)).sum().backward()
    stated = BERT["bert-base"] | {"vocabulary": shape.vocabulary, "bidirectional": True}
    language(warehouse, stated, model="mine", seq_length=seq_length)
    row = flops(warehouse)
    assert counter.get_total_flops() / (2 * seq_length) == pytest.approx(row["flops_per_token"], rel=0.01)
    assert mfu(warehouse, attention="causal")["attention_counted"] == "causal"


@pytest.mark.parametrize(("scored", "is_doubted"), [("all", False), (None, True)])
def test_a_bert_that_may_score_masked_tokens_alone(warehouse: Warehouse, scored: str | None, is_doubted: bool) -> None:
    shape = BERT["bert-base"] | {"vocabulary": 30522, "scored_tokens": scored}
    language(warehouse, shape, model="bert-base-uncased", seq_length=128, global_batch_size=80)
    row = mfu(warehouse)
    assert row["mfu"] is not None
    assert ("if only masked tokens are scored" in (row["note"] or "")) == is_doubted
