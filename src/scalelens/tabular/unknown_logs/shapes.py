"""Shapes of lines: which lines of a log are records of one kind, and which of the kinds are training.

Lines have one shape if the same text comes before their first count and the same names count.  What else they
print may differ a little from line to line, as a gradient norm that is not always there.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.progress_bars import BAR, OF_BATCHES, Drawing, begins, may_count_samples
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS, SOURCE_FILE
from scalelens.parsing.source import Source
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.bars_within import BarsWithin
from scalelens.tabular.unknown_logs.clock import Stamp, stamp_in
from scalelens.tabular.unknown_logs.epochs_within import EpochsWithin
from scalelens.tabular.unknown_logs.fields import Field, Parsed, parsed
from scalelens.tabular.unknown_logs.filled_bars import FilledBars, Fills
from scalelens.tabular.unknown_logs.full_bars import FullBars
from scalelens.tabular.unknown_logs.json_in_lines import json_written_out
from scalelens.tabular.unknown_logs.kept_bars import KeptBars
from scalelens.tabular.unknown_logs.lines import NAMERS, log_lines
from scalelens.tabular.unknown_logs.pair_counts import PairCounts
from scalelens.tabular.unknown_logs.repeats import Repeats
from scalelens.tabular.unknown_logs.spaced_lines import Spaced

_MOST_SHAPES = 500
_BY_TURNS = 4  # bars, of two totals, that show that each is drawn after the other
_MOST_SERIES = 10_000  # ranks and locations
_MOST_NAMES = 200
_MOST_TOTALS = 20  # different ones of one count
_MOST_KEPT, _LONGEST_KEPT = 20_000, 1_000  # lines, and characters of a line
COUNTS = ("step", "batch", "epoch")
CONSTANT = "constant"  # a count that is always the same
_PLURALS = ("steps", "iters", "iterations", "epochs", "batches")
# Words before the name of a count that leave its meaning as it is.
_BEFORE_A_COUNT = re.compile(
    r"(?:(?:training|train|global|optimizer|current|completed|finished|done|at|end|start|starting|begin|beginning|rank|trainer|"
    r"logger|model|of|for|in|the|this|after|on|now|progress|status|summary|results?|ddp|main|log|logging|stage|phase|val|valid|"
    r"validation|eval|evaluation|test|testing)[\s_]+)+",
    re.IGNORECASE,
)
_PHASE = re.compile(
    r"\b(train(?:ing)?|val(?:id(?:ation|ating)?)?|eval(?:uat\w+)?|test(?:ing)?|warm-?up)\b"
    r"(?!: {0,3}\d{1,3}(?:\.\d{1,6})?%)",
    re.IGNORECASE,
)  # `Valid: 98%` before a count is a share that was measured
_OF_TEST = re.compile(r"(?:avg[ _]|mean[ _])?(?:test|val|valid|validation|eval)[ _]", re.IGNORECASE)
_WORK = re.compile(
    r"(?<!cons)(?<!res)(?<!\bs)train(?!ed[_ -]model)|"
    r"loss|\bacc|\blr\b|learning.rate|epoch|grad|lightgbm|perplexity|\bppl\b|\belbo\b|\bnll\b|bits?/dim|\bbpd\b|"
    r"(?:img|image|sample|example|tok|token|seq|sequence|word)s?(?:/s|[_ ]?per)",
    re.IGNORECASE,
)
MASK = re.compile(r"\d+(?:\.\d+)?")
# What is measured before the count may be negative, or have an exponent: `loss=-0.91, lr=2e-05:   8%|  | 8/100`.
_MEASURED_BEFORE = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PADDED = re.compile(r"(?<=[\[(]) (?=#)")  # `[  3.3%]` before `[ 50.0%]` and `[100.0%]`
_SIGN_BEFORE = re.compile(r"(?<=[=:(\[, ])[-+]#")
# [640/60000 (1%)] of PyTorch's examples counts samples, and some programs that copied the line count batches there.
# `3/10` after one of these counts how long nothing has become better, or repetitions of the whole training.
_CONFIGURATION = re.compile(
    r"(?<![a-z])(?:config\w{0,10}|namespace|arg(?:ument)?s|h(?:yper)?[-_ ]?param(?:eter)?s)\s?[:=]?\s?[({]",
    re.IGNORECASE,
)
_OTHER_COUNT = re.compile(
    r"improve|patien|counter|early|stop|wait|(?<![a-z])(?:bad|folds?|cv|trials?|seeds?)(?![a-z])"
    r"|(?<![a-z])(?:acc(?:uracy)?|correct|hits?|top)(?![a-z])",  # `Acc: 246/1440` are the right ones of the samples
    re.IGNORECASE,
)
_EPOCH_IN_SHORT = re.compile(r"epo?|e", re.IGNORECASE)  # `Ep 3/20`, `E 3/20`; beside a reward it is an episode
# `ResNet18 epoch: 3`; of these words, none is the name of what is trained.
_EPOCH_OF_ONE = re.compile(
    r"(?!(?:best|total|max\w{0,4}|min\w{0,4}|num|n|all|last|final|next|previous|prev|first|warm-?up|stop\w{0,5}|patience|per|since"
    r"|every|each|resum\w{1,3}|from|to|until|early|save[ds]?|sav\w{1,3}|skip\w{0,4}|until|left|remaining|target|average|avg|mean"
    r"|time|loss|cost|took|duration|elapsed"
    r"|(?:steps?|iter(?:ation)?s?|batch(?:es)?|updates?|samples?|images?|examples?|tokens?))(?![a-z]))"
    r"[A-Za-z][\w.+-]{1,30} epoch",
    re.IGNORECASE,
)
_GAINED = re.compile(
    r"(?<![a-z])(?:(?:rew(?:ard)?|return)s?|ep(?:isode)?_(?:rew|ret|return|reward)(?:_mean)?|mean_(?:rew|ret))(?![a-z])",
    re.IGNORECASE,
)
# What counts in a line that says what an agent gained; after the number of an episode, its steps are its length.
_PLAYED = re.compile(r"(?:(?:num|total|env(?:ironment)?)[ _])?(?:time[ _]?)?steps?", re.IGNORECASE)
_OF_EPISODE = re.compile(
    r"(?:episode|ep)[ _#:]*(?:number|num|no\.?)?|(?:episode|ep)?[ _]?(?:time[ _]?)?steps?(?: taken)?", re.IGNORECASE
)
_PLAYS = re.compile(
    r"reward|(?<![a-z])rew(?![a-z])|return|episode|(?<![a-z])ep_(?:rew|ret|len)|score|(?<![a-z])eps(?:ilon)?(?![a-z])|win",
    re.IGNORECASE,
)
_BEST = re.compile(r"(?<![a-z])best(?![a-z])", re.IGNORECASE)
_WITH_SHARE = re.compile(r"\d/ {0,12}\d{1,12} {0,2}\( {0,3}\d{1,3}(?:\.\d{1,6})? ?%\)")
_LOSS = re.compile(
    r"(?<![a-z])(?:loss|nll|elbo|ppl)|perplexity|(?:train|val)\Z|\A(?:(?:train|training|avg|average|mean) )?cost\Z",
    re.IGNORECASE,
)  # `Train: 0.54 | Val: 0.96`
_RESULT = re.compile(r"loss|acc|(?<![a-z])(?:train|val|valid|validation|test|dev)(?![a-z])", re.IGNORECASE)
_VALIDATED = re.compile(r"(?<![a-z])(?:val|valid|validation|test|dev|eval)(?![a-z])", re.IGNORECASE)
_MOSTLY = 0.9
_MARK = re.compile(
    r"\W*(?:(?:new )?best|improved)\W*\Z|[*+\u2713\u2714\u2605]+ ?\Z", re.IGNORECASE
)  # [NEW BEST] before an epoch
# Bars of steps, drawn beside one that counts the epochs, are the training's: `Epoch: 25%|..` and `Iteration: 50%|..`.
_EPOCH_BAR = re.compile(r"\W*epochs?\W*\d+%\|", re.IGNORECASE)
_STEP_BAR = re.compile(r"\W*(?:iterations?|iters?|steps?|batch(?:es)?)\W*\Z", re.IGNORECASE)
_RESUMES = re.compile(r"\W*(?:(?:resum|load|restor)\w*|checkpoint:)", re.IGNORECASE)  # before the epoch of a launch
# A count with one of these words is of steps, or of what they are made of.
_STEPS_OR_PARTS = re.compile(
    r"train|progress|iter|(?<![a-z])it(?![a-z])|step|batch|update|game|episode|frame|sample|image|img|file|chunk|shard"
    r"|loss|done|complet|process|status",
    re.IGNORECASE,
)
_ANEW = 3  # epochs that follow one another, for each that another launch begins with
_NO_PARTS = 200  # batches, as no step is made of
_MANY_STEPS = 32  # of an environment, which no game prints as one line
_LEAPS = 2  # counted for each line
_LOST = 0.02  # restarts whose lines a log may lack
_OFTEN_CROSSED = 2  # epochs that begin while the count beside theirs goes on
_LEAST_BAR_S = 10
_LEAST_NAMED = 3  # epochs that a label names
_LINES_AFTER = 3  # one that counts an epoch, in which its loss may stand
_AT_ONCE_S = 1.0
_WORD = re.compile(r"[^\W\d_]|%")  # in a label; "%" stands for a word such as train
_STAMP, _END = "a time stamp", "the end of the epoch"
_MOST_EPOCHS = 1_000  # that lines without a word for them may count


# A round of several clients, after which their models are one; a plain `round` may be of a search, or of a game.
_FEDERATED = re.compile(
    r"(?:[a-z]{1,12} )?(?:global|communication|comm|federated|fl|aggregation)[ _.-]{1,2}(?:training )?rounds?",
    re.IGNORECASE,
)


class _Count(NamedTuple):
    """A number of a line that counts."""

    role: str  # step, batch or epoch; `of_all` where only `12/391` shows that it counts
    field: int  # its index in the line


class Shaped(NamedTuple):
    """A line with its shape."""

    key: tuple[Any, ...]
    parsed: Parsed
    counts: list[_Count]

    @property
    def is_heading(self) -> bool:
        """Whether the line counts an epoch and holds no other number."""
        return len(self.parsed.fields) == 1 and self.counts[0].role == "epoch"

    @property
    def counts_a_batch(self) -> bool:
        """Whether the line counts an epoch, and a batch of it."""
        roles = [count.role for count in self.counts]
        return len(roles) == 2 and roles[0] == "epoch" != roles[1] and not self.parsed.bar

    @property
    def ended(self) -> float | None:
        """The epoch that the line counts, if it counts nothing else and states a loss."""
        alone = len(self.counts) == 1 and self.counts[0].role == "epoch" and not self.parsed.bar
        alone = alone and not _RESUMES.match(self.key[0])
        ends = alone and any(_LOSS.search(field.name) for field in self.parsed.fields)
        return self.parsed.fields[self.counts[0].field].value if ends else None


_KEPT: dict[str, Shaped | None] = {}  # lines of the log that is read: several passes ask for each


@functools.lru_cache(maxsize=4096)  # the lines of a log have the same names
def _count_named(name: str) -> tuple[str | None, str]:
    """Which count a name is of, and the name without words that leave its meaning as it is."""
    if _FEDERATED.fullmatch(name):
        return "epoch", name
    name = _BEFORE_A_COUNT.sub("", name)
    if _EPOCH_IN_SHORT.fullmatch(name) or _EPOCH_OF_ONE.fullmatch(name):
        return "epoch", name
    role = read_name(name.rstrip("s") if name.lower() in _PLURALS else name).role
    return (role if role in COUNTS else None), name


def _role_of_count(field: Field) -> str | None:
    """Whether a number counts steps, batches or epochs, by its name."""
    if field.is_mean or field.unit or field.value is None or field.value < 0:
        return None
    role, name = _count_named(field.name)
    if role == "epoch" and _is_short(name):
        return "epoch" if field.is_integer and (field.total or len(name) > 1) else None
    return role if role == "epoch" or field.value.is_integer() else None


@functools.lru_cache(maxsize=4096)
def _is_short(name: str) -> bool:
    """Whether a name is that of an epoch in short."""
    return bool(_EPOCH_IN_SHORT.fullmatch(name))


@functools.lru_cache(maxsize=4096)
def _is_of_play(name: str) -> bool:
    """Whether a name is one of reinforcement learning."""
    return bool(_PLAYS.search(name))


def _states_loss(fields: Iterable[Field]) -> bool:
    """Whether one of the numbers is a loss."""
    return any(_LOSS.search(field.name) for field in fields)


def _both_counted(counts: Sequence[_Count], field: Field) -> bool:
    """Whether a number with a name of its own follows an epoch and a step, and so counts neither: `flips=3/42`."""
    named = bool(field.name) and all(count.role in COUNTS for count in counts)
    return named and {"epoch", "step"} <= {count.role for count in counts}


def _counts_of(fields: Iterable[Field]) -> list[_Count]:
    """The numbers of a line that count."""
    counts: list[_Count] = []
    fields = list(fields)
    plays = any(_is_of_play(field.name) for field in fields)
    for index, field in enumerate(fields):
        short = _is_short(field.name)
        role = None if short and plays else _role_of_count(field)
        if short and not plays and not counts and field.is_integer and not field.unit and _states_loss(fields):
            role = "epoch"  # e=3, loss=0.2
        if plays and index == 0 and role is None and field.is_integer and not field.unit:
            role = "step" if _PLAYED.fullmatch(field.name) else None
        if (
            plays
            and index
            and role == "step"
            and not counts
            and all(map(_OF_EPISODE.fullmatch, (fields[0].name, field.name)))
        ):
            role = None  # `Episode 3 | reward 21.5 | steps 157`
        if counts and index + 1 < len(fields) and fields[index + 1].is_mean:
            role = None  # `Steps 412 (405.2)`: what counts has no mean
        if role == "epoch" and counts and not field.total and any(_BEST.search(other.name) for other in fields[:index]):
            role = None  # `Epoch 30, acc 0.9, best acc 0.91 at epoch 20`
        if role is None and field.total and not field.is_mean and not _OTHER_COUNT.search(field.name):
            role = None if short or _both_counted(counts, field) else "of_all"
        if role:
            counts.append(_Count(role, index))
    return counts


def shaped(text: str) -> Shaped | None:
    """The shape of a line that counts something; None for others.  Those of the first lines of a log are kept."""
    if text in _KEPT:
        return _KEPT[text]
    found = _shaped(text)
    if len(text) <= _LONGEST_KEPT and len(_KEPT) < _MOST_KEPT:
        _KEPT[text] = found
    return found


def _shaped(text: str) -> Shaped | None:
    if '{"' in text:
        text = json_written_out(text) or ""
    elif _CONFIGURATION.search(text):
        return None  # a configuration counts nothing
    line = parsed(text)
    if line.bar == "other":
        return None
    counts = _counts_of(line.fields)
    if not counts:
        return None
    first = line.fields[counts[0].field]
    lead = line.text[: max(first.start, 0)]
    if line.bar:
        lead = lead.partition("%")[0].rstrip("0123456789. ") if "%" in lead else lead
    lead = "" if _MARK.match(lead) else SOURCE_FILE.sub("%.py", lead)
    after = line.text[first.start :] if len(line.fields) == 1 else ""  # `Epoch 3: validating` is a heading, too
    named = (line.fields[count.field].name for count in counts)
    between = line.text[first.start : line.fields[counts[-1].field].start]  # Epoch 3 - VAL - Batch 100
    phase = next(filter(None, map(_PHASE.search, (lead, *named, between, after))), None)
    lead = _PHASE.sub("%", _MEASURED_BEFORE.sub("#", " ".join(lead.split())))
    lead = _SIGN_BEFORE.sub("#", lead) if "-#" in lead or "+#" in lead else lead
    lead = _PADDED.sub("", lead)
    names = tuple(line.fields[count.field].name.lower() or "/" for count in counts[:4])
    of = phase[0].lower() if phase else "test" if _is_of_test(line.fields, counts) else ""
    key: tuple[Any, ...] = (lead[-80:], names, of, line.bar)
    if line.bar == "tqdm" and names[0] == "/" and not _WORD.search(lead) and line.drawing and line.drawing.total:
        key = (*key, line.drawing.total)  # nothing but the total tells bars without a label apart
    return Shaped(key, line, counts)


def _is_of_test(fields: Iterable[Field], counts: Sequence[_Count]) -> bool:
    """Whether a line counts the batches of an epoch, and every loss in it is of a test."""
    if len(counts) < 2 or counts[-1].role == "epoch" or counts[0].role != "epoch":
        return False
    losses = [field.name for field in fields if _LOSS.search(field.name)]
    return bool(losses) and all(map(_OF_TEST.match, losses))


def _drawn_count(parts: Shaped) -> int | None:
    """Which count of a line is that of its bar; None where it has no bar of tqdm."""
    drawing, fields = parts.parsed.drawing, parts.parsed.fields
    such = [k for k, count in enumerate(parts.counts) if drawing and fields[count.field].value == drawing.step]
    with_total = [k for k in such if drawing and fields[parts.counts[k].field].total == drawing.total]
    return next(reversed(with_total), None)


class Shape:
    """The lines of one shape so far."""

    def __init__(self, example: Shaped, line: Line) -> None:
        self.key, self.first, self.example = example.key, line.number, line.text.strip()
        self.last, self.lines = line.number, 0
        self.names: Counter[str] = Counter()
        self.units: dict[str, str | None] = {}
        self.order: list[str] = []  # the names of the line that has most
        self.tail = ""  # of that line
        self.roles = [count.role for count in example.counts[:4]]
        self.rises, self.falls = [0] * 4, [0] * 4
        self.with_stamp = 0
        self.resolution_s = 0.0  # of the coarsest stamp
        self.in_training = False  # a word of training stands in its lines
        self.in_play = False  # or what an agent gained, which a training prints now and then, and a game at each step
        self.first_and_last = [False, False]  # whether its first count is 0 in a line, and its total in one
        self.differing: set[int] = set()  # counts of steps that are not always equal to the first count of steps
        self.ratios: set[float] = set()  # of two counts of steps, in each line
        self.epochs: dict[str, bool] = {}  # numbers before the count, and whether each grows where the count falls
        self.unheaded = 0  # how often its count begins without a line before it that counts the epoch
        self.unended = 0  # how often it begins anew without one before it that ends the epoch
        self.first_ended: float | None = None  # the epoch of the first such line, where each is of the next one
        self.unrepeated = 0  # how often it does without one before it that names a fold, a seed or a model
        self._headings = self._ends = self._repeats = 0
        self.turns = 0  # how often the first of two counts grows where the second restarts
        self.resumes = 0  # how often the second restarts and the first does not grow, as where a training is resumed
        self.crossed = 0  # how often the first grows where the second does not restart
        self.as_one = 0  # how often both grow by the same
        self.at_its_epoch = 0  # lines whose second count is that of the first, or of the one before, of as many
        self.names_its_epoch = 0  # lines whose bar has counted as many as the epoch after it, or one less
        self.rounding = 1  # the counts are multiples of it
        bar = BAR.search(line.text) if example.parsed.drawing else None
        self.label = line.text[: bar.start()] if bar else ""  # of its bar
        self.fills: Fills | None = None  # where its bar has no label
        self.drawn = _drawn_count(example)  # which of its counts is that of a bar
        self.kept, self.full_bars, self.spaced = KeptBars(), FullBars(), Spaced()
        self.holds_bars = self.counts_told_steps = False  # bars below it fill for its counts; lines tell its total
        self.two_in_each_epoch = False  # whether its bar is full twice for each epoch that other lines count
        self.counted_by_others = False  # whether its bar counts the epochs that other lines count
        self.grows_with_epochs = self.counts_epochs_of_batches = False  # its bar: see EpochsWithin
        self.one_for_each_epoch = False  # whether only full drawings of it are left, one for each epoch
        self.counted_first: float | None = None  # the value of its first count, in its first line
        self.longest_s = 0  # that it was drawn for
        self.bars = 0  # how many were drawn from their start
        self._totals_of_bars: list[int | None] = []  # of the first ones
        self.ended = 0  # its epochs that are over: the loss stands in the line, or in one printed at the same time
        self.ended_in_line = self.ended_later = 0  # of these two kinds
        self.amid = 0  # lines of training between drawings of one bar
        self.interrupted = 0  # lines of training since it was drawn last: between its drawings if it goes on
        self.bar_leap = self.bar_counts = 0  # the greatest common divisor of the counts of its bar; their number
        self.goes_on = 0  # lines that say more of the epoch of the line before
        self._epochs_told: dict[Any, tuple[float | None, set[str]]] = {}
        self._bars: dict[Any, tuple[Drawing, int]] = {}  # the last drawing of each writer, and its largest count
        self._bar_epochs: dict[Any, float | None] = {}
        self.totals = [0] * 4  # how often the number after `/` differs from that of the line before
        self.parts_of_epochs = 0  # lines whose epoch is not a whole one
        self.leap = 0  # the greatest common divisor of all increases of its count
        self.leaps = [0] * 4  # of those of each count
        self._before: dict[Any, tuple[list[float], dict[str, float]]] = {}
        self.pairs = PairCounts()
        self.totals_told: Counter[int] = Counter()  # of its first count
        self._totals: list[int | None] = []

    def take(self, line: Line, parts: Shaped, headings: int = 0, ends: int = 0, repeats: int = 0) -> None:
        """Notes a line.

        `headings` is the number of lines before it that count epochs and nothing else, `ends` of those that also state
        a loss, `repeats` of those that name a fold, a seed or a model.
        """
        self.last = line.number
        fields = parts.parsed.fields
        told = self.told_before(line, parts)
        again = bool(told)
        self.lines += not told
        self.goes_on += bool(told)
        for field in {field.name: field for field in reversed(fields) if field.name not in told}.values():
            if field.name in self.names or len(self.names) < _MOST_NAMES:
                self.names[field.name] += 1
                self.units.setdefault(field.name, field.unit)
        told |= {field.name for field in fields}
        if len(fields) > len(self.order):
            self.order = [field.name for field in fields]
            self.tail = parts.parsed.tail
        if parts.parsed.stamp:
            self.with_stamp += _STAMP not in told
            self.spaced.take(parts.parsed.stamp.seconds, again)
            told.add(_STAMP)
            self.resolution_s = max(self.resolution_s, parts.parsed.stamp.resolution_s)
        if self.of_epochs_alone and parts.parsed.stamp is not None and _LOSS.search(line.text):
            self.ended_in_line += _END not in told
            told.add(_END)
        epoch = next((fields[count.field].value for count in parts.counts if count.role == "epoch"), None)
        begins = self.draw(line, parts.parsed.drawing, epoch) if parts.parsed.drawing else None
        self.amid += self.interrupted if begins is False else 0
        self.interrupted = 0
        self.in_training = self.in_training or bool(_WORK.search(line.text))
        self.in_play = self.in_play or bool(_GAINED.search(line.text))
        falls = sum(self.falls)
        self.count(line, [fields[count.field] for count in parts.counts[:4]], fields[: parts.counts[0].field], begins)
        if self.lines == 1 or sum(self.falls) > falls:
            self.unheaded += headings == self._headings
            self.unended += self.lines > 1 and ends == self._ends
            self.unrepeated += repeats == self._repeats
            self._headings, self._ends, self._repeats = headings, ends, repeats

    def told_before(self, line: Line, parts: Shaped) -> set[str]:
        """The names that lines just before have for the same epoch or step, where lines count these alone; else none.

        Of a step, only what has not been said says more: a line that repeats a name is another record.
        """
        of_steps = self.roles == ["step"] and not self.bar
        if not self.of_epochs_alone and not of_steps:
            return set()
        whose, epoch = (line.rank, line.location), parts.parsed.fields[parts.counts[0].field].value
        if self._epochs_told.get(whose, (None,))[0] != epoch and (
            whose in self._epochs_told or len(self._epochs_told) < _MOST_SERIES
        ):
            self._epochs_told[whose] = epoch, set()
        before, told = self._epochs_told.get(whose, (None, set()))
        counted = parts.parsed.fields[parts.counts[0].field].name
        said = told & {field.name for field in parts.parsed.fields} - {counted}
        if of_steps and said:
            told = set()
            self._epochs_told[whose] = epoch, told
        return told if before == epoch else set()

    def draw(self, line: Line, drawing: Drawing, epoch: float | None) -> bool:
        """Notes what a bar shows, and the epoch that its line counts.  Returns whether it was drawn from its start."""
        self.rounding = max(self.rounding, drawing.rounding)
        self.longest_s = max(self.longest_s, drawing.elapsed_s)
        whose = line.rank, line.location
        self.kept.take(whose, line.number, drawing)
        before = self._bars.get(whose)
        anew = before is None or begins(*before, drawing) or epoch != self._bar_epochs.get(whose)
        if before or len(self._bars) < _MOST_SERIES:
            self._bar_epochs[whose] = epoch
        self.bars += anew
        self.full_bars.take(whose, drawing)
        if anew and len(self._totals_of_bars) < _MOST_SERIES:
            self._totals_of_bars.append(drawing.total)
        if 0 < drawing.step != drawing.total and drawing.step != (before[0].step if before else 0):
            self.bar_leap, self.bar_counts = math.gcd(self.bar_leap, drawing.step), self.bar_counts + 1
        if before or len(self._bars) < _MOST_SERIES:
            self._bars[whose] = drawing, drawing.step if anew or not before else max(before[1], drawing.step)
        return anew

    @property
    def counted_last(self) -> int:
        """The largest count of the bar that was drawn last."""
        return next(reversed(self._bars.values()))[1] if self._bars else 0

    @property
    def is_drawn_again(self) -> bool:
        """Whether its bar fills again and again, as one for each epoch does."""
        return self.bars > len(self._bars)

    @property
    def is_drawn_full(self) -> bool:
        """Whether its lines count epochs, and its bar is drawn once in each: when it is full."""
        epochs = [self.rises[k] for k, role in enumerate(self.roles) if role == "epoch"]
        return self.drawn is not None and max(epochs, default=0) == self.lines - 1 and self.lines == self.bars

    @property
    def within_bar(self) -> bool:
        """Whether its bar is neither at its start nor full."""
        last = next(reversed(self._bars.values()), None)
        return bool(last and 0 < last[0].step < (last[0].total or 0))

    def count(self, line: Line, counts: list[Field], ahead: list[Field], begins: bool | None) -> None:
        """Notes what a line counts, and the numbers ahead of its counts; whether its bar begins, if it has one."""
        values = [field.value or 0.0 for field in counts]
        if self.bar and len(counts) == 2 and counts[0].total and counts[0].total == counts[1].total:
            self.at_its_epoch += 0 <= values[0] - values[1] <= 1
        elif self.bar == "tqdm" and self.roles[:2] == ["epoch", "of_all"] and not counts[0].total:
            self.at_its_epoch += abs(values[0] - values[1]) <= 1
        elif self.bar == "tqdm" and len(counts) == 2 and counts[0].total and counts[1].name.lower() == "epoch":
            self.names_its_epoch += 0 <= values[1] - values[0] <= 1
        if counts[0].total:
            self.first_and_last[0] |= values[0] == 0
            self.first_and_last[1] |= values[0] == counts[0].total
            if counts[0].total in self.totals_told or len(self.totals_told) < _MOST_TOTALS:
                self.totals_told[counts[0].total] += 1
        self.counted_first = values[0] if self.counted_first is None else self.counted_first
        if len(counts) == 1 and counts[0].total:
            self.pairs.take((line.rank, line.location), int(values[0]), counts[0].total)
        for i, (before_all, field) in enumerate(zip(self._totals, counts, strict=False)):
            self.totals[i] += field.total != before_all and None not in (field.total, before_all)
        before_all_of = self._totals or [None] * len(counts)
        self._totals = [field.total or before for field, before in zip(counts, before_all_of, strict=False)]
        numbers = {field.name: field.value or 0.0 for field in ahead if field.is_integer and not field.unit}
        steps = [k for k, role in enumerate(self.roles) if role != "epoch"]
        self.differing |= {k for k in steps if self.roles[k] == "step" and values[k] != values[steps[0]]}
        if len(steps) == 2 and values[steps[0]] and len(self.ratios) < 2:
            self.ratios.add(values[steps[1]] / values[steps[0]])
        whose = (line.rank, line.location)
        earlier, earlier_numbers = self._before.get(whose, (values, numbers))
        self.parts_of_epochs += any(
            role == "epoch" and value % 1 for role, value in zip(self.roles, values, strict=False)
        )
        for i, (before, value) in enumerate(zip(earlier, values, strict=False)):
            if value > before and self.roles[i] == "of_all":
                self.leap = math.gcd(self.leap, int(value - before))
            if self.roles[i] != "epoch":
                self.leaps[i] = math.gcd(self.leaps[i], int(abs(value - before)))
            self.rises[i] += value > before
            self.falls[i] += value < before
        if len(values) > 1:
            grows, restarts = values[0] > earlier[0], values[1] < earlier[1]
            self.turns += grows and restarts
            self.as_one += grows and values[1] - earlier[1] == values[0] - earlier[0]
            self.resumes += restarts and not grows
            self.crossed += grows and not restarts
        fell = (
            bool(steps) and values[steps[0]] < earlier[steps[0]] if begins is None else begins and whose in self._before
        )
        for name, number in numbers.items():
            before = earlier_numbers.get(name, number)
            self.epochs[name] = self.epochs.get(name, True) and (number > before if fell else number == before)
        if whose in self._before or len(self._before) < _MOST_SERIES:
            self._before[whose] = values, numbers

    @property
    def own_total(self) -> int | None:
        """The total of its first count in most of its lines, where the others have smaller ones: those evaluate."""
        usual, lines = next(iter(self.totals_told.most_common(1)), (0, 0))
        others = self.totals_told.keys() - {usual}
        return usual if others and max(others) < usual and 2 * lines > self.lines else None

    @property
    def is_pair(self) -> bool:
        """Whether its one count is of epochs, and the number after `/` the batch: `TRAIN Batch 3/200`."""
        if len(self.roles) != 1 or self.bar:
            return False
        return self.pairs.tell or (self.roles == ["batch"] and self.pairs.tell_of_one_epoch)

    def name_pair(self) -> None:
        """Of such a pair, what rises and restarts is the batch."""
        if self.is_pair:
            self.roles, self.totals = ["batch"], [0] * 4
            self.rises[0], self.falls[0] = self.pairs.grown, self.pairs.restarted

    @property
    def crosses(self) -> bool:
        """Whether the first of two counts also grows where the second goes on; once, where lines are missing."""
        return self.crossed > _LOST * self.turns

    def name_epochs(self) -> None:
        """Names the first of two counts the epoch, where the second restarts with it.

        Both are like `3/10`, without a name, or the first is called an iteration and the second a step of so many, with
        a name or as in `Iter: [3][20/391]`.  A count called step stays one: the second may count the micro-batches in
        it.
        """
        if self.crosses or self.turns < self.resumes:
            return
        unnamed = self.roles[:2] == ["of_all", "of_all"]
        of_iteration = (
            self.roles[:1] == ["step"] and self.roles[1:2] in (["step"], ["batch"], ["of_all"]) and self.turns > 0
        )
        of_steps = self.roles[:2] == ["of_all", "step"] and self.turns > 0  # [3/50] step 10
        many = (self._totals[1:2] or [None])[0] or 0  # of [3/50] batch 10/4000; of few, each may be a part of a step
        of_steps |= self.roles[:2] == ["of_all", "batch"] and self.turns > 0 and many >= _NO_PARTS
        if unnamed or of_steps or (of_iteration and "step" not in self.key[1][0] and self._totals[1]):
            self.roles[0] = "epoch"

    def name_steps(self) -> None:
        """A count after the epoch that goes on where the next epoch begins is of steps: `Epoch: 3 [846/100000]`."""
        often = self.crossed >= _OFTEN_CROSSED and 2 * self.lines >= 3 * (self.crossed + 1)
        goes_on = often and not (self.turns or self.falls[1] or self.bar)
        if goes_on and self.roles[:2] == ["epoch", "of_all"]:
            self.roles[1] = "step"

    def name_validated(self) -> None:
        """A count without a name is of epochs where each line states the losses of training and of validation.

        `[003/050] train loss: 1.2, val loss: 1.3 (24.0s)`: a time in it is that of the epoch.
        """
        if self.roles != ["of_all"] or self.bar or self.leap != 1 or self.lines < RECURS or self.leaps_over:
            return
        measured = [
            name for name, lines in self.names.items()
            if _RESULT.search(name) and name.lower() != self.key[1][0] and lines >= _MOSTLY * self.lines
        ]  # fmt: skip
        validated = [name for name in measured if _VALIDATED.search(name)]
        if validated and len(validated) < len(measured) and self.rises[0] >= _MOSTLY * (self.lines - 1):
            self.roles[0] = "epoch"

    @property
    def holds_many_steps(self) -> bool:
        """Whether each of its lines counts an update, and the many steps of an environment that it was made of."""
        ratio = max(self.ratios, default=0.0)
        return "multiple" in self.roles and len(self.ratios) == 1 and max(ratio, 1 / ratio) >= _MANY_STEPS

    @property
    def leaps_over(self) -> bool:
        """Whether its first count mostly grows by more than one: each hundredth step has a line, and the last one."""
        last = next(reversed(self._before.values()), None)
        return bool(last) and last[0][0] - (self.counted_first or 0.0) >= _LEAPS * self.lines  # type: ignore[index]

    def name_as(self, others: Iterable["Shape"]) -> None:
        """A count without a name for it is of epochs where other lines count these epochs, and stand among its own.

        `net[3/50] train loss: 0.3`, then `net epoch:3, accuracy: 0.8`.
        """
        if self.roles == ["of_all"] and not self.bar and self.lines >= RECURS and any(map(self._counts_as, others)):
            self.roles[0] = "epoch"

    def _counts_as(self, other: "Shape") -> bool:
        """Whether other lines count epochs, by name, and as these do: as often, from the same one to the same one."""
        named = other.of_epochs_alone and other.lines == self.lines and other.first > self.first
        counted = (self.rises[0], self.falls[0], self.counted_first)
        same = counted == (other.rises[0], other.falls[0], other.counted_first)
        last = [[counts[0] for counts, _ in shape._before.values()] for shape in (self, other)]
        return named and same and last[0] == last[1] and self.rises[0] + self.falls[0] == self.lines - 1

    def drop_multiples(self) -> None:
        """Of two counts of steps, one always the same multiple of the other, the larger is of what a step holds."""
        steps = [k for k, role in enumerate(self.roles) if role != "epoch"]
        ratio = next(iter(self.ratios), 1.0)
        if len(self.ratios) == 1 and ratio != 1 and [self.roles[k] for k in steps] == ["step", "step"]:
            self.roles[steps[1] if ratio > 1 else steps[0]] = "multiple"
            self.differing.clear()

    def drop_constant(self) -> None:
        """A count that is the same in each epoch counts nothing: `Epoch[7] - Iter: [0/13]`, once in each.

        Nor does one without a name that counts the same epochs: `Epoch 1 (1/200)`.
        """
        if self.roles[:1] != ["epoch"] or len(self.roles) != 2 or self.bar or self.lines < RECURS:
            return
        anew = self.falls[0] if _ANEW * self.falls[0] <= self.rises[0] else 0  # in a launch
        still = not (self.rises[1] or self.falls[1]) and self.rises[0] + anew == self.lines - 1
        twice = self.roles[1] == "of_all" and self.as_one == self.rises[0] >= _MOSTLY * (self.lines - 1)
        if still or twice:
            self.roles[1] = CONSTANT

    @property
    def counts_steps(self) -> bool:
        """Whether it counts steps; else only epochs."""
        return any(role not in ("epoch", CONSTANT) for role in self.roles)

    @property
    def of_known_epoch(self) -> bool:
        """Whether each line says the epoch, and which of how many batches."""
        return len(self.roles) == 2 and self.roles[0] == "epoch" and self.counts_steps and bool(self._totals[1])

    @property
    def follows_ends(self) -> bool:
        """Whether a line that counts the epoch stands after each end of its count, and none before its start."""
        return self.unheaded > 0 == self.unended and self.first_ended is not None

    @property
    def is_between_epochs(self) -> bool:
        """Whether a line that counts the epoch stands before each start of its count, or after each end."""
        return not self.unheaded or self.follows_ends

    @property
    def of_epochs(self) -> bool:
        """Whether each line is of another epoch: between two of them stand its validation and its checkpoint too."""
        epochs = [self.rises[k] for k, role in enumerate(self.roles) if role == "epoch"]
        steps = [self.rises[k] for k, role in enumerate(self.roles) if role not in ("epoch", CONSTANT)]
        whole = 2 * self.parts_of_epochs <= self.lines  # `Iter: 3/30  Epoch: 0.13/4.0`
        return bool(epochs and steps) and max(epochs) >= max(steps) > 0 and whole

    @property
    def of_epochs_alone(self) -> bool:
        """Whether it counts epochs, and no steps in them."""
        return self.roles in (["epoch"], ["epoch", CONSTANT]) and not self.bar

    @property
    def is_bar_of_epochs(self) -> bool:
        """Whether its bar counts epochs, by its label (`Epoch 3/250:  1%|  | 2/250`), its postfix, or other lines."""
        labeled = self.roles[:2] == ["epoch", "of_all"] and self.at_its_epoch >= _MOSTLY * self.lines
        labeled = labeled and (self.has_total or self.counts_the_epochs_of_its_label)
        by_others = self.counted_by_others or self.grows_with_epochs or self.counts_epochs_of_batches
        return labeled or self.counts_the_epochs_it_names or by_others or self.holds_bars

    @property
    def counts_the_epochs_of_its_label(self) -> bool:
        """Whether its bar counts the epochs that its label names, without their total: `Epoch 3:  25%|  | 3/12`."""
        at_each = self.roles[:2] == ["epoch", "of_all"] and self.at_its_epoch >= _MOSTLY * self.lines
        return at_each and not self.has_total and self.rises[0] >= _LEAST_NAMED and not self.falls[0]

    @property
    def counts_the_epochs_it_names(self) -> bool:
        """Whether its bar counts the epochs that its postfix names: `54/150 [..., epoch=54, loss=0.58]`."""
        return self.names_its_epoch == self.lines and self.rises[1] >= RECURS

    def counts_epochs_of(self, other: "Shape") -> bool:
        """Whether it is a bar without a label, drawn from its start once, that counts the epochs of other lines."""
        alone = self.is_unlabeled and self.bars == 1 and other.first >= self.first
        as_many = alone and abs(other.epochs_told - self.counted_last) <= 1
        return as_many and other.epochs_told >= RECURS

    @property
    def names_a_batch(self) -> bool:
        """Whether its lines stand once in each epoch, and name a batch of it: `Epoch [3/10] Step [50/50]`."""
        still = self.roles == ["epoch", CONSTANT] and not (self.rises[1] or self.falls[1])
        return still and self.key[1][1] not in _PLURALS

    @property
    def epochs_told(self) -> float:
        """How many epochs it counts, if its lines count epochs and nothing else; one follows the other.

        A step beside them may be the same in each: `step : 500, epoch : 3`.
        """
        if self.roles == ["step", "epoch"] and not (self.bar or self.rises[0] or self.falls[0] or self.falls[1]):
            return float(self.rises[1] + 1) if self.rises[1] else 0.0
        last = next(reversed(self._before.values()), None)
        rise = self.of_epochs_alone and self.lines > 1 and self.rises[0] == self.lines - 1
        return last[0][0] - (self.counted_first or 0.0) + 1 if last and rise else 0.0

    def counts_with(self, records: "Shape") -> bool:
        """Whether it is the one bar, without a total, that is drawn once for each of some records, one after the other.

        `12it [00:50, 4.1s/it]step: 12, loss: 0.3`
        """
        shapes = self, records
        each = all(shape.roles == ["step"] and shape.rises[0] >= _MOSTLY * (shape.lines - 1) for shape in shapes)
        once = self.leaps[0] == records.leaps[0] == 1 and not self.falls[0] and not records.falls[0]
        as_many = abs(self.rises[0] - records.rises[0]) <= 1 and self.lines >= RECURS
        near = abs((self.counted_first or 0.0) - (records.counted_first or 0.0)) <= 1
        return each and once and as_many and near and not self.label.strip()

    @property
    def begins_at_first(self) -> bool:
        """Whether its first line counts 0 or 1."""
        return self.counted_first in (0, 1)

    @property
    def of_training(self) -> bool:
        """Whether a word of training stands in its lines, and none of validation or of other work before the count."""
        elsewhere = ELSEWHERE.search(f"{self.key[0]} {self.key[1][0]}")
        return self.in_training and not elsewhere and not self.key[2].startswith(("val", "eval", "test"))

    @property
    def has_total(self) -> bool:
        """Whether its last line says of how many epochs or steps its first count is one."""
        return bool(self._totals[:1] and self._totals[0])

    @property
    def ends_epochs(self) -> bool:
        """Whether each of its lines counts an epoch and states its loss: the epoch is over."""
        each = all(self.names[name] == self.lines for name in self.names if _LOSS.search(name))
        return self.of_epochs_alone and each and any(map(_LOSS.search, self.names))

    @property
    def states_loss(self) -> bool:
        """Whether one of its numbers is a loss."""
        return any(map(_LOSS.search, self.names))

    @property
    def may_count_samples(self) -> bool:
        """Whether `640/60000`, without a name, may as well count samples as steps."""
        if self.bar or any(role in ("step", "batch") for role in self.roles) or self.leap < 2:
            return False
        return bool(_WITH_SHARE.search(self.example)) or self.leap % OF_BATCHES == 0

    @property
    def may_count_epochs(self) -> bool:
        """Whether `[3/10]`, the only count of its lines and without a name, may as well be of epochs as of steps.

        `GreedyHash[3/10]` is named by something else, and begins anew with each launch; `[3/10]` may with each fold.
        """
        if self.roles != ["of_all"] or self.bar or self.leap != 1 or (self._totals[0] or 0) > _MOST_EPOCHS:
            return False
        if self.key[1] == ("/",):
            return not self.falls[0] or not self.unrepeated
        begun = self.falls[0] + 1
        return not _STEPS_OR_PARTS.search(self.key[1][0]) and begun == self.unheaded and self.falls[0] <= self.unended

    @property
    def counts_parts(self) -> bool:
        """Whether it counts parts of an epoch, such as halves: `0/2`, `1/2` and `2/2` are three of two."""
        return self.roles == ["of_all"] and not self.bar and self.leap == 1 and all(self.first_and_last)

    @property
    def bar_of_samples(self) -> bool:
        """Whether its bar may count samples, as one that grows by the size of a batch does."""
        grown = may_count_samples(self.bar_leap, self.bar_counts, self.longest_s, self.counted_last)
        return grown and not self.counts_told_steps

    @property
    def alternating(self) -> list[int]:
        """The two totals that its bars have by turns, where no line says the epoch: one of them is a validation's."""
        totals = [total for total in self._totals_of_bars if total]
        two = sorted({*totals})
        by_turns = len(totals) >= _BY_TURNS and all(one != other for one, other in itertools.pairwise(totals))
        return two if len(two) == 2 and by_turns and "epoch" not in self.roles else []

    @property
    def may_validate_by_turns(self) -> bool:
        """Whether one of two bars of one size may be that of a validation, where no line says the epoch of each.

        Two are full in each epoch that other lines count, or every second one is much quicker.
        """
        alone = self.is_unlabeled and "epoch" not in self.roles and not self.one_for_each_epoch
        return alone and (self.two_in_each_epoch or self.full_bars.by_turns)

    @property
    def bar(self) -> str:
        return str(self.key[3])

    @property
    def is_unlabeled(self) -> bool:
        """Whether it is a bar that nothing but its total tells apart from others."""
        return len(self.key) > 4


class _EpochEnds:
    """Watches the lines after one that counts an epoch: a loss printed at the same time shows that it is over."""

    def __init__(self) -> None:
        self.shape: Shape | None = None
        self.seconds = 0.0
        self.left = 0  # lines that are still looked at

    def counted(self, shape: Shape, stamp: Stamp | None) -> None:
        self.shape = shape if stamp and shape.of_epochs_alone else None
        self.seconds, self.left = stamp.seconds if stamp else 0.0, _LINES_AFTER

    def look(self, text: str) -> None:
        if self.shape is None or not self.left:
            return
        self.left -= 1
        stamp = stamp_in(text) if _LOSS.search(text) else None
        if stamp and 0 <= stamp.seconds - self.seconds <= _AT_ONCE_S:
            self.shape.ended_later += 1
            self.shape = None


_SHAPES: WeakKeyDictionary[Source, tuple[int | None, list[Shape]]] = WeakKeyDictionary()  # several formats ask for them
_TIMED: WeakKeyDictionary[Source, int] = WeakKeyDictionary()  # lines that hold a time and count nothing
# A superset of what is read as a time with a unit.
_MAY_BE_TIMED = re.compile(
    r"\d\s?\[?(?:[mnu\u00b5\u03bc]?s(?:ec(?:ond)?s?)?|m(?:illi)?secs?|milli\w*|micro\w*|nano\w*|m(?:in(?:ute)?s?)?|h(?:ou)?r?s?)"
    r"(?![a-z/])|(?:elapsed|took|total|time|left|eta)\D{0,20}\d{1,4}:\d\d|[(\[] ?[a-z]{1,12} ?[)\]] ?[:=]? ?\d"
    r"|epoch[ _]time\W{1,4}\d",
    re.IGNORECASE,
)


def shapes_in(source: Source, most: int | None = None, by_later_loss: bool = False) -> list[Shape]:
    """The shapes of a log's whole lines that count something, of the first `most` with a word of training.

    `by_later_loss`: the end of an epoch may be shown by a line after the one that counts it.
    """
    known = _SHAPES.get(source)
    if known is None or known[0] != most:
        _KEPT.clear()
        filled, repeats = FilledBars(), Repeats()

        def look_aside(raw: bytes) -> None:
            filled.look_aside(raw)
            repeats.look(raw)

        lines = itertools.islice(log_lines(source, look_aside), most)
        shapes, _TIMED[source] = _shapes_of(lines, filled, repeats)
        known = _SHAPES[source] = most, shapes
    for shape in known[1]:
        shape.ended = shape.ended_in_line + shape.ended_later * by_later_loss
    return known[1]


def name_counts(source: Source, namer: Callable[[str], str]) -> None:
    """From now on, the lines of a log are read with their counts named."""
    NAMERS[source] = namer
    _SHAPES.pop(source, None)


def lines_with_times_alone(source: Source) -> int:
    """How many lines may hold a time and count nothing, of those that `shapes_in` looked at."""
    return _TIMED.get(source, 0)


def _shapes_of(lines: Iterable[tuple[Line, bool]], filled: FilledBars, repeats: Repeats) -> tuple[list[Shape], int]:
    """The shapes of whole lines that count something; where there are too many, only the first.

    And how many lines may hold a time and count nothing.
    """
    timed = 0
    ends = _EpochEnds()
    shapes: dict[tuple[Any, ...], Shape] = {}
    drawn: Shape | None = None  # the bar drawn last
    within, epochs_within = BarsWithin(), EpochsWithin()
    headings, ended, epoch_bars = 0, list[float](), False
    for line, whole in lines:
        parts = shaped(line.text) if whole else None
        drawing = parts.parsed.drawing if parts else None
        if drawn and drawn.within_bar and not (parts and parts.parsed.bar):
            drawn.interrupted += bool(_WORK.search(line.text)) and not ELSEWHERE.search(line.text)
        if drawing is None:
            filled.look(line.text)
        if parts is None:
            ends.look(line.text)
            repeats.look(line.text)
            timed += whole and _MAY_BE_TIMED.search(line.text) is not None
            epoch_bars = epoch_bars or bool(_EPOCH_BAR.match(line.text))
            continue
        shape = shapes.get(parts.key)
        if shape is None:
            if len(shapes) >= _MOST_SHAPES:
                continue
            shape = shapes[parts.key] = Shape(parts, line)
            shape.fills = filled.fills() if shape.is_unlabeled else None
        headings += parts.is_heading
        # The losses of training and of validation may be told in two lines of an epoch: it ends once.
        ended += [] if parts.ended is None or ended[-1:] == [parts.ended] else [parts.ended]
        shape.take(line, parts, headings, len(ended), repeats.seen)
        ends.counted(shape, parts.parsed.stamp)
        if shape.fills and drawing:
            filled.draw(shape.fills, drawing)
        elif drawing:
            filled.draw_other(parts.key[2])
        drawn = shape if shape.bar == "tqdm" else drawn
        if drawing and drawing.total:
            within.draw(shape.key, shape.label, shape.bars, drawing)
        if drawing and shape.is_unlabeled:
            epochs_within.draw(shape.key, shape.bars, drawing)
        elif parts.counts_a_batch:
            epochs_within.count(parts.key, parts.parsed.fields[parts.counts[0].field].value)
    first_ended = ended[0] if ended and all(later == epoch + 1 for epoch, later in itertools.pairwise(ended)) else None
    for shape in shapes.values():
        shape.holds_bars = within.hold(shape.key, shape.label)
        shape.grows_with_epochs = epochs_within.grows_with_epochs(shape.key)
        shape.first_ended = first_ended
    for shape in filter(lambda shape: shape.is_unlabeled, shapes.values()):
        shape.counts_epochs_of_batches = epochs_within.may_count_epochs(shape.key[-1])
    _name_counts(shapes.values(), epoch_bars)
    return list(shapes.values()), timed


def _name_counts(shapes: Collection[Shape], epoch_bars: bool) -> None:
    """Settles what the counts of all shapes are.  `epoch_bars`: a bar counts epochs, so that others count steps."""
    epochs = {other.epochs_told for other in shapes} - {0.0}
    for shape in shapes:
        shape.one_for_each_epoch = any(map(shape.kept.are_of, epochs)) if shape.bar == "tqdm" else False
        shape.counted_by_others = any(map(shape.counts_epochs_of, shapes))
        shape.two_in_each_epoch = any(2 * told == shape.full_bars.full for told in epochs if told >= RECURS)
        shape.name_pair()
        shape.name_epochs()
        shape.name_steps()
        shape.name_validated()
        shape.name_as(shapes)
        shape.drop_multiples()
        shape.drop_constant()
        shape.in_training |= shape.in_play and (shape.leaps_over or shape.holds_many_steps)
        steady = shape.longest_s >= _LEAST_BAR_S  # its times can be held against its elapsed seconds
        shape.in_training |= epoch_bars and steady and bool(_STEP_BAR.match(shape.label))
