"""Tables for people: the columns that matter, in one block, at any width.

A golden `fixtures/glance/<query>_<width>.txt` is what a terminal of that width shows of the little warehouse.
"""

import io
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from little_warehouse import FIXTURES, MEMBERS_OF_RUNS, QUERIES, Warehouse
from scalelens.cli import output
from scalelens.database.ask import answer
from scalelens.report.glance import Block, Shown, blocks, decimals_of, fitted, shortened

GOLDENS = Path(__file__).parent / "fixtures" / "glance"
SHOWN = sorted(name for name, query in QUERIES.items() if query.glance)


@pytest.mark.parametrize("name", SHOWN)
def test_glance_names_columns_of_the_query(name: str) -> None:
    columns = {column.name for column in QUERIES[name].columns}
    assert {word.removesuffix("%") for word in QUERIES[name].glance} <= columns


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", ["batch_stats", "energy_efficiency", "runs_overview", "scaling"])
def test_printed_table(
    warehouse: Warehouse, name: str, width: int, monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    for path in sorted((FIXTURES / "tables").glob("*.csv")):
        warehouse.connection.execute(f"INSERT INTO {path.stem} BY NAME FROM read_csv('{path}', nullstr = '')")
    warehouse.connection.execute(MEMBERS_OF_RUNS)
    rows = answer(warehouse.connection, f"FROM {name}()")
    text = printed(rows, name, width, monkeypatch)
    golden(text, GOLDENS / f"{name}_{width}.txt")
    assert max(map(len, text.splitlines())) <= width


def printed(rows: pl.DataFrame, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    monkeypatch.setattr(output, "Console", lambda **_: console)
    monkeypatch.setattr(output, "errors", console)
    units = {column.name: column.unit for column in QUERIES[name].columns}
    output.show_at_a_glance(rows, QUERIES[name].glance, units, {})
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def one_block(rows: pl.DataFrame, *names: str, unit: str | None = "s") -> Block:
    (only,) = blocks(rows, names, dict.fromkeys(rows.columns, unit), {"r1": "first", "r2": "second"})
    return only


def test_intervals_stand_beside_the_value() -> None:
    rows = pl.DataFrame({
        "run_id": ["r1", "r2", "r3", "r4"], "step_s": [346.7, 180.8, 200.0, None], "step_s_low": [345.5, 180.0, 199.9, None],
        "step_s_high": [347.9, 183.0, 210.0, None], "interval_kind": ["ci95", "range", "ci95", None],
    })  # fmt: skip
    columns = one_block(rows, "run_id", "step_s").columns
    assert columns[0].texts == ["first", "r3", "r4", "second"]
    assert columns[1] == Shown(
        "step_s", "step [s]", ["346.7 ± 1.2", "200.0 (199.9 – 210.0)", "", "180.8 (range 180.0 – 183.0)"], True
    )


def test_units_are_those_of_the_middle() -> None:
    rows = pl.DataFrame({"n": [1, 2, 3], "step_s": [0.0101, 0.0112, 0.0123], "share": [0.5, 0.25, 1.0]})
    _, step, share = one_block(rows, "n", "step_s", "share%").columns
    assert (step.header, step.texts) == ("step [ms]", ["10.10", "11.20", "12.30"])
    assert (share.header, share.texts) == ("share [%]", ["50.0", "25.0", "100.0"])


def test_what_all_rows_share_is_the_heading_and_equal_rows_fold() -> None:
    rows = pl.DataFrame({"model": ["a", "a", "b"], "system": ["lumi"] * 3, "devices": [8, 8, 8], "nodes": [1, 1, 2]})
    given = one_block(rows, "model", "system", "devices", "nodes", unit=None)
    assert given.heading == "lumi · devices 8"
    assert [column.texts for column in given.columns] == [["a", "b"], ["1", "2"], ["×2", ""]]


def test_remarks_stand_below() -> None:
    rows = pl.DataFrame({"devices": [1, 2, 4], "warning": [None, "a stall", "a stall"]})
    assert one_block(rows, "devices", "warning", unit=None).remarks == {"a stall": ["2", "4"]}


@given(st.lists(st.text("abc/-_", max_size=40), min_size=1, max_size=6), st.integers(20, 120))
def test_a_block_fits_any_width(texts: list[str], width: int) -> None:
    columns = [Shown(f"column{k}", f"column{k}", [text, "x" * (k % 30)], k % 2 == 0) for k, text in enumerate(texts)]
    fitting, dropped = fitted(Block("", columns, {}), width)
    widths = [max(len(column.header), *map(len, column.texts)) for column in fitting.columns]
    assert sum(widths) + 2 * max(len(widths) - 1, 0) <= width or len(widths) <= 1
    assert [*(column.name for column in fitting.columns), *dropped] == [column.name for column in columns]


@given(st.lists(st.floats(1e-6, 1e9), min_size=1))
def test_numbers_of_a_column_keep_four_digits_or_the_largest_keeps_six(sizes: list[float]) -> None:
    decimals = decimals_of(sizes, 6)
    assert decimals == 0 or len(f"{max(sizes):.{decimals}f}") <= 8
    assert decimals >= min(3 - math.floor(math.log10(max(sizes))), 0)


@given(st.text(min_size=1), st.integers(3, 30))
def test_a_text_loses_its_middle(text: str, room: int) -> None:
    short = shortened(text, room)
    assert len(short) <= room
    assert short == text or (short[0] == text[0] and short[-1] == text[-1] and "…" in short)
