"""The reference pages of docs/ are printed from the code; `pytest --update` prints them again.  README says what runs."""

import re
import shlex
from pathlib import Path

import typer.testing

from conftest import FIXTURES, ROOT
from scalelens.charts import load as charts
from scalelens.cli import app
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.parsers import generic_csv
from scalelens.parsing.format_file import name_of
from scalelens.queries import load as queries
from scalelens.tables import documented
from scalelens.tabular.column_names import SPELLINGS
from scalelens.tabular.role_table import ROLES, UNITS_OF_KIND

PRINTED = "Printed from the code; do not edit.\n\n"

GENERIC = """A CSV, or a file with a JSON object in each line, that no other format knows is read by the names of its columns.
`scalelens identify metrics.csv` shows what each column is read as, `scalelens ingest --dry-run` does so for a folder,
and `ingest` prints it once for each header; it also stands in the column `note` of `files`.

Where a name leaves something open, nothing is guessed: the numbers stay `metrics` under their own names.  Say it with

    scalelens ingest metrics.csv --map batch_time=iter_time:ms --map step=it

or once and for all with a preset, a format file of a few lines:

    scalelens identify metrics.csv --preset my_formats/my_metrics.py
    scalelens formats --check my_formats/
    scalelens ingest logs/ --formats my_formats/

Like `--tz`, `--map` has to be said each time: without it the next ingest reads the table again as it would by itself.
A preset takes the files that have exactly its columns, and what was read by guessing is read again.  That of the EPICURE
vision benchmark, `parsers/epicure_vision.py`, is part of the package; its columns are not from a real file, so compare.

A single JSON object that sums up a run is read too: see `run_summary` in [formats.md](formats.md).

"""


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


def test_generic_page(golden) -> None:
    about = (generic_csv.__doc__ or "").split("Source:")[1].partition("\n\n")[2].split("Samples:")[0].strip()
    pages = [
        "# Tables of per-step metrics\n\n",
        PRINTED,
        GENERIC,
        f"## How a table is read\n\n{about}\n\n",
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


def test_every_command_has_help_with_an_example_or_a_sentence() -> None:
    runner = typer.testing.CliRunner()
    for command in app.registered_commands:
        name = (command.name or command.callback.__name__).replace("_", "-")
        result = runner.invoke(app, [name, "--help"])
        assert result.exit_code == 0, name
        assert len(re.sub(r"\W+", " ", result.output)) > 100, name


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
    assert drawn == {"power_over_time", "energy_by_batch", "energy_scaling"} and drawn <= set(charts.load())
