"""What a sentence states by itself: equations, changes, shares, totals; and tables that compare rows with one of them."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

# A sentence that is true, and the same with one wrong number.
STATED = {
    "product": ("8 nodes × 4 GPUs = 32 GPUs.", "32", "36"),
    "words between": ("We got 73.5 qps x batch 8 = 588 fps.", "588", "688"),
    "brackets": ("That is (640 tokens)/(55.5 tokens/second) = 11.53 seconds.", "11.53", "31.53"),
    "code": ("These are `2048 x 1408 x 3 x 6 x 25 = 1.298B` weights.", "1.298B", "1.798B"),
    "difference": ("The number of layers is 295 - 9 = 286 (ten fewer, one more).", "286", "486"),
    "power": ("The table has 2**10 = 1024 entries.", "1024", "1042"),
    "binary units": ("It takes 163,000 x 256 kB = 42.7 GB.", "42.7", "24.7"),
    "arrow": ("The kernel went 28.79→17.87 ms (-38%).", "38", "83"),
    "versus": ("It saves 1.07 s of wall-clock (82.13 s vs 83.20 s).", "1.07", "2.07"),
    "points": ("It improved by 10.5%, rising from 89.3% to an impressive 99.8%.", "99.8", "89.9"),
    "times before": ("A 1.5x speedup (12.3 s vs 8.2 s).", "1.5x", "1.8x"),
    "limit": ("The peak draw is 1080.6 W against an 1100 W cap — 98.2%.", "1080.6", "2161.2"),
    "share": ("There are 608B input tokens, of which 342B tokens (56.3%) hit the cache.", "56.3", "66.3"),
    "fraction": ("It passed 12/15 tests (80%).", "80", "70"),
    "total": ("A cache of 1836 MiB and a buffer of 2280 MiB, for a total of 4116 MiB.", "1836", "918"),
    "weights": ("The model is 685B, which includes 671B of weights and 14B of heads.", "14B", "7B"),
    "keys": ("The size = 1504.00 MiB, K (f16): 752.00 MiB, V (f16): 752.00 MiB.", "1504", "1405"),
    "items": ("The time was 70116 ms / 220 tokens (318.71 ms per token).", "318.71", "159.35"),
    "groups": ("It ran 3 batches of 4096 frames (12,288 total frames).", "4096", "4092"),
    "number of groups": ("The 5,120 images are divided into 20 batches of 256.", "20", "24"),
    "parts": ("A global batch of 1024 gets split up into 4 mini-batches of 256 each.", "4 mini", "6 mini"),
    "each": ("It has 4 cores, and each core does 512 operations, amounting to 2048 in a cycle.", "2048", "1024"),
    "shared": ("A dimension of dim=4096 with TP=4 gives shard=1024.", "TP=4", "TP=8"),
    "total before its groups": ("The alarm is at 55.2A (all 6 power pins at 9.2A).", "9.2A", "2.2A"),
    "two units": ("It has 3.2 TB (3,200 GB) of memory.", "3,200", "2,300"),
    "a time in two units": ("It took 1.5 h (90 min) in all.", "90", "9"),
    "a count and its short form": ("The model has 8,030,261,248 parameters (8.03B).", "8.03B", "8.30B"),
    "words between the values": (
        "The tiled kernel uses 75.93 J, a 20.3% improvement over the naive kernel (95.27 J).",
        "95.27",
        "65.27",
    ),
    "against": (
        "One node has 482.05 GB/s against 369.06 GB/s of four, so leaving it costs 1.31x where the other costs 2.2x.",
        "369.06",
        "349.06",
    ),
    "before and after": ("#Param before: 8030261248, #Param after: 6612586496, Ratio = 82.3458%", "82.3458", "8.2346"),
    "a change before its values": ("It reaches **+11.6%** (1732 vs 1552).", "1732", "3464"),
    "a difference in the unit of its values": (
        "It takes 56.3 ms fwd+bwd vs 47.3 ms without it (+9.0 ms).",
        "56.3",
        "563.0",
    ),
    "a factor after an arrow": ("On the new machine: 255.8 vs 240.8 (legacy) → +6.2%.", "240.8", "640.8"),
    "names with values": ("On the reports: ours=8.979 vs random=6.233 (+44%).", "44", "440"),
    "an improvement of something": (
        "It attains 32.5, an absolute improvement of +3.6 over the best one ([A](https://x.org): 28.9).",
        "28.9",
        "57.8",
    ),
    "what is beaten": ("It achieves 5633 ± 158, outperforming A (4094 ± 1039) by 37.6%.", "4094", "2047"),
    "values in brackets": ("One house (15 kW): 3.75x more than the other one (4 kW).", "4 kW", "8 kW"),
    "a gap": ("**256x throughput gap** between matmul (989 TFLOPS) and exp (3.86 TFLOPS).", "256x", "15360x"),
    "better than": ("The loss is 0.01518 (28x better than the old 0.425).", "28x", "14x"),
    "a factor": ("It falls from 768 to 128 dimensions, a factor of 6.0.", "6.0", "60.0"),
    "Chinese": ("显存：7.120 GiB → 5.469 GiB，减少 1.651 GiB。", "5.469", "2.735"),
    "a quotient of one unit": ("Speedup: 97.435 ms / 16.201 ms = 6.0X", "97.435", "350766.000"),
    "a quotient in per cent": ("These are 35 / 42 = 83.3% of all.", "42", "420"),
    "a price": ("New ones: 20 * $89 = $1,780/month.", "1,780", "1,750"),
    "work, time and rate": ("It has 128 generated tokens and took 0.81 s (157.16 tokens/s).", "157.16", "9429.60"),
    "a part of many": (
        "Out of a total production of 139 TWh, water accounted for 61 TWh (44%), and coal for 65 TWh (47%).",
        "44",
        "14",
    ),
    "the whole of its parts": (
        "Out of a total production of 139 TWh, water accounted for 61 TWh (44%), and coal for 65 TWh (47%).",
        "139",
        "193",
    ),
    "nodes in brackets": ("GPUs = 384 (48 nodes of 8)", "of 8", "of 4"),
    "two degrees": ("Trained on 256 H100s with FSDP=32, TP=8.", "FSDP=32", "FSDP=12"),
    "share of a group": ("Of 54 runs, 20 (37%) are above the threshold.", "37", "73"),
}


def said_of(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=".md"))]


@pytest.mark.parametrize("kind", STATED)
def test_one_wrong_number_of_a_statement_is_found(kind: str) -> None:
    text, right, wrong = STATED[kind]
    assert right in text
    assert said_of(text) == []
    assert said_of(text.replace(right, wrong, 1))


TRUE = {
    "compared, not computed": "The paper reports 1-α 0.90 / 4-α 0.88 (vs EAGLE 0.82/0.72).",
    "one for each": "Mean error, indep 1/2/4/8 = 0.773/0.873/0.960/0.998).",
    "a number in groups": "T = 32 768 tokens (66 windows × 512 tok), Ridge 0.01.",
    "another unit for one": "(45 ms × 34 channels ≈ 1.5 s/cube, give or take fusion).",
    "what an item is about": "- **1.5: angular-13 vs random-13 → Δ = 0.221 m (55× larger gap)**",
    "at a setting": "At −62.5% it leads (70.54 vs 69.8), and at −75% the gap widens sharply (63.60 vs 49.4, +14.2 pt).",
    "intervals": "It is [+0.250, +0.629] for one vs [−0.033, +0.658] for the other and [+0.089, +0.5] for all.",
    "sizes with a unit": "The spread is ~0.7% (16 KB is 0.2% worse than 64 KB).",
    "counts of another item": "It is right for most: *22 of the 25-item union wrong 3/3 (88 %) with nothing else*.",
    "said in one word": "With 2 blocks: 16 warps are active.\nWithin an 8-warp block there are 4 roles with 2 warps each.",
    "years": "It follows (Miller, 1956; Craik & Lockhart, 1972), and there are 3 principles in all.",
    "two frequencies": "- minimum ratio = 0.9293 at 3.895 GHz.\n- several have more, including 3.860, 3.910, and 3.925 GHz.",
    "a digit and a number with a point": "- The readout 2 ends at 3.825.\n- Standard deviation of the differences = 1.192 counts.",
    "names as operands": "The state has L*(2*D+64*D) = 1.62 M entries, and Stage 1 + Stage 2 = (10+15) + (25+20) = 25 + 45 = 70.",
    "a counter": "At step 150 / 4000 loss = 6.25.",
    "an exponent that is a name": "| size |\n|--|\n| 10*2**d=160 |\n| 10*2**d=320 |",
    "groups of digits": "These are 29 568 / 256 = 115 full blocks (115 × 256 = 29 440).",
    "two settings": "Use lr=0.01 for 4 GPUs * 2 img/gpu and lr=0.08 for 16 GPUs * 4 img/gpu.",
    "an unknown": "If 3x + 1 = 10, then x = 3.",
    "bold digits": "The vocabulary has 4995**4**=49953+1 entries.",
    "a function": "We use log2(8) x 4 = 12.",
    "ranges": "Scores of 1-3 = low, 4-6 = high.",
    "another quantity": "It fell from 120 ms to 90 ms with an accuracy of 95 %, and from 4 to 8 GPUs it is 1.9 times faster.",
    "cut factors": "That is 22,378 × 2.664 ms = 59,602 ms.",
    "a factor that is there": "It ran on 10 tiles. The step took 18.3 s vs 18.2 s.",
    "a heading with a number": "### 9.2b Full transfer matrix (4×4)",
    "a cut factor": "That is 22,378 × 2.664 ms = 59,602 ms.",
    "another memory": "We use 8 GPUs with 16 GB each (256 GB of host memory).",
    "a product in bytes": "The overhead is 94×4×128×2=96KB, that of the other 61×1536=93KB.",
    "one of several": "The A takes 100 W and the B 300 W, while C is 1.5 times faster.",
    "why it is more": "The first is better by 20% due to a higher limit (700 W vs. 680 W).",
    "what a share consists of": "The saving forfeited is 2.1% (3 out of 285 layers).",
    "sizes": "The largest gain: 512 → 1024 (4.21x increase).",
    "a setting": "## Long prefill (2048→128, c=16)",
    "a product after a quotient": "The ratio is 917 * 10^12 / 180 * 10^9 = 5100.",
    "a range": "Node counts: 16 nodes × 4 GPUs = 8–64 GPUs per job.",
    "European thousands": "These are $10.000 / $290 = 34.48 customers.",
    "an exponent": "It is $(1.1^{10})^{1/10} = 1.1$.",
    "weights": "The weights are load time: 10%, data size: 10%, cold runtime: 20%, hot runtime: 60%.",
    "values of two sentences": "Ours runs at 161 fps. It has 41% less parameters than theirs. The small one runs at 114 fps.",
    "two causes": "**A** > **B** by 20% due to a higher limit (700 W vs. 680 W).",
    "three degrees": "We use 512 GPUs (FSDP 8, TP 8, PP8).",
    "a name with digits": "Each has two AMD EPYC 7763 CPUs with 64 cores each, for a total of 128 cores per node.",
    "a large unit": "These are 32 × 2 × 520 × 1168 = ~39 MFLOPs.",
    "another unit of a quotient": "At the peak, 1.68T / 419T = 4.0 ms per step.",
    "less than the parts have": "It has 24 NVMe drives with 7 TB each, providing 123 TB of usable space.",
    "values in turn": "Run TP=1 × ctx {4K, 8K, 16K, 32K} = 20 runs × 30s = 10 min.",
    "shares in a sum": "These are 45.4B × (1 + 2 × 2.47%) = 47.6B.",
    "two records": "- 261 nodes, with V100 GPUs: total 1044 GPUs\n- 351 nodes, with V100 GPUs: total 1404 GPUs",
    "all of it": "Decode is 100% active (44.4 ms GPU vs 43 ms wall).",
    "another quantity that keeps": "准确率 0.3500 → 0.3889，风险准确率保持 35%。",
    "what a block has": "It uses a block of 128 (4 warps × 16 queries), and PP=4×VP=4 (4 mb × 4 virtual).",
    "a chain": "So, 16+12+12 = 40 racks * 14 nodes per rack = 560 nodes.",
}


@pytest.mark.parametrize("kind", TRUE)
def test_what_is_no_equation_is_not_accused(kind: str) -> None:
    assert said_of(TRUE[kind]) == []


# Each side of an equation must be understood: in these something else stands beside the numbers, or the sign is none.
NOT_UNDERSTOOD = {
    "a time of a size": "- A GEMM of fp32 at 4096^3 ≈ 0.72 ms × 2 = ~1.4 ms",
    "a number of devices and their name": "It is spread across 4× 5090 = 128 GB in all.",
    "settings of a command": "EXPORT TOKENS=$((22*10**9)) GRAD_ACC_STEPS=16 bash train.sh",
    "a setting after a product": "* baseline: 6400 × `AllReduce 12 MB nranks=8`",
    "an abbreviation with its own value": "read all of them: no loss, 7/7 NS=64",
    "shapes of matrices": "A valid call: 2×3 × 3×4 = 2×4",
    "dimensions whose elements have two bytes": "- a checkpoint of one layer (4 × 512 × 1168 ≈ 4.6 MB)",
    "bytes in a unit of 1,024 for each group": "A slice is M × K × 2 = 32 × 2048 × 2 = 128 KiB/WG",
    "brackets that explain what stands before them": "The ceiling was ~1 ms/tok (200 kernels × 5 µs) ≈ 1.4% of 70 ms/tok.",
    "weights and their shares": "Other weights give other shares (`2.0 + 1.0` = 66.7% / 33.3%).",
    "a time and bytes": "It runs at the limit of the link there (469 µs ≈ 11 × 256 KiB)",
    "a time of each, said before": "~2 min for each. Total for 4 seeds × 3 rounds = ~24 min.",
    "retries of something with a name": "ETA: 5200 steps × ~3s/step = ~4.3h + ~2 KDA retries × 5min = ~4.5h",
    "columns of equations": "= (4 x 4) blocks               = (3 x 4) blocks",
    "whole times that are multiplied": "Run one after the other, 4 × 175 us = 702 us.",
    "a number of dimensions": "Exported with opset 16/17 = 4D ✅.",
    "a quotient of unlike units the other way round": "Roofline: 16.7 GiB/tok ÷ 608 GB/s ≈ 36 tok/s.",
    "a division without its rest": "The height is (224 - 7 + 6) / 2 + 1 = 223 / 2 + 1 = 111 + 1 = 112.",
    "a part of what there is": "It is at the limit (8×3 = 28/32 registers).",
    "the value of a name before": "PP=8 × VP=4 = 32 chunks × 1 layer/chunk.",
    "a unit that is written out": "Memory = 32 × 800 × 450 × 640 × 4 = 29.49 gigabytes (4 bytes each).",
    "a unit with a blank before its slash": "total = 36 × 1·2048·2304·2 ≈ 340 MB / microbatch",
    "settings and rates": "| before | seq 8192/pdbs 4 = 451 vs seq 4096/pdbs 8 = 453 | tie |",
    "a factor that is not read": "256 GPU = 4 domain × 16 节点 × 4 GPU",
    "domains and GPUs": "The second step uses all (2 domains x 18 nodes = 144 GPUs).",
    "ten thousands": "它产生一个 4096 × 4096 = 1600万 个元素的矩阵。",
    "billions in words": "The matrix has 112,856 × 112,856 = 12.7 Billion elements.",
    "a list of quotients": "（DEP8=2/16=4/32=8 节点）",
    "a sum and a share": "- not sampled: 2 + 10 = 27.9% of the cells",
    "raised digits": "Its probability is 1/32768 = 3.05×10⁻⁵ here.",
    "decimal commas": "CAC = 306,25 / 3 ≈ 102",
    "digits grouped as LaTeX does": "$\\Rightarrow$ $141 \\times 141 = 19{,}881$ pairs",
    "a unit as a text of a formula": "It needs $576 \\times 2 \\times 62 \\times 128 \\times 1024 = 8.72\\ \\mathrm{GiB}$ in all.",
}
WRONG_ALL_THE_SAME = (
    "- a checkpoint of one layer (4 × 512 × 1168 ≈ 6.4 MB)",
    "A slice is M × K × 2 = 32 × 2048 × 2 = 182 KiB/WG",
    "$141 \\times 141 = 19{,}981$ pairs",
    "It needs $576 \\times 2 \\times 62 \\times 128 \\times 1024 = 7.82\\ \\mathrm{GiB}$ in all.",
    "With 5 kernels × 8 sizes × 5 runs = 7200 experiments",
    "Total parameters: ~28×512 + 512 + 512×25 + 25 = **27,433 parameters**",
    "per GPU: `6*7.3` = ~33.9GB of states",
    "Each input is `600ms` (samples: `16000*0.6=960`).",
    "naive = 16 × 1·258·1168·2 = 9,650,688 B",
    "Agreement is 46/80 = 59%, for what that is worth.",
)


@pytest.mark.parametrize("kind", NOT_UNDERSTOOD)
def test_a_side_that_is_not_understood_is_not_accused(kind: str) -> None:
    assert not inconsistencies(document_of(NOT_UNDERSTOOD[kind], suffix=".md"))


@pytest.mark.parametrize("text", WRONG_ALL_THE_SAME)
def test_a_wrong_equation_beside_these_is_found(text: str) -> None:
    assert inconsistencies(document_of(text, suffix=".md"))


CHANGES = """| quantization | perplexity | delta to fp16 |
|--|--|--|
| Q4_0 | 3.5550 | 3.61% |
| Q4_1 | 3.5125 | 2.37% |
| Q5_0 | 3.4744 | 1.26% |
| Q2_K | 3.7339 | 8.82% |
| Q3_K | 3.5932 | 4.72% |
| fp16 | 3.4313 | - |
"""
DIRECTIONS = """| measure | before | after | change |
|--|--|--|--|
| throughput | 10.74 req/s | 9.96 req/s | -7.3% |
| latency | 5.888 s | 6.348 s | +7.8% |
| first token | 191 ms | 211 ms | +10.5% |
| memory | 24.1 GB | 19.8 GB | -17.8% |
"""
COUNTED = """| PP | TG | N_KV | T_PP s | S_PP t/s |
|--|--|--|--|--|
| 512 | 128 | 0 | 5.364 | 95.44 |
| 512 | 128 | 512 | 4.644 | 110.25 |
| 512 | 128 | 1024 | 4.870 | 105.14 |
| 512 | 128 | 1536 | 5.055 | 101.29 |
| 512 | 128 | 2048 | 5.289 | 96.81 |
"""


@pytest.mark.parametrize(
    ("table", "right", "wrong"),
    [
        (CHANGES, "3.4744", "3.7444"),
        (CHANGES, "4.72%", "2.36%"),
        (DIRECTIONS, "+7.8%", "+8.7%"),
        (COUNTED, "| 512 | 128 | 1536", "| 5120 | 128 | 1536"),
        (COUNTED, "4.870", "48.70"),
    ],
)
def test_a_number_beside_a_base_a_direction_or_a_count_is_found(table: str, right: str, wrong: str) -> None:
    assert said_of(table) == []
    assert said_of(table.replace(right, wrong, 1))


TABLES = {
    "a mean of three rows": (
        "| model | chat | hard | safety | reasoning | score |\n|--|--|--|--|--|--|\n| a | 98.6 | 74.1 | 89.4 | 95.7 | 89.5 |\n"
        "| b | 98.6 | 66.7 | 88.3 | 92.8 | 86.6 |\n| c | 95.0 | 58.1 | 81.8 | 87.4 | 80.6 |\n",
        "95.7", "47.9",
    ),
    "a total of whole numbers": (
        "| set | real | fake | total |\n|--|--|--|--|\n| a | 408 | 795 | 1203 |\n| b | 590 | 5639 | 6229 |\n"
        "| c | 363 | 3000 | 3363 |\n| d | 1131 | 4119 | 5250 |\n",
        "3000", "0300",
    ),
    "best less worst": (
        "| domain | best | worst | range |\n|--|--|--|--|\n| a | 0.3444 | 0.1261 | 0.2183 |\n| b | 0.3035 | 0.2023 | 0.1012 |\n"
        "| c | 0.4555 | 0.0936 | 0.3619 |\n| d | 0.4608 | 0.4007 | 0.0601 |\n",
        "0.3035", "4.3035",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_one_wrong_number_of_a_small_table_is_found(kind: str) -> None:
    text, right, wrong = TABLES[kind]
    assert said_of(text) == []
    assert said_of(text.replace(right, wrong, 1))


def test_a_change_that_was_divided_by_the_smaller_value_is_found() -> None:
    """Its values stand in one sentence: those of two may be of two things."""
    (found,) = said_of("It took 143 s, and 121 s after the change. That is 18% less time.")
    assert "the change was divided by the smaller of the two" in found


def test_a_total_that_has_a_clock_of_its_own_is_not_accused() -> None:
    rows = (
        "| a | 7.8 | 13.6 | 21.6 |\n| b | 8.2 | 24.5 | 32.8 |\n| c | 7.1 | 13.0 | 20.4 |\n| d | 6.3 | 11.8 | 18.3 |\n"
    )
    assert said_of("| backend | fwd ms | bwd ms | total ms |\n|--|--|--|--|\n" + rows) == []


def test_columns_that_are_the_same_in_some_rows_have_no_factor() -> None:
    rows = "| a | 0.0000% | 3.2738% |\n| b | 100.0000% | 100.0000% |\n| c | 100.0000% | 100.0000% |\n| d | 2.2222% | 6.8302% |\n"
    assert said_of("| system | observed | bound |\n|--|--|--|\n" + rows) == []


def test_a_sum_and_a_mean_of_zero_are_read() -> None:
    rows = "".join(f"| {k} | 0.0 | 0.0 | 0.{k} |\n" for k in range(4))
    assert isinstance(said_of("| n | a | b | mean |\n|--|--|--|--|\n" + rows), list)


def test_a_number_that_repeats_a_cell_is_held_against_it() -> None:
    table = "| model | throughput (images/s) |\n|--|--|\n| ResNet-50 | 2,831.4 |\n| VGG-16 | 1,021.7 |\n| Inception | 1,455.2 |\n"
    sentence = "\nOur ResNet-50 reaches a throughput of {} images/s.\n"
    assert said_of(table + sentence.format("2,831.4")) == []
    assert said_of(table + sentence.format("2,381.4"))


CUT = """| batch | slow (ms) | fast (ms) | speedup |
|---|---|---|---|
| 1 | 6.02 | 2.50 | 2.40 |
| 2 | 8.14 | 3.11 | 2.61 |
| 4 | 12.93 | 4.20 | 3.07 |
| 8 | 20.11 | 5.93 | 3.39 |
| 16 | 24.20 | 6.60 | 3.66 |
| 32 | 32.43 | 8.07 | 4.01 |
| 64 | 61.80 | 14.90 | 4.14 |
"""


def test_a_column_that_is_cut_and_not_rounded_accuses_no_other() -> None:
    assert not inconsistencies(document_of(CUT, suffix=".md"))
    assert inconsistencies(document_of(CUT.replace("4.01", "3.91"), suffix=".md"))


RECORD = "**Stats**: latency {}s · {} tok/s · 700→{} tokens · $0.003\n\n"
TIMES_AND_RATES = ((22.05, 51), (32.39, 52), (36.30, 51), (14.36, 49), (10.0, 50), (20.0, 50))
TOKENS = (1125, 1684, 1851, 704, 500, 1000)
OTHER_TOKENS = (1531, 2186, 1061, 735)  # each a slip away by chance


@pytest.mark.parametrize(("wrong", "accused"), [((), 0), ((2,), 1), ((0, 1, 2, 3), 0)])
def test_many_records_of_a_log_that_break_a_relation_are_counted_otherwise(
    wrong: tuple[int, ...], accused: int
) -> None:
    """One record is a slip; in four of six the tool's rate is of something else."""
    tokens = [OTHER_TOKENS[place] if place in wrong else each for place, each in enumerate(TOKENS)]
    text = "".join(RECORD.format(*both, each) for both, each in zip(TIMES_AND_RATES, tokens, strict=True))
    assert len(inconsistencies(document_of(text, suffix=".md"))) == accused


def test_a_template_of_cpp_is_no_mark_of_a_number() -> None:
    """`tile<64>` once ended the audit: marks of numbers look like this."""
    text = "A call of `tile<64>` or `tile<128>` takes all: 4 nodes × 8 GPUs = {} GPUs."
    assert not inconsistencies(document_of(text.format(32), suffix=".md"))
    assert inconsistencies(document_of(text.format(23), suffix=".md"))


@pytest.mark.parametrize(
    "text",
    [
        "The lift is +3.32pp fresh against fresh (0.4365 vs 0.4033), as both were measured.",
        "It collapsed: rho **0.1651 vs floor 0.7555 (−59.0pp)** in the end.",
        "- Bandwidth alone: 1M * 2 bytes = 2 MB, at 1792 GB/s = 1.1 us at least",
    ],
)
def test_points_of_fractions_and_stars_that_multiply_are_read(text: str) -> None:
    assert not inconsistencies(document_of(text, suffix=".md"))
