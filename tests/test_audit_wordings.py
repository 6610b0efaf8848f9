"""How papers tie numbers together: of each wording a true text, at which `audit` is silent, and one number that is wrong."""

import pytest

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

SENTENCES = [  # with {} for a number: the true one, a wrong one
    ("Going from 8 to 32 GPUs cuts the epoch from 1,695.7 s to 680.1 s, a 2.49x speedup ({}% parallel efficiency).", "62.3", "52.3"),
    ("From 2 nodes to 16 nodes the speedup is 6.73, an efficiency of {} %.", "84.1", "94.1"),
    ("On 16 GPUs the throughput is 112,596 tokens/s, i.e. {} tokens/s per GPU.", "7,037.2", "7,937.2"),
    ("We measure {} tokens/s on 16 GPUs (8,744 tokens/s/GPU).", "139,904", "189,904"),
    ("Our best run sustains 868,133 tokens per second across 128 GPUs, or {} tokens per second per GPU.", "6,782.3", "6,182"),
    ("Training consumed 48.15 kWh over 16.1 hours, averaging {} kW.", "2.99", "3.99"),
    ("The job ran for 3.3 hours and consumed 8.16 kWh, which corresponds to an average power draw of {} kW.", "2.47", "1.47"),
    ("In total, {} kWh were used in 4.4 h (2.63 kW on average).", "11.59", "14.59"),
    ("The system sustained 1,758 images/s for 71.7 minutes, processing {} images in total.", "7,562,916", "6,562,916"),
    ("At 2,140 images/s, 38.8 min of training correspond to {} images.", "4,981,920", "4,381,920"),
    ("We train for 7,199 iterations with a global batch size of 96, i.e., {} samples.", "691,104", "681,104"),
    ("4,369 iterations at a global batch size of 96 amount to {} samples.", "419,424", "838,848"),
    ("Each batch holds 256 sequences of 1024 tokens, for a total of {} tokens.", "262,144", "282,144"),
    ("With a sequence length of 2048 and a global batch size of 256, each step processes {} tokens.", "524,288", "544,288"),
    ("The step time drops by {} %, from 448.1 ms to 246.2 ms.", "45.1", "95.1"),
    ("AMP improves the step time by {}x, from 77.18 s to 18.19 s.", "4.24", "5.24"),
    ("Mixed precision shortens the iteration from 8.50 s to 2.26 s, i.e. it is {} times faster.", "3.76", "4.76"),
    ("Compared with 3,036 images/s, the tuned configuration reaches 4,201 images/s, {} % more.", "38.4", "19.2"),
    ("Memory goes from 57.8 MB to 47.5 MB ({} % less).", "18", "26"),
    ("Latency of the kernel: 12.4 → 9.3 ms (-{} %).", "25", "38"),
    ("The new kernel is {} % faster than before (25.6 µs vs 33.7 µs).", "24", "47"),
    ("We index 28,548 chunks (was 1,136 — {}x).", "25", "43"),
    ("The loss is 1.64 vs 1.48 — a {} gap.", "0.16", "0.37"),
    ("A node was the reason for 149 of 338 faults ({} %).", "44", "61"),
]  # fmt: skip
TABLES = [
    ("num_gpus,tokens_per_s,tokens_per_s_per_gpu\n8,36548,4568.5\n16,70902,4431.4\n32,137419,4294.3\n64,266066,{}\n"
     "128,514590,4020.2\n", "4157.3", "3325.8"),
    ("gpus,global_batch,step_time_ms,samples_per_sec\n1,64,323.2,198.0\n2,128,239.4,534.7\n4,256,325.3,787.0\n"
     "8,512,422.9,1210.7\n16,1024,337.4,3035.0\n32,2048,330.5,{}\n64,4096,470.4,8707.5\n", "6196.7", "5196.7"),
    ("Component,ms,% of step\nForward,48.1,18.1\nBackward,{},8.0\nOptimizer,102.6,38.7\nCommunication,93.4,35.2\n"
     "Total,265.3,100.0\n", "21.2", "17.0"),
    ("Nodes,#GPUs,img/sec,Eff. (%)\n1,4,10366.0,100.0\n2,8,20087.1,96.9\n4,16,38884.3,93.8\n8,32,75188.7,90.7\n"
     "16,64,145217.9,{}\n32,128,280116.5,84.4\n", "87.6", "17.6"),
    ("#devices,Epoch time [min],Speed-up,E\n1,109.67,1.00,1.000\n2,56.82,1.93,0.965\n4,29.48,3.72,{}\n"
     "8,15.32,7.16,0.895\n16,7.97,13.76,0.860\n32,4.15,26.43,0.826\n", "0.930", "1.1"),
]  # fmt: skip
TRUE = [  # what a hasty reader would accuse
    "From 4 to 8 GPUs the throughput rises, a speedup of 1.9.",
    "The throughput improves by 20 % (from 4 to 8 GPUs).",
    "We run 100 steps with a batch size of 256, 2,048 tokens each.",
    "We pack 256 sequences of 1,024 tokens (4,096 tokens at most) into each batch.",
    "We reach 16,000 tokens/s on 8 GPUs, 2,300 tokens/s per GPU at best.",
    "On 8 GPUs the run reaches 16,000 tokens/s; a single GPU gives 2,300 tokens/s per GPU.",
    "Relative to 8 GPUs, 32 GPUs have a speedup of 3.1, an efficiency of 78 %.",
    "The job ran for 3.3 hours and consumed 8.16 kWh, up to 4 kW on average per node.",
    "Each patch has 8 × 8 = 192 values.",
    "It costs $0.65/h (8 vCPU / 32 GB).",
    "It takes 361K against 4.9M (13.6x).",
    "A node was the reason for 149 of 338 faults (44 nodes).",
    "In 2025 there were 149 of 338 faults (56 % of them are gone).",
]


def accused(text: str, suffix: str) -> list[str]:
    return [finding.sentence for finding in inconsistencies(document_of(text, suffix=suffix))]


@pytest.mark.parametrize(("text", "right", "wrong"), SENTENCES)
def test_a_sentence_that_ties_its_numbers(text: str, right: str, wrong: str) -> None:
    assert accused(text.format(right), ".md") == []
    assert len(accused(text.format(wrong), ".md")) == 1


@pytest.mark.parametrize(("text", "right", "wrong"), TABLES)
def test_headings_as_tools_and_papers_print_them(text: str, right: str, wrong: str) -> None:
    assert accused(text.format(right), ".csv") == []
    assert accused(text.format(wrong), ".csv")


@pytest.mark.parametrize("text", TRUE)
def test_numbers_that_are_only_beside_each_other_are_left_alone(text: str) -> None:
    assert accused(text, ".md") == []
