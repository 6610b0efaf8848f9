"""Lines of a text that sum up its steps: the mean or the median time of one, with its unit.

Tool: any benchmark that trains and prints a summary, and no line for each step
Versions: a mean or a median by name, a time with its scatter, a time per step beside the number of steps
Yields: steps, params, metrics
Source: the user's own

Asked last, where no other format reads steps.  Such a line is read where the text speaks of training, and of no episodes
or simulations, whose steps are others; and where it does not say that the time is that of a part (`forward`), or of
other work (`eval`).  Where it says how many steps the
mean is of, these are kept.  Two lines that state unlike means may be of other settings: then neither is read.  Where none
states one, a line that states the time of a training and its epochs (`Finished in 43.0s (212 epochs)`) gives the mean of
these, a metric.

Beside the one mean of a text, its settings are read (`GPUs: 4`, `Global batch size: 512`), and its rate
(`Throughput: 4162.6 samples/s`): of the job or of one rank, as it says or as the batch shows.  One that contradicts
the batch is a problem.  What has two values is of several trainings, and not read.

Samples:
    Average step time: 0.123 s over 100 steps
    Median iteration time (excluding warmup): 211.9 ms
    Step time: 1.07s ± 0.01s (min=1.05s, max=1.10s)
    500 steps in 266.1 s (0.532 s/step)
    Finished in 43.0s (212 epochs)
"""

import itertools
from collections import defaultdict
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.means_of_steps import MEAN_OF_STEPS
from scalelens.parsing.recurring_lines import ELSEWHERE, skeleton_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import is_text
from scalelens.tabular.role_table import UNITS_OF_KIND
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.stated_beside import settings_and_rate
from scalelens.tabular.unknown_logs.whole_trainings import means_of_trainings

VERSION = 1
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps

_MOST_LINES = 300_000
_TIMES = UNITS_OF_KIND["time"]
_TRAINS = re.compile(
    r"train|fine-?tun|(?<![a-z])loss|optimi[sz]er|backward|gradient|learning[ _]rate|(?<![a-z])lr(?![a-z])|epoch",
    re.IGNORECASE,
)
_TRAINS_SOMETHING = re.compile(  # an epoch may also be a piece of a recorded signal
    r"(?<![a-z])(?:pre-?|re)?train|fine-?tun|(?<![a-z])loss|optimi[sz]er|learning[ _]rate", re.IGNORECASE
)
# Where nothing else is a step: that of a simulation, or of an agent in its environment.
_OTHER_STEPS = re.compile(
    r"(?<![a-z])(?:episodes?|agents?|simulat\w{2,5}|timesteps?|particles)(?![a-z])", re.IGNORECASE
)
_OF_A_PART = re.compile(
    r"forward|backward|(?<![a-z])[fb]wd|optimi[sz]er|(?<![a-z])(?:comm|data|all-?reduce)|generat|decod|prefill"
    r"|serv(?:e|ing)|epoch|sampl(?:e|ing)(?![a-z])|rollout|(?<![a-z])env",
    re.IGNORECASE,
)
_OF_OTHER_WORK = re.compile(r"(?<![a-z])(?:eval|val|test|infer|predict)", re.IGNORECASE)  # within what is stated
_RANK = re.compile(r"(?<![a-z])rank[ _:=]{0,2}(\d{1,5})(?![\w.])", re.IGNORECASE)
_UNIT = re.compile(
    r"(?<![a-z])(?:milliseconds?|msecs?|ms|microseconds?|[uµ]s|seconds?|secs?|s)(?![a-z])", re.IGNORECASE
)
# How many steps a mean is of; those that it leaves out, as in `after 10 steps`, are others.
_STEPS = re.compile(
    r"(?<![a-z])(?:over|across|of|for|from)(?: the)?(?: last| final)? (\d{1,8}) (?:timed |measured )?"
    r"(?:steps|iterations|iters|batches)(?![a-z])|(?<![\w.])(\d{1,8}) (?:steps|iterations|iters|batches) in \d"
    r"|(?<![a-z])n ?= ?(\d{1,8})(?![\d.])",
    re.IGNORECASE,
)


class _Said:
    """What a text says anywhere of what it does."""

    def __init__(self) -> None:
        self.trains = self.trains_something = self.counts_other_steps = False

    def look(self, text: str) -> None:
        self.trains = self.trains or _TRAINS.search(text) is not None
        self.trains_something = self.trains_something or _TRAINS_SOMETHING.search(text) is not None
        self.counts_other_steps = self.counts_other_steps or _OTHER_STEPS.search(text) is not None


class _Stated(NamedTuple):
    """What a line states: the time of a step, and how far its digits leave it open."""

    line: int
    step_s: float
    open_s: float
    steps: int | None


def recognise(head: bytes, name: str) -> bool:
    return is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    if rows.part:
        return ""
    stated: defaultdict[tuple[int | None, str | None, str], list[_Stated]] = defaultdict(list)
    lacking, said = "", _Said()
    lines = log_lines(source, lambda raw: said.look(raw.decode("utf-8", "replace")))
    for line, whole in itertools.islice(lines, _MOST_LINES):
        said.look(line.text)
        if not (found := _stated_in(line.text, line.number, whole)):
            continue
        if isinstance(found, str):
            lacking = lacking or found
        else:
            kind, mean = found
            stated[_rank_of(line), line.location, kind].append(mean)
    if not said.trains or said.counts_other_steps:
        return ""
    if not stated:
        told = said.trains_something and not lacking and means_of_trainings(source, rows)
        return None if told else lacking
    finest = {whose: min(means, key=lambda mean: mean.open_s) for whose, means in stated.items()}
    for whose, means in stated.items():
        if other := next((mean for mean in means if _is_unlike(mean, finest[whose])), None):
            return (
                f"lines {finest[whose].line} and {other.line} state unlike means of the time of a step, and nothing says "
                "of what settings each is"
            )
    means = [mean for (_, _, kind), mean in finest.items() if kind == "run_mean"]
    rate = settings_and_rate(source, rows, means[0].step_s) if len(means) == 1 else None
    for (rank, place, kind), mean in finest.items():
        beside = rate if kind == "run_mean" else None
        rows.add(
            "steps", mean.line, attempt=0, rank=rank, place=place, phase="train", step_s=mean.step_s, value_kind=kind,
            averaged_steps=mean.steps, samples=rows.params.get("global_batch_size") if len(means) == 1 else None,
            samples_per_s=beside and beside.samples_per_s, rate_scope=beside and beside.scope,
        )  # fmt: skip
    return None


def _rank_of(line: Line) -> int | None:
    """The rank that a line names: before it, as a launcher does, or in it."""
    named = _RANK.findall(line.text) if line.rank is None else []
    return int(named[0]) if len(named) == 1 else line.rank


def _is_unlike(mean: _Stated, other: _Stated) -> bool:
    return abs(mean.step_s - other.step_s) > mean.open_s + other.open_s


def _stated_in(text: str, number: int, whole: bool) -> tuple[str, _Stated] | str | None:
    """The kind of value that a line states, and the value; what it lacks; None where it states none.

    The number of a line that is not whole may be cut, unless its unit follows it.
    """
    skeleton, values = skeleton_of(text)
    match = MEAN_OF_STEPS.search(skeleton)
    if not match or ELSEWHERE.search(skeleton, 0, match.start()) or _OF_OTHER_WORK.search(match[0]):
        return None
    if _OF_A_PART.search(skeleton, 0, match.start()):
        return None
    position = next(match.start(name) for name, value in match.groupdict().items() if value)
    printed = values[skeleton.count("#", 0, position)]
    after = _UNIT.search(skeleton, position, match.end())
    named = after or _UNIT.search(match[0])
    if not (whole or after):
        return None
    if not named:
        return f"line {number} states a mean time of a step without a unit"
    unit = named[0].lower()
    factor = _TIMES["us" if unit[0] in "uµ" or "micro" in unit else "ms" if unit[0] == "m" else "s"]
    counts = {int("".join(found)) for found in _STEPS.findall(text)}
    steps = counts.pop() if len(counts) == 1 else None
    digits, _, exponent = printed.lower().partition("e")
    decimals = len(digits.partition(".")[2]) - int(exponent or 0)
    kind = "run_median" if "median" in match[0].lower() else "run_mean"
    return kind, _Stated(number, float(printed) * factor, 0.5 * 10.0**-decimals * factor, steps)
