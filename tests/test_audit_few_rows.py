"""Small tables: two rows that obey one arithmetic to their last digits accuse a third, if a slip would mend it."""

import pytest

from scalelens.audit.evidence import is_rare
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of


def findings(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=".md"))]


_TWICE = (
    "| model | mean | code | math | text |\n|---|---|---|---|---|\n| first | 41.5 | 36.6 | 49.7 | 43.1 |\n"
    "| second | 52.8 | 38.2 | 61.0 | 46.2 |\n| third | 44.6 | 41.6 | 51.0 | 44.3 |\n\nAnd without examples:\n\n"
    "| model | mean | code | math | text |\n|---|---|---|---|---|\n| first | {} | 36.6 | 49.7 | 43.1 |\n"
    "| fourth | 40.3 | 33.1 | 47.9 | 38.8 |\n"
)
_STRIPES = (
    "| stripes | write (s) | GB/s | speedup |\n|---|---|---|---|\n| 1 | 311 | 1.80 | 1.00 |\n| 4 | 84.8 | 6.60 | 3.67 |\n"
    "| 16 | 29.5 | {} | {} |\n| 64 | 21.2 | 26.4 | 14.7 |\n"
)
_SWING = (
    "| path | Min W | Max W | {} |\n|---|---|---|---|\n| averaged | 127.4 | 223.8 | {} |\n"
    "| instant | 65.0 | 224.1 | 159.1 |\n"
)
_PAIR = (
    "| case | plain tokens/s | async tokens/s | {}speedup |\n|---|---|---|---|{}\n| bf16 | 597.3 | 652.4 | {}1.09 |\n"
    "| fp8 | {} | 942.4 | {}1.16 |\n| rowwise | 599.6 | 624.8 | {}1.04 |\n"
)
_WRONG = {
    "a ratio to the base row that two columns give": _STRIPES.format("19.0", "2.9"),
    "a range of two rows": _SWING.format("Swing", "69.4"),
    "a ratio of the only two rates": _PAIR.format("", "", "", "899.8", "", ""),
    "a time in two units in a cell": (
        "| GPUs | walltime |\n|---|---|\n| 1 | 3,323 s (72 min) |\n| 4 | 4,352 s (73 min) |\n"
    ),
    "sizes in backquotes": "- Model: `15803327 bytes`\n- Code: `50919 bytes`\n- Total size: `18554246 bytes`\n",
    "a sum of times": (
        "| client | in sync | first | last |\n|---|---|---|---|\n| u | 18.2 s | 3.1 s | 15.1 s |\n"
        "| v | 12.4 s | 18 s | 10.6 s |\n| w | 35.7 s | 8.2 s | 27.5 s |\n"
    ),
    "counts of two classes": (
        "| set | rows | safe | unsafe |\n|---|---|---|---|\n| train | 30,007 | 12,296 | 17,711 |\n"
        "| test | 1,964 | 572 | 1,059 |\n| check | 1,445 | 572 | 873 |\n"
    ),
    "a ratio with both names": (
        "| what | old | new | ratio (new/old) |\n|---|---|---|---|\n| TFLOPS | 989 | 2250 | 0.228x |\n"
        "| half TFLOPS | 1979 | 4500 | 2.27x |\n| bandwidth | 4.8 TB/s | 8.0 TB/s | 1.67x |\n"
        "| power | 700 W | 1001 W | 1.43x |\n"
    ),
    "a share beside its counts": (
        "| suite | passed | rate |\n|---|---|---|\n| a | 25/30 | 83.33% |\n| b | 19/30 | 63.33% |\n"
        "| c | 64/90 | 17.11% |\n"
    ),
    "a share in the brackets of another script": "The first one solves 4/400（10.0%），the second 9/40（22.5%）。\n",
    "a part of a total beside another column": (
        "| kind | lines | words |\n|---|---|---|\n| a | 1,559 | 412 |\n| b | 660 | 401 |\n| c | 382 | 127 |\n"
        "| Total | 2,551 | 940 |\n"
    ),
    "a total with its digits swapped": (
        "| field | bytes |\n|---|---|\n| head | 21 |\n| body | 256 |\n| check | 32 |\n| end | 2 |\n| Total | 131 |\n"
    ),
    "a row of two tables": _TWICE.format("45.1"),
}
_MAY_BE_RIGHT = {
    "a ratio of the rate where the time is that of another run": _STRIPES.format("17.1", "9.5"),
    "a range": _SWING.format("Swing", "96.4"),
    "a mean beside its ends": _SWING.format("Mean", "169.4"),
    "a ratio": _PAIR.format("", "", "", "809.8", "", ""),
    "a ratio of three rates": _PAIR.format("best tokens/s | ", "---|", "660.1 | ", "899.8", "990.0 | ", "700.2 | "),
    "two units in a cell": "| GPUs | walltime |\n|---|---|\n| 1 | 4,323 s (72 min) |\n| 4 | 4,352 s (73 min) |\n",
    "sizes that add up": "- Model: `15803327 bytes`\n- Code: `50919 bytes`\n- Total size: `15854246 bytes`\n",
    "no slip mends the row": (
        "| query | gates | found | answers |\n|---|---|---|---|\n| a | 29816 | 14908 | 14908 |\n"
        "| b | 29804 | 14902 | 14902 |\n| c | 4666 | 2333 | 2333 |\n| d | 61674 | 15337 | 1000 |\n"
    ),
    "a mean and a median": (
        "| work | calls | sum_s | median_s |\n|---|---|---|---|\n| a | 40 | 80.04 s | 2.001 s |\n"
        "| b | 50 | 151.5 s | 3.030 s |\n| c | 60 | 303.0 s | 5.050 s |\n| d | 35 | 157.8 s | 4.346 s |\n"
    ),
    "a score of two columns that are alike elsewhere": (
        "| way | chosen | right | score |\n|---|---|---|---|\n| a | 20% | 10% | 0.140 |\n| b | 20% | 20% | 0.200 |\n"
        "| c | 50% | 50% | 0.500 |\n| d | 90% | 90% | 0.900 |\n| e | 75% | 75% | 0.750 |\n"
    ),
    "numbers of articles": (
        "The first letter (Phys. Rev. D, 034304) treats the decay of light nuclei in a trap.\n\n"
        "The second letter (Phys. Rev. D, 024304) treats the decay of light nuclei in a trap.\n"
    ),
    "two scores in brackets after their names": (
        "It leads on Atlas (58.2) and Borneo (48.5 PQ), and it is second on Corfu (84.5 mIoU) without more data.\n"
    ),
    "the label of a row": (
        "| n | tree | graph |\n|---|---|---|\n| 6 | 4 | 6 |\n| 30 | 473 | 162 |\n| 62 | 24,897 | 666 |\n| 126 | - | 2,067 |\n"
        "\nThe tree stops at n = 126, while the graph stays below 3,000 there.\n"
    ),
    "spare devices": (
        "Take a run with TP=4, PP=2, DP=2.\n\nAdditionally there is a standby node with 8 GPUs that waits for its turn.\n"
    ),
    "before and after in one row": (
        "| case | 10 users before | 10 users after |\n|---|---|---|\n| two facets p99 | 1,526ms | 2,213ms |\n"
        "| skill facet p99 | 2,051ms | 2,907ms |\n| deep page p99 | 3,245ms | 5,078ms |\n\n"
        "The engine then helped (skill p99 dropped from 2,907ms → 2,613ms at 10 users, after the change).\n"
    ),
    "a row of two tables, as it is": _TWICE.format("41.5"),
    "a total of rows that are not all there": (
        "| book | pages |\n|---|---|\n| a | 200 |\n| b | 156 |\n| c | 70 |\n| d | 180 |\n| Total | 2,378 |\n"
    ),
}


@pytest.mark.parametrize("text", _WRONG.values(), ids=_WRONG)
def test_a_row_that_breaks_the_rule_of_few_is_accused(text: str) -> None:
    assert findings(text)


@pytest.mark.parametrize("text", _MAY_BE_RIGHT.values(), ids=_MAY_BE_RIGHT)
def test_what_may_be_right_is_not_accused(text: str) -> None:
    assert findings(text) == []


def test_a_heading_that_names_the_rule_needs_less() -> None:
    assert is_rare(5e-3, "two digits are swapped", True)
    assert not is_rare(5e-3, "two digits are swapped", False)
    assert not is_rare(5e-3, "", True)


def test_a_cell_that_is_wrapped_in_markup_is_read() -> None:
    document = document_of(
        "| <sub>Method</sub> | <sub><sub>Epochs</sub></sub> | hours |\n|---|---|---|\n"
        "| <sub>a</sub> | <sub><sub>109</sub></sub> | 42.0<sub>0.3</sub> |\n",
        suffix=".md",
    )
    assert [number.text for number in document.numbers] == ["109"]
    assert document.tables[0].headings == ("Method", "Epochs", "hours")
