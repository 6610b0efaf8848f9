"""Lines that recur with other numbers, counted by skeleton while a text is read; which of them look like training.

A skeleton is a line whose numbers, dates and progress bars are masked.  It looks like training where it counts steps or
epochs, where the count rises from line to line, and where it has a time or a rate.  A record may fill several lines:
then the count stands in the first, and a time or a rate in one that follows.

Only lines with a word of training are looked at, and memory use is bounded.  After ALL_LINES or
_ALL_BYTES only a sample of each block is looked at, so that a long log is not read more slowly.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import ahocorasick_rs

from scalelens.parsing import lazy_re as re
from scalelens.parsing.known_lines import with_names
from scalelens.parsing.launcher_prefixes import ANSI, CURSOR_UP, MPI_TAG, pieces, without_prefix
from scalelens.parsing.line_shapes import Known, shape_of
from scalelens.parsing.means_of_steps import MEAN_OF_STEPS, TIME_AND_EPOCHS
from scalelens.parsing.other_languages import COUNTING, in_english

ALL_LINES = 10_000  # lines with a word of training that are looked at before only samples are
_ALL_BYTES = 8 << 20  # bytes that are searched for such words before only samples are
_SAMPLE_LINES = 20  # of a block
_SAMPLE_BYTES = 1 << 16  # of a block
_LONGEST = 800  # bytes of a line that are looked at
_MOST_PIECES = 200  # of one line that carriage returns divide
KEPT = 1_000  # patterns at once
RECURS = 5  # lines of a pattern, at least
_RECORD = 100  # lines that one record fills, at most
_MOST_REPORTED = 20  # patterns of one text

_WORDS = (
    "step", "iter", "epoch", "batch", "time", "elapsed", "took", "throughput", "speed", "loss", "duration", "finished",
    "completed", "done in", "second", "cost",
)  # fmt: skip
FINDER = ahocorasick_rs.BytesAhoCorasick(
    [form.encode() for word in _WORDS for form in (word, word.capitalize(), word.upper())]
    + [form.encode() for word in COUNTING for form in (word, word.capitalize())]
    + [b"/s", b"per_sec", b"s/it", *(b"[E%d" % digit for digit in range(10))]  # [E03], the epoch in short
    + [
        b"][#",
        b"]\ttrain",
        *(b"_train_%d" % digit for digit in range(10)),
    ]  # [10:15:27][#000040][0512ms], 2_train_40, 12.5
    + [b"train=", b"train:", *(b"train %d" % digit for digit in range(10))],  # [3/50] train=0.61 val=0.72 9.1s
    implementation=ahocorasick_rs.Implementation.DFA,
)

# Dates and times of day.  Patterns that begin with a digit are searched for several times faster than others.
_CLOCK = re.compile(
    r"\d(?<![\d\[:]\d)\d{0,3}(?:"
    r"[-/.]\d\d?[-/.]\d\d?(?:[T ,:-]{1,3}\d\d?:\d\d(?::\d\d)?(?:[.,:]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|:\d\d(?::\d\d)?(?:[.,]\d+)?(?!:?\d))"
)
_NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_WHOLE_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")  # `5.` at the end of a sentence is 5
_NAN = re.compile(r"\b(?:nan|NaN)\b")
BAR = re.compile(r"[|\[(][=>.\-\s]{4,}[|\])]|[\u2500-\u25ff\u2800-\u28ff]+|[=>.\-]{4,}")
_BAR_IN_ASCII = ("==", "..", "--", ">>")
_JSON_STARTS = ("{", "[", '"')
_OTHERS: Known[bool] = Known()  # shapes of lines without a count, a time or a rate

# The parts of a skeleton; "#" stands for a number, "@" for a date or a time of day.
_COUNT_BY_WORD = re.compile(
    r"(?<![a-z/])(?<!per[ _])(?<!avg[ _])(?:steps?|iterations?|iters?|epochs?|(?:mini-?)?batch(?:es)?|updates?|up\.|it"
    r"|ep(?!.*(?:reward|return|score|episode))"
    r"|(?<!\w)e(?=[:=]?#(?:[,:;|\]/]| [bsi]| [-|] .*loss| {1,2}\w{0,12}[ _]?loss)))(?![a-z])"
    r"(?:[_ ]?(?:number|num|idx|index|id|n[o\u00b0]\.?))?[\"')\]]*\s?[:=(\[|._]?\s?[\"(\[]?\s?"
    r"(#)(?!\s?(?:m?s|secs?|seconds)\b|%)",
    re.IGNORECASE,
)
_COUNT_OF_ALL = re.compile(  # 12/391, [12:391], 1.21k/5.00k, 12it [00:03, and :1-100batch:
    r"(?<![#@/\w.:])(#)\s?(?:/|of)\s?#(?![/\w.@])|\[\s?(#)\s?:\s?#\s?\]"
    r"|(?<![#@/\w.:])(#)[kM]?/#[kM] \[|(?<![#@/\w.:])(#)[kM]?it \[[@#]|(?<=[:#-])(#)batch:"
    r"|\[#, {0,8}(#)\],?(?= {1,4}(?:(?:train|training|avg|average|mean)[_ ])?loss\b)"  # [3,  2000] loss
)
_BATCH_OF_EPOCH = re.compile(r"(?<![a-z])batch #/(#)(?![/\w.@])", re.IGNORECASE)  # TRAIN Batch 0/100: of epoch 0
_UNNAMED = re.compile(r"[^#]{0,40}#.{0,30}?(?:#.*loss|loss.*#)", re.IGNORECASE)  # 10: loss 2.3
_STEADILY = 0.8  # share of the lines from which such a count rises to the next
_TRAINING = re.compile(r"train|(?<!val_)(?<!val )(?<!test_)(?<!test )loss|(?<![a-z])lr(?![a-z])", re.IGNORECASE)
_WORK = re.compile(  # without a word of it, "12/391" may count anything
    r"train|loss|\bacc|\blr\b|(?:img|image|sample|example|tok|token|seq|sequence|word)s?/s"
    r"|(?<![a-z])(?:step|iter|epoch|batch|update)",
    re.IGNORECASE,
)
# A time that is still to come is not the time of a step.
_LEFT_OVER = re.compile(r"(?<![a-z])(?:eta|remain|left)[a-z_]*\W{0,6}?[#@]", re.IGNORECASE)
_UNIT = r"(?:m|u|n|µ)?s|secs?|seconds?|msecs?|milliseconds?|mins?|minutes?"
_TIME_OR_RATE = re.compile(
    rf"#\s?(?:{_UNIT})(?![\w/])"
    rf"|#\s?(?:{_UNIT})/[a-z]"
    r"|#\s?[a-z]{0,20}/(?:s|sec|second)\b"
    r"|(?:(?:time(?!stamp|out|zone)|elapsed|(?<![a-z])(?:duration|latency|throughput|speed)|per[_ ]?sec)\w{0,20}"
    r"|[a-z]/s(?:ec)?(?:/\w{1,20})?(?!#)|(?<![a-z])(?:took|[ftiu]ps|dt|ms|sec|seconds))"
    r"(?: per \w{1,20})?[\"')\]]*(?:\s?[(\[][^()\[\]#]{1,20}[)\]])?\s?[:=|~]?\s?[\"(]?\s?#"
    r"|(?:elapsed|took)\W{0,3}@",
    re.IGNORECASE,
)
# The time of a step in a line that does not say which, as a skeleton: `iteration took # s`, `time of this step: # ms`.
_OF_STEP = r"(?:iteration|iter|step|(?<!mini)batch)"
_SECONDS = r"\s?[:=]?\s?#\s?(?:ms|msecs?|milliseconds?|s|secs?|seconds?)(?![\w/])"
_NO_MEAN = r"(?<!per )(?<!avg )(?<!mean )(?<!average )(?<!median )(?<!total )(?<![a-z])"
TIMED_STEP = re.compile(
    rf"{_NO_MEAN}{_OF_STEP}(?:[_ ](?:time|duration))?(?: took)?{_SECONDS}"
    rf"|{_NO_MEAN}time (?:taken )?(?:for|of) (?:one |each |the |this )?{_OF_STEP}{_SECONDS}",
    re.IGNORECASE,
)
_TIMED_TRAINING = re.compile(r"(?<![\w./-])# epochs (?:in|took) #", re.IGNORECASE)  # `# epochs in #m #s`
_BARE_BAR = re.compile(r"#%[|~ #]*#/# ?\[[#@:]+<[#@:]+, ?#\s?(?:it/s|s/it)")  # of tqdm, without a label
_LABELED_BAR = re.compile(r"#%[|~ #]*#/# ?\[[#@:]+<[#@:]+, ?#\s?[A-Za-z]{1,12}/[A-Za-z]")
_LEAST_BARS = 3  # that are drawn when they are full: their count does not rise
# Work beside training: before the count, or in a line without a word of training.
ELSEWHERE = re.compile(
    r"load|fetch|\bmap\b|mapping|filter|tokeniz|generating|extract|saving|saved|checkpoint|compil|(?<!retri)eval"
    r"|(?<![a-z])val|(?<![a-z])test|infer|predict|convert|preprocess|indexing|cach|profil|attempt|retr(?:y|ies)|shard"
    r"|warm",
    re.IGNORECASE,
)
# These say where a line was printed, not what was done: `test.py:108`, and a logger called `models.train_eval - INFO`.
SOURCE_FILE = re.compile(r"\b\w+\.py\b|(?<![\w.])[A-Za-z_]\w*(?:\.\w+)* - (?=(?:INFO|DEBUG)\b)")
# What a validation gave, beside the epoch: `Epoch 3 | time 20.5 s | valid acc 0.5`.
VALIDATED = re.compile(
    r"(?<![a-z])(?:val|valid|validation|test|dev)[ _-](?:acc(?:uracy)?|loss|f1|auc|err(?:or)?)(?![a-z])", re.IGNORECASE
)
_GLOG = re.compile(r"[IWE]\d{4} [\d:.]+ +\d+ [\w./-]{1,80}:\d+\] (?=\[\d)")  # before a count that no word names
_SHARE_OF_VALID = re.compile(r"(?<![a-z])valid: #%", re.IGNORECASE)  # of what was generated: `Valid: 98% Step: 3`
_TIME_OF_EPOCH = re.compile(
    r"(?<![a-z_])(?<!val )(?<!valid )(?<!validation )(?<!eval )(?<!test )ep(?:och)?[_ ](?:time|duration)(?![a-z])",
    re.IGNORECASE,
)


class Recurring(NamedTuple):
    """Lines of one skeleton that look like training."""

    skeleton: str
    example: str  # the first of them
    first: int  # its number
    last: int
    lines: int
    by_word: bool  # whether a word such as "step" names what is counted


class _Traits(NamedTuple):
    """What a skeleton shows."""

    counts: tuple[int, ...]  # which of its numbers count steps or epochs
    by_word: bool
    timed: bool
    unnamed: bool = False  # whether the first of them is only known by its place, at the beginning of the line


class _Pattern:
    """The lines of one skeleton so far."""

    __slots__ = ("count", "counters", "example", "falls", "first", "headed", "last", "rises", "timed", "traits")

    def __init__(self, traits: _Traits, number: int, example: str) -> None:
        self.traits, self.first, self.last, self.example = traits, number, number, example
        self.count = 0
        self.timed = 0  # records whose time or rate follows in another line
        self.headed = 0  # `count` at the last of them
        self.counters: list[float] = []  # the values of `traits.counts` in the last line
        self.rises = [0] * len(traits.counts)
        self.falls = [0] * len(traits.counts)

    def take(self, number: int, values: list[str]) -> None:
        """Counts a line of this skeleton, with its number and the numbers in it."""
        self.count += 1
        self.last = number
        counters = [float(values[index]) for index in self.traits.counts if index < len(values)]
        for i, (before, value) in enumerate(zip(self.counters, counters, strict=False)):
            self.rises[i] += value > before
            self.falls[i] += value < before
        self.counters = counters

    @property
    def rises_steadily(self) -> bool:
        """Whether a count that no word names rises from nearly each line to the next."""
        return self.count >= RECURS and any(up >= _STEADILY * (self.count - 1) for up in self.rises)

    @property
    def is_training(self) -> bool:
        """Whether a count rises or cycles from line to line, and the records have a time or a rate."""
        if self.traits.unnamed:
            return False
        rising = any(up >= RECURS - 1 and 2 * up >= down for up, down in zip(self.rises, self.falls, strict=True))
        return rising and self.count >= RECURS and (self.traits.timed or self.timed >= max(RECURS, 0.8 * self.count))


class RecurringLines:
    """Counts lines by skeleton.  It is given those lines of a text that no format took."""

    def __init__(self) -> None:
        self.searched = 0  # bytes
        self.looked_at = 0  # lines
        self._patterns: dict[str, _Pattern] = {}
        self._heading: _Pattern | None = None  # of the last line that counts and has no time

    @property
    def sampled(self) -> bool:
        """Whether lines may have been left out."""
        return self.looked_at >= ALL_LINES or self.searched >= _ALL_BYTES

    def look(self, text: bytes, spans: Iterable[Sequence[int]], first: int) -> None:
        """Looks at the lines of some spans of a text.  `first` is the number of the first line of the text."""
        number, counted = first, 0  # the line of the position up to which line ends are counted
        lines_left, bytes_left = _SAMPLE_LINES, _SAMPLE_BYTES
        if not self.sampled:
            lines_left, bytes_left = ALL_LINES - self.looked_at, _ALL_BYTES - self.searched
        for start, end in spans:
            end = min(end, start + bytes_left)
            bytes_left -= end - start
            self.searched += end - start
            span = text if end - start == len(text) else text[start:end]
            done = 0
            for _, hit, _ in FINDER.find_matches_as_indexes(span):
                if hit < done:
                    continue
                begin = span.rfind(b"\n", done, hit) + 1 or done
                done = span.find(b"\n", hit) + 1 or len(span)
                number += text.count(b"\n", counted, start + begin)
                counted = start + begin
                lines_left -= 1
                raw = span[begin:done].rstrip()
                if CURSOR_UP in raw:
                    raw = raw.replace(CURSOR_UP, b"\r")
                for piece in pieces(raw)[:_MOST_PIECES] if b"\r" in raw or MPI_TAG in raw else (raw,):
                    self._take(piece[:_LONGEST], number)
                if not lines_left:
                    return
            if bytes_left <= 0:
                return

    def training(self) -> list[Recurring]:
        """What recurs and looks like training, in the order of the text; of many the most frequent."""
        patterns = [(skeleton, pattern) for skeleton, pattern in self._patterns.items() if pattern.is_training]
        patterns = sorted(patterns, key=lambda item: -item[1].count)[:_MOST_REPORTED]
        return sorted(
            (Recurring(skeleton, p.example, p.first, p.last, p.count, p.traits.by_word) for skeleton, p in patterns),
            key=lambda recurring: (recurring.first, recurring.skeleton),
        )

    @property
    def counts_up(self) -> bool:
        """Whether lines recur that count steps or epochs upwards, with a time or without: worth a second read.

        A bar without a label may count them, too: that shows only by the lines between.  So may one of training that is
        drawn only when it is full.
        """
        return any(
            (any(pattern.rises) and not pattern.traits.unnamed)
            or (pattern.traits.unnamed and pattern.rises_steadily)
            or (pattern.count >= RECURS and _BARE_BAR.match(skeleton))
            or (pattern.count >= _LEAST_BARS and _is_bar_of_training(skeleton))
            for skeleton, pattern in self._patterns.items()
        )

    @property
    def times_steps(self) -> bool:
        """Whether lines recur that time a step and do not say which, or each a whole training."""
        return any(
            pattern.count >= RECURS and (TIMED_STEP.search(skeleton) or _TIMED_TRAINING.search(skeleton))
            for skeleton, pattern in self._patterns.items()
        )

    @property
    def states_means(self) -> bool:
        """Whether a line states the mean time of a step, or that of a training and how many epochs it had."""
        skeletons = [skeleton for skeleton, pattern in self._patterns.items() if pattern.traits.timed]
        return any(map(MEAN_OF_STEPS.search, skeletons)) or any(map(TIME_AND_EPOCHS.search, skeletons))

    def _take(self, raw: bytes, number: int) -> None:
        """Counts one line."""
        self.looked_at += 1
        shape = shape_of(raw)
        if shape in _OTHERS:
            return
        text = raw.decode("utf-8", "replace")
        if "\x1b" in text:
            text = ANSI.sub("", text)
        named = with_names(text)  # before `[12]` of an epoch is taken for a rank
        named = with_names(without_prefix(text, shape)[0].strip()) if named == text else named
        text = in_english(named.strip())
        in_array = text[:1] != "[" or text.endswith("],")  # `[09:00:00] step=10, loss: 2.3,` begins with a stamp
        if text[:1] in _JSON_STARTS and text.endswith(",") and in_array:  # a part of a document, not a record
            _OTHERS.keep(shape, True)
            return
        if text[:1] in "IWE" and (logger := _GLOG.match(text)):
            text = text[logger.end() :]
        parts = _NUMBER.split(_without_times(text))
        skeleton = "#".join(parts[::2]).replace("-#", "#")
        pattern = self._patterns.get(skeleton)
        if pattern is None:
            traits = _traits_of(skeleton)
            if not traits.counts and not traits.timed:
                _OTHERS.keep(shape, True)
                return
            pattern = self._new_pattern(skeleton, _Pattern(traits, number, text))
        pattern.take(number, parts[1::2])
        heading = self._heading
        if not pattern.traits.timed:
            self._heading = pattern
        elif heading and not pattern.traits.counts and number - heading.last <= _RECORD:
            heading.timed += heading.headed < heading.count
            heading.headed = heading.count

    def _new_pattern(self, skeleton: str, pattern: _Pattern) -> _Pattern:
        """Keeps a pattern.  Of too many, the rarer half is dropped, of equally rare ones those unseen for longest."""
        if len(self._patterns) >= KEPT:
            by_use = sorted(self._patterns.items(), key=lambda item: (item[1].count, item[1].last))
            self._patterns = dict(by_use[KEPT // 2 :])
        self._patterns[skeleton] = pattern
        return pattern


def skeleton_of(text: str) -> tuple[str, list[str]]:
    """A line with `#` in place of each number, also within dates and bars, and these numbers."""
    text = text.replace("#", " ")
    return _WHOLE_NUMBER.sub("#", text), _WHOLE_NUMBER.findall(text)


def _is_bar_of_training(skeleton: str) -> bool:
    bar = _LABELED_BAR.search(skeleton)
    label = skeleton[: bar.start()] if bar else ""
    return _TRAINING.search(label) is not None and not ELSEWHERE.search(label)


def _masked(found: re.Match[str]) -> str:
    return "~" * len(found[0])


def _without_times(text: str) -> str:
    """A line in which dates, times of day and progress bars are masked, with single blanks."""
    text = text.replace("#", " ")
    if ":" in text:
        text = _CLOCK.sub("@", text)
    if "nan" in text or "NaN" in text:
        text = _NAN.sub("0", text)
    if not text.isascii() or any(part in text for part in _BAR_IN_ASCII):
        text = BAR.sub("~", text)
    return " ".join(text.split())


@functools.lru_cache(maxsize=1 << 12)  # the logs of a folder have the same lines
def _traits_of(skeleton: str) -> _Traits:
    """What a skeleton shows; no count where it is about something other than training."""
    by_word = [match.start(1) for match in _COUNT_BY_WORD.finditer(skeleton)]
    of_all = [match.start(match.lastindex or 1) for match in _COUNT_OF_ALL.finditer(skeleton)]
    of_all += [match.start(1) for match in _BATCH_OF_EPOCH.finditer(skeleton)]
    positions = sorted({*by_word, *(of_all if of_all and (by_word or _WORK.search(skeleton)) else ())})
    if not positions and _UNNAMED.match(skeleton) and not ELSEWHERE.search(skeleton):
        return _Traits((0, 1), False, True, unnamed=True)
    if not positions:
        return _Traits((), False, bool(_TIME_OR_RATE.search(_LEFT_OVER.sub("", skeleton))))
    training = _TRAINING.search(skeleton)
    searched = skeleton
    if ".py" in skeleton or " - " in skeleton:
        searched = SOURCE_FILE.sub(_masked, searched)
    if "alid: #%" in skeleton:
        searched = _SHARE_OF_VALID.sub(_masked, searched)
    if "poch" in skeleton and (time := _TIME_OR_RATE.search(skeleton)):
        before = 0 if _TIME_OF_EPOCH.search(skeleton) else time.end()
        searched = searched[:before] + VALIDATED.sub(_masked, searched[before:])
    if (other := ELSEWHERE.search(searched)) and (other.start() < positions[0] or not training):
        return _Traits((), False, False)
    without_counts = "".join("%" if position in positions else character for position, character in enumerate(skeleton))
    timed = bool(_TIME_OR_RATE.search(_LEFT_OVER.sub("", without_counts)))
    timed = timed or bool("@" in skeleton[:40] and training)  # a time of day at each step shows how long steps take
    return _Traits(tuple(skeleton.count("#", 0, position) for position in positions), bool(by_word), timed)
