"""Accuracy over a training, and the time to a target: what decides, and which clock the time is of."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

import scalelens
from asking import answer
from conftest import CORPUS
from little_warehouse import Row, Warehouse
from scalelens.ingestion.ingest import ingest
from scalelens.report import plotting

BEGAN = datetime(2026, 11, 20, 10)


def training(
    warehouse: Warehouse, scores: list[float], *, name: str = "accuracy", step_s: float = 2.0, has_clock: bool = False
) -> None:
    """A run `a` of one record for each value."""  # fmt: skip
    times = [step_s] * len(scores)
    warehouse.run("a", times, devices=4)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "train", "averaged_steps": 1, "step_s": step_s}
    rows = [common | {"line": line, "step": line + 1, name: score} for line, score in enumerate(scores)]
    if has_clock:
        rows = [row | {"ts": BEGAN + timedelta(seconds=3 * (row["line"] + 1))} for row in rows]
    warehouse.insert("steps", rows)


def validation(warehouse: Warehouse, **columns: float | str | datetime) -> None:
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "validation", "averaged_steps": 1}
    warehouse.insert("steps", [common | {"line": 1000} | columns])


def reached(warehouse: Warehouse, arguments: str) -> Row:
    (row,) = warehouse.ask(f"FROM time_to_accuracy({arguments})")
    return row


def test_a_single_batch_above_the_target_does_not_reach_it(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 20 + [0.95] + [0.1] * 20 + [0.8] * 20)
    row = reached(warehouse, "target := 0.75")
    assert (row["is_reached"], row["decided_by"], row["step"]) == (True, "train", 51)
    assert row["score"] == pytest.approx(0.8)
    assert reached(warehouse, "target := 0.75, window_records := 1")["step"] == 21
    assert reached(warehouse, "target := 0.9")["is_reached"] is False


def test_time_is_a_sum_of_steps_without_a_clock(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 30 + [0.9] * 10)
    row = reached(warehouse, "target := 0.9")
    assert (row["time_to_target_s"], row["clock"]) == (80.0, "sum of steps")
    assert row["device_hours"] == pytest.approx(4 * 80 / 3600)


def test_a_record_of_every_tenth_step_stands_for_ten(warehouse: Warehouse) -> None:
    training(warehouse, [0.9] * 10)
    warehouse.connection.execute("UPDATE step_times SET step = 10 * (line + 1)")
    warehouse.connection.execute("UPDATE steps SET step = 10 * (line + 1)")
    assert reached(warehouse, "target := 0.9, window_records := 2")["time_to_target_s"] == 2 + 20


def test_the_clock_counts_from_the_first_record_or_from_the_start_of_the_run(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 30 + [0.9] * 10, has_clock=True)
    row = reached(warehouse, "target := 0.9")
    assert (row["time_to_target_s"], row["clock"]) == (
        3 * 40 - 1,
        "first record",
    )  # the first step began 2 s before 3 s
    whole: Row = {"run_id": "a", "phase": "run", "attempt": 0, "span_s": 200.0, "ts": BEGAN + timedelta(seconds=150)}
    warehouse.insert("phases", [whole])
    row = reached(warehouse, "target := 0.9")
    assert (row["time_to_target_s"], row["clock"]) == (3 * 40 + 50, "run start")


def test_validation_decides_where_there_is_one(warehouse: Warehouse) -> None:
    training(warehouse, [0.99] * 40)
    warehouse.connection.execute("UPDATE step_times SET epoch = (step - 1) // 20")
    for epoch, scores in ((0, (0.5, 0.7)), (1, (0.8, 0.9))):
        for batch, score in enumerate(scores):
            validation(warehouse, epoch=epoch, step=batch, line=1000 * (epoch + 1) + batch, accuracy=score)
    curve = warehouse.ask("FROM accuracy_curve() WHERE phase = 'validation'")
    assert [(row["epoch"], row["n_records"]) for row in curve] == [(0, 2), (1, 2)]
    assert [row["score"] for row in curve] == pytest.approx([0.6, 0.85])
    row = reached(warehouse, "target := 0.75")
    assert (row["decided_by"], row["epoch"], row["time_to_target_s"], row["n_values"]) == ("validation", 1, 80.0, 2)


def test_batches_of_a_validation_weigh_by_their_number(warehouse: Warehouse) -> None:
    training(warehouse, [0.1])
    validation(warehouse, epoch=0, line=1, accuracy=0.5, averaged_steps=20)
    validation(warehouse, epoch=0, line=2, accuracy=0.8, averaged_steps=10)
    (row,) = warehouse.ask("FROM accuracy_curve() WHERE phase = 'validation'")
    assert row["score"] == pytest.approx(0.6)
    validation(warehouse, epoch=0, line=3, accuracy=0.7, value_kind="running_mean")
    (row,) = warehouse.ask("FROM accuracy_curve() WHERE phase = 'validation'")
    assert row["score"] == 0.7, "the last of running means is the mean of all"


def test_a_loss_falls_to_its_target(warehouse: Warehouse) -> None:
    training(warehouse, [9.0 - 0.1 * k for k in range(50)], name="loss")
    row = reached(warehouse, "score_name := 'loss', target := 6.0, window_records := 1")
    assert (row["step"], row["best_score"]) == (31, pytest.approx(4.1))
    assert reached(warehouse, "score_name := 'loss', target := 3.0")["is_reached"] is False
    assert (
        reached(warehouse, "score_name := 'loss', target := 9.0, direction := 'up', window_records := 1")["step"] == 1
    )
    with pytest.raises(duckdb.Error, match="direction is"):
        warehouse.ask("FROM time_to_accuracy(score_name := 'loss', direction := 'sideways')")


def test_the_time_of_repeated_work_counts(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 10)
    again: Row = {"run_id": "a", "file_id": "a", "attempt": 1, "averaged_steps": 1, "step_s": 2.0}
    rows = [again | {"line": 100 + step, "step": step} for step in range(6, 16)]
    warehouse.insert("step_times", [row | {"value_kind": "instant"} for row in rows])
    warehouse.insert("steps", [row | {"phase": "train", "accuracy": 0.9} for row in rows])
    row = reached(warehouse, "target := 0.9")
    assert (row["step"], row["time_to_target_s"]) == (15, 40.0)


def test_a_run_without_the_measure_is_not_here(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0] * 5)
    assert warehouse.ask("FROM time_to_accuracy()") == []


def test_mlperfs_own_times(corpus: Path, tmp_path: Path) -> None:
    """ResNet on 4 A100: from run_start to the evaluation that passed 0.759, less than the 1.5 s to run_stop."""
    log = "vision/mlcommons__training_results_v3.0/Dell"
    ingest([CORPUS / log], tmp_path / "w", jobs=1)
    rows = (
        scalelens.connect(tmp_path / "w")
        .execute("""
        SELECT t.time_to_target_s, p.span_s, t.clock FROM time_to_accuracy(target := 0.759) AS t
        JOIN phases AS p USING (run_id) WHERE p.phase = 'run' AND t.is_reached""")
        .fetchall()
    )
    assert len(rows) >= 4
    for ours, span, clock in rows:
        assert clock == "run start" and span - 1.5 < ours <= span


# The course, for the chart


def course(warehouse: Warehouse, arguments: str = "", phase: str = "train") -> list[Row]:
    return warehouse.ask(f"FROM accuracy_course({arguments}) WHERE phase = '{phase}'")


def counted_epochs(warehouse: Warehouse, first: int, records: int, per_epoch: int) -> None:
    """Records that only count their epochs, and a validation after each epoch but the last."""
    training(warehouse, [0.1 * (k + 1) for k in range(records)])
    for table in ("steps", "step_times"):
        warehouse.connection.execute(f"UPDATE {table} SET epoch = {first} + (step - 1) // {per_epoch}")
    for epoch in range(records // per_epoch):
        validation(warehouse, epoch=first + epoch, accuracy=0.5, line=1000 + epoch)


@pytest.mark.parametrize("first", [0, 1])
def test_values_of_a_counted_epoch_end_at_its_end(warehouse: Warehouse, first: int) -> None:
    counted_epochs(warehouse, first, records=10, per_epoch=4)
    assert [row["epochs_done"] for row in course(warehouse)] == [
        *(0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2),
        *(2.25, 2.5),  # cut in its middle
    ]
    assert [row["epochs_done"] for row in course(warehouse, phase="validation")] == [1, 2]


def test_an_epoch_that_began_before_the_log_is_placed_from_its_end(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 6)
    warehouse.connection.execute("UPDATE steps SET epoch = CASE WHEN step <= 1 THEN 5 WHEN step <= 5 THEN 6 ELSE 7 END")
    assert [row["epochs_done"] for row in course(warehouse)] == [5, 5.25, 5.5, 5.75, 6, 6.25]


def test_fractions_of_epochs_are_kept(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 3)
    warehouse.connection.execute("UPDATE steps SET epoch = step / 2")
    assert [row["epochs_done"] for row in course(warehouse)] == [0.5, 1, 1.5]


def test_nothing_says_how_much_of_the_only_epoch_is_done(warehouse: Warehouse) -> None:
    training(warehouse, [0.1] * 3)
    warehouse.connection.execute("UPDATE steps SET epoch = 0")
    assert {row["epochs_done"] for row in course(warehouse)} == {None}


def test_smoothing_is_a_mean_around_each_record_of_the_training(warehouse: Warehouse) -> None:
    counted_epochs(warehouse, 0, records=5, per_epoch=2)
    assert [row["score"] for row in course(warehouse, "smooth := 3")] == pytest.approx([0.15, 0.2, 0.3, 0.4, 0.45])
    assert {row["score"] for row in course(warehouse, "smooth := 3", "validation")} == {0.5}


def test_tokens_and_energy_up_to_a_value(warehouse: Warehouse) -> None:
    training(warehouse, [0.1, 0.2, 0.3, 0.4])
    for table in ("steps", "step_times"):
        warehouse.connection.execute(f"UPDATE {table} SET step = 5 * step, tokens = 100")
    warehouse.connection.execute("UPDATE steps SET energy_j = 3")
    assert [row["tokens"] for row in course(warehouse, "x := 'tokens'")] == [500, 1000, 1500, 2000]
    assert [row["energy_j"] for row in course(warehouse, "x := 'energy'")] == [12, 72, 132, 192], "of 4 devices"
    warehouse.connection.execute("UPDATE steps SET energy_j = NULL WHERE step = 15")
    assert [row["energy_j"] for row in course(warehouse, "x := 'energy'")] == [12, 72, None, None]
    assert {row["tokens"] for row in course(warehouse)} == {None}
    with pytest.raises(duckdb.Error, match="x is"):
        course(warehouse, "x := 'miles'")


def test_a_few_records_of_a_training_are_points(tmp_path: Path) -> None:
    """A line over 3 of 200 steps would be a stroke that nobody sees."""
    for name, first, n in (("few", 198, 3), ("many", 1, 40)):
        text = "".join(f"{step},{3 - step / 1000}\n" for step in range(first, first + n))
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text(f"step,loss\n{text}")
        ingest([tmp_path / name], tmp_path / f"w-{name}", jobs=1)
        drawn = scalelens.plot("accuracy", warehouse=tmp_path / f"w-{name}", score_name="loss").chart.to_dict()
        assert ("'type': 'point'" in str(drawn)) is (name == "few")


def test_a_mean_over_an_epoch_of_unknown_length_has_no_tokens(warehouse: Warehouse) -> None:
    training(warehouse, [0.1, 0.2, 0.3])
    for table in ("steps", "step_times"):
        changed = "epoch = step, step = NULL, value_kind = 'epoch_mean', tokens = 100"
        warehouse.connection.execute(f"UPDATE {table} SET {changed}")
    warehouse.connection.execute("UPDATE steps SET energy_j = 3")
    for x in ("tokens", "energy"):
        assert [(row["tokens"], row["energy_j"]) for row in course(warehouse, f"x := '{x}'")] == [(None, None)] * 3
    for table in ("steps", "step_times"):
        warehouse.connection.execute(f"UPDATE {table} SET averaged_steps = 50")
    assert [row["tokens"] for row in course(warehouse, "x := 'tokens'")] == [5_000, 10_000, 15_000]


def test_the_first_rank_with_scores_counts(warehouse: Warehouse) -> None:
    training(warehouse, [0.1, 0.2, 0.3])
    rows = [
        {
            "run_id": "a",
            "file_id": "f",
            "line": 100 + line,
            "rank": 3,
            "phase": "train",
            "step": line + 1,
            "accuracy": 0.9,
        }
        for line in range(3)
    ]
    warehouse.insert("steps", rows)
    assert [row["score"] for row in warehouse.ask("FROM accuracy_curve()")] == [0.1, 0.2, 0.3]
    warehouse.connection.execute("UPDATE steps SET accuracy = NULL WHERE coalesce(rank, 0) = 0")
    assert [row["score"] for row in warehouse.ask("FROM accuracy_curve()")] == [0.9] * 3


def test_ranks_that_are_not_told_apart_make_one_row_of_a_step(warehouse: Warehouse) -> None:
    """Two nodes wrote into one log without a rank: their losses alternated, and the curve was a sawtooth."""
    training(warehouse, [0.1, 0.3, 0.3, 0.5, 0.5, 0.7])
    warehouse.connection.execute("UPDATE steps SET step = line // 2 + 1")
    rows = warehouse.ask("FROM accuracy_curve()")
    assert [(row["step"], row["n_records"]) for row in rows] == [(1, 2), (2, 2), (3, 2)]
    assert [row["score"] for row in rows] == pytest.approx([0.2, 0.4, 0.6])


def test_records_of_several_launches_that_nothing_tells_apart_are_no_course(warehouse: Warehouse) -> None:
    """A job script had run fifteen trainings into one log: the last record of one is not the end of another."""
    training(warehouse, [0.3, 0.5, 0.2, 0.4])
    assert len(warehouse.ask("FROM accuracy_curve()")) == 4
    warehouse.insert("params", [{"run_id": "a", "key": "writers", "value": "ambiguous", "origin": "inferred"}])
    assert warehouse.ask("FROM accuracy_curve()") == []


def test_a_step_that_is_counted_anew_is_another_row(warehouse: Warehouse) -> None:
    training(warehouse, [0.1, 0.2, 0.3, 0.4])
    warehouse.connection.execute("UPDATE steps SET step = line % 2 + 1")
    assert [row["score"] for row in warehouse.ask("FROM accuracy_curve()")] == [0.1, 0.2, 0.3, 0.4]
    warehouse.connection.execute("UPDATE steps SET step = 1, epoch = line")
    assert [row["n_records"] for row in warehouse.ask("FROM accuracy_curve()")] == [1] * 4
    warehouse.connection.execute("UPDATE steps SET step = NULL, epoch = 1")
    assert [row["n_records"] for row in warehouse.ask("FROM accuracy_curve()")] == [1] * 4


def test_a_metric_of_a_validation_makes_the_other_one_that_of_the_training(tmp_path: Path) -> None:
    """Keras prints both in one line: the higher accuracy of the training is not that of a validation."""
    rows = "".join(f"{epoch},{1 / epoch},{0.2 * epoch},{0.1 * epoch}\n" for epoch in range(1, 5))
    for header, found in (
        ("epoch,loss,accuracy,val_accuracy", [("train", 0.8), ("validation", 0.4)]),
        ("epoch,loss,accuracy,val_f1", [(None, 0.8)]),
        ("epoch,loss,accuracy,valid_loss", [("validation", 0.8)]),
        ("epoch,loss,f1,valid_acc", [("validation", 0.4)]),
    ):
        folder = tmp_path / header.replace(",", "_")
        folder.mkdir()
        (folder / "history.csv").write_text(f"{header}\n{rows}")
        ingest([folder], folder / "w", jobs=1)
        asked = "SELECT phase, max(score), max(epoch), max(step) FROM accuracy_curve() GROUP BY phase ORDER BY phase"
        got = answer(folder / "w", asked).fetchall()
        assert [(phase, pytest.approx(score)) for phase, score, _, _ in got] == found
        assert {(epoch, step) for _, _, epoch, step in got} == {(4, None)}


def test_an_accuracy_in_percent_is_not_taken_for_a_share(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("epoch,loss,val_acc\n1,2.0,31.5\n2,1.0,52.5\n")
    ingest([tmp_path / "history.csv"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "FROM accuracy_curve()").fetchall() == []


def test_epochs_counted_from_0_with_a_record_each_are_not_called_spread(tmp_path: Path) -> None:
    """And an axis of few whole epochs has no ticks at halves of them."""
    (tmp_path / "a.csv").write_text("epoch,train_loss\n0,3.5\n1,2.5\n2,2.0\n")
    scalelens.ingest(tmp_path / "a.csv", warehouse=tmp_path / "w")
    plotting.plot(tmp_path / "w", "accuracy", tmp_path / "f.json", {"score_name": "loss", "x": "epochs"})
    figure = (tmp_path / "f.json").read_text()
    assert "Epochs are counted from 0, and each record is at the end of its epoch." in figure
    assert re.search(r'"tickMinStep":\s*1\b', figure)
