"""Numbers that look like a slip of others and are something else, and slips of the same kinds that are accused."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of


def _found(text: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, "x.md", ".md"))]


ROWS = """| Variant | AUROC | Specificity | ECE |
|---|---|---|---|
| Heron (shrink only) | 0.7914 | 0.7352 | 0.1273 |
| Heron (widen only) | 0.7661 | 0.4718 | 0.1946 |
| Heron (both) | 0.8835 | 0.9042 | 0.0587 |
| Plover | 0.6472 | 0.5239 | 0.0412 |
"""


HARBOR = """- Kestrel gate reads 11 frames of the harbor.
- Plover lamp reads 12 sheets of the harbor.
- Tern valve reads 13 crates of the harbor.
- Heron wheel reads 14 ropes of the harbor.
- Swift door reads 15 masts of the harbor.
- Wader chain reads 16 sails of the harbor.
"""


@pytest.mark.parametrize(
    "text",
    [
        # two runs that are within 1 % of each other, each with another number beside it
        "The first audit passed at gradient norms 13.67, 31.03, and 11.52 without any validation between.\n\n"
        "The sequential audit with validation passed at gradient norms 13.67, 31.30, and 15.84, as it should.\n",
        "The wader network of the baseline achieved a recall of 0.5842 on the harbor set.\n\n"
        "The wader network achieved a precision of 0.8117, a recall of 0.5824 and an accuracy of 0.9216 there.\n",
        # the last of a series of arrows
        "The score went 5.27 → 5.11 → 5.93 → 9.0 → 11.46% by step 30, twice the baseline.\n",
        # instead of, and a change in something else
        "The model is now 30MB instead of 300MB, with 1% drop in F1.\n",
        # what is allowed, and what was found
        "The baseline drifted from 71.64% to 71.13%; now a guard of ±0.05 points watches it.\n",
        # brackets that explain what is equal
        "Stage 2 screening (4 models × 150 clips) ≈ 3.62 GPU-h of the budget.\n",
        # two values, and their ratio
        "The pair gives 112.7 vs 71.3 tok/s = 1.58× at 0.91 acceptance / 1.87 mean length.\n",
        # names, and how many of them
        "The tables collapse (seeds 1357/2468 = 5/5 empty ones).\n",
        # a share of something else, near the one of the two counts
        "Of all, 213 of the 217 queries were easy, which is why the old model scored 98.4% on it.\n",
        # a setting
        "Width 384 → 1024 takes it to 2.106×, as predicted.\n",
        # a mean of two others
        "The balanced accuracy of the Heron model is 0.7263 at an AUROC of 0.8471 and an ECE of 0.1361.\n\n"
        "| Model | AUROC | Sensitivity | Specificity | ECE |\n|---|---|---|---|---|\n"
        "| Heron | 0.8471 | 0.7262 | 0.7264 | 0.1361 |\n| Plover | 0.6113 | 0.5021 | 0.9147 | 0.0418 |\n",
        # the number of a row that the sentence names as well
        ROWS + "\nShrinking alone lowers Specificity to 0.7352 and AUROC to 0.7914; widening alone (widen only) "
        "retains noise and leads to an ECE of 0.1946.\n",
        # the ends of a range
        "| Variant | F1 | FPS |\n|---|---|---|\n| `heron_r4` | 61.7 | 52.31 |\n| `plover_r8` | 60.9 | 51.46 |\n"
        "| `tern_r2` | 62.4 | 53.17 |\n\nThe variants are in the 60.9--62.4 F1 band; `heron_r4` has 52.31 FPS.\n",
        # a number that the table has with one more digit
        "| Layer | max(K) | mean(K) |\n|---|---|---|\n| 0 | 10.74 | 0.57 |\n| 9 | 15.62 | 1.73 |\n| 17 | 17.30 | 1.61 |\n\n"
        "At layer 17 the channel reaches max(K)=17.3 while the mean is 1.61.\n",
        # a rate among times: its ratio is the other way round
        "| | 2 columns | 8 columns | |\n|---|---|---|---|\n| gate alone | 7,320 µs | 1,902 µs | 3.85× |\n"
        "| with its switch | 7,814 µs | 3,721 µs | 2.10× |\n| whole encode | 183.6 seq/s | 209.4 seq/s | 1.14× |\n",
        # versions
        HARBOR + "\n## Workstation\n\n- **Operating system**: Linux (Ubuntu 18.04+), macOS (11.15+), Windows 10\n"
        "- **Memory**: at least 4\n\n## Server\n\n- **Operating system**: Linux (Ubuntu 16.04 LTS)\n- **Memory**: at least 8\n",
        # a number of a list, all of one size
        HARBOR + "\n- Kestrel head variance of the top-5 layers: 0.0941, 0.0736, 0.0618, 0.0487, 0.0433\n\n"
        "| Check | Old | New |\n|---|---|---|\n| heads | 20 | 22 |\n| Layer 0 head rank_corr_mean | 0.612 | 0.487 |\n"
        "| Layer 3 rank | 0.312 | 0.209 |\n",
        # two numbers that are about, one ten times the other
        HARBOR + "\n**Key insight:** the small model is in Tier 2 (4.5M/day). At ~3000 tokens/dataset, this supports "
        "**~1350 datasets/day** — more than enough for our batch.\n\n**Pitfall:** the large one is in Tier 1 (450k/day) — "
        "only ~135 datasets/day. Do NOT plan batch runs with it.\n",
        # the lines of another file
        "| File | Lines | What |\n|---|---:|---|\n| `kestrel/publish/official.py` | 3,614 | inputs |\n"
        "| `kestrel/publish/heron.py` | 2,908 | scores |\n| `kestrel/read/tern.py` | 1,127 | rows |\n\n"
        "`tools/probe_official.py` is 3,114 lines and `tools/probe_heron.py` is 1,275.\n",
        # a mean before the total, and a row that is left out
        "| Name | Scenes | Others |\n|---|---|---|\n| a | 14 | 3 |\n| b | 21 | 6 |\n| c | 37 | 11 |\n| d | 52 | 9 |\n"
        "| **Average** | 26.20 | 6.40 |\n| **Sum** | 131 | 32 |\n",
        # a number that its row gives without the factor of the other rows
        "| Length | Ring | Chunk | Time | Throughput |\n|---|---|---|---|---|\n| 8,192 | 4 | 2,048 | 40.0ms | 204,800 t/s |\n"
        "| 32,768 | 8 | 4,096 | 205.1ms | 159,766 t/s |\n| 65,536 | 16 | 4,096 | 417.3ms | 157,048 t/s |\n"
        "| 131,072 | 32 | 4,096 | 812.9ms | 161,240 t/s |\n| 262,144 | 64 | 4,096 | 1.714s | 152,943 t/s |\n"
        "| 524,288 | 128 | 4,096 | 3.391s | 154,612 t/s |\n| 1,048,576 | 256 | 4,096 | 6.927s | 151,375 t/s |\n",
        # times another program that only the ratio names
        "Kestrel decodes in 21.7 → 17.4 ms (58.3 GB/s, 2.41× nvHERON Tern); the small set takes 3.62 → 3.17 ms, the "
        "large one 31.8 → 27.9 ms (1.87× nvHERON Plover).\n",
        # settings, listed with commas in brackets
        "- For the harbor tasks the best one was (small, none/all, 384/512, 2%) but for the two gates.\n",
        # millions, after a space
        "The search at the end needs `K · L · B = 36 · 117 · 9200 ≈ 39 M` ops, one loop after the other.\n",
        # years of other papers
        "\\bibitem{heron}\nHeron, S.\n\\newblock {Some problems of the harbor in winter.}\n"
        "\\newblock \\emph{Harbor Science Reports}, 7:61--84, 1926.\n\n\\bibitem{plover}\nPlover, C.\n"
        "\\newblock {The problem of the gate.}\n\\newblock \\emph{Annals of Harbor Science}, 83(2):412--417, 1962.\n",
        # two changes, and a third one of something else
        "Plover was 244.31 ms faster in mean lag and 55.27 ms faster in mean E2E, but cost 5.42 times more per gate.\n",
        # shares that a program computed from more than it prints
        "| harbor | gate_time | all_time | share |\n|---|---|---|---|\n| heron | 5.128e-01 | 5.349e-01 | 95.9% |\n"
        "| tern | 5.306e-01 | 5.681e-01 | 93.4% |\n| kestrel | 6.214e-01 | 6.502e-01 | 95.9% |\n"
        "| plover | 8.711e-01 | 9.927e-01 | 87.8% |\n| swift | 9.432e-01 | 1.161e+00 | 81.2% |\n",
        # two quantities of the same days
        "| date | rain | code |\n|---|---|---|\n| 2021-03-11 | 6.37 | q1 |\n| 2021-03-12 | 0.84 | q1 |\n| 2021-03-13 | 7.46 | q1 |\n\n"
        "And the snow:\n\n| date | snow | code |\n|---|---|---|\n| 2021-03-11 | 6.37 | q1 |\n| 2021-03-12 | 5.84 | q1 |\n"
        "| 2021-03-13 | 7.46 | q1 |\n",
    ],
)
def test_what_is_something_else_is_not_accused(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (
            "The first audit passed at gradient norms 13.67, 31.03, and 11.52 without any validation between.\n\n"
            "As said, the first audit without any validation passed at gradient norms 13.67, 31.03, and 11.52.\n",
            "31.03, and 11.52.",
            "13.03, and 11.52.",
        ),
        (
            "Of all, 213 of the 217 queries were easy, which is 98.2% of the set.\n",
            "98.2%",
            "92.8%",
        ),
        (
            "Kestrel (16.2 ms) beats Heron: 41.5 → 16.2 ms (58.3 GB/s, 2.56× Heron) on the harbor set.\n",
            "2.56×",
            "2.65×",
        ),
        (
            "- The harbor tasks passed 384/512, 75%, as they should.\n",
            "75%",
            "57%",
        ),
        (
            "The search at the end needs 36 · 117 · 9200 ≈ 39 M ops, one loop after the other.\n",
            "39 M",
            "93 M",
        ),
        (
            "The model is now 30MB instead of 300MB, a 90% reduction in size.\n",
            "90%",
            "9%",
        ),
    ],
)
def test_a_slip_of_these_kinds_is(text: str, right: str, wrong: str) -> None:
    assert text.count(right) == 1
    assert _found(text) == []
    assert len(_found(text.replace(right, wrong))) == 1
