"""Numbers that a text gives twice: in lists that copy a line of a table, in two tables, in two sentences."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

TABLE = """
| method | cs=128 | cs=8 | cs=1 |
|---|---|---|---|
| fp16 | 8.95 | 9.34 | 9.28 |
| kivi | 10.43 | 60.54 | 10332 |
| int8 | 8.97 | 9.37 | 10073 |
| int4 | 11.28 | 14.61 | 10918 |

{}
"""
SUMMARY = """
| model | latency (ms) | images/s | memory (MB) |
|---|---|---|---|
| resnet50 | 6.172 | 1620.8 | 3184 |
| vit-b16 | 9.843 | 1016.2 | 4127 |

Transposed:

| measure | resnet50 | vit-b16 |
|---|---|---|
| latency (ms) | 6.172 | 9.843 |
| images/s | 1620.8 | 1016.2 |
| memory (MB) | 3184 | 4127 |
"""
SENTENCES = """
The fused kernel lowers writeback from 1.585 s to 1.541 s in the run with four endpoints.

## Details

With four endpoints writeback was lowered from 1.585 s to 1.541 s, as the fused kernel writes once.
"""
ROW = """
| model | accuracy |
|---|---|
| resnet50 | 76.13 |
| vit-b16 | 81.07 |
| convnext | 82.52 |

The model vit-b16 has an accuracy of 81.07.
"""
CLASSES = """
| class | base | ours | delta |
|---|---|---|---|
| car | 40.49 | 42.08 | +1.59 |
| bus | 35.34 | 38.77 | +3.43 |
| truck | 31.46 | 36.92 | +5.46 |
| train | 28.71 | 33.05 | +4.34 |

By the size of the model:

| class | small | large | extra |
|---|---|---|---|
| Car | 42.08 | 44.61 | 45.12 |
| Bus | 38.77 | 39.93 | 41.26 |
| Truck | 36.92 | 38.18 | 39.74 |
| Train | 33.05 | 35.58 | 36.27 |
"""
CASES = {
    "two tables that share a column under other names": (CLASSES, "| Bus | 38.77", "| Bus | 37.87"),
    "a list with labels": (TABLE.format("With cs=1: KIVI=10332, INT8=10073."), "KIVI=10332", "KIVI=10323"),
    "two tables": (SUMMARY, "| vit-b16 | 9.843", "| vit-b16 | 9.483"),
}
TRUE = {
    "the number of a section": TABLE.format("### 12.4 Runs\n\nThe run gave 14.2 ms at last.\n\n### 14.2 Runs\n\nThe run gave 12.9 ms at last."),
    "tables of two runs": CLASSES.replace("| Bus | 38.77", "| Bus | 37.41").replace("| Truck | 36.92", "| Truck | 36.15"),
    "another run": TABLE.format("With cs=1: KIVI=10323, INT8=10037."),
    "other numbers": TABLE.format("The losses were 8.95 / 10.34 / 9.16 / 10.86."),
    "a measurement repeated": SUMMARY.replace("| latency (ms) | 6.172 | 9.843", "| latency (ms) | 6.117 | 9.483"),
    "jobs": "The sweep L24 gave 0.073 (job 125573).\n\nA sweep L24 was 0.073 after all (job 125572).\n",
    "two conditions": SENTENCES.replace("With four endpoints writeback was lowered from 1.585 s to 1.541 s, as",
                                        "With two int8 endpoints it was lowered from 1.558 s to 1.514 s, as"),
    "the model before": ROW.replace("The model vit-b16", "Then convnext is tried. Over vit-b16 it"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_number_that_is_given_otherwise_elsewhere_is_accused(name: str) -> None:
    text, right, wrong = CASES[name]
    assert text.count(right) == 1
    assert not inconsistencies(document_of(text, suffix=".md"))
    assert inconsistencies(document_of(text.replace(right, wrong), suffix=".md"))


@pytest.mark.parametrize("name", sorted(TRUE))
def test_what_may_be_another_measurement_is_not_accused(name: str) -> None:
    assert not inconsistencies(document_of(TRUE[name], suffix=".md"))


CHANGES = {
    "by a difference": ("It beats the fixed budget by 0.53 PPL (12.93 vs 13.46).", "12.93", "12.33"),
    "a gap": ("The 0.18 PPL gap (13.286 vs 13.462) is small.", "0.18", "0.81"),
    "values in brackets": ("TurboQuant (14.25) beats BaseQuant (16.20) by 1.95.", "1.95", "9.15"),
    "two digits": ("The engine has 83.1 tokens/s vs 82.2 tokens/s: **+1.1%**.", "+1.1", "+3.1"),
    "at the end": (
        "The profiles used **9,760,614.0 units**, versus **7,224,529.2** for the baselines: **+35.10%**.",
        "+35.10",
        "+53.10",
    ),
    "with words between": ("36 → **16** calls vs the current one (55.6% reduction).", "**16**", "**61**"),
    "a bracket divided": ("The gain is (4.92 - 4.81) / 4.81 = 2.29%.", "(4.92", "(49.2"),
    "per cent written out": ("It is (5.0399 - 4.685) / 4.685 × 100 = 7.58%.", "7.58", "5.78"),
    "a sum divided": ("(12.5 + 3.1) / 50.2 = 31.1%", "31.1", "13.1"),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_change_that_words_or_brackets_bind_is_held(name: str) -> None:
    text, right, wrong = CHANGES[name]
    assert not inconsistencies(document_of(text, suffix=".md"))
    assert inconsistencies(document_of(text.replace(right, wrong), suffix=".md"))


@pytest.mark.parametrize(
    "text",
    [
        "- **FPS**: mean=453.6, P5=378.7, P95=510.2\n- **Latency**: mean=2.2045ms, P99=2.901ms\n",
        "The values are 10.25 → 12.31 → 14.1%.",
        "Cells B/C N=48/64 = 125196-99 are running.",
        "The scale (BKV + D) * 2 = 64.",
        "A is alone (factor `1 − 1/3 = 2/3`), B is not (factor `1 − 2/3 = 1/3`).",
        "It is independent (1 group × 250 nodes = 1 group × 25 nodes\n× 10).",
        "Prefill took 27.9 ms versus 28.9 ms.  The full decode measured 43.64 tokens/s.",
    ],
)
def test_what_is_no_change_is_not_accused(text: str) -> None:
    assert not inconsistencies(document_of(text, suffix=".md"))
