"""Numbers that two sentences give, or a sentence and a cell with words, where one of them was copied with a slip."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.prose import copied
from scalelens.audit.reading import document_of

TEXT = """# Routing for a small decoder

The gated router lowers the validation loss on the held-out shards to 3.187 after two epochs.
We keep 81.4% of the tokens with 27.9 experts on average, while the ungated baseline drops them.
Plain top-2 routing needs 46.3 GB per card during the backward pass of the longest documents.

| question          | answer                                                 | state |
|-------------------|--------------------------------------------------------|-------|
| spilled registers | none; occupancy is 58.7% for the packed scatter kernel | done  |
| cold start        | about 12.6 s with the warm tokenizer cache             | done  |
| checkpoints       | written to the shared disk                             | open  |

## Discussion

On the held-out shards, the validation loss of the gated router is 3.187.
The router keeps 81.4% of the tokens with 27.9 experts on average.
With top-2 routing, the backward pass needs 46.3 GB per card for the longest documents.
Occupancy of the packed scatter kernel was measured as 58.7% by the profiler.
A cold start with the warm tokenizer cache takes 12.6 s.
"""


def _found(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, "x.md", ".md"))]


def _copied(text: str) -> list[str]:
    return [finding.sentence for finding in copied.find(document_of(text, "x.md", ".md"))]


def test_what_both_places_give_alike_is_not_accused() -> None:
    assert _found(TEXT) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("is 3.187", "is 3.817"),
        ("is 3.187", "is 31.87"),
        ("with 27.9 experts on average.", "with 21.9 experts on average."),
        ("needs 46.3 GB per card for", "needs 64.3 GB per card for"),
        ("needs 46.3 GB per card for", "needs 463 GB per card for"),
        ("as 58.7%", "as 57.8%"),
        ("as 58.7%", "as 5.87%"),
        ("about 12.6 s", "about 21.6 s"),
    ],
)
def test_a_slip_in_one_of_them_is_found(right: str, wrong: str) -> None:
    assert len(_found(TEXT.replace(right, wrong))) == 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("is 3.187", "is 3.188"),  # rounded
        ("is 3.187", "is at most 3.817"),
        ("is 3.187", "is 3.817 ms"),
        ("as 58.7%", "as 59.2%"),
    ],
)
def test_another_number_is_none(right: str, wrong: str) -> None:
    assert _copied(TEXT.replace(right, wrong)) == []


def test_a_number_that_stands_elsewhere_too_is_none() -> None:
    assert _copied(TEXT.replace("is 3.187", "is 3.817") + "\nIts loss was 3.817 before.\n") == []


def test_two_sentences_with_numbers_of_their_own_tell_of_two_runs() -> None:
    text = TEXT.replace("two epochs", "19 epochs of 352 steps").replace("is 3.187", "is 3.817 at 47 of 961 steps")
    assert _copied(text) == []


def test_records_of_one_form_are_two_measurements() -> None:
    text = "- gated router, held-out shards: 3.187 nats\n- gated router, held-out shards: 3.817 nats\n"
    assert _copied(text) == []


OTHERS = (
    "| suite | plain | fused | share |\n|---|---|---|---|\n| rust | 41/914 | 29/914 | 50/914 (5.47%) |\n\n"
    "The declaration coverage of the rust suite is higher by 5.43 percentage points.\n",
    "| run | packed | P50 (ms) | P95 (ms) |\n|---|---|---|---|\n| plain | no | 1,447 | 1,914 |\n"
    "| packed | yes | 1,941 | 3,110 |\n\nThe packed P50 of 1,941 ms is higher than that of the plain run.\n",
    "The combined arm gave 61.15 against 68.57, and its best repetition (64.48) is below the worst of the "
    "plain arm (68.52).\n",
    "The first kernel is faster, while nb=1 measured 10% slower on the new path (263 to 289 us).\n",
    "The mean error dropped by 4.3% from the random split to the strict one (0.913 vs 0.870).\n",
    "With more data, the best error rate improved from 66.91% to 56.74%, a 10.2 pp gain.\n",
    "Parity misses by 0.7pp (87.9% vs 93.6%).\n",
    "Efficiency: 1,471,107,791 / 468 = 3,142,238 events/J\n",
    "All cases: 3,000,000 messages x 218 bytes average = 623.0 MB in total.\n",
    "| phase | P50 (ms) | P95 (ms) | P99 (ms) |\n|---|---|---|---|\n| route | 0.0031 | 0.0042 | 0.0038 |\n"
    "| key | 0.0022 | 0.0023 | 0.0051 |\n| parse | 0.0017 | 0.0031 | 0.0037 |\n| Total | 0.0070 | 0.0096 | 0.0121 |\n",
    "| horizon | plain | gated | base | best improvement vs base |\n|---|---|---|---|---|\n"
    "| 1 day | 0.01256 | 0.01249 | 0.01263 | 1.1% |\n| 5 days | 0.02480 | 0.02498 | 0.02577 | 3.8% |\n"
    "| 21 days | 0.05185 | 0.05494 | 0.05873 | 11.7% |\n| 63 days | 0.08213 | 0.08617 | 0.09114 | 9.9% |\n",
)


@pytest.mark.parametrize("text", OTHERS)
def test_what_looks_like_a_slip_is_none(text: str) -> None:
    assert _found(text) == []
