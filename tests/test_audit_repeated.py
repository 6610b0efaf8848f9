"""Numbers that a sentence repeats from a table, and products whose factors have names or stand in brackets."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.prose import headed
from scalelens.audit.reading import document_of

TABLE = """
| model | image size | latency (ms) | throughput (images/s) | accuracy |
|---|---|---|---|---|
| resnet50 | 224 | 6.172 | 1620.8 | 76.13 |
| [vit-b16](https://example.org/vit) | 224 | 9.843 | 1016.2 | 81.07 |
| convnext-t | 224 | 7.518 | 1330.1 | 82.52 |

{}
"""

REPEATED = {
    "swapped": ("The latency of convnext-t is 7.518 ms.", "7.518 ms", "7.158 ms"),
    "a factor of ten": ("With vit-b16 we reach a throughput of 1016.2 images/s.", "1016.2 images", "10162 images"),
    "one digit, beside another number of the row": (
        "resnet50 has an accuracy of 76.13 and a latency of 6.172 ms.",
        "6.172 ms",
        "6.572 ms",
    ),
    "one digit, with its label": (
        "The model vit-b16 reaches an accuracy of 81.07.",
        "81.07",
        "31.07",
    ),
    "half, beside two numbers of the row": (
        "vit-b16 has 81.07 accuracy, a latency of 9.843 ms and a throughput of 1016.2 images/s.",
        "9.843 ms",
        "4.922 ms",
    ),
}
HEADED = {
    "named as the headings do": ("Latency 9.843 ms, throughput 1016.2 images/s, accuracy 81.07.", "9.843", "9.483"),
    "one digit, named as the headings do": (
        "Accuracy 81.07, throughput 1016.2 images/s, latency 9.843 ms.", "1016.2", "1616.2",
    ),
}  # fmt: skip
PRODUCTS = {
    "a sum in brackets": ("We stop at 7799008 (7594208+204800).", "204800", "204850"),
    "a share of about": ("Peak disk: 77% (≈156 GB / 202 GB).", "202", "2020"),
    "by a factor": (
        "We reduce 768 dimensions to 128 dimensions, reducing the storage by factor 6.",
        "factor 6",
        "factor 60",
    ),
    "a quotient of counts": ("The windows cover 35 / 42 = 83.3% of the guards.", "83.3", "83.7"),
    "free memory": ("The peak is 30.92 GiB / 31.25 GiB, 0.3295 GiB free.", "30.92", "39.02"),
    "a share before its counts": ("The precision is 81% (29/36 true).", "29", "59"),
    "two shares of a peak": ("We reach a MFU and HFU of 56.3% and 57.0%, respectively.", "56.3", "112.6"),
}
TRUE = {
    "another row": TABLE.format("The latency of the old kernel was 7.158 ms."),
    "the value of another row": TABLE.format("Unlike vit-b16, we measured 7.518 ms."),
    "half of it": TABLE.format("With half of the layers convnext-t has a latency of 3.759 ms."),
    "two measurements": TABLE.format("In another run convnext-t had a latency of 7.528 ms."),
    "another machine": TABLE.format("On an A100 convnext-t has a latency of 7.158 ms, resnet50 one of 5.020 ms."),
    "millions in words": "| model | parameters | latency (ms) |\n|---|---|---|\n| yolo-l | 43.7 | 9.06 |\n| yolo-s | 11.2 | 2.66 |\n"
    "\nThe model yolo-l has 43.7M parameters.",
    "another unit": TABLE.format("convnext-t was trained with 7158 images."),
    "several cards": "| model | time (s) | loss |\n|---|---|---|\n| LoRA | 3090 | 1.2 |\n| full | 5120 | 1.1 |\n\n"
    "With LoRA the time is shorter on two 4090s than on four.",
    "heads of another size": "24 blocks, embed_dim=1024, heads=16, head_dim=128.",
    "two shares of one base": "BF16 is at 1.76x of the base (69 us), FP8 at 2.33x of the base (52 us).",
    "points of plain values": "TriviaQA: 60.5 vs 65.8 (−5.3%).",
    "a name before a factor": "This frees BKV*D*2 = 64*64*2 = 8KB of memory.",
    "the size of an element": "The output is 4 experts x 2880 floats = 46KB.",
    "a setting": "A sweep of BS 512→3600, sweet spot BS=1800, 2264 fps.",
    "used devices": "The baseline is tp=4, pp=1, dp=2. The baseline only uses 8 of 16 GPUs.",
    "times of two rounds": "A longer time is seen in round 8 with offload (9.4s vs 7.4s in round 7).",
    "a day": "301 runs are left, about 137h ≈ 3/5-3/6.",
    "dollars": "You spend $2,100 + $1,800 + $3,200 = $7,100 a month.",
    "energy beside shares": "Result: 97.85% vs 95.55%, 2.5× less energy.",
    "devices of a node": "With heads=14, TP=2, PP=1 and DP=2 we run 2 nodes × 2 GPUs.",
    "a function": "The scale is 1/sqrt(256) = 1/16.",
    "a sum after its factors": "The builds happen twice: 25.7s×2 + 103s×2 = 257s.",
    "another name after a comma": "FPR 0.0404→0.0435（未降）、AUPRC +0.0018。",
    "a name before a preposition": "Decode reaches **11.0 tok/s = 0.476× AR** at block 4.",
    "about, within a product": "The transfer is 32 × ~274 KB / 12 GB/s = 0.73 ms.",
    "a label before a sum": "On the GPU 80% = 12.6 ms + 2 ms overhead = 14.6 ms.",
    "two uses": "It gives a 37% improvement (80% ALU util vs 25%).",
    "less than its parts": "2-layer LSTMs of 512 units with a bidirectional encoder (i.e., 1 bidirectional layers).",
    "numbers in ten thousands": "LLM 调用从 11 万次降到 330 次（300x）。",
    "bits of a register": "A fragment: aReg[4][8] = 32 x 32-bit = 32 registers.",
    "versions": "- 1.0 -> 2.0: 4.3x speedup",
    "times a name": "2240ms = 2× the trained 14-encoder-frame.",
    "two qualities": "6-bit beats int8: +9% RTFx, smaller (422 MB vs 564 MB).",
    "parts of the devices": "- Machine: 2 nodes with 16 H20 GPUs each\n  - Generation: 4 GPUs\n",
    "the largest of a column": "| file | time (s) | peak GB |\n|---|---|---|\n| a | 1.5 | 2.1 |\n| b | 2.5 | 3.3 |\n"
    "| c | 4.0 | 1.2 |\n| Total | 8.0 | 3.4 |\n",
    "about, in Chinese": "训练侧 135s→85s（约 -40%），单步变快。",
    "a mapping": "**prefill**: 8 → 6,788; 14 → 8,809 (+30%); 16 → 8,993 (+2%).",
    "a setting that changes": "Scalar M_TILE 8→16 (+1.8 %).",
    "a change of something else": "Raise the fraction from 0.85 to 0.88 (KV budget +13%).",
    "two shares, and a degree": "With DP=4 the penalty is smaller (+1.7% vs +9.3%).",
    "another quantity that is faster": "w2 is 2.4× faster (62.4 vs 46.2 GB/s), as it has no ext chain.",
    "a label and a time": "Stage 1 148→37.5 s (3.96×), all 237→125 s.",
    "a part of one": "Stopped at step 3450 (66% of 1 epoch).",
    "four powers": "The power rises with the clock (1252 W → 1411 W → 1586 W → 1711 W).",
    "a shape and a name": "The current 64×128 leaves M=512.",
    "a shape of vectors": "Tile: 8×3 (8 rows × 3 vectors = 48 columns).",
    "two units of a cluster": "4 nodes with 32 GPUs, and 18 nodes with 144 GPUs.",
    "domains, nodes and GPUs": "Cross-domain 4-node 16 GPU (2 domains × 2 nodes).",
    "pixels": "It processes 640×640 images in 6.2 ms (161 FPS).",
    "binary millions": "The limit is 1,572,864 (1.5M) positions.",
    "the rate of many": "- Total wall: 1,542.353 s\n- Requests/sec: 0.648\n",
    "a number of a finding": "Finding 539: fusing achieves 1.24x speedup on 128 GPUs.",
    "all devices": "On B200 we reach 349.5 TFLOP/s aggregate, 1.0% of BF16 peak.",
    "fractions with their counts": "This is (40/320 = 12.5% vs 8/320 = 2.5%).",
    "one run of two": "| c | images/s | ms |\n|---|---|---|\n"
    + "".join(f"| {c} | {r} | {1000 * c / r:.2f} |\n" for c, r in ((8, 120.4), (16, 201.7), (32, 322.6), (64, 480.1)))
    + "| 128 | 652.8 | 197.73 |\n",
    "a total of three counts": "| set | all | good | bad |\n|---|---|---|---|\n| a | 813 | 394 | 419 |\n"
    "| b | 1742 | 911 | 831 |\n| c | 2219 | 1204 | 1015 |\n| d | 1500 | 700 | 600 |\n",
    "shares of a base": "We keep a recall of 112% of the base. The accuracy is 120% higher.",
    "points of fractions": "Both fell: ResNet 0.694→0.510 (−18), MobileNet 0.596→0.453 (−14).",
    "a product with names": "Training: batch 32 × grad-accum 8 × seq 1024 ≈ 0.26M tokens/step.",
    "runs of sizes": "We performed 30 runs for each distribution, with a set size of 500.000, totaling 120 runs per algorithm.",
    "two correlations": "The correlation exceeded 99.9% and reached 99.5%, the bias has 95.8% within the limits.",
    "a factor without a unit": "The p99 is 2,050.439 us; the factor 1.10 gives a 2,255.483 us deadline.\n\n"
    "There are 1,100 requests per system.",
    "a batch on several devices": "All runs have batch=16, grad_accum=4 (effective batch=256).",
    "a formula with a name": "1800 = 2500 - 1700f",
    "a class and a share": "Ran an analysis of Class 2 failures. 28 structures out of 53 with any failure (52.8%).",
    "seconds as hours": "GPU-hours = 2.09e23 / 4.0e14 ≈ 144,800 H100-hours",
    "more than something else": "40B against 627M is 3.9x more than infinite repetition could be worth.",
    "two rows that are alike": "| pair | a | b | c | d | e | f | g |\n|---|---|---|---|---|---|---|---|\n"
    "| base | 0.001 | 0.001 | 0.001 | 0.001 | 0.001 | 0.001 | 0.001 |\n"
    "| de-ar | 0.005 | 0.006 | 0.001 | 0.027 | 0.610 | 0.114 | 0.109 |\n"
    "| fr-ar | 0.004 | 0.005 | 0.000 | 0.026 | 0.639 | 0.113 | 0.108 |\n",
    "a share of a ceiling": "50 tok/s = 22% of the 32k ceiling.",
    "a ratio that changed": "C is revised from 164 ms → 180.9 ms (ratio corrected 1.49× → 1.33×).",
    "for each": "It has 8x 400Gbps NICs, i.e. 400Gbps per accelerator.",
    "a real-time factor": "- Real-time factor: ~120x on M4 Pro (1 minute ≈ 0.5 seconds)",
    "a change": "It falls to 6.1% (7.58/7.14 = 6.16%).",
}


@pytest.mark.parametrize("name", sorted(REPEATED))
def test_a_number_that_differs_from_its_cell_by_a_slip_is_accused(name: str) -> None:
    text, right, wrong = REPEATED[name]
    assert right in text
    assert not inconsistencies(document_of(TABLE.format(text), suffix=".md"))
    assert inconsistencies(document_of(TABLE.format(text.replace(right, wrong)), suffix=".md"))


@pytest.mark.parametrize("name", sorted(HEADED))
def test_a_number_that_is_named_as_the_headings_are(name: str) -> None:
    text, right, wrong = HEADED[name]
    assert right in text
    assert not [*headed.find(document_of(TABLE.format(text), suffix=".md"))]
    assert len([*headed.find(document_of(TABLE.format(text.replace(right, wrong)), suffix=".md"))]) == 1


@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_a_product_that_its_factors_do_not_give_is_accused(name: str) -> None:
    text, right, wrong = PRODUCTS[name]
    assert right in text
    assert not inconsistencies(document_of(text, suffix=".md"))
    assert inconsistencies(document_of(text.replace(right, wrong), suffix=".md"))


@pytest.mark.parametrize("name", sorted(TRUE))
def test_what_may_be_something_else_is_not_accused(name: str) -> None:
    assert not inconsistencies(document_of(TRUE[name], suffix=".md"))


def test_zeros_and_a_second_base_in_a_table_are_not_accused() -> None:
    rows = [(120, 60), (200, 74), (310, 93), (480, 312), (530, 106), (640, 128), (750, 300)]
    lines = [f"| layer {k} | {a} | {b} | {100 * (1 - b / a):.5f} |" for k, (a, b) in enumerate(rows)]
    lines += ["| total | 3030 | 1073 | 0.00000 |"]
    head = "| layer | weights | kept | pruned (%) |\n|---|---|---|---|\n"
    assert not inconsistencies(document_of(head + "\n".join(lines) + "\n", suffix=".md"))
    lines[3] = lines[3].replace("35.00000", "53.00000")
    assert inconsistencies(document_of(head + "\n".join(lines) + "\n", suffix=".md"))


DELTAS = """
| metric | before | after | delta |
|---|---|---|---|
| first token | 185.529 ms | 137.966 ms | -47.563 ms |
| next token | 11.341 ms | 11.280 ms | -0.061 ms |
| all | 1,269.874 ms | 1,701.776 ms | +431.902 ms |
| tokens/s | 1,259.139 | 1,006.374 | -252.765 |
| input tokens | 1,482.69 | 1,553.80 | +71.11 |
"""
CLASSES = """
| set | samples | positive | negative |
|---|---|---|---|
| Fraud | 3,000 | 1,500 | 1,500 |
| Bench | 2,000 | 1,020 | 980 |
| DNA | 5,000 | 2,513 | 2,487 |
| all | 10,000 | 5,033 | 4,967 |
| Aegis | 813 | 394 | 419 |
"""
BASES = """
| scaling | memory (GB) | median tokens/s | speedup over BF16 |
|---|---|---|---|
| none | 33.71 | 8307.5 | - |
| mxfp8 | 33.88 | 9969.0 | +20.0% |
| mxfp8 rceil | 33.81 | 9642.0 | +16.1% |
| float8 | 33.38 | 10417.0 | +25.4% |
"""
SHARES = """
| metric | tiny | small | large |
|---|---|---|---|
| Precision | 90.1% | 95.2% | 96.7% |
| Recall | 91.3% | 93.0% | 98.9% |
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (DELTAS, "137.966", "173.966"),
        (DELTAS, "+431.902", "-431.902"),
        (CLASSES, "394", "3940"),
        (CLASSES, "5,033", "5,303"),
        (BASES, "8307.5", "830.8"),
        (BASES, "8307.5", "3807.5"),
        (SHARES, "96.7%", "193.4%"),
        ("The filter has a precision of 96.7%.", "96.7%", "193.4%"),
        ("It reaches 98.3% F1.", "98.3%", "198.3%"),
    ],
)
def test_a_table_of_few_rows_shows_its_relation(text: str, right: str, wrong: str) -> None:
    assert not inconsistencies(document_of(text, suffix=".md"))
    assert inconsistencies(document_of(text.replace(right, wrong), suffix=".md"))


def test_a_cell_between_backquotes_is_a_number() -> None:
    rows = [(812, 6.2), (1624, 12.4), (2436, 18.6), (3248, 24.8), (4060, 31.0)]
    text = "| kernel | images/s | TFLOP/s |\n|---|---|---|\n" + "".join(
        f"| v{k} | `{a}` | {b} |\n" for k, (a, b) in enumerate(rows)
    )
    assert document_of(text, suffix=".md").tables[0].cells[1][1] is not None
