"""The last table of each study's page: what the document prints, the command, and what it prints here, row by row.

A row is `what | command | printed | in the document | tolerance`.  A command that asks is run on the study's logs: its
numbers (`measured`, else the last column) are those of the row, and agree with the document's within the tolerance:
`digits` are the digits that the document prints, `0.1 %` is relative, `0.5 s` is not, `shown` is for what the document prints no number
of.  A figure is drawn by a command of the page.  A row without a command says why there is none.
"""

import csv
import io
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.testing

import scalelens
from command_line import app
from conftest import ROOT

STUDIES = ROOT / "docs" / "studies"
PAGES = ("caraml", "epicure", "epicure_systems", "frontier", "pdc", "tamu")
QUICK = ("frontier",)  # whose logs are read within a second


class Row(NamedTuple):
    study: str
    what: str
    command: str  # empty where there is none
    printed: str
    document: str
    tolerance: str


def rows() -> list[Row]:
    found = []
    for study in PAGES:
        _, _, table = (STUDIES / f"{study}.md").read_text().rpartition("\n## Row by row\n")
        for line in re.findall(r"^\| (?!document|-)(.+) \|$", table, re.MULTILINE):
            what, command, *others = (cell.strip() for cell in line.split(" | "))
            found.append(Row(study, what, command.strip("`").replace("\N{EM DASH}", ""), *others))
    return found


ROWS = rows()
ASKED = [row for row in ROWS if row.command and " plot " not in row.command]


@cache
def warehouse_of(study: str, folder: Path) -> Path:
    logs, warehouse = folder / f"{study}-logs", folder / f"{study}-warehouse"
    subprocess.run([sys.executable, STUDIES / f"{study}.py", logs], check=True)
    scalelens.ingest(logs, warehouse=warehouse)
    return warehouse


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study-rows")


def numbers(text: str) -> list[tuple[str, Decimal]]:
    """The numbers of a cell, each with the sign of a bound before it."""
    return [
        (sign, Decimal(number.replace(",", ""))) for sign, number in re.findall(r"([<>≥≤]?) ?(-?\d[\d,]*\.?\d*)", text)
    ]


def half_digit(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(1).scaleb(exponent) / 2 * (1 + Decimal("1e-6"))


def fits(value: Decimal, sign: str, stated: Decimal, tolerance: str) -> bool:
    if sign:
        return {"<": value < stated, ">": value > stated, "≥": value >= stated, "≤": value <= stated}[sign]
    if tolerance.endswith("%"):
        return abs(value / stated - 1) <= Decimal(tolerance.rstrip(" %")) / 100
    if tolerance.endswith(" s"):
        return abs(value - stated) <= Decimal(tolerance.removesuffix(" s"))
    return abs(value - stated) <= half_digit(stated)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row.study}-{row.what}", marks=[pytest.mark.slow] * (row.study not in QUICK))
        for row in ASKED
    ],
)
def test_a_row_is_what_its_command_prints(row: Row, folder: Path) -> None:
    words = shlex.split(row.command)
    assert words.pop(0) == "scalelens"
    warehouse = warehouse_of(row.study, folder)
    ran = typer.testing.CliRunner().invoke(app, [*words, "--format", "csv", "-w", str(warehouse)])
    assert ran.exit_code == 0, ran.output
    answer = list(csv.DictReader(io.StringIO(ran.stdout)))
    column = "measured" if "measured" in answer[0] else [*answer[0]][-1]
    values = [Decimal(line[column]) for line in answer]
    shown = [number for _, number in numbers(row.printed)]
    assert len(values) == len(shown), values
    assert all(abs(value - number) <= half_digit(number) for value, number in zip(values, shown, strict=True)), values
    if row.tolerance != "shown":
        stated = numbers(row.document)
        stated = stated * len(values) if len(stated) == 1 else stated
        assert all(fits(v, sign, s, row.tolerance) for v, (sign, s) in zip(values, stated, strict=True)), values


@pytest.mark.parametrize("study", PAGES)
def test_a_figure_of_the_document_is_drawn_by_a_command_of_the_page(study: str) -> None:
    page = (STUDIES / f"{study}.md").read_text()
    drawn = [row for row in ROWS if row.study == study and " plot " in row.command]
    assert drawn, "each document has figures"
    for row in drawn:
        assert f"$ {row.command}\n" in page, row.what
        assert row.printed in page and row.printed.endswith(".png")


def test_a_row_without_a_command_says_why() -> None:
    without = [row for row in ROWS if not row.command]
    assert without and all(len(row.document.split()) >= 4 for row in without)
    assert {row.study for row in ROWS} == {*PAGES}
    assert all(
        row.tolerance in ("digits", "shown", "\N{EM DASH}") or row.tolerance.endswith((" %", " s")) for row in ROWS
    )


@pytest.mark.parametrize(
    ("value", "sign", "stated", "tolerance", "is_fit"),
    [
        ("23082.94", "", "23,082.9", "digits", True),
        ("23083", "", "23,082.9", "digits", False),
        ("81", "≥", "80", "digits", True),
        ("79", "≥", "80", "digits", False),
        ("27.586", "", "27.60", "0.1 %", True),
        ("27.4", "", "27.60", "0.1 %", False),
        ("24", "", "23.7", "0.5 s", True),
        ("25", "", "23.7", "0.5 s", False),
    ],
)
def test_a_number_agrees_within_its_tolerance(value: str, sign: str, stated: str, tolerance: str, is_fit: bool) -> None:
    ((_, number),) = numbers(stated)
    assert fits(Decimal(value), sign, number, tolerance) is is_fit
