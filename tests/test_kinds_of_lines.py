"""Kinds of lines that logs of strangers have: JSON in a line, stamps of other kinds, lines that only recall an epoch."""

import random
from datetime import datetime
from pathlib import Path

import pytest

from conftest import FIXTURES
from scalelens.parsing.other_languages import in_english
from scalelens.tabular.unknown_logs.clock import is_stamp_alone, stamp_in
from scalelens.tabular.unknown_logs.fields import parsed
from scalelens.tabular.unknown_logs.json_in_lines import json_written_out
from scalelens.tabular.unknown_logs.stated_times import total_in
from test_generic_lines import asked, log


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("[2026-01-02 01:02:03 PM] Epoch 1", "2026-01-02T13:02:03"),
        ("[2026-01-02 12:02:03 AM] Epoch 1", "2026-01-02T00:02:03"),
        ("[2026-01-02 12:02:03 PM] Epoch 1", "2026-01-02T12:02:03"),
        ("2026-01-02 13:02:03 PM is not of twelve hours", "2026-01-02T13:02:03"),
        ("2026-01-02 01:02:03 PMean of a step", "2026-01-02T01:02:03"),
        ("[1767323045] Epoch 1", "2026-01-02T03:04:05+00:00"),
        ("1767323045.5: Epoch 1", "2026-01-02T03:04:05.500000+00:00"),
        (f"step 1 | {'loss 0.5 | ' * 20}2026-01-02 03:04:05.678", "2026-01-02T03:04:05.678"),
        ("Epoch 1 finished at: 2026-01-02 03:04:05", "2026-01-02T03:04:05"),
    ],
)
def test_a_stamp_is_read_by_its_own_clock(text: str, iso: str) -> None:
    stamp = stamp_in(text)
    assert stamp is not None
    assert stamp.iso == iso
    assert datetime.fromisoformat(iso)


@pytest.mark.parametrize("text", ["1767323045 samples", "[17673230] Epoch 1", "1767323045/1900000000 tokens"])
def test_a_large_number_is_a_stamp_only_where_it_can_be(text: str) -> None:
    assert stamp_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 1, loss 0.5, finishes at: 2026-01-02 03:04:05",
        "Epoch 1, ETA: 2026-01-02 03:04:05",
        f"step 1 | {'loss 0.5 | ' * 20}expected end 2026-01-02 03:04:05",
        f"step 1 | {'loss 0.5 | ' * 20}2026-01-02 03:04:05 saved",
    ],
)
def test_when_something_is_expected_to_end_is_no_stamp(text: str) -> None:
    assert stamp_in(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("real\t14m2.5s", 842.5),
        ("real\t1h2m3.5s", 3723.5),
        ("\tElapsed (wall clock) time (h:mm:ss or m:ss): 14:02.50", 842.5),
        ("\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:14:02", 4442),
        ("Job Wall-clock time: 1-00:14:02", 87242),
        ("resources_used.walltime=00:14:02", 842),
        ("    Run time :                                   842 sec.", 842),
        ("wandb:    _runtime 842", 842),
        ("[Finished in 842.5s]", 842.5),
        ("Training time: 14.5 min, inference time: 3.25 s", 870),
        ("Inference time: 14.5 min, training accuracy: 3.25 s", None),
        ("user\t14m2.5s", None),
        ("real 14m2.5s of audio", None),
    ],
)
def test_what_a_whole_training_took(text: str, seconds: float | None) -> None:
    assert total_in(text) == seconds


def test_a_line_may_be_a_stamp_alone() -> None:
    assert is_stamp_alone("[2026-01-02 03:04:05] ")
    assert not is_stamp_alone("[2026-01-02 03:04:05] saved")
    assert not is_stamp_alone("03:04:05")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("loss: 0.31 in 9.1s", [("loss", 0.31, None), ("took", 9.1, "s")]),
        ("Epoch 3 done in 9.1 s", [("Epoch", 3, None), ("took", 9.1, "s")]),
        ("loss 0.31, generated in 9.1s", [("loss", 0.31, None), ("generated in", 9.1, "s")]),  # by something else
        ("E3: loss 0.31", [("ep", 3, None), ("loss", 0.31, None)]),
        ("E3 ligase, loss 0.31", [("loss", 0.31, None)]),
        ("epoch-3 loss 0.31", [("epoch", 3, None), ("loss", 0.31, None)]),
        ("saved epoch-3.pth, loss 0.31", [("loss", 0.31, None)]),
        ("Epoch No. 3, loss 0.31", [("Epoch", 3, None), ("loss", 0.31, None)]),
        ("epoch1,step2,loss 0.31", [("epoch", 1, None), ("step", 2, None), ("loss", 0.31, None)]),
        ("E1 B10 loss 0.31", [("epoch", 1, None), ("batch", 10, None), ("loss", 0.31, None)]),
        ("step 7 time: 0:01:01", [("step", 7, None), ("time", 61, "s")]),
        ("step 7 time: 10:01:01", [("step", 7, None)]),  # of day
        ("Step 7 \u2014 loss: 0.5 \u2013 lr 0.25", [("Step", 7, None), ("loss", 0.5, None), ("lr", 0.25, None)]),
        ("Training time:0:00:58.221026", [("Training time", 58.221026, "s")]),
        ("Average loss for epoch 7: 0.5", [("epoch", 7, None), ("Average loss", 0.5, None)]),
        ("Train loss in epoch 7/9 is 0.5", [("epoch", 7, None), ("Train loss", 0.5, None)]),
        ("validation loss for epoch 7: 0.5", [("validation loss for epoch", 7, None), ("", 0.5, None)]),
        ("step 7 [0:01:01<0:05:00]", [("step", 7, None), ("elapsed", 61, "s")]),
        ("[7/9] 12.5 sec(s) Loss: 0.5", [("", 7, None), ("", 12.5, "s"), ("Loss", 0.5, None)]),
        ("epoch 7, 2 minute(s)", [("epoch", 7, None), ("", 2, "min")]),
        ("Epoch: 7, Training Time: 12.5/epoch", [("Epoch", 7, None), ("epoch time", 12.5, None)]),
    ],
)
def test_names_and_times_of_other_forms(text: str, fields: list[tuple]) -> None:
    assert [(field.name, field.value, field.unit) for field in parsed(text).fields] == fields


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("20260304_095807 step 7", "2026-03-04T09:58:07"),
        ("[2026-03-04_09-58-07] step 7", "2026-03-04T09:58:07"),
        ("04/Mar/2026 09:58:07 step 7", None),
        ("04.03.2026 09:58:07 step 7", None),
        ("[ Wed Mar  4 09:58:07 2026 ] step 7", None),
    ],
)
def test_stamps_of_other_forms(text: str, iso: str | None) -> None:
    stamp = stamp_in(text)
    assert stamp is not None
    assert stamp.iso == iso
    assert stamp.seconds % 86_400 == 9 * 3600 + 58 * 60 + 7


def test_the_day_of_the_week_is_part_of_a_stamp() -> None:
    lines = ["[ Mon Dec  1 22:43:49 2025 ] step 7", "[ Tue Dec  2 02:43:49 2025 ] step 7", "Fri Dec  5 09:58:07 step 7"]
    texts = [parsed(line).text for line in lines]
    assert texts == ["[ @ ] step 7", "[ @ ] step 7", "@ step 7"]


def test_a_date_within_a_name_is_no_stamp() -> None:
    assert stamp_in("runs/20260304_095807/out: step 7") is None
    assert stamp_in("20261304_095807 step 7") is None


def test_an_object_in_a_line_is_written_out_with_its_counts_first() -> None:
    text = 'INFO: {"loss": 2.5, "mode": "train_iter", "step": 20, "epoch": "1/3", "perf": {"dt": 0.25}, "ok": true}'
    assert json_written_out(text) == "INFO: mode: train iter, epoch: 1/3, step: 20, loss: 2.5, perf/dt: 0.25"


@pytest.mark.parametrize(
    "text",
    [
        ':::MLLOG {"key": "epoch_start", "value": 1}',
        'DLLL {"step": [0, 1], "data": {}}',
        'read {"loss": 2.5} of a file',
        'INFO {"loss": 2.5',
        "INFO loss: 2.5",
    ],
)
def test_an_object_that_is_not_a_record_of_the_line_is_left(text: str) -> None:
    assert json_written_out(text) is None


def test_a_line_that_recalls_the_best_epoch_tells_the_time_of_none(tmp_path: Path) -> None:
    lines = [f"2026-01-02 03:{2 * k:02d}:00.000 best accuracy: 0.{k}1 at epoch: {k}" for k in range(1, 9)]
    assert asked(log(tmp_path, *lines), tmp_path, "SELECT count(*) FROM phases") == [(0,)]


def test_epochs_that_are_counted_from_one_begin_at_the_first_step(tmp_path: Path) -> None:
    lines = [f"Epoch {e} batch {b}/40 loss {3 - e / 10:.2f} time: 0.25 s" for e in (1, 2, 3) for b in range(1, 41, 3)]
    first_and_last = asked(log(tmp_path, *lines), tmp_path, "SELECT min(step), max(step) FROM steps")
    assert first_and_last == [(0, 119)]


def test_steps_by_coarse_stamps_are_means_of_as_many_steps_each(tmp_path: Path) -> None:
    stamps = [f"2026-01-02 03:{k // 60:02d}:{k % 60:02d}" for k in range(0, 300, 7)]
    lines = [f"{stamp} step {10 * k} loss {4 / (k + 1):.3f}" for k, stamp in enumerate(stamps)]
    times = asked(
        log(tmp_path, *lines), tmp_path,
        "SELECT round(step_s, 6), averaged_steps, count(*) FROM steps WHERE step_s IS NOT NULL GROUP BY ALL",
    )  # fmt: skip
    assert times == [(0.7, 20, 21)]


def epochs_of(tmp_path: Path, *after: str) -> list[tuple]:
    """The epochs that a log of untimed steps tells, with these lines after each of six epochs."""
    lines = [
        text.format(e=e, t=60 + e % 3)
        for e in range(1, 7)
        for text in (*(f"Epoch {{e}} batch {b}/90 loss 0.{b}" for b in (10, 50, 90)), *after)
    ]
    return asked(log(tmp_path, *lines), tmp_path, "SELECT phase, count(*), median(span_s) FROM phases GROUP BY ALL")


@pytest.mark.parametrize(
    "after",
    [
        ("Epoch {e} took {t}.0 s, mean loss 0.5",),
        ("Time taken for 1 epoch {t}.0 sec",),
        ("Training time: {t}.0s", "Validation time: 7.0s"),
        ("Epoch time: {t}.0 s", "Time per step: 2.0 s"),
        ("Epoch train finished, avg_loss=0.5, time={t}.0s",),
        ("Training done: mean loss 0.5, best acc 0.5, time {t}.0 s",),
    ],
)
def test_epochs_have_the_time_that_is_printed_beside_untimed_steps(tmp_path: Path, after: tuple[str, ...]) -> None:
    assert epochs_of(tmp_path, *after) == [("epoch", 6, 61.0)]


@pytest.mark.parametrize(
    "after",
    [
        ("Validation time: {t}.0s",),
        ("Saving the checkpoint took {t}.0 s",),
        ("Mean time per epoch: {t}.0 s",),
        ("Total time: 1{t}.0 s",),
        ("Time left in this epoch: {t}.0 s",),
        ("Time: {t}.0 s", "Time in total: 9{t}.0 s", "Took {t}.5 s"),
        ("Epoch finished, avg_loss=0.5, avg_time={t}.0s",),
        ("Epoch {e}, Training Time: {t}.0/epoch",),  # in an unknown unit
    ],
)
def test_other_times_beside_untimed_steps_are_not_those_of_epochs(tmp_path: Path, after: tuple[str, ...]) -> None:
    assert epochs_of(tmp_path, *after) == []


def test_a_heading_below_its_stamp_begins_an_epoch_then(tmp_path: Path) -> None:
    lines = []
    for epoch in range(1, 7):
        lines += [f"2026-01-02 03:{epoch:02d}:05,000 - ", f"Epoch {epoch}/6"]
        lines += [f"2026-01-02 03:{epoch:02d}:55,000 - Loss       | {1 / epoch:.4f}     | {2 / epoch:.4f}"]
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT origin, count(*), median(span_s) FROM phases GROUP BY ALL")
    assert found == [("derived", 5, 60.0)]


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Epoche 3/20: Verlust 2.04, Dauer 45.1 s", "epoch 3/20: loss 2.04, time 45.1 s"),
        ("[08:00:00] 第 12/100 步 损失 2.31 每步耗时 0.45秒", "[08:00:00] step 12/100 loss 2.31 step time 0.45 s"),
        (
            "第3轮训练完成，训练损失：0.52，总耗时：45.2秒",
            "epoch 3 training done, train loss: 0.52, total time: 45.2 s",
        ),
        ("Epoch 3/20, 训练损失：0.52，用时：45.2秒", "Epoch 3/20, train loss: 0.52, time: 45.2 s"),
        ("用时：45.2秒", "用时：45.2秒"),
        ("Época 3/20 pérdida: 2.1 tiempo: 45 segundos", "epoch 3/20 loss: 2.1 time: 45 s"),
        ("Эпоха 3, потери: 2.1, время: 45.3 сек", "epoch 3, loss: 2.1, time: 45.3 s"),
        ("Schritt 3: Zeit pro Schritt 0.25 s", "step 3: time per step 0.25 s"),
        ("Itération 3 : temps par étape 0.25 s", "iteration 3: time per step 0.25 s"),
        ("Paso 3 - Pérdida 2.1 - tiempo por paso 0.25 s", "step 3 - loss 2.1 - time per step 0.25 s"),
        ("Schrittmacher 3, Dauer 5 s", "Schrittmacher 3, Dauer 5 s"),
        ("Die Dauer war 5 s", "Die Dauer war 5 s"),
    ],
)
def test_words_of_training_in_other_languages(text: str, english: str) -> None:
    assert in_english(text) == english


def test_english_lines_stay_as_they_are() -> None:
    logs = [path for path in (FIXTURES / "generic_lines").glob("*.log") if not path.stem.startswith("epochs_in_")]
    assert len(logs) > 50
    for path in logs:
        lines = path.read_text(errors="replace").splitlines()
        assert [in_english(line) for line in lines] == lines


# Several launches in one file


def launched(pieces: list[int], lines_of_each: int = 8) -> tuple[list[str], list[float]]:
    """Lines with a time since the start, of launches of so many epochs, and the time of a step between two of them."""
    lines, times = [], []
    for launch, epochs in enumerate(pieces):
        now = 5.0
        for epoch in range(epochs):
            for k in range(lines_of_each):
                step_s = 0.5 + launch / 10 + k / 100
                now += 100 * step_s
                times += [step_s] if k else []
                lines.append(f"epoch {epoch}, iter {100 * k + 100}, loss {9 / (k + 1):.3f}, time elapsed {now:.2f} sec")
            now += 40.0  # a validation
    return lines, times


@pytest.mark.parametrize("pieces", [[3], [1, 2], [2, 1, 1], [1, 1, 1, 1]])
def test_a_time_since_the_start_begins_anew_with_each_launch(tmp_path: Path, pieces: list[int]) -> None:
    lines, times = launched(pieces)
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT step_s FROM steps WHERE step_s IS NOT NULL ORDER BY line")
    assert [step_s for (step_s,) in found] == pytest.approx(times, rel=1e-6)


def test_a_time_that_goes_back_while_the_steps_go_on_is_not_since_the_start(tmp_path: Path) -> None:
    lines = [f"epoch 0, iter {k}, loss {9 / k:.3f}, time elapsed {k % 12 * 3.0:.2f} sec" for k in range(1, 40)]
    path = log(tmp_path, *lines)
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "goes back" in reason


# Bars that are only left when they are full


def full_bar(total: int, seconds: float, label: str = "") -> str:
    return f"{label}100%|##########| {total}/{total} [{seconds // 60:02.0f}:{seconds % 60:02.0f}<00:00, {seconds / total:5.2f}s/it]"


@pytest.mark.parametrize(
    ("before", "steps"), [("Epoch {e} training", 40), ("Epoch {e}: validating", 0), ("Epoch {e}", 0)]
)
def test_a_bar_without_a_label_is_what_the_line_before_it_announces(tmp_path: Path, before: str, steps: int) -> None:
    lines = [text for e in range(5) for text in (before.format(e=e), full_bar(40, 60.0), f"accuracy 0.{e}")]
    assert asked(log(tmp_path, *lines), tmp_path, "SELECT coalesce(min(step), 0) FROM steps") == [(steps,)]


@pytest.mark.parametrize(("epochs", "bars"), [(5, 5), (5, 10)])
def test_full_bars_are_read_where_other_lines_count_as_many_epochs(tmp_path: Path, epochs: int, bars: int) -> None:
    lines = [f"epoch {e}, val_loss {5 / (e + 1):.3f}" for e in range(epochs)]
    each = bars // epochs
    pairs = [text for line in lines for text in ([full_bar(40, 60.0, "train loss 1.5: "), "saved"] * each + [line])]
    found = asked(log(tmp_path, *pairs), tmp_path, "SELECT count(step_s), median(step_s) FROM steps")
    assert found == ([(epochs, 1.5)] if bars == epochs else [(0, None)])


# Times of several epochs


@pytest.mark.parametrize(("stated", "found"), [(50, [(6, 1.2)]), (10, [(0, None)])])
def test_the_time_of_several_epochs_gives_their_mean_where_as_many_are_counted(
    tmp_path: Path, stated: int, found: list[tuple]
) -> None:
    lines = [
        text
        for e in range(50, 350, 50)
        for text in (f"Epoch {e}: loss {9 / e:.4f}", f"Time for the last {stated} epochs: 60.0 s")
    ]
    asking = "SELECT count(*), median(value) FROM metrics WHERE name = 'epoch time' AND stat = 'mean'"
    assert asked(log(tmp_path, *lines), tmp_path, asking) == found


def test_what_grows_far_less_than_the_clock_is_not_since_the_start(tmp_path: Path) -> None:
    lines = [
        f"2026-01-02 03:{k // 60:02d}:{k % 60:02d}.123 step {k} loss {9 - k / 10:.3f} elapsed=952.{k:03d}ms"
        for k in range(40)
    ]
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT DISTINCT step_s FROM steps WHERE step_s IS NOT NULL")
    assert found == [(1.0,)]


def _grown(factor: float, digits: int, stamped: bool = True) -> list[str]:
    """Lines whose time has grown by a factor times the seconds of their stamps."""
    seconds = [6.2 * k + 0.3 * (k % 3) for k in range(1, 31)]
    return [
        (f"2026-03-04 09:{now // 60:02.0f}:{now % 60:06.3f} " if stamped else "")
        + f"iter {20 * k}, loss {9 / k:.3f}, time {now * factor:.{digits}f}"
        for k, now in enumerate(seconds, 1)
    ]


@pytest.mark.parametrize(("factor", "digits", "unit"), [(1.0, 2, "s"), (1e3, 0, "ms"), (1 / 60, 3, "min")])
def test_a_time_that_grows_as_the_stamps_do_has_the_unit_that_fits(
    tmp_path: Path, factor: float, digits: int, unit: str
) -> None:
    path = log(tmp_path, *_grown(factor, digits))
    ((seconds,),) = asked(path, tmp_path, "SELECT median(step_s) FROM steps")
    assert seconds == pytest.approx(6.2 / 20, rel=0.06)
    assert asked(path, tmp_path, "SELECT count(*) FROM problems") == [(0,)]
    units = "SELECT unit FROM metrics WHERE name = 'time' UNION SELECT value FROM params WHERE key = 'time_unit'"
    assert asked(path, tmp_path, units) == [(unit,)]
    assert unit in {"s", "ms", "min"}


@pytest.mark.parametrize("factor", [0.37, 0.5, 0.9, 1.1, 2.0, 100.0])
def test_a_time_that_grows_by_another_measure_than_the_stamps_stays_a_question(tmp_path: Path, factor: float) -> None:
    path = log(tmp_path, *_grown(factor, 2))
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]
    ((reason,),) = asked(path, tmp_path, "SELECT reason FROM problems")
    assert "it is unclear which time" in reason


def test_without_stamps_a_time_that_grows_has_no_unit(tmp_path: Path) -> None:
    path = log(tmp_path, *_grown(1.0, 2, stamped=False))
    assert asked(path, tmp_path, "SELECT count(step_s) FROM steps") == [(0,)]


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ("Training complete in 0m 31s", 1.5),
        ("Total training time: 31.0 minutes", 90.0),
        ("Average epoch time: 1.5 s", 1.5),
        ("Total time: 400.0 s", None),
        ("Total validation time: 31.0 s", None),
        ("Average epoch time: 4.5 s", None),
        ("Average validation time per epoch: 1.5 s", None),
    ],
)
def test_times_of_epochs_have_the_unit_in_which_they_are_what_the_log_states(
    tmp_path: Path, stated: str, seconds: float | None
) -> None:
    lines = [f"Epoch: {e:03d}, Loss: {3 / e:.4f}, Time: {1.5 + 0.1 * (e % 3 - 1):.3f}" for e in range(1, 21)]
    found = asked(log(tmp_path, *lines, stated), tmp_path, "SELECT median(span_s) FROM phases")
    assert found == [(None if seconds is None else pytest.approx(seconds),)]


def test_a_time_beside_a_step_is_its_only_where_it_stands_once_between_two(tmp_path: Path) -> None:
    def lines(*below: str) -> list[str]:
        return [line for k in range(20, 220, 20) for line in (f"Step {k}: loss = {9 / k:.4f}", *below)]

    def timed(*below: str) -> int:
        ((count,),) = asked(log(tmp_path, *lines(*below)), tmp_path, "SELECT count(step_s) FROM steps")
        return int(count)

    assert timed("  step time: 0.52 s") == 10
    assert timed("  step time: 0.52 s", "  step time: 0.61 s") == 0
    assert timed("  evaluation step time: 0.52 s") == 0
    assert timed("  time: 0.52 s") == 0  # of a step, or of twenty


@pytest.mark.parametrize(
    ("said", "step_s"),
    [
        ("{seconds:.3f} seconds for 10 iterations", 0.25),
        ("last 10 took {seconds:.3f} s", 0.25),
        ("last 20 took {seconds:.3f} s", None),  # of more steps than lie between two lines
        ("batch_size 10, time {seconds:.3f} s", None),
    ],
)
def test_a_time_of_as_many_steps_as_lie_between_two_lines_is_divided_among_them(
    tmp_path: Path, said: str, step_s: float | None
) -> None:
    lines = [f"step {10 * k}, loss {3 / k:.4f}, " + said.format(seconds=2.5 + k % 3 / 10) for k in range(1, 31)]
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT round(median(step_s), 2) FROM steps")
    assert found == [(None if step_s is None else pytest.approx(step_s + 0.01),)]


def test_settings_without_records_are_no_log_of_a_training(tmp_path: Path) -> None:
    path = log(tmp_path, "Namespace(batch_size=64, model='resnet50')", "accuracy 0.91")
    assert asked(path, tmp_path, "SELECT status FROM files") == [("unknown",)]
    assert asked(path, tmp_path, "SELECT count(*) FROM params") == [(0,)]


def test_settings_stand_above_a_table_of_records(tmp_path: Path) -> None:
    rows = [f"{e:<10d}  {e * 600:<10d}  {1 / e:<10.6f}  {e * 12.5:<10.4f}" for e in range(1, 9)]
    head = ["Namespace(batchsize=100, model='mlp')", "epoch       iteration   main/loss   elapsed_time"]
    path = log(tmp_path, *head, *rows)
    assert asked(path, tmp_path, "SELECT count(*) FROM steps") == [(8,)]
    assert asked(path, tmp_path, "SELECT key, value FROM params ORDER BY key") == [
        ("batchsize", "100"),
        ("model", "mlp"),
    ]


def test_settings_in_which_launches_differ_are_not_those_of_the_run(tmp_path: Path) -> None:
    def launch(rate: float) -> list[str]:
        records = [f"step {k} loss {3 / k:.3f} step_time {0.2 + k % 3 / 100:.2f}s" for k in range(1, 9)]
        return [f"Namespace(batch_size=64, lr={rate})", *records]

    path = log(tmp_path, *launch(0.1), *launch(0.2))
    assert asked(path, tmp_path, "SELECT key, value FROM params WHERE origin = 'log'") == [("batch_size", "64")]
    ((line, reason),) = asked(path, tmp_path, "SELECT line, reason FROM problems")
    assert line == 10 and reason == "the settings that this file prints differ in lr: not used"


@pytest.mark.parametrize(("unit", "size_s"), [("secs", 1.0), ("minutes", 60.0)])
@pytest.mark.parametrize("seed", range(4))
def test_times_without_a_unit_have_that_in_which_their_mean_is_stated(
    tmp_path: Path, unit: str, size_s: float, seed: int
) -> None:
    times = [20 + (5 * k + seed) % 7 / 4 for k in range(8)]
    lines = [
        text
        for epoch, time in enumerate(times)
        for text in (f"Iter: 50, Train Loss: {3 - epoch / 9:.4f}", f"Epoch: {epoch}, Training Time: {time:.4f}/epoch")
    ]
    query = "SELECT count(*), round(sum(span_s), 3) FROM phases"
    stated = f"Average Training Time: {sum(times) / 8:.4f} {unit}/epoch"
    assert asked(log(tmp_path, *lines, stated), tmp_path, query) == [(8, round(sum(times) * size_s, 3))]
    other = f"Average Training Time: {sum(times) / 7:.4f} {unit}/epoch"
    assert asked(log(tmp_path, *lines, other), tmp_path, query) == [(0, None)]


@pytest.mark.parametrize(("printed", "told"), [(0.003, 15), (3.0, 16), (0.001, 0), (0.006, 0), (0.031, 0)])
def test_stamps_tell_a_time_that_is_printed_in_too_few_digits(tmp_path: Path, printed: float, told: int) -> None:
    stamps = [f"2026-01-02 03:{k // 4:02d}:{15 * (k % 4):02d},000" for k in range(16)]
    lines = [f"{stamp} - Iter {5000 * k + 1} Loss: 0.5 Time: {printed:.3f}" for k, stamp in enumerate(stamps)]
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT count(step_s), round(median(step_s), 6) FROM steps")
    assert found == [(told, 0.003 if told else None)]


@pytest.mark.parametrize("rule", ["=" * 60, "-" * 20, "\u2550" * 30])
def test_a_rule_below_a_heading_ends_nothing(tmp_path: Path, rule: str) -> None:
    block = (
        rule,
        "Step {k} | Time: 0:0{k}:00",
        rule,
        "Loss: 0.{k}",
        "no number",
        "Batch Time: 250.0ms",
        rule,
        "",
        "9 s",
    )
    lines = [text.format(k=k) for k in range(1, 8) for text in block]
    found = asked(log(tmp_path, *lines), tmp_path, "SELECT step, round(loss, 1), step_s FROM steps ORDER BY step")
    assert found == [(k, k / 10, 0.25) for k in range(1, 8)]


def test_a_bar_is_the_training_where_the_steps_beside_it_grow_by_its_total(tmp_path: Path) -> None:
    def steps(total: int) -> list[tuple]:
        lines = [
            text
            for epoch in range(7)
            for text in (
                "0%|     | 0/50 [00:00<?, ?it/s]",
                *(f"{k}%|#####| {k // 2}/50 [00:{k // 4:02d}<00:30,  2.00it/s]" for k in range(20, 101, 20)),
                f"Epoch: {epoch}, step: {total * (epoch + 1)}, loss: 0.{epoch}",
            )
        ]
        query = "SELECT count(step_s), max(step), round(median(step_s), 3) FROM steps"
        return asked(log(tmp_path, *lines), tmp_path, query)

    assert steps(50) == [(35, 350, 0.5)]
    assert steps(60)[0][0] == 0


def test_a_second_loss_after_a_validation_is_not_the_trainings(tmp_path: Path) -> None:
    lines = [
        f"[{k}/9] {12 + k % 3 / 2} sec(s) Train Acc: 0.5 Loss: 0.{k} | Val Acc: 0.4 loss: 0.9" for k in range(1, 10)
    ]
    path = log(tmp_path, *lines)
    assert asked(path, tmp_path, "SELECT count(*), median(span_s) FROM phases") == [(9, 12.5)]
    assert asked(path, tmp_path, "SELECT round(sum(loss), 1) FROM steps") == [(4.5,)]


# Rates since the start, and times that follow from them


@pytest.mark.parametrize("seed", range(6))
def test_times_by_a_rate_since_the_start_are_those_of_the_iterations(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    usual_s = chance.choice([0.8, 4.0, 20.0])
    made = int(usual_s * chance.choice([800, 3_000, 40_000]))  # steps of the environment in each iteration
    ends, lines = [chance.uniform(1, 30)], list[str]()  # seconds since the start
    for iteration in range(1, 120):
        ends.append(ends[-1] + usual_s * chance.uniform(0.95, 1.05))
        lines.append(f"Epoch: {iteration}, global_step={(iteration - 1) * made}")
        lines.append(f"SPS: {int(iteration * made / ends[-1])}, pg_loss=-0.0025")
    told = asked(
        log(tmp_path, *lines), tmp_path, "SELECT step, step_s, averaged_steps FROM steps WHERE step_s IS NOT NULL"
    )
    assert len(told) >= 3
    for step, step_s, averaged in told:
        true_s = (ends[step] - ends[step - averaged]) / averaged
        assert step_s == pytest.approx(true_s, rel=0.04)


@pytest.mark.parametrize("seed", range(6))
def test_a_rate_of_few_digits_tells_no_wrong_time(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    step_s, decimals = chance.uniform(0.2, 9), chance.choice([0, 1, 2])
    rate = f"{1 / step_s:.{decimals}f}"
    lines = [f"step {step} | loss {9 / step:.3f} | {rate} it/s" for step in range(10, 300, 10)]
    told = asked(log(tmp_path, *lines), tmp_path, "SELECT median(step_s) FROM steps WHERE step_s IS NOT NULL")
    shown_s = told[0][0]
    assert shown_s is None or shown_s == pytest.approx(step_s, rel=0.12)


# What an epoch gave, in lines of their own


def epochs_with_results(chance: random.Random, epochs: int) -> list[tuple[float, float, float]]:
    """Loss, loss of the validation and seconds of each epoch."""
    return [
        (3 / k + chance.random() / 5, 3.2 / k + chance.random() / 5, chance.randint(5, 90)) for k in range(1, epochs)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_losses_of_an_epoch_stand_in_lines_beside_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    truth = epochs_with_results(chance, chance.randint(6, 20))
    after, dot, gap = chance.random() < 0.5, chance.choice(("Val.", "Valid", "Val ", "Validation")), chance.choice("| ")
    stamp = "2026-01-02 03:04:05,678 - INFO - " if chance.random() < 0.3 else ""
    lines = []
    for k, (loss, validated, seconds) in enumerate(truth, 1):
        count = f"Epoch: {k:02} | Epoch Time: {seconds // 60:.0f}m {seconds % 60:.0f}s"
        results = [
            f"\tTrain Loss: {loss:.3f} {gap} Train Acc: {k}.50%",
            f"\t{dot} Loss: {validated:.3f} | Acc: {k}.25%",
        ]
        lines += [count, *results] if after else [*results, count]
        lines += ["saved the best model"] * (chance.random() < 0.4)
    path = log(tmp_path, *(f"{stamp}{line}" for line in lines))
    read = asked(path, tmp_path, "SELECT s.loss, m.value, p.span_s FROM steps s JOIN phases p USING (line) "
                 "JOIN metrics m USING (line) WHERE m.name ILIKE 'val%loss' ORDER BY s.epoch")  # fmt: skip
    assert read == [(round(loss, 3), round(validated, 3), seconds) for loss, validated, seconds in truth]


def test_an_evaluation_before_the_first_epoch_moves_no_loss_to_another(tmp_path: Path) -> None:
    truth = epochs_with_results(random.Random(7), 8)
    lines = ["Train Loss: 4.100", "Val Loss: 4.200"]
    for k, (loss, validated, seconds) in enumerate(truth, 1):
        lines += [
            f"Epoch: {k:02} | Epoch Time: 0m {seconds % 60}s",
            f"Train Loss: {loss:.3f}",
            f"Val Loss: {validated:.3f}",
        ]
    read = asked(log(tmp_path, *lines), tmp_path, "SELECT epoch, loss FROM steps ORDER BY epoch")
    assert read in ([], [(k, round(loss, 3)) for k, (loss, *_) in enumerate(truth, 1)])


# Several trainings in one log


def numbered_steps(chance: random.Random, step_s: float, count: int) -> list[str]:
    times = [step_s * chance.uniform(0.95, 1.05) for _ in range(count)]
    return [f"step {k}/{count} loss {3 / (k + 3):.4f} time {1000 * t:.2f} ms" for k, t in enumerate(times, 1)]


def _announced(chance: random.Random, kind: str, name: str) -> list[str]:
    return {
        "model": [f"Model: {name}"],
        "script": [f"$ python -u {name}.py --workers {chance.randint(1, 9)}"],
        "stage": [f"--- {name} ---"],
        "batch": [f"train_batch_size: {name}"],
        "heading": ["=" * 30, f" Training of {name} ", "=" * 30],
        "fold": [f"===== Training fold {name} ====="],
        "seed": [f"seed: {name}", "=" * 30, f"Training run {name}", "=" * 30],
        "rate": [f"learning_rate: 0.{name}"],
    }[kind]


NAMES = {
    "model": ("small", "large"), "script": ("train_small", "train_large"), "stage": ("Pretraining", "Fine-tuning"),
    "batch": ("32", "256"), "heading": ("small", "large"), "fold": ("1", "2"), "seed": ("1", "2"), "rate": ("1", "01"),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", NAMES)
def test_trainings_of_one_log_are_runs_where_what_is_trained_differs(tmp_path: Path, kind: str, seed: int) -> None:
    """Folds, seeds and learning rates are repeats of one training."""
    chance = random.Random(f"{kind} {seed}")
    lines = []
    for name, step_s in zip(NAMES[kind], (0.1, 0.3), strict=True):
        lines += [
            *_announced(chance, kind, name),
            "reading the data",
            *numbered_steps(chance, step_s, chance.randint(8, 30)),
        ]
    path = log(tmp_path, *lines)
    medians = asked(path, tmp_path, "SELECT round(median(step_s), 1) FROM steps GROUP BY part ORDER BY part")
    if kind in ("fold", "seed", "rate"):
        assert len(medians) == 1
    else:
        assert medians == [(0.1,), (0.3,)]
