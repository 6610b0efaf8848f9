"""More runs than a chart can name: every run is drawn, and what tells them apart stands for their names."""

import random
import re

import polars as pl
import pytest

from scalelens.charts import many_runs, name_groups, number_sweep, style
from scalelens.charts.layout import page_of
from scalelens.charts.run_bars import Measure
from scalelens.report import rendering as render
from test_charts import CASES, draw, drawn_rows, rows_of, text_of

CLOCKS = range(1000, 3000, 100)


def energies(**runs: float) -> pl.DataFrame:
    """Rows of `energy`, one for each name."""
    one = rows_of("energy/windows").head(1)
    return pl.concat([one] * len(runs)).with_columns(
        run_id=pl.Series([f"{k:012x}" for k in range(len(runs))]),
        name=pl.Series(list(runs)),
        energy_j=pl.Series(list(runs.values()), dtype=pl.Float64),
    )


def clocks(**further: float) -> dict[str, float]:
    """Three repeats at each of 20 clocks, each with its time: the energy is the least in the middle."""
    rng = random.Random(36)
    names = [(clock, repeat) for clock in CLOCKS for repeat in (1, 2, 3)]
    return {
        f"clk{clock}_r{repeat}_{210000 + 59 * k}": 4e3 * (1 + ((clock - 1900) / 2000) ** 2 + rng.gauss(0, 0.002))
        for k, (clock, repeat) in enumerate(names)
    } | further


def spec(chart: object) -> dict:
    return render.specification(chart, {})


def test_a_number_in_the_names_that_the_values_follow_is_the_axis() -> None:
    chart = draw("energy/windows", energies(**clocks()))
    text = text_of(chart)
    assert "clk, as the names of the runs have it" in text and "Not drawn" not in text
    assert "Each point: 1 run; line: the median of those with the same number." in text
    points = [row for row in drawn_rows(spec(chart)) if "number" in row]
    assert len({row["run_id"] for row in points if "run_id" in row}) == 60
    medians = [row for row in points if "run_id" not in row]
    assert [row["number"] for row in medians] == list(CLOCKS)
    assert min(medians, key=lambda row: row["value"])["number"] == 1900


def test_energies_with_bounds_are_drawn_at_the_most() -> None:
    rows = energies(**clocks())
    bounds = rows.with_columns(
        energy_j=pl.lit(None, pl.Float64), low_j=pl.lit(1.0), high_j=rows["energy_j"], windows=pl.lit(9)
    )
    text = text_of(draw("energy/windows", bounds))
    assert "energy of GPUs, at most [Wh]" in text and "clk, as the names of the runs have it" in text
    assert "At most: the sum of all measurements, because it is unknown when they took place." in text
    assert "Pale" not in text
    mixed = pl.concat([bounds.head(30), rows.tail(30).cast(dict(bounds.schema))])
    assert "Pale" in text_of(draw("energy/windows", mixed)), "a point cannot say which of the two it is"


def test_a_model_in_the_names_makes_series() -> None:
    rates = {
        f"{model}_bs{2**k}_seed{seed}": 3.0 * factor * 1.3**k + seed
        for model, factor in (("bert", 1000), ("gpt", 90)) for k in range(10) for seed in (1, 2, 3)
    }  # fmt: skip
    chart = draw("energy/windows", energies(**rates))
    assert "bert" in text_of(chart) and "gpt" in text_of(chart)
    assert {row["series"] for row in drawn_rows(spec(chart)) if "series" in row} == {"bert", "gpt"}
    (scale,) = {axis["scale"]["type"] for axis in _encodings(spec(chart), "x") if axis.get("field") == "number"}
    assert scale == "log"


def _encodings(part: object, channel: str) -> list[dict]:
    if isinstance(part, list):
        return [found for each in part for found in _encodings(each, channel)]
    if not isinstance(part, dict):
        return []
    own = [part["encoding"][channel]] if channel in part.get("encoding", {}) else []
    return own + [found for key, each in part.items() if key != "data" for found in _encodings(each, channel)]


def test_a_number_that_the_values_do_not_follow_is_no_axis() -> None:
    values = list(clocks().values())
    random.Random(5).shuffle(values)
    runs = [{"run_id": name, "name": name, "e": e} for name, e in zip(clocks(), values, strict=True)]
    assert number_sweep.of(runs, "e") is None


def test_runs_of_one_number_have_no_order_that_the_values_could_follow() -> None:
    """Repeats come in the order of the clock, which the energies follow; the number of the repeat is still no axis."""
    runs = [
        {"run_id": f"{repeat}{clock}", "name": f"c{clock}x_r{repeat}", "e": 1.0 + clock / 100}
        for repeat in range(1, 7) for clock in CLOCKS
    ]  # fmt: skip
    swept = number_sweep.of(runs, "e")
    assert swept is not None and swept.label == "c…x"
    baselines = [{"run_id": f"b{k}", "name": f"base_r{k}", "e": 1.5} for k in range(1, 7)]
    assert number_sweep.of([*runs, *baselines], "e") is None, "the clock is not known of all"


def test_folders_without_which_the_values_jump_make_series() -> None:
    runs = [
        {"run_id": f"{folder}{clock}", "name": f"clk{clock}_{k}", "path": f"/study/{folder}/clk{clock}.csv",
         "e": factor * (3.0 + (clock / 1900 - 1) ** 2)}
        for folder, factor in (("conv", 1.0), ("gemm", 70.0)) for k, clock in enumerate(CLOCKS)
    ]  # fmt: skip
    for number, run in enumerate(runs):
        run["name"] = f"{run['name']}_{number}"
    swept = number_sweep.of(runs, "e")
    assert swept is not None and swept.label == "clk"
    assert {point["series"] for point in swept.points} == {"conv", "gemm"}


def test_a_bare_number_is_no_axis() -> None:
    """Such as a time, which no word explains, even where the values follow it."""
    runs = [{"run_id": f"{k}", "name": f"job_{k}", "e": 1.0 + k} for k in range(60)]
    assert number_sweep.of(runs, "e") is None
    assert number_sweep.of([run | {"e": 1.0, "name": f"clk{run['run_id']}_a"} for run in runs], "e") is None


def test_what_each_run_has_of_its_own_goes_first() -> None:
    """Without a time of their own, names still tell runs apart: that time explains nothing."""
    runs = [{"run_id": name, "name": name, "e": e} for name, e in clocks().items()]
    merged = name_groups.merged(runs, "e", 20)
    assert merged is not None and {row["name"] for row in merged.rows} == {f"clk{clock}" for clock in CLOCKS}


def test_runs_that_nothing_tells_apart_share_a_line_with_names_at_its_ends() -> None:
    names = {f"run of {'x' * (k + 1)}": 1e4 + k for k in range(60)}
    assert name_groups.pieces([{"name": name} for name in names])
    text = text_of(draw("energy/windows", energies(**names)))
    assert "60 runs" in text and "lowest run of x." in text and "Not drawn" not in text


def test_ends_of_several_scopes_say_of_which_they_are() -> None:
    names = {f"run of {'x' * (k + 1)}": 1e4 + k for k in range(60)}
    rows = energies(**names).with_columns(scope=pl.lit("gpu"))
    of_memory = rows.with_columns(scope=pl.lit("memory"), energy_j=pl.col("energy_j").reverse())
    text = text_of(draw("energy/windows", pl.concat([rows, of_memory])))
    assert re.search(r"(GPUs|Memory): the highest is run of x", text) and "The highest" not in text


def test_lines_of_a_number_are_in_its_order_and_those_of_words_by_their_medians() -> None:
    page = page_of({})
    for setting, values in (("global_batch_size", [8, 16, 128]), ("model", ["a", "b", "c"])):
        runs = [
            {"run_id": f"{k}", "name": f"run of {'x' * (k + 1)}", "path": "", setting: values[k % 3], "e": e + k / 100}
            for k, e in enumerate([1.0, 3.0, 2.0] * 20)
        ]
        drawn = many_runs.drawn(runs, Measure("e", "energy [J]", "largest"), page, 20)
        rows = [row["text"] for row in drawn_rows(spec(style.figure([[drawn.panel]], [], [], page))) if "text" in row]
        expected = ["8", "16", "128"] if setting != "model" else ["b", "c", "a"]
        assert [re.findall(r"\d+|[abc]\b", row)[0] for row in dict.fromkeys(rows)] == expected


def test_many_rates_without_devices_are_drawn() -> None:
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null()).head(1)
    names = [f"bs{size}_{seed}" for size in range(8, 208, 10) for seed in (11, 22, 33)]
    rates = [100.0 * int(re.findall(r"\d+", name)[0]) ** 0.5 for name in names]
    many = pl.concat([rows] * 60).with_columns(
        devices=pl.lit(None, pl.Int64), run_id=pl.Series([f"{k:012x}" for k in range(60)]), name=pl.Series(names),
        device_tokens_per_s=pl.Series(rates),
    )  # fmt: skip
    text = text_of(draw("throughput/nodes", many))
    assert "bs, as the names of the runs have it" in text and "tokens/s per GPU" in text


@pytest.mark.parametrize("runs", [12, 13])
def test_of_many_distributions_the_fastest_and_the_median_are_named(runs: int) -> None:
    one = rows_of("batch_cdf/elbows").filter(pl.col("run_id") == pl.col("run_id").first())
    rows = pl.concat([
        one.with_columns(run_id=pl.lit(f"run{k:02}"), name=pl.lit(f"run {k:02}"), step_s=pl.col("step_s") * (1 + k / 50))
        for k in range(runs)
    ])  # fmt: skip
    chart = draw("batch_cdf/elbows", rows)
    text = text_of(chart)
    assert ("best: run 00" in text and "median: run 06" in text and "11 other runs" in text) == (runs > 12)
    pale = {row["run"] for row in drawn_rows(spec(chart)) if "run" in row}
    assert len(pale) == (11 if runs > 12 else 0)
    assert f"{runs} runs of" in text


def test_of_many_distributions_of_unlike_work_the_steadiest_is_named() -> None:
    one = rows_of("batch_cdf/elbows").filter(pl.col("run_id") == pl.col("run_id").first())
    middle = pl.col("step_s").median()
    rows = pl.concat([
        one.with_columns(
            run_id=pl.lit(f"run{k:02}"), name=pl.lit(f"run {k:02}"),
            step_s=(middle + (pl.col("step_s") - middle) * (1 - k / 20)) * (1 + 20 * (k == 0)),
        )
        for k in range(13)
    ])  # fmt: skip
    text = text_of(draw("batch_cdf/elbows", rows))
    assert "best: run 12" in text and "closest to its median" in text


def test_of_many_series_the_fastest_and_the_median_are_named() -> None:
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null()).head(1)
    several = [
        rows.with_columns(
            run_id=pl.lit(f"{k:06}{devices:06}"), model=pl.lit(f"model-{k:02}"), devices=pl.lit(devices),
            device_tokens_per_s=pl.lit(1000.0 + k),
        )
        for k in range(13) for devices in (8, 16)
    ]  # fmt: skip
    text = text_of(draw("throughput/nodes", pl.concat(several)))
    assert "best: model-12" in text and "median: model-06" in text and "11 other series" in text


def copies(case: str, count: int, *columns: str, step: float = 0.0, field: str = "") -> pl.DataFrame:
    """The rows of a case as often as `count`, with other texts in some columns, and each time a larger value in one."""
    rows = rows_of(case)
    return pl.concat(
        rows.with_columns(
            *(pl.lit(f"{column} {k:02}").alias(column) for column in columns),
            *([pl.col(field) * (1 + step * k)] if field else []),
            run_id=pl.concat_str(pl.lit(f"{k:02}"), pl.col("run_id")),
        )
        for k in range(count)
    )


def test_of_many_runs_under_power_limits_the_one_that_saves_most_is_named() -> None:
    rows = copies("energy_by_limit/one_run", 13, "name", step=0.02, field="saved")
    chart = draw("energy_by_limit/one_run", rows)
    text = text_of(chart)
    assert "best: name 12" in text and "median: name 06" in text and "11 other runs" in text
    assert "saves the largest share of its energy" in text
    drawn = [row for row in drawn_rows(spec(chart)) if ("limit_w" in row and "energy_j" in row) or "energy_kj" in row]
    assert len({row["run_id"] for row in drawn}) == 13
    assert "best:" not in text_of(draw("energy_by_limit/one_run", rows.filter(pl.col("name") != "name 00")))


def test_of_many_series_the_one_with_the_most_tflops_is_named() -> None:
    case = next(case for case in CASES if case.startswith("mfu/"))
    rows = copies(case, 13, "model", step=0.01, field="model_tflops").with_columns(precision=pl.lit("bf16"))
    text = text_of(draw(case, rows))
    assert "best: model 12" in text and "series of the most TFLOP/s" in text


def test_of_many_series_the_most_efficient_at_their_common_size_is_named() -> None:
    """A series of a smaller size that kept more is not the best: its size says something else."""
    one = rows_of("scaling/weak_and_strong").filter(pl.col("scaling") == "strong")
    one = one.filter(pl.col("series") == pl.col("series").first())
    largest = one["devices"].max()
    rows = pl.concat(
        one.with_columns(
            series=pl.lit(f"model {k:02} · strong (global batch 8)"),
            run_id=pl.concat_str(pl.lit(f"{k:02}"), pl.col("run_id")),
            efficiency=pl.when(pl.col("devices") == largest).then(0.2 + k / 40).otherwise("efficiency"),
        ).filter((pl.col("devices") < largest) | (k < 13))
        for k in range(14)
    )
    chart = draw("scaling/weak_and_strong", rows)
    text = text_of(chart)
    assert "best: model 12" in text and "median: model 06" in text and "12 other series" in text
    assert f"with the highest efficiency on {largest}" in text
    lines = {row["series"] for row in drawn_rows(spec(chart)) if "efficiency" in row}
    assert len(lines) == 14, "all are drawn"


def test_many_series_without_a_model_are_drawn() -> None:
    one = rows_of("scaling/no_model")
    one = one.filter(pl.col("series") == pl.col("series").first())
    rows = pl.concat(
        one.with_columns(
            series=pl.lit(f"system {k:02} · throughput"), run_id=pl.concat_str(pl.lit(f"{k:02}"), pl.col("run_id")),
            samples_per_s=pl.col("samples_per_s") * pl.col("devices") ** (k / 100),
        )
        for k in range(13)
    )  # fmt: skip
    text = text_of(draw("scaling/no_model", rows))
    assert "best: system 12" in text and "closest to the ideal" in text and text.count("samples/s on") == 2


def test_of_many_submitters_each_model_has_a_panel_with_its_fastest() -> None:
    both = pl.concat(
        copies("time_to_train/two_submitters", 7, "submitter", step=0.1, field="minutes").with_columns(
            model=pl.lit(model), run_id=pl.concat_str(pl.lit(model), pl.col("run_id"))
        )
        for model in ("bert", "resnet", "unet")
    )
    chart = draw("time_to_train/two_submitters", both)
    text = text_of(chart)
    assert "model bert" in text and "model unet" in text and "best of the panel" in text
    assert text.count("best: submitter 00") == 3 and "Named in each panel: the fastest series" in text
    lines = [row for row in drawn_rows(spec(chart)) if "minutes" in row and "seed" not in row]
    assert len({(row["own"], row["label"]) for row in lines}) == 14, "a line joins runs of one submitter"


def test_many_distributions_in_panels_have_a_fastest_in_each() -> None:
    one = rows_of("batch_cdf/elbows").filter(pl.col("run_id") == pl.col("run_id").first())
    rows = pl.concat(
        one.with_columns(
            run_id=pl.lit(f"run{k:02}"), name=pl.lit(f"run {k:02}"), half=pl.lit("ab"[k % 2]),
            step_s=pl.col("step_s") * (1 + k / 50),
        )
        for k in range(26)
    )  # fmt: skip
    text = text_of(draw("batch_cdf/elbows", rows, page=page_of({"facet": "half"})))
    assert "best: run 00" in text and "best: run 01" in text and "Named in each panel: the run of the shortest" in text


def test_runs_that_a_setting_tells_apart_have_a_line_for_each_value() -> None:
    rows = rows_of("throughput/nodes").filter(pl.col("device_tokens_per_s").is_not_null()).head(1)
    sizes = [(4, 16, 64)[k % 3] for k in range(60)]
    many = pl.concat([rows] * 60).with_columns(
        devices=pl.lit(None, pl.Int64), run_id=pl.Series([f"{k:012x}" for k in range(60)]),
        name=pl.Series([f"run of {'x' * (k + 1)}" for k in range(60)]), global_batch_size=pl.Series(sizes),
        pp=pl.Series([1 + k % 2 for k in range(60)]),
        device_tokens_per_s=pl.Series([100.0 * size + k for k, size in enumerate(sizes)]),
    )  # fmt: skip
    text = text_of(draw("throughput/nodes", many))
    assert all(f"batch {size} · 20 runs" in text for size in (4, 16, 64)) and "pp " not in text
    unlike = many.with_columns(global_batch_size=pl.Series([4, 16] * 30))
    assert "60 runs" in text_of(draw("throughput/nodes", unlike)), "values that do not follow the setting"
