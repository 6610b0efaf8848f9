"""Times of a whole training, and means over its epochs, that lines beside its records state with a unit.

    Epoch 12, loss 0.31, time 1.1995         Median time per epoch: 1.2003s
    Epoch 50, loss 0.12, time 1.2011         Training complete in 1m 0s

They show in which unit the times of the records are: these have that mean, or add up to that total.
"""

from typing import NamedTuple

import ahocorasick_rs

from scalelens.parsing import lazy_re as re
from scalelens.tabular.role_table import UNITS_OF_KIND
from scalelens.tabular.unknown_logs.fields import parsed

_TIMES = UNITS_OF_KIND["time"]
_LONGEST = 300  # bytes of a line that may state one
_HINTS = ahocorasick_rs.BytesAhoCorasick(
    [
        form.encode()
        for word in ("time", "took", "complete", "finish", "done in", "duration")
        for form in (word, word.capitalize())
    ],
    implementation=ahocorasick_rs.Implementation.DFA,
)
_TOTAL = re.compile(
    r"total|overall|(?:training|train|trained|experiment|everything)\b.{0,30}(?:took|time|complete|finish|done|duration|in\b)"
    r"|(?:finished|completed|done|ended) (?:the )?training|time (?:taken )?(?:for|of) (?:the )?training",
    re.IGNORECASE,
)
_OF_A_PART = re.compile(
    r"(?<![a-z])(?:epoch|step|iter|batch|fold|val|test|eval|infer|load|predict|data|save|download|compil|left|remain|eta"
    r"|avg|average|mean|median|best|per[ _])|/",
    re.IGNORECASE,
)
_MEAN_OF_EPOCH = re.compile(
    r"(?<![a-z])(?P<which>median|mean|average|avg\.?)[ _](?:training[ _])?"
    r"(?:time[ _](?:per|of an|for an|for each|for one|/) ?epoch"
    r"|epoch[ _](?:training[ _])?(?:time|duration)|(?:time|runtime)/epoch"
    r"|time ?[:=] ?\d+(?:\.\d+)? ?(?:s|secs?|seconds?|mins?|minutes?)/epoch)\b",
    re.IGNORECASE,
)
_OF_VALIDATION = re.compile(r"(?<![a-z])(?:val|test|eval|infer)", re.IGNORECASE)
_OF_DAY = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?|(?<![a-z])(?:at|on)(?![a-z])\D{0,3}\d", re.IGNORECASE
)  # completed at 17:56:00
_SPAN = re.compile(r"(?:(\d+) days?, )?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)\s*\Z")  # Training time 0:12:34
_MOST = 20  # of each kind


class Whole(NamedTuple):
    """How long all records took together."""

    seconds: float
    least: float  # share of it that the times of the records add up to at least: something lies between them
    in_other_unit: float = 0.9  # that share for a unit that the log does not state and that is not the second


class StatedTimes:
    """What the lines of one log state, in seconds."""

    def __init__(self) -> None:
        self.totals: list[float] = []
        self.epoch_means: list[float] = []

    def look(self, raw: bytes) -> None:
        """Notes what a line states that is no record."""
        if len(raw) > _LONGEST or not _HINTS.find_matches_as_indexes(raw):
            return
        text = raw.decode("utf-8", "replace")
        if mean := mean_of_epoch(text):
            self.epoch_means += [mean[1]] if len(self.epoch_means) < _MOST else []
        elif len(self.totals) < _MOST and (total := total_in(text)):
            self.totals.append(total)


def total_in(text: str) -> float | None:
    """Seconds of a whole training, if a line states them."""
    return only_time(text) if _TOTAL.search(text) and not _OF_A_PART.search(text) else None


def mean_of_epoch(text: str) -> tuple[str, float, str] | None:
    """The name, seconds and `stat` of the metric that a line states of all epochs: `Median time per epoch: 1.2s`."""
    match = _MEAN_OF_EPOCH.search(text)
    if match is None or _OF_VALIDATION.search(text):
        return None
    seconds = only_time(text)
    if not seconds:
        return None
    of_median = match["which"].lower() == "median"
    return ("median epoch time", seconds, "value") if of_median else ("epoch time", seconds, "mean")


def only_time(text: str) -> float | None:
    """Seconds of the one time with a unit in a line; None where there are several, or none."""
    if (span := _SPAN.search(text)) and not _OF_DAY.search(text):
        days, hours, minutes, seconds = (float(part or 0) for part in span.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    times = [field.value * _TIMES[field.unit] for field in parsed(text).fields if field.unit in _TIMES and field.value]
    return times[0] if len(times) == 1 else None
