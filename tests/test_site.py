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
from reference import PRINTED
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
NOT_IN_THE_DEMO = {
    "blame": "jobs of one configuration on several nodes, with the names of their hosts",
    "blame_jobs": "jobs of one configuration on several nodes, with the names of their hosts and the time of their start",
    "contention": "traces of GPUs, one per rank, with communication beside computing",
    "collective_benchmarks": "the output of nccl-tests, rccl-tests or all_reduce_bench.py",
    "critical_path": "traces of GPUs, one per rank, with the launches of their kernels",
    "energy": "measurements of energy",
    "energy_by_batch": "logs of runs with several batch sizes, and their power or energy",
    "energy_by_limit": "Zeus's measurements of its power limits",
    "energy_of_trace": "a trace of a GPU, and its power in that time",
    "energy_scaling": "logs of runs on several numbers of devices, and their power or energy",
    "expert_balance": "traces of all-to-alls with their sizes, as PyTorch records them",
    "failures": "jobs that failed",
    "forecast": "a series of four sizes or more",
    "history": "two runs or more of one configuration",
    "inference_phases": "a trace of a serving engine (vLLM, SGLang, TensorRT-LLM) on a GPU",
    "kernel_summary": "a trace of a GPU",
    "kernel_tree": "a trace of a GPU",
    "memory_over_time": "a snapshot of PyTorch's memory with its history",
    "outlier_evidence": "the compute times of each rank",
    "power_over_time": "a power log beside the log of a run",
    "published": "runs on as many devices as those of a published table",
    "roofline": "a trace of a GPU with the shapes of the operators (`record_shapes=True`)",
    "scaling_fit": "a series of four sizes or more",
    "step_heatmap": "traces of GPUs, one per rank, with the steps of the profiler",
    "step_timeline": "traces of GPUs, one per rank",
    "temporal_breakdown": "a trace of a GPU",
    "time_to_train": "logs of MLPerf, or others that state how long the training took, on several numbers of devices",
}
MADE_UP_ARGUMENTS = {
    "energy": "\"runs=model = 'resnet50'\" ",
    "energy_by_batch": "\"runs=devices = 4 AND model = 'resnet50'\" ",
    "history": "\"runs=model = 'resnet50'\" ",
    "power_over_time": "runs=power ",
}
SEARCH = """(async () => { document.querySelector("[data-md-toggle=search]").click();
const field = document.querySelector("[data-md-component=search-query]");
field.focus(); field.value = "elbow"; field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
for (let k = 0; k < 300 && !document.querySelector(".md-search-result__item"); k += 1) {
  await new Promise((done) => setTimeout(done, 100)); } })()"""
ON_MADE_UP = "-w made-up-warehouse "
GALLERY = f"""# Gallery

{PRINTED}Every chart, each by the command above its picture. `make site` draws the pictures. [Which figure](figures.md) helps to
choose. The [figures of the studies](#figures-of-studies) are at the end.

Each chart is shown at the width of one column, as its command draws it, and below at the width of two
(`--width double`). If this site is dark, the pictures are those of `--theme dark`.

Half of them are drawn from the logs of the demo: ResNet-50 and a small GPT on one and two CPUs, each run once. The
demo has no GPU, no power and no second night. For the other charts the script docs/studies/gallery.py of the source
makes logs up, in the formats of PyTorch's profiler and its snapshots of memory, `scalelens bench vision`, Megatron-LM,
MLPerf, jpwr, Zeus and nccl-tests. No number in them was measured.

```
python docs/studies/gallery.py made-up
scalelens ingest made-up -w made-up-warehouse
```

"""
FIGURES_OF_STUDIES = """## Figures of studies

Figures of documents, and of logs that others published. The page of each study has the command of each figure, says
whether its logs are real or stand-ins, and what the document states.

"""


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


def test_gallery_page(golden) -> None:
    pages = [GALLERY]
    for name, chart in charts.load().items():
        shows = re.search(r"^Shows: (.+?)^Query:", chart.__doc__ or "", re.DOTALL | re.MULTILINE)
        assert shows
        sentence = " ".join(shows[1].split())
        made_up = name in NOT_IN_THE_DEMO
        arguments = MADE_UP_ARGUMENTS.get(name, "") + ON_MADE_UP if made_up else ARGUMENTS.get(name, "")
        command = f"scalelens plot {name} {arguments}-o {name}.png"
        logs = f"Needs {NOT_IN_THE_DEMO[name]}. Drawn from made-up logs." if made_up else "Drawn from the demo's logs."
        title = charts.title(chart)
        pictures = [
            f"![{title}{words}](gallery/{name}{width}.png#only-light)\n![{title}{words}, dark](gallery/{name}{width}-dark.png#only-dark)"
            for width, words in (("", ""), ("-double", ", two columns wide"))
        ]
        picture = "\n\n".join([*pictures, logs])
        pages.append(f"## {name}\n\n{charts.title(chart)}. Shows {sentence}\n\n```\n{command}\n```\n\n{picture}\n\n")
    golden("".join([*pages, FIGURES_OF_STUDIES, *figures_of_studies()]), DOCS / "gallery.md")


def figures_of_studies() -> list[str]:
    """The pictures of each study, below its title."""
    found = []
    for page in sorted((DOCS / "studies").glob("*.md")):
        text = page.read_text()
        pictures = re.findall(r"^!\[(.+)\]\((.+\.png)\)$", text, re.MULTILINE)
        title = text.partition("\n")[0].removeprefix("# ")
        drawn = "".join(f"![{caption}](studies/{picture})\n\n" for caption, picture in pictures)
        found.append(f"### [{title}](studies/{page.name})\n\n{drawn}" if pictures else "")
    return found


@pytest.mark.slow  # test_figures.py draws every chart, from smaller logs
def test_commands_of_the_gallery_draw_or_say_what_lacks(folder: Path) -> None:
    for command in commands_of("gallery.md"):
        if command.startswith("ingest"):
            continue
        name = command.split()[1]
        result = invoke(command.replace(ON_MADE_UP, ""))
        if name in NOT_IN_THE_DEMO and name != "published":  # of which the demo has some rows, too
            assert result.exit_code == 1, command
            assert re.search(r"there (is|are) no|\bno run (has|was|is called) |contains no ", str(result.exception)), (
                command
            )
        else:
            assert result.exit_code == 0, command
            assert (folder / f"{name}.png").stat().st_size > 1000


@pytest.mark.slow  # 150 pictures: two minutes
def test_every_picture_of_the_gallery_is_drawn(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "pictures.py", tmp_path], check=True)
    drawn = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    named = re.findall(r"\]\(gallery/([\w-]+\.png)#only-(?:light|dark)\)", (DOCS / "gallery.md").read_text())
    assert len(named) == 4 * len(charts.load())
    assert set(drawn) == set(named) and min(drawn.values()) > 1000


def test_page_of_figures_has_every_command_of_the_gallery() -> None:
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
    for link in re.findall(r"\]\((?!https?:|gallery/)([^)\s]+)\)", prose):
        name, _, anchor = link.partition("#")
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
    (tmp_path / "site" / "gallery").mkdir()
    for name in charts.load():  # `make site` draws them when the pages are built
        shutil.copy(DOCS / "bigscience-scaling.png", tmp_path / "site" / "gallery" / f"{name}.png")
    pages = ("index.html", "queries.html", "studies/tamu.html", "elsewhere.html")
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
