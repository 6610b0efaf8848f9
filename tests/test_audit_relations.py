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
    "a part of both": "Person has 3200 FN vs. only 176 TP (5.2% recall), as pedestrians stand close together.\n",
    "the last of three": "The estimates rise with k (98.5 → 99.0 → 99.2%), against the prediction.\n",
    "a quotient upside down": "1276 classes / 3601 samples = 2.8 samples per class, which is few.\n",
    "a little better than before": "The binary code retains 100.7% [99.5, 103.2] of the accuracy.\n",
    "thousands in capitals": "| metric | a | b | delta |\n|--|--|--|--|\n| quality | 26.50 | 26.29 | +0.21 |\n| stuff | 33.50 | 32.61 | +0.89 |\n"
    "| things | 16.85 | 17.58 | -0.73 |\n| mean | 57.01 | 56.89 | +0.12 |\n| parameters | 3.89M | 4.19M | -300K |\n",
    "two latencies of one scale": "| a | p50 (ms) | p99 (ms) |\n|--|--|--|\n| 1 | 25.13 | 25.19 |\n| 2 | 49.10 | 49.22 |\n| 3 | 80.20 | 80.40 |\n"
    "| 4 | 113.00 | 113.28 |\n| 5 | 205.00 | 206.90 |\n",
    "a batch that does not fit": "| GPUs | global batch |\n|--|--|\n| 1 | 64 |\n| 2 | 128 |\n| 4 | 256 |\n| 8 | 512 |\n| 16 | 512 |\n",
    "perfect scaling that ends": "| GPUs | images/s |\n|--|--|\n| 1 | 100.0 |\n| 2 | 200.0 |\n| 4 | 400.0 |\n| 8 | 800.0 |\n| 16 | 1381.0 |\n",
    "rates that were cut": "| old tok/s | new tok/s | speedup |\n|--|--|--|\n| 152 | 423 | 2.76 |\n| 303 | 912 | 3.01 |\n| 517 | 1551 | 3.00 |\n"
    "| 611 | 1222 | 2.00 |\n",
    "a log of accuracies": "\n".join(
        f"epoch {5 * k}: {each}"
        for k, each in enumerate(
            (
                60.982,
                64.512,
                61.364,
                64.822,
                65.1,
                66.328,
                68.372,
                69.522,
                69.678,
                68.458,
                70.852,
                72.082,
                71.784,
                72.978,
            ),
            20,
        )
    ),
    "the row that is last": "| technique | memory (GiB) | tokens per second |\n|--|--|--|\n| baseline | 25.5 | 2091 |\n"
    "| packed | 60.0 | 7075 |\n| low rank | 8.5 | 8210 |\n| quantized | 4.6 | 8035 |\n\n"
    "The final row has 284.3 % more tokens per second than the baseline.",
    "means below a table": "| | local | latency (ns) |\n|--|--|--|\n| socket 0 | 49 % | 365.82 |\n| socket 1 | 46 % | 436.65 |\n"
    "| Total | 48 % | 400.13 |\n",
    "one or the other": "It was a single prompt of 165 tokens or 10 prompts with 16 tokens each.",
    "cells of HTML": "<table>\n<tr><th>model</th>\n<th>k-NN</th>\n<th>linear</th></tr>\n"
    + "".join(
        f"<tr><td>{m}</td>\n<td>{a}%</td>\n<td>{b}%</td></tr>\n"
        for m, a, b in (("S", 79.0, 81.1), ("B", 82.1, 84.5), ("L", 83.5, 86.3), ("G", 83.5, 86.5))
    )
    + "</table>\n",
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


BEYOND = {
    "bandwidth": ("On an H100 SXM the kernel reaches a memory bandwidth of {} TB/s.", "2.9", "3.9"),
    "power": ("The run used 8 A100 GPUs. Each GPU draws {} W.", "398", "620"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BEYOND)
def test_what_no_device_of_this_name_can_do(kind: str) -> None:
    text, right, wrong = BEYOND[kind]
    assert accused(text.format(right)) == []
    assert accused(text.format(wrong))


@pytest.mark.parametrize(
    "text",
    [
        "A node of 8 A100 GPUs has a memory bandwidth of 16.3 TB/s.",
        "Each GPU draws 620 W.",
        "The run used 8 A100 GPUs. It took an hour. Each GPU draws 620 W.",  # the sentence before names no device
    ],
)
def test_several_devices_or_none_have_no_limit(text: str) -> None:
    assert accused(text) == []


CACHE = ((4096, 7.335, 558.42), (8192, 8.135, 503.51), (12288, 9.012, 454.51), (16384, 9.871, 414.95), (20480, 10.722, 382.02),
         (24576, 11.595, 353.25), (28672, 12.441, 329.23))  # fmt: skip


def cached(rows: tuple[tuple[float, ...], ...]) -> str:
    """4096 tokens, the time, and tokens per second for each size of a cache, as HTML with a cell over two columns."""
    head = "<table><tr><th>new</th><th>cached</th><th colspan=2>prompt</th></tr>\n<tr><th></th><th></th><th>s</th><th>t/s</th></tr>\n"
    body = (
        f"<tr><td>4096</td>\n<td>{size}</td><td>{seconds}</td><td><b>{rate}</b></td></tr>\n"
        for size, seconds, rate in rows
    )
    return head + "".join(body) + "</table>\n"


def test_many_rows_that_agree_accuse_one_that_is_near_too() -> None:
    """454.51 is no simple slip away from 449.51: six rows in which a constant column over the time is the rate say it."""
    assert accused(cached(CACHE)) == []
    wrong = (*CACHE[:2], (12288, 9.012, 449.51), *CACHE[3:])
    (sentence,) = accused(cached(wrong))
    assert "449.51" in sentence and "454.5" in sentence


def test_cells_over_several_rows_and_columns_stay_in_their_places() -> None:
    text = (
        "<table>\n<tr><th rowspan='2'>GPUs</th><th colspan='2'>time</th></tr>\n<tr><th>a</th><th>b</th></tr>\n"
        "<tr><td>1</td><td>2.5</td><td>3.5</td></tr>\n</table>\nAfter it 3.25 s are left.\n"
    )
    document = document_of(text, suffix=".md")
    assert [row for _, row in document.tables[0].rows_with(1, 2)]
    assert [[number.text for number in row if number] for row in document.tables[0].cells] == [["1", "2.5", "3.5"]]
    assert [number.text for each in document.sentences for number in each.numbers] == ["3.25"]


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
