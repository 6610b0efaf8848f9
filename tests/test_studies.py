"""The pages of docs/studies: their commands run in their order, their outputs and figures are printed from them.

`pytest tests/test_studies.py --update` prints the outputs and draws the figures again.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from command_line import app
from conftest import CORPUS, ROOT
from scalelens.report.provenance_in_files import provenance_of

STUDIES = ROOT / "docs" / "studies"
PAGES = sorted(path.name for path in STUDIES.glob("*.md"))
WORDS, CODE = " 2>&1", "; echo $?"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OF_THE_CORPUS = [
    name for name in PAGES if name.startswith("real-")
]  # real logs of others, which lie beside the project
AT_NIGHT = [
    "caraml.md",
    "epicure.md",
    "epicure_systems.md",
    "frontier.md",
    "slower.md",
    "tamu.md",
    "whose-fault.md",
    *(name for name in OF_THE_CORPUS if name != "real-nvidia.md"),
]  # above two seconds


def ran(command: str) -> str:
    """What a command of a page prints for people, 100 columns wide; with `2>&1` and `echo $?` as a shell would."""
    command, shows_code = command.removesuffix(CODE), command.endswith(CODE)
    command, with_words = command.removesuffix(WORDS), command.endswith(WORDS)
    words = shlex.split(command)
    if words[0] == "python":
        subprocess.run([sys.executable, ROOT / words[1], *words[2:]], check=True)
        return ""
    assert words.pop(0) == "scalelens", command
    is_answer = words[0] in ("query", "sql", "compare", "history", "next-runs")
    result = typer.testing.CliRunner().invoke(app, [*words, *(["--format", "table"] if is_answer else [])])
    assert result.exit_code == 0 or shows_code, f"{command}\n{result.output}\n{result.exception}"
    text = (result.output if with_words else result.stdout).strip("\n") + f"\n{result.exit_code}" * shows_code
    return re.sub(r" +$", "", text, flags=re.MULTILINE) + "\n" if is_answer else ""


def printed(block: re.Match[str]) -> str:
    """A block of commands with what they print now."""
    commands = re.findall(r"^\$ (.+)\n", block[1], re.MULTILINE)
    return "```console\n" + "".join(f"$ {command}\n{ran(command)}" for command in commands) + "```"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in AT_NIGHT)) for name in PAGES])
def test_a_page_shows_what_its_commands_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden, request: pytest.FixtureRequest
) -> None:
    if name in OF_THE_CORPUS:
        request.getfixturevalue("corpus")
        (tmp_path / "shared").symlink_to(CORPUS.parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    page = (STUDIES / name).read_text()
    golden(BLOCK.sub(printed, page), STUDIES / name)
    figures = set(re.findall(r"\]\(([\w-]+\.png)\)", page))
    assert {path.name for path in tmp_path.glob("*.png")} == figures, "each figure is drawn by a command of the page"
    for figure in figures:
        if request.config.getoption("--update"):
            (STUDIES / figure).write_bytes((tmp_path / figure).read_bytes())
        said, now = provenance_of(STUDIES / figure), provenance_of(tmp_path / figure)
        for key in ("sql", "parameters", "settings", "rows_sha256"):
            assert said.get(key) == now.get(key), f"{figure} was made by another command: pytest --update"
        result = typer.testing.CliRunner().invoke(app, ["verify", str(STUDIES / figure)])
        is_of_this_renderer = said["renderer"] == now["renderer"]  # by another one values are compared, and no picture
        assert result.exit_code == (0 if is_of_this_renderer else 3), result.output
