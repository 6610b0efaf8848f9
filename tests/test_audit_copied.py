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
