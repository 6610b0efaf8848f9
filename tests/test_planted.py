"""What reaches people is inert: control characters are planted wherever a text can come from, and all output is read.

The commands write to a pseudo-terminal, because what they print there differs from what a pipe gets.
"""

import json
import os
import re
import sys
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logs import megatron_line
from scalelens.cli import completions, main
from scalelens.queries.load import load
from scalelens.tables import documented

CHARACTERS = {
    "esc": "\x1b", "bel": "\x07", "cr": "\r", "csi": "\x9b", "osc": "\x9d", "nel": "\x85", "rlo": "\u202e", "rli": "\u2067",
    "pdf": "\u202c", "alm": "\u061c", "del": "\x7f", "line": "\u2028",
}  # fmt: skip
FORMATS = ("table", "csv", "json", "markdown", "latex", "envelope")
OF_RICH = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[[0-9]*[ABCDGJK]|\x1b\]8;;\x1b\\|\r(?=\x1b|\n)")
PLANTED = re.compile(r"Zq.{0,30}?qZ", re.DOTALL)
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
EVERY = "".join(f"Zq{character}]0;qZ" for character in CHARACTERS.values())


def planted(name: str) -> str:
    """A text that would act: the sequence sets the title of a terminal, or its color."""
    return f"Zq{CHARACTERS[name]}]0;qZ"


def plant(folder: Path, name: str) -> Path:
    """Files with a character in every text that they can hold: paths, hosts, sensors, kernels, labels, problems."""
    text = planted(name)
    quoted = json.dumps(text)
    place = folder / f"{name} {text}"
    place.mkdir(parents=True)
    steps = "".join(f"{text}: {megatron_line(step)}" for step in range(1, 9))
    (place / f"job {text}.log").write_bytes(
        f"model_name ...................... {text}\n{steps}\0NUL\0 iteration {text} elapsed time per iteration (ms): ?\n"
        f"srun: error: {text}: task 3: Out Of Memory {text}\nRuntimeError: {text} CUDA out of memory {text}\n".encode()
    )
    (place / "scalelens.toml").write_text(
        f"[facts]\nmodel = {quoted}\nsystem = {quoted}\ndataset = {quoted}\nprecision = {quoted}\n"
        f"[labels]\ncooling = {quoted}\n" if name not in ("del",) else f"[facts]\nmodel = '{name}'\n"
    )  # fmt: skip
    (place / "power.csv").write_text(
        f"timestamp,host,sensor,power_w,{text}\n2026-01-02T03:04:05Z,{text},{text},100,{text}\n"
    )
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": f"{text} gemm",
            "pid": 1,
            "tid": 7,
            "ts": 10 * k,
            "dur": 9,
            "args": {text: text},
        }
        for k in range(5)
    ]
    (place / "trace.json").write_text(json.dumps({"traceEvents": events, "distributedInfo": {"rank": 0}, text: text}))
    (place / f"odd {text}.bin").write_bytes(b"\0\1\2" * 50)
    return place


@pytest.fixture(scope="module")
def terminal() -> Iterator[Callable[..., str]]:
    """Runs a command on a pseudo-terminal, and gives all that it wrote there."""
    patch = pytest.MonkeyPatch()
    patch.setenv("COLUMNS", "180")
    patch.setenv("TERM", "xterm-256color")

    def run(*words: str | Path) -> str:
        master, slave = os.openpty()
        tty.setraw(slave)
        read: list[bytes] = []

        def drain() -> None:
            try:
                while block := os.read(master, 1 << 16):
                    read.append(block)
            except OSError:
                pass

        reader = threading.Thread(target=drain)
        reader.start()
        with open(slave, "w", encoding="utf-8") as screen, pytest.MonkeyPatch.context() as streams:
            streams.setattr(sys, "stdout", screen)
            streams.setattr(sys, "stderr", screen)
            streams.setattr(sys, "argv", ["scalelens", *map(str, words)])
            with pytest.raises(SystemExit):
                main()
            screen.flush()
        reader.join()
        os.close(master)
        return b"".join(read).decode()

    yield run
    patch.undo()


def inert(shown: str, about: object = "") -> int:
    """How many planted texts are shown, all of them inert."""
    left = OF_RICH.sub("", shown)
    acting = ACTS.search(left)
    assert not acting, (about, left[max(acting.start() - 80, 0) : acting.end() + 40])
    assert "Traceback" not in shown, shown[-2000:]
    return len(PLANTED.findall(left))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, terminal: Callable[..., str]) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    for name in CHARACTERS:
        plant(folder / "logs", name)
    assert inert(terminal("ingest", folder / "logs", "-w", folder / "w", "--jobs", "1"), "ingest") > 0
    return folder


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_terminal_is_sent_is_inert(home: Path, terminal: Callable[..., str], format: str) -> None:
    union = "SELECT path AS text FROM files UNION ALL SELECT text FROM problems UNION ALL SELECT value FROM params"
    assert inert(terminal("sql", union, "-w", home / "w", "--format", format), format) > 50


def test_tables_for_people_are_inert(home: Path, terminal: Callable[..., str]) -> None:
    """Headings, names of runs and remarks come another way than cells do."""
    assert inert(terminal("query", "runs_overview", "-w", home / "w")) > 0
    statement = f"SELECT 'x' AS series, 1 AS \"{EVERY}\", 2 AS \"{EVERY}_s\", '{EVERY}' AS note"
    assert inert(terminal("sql", statement, "-w", home / "w")) > 0


def calls(w: Path, text: str) -> Iterator[tuple[str | Path, ...]]:
    """Commands that refuse, and say the text that they were given."""
    for words in (
        ("query", text), ("query", "scaling", f"{text}=1"), ("query", "scaling", text), ("sql", f"FROM '{text}'"),
        ("plot", text, "-o", "x.svg"), ("plot", "scaling", "-o", text), ("query", "scaling", f"--{text}"),
        ("query", "scaling", "--limit", text), ("query", "scaling", "--format", text), ("sql", f"SELECT error('{text}')"),
        ("compare", text, text), ("verify", text), ("forget", text), ("bundle", f"/nowhere/{text}", text),
        ("numbers", f"a={text}"), ("report", "-o", f"{text}/x"), ("query", "scaling", f"--queries={text}"),
        ("history", text),
    ):  # fmt: skip
        yield *words, "-w", w
    yield from ((text,), ("ingest", f"/nowhere/{text}"), (f"--{text}",), ("explain", text), ("identify", text), ("label", text),
                ("tables", text), ("queries", text), ("audit", text), ("check", "-w", text))  # fmt: skip


def test_errors_are_inert(home: Path, terminal: Callable[..., str]) -> None:
    some = [
        words for words in calls(home / "w", EVERY) if words[0] in (EVERY, f"--{EVERY}", "verify", "sql", "explain")
    ]
    assert sum(inert(terminal(*words), words) for words in some) >= len(some)


def test_completions_are_inert() -> None:
    offered = completions.silent(lambda _: [("a", EVERY), (f"a{EVERY}", "meaning")])(None, "a")
    assert [word for word, _ in offered] == ["a"] and inert(offered[0][1]) > 0


@pytest.mark.slow
def test_everything_that_people_are_sent_is_inert(home: Path, terminal: Callable[..., str], tmp_path: Path) -> None:
    w, shown = home / "w", 0
    for words in calls(w, EVERY):
        shown += inert(terminal(*words), words)
    for name in load():
        shown += inert(terminal("query", name, "-w", w), name)
    for table in documented():
        for format in FORMATS:
            shown += inert(terminal("sql", f"FROM {table}", "-w", w, "--format", format), (table, format))
    for path in sorted((home / "logs").rglob("*")):
        if path.is_file():
            shown += inert(terminal("identify", path), path)
    for words in (
        ("label", home / "logs"),
        ("ingest", home / "logs", "-w", w, "--reread"),
        ("check", "-w", w),
        ("compact", "-w", w),
    ):
        shown += inert(terminal(*words), words)
    for name in ("r.html", "p.svg", "p.html", "p.json"):
        words = ("report",) if name == "r.html" else ("plot", "power_over_time")
        shown += inert(terminal(*words, "-o", tmp_path / name, "-w", w), name)
        if (tmp_path / name).exists():
            text = (tmp_path / name).read_text()
            shown += inert(
                text[: text.find("<script>")] + text[text.rfind("</script>") :] if name == "p.html" else text, name
            )
    assert shown >= 5000, shown
