"""Lines that nobody wrote: of what is read of them nothing is wrong, and most is read."""

import contextlib
import random
import statistics
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import drawn_bars
import drawn_lines
from scalelens.ingestion.formats import load
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source

_NEAR = 0.02
_READ = 0.95  # of the logs
_NEAR_OF_BARS = 0.12  # a bar of ten seconds shows its times to a tenth
_READ_OF_BARS = 0.6  # many are too short to tell any
_FIRST = 2  # records of a run that no answer counts


class _Times(Rows):
    """The times of steps and of epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[float] = []
        self.epochs: list[float] = []

    def put(self, table: str, line: int, row: dict[str, object]) -> None:
        kept = {"steps": (self.steps, "step_s"), "phases": (self.epochs, "span_s")}.get(table)
        if kept and isinstance(seconds := row.get(kept[1]), float):
            kept[0].append(seconds)
        super().put(table, line, row)


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1060), marks=pytest.mark.slow)], ids=["day", "night"]
)
def test_of_drawn_lines_most_are_read_and_none_wrong(seeds: range, tmp_path: Path) -> None:
    formats, wrong, read = load(), [], 0
    for seed in seeds:
        drawn = drawn_lines.drawn(seed)
        path = tmp_path / f"{seed}.log"
        path.write_text(drawn.text)
        times = _Times()
        with contextlib.closing(open_source(path)) as source:
            read_rows(source, formats, times)
        told = times.epochs if drawn.of_epochs else times.steps
        other = times.steps if drawn.of_epochs else []
        near = bool(told) and abs(statistics.median(told) / drawn.typical_s - 1) <= _NEAR
        read += near
        if other or (told and not near):
            wrong.append((seed, drawn.wording, statistics.median(told or other), drawn.typical_s))
    assert not wrong
    assert read >= _READ * len(seeds)


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1060), marks=pytest.mark.slow)], ids=["day", "night"]
)
def test_of_drawn_bars_none_is_taken_for_another(seeds: range, tmp_path: Path) -> None:
    formats, wrong, read = load(), [], 0
    for seed in seeds:
        drawn = drawn_bars.drawn(seed)
        path = tmp_path / f"{seed}.log"
        path.write_text(drawn.text)
        times = _Times()
        with contextlib.closing(open_source(path)) as source:
            read_rows(source, formats, times)
        steps, epochs = times.steps, times.epochs
        near = len(steps) <= _FIRST or _is_near(steps, drawn.step_s, _NEAR_OF_BARS)
        near = near and (len(epochs) <= _FIRST or _is_near(epochs, drawn.epoch_s, _NEAR_OF_BARS))
        read += near and bool(steps or epochs)
        if not near:
            wrong.append((seed, drawn.structure, steps[:3], epochs[:3]))
    assert not wrong
    assert read >= _READ_OF_BARS * len(seeds)


def _is_near(told: list[float], either: tuple[float, ...], share: float) -> bool:
    """Whether the median is one of several."""
    return any(abs(statistics.median(told) / seconds - 1) <= share for seconds in either)


def _between_stamps(seed: int) -> tuple[str, float, bool]:
    """A log whose lines state a time without its unit, between two stamps; seconds of a step or an epoch, and which."""
    chance = random.Random(seed)
    of_epochs, lines, apart = chance.random() < 0.4, chance.randint(8, 40), chance.choice([10, 20, 50, 100])
    apart = 1 if of_epochs else apart
    typical = chance.uniform(20, 300) if of_epochs else chance.uniform(0.05, 4)
    seconds = [typical * chance.uniform(0.85, 1.25) for _ in range(lines)]
    kind = chance.choice(["each", "all", "since the start"])
    start, passed, text = datetime(2026, 5, 4, 22, 10, 7), 0.0, list[str]()
    for k, each in enumerate(seconds, 1):
        passed += each * apart
        shown = {"each": each, "all": each * apart, "since the start": passed}[kind]
        text.append(f"{'epoch' if of_epochs else 'step'} {k * apart}, loss {2 / k + 0.1:.4f}, time {shown:.4f}")
    end = start + timedelta(seconds=3 + passed * chance.choice([1.01, 1.1, 1.3, 3, 40, 200]))
    ends = (f"{start} training starts", f"{end} all done")
    return "\n".join([ends[0], *text, ends[1], ""]), statistics.median(seconds), of_epochs


def test_times_without_a_unit_between_stamps_are_right_or_not_read(tmp_path: Path) -> None:
    formats, right = load(), 0
    for seed in range(80):
        text, typical_s, of_epochs = _between_stamps(seed)
        (path := tmp_path / f"{seed}.log").write_text(text)
        times = _Times()
        with contextlib.closing(open_source(path)) as source:
            read_rows(source, formats, times)
        told = times.epochs if of_epochs else times.steps
        assert not told or abs(statistics.median(told) / typical_s - 1) <= 0.1, (seed, text)
        assert not (times.steps if of_epochs else times.epochs)
        right += bool(told)
    assert right >= 35  # half of the logs have most of the time between their stamps in their lines


def _with_validations(seed: int) -> tuple[str, float, bool]:
    """Stamped lines of steps and of what validations gave; seconds of a step, and whether each interval holds one."""
    chance = random.Random(seed)
    now, each_s, apart = datetime(2026, 1, 2, 3, 4, 5), chance.uniform(0.05, 2.0), chance.choice([50, 100, 200])
    every, style = chance.choice([1, 1, 5, 10]), chance.choice(["line", "same step", "no word"])
    name, validated = chance.choice(["step", "iter", "Step"]), chance.choice(["val loss", "val_acc", "Test acc"])
    span_s, result, lines = chance.uniform(0.15, 0.6) * each_s * apart, 0.9, []
    for k in range(1, 41):
        now += timedelta(seconds=each_s * apart * chance.uniform(0.99, 1.01))
        loss = f"{name} {k * apart} | loss {2.5 * 0.97**k:.4f}"
        if (due := k % every == 0) and style == "line":
            now, result = now + timedelta(seconds=span_s), 0.9 * 0.99**k
        stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        lines.append(f"{stamp} {loss}" + (f" | {validated} {result:.4f}" if style == "line" else ""))
        if due and style != "line":
            now += timedelta(seconds=span_s)
            stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
            word = validated if style == "same step" else "accuracy"
            lines.append(f"{stamp} {name} {k * apart} | {word} {0.9 * 0.99**k:.4f}")
    return "\n".join((*lines, "")), each_s, every == 1


def test_no_validation_is_in_the_time_of_a_step(tmp_path: Path) -> None:
    formats, wrong, read = load(), [], 0
    for seed in range(60):
        text, each_s, always = _with_validations(seed)
        path = tmp_path / f"{seed}.log"
        path.write_text(text)
        times = _Times()
        with contextlib.closing(open_source(path)) as source:
            read_rows(source, formats, times)
        if times.steps and abs(statistics.median(times.steps) / each_s - 1) > _NEAR:
            wrong.append((seed, statistics.median(times.steps), each_s))  # one in ten may stay, and moves no median
        read += bool(times.steps) and not always
    assert not wrong
    assert read
