"""What must not matter does not: the order of rows; and times k times as long change every number as they must."""

import atexit
import re
from functools import cache

import numpy as np
import pytest

from little_warehouse import FIXTURES, QUERIES, TABLES, Row, Warehouse, empty_warehouse, fill_catalogs, little_warehouse
from oracles_of_comparisons import COMPARED
from random_study import fill, random_study
from scalelens.database.connect import plan_quickly
from scalelens.queries.header import QueryColumn
from spread import spread
from test_queries import ADDED, as_csv
from test_queries import ARGUMENTS as OF_GOLDENS

TOPICS = ("steps", "scaling", "throughput", "compare", "accuracy")
ARGUMENTS = {  # of queries that say nothing without them, or that take more
    "compare": COMPARED, "compared_runs": COMPARED, "compare_evidence": COMPARED, "next_runs": COMPARED,
    "independent_values": COMPARED, "two_sides": COMPARED, "mfu": "formula := '6N'",
}  # fmt: skip
NOT_HERE = {
    "logged_warmup": "the study has no warm-up that a log names: test_queries",
    "plain_runs": "the runs of the study have epochs: test_plain_runs",
    "runs_in_order": "the study has the times of steps alone: test_plain_runs",
    "rates_logged": "the runs of the study log times: test_scaling",
    "not_compared": "runs that are in no series: test_alike",
    "mlperf_scores": "MLPerf's results alone: test_mlperf",
    "time_to_train": "the study logs steps, not whole trainings: test_mlperf",
    "collective_benchmarks": "rows of a table as they are: test_collectives",
    "inspected_collectives": "records of NCCL's Inspector alone: its golden, and test_rows_of_the_little_warehouse",
    "compared_traces": "traces, whose times are whole nanoseconds: test_compare_evidence",
    "implausible_rates": "rates that a log prints: test_implausible_reports",
    "repeat_commands": "command lines, no numbers: test_compare",
}
LOGARITHMS = {"a_mean", "b_mean", "ratio", "ratio_low", "ratio_high", "level", "slowdown", "slowdown_low",
    "slowdown_high", "between_runs", "within_runs", "p_value"}  # fmt: skip
POWERS = {  # where the unit of a column does not say it
    "device_hours": 1, "money": 1, "run_value": 1, "low": 1, "high": 1, "level": 1, "a_mean": 1, "b_mean": 1,
    "mfu": -1, "mfu_low": -1, "mfu_high": -1, "hfu": -1,
}  # fmt: skip
BY_LOGARITHMS = {"forecast", "noise"}  # all of their numbers
OF_ORDER = {"runs_in_order", "logged_steps"}  # they tell it: test_plain_runs
FIXED = {f"{kind}_tflops" for kind in ("peak", "fp32", "tf32", "fp16", "bf16", "fp8")}  # of the catalog
OF_UNIT = {"s": 1, "samples/s": -1, "tokens/s": -1, "TFLOP/s": -1, "GFLOP/s/W": -1}
ASKED = [name for name, query in QUERIES.items() if query.topic in TOPICS and name not in NOT_HERE]


def power(column: QueryColumn) -> int:
    """Of the factor, by which a column changes."""
    return 0 if column.name in FIXED else POWERS.get(column.name, OF_UNIT.get(column.unit, 0))


def asked(warehouse: Warehouse, name: str, arguments: str) -> list[Row]:
    ordered = "" if re.search(r"^ORDER BY", QUERIES[name].sql, re.MULTILINE) else "ORDER BY ALL"
    return warehouse.ask(f"FROM {name}({arguments}) {ordered}")


@cache
def filled(order: int | None, factor: float) -> Warehouse:
    """A study in a warehouse of its own, which all questions about it share."""
    rng = None if order is None else np.random.default_rng(order)
    return fill(random_study(3, factor), rng, empty_warehouse())


atexit.register(filled.cache_clear)


@cache
def answer(name: str, order: int | None = None, factor: float = 1.0) -> list[Row]:
    return asked(filled(order, factor), name, ARGUMENTS.get(name, ""))


def test_each_query_is_asked_or_named() -> None:
    assert {name for name in NOT_HERE if QUERIES[name].topic in TOPICS} == set(NOT_HERE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("order", [1, 2])
def test_rows_in_another_order_give_the_same_answer(name: str, order: int) -> None:
    assert answer(name, order) == answer(name)


def shuffle(little: Warehouse) -> None:
    """Rows in another order, read by the plans of a large warehouse: neither changes an answer."""
    plan_quickly(little.connection, is_little=False)
    for table in TABLES:
        little.connection.execute(f"CREATE OR REPLACE TEMP TABLE shuffled AS FROM {table} ORDER BY hash(rowid + 1)")
        little.connection.execute(f"DELETE FROM {table}")
        little.connection.execute(f"INSERT INTO {table} FROM shuffled")


def restore(little: Warehouse) -> None:
    """What the next test finds as it was."""
    plan_quickly(little.connection, is_little=True)
    fill_catalogs(little.connection)


@pytest.mark.parametrize("name", spread(set(QUERIES) - OF_ORDER, str, "another order", share=8))
def test_rows_of_the_little_warehouse_in_another_order_give_the_golden(name: str) -> None:
    little = little_warehouse()
    ADDED.get(name, lambda warehouse: None)(little)
    shuffle(little)
    answer = as_csv(asked(little, name, OF_GOLDENS.get(name, "")), QUERIES[name])
    restore(little)
    assert answer == (FIXTURES / f"{name}.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", spread(ASKED, str, "times k", share=5))
@pytest.mark.parametrize("factor", [8.0, *(pytest.param(factor, marks=pytest.mark.slow) for factor in (7.0, 2.0**-10))])
def test_times_k_in_another_order_change_numbers_as_they_must(name: str, factor: float) -> None:
    """By a power of two exactly, but what goes through logarithms; by 7 to 1e-12."""
    before, after = answer(name), answer(name, 1, factor)
    assert len(after) == len(before) > 0
    is_exact = float(np.log2(factor)).is_integer()
    for column in QUERIES[name].columns:
        by = factor ** power(column)
        for old, new in zip(before, after, strict=True):
            a, b = old[column.name], new[column.name]
            if isinstance(a, float) or (isinstance(a, list) and column.type == "DOUBLE[]"):
                expected = np.multiply(by, a).tolist()
                is_rounded = column.name in LOGARITHMS or name in BY_LOGARITHMS
                close = 0 if is_exact and not is_rounded else 1e-12
                assert b == pytest.approx(expected, rel=close, abs=close / 10), column.name
            elif isinstance(a, str) and isinstance(b, str):
                assert masked(b) == masked(a), column.name
            else:
                assert b == a, column.name


def masked(text: str) -> str:
    """Numbers in words change with the times."""
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", text)
