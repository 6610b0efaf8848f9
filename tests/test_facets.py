"""Panels for the values of a column: `--facet` and `[figure.NAME] facet`."""

import json
from pathlib import Path

import polars as pl
import pytest

import scalelens
from scalelens.charts import adjust, style
from scalelens.charts import load as charts
from scalelens.charts.layout import page_of
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.report import rendering as render
from scalelens.report.provenance_in_files import provenance_of
from spread import spread
from test_charts import CASES, draw, marks, rows_of
from test_figures import boxes, overlapping, run

WITH_FACETS = [name for name, chart in charts.load().items() if hasattr(chart, "FACETS")]
FIRST_CASE = {name: next(case for case in CASES if case.startswith(f"{name}/")) for name in WITH_FACETS}


def halves(name: str) -> pl.DataFrame:
    """Rows of a chart with a column `half`, of three values, that are the same for all rows of a run."""
    rows = rows_of(FIRST_CASE[name])
    if name == "step_times":  # a panel shows one run
        rows = pl.concat([rows.with_columns(run_id=pl.lit(f"run{n}"), name=pl.lit(f"run {n}")) for n in range(3)])
    key = "run_id" if "run_id" in rows.columns else "series"
    runs = sorted(rows[key].unique())
    names = ["one", "two", "the third, which has a name that is longer than a panel is wide"]
    of_runs = {run: None if name == "history" else names[n % 3] for n, run in enumerate(runs)}
    return rows.with_columns(half=pl.col(key).replace_strict(of_runs, return_dtype=pl.String))


@pytest.mark.parametrize("width", ["single", "double", "lncs"])
@pytest.mark.parametrize("name", spread(WITH_FACETS, str, "panels"))
def test_panels_of_a_chart(name: str, width: str) -> None:
    page = page_of({"width": width, "facet": "half"})
    rows = halves(name)
    spec = render.specification(draw(FIRST_CASE[name], rows, page=page), {})
    svg = render.svg_of(spec)
    assert f'width="{page.points}"' in svg.split(">")[0], "no text and no panel stands out"
    assert overlapping(svg) == []
    titles = {text for text, *_ in boxes(svg) if text.startswith("half ")}
    assert len(titles) == rows["half"].n_unique()
    scales: dict[str, set[str]] = {}
    for mark in marks(spec):
        for channel in ("x", "y"):
            encoding = mark["encoding"].get(channel, {})
            if "field" in encoding and encoding.get("scale"):
                # Each quantity of `published` has axes of its own.
                quantity = encoding["field"] if name != "published" else f"{mark['encoding']['x']['title']} {channel}"
                scales.setdefault(quantity, set()).add(json.dumps(encoding["scale"], sort_keys=True))
    assert scales and all(len(of_quantity) == 1 for of_quantity in scales.values()), "panels are compared"


def test_what_the_title_of_a_panel_says_is_not_in_the_legend() -> None:
    rows = rows_of("scaling/weak_and_strong")
    page = page_of({"facet": "precision"})
    rows = rows.with_columns(precision=pl.col("series").str.extract("(bf16|fp32)"))
    spec = render.specification(draw("scaling/x", rows, page=page), {})
    texts = [text for text, *_ in boxes(render.svg_of(spec))]
    assert {"precision bf16", "precision fp32"} <= set(texts) and "bf16" not in texts
    assert "0.391 s a step on 1 CPU (bf16), 0.512 s (fp32)" in spec["description"], "the caption still tells them apart"


def titles_of(case: str, rows: pl.DataFrame, **settings: str) -> list[str]:
    """Titles of the panels of a chart, row by row."""
    spec = render.specification(draw(case, rows, page=page_of(settings)), {})
    titles = [panel["title"] for panel in adjust.panels(spec) if panel.get("title")]
    texts = [title if isinstance(title, str) else title["text"] for title in titles]
    return [text if isinstance(text, str) else " ".join(text) for text in texts]


@pytest.mark.parametrize("name", spread([name for name in WITH_FACETS if name != "history"], str, "order"))
def test_order_is_also_that_of_panels(name: str) -> None:
    rows = halves(name)
    if rows["half"].n_unique() < 2:
        pytest.skip("one panel")
    usual = list(dict.fromkeys(titles_of(FIRST_CASE[name], rows, facet="half")))
    named = list(dict.fromkeys(titles_of(FIRST_CASE[name], rows, facet="half", order="two")))
    assert "half two" in usual[1:] and named[0] == "half two" and set(named) == set(usual)
    assert named == list(dict.fromkeys(titles_of(FIRST_CASE[name], rows, facet="half", order="half two")))
    with pytest.raises(UserError, match="the figure has no series or panel 'three'; it has: .*one; .*two"):
        titles_of(FIRST_CASE[name], rows, facet="half", order="three")


def test_order_of_panels_that_a_chart_has_itself() -> None:
    rows = rows_of("batch_device_grid/one_missing")
    rows = pl.concat(rows.with_columns(model=pl.lit(model), series=pl.lit(model)) for model in "ab")
    assert titles_of("batch_device_grid/x", rows) == ["a", "b"]
    assert titles_of("batch_device_grid/x", rows, order="b") == ["b", "a"]


def test_two_columns_have_room_for_twice_as_many_panels() -> None:
    def many(count: int) -> pl.DataFrame:
        return pl.concat([rows_of("throughput/frameworks").with_columns(half=pl.lit(n)) for n in range(count)])

    single, double = page_of({"facet": "half"}), page_of({"facet": "half", "width": "double"})
    with pytest.raises(
        UserError, match="13 panels are more than one chart can show .12.; .*or take two columns: --width"
    ):
        draw("throughput/x", many(13), page=single)
    assert len(titles_of("throughput/x", many(24), facet="half", width="double")) == 24
    heights = [
        {
            panel["height"]
            for panel in adjust.panels(render.specification(draw("throughput/x", many(count), page=double), {}))
        }
        for count in (16, 24)
    ]
    assert heights == [{style.WIDE_HEIGHT}, {89}], "six rows fit on a page"
    for page in (single, double):
        with pytest.raises(UserError, match="25 panels are more than one chart can show") as refusal:
            draw("throughput/x", many(25), page=page)
        assert "--width" not in str(refusal.value)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    for first_s, name in enumerate("ab", start=1):
        lines = "".join(f"{n},{first_s + n % 3 / 10}\n" for n in range(60))
        (folder / f"{name}.csv").write_text(f"step,step_time_s\n{lines}")
    ingest([folder], folder / "w")
    return folder


def test_a_facet_of_the_library_of_the_command_line_and_of_a_sidecar(
    two_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(two_runs)
    drawn = scalelens.plot("batch_cdf", warehouse="w", settings={"facet": "path"})
    assert "path" in drawn.rows.columns, "a column of runs that the query does not have"
    assert "f.svg" in run("plot", "batch_cdf", "-w", "w", "--facet", "name", "-o", "f.svg")
    assert {"name a", "name b"} <= {text for text, *_ in boxes(Path("f.svg").read_text())}
    assert provenance_of(Path("f.svg"))["settings"] == {"facet": "name"}
    Path("scalelens.toml").write_text('[figure.batch_cdf]\nfacet = "name"\n')
    first = Path("f.svg").read_bytes()
    run("plot", "batch_cdf", "-w", "w", "-o", "f.svg")
    assert Path("f.svg").read_bytes() == first
    assert "same" in run("verify", "f.svg", "-w", "w")


def test_columns_and_charts_without_a_facet(two_runs: Path) -> None:
    options = ["-w", two_runs / "w", "-o", two_runs / "no.svg", "--facet"]
    assert "there is no column 'colour' to split the figure by; there are: " in run(
        "plot", "batch_cdf", *options, "colour"
    )
    refused = run("plot", "step_heatmap", *options, "name")
    assert (
        "the chart step_heatmap cannot be split into panels; it has panels of its own, or one run; these take one: acc"
        in refused
    )
    assert not (two_runs / "no.svg").exists()
