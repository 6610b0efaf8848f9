"""Figures as people change and read them: settings, every format, colors, texts that do not overlap, own SQL."""

import ast
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pikepdf
import polars as pl
import pytest
from typer.testing import CliRunner

from command_line import app
from scalelens.charts import adjust, layout, own, step_heatmap, style, temporal_breakdown, words
from scalelens.charts import load as charts
from scalelens.charts.dark import darkened
from scalelens.charts.layout import page_of
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.question.provenance import make_provenance
from scalelens.report import rendering as render
from scalelens.report.provenance_in_files import provenance_of
from scalelens.report.settings import figure_settings
from spread import spread
from test_charts import CASES, draw, marks, spec_of, svg_of, text_of

SVG = "{http://www.w3.org/2000/svg}"
FIRST = {case.split("/")[0]: case for case in reversed(CASES)}  # one case of each chart


def adjusted(case: str, **settings) -> dict:
    wanted = page_of(settings)
    return adjust.adjusted(render.specification(draw(case, page=wanted), {}), wanted, render.height_of)


# Every chart in every format.


IN_EACH_FORMAT = ("batch_device_grid", "kernel_tree", "scaling")  # by day; all others nightly


@pytest.mark.parametrize("suffix", list(render.WRITERS))
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_EACH_FORMAT else pytest.mark.slow) for name in charts.load()]
)
def test_every_chart_in_every_format(name, suffix, tmp_path):
    path = tmp_path / f"figure{suffix}"
    said = make_provenance({"chart": name}, "SELECT 1 AS one", {}, pl.DataFrame({"one": [1]}), {})
    render.save(draw(FIRST[name]), path, said)
    assert provenance_of(path) == said and path.stat().st_size > 1000
    if suffix == ".pdf":
        with pikepdf.open(path) as pdf:
            content = pdf.pages[0].obj.Resources
            fonts = [font for font in pdf.objects if isinstance(font, pikepdf.Dictionary) and "/FontFile2" in font]
            assert fonts and not [
                x for x in pdf.objects if isinstance(x, pikepdf.Stream) and x.get("/Subtype") == "/Image"
            ]
            assert content is not None


@pytest.mark.parametrize("width", spread(layout.WIDTHS_MM, str, "presets"))
def test_a_file_is_as_wide_as_its_preset(width, tmp_path):
    wanted = page_of({"width": width})
    figure = draw("scaling/repeats", page=wanted)
    render.save(figure, tmp_path / "f.pdf", {}, wanted)
    with pikepdf.open(tmp_path / "f.pdf") as pdf:
        assert float(pdf.pages[0].MediaBox[2]) / 72 * 25.4 == pytest.approx(layout.WIDTHS_MM[width], abs=0.1)
    render.save(figure, tmp_path / "f.svg", {}, wanted)
    root = ElementTree.parse(tmp_path / "f.svg").getroot()
    assert float(root.get("width").removesuffix("pt")) / 72 * 25.4 == pytest.approx(layout.WIDTHS_MM[width], abs=0.1)


# Texts.


def test_the_width_of_every_letter_that_a_chart_writes_is_known() -> None:
    """A text with another letter is not fitted, and a wider font pushes it out of the figure."""
    sources = Path(style.__file__).parent.glob("*.py")
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in sources)
    texts = [
        node.value
        for tree in trees for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ast.get_docstring(tree, clean=False) != node.value
    ]  # fmt: skip
    assert [
        letter for letter in sorted(set("".join(texts))) if letter.isprintable() and not words.has_known_width(letter)
    ] == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_text_is_fitted_to_its_width_at_its_size(times: int) -> None:
    text = re.search("<text(.*?)>(.*?)</text>", f'<text font-size="{times * words.SIZE}px">GPUs</text>')
    assert f'textLength="{times * words.text_width("GPUs"):.1f}"' in render.fitted(text)


def boxes(svg: str) -> Iterator[tuple[str, float, float, float, float]]:
    """Each text that is seen with its box: left, top, right, bottom, in points.  Turned by 90 degrees or not at all."""

    def walk(node, x, y):
        moved = re.match(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)(?:\s*rotate\(([-\d.]+))?", node.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        lines = ["".join(line.itertext()) for line in node.iter(f"{SVG}tspan")] or ["".join(node.itertext())]
        text = " ".join(lines)
        if node.tag == f"{SVG}text" and text and node.get("opacity") != "0":
            size = float(node.get("font-size").removesuffix("px"))
            length = max(map(words.text_width, lines)) * size / words.SIZE
            start = {"middle": length / 2, "end": length}.get(node.get("text-anchor"), 0)
            flat = (-start, -0.7 * size, length - start, (0.2 + 1.2 * (len(lines) - 1)) * size)
            if moved and moved[3]:  # -90 degrees: along the text is upwards
                flat = (flat[1], -flat[2], flat[3], -flat[0])
            yield text, x + flat[0], y + flat[1], x + flat[2], y + flat[3]
        for child in node:
            yield from walk(child, x, y)

    yield from walk(ElementTree.fromstring(svg), 0, 0)


def overlapping(svg: str) -> list[tuple[str, str]]:
    touch = 0.5  # points: boxes are a little larger than letters
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes(svg), 2)
        if min(a[3], b[3]) - max(a[1], b[1]) > touch and min(a[4], b[4]) - max(a[2], b[2]) > touch
    ]


# Drawn for real, each at two widths: by day a quarter of those of each chart.
DRAWN = spread([(case, width) for case in CASES for width in ("single", "double")], "-".join, "drawn", share=4)


PREFIXED = re.compile(r"-?[\d.]+[yzafpnµmPEZY]")  # 500m for 0.5, and what nobody reads


@pytest.mark.parametrize("drawn", DRAWN)
def test_texts_have_room_and_labels_of_axes_are_numbers_as_people_write_them(drawn):
    """By Vega's own width, no text and no panel stands out; the caption takes at most a third."""
    svg = svg_of(*drawn)
    assert f'width="{page_of({"width": drawn[1]}).points}"' in svg.split(">")[0]
    assert overlapping(svg) == []
    assert not [text for text, *_ in boxes(svg) if PREFIXED.fullmatch(text)]
    assert spec_of(*drawn)["vconcat"][-1]["height"] < render.size_of(svg)[1] / 3


@pytest.mark.parametrize("case", CASES)
def test_a_caption_counts_what_it_leaves_out(case):
    caption, whole = spec_of(case)["vconcat"][-1], spec_of(case)["description"]
    text = " ".join(row["text"] for row in caption["layer"][1]["data"]["values"])
    said = re.search(r" \(Shortened by (\d+) sentences?\.\)$", text)
    assert said or text == whole
    assert not said or whole.endswith(text[: said.start()].rsplit(". ", 1)[1]), "what was left out is said last"


def test_overlapping_texts_are_found():
    text = '<text transform="translate({},{})" font-size="7px">efficiency</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg">{text.format(5, 5)}{text.format(9, 7)}{text.format(5, 15)}</svg>'
    assert overlapping(svg) == [("efficiency", "efficiency")]


@pytest.mark.parametrize(
    ("highest", "labels"),
    [
        (0.0009, "0 2e-4 4e-4 6e-4 8e-4 1e-3"),
        (0.9, "0.0 0.2 0.4 0.6 0.8 1.0"),
        (1900, "0 500 1000 1500 2000"),
        (19_000, "0 5k 10k 15k 20k"),
        (3e6, "0 500k 1M 1.5M 2M 2.5M 3M"),
        (6e15, "0 1e+15 2e+15 3e+15 4e+15 5e+15 6e+15"),
    ],
)
def test_labels_of_axes_over_all_sizes(highest, labels):
    rows = pl.DataFrame({"devices": [1, 2], "rate": [highest / 3, highest]})
    svg = render.svg_of(render.specification(own.draw(rows, own.Marks("point", "devices", "rate"), layout.SINGLE), {}))
    texts = [text for text, *_ in boxes(svg)]
    assert [text for text in labels.split() if text not in texts] == []


# Settings.


def test_texts_are_replaced():
    assert "tp 1" in text_of("scaling/kinds_of_interval")
    settings = {"labels": {"tp 1": "no tensor parallelism", "efficiency [%]": "Effizienz [%]"}, "title": "All of it"}
    spec = adjusted("scaling/kinds_of_interval", **settings)
    text = " ".join(box[0] for box in boxes(render.svg_of(spec)))
    assert "no tensor parallelism" in text and "Effizienz [%]" in text and "All of it" in text
    assert "tp 1" not in text.split() and overlapping(render.svg_of(spec)) == []
    with pytest.raises(UserError, match="does not show 'tp 3'; it shows: .*tp 1"):
        adjusted("scaling/kinds_of_interval", labels=["tp 3=x"])
    with pytest.raises(UserError, match="same name"):
        adjusted("scaling/kinds_of_interval", labels=["tp 1=tp 2"])


def test_order_and_colors_of_series():
    spec = adjusted("scaling/kinds_of_interval", order="tp 8,tp 2", colors="tp 8=#123456")
    line = next(mark for mark in marks(spec) if mark["mark"]["type"] == "line")["encoding"]["color"]["scale"]
    assert line["domain"] == ["tp 8", "tp 2", "tp 1", "tp 4"] and line["range"][0] == "#123456"
    by_place = adjusted("scaling/kinds_of_interval", colors="#111111,#222222")
    line = next(mark for mark in marks(by_place) if mark["mark"]["type"] == "line")["encoding"]["color"]["scale"]
    assert line["range"][:3] == ["#111111", "#222222", style.COLORS[2]]
    with pytest.raises(UserError, match="no series 'tp 3'; it has: tp 1; "):
        adjusted("scaling/kinds_of_interval", order="tp 3")
    with pytest.raises(UserError, match="no series 'compute'"):
        adjusted("kernel_summary/two_ranks", colors="compute=#000000")


def y_scales(spec: dict) -> list[dict]:
    return [mark["encoding"]["y"]["scale"] for panel in adjust.panels(spec) for mark in marks(panel)
            if "scale" in mark["encoding"].get("y", {})]  # fmt: skip


def test_ends_of_axes():
    assert all(scale["domain"] == [50, 110] for scale in y_scales(adjusted("scaling/repeats", ylim="50:110")))
    with pytest.raises(UserError, match=r"several y axes: tokens/s per IPU; Wh per IPU"):
        adjusted("energy_by_batch/gpt_table", ylim="0:1")
    one = adjusted("energy_by_batch/gpt_table", ylim=["Wh per IPU=0:99"])
    assert [scale["domain"] for scale in y_scales(one)].count([0, 99]) == 2, "the line and the points of one panel"
    with pytest.raises(UserError, match="no axis of numbers 'watts'; there are: .*Wh per IPU"):
        adjusted("energy_by_batch/gpt_table", ylim="watts=0:1")


def test_logarithmic_axes():
    spec = adjusted("energy_by_batch/gpt_table", log="Wh per IPU")
    assert [scale.get("type") for scale in y_scales(spec)].count("log") == 4
    assert "Wh per IPU, log." in json.dumps(spec)
    assert (
        adjusted("energy_by_batch/gpt_table", log="tokens/Wh, log.")["vconcat"]
        == (spec_of("energy_by_batch/gpt_table")["vconcat"])
    ), "it is logarithmic already"
    with pytest.raises(UserError, match="cannot show 0"):
        adjusted("batch_cdf/ranks", log="y")


def test_height_and_font_size(tmp_path):
    wanted = page_of({"height": "100mm", "font_size": 9})
    render.save(draw("scaling/repeats", page=wanted), tmp_path / "f.pdf", {}, wanted)
    with pikepdf.open(tmp_path / "f.pdf") as pdf:
        _, _, width, height = (float(end) / 72 * 25.4 for end in pdf.pages[0].MediaBox)
    assert (width, height) == (pytest.approx(86.4, abs=0.1), pytest.approx(100, abs=1))
    assert wanted.scale == pytest.approx(9 / 7) and page_of({"width": "slides"}).font_size == 10
    with pytest.raises(UserError, match="the panels do not fit"):
        adjusted("scaling/repeats", height="30mm")


def luminance(color: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", spread(charts.load(), str, "dark"))
def test_a_dark_figure_is_the_same_drawing_with_texts_that_can_be_read(name):
    light = spec_of(FIRST[name])
    dark = darkened(light, ())

    def without_colors(spec: dict) -> str:
        return re.sub(r'"(#[0-9a-fA-F]{6}|white|black)"', '"color"', json.dumps(spec))

    assert without_colors(light) == without_colors(dark)
    ground = dark["config"]["background"]
    assert adjusted("scaling/repeats", theme="dark")["config"]["background"] == ground
    fills = set(re.findall(r'<text[^>]*fill="(#[0-9a-f]{6})"', render.svg_of(dark)))
    assert fills and all(fill == ground or contrast(fill, ground) >= 4.5 for fill in fills)  # on a light cell, or here


def test_on_dark_ground_a_scale_keeps_its_order_and_a_chosen_color_stays():
    grays = [darkened({"fill": f"#{level:02x}{level:02x}{level:02x}"}, ())["fill"] for level in range(0, 256, 5)]
    assert grays == sorted(grays, reverse=True, key=luminance)
    assert all(contrast(a, b) > 1.02 for a, b in itertools.pairwise(grays[::3]))
    row = {"name": "#222222", "colour": "#222222"}
    spec = {"data": {"values": [row]}, "mark": {"fill": "#222222", "stroke": "#123456"}}
    dark = darkened(spec, ["#123456"])
    assert dark["data"]["values"] == [{"name": "#222222", "colour": dark["mark"]["fill"]}], "a name is no color"
    assert dark["mark"]["stroke"] == "#123456"


def test_without_a_caption():
    assert "Base of weak" not in json.dumps(adjusted("scaling/repeats", caption=False)["vconcat"])
    assert "Base of weak" in adjusted("scaling/repeats", caption=False)["description"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"with": "3"}, "'with' is not a setting of a figure; there are: width, "),
        ({"width": "3"}, "'3' is not a length"), ({"width": "wide"}, "name one of single, double, ieee-single"),
        ({"theme": "blue"}, "'blue' is not a theme; write light or dark"), ({"font_size": "big"}, "'big' is not a number"), ({"font_size": 1}, "from 3 to 60"),
        ({"labels": "a"}, "not of the form OLD=NEW"), ({"colors": "red"}, "'red' is not a color"),
        ({"ylim": "5:1"}, "is an empty range"), ({"ylim": "5"}, "LOW:HIGH"), ({"caption": "no"}, "neither true nor false"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(UserError, match=said):
        page_of(settings)


def test_settings_of_the_nearest_sidecar(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "scalelens.toml").write_text('[figure.scaling]\nwidth = "lncs"\n[figure.history]\ncaption = false\n')
    (tmp_path / "a" / "scalelens.toml").write_text('[figure.scaling]\nlabels = {"tp 1" = "one"}\n')
    assert figure_settings("scaling", inner) == {"labels": {"tp 1": "one"}}
    assert figure_settings("history", inner) == {"caption": False} and figure_settings("roofline", inner) == {}
    (tmp_path / "a" / "scalelens.toml").write_text("[figure.scaling\n")
    with pytest.raises(UserError, match="line 1: not TOML"):
        figure_settings("scaling", inner)


# Colors.

# G. Machado, M. Oliveira, L. Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency, IEEE
# TVCG 15(6), 2009, severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, deficiency: str = "") -> np.ndarray:
    """A color as it is seen, in CIELAB."""
    rgb = np.array([int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if deficiency:
        linear = np.clip(DEFICIENCIES[deficiency] @ linear, 0, 1)
    x, y, z = XYZ @ linear / np.array([0.9505, 1, 1.089])
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", ["", *DEFICIENCIES])
def test_series_differ_in_color_for_everybody(deficiency):
    seen = [lab(color, deficiency) for color in style.COLORS]
    nearest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert nearest > 10, "a difference of 2.3 is just noticed"


def test_series_differ_in_grey():
    """By their markers and dashes, as seven greys cannot be told apart."""
    looks = style.looks(str(n) for n in range(style.MOST_SERIES))
    assert len({(look.shape, tuple(look.dash)) for look in looks}) == style.MOST_SERIES


@pytest.mark.parametrize(
    "fills",
    [
        [*step_heatmap.COLORS],
        [color for _, color in temporal_breakdown.PARTS.values()],
    ],
)
def test_neighbouring_fills_differ_in_grey(fills):
    lightness = [lab(color)[0] for color in fills]
    assert min(abs(a - b) for a, b in itertools.pairwise(lightness)) > 4


def test_equal_lines_do_not_hide_each_other():
    looks = style.looks(["a", "b", "c"])
    assert looks[0].thickness > looks[1].thickness > looks[2].thickness


# Rows of one's own SQL.

ROWS = pl.DataFrame({
    "run_id": list("abcd"), "devices": [1, 2, 1, 2], "precision": ["bf16", "bf16", "fp32", "fp32"],
    "step_s": [1.0, 0.6, 2.0, 1.1], "step_s_low": [0.9, 0.5, 1.9, 1.0], "step_s_high": [1.1, 0.7, 2.1, 1.2],
})  # fmt: skip


@pytest.mark.parametrize("mark", own.MARKS)
def test_marks_of_own_rows(mark):
    drawn = own.draw(ROWS, own.Marks(mark, "devices", "step_s", "precision"), layout.SINGLE)
    spec = render.specification(drawn, {})
    assert mark in {one["mark"]["type"] for one in marks(spec)}
    text = text_of(drawn)
    assert "bf16" in text and "step [s]" in text and "range, repeated runs" in text and "4 rows of an SQL" in text


@pytest.mark.parametrize("kind", [pl.Decimal(20, 2), pl.Int128, pl.Float32])
def test_own_rows_may_have_any_type_of_number(kind):
    rows = pl.DataFrame(
        {"devices": [1, 2], "step_s": pl.Series([10**20, 3 * 10**17] if kind == pl.Int128 else [2, 3], dtype=kind)}
    )
    assert "2 rows of an SQL" in text_of(own.draw(rows, own.Marks("point", "devices", "step_s"), layout.SINGLE))


def test_an_interval_of_own_sql_is_drawn_as_what_its_rows_say_it_is() -> None:
    rows = pl.DataFrame(
        {"devices": [8, 16], "efficiency": [1.0, 0.9], "efficiency_low": [None, 0.8], "efficiency_high": [None, 0.95],
         "interval_kind": ["ci95", "ci95"], "efficiency_kind": [None, "range"], "interval_of": ["steps", "runs"],
         "n_steps": [90, 90]}
    )  # fmt: skip
    marks_of = own.Marks("point", "devices", "efficiency")
    assert "range, repeated runs" in text_of(own.draw(rows, marks_of, layout.SINGLE))
    of_steps = rows.with_columns(efficiency_kind=pl.lit("ci95"), interval_of=pl.lit("steps"))
    assert "95 % interval, steps of one run" in text_of(own.draw(of_steps, marks_of, layout.SINGLE))


def test_panels_of_own_rows():
    drawn = own.draw(ROWS, own.Marks("line", "devices", "step_s"), page_of({"facet": "precision"}))
    assert "precision bf16" in text_of(drawn)
    domains = {json.dumps(scale["domain"]) for scale in y_scales(render.specification(drawn, {}))}
    assert len(domains) == 1, "panels are compared"


def test_a_wide_page_has_up_to_three_panels_of_own_rows_side_by_side():
    drawn = own.draw(ROWS, own.Marks("point", "devices", "step_s", facet="run_id"), page_of({"width": "double"}))
    rows = render.specification(drawn, {})["vconcat"]
    assert [len(row["hconcat"]) for row in rows if "hconcat" in row] == [3, 1]


@pytest.mark.parametrize(
    ("marks_of", "said"),
    [
        (own.Marks("pie", "devices", "step_s"), "'pie' is not a mark; there are: line, bar, point"),
        (own.Marks("line", "nodes", "step_s"), "no column 'nodes'; they have: run_id, devices"),
        (own.Marks("line", "devices", "precision"), "'precision' is not a number"),
        (own.Marks("bar", "devices", "step_s"), "2 rows are at devices 1: a bar can show one"),
    ],
)
def test_own_rows_that_cannot_be_drawn(marks_of, said):
    with pytest.raises(UserError, match=said):
        own.draw(ROWS, marks_of, layout.SINGLE)
    with pytest.raises(UserError, match="no row has values in both"):
        own.draw(ROWS.clear(), own.Marks("line", "devices", "step_s"), layout.SINGLE)


def test_columns_as_titles():
    names = {"step_s": "step [s]", "samples_per_s": "samples/s", "power_w": "power [W]", "efficiency": "efficiency"}
    assert {name: words.with_unit(name) for name in names} == names


# On the command line.


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A warehouse of one log, in its own folder."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "steps.csv").write_text(
        "step,step_time_s,loss\n" + "".join(f"{n},{1 + n % 3 / 10},2\n" for n in range(60))
    )
    ingest([folder / "steps.csv"], folder / "w")
    return folder


def run(*arguments: str) -> str:
    """What a command prints.  An error of ours is printed as main() does."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return f"{result.exception}" if isinstance(result.exception, UserError) else result.output


def test_own_sql_is_drawn_with_its_data_and_caption(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scalelens.toml").write_text('[figure.sql]\nwidth = "acm-single"\ntitle = "By hand"\n')
    statement = "SELECT run_id, step, step_s FROM step_times"
    options = ["--x", "step", "--y", "step_s", "--mark", "point", "-w", home / "w"]
    run("plot", "--sql", statement, *options, "-o", "f.svg", "--data", "f.csv", "--caption-file", "f.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv", "f.svg", "f.txt", "scalelens.toml"]
    assert len(Path("f.csv").read_text().splitlines()) == 61
    assert Path("f.txt").read_text() == "60 rows of an SQL statement.\n"
    said = provenance_of(Path("f.svg"))
    assert said["sql"] == statement and len(said["inputs"]) == 1
    assert said["settings"] == {"width": "acm-single", "title": "By hand"}
    first = Path("f.svg").read_bytes()
    run("plot", "--sql", statement, *options, "-o", "f.svg")
    assert Path("f.svg").read_bytes() == first


def test_a_figure_reads_nothing_but_the_warehouse(home, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    options = ["--x", "a", "--y", "b", "-w", home / "w", "-o", tmp_path / "f.svg"]
    assert "reads the warehouse alone" in run("plot", "--sql", f"FROM '{secret}'", *options)
    assert not Path(options[-1]).exists()
    assert "may write" in run("plot", "--sql", f"COPY (SELECT 1) TO '{tmp_path}/x.csv'", *options)
    assert not (tmp_path / "x.csv").exists()


def test_what_plot_needs(tmp_path):
    assert "name a chart or give --sql, not both" in run("plot", "scaling", "--sql", "FROM runs", "-o", "f.svg")
    assert "no file to draw to" in run("plot", "scaling")
    assert "--x devices --y step_s" in run("plot", "--sql", "FROM runs", "-o", tmp_path / "f.svg")


def test_without_a_name_the_logs_choose_the_chart(tmp_path):
    rows = "".join(f"{k},{0.1 + k % 7 / 100}\n" for k in range(9))
    (tmp_path / "a.csv").write_text(f"step,step_time_s\n{rows}")
    ingest([tmp_path / "a.csv"], tmp_path / "w")
    said = run("plot", "-w", tmp_path / "w", "-o", tmp_path / "f.svg")
    assert "the chart is batch_cdf; list the others with: scalelens charts" in said
    assert provenance_of(tmp_path / "f.svg")["chart"] == "batch_cdf"
    (tmp_path / "notes.log").write_text("nothing that a format knows\n")
    ingest([tmp_path / "notes.log"], tmp_path / "nothing")
    said = run("plot", "-w", tmp_path / "nothing", "-o", tmp_path / "g.svg")
    assert "there is nothing to draw: there are no runs in" in said
    assert "its one file is not of a run (no known format in it)" in said


def test_a_log_of_launches_that_nothing_tells_apart_says_so_instead_of_joining_them(tmp_path):
    epochs = "Epoch: 1 | Training Loss:  {:.3f} | Training Accuracy:  {:.3f}\nEpoch: 2 | Training Loss:  {:.3f} | Training Accuracy:  {:.3f}\n"
    text = "".join(epochs.format(2 + k / 50, 20 + k, 1.4 + k / 40, 30 + k) + "Finished training.\n" for k in range(12))
    (tmp_path / "sweep.out").write_text(text)
    ingest([tmp_path / "sweep.out"], tmp_path / "w")
    said = run("plot", "-w", tmp_path / "w", "-o", tmp_path / "f.svg")
    assert "nothing tells whether several launches or several ranks wrote the records of one run" in said
    assert 'see where: scalelens sql "FROM problems"' in said
    said = run("plot", "accuracy", "score_name=loss", "-w", tmp_path / "w", "-o", tmp_path / "f.svg")
    assert "no score called loss can be drawn: " in said
    assert "nothing tells apart the launches or ranks that logged it" in said


def test_where_no_chart_can_be_drawn_the_refusal_says_what_there_is_and_what_a_figure_needs(tmp_path):
    (tmp_path / "a.csv").write_text("step,loss\n1,2.5\n")
    ingest([tmp_path / "a.csv"], tmp_path / "w")
    said = run("plot", "-w", tmp_path / "w", "-o", tmp_path / "f.svg")
    assert (
        f"there is nothing to draw: {tmp_path / 'w'} has one run, with 1 record of a step or an epoch; a figure" in said
    )
    assert "see what was read: scalelens query runs_overview" in said
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{number}{'0' * 63}\nsize 1{number}000\n"
        )
    ingest([tmp_path / f"{number}.csv" for number in range(3)], tmp_path / "pointers")
    said = run("plot", "-w", tmp_path / "pointers", "-o", tmp_path / "f.svg")
    assert "none of its 3 files is of a run (3 of them: a pointer of git-LFS, not the file itself)" in said


def test_more_runs_than_a_chart_can_show_are_refused_before_they_are_asked_for(tmp_path, monkeypatch):
    for n in range(4):
        (tmp_path / f"{n}.csv").write_text(
            "step,step_time_s\n" + "".join(f"{k},{0.1 + n + k % 7 / 100}\n" for k in range(9))
        )
    ingest([tmp_path], tmp_path / "w")
    chart, options = charts.find("step_times"), ["-w", tmp_path / "w", "-o", tmp_path / "f.svg"]
    monkeypatch.setattr(chart, "MOST_RUNS", 3)
    assert "4 runs with times of steps are more than one chart can show (3)" in run("plot", "step_times", *options)
    monkeypatch.setattr(chart, "MOST_RUNS", 4)
    assert "of one run, not of 4" in run("plot", "step_times", *options)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [((10, 100, 1000), [10, 20, 50, 100, 200, 500, 1000]), ((0.01, 1e4), [0.01, 0.1, 1, 10, 100, 1000, 10000])],
)
def test_ticks_of_an_axis_made_logarithmic(values, ticks):
    rows = pl.DataFrame({"x": values, "y": values})
    wanted = page_of({"log": "x"})
    figure = own.draw(rows, own.Marks("line", "x", "y"), wanted)
    spec = adjust.adjusted(render.specification(figure, {}), wanted, render.height_of)
    found = re.findall(
        r'"values": (\[[^\]]*\]), "tickCount"|"tickCount": \d+, "values": (\[[^\]]*\])', json.dumps(spec)
    )
    assert ticks in [json.loads(a or b) for a, b in found]


def test_parts_of_an_axis_are_drawn_the_same_again():
    spec = adjusted("throughput/nodes", xlim="8:32")
    first, second = render.svg_of(spec), render.svg_of(spec)
    names = {*re.findall(r'id="(clip[^"]+)"', first)}
    assert names and all(f"url(#{name})" in first for name in names) and first == second
    other = render.svg_of(adjusted("throughput/nodes", xlim="8:16"))
    assert not any(name in other for name in names), "both may stand on one page"
