"""Texts whose numbers follow from each other: one that does not is accused; where few follow, none is."""

from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.prose import closed
from scalelens.audit.prose.types import typed_of
from scalelens.audit.reading import document_of

REPORT = """# Energy of one training

The job ran on 8 nodes for 36.5 h. A node drew 5.60 kW on average, the job {power} kW and 1,635 kWh in total. The GPUs
took 1,227 kWh of it ({share} %). At 0.24 EUR/kWh the energy cost {cost} EUR.

Of the 412 jobs {failed} failed, a share of 4.9 %. The nightly evaluation used to take 5 h 40 min and now takes
1 h 40 min, {times} times less. Memory went from 36.2 GB to 22.8 GB, {saved} GB less.
"""
TRUE = {"power": "44.8", "share": "75.0", "cost": "392", "failed": "20", "times": "3.4", "saved": "13.4"}

TOTALS = """# Requested resources

Each node has 4 GPUs, so that 16 nodes have 64 GPUs. The scaling runs take 1.5 h on 16 nodes, 24 node-hours each. Of all
5,816 node-hours the production runs need 5,120 (88.0 %). Memory went from 36.2 GB to 22.8 GB, 13.4 GB less.

| campaign | node-hours |
|---|---:|
| grid search | 336 |
| scaling | 360 |
| production | 5,120 |
| total | {total} |
"""


def _accused(text: str) -> list[str]:
    return [finding.numbers[0].text for finding in inconsistencies(document_of(text, "report.md", ".md"))]


def test_true_report_has_no_finding() -> None:
    assert _accused(REPORT.format(**TRUE)) == []


def test_half_of_a_power_that_two_ways_give() -> None:
    assert "22.4" in _accused(REPORT.format(**TRUE | {"power": "22.4"}))


def test_share_with_swapped_digits() -> None:
    assert _accused(REPORT.format(**TRUE | {"share": "57.0"})) == ["57.0"]


def test_factor_between_two_durations() -> None:
    assert _accused(REPORT.format(**TRUE | {"times": "4.3"})) == ["4.3"]


def test_half_of_a_total() -> None:
    assert _accused(TOTALS.format(total="5,816")) == []
    assert _accused(TOTALS.format(total="2,908")) != []


def test_where_few_numbers_follow_a_measurement_is_not_accused() -> None:
    text = (
        "The first kernel takes 41.2 ms and uses 3.1 GB.\n\nThe second one takes 17.9 ms at 212 W.\n\n"
        "The third takes 25.6 ms and 18.4 GB; 36.8 GB are free, which is 40 % of what one could want.\n"
    )
    assert list(closed.find(document_of(text, "kernels.md", ".md"))) == []


def test_ends_of_a_range_and_changes_of_shares_are_left_alone() -> None:
    text = (
        REPORT.format(**TRUE)
        + "\nThe first 1,000 words supply roughly 78 to 81 % of a text, and 12 % of 17 % differ.\n"
    )
    assert _accused(text) == []


def test_lines_of_names_and_values_are_read_as_lines() -> None:
    text = (
        "Job efficiency report\n\nState:               COMPLETED\nNodes:               12\nCores per node:      48\n"
        "Cores:               576\nMemory requested:    2,304 GB\nMemory used:         1,521 GB\n"
    )
    document = document_of(text, "job.txt", ".txt")
    assert not document.tables
    assert [number.text for sentence in document.sentences for number in sentence.numbers] == [
        "12", "48", "576", "2,304", "1,521",
    ]  # fmt: skip


def test_table_of_two_columns_stays_a_table() -> None:
    text = "nodes    time (s)\n1        96.0\n2        48.9\n4        25.2\n"
    assert len(document_of(text, "table.txt", ".txt").tables) == 1


def test_one_more_count_makes_the_total() -> None:
    text = "Storage: 5 runs with 30 checkpoints of 0.8 TB each are {} TB."
    assert _accused(text.format("120")) == []
    assert _accused(text.format("240")) == ["240"]


def test_a_share_above_all_is_no_part() -> None:
    text = REPORT.format(**TRUE) + "\nThe clock is 150 % ahead, with 32 ms of noise against 128 ms.\n"
    assert _accused(text) == []


def test_a_count_whose_noun_is_left_out() -> None:
    text = (
        "# Training\n\nEach of the 75,000 steps processes 256 proteins cropped to 384 residues: 98,304 residues per step "
        "and {} billion over the run. A protein has more residues than that; the 87 proteins of the test have 33,060 "
        "residues, 380 residues per protein. On 128 chips it took 264 h, 33,792 chip-hours.\n"
    )
    assert _accused(text.format("7.37")) == []
    assert _accused(text.format("4.37")) == ["4.37 billion"]


def test_a_noun_before_the_next_number_is_its_name() -> None:
    lines = [f"Epoch {k} Batch {100 * n} Loss 1.{6672 - 9 * (3 * k + n)}" for k in (1, 2, 3) for n in (1, 2, 3)]
    sentence = document_of("\n".join(lines), "log.txt", ".txt").sentences[0]
    assert all(("epoch", 1) not in each.type for each in typed_of(sentence, {}))
