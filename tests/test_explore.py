"""The page to look around in: its rows, each of its controls in a browser, and the command that draws a picture again."""

import csv
import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chromium import NEEDS_CHROMIUM, Page, chromium
from command_line import Run, app, one_line
from conftest import FIXTURES
from logs import megatron_line
from scalelens.ingestion.ingest import ingest
from scalelens.question.session import Session
from scalelens.report.explore import rows
from scalelens.report.explore.page import write_explore
from scalelens.report.neighbors import link_to
from test_report_page import STUDY

HOSTILE = "x'`$(id)<img src=x onerror=alert(1)>"
SMALL_RUNS = 13
RUNS = SMALL_RUNS + 3  # with steps, beside the trace
COMMENT = '</script><!--<script>"'
WAIT = "new Promise((done) => { const look = setInterval(() => { if (document.documentElement.dataset.drawn) \
{ clearInterval(look); done(); } }, 20); })"
SETTLE = "new Promise((done) => setTimeout(done, 60))"
SAVED = """(async () => {{ let blob; URL.createObjectURL = (given) => {{ blob = given; return "#saved"; }};
HTMLAnchorElement.prototype.click = () => 0; document.getElementById("{}").click();
await new Promise((done) => setTimeout(done, 100)); return blob.text(); }})()"""
TEXT = "document.getElementById('{}').textContent"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on 8 and 16 devices, one whose name is an attack, and a trace of GPUs."""
    folder = tmp_path_factory.mktemp("explore")
    for name, devices, step_ms in (("lumi", 8, 1000.5), ("lumi", 16, 520.25), (HOSTILE, 8, 990.0)):
        log = folder / "logs" / f"n{devices}" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        slow = [7 if step == 60 else 1 + step % 7 / 100 for step in range(1, 90)]
        log.write_text(
            STUDY.format(devices=devices) + "".join(megatron_line(k, step_ms * f) for k, f in enumerate(slow))
        )
    for run in range(SMALL_RUNS):
        log = folder / "logs" / "n4" / f"small{run}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text(STUDY.format(devices=4) + "".join(megatron_line(step, 2000.0 + run) for step in range(1, 6)))
    ingest([folder / "logs", FIXTURES / "kineto" / "merged_ranks.json"], folder / "w", jobs=1)
    return folder / "w"


@pytest.fixture(scope="module")
def path(warehouse: Path) -> Path:
    file = warehouse.parent / "explore.html"
    ran = CliRunner().invoke(app, ["explore", "-w", str(warehouse), "-o", str(file), "--title", f"Study {COMMENT}"])
    assert (ran.exit_code, ran.stdout) == (0, ""), ran.exception
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def opened(browser: Page, path: Path, kind: str = "runs", width: int = 1280) -> Page:
    browser.open(path, width)
    browser.run(WAIT)
    press(browser, f'#kinds [data-name="{kind}"]')
    return browser


def press(page: Page, selector: str) -> None:
    page.run(f"document.querySelector({json.dumps(selector)}).click()")
    page.run(SETTLE)


def choose(page: Page, **chosen: str) -> None:
    for name, value in chosen.items():
        page.run(f"""{{ const one = document.getElementById("{name}"); one.value = {json.dumps(value)};
        one.dispatchEvent(new Event("change")); one.dispatchEvent(new Event("input")); }}""")
    page.run(SETTLE)


def type_in(page: Page, label: str, text: str) -> None:
    page.run(f"""{{ const one = document.querySelector('[aria-label={json.dumps(label)}]'); one.value = "{text}";
    one.dispatchEvent(new Event("input")); one.dispatchEvent(new Event("change")); }}""")
    page.run(SETTLE)


def saved_rows(page: Page) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(page.run(SAVED.format("csv")))))


def listed(page: Page, title: str) -> list[str]:
    """A column of the table below the picture."""
    heads = page.run("[...document.querySelectorAll('#rows th')].map((head) => head.textContent)")
    cells = "[...document.querySelectorAll('#rows tbody tr')].map((row) => row.cells[{}].textContent)"
    return page.run(cells.format(heads.index(title)))


def marks(page: Page) -> int:
    return page.run("document.querySelectorAll('#chart [role=graphics-symbol][aria-roledescription=point]').length")


def drawn_by_its_command(page: Page, folder: Path) -> list[tuple[Any, Any]]:
    """x and y of the figure that the command below the picture draws."""
    words = shlex.split(page.run(TEXT.format("command")))
    assert words[:2] == ["scalelens", "plot"]
    words[words.index("-o") + 1] = str(folder / "again.json")
    x, y = (words[words.index(name) + 1] for name in ("--x", "--y"))
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, (words, result.output, result.exception)
    return sorted(points(json.loads((folder / "again.json").read_text()), x, y), key=str)


def points(spec: Any, x: str, y: str) -> list[tuple[Any, Any]]:
    """The rows of the layer of marks, wherever it stands in a specification."""
    if isinstance(spec, list):
        return next(filter(None, (points(part, x, y) for part in spec)), [])
    if not isinstance(spec, dict):
        return []
    values = (spec.get("data") or {}).get("values") if isinstance(spec.get("data"), dict) else None
    if values and {x, y} <= values[0].keys():
        return [(row[x], row[y]) for row in values]
    return next(filter(None, (points(part, x, y) for part in spec.values())), [])


def legend_of(folder: Path) -> str:
    return (folder / "again.json").read_text()


def as_saved(page: Page, x: str, y: str) -> list[tuple[Any, Any]]:
    """x and y of the rows that the page shows, as numbers where they are."""
    known = [(row[x], row[y]) for row in saved_rows(page) if row[x] and row[y]]
    return sorted([(_plain(a), _plain(b)) for a, b in known], key=str)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# Rows


def test_the_page_is_one_small_file(warehouse: Path, path: Path, run: Run) -> None:
    text = path.read_text()
    assert len(text.encode()) < 5_000_000 and COMMENT not in text
    assert f'"command":["scalelens plot"," -w {warehouse}"]' in text
    one_line(run("explore", "-w", warehouse.parent / "none"), "there is no warehouse at")


def test_rows_that_are_too_many_are_thinned_and_said(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_ROWS", 2)
    with Session(warehouse) as session:
        kinds = {kind["name"]: kind for kind in rows.rows_of_kinds(session)}
        assert kinds.keys() == {"runs", "sizes", "slow_steps", "kernels"}
        runs = kinds["runs"]
        assert runs["rows"] == 2 and runs["thinned"].startswith(f"2 of {RUNS + 1} rows are in this page: ")
        again = session.connection.execute(f"SELECT run_id FROM {runs['source']}").fetchall()
        monkeypatch.setattr(rows, "MOST_ROWS", 100)
        monkeypatch.setattr(rows, "MOST_BYTES", 9000)
        kinds = {kind["name"]: kind for kind in rows.rows_of_kinds(session)}
        assert kinds["runs"]["rows"] < RUNS and kinds["slow_steps"]["thinned"] == "", "the largest is halved"
        assert sum(len(rows.as_json(kind["columns"])) for kind in kinds.values()) < 3 * 9000
    ids = next(column for column in runs["columns"] if column["name"] == "run_id")["texts"]
    assert sorted(ids) == sorted(row[0] for row in again), "the source of the command has the rows of the page"


def test_pages_link_to_each_other_where_they_lie_beside(path: Path, tmp_path: Path) -> None:
    assert 'href="explore.html"' in link_to("explore", path.with_name("report.html"))
    assert link_to("explore", tmp_path / "report.html") == ""
    (tmp_path / "explore.html").write_text("<p>of another program</p>")
    assert link_to("explore", tmp_path / "report.html") == ""


# In a browser


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [400, 1600])
def test_the_page_is_quiet_inert_and_fits_its_window(browser: Page, path: Path, width: int) -> None:
    opened(browser, path, width=width)
    for kind in browser.run("[...document.getElementById('kinds').children].map((one) => one.dataset.name)"):
        press(browser, f'#kinds [data-name="{kind}"]')
        press(browser, "#wide")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), kind
        assert browser.run("document.querySelector('#chart svg, #chart canvas').clientWidth > 200"), kind
    press(browser, "#theme")
    assert browser.run("document.images.length") == 0
    assert browser.run("document.title") == f"Study {COMMENT} · ScaleLens explore"
    opened(browser, path, width=width)
    assert any(HOSTILE in run for run in listed(browser, "run")), "its name is text"
    assert (browser.said, browser.requests) == ([], [])


@NEEDS_CHROMIUM
def test_choosers_draw_their_columns_with_units(browser: Page, path: Path) -> None:
    page = opened(browser, path)
    assert page.run(TEXT.format("heading")) == "step [s] by devices"
    assert "Through a point: 95 % interval, or range" in page.run(TEXT.format("counted"))
    first = page.run("[...document.getElementById('x').options].map((one) => one.textContent)")
    assert first.index("run") > first.index("step [s]"), "numbers first"
    choose(page, x="run", y="n_records", color="devices")
    assert page.run(TEXT.format("heading")) == "n records by run" and marks(page) == RUNS + 1
    axis = page.run(TEXT.format("chart"))
    assert "devices" in axis and "8" in axis and "16" in axis, "a legend"
    choose(page, mark="bar")
    assert page.run("document.querySelectorAll('#chart .mark-rect path').length") >= RUNS
    choose(page, x="devices", y="step_s", color="", mark="line")
    assert "Several rows stand at one devices" in page.run(TEXT.format("counted")) and marks(page) == RUNS
    press(page, "#log-y")
    assert "step [s], log." in page.run(TEXT.format("chart")) and "--log y" in page.run(TEXT.format("command"))
    choose(page, y="n_problems")
    assert "cannot show 0 or less" in page.run(TEXT.format("counted"))
    assert (page.said, page.requests) == ([], [])


@NEEDS_CHROMIUM
def test_filters_take_rows_out_of_picture_and_table(browser: Page, path: Path) -> None:
    page = opened(browser, path)
    button = "[...document.querySelectorAll('.value')].find((one) => one.textContent === '16' + '1')"
    page.run(f"{button}.click()")
    page.run(SETTLE)
    assert listed(page, "devices") == ["16"] and marks(page) == 1
    assert page.run(f"{button}.ariaPressed") == "true"
    press(page, "#chips button")
    assert len(listed(page, "devices")) == RUNS + 1 and page.run("document.activeElement.id") == "figure"
    type_in(page, "step [s] to", "0.9")
    assert listed(page, "devices") == ["16"]
    assert "step [s] at most 0.9" in page.run(TEXT.format("chips"))
    type_in(page, "step [s] to", "")
    type_in(page, "file contains", "ONERROR".lower())
    assert len(listed(page, "run")) == 1 and HOSTILE in listed(page, "run")[0]
    type_in(page, "file contains", "")
    press(page, "#rows td[data-name=devices]")
    assert len(set(listed(page, "devices"))) == 1, "a value of the table"
    assert "filter" in page.run("document.querySelector('#chips button').ariaLabel")


@NEEDS_CHROMIUM
def test_a_click_on_the_legend_keeps_a_value(browser: Page, path: Path) -> None:
    page = opened(browser, path)
    choose(page, color="devices")
    box = page.run("""(() => { const one = [...document.querySelectorAll('#chart .role-legend-label text')]
    .find((text) => text.textContent === "16").getBoundingClientRect(); return [one.x + 3, one.y + 5]; })()""")
    for kind in ("mousePressed", "mouseReleased"):
        page._call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
    page.run(SETTLE)
    assert listed(page, "devices") == ["16"]


@NEEDS_CHROMIUM
def test_the_table_sorts_and_grows(browser: Page, path: Path) -> None:
    page = opened(browser, path)
    for order in (False, True):
        press(page, "#sort-step_s")
        *times, unknown = listed(page, "step [s]")
        assert not unknown, "unknown values stand last in both orders"
        assert [*map(float, times)] == sorted(map(float, times), reverse=order) and len(times) == RUNS
    assert page.run("document.activeElement.id") == "sort-step_s", "the focus stays"
    columns = page.run("document.querySelectorAll('#rows th').length")
    press(page, "#wide")
    assert page.run("document.querySelectorAll('#rows th').length") > columns
    assert page.run("document.getElementById('more').hidden")


@NEEDS_CHROMIUM
def test_a_point_says_what_it_is_by_pointer_and_by_keys(browser: Page, path: Path) -> None:
    page = opened(browser, path)
    press(page, "#sort-devices")
    page.run("document.getElementById('figure').focus()")
    for _ in range(RUNS + 1):
        page._call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    last = page.run(TEXT.format("tip"))
    assert "devices: 16" in last and "step [s]: 0.5" in last and "n16/lumi.log:" in last and "precision" not in last
    assert not page.run("document.getElementById('ring').hidden")
    spot = page.run("""(() => { const one = document.getElementById("ring").getBoundingClientRect();
    return [one.x + one.width / 2, one.y + one.height / 2]; })()""")
    page._call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert page.run("document.getElementById('tip').hidden")
    page._call("Input.dispatchMouseEvent", type="mouseMoved", x=spot[0], y=spot[1])
    page.run(SETTLE)
    assert page.run(TEXT.format("tip")) == last, "the ring lies on the point"
    assert (page.said, page.requests) == ([], [])


@NEEDS_CHROMIUM
def test_every_control_is_reached_by_the_keyboard(browser: Page, path: Path) -> None:
    page = opened(browser, path, width=400)
    press(page, "#filters > summary")
    reached: list[str] = []
    for _ in range(60):
        page._call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.append(page.run("document.activeElement.id || document.activeElement.textContent.slice(0, 9)"))
    ids = ["x", "y", "color", "mark", "log-x", "log-y", "intervals", "figure", "svg", "csv", "copy", "command", "wide"]
    assert [name for name in reached if name in ids][: len(ids)] == [*ids[:-1], "wide"], reached
    unnamed = """[...document.querySelectorAll("button, input, select")].filter((one) =>
    !one.textContent.trim() && !one.ariaLabel && !one.labels?.length).length"""
    assert page.run(unnamed) == 0


@NEEDS_CHROMIUM
def test_the_picture_leaves_as_svg_with_its_command(browser: Page, path: Path) -> None:
    svg = opened(browser, path).run(SAVED.format("svg"))
    assert svg.startswith("<svg ") and "<desc>ScaleLens " in svg and "scalelens plot --sql" in svg
    assert (
        browser.run(f"new DOMParser().parseFromString({json.dumps(svg)}, 'image/svg+xml').querySelector('parsererror')")
        is None
    )
    press(browser, "#copy")
    assert browser.run(TEXT.format("copied")) in ("Copied.", "It is selected: copy it with your keyboard.")


@NEEDS_CHROMIUM
def test_the_command_draws_the_values_of_the_picture(browser: Page, path: Path, tmp_path: Path) -> None:
    page = opened(browser, path)
    shown = as_saved(page, "devices", "step_s")
    assert len(shown) == RUNS and drawn_by_its_command(page, tmp_path) == shown
    assert "range, steps of one run" in legend_of(tmp_path), "its intervals are not those of repeats"
    for kind in ("runs", "sizes"):
        press(page, f'#kinds [data-name="{kind}"]')
        choose(page, y="step_s")
        page.run("{ const one = document.getElementById('intervals'); if (one.checked) one.click(); }")
        page.run(SETTLE)
        shown = as_saved(page, "devices", "step_s")
        assert drawn_by_its_command(page, tmp_path) == shown and "range, steps" not in legend_of(tmp_path), kind
    # A text with quotes of the shell and of SQL, a range, and columns of several joins.
    opened(browser, path)
    choose(page, x="mean_s", y="line", color="run")
    type_in(page, "file contains", HOSTILE[:8].lower())
    type_in(page, "step [s] from", "0.1")
    shown = as_saved(page, "mean_s", "line")
    assert len(shown) == 1 and drawn_by_its_command(page, tmp_path) == shown
    press(opened(browser, path, "slow_steps"), "#rows td[data-name=step_s]")
    shown = as_saved(page, "step", "cost_s")
    assert len(shown) == 1 and drawn_by_its_command(page, tmp_path) == shown


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_5000_runs_are_drawn_in_a_second_of_processor_time(browser: Page, tmp_path: Path) -> None:
    for run in range(5000):
        folder = tmp_path / "logs" / ("lumi", "leonardo")[run % 2] / f"r{run}"
        folder.mkdir(parents=True)
        devices = 8 * 2 ** (run // 2 % 5)
        records = [megatron_line(step, (8000 + run) / devices) for step in range(1, 13)]
        (folder / "train.log").write_text(STUDY.format(devices=devices) + "".join(records))
    ingest([tmp_path / "logs"], tmp_path / "w")
    file = write_explore(tmp_path / "w", tmp_path / "explore.html")
    assert file.stat().st_size < 5_000_000
    opened(browser, file)
    # Processor time of the page's main thread: others use the machine as well.
    browser._call("Performance.enable", timeDomain="threadTicks")
    opened(browser, file)
    taken = {metric["name"]: metric["value"] for metric in browser._call("Performance.getMetrics")["metrics"]}
    assert 0 < taken["TaskDuration"] < 1
