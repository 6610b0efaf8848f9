"""The page of a report as a reader sees it: in a browser and on paper."""

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

import scalelens
from chromium import NEEDS_CHROMIUM, Page, chromium
from command_line import app
from logs import megatron_line
from scalelens.report.articles import Article
from scalelens.report.asking import ReportTable
from scalelens.report.content import Content, content_of
from scalelens.report.html import page
from scalelens.report.key_numbers import key_numbers
from scalelens.report.text.sentences import FindingSentence, KeyNumber

STUDY = """using world size: {devices}, data-parallel size: {devices}, tensor-model-parallel size: 1, \
pipeline-model-parallel size: 1
------------------------ arguments ------------------------
  hidden_size ..................................... 512
  num_attention_heads ............................. 8
  num_layers ...................................... 4
  padded_vocab_size ............................... 32000
-------------------- end of arguments ---------------------
"""
DEMO = Path(scalelens.__file__).parent / "demo" / "logs"
HOSTILE = "x\"><img src=x onerror=document.title='hacked'>"
WIDTHS = (400, 1280, 1600)
SHOWN_ROWS = "[...document.querySelectorAll('tbody tr')].filter((row) => !row.matches('.away'))"
FILTER = """{{ const filter = document.getElementById("filter"); filter.value = "{}";
filter.dispatchEvent(new Event("input")); {}.map((row) => row.textContent) }}"""
SORT = """(() => {{ const table = document.querySelector("#runs table");
const button = [...table.querySelectorAll("th button")].find((one) => one.textContent.startsWith("{}"));
button.click();
const place = button.parentElement.cellIndex;
return [button.parentElement.ariaSort, [...table.tBodies[0].rows].map((row) => row.cells[place].textContent)]; }})()"""


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    warehouse = tmp_path_factory.mktemp("report") / "w"
    scalelens.ingest(DEMO, warehouse=warehouse)
    return content_of(warehouse)


@pytest.fixture(scope="module")
def path(content: Content, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page(content, HOSTILE, ["scalelens report"]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def an_article(name: str, *sentences: FindingSentence, is_minor: bool = False) -> Article:
    rows = ReportTable([], 0, "FROM runs")
    return Article(name, f"What of {name}?", [*sentences], "Nothing.", None, rows, "0" * 64, 1, is_minor)


def test_what_changes_a_conclusion_is_on_the_first_screen_and_first_among_the_findings(content: Content) -> None:
    light, heavy = FindingSentence("a is slow.", "Of 9.", 0.06), FindingSentence("b is slower.", "Of 8.", 0.3)
    articles = [
        an_article("heavy", light, heavy), an_article("answer", FindingSentence("c takes 1 s.")),
        an_article("ended", FindingSentence("d ended."), is_minor=True), an_article("empty"),
    ]  # fmt: skip
    text = page(content._replace(articles=articles, headline=""), "", [])
    first, _, rest = text.partition('<section id="findings">')
    findings, _, last = rest.partition('<section id="runs">')
    assert "b is slower." in first and "a is slow." not in first, "the heaviest sentence of a finding"
    assert findings.index("a is slow.") < findings.index("c takes 1 s.")
    assert "d ended." not in findings and "Nothing." not in findings
    assert last.index("d ended.") < last.index("Nothing."), "what says nothing stands last"


def test_the_first_screen_says_where_nothing_changes_a_conclusion(content: Content) -> None:
    assert not any(article.changes_conclusions for article in content.articles)
    assert "Nothing was found that changes a result by 3 % or more." in page(content, "", [])


def test_a_page_of_files_that_nobody_understood_says_so_and_shows_them(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "notes.log").write_text("nothing that a format knows\n" * 3)
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    text = page(content_of(tmp_path / "w"), "", [])
    assert ">It was not understood</a>" in text
    assert "Every line of a known format was understood" not in text
    files = text.partition('<section id="files"')[2]
    assert files and "<details" not in files.partition("</section>")[0]


def test_a_table_of_reasons_alone_is_only_a_sentence_among_what_was_checked(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    rows = "".join(f"p{k},{k + 1.5},{k + 10}\n" for k in range(6))
    (tmp_path / "logs" / "programs.csv").write_text(f"program,energy_joules,time_seconds\n{rows}")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    made = content_of(tmp_path / "w")
    assert "mfu" not in [query.name for query, _ in made.answers]
    assert "No MFU can be given" in next(one for one in made.articles if one.name == "mfu").nothing


def test_of_two_numbers_for_one_thing_the_first_screen_has_one() -> None:
    runs = pl.DataFrame({"run_id": ["a"], "outcome": ["completed"], "devices": [8], "n_records": [9]})
    first, second, none = (
        SimpleNamespace(NUMBER_PLACE=place, number=lambda rows, names, value=value: value and KeyNumber(value, "min"))
        for place, value in ((20, "1.76"), (20, "1.6"), (10, None))
    )
    modules = [("mlperf", first), ("time_to_train", second), ("scaling", none)]
    numbers = key_numbers(runs, {"a": "a"}, modules, dict.fromkeys(("mlperf", "time_to_train", "scaling"), runs))
    assert [number.value for number in numbers] == ["1", "1.76", "8", "9"]


def test_what_a_finding_counts_is_not_counted_again() -> None:
    overview = pl.DataFrame(
        {"run_id": ["a"], "outcome": "unknown", "devices": [None], "nodes": [None], "n_records": [0]}
    )
    counted = KeyNumber("37", "measured energies", "in 2 runs")
    module = SimpleNamespace(NUMBER_PLACE=31, number=lambda rows, names: counted)
    read = {
        "energies": 37,
        "samples": 0,
        "values": 0,
        "metrics": 0,
        "steps": 0,
        "files": 2,
        "bytes": 1000,
        "problems": 0,
    }
    numbers = key_numbers(overview, {}, [("measured_energy", module)], {"measured_energy": overview}, read)
    assert [number.label for number in numbers] == ["run", "measured energies", "files", "lines not understood"]


def test_without_a_title_the_page_is_named_by_the_logs(content: Content) -> None:
    (heading,) = re.findall("<h1>(.*?)</h1>", page(content, "", [], "study"))
    assert unescape(heading) == content.subject.title
    unknown = content._replace(subject=content.subject._replace(title=""))
    assert re.findall("<h1>(.*?)</h1>", page(unknown, "", [], "a<b")) == ["a&lt;b"]


def test_drawings_of_a_page_share_no_ids(content: Content) -> None:
    ids = re.findall(r' id="([^"]+)"', page(content, "", []))
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', page(content, "", []))) <= set(ids)


@NEEDS_CHROMIUM
def test_the_browser_hears_what_a_page_says_and_sees_what_it_asks_for(browser: Page, tmp_path: Path) -> None:
    loud = tmp_path / "loud.html"
    loud.write_text("<script>console.warn('loud'); fetch('beside.json').catch(() => 0)</script>", encoding="utf-8")
    browser.open(loud, 400)
    assert any("loud" in str(one) for one in browser.said)
    assert [url.rpartition("/")[2] for url in browser.requests] == ["beside.json"]


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_quiet_and_fits_its_window(browser: Page, path: Path, width: int) -> None:
    browser.open(path, width)
    assert browser.run("document.querySelector('.tools').hidden") is False, "the script ran"
    assert browser.run("document.title").startswith(HOSTILE)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    small = browser.run("getComputedStyle(document.querySelector('.narrow')).display") != "none"
    assert small == (width == 400), "a narrow screen has a figure of its own"
    browser.run("document.getElementById('open').click()")
    browser.run("document.getElementById('theme').click()")
    assert browser.run("[...document.querySelectorAll('details')].every((part) => part.open)")
    assert (browser.said, browser.requests) == ([], [])


@NEEDS_CHROMIUM
def test_figures_are_dark_where_the_page_is_and_light_on_paper(browser: Page, path: Path) -> None:
    turned = "getComputedStyle(document.querySelector('figure')).filter"
    browser.open(path, 1280)
    assert browser.run(turned) == "none"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(turned).startswith("invert")
    browser.on_paper(800)
    assert browser.run(turned) == "none"


@NEEDS_CHROMIUM
def test_tables_sort_and_filter(browser: Page, path: Path) -> None:
    browser.open(path, 1280)
    rows = browser.run(FILTER.format("GPT-r1", SHOWN_ROWS))
    assert rows and all("gpt-r1" in row for row in rows)
    browser.run(FILTER.format("", SHOWN_ROWS))
    for order, button in (("ascending", "step"), ("descending", "step")):
        said, texts = browser.run(SORT.format(button))
        times = [float(text) for text in texts if text]
        assert said == order and len(times) > 2
        assert times == sorted(times, reverse=order == "descending")
        assert not any(texts[len(times) :]), "unknown values stand last in both orders"
    assert (browser.said, browser.requests) == ([], [])


@NEEDS_CHROMIUM
def test_the_summary_is_on_the_first_two_sheets_of_paper(browser: Page, path: Path) -> None:
    import pikepdf

    browser.open(path, 1280)
    (path.parent / "page.pdf").write_bytes(browser.pdf())
    with pikepdf.open(path.parent / "page.pdf") as pdf:
        assert [round(float(side)) for side in [*pdf.pages[0].mediabox][2:]] == pytest.approx([595, 842], abs=1), "A4"
        assert 2 <= len(pdf.pages) <= 6, "closed tables are not on paper"
    # On paper a millimeter is 96 / 25.4 pixels; the sheet has margins of 14 mm.
    browser.on_paper(round((210 - 28) * 96 / 25.4))
    bottom = browser.run("document.getElementById('summary').getBoundingClientRect().bottom + scrollY")
    assert bottom < 2 * (297 - 28) * 96 / 25.4


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_report_of_200_runs_is_small_and_its_filter_works(browser: Page, tmp_path: Path) -> None:
    for run in range(200):
        system, devices = ("lumi", "leonardo")[run % 2], 8 * 2 ** (run // 2 % 5)
        folder = tmp_path / "logs" / system / f"n{devices // 8}-r{run // 10}"
        folder.mkdir(parents=True)
        records = [megatron_line(step, (8000 + run) / devices) for step in range(1, 13)]
        (folder / "train.log").write_text(STUDY.format(devices=devices) + "".join(records))
    (tmp_path / "logs" / "scalelens.toml").write_text('templates = ["{system}/*/*"]\n')
    file = tmp_path / "report.html"
    arguments = ["report", str(tmp_path / "logs"), "-w", str(tmp_path / "w"), "-o", str(file)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert file.stat().st_size < 5_000_000
    browser.open(file, 1280)
    rows = browser.run(FILTER.format("leonardo", SHOWN_ROWS))
    assert len(rows) >= 100 and all("leonardo" in row for row in rows)
