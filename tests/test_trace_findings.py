"""What the report says of traces: memory, experts, inference, energy, the critical path; from rows that their SQL gives."""

from types import ModuleType

import polars as pl

from little_warehouse import Warehouse, little_warehouse
from scalelens.report.findings import arrivals, critical_path, experts, inference, memory, trace_energy
from scalelens.report.text.sentences import FindingSentence
from test_queries import ADDED

NAMES = {"held": "job H", "experts": "job E", "traced": "job T"}


def said(finding: ModuleType, added: str) -> list[FindingSentence]:
    little: Warehouse = little_warehouse()
    ADDED[added](little)
    rows = pl.DataFrame(little.ask(finding.SQL), infer_schema_length=None)
    return finding.sentences(rows, NAMES)


def test_a_failed_allocation_weighs_most() -> None:
    (sentence,) = said(memory, "memory_snapshots")
    assert sentence.text == "job H, rank 0: 1 allocation failed, the largest of 1.1 kB."
    assert "fragmentation, or rounding" in sentence.doubt and sentence.weight == 1


def test_the_peak_names_its_line_and_what_is_unused() -> None:
    row = {"run_id": "held", "rank": 3, "ooms": 0, "peak_requested_bytes": 60 * 10**9, "unused_share": 0.2, "entries": 900,
           "largest_site": "model.py:48 forward", "largest_share": 0.4, "note": None}  # fmt: skip
    (sentence,) = memory.sentences(pl.DataFrame([row]), NAMES)
    assert sentence.text == (
        "job H, rank 3: at the peak, tensors use 60 GB; 40.0 % of it at model.py:48 forward. "
        "20.0 % of what PyTorch reserves then is unused."
    )
    assert sentence.weight == 0.2
    (tight,) = memory.sentences(pl.DataFrame([row | {"unused_share": 0.02}]), NAMES)
    assert tight.weight == 0 and "unused" not in tight.text
    without = pl.DataFrame([row | {"peak_requested_bytes": None}], schema_overrides={"peak_requested_bytes": pl.Int64})
    assert memory.sentences(without, NAMES) == [] and "unknown" in memory.nothing(without)


def test_uneven_experts_are_named_with_what_they_cost() -> None:
    (sentence,) = said(experts, "expert_balance")
    assert sentence.text == (
        "job E: in the all-to-all of group 5, rank 1 gets 1.278 times the mean; loads that differ from exchange to exchange "
        "cost up to 1.278 times the even time."
    )
    assert sentence.doubt == "2 exchanges."


def test_phases_of_inference_are_shares_of_the_device() -> None:
    (sentence,) = said(inference, "inference_phases")
    assert sentence.text == (
        "job T, rank 0: the iterations of the engine spend 66.7 % in decode (12,500 tokens/s), 33.3 % in prefill "
        "(600,000 tokens/s)."
    )
    assert sentence.doubt == "Time on the device, of 3 iterations; the host schedules in between."


def test_the_energy_of_a_trace_adds_up() -> None:
    sentences = said(trace_energy, "energy_of_trace")
    assert sentences[0].text == (
        "job T, rank 0: of 0.725 J in the trace, 44.1 % while it computes, 28.6 % while it only communicates, "
        "25.2 % while the device is idle, 2.1 % while it only copies."
    )
    assert trace_energy.nothing(pl.DataFrame({"note": ["the clock of the readings is not known"]})) == (
        "Power and traces cannot be joined: the clock of the readings is not known."
    )


def test_the_rank_that_causes_most_waiting_is_named() -> None:
    rows = pl.DataFrame({"run_id": ["T", "T"], "rank": [5, 0], "calls": [18, 18], "last": [4, 2], "blame_ns": [59, 41],
                         "share": [0.59, 0.41], "ranks": [2, 2], "note": ["clock offsets are not known", None]})  # fmt: skip
    (sentence,) = arrivals.sentences(rows, {"T": "job T"})
    assert sentence.text == (
        "job T: rank 5 arrives last at 4 of 18 collectives and causes 59 % of the waiting for late ranks."
    )
    assert sentence.doubt == "2 ranks were traced, without devices. Clock offsets are not known."
    assert arrivals.run_to_draw(rows) == "T"


def test_the_longest_part_of_the_critical_path_is_named() -> None:
    (sentence,) = said(critical_path, "energy_of_trace")
    assert sentence.text == "job T: 25.0 % of the critical path is the kernel sgemm_128x64_nn on rank 1."
