"""Every command that a message names runs and gives rows or a figure, over whole warehouses of public logs.

Each question is asked and each chart drawn, with a report; the commands of all that was printed are run then, to the
letter, those that erase last.  `tests/test_advice.py` follows what is advised in words.
"""

import html
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Ran, Run
from scalelens.charts import load as charts
from scalelens.queries import load as queries

FOLDERS = ("power/mlco2__codecarbon",)  # its test took a minute of processor time on 2026-11-26, two shared cores
VERBS = "query|plot|explain|identify|sql|ingest|check|compact|report|queries|tables|charts|formats|compare|forget|gc"
COMMAND = re.compile(rf"scalelens ((?:{VERBS})\b(?: +(?:[\w=.-]*\"[^\"\n]*\"|[\w=.-]*'[^'\n]*'|[^\s;\"'<`]+))*)")
PROSE = re.compile(r" (?:and scalelens|says|gives|writes|takes|reads|or|and|for|run by run|next:)( .*)?$| {2,}.*$")
A_FORM = re.compile(r"^\.\.\.$|=\.\.\.$|^[A-Z]{3,}$|^[A-Z]+\.py$|logs/$|<")  # to be filled in
ASK = {"query", "plot", "sql", "report", "compare", "check", "forget", "gc", "compact"}  # a warehouse
LAST = ("forget", "compact", "gc", "ingest")


def commands(text: str) -> Iterator[str]:
    """The commands that a text names, without the prose around them."""
    for found in COMMAND.finditer(text):
        command = PROSE.sub("", found[1]).strip().rstrip(".,:)` ")
        yield command.rstrip(")") if command.count("(") < command.count(")") else command


def test_commands_are_told_from_prose() -> None:
    text = 'see: scalelens query scaling metric=tflops, or\nplot: scalelens plot a runs="b c" -o a.pdf says more; scalelens is'
    assert list(commands(text)) == ["query scaling metric=tflops", 'plot a runs="b c" -o a.pdf']


def test_the_kinds_of_folders_are_there(corpus: Path) -> None:
    assert [name for name in FOLDERS if not (corpus / name).is_dir()] == []


def printed(run: Run, logs: Path, home: Path, folder: Path) -> Iterator[tuple[str, Ran]]:
    """What is printed of a warehouse, and of which command."""
    yield "ingest", run("ingest", logs, "-w", home, "--jobs", "1")
    for name, query in queries.load().items():
        if not query.is_helper:
            yield f"query {name}", run("query", name, "-w", home, "--format", "csv")
    for name in charts.load():
        yield f"plot {name}", run("plot", name, "-w", home, "-o", folder / f"{name}.json")
    ran = run("report", "-w", home, "-o", folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", "\n", page, flags=re.DOTALL))
    yield "report", Ran(ran.code, text, ran.err)


def is_answered(ran: Ran, verb: str, folder: Path, files: dict[Path, int]) -> bool:
    """Whether a command gave rows, a text or a file."""
    has_written = {path: path.stat().st_mtime_ns for path in folder.iterdir()} != files
    lines = len(ran.out.strip().splitlines())
    rows = lines > 1 or (lines == 1 and verb == "explain")
    is_done = verb in (*LAST, "check", "identify") and bool((ran.out + ran.err).strip())
    return ran.code == 0 and (has_written or rows or is_done)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_advised_gives_rows_or_a_figure(
    corpus: Path, run: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, folder = tmp_path / "w", tmp_path / "figures"
    folder.mkdir()
    monkeypatch.chdir(folder)
    advised: dict[str, str] = {}
    for source, ran in printed(run, corpus / name, home, folder):
        assert ran.code in (0, 2), (source, ran)
        for command in commands(f"{ran.out}\n{ran.err}"):
            advised.setdefault(command, source)
    assert advised
    bad = []
    for command in sorted(advised, key=lambda command: command.startswith(LAST)):
        words = shlex.split(command)
        if any(A_FORM.search(word) for word in words[1:]):
            continue
        about = ["-w", str(home)] if words[0] in ASK and "-w" not in words and "--help" not in words else []
        files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        ran = run(*words, *about)
        if not is_answered(ran, words[0], folder, files):
            bad.append((advised[command], command, ran.code, (ran.err or ran.out)[-300:]))
    assert bad == []
