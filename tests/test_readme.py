"""The README: short, its first screen answers what a reader asks first, and what it shows is what ScaleLens does."""

import re
import shutil
from pathlib import Path

import pytest

from command_line import Run
from conftest import ROOT
from scalelens.charts import load as charts
from scalelens.ingestion import formats
from scalelens.queries.load import load
from scalelens.report.provenance_in_files import provenance_of
from test_docs import COMMANDS

README = (ROOT / "README.md").read_text()
FIRST_SCREEN = README.splitlines()[:24]
QUESTIONS = (
    "What is it?", "For whom?", "What does it read?", "What do I get?", "Why trust it?", "How do I start?",
)  # fmt: skip


def section(heading: str) -> str:
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_it_is_short_and_its_first_screen_answers_six_questions() -> None:
    assert len(README.splitlines()) <= 250
    assert [question for question in QUESTIONS if not any(f"**{question}**" in line for line in FIRST_SCREEN)] == []
    assert any(re.match(r"!\[.+\]\(docs/.+\.png\)", line) for line in FIRST_SCREEN), "a figure"


def test_the_questions_name_queries_that_people_ask() -> None:
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.+\|$", section("What it answers"), re.MULTILINE)))
    known = {name for name, query in load().items() if not query.is_helper}
    assert len(named) > 50 and [name for name in named if name not in known] == []
    assert len(named) == len(set(named)), "each once"


def test_it_counts_the_formats() -> None:
    known = formats.load()
    (said,) = re.findall(r"more than (\d+) formats", README)
    assert int(said) < len(known.of_lines) + len(known.of_files)


def test_the_commands_that_it_names_exist() -> None:
    named = re.findall(r"scalelens ((?:trace |bench )?[a-z][a-z-]+)\b", README)
    known = {*COMMANDS, *(name.split()[0] for name in COMMANDS), "bench vision", "bench language"}
    assert len(set(named)) >= 12
    assert [name for name in named if name not in known and name.split()[0] not in known] == []
    drawn = re.findall(r"scalelens plot (\w+)", README)
    assert drawn and set(drawn) <= set(charts.load())


def test_its_commands_print_what_it_shows_and_draw_its_figure(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    logs = corpus / "llm" / "bigscience-workshop__bigscience" / "experiments" / "gpt2-meg"
    shutil.copytree(logs, tmp_path / "gpt2-meg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (block,) = re.findall(r"^```console\n(.+?)^```$", section("Three commands"), re.DOTALL | re.MULTILINE)
    shown = dict(re.findall(r"^\$ scalelens (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE))
    assert len(shown) == 3
    for command, output in shown.items():
        words = [*command.split(), *(["--format", "table"] if command.startswith("query") else [])]
        ran = run(*words)
        assert ran.code == 0 and _trimmed(ran.out + ran.err) == _trimmed(output), command
    again, committed = provenance_of(tmp_path / "scaling.png"), provenance_of(ROOT / "docs" / "bigscience-scaling.png")
    same = ("sql", "rows_sha256", "inputs_sha256")
    assert again and committed and [again[key] for key in same] == [committed[key] for key in same]


def _trimmed(text: str) -> str:
    return re.sub(r" +$", "", text, flags=re.MULTILINE).strip()


def test_the_diary_of_measurements_names_every_benchmark_that_it_rests_on() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text()
    scripts = re.findall(r"benchmarks/(\w+\.py)", page)
    assert scripts and all((ROOT / "benchmarks" / name).exists() for name in scripts)
    for number in re.findall(r"\b\d+\.\d+\b", section("Speed")):
        assert number in page, f"{number} of the README is measured nowhere"
