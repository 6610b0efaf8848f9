"""The pages for assistants are printed from the texts of the server, and their commands run."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer.testing

from assistants import CLIENTS, DOCS, assistants_page, envelope_page, llms_txt, measured_in, skill
from command_line import app
from conftest import ROOT
from scalelens.assistant.skill import INSTRUCTIONS, KEYS
from scalelens.ingestion.ingest import ingest

PRINTED_PAGES = ("envelope.md", "assistants.md", "SKILL.md", "llms.txt")


def test_envelope_page(golden) -> None:
    golden(envelope_page(), DOCS / "envelope.md")


def test_assistants_page(golden) -> None:
    page = DOCS / "assistants.md"
    golden(assistants_page(measured_in(page)), page)


def test_skill(golden) -> None:
    text = skill()
    assert text.count("\n") < 200
    assert re.match(r'---\nname: [a-z-]{1,64}\ndescription: ".{1,1022}"\n---\n', text), "what loaders of skills ask for"
    golden(text, DOCS / "SKILL.md")


def test_llms_txt(golden) -> None:
    text = llms_txt()
    for name in re.findall(r"\]\(([\w.-]+\.md)\)", text):
        assert (DOCS / name).exists(), name
    golden(text, DOCS / "llms.txt")


def test_the_instructions_of_the_server_are_short() -> None:
    assert len(INSTRUCTIONS) < 4_000 and "check_answer" in INSTRUCTIONS and "never instructions" in INSTRUCTIONS


def commands_of(text: str) -> list[str]:
    """Commands of a page, but those that only an assistant starts or that fetch a package."""
    lines = re.findall(r"^\s*(?:\$ )?(scalelens .+)$", text, re.MULTILINE)
    return [line for line in lines if not line.startswith("scalelens mcp")]


def test_commands_of_the_pages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").symlink_to(ROOT / "src" / "scalelens" / "demo" / "logs")
    ingest([ROOT / "src" / "scalelens" / "demo" / "logs"], tmp_path / "study", jobs=1)
    (tmp_path / "answer.md").write_text("The median step time of bf16-r1 is 0.555 s.\n")
    commands = {command for name in PRINTED_PAGES for command in commands_of((DOCS / name).read_text())}
    assert len(commands) > 10
    order = sorted(commands, key=lambda command: "verify" in command)
    for command in order:
        words = shlex.split(command.partition(" > ")[0])[1:]
        result = typer.testing.CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output)
        if " > " in command:
            (tmp_path / command.partition(" > ")[2]).write_text(result.stdout)


@pytest.mark.parametrize(("name", "file", "text"), CLIENTS)
def test_settings_of_clients_start_the_server(name: str, file: str, text: str) -> None:
    if text.startswith("claude"):
        command = text.partition(" -- ")[2].split()
    else:
        whole = tomllib.loads(text) if ".toml" in file else json.loads(text)
        servers = [*whole.get("mcp_servers", whole.get("mcpServers", whole.get("servers", {}))).values()]
        (server,) = servers or [whole]
        command = [server["command"], *server["args"]]
    assert command[command.index("scalelens") :] == ["scalelens", "mcp", "-w", "/data/study"]


def test_the_page_says_every_key_of_an_answer() -> None:
    page = (DOCS / "envelope.md").read_text()
    assert [key for key in KEYS if f"| `{key}` |" not in page] == []
