"""Readings that accused true numbers, and a change before its two counts."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

RENDERERS = """
| Renderer | FPS | P99 ms | Peak MiB |
|---|---|---|---|
| fastsplat | 611.40 | 3.15 | 6214 |
| tilegrid | 287.95 | 6.82 | 4318 |
| packed-sort | 243.08 | 17.46 | 4102 |
| plain | 131.72 | 16.09 | 8077 |

{}
"""
ACCURACIES = """
| model | accuracy | correct | pairs |
|---|---:|---:|---:|
| teacher | 0.9251 | 247 | 267 |
| student | 0.8989 | 240 | 267 |
| repaired | 0.9139 | 244 | 267 |
| folded | 0.9139 | 244 | 267 |
"""


def _found(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, "x.md", ".md"))]


def test_a_change_before_its_two_counts_is_held_against_them() -> None:
    text = "The cleanup kept the first copy (net -46 lines, 301 → 255).\n"
    assert _found(text) == []
    assert _found(text.replace("-46", "-64"))


@pytest.mark.parametrize(
    "text",
    [
        # two rows that were measured alike, and a sentence about something else
        RENDERERS.replace("17.46", "6.82").format("In packed-sort 685 tiles are empty."),
        RENDERERS.format("Unlike packed-sort, others stay at 6.82 ms P99."),
        RENDERERS.format("The packed-sort kernel falls from 6.82 ms P99 of tilegrid."),
        # a mean of all rows is no cell of one
        "| layer | ppl | ratio |\n|---|---|---|\n| 5 | 23.400 | 1.076x |\n| 6 | 23.098 | 1.062x |\n| 7 | 23.402 | 1.077x |\n\n"
        "- Mean ppl: 23.093, mean ratio 1.062x of the native one.\n",
        # a fraction and its points
        "| Regime | Mean lift | Stdev |\n|---|---|---|\n| oracle_aug | +0.568 | 0.259 |\n| random_aug | +0.444 | 0.238 |\n\n"
        "The oracle_aug regime has a mean lift of +56.8 pp.\n",
        # two parts around a slash, and a count after two fractions
        "Split: 90k train / 10k validation (10%), by the shuffle.\n",
        "The biggest gain is 0.7622 -> 0.7927 (+5) on the clean set.\n",
        # names and their values in one line
        "  EMAIL   matched=500/500 (100%)  validated=500/500  confidence=0.945\n",
        # each of two arms has these rows
        "| Block | Rows | Tokens |\n|---|---:|---:|\n| shared | 200 | 199,360 each |\n| repair | 60 | 76,953 |\n"
        "| filler | 60 | 28,000 |\n| control | 120 | 104,953 |\n| **total** | **320** | **304,313 each** |\n",
        # wherever one factor is exactly 1, nothing was multiplied
        "| Body | Target | Useful | Rich |\n|---|---|---|---|\n| learned | 0.829 | 0.714 | 0.894 |\n| router | 0.196 | 0.196 | 1.000 |\n"
        "| binder | 1.000 | 0.143 | 0.143 |\n| ungated | 1.000 | 1.000 | 1.000 |\n| repaired | 1.000 | 1.000 | 1.000 |\n",
        # a rate whose work stands beside it
        "| Model | Engine | Goodput (requests/s) | Qualifying | Total | Wall Time (s) |\n|---|---|---|---|---|---|\n"
        "| a | x | 0.2367 | 50 | 50 | 211.3 |\n| b | x | 0.2412 | 50 | 50 | 207.3 |\n| c | x | 0.2793 | 50 | 50 | 179.0 |\n"
        "| d | x | 0.2170 | 100 | 150 | 460.9 |\n| e | x | 0.0843 | 50 | 150 | 593.3 |\n",
        # two of a kind, with numbers of their own
        "- **Target**: 99.9% (43.8 minutes of downtime a month)\n- **Stretch**: 99.99% (4.38 minutes of downtime a month)\n",
        # three counts, and what they stand for
        "The regime of this round (48 train / 32 valid / 96 step = 2 epoch) is the last.\n",
        # another usual size
        "| Mode | Context | Suffix | Peak (GB) |\n|---|---|---|---|\n| full | 16,384 | 512 | 101.9 |\n"
        "| suffix | 4,096 | 2,048 | 85.7 |\n| long | 65,536 | 1,024 | 87.1 |\n\n"
        "The suffix test at 20,480 tokens of the 4,096 mode failed later.\n",
        # the next point of a grid
        "The scan supports a clear resonance at the 3.875 GHz grid point.\n\nThe scan supports a clear resonance at the 3.876 GHz grid point.\n",
        # some passed, all would be another accuracy
        ACCURACIES.replace("| folded | 0.9139 | 244 | 267 |", "| folded | 0.7154 | 244 | 267 |"),
    ],
)  # fmt: skip
def test_these_are_not(text: str) -> None:
    assert _found(text) == []


def test_a_share_in_brackets_after_a_step_is_no_name_of_a_step() -> None:
    document = document_of("Fused work takes 1.960 ms per step (19.6% of 10.0 ms).\n", "x.md", ".md")
    assert [number.text for number in document.numbers] == ["1.960", "19.6", "10.0"]
