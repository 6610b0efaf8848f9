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
_RATES = (
    "Each GPU gets 16 volumes per step.\n\n| GPUs | vol/s | vol/s per GPU |\n|---|---|---|\n| 1 | 412.6 | 412.6 |\n"
    "| 8 | 3244 | 405.5 |\n| 16 | 6391 | 399.4 |\n| 32 | 12490 | 390.3 |\n\n"
)
TYPED |= {
    "a noun of a rate, and a cell": (_RATES + "With 8 GPUs, 48,656 volumes take 15.0 s.", "15.0", "51.0", ".md"),
    "a duration in two units": ("The run took 5 h 40 min at $2.40 an hour, in all $13.60.", "13.60", "16.30", ".md"),
    "bytes of a precision": ("In bf16 the 8.62B parameters take 17.24 GB.", "17.24", "12.74", ".md"),
    "epochs": ("The corpus has 1.80T tokens.  We train for 1.5 epochs, on 2.70T tokens.", "2.70T", "2.07T", ".md"),
    "days between two dates": ("It ran from 2024-03-04 to 2024-04-15, for 42 days.", "42", "24", ".md"),
    "a rate of each node": (
        "It read 85.0 million tokens/s on 64 CPU nodes, 1.328 million per node.",
        "1.328 million",
        "1.238 million",
        ".md",
    ),
    "a mass of carbon": ("We assume 0.381 kg CO2eq per kWh.  The 1,929 kWh emit 735 kg of CO2.", "735", "753", ".md"),
}
UNTYPED = {
    "of another time": "The run took 5 h 40 min at $2.40 an hour, in all $15.10 with the storage.",
    "with its optimizer": "In bf16 the 8.62B parameters take 25.86 GB with the gradients.",
    "of a part of the corpus": "The corpus has 1.80T tokens.  We train for 1.5 epochs, on 2.25T tokens of it.",
    "with breaks": "It ran from 2024-03-04 to 2024-04-15, for 37 days.",
    "a formula": "It needs $5 \\times 10^3$ samples at $2.40 an hour, $12 in all.",
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
_REQUESTS = (
    "| campaign | runs | nodes | hours per run | node-hours |\n|---|---|---|---|---|\n| search | 48 | 2 | 3.5 | 336 |\n"
    "| scaling | 15 | 16 | 1.5 | 360 |\n| production | 4 | 32 | 40 | 5,120 |\n"
)
ROWS = {
    "a noun of a rate": (_RATES, "405.5", "450.5"),
    "three factors": (_REQUESTS, "336", "363"),
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
    marked, numbers = sentence.with_spelled
    assert marked == "all <1> ran, and the <2> took <0> minutes." and len(numbers) == 3


LISTS = (
    "With 1, 8, 32 and 128 concurrent users it writes 62, 455, 1,504 and 3,712 tokens/s, respectively, which is "
    "62, 56.9, 47.0 and 29.0 tokens/s per user.\n"
)


def test_lists_with_respectively_are_the_rows_of_a_table() -> None:
    assert accused(LISTS) == []
    assert accused(LISTS.replace("56.9", "59.6")) == ["59.6"]
    assert accused(LISTS.replace(", respectively", "").replace("56.9", "58.9")) == []


COUNTS = "With 3584 samples on 512 cards, each card sees {} samples a step.\n"


@pytest.mark.parametrize(("count", "is_wrong"), [("7", False), ("8", True), ("14", False), ("1", False)])
def test_counts_that_divide_without_a_rest(count: str, is_wrong: bool) -> None:
    assert accused(COUNTS.format(count)) == [count] * is_wrong


@pytest.mark.parametrize(
    ("right", "wrong", "alike"),
    [
        ("It runs 2,048 MI300X on 256 nodes (8 per node).", ("8", "4"), ("256 nodes", "128 to 256 nodes")),
        ("The card has 528 cores, thus 989.43, or 9.8943e14 FLOP/s.", ("e14", "e13"), ("989.43", "312.5")),
        ("Tests: 2,418 passed, 37 skipped, 5 failed, 2,460 in total.", ("2,460", "2,640"), ("2,460", "2,475")),
        ("Failures of GPUs caused 46 % of the events.", ("46", "460"), ("caused 46 %", "raised it by 460 %")),
        ("The layout is TP 8 x PP 8 x DP 32 on 2,048 GPUs.", ("32", "16"), ("on 2,048 GPUs", "on 4 clusters")),
    ],
)
def test_words_that_leave_no_other_reading(right: str, wrong: tuple[str, str], alike: tuple[str, str]) -> None:
    assert accused(right) == []
    assert len(accused(wrong[1].join(right.rsplit(wrong[0], 1)))) == 1
    assert accused(right.replace(*alike)) == []


_GRID = (
    "======  ======  =========  =============\nnodes   GPUs    samples/s  samples/s/GPU\n"
    "======  ======  =========  =============\n1       4       118.0      29.50\n2       8       233.5      29.19\n"
    "4       16      461.2      28.82\n8       32      902.7      28.21\n======  ======  =========  =============\n"
)


def test_a_table_of_restructured_text_begins_with_a_rule() -> None:
    assert accused(_GRID, ".txt") == []
    assert accused(_GRID.replace("28.82", "82.28"), ".txt") == ["82.28"]
