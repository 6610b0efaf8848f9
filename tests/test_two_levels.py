"""Two levels that a run went between a few times: no interval is claimed, and nothing else loses its interval."""

import numpy as np
import numpy.typing as npt
import pytest

from little_warehouse import Warehouse
from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.medians import median_intervals
from scalelens.statistics.two_levels import changes_of_level
from simulated_series import two_modes

Values = npt.NDArray[np.float64]
NOISE = 0.01 * np.random.default_rng(1).standard_normal(200)


def of(values: Values) -> int | None:
    return changes_of_level(values, np.sort(values))


@pytest.mark.parametrize(
    ("levels", "changes"),
    [
        (np.repeat([1.0, 2.0], [90, 110]), 1),
        (np.repeat([1.0, 2.0, 1.0], [150, 20, 30]), 2),
        (np.repeat([2.0, 1.0], [10, 190]), 1),  # also where the long level is slower
        (np.repeat([1.0, 2.0], [196, 4]), None),  # a hiccup
        (np.tile(np.repeat([1.0, 2.0], [15, 5]), 10), None),  # often enough to tell
        (np.tile(np.repeat([1.0, 2.0], [19, 1]), 10), None),  # slow steps, no level
        (np.ones(200), None),
    ],
)
def test_by_hand(levels: Values, changes: int | None) -> None:
    assert of(levels + NOISE) == changes


def test_one_level_has_none() -> None:
    random = np.random.default_rng(2)
    for values in (
        random.standard_normal((200, 100)),
        random.pareto(1.5, (200, 100)),
        random.random((200, 100)).round(1),
    ):
        assert all(of(row) is None for row in values)
    assert of(np.ones(3)) is None and of(np.array([])) is None


@pytest.mark.parametrize(("n", "stay", "at_most"), [(100, 20, 0.06), (300, 50, 0.05), (1000, 200, 0.06)])
def test_few_intervals_miss(n: int, stay: float, at_most: float) -> None:
    """Of series that change about five times; 9, 8 and 17 % without this.  Those that miss showed one level only."""
    process = two_modes(0.5, 0.05, stay)
    series = process.make(np.random.default_rng(n), 400, n)
    found = in_blocks(median_intervals, list(series), lambda values: (len(values), True))
    missed = [
        one is not None and one.kind == "ci95" and not (one.low or 0) <= process.median <= (one.high or 0)
        for one in found
    ]
    assert np.mean(missed) <= at_most


def test_the_answer_says_so(warehouse: Warehouse) -> None:
    warehouse.run("two", (np.repeat([2.0, 1.0], [15, 185]) + NOISE).tolist())
    warehouse.run("one", (1 + NOISE).tolist())
    rows = {row["run_id"]: row for row in warehouse.ask("FROM batch_stats()")}
    assert set(rows) == {"two", "one"}
    assert rows["two"]["interval_kind"] == "range"
    assert rows["two"]["note"].startswith("two levels, changed once in 198 records: too few to tell")
    assert rows["one"]["interval_kind"] == "ci95"
    assert rows["one"]["note"] == "a change that comes less often than every 66 records may not be in the interval"
