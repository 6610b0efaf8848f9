"""The reference pages of docs/ are printed from the code; `pytest --update` prints them again.  README says what runs."""

import re
from pathlib import Path

import typer.testing

from conftest import ROOT
from scalelens import formats, queries
from scalelens.cli import app
from scalelens.lines import name_of
from scalelens.tables import documented

PRINTED = "Printed from the code; do not edit.\n\n"


def test_tables_page(golden) -> None:
    pages = ["# Tables\n\n", PRINTED]
    for table, columns in documented().items():
        pages.append(f"## {table}\n\n| column | type | meaning |\n|---|---|---|\n")
        pages += [f"| {column.name} | {column.type} | {column.meaning} |\n" for column in columns]
        pages.append("\n")
    golden("".join(pages), ROOT / "docs" / "tables.md")


def test_queries_page(golden) -> None:
    pages = ["# Queries\n\n", PRINTED]
    for query in sorted(queries.load().values(), key=lambda query: query.name):
        pages.append(f"## {query.name}\n\n```\n{query.header.strip()}\n```\n\n")
    golden("".join(pages), ROOT / "docs" / "queries.md")


def test_formats_page(golden) -> None:
    loaded = formats.load()
    pages = ["# Formats\n\n", PRINTED]
    for module in sorted((*loaded.of_lines, *loaded.of_files), key=name_of):
        pages.append(f"## {name_of(module)}\n\n```\n{(module.__doc__ or '').strip()}\n```\n\n")
    golden("".join(pages), ROOT / "docs" / "formats.md")


def test_every_command_has_help_with_an_example_or_a_sentence() -> None:
    runner = typer.testing.CliRunner()
    for command in app.registered_commands:
        name = (command.name or command.callback.__name__).replace("_", "-")
        result = runner.invoke(app, [name, "--help"])
        assert result.exit_code == 0, name
        assert len(re.sub(r"\W+", " ", result.output)) > 100, name


def test_files_that_the_pages_name_exist() -> None:
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for name in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text()):
            assert Path(ROOT / name).exists(), f"{page} names {name}"
