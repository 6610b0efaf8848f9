"""Numbers of a sentence or a list that stand next to those of a table, and totals with one wrong number."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

SOCKETS = (
    "| Setup | P0 | P50 | P90 |\n|---|---|---|---|\n| **Plain sockets** | 19.5 µs | 20.7 µs | 21.7 µs |\n"
    "| **Through the bridge** | 24.1 µs | 25.6 µs | 29.2 µs |\n| **Through two** | 31.3 µs | 33.0 µs | 38.4 µs |\n\n"
)
EPOCHS = (
    "- **Training Loss**: 0.0166\n- **Training Accuracy**: 99.56%\n- **Validation Accuracy**: 98.93%\n\n"
    "| Epoch | Training Loss | Training Accuracy | Validation Loss | Validation Accuracy |\n|---|---|---|---|---|\n"
    "| 37 | 0.0177 | 99.41% | 0.0042 | 98.90% |\n| 38 | 0.0170 | 99.49% | 0.0033 | 98.86% |\n"
    "| 39 | 0.0166 | 99.56% | 0.0029 | 98.93% |\n"
)
FILES = (
    "| Tier | Files | Size |\n|---|---|---|\n| needed | 6,198 | 100.73 GiB |\n| active | 11,959 | 26.99 GiB |\n"
    "| old | 43 | 0.10 GiB |\n| bad | 157 | 0.01 GiB |\n| **Total** | **18,357** | **127.84 GiB** |\n"
)
WRONG = {
    "a column that is named": (
        f"{SOCKETS}The bridge costs little on metal (25.6 µs vs 20.7 µs P50).\n",
        "vs 20.7",
        "vs 27.0",
    ),
    "its cell": (f"{SOCKETS}The bridge costs little on metal (25.6 µs vs 20.7 µs P50).\n", "| 20.7", "| 2.07"),
    "a row of the last epoch": (EPOCHS, "y**: 99.56%", "y**: 99.96%"),
    "a digit of a row": (EPOCHS, "| 99.56%", "| 39.56%"),
    "a total of the parts in its brackets": (
        "**Delay of the data path:** 5.208 ns (logic 1.910 ns / 36.7%, route 3.298 ns / 63.3%)\n",
        "5.208",
        "5.308",
    ),
    "one part of a total": (FILES, "| 43 |", "| 430 |"),
    "two digits of a total": (FILES, "18,357", "18,537"),
}
TRUE = {
    "a difference of the last digits": SOCKETS + "The other bridge is as good on metal (25.6 µs vs 20.5 µs P50).\n",
    "another quantity": SOCKETS + "The temperature rises by 27.0 degrees where the bridge takes 25.6 µs.\n",
    "a total measured by itself": "| stage | core-s |\n|---|---|\n| a | 481.29 |\n| b | 16.20 |\n| c | 4672.66 |\n| total | 5170.51 |\n",
    "a row in bold": (
        "Best in bold.\n\n| Stage | loss | PQ | SQ | RQ |\n|---|---|---|---|---|\n| A | 2 | 27.73 | 35.01 | 18.32 |\n"
        "| **B** | **6** | **27.85** | **34.94** | **18.10** |\n| C | 8 | 27.11 | 34.12 | 17.90 |\n"
    ),
    "shares that are alike in most rows": (
        "| Shape | Output waste | Compute waste |\n|---|---|---|\n| a | 0.00% | 0.00% |\n| b | 12.50% | 12.50% |\n"
        "| c | 32.29% | 36.52% |\n| d | 75.00% | 75.00% |\n| e | 50.00% | 50.00% |\n| f | 43.75% | 43.75% |\n"
    ),
    "a share of something else": (
        "| Quantity | Value | Relative to the read |\n|---|---|---|\n| base | 75.5 MB | 200% |\n| naive | 805 MB | 2134% |\n"
        "| best | 50.3 MB | 133% |\n| this | 37.7 MB | 100% |\n| storage | 37.7 MB | +6% of expert params |\n"
    ),
    "ratios of sizes with one digit": (
        "| File | Size | L20 | L20x |\n|---|---|---|---|\n| a | 152 KB | 42 KB | 3.53x |\n| b | 122 KB | 39 KB | 3.15x |\n"
        "| c | 417 KB | 105 KB | 3.98x |\n| d | 4 KB | 1 KB | 2.46x |\n| e | 471 KB | 141 KB | 3.33x |\n| f | 501 KB | 49 KB | 10.19x |\n"
    ),
    "coarser than the sum": (
        "| tau | PQ | RQ | inst/img |\n|---|---|---|---|\n| 0.30 | 25.77 | 30.07 | 4.3 |\n| 0.35 | 25.75 | 30.54 | 4.5 |\n"
        "| 0.70 | 25.75 | 29.86 | 4.1 |\n| 0.60 | 25.76 | 29.95 | 4.2 |\n"
    ),
    "columns that are alike in most rows": (
        "| smoke | n | initial program | final program | union | only |\n|---|---|---|---|---|---|\n"
        "| prefix4 | 6 | 66.7% | 66.7% | 100.0% | 0 |\n| plain | 25 | 12.0% | 12.0% | 48.0% | 0 |\n"
        "| strict | 25 | 12.0% | 24.0% | 56.0% | 2 |\n"
    ),
    "a quotient of ones and zeros": (
        "| Agent | Family | Target | Useful |\n|---|---|---|---|\n| none | 0.000 | 1.000 | 0.000 |\n"
        + "".join(f"| a{n} | 1.000 | 0.{n} | 0.{n} |\n" for n in ("062", "219", "417", "146", "917", "354"))
        + "".join(f"| b{n} | 0.{n} | 1.000 | 0.{n} |\n" for n in ("521", "312", "146", "708"))
        + "| c | 0.479 | 0.729 | 0.479 |\n"
    ),
    "a bound in brackets": (
        "| metric | midpoint | endpoint |\n|---|---|---|\n| fitted AUC | 0.5172 | 0.4316 |\n| one-sided lower | 0.4483 | 0.3289 |\n"
        "| equal-width AUC | 0.6104 | 0.4571 |\n| slot-margin AUC | 0.5427 | 0.5618 |\n\n"
        "The endpoint-trained one, applied to the midpoint, reached 0.4571 (lower 0.3618).\n"
    ),
    "brackets that compare": "The step takes 5.208 ms (was 5.910 ms, then 3.298 ms) now.\n",
    "changes in per cent beside points": (
        "| Metric | Simple | Real | Difference |\n|---|---|---|---|\n| F1 | 98.51% | 91.31% | -7.2% |\n"
        "| one | 99.9% | 49.6% | -50.3% |\n| two | 99.3% | 76.4% | -22.9% |\n| three | 91.5% | 68.4% | -23.1% |\n"
        "| FPR | 1.0% | 2.33% | +133% |\n"
    ),
    "a share of all after a fall": "**Result**: anomalies reduced from 75 → 37 (0.14%), then from 37 → 20 (0.07%).\n",
    "the best of each row": (
        "Best in bold.\n\n| Graph | Edges | A | B | C |\n|---|---|---|---|---|\n| G14 | 4694 | 3064 | 2922 | **3070** |\n"
        "| G50 | 6000 | **5880** | **5880** | 5820 |\n| G55 | 12468 | 10294 | 9960 | **10298** |\n"
        "| G70 | 9999 | **9541** | 9458 | 9421 |\n"
    ),
    "one in most rows": "| k | win | precision | recall |\n|---|---|---|---|\n"
    + "".join(f"| {k} | {30 + k}.77% | 0.{30 + k}77 | {'0.6667' if k == 9 else '1.0000'} |\n" for k in range(12)),
    "runs of a log": "Avg tok/s:     255.5\n\nAvg tok/s:     224.1\n\nAvg tok/s:     226.3\n\nAvg tok/s:     272.6\n\n"
    "| Name | Value |\n|---|---|\n| Avg tok/s: | 202.6 |\n| Total: | 2717 |\n",
    "after the factor of something else": (
        "An ordinary 20 km/h breeze was used as 20 m/s, a storm.\n"
        "It raised the predicted loss 2.17x, the scheduled energy by 128% and the cost by 211%.\n"
    ),
    "a mean price of all": (
        "| Year | Oil | Avg Price | Revenue |\n|---|---|---|---|\n| 2015 | 20,269,835 | 48.66 | 986,330,182 |\n"
        "| 2016 | 32,738,007 | 43.29 | 1,417,228,321 |\n| 2017 | 41,161,313 | 50.80 | 2,090,994,705 |\n"
        "| 2018 | 48,724,850 | 65.23 | 3,178,321,981 |\n| 2019 | 53,224,972 | 56.99 | 3,033,291,142 |\n"
        "| | 424,792,380 | 65.33 | 26,849,764,217 |\n"
    ),
    "two pairs of one change": (
        "The result is exact but 25% slower — 200.8 ms vs 172.6 ms with threads, 1190 ms vs 957 ms with one.\n"
    ),
    "ports": (
        "| Kind | Port Range |\n|---|---|\n| HTTP | 80 |\n| Custom TCP | 5910 |\n| SSH | 22 |\n\n"
        "Connect to it over HTTP (make sure that your group allows port 5910).\n"
    ),
    "a mistake that is quoted": (
        "| metric | PCA 6/2 | LDA 6/2 |\n|---|---|---|\n| KL div | 12.28 | 12.44 |\n| MSE | 68.90 | 67.37 |\n\n"
        "The KL div of LDA 6/2 and PCA 6/2 was corrected: 13.28 is wrong, a typo.\n"
    ),
    "jobs that follow each other": "The exam of the first arm is run 13003.\n\nThe exam of the first arm is run 13004, too.\n",
    "a coefficient": (
        "The payload of 100k identities is $C(N) = 2048N$.\n\n| Gallery | 512D | 128D |\n|---|---|---|\n"
        "| 100k identities | 204.8 MB | 51.2 MB |\n| 500k identities | 3.072 GB | 0.768 GB |\n"
    ),
}


def _found(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=".md"))]


@pytest.mark.parametrize("name", WRONG)
def test_a_number_that_its_table_gives_otherwise_is_accused(name: str) -> None:
    text, right, wrong = WRONG[name]
    assert text.count(right) == 1
    assert _found(text) == []
    assert len(_found(text.replace(right, wrong))) == 1


@pytest.mark.parametrize("name", TRUE)
def test_what_may_be_right_is_not_accused(name: str) -> None:
    assert _found(TRUE[name]) == []
