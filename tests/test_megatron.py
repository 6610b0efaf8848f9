"""What Megatron's records do to a naive reader; each trap by its name, from the log to the answer in SQL."""

from pathlib import Path

import pytest

from asking import answer
from conftest import FIXTURES
from scalelens.ingestion.ingest import ingest

LOGS = FIXTURES / "megatron"


@pytest.fixture
def ask(tmp_path: Path):
    def rows(log: str, statement: str) -> list[tuple]:
        ingest([LOGS / log], tmp_path / log)
        return answer(tmp_path / log, statement).fetchall()

    return rows


def test_second_record_is_a_mean_with_the_first_iteration(ask) -> None:
    """core 0.16: 39.8 and 34.7 ms are printed, so that the second step took 2 * 34.7 - 39.8 = 29.6 ms."""
    statement = "SELECT step, step_s, averaged_steps, value_kind FROM steps ORDER BY step LIMIT 3"
    first, second, third = ask("core016_second_record.log", statement)
    assert first == (1, pytest.approx(0.0398), 1, "instant")
    assert second == (2, pytest.approx(0.0347), 2, "interval_mean")
    assert third == (3, pytest.approx(0.0238), 1, "instant")


def test_first_two_records_are_left_out_of_the_statistics(ask) -> None:
    rows = ask("core016_second_record.log", "SELECT n_steps, step_s FROM batch_stats()")
    assert rows == [(3, pytest.approx(0.0234))]
    rows = ask("core016_second_record.log", "SELECT n_steps, step_s FROM batch_stats(exclude := 'none')")
    assert rows == [(5, pytest.approx(0.0238))]


def test_evaluation_inside_a_record_is_named_and_left_out(ask) -> None:
    """Before core 0.6 the interval's timer runs through the evaluation at 40: 1564 ms at 50, where steps take 1380."""
    statement = "SELECT step FROM exclusions() WHERE rule = 'evaluation'"
    assert ask("v2_evaluation_and_skips.log", statement) == [(50,)]


def test_loss_that_vanished_is_unknown_not_zero(ask) -> None:
    statement = "SELECT step, loss, skipped_steps, nan_steps FROM steps WHERE loss IS NULL ORDER BY step"
    assert ask("v2_evaluation_and_skips.log", statement) == [(10, None, 10, 0), (60, None, 0, 2)]


def test_skipped_iterations_are_left_out_with_their_rule(ask) -> None:
    statement = "SELECT step FROM exclusions() WHERE rule = 'skipped' ORDER BY step"
    assert ask("v2_evaluation_and_skips.log", statement)[:2] == [(10,), (20,)]


def test_doubled_records_count_once(ask) -> None:
    assert ask("primus_each_twice.log", "SELECT count(*), count(DISTINCT step) FROM steps") == [(4, 4)]


def test_current_value_of_current_and_average(ask) -> None:
    assert ask("primus_each_twice.log", "SELECT step_s FROM steps WHERE step = 3") == [(pytest.approx(0.5321),)]


def test_several_launches_in_one_file(ask) -> None:
    """The same settings started again are another attempt of the run; other settings are another run."""
    statement = "SELECT tp, attempts FROM runs ORDER BY tp"
    assert ask("three_launches_two_runs.log", statement) == [(1, 2), (2, 1)]
    statement = "SELECT r.tp, attempt, count(*) FROM steps JOIN runs r USING (run_id) GROUP BY ALL ORDER BY ALL"
    assert ask("three_launches_two_runs.log", statement) == [(1, 0, 3), (1, 1, 4), (2, 0, 4)]


def test_cut_lines_are_problems_and_what_is_whole_is_kept(ask) -> None:
    statement = "SELECT line FROM problems ORDER BY line"
    assert sorted({line for (line,) in ask("cut_and_glued.log", statement)}) == [2, 3, 4, 6, 9, 13, 14]
    statement = "SELECT step FROM steps ORDER BY line, step"
    assert [step for (step,) in ask("cut_and_glued.log", statement)] == [6, 7, 8, 9, 10, 13]


def test_number_cut_in_the_middle_is_not_believed(ask) -> None:
    """The last line ends in `elapsed time per iteration (ms): 95.`: 95.5 was to come."""
    assert ask("cut_and_glued.log", "SELECT count(*) FROM steps WHERE step = 14") == [(0,)]


def test_seconds_and_milliseconds(ask) -> None:
    assert ask("deepspeed_seconds.log", "SELECT step_s FROM steps WHERE step = 2") == [(pytest.approx(17.14),)]
    assert ask("v1_and_older.log", "SELECT step_s FROM steps WHERE step = 100") == [(pytest.approx(0.5125),)]


def test_label_of_a_node_is_no_rank(ask) -> None:
    """`1: [default3]:` is the second node and its local rank; `7:` of eight devices is the last rank, which prints."""
    assert ask("srun_labels_of_nodes.log", "SELECT DISTINCT rank, place FROM steps") == [(None, "1/default3")]
    assert ask("srun_labels.log", "SELECT DISTINCT rank, place FROM steps") == [(7, None)]


def test_record_that_srun_cut_after_a_kibibyte_is_joined(ask) -> None:
    assert ask("srun_labels.log", "SELECT line, loss FROM steps WHERE step = 3") == [(4, 2.5)]
    assert ask("srun_labels.log", "SELECT count(*) FROM metrics WHERE step = 3 AND name LIKE 'expert % load'") == [
        (40,)
    ]


def test_flops_are_of_the_unit_that_is_glued_to_them(ask) -> None:
    assert ask("neox.log", "SELECT tflops_per_device FROM steps ORDER BY step") == [(59.4,), (pytest.approx(0.6405),)]


def test_tokens_follow_from_the_sequence_length_of_the_arguments(ask) -> None:
    assert ask("neox.log", "SELECT DISTINCT samples, tokens FROM steps") == [(16, 16 * 2048)]


def test_run_of_which_nothing_is_left_is_said_not_dropped(ask) -> None:
    statement = "SELECT n_steps, reason FROM batch_cdf(warmup := 9)"
    assert ask("core016_second_record.log", statement) == [(0, "all 5 records are left out: see exclusions")]
