"""Relations that a text shows by itself: what breaks them is found, and what only looks like one is left alone."""

import json

import pytest

from conftest import ROOT
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of, read

CORPUS = ROOT.parent / "shared" / "corpus" / "audit"
LEAST_FOUND = 45

RATIO = (
    "| model | old | new | gain |\n|--|--|--|--|\n| a | 157 ms | 331 ms | {} |\n| b | 1223 ms | 2570 ms | 2.10 |\n"
    "| c | 2417 ms | 4813 ms | 1.99 |\n| d | 4813 ms | 9425 ms | 1.96 |\n"
)
SCALED = (
    "| GPUs | images | scaling |\n|--|--|--|\n| 1 | 157 img/s | 1.00 x |\n| 8 | 1223 img/s | 7.79 x |\n"
    "| 16 | 2417 img/s | 15.39 x |\n| 32 | 4813 img/s | {} x |\n| 64 | 9146 img/s | 58.25 x |\n"
)
BATCHES = (
    "gpus,micro_batch,grad_accum,global_batch\n64,8,4,2048\n8,1,21,168\n8,6,21,{}\n8,5,3,120\n8,4,2,64\n8,20,6,960\n"
)
DEGREES = (
    "All rows: 48 nodes with 8 cards, 384 cards.\n\n| DP | TP | PP | GB |\n|--|--|--|--|\n| 4 | 8 | {} | 29.1 |\n"
    "| 8 | 8 | 6 | 37.3 |\n| 16 | 8 | 3 | 49.9 |\n| 2 | 8 | 24 | 69.5 |\n| 12 | 8 | 4 | 38.0 |\n"
)
MEAN = (
    "| model | arc | boolq | piqa | avg |\n|--|--|--|--|--|\n| a | 61.2 | 75.4 | 80.3 | 72.3 |\n| b | 55.0 | 70.1 | 79.8 | {} |\n"
    "| c | 40.7 | 66.6 | 71.2 | 59.5 |\n| d | 48.3 | 61.9 | 77.0 | 62.4 |\n"
)
TABLES = [  # the true number, a wrong one
    (RATIO, ".md", "2.11", "2.17"),
    (SCALED, ".md", "30.66", "28.47"),
    (BATCHES, ".csv", "1008", "1080"),
    (DEGREES, ".md", "12", "21"),
    (MEAN, ".md", "68.3", "63.8"),
]
SENTENCES = [
    ("An Aurora node has 6 GPUs with 2 stacks each, so {} stacks.", "12", "16"),
    (
        "Layout: TP 2, PP 4, DP 16; so 128 GPUs. Global batch {}, micro-batch 2, hence 4 accumulation steps.",
        "128",
        "96",
    ),
    ("Four servers with four cards each (16 GPUs), batch 64 per GPU, with a global batch of {}.", "1024", "4096"),
    ("At 1656.82 images/s and a global batch of 1024 it makes {} steps per second.", "1.618", "1.816"),
    ("One hour on eight cards at 5600 W is {} kWh.", "5.600", "6.500"),
    ("The step takes 121.48 s instead of 143.31 s, so {} % less time.", "15.2", "18.0"),
    ("On A100 it logged 90 TFLOP/s, {} % of the peak.", "28.8", "82.8"),
    ("It runs at {} % of the peak.", "52", "563"),
]
TRUE = {
    "two latencies of one scale": "| a | p50 (ms) | p99 (ms) |\n|--|--|--|\n| 1 | 25.13 | 25.19 |\n| 2 | 49.10 | 49.22 |\n| 3 | 80.20 | 80.40 |\n"
    "| 4 | 113.00 | 113.28 |\n| 5 | 205.00 | 206.90 |\n",
    "a batch that does not fit": "| GPUs | global batch |\n|--|--|\n| 1 | 64 |\n| 2 | 128 |\n| 4 | 256 |\n| 8 | 512 |\n| 16 | 512 |\n",
    "perfect scaling that ends": "| GPUs | images/s |\n|--|--|\n| 1 | 100.0 |\n| 2 | 200.0 |\n| 4 | 400.0 |\n| 8 | 800.0 |\n| 16 | 1381.0 |\n",
    "rates that were cut": "| old tok/s | new tok/s | speedup |\n|--|--|--|\n| 152 | 423 | 2.76 |\n| 303 | 912 | 3.01 |\n| 517 | 1551 | 3.00 |\n"
    "| 611 | 1222 | 2.00 |\n",
    "versions": "It needs Python 3.10 and PyTorch 1.13, which is at least version 1 of the interface.",
    "experts": "With TP 4, CP 8 and DP 8 the experts (EP 8) need at least 64 GPUs, PP 4.",
}


def accused(text: str, suffix: str = ".md") -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=suffix))]


@pytest.mark.parametrize(("text", "suffix", "right", "wrong"), TABLES)
def test_a_table_that_fulfills_a_form_in_all_rows_but_one(text: str, suffix: str, right: str, wrong: str) -> None:
    assert accused(text.format(right), suffix) == []
    assert accused(text.format(wrong), suffix)


@pytest.mark.parametrize(("text", "right", "wrong"), SENTENCES)
def test_numbers_that_sentences_derive(text: str, right: str, wrong: str) -> None:
    assert accused(text.format(right)) == []
    assert accused(text.format(wrong))


@pytest.mark.parametrize("kind", TRUE)
def test_what_only_looks_like_a_relation_is_left_alone(kind: str) -> None:
    assert accused(TRUE[kind]) == []


@pytest.fixture(scope="module")
def planted() -> list[dict[str, object]]:
    if not CORPUS.is_dir():
        pytest.skip("the texts do not lie beside the project")
    found: list[dict[str, object]] = json.loads((CORPUS / "truth.json").read_text())["planted"]
    return found


def test_planted_errors_are_found(planted: list[dict[str, object]]) -> None:
    found = 0
    for error in planted:
        partners = error["partner_lines"]
        assert isinstance(partners, list)
        near = {line + step for line in [error["line"], *partners] for step in (-1, 0, 1)}
        found += any(each.numbers[0].line in near for each in inconsistencies(read(CORPUS / str(error["file"]))))
    assert found >= LEAST_FOUND


def test_nothing_in_the_true_texts_is_accused(planted: list[dict[str, object]]) -> None:
    assert planted
    assert [f.sentence for path in sorted((CORPUS / "true").iterdir()) for f in inconsistencies(read(path))] == []
