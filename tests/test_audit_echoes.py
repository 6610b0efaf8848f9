"""Numbers that two places of a text give: a slip is accused where words or digits show that both are one."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

TEXT = """# Pruning a speech model

Both indexes register 1,216 train shards and 25 validation shards.
The draft head reaches a perplexity of 34.71 on the held-out split.
The exporter writes `retained=0.1196` for the two-bit cache.
All 186 current encoder tests passed; cases that need a card were skipped.

| layer | teacher overlap | drift |
|------:|----------------:|------:|
| 4     | 0.97654         | 0.031 |
| 8     | 0.95120         | 0.047 |
| 12    | 0.91873         | 0.088 |

| Metric                     | Value |
|----------------------------|-------|
| Most registers (tiled_mul) | 302   |
| Least registers (plain)    | 57    |

| kernel    | registers | spills |
|-----------|-----------|--------|
| tiled_mul | 302       | 12     |
| plain     | 57        | 3      |
| fused     | 214       | 8      |

## Summary

The corpus has 1,216 train shards and 25 validation shards, as the index says.
The perplexity of the draft head is 34.71 after the last epoch on the held-out split.
The two-bit cache is retained at 0.1196 by the exporter.
Before the commit, all 186 current encoder tests passed; cases that need a card were skipped.
The teacher overlap of the fourth layer is 0.97654 in the report.
"""


def _found(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, "x.md", ".md"))]


def test_a_difference_holds_where_a_value_is_zero() -> None:
    text = (
        "| Metric | Old | New | Delta |\n|---|---|---|---|\n| R2P | 0 | 32 | +32 |\n| FSEL | 518 | 271 | -247 |\n"
        "| ISETP | 549 | 23 | -526 |\n| SHF | 117 | 74 | -43 |\n| LOP3 | 97 | 58 | -39 |\n"
    )
    assert _found(text) == []
    assert len(_found(text.replace("| 518 |", "| 815 |"))) == 1


def test_what_two_places_give_alike_is_not_accused() -> None:
    assert _found(TEXT) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("has 1,216 train", "has 1,261 train"),
        ("head is 34.71", "head is 3.471"),
        ("at 0.1196 by", "at 1.196 by"),
        ("`retained=0.1196`", "`retained=1.196`"),
        ("commit, all 186", "commit, all 168"),
        ("layer is 0.97654", "layer is 0.96754"),
        ("(tiled_mul) | 302", "(tiled_mul) | 3020"),
    ],
)
def test_a_slip_in_one_of_them_is(right: str, wrong: str) -> None:
    assert TEXT.count(right) == 1
    found = _found(TEXT.replace(right, wrong))
    assert len(found) == 1
    assert "factor of ten" in found[0] or "two digits are swapped" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        # two counts of different files, in long sentences with many words in common
        "We read 331 made-up files over tools, layouts and names of columns on the same day; 42 were wrong.\n\n"
        "We read 351 made-up tables over units, layouts and names of columns on the same day; 37 were wrong.\n",
        # sizes that are both usual
        "The forward pass uses tiles of 128 keys.\n\nThe projection of the forward pass has 1,280 channels.\n",
        # one for all turns, one for each
        "The replay takes 1,439 J for ten turns.\n\nPer turn the replay takes 143.9 J/turn.\n",
        # a tenth of the iterations takes a tenth of the time
        "First 50 iterations: ~3.3 days (vs 13.6 days at baseline)\n\n"
        "All 500 iterations together: ~63 days (vs 136 days at baseline)\n",
        # both stand in the second sentence
        "The binary index beats the others in retrieval with 0.8787.\n\n"
        "The index in retrieval is decent with four bits (0.8778), and the binary one is good (0.8787).\n",
        # numbers of jobs
        "The exam of the first arm (job 124335) is done.\n\nThe exam of the second arm (job 124353) is done.\n",
    ],
)
def test_other_things_may_have_numbers_that_are_alike(text: str) -> None:
    assert _found(text) == []


def test_a_rule_below_the_headings_of_a_table_of_spaces_is_skipped() -> None:
    text = (
        "Configuration     Serial ms      OMP ms   Speedup\n"
        "-------------------------------------------------\n"
        "64x64                 6.417       0.999     6.42x\n"
        "128x128              22.038       2.358     9.35x\n"
        "256x256             175.527      18.883     9.30x\n"
        "512x512            1316.402     112.917    11.66x\n"
        "1024x1024          8857.920    1004.714     8.82x\n"
    )
    assert _found(text) == []
    assert len(_found(text.replace("9.35x", "7.35x"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "The corpus has 40 speakers (21 of the north, 19 of the south).\n",
        "S4 has 74/128 = 42% zeros.\n",
        "The ratio of kept keys (typically 16/2048 = 128x less memory)\n",
        "The head addresses 400 s in principle (5000 classes × 80 ms).\n",
    ],
)
def test_these_add_up(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("31 of 33 tests pass (94% success rate).", "31 of 23 tests pass (94% success rate)."),
        ("Agreement is **99.83%** (594/595; 1 flip).", "Agreement is **9.983%** (594/595; 1 flip)."),
        ("Total: 199 Correct: 118 Accuracy: 59.3%.", "Total: 199 Correct: 1180 Accuracy: 59.3%."),
        ("Claimed 0.183, actual 0.212 (diff = 0.029).", "Claimed 0.183, actual 0.212 (diff = 0.092)."),
    ],
)
def test_shares_and_differences_of_two_numbers(right: str, wrong: str) -> None:
    assert _found(right) == []
    assert len(_found(wrong)) == 1


@pytest.mark.parametrize(
    "text",
    [
        # the share is that of the counts, the two values are something else
        "Drop 28/36 layers: a loss of 1.461 vs baseline 1.465, 78% less parameters.\n",
        "The predictions of 7.07%, 7.73%, and 3.31% are close to the sampled counts of the exact supports.\n",
        # ratios to something else, each with its own two times
        "common: 1.7x -> 1.9x (99.1 -> 89.8 ms)\n",
        # a rate that was measured, not the product
        "Compare to the baseline (3×30 = 36.7 games/min).\n",
        # nothing was found, although something was said
        "Recall: **0%** (17/502 positive predictions)\n",
        # nearly all of a large column: any two columns give 100 %
        "| way | chunks | reachable | low | high |\n|---|---|---|---|---|\n"
        "| a | 37,498 | 100.0% | 0.1276 | 0.2420 |\n| b | 75,084 | 100.0% | 0.1038 | 0.2110 |\n"
        "| c | 42,215 | 100.0% | 0.1157 | 0.2347 |\n| d | 37,498 | 100.0% | 0.1274 | 0.2417 |\n"
        "| e | 40,155 | 94.2% | 0.1253 | 0.2039 |\n| f | 42,215 | 100.0% | 0.2212 | 0.1220 |\n"
        "| g | 41,498 | 100.0% | 0.1876 | 0.1420 |\n| h | 55,084 | 100.0% | 0.1138 | 0.2210 |\n",
        # ten modules that are covered, and all of them
        "| Module | Lines | Covered | Coverage |\n|---|---|---|---|\n"
        + "".join(f"| m{k}.sv | {n} | {n} | 100.0% |\n" for k, n in enumerate((91, 36, 45, 63, 104, 7, 54, 72, 15, 17)))
        + "| **Total** | **504** | **504** | **100.0%** |\n",
        # a number of another quantity, and a table of one row whose column nothing names
        "value: 41.86\n\n| Version | Model | RTFx | AMI |\n|---|---|---|---|\n| main | flash | 1233 | 14.86 |\n",
    ],
)
def test_what_belongs_to_something_else_is_not_accused(text: str) -> None:
    assert _found(text) == []


def test_two_exceptions_show_no_rule_where_most_rows_say_nothing() -> None:
    rows = [(1, 99.1), (1, 99.1), (2, 99.1), (6, 96.4), (2, 98.2), (10, 91.1), (3, 97.3), *[(0, 100.0)] * 9]
    lines = [f"| m{k} | 112 | {share} | {errors} |" for k, (errors, share) in enumerate(rows)]
    text = "\n".join(["| Model | Tests | Well Formed % | Errors |", "|---|---|---|---|", *lines]) + "\n"
    assert _found(text) == []


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        # both places have a name with digits of their own
        (
            "- The 12.41M bridge of three layers is the best one at an acceptance of 8.2763%; the 31.70M one fell to 7.9141%.\n"
            "- The bounded comparison improved the acceptance of the bridge from 6.4912% to 8.2763% at fp16, and no more.\n",
            "to 8.2763%",
            "to 0.82763%",
        ),
        # the text of a link
        (
            "The best result that others report seems to be [14.72% from Kestrel](https://example.org/report).\n\n"
            "# References\n\n- [14.72% Kestrel, on 570 instances](https://example.org/report)\n",
            "- [14.72%",
            "- [1.472%",
        ),
        # millions
        (
            "The corpus has 83 filings of 21 companies, 71.26M characters and 9,413 tables.\n\n"
            "And the corpus was only 412 characters short of 71.26M, but that was luck.\n",
            "of 71.26M",
            "of 7.126M",
        ),
        # a usual size, and a number that is none
        (
            "The router keeps 4096 candidate spans of the archive for the second stage.\n\n"
            "In the second stage, the 4096 candidate spans of the archive are ranked by the router.\n",
            "the 4096 candidate",
            "the 4906 candidate",
        ),
        # further numbers that the other sentence has not
        (
            "The gate keeps 5,183 decoy frames of the harbor set; 17 sweeps over 39 anchors took 12 days.\n\n"
            "Of the harbor set the gate keeps 5,183 decoy frames, in 26 shards of 44 parts each for 18 readers.\n",
            "gate keeps 5,183 decoy frames, in",
            "gate keeps 5,813 decoy frames, in",
        ),
        # the score of a task that is called "Image", in a table with rows and columns exchanged
        (
            "| Model | ListOps | Text | Retrieval | Image |\n|---|---|---|---|---|\n| Transformer | 36.9 | 64.8 | 57.2 | 42.7 |\n"
            "| Linformer | 35.2 | 53.4 | 52.8 | 38.1 |\n| **Heron (Ours)** | **37.5** | **65.6** | **58.9** | **43.6** |\n\n"
            "Results by task:\n\n| Task | Length | Heron Accuracy | Standard | Speedup |\n|---|---|---|---|---|\n"
            "| ListOps | 2048 | 37.5% | 36.9% | 3.2× |\n| Text | 4096 | 65.6% | 64.8% | 4.8× |\n"
            "| Retrieval | 4096 | 58.9% | 57.2% | 4.1× |\n| Image | 1024 | 43.6% | 42.7% | 2.1× |\n",
            "**43.6**",
            "**46.3**",
        ),
        # numbers below zero
        (
            "On seed 3 the fit gets worse: the likelihood of the spline arm fell to -120873.6 nats after the reset.\n\n"
            "The reset costs the spline arm of seed 3 a likelihood of -120873.6 nats, which it never gains back.\n",
            "of -120873.6",
            "of -120783.6",
        ),
        # the label of the row and a common word beside the heading
        (
            "| Model | Tool F1 | Refusal |\n|---|---|---|\n| kestrel/heron-27b | 0.762 | 0.455 |\n"
            "| kestrel/swift-35b | 0.206 | 0.847 |\n| plover/tern-31b | 0.634 | 0.584 |\n\n"
            "`kestrel/swift-35b` has the highest refusal rate (0.847) but the lowest Tool F1.\n",
            "| 0.847",
            "| 0.487",
        ),
    ],
)
def test_names_sizes_and_links_hide_no_slip(text: str, right: str, wrong: str) -> None:
    assert text.count(right) == 1
    assert _found(text) == []
    assert len(_found(text.replace(right, wrong))) == 1


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("Now 216 of 586 were kept, and the runner ranks 36.9% of the queries.\n", "36.9", "39.6"),
        ("**43 of 214 were rejected — a 20.1% rejection rate**, and 0 verdicts were not read.\n", "20.1", "40.1"),
        ("Kestrel resolved 109 out of 570 issues that were benchmarked last week, or 19.1%.\n", "19.1", "10.1"),
        ("Last 14 days: **95.9% heron** (98.8M of 103M output). 15–45 days: more.\n", "95.9", "99.5"),
    ],
)
def test_the_only_share_of_a_sentence_is_that_of_its_only_part(text: str, right: str, wrong: str) -> None:
    assert _found(text) == []
    assert len(_found(text.replace(right, wrong))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "It holds 5.8 of 8 GB, so the card is not 86%-full of weights.\n",
        "Relative to 8 GPUs, 32 GPUs have a speedup of 3.1, an efficiency of 78%.\n",
        "The first 40 of 160 layers are frozen, and the loss is 31.5% lower.\n",
        "In 12 of 48 runs, 7 of 20 seeds failed, and 21.5% of the time was lost.\n",
    ],
)
def test_a_share_of_something_else_is_none_of_this_part(text: str) -> None:
    assert _found(text) == []
