"""Lists whose items are rows of a table, numbers right after a row's label, and numbers between backquotes."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

LIST = """
- **small**: short=1.105, long=1.092, delta=-0.013 → **STABLE**
- **medium**: short=1.679, long=1.675, delta=-0.004 → **STABLE**
- **large**: short=2.299, long=1.853, delta=-0.446 → **IMPROVING**
- **huge**: short=14.986, long=4.263, delta=-10.723 → **IMPROVING**
"""
TABLE = """
| Implementation | Time (ms) | Memory (MB) |
|---|---|---|
| Dense Baseline | 3.17 | 58.52 |
| Block-Sparse Original | 59.47 | 48.75 |
| Hierarchical | 12.46 | 144.08 |

{}
"""
NUMBERED = """
| Method | 2bit | 3bit | 512 |
|--------|-----:|-----:|----:|
| Uniform | 99.24 | 24.97 | 21.77 |
| KIVI | **138.56** | 27.15 | 21.96 |
| FOKVQ | **25.65** | 24.12 | 21.44 |

At 2 bit: FOKVQ(25.65), a quarter of Uniform(99.24), a fifth of KIVI(138.56).
"""
TRUE = {
    "shares of one count": "Per vertical, evidence / groundedness:\n\n- Airline: 30% / 20%\n- Health: 50% / 50%\n"
    "- Retail: 30% / 30%\n- Finance: 0% / 0%\n",
    "a list without a relation": "\n".join(
        f"- run {k}: median {k + 3}.71 ms, p99 {2 * k + 9}.3{k} ms" for k in range(6)
    ),
    "a share that a bracket explains": "The anchors have 0.732 vs 0.296 in one set; in the other 0.795 vs 0.793 (61.4% — "
    "barely, because transcripts crowd the anchor).",
    "the rest of a multiple": "Verified in 13/13 passes across idle and 8-way saturated runs.  The same change corrected "
    "a result: the mean put `vector_add` at 0.74×, i.e. ours 26% *faster* than the one by hand.",
    "the unit of both": "At BF16 N=2048, checkpointing reduced the peak from 11.64 to 8.14 GiB (30%) while increasing "
    "the step from 206.90 to 251.89 ms (22%).",
    "two runs that end alike": "\n\nOn the second machine:\n\n".join(
        f"| Loss | 50 | 250 | 500 | 750 | 1000 | 1500 |\n|:--|--:|--:|--:|--:|--:|--:|\n"
        f"| fast AMP | {first} | 2.89 | 2.79 | 2.71 | 2.68 | 2.61 |"
        for first in ("3.35", "3.38")
    ),
    "the number of a reading": "- readout 1 reference mean = 47.629\n- readout 2 signal mean = 47.929\n"
    "- mean(readout1 - readout2) = -0.299 counts\n",
    "another measurement after a label": TABLE.format("Dense Baseline has a warm-up of 12.46 ms."),
    "the number of another row": TABLE.format("The time of Hierarchical, with 59.47 ms subtracted, is not shown."),
    "rounded": TABLE.format("Fastest: Dense Baseline (3.2 ms)."),
    "code": TABLE.format("Hierarchical (`v58.52`) needs `--memory 48.57` and `x=59.74`."),
}


def _found(text: str) -> list[str]:
    return [each.sentence for each in inconsistencies(document_of(text, suffix=".md"))]


@pytest.mark.parametrize(
    ("right", "wrong"), [("delta=-10.723", "delta=+10.723"), ("long=1.853", "long=1.583"), ("-0.446", "-0.464")]
)
def test_a_list_is_a_table(right: str, wrong: str) -> None:
    assert not _found(LIST)
    found = _found(LIST.replace(right, wrong))
    assert len(found) == 1
    assert "the list at line 2" in found[0]


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        ("Hierarchical: 144.08 MB", "144.08", "544.08"),
    ],
)
def test_a_number_after_the_label_of_its_row(sentence: str, right: str, wrong: str) -> None:
    assert not _found(TABLE.format(sentence))
    found = _found(TABLE.format(sentence.replace(right, wrong)))
    assert len(found) == 1
    assert right in found[0]


def test_a_rule_marks_headings_that_are_numbers() -> None:
    table = document_of(NUMBERED, suffix=".md").tables[0]
    assert table.headings == ("Method", "2bit", "3bit", "512")
    assert not _found(NUMBERED)
    assert _found(NUMBERED.replace("KIVI(138.56)", "KIVI(13.856)"))
    assert _found(NUMBERED.replace("**25.65**", "**256.5**"))


def test_quoted_numbers_are_read() -> None:
    text = "It rose `0.7887 → 0.7895`, by `+0.0008`, at `12.5 ms`, `99%`, not `v1.2`, `a=1.5`, `9360` or `1.2.3`."
    sentence = document_of(text, suffix=".md").sentences[0]
    assert [number.text for number in sentence.numbers] == ["0.7887", "0.7895", "+0.0008", "12.5", "99"]
    assert "`" not in sentence.marked.split("not")[0]


@pytest.mark.parametrize("text", TRUE.values(), ids=TRUE)
def test_nothing_is_accused(text: str) -> None:
    assert not _found(text)
