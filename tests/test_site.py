"""The pages that a new user reads first: their commands run on the demo's logs, their links lead somewhere."""

import importlib
import itertools
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import typer.testing

from chromium import NEEDS_CHROMIUM, chromium
from command_line import app
from conftest import ROOT
from gallery import NEEDS
from scalelens.charts import load as charts
from scalelens.queries import load as queries
from trackers import small_run, wandb_file

DOCS = ROOT / "docs"
LOGS = ROOT / "src" / "scalelens" / "demo" / "logs"
ARGUMENTS = {
    "accuracy": "score_name=loss ",
    "comparison": "a=fp32-r1 b=bf16-r1 ",
    "op_summary": "runs=fp32-r1 ",
    "step_times": "\"runs=name = 'gpt-r1'\" ",
    "waterfall": "\"runs=model = 'gpt-toy'\" ",
}
SEARCH = """(async () => { document.querySelector("[data-md-toggle=search]").click();
const field = document.querySelector("[data-md-component=search-query]");
field.focus(); field.value = "elbow"; field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
for (let k = 0; k < 300 && !document.querySelector(".md-search-result__item"); k += 1) {
  await new Promise((done) => setTimeout(done, 100)); } })()"""


def commands_of(page: str) -> list[str]:
    """Lines of code that call ScaleLens, in the order of the page."""
    return re.findall(r"^scalelens (.+)", (DOCS / page).read_text(), re.MULTILINE)


def invoke(command: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, shlex.split(command))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the demo's logs as `logs`."""
    shutil.copytree(LOGS, tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest logs/").exit_code == 0
    return tmp_path


@pytest.mark.slow  # test_figures.py draws every chart, from smaller logs
def test_every_chart_draws_the_demo_or_says_what_lacks(folder: Path) -> None:
    for name in charts.load():
        command = f"plot {name} {ARGUMENTS.get(name, '')}-o {name}.png"
        result = invoke(command)
        if name in NEEDS and name != "published":  # of which the demo has some rows, too
            assert result.exit_code == 1, command
            assert re.search(r"there (is|are) no|\bno run (has|was|is called) |contains no ", str(result.exception)), (
                command
            )
        else:
            assert result.exit_code == 0, command
            assert (folder / f"{name}.png").stat().st_size > 1000


def test_page_of_figures_has_every_chart() -> None:
    named = re.findall(r"`scalelens (plot .+?)` \|", (DOCS / "figures.md").read_text())
    assert set(named) == {f"plot {name} {ARGUMENTS.get(name, '')}-o {name}.pdf" for name in charts.load()}


@pytest.mark.parametrize(
    "page", ["start.md", "faq.md", "figures.md", pytest.param("elsewhere.md", marks=pytest.mark.slow)]
)
def test_commands_of_a_page_run(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = commands_of(page)
    if "scalelens ingest traces/" in (DOCS / page).read_text():
        monkeypatch.syspath_prepend(DOCS / "studies")
        importlib.import_module("gpu_traces").write_traces(folder / "traces")
    if "ingest wandb/" in commands:
        kept = folder / "wandb" / "offline-run-20260506_070809-a1b2c3d4"
        kept.mkdir(parents=True)
        (kept / "run-a1b2c3d4.wandb").write_bytes(wandb_file(small_run()))
    assert commands
    for command in commands:
        result = invoke(command)
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception}"


def test_tables_of_those_who_come_from_elsewhere_name_what_there_is() -> None:
    rows = re.findall(r"^\|.+\| (.+) \|$", (DOCS / "elsewhere.md").read_text(), re.MULTILINE)
    named = re.findall(r"scalelens query (\w+)", "\n".join(rows))
    known = {name for name, query in queries.load().items() if not query.is_helper}
    assert len(named) > 8 and set(named) <= known


def test_page_of_installing_names_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"^\| `(\w+)`", (DOCS / "install.md").read_text(), re.MULTILINE)) == set(extras)


@cache
def anchors(page: Path) -> set[str]:
    """Headings as MkDocs and GitHub turn them into anchors."""
    headings = re.findall(r"^#+ (.+)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose):
        name, _, anchor = re.sub(r"#only-(light|dark)$", "", link).partition("#")
        target = (DOCS / page).parent / name if name else DOCS / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = re.findall(r"^ +- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(menu) == PAGES


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_the_site_is_read_and_searched_from_the_disk(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the site needs requirements-docs.txt")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", tmp_path / "site"], cwd=ROOT, check=True
    )
    pages = ("index.html", "gallery.html", "queries.html", "studies/tamu.html", "elsewhere.html")
    with chromium(tmp_path / "browser") as browser:
        for width, page in itertools.product((400, 1600), pages):
            browser.open(tmp_path / "site" / page, width)
            asked = [url for url in browser.requests if not url.startswith(("file:", "data:"))]
            assert (browser.said, asked) == ([], []), page
            assert browser.run("document.documentElement.scrollWidth <= innerWidth"), page
            assert browser.run("document.querySelector('.md-footer__link') !== null"), f"{page} has a way on"
        browser.run(SEARCH)
        assert browser.run("document.querySelectorAll('.md-search-result__item').length") > 1
        assert browser.requests and not any(url.startswith("http") for url in browser.requests)
