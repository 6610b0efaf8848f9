"""Charts: the Vega-Lite of each case as a golden, and every format drawn for real.

A case is a CSV of the query's rows (`scalelens query scaling --format csv`, with the facts of the chart) and beside it
the golden, without the version of the schema and with four digits.
"""

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import altair as alt
import pikepdf
import polars as pl
import pyarrow as pa
import pytest

from scalelens.charts import (
    axes,
    batch_cdf,
    dates,
    efficiency_panels,
    energy,
    exclusions,
    kernel_tree,
    naming,
    run_labels,
    run_rates,
    run_strips,
    scaling,
    stacked_bars,
    style,
    words,
)
from scalelens.charts import load as charts
from scalelens.charts.layout import SINGLE, page_of
from scalelens.charts.tick_labels import keep_ends
from scalelens.errors import UserError
from scalelens.queries.load import load as load_queries
from scalelens.question.answer import run_ids
from scalelens.question.provenance import make_provenance, rows_sha256
from scalelens.report import rendering as render
from scalelens.report.provenance_in_files import provenance_of
from spread import spread

FIXTURES = Path(__file__).parent / "fixtures" / "charts"
CASES = sorted(path.relative_to(FIXTURES).with_suffix("").as_posix() for path in FIXTURES.glob("*/*.csv"))
NUMBERS = {
    "step_s": pl.Float64, "step_s_low": pl.Float64, "step_s_high": pl.Float64, "cdf": pl.Float64,
    "efficiency": pl.Float64, "efficiency_low": pl.Float64, "efficiency_high": pl.Float64, "speedup": pl.Float64,
    "tflops_per_device": pl.Float64, "tflops_printed": pl.Float64, "samples_per_s": pl.Float64,
    "parameters": pl.Float64, "n_runs": pl.Int64, "n_steps": pl.Int64, "devices": pl.Int64,
    "rank": pl.Int64, "train_step": pl.Int64, "span_ns": pl.Int64, "compute_ns": pl.Int64, "exposed_comm_ns": pl.Int64,
    "exposed_memory_ns": pl.Int64, "idle_ns": pl.Int64, "total_ns": pl.Int64, "calls": pl.Int64,
    "time_s": pl.Float64, "baseline_devices": pl.Int64, "nodes": pl.Int64, "global_batch_size": pl.Int64,
    "call": pl.Int64, "ranks": pl.Int64, "lateness_ns": pl.Int64, "wait_ns": pl.Int64,
    "blame_ns": pl.Int64,
    "stream": pl.Int64, "begins_ns": pl.Int64, "ends_ns": pl.Int64, "work_ns": pl.Int64, "n_events": pl.Int64,
    "offset_ns": pl.Float64, "kernel_s": pl.Float64, "intensity": pl.Float64, "tflops_per_s": pl.Float64,
    "peak": pl.Float64, "bandwidth": pl.Float64,
    "segment": pl.Int64, "begins_s": pl.Float64, "ends_s": pl.Float64, "power_w": pl.Float64, "readings": pl.Int64,
    "samples_per_s_low": pl.Float64, "samples_per_s_high": pl.Float64,
    "tokens_per_s": pl.Float64, "unit_wh": pl.Float64, "unit_wh_low": pl.Float64, "unit_wh_high": pl.Float64,
    "samples_per_wh": pl.Float64, "samples_per_wh_low": pl.Float64, "samples_per_wh_high": pl.Float64,
    "tokens_per_wh": pl.Float64, "sample_j": pl.Float64, "unit_w": pl.Float64, "relative_energy": pl.Float64,
    "relative_low": pl.Float64, "relative_high": pl.Float64, "limit_w": pl.Float64, "saved": pl.Float64,
    "longer": pl.Float64, "n_windows": pl.Int64, "n_epochs": pl.Int64, "later_epoch_s": pl.Float64,
    "run_number": pl.Int64, "run_value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
    "slowdown": pl.Float64, "p_value": pl.Float64, "slowdown_low": pl.Float64, "slowdown_high": pl.Float64,
    "failures": pl.Int64, "n_unknown": pl.Int64, "failures_per_1000_node_h": pl.Float64, "failures_per_1000_node_h_low": pl.Float64, "failures_per_1000_node_h_high": pl.Float64,
    "minutes": pl.Float64, "mtbf_h": pl.Float64, "named": pl.Int64,
    "doublings": pl.Float64, "efficiency_at_least": pl.Float64, "efficiency_at_most": pl.Float64,
    "speedup_at_least": pl.Float64, "speedup_at_most": pl.Float64, "n_residuals": pl.Int64,
    "n_slower": pl.Int64, "slower": pl.Float64, "usual_step_s": pl.Float64, "n_usual": pl.Int64, "n_jobs": pl.Int64, "n_others": pl.Int64, "more_jobs": pl.Int64,
    "line": pl.Int64, "position_in_run": pl.Int64, "step": pl.Int64, "n_excluded": pl.Int64, "steady_from_step": pl.Int64,
    "steady_s": pl.Float64, "attempt": pl.Int64, "batch_per_device": pl.Float64, "device_samples_per_s": pl.Float64,
    "device_tokens_per_s": pl.Float64, "gain_of_doubling": pl.Float64, "knee": pl.Float64, "relative": pl.Float64,
    "self_ns": pl.Int64, "part_order": pl.Int64, "lost_s": pl.Float64, "percent": pl.Float64, "after_percent": pl.Float64,
    "fitted_speedup": pl.Float64, "residual": pl.Float64, "speedup_low": pl.Float64, "speedup_high": pl.Float64,
    "score": pl.Float64, "epoch": pl.Float64, "epochs_done": pl.Float64, "tokens": pl.Float64, "energy_j": pl.Float64,
    "elapsed_s": pl.Float64, "measured": pl.Float64, "n_done": pl.Int64, "n_points": pl.Int64, "ratio": pl.Float64, "flagged_share": pl.Float64,
    "mfu": pl.Float64, "mfu_low": pl.Float64, "mfu_high": pl.Float64, "model_tflops": pl.Float64,
    "printed_tflops": pl.Float64, "peers": pl.Int64, "q": pl.Float64,
    "message_bytes": pl.Int64, "busbw_bytes_per_s": pl.Float64, "wrong": pl.Int64, "root": pl.Int64,
    "device_ns": pl.Int64, "iterations": pl.Int64, "requests": pl.Float64, "beside_ns": pl.Int64, "added_ns": pl.Int64,
    "compared_ns": pl.Int64, "requested_bytes": pl.Int64, "reserved_bytes": pl.Int64, "at_s": pl.Float64, "entries": pl.Int64,
    "pieces": pl.Int64, "duration_ns": pl.Int64, "time_ns": pl.Int64, "coverage": pl.Float64, "token_j": pl.Float64,
    "sensors": pl.Int64, "low_j": pl.Float64, "high_j": pl.Float64, "windows": pl.Int64, "load": pl.Float64, "worst_load": pl.Float64, "imbalance": pl.Float64, "group_rank": pl.Int64,
    "seq_length": pl.Int64, "elbow_number": pl.Int64, "elbow_share_low": pl.Float64, "elbow_share_high": pl.Float64,
}  # fmt: skip
LEFT_OUT = {"warmup": 8, "checkpoint": 3}
SAID = {
    "chart": "scaling",
    "sql": "FROM scaling(runs := 'precision = ''bf16'' AND devices < 9')  -- é </script> ]]> &amp;",
    "inputs": {"0" * 64: "a.log", "f" * 64: "b/c.log"},
}
SUFFIXES = list(render.WRITERS)


def rows_of(case: str) -> pl.DataFrame:
    """Rows of a case with the types that the query gives."""
    rows = pl.read_csv(FIXTURES / f"{case}.csv", infer_schema=False)
    truths = [
        name for name in ("has_clock", "is_converged", "is_knee", "is_least", "is_peak") if name in rows.columns
    ]  # of text there is no cast
    rows = rows.with_columns((pl.col(truths) == "true") if truths else [])
    known = [pl.col(name).cast(kind) for name, kind in NUMBERS.items() if name in rows.columns and name not in truths]
    if "run_ids" in rows.columns:
        known.append(pl.col("run_ids").str.split(" "))
    if "excluded_by" in rows.columns:
        known.append(pl.col("excluded_by").str.split(" "))
    if case.startswith("blame_jobs/"):
        known.append(pl.col("started_at").str.to_datetime())
    if "repeat_efficiencies" in rows.columns:
        known.append(pl.col("repeat_efficiencies").str.split(" ").cast(pl.List(pl.Float64)))
    return rows.with_columns(known)


def draw(case: str, rows: pl.DataFrame | None = None, **options):
    chart = charts.find(case.split("/")[0])
    return chart.draw(rows_of(case) if rows is None else rows, LEFT_OUT, **options)


@cache
def chart_of(case: str, width: str = "single"):
    return draw(case, page=page_of({"width": width}))


@cache
def spec_of(case: str, width: str = "single") -> dict:
    return render.specification(chart_of(case, width), {})


@cache
def svg_of(case: str, width: str = "single") -> str:
    return render.svg_of(spec_of(case, width))


def rounded(value):
    """A specification with four digits, so that the last bits of another machine do not matter."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def marks(spec: dict) -> list[dict]:
    """All views of a specification that draw something, with their data and encodings."""
    found = [spec] if "mark" in spec else []
    for key in ("vconcat", "hconcat", "layer"):
        found += [mark for part in spec.get(key, []) for mark in marks(part)]
    return found


@pytest.mark.parametrize(
    "case", [case for case in CASES if '"type": "area"' in (FIXTURES / f"{case}.vl.json").read_text()]
)
def test_areas_are_not_stacked(case):
    """Of values with one time Vega draws the sum, and nothing below the others."""
    areas = [mark for mark in marks(spec_of(case)) if mark["mark"].get("type") == "area"]
    assert areas and all("y2" in mark["encoding"] or mark["encoding"]["y"].get("stack", "") is None for mark in areas)


def drawn_rows(part) -> list[dict]:
    """All rows of data within a part of a specification."""
    if isinstance(part, list):
        return [row for element in part for row in drawn_rows(element)]
    if not isinstance(part, dict):
        return []
    own = part["data"].get("values", []) if isinstance(part.get("data"), dict) else []
    return [*own, *(row for key, value in part.items() if key != "data" for row in drawn_rows(value))]


def text_of(case) -> str:
    """What a reader of a case or of a chart reads, drawn for real."""
    return text_of_spec(spec_of(case) if isinstance(case, str) else render.specification(case, {}))


def text_of_spec(spec: dict) -> str:
    svg = render.svg_of(spec)
    return " ".join(
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    )


@pytest.mark.parametrize("case", spread(CASES, lambda case: case.replace("/", " "), "schema", share=5))
def test_schema(case):
    """Figures are not checked against it.  By day a fifth of all: a specification that its golden holds stays valid."""
    chart_of(case).to_dict()


@pytest.mark.parametrize("case", CASES)
def test_specification(case, golden):
    spec = rounded(spec_of(case))
    del spec["$schema"], spec["usermeta"]
    text = json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True)
    # One row of data a line: a golden is read by people.
    text = re.sub(r"\{[^{}\[\]]*\}", lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text)
    golden(text + "\n", FIXTURES / f"{case}.vl.json")


def test_long_names_stay_within_the_column():
    rows = rows_of("batch_cdf/ranks")
    rows = rows.with_columns(model=pl.col("run_id") + "-a-model-with-a-name-that-nobody-could-remember" * 3)
    drawn = draw("batch_cdf/ranks", rows)
    assert f'width="{SINGLE.points}"' in render.svg_of(render.specification(drawn, {})).split(">")[0]
    assert "…" in text_of(drawn)


@pytest.mark.parametrize(
    "case",
    [
        "scaling/repeats",
        "batch_cdf/kinds_of_record",
        "collective_arrivals/three_ranks",
        "roofline/families",
        "power_over_time/four_gpus",
        "energy_by_batch/repeats",
        "energy_scaling/strong",
        "energy_by_limit/two_runs",
        "collective_benchmarks/two_tests_two_sizes",
    ],
)
def test_order_of_rows_changes_nothing(case):
    rows = rows_of(case)
    assert render.specification(draw(case, rows.reverse()), {}) == spec_of(case)


def test_another_process_draws_the_same():
    """Sets of text are in another order there."""
    program = (
        "import json, sys; sys.path.insert(0, 'tests'); import test_charts as t;"
        "print(json.dumps([t.spec_of(case) for case in t.CASES[::8]]))"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=Path(__file__).parent.parent,
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == [spec_of(case) for case in CASES[::8]]


# What the figures say.


def test_growing_model_has_no_efficiency():
    fields = {
        channel["field"]
        for mark in marks(spec_of("scaling/growing_model"))
        for channel in mark["encoding"].values()
        if "field" in channel
    }
    assert "tflops_per_device" in fields and not {"efficiency", "ideal"} & fields
    text = text_of("scaling/growing_model")
    assert "TFLOP/s per GPU" in text and "206 B" in text and "efficiency [%]" not in text


def test_three_times_share_their_axes_and_have_bases_of_their_own():
    spec = spec_of("scaling_times/two_precisions")
    lines = [mark for mark in marks(spec) if mark["mark"]["type"] == "line"]
    assert len(lines) == 2, "a panel for each series"
    for line in lines:
        times = [row["label"] for row in line["data"]["values"]]
        assert list(dict.fromkeys(times)) == ["median batch", "training part of the epoch", "epoch"]
    assert len({json.dumps(line["encoding"][axis]["scale"]) for line in lines for axis in "xy"}) == 2
    text = text_of("scaling_times/two_precisions")
    assert "Bases, in the order of the legend: amp on 8 GCDs 0.2803, 184.3, 187.6 s; fp32 on 8 GCDs 0.5004" in text
    batches = rows_of("scaling_times/two_precisions").filter(pl.col("metric") == "t_b")
    assert "Not timed in the logs: training part of the epoch, epoch." in text_of(draw("scaling_times/x", batches))


def test_base_and_counts_stand_in_the_caption():
    text = text_of("scaling/weak_and_strong")
    assert "Base of weak and strong scaling: 0.391 s a step on 1 CPU (bf16), 0.512 s (fp32)." in text
    assert "Each point: 1 run, 18 step records; median step time." in text
    assert "One run per size: no interval for the efficiency." in text
    assert "Left out: 8 warm-up records, 3 records with a checkpoint." in text
    assert "mean step time" in text_of(draw("scaling/weak_and_strong", parameters={"metric": "mean_s"}))
    assert "Nothing left out." in text_of(scaling.draw(rows_of("scaling/weak_and_strong"), {}))


def test_a_legend_keeps_what_distinguishes():
    text = text_of("throughput/frameworks")
    assert "resnet50" in text, "a panel is named by the model"
    assert "pytorch · amp · A100" in text and "pytorch · amp · V100" in text
    text = text_of("throughput/nodes")
    assert "gpt-7b · batch 4 per GPU · tp 4 gpt-7b · batch 8 per GPU · tp 4" in text
    assert "torchtitan · bf16 · GH200." in text and "4096" not in text.partition("Each point")[0]
    assert "tokens/s per GPU, log." in text, "the large model would lie on the ground"


def test_runs_of_one_size_are_bars_with_their_names():
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null())
    rows = rows.with_columns(devices=pl.lit(16), name=pl.format("run-{}", pl.int_range(pl.len())))
    text = text_of(draw("throughput/nodes", rows))
    fastest = rows.sort("device_tokens_per_s", descending=True)["name"][0]
    assert text.index(f"{fastest} · ") < min(text.index(f"{name} · ") for name in rows["name"] if name != fastest)
    assert "on 16 GPUs" in text and "Each bar: 1 run" in text
    one = text_of(draw("throughput/nodes", rows.head(1)))
    assert "Each point: 1 run" in one, "one run alone is a point"


def sweep(names: list[str]) -> pl.DataFrame:
    """Runs of one size whose rate is told by the words of their names and hardly by the numbers, which are seeds."""
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null()).head(1)
    rates = [1000 + sum(map(ord, re.sub(r"\d+", "", name))) + int(name[-1]) for name in names]
    return pl.concat([rows] * len(names)).with_columns(
        devices=pl.lit(16),
        run_id=pl.Series([f"{k:012x}" for k in range(len(names))]),
        name=pl.Series(names),
        device_tokens_per_s=pl.Series(rates, dtype=pl.Float64),
    )


def test_runs_of_a_large_sweep_share_bars_without_their_seeds():
    names = [
        f"{schedule}_{way}_{seed}" for schedule in ("gpipe", "zb", "ib") for way in "abcdef" for seed in (11, 22, 43)
    ]
    text = text_of(draw("throughput/nodes", sweep(names)))
    assert "zb f · 3 runs · " in text and "Each run: " in text
    assert "differ only in 11, 22, 43 share a bar: the median" in text
    spec = render.specification(draw("throughput/nodes", sweep(names)), {})
    bars = {row["text"].partition(" · ")[0]: row for row in drawn_rows(spec) if "value" in row}
    assert len(bars) == 18
    assert bars["zb f"]["highest"] - bars["zb f"]["lowest"] == 2
    assert bars["zb f"]["lowest"] + 1 == bars["zb f"]["value"], "the median of three"
    uneven = [*names[:-1], "a_name_of_more_pieces_9"]
    assert "Each point: 1 run" in text_of(draw("throughput/nodes", sweep(uneven))), (
        "names of other pieces are not guessed"
    )


def test_a_gcd_is_never_drawn_beside_a_gpu_unasked():
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null())
    of_amd = pl.int_range(pl.len()) == 0
    rows = rows.with_columns(
        device_unit=pl.when(of_amd).then(pl.lit("gcd")).otherwise(pl.lit("gpu")),
        device_model=pl.when(of_amd).then(pl.lit("amd instinct mi250x gcd")).otherwise(pl.lit("nvidia h100")),
    )
    with pytest.raises(UserError, match="some runs count GCDs and others GPUs"):
        draw("throughput/nodes", rows)
    devices, rate = rows.row(0, named=True)["devices"], rows.row(0, named=True)["device_tokens_per_s"]
    spec = draw("throughput/nodes", rows, page=page_of({"unit": "gpu"}))
    points = [row for row in drawn_rows(render.specification(spec, {})) if row.get("run_id") == rows["run_id"][0]]
    assert points and all(point["devices"] == devices // 2 for point in points)
    assert all(point["device_tokens_per_s"] == pytest.approx(2 * rate) for point in points)
    assert "the throughputs of its two GCDs are added" in text_of(spec)
    odd = rows.with_columns(devices=pl.when(of_amd).then(3).otherwise(pl.col("devices")))
    with pytest.raises(UserError, match="has 3 GCDs, which are no whole GPUs"):
        draw("throughput/nodes", odd, page=page_of({"unit": "gpu"}))
    assert "GCD" in text_of(draw("throughput/nodes", rows.head(1))), "GCDs alone stay GCDs"
    with pytest.raises(UserError, match="'die' is not a unit"):
        page_of({"unit": "die"})


def test_bars_of_all_devices_stand_side_by_side_at_each_size():
    sizes, systems = (1, 2, 4), (("dardel", "gcd", 2, "amd instinct mi250x gcd"), ("alvis", "gpu", 1, "nvidia a100"))
    base = rows_of("throughput/nodes").head(1)
    facts = [(*system, size, model) for system in systems for size in sizes for model in ("resnet50", "resnet101")]
    rows = pl.concat(
        base.with_columns(
            run_id=pl.lit(f"{system}-{size}-{model}"), system=pl.lit(system), device_unit=pl.lit(unit),
            device_model=pl.lit(device), devices=pl.lit(dies * size, dtype=base["devices"].dtype), nodes=pl.lit(1),
            model=pl.lit(model), device_samples_per_s=pl.lit(100.0), device_tokens_per_s=pl.lit(None, pl.Float64),
        )
        for system, unit, dies, device, size, model in facts
    )  # fmt: skip
    with pytest.raises(UserError, match="some runs count GCDs and others GPUs"):
        draw("throughput/nodes", rows, page=page_of({"mark": "bar"}))
    spec = render.specification(draw("throughput/nodes", rows, page=page_of({"mark": "bar", "unit": "gpu"})), {})
    bars = {row["run_id"]: (row["devices"], row["rate"]) for row in drawn_rows(spec) if "rate" in row}
    assert bars == {
        f"{system}-{size}-{model}": (size, 100.0 * dies * size) for system, _, dies, _, size, model in facts
    }
    text = text_of_spec(spec)
    assert "model resnet50" in text and "model resnet101" in text and "samples/s of all GPUs" in text
    assert "A bar is the rate of all devices of a run." in text and "two GCDs are added" in text
    again = pl.concat([rows, rows.head(1).with_columns(run_id=pl.lit("again"))])
    with pytest.raises(UserError, match="2 runs on 1 devices would share a bar: resnet50"):
        draw("throughput/nodes", again, page=page_of({"mark": "bar", "unit": "gpu"}))
    with pytest.raises(UserError, match="'line' is not a mark of this chart"):
        page_of({"mark": "line"})


def test_long_labels_leave_out_what_follows_from_the_rest():
    rows = rows_of("throughput/nodes").with_columns(
        device_model=pl.lit("NVIDIA H100 80GB HBM3 of a node") + pl.col("model")
    )
    assert "NVIDIA" in text_of(draw("throughput/nodes", rows, page=page_of({"width": "double"})))
    text = text_of(draw("throughput/nodes", rows))
    assert "NVIDIA" not in text and "gpt-7b · batch 8 per GPU" in text


def test_nodes_stand_below_the_devices():
    text = text_of("throughput/nodes")
    assert "GPUsnodes" in text, "two lines"
    x = next(mark["encoding"]["x"] for mark in marks(spec_of("throughput/nodes")) if "devices" in str(mark))
    assert "datum.value == 16 ? '2'" in x["axis"]["labelExpr"]
    renamed = render.adjusted(spec_of("throughput/nodes"), page_of({"labels": ["GPUs=GH200", "nodes=blades"]}), len)
    assert "GH200blades" in text_of_spec(renamed)
    limits = render.adjusted(spec_of("energy_scaling/strong"), page_of({"log": "GCDs"}), len)
    assert limits["vconcat"], "an axis of two lines is named by its first"
    one_node = rows_of("throughput/nodes").with_columns(nodes=pl.lit(1))
    assert "nodes" not in text_of(draw("throughput/nodes", one_node))
    of_the_job = rows_of("throughput/nodes").with_columns(nodes=pl.col("devices") - 1)
    assert "nodes" not in text_of(draw("throughput/nodes", of_the_job)), "it trained on some of its devices"


def test_a_legend_of_parts_has_those_that_can_be_seen():
    colors = {"compute": "#000", "exposed_memory": "#111", "idle": "#222"}
    bars = [{"compute": 900, "exposed_memory": 99, "idle": 1}, {"compute": 700}]
    assert [look.label for look in stacked_bars.legend(bars, colors)] == ["compute", "exposed memory"]


def test_a_narrow_range_of_scores_has_short_labels():
    rows = rows_of("accuracy/two_runs")
    narrow = rows.with_columns(score=10.91 + 0.02 * pl.col("score") / rows["score"].max())
    spec = render.specification(draw("accuracy/two_runs", narrow, parameters={"score_name": "loss"}), {})
    axes_drawn = [mark["encoding"]["y"] for mark in marks(spec) if "score" in str(mark.get("encoding", {}).get("y"))]
    assert axes_drawn and all(y["axis"]["values"] == [10.9, 11.0] for y in axes_drawn)
    assert all(y["scale"]["domain"] == [10.9, 11.0] for y in axes_drawn)


def test_a_heat_map_spans_its_colors():
    spec = spec_of("batch_device_grid/one_missing")
    (scale,) = {
        json.dumps(m["encoding"]["color"]["scale"]["domain"]) for m in marks(spec) if m["mark"]["type"] == "rect"
    }
    lowest = rows_of("batch_device_grid/one_missing")["relative"].min()
    assert json.loads(scale) == [pytest.approx(100 * lowest), 100]
    rows = rows_of("step_heatmap/slow_rank_and_step")
    spread = rows.with_columns(compute_ns=pl.col("compute_ns") * (1 + pl.col("train_step") % 4))
    assert "50 % longer or more" in text_of(draw("step_heatmap/slow_rank_and_step", spread))
    with pytest.raises(UserError, match="no map to draw: .* for one batch: scalelens plot throughput -o"):
        draw("batch_device_grid/one_missing", rows_of("batch_device_grid/one_missing").with_columns(devices=pl.lit(4)))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.2312, 0.2534, [0.24, 0.25]), (0.99, 1.09, [1.0, 1.02, 1.04, 1.06, 1.08]), (0.17, 0.71, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (1200, 1900, [1200, 1400, 1600, 1800]),
    ],
)  # fmt: skip
def test_ticks_have_short_labels(low, high, ticks):
    assert axes.ticks_between(low, high) == pytest.approx(ticks)


def test_an_axis_has_two_ticks_where_round_values_are_far_apart():
    assert axes.around(0.2543, 0.2659)[0] == pytest.approx([0.25, 0.27])
    assert axes.around(0.2543, 0.2659)[1] == pytest.approx([0.25, 0.26, 0.27])
    assert axes.around(0.99, 1.09) == ([0.99, 1.09], pytest.approx([1.0, 1.02, 1.04, 1.06, 1.08]))
    assert axes.around(0.996, 1.0016)[1] == pytest.approx([0.99, 1.0, 1.01]), "1.000 has no room"
    assert axes.around(1e-5, 2e-5)[1] == pytest.approx([1e-5, 2e-5])
    assert axes.around(3.0, 3.0)[0] == [3.0, 3.0]


def test_names_of_devices_are_written_as_vendors_do():
    assert (
        naming.plain("device_model nvidia a100 sxm4 40gb, micro_batch_size 4")
        == "NVIDIA A100 SXM4 40GB, micro batch size 4"
    )
    assert naming.device_name("amd instinct mi250x") == "AMD Instinct MI250X"
    assert naming.device_name("intel(r) xeon(r) processor @ 2.50ghz") == "Intel(R) Xeon(R) Processor @ 2.50GHz"
    assert naming.device_name("amd epyc") == "AMD EPYC"
    assert naming.device_name("Tesla V100-SXM2") == "Tesla V100-SXM2"


def test_a_device_with_and_without_its_vendor_is_one_series() -> None:
    models = ["NVIDIA A100-SXM-40GB", "A100-SXM-40GB", "NVIDIA H100", None]
    assert naming.without_vendors(models) == {
        "NVIDIA A100-SXM-40GB": "A100-SXM-40GB", "A100-SXM-40GB": "A100-SXM-40GB", "NVIDIA H100": "NVIDIA H100", None: None,
    }  # fmt: skip
    rows = rows_of("time_to_train/two_submitters")
    models = pl.when(pl.col("devices") == rows["devices"].max()).then(pl.lit("NVIDIA B300")).otherwise(pl.lit("B300"))
    text = text_of(draw("time_to_train/two_submitters", rows.with_columns(device_model=models)))
    assert "NVIDIA" not in text and "B300" in text


def test_steps_of_one_rank_are_bars():
    rows = rows_of("step_heatmap/slow_rank_and_step").filter(pl.col("rank") == 2)
    spec = render.specification(draw("step_heatmap/slow_rank_and_step", rows), {})
    (bars,) = [mark for mark in marks(spec) if mark["mark"]["type"] == "bar"]
    assert bars["encoding"]["y"]["title"] == "compute per step [ms]" and "White" not in spec["description"]


def test_a_rate_is_the_batch_over_the_median_step_or_what_the_tool_prints():
    rows = rows_of("scaling_rates/two_precisions")
    points = {
        row["run_id"]: row["rate"]
        for row in drawn_rows(spec_of("scaling_rates/two_precisions"))
        if {"run_id", "rate"} <= row.keys()
    }
    assert len(points) == rows.height
    for row in rows.iter_rows(named=True):
        assert points[row["run_id"]] == pytest.approx(row["global_batch_size"] / row["devices"] / row["step_s"])
    printed = rows_of("scaling_rates/weak_and_strong")
    points = {
        row["run_id"]: row["rate"]
        for row in drawn_rows(spec_of("scaling_rates/weak_and_strong"))
        if {"run_id", "rate"} <= row.keys()
    }
    assert points == {run: pytest.approx(tflops) for run, tflops in printed.select("run_id", "tflops_printed").rows()}
    text = text_of("scaling_rates/weak_and_strong")
    assert "gpt-175b-96x12288 · strong" in text and "TFLOP/s per GCD, as printed" in text
    with pytest.raises(UserError, match="metric=t_ep measures whole epochs"):
        draw("scaling_rates/x", rows.with_columns(metric=pl.lit("t_ep")))


def test_an_interval_of_a_rate_is_that_of_the_step_time_and_no_range_of_single_steps():
    rows = rows_of("scaling_rates/two_precisions")
    sure = rows.filter(pl.col("interval_kind") == "ci95")
    assert 0 < sure.height < rows.height, "some runs are too short"
    lowest = sure.select(pl.col("global_batch_size") / pl.col("devices") / pl.col("step_s_high")).to_series()
    drawn = {row["rate_low"] for row in drawn_rows(spec_of("scaling_rates/two_precisions")) if "rate_low" in row}
    assert sorted(drawn) == pytest.approx(sorted(lowest))
    assert "95 % interval, steps of one run" in text_of("scaling_rates/two_precisions")


def test_devices_of_rates_are_gcds_or_with_the_unit_gpus():
    spec = render.specification(draw("scaling_rates/weak_and_strong", page=page_of({"unit": "gpu"})), {})
    rows = rows_of("scaling_rates/weak_and_strong")
    points = {row["run_id"]: row for row in drawn_rows(spec) if {"run_id", "rate"} <= row.keys()}
    for row in rows.iter_rows(named=True):
        assert points[row["run_id"]]["devices"] * 2 == row["devices"]
        assert points[row["run_id"]]["rate"] == pytest.approx(2 * row["tflops_printed"])
    of_nvidia = rows.with_columns(
        device_unit=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("gpu")).otherwise("device_unit")
    )
    with pytest.raises(UserError, match="some runs count GCDs and others GPUs"):
        draw("scaling_rates/weak_and_strong", of_nvidia)


def test_a_series_of_one_size_has_no_panel_of_times():
    rows = rows_of("scaling_times/two_precisions")
    fewer = rows.filter(~pl.col("series").str.contains("fp32") | (pl.col("devices") == rows["devices"].min()))
    text = text_of(draw("scaling_times/two_precisions", fewer))
    assert "fp32" not in text and "without an efficiency or another size" in text


def test_studies_and_settings_have_no_inner_words():
    rows = rows_of("run_matrix/holes")
    other = rows.with_columns(
        study=pl.lit("ResNet#V#.#/logs"), configuration=pl.col("configuration") + " · device_model a100"
    )
    twice = other.with_columns(configuration=pl.col("configuration").str.replace("a100", "v100"))
    text = text_of(draw("run_matrix/holes", pl.concat([rows, other, twice])))
    assert "ResNet*V*/logs" in text and "· A100" in text


def test_of_many_trainings_the_best_and_the_median_stand_out():
    text = text_of("accuracy/many_runs")
    assert "best: lr 14e-4 median: lr 8e-4 12 other runs" in text
    over_tokens = text_of(draw("accuracy/many_runs", parameters={"x": "tokens", "smooth": "4"}))
    assert "tokens [billion]" in over_tokens and "time [" not in over_tokens
    assert "Training: the mean of the 4 records around each." in over_tokens
    loss = text_of(draw("accuracy/many_runs", parameters={"score_name": "loss", "x": "hours"}))
    assert "best: lr 1e-4" in loss and "time [h]" in loss
    diverging = rows_of("accuracy/many_runs").with_columns(score=10 ** (8 * pl.col("score")))
    assert "loss, log." in text_of(draw("accuracy/many_runs", diverging, parameters={"score_name": "loss"}))
    with pytest.raises(UserError, match="no score can be drawn over energy: no run has power readings"):
        draw("accuracy/many_runs", parameters={"x": "energy"})


@pytest.mark.parametrize(
    ("asked", "field", "column", "size"),
    [("hours", "elapsed", "elapsed_s", 3600), ("tokens", "tokens_done", "tokens", 1e9)],
)
def test_an_axis_in_a_larger_unit_ends_where_the_trainings_end(asked, field, column, size):
    spec = render.specification(draw("accuracy/many_runs", parameters={"x": asked}), {})
    drawn = max(row[field] for row in drawn_rows(spec) if row.get(field) is not None)
    assert drawn == pytest.approx(rows_of("accuracy/many_runs")[column].max() / size)


def test_the_more_gray_lines_the_fewer_points_each_and_the_caption_says_so(monkeypatch):
    def points(chart) -> int:
        return sum(len(mark["data"]["values"]) for mark in marks(render.specification(chart, {})))

    before = points(draw("accuracy/many_runs"))
    monkeypatch.setattr("scalelens.charts.accuracy.PALE_POINTS", 14 * 2 * 3)
    monkeypatch.setattr("scalelens.charts.accuracy.LEAST_SLOTS", 2)
    thinned = draw("accuracy/many_runs")
    assert points(thinned) < before
    assert "Gray lines: the lowest and the highest record in each of 3 parts of the axis." in text_of(thinned)


def test_each_rule_that_leaves_records_out_has_words_for_a_caption():
    rules = re.findall(
        r"^--   (\w+) {3,}", load_queries()["selected_steps"].path.read_text().partition("Helper:")[0], re.M
    )
    assert "warmup" in rules
    for rule in rules:
        assert f"({rule})" not in exclusions.sentence({rule: 2})
    assert exclusions.sentence({"warmup": 1, "first_of_epoch": 20_000}) == (
        "Left out: 1 warm-up record, 20,000 first batches of epochs."
    )


def test_kinds_of_interval_are_never_drawn_alike():
    spec = spec_of("scaling/kinds_of_interval")
    bars = [mark for mark in marks(spec) if mark["encoding"].get("y2", {}).get("field") == "efficiency_high"]
    looks = [(tuple(mark["mark"]["strokeDash"]), mark["mark"]["strokeWidth"]) for mark in bars]
    assert len(looks) == len(set(looks)) == 4
    caps = [mark for mark in marks(spec) if mark["mark"]["type"] == "tick"]
    assert len(caps) == 4, "both ends of the two kinds of confidence, none of the ranges"
    for bar in style.INTERVALS.values():
        assert (bar.cap > 0) == bar.label.startswith("95 %")
        assert bar.label in text_of("scaling/kinds_of_interval")


def test_repeats_that_scatter_are_drawn_apart_with_their_range():
    spec = spec_of("scaling/scattered")
    (rings,) = [mark for mark in marks(spec) if mark["mark"].get("size") == efficiency_panels.REPEAT_SIZE]
    assert rings["mark"]["filled"] is False
    drawn = [(row["devices"], row["efficiency"]) for row in rings["data"]["values"]]
    assert drawn == [(4, pytest.approx(value)) for value in (100.0, 90.9, 80.0)]
    bars = [mark for mark in marks(spec) if mark["encoding"].get("y2", {}).get("field") == "efficiency_high"]
    ranges = [row for bar in bars for row in bar["data"]["values"]]
    assert [(row["efficiency_low"], row["efficiency_high"]) for row in ranges] == [(80.0, 100.0)]
    text = text_of("scaling/scattered")
    assert "Rings: single repeats that differ more than they should, with their range." in text
    assert style.INTERVALS["range", "runs"].label in text
    assert "Rings" not in text_of("scaling/repeats")


@pytest.mark.parametrize(
    ("metric", "column", "base", "statistic"),
    [
        ("t_ep", "epoch_s", "0.391 s an epoch on 1 CPU", "18 epochs; mean time of an epoch"),
        ("throughput", "samples_per_s", "0.391 samples/s on 1 CPU", "total samples over total time"),
    ],
)
def test_caption_names_what_the_metric_measures(metric, column, base, statistic):
    rows = rows_of("scaling/weak_and_strong")
    rows = rows.with_columns(pl.col("step_s").alias(column), metric=pl.lit(metric))
    rows = rows.with_columns(step_s=pl.lit(None, pl.Float64))
    text = text_of(draw("scaling/weak_and_strong", rows))
    assert base in text and statistic in text


def test_warnings_are_marked_where_they_apply():
    text = text_of("scaling/repeats")
    assert "†\u00a0Efficiency above 102 %" in text
    (marked,) = [m for m in marks(spec_of("scaling/repeats")) if m["encoding"].get("text", {}).get("field") == "mark"]
    assert [row["devices"] for row in marked["data"]["values"]] == [16]
    assert "†" not in text_of("scaling/growing_model"), "what holds for all points needs no mark"


def test_line_joins_the_fastest_configurations():
    spec = spec_of("scaling/kinds_of_interval")
    (line,) = [mark for mark in marks(spec) if mark["mark"]["type"] == "line"]
    assert len(line["data"]["values"]) == 12
    (hollow,) = [mark for mark in marks(spec) if mark["mark"].get("filled") is False]
    assert [row["run_id"] for row in hollow["data"]["values"]] == ["run3x16"]


def test_means_are_labelled_and_running_means_refused():
    text = text_of("batch_cdf/kinds_of_record")
    assert "means of 10 steps" in text and "share of records [%]" in text
    assert "Not drawn: old.out (running mean: a mean of many steps hides the tail of single ones)." in text
    only_refused = rows_of("batch_cdf/kinds_of_record").filter(pl.col("reason").is_not_null())
    with pytest.raises(UserError, match="running_mean"):
        draw("batch_cdf/kinds_of_record", only_refused)


def test_elbows_are_marked_and_runs_without_one_are_counted() -> None:
    text = text_of("batch_cdf/elbows")
    assert (
        "Circle: elbow, with the interval of its share. Without an elbow: 1 run (no tail), 1 run (too few records)."
        in text
    )
    assert "Circle" not in text_of("batch_cdf/ranks")


def test_runs_beside_published_numbers() -> None:
    points = [
        mark["mark"]["filled"]
        for mark in marks(spec_of("published/two_tables"))
        if mark["mark"]["type"] == "point" and mark["encoding"]["x"]["field"] == "published"
    ]
    assert points == [True, True, False], "open where a setting differs"
    text = text_of("published/two_tables")
    assert "Open: system alps, published IPU-POD16." in text and "1 row for which several published rows fit" in text
    assert "published tokens/s, log." in text and "published images/s, log." in text
    with pytest.raises(UserError, match="no run has a published number"):
        draw("published/two_tables", rows_of("published/two_tables").with_columns(measured=pl.lit(None, pl.Float64)))


def test_copies_of_a_chart_share_its_rows():
    """Altair copies each layer and each panel several times, which took most of the time for figures of many marks."""
    rows = style.values([{"step": 1, "step_s": 0.5}])
    points = alt.Chart(rows).encode(x="step:Q", y="step_s:Q")
    layered = alt.layer(points.mark_line(), points.mark_point())
    assert layered.data is rows
    assert layered.copy().data is rows
    assert rows["values"] == [{"step": 1, "step_s": 0.5}]


@pytest.mark.parametrize("value", [1, 0.5, True, "a", None, float("nan"), [1, None], {"b": 2}, date(2026, 11, 26)])
def test_rows_are_those_that_altair_would_give(value):
    rows = [{"a": value, "b": 1}]
    assert repr(style.values(rows).to_dict()) == repr(alt.InlineData(values=rows).to_dict())


def test_thinned_curve_passes_through_the_same_dots():
    """On a grid finer than the line; a figure of a long run is still small."""
    times = [1 + n % 977 / 500 + 20 * (n % 5003 == 0) for n in range(30_000)]
    full = pl.DataFrame({"step_s": sorted(times)}).with_row_index("n", offset=1)
    full = full.group_by("step_s", maintain_order=True).agg(cdf=pl.col("n").max() / len(times))
    full = pl.concat([full.select("step_s", "cdf"), full.select(pl.col("step_s") + 1e-7, "cdf")]).sort("step_s")
    extent = batch_cdf.Extent(full["step_s"].min(), full["step_s"].max())
    thin = batch_cdf.curve_rows(full, extent, SINGLE.points)
    assert len(thin) < full.height
    dot = (extent.high - extent.low) / SINGLE.points / batch_cdf.DOTS_PER_POINT
    kept = pl.DataFrame(thin).sort("step_s", "percent")
    early = full.join_asof(kept.with_columns(pl.col("step_s") + dot).sort("step_s"), on="step_s", strategy="backward")
    late = full.join_asof(kept.with_columns(pl.col("step_s") - dot).sort("step_s"), on="step_s", strategy="backward")
    assert (early["percent"].fill_null(0) <= 100 * full["cdf"] + 1e-9).all()
    assert (late["percent"] >= 100 * full["cdf"] - 1e-9).all()


NOTHING = [
    "scaling/repeats", "batch_cdf/ranks", "temporal_breakdown/slow_rank", "kernel_summary/two_ranks", "kernel_tree/two_ranks",
    "collective_arrivals/three_ranks", "roofline/families", "memory_over_time/failed_once", "contention/first_to_arrive",
    "inference_phases/two_ranks", "critical_path/one_step_waits", "energy_of_trace/four_ranks",
    "expert_balance/one_rank_gets_more", "blame_jobs/many_nodes", "op_summary/two_ranks",
    "epochs/ranks",
]  # fmt: skip


def test_points_of_one_batch_are_not_a_line():
    rows = rows_of("energy_by_batch/gpt_table")
    assert "Without a line" not in text_of(draw("energy_by_batch/gpt_table", rows))
    first = rows.filter(pl.col("series") == rows["series"][0])
    chart = draw("energy_by_batch/gpt_table", pl.concat([first, first.with_columns(unit_wh=pl.col("unit_wh") * 2)]))
    assert "Without a line: points of one batch" in text_of(chart)
    lines = [mark for mark in marks(render.specification(chart, {})) if mark["mark"].get("type") == "line"]
    assert lines and not any(drawn_rows(line) for line in lines)


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_draw(case):
    with pytest.raises(UserError, match=r"to draw.*scalelens query"):
        draw(case, rows_of(case).clear())


def test_too_many_lines():
    with pytest.raises(UserError, match="13 lines are more than one chart can show"):
        style.looks(map(str, range(13)))


def test_growing_model_without_tflops():
    with pytest.raises(UserError, match="no TFLOP/s"):
        draw("scaling/growing_model", rows_of("scaling/growing_model").with_columns(tflops_per_device=None))
    some = pl.when(pl.col("devices") < 200).then("tflops_per_device")
    text = text_of(draw("scaling/growing_model", rows_of("scaling/growing_model").with_columns(tflops_per_device=some)))
    assert "Not drawn: 1 point of growing models without TFLOP/s." in text and "206 B" not in text


def test_runs_that_nothing_sets_apart_are_named():
    twins = [rows_of("batch_cdf/one_record").with_columns(run_id=pl.lit(run)) for run in ("aaaa", "bbbb")]
    assert "one.out · run aaaa" in text_of(draw("batch_cdf/one_record", pl.concat(twins)))
    bare = pl.concat(twins).select("run_id", "step_s", "cdf", "n_steps", "label", "reason")
    assert "run bbbb" in text_of(draw("batch_cdf/one_record", bare)), "facts may be missing"
    alone = rows_of("batch_cdf/one_record").with_columns(name=pl.lit("resnet50"), model=pl.lit("resnet50"))
    assert "resnet50 · resnet50" not in text_of(draw("batch_cdf/one_record", alone)), "a name may be the model's"


def test_long_times_on_the_host_are_in_seconds():
    assert "own time on the host [ms]" in text_of("op_summary/two_ranks")
    long = rows_of("op_summary/two_ranks").with_columns(pl.col("total_ns", "self_ns") * 1_000_000)
    assert "own time on the host [s]" in text_of(draw("op_summary/two_ranks", long))


def test_an_axis_of_arrivals_has_no_empty_decade():
    def linear_up_to_of(factor: int) -> float:
        rows = rows_of("collective_arrivals/three_ranks").with_columns(pl.col("lateness_ns", "blame_ns") * factor)
        drawn = json.dumps(render.specification(draw("collective_arrivals/three_ranks", rows), {}))
        (constant,) = set(re.findall(r'"constant": ([\d.e-]+)', drawn))
        (unit,) = set(re.findall(r"later than the first \[(.+?)\]", drawn))
        return float(constant) * {"s": 1e6, "ms": 1e3, "µs": 1, "\\u00b5s": 1}[unit]

    least_us = rows_of("collective_arrivals/three_ranks").filter(pl.col("lateness_ns") > 0)["lateness_ns"].min() / 1e3
    assert linear_up_to_of(1) == 10
    assert 0.1 * 1000 * least_us < linear_up_to_of(1000) <= 1000 * least_us


def test_traces_without_a_rank_are_numbered_and_named():
    text = text_of("temporal_breakdown/traces_without_rank")
    assert "1\u00a0before, 2\u00a0after." in text
    many = pl.concat([
        rows_of("temporal_breakdown/traces_without_rank").head(1).with_columns(file_id=pl.lit(f"f{n}")) for n in range(13)
    ])  # fmt: skip
    with pytest.raises(UserError, match="13 traces are more than one chart can show") as refused:
        draw("temporal_breakdown/slow_rank", many)
    assert "step_heatmap" in str(refused.value), "the map of the steps of one run"
    with pytest.raises(UserError) as refused:
        draw("temporal_breakdown/slow_rank", many.with_columns(run_id=pl.col("file_id")))
    assert "step_heatmap" not in str(refused.value), "which draws one run alone"


def test_traces_with_equal_names_are_told_apart():
    rows = rows_of("temporal_breakdown/traces_without_rank").with_columns(name=pl.lit("job"))
    drawn = draw("temporal_breakdown/x", rows)
    assert "1 job run r1, 2 job run r2." in text_of(drawn).replace("\u00a0", " ")
    spec = json.dumps(render.specification(drawn, {}), ensure_ascii=False).replace("\u00a0", " ")
    assert '"trace": "job run r1"' in spec and '"field": "trace", "title": "of"' in spec, "the tooltip tells them apart"
    files = rows.with_columns(run_id=pl.lit("r1"))
    assert "1 job file f1, 2 job file f2." in text_of(draw("temporal_breakdown/x", files)).replace("\u00a0", " ")
    ranks = pl.concat([rows.with_columns(rank=rank) for rank in (0, 1)])
    assert "4 job run r2 rank 1." in text_of(draw("temporal_breakdown/x", ranks)).replace("\u00a0", " ")


def test_steps_of_a_rank_are_added_up():
    rows = rows_of("temporal_breakdown/slow_rank")
    twice = draw("temporal_breakdown/slow_rank", pl.concat([rows, rows]))
    assert "4 ranks of 2 to 2.006 ms" in text_of(twice)


def test_noise_does_not_fill_the_map():
    def classes(spec: dict) -> dict[str, set[str]]:
        cells = re.findall(r'"rank": "(\d+)", "step": \d+, "compute_ms": [\d.]+, "class": "([^"]+)"', json.dumps(spec))
        return {rank: {kind for other, kind in cells if other == rank} for rank, _ in cells}

    assert classes(spec_of("step_heatmap/slow_rank_and_step"))["2"] == {"5 to 25 % longer"}
    rows = rows_of("step_heatmap/slow_rank_and_step").filter(pl.col("rank") != 2, pl.col("train_step") != 5)
    even = render.specification(draw("step_heatmap/slow_rank_and_step", rows), {})
    assert classes(even) == {rank: {"within 2 %"} for rank in "013"}
    both = pl.concat([rows, rows.with_columns(run_id=pl.lit("s"))])
    with pytest.raises(UserError, match="of one run, not of 2"):
        draw("step_heatmap/slow_rank_and_step", both)


def test_kernels_that_are_not_drawn_are_counted():
    assert "Not drawn: 2 other names, 2.1 % of device time." in text_of("kernel_summary/two_ranks")
    few = rows_of("kernel_summary/two_ranks").filter(pl.col("class") != "compute")
    assert "All kernels are drawn." in text_of(draw("kernel_summary/two_ranks", few))


@pytest.mark.parametrize("case", ["kernel_summary/two_ranks", "kernel_tree/two_ranks"])
def test_kernels_of_several_runs_are_not_added_up(case):
    both = pl.concat([rows_of(case), rows_of(case).with_columns(run_id=pl.lit("other"))])
    with pytest.raises(UserError, match=r"device work of one run, not of 2.*runs="):
        draw(case, both)


def _panels_of(case: str) -> list[dict]:
    """The views of a figure that have a title."""

    def found(part: dict) -> list[dict]:
        inner = [view for key in ("vconcat", "hconcat") for view in part.get(key, ())]
        return ([part] if isinstance(part.get("title"), dict) else []) + [
            view for each in inner for view in found(each)
        ]

    return found(spec_of(case))


def test_forecasts_of_many_series_have_a_panel_each():
    titles = [view["title"]["text"] for view in _panels_of("forecast/four_series")]
    assert titles == [
        "resnet50 · NVIDIA A100",
        "resnet50 · NVIDIA V100",
        "resnet101 · NVIDIA A100",
        "resnet101 · NVIDIA V100",
    ]


def test_epochs_of_several_models_have_an_axis_each():
    """Bars of 21 s are as good as invisible beside those of 3479 s, and compare with nothing there."""
    assert [view["title"]["text"] for view in _panels_of("epochs/models")] == ["rnnt", "resnet50", "ssd"]
    assert "Each panel has its own axis." in text_of("epochs/models")


@pytest.mark.parametrize(
    ("values", "kind"), [((1, 2, 3, 400), "log"), ((1, 2, 30, 60, 80), None), ((0, 2, 3, 400), None)]
)
def test_half_of_the_runs_are_not_pressed_flat(values, kind):
    scale = axes.along("value", "time [s]", values, [2]).to_dict()["scale"]
    assert scale.get("type") == kind


def test_shortened_names_stay_apart():
    names = ["gpt-52b-64x8192 · megatron-deepspeed · NVIDIA V100", "gpt-52b-64x8192 · megatron-lm · NVIDIA V100", "gpt"]
    short = words.shortened(names, 100)
    assert len({*short}) == 3 and short[2] == "gpt"
    assert all(words.text_width(name) <= 100 for name in short)
    assert "deepspeed" in short[0] and "lm" in short[1]
    assert words.shortened(["one and the same name", "one and the same name"], 50)[0].count("…") == 1


def test_a_number_and_its_unit_stay_on_one_line():
    lines = words.wrap("took 21 % of 40 ms in 8 steps", 22)
    assert "21 %" in lines and "40 ms" in lines and "in 8" in lines and "steps" in lines


def test_marks_of_many_notes_are_not_mixed_up():
    rows = [{"devices": 8, "speed": value, "marks": marks} for value, marks in ((10, ["†", "††"]), (9.9, ["‡", "††"]))]
    (mark,) = efficiency_panels.marks_apart(rows, "speed")
    assert mark["marks"] == ["†", "‡", "††"] and mark["mark"] == "†‡††"


def test_operators_of_the_host_have_their_own_time():
    rows = rows_of("op_summary/two_ranks")
    text = text_of("op_summary/two_ranks")
    assert "Sums over 2 whole traces." in text and "aten::convolution_backward" in text
    bars = next(
        mark["data"]["values"] for mark in marks(spec_of("op_summary/two_ranks")) if mark["mark"]["type"] == "bar"
    )
    sums = rows.group_by("name").agg(pl.sum("self_ns"))["self_ns"].sort(descending=True)
    assert [bar["total_ms"] for bar in bars] == pytest.approx([value / 1e6 for value in sums[:10]])
    assert "All operators are drawn." in text_of(draw("op_summary/two_ranks", rows.head(3)))
    with pytest.raises(UserError, match="of one run, not of 2"):
        draw("op_summary/two_ranks", pl.concat([rows, rows.with_columns(run_id=pl.lit("other"))]))


def test_a_bar_of_the_kernel_tree_holds_those_below_it():
    rows = rows_of("kernel_tree/two_ranks")
    assert "7 smaller branches not drawn." in text_of("kernel_tree/two_ranks")
    bars = next(
        mark["data"]["values"] for mark in marks(spec_of("kernel_tree/two_ranks")) if mark["mark"]["type"] == "bar"
    )
    outermost = [bar for bar in bars if bar["indent"] == 0]
    assert [bar["total_ms"] for bar in outermost] == sorted((bar["total_ms"] for bar in outermost), reverse=True)
    for n, bar in enumerate(bars):
        below = []
        for one in bars[n + 1 :]:
            if one["indent"] <= bar["indent"]:
                break
            below += [one["total_ms"]] if one["indent"] == bar["indent"] + kernel_tree.INDENT else []
        assert sum(below) <= bar["total_ms"] + 1e-9
        assert not below or bar["kind"] == "operator"
    linear = rows.filter(pl.col("operators").str.starts_with("aten::linear"))
    assert linear["total_ns"].sum() / 1e6 == pytest.approx(
        next(bar["total_ms"] for bar in bars if bar["text"].startswith("aten::linear / aten::addmm"))
    )
    few = rows.filter(pl.col("class") == "communication")
    assert "A bar contains those indented below it." in text_of(draw("kernel_tree/two_ranks", few))
    with pytest.raises(UserError, match="no device activity"):
        draw("kernel_tree/two_ranks", rows.clear())


def test_who_arrives_last_and_what_is_known_of_the_clocks():
    text = text_of("collective_arrivals/three_ranks")
    assert "4 collectives of 3 ranks." in text
    assert "Rank 2 arrives last at 1 of 4 and causes 60 % of the waiting for late ranks." in text  # 118 of 198 us
    last = [mark for mark in marks(spec_of("collective_arrivals/three_ranks")) if mark["mark"]["type"] == "point"]
    assert sorted(row["rank"] for row in last[-1]["data"]["values"]) == [0, 1, 1, 2]
    text = text_of("collective_arrivals/many_ranks_and_clocks")
    assert "Clock offsets of up to 300 µs are subtracted." in text
    assert "Not drawn: 4 ranks (least waiting caused)." in text
    unknown = rows_of("collective_arrivals/three_ranks").with_columns(offset_ns=None)
    assert "Clock offsets are unknown" in text_of(draw("collective_arrivals/three_ranks", unknown))
    two = pl.concat([rows_of("collective_arrivals/three_ranks").with_columns(run_id=pl.lit(run)) for run in "ab"])
    with pytest.raises(UserError, match="of one run, not of 2"):
        draw("collective_arrivals/three_ranks", two)


def test_places_repeats_and_wrong_results_of_collectives():
    spec = spec_of("collective_benchmarks/two_tests_two_sizes")
    drawn = {mark["mark"]["strokeDash"][0]: mark for mark in marks(spec) if mark["mark"]["type"] == "line"}
    assert set(drawn) == {1, 2}, "out of place is full, in place broken"
    lines = [(row["label"], row["message_bytes"]) for row in drawn[1]["data"]["values"]]
    assert len(lines) == len(set(lines)) == 4 * 12, "one value for each size"
    text = text_of("collective_benchmarks/two_tests_two_sizes")
    for said in ("all_gather · 8 GPUs", "all_reduce · 16 GPUs", "1 KiB", "1 GiB", "in place", "out of place"):
        assert said in text
    assert "float. 2 runs, 100 measurements" in text and "medians of measurements of one size" in text
    assert "Cross: wrong values in the result (1 measurement)." in text
    text = text_of("collective_benchmarks/wrong_and_rounded_to_zero")
    assert "Not drawn: 6 measurements without a bandwidth above 0." in text
    assert "unknown test · file 0d35b231" in text, "files of unknown tests are not taken for repeats"
    rows = rows_of("collective_benchmarks/two_tests_two_sizes")
    alone = rows.filter(pl.col("place") == "out", pl.col("run_id") == "r08", pl.col("test") == "all_reduce")
    text = text_of(draw("collective_benchmarks/x", alone))
    assert "all_reduce · 8 GPUs · float · sum." in text and "out of place" not in text


@pytest.mark.parametrize("place", ["in", "out"])
def test_collectives_of_one_size_are_drawn_over_devices(place):
    """One line over the devices, full and filled as there is one place, whatever the runs are called."""
    rows = rows_of("collective_benchmarks/two_tests_two_sizes")
    one = rows.filter(pl.col("message_bytes") == 2**20, pl.col("test") == "all_reduce", pl.col("place") == place)
    drawn = draw("collective_benchmarks/x", one)
    lines = [mark for mark in marks(render.specification(drawn, {})) if mark["mark"]["type"] == "line"]
    assert [row["devices"] for row in lines[0]["data"]["values"]] == [8, 16] and lines[0]["mark"]["strokeDash"] == [
        1,
        0,
    ]
    assert lines[0]["encoding"]["x"]["field"] == "devices" and len(lines) == 1
    text = text_of(drawn)
    assert "all_reduce · float · sum. Messages of 1.05 MB. 2 runs" in text and "GPUs" in text
    assert "message size" in text_of(draw("collective_benchmarks/x", one.with_columns(devices=pl.lit(None, pl.Int64))))


def test_runs_of_collectives_with_equal_names_are_told_apart():
    rows = rows_of("collective_benchmarks/two_tests_two_sizes")
    twins = rows.filter(pl.col("test") == "all_reduce").with_columns(name=pl.lit("n"), devices=pl.lit(8))
    assert "run r08" in text_of(draw("collective_benchmarks/x", twins))
    one = twins.filter(pl.col("message_bytes") == 2**20, pl.col("run_id") == "r08").head(1)
    assert "1 MiB" in text_of(draw("collective_benchmarks/x", one)), "a single size has a label too"


def test_roofline_is_drawn_where_peaks_are_given():
    drawn = draw("roofline/families")
    assert "Roofline of bfloat16: 989 TFLOP/s dense, 3350 GB/s." in text_of(drawn)
    unknown = rows_of("roofline/families").with_columns(peak=pl.lit(None, pl.Float64))
    memory_alone = text_of(draw("roofline/families", unknown))
    assert "Roof of memory alone for" in memory_alone and "no dense peak of that type is known" in memory_alone
    nothing = unknown.with_columns(bandwidth=pl.lit(None, pl.Float64))
    text = text_of(draw("roofline/families", nothing))
    assert "The bandwidth and peak of the device are not known. Broken line: the highest rates reached, 573.7" in text
    assert "highest rates reached" in text
    (line,) = [m for m in marks(render.specification(drawn, {})) if m["mark"]["type"] == "line"]
    assert [(row["intensity"], row["tflops_per_s"]) for row in line["data"]["values"]] == [
        (0.1, pytest.approx(0.335)), (pytest.approx(295.2, rel=1e-3), pytest.approx(989)), (10000.0, 989.0),
    ]  # fmt: skip
    assert "5 operators by shapes, 100 % of the time" in text_of(drawn)
    assert "Not drawn: 1 operator (least time)." in text_of(drawn)


def test_power_over_time_shades_what_the_log_says_and_breaks_at_gaps():
    text = text_of("power_over_time/four_gpus")
    for said in ("GPU 3", "start-up", "steps", "evaluation", "checkpoint", "4 sensors, 3161 samples."):
        assert said in text
    (shade,) = [mark for mark in marks(spec_of("power_over_time/four_gpus")) if mark["mark"]["type"] == "rect"]
    assert sum(row["phase"] == "steps" for row in shade["data"]["values"]) == 3
    (line,) = [mark for mark in marks(spec_of("power_over_time/four_gpus")) if mark["mark"]["type"] == "line"]
    assert {row["series"] for row in line["data"]["values"]} == {
        "GPU 0 0", "GPU 1 0", "GPU 2 0", "GPU 3 0", "GPU 3 1"
    }  # fmt: skip
    rows = rows_of("power_over_time/four_gpus")
    unjoined = rows.filter(pl.col("phase").is_null()).with_columns(has_clock=pl.lit(False))
    assert "no log of the run shares the clock of the readings" in text_of(draw("power_over_time/four_gpus", unjoined))
    with pytest.raises(UserError, match="of one run, not of 2"):
        draw("power_over_time/four_gpus", pl.concat([rows, rows.with_columns(run_id=pl.lit("s"))]))
    with pytest.raises(UserError, match="no power readings"):
        draw("power_over_time/four_gpus", rows.filter(pl.col("phase").is_not_null()))


def test_a_record_left_out_far_above_the_others_is_at_the_edge() -> None:
    """A first step of 84 s would press steps of 0.5 s flat: its mark is at the edge, and the caption has its time."""
    case = next(case for case in CASES if case.startswith("step_times/"))
    first = pl.int_range(pl.len()) == 0
    rows = rows_of(case).with_columns(step_s=pl.when(first).then(84.0).otherwise(0.5), step=1 + pl.int_range(pl.len()))
    rules = pl.when(first).then(pl.lit(["logged_warmup"])).otherwise(None)
    left_out = draw(case, rows.with_columns(excluded_by=rules, n_steps=pl.len(), attempt=1))
    assert "Beyond the axis: 1 record left out by a rule, up to 84\u00a0s." in text_of(left_out)
    assert '"domain": [0, 0.53]' in json.dumps(left_out.to_dict())
    counted = draw(case, rows.with_columns(excluded_by=pl.lit(None, pl.List(pl.String)), n_steps=pl.len(), attempt=1))
    assert "Beyond" not in text_of(counted) and "log." in text_of(counted)


def test_a_step_without_a_number_is_drawn_at_its_position() -> None:
    case = next(case for case in CASES if case.startswith("step_times/"))
    rows = rows_of(case).with_columns(step=pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise("step"))
    assert "record" in text_of(draw(case, rows))


def test_many_sensors_are_colored_by_what_they_cover():
    rows = rows_of("power_over_time/four_gpus")
    nodes = [rows.with_columns(node=pl.lit(f"n{k}"), scope=pl.lit("cpu" if k else "gpu")) for k in range(4)]
    text = text_of(draw("power_over_time/four_gpus", pl.concat(nodes)))
    assert "16 sensors" in text and "cpu" in text and "gpu" in text and "pynvml" not in text


def test_the_least_energy_by_limit_is_told_and_one_limit_is_refused() -> None:
    text = text_of("energy_by_limit/one_run")
    assert "Least energy at 125 W: 21 % less than under the highest limit, in 45 % more time." in text
    assert "power limit of a device [W]" in text and "least energy" in text
    assert "resnet50 on four A40: least energy at 100 W" in text_of("energy_by_limit/two_runs")
    with pytest.raises(UserError, match="no run was measured under two power limits"):
        draw("energy_by_limit/one_run", rows_of("energy_by_limit/one_run").head(1))


def test_panels_of_energy_by_batch():
    text = text_of("energy_by_batch/gpt_table")
    for said in (
        "tokens/s per IPU",
        "Wh per IPU",
        "tokens/Wh, log.",
        "gpt-117m · seq 1024 · 4 IPUs.",
        "as the tool reports it",
    ):
        assert said in text
    text = text_of("energy_by_batch/repeats")
    assert "samples/Wh, log." in text and "Wh per device" in text and "range, repeated runs" in text
    with pytest.raises(UserError, match="a known batch size and a measured energy"):
        draw("energy_by_batch/repeats", rows_of("energy_by_batch/repeats").clear())


def test_a_single_sensor_without_a_name_needs_no_legend():
    case = next(case for case in CASES if case.startswith("power_over_time/"))
    rows = rows_of(case).filter(pl.col("phase").is_null())
    one = rows.head(20).with_columns(
        pl.lit(None, pl.String).alias("node"), pl.lit(None, pl.String).alias("device"), scope=pl.lit(None, pl.String)
    )
    assert "power" not in re.findall(r'"text": "([^"]*)"', json.dumps(render.specification(draw(case, one), {})))


def test_energies_that_find_no_room_are_counted():
    one = rows_of("energy/windows").head(1)
    twice = [one.with_columns(run_id=pl.lit(f"r{k // 2}"), energy_j=pl.lit(1e4 + k)) for k in range(60)]
    assert "Not drawn: 12 figures with less energy." in text_of(draw("energy/windows", pl.concat(twice)))
    assert "Not drawn: 1 figure of other scopes." in text_of(draw("energy/tables"))
    for none in (None, 0.0):
        with pytest.raises(UserError, match="no run has a measured energy"):
            draw("energy/windows", one.with_columns(energy_j=pl.lit(none, pl.Float64)))


def test_rates_of_unknown_devices_are_of_the_whole_job():
    rows = rows_of("energy_by_batch/gpt_table").with_columns(devices=pl.lit(None, pl.Int64))
    assert "tokens/s per" not in text_of(draw("energy_by_batch/gpt_table", rows))


def test_causes_that_differ_only_in_numbers_are_one():
    causes = [
        "model inferred",
        "the mean is 1.16 times the median",
        "the mean is 1.3 times the median",
        "model inferred",
    ]
    assert words.once_each(causes) == ["model inferred", "the mean is 1.16 to 1.3 times the median"]


def test_notes_that_name_other_runs_share_one_mark():
    advice = "repeats differ by a factor of 1.{0}; compare them by differences(a := '{0}a{0}', b := '4')"
    points = [{"scaling": "weak", "note": note} for note in (advice.format(10), advice.format(25), None)]
    (note,) = efficiency_panels.mark_notes(points)
    assert note == "†\u00a0Repeats differ by a factor of 1.10 to 1.25."
    assert [point["marks"] for point in points] == [["†"], ["†"], []]


def test_a_map_of_jobs_has_their_rates_and_global_batches():
    rows = rows_of("batch_device_grid/one_missing")
    best = max(rows["samples_per_s"])
    rows = rows.with_columns(relative=pl.col("samples_per_s") / best)
    text = text_of(draw("batch_device_grid/one_missing", rows, parameters={"per": "job"}))
    assert "global batch" in text and "batch of a device" not in text
    assert f"{words.short_number(best)} samples/s with" in text
    row = rows.row(by_predicate=pl.col("samples_per_s") == best, named=True)
    assert f"a global batch of {words.short_number(row['batch_per_device'] * row['devices'])}." in text


def test_energy_scaling_names_its_base():
    text = text_of("energy_scaling/strong")
    assert "Base: 42.87 J a sample on 8 GCDs (bf16), 75.91 J a sample on 8 GCDs (fp32)." in text
    rows = rows_of("energy_scaling/strong")
    with pytest.raises(UserError, match="no series with an energy"):
        draw("energy_scaling/strong", rows.with_columns(relative_energy=None))


@pytest.mark.parametrize(
    ("scaling", "reason"),
    [("strong", "1 point that cannot be compared with the base."), ("mixed", "1 point of series whose model grows")],
)
def test_energy_scaling_says_which_points_are_not_drawn(scaling: str, reason: str):
    rows = rows_of("energy_scaling/strong").sort("devices")
    lacking = pl.int_range(pl.len()) == pl.len() - 1
    rows = rows.with_columns(
        relative_energy=pl.when(~lacking).then("relative_energy"),
        scaling=pl.when(lacking).then(pl.lit(scaling)).otherwise("scaling"),
    )
    text = text_of(draw("energy_scaling/strong", rows))
    assert f"Not drawn: {reason}" in text and text.count("Not drawn") == 1


def test_causes_without_a_rate_are_named():
    rows = rows_of("failures/causes_and_nodes")
    assert "Not drawn, as" not in text_of(draw("failures/causes_and_nodes", rows))
    is_gpu = pl.col("what") == "gpu"
    rows = rows.with_columns(
        pl.when(is_gpu).then(0.0).otherwise(column).alias(column)
        for column in ("failures_per_1000_node_h", "failures_per_1000_node_h_low")
    )
    text = text_of(draw("failures/causes_and_nodes", rows))
    assert "Not drawn, as no log gives the time and nodes: GPU." in text


# The files.


@pytest.fixture(scope="module")
def figure():
    return draw("scaling/repeats")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_saved_twice_is_the_same_and_says_where_it_comes_from(suffix, figure, tmp_path):
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix.upper()}"
    render.save(figure, first, SAID)
    render.save(figure, second, SAID)
    assert first.read_bytes() == second.read_bytes()
    assert provenance_of(first) == SAID
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


def test_pdf(figure, tmp_path):
    render.save(figure, tmp_path / "f.pdf", SAID)
    content = (tmp_path / "f.pdf").read_bytes()
    assert set(re.findall(rb"/BaseFont /[A-Z]{6}\+(\S+)", content)) == {b"LiberationSans"} and b"/FontFile2" in content
    assert b"CreationDate" not in content and b"<scalelens:provenance" in content
    with pikepdf.open(tmp_path / "f.pdf") as pdf:
        assert pdf.check_pdf_syntax() == []
        assert float(pdf.pages[0].MediaBox[2]) == pytest.approx(86.4 * 72 / 25.4, abs=0.01)
        assert str(pdf.docinfo.Creator).startswith("scalelens ") and "svg2pdf" in str(pdf.docinfo.Producer)
        assert "/Filter" not in pdf.Root.Metadata and json.loads(pdf.open_metadata()["scalelens:provenance"]) == SAID


def test_pdf_of_two_fonts_is_the_same_each_time(tmp_path):
    drawn = alt.Chart(style.values([{"a": 1}])).mark_text(text="plain").properties(title="bold")
    contents = set()
    for _ in range(6):
        render.save(drawn, tmp_path / "f.pdf", SAID)
        contents.add((tmp_path / "f.pdf").read_bytes())
    assert len(contents) == 1 and contents.pop().count(b"/FontFile2") == 2


def test_svg(figure, tmp_path):
    render.save(figure, tmp_path / "f.svg", SAID)
    root = ElementTree.parse(tmp_path / "f.svg").getroot()
    assert root.get("width") == "244.91pt"
    assert any("GCDs" in "".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert not [value for element in root.iter() for key, value in element.items() if key.endswith("href")]


def test_png(figure, tmp_path):
    render.save(figure, tmp_path / "f.png", SAID)
    png = (tmp_path / "f.png").read_bytes()
    chunks, place = {}, 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[place + 8 + length : place + 12 + length])[0]
        chunks[kind] = body
        place += 12 + length
    assert abs(struct.unpack(">I", chunks[b"IHDR"][:4])[0] - 245 / 72 * 300) < 1
    assert struct.unpack(">I", chunks[b"pHYs"][:4])[0] == 11811, "300 dots per inch, in metres"
    assert chunks[b"tEXt"].startswith(b"scalelens:provenance\0{")


def test_html_loads_nothing(figure, tmp_path):
    render.save(figure, tmp_path / "f.html", SAID)
    page = (tmp_path / "f.html").read_text()
    assert not re.findall(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)\s*=", page.split("</head>")[1])
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert page.count("<script") - page.count('"<script') >= 2 and page.count("</script>") == 2
    assert "vegaEmbed(" in page and '"editor": false' in page


def test_network_is_refused(tmp_path):
    remote = alt.Chart(alt.UrlData("https://example.com/a.csv")).mark_point()
    with pytest.raises(ValueError):
        render.save(remote, tmp_path / "f.svg", SAID)


def test_json_is_vega_lite(figure, tmp_path):
    render.save(figure, tmp_path / "f.vl.json", SAID)
    spec = json.loads((tmp_path / "f.vl.json").read_text())
    assert "vega-lite" in spec["$schema"] and spec["usermeta"]["scalelens"] == SAID


def test_unknown_suffix(figure, tmp_path):
    with pytest.raises(
        UserError, match=r"cannot tell the figure type from .*; use \.pdf, \.svg, \.png, \.html or \.json"
    ):
        render.save(figure, tmp_path / "f.docx", SAID)


def test_what_cannot_be_written_leaves_the_older_figure(figure, tmp_path, monkeypatch):
    old = tmp_path / "f.json"
    old.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"f\.json: No space left"):
        render.save(figure, old, SAID)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_what_says_nothing_of_its_origin(tmp_path):
    (tmp_path / "f.svg").write_text("<svg/>")
    with pytest.raises(UserError, match="has no provenance record"):
        provenance_of(tmp_path / "f.svg")
    with pytest.raises(UserError, match="cannot read"):
        provenance_of(tmp_path / "g.svg")


def test_provenance_is_of_rows_in_any_order():
    rows = rows_of("scaling/repeats")
    said = make_provenance({"chart": "scaling"}, "FROM scaling()", {"b": "b.log", "a": "a.log"}, rows, {})
    assert [*said["inputs"].items()] == [("a", "a.log"), ("b", "b.log")]
    again = make_provenance({"chart": "scaling"}, "FROM scaling()", {"a": "a.log", "b": "b.log"}, rows.reverse(), {})
    assert said == again
    other = rows.with_columns(pl.col("step_s") * 1.001)
    assert said["rows_sha256"] != rows_sha256(other)
    assert rows_sha256(rows) == rows_sha256(rows.with_columns(pl.col("step_s") * (1 + 1e-15)))


def test_jobs_over_time_with_several_suspects() -> None:
    case = "blame_jobs/a_slow_node_and_rivals"
    caption = spec_of(case)["description"]
    assert "26 jobs" in caption and "Not drawn: 2 jobs without a date" in caption
    assert "At the upper edge: 1 job, slower by 140" in caption and "drawn as one with the most conspicuous" in caption
    assert "n0007 (one of several): 3 of 3 jobs slower" in caption
    jobs = [mark for mark in marks(spec_of(case)) if mark["mark"]["type"] == "point" and "y" in mark["encoding"]]
    hollow = [mark for mark in jobs if mark["mark"].get("filled") is False and "label" in str(mark["encoding"])]
    assert {row["label"] for mark in hollow for row in drawn_rows(mark)} == {"n0007 (one of several)"}


def test_a_far_job_does_not_press_those_of_a_slow_node_flat() -> None:
    rows = rows_of("blame_jobs/many_nodes")
    few = rows.filter(pl.col("suspect").is_null() | (pl.col("suspect") == "n0"))
    far = pl.when(pl.int_range(pl.len()) == 1).then(10.0).otherwise("slower").alias("slower")
    text = text_of(draw("blame_jobs/many_nodes", few.with_columns(far)))
    assert "At the upper edge: 1 job" in text and "20" in text and "40" not in text


def test_suspects_of_one_job_each() -> None:
    rows = rows_of("blame/three_verdicts").tail(2).with_columns(
        pl.Series("suspect", ["t006-009+t006-010+t007-009+t007-010", "t004-007+t006-007+t008-007+t008-009"]),
        slowdown=pl.Series([9.0, -0.9]), slowdown_low=pl.Series([9.0, -0.9]), slowdown_high=pl.Series([9.0, -0.9]),
        interval_kind=pl.lit("range"),
    )  # fmt: skip
    spec = render.specification(draw("blame/three_verdicts", rows), {})
    text = text_of_spec(spec)
    assert "t006-009 + 3 more" in text and "t004-007 + 3 more" in text
    assert "range" not in text, "an interval of one value is not drawn"
    axes = [mark["encoding"].get("x", {}) for mark in marks(spec)]
    low, high = next(axis["scale"]["domain"] for axis in axes if axis.get("scale"))
    assert low + 0.3 * (high - low) < -90, "the name has room beside the mark"


@pytest.mark.parametrize("suspects", ["node", "setting", "hour"])
def test_suspects_that_cannot_be_compared_are_named(suspects: str) -> None:
    none = rows_of("blame/three_verdicts").clear()
    with pytest.raises(UserError, match=f"there are no {suspects}s to compare"):
        draw("blame/three_verdicts", none, parameters={"suspects": suspects})


def test_few_suspects_have_a_look_of_their_own() -> None:
    text = text_of("blame_jobs/many_nodes")
    assert "n3" in text and "n4" not in text and "others accused" in text
    none = rows_of("blame_jobs/many_nodes").with_columns(suspect=None, first_suspect=None, verdict=None)
    assert "No suspect is accused; 23 of 36 jobs" in text_of(draw("blame_jobs/many_nodes", none))


def test_jobs_that_are_faster_have_ticks_too() -> None:
    """Vega keeps one of the given values for each 40 pixels, unless it is told how many there are."""
    rows = rows_of("blame_jobs/many_nodes").with_columns(slower=pl.int_range(pl.len()) / 100 - 0.3)
    text = text_of(draw("blame_jobs/many_nodes", rows))
    assert "−30 −20 −10 0" in text.replace("-", "−")


def test_jobs_without_dates_are_not_drawn() -> None:
    rows = rows_of("blame_jobs/many_nodes").with_columns(started_at=pl.lit(None, pl.Datetime))
    with pytest.raises(UserError, match=r"no.* date.*scalelens query blame_jobs|none has both a date"):
        draw("blame_jobs/many_nodes", rows)


@pytest.mark.parametrize(
    ("first", "last", "title", "n_ticks"),
    [
        (datetime(2026, 11, 2, 6), datetime(2026, 11, 15, 3), "start, Nov 2 to Nov 15, 2026", 4),
        (datetime(2026, 11, 2, 6), datetime(2026, 11, 2, 9), "start, Nov 2, 2026", 7),
        (datetime(2025, 12, 30), datetime(2026, 1, 2), "start, Dec 30, 2025 to Jan 2, 2026", 7),
        (datetime(2019, 5, 1), datetime(2026, 11, 2), "start, May 1, 2019 to Nov 2, 2026", 4),
        (datetime(2026, 11, 2, 6, 1), datetime(2026, 11, 2, 6, 1), "start, Nov 2, 2026", 1),
    ],
)
def test_ticks_of_dates(first: datetime, last: datetime, title: str, n_ticks: int) -> None:
    x = dates.axis("at", [last, first]).to_dict()
    assert x["title"] == title and len(x["axis"]["values"]) == n_ticks
    low, high = x["scale"]["domain"]
    assert low < high and all(low <= tick <= high for tick in x["axis"]["values"])


# The folder is the registry.


def test_every_chart_says_what_it_shows():
    known = charts.load()
    assert set(known) >= {"scaling", "batch_cdf"} and "style" not in known
    for chart in known.values():
        assert charts.title(chart)
        for heading in charts.HEADINGS:
            assert re.search(rf"^{heading}: *\S?", chart.__doc__, re.MULTILINE), (chart, heading)
        assert re.search(rf"^Query: {chart.QUERY}$", chart.__doc__, re.MULTILINE)


OWN = '''"""Steps as a scatter.

Shows: steps
Query: slow_steps
Encodings: step against step_s
Source: me
"""

from scalelens.charts import style
import altair as alt

QUERY = "slow_steps"


def draw(rows, left_out, parameters=None, page=style.SINGLE):
    chart = alt.Chart(style.values(rows.to_dicts())).mark_point().encode(x="step:Q", y="step_s:Q")
    return style.figure([[style.Panel(chart)]], [], ["One run."], page)
'''


def test_a_file_in_a_folder_is_a_chart(tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text(OWN)
    assert charts.find("slow", [tmp_path]).QUERY == "slow_steps"
    monkeypatch.setenv("SCALELENS_CHARTS", str(tmp_path))
    drawn = charts.find("slow").draw(pl.DataFrame({"step": [1, 2], "step_s": [0.1, 0.2]}), {})
    render.save(drawn, tmp_path / "slow.svg", SAID)
    assert "One run." in (tmp_path / "slow.svg").read_text()
    assert charts.rows_of(charts.find("slow")) == "* FROM {}"
    assert charts.rows_of(batch_cdf).endswith("FROM {} AS q LEFT JOIN runs AS r USING (run_id)")


def test_what_is_no_chart(tmp_path):
    with pytest.raises(UserError, match="no chart 'pie'; there are: accuracy, batch_cdf, .*scaling"):
        charts.find("pie")
    with pytest.raises(UserError, match="not a folder"):
        charts.load([tmp_path / "nowhere"])
    (tmp_path / "bad.py").write_text("QUERY = 'x'")
    with pytest.raises(UserError, match="has no draw, 'Shows:'"):
        charts.load([tmp_path])
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(UserError, match="ZeroDivisionError"):
        charts.load([tmp_path])


def test_runs_behind_the_rows():
    rows = pa.table({"run_id": ["b", None, "a"], "run_ids": [["b", "c"], None, ["a"]]})
    assert run_ids(rows) == ["a", "b", "c"]
    assert run_ids(pa.table({"x": [1]})) == []


def test_words():
    assert words.wrap("a b\u00a0c d", words.text_width("a b\u00a0c")) == ["a b\u00a0c", "d"]
    assert words.counted([1], "run") == "1 run" and words.counted([1, 3], "run") == "1 to 3 runs"
    assert words.short_number(12345.6) == "12,346" and words.short_number(0.39142) == "0.3914"
    assert sorted(["batch 128", "batch 16"], key=words.natural) == ["batch 16", "batch 128"]
    assert sorted(["batch 0.5", "batch 0.25"], key=words.natural) == ["batch 0.25", "batch 0.5"]
    assert sorted(["v1.10.2", "v1.5.2"], key=words.natural) == ["v1.5.2", "v1.10.2"]
    assert axes.ticks(100) == [0, 20, 40, 60, 80, 100] and axes.ticks(22) == [0, 5, 10, 15, 20, 25]
    long = words.shorten("meg_gpt2_base_n16_dp1_tp4_pp16", 60)
    assert words.text_width(long) <= 60 and long.startswith("meg_") and long.endswith("pp16")
    long = words.shorten("run116-rerun-prefetch-seq… · 8221", 90)
    assert words.text_width(long) <= 90 and long.count("…") == 1 and long.startswith("run116-rer")
    assert long.endswith("… · 8221") and words.shorten("run116… · 8221", 90) == "run116… · 8221"


@pytest.mark.parametrize(
    "case",
    [
        "throughput/frameworks",
        "history/one_change",
        "comparison/four_against_four",
        "outlier_evidence/three_verdicts",
        "blame_jobs/many_nodes",
    ],
)
def test_more_marks_than_a_figure_can_show_are_refused(case: str) -> None:
    rows = rows_of(case)
    many = pl.concat([rows] * (40_000 // rows.height))  # some rows of a case have no value
    with pytest.raises(UserError, match="more than one chart can show"):
        charts.find(case.partition("/")[0]).draw(many, {}, {})


@pytest.mark.parametrize(("share", "is_hidden"), [(0.0195, True), (0.1, False)])
def test_a_few_fast_steps_do_not_press_the_body_flat(share: float, is_hidden: bool) -> None:
    rows = rows_of("batch_cdf/long_tail")
    fast = pl.when(pl.col("cdf") < share).then(pl.col("step_s") / 10).otherwise("step_s")
    rows = rows.with_columns(step_s=fast)
    chart = draw("batch_cdf/long_tail", rows)
    (curve,) = [mark for mark in marks(render.specification(chart, {})) if mark["mark"]["type"] == "line"]
    low = curve["encoding"]["x"]["scale"]["domain"][0]
    first = drawn_rows(curve)[0]
    fastest = words.short_number(rows["step_s"].min())
    said = re.search(
        rf"axis: the fastest ([\d.]+)\u00a0% of the records of a run, down to {fastest} s, and the slowest",
        text_of(chart),
    )
    assert (said is not None) == is_hidden
    if said:
        assert first["step_s"] == low and float(said[1]) == pytest.approx(first["percent"], rel=0.05)
        assert 0 < first["percent"] < 2 and rows.filter(pl.col("cdf") >= 0.02)["step_s"].min() > low
    else:
        assert low == pytest.approx(rows["step_s"].min()) and first["percent"] == 0


def test_a_long_tail_does_not_press_the_body_flat():
    text = text_of("batch_cdf/long_tail")
    (curve,) = [mark for mark in marks(spec_of("batch_cdf/long_tail")) if mark["mark"]["type"] == "line"]
    low, high = curve["encoding"]["x"]["scale"]["domain"]
    rows = rows_of("batch_cdf/long_tail")
    assert (low, curve["mark"]["clip"]) == (pytest.approx(rows["step_s"].min()), True)
    assert rows.filter(pl.col("cdf") >= 0.95)["step_s"].min() < high < rows["step_s"].max() / 4
    slowest = words.short_number(rows["step_s"].max())
    assert re.search(rf"Beyond the axis: the slowest [\d.]+\u00a0% of the records of a run, up to {slowest} s\.", text)
    whole = text_of(draw("batch_cdf/long_tail", page=page_of({"log": "x"})))
    assert "step time [s], logarithmic" in whole and "Beyond" not in whole
    part = render.specification(draw("batch_cdf/long_tail", page=page_of({"xlim": f"{low}:{2 * low}"})), {})
    domains = [mark["encoding"]["x"]["scale"]["domain"] for mark in marks(part) if mark["mark"]["type"] == "line"]
    assert domains == [[low, 2 * low]]


def test_circles_of_elbows_do_not_cover_each_other():
    rows = rows_of("batch_cdf/elbows")
    again = rows.with_columns(run_id=pl.lit("x") + pl.col("run_id"), name=pl.lit("again"))
    spec = draw("batch_cdf/elbows", pl.concat([rows, again]))
    spec = render.specification(spec, {})
    circles, dots = ([mark for mark in marks(spec) if mark["mark"].get("filled") is False],
                     [mark for mark in marks(spec) if mark["mark"].get("size") == 5])  # fmt: skip
    count = rows["elbow_number"].count()
    assert [len(mark["data"]["values"]) for mark in (*circles, *dots)] == [count, count]


def test_ends_of_an_x_axis():
    spec = render.adjusted(spec_of("throughput/nodes"), page_of({"xlim": "8:32"}), len)
    shown = [mark for mark in marks(spec) if mark["encoding"].get("x", {}).get("field") == "devices"]
    assert {tuple(mark["encoding"]["x"]["scale"]["domain"]) for mark in shown} == {(8, 32)}
    assert all(mark["mark"]["clip"] for mark in shown)


def test_ends_of_an_axis_of_dates_are_dates() -> None:
    spec = render.adjusted(spec_of("blame_jobs/many_nodes"), page_of({"xlim": "2026-11-03:2026-11-05T12:00"}), len)
    shown = [mark["encoding"]["x"] for mark in marks(spec) if mark["encoding"].get("x", {}).get("field") == "at"]
    low, high = (datetime(2026, 11, day, hour, tzinfo=UTC).timestamp() * 1000 for day, hour in ((3, 0), (5, 12)))
    assert shown and {tuple(x["scale"]["domain"]) for x in shown} == {(low, high)}
    titled = next(x for x in shown if x.get("title"))
    assert titled["title"] == "start, Nov 3 to Nov 5, 2026"
    assert all(low <= tick <= high for tick in titled["axis"]["values"]) and len(titled["axis"]["values"]) > 2


@pytest.mark.parametrize(
    ("case", "limits", "words"),
    [
        ("blame_jobs/many_nodes", "1:8", "shows dates; write the first and the last day"),
        ("throughput/nodes", "2026-11-03:2026-11-05", "shows numbers, not dates"),
        ("blame_jobs/many_nodes", "2026-11-33:2026-12-05", "does not exist"),
        ("blame_jobs/many_nodes", "2026-11-05:2026-11-03", "empty range"),
    ],
)
def test_ends_that_an_axis_cannot_have(case: str, limits: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        render.adjusted(spec_of(case), page_of({"xlim": limits}), len)


def test_one_score_of_each_run_is_no_course() -> None:
    rows = rows_of("accuracy/two_runs").unique("run_id", maintain_order=True)
    with pytest.raises(UserError, match="each run has one score, so there is no course to draw"):
        draw("accuracy/two_runs", rows)


def test_a_log_that_begins_again_has_a_line_for_each_launch() -> None:
    rows = rows_of("accuracy/two_runs")
    name = rows["name"][0]
    first = rows.filter(pl.col("name") == name)
    again = pl.concat([rows, first.with_columns(attempt=pl.lit(1, first.schema["attempt"]))])
    text = text_of(draw("accuracy/two_runs", again))
    assert f"{name} · launch 1" in text and f"{name} · launch 2" in text
    assert "A log that begins again has a line for each launch." in text
    assert "launch" not in text_of("accuracy/two_runs")


def test_an_accuracy_that_stays_zero_has_no_axis_below_it() -> None:
    rows = rows_of("accuracy/" + sorted((FIXTURES / "accuracy").glob("*.csv"))[0].stem)
    spec = render.specification(draw("accuracy/x", rows.with_columns(score=pl.lit(0.0))), {})
    scales = [mark["encoding"].get("y", {}).get("scale") for mark in marks(spec)]
    lows = {scale["domain"][0] for scale in scales if scale}
    assert lows and all(-0.1 < low <= 0 for low in lows)


def test_a_legend_names_the_kinds_of_loss_that_are_drawn() -> None:
    case = "waterfall/" + sorted((FIXTURES / "waterfall").glob("*.csv"))[0].stem
    rows = rows_of(case)
    small = rows.with_columns(percent=pl.when(pl.col("part") == "rest").then(0.001).otherwise("percent"))
    assert "lost, not known to what" not in text_of(draw(case, small))


def test_a_bare_number_of_a_sensor_says_what_it_is():
    rows = rows_of("power_over_time/four_gpus").with_columns(device=pl.col("device").str.replace("pynvml:", ""))
    assert "GPU 0 GPU 1 GPU 2 GPU 3" in text_of(draw("power_over_time/four_gpus", rows))


def _rated(**runs: tuple[str, int | None, float]) -> pl.DataFrame:
    """Rows of `throughput`, one for each name: its model, its devices and its samples per second of a device."""
    some = rows_of("throughput/nodes").row(0, named=True)
    unset = {"device_tokens_per_s": None, "framework": None, "nodes": None, "dataset": None}
    rows = [
        some | unset | {"run_id": name, "name": name, "model": model, "devices": devices, "device_samples_per_s": rate}
        for name, (model, devices, rate) in runs.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def test_samples_of_unlike_models_have_panels_and_axes_of_their_own():
    runs = {
        "a": ("bert", 8, 1400.0),
        "b": ("bert", 16, 1300.0),
        "c": ("retinanet", 8, 480.0),
        "d": ("retinanet", 16, 460.0),
    }
    spec = draw("throughput/nodes", _rated(**runs)).to_dict()
    ends = {tuple(mark["encoding"]["y"]["scale"]["domain"]) for mark in marks(spec) if "devices" in str(mark)}
    assert len(ends) == 2
    assert "a sample is not the same work for different models" in spec["description"]
    one_kind = _rated(**runs).with_columns(dataset=pl.lit("imagenet"))
    assert (
        "a sample is not the same work for different models"
        not in draw("throughput/nodes", one_kind).to_dict()["description"]
    ), "all images of one data set"


def test_points_that_would_overlap_stand_beside_their_tick():
    rows = _rated(a=("bert", 8, 1400.0), b=("bert", 16, 1300.0), c=("bert", 16, 1301.0))
    rows = rows.with_columns(batch_per_device=pl.Series([8.0, 8.0, 16.0]))
    moved = [
        mark["mark"].get("xOffset", 0)
        for mark in marks(draw("throughput/nodes", rows).to_dict())
        if "devices" in str(mark)
    ]
    assert sorted(moved) == [-2.75, 0, 2.75]


def test_runs_that_only_their_names_tell_apart_are_bars():
    names = {"ddp": 700.0, "fsdp": 600.0, "fsdp_offload": 400.0}
    rows = _rated(one=("bert", 1, 710.0), **{name: ("bert", 2, rate) for name, rate in names.items()})
    assert "fsdp_offload · 2 GPUs · 400" in text_of(
        draw("throughput/nodes", rows.with_columns(device_unit=pl.lit("gpu")))
    )


def test_rates_of_a_device_need_no_number_of_devices():
    chart = draw("throughput/nodes", _rated(a=("bert", None, 700.0), b=("bert", None, 600.0)))
    assert "b · 600" in text_of(chart)
    assert "No log states the number of devices." in chart.to_dict()["description"]


def test_labels_that_are_too_wide_leave_out_the_words_that_all_devices_begin_with():
    devices = ["NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5070 Ti"]
    points = [
        {"series": device, "devices": 8, "model": model * 20, "device_model": device, "device_unit": "gpu"}
        for device in devices
        for model in "ab"
    ]
    naming.name_by_facts(points, ("model", "device_model"), room=160)
    assert points[0]["label"] == f"{'a' * 20} · RTX 5090"
    naming.name_by_facts(points, ("model", "device_model"), room=1000)
    assert points[0]["label"] == f"{'a' * 20} · NVIDIA GeForce RTX 5090", "there is room"


PROCESSORS = {
    "Intel(R) Xeon(R) CPU E5-2690 v3 @ 2.60GHz": "Intel Xeon E5-2690 v3",
    "Intel(R) Xeon(R) CPU Max 9480": "Intel Xeon Max 9480",
    "Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz": "Intel Core i7-9700K",
    "AMD EPYC 7763 64-Core Processor": "AMD EPYC 7763",
    "NVIDIA A100-SXM4-80GB": "NVIDIA A100-SXM4-80GB",
    "gpt · 4 CPU": "gpt · 4 CPU",
    "gpt · Processor": "gpt · Processor",
}


def test_labels_of_processors_that_are_too_wide_leave_out_what_tells_nothing():
    assert words.brief_processors(list(PROCESSORS)) == list(PROCESSORS.values())
    alike = ["Intel Xeon CPU @ 2.2GHz", "Intel Xeon CPU @ 2.0GHz"]
    assert words.brief_processors(alike) == alike, "two would be the same"
    models = list(PROCESSORS)[:4]
    points = [
        {"series": model, "devices": 8, "model": size * 20, "device_model": model.lower(), "device_unit": "cpu"}
        for model in models for size in "ab"
    ]  # fmt: skip
    naming.name_by_facts(points, ("model", "device_model"), room=190)
    assert [point["label"] for point in points[::2]] == [
        f"{'a' * 20} · {name}"
        for name in ("Intel Xeon E5-2690 V3", "Intel Xeon MAX 9480", "Intel Core I7-9700K", "AMD EPYC 7763")
    ]
    naming.name_by_facts(points, ("model", "device_model"), room=1000)
    assert points[6]["label"] == f"{'a' * 20} · AMD EPYC 7763 64-CORE Processor", "there is room"


@pytest.mark.parametrize("model", list(PROCESSORS)[:4])
def test_a_legend_writes_a_processor_whole_before_it_cuts_it(model: str):
    label = f"{model} · gpt · sequence 2,048 · batch 8"
    brief = label.replace(model, PROCESSORS[model])
    assert style.label_lines([label], words.text_width(label)) == [[label]]
    assert style.label_lines([label], words.text_width(brief)) == [[brief]]


def test_every_tool_that_measures_energy_has_its_name_in_figures():
    """Names of formats stay inside: those of more than one word, with fixtures that have a power or an energy."""
    of_energy = {path.parent.name for kind in ("power", "energy") for path in FIXTURES.parent.glob(f"*/*.{kind}.csv")}
    assert len(of_energy) > 40
    assert {name for name in of_energy if "_" in name} - {*energy.SOURCES} == set()
    assert energy.tool({"source": "megatron nvidia_smi_query"}) == "nvidia-smi"
    assert energy.tool({"source": "jpwr"}) == "jpwr"


def test_labels_that_are_too_wide_keep_what_tells_models_and_batches_apart():
    points = [
        {"series": f"{size}{batch}", "devices": 8, "model": f"gpt_linear_{size}_block_attention_n4", "device_unit": "gpu",
         "batch_per_device": batch, "seq_length": 260 * batch}
        for size in ("436m", "447m_wide") for batch in (2, 16)
    ]  # fmt: skip
    facts = ("model", "batch_per_device", "seq_length")
    assert naming.name_by_facts(points, facts, room=1000) == ""
    assert points[0]["label"] == "gpt_linear_436m_block_attention_n4 · batch 2 per GPU · sequence 520"
    shared = naming.name_by_facts(points, facts, room=80)
    assert shared == "Models: gpt_linear_…_block_attention_n4. Batches are per GPU."
    assert [point["label"] for point in points] == [
        "436m · batch 2", "436m · batch 16", "447m_wide · batch 2", "447m_wide · batch 16",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("a_model_of_a_long_name_{}", "Names of models begin with a_model_of_a_long_name_."),
        ("{}_is_a_model_of_a_long_name", "Names of models end with _is_a_model_of_a_long_name."),
    ],
)
def test_what_all_models_share_at_one_end_is_a_sentence(model, sentence):
    points = [{"series": k, "devices": 8, "model": model.format(k), "device_unit": "gpu"} for k in ("one", "two")]
    assert naming.name_by_facts(points, ("model",), room=60) == sentence
    assert [point["label"] for point in points] == ["one", "two"]


def test_a_bar_whose_name_has_the_size_does_not_repeat_it():
    points = [
        {"name": name, "run_id": name, "devices": 8, "device_unit": "gpu", "rate": 2.0}
        for name in ("base", "base on 8 GPUs")
    ]
    assert [run_rates.text_of(point, "rate", True, "") for point in points] == [
        "base · 8 GPUs · 2",
        "base on 8 GPUs · 2",
    ]


def test_groups_of_marks_that_differ_by_decades_have_a_logarithmic_axis():
    """Of short epochs and long ones an axis from 0 shows the long ones alone."""
    near = run_strips.panel({"a": [1.0, 2.0], "b": [20.0, 40.0]}, "time [s]", SINGLE).chart.to_dict()
    apart = run_strips.panel({"a": [0.01, 0.02], "b": [20.0, 130.0]}, "time [s]", SINGLE).chart.to_dict()
    for panel, kind, title in ((near, None, "time [s]"), (apart, "log", "time [s], log.")):
        x = panel["layer"][0]["encoding"]["x"]
        assert (x["scale"].get("type"), x["title"]) == (kind, title)


def test_runs_of_one_folder_are_grouped_by_file():
    paths = {f"{file}{k}": f"/logs/{file}.csv" for file in ("conv", "gemm") for k in range(3)}
    assert run_strips.grouped(paths) == {file: [f"{file}{k}" for k in range(3)] for file in ("conv", "gemm")}
    folders = {run: f"/logs/{run[:-1]}/{run}.csv" for run in paths}
    assert run_strips.grouped(folders) == run_strips.grouped(paths)
    assert run_strips.grouped(dict.fromkeys(paths, "/logs/all.csv")) == {}


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["run of a long name a", "run of a long name b"], ["…a", "…b"]),
        (["first_of_a_long_study", "second_of_a_long_study"], ["first…", "second…"]),
        (["a run of a name", "b"], ["a r…ame", "b"]),
        (["of a name", "of a name", "b"], ["of a name", "of a name", "b"]),
        (["llama", "llama-7b-of-someone"], ["llama", "lla…one"]),
        (["a_network_b", "c_network_d"], ["a_…b", "c_…d"]),
        (["a long name · 1.9 s", "a long name · 3.5 s"], ["…1.9 s", "…3.5 s"]),
    ],
)
def test_names_too_long_for_a_legend_lose_what_they_share(names, shown):
    assert words.fitting(names, 35) == shown


def test_labels_of_runs_say_nothing_twice_and_drop_what_is_not_needed_where_they_are_too_wide():
    rows = pl.DataFrame({
        "run_id": ["a", "b", "c"], "label": [run_labels.ONE_STEP] * 3, "model": ["gpt-1b", "gpt-1b", "gpt-2b"],
        "devices": [8, 8, 16], "device_unit": ["gpu"] * 3, "batch": ["batch 64", "batch 64", "batch 128"],
        "name": ["gpt-1b 8 GPUs seq 2048", "gpt-1b 8 GPUs seq 8192", "gpt-2b"],
    })  # fmt: skip
    wide = run_labels.labels(rows, 1000)
    assert wide["a"] == "gpt-1b · 8 GPUs · batch 64 · seq 2048"
    narrow = run_labels.labels(rows, 75)
    assert (narrow["a"], narrow["b"], narrow["c"]) == ("gpt-1b · seq 2048", "gpt-1b · seq 8192", "gpt-2b")


def test_series_far_apart_have_a_panel_each_in_a_history():
    """One axis would show neither change."""
    panels = [part for row in spec_of("history/far_apart")["vconcat"] for part in row.get("hconcat", [])]
    assert [panel["title"]["text"] for panel in panels] == ["gpt · batch 64", "resnet50 · batch 2048"]
    rows = rows_of("history/far_apart")
    near = rows.with_columns(
        pl.col("run_value", "low", "high", "level") * pl.when(rows["run_value"] < 0.1).then(30).otherwise(1)
    )
    assert "title" not in json.dumps(
        render.specification(draw("history/far_apart", near), {})["vconcat"][1]["hconcat"][0].get("title", {})
    )


def test_scores_that_all_stand_at_one_place_are_no_course():
    """Checkpoints that are evaluated after the training, or a log whose epochs are all 0: the line would be upright."""
    rows = rows_of("accuracy/two_runs")
    one = pl.col("run_id") == rows["run_id"][0]
    late = rows.with_columns(
        elapsed_s=pl.when(one).then(pl.lit(5000) + pl.col("elapsed_s") / 1000).otherwise("elapsed_s"),
        epochs_done=pl.when(one).then(0.0).otherwise("epochs_done"),
    )
    text = text_of(draw("accuracy/two_runs", late))
    assert "Not drawn over epochs or time: 1 run with all scores at one place." in text
    alone = late.filter(one)
    assert "Not drawn over" not in text_of(draw("accuracy/two_runs", alone))


def test_a_label_wider_than_the_legend_has_two_lines():
    labels = ["kimi_linear_436m_block_attn_res_n4 · NVIDIA GeForce RTX 5090 · 8 devices · batch 120 · 2.6 s", "gpt"]
    looks = style.looks(labels)
    chart = alt.Chart(style.values([{"x": 1}])).mark_point().encode(x="x:Q")
    drawn = text_of(style.figure([[style.Panel(chart)]], looks, ["One."]))
    assert "…" not in drawn and "8 devices · batch 120 · 2.6 s" in drawn


def test_one_step_of_one_rank_is_not_a_map():
    rows = rows_of("step_heatmap/slow_rank_and_step").filter(pl.col("train_step").is_not_null()).head(1)
    with pytest.raises(UserError, match="one rank and one step"):
        draw("step_heatmap/slow_rank_and_step", rows)


def test_a_map_leaves_out_runs_of_one_rank_and_one_step():
    rows = rows_of("step_heatmap/slow_rank_and_step").filter(pl.col("train_step").is_not_null())
    single = rows.head(1).with_columns(run_id=pl.lit("single"))
    text = text_of(draw("step_heatmap/slow_rank_and_step", pl.concat([rows, single])))
    assert "Not drawn: 1 run of one rank and one step." in text


def test_rates_that_only_the_logs_print_are_drawn_as_printed():
    rows = _rated(a=("gpt", None, 1.0), b=("gpt", None, 1.0)).with_columns(
        pl.lit(None, pl.Float64).alias("device_samples_per_s"), n_steps=pl.lit(None, pl.Int64),
        printed_tokens_per_s=pl.Series([8329.0, 5678.0]), rate_scope=pl.lit("rank"),
    )  # fmt: skip
    text = text_of(draw("throughput/nodes", rows))
    assert "tokens/s per GPU, as printed" in text
    assert "a · 8329" in text


def test_nodes_stand_for_devices_where_no_log_states_those() -> None:
    rows = _rated(a=("gpt", None, 1.0), b=("gpt", None, 1.0)).with_columns(
        pl.lit(None, pl.Float64).alias("device_samples_per_s"), pl.lit(None, pl.Int64).alias("devices"),
        pl.lit(None, pl.String).alias("device_unit"), nodes=pl.Series([4, 8]), n_steps=pl.lit(None, pl.Int64),
        printed_tokens_per_s=pl.Series([4000.0, 6000.0]), rate_scope=pl.lit("global"),
    )  # fmt: skip
    drawn = draw("throughput/nodes", rows)
    assert "tokens/s per node, as printed" in text_of(drawn)
    assert "No log states the number of devices." in text_of(drawn)
    points = {
        (row["devices"], row["device_tokens_per_s"])
        for row in drawn_rows(render.specification(drawn, {}))
        if "devices" in row
    }
    assert points == {(4, 1000.0), (8, 750.0)}
    unknown = rows.with_columns(nodes=pl.Series([4, None]))
    level = rows.with_columns(printed_tokens_per_s=pl.Series([4000.0, 4100.0]))  # may be of a device
    for refused in (unknown, level):
        with pytest.raises(UserError, match="no run has a known throughput per device"):
            draw("throughput/nodes", refused)


def test_rates_of_jobs_are_bars_where_most_logs_state_no_devices() -> None:
    rows = _rated(a=("gpt", 8, 1.0), b=("gpt", None, 1.0), c=("gpt", None, 1.0)).with_columns(
        pl.lit(None, pl.Float64).alias("device_samples_per_s"), nodes=pl.lit(None, pl.Int64),
        samples_per_s=pl.lit(None, pl.Float64), tokens_per_s=pl.lit(None, pl.Float64), n_steps=pl.lit(None, pl.Int64),
        printed_tokens_per_s=pl.Series([4000.0, 6000.0, 5000.0]), rate_scope=pl.lit("global"),
    ).with_columns(devices=pl.Series([8, None, None]))  # fmt: skip
    text = text_of(draw("throughput/nodes", rows))
    assert "b · 6000" in text and "a · 4000" in text
    assert "tokens/s, as printed" in text
    assert "Rates of whole jobs, because most logs do not state the number of devices." in text
    by_steps = rows.with_columns(
        tokens_per_s="printed_tokens_per_s", n_steps=pl.lit(9), devices=pl.lit(None, pl.Int64)
    ).with_columns(printed_tokens_per_s=pl.lit(None, pl.Float64))
    text = text_of(draw("throughput/nodes", by_steps))
    assert "tokens/s per job" in text and "because no log states the number of devices." in text


@pytest.mark.parametrize(
    ("times", "median"), [([1.0, 2.0, 4.0], 2.0), ([1.0, 2.0, 4.0, 5.0], 3.0), ([1.0, 2.0, 2.0, 5.0], 2.0)]
)
def test_the_marker_of_a_distribution_is_the_median(times: list[float], median: float) -> None:
    known = pl.DataFrame({"run_id": "a", "step_s": sorted(set(times)), "n_steps": len(times)}).with_columns(
        cdf=pl.col("step_s").map_elements(lambda time: sum(one <= time for one in times) / len(times), pl.Float64)
    )
    assert batch_cdf.median_times(known) == {"a": median}


def test_parts_that_nobody_sees_are_neither_in_the_legend_nor_explained() -> None:
    rows = rows_of("temporal_breakdown/slow_rank").with_columns(exposed_memory_ns=pl.lit(0, pl.Int64))
    text = text_of(draw("temporal_breakdown/slow_rank", rows))
    assert "Exposed communication: the device does not compute." in text
    assert "exposed copies" not in text.lower()


def test_the_largest_size_keeps_its_label_where_labels_do_not_fit() -> None:
    counts = [512, 768, 4096, 6144, 8192, 10240, 10752]
    x = axes.of_counts("devices", "devices", counts).to_dict()
    keep_ends(x, 120)
    first, second = re.findall(r"indexof\((\[.*?\])", x["axis"]["labelExpr"])
    assert json.loads(first) == [512, 4096, 10752]
    assert json.loads(second) == [768, 10240], "a second row has those that fit there"
    wide = axes.of_counts("devices", "devices", [1, 2, 4]).to_dict()
    keep_ends(wide, 120)
    assert "labelExpr" not in wide["axis"]


def test_sizes_with_nodes_below_them_are_turned_where_they_do_not_fit() -> None:
    rows = [{"devices": 8 * nodes, "nodes": nodes} for nodes in (64, 96, 512, 768, 1024)]
    x = axes.of_devices(rows).to_dict()
    keep_ends(x, 150)
    assert (x["axis"]["labelAngle"], x["title"]) == (-90, "devices / nodes")
    assert str([512, 768, 4096, 6144, 8192]) in x["axis"]["labelExpr"], "upright they all fit"
