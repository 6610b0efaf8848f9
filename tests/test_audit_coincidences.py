"""Numbers that are a slip away from others by coincidence: two things, two bases, rows that show nothing."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

NETS = (
    "| Model | Test error (%) | Params (M) |\n|---|---|---|\n| {} (Moss et al.) | {} | 3.2 |\n| WideNet-28 | 4.17 | 36.5 |\n"
    "| PyramidNet | 3.31 | 26.0 |\n"
)
TRUE = {
    "two files have two counts of lines": (
        "`audit/libs/probe_stats.py` (134 lines): reads the counters. The fallback in lines `10-14` can go.\n\n"
        "`audit/libs/helpers.py` (95 lines): tables and plots. Nothing is dead.\n\n"
        "`audit/suites/tiny.py` (314 lines): prepares the runner and reads the counters. Two imports are not used.\n"
    ),
    "rows of scores with columns of changes": (
        "| family | base | mixed | new | new - base | new - mixed |\n|---|---:|---:|---:|---:|---:|\n"
        "| lanterns | 0.2500 | 0.6250 | 0.8750 | +0.6250 | +0.2500 |\n"
        "| gates | 0.1250 | 0.2500 | 0.0000 | -0.1250 | -0.2500 |\n"
        "| bells | 0.3750 | 0.5000 | 0.5000 | +0.1250 | +0.0000 |\n"
        "| looms | 0.0000 | 0.0000 | 0.0208 | +0.0208 | +0.0208 |\n| wells | 0.1250 | 0.0000 | 0.0000 | -0.1250 | +0.0000 |\n"
        "| nets | 0.0000 | 0.5000 | 0.0000 | +0.0000 | -0.5000 |\n"
        "| ropes | 0.1250 | 0.4583 | 0.0000 | -0.1250 | -0.4583 |\n"
    ),
    "rows of 100 % show no quotient": (
        "| split | solver | step | plan | part |\n|---|---:|---:|---:|---:|\n"
        "| plain_4 | 100.0% | 96.2% | 100.0% | 100.0% |\n| plain_8 | 100.0% | 95.8% | 100.0% | 100.0% |\n"
        "| plain_12 | 100.0% | 94.7% | 100.0% | 100.0% |\n| plain_24 | 25.0% | 21.8% | 25.0% | 89.7% |\n"
        "| other_4 | 100.0% | 96.9% | 100.0% | 100.0% |\n| other_8 | 100.0% | 96.2% | 100.0% | 100.0% |\n"
        "| other_12 | 99.2% | 93.7% | 99.2% | 99.9% |\n| other_24 | 5.5% | 5.4% | 4.7% | 83.8% |\n"
    ),
    "shares that their own counts give": (
        "On the second block the candidate scored 55/80 (68.75%) versus base 48/80 and scaffold 51/80.\n\n"
        "The union of the candidate and the rest reaches 63/80 (78.75%) on this block, versus 55/80 for the candidate.\n"
    ),
    "items of a list that share a number": (
        "- [12.9% Rowan, measured on 570 problems.](https://a.example)\n- [14.7% Elm Pro, measured on 2,196 problems.](https://b.example)\n"
        "- [13.4% Fir + Large, measured on 2,196 problems.](https://b.example)\n- [11.5% Oak Rover, measured on 2,196 problems.](https://c.example)\n"
        "- [11.4% Fir + Small, measured on 2,196 problems.](https://b.example)\n"
    ),
    "a change since the very first": (
        "| step | what | time | in all |\n|---|---|---|---|\n| 0 | first version | 70.67 ms | - |\n"
        "| 1 | no waiting | **64.94 ms** | **-8.1%** |\n| 2 | fused packing | **52.39 ms** | **-25.9%** |\n\n"
        "The first version takes 70.67 ms.\n\n**Result**: 64.94 → 52.39 ms (-25.9%)\n"
    ),
    "shares of other sentences have no quotient": (
        "- The plain split improved from 29.7% base to 44.8% at `K=2` versus an 89.6% oracle.\n"
        "- The second split improved from 29.7% base to 51.6% at `K=2` versus an 88.0% oracle.\n"
        "- The paired split improved from 30.1% base to 52.7% at `K=2` versus an 89.1% oracle.\n"
    ),
    "each group of rows has a base of its own": (
        "| Method | Mean | Ratio |\n|---|---:|---:|\n| ReadSlim v10 of 10 | 44.78 us | 1.20 |\n| ReadLock v10 of 10 | 42.51 us | 1.14 |\n"
        "| ReadOld v10 of 10 | 54.59 us | 1.46 |\n| ReadShared v10 of 10 | 38.16 us | 1.02 |\n| ReadFrozen v10 of 10 | 37.37 us | 1.00 |\n"
        "| ReadPlain v10 of 10 | 37.39 us | 1.00 |\n| | | |\n| ReadSlim v9 of 10 | 43.65 us | 1.16 |\n| ReadLock v9 of 10 | 44.68 us | 1.19 |\n"
        "| ReadOld v9 of 10 | 50.61 us | 1.34 |\n| ReadShared v9 of 10 | 37.57 us | 1.00 |\n| ReadFrozen v9 of 10 | 37.15 us | 0.99 |\n"
        "| ReadPlain v9 of 10 | 37.68 us | 1.00 |\n"
    ),
    "two items of a list, each of its own machine": (
        "### What it means\n\n- The mill is 2.95 times as fast as the lathe for this part.\n"
        "- Mill latency is highly steady: p95/p50 = 1.009 — the mill is bound by its spindle.\n"
        "- The lathe scatters more: p95/p50 = 1.069 — bound by its feed, which others share.\n"
    ),
    "a mass and a share, each like the others of its column": (
        "| Bird | First share | Weight share |\n|---|---:|---:|\n| HERON | 0.525 | 0.467 |\n| CRANE | 0.175 | 0.206 |\n"
        "| STORK | 0.175 | 0.178 |\n| IBIS | 0.125 | 0.145 |\n\n"
        "| Nest key | Place | Weight mass | First count |\n|---|---|---:|---:|\n| Qm3x::HERON | SHORE_8_T | 4.87 | 6 |\n"
        "| Vr7k::HERON | SHORE_5_T | 4.67 | 6 |\n| Jd2p::STORK | SHORE_1_T | 4.65 | 6 |\n| Wz9n::HERON | SHORE_5_C | 3.70 | 5 |\n"
    ),
    "two variants of a network": (
        NETS.format("AlderNet-B + cutout", "2.55") + "\nOn the large images:\n\n" + NETS.format("AlderNet-A", "25.5")
    ).replace("| WideNet-28 | 4.17 | 36.5 |\n", "", 1),
    "the value of another row": (
        "### Decision\n\n- **100% recall** - catches all\n- **23.2% FP rate** - good enough for training\n\n### Summary\n\n"
        "| Approach | Recall | FP Rate | Precision | Speed |\n|---|---|---|---|---|\n"
        "| **Words (approved)** | 100% | 23.2% | 64.4% | 0.0s |\n| Meaning-2cat | 97.9% | 22.3% | 65.9% | 16.6s |\n"
        "| Meaning-6cat | ~15% | 2.1% | N/A | N/A |\n"
    ),
    "two columns of a page without its lines": (
        "PlainTree, delayed expansion\n14.57\n21.91\n16.29\n28.89\n26.69\n9.95\n8.45\n11.95\n15.84\n18.10\n11.31\n15.66\n15.04\n14.76\n13.29\n\n"
        "Weaver\n12.31\n20.94\n15.07\n27.55\n24.83\n9.12\n7.77\n11.29\n15.01\n17.62\n10.05\n15.18\n14.71\n13.92\n12.64\n\nRoots\n13.02\n21.17\n15.88\n27.14\n25.96\n10.04\n8.06\n12.12\n16.33\n18.45\n10.87\n15.93\n15.22\n14.05\n12.98\n\n"
        "KTT, delayed expansion\n11.85\n20.61\n16.93\n26.96\n25.10\n10.17\n6.39\n11.89\n15.82\n17.76\n9.77\n14.75\n14.39\n12.25\n11.10\n\nKTT\n10.41\n18.93\n13.02\n25.71\n23.38\n5.84\n7.12\n8.06\n12.77\n14.95\n9.43\n13.81\n13.25\n12.16\n11.57\n"
    ),
}


@pytest.mark.parametrize("why", TRUE)
def test_a_coincidence_is_not_accused(why: str) -> None:
    assert [finding.sentence for finding in inconsistencies(document_of(TRUE[why], "x.md", ".md"))] == []


FRAMES = [  # the true number, and a wrong one that no slip mends
    ("Accuracy goes 87.60% (FP32) → {}% (INT8) (+1.00%)", "88.60", "97.90"),
    ("The loader took 0.55ms → {}ms (37x 느림).", "20.4", "31.9"),
    ("- 8B: 7.64 vs {} → **-9.7%** (a little worse)", "6.97", "5.21"),
    ("The first version (147 TFLOP/s) vs the vendor's (215 TFLOP/s) = **{}× apart**.", "1.46", "2.93"),
    ("校准误差由 0.1404 降至 {}（−70.5%），质量改善。", "0.0414", "0.0877"),
    ("- Single: flat 72.5% vs nested {}% (+25.3%p)", "97.8", "82.4"),
]
SUMS = "| suite | all | seen | new |\n|---|---|---|---|\n| a | 8564 | 61 | 8503 |\n| b | 3127 | 596 | 2531 |\n| c | 5634 | 925 | 4709 |\n| d | {} | 793 | 1171 |\n"
NO_FRAMES = [
    "The advantage rises: +0.105 → +0.108 → +0.150 as the chain gets longer.",
    "From run to run the ratio is 1.6× → 4.3× → 36×.",
    "On the hard set it has 37% vs 33%, and is 2.8× faster.",
    "- 1.0 -> 2.0: 4.3x speedup",
]


@pytest.mark.parametrize(("text", "right", "wrong"), FRAMES)
def test_a_label_of_a_value_or_a_sign_leaves_no_other_reading(text: str, right: str, wrong: str) -> None:
    assert inconsistencies(document_of(text.format(right), "x.md", ".md")) == []
    assert len(inconsistencies(document_of(text.format(wrong), "x.md", ".md"))) == 1


@pytest.mark.parametrize("text", NO_FRAMES)
def test_one_value_after_the_other_is_no_change(text: str) -> None:
    assert inconsistencies(document_of(text, "x.md", ".md")) == []


def test_counts_that_add_up_to_the_last_digit_elsewhere() -> None:
    assert inconsistencies(document_of(SUMS.format("1964"), "x.md", ".md")) == []
    assert len(inconsistencies(document_of(SUMS.format("1946"), "x.md", ".md"))) == 1
    assert inconsistencies(document_of(SUMS.format("1988"), "x.md", ".md")) == []  # some of a third kind
