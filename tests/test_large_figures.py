"""Figures of very many records: drawn from what can be seen of them, and saying so."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from little_warehouse import Warehouse
from scalelens.charts import adjust, collective_arrivals, power_over_time, shades, step_heatmap
from scalelens.charts import load as charts
from scalelens.charts.layout import SINGLE, page_of
from scalelens.report import rendering

LENGTHS = [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
WIDE = page_of({"width": "double"})  # its caption has room for every sentence
MOST_BYTES = 1_500_000  # of an SVG
COLUMNS = "run_id, file_id, line, attempt, step, step_s, averaged_steps, value_kind"


@pytest.fixture
def long_run(request: pytest.FixtureRequest) -> Warehouse:
    """A run with times that are nearly all different, and a loss of a few values only."""
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "a", "name": "a"}])
    warehouse.connection.execute(
        "CREATE OR REPLACE TEMP TABLE made AS SELECT 'a' AS run_id, 'a' AS file_id, i AS line, 0 AS attempt, i + 1 AS step, "
        "0.05 + (i * 7919 % 104729) / 1e7 + CASE WHEN i % 997 = 0 THEN 0.5 ELSE 0 END + i / 1e12 AS step_s, "
        "1 AS averaged_steps, 'instant' AS value_kind, 'train' AS phase, "
        f"CASE WHEN i = 4321 THEN 9.0 ELSE 2 + i * 31 % 5 END AS loss FROM range({request.param}) AS t(i)"
    )
    warehouse.connection.execute(f"INSERT INTO step_times BY NAME SELECT {COLUMNS} FROM made")
    warehouse.connection.execute(f"INSERT INTO steps BY NAME SELECT {COLUMNS}, phase, loss FROM made")
    return warehouse


def drawn(warehouse: Warehouse, name: str, **parameters: str) -> tuple[pl.DataFrame, str]:
    """The rows of a chart, and the chart as SVG."""
    chart = charts.find(name)
    given = getattr(chart, "PARAMETERS", {}) | parameters
    call = f"{chart.QUERY}({', '.join(f'{key} := {value}' for key, value in given.items())})"
    rows = warehouse.connection.sql(f"SELECT {charts.rows_of(chart).format(call)}").pl()
    figure = chart.draw(rows, {}, {key: value.strip("'") for key, value in given.items()}, WIDE)
    svg = rendering.drawing(figure, {})
    places = rendering.places_in(rendering.specification(figure, {}))
    assert not rendering.drawing(figure, {}, most_bytes=len(svg) - 1), "a page that has less room is without it"
    assert 0 < 10 * places <= len(svg), "so much it takes at least, as is known before it is drawn"
    return rows, svg


@pytest.mark.parametrize("long_run", LENGTHS, indirect=True)
def test_a_distribution_keeps_every_corner_that_is_seen(long_run: Warehouse) -> None:
    thin, svg = drawn(long_run, "batch_cdf")
    full = long_run.connection.sql("FROM batch_cdf()").pl()
    assert full["step_s"].is_sorted()
    assert thin.height < min(45_000, full.height) and len(svg) < MOST_BYTES
    kept = thin.join(full, on=["step_s", "cdf", "n_steps"], how="semi")
    assert kept.height == thin.height, "no value is changed"
    assert (thin["step_s"].min(), thin["step_s"].max()) == (full["step_s"].min(), full["step_s"].max())
    assert full.filter(pl.col("cdf") >= 0.5)["step_s"].min() == thin.filter(pl.col("cdf") >= 0.5)["step_s"].min()
    assert "Curves are drawn as finely as their lines are wide" in svg.replace("\n", " ")
    # Between two corners that stay lies less than a piece of the x axis, so that the curve is the same on paper.
    piece = (full["step_s"].max() - full["step_s"].min()) / 10_000  # type: ignore[operator]
    # A join of DuckDB keeps no order; the chart sorts too.
    corners = thin.select("step_s", kept_s="step_s").sort("step_s")
    before = full.join_asof(corners, on="step_s", strategy="backward")
    assert (before["step_s"] - before["kept_s"]).max() <= piece * 1.001  # type: ignore[operator]


@pytest.mark.parametrize("long_run", LENGTHS, indirect=True)
def test_a_course_keeps_the_lowest_and_the_highest_score(long_run: Warehouse) -> None:
    rows, svg = drawn(long_run, "accuracy", score_name="'loss'")
    assert rows.height <= 3 * 2 * 1001 and len(svg) < MOST_BYTES, "of equal scores one stays"
    assert (rows["score"].min(), rows["score"].max()) == (2.0, 9.0)
    assert set(rows["n_points"]) == {long_run.column("SELECT count(*) FROM made")[0]}
    assert rows["step"].max() == rows["n_points"][0], "the end of the axis"
    assert "the lowest and the highest record" in svg.replace("\n", " ")


@pytest.mark.parametrize("long_run", LENGTHS, indirect=True)
def test_step_times_keep_the_fastest_and_the_slowest(long_run: Warehouse) -> None:
    rows, svg = drawn(long_run, "step_times")
    assert rows.height <= 2 * 2 * 1000 and len(svg) < MOST_BYTES
    low, high = long_run.connection.execute("SELECT min(step_s), max(step_s) FROM made").fetchone() or (0, 0)
    assert (rows["step_s"].min(), rows["step_s"].max()) == (low, high)


def map_of(ranks: int, steps: int) -> pl.DataFrame:
    """Rank 7 is slow; rank 3 has one hiccup."""
    rows = pl.DataFrame({"place": range(ranks * steps)}, schema={"place": pl.Int64})
    rank, step = pl.col("place") // steps, pl.col("place") % steps
    slow = pl.when(rank == 7).then(1.3).when((rank == 3) & (step == 11)).then(5.0).otherwise(1.0)
    return rows.select(
        run_id=pl.lit("a"), file_id=pl.lit("f"), rank=rank, train_step=step, compute_ns=(slow * 1e7).cast(pl.Int64)
    )  # fmt: skip


def cells_of(spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The cells of each panel."""
    return [row["data"]["values"] for row in spec["vconcat"] if "hconcat" in row]


@pytest.mark.parametrize("steps", [1600, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_map_of_many_cells_loses_no_hiccup(tmp_path: Path, steps: int) -> None:
    chart = step_heatmap.draw(map_of(50, steps), {})
    spec = rendering.specification(chart, {})
    classes = [{(cell["rank"], cell["step"]): cell["class"] for cell in cells} for cells in cells_of(spec)]
    assert [len(cells) <= 50 * step_heatmap.MOST_STEPS for cells in classes] == [True, True]
    together = math.ceil(steps / step_heatmap.MOST_STEPS)
    hiccup = "3", 11 // together * together
    assert classes[0][hiccup] == "within 2 %" and classes[1][hiccup] == "10 % longer or more"
    assert {kind for (rank, _), kind in classes[0].items() if rank == "7"} == {"10 % longer or more"}
    assert f"A cell: 1 rank and {together} steps put together" in spec["description"]
    for suffix in ("svg", "pdf"):
        rendering.save(chart, tmp_path / f"map.{suffix}", {}, SINGLE)
        assert (tmp_path / f"map.{suffix}").stat().st_size < 5_000_000


def test_many_ranks_are_put_together_as_steps_are() -> None:
    spec = rendering.specification(step_heatmap.draw(map_of(1024, 10), {}), {})
    ranks = {cell["rank"] for cell in cells_of(spec)[0]}
    assert len(ranks) == 1024 / 16 and "16" in ranks and "A cell: 16 ranks and 1 step" in spec["description"]


def arrivals_of(ranks: int, calls: int) -> pl.DataFrame:
    """Rank 3 is last at every second collective; rank 1 is later than all else once."""
    rows = pl.DataFrame({"place": range(ranks * calls)}, schema={"place": pl.Int64})
    rank, call = pl.col("place") % ranks, pl.col("place") // ranks
    lateness = pl.when((rank == 1) & (call == 77)).then(90_000_000).otherwise(rank * 1000 + call * 7919 % 104_729)
    late = (rank == 3) & (call % 2 == 0)
    return rows.select(
        run_id=pl.lit("a"), rank=rank, call=call, ranks=pl.lit(ranks), offset_ns=pl.lit(0),
        lateness_ns=pl.when(rank == 0).then(0).otherwise(lateness), blame_ns=pl.when(late).then(1000).otherwise(0),
    )  # fmt: skip


@pytest.mark.parametrize("calls", [12_500, pytest.param(1_250_000, marks=pytest.mark.slow)])
def test_arrivals_at_one_place_are_one_mark(calls: int) -> None:
    rows = arrivals_of(8, calls)
    chart = collective_arrivals.draw(rows, {})
    spec = rendering.specification(chart, {})
    svg = rendering.drawing(chart, {})
    assert "of arrivals at one place the latest" in spec["description"] and len(svg) < MOST_BYTES
    assert f"Rank 3 arrives last at {calls // 2} of {calls}" in spec["description"], "the caption counts all"
    layers = next(row for row in spec["vconcat"] if "hconcat" in row)["hconcat"][0]["layer"]
    marks = [pl.DataFrame(layer["data"]["values"]) for layer in layers]
    assert pl.concat(marks)["lateness"].max() == 90, "the latest of all stays"
    for drawn, is_last in zip(marks, (False, True), strict=True):
        every = rows.filter((pl.col("blame_ns") > 0) == is_last).select(
            "rank", lateness=pl.col("lateness_ns") / 1000 / 1000
        )
        # Each arrival lies within a third of a point of a mark of its rank.
        place = (pl.col("lateness") / 0.01).log1p().round(9)  # lanes of a processor differ in the last bits
        kept = drawn.select("rank", place=place, kept=place).sort("place")
        near = every.select("rank", place=place).sort("place")
        near = near.join_asof(kept, on="place", by="rank", strategy="forward", check_sortedness=False)
        piece = math.log1p(9000) / (SINGLE.points / 0.35)
        assert near["kept"].null_count() == 0 and (near["kept"] - near["place"]).max() <= piece * 1.001  # type: ignore[operator]


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_of_many_phases_each_column_shows_the_longest(count: int) -> None:
    """Steps of 0.6 s with pauses of 0.4 s; in the second quarter evaluations take 0.7 s of each second."""
    second = pl.int_range(count, eager=True).cast(pl.Float64)
    steps = pl.DataFrame({"phase": "steps", "begins_s": second, "ends_s": second + 0.6})
    quarter = second.filter((second >= count / 4) & (second < count / 2))
    evaluations = pl.DataFrame({"phase": "evaluation", "begins_s": quarter + 0.3, "ends_s": quarter + 1.0})
    ends = [0.0, float(count)]
    samples = pl.DataFrame({"begins_s": ends, "power_w": 300.0, "segment": 0, "device": "0", "scope": "gpu",
                            "readings": 2})  # fmt: skip
    rows = pl.concat([samples, steps, evaluations], how="diagonal").with_columns(
        pl.lit(None, pl.String).alias("node"), run_id=pl.lit("a"), has_clock=pl.lit(True)
    )
    chart = power_over_time.draw(rows, {})
    spec, svg = rendering.specification(chart, {}), rendering.drawing(chart, {})
    assert len(svg) < 100_000
    assert f"{count * 5 // 4:,} phases: a column shows the one that takes most of it." in spec["description"]
    (panel,) = adjust.panels(spec)
    drawn = panel["layer"][0]["data"]["values"]
    assert [row["phase"] for row in drawn] == ["steps", "evaluation", "steps"]
    hours = count / 3600
    half_a_point = hours / SINGLE.points / 2
    assert drawn[0]["from"] == 0 and drawn[-1]["to"] == pytest.approx(hours)
    assert drawn[1]["from"] == pytest.approx(hours / 4, abs=half_a_point)
    assert drawn[1]["to"] == pytest.approx(hours / 2, abs=half_a_point)


@pytest.mark.parametrize(
    ("spans", "seen"),
    [
        ([(0, 10, "a")], [(0, 10, "a")]),
        ([(0, 10, "a"), (4, 6, "b")], [(0, 4, "a"), (4, 6, "b"), (6, 10, "a")]),
        ([(0, 4, "a"), (2, 9, "b"), (3, 3.4, "a")], [(0, 2, "a"), (2, 9, "b")]),
        ([(0, 0.4, "a"), (1, 1.6, "a"), (2.2, 2.6, "a"), (2.6, 2.9, "b")], [(1, 2, "a"), (2, 3, "a")]),
        ([(-5, 1.5, "a"), (9.9, 30, "b")], [(0, 1, "a")]),
    ],
)
def test_what_most_of_a_slot_shows(spans: list[tuple[float, float, str]], seen: list[tuple[float, float, str]]) -> None:
    whole = [(low, high, label) for low, high, label in shades.by_slots([shades.Span(*s) for s in spans], 0, 10, 10)]
    by_one = [(n, label) for low, high, label in whole for n in range(round(low), round(high))]
    assert by_one == [(n, label) for low, high, label in seen for n in range(int(low), int(high))]
