"""Numbers that follow from others by their types, and from the cells that a sentence names: right, wrong, and alike."""

import pytest

from scalelens.audit.document import Document
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.prose import of_cells, typed
from scalelens.audit.reading import document_of
from scalelens.audit.rows import typed_rows


def document(text: str, suffix: str = ".md") -> Document:
    return document_of(text, suffix=suffix)


def accused(text: str, suffix: str = ".md") -> list[str]:
    return [finding.numbers[0].text for finding in inconsistencies(document(text, suffix))]


_SITES = (
    "| site | gCO2/kWh | MWh | t CO2 |\n|---|---|---|---|\n| France | 57 | 475.2 | 27.1 |\n"
    "| Germany | 350 | 518.4 | 181.4 |\n| Poland | 660 | 626.4 | 413.4 |\n\n"
)
_MEMORY = (
    "| | full | LoRA | QLoRA |\n|---|---|---|---|\n| memory | 71.2 GB | 23.4 GB | 14.1 GB |\n"
    "| samples/s | 2.67 | 8.02 | 5.35 |\n\n"
)
_PARTS = (
    "| part | fp32 (ms) | tf32 (ms) |\n|---|---|---|\n| forward | 187 | 92 |\n| backward | 391 | 176 |\n"
    "| all-reduce | 28 | 28 |\n| step | 636 | 326 |\n\n"
)
_SIZES = (
    "| chips | step time (ms) | examples/s/chip |\n|---|---|---|\n| 32 | 148 | 432 |\n| 64 | 150 | 427 |\n"
    "| 512 | 167 | 383 |\n\n"
)
OF_CELLS = {
    "rows by their labels": (_SITES, "The same run would have emitted 15.3 times as much in Poland.", "15.3", "13.5"),
    "columns are the runs": (_MEMORY, "QLoRA needs 9.3 GB less than LoRA.", "9.3", "3.9"),
    "a sum of named rows": (_PARTS, "Forward and backward together take 268 ms in tf32.", "268", "286"),
    "rows by their numbers": (_SIZES, "At 512 chips the rate is 88.7 % of that of 32 chips.", "88.7", "78.7"),
}
OTHERS = {
    "another measurement": _SIZES + "At 512 chips the rate is 84.1 % of that of 32 chips.\n",
    "of two other rows": _SITES + "Against Germany, Poland emits 2.28 times as much, and France 6.69 times less.\n",
    "of another table": _MEMORY + "QLoRA saves 39.7 % of the memory of LoRA, and another 12.6 GB on disk.\n",
    "given elsewhere": _PARTS + "Forward and backward take 286 ms in bf16 together.  The 286 ms are a mean.\n",
}
_REPORT = (
    "dataset             1,281,167 images\nbatch per GPU       128\nGPUs                64\nglobal batch        8,192\n"
    "steps per epoch     156\nepochs              300\ntotal steps         46,800\nstep time           0.412 s\n"
    "images/s            19,883\nimages/s per GPU    310.7\nwall time           5.36 h\n"
)
TYPED = {
    "tokens, a rate and days": (
        "We trained on 1.20 trillion tokens at 1.02 million tokens per second; the run lasted 13.6 days.",
        "13.6",
        "16.3",
        ".md",
    ),
    "hours and devices": ("The job took 1.08M GPU-hours: 384 GPUs ran for 117 days.", "117", "171", ".md"),
    "carbon": ("At 57 gCO2/kWh, the 475 MWh of the site are 27.1 tonnes.", "27.1", "271", ".md"),
    "money": ("It used 33.7 kWh.  At 0.31 EUR/kWh that costs 10.45 EUR.", "10.45", "14.05", ".md"),
    "bytes of a rank": (
        "The checkpoint has 980 GB.  Written by 128 ranks, each rank stores 7.66 GB.",
        "7.66",
        "6.76",
        ".md",
    ),
    "steps of a report": (_REPORT, "46,800", "48,600", ".txt"),
    "a rate of a report": (_REPORT, "310.7", "317.0", ".txt"),
    "a time of a report": (_REPORT, "5.36", "3.56", ".txt"),
}
UNTYPED = {
    "measured by itself": "We trained on 1.20 trillion tokens at 1.02 million tokens per second; it took 14.9 days.",
    "nearly": "The checkpoint has 980 GB.  Written by 128 ranks, each rank stores 7.86 GB with its indexes.",
    "of other devices": "384 GPUs ran for 171 days, 64 others for 12.  The project took 1.31M GPU-hours.",
    "idle for some days": "The job took 1.08M GPU-hours on 384 GPUs.  It ran for 124 days, and 7 of them idle.",
}
_STORES = (
    "A checkpoint has 980 GB.\n\n| file system | GB/s | time (s) |\n|---|---|---|\n| shared | 41.2 | 23.8 |\n"
    "| local | 192 | 5.10 |\n| objects | 8.75 | 112 |\n"
)
_POWERS = (
    "Energy is hours times 400 W.\n\n| model | GPU-hours | energy (MWh) |\n|---|---|---|\n| S | 2,540 | 1.016 |\n"
    "| M | 7,120 | 2.848 |\n| L | 33,500 | 13.40 |\n"
)
ROWS = {
    "a work that the text gives": (_STORES, "8.75", "7.85"),
    "a power that the text gives": (_POWERS, "2.848", "2.488"),
    "carbon of a row": (_SITES, "181.4", "184.1"),
}


@pytest.mark.parametrize("kind", OF_CELLS)
def test_a_number_follows_from_the_cells_that_its_sentence_names(kind: str) -> None:
    table, sentence, right, wrong = OF_CELLS[kind]
    assert list(of_cells.find(document(table + sentence))) == []
    (found,) = of_cells.find(document(table + sentence.replace(right, wrong)))
    assert found.numbers[0].text == wrong and accused(table + sentence.replace(right, wrong)) == [wrong]


@pytest.mark.parametrize("kind", OTHERS)
def test_a_number_that_named_cells_do_not_give_may_be_of_something_else(kind: str) -> None:
    assert accused(OTHERS[kind]) == []


@pytest.mark.parametrize("kind", TYPED)
def test_a_number_follows_from_those_of_fitting_types(kind: str) -> None:
    text, right, wrong, suffix = TYPED[kind]
    assert list(typed.find(document(text, suffix))) == []
    (found, *_) = typed.find(document(text.replace(right, wrong), suffix))
    assert found.numbers[0].text == wrong and wrong in accused(text.replace(right, wrong), suffix)


@pytest.mark.parametrize("kind", UNTYPED)
def test_a_number_of_a_fitting_type_may_be_of_something_else(kind: str) -> None:
    assert accused(UNTYPED[kind]) == []


@pytest.mark.parametrize("kind", ROWS)
def test_a_row_follows_the_formula_whose_types_fit(kind: str) -> None:
    text, right, wrong = ROWS[kind]
    assert list(typed_rows.find(document(text))) == []
    found = list(typed_rows.find(document(text.replace(right, wrong))))
    assert len(found) == 1 and wrong in {number.text for number in found[0].numbers}
    assert accused(text.replace(right, wrong))


def test_two_rows_off_are_a_rule_that_does_not_hold() -> None:
    assert list(typed_rows.find(document(_STORES.replace("8.75", "7.85").replace("5.10", "1.50")))) == []


def test_a_count_that_a_sentence_spells_twice_is_marked_once() -> None:
    (sentence,) = document("All three ran, and the three took 30 minutes.").sentences
    marked, numbers = of_cells.with_spelled(sentence)
    assert marked == "all <1> ran, and the <2> took <0> minutes." and len(numbers) == 3
