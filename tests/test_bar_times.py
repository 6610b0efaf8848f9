"""Times of steps from progress bars: on bars that tqdm itself draws by a clock of the test, and on what goes wrong."""

import io
import itertools
import random
import statistics
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalelens.parsing.bar_times import BarTimes, skips, times_of
from scalelens.parsing.progress_bars import BAR, Drawing, begins, drawing_of, is_of_training, label_of

_STEPS = st.lists(st.tuples(st.floats(0.25, 40), st.sampled_from([1, 1, 1, 2, 3, 7])), min_size=2, max_size=60)


class Clock:
    """The time that tqdm reads."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def drawn(steps: list[tuple[float, int]], redraws: bool = False, closed: bool = True, **options: Any) -> str:
    """What tqdm draws for updates of (seconds of the update, steps)."""
    std = pytest.importorskip("tqdm.std")
    clock, screen = Clock(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(std, "time", clock)
        initial = options.pop("initial", 0)
        total = initial + sum(size for _, size in steps)
        bar = std.tqdm(file=screen, total=total, initial=initial, ncols=80, ascii=True, **options)
        for k, (seconds, size) in enumerate(steps):
            clock.now += 0.75 * seconds
            if redraws:
                bar.set_postfix(loss=k)
            clock.now += 0.25 * seconds
            bar.update(size)
        if closed:
            bar.close()
        bar.disable = True
    return screen.getvalue()


def drawings_of(text: str) -> list[Drawing]:
    return [drawing_of(bar) for bar in BAR.finditer(text)]


def read(steps: list[tuple[float, int]], **options: Any) -> tuple[BarTimes, dict[int, float]]:
    """The times that a bar shows, and the seconds at each step."""
    initial = options.get("initial", 0)
    at = itertools.accumulate(steps, lambda done, step: (done[0] + step[1], done[1] + step[0]), initial=(initial, 0.0))
    return times_of(drawings_of(drawn(steps, **options))), dict(at)


def errors_of(times: BarTimes, seconds: dict[int, float]) -> list[float]:
    """By which share each time is wrong."""
    truths = {step: (seconds[step] - seconds[step - time.steps]) / time.steps for step, time in times.by_step.items()}
    return [times.by_step[step].step_s / truth - 1 for step, truth in truths.items()]


@settings(max_examples=150, deadline=None)
@example(steps=[(0.25, 2), (1.5, 1), (0.5, 2), (1.0, 1)], redraws=False, closed=False, initial=0)
@example(steps=[(1.0, 2), (2.0, 1)], redraws=False, closed=False, initial=0)
@example(steps=[(0.69, 3), (0.83, 2), (1.71, 1)], redraws=False, closed=False, initial=0)
@given(_STEPS, st.booleans(), st.booleans(), st.sampled_from([0, 500]))
def test_each_update_that_tqdm_draws_has_its_time(
    steps: list[tuple[float, int]], redraws: bool, closed: bool, initial: int
) -> None:
    times, seconds = read(steps, redraws=redraws, closed=closed, initial=initial)
    usual = statistics.median(seconds for seconds, _ in steps)
    assert times.rate_s is None
    for step, time in times.by_step.items():
        span = seconds[step] - seconds[step - time.steps]
        clock = 1.0 if time.steps > 7 else 0.0  # means over several updates end at whole seconds
        assert abs(time.step_s * time.steps - span) <= 0.1 * max(usual, span) + 0.05 + clock


@pytest.mark.parametrize("seed", range(10))
def test_almost_every_single_step_is_known_to_some_percent(seed: int) -> None:
    rng = random.Random(seed)
    steps = [(1.3 * rng.lognormvariate(0, 0.1), 1) for _ in range(200)]
    times, seconds = read(steps, redraws=bool(seed % 2))
    errors = errors_of(times, seconds)
    assert len(errors) == 200
    assert max(map(abs, errors)) < 0.06
    assert abs(statistics.median(t.step_s for t in times.by_step.values()) / 1.3 - 1) < 0.03


def test_a_slow_first_step_does_not_slow_those_after_it() -> None:
    times, _ = read([(60.0, 1), *[(2.0, 1)] * 20])
    assert [round(times.by_step[step].step_s, 1) for step in (1, 2, 3, 20)] == [60.0, 2.0, 2.0, 2.0]


def test_a_mean_since_the_start_is_told_by_the_elapsed_seconds() -> None:
    rng = random.Random(1)
    steps = [(60.0, 1), *((3 * rng.lognormvariate(0, 0.1), 1) for _ in range(100))]
    times, seconds = read(steps, smoothing=0)
    assert max(map(abs, errors_of(times, seconds))) < 0.12
    assert sum(time.steps for time in times.by_step.values()) > 90


def test_where_rates_and_elapsed_seconds_disagree_only_the_seconds_count() -> None:
    shown = [Drawing(0, 100, 0, None), *(Drawing(k, 100, 4 * k, 7.0 + k % 3, 0.001) for k in range(1, 80))]
    times = times_of(shown)
    assert times.clock_s == pytest.approx(4, rel=0.01)
    assert times.rate_s == pytest.approx(8, rel=0.01)
    assert {(round(time.step_s), time.steps) for time in times.by_step.values()} == {(4, 2), (4, 3)}


def test_equal_rates_give_equal_times() -> None:
    """The last bits of what is computed would look like a scatter of a millionth of a billionth."""
    times = read([(1 / 3.17, 1)] * 100)[0].by_step
    assert {time.step_s for time in times.values()} == {1 / 3.17}


def test_coarse_digits_give_no_single_steps() -> None:
    """A tenth of a second printed: the error of a step of a second grows to more than half of it."""
    rng = random.Random(2)
    steps = [(rng.lognormvariate(0.2, 0.1), 1) for _ in range(100)]
    exact = drawings_of(drawn(steps))
    coarse = [d._replace(pace_s=round(d.pace_s, 1), error=0.05 / d.pace_s) if d.pace_s else d for d in exact]
    assert min(time.steps for time in times_of(coarse).by_step.values()) > 3
    assert min(time.steps for time in times_of(exact).by_step.values()) == 1


def test_drawings_that_are_lost_make_no_wrong_step() -> None:
    rng = random.Random(3)
    steps = [(2 * rng.lognormvariate(0, 0.1), 1) for _ in range(120)]
    shown = drawings_of(drawn(steps))
    kept = [d for k, d in enumerate(shown) if k % 9]
    seconds = dict(enumerate(itertools.accumulate((s for s, _ in steps), initial=0.0)))
    assert max(map(abs, errors_of(times_of(kept), seconds))) < 0.15


def test_bars_of_two_ranks_without_names_are_one() -> None:
    rng = random.Random(4)
    steps = [(0.4 * rng.lognormvariate(0, 0.1), 1) for _ in range(100)]
    first = drawings_of(drawn([(steps[0][0] + 2.6, 1), *steps[1:]], closed=False))
    second = drawings_of(drawn([(steps[0][0] + 2.7, 1), *steps[1:]], closed=False))
    shown = [one for pair in zip(first, second, strict=True) for one in rng.sample(pair, 2)]
    times = times_of(shown)
    assert len(times.by_step) == 100
    assert max(abs(times.by_step[k + 1].step_s / steps[k][0] - 1) for k in range(1, 100)) < 0.06


@pytest.mark.parametrize(
    ("usual_s", "spread", "count"), [(2, 0.05, 60), (2.0049, 0, 400)], ids=["uneven", "what_is_rounded_off_adds_up"]
)
def test_older_versions_smooth_from_the_first_step(usual_s: float, spread: float, count: int) -> None:
    rng = random.Random(5)
    seconds = [50.0, *(usual_s * rng.lognormvariate(0, spread) for _ in range(count))]
    smoothed, elapsed, shown = None, 0.0, [Drawing(0, count + 1, 0, None)]
    for k, time in enumerate(seconds, 1):
        smoothed = time if smoothed is None else 0.3 * time + 0.7 * smoothed
        elapsed += time
        shown.append(Drawing(k, count + 1, int(elapsed), round(smoothed, 2), 0.005 / smoothed))
    times = times_of(shown)
    assert max(abs(times.by_step[k].step_s / time - 1) for k, time in enumerate(seconds, 1)) < 0.05


def test_a_bar_that_is_drawn_from_its_start_is_another() -> None:
    full = Drawing(11, 11, 6, 0.5)
    assert begins(full, 11, Drawing(0, 11, 0, None))
    assert begins(full, 11, Drawing(1, 11, 1, 0.5))
    assert not begins(Drawing(7, 11, 5, 0.5), 7, Drawing(6, 11, 5, 0.5))  # another rank
    assert not begins(full, 11, Drawing(11, 11, 6, 0.5))


def test_rounded_counts_have_no_single_steps() -> None:
    shown = [drawing_of(bar) for text in _SCALED if (bar := BAR.search(text))]
    assert [d.rounding for d in shown] == [1, 10, 10, 10]
    assert set(times_of(shown).by_step) == {1250, 2500, 5000}


_SCALED = (
    "train:   0%|          | 0.00/5.00k [00:00<?, ?it/s]", "train:  25%|##5       | 1.25k/5.00k [00:10<00:30, 125it/s]",
    "train:  50%|#####     | 2.50k/5.00k [00:20<00:20, 125it/s]", "train: 100%|##########| 5.00k/5.00k [00:40<00:00, 125it/s]",
)  # fmt: skip


def test_bars_of_narrow_terminals_and_without_a_total_are_read() -> None:
    assert BAR.search("Epoch 3:  22% 275/1250 [00:34<02:01,  8.05it/s, v_num=4]")
    assert drawing_of(BAR.search("120it [01:00:30,  4.01it/s]") or pytest.fail()).elapsed_s == 3630


def test_a_log_that_begins_later_than_its_bar_has_a_mean_up_to_there() -> None:
    rng = random.Random(6)
    shown = drawings_of(drawn([(60 * rng.lognormvariate(0, 0.02), 1) for _ in range(40)]))
    times = times_of(shown[14:])
    assert times.by_step[14].steps == 14
    assert abs(times.by_step[14].step_s / 60 - 1) < 0.03
    assert sum(time.steps for time in times.by_step.values()) == 40
    resumed = drawings_of(drawn([(60.0, 1)] * 40, initial=100))
    assert min(times_of(resumed[14:]).by_step) == 115


def mean_of(times: BarTimes) -> float:
    return sum(t.step_s * t.steps for t in times.by_step.values()) / sum(t.steps for t in times.by_step.values())


@pytest.mark.parametrize("pace_s", [0.0013, 0.0074, 0.031])
@pytest.mark.parametrize("seconds", [4, 8, 19, 45])
@pytest.mark.parametrize("redraws", [False, True])
def test_a_bar_of_fast_steps_gives_at_least_its_mean(pace_s: float, seconds: int, redraws: bool) -> None:
    rng = random.Random(seconds)
    steps = [(pace_s * rng.lognormvariate(0, 0.2), 1) for _ in range(round(seconds / pace_s))]
    redrawn = drawings_of(drawn(steps, redraws=False))
    if redraws:  # as with a postfix that changes with each tenth step
        redrawn = [d for k, d in enumerate(redrawn) for _ in range(1 + (k % 3 == 1 and d is not redrawn[-1]))]
    times = times_of(redrawn)
    assert mean_of(times) == pytest.approx(sum(s for s, _ in steps) / len(steps), rel=0.06)
    assert sum(time.steps for time in times.by_step.values()) >= 0.5 * len(steps)


def test_of_a_short_bar_only_the_drawing_of_the_closed_one_is_a_mean() -> None:
    """The rate before it is smoothed, and far from the mean where the steps become slower."""
    steps = [(0.002, 1)] * 2000 + [(0.009, 1)] * 503
    closed = times_of(drawings_of(drawn(steps)))
    assert mean_of(closed) == pytest.approx(sum(s for s, _ in steps) / len(steps), rel=0.03)
    seconds = [0.0, *itertools.accumulate(s for s, _ in steps)]
    smoothed = drawings_of(drawn(steps, closed=False))
    smoothed.append(smoothed[-1]._replace(step=2503, elapsed_s=int(seconds[-1])))
    for step, time in times_of(smoothed).by_step.items():
        assert time.step_s * time.steps == pytest.approx(seconds[step] - seconds[step - time.steps], rel=0.12)


@pytest.mark.parametrize(
    ("label", "of_training"),
    [
        ("Epoch 1/400 train: ", True), ("", True), ("Epoch 3: ", True), ("[TRAIN] epoch 2 ", True),
        ("Training retrieval model: ", True), ("Fine-tuning decoder: ", True), ("Steps: ", True), ("device 0 ", True),
        ("[Eval] Best Model at Epoch 7: ", False), ("Epoch 1/400 val: ", False), ("Running validation: ", False),
        ("Testing: ", False), ("Valid epoch 3: ", False), ("Inference: ", False), ("Predicting: ", False),
        ("Sampling: ", False), ("Generating train split: ", False), ("Decoding: ", False), ("Downloading: ", False),
        ("Loading checkpoint shards: ", False), ("Tokenizing: ", False), ("Map (num_proc=4): ", False),
        ("Filter: ", False), ("Computing metrics: ", False), ("Evaluating on train set: ", False), ("dev: ", False),
    ],
)  # fmt: skip
def test_a_label_says_whether_a_bar_may_be_of_training(label: str, of_training: bool) -> None:
    assert is_of_training(label) == of_training


def test_a_label_ends_the_bar_before_it() -> None:
    text = "val: 10%|#| 1/10 [00:01<00:09,  1.00s/it, a=[1]]Epoch 3: 20%|##| 2/10 [00:02<00:08,  1.00s/it]"
    assert [label_of(text, bar.start()).strip("]") for bar in BAR.finditer(text)] == ["val: ", "Epoch 3: "]


@settings(max_examples=40, deadline=None)
@given(_STEPS)
def test_a_bar_of_which_only_the_last_drawing_is_left_has_the_mean_of_all(steps: list[tuple[float, int]]) -> None:
    drawing = drawings_of(drawn(steps))[-1]
    seconds, count = sum(seconds for seconds, _ in steps), sum(size for _, size in steps)
    times = times_of([drawing]).by_step
    assert bool(times) or seconds < 11
    for step, time in times.items():
        assert (step, time.steps) == (count, count)
        assert abs(time.step_s * count - seconds) <= 0.5 + 0.01 * seconds


def test_a_bar_that_went_on_has_no_mean_by_its_last_drawing() -> None:
    drawing = drawings_of(drawn([(1.5, 1)] * 30, initial=500))[-1]
    assert not times_of([drawing]).by_step


@settings(max_examples=40, deadline=None)
@given(
    st.integers(80, 400), st.floats(0.001, 0.006), st.lists(st.floats(0.8, 1.2), min_size=25, max_size=40),
    st.floats(0.8, 3),
)  # fmt: skip
def test_batches_that_a_resumed_epoch_skips_have_no_time(
    skipped: int, quick_s: float, shares: list[float], usual_s: float
) -> None:
    steps = [(quick_s, 1)] * skipped + [(usual_s * share, 1) for share in shares]
    times, seconds = read(steps, miniters=1)
    assert all(step - time.steps >= skipped - 1 for step, time in times.by_step.items()), times
    assert all(abs(error) <= 0.15 for error in errors_of(times, seconds)), times


@settings(max_examples=40, deadline=None)
@given(st.integers(30, 80), st.integers(20, 40), st.floats(0.3, 0.6), st.floats(2, 5), st.floats(10, 200))
@example(74, 20, 0.3125, 2.0, 10.0)  # the second before the last step begins counts as one of its own
def test_quick_first_steps_and_a_slow_last_one_are_steps(
    quick: int, slow: int, quick_s: float, times_slower: float, last_s: float
) -> None:
    steps = [(quick_s, 1)] * quick + [(quick_s * times_slower, 1)] * slow
    for drawn_steps in (steps, [*steps[:quick], (last_s, 1)]):
        assert not skips(drawings_of(drawn(drawn_steps, miniters=1)))
    times, seconds = read(steps, miniters=1)
    assert sum(time.steps for time in times.by_step.values()) >= 0.9 * len(steps), times
    assert all(abs(error) <= 0.15 for error in errors_of(times, seconds)), times
