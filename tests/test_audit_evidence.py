"""A finding must be more than a coincidence, and nothing else may explain it."""

import pytest

from scalelens.audit.evidence import needed_of_a_pair
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

SLOWER = """| rows | base (ms) | ours (ms) | ours |
|---|---|---|---|
| 1K | 8.4 | 21.8 | 2.6x |
| 4K | 9.1 | 31.0 | 3.4x |
| 16K | 12.7 | 57.2 | 4.5x |
| 64K | 14.9 | 80.5 | 5.4x |
| 256K | 18.3 | 115.3 | 6.3x |
| 32 | 31.9 | 14.5 | 2.2x slower |
"""
TOTALS = """| set | cases | score |
|---|---|---|
| dates | 147 | 74.1% |
| places | 58 | 45.3% |
| names | 1,320 | 91.2% |
| edges | 30 | 63.3% |
| total | {} | 88.5% |
"""
TRUE = {
    "a quotient the other way round": SLOWER,
    "a total of some rows": TOTALS.format("1,525"),
    "a sum in a list of other times": "The trace took 71.8 ms (User 12.9 ms, System 55.6 ms), as before.\n",
    "a share of another whole": "On one card the best point is 240 W, 68 % of what it may draw, where the other has 280 W.\n",
    "half of a range": "- 96 threads: 8,714 - 8,917 ns (avg: 8,802 ns, variance: 2.3 %)\n",
    "the name of a value": "Worker 0 | epoch 90/140  loss=0.8216  acc=61.72%\n",
    "a proverb": "The axiom gives `False`, and so `2+2=5`.\n",
    "a factor of a factor": "It took 35 ms against a 44.1 ms scan, which turned a 1.6× win into a 0.71× loss.\n",
    "a count of other things": "It cuts the first token from\n**2.315 s to 0.811 s**, and by 81 % across three prompts.\n",
}


@pytest.mark.parametrize("name", sorted(TRUE))
def test_what_may_be_a_coincidence_is_not_accused(name: str) -> None:
    assert not inconsistencies(document_of(TRUE[name], suffix=".md"))


@pytest.mark.parametrize("wrong", ["1,355", "1,655"])
def test_a_total_of_no_rows_is_accused(wrong: str) -> None:
    assert not inconsistencies(document_of(TOTALS.format("1,555"), suffix=".md"))
    assert inconsistencies(document_of(TOTALS.format(wrong), suffix=".md"))


def test_more_digits_are_rarer_by_chance() -> None:
    swapped = "two digits are swapped"
    needed = [needed_of_a_pair(swapped, digits, alike) for digits, alike in ((3, 100), (3, 10), (4, 10))]
    assert needed[0] > needed[1] > needed[2] == 0
