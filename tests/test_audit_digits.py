"""Errors that their digits show, where words name little, and what looks like one of them and is none."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

TABLE = """
| set | step | records | loss |
|---|---|---|---|
| mol_motif | 40000 | 95,100 | 0.25196 |
| sp_organism | 115000 | 271,498 | 0.26855 |
| go_terms | 360000 | 84,216 | 0.31047 |

{}
"""
SPEEDUPS = """
| nodes | throughput | speedup |
|---|---|---|
| 1 | 1472.72 | 1.00 |
| 8 | 10629.32 | 7.22 |
| 16 | 17920.40 | 12.17 |
| 32 | 33141.02 | 22.50 |
"""
MEANS = """
| model | first | second | third | 평균 |
|---|---|---|---|---|
| a | 64.4% | 56.2% | 43.0% | 54.5% |
| b | 53.9% | 49.1% | 31.6% | 44.9% |
| c | 27.8% | 33.3% | 25.3% | 28.8% |
"""
SHARES = """
| phase | ms | % of total |
|---|---|---|
| sort | 77 | 4.9% |
| upload | 120 | 7.7% |
| alloc | 899 | 57.4% |
| scatter | 94 | 6.0% |
| sync | 37 | 2.4% |
| kernel | 97 | 6.2% |
| copy | 99 | 6.3% |
| free | 48 | 3.1% |
| pack | 118 | 7.5% |
| rest | 338 | 21.6% |
"""
WRONG = {
    "swapped, with one word": (TABLE.format("We count 271,498 records of sp_organism."), "271,498 rec", "471,298 rec"),
    "a step names the row": (TABLE.format("The best loss is 0.26855 (step 115000)."), "0.26855 (", "0.28655 ("),
    "ten times the digits": (TABLE.format("For go_terms it is 0.31047 at the end."), "0.31047 at", "3.1047 at"),
    "a digit in the middle": (TABLE.format("The loss of mol_motif is 0.25196."), "0.25196.", "0.25396."),
    "a word of the line is not known": ("It needs 3500 kg / 97.5 kg/year = **35.9 years**.", "35.9", "3.59"),
    "brackets compute it": ("A node takes 87.5 kg/year (350 kg / 4 years).", "87.5", "8.75"),
    "a factor in brackets": ("The buffers take 12,288 MB (24 × 512 MB).", "512 MB)", "572 MB)"),
    "a list and its total": (
        "CPU **120.00 W**, GPU **0.00 W**, RAM **10.00 W**, **Total 130.00 W**",
        "130.00",
        "133.00",
    ),
    "a part of a total": (
        "Three parts (alloc: 900 ms, scatter: 340 ms, upload: 120 ms) total ~1,360 ms.",
        "120 ms",
        "2 ms",
    ),
    "a total in Chinese": ("EN 约 451B token、ZH 约 241B token，合计约 692B token。", "241B", "421B"),
    "a share of a peak": ("1.00 ms, 118.3 GB/s (effective, 72 B/cell) (59.1% of 200 GB/s)", "200 GB/s", "206 GB/s"),
    "counts of one name": (
        "{'prompt_tokens': 5215, 'completion_tokens': 1332, 'total_tokens': 6547}",
        "5215",
        "5125",
    ),
    "out of": ("The second rounds hold 29 fallback turns out of 76 (38%).", "76", "67"),
    "a share with a word": ("- Combinations: 17/40 (42.5% coverage)", "42.5", "42.7"),
    "bold before a comma": ("Memory: **30.92 GiB / 31.25 GiB**, **0.3295 GiB** free.", "31.25", "35.21"),
    "the base, as another row": (SPEEDUPS, "| 1472.72", "| 10629.32"),
    "the base, in another unit": (SPEEDUPS, "| 1472.72", "| 5301792.00"),
    "a mean of another language": (MEANS, "56.2%", "76.2%"),
    "one share of many": (SHARES, "4.9%", "49.0%"),
}
TRUE = {
    "two of the three digits": TABLE.format("Another run of go_terms has 84,261 records and 84,300 of them are new."),
    "163 and 16.3": "\n| us | kernel | ratio |\n|---|---|---|\n| 16.3 | a | 2.1 |\n| 18.4 | b | 2.3 |\n\nRanked: **163 us**.\n",
    "batches are chosen": (
        "\n| test | GPU | EP | MBS | GBS |\n|---|---|---|---|---|\n| a | 4 | 4 | 1 | 16 |\n| b | 8 | 8 | 2 | 128 |\n"
        "| c | 8 | 8 | 4 | 256 |\n| d | 8 | 8 | 1 | 64 |\n| e | 8 | 4 | 4 | 128 |\n| f | 8 | 8 | 2 | 64 |\n"
    ),
    "a base of its own": (
        "\n| round | change | TFLOP/s | delta |\n|---|---|---|---|\n| R0 | base | 89 | - |\n| R1 | graph | 208 | +134% |\n"
        "| R2 | overlap | 120 | +35% |\n| R3 | fp8 | 178 | +100% |\n| R4 | cudagraph | 160 | +80% |\n"
        "| R5 | R1 + boost | 190 | -9% |\n"
    ),
    "a score of all": (
        "\n| video | a | b | c | d | overall |\n|---|---|---|---|---|---|\n| frames | 211 | 69 | 934 | 98 | 1312 |\n"
        "| hits | 11 | 9 | 34 | 8 | 62 |\n| misses | 200 | 60 | 900 | 90 | 1250 |\n| swaps | 21 | 19 | 31 | 3 | 74 |\n"
        "| score | 29.0% | 58.7% | 44.3% | 51.0% | 47.5% |\n"
    ),
    "done of all": "\n| area | tests | done |\n|---|---|---|\n| a | 30 | 100% |\n| b | 19 | 100% |\n| c | 12 | 100% |\n| Total | 61 | 100% |\n",
    "values one after the other": "Validation went 6.16→6.00→6.78→10.0→**12.59%** at step 40.",
    "a prefix": r"$$M = 2 \times 7.25 \times 10^9 \text{ bytes} = 14.5 \text{ GB}$$",
    "a finding and a speedup": "Finding 2: the prefill is 3.8x faster (100 TFLOPS), the decode 3.4x (819 GB/s).",
    "a range of factors": "The port of 12×2 kernels for 3–4× rests on one limit.",
    "a further divisor": "(4 layers × 2 queries per layer = 32 distinct queries / 4)",
    "about": "\n| dev | total | a | b |\n|---|---|---|---|\n| x | 100 ms | 40 ms | 60 ms |\n| y | 150 ms | 74 ms | 76 ms |\n"
    "| v | 210 ms | 90 ms | 120 ms |\n| z | ~390 ms | ~154 ms | ~214 ms |\n",
    "points of fractions": "Our model reaches an AUC of 0.7342 vs 0.716 of the forest (+1.8%).",
    "for each of something": "**Models**: top 3 per budget × 2 tiers = 18 models",
    "a time of day": "**Fix** (02:47 + 50 min = 03:37):",
    "five degrees": "With TP=8, PP=8 and DP=16 we use 16 × 8 × 8 × 4 × 4 = 16,384 GPUs.",
    "within a node": "64 GPUs are 8 nodes with 8 GPUs per node.\n\n- **Intra-node**: 8 GPUs connected by links\n",
    "an order of magnitude": "The training time was reduced from 289 hours to 2.5 hours (100x speedup).",
    "a load": "Each sample blocks for 0.3s: that is 1.5s/s of load.",
    "a score beside a count": "Performance: 6/10 (15% efficiency)",
    "an error that is quoted": "The model printed 0+807 = 707 (INCORRECT).",
    "more than the list": "CPU 120 W, GPU 300 W, out of a total of 450 W available.",
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_digits_show_an_error(name: str) -> None:
    text, right, wrong = WRONG[name]
    assert text.count(right) == 1
    assert not inconsistencies(document_of(text, suffix=".md"))
    assert inconsistencies(document_of(text.replace(right, wrong), suffix=".md"))


@pytest.mark.parametrize("name", sorted(TRUE))
def test_what_only_looks_like_an_error_is_not_accused(name: str) -> None:
    assert not inconsistencies(document_of(TRUE[name], suffix=".md"))
