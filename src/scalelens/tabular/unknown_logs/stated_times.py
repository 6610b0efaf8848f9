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
from scalelens.units import ratio

_TIMES = UNITS_OF_KIND["time"]
_LONGEST = 300  # bytes of a line that may state one
_HINTS = ahocorasick_rs.BytesAhoCorasick(
    [
        form.encode()
        for word in ("time", "took", "complete", "finish", "done in", "duration", "real\t")
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
    r"(?:time[ _](?:per|of an|for an|for each|for one|/) ?epoch|(?:secs?|seconds)[ _]per[ _]epoch"
    r"|epoch[ _](?:training[ _])?(?:time|duration)|(?:time|runtime)/epoch"
    r"|time ?[:=] ?\d+(?:\.\d+)? ?(?:s|secs?|seconds?|mins?|minutes?)/epoch)\b",
    re.IGNORECASE,
)
_OF_VALIDATION = re.compile(r"(?<![a-z])(?:val|test|eval|infer)", re.IGNORECASE)
_OF_DAY = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?|(?<![a-z])(?:at|on)(?![a-z])\D{0,3}\d", re.IGNORECASE
)  # completed at 17:56:00
# What a shell, a scheduler or a tracker says of the whole job.
_OF_JOB = re.compile(
    r"(?:real\t(?:(?P<rh>\d+)h)?(?P<rm>\d+)m(?P<rs>\d+\.\d+)s"
    r"|\s*Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): (?:(?P<eh>\d+):)?(?P<em>\d+):(?P<es>\d\d(?:\.\d+)?)"
    r"|(?:Job )?Wall-clock time: (?:(?P<jd>\d+)-)?(?P<jh>\d\d):(?P<jm>\d\d):(?P<js>\d\d)"
    r"|.{0,200}resources_used\.walltime=(?P<ph>\d+):(?P<pm>\d\d):(?P<ps>\d\d).{0,80}"
    r"|\s*Run time : {1,60}(?P<ls>\d+) sec\."
    r"|wandb: {1,20}_runtime (?P<ws>\d+(?:\.\d+)?)"
    r"|\[Finished in (?P<fs>\d+\.\d+)s\])\s*\Z"
)
_IN_SECONDS = {"s": 1.0, "m": ratio("min", "s"), "h": ratio("h", "s"), "d": ratio("d", "s")}
_CLAUSE = re.compile(r"[,;|] ")  # Training time: 14.2 min, Inference time: 3.2 s
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

    def total_of(self, launches: int) -> float | None:
        """Seconds of all trainings together, if the log states those of each; else None."""
        return sum(self.totals) if len(self.totals) == launches else None

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
    """Seconds of a whole training, or of the job that it was, if a line states them."""
    if job := _OF_JOB.match(text):
        parts = {name[-1]: float(value) for name, value in job.groupdict().items() if value}
        return sum(value * _IN_SECONDS[unit] for unit, value in parts.items()) or None
    if not _TOTAL.search(text):
        return None
    if not _OF_A_PART.search(text):
        return only_time(text)
    clauses = [clause for clause in _CLAUSE.split(text) if _TOTAL.search(clause) and not _OF_A_PART.search(clause)]
    return only_time(clauses[0]) if len(clauses) == 1 else None


def mean_of_epoch(text: str) -> tuple[str, float, str] | None:
    """The name, seconds and `stat` of the metric that a line states of all epochs: `Median time per epoch: 1.2s`."""
    match = _MEAN_OF_EPOCH.search(text)
    if match is None or _OF_VALIDATION.search(text):
        return None
    clause = next((clause for clause in _CLAUSE.split(text) if _MEAN_OF_EPOCH.search(clause)), text)
    seconds = only_time(text) or only_time(clause)  # Time consuming: 389.5s, average sec per epoch: 19.5s
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
