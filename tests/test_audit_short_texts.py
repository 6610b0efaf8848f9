"""Short texts and tables: one wrong number is found, and what is true is not accused."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

STEPS = (
    "| ndte | CPU | GPU | Speedup |\n|---|---|---|---|\n| 5 | 412 ms | 15.3 ms | 26.9x |\n| 120 | 9,317 ms | 361 ms | 25.8x |\n"
    "| 500 | 38,204 ms | 1,427 ms | 26.8x |\n| 1000 | 78,912 ms | 2,846 ms | 27.7x |\n\nThen one kernel for all:\n\n"
    "| ndte | Baseline GPU | New GPU | Gain |\n|---|---|---|---|\n| 120 | 361 ms | 342 ms | 5.3% |\n"
    "| 500 | 1,427 ms | 1,379 ms | 3.4% |\n| 1000 | 2,846 ms | 2,741 ms | 3.7% |\n"
)
KERNELS = (
    "| Size | plain | tiled | fused_v3 | fused_v3/tiled |\n|---|---|---|---|---|\n| 64 | 0.031 | 0.094 | 0.117 | 1.24x |\n"
    "| 256 | 0.052 | 0.163 | 0.138 | 0.85x |\n| 1024 | 0.327 | 0.951 | 0.322 | 0.34x |\n| 4096 | 3.712 | 9.126 | 2.214 | 0.24x |\n"
)
SUITES = (
    "| Suite | Passed | Skipped | Failed |\n|---|---|---|---|\n| unit | 81 | 3 | 0 |\n| whole | 17 | 2 | 0 |\n"
    "| end to end | 4 | 0 | 0 |\n| private | 11 | 0 | 0 |\n| **Total** | **113** | **5** | **0** |\n"
)
WRONG = {
    "a pair in Korean": ("지연은 41.8 ms에서 13.1 ms로 3.19배 빨라졌다.\n", "3.19", "31.9"),
    "a share in Korean": ("전체 31000 중 12.7%(3937)만 사용한다.\n", "12.7", "17.2"),
    "a signed change with a unit of its own": (
        "v2 的 1512.63 → v3 的 1493.66（−18.97 MW），其余不变。\n",
        "1512.63",
        "1572.63",
    ),
    "a time right after a word that numbers things": (
        "The rewrite took the whole step 912s -> 83.1s (10.97x) on one card.\n",
        "10.97",
        "109.7",
    ),
    "a total of few digits beside one that holds": (
        "| kind | images | labels |\n|---|---|---|\n| a | 97 | 2,417 |\n| b | 88 | 964 |\n| c | 93 | 1,571 |\n"
        "| total | 278 | 4,952 |\n",
        "278",
        "287",
    ),
    "a last digit among the same numbers": (
        "The study compares how several kernels use the card over a long night of measurements. Cooling was constant.\n\n"
        "| run | loss | accuracy | time (s) | memory (GB) |\n|---|---|---|---|---|\n"
        "| base | 2.4173 | 71.936 | 412.81 | 31.274 |\n| fused | 2.4091 | 72.164 | 287.32 | 29.841 |\n\n"
        "Later section with other things to say.\n\n"
        "| run | note | loss | accuracy | time (s) | memory (GB) |\n|---|---|---|---|---|---|\n"
        "| base | old | 2.4173 | 71.936 | 412.81 | 31.274 |\n| fused | new | 2.4091 | 72.164 | 287.32 | 29.841 |\n",
        "71.936",
        "71.938",
    ),
    "a factor after brackets": (
        "Now v3 (151 TFLOPS) vs the official one (218 TFLOPS) = **1.44x** between them.\n",
        "1.44",
        "14.4",
    ),
    "another row of a column that two tables share": (STEPS, "| 120 | 361", "| 120 | 1,427"),
    "a column that a heading names": (KERNELS, "9.126", "0.9126"),
    "a total of the suites": (SUITES, "113", "131"),
}
TRUE = {
    "points beside a share": "추가 학습만으로는 +0.80%p뿐인데, QAT는 손상 지점(44%)에서 +23.46%p\n",
    "a value near another among the same numbers": (
        "bi300 reaches a loss of 1167 and 1564 (base 1147, 1512).\n\nbi500 reaches a loss of 1016 and 1566 (base 1147, 1512).\n"
    ),
    "points of nothing": "From 0.0 % to 4.2 %, that is 4.2 points more.\n",
    "a row that differs in a number of its name": (
        "| rows | dense | sparse |\n|---|---|---|\n| heavy 2 | 0.4723 | 0.4515 |\n\nAlso:\n\n"
        "| rows | dense | sparse |\n|---|---|---|\n| heavy 5 | 0.4733 | 0.4515 |\n"
    ),
    "a share of something else": "The model has 23.4 ms at P50 and 31.7 ms at P99, with 93.2% accuracy.\n",
    "three values": "It takes 12.3 ms, 15.1 ms and 21.8 ms, and the first is 1.9x as fast.\n",
    "numbers of two quantities": "Perplexity is 3.8294 on one and 13.54 on the other, at ~0.25x the memory.\n",
    "a threshold": "`branch_flip`: 255 sites → 1.052x gain, but the threshold of 128 forbids it.\n",
    "terms that multiply": "Toy: 10 samples, 9 of one + 1 of the other, so guessing gives 0.9 of them.\n",
    "a size in millions": "**Configuration**: 4 layers × 4 heads × 200 dim = **1.99M params**\n",
    "names in a formula": "- 1/(3-phi) = 0.7236067977499790\n- 38.2% = 1/phi^2\n- 23.6% = 1/phi^3\n",
    "what another sentence drops": (
        "**No prior degrades it.** `eta_hit` drops from 0.685 to 0.490.  The agent approaches but strikes badly.  "
        "Win rate: 17.6% vs. the full one.\n"
    ),
    "a change beside a base": (
        "| Config | BLEU | ROUGE-L | PPL Ratio |\n|---|---|---|---|\n| baseline | 1.000 | 1.000 | 1.000 |\n"
        "| uniform_3bit | 0.257 | 0.394 | 1.251 |\n| adaptive_3bit | 0.311 | 0.494 | 1.325 |\n\n"
        "- Aggressive: BLEU +0.054 vs uniform, ROUGE-L (+0.100), but the perplexity ratio worsened (1.325 vs 1.251).\n"
    ),
    "computed from a row": (
        "| name | value |\n|---|---|\n| phi | 1.618 |\n| phi^2 | 2.618 |\n| phi^3 | 4.236 |\n| 1/phi | 0.618 |\n\n"
        "- phi + 2 = 3.618...\n- phi + 1 = 2.618...\n"
    ),
    "what an item is about": (
        "| Condition | Accuracy |\n|---|---|\n| Random 10% | 83.5% |\n| Bottom 10% easiest | 50.9% |\n"
        "| Top 10% hardest | 26.5% |\n\n1. **Top 10% (hardest):** These include mislabeled examples. "
        "Training only on these teaches noise. The 26.5% accuracy (below random chance) confirms it.\n"
    ),
    "a score of two": (
        "| Agent | Plausible | Correct | Share of plausible |\n|---|---|---|---|\n| Aider with GPT-4o | 239 | 66 | 27.6% |\n"
        "| Aider with Opus | 61 | 13 | 21.3% |\n| Total | 300 | 79 | 26.3% |\n\n"
        "- Including the second try, Aider with GPT-4o and Opus scored 23.6% on the benchmark.\n"
    ),
    "a share of the counts of its row": (
        "Use `google/gemma-4-31b-it` as the judge model: highest accuracy at 95.4%.\n\n"
        "| Model | Safe | Unsafe | Safe Rate |\n|---|---|---|---|\n| Qwen3.6-35B | 1994/2039 | 45 | 97.8% |\n"
        "| google/gemma-4-31b-it | 1933/2045 | 112 | 94.5% |\n| GLM-4.7 | 1781/2039 | 258 | 87.3% |\n"
    ),
    "factors one after the other": "Warmer is slower: it goes from 2.08x at T=0 to 1.91x at T=.5, and 1.74x at T=1.\n",
    "a large factor": "| a | speedup |\n|---|---|\n| x | 1.00x |\n| y | 226,140.1x |\n| z | 3,204.5x |\n| w | 12.1x |\n",
}


def said_of(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=".md"))]


@pytest.mark.parametrize("kind", WRONG)
def test_one_wrong_number_is_found(kind: str) -> None:
    text, right, wrong = WRONG[kind]
    assert right in text
    assert said_of(text) == []
    assert said_of(text.replace(right, wrong, 1))


@pytest.mark.parametrize("kind", TRUE)
def test_what_is_true_is_not_accused(kind: str) -> None:
    assert said_of(TRUE[kind]) == []
