"""Six causes, each generated many times: `compare` and `waterfall` tell them apart, or say nothing.

`-s` prints the table of confusion.
"""

from collections import Counter

import pytest

from generated_jobs import CAUSES, GeneratedJob
from little_warehouse import Row, Warehouse

GROWN = 2.0  # percent of the whole by which a part must have grown to be named

# What `compare_evidence` calls the cause, a piece of its evidence, and the part of `waterfall` that grows.
EXPECTED = {
    "nothing": (None, "", None),
    "gpu": ("gpu", "times as long as its peers", "load balance"),
    "node": ("node", "all ranks of node 3", "load balance"),
    "input": ("input", "the wait for data", "data wait"),
    "throttling": ("throttling", "clock falls by", "slow tail"),
    "allocator": ("allocator", "allocations were retried", "slow tail"),
    "checkpoints": ("periodic", "every 10th step of b takes", "checkpoints"),
}


def compared(warehouse: Warehouse, cause: str, seed: int) -> tuple[list[Row], str | None]:
    """The signs that `compare_evidence` finds, and the part of the waterfall that grew: of the log, else of the trace."""
    for run, slow_for in (("before", "nothing"), ("after", cause)):
        GeneratedJob(run, slow_for, seed).insert(warehouse)
    signs = [row for row in warehouse.ask("FROM compare_evidence(a := 'before', b := 'after')") if row["is_there"]]
    grown = warehouse.column(
        f"""SELECT part FROM waterfall() WHERE part NOT IN ('left', 'rest') GROUP BY source, part
        HAVING sum(if(name = 'after', percent, -percent)) > {GROWN}
        ORDER BY source, sum(if(name = 'after', percent, -percent)) DESC"""
    )
    return signs, grown[0] if grown else None


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 21), marks=pytest.mark.slow)])
def test_each_cause_is_named_and_no_other(seeds: range) -> None:
    named, parts = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    others = 0
    for cause in CAUSES:
        sign, evidence, part = EXPECTED[cause]
        for seed in seeds:
            signs, grown = compared(Warehouse(), cause, seed)
            first = signs[0]["cause"] if signs else None
            named[cause, first] += 1
            parts[cause, grown] += 1
            others += any(row["cause"] != sign for row in signs)
            if first == sign is not None:
                assert evidence in signs[0]["evidence"]
        assert named[cause, sign] >= 0.9 * len(seeds), named
        assert parts[cause, part] >= 0.9 * len(seeds), parts
    assert others <= 0.05 * len(CAUSES) * len(seeds), named
    print(
        *(f"{cause}: {found} {count}" for table in (named, parts) for (cause, found), count in table.items()), sep="\n"
    )


def test_some_device_is_always_the_slowest(warehouse: Warehouse) -> None:
    """Rank 2 computes 1.018 times as long as its peers and is last at each collective: true, and no cause."""
    for run in ("before", "after"):
        GeneratedJob(run, "nothing", seed=4).insert(warehouse)
    [late] = warehouse.ask("FROM outlier_gpus(runs := 'name = ''after''') WHERE verdict = 'late'")
    assert (late["rank"], late["cause"]) == (2, "gpu")
    assert not any(row["is_there"] for row in warehouse.ask("FROM compare_evidence(a := 'before', b := 'after')"))
