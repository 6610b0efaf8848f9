"""Tables for people: the columns that matter, in one block, at any width.

A golden `fixtures/glance/<query>_<width>.txt` is what a terminal of that width shows of the little warehouse.
"""

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from little_warehouse import (
    MEMBERS_OF_RUNS,
    QUERIES,
    Warehouse,
    empty_warehouse,
    insert,
    rows_of_the_goldens,
)
from scalelens.cli import terminal_tables
from scalelens.database.execute import frame as answer
from scalelens.queries.header import QueryColumn
from scalelens.report.columns import LONG, Columns
from scalelens.report.glance import GlanceBlock, blocks, first_rows, fitted, shortened
from scalelens.report.text.table_columns import TableColumn, decimals_of

GOLDENS = Path(__file__).parent / "fixtures" / "glance"
PRINTED = [
    "batch_stats", "cost_of_work", "elbow", "energy_efficiency", "epoch_times", "exclusions", "kernel_summary", "mfu",
    "outlier_gpus", "runs_overview", "scaling", "temporal_breakdown", "throughput",
]  # fmt: skip
SHOWN = sorted(name for name, query in QUERIES.items() if query.glance)


@pytest.mark.parametrize("name", SHOWN)
def test_glance_names_columns_of_the_query(name: str) -> None:
    columns = {column.name for column in QUERIES[name].columns}
    assert {word.rstrip("%~") for word in QUERIES[name].glance} <= columns


@pytest.mark.parametrize("name", sorted(name for name, query in QUERIES.items() if not query.is_helper))
def test_what_people_ask_has_a_glance(name: str) -> None:
    assert QUERIES[name].glance


@pytest.fixture(scope="module")
def filled() -> Iterator[Warehouse]:
    """The rows of the goldens, which no test here changes."""
    warehouse = Warehouse(empty_warehouse())
    for table, rows in rows_of_the_goldens().items():
        insert(warehouse.connection, table, rows)
    warehouse.connection.execute(MEMBERS_OF_RUNS)
    yield warehouse
    warehouse.connection.close()


@pytest.mark.parametrize("name", PRINTED)
def test_printed_table(filled: Warehouse, name: str, monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    rows = answer(filled.connection, f"FROM {name}()")
    for width in (80, 120, 200):
        text = printed(rows, name, width, monkeypatch)
        golden(text, GOLDENS / f"{name}_{width}.txt")
        assert max(map(len, text.splitlines())) <= width


def printed(rows: pl.DataFrame, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    monkeypatch.setattr(terminal_tables, "results", lambda: console)
    monkeypatch.setattr(terminal_tables, "errors", console)
    columns = {column.name: column for column in QUERIES[name].columns}
    terminal_tables.show_at_a_glance(Columns(rows.to_arrow()), QUERIES[name].glance, columns, {})
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("width", [80, 100])
def test_the_answer_is_seen_on_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"series": "gpt-175b · bf16 · strong (global batch 1024)", "devices": 128, "nodes": 16, "n_runs": 3,
           "n_steps": 240, "step_s": 346.7, "step_s_low": 346.1, "step_s_high": 347.3, "interval_kind": "range",
           "tflops_per_device": 67.0, "speedup": 1.0, "efficiency": 1.0, "samples_per_s": 2.95, "note": None}  # fmt: skip
    other = {
        "devices": 256,
        "nodes": 32,
        "n_runs": 2,
        "n_steps": 99,
        "step_s": 180.8,
        "speedup": 1.92,
        "efficiency": 0.959,
    }
    text = printed(pl.DataFrame([row, row | other]), "scaling", width, monkeypatch)
    assert "efficiency [%]" in text and "95.9" in text


def test_columns_that_are_compared_have_one_unit() -> None:
    rows = pl.DataFrame({"run": ["a", "b"], "before_s": [0.18, 0.15], "after_s": [0.3, 0.4], "rest_s": [0.001, 0.002]})
    block = one_block(rows, "run", "before_s", "after_s", "rest_s")
    assert [column.header for column in block.columns] == ["run", "before [s]", "after [s]", "rest [ms]"]


def test_names_say_the_unit_of_columns_that_no_query_documents() -> None:
    rows = pl.DataFrame(
        {"run": ["a", "b"], "slowest_s": [1.5, 2.5], "samples_per_s": [1.5, 2.5], "percent": [1.0, 2.0]}
    )
    (block,) = blocks(Columns(rows.to_arrow()), rows.columns, {}, {})
    assert [column.header for column in block.columns] == ["run", "slowest [s]", "samples/s", "share [%]"]


def test_sums_of_whole_numbers_are_numbers() -> None:
    sums = pl.Series([3_000_000, 5_000_000], dtype=pl.Decimal(38, 0))
    rows = pl.DataFrame({"run": ["a", "b"], "total_ns": sums, "longest_ns": [1_000_000, 2_000_000], "n_rows": sums})
    (block,) = blocks(Columns(rows.to_arrow()), rows.columns, {}, {})
    assert [column.header for column in block.columns] == ["run", "total [ms]", "longest [ms]", "rows"]
    assert [column.texts for column in block.columns][1:] == [["3", "5"], ["1", "2"], ["3000000", "5000000"]]


def one_block(rows: pl.DataFrame, *names: str, unit: str | None = "s") -> GlanceBlock:
    columns = {name: QueryColumn(name, "", unit, "") for name in rows.columns}
    (only,) = blocks(Columns(rows.to_arrow()), names, columns, {"r1": "first", "r2": "second"})
    return only


def test_intervals_stand_beside_the_value() -> None:
    rows = pl.DataFrame({
        "run_id": ["r1", "r2", "r3", "r4"], "step_s": [346.7, 180.8, 200.0, None], "step_s_low": [345.5, 180.0, 199.9, None],
        "step_s_high": [347.9, 183.0, 210.0, None], "interval_kind": ["ci95", "range", "ci95", None],
    })  # fmt: skip
    columns = one_block(rows, "run_id", "step_s").columns
    assert columns[0].texts == ["first", "r3", "r4", "second"]
    assert columns[1] == TableColumn(
        "step_s", "step [s]", ["346.7 ± 1.2", "200.0 (199.9 – 210.0)", "", "180.8 (range 180.0 – 183.0)"], True
    )


def test_units_are_those_of_the_middle() -> None:
    rows = pl.DataFrame({"n": [1, 2, 3], "step_s": [0.0101, 0.0112, 0.0123], "share": [0.5, 0.25, 1.0]})
    _, step, share = one_block(rows, "n", "step_s", "share%").columns
    assert (step.header, step.texts) == ("step [ms]", ["10.10", "11.20", "12.30"])
    assert (share.header, share.texts) == ("share [%]", ["50.0", "25.0", "100.0"])


def test_times_of_traces_and_bytes_have_units_that_people_read() -> None:
    rows = pl.DataFrame({"n": [1, 2], "busy_ns": [2_500_000, 1_500_000]})
    assert one_block(rows, "n", "busy_ns", unit="ns").columns[1] == TableColumn(
        "busy_ns", "busy [ms]", ["2.500", "1.500"], True
    )
    rows = pl.DataFrame({"n": [1, 2], "message_bytes": [2_000_000, 64_000_000]})
    assert one_block(rows, "n", "message_bytes", unit="bytes").columns[1].texts == ["2", "64"]


def test_what_all_rows_share_is_the_heading() -> None:
    rows = pl.DataFrame({"model": ["a", "b"], "system": ["lumi"] * 2, "devices": [8, 8], "attempt": [0, 0]})
    given = one_block(rows, "model", "system", "devices", "attempt", unit=None)
    assert given.heading == "lumi · devices 8"
    assert [column.texts for column in given.columns] == [["a", "b"]]


def test_rows_that_differ_in_nothing_shown_are_one() -> None:
    rows = pl.DataFrame({"model": ["a", "b", "a"], "nodes": [1, 2, 1], "loss": [0.1, 0.2, 0.3]})
    given, dropped = fitted(one_block(rows, "model", "nodes", "loss", unit=None), 18)
    assert [column.texts for column in given.columns] == [["a", "b"], ["1", "2"], ["×2", ""]]
    assert dropped == ["loss"]


def test_marked_columns_show_their_range() -> None:
    rows = pl.DataFrame({
        "run_id": ["r1", "r2", "r3", "r4"], "model": ["bert"] * 3 + ["ssd"], "step_s": [0.25, None, 0.3, 0.5],
        "outcome": ["a", "b", "a", "a"],
    })  # fmt: skip
    given = one_block(rows, "model", "step_s~", "outcome~")
    assert [(column.header, column.texts) for column in given.columns] == [
        ("model", ["bert", "ssd"]), ("n", ["3", "1"]), ("step [s]", ["0.2500 – 0.3000", "0.5000"]),
        ("outcome", ["a and 1 more", "a"]),
    ]  # fmt: skip


def test_rows_of_a_run_stand_below_its_name_wherever_they_were() -> None:
    rows = pl.DataFrame(
        {"run_id": ["r2", "r1"] * 3, "rank": [0, 1, 2, 3, 4, 5], "share": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]}
    )
    columns = {name: QueryColumn(name, "", None, "") for name in rows.columns}
    second, first = blocks(
        Columns(rows.to_arrow()), ("run_id", "rank", "share%"), columns, {"r1": "first", "r2": "second"}
    )
    assert (second.heading, first.heading) == ("second", "first")
    assert [column.texts for column in second.columns] == [["0", "2", "4"], ["0.0", "20.0", "40.0"]]
    assert [column.texts for column in first.columns] == [["1", "3", "5"], ["10.0", "30.0", "50.0"]]


def test_of_each_run_the_first_rows_are_shown() -> None:
    rows = pl.DataFrame({"run_id": [f"r{k % 3}" for k in range(60)], "rank": range(60)})
    shown = first_rows(Columns(rows.to_arrow()), ("run_id", "rank"), 30)
    assert shown["run_id"] == [*["r0"] * 10, *["r1"] * 10, *["r2"] * 10]
    assert first_rows(Columns(rows.to_arrow()), ("rank",), 30).height == 30


def test_an_interval_without_a_kind_is_what_the_header_says() -> None:
    rows = pl.DataFrame({"n": [1], "gain": [2.0], "gain_low": [1.5], "gain_high": [2.5]})
    columns = {name: QueryColumn(name, "", None, "lower end of its 95 % interval") for name in rows.columns}
    (sure,) = blocks(Columns(rows.to_arrow()), ("n", "gain"), columns, {})
    assert sure.columns[1].texts == ["2.000 ± 0.500"]
    assert one_block(rows, "n", "gain").columns[1].texts == ["2.000 (range 1.500 – 2.500)"]


def test_small_probabilities_and_zeros_have_no_odd_signs() -> None:
    rows = pl.DataFrame({"n": [1, 2, 3], "q": [1e-9, 0.25, None], "difference": [-1e-9, 0.5, 0.25]})
    _, q, difference = one_block(rows, "n", "q", "difference%").columns
    assert q.texts == ["<0.001", "0.250", ""]
    assert difference.texts == ["0.0", "50.0", "25.0"]


def test_remarks_stand_below() -> None:
    rows = pl.DataFrame({"devices": [1, 2, 4], "note": [None, "a stall", "a stall"]})
    assert one_block(rows, "devices", "note", unit=None).remarks == {"a stall": ["2", "4"]}


def test_rows_with_nothing_but_a_name_that_a_remark_gives_are_left_out() -> None:
    told = pl.DataFrame({"run": ["a", "b"], "verdict": ["unknown"] * 2, "note": ["one device", "one rank"]})
    block = one_block(told, "run", "verdict", "note", unit=None)
    assert (block.heading, block.columns) == ("verdict unknown", [])
    untold = told.with_columns(note=pl.Series(["one device", None]))
    assert [column.texts for column in one_block(untold, "run", "verdict", "note", unit=None).columns] == [["b"]]


def test_a_row_is_left_out_only_where_its_name_is_read_before_a_remark() -> None:
    common = pl.DataFrame({"run": list("ab"), "outcome": ["error"] * 2, "note": ["guessed; it broke", "guessed"]})
    (column,) = one_block(common, "run", "outcome", "note", unit=None).columns
    assert column.texts == ["b"], "a remark about all rows names none"
    many = pl.DataFrame({"run": list("abcdef"), "note": ["guessed"] * 4 + ["it broke"] * 2})
    (column,) = one_block(many, "run", "note", unit=None).columns
    assert column.texts == list("abcd"), "before a remark about four rows stands their number"


def test_sentences_that_differ_in_their_number_are_one() -> None:
    rows = pl.DataFrame(
        {"run": ["a", "b", "c"], "note": ["7 records are few; a stall", "9 records are few", "a stall"]}
    )
    remarks = one_block(rows, "run", "note", unit=None).remarks
    assert remarks == {"7 – 9 records are few": ["a", "b"], "a stall": ["a", "c"]}


def test_long_names_leave_room_for_the_numbers() -> None:
    """Names are cut where they still differ; a model that takes much room all the same goes before the numbers."""
    models = [f"a_family_of_models_{size}m_with_a_block_of_its_own" for size in (436, 447)]
    rows = pl.DataFrame({"run": ["a", "b"], "model": models, "devices": [4, 8], "step_s": [2.5, 4.5]})
    whole = one_block(rows, "run", "model", "devices", "step_s", unit=None)
    fitting, dropped = fitted(whole, 45)
    assert not dropped
    assert [column.texts for column in fitting.columns][1] == ["a_family_of_models_43…wn", "a_family_of_models_44…wn"]
    fitting, dropped = fitted(whole, 40)
    assert dropped == ["model"]
    assert [column.name for column in fitting.columns] == ["run", "devices", "step_s"]


@given(st.lists(st.text("abc/-_", max_size=40), min_size=1, max_size=6), st.integers(20, 120))
def test_a_block_fits_any_width(texts: list[str], width: int) -> None:
    columns = [
        TableColumn(f"column{k}", f"column{k}", [text, "x" * (k % 30)], k % 2 == 0) for k, text in enumerate(texts)
    ]
    fitting, dropped = fitted(GlanceBlock("", columns, {}, 2), width)
    widths = [max(len(column.header), *map(len, column.texts)) for column in fitting.columns]
    assert sum(widths) + 2 * max(len(widths) - 1, 0) <= width or len(widths) <= 1
    assert [*(column.name for column in fitting.columns if column.name), *dropped] == [
        column.name for column in columns
    ]


def test_names_that_differ_behind_hundreds_of_characters_are_still_shown() -> None:
    names = ["kernel<" + 200 * "a" + end + 200 * "a" + ">" for end in "xy"]
    fitting, dropped = fitted(GlanceBlock("", [TableColumn("name", "name", names, False)], {}, 2), 100)
    assert [column.name for column in fitting.columns] == ["name"] and not dropped


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


@pytest.mark.parametrize("n_rows", [0, 1, 50, LONG + 50])
def test_rows_of_arrow_are_those_of_polars(n_rows: int) -> None:
    chance = np.random.default_rng(n_rows)
    frame = pl.DataFrame({
        "run_id": pl.Series([f"r{k}" for k in chance.integers(3, size=n_rows)], dtype=pl.String),
        "rank": pl.Series(range(n_rows), dtype=pl.Int64),
        "sum": pl.Series(chance.integers(100, size=n_rows)).cast(pl.Decimal(38, 1)),
        "ends": pl.Series([[k, None] for k in range(n_rows)], dtype=pl.List(pl.Int64)),
        "ts": pl.Series(range(n_rows), dtype=pl.Int64).cast(pl.Datetime("ns")),
    })  # fmt: skip
    rows = Columns(frame.to_arrow())

    def same(some: Columns, expected: pl.DataFrame) -> None:
        assert (some.columns, some.height) == (expected.columns, expected.height)
        assert {name: some[name] for name in some.columns} == expected.to_dict(as_series=False)

    same(rows, frame)
    same(rows.head(7), frame.head(7))
    same(rows.with_floats(), frame.with_columns(pl.col("sum").cast(pl.Float64)))
    same(rows.without(("rank", "nowhere")), frame.drop("rank"))
    groups = [rows.at(places) for places in rows.indexes_by("run_id")]
    for group, expected in zip(groups, frame.partition_by("run_id", maintain_order=True), strict=True):
        same(group, expected)
        last = range(group.height - 1, -1, -3)
        same(group.at(last).head(5), expected[[*last]].head(5))
    assert [name for name in rows.columns if rows.is_number(name)] == ["rank", "sum"]
    assert [name for name in rows.columns if rows.is_text(name)] == ["run_id"]
