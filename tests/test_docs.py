"""The reference pages of docs/ are printed from the code; `pytest --update` prints them again.  README says what runs."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from command_line import app
from conftest import FIXTURES, ROOT
from reference import PRINTED, examples_in, formats_page, queries_page
from scalelens.catalog import cells_of
from scalelens.charts import load as charts
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.parsers import generic_csv, generic_lines
from scalelens.parsing.format_file import name_of
from scalelens.queries import load as queries
from scalelens.tables import MEANINGS, documented
from scalelens.tabular.column_names import SPELLINGS
from scalelens.tabular.role_table import ROLES, UNITS_OF_KIND

GENERIC = """A CSV, or a file with a JSON object in each line, that no other format knows is read by the names of its columns.
`scalelens identify metrics.csv` shows what each column is read as, `scalelens ingest --dry-run` does so for a folder,
and `ingest` prints it once for each header; it is also in the column `note` of `files`.

Where a name leaves something open, nothing is guessed: the numbers stay `metrics` under their own names.  Say it with

    scalelens ingest metrics.csv --map batch_time=iter_time:ms --map step=it

or once and for all with a preset, a format file of a few lines:

    scalelens identify metrics.csv --preset my_formats/my_metrics.py
    scalelens formats --check my_formats/
    scalelens ingest logs/ --formats my_formats/

Like `--tz`, `--map` has to be said each time: without it the next ingest reads the table again as it would by itself.
A preset takes the files that have exactly its columns, and what was read by guessing is read again.  That of the EPICURE
vision benchmark, `parsers/epicure_vision.py`, is part of the package; its columns are not from a real file, so compare.

A single JSON object that sums up a run is read too, and so is one of lists with a value or an object for each epoch or
step: see `run_summary` and `json_lists` in [formats.md](formats.md).

"""


def test_tables_page(golden) -> None:
    pages = ["# Tables\n\n", PRINTED]
    for table, columns in documented().items():
        pages.append(f"## {table}\n\nA row is {MEANINGS[table]}.\n\n| column | type | meaning |\n|---|---|---|\n")
        pages += [f"| {column.name} | {column.type} | {column.meaning} |\n" for column in columns]
        pages.append("\n")
    golden("".join(pages), ROOT / "docs" / "tables.md")


def test_queries_page(golden) -> None:
    page = ROOT / "docs" / "queries.md"
    golden(queries_page(examples_in(page.read_text())), page)


CHANGED = """# Numbers that changed

Which answers differ from those of an earlier version for the same files, why, and how to tell whether a figure of yours is
affected. `scalelens verify` names these changes where it finds that a file from that version is different.
What is new, and which files are read that were not, is in CHANGELOG.md.

"""


def changed_page() -> str:
    """The page of catalog/changed_answers.csv."""
    pages = [CHANGED]
    rows = cells_of("changed_answers.csv")
    for version in dict.fromkeys(row["version"] for row in rows):
        pages.append(f"## Since {version}\n\n| queries | what changed | why | how to tell |\n|---|---|---|---|\n")
        for row in rows:
            if row["version"] == version:
                queries = ", ".join(f"`{name}`" for name in row["queries"].split())
                pages.append(f"| {queries} | {row['change']} | {row['reason']} | {row['sign']} |\n")
        pages.append("\n")
    return "".join(pages)


def test_changed_page(golden) -> None:
    golden(changed_page(), ROOT / "docs" / "changed.md")


def test_formats_page(golden) -> None:
    loaded = formats.load()
    golden(formats_page(sorted((*loaded.of_lines, *loaded.of_files), key=name_of)), ROOT / "docs" / "formats.md")


# Queries that ask for a parameter, and columns without paths; the names are those of the demo's runs.
ARGUMENTS = {
    "compare": "a=fp32-r1 b=bf16-r1", "compare_evidence": "a=fp32-r1 b=bf16-r1", "differences": "a=fp32-r1 b=bf16-r1",
    "compared_runs": "a=fp32-r1 b=bf16-r1", "accuracy_course": "score_name=loss",
    "run_names": "--columns name,run_id", "not_compared": "--columns run_id,reason",
    "not_timed": "--columns run_id,reason",
}  # fmt: skip


@pytest.mark.slow  # a hundred queries of two warehouses
def test_examples_of_the_queries_page(golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    subprocess.run([sys.executable, ROOT / "docs" / "studies" / "gallery.py", "made-up"], check=True)
    ingest([ROOT / "src" / "scalelens" / "demo" / "logs"], tmp_path / "scalelens-warehouse", jobs=1)
    ingest([tmp_path / "made-up"], tmp_path / "made-up-warehouse", jobs=1)
    found = {name: example(name) for name, query in queries.load().items() if not query.is_helper}
    assert sum(map(bool, found.values())) > 65
    assert not any(str(place) in text for text in found.values() for place in (tmp_path, ROOT)), "no path of a machine"
    golden(queries_page(found), ROOT / "docs" / "queries.md")


def example(name: str) -> str:
    """A command that asks a query, with what it prints: of the demo's logs, else of those that are made up; else nothing."""
    for place in ("", " -w made-up-warehouse"):
        command = f"query {name} {ARGUMENTS.get(name, '')}".strip() + f"{place} --limit 6"
        result = typer.testing.CliRunner().invoke(app, [*shlex.split(command), "--format", "table"])
        text = re.sub(r" +$", "", result.stdout, flags=re.MULTILINE).strip("\n")
        if result.exit_code == 0 and "\n" in text and "```" not in text:
            return f"```console\n$ scalelens {command}\n{text}\n```"
    return ""


def test_generic_page(golden) -> None:
    about = (generic_csv.__doc__ or "").split("Source:")[1].partition("\n\n")[2].split("Samples:")[0].strip()
    of_lines = (generic_lines.__doc__ or "").split("Source:")[1].partition("\n\n")[2].split("Samples:")[0].strip()
    pages = [
        "# Tables of per-step metrics\n\n",
        PRINTED,
        GENERIC,
        f"## How a table is read\n\n{about}\n\n",
        f"## How the lines of a log are read\n\n{of_lines}\n\n",
        "## Roles\n\n",
    ]
    pages.append(
        "Names are compared in lower case, with `_` for whatever stands between words, without `train_` before and "
        "without the unit: `stepTime (ms)`, `step_time_ms`, `train/step time [ms]` and `ms_per_step` are one.\n\n"
    )
    pages.append("| role | what it is | units | names |\n|---|---|---|---|\n")
    rates = {
        "samples_per_s": "`images/s`, `samples_per_sec`, `img/s/gpu`, ...",
        "tokens_per_s": "`tokens/s`, `tok/s/gpu`, ...",
    }
    for role in ROLES:
        units = " ".join(UNITS_OF_KIND.get(role.kind, ()))
        names = rates.get(role.name) or ", ".join(f"`{name}`" for name in role.names)
        pages.append(f"| {role.name} | {role.meaning} | {units} | {names} |\n")
    pages.append("\nUnits as a name may spell them:\n\n| unit | spellings |\n|---|---|\n")
    pages += [f"| {unit} | {', '.join(spellings.split())} |\n" for unit, spellings in SPELLINGS.items()]
    golden("".join(pages), ROOT / "docs" / "generic.md")


def commands(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it, those of groups too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_commands_of_groups_are_among_them() -> None:
    assert {"ingest", "trace export", "trace critical-path"} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_a_command_does(name: str) -> None:
    command = COMMANDS[name]
    sentence = re.match(r"[A-Z][^\n]*[^.\n]\.", command.help or "")
    assert sentence, "the help begins with a sentence"
    assert [option.name for option in command.params if not getattr(option, "help", None)] == []
    result = typer.testing.CliRunner().invoke(app, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert " ".join(sentence[0].split()) in " ".join(result.output.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_a_command_are_calls_of_it(name: str) -> None:
    command = COMMANDS[name]
    examples = re.findall(r"scalelens (.+?)(?=  |\n|$)", (command.help or "").partition("Example")[2])
    assert examples, f"{name} shows no example"
    options = {option for parameter in command.params for option in parameter.opts}
    others = command.context_settings.get("ignore_unknown_options", False)  # those of the runners
    for example in examples:
        words = shlex.split(example)
        assert " ".join(words).startswith(name), example
        assert others or {word for word in words if re.match("--?[a-z]", word)} <= options, example


def test_files_that_the_pages_name_exist() -> None:
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/energy.md"):
        for name in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text()):
            assert (ROOT / page).parent.joinpath(name).exists(), f"{page} names {name}"


def test_commands_of_the_energy_page_run(tmp_path: Path) -> None:
    ingest([FIXTURES / "jpwr" / "pynvml.csv"], tmp_path / "w", jobs=1)
    page = (ROOT / "docs" / "energy.md").read_text()
    runner = typer.testing.CliRunner()
    outputs = []
    for line in re.findall(r"^scalelens (?:query|sql) .*", page, re.MULTILINE):
        command = shlex.split(line, comments=True)[1:]
        result = runner.invoke(app, [*command, "-w", str(tmp_path / "w"), "--format", "table"])
        assert result.exit_code == 0, line
        outputs += [result.stdout] if command[0] == "sql" else []
    assert len(outputs) == 2
    for output in outputs:
        assert re.sub(r" +\n", "\n", output).strip() in page
    drawn = set(re.findall(r"^scalelens plot (\w+)", page, re.MULTILINE))
    assert drawn == {
        "power_over_time",
        "energy",
        "energy_by_batch",
        "energy_by_limit",
        "energy_scaling",
    } and drawn <= set(charts.load())
