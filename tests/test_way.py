"""The way of a question from the command line to its rows: each module of it is entered once, and none calls upward."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import scalelens
from command_line import Run
from conftest import ROOT
from scalelens.ingestion.ingest import ingest

LOGS = Path(scalelens.__file__).parent / "demo" / "logs"
# As ARCHITECTURE.md draws it.  What travels on the way is not a part of it: the question, headers of queries, texts.
WAY = (
    "cli.query", "question.session", "queries.load", "question.checks", "database.connect", "database.opening",
    "database.views", "database.macros", "question.once", "database.execute", "question.answer",
)  # fmt: skip
LAYERS = ("cli", "report", "question", "database", "queries", "runs", "warehouse", "statistics", "parsing", "catalog")

Calls = list[tuple[str, str]]  # module that calls, module that is called


def module_of(frame: FrameType | None) -> str:
    """The nearest module of the package, without its first name."""
    while frame and not frame.f_globals.get("__name__", "").startswith("scalelens."):
        frame = frame.f_back
    return frame.f_globals["__name__"].removeprefix("scalelens.") if frame else ""


@contextmanager
def calls_between_modules() -> Iterator[Calls]:
    calls: Calls = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("scalelens."):
            pair = module_of(frame.f_back), module_of(frame)
            if pair[0] not in ("", pair[1]) and frame.f_code.co_name != "<module>":
                calls.append(pair)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ingest([LOGS], tmp_path / "w")
    return tmp_path / "w"


@pytest.mark.parametrize("format", ["csv", "table"])
@pytest.mark.parametrize("question", ["runs_overview", "batch_stats", "scaling_times", "outlier_gpus"])
def test_no_module_is_entered_twice_and_none_calls_upward(run: Run, home: Path, question: str, format: str) -> None:
    run("query", question, "-w", home, "--format", format)  # the macros that it needs are made with its first asking
    with calls_between_modules() as calls:
        assert run("query", question, "-w", home, "--format", format).code == 0
    to_rows = calls[: calls.index(("question.session", "question.answer")) + 1]
    entered = [called for caller, called in to_rows if called in WAY and caller in WAY]
    once = [name for k, name in enumerate(entered) if not k or entered[k - 1] != name]
    assert sorted(once) == sorted(set(once)), "a module is entered twice"
    assert [name for name in WAY if name in once] == once, "in another order than ARCHITECTURE.md draws"
    upward = {(caller, called) for caller, called in to_rows if layer_of(called) < layer_of(caller)}
    assert upward == set()


def layer_of(module: str) -> int:
    """The place of a package among the layers; what all may call lies below all of them."""
    package = module.partition(".")[0]
    return LAYERS.index(package) if package in LAYERS else len(LAYERS)


def test_architecture_draws_the_way() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## The way of a question")[1].split("\n## ")[0]
    drawn = text.split("```")[1]
    assert drawn.strip().count("\n") < 12
    places = [drawn.find(f"{name.replace('.', '/')}.py") for name in WAY]
    assert -1 not in places and places == sorted(places)
