"""What the name of a column means: its role, and the unit of its numbers.

A name is taken apart into words and a unit (`stepTime (ms)`, `iter_time_us`, `ms_per_step`, `img/s/gpu`).  The words
that are left are looked up in the table of roles.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.tabular.role_table import BY_NAME, UNITS_OF_KIND

# Names that only mean "a time": the values decide which time it is, or the user does.
_ANY_TIME = (
    "time", "duration", "wall_time", "walltime", "wall", "wall_clock", "took", "time_taken", "time_used", "time_spent",
    "time_cost", "cost_time", "time_diff", "dur", "completed_in", "complete_in", "finished_in", "done_in", "ended_in",
    "took_time", "used_time", "use_time", "spent_time", "spend_time", "time_in", "time_spend",
    "consumes", "consumed", "time_consumes", "time_consumed", "time_consuming", "time_consumption",
    "time_train", "time_training",
)  # fmt: skip
ANY_RATE = ("throughput", "ips", "speed", "tps")
_STEMS = {
    **dict.fromkeys(("step", "batch", "iter", "iteration", "minibatch"), "batch_time"),
    "epoch": "epoch_time", "data": "data_time",
}  # fmt: skip

_TIME_OF = re.compile(r"\A(?:time|timing)s?_(?=.)")  # of what stands after it: `time.step_s`, `timing/data_ms`

SPELLINGS = {
    "s": "s sec secs second seconds", "ms": "ms msec msecs millis millisecond milliseconds",
    "us": "us usec usecs \u00b5s \u03bcs microsecond microseconds", "ns": "ns nsec nsecs nanosecond nanoseconds",
    "min": "mins minute minutes", "h": "hr hrs hour hours", "%": "% pct percent", "bytes": "bytes byte",
    "KiB": "kib", "MiB": "mib", "GiB": "gib", "KB": "kb", "MB": "mb", "GB": "gb",
    "W": "w watt watts", "J": "j joule joules", "MHz": "mhz",
}  # fmt: skip
SPELT = {spelling: unit for unit, text in SPELLINGS.items() for spelling in text.split()}

_TIMED = {"time", "duration", "elapsed", "runtime", "walltime", "wallclock"}  # of which `h` at the end is the unit
_MEANS = {"avg", "average", "mean"}
_PLAIN = {*_MEANS, "loss", "train", "training"}
_TOTAL = {"total", "tot", "all", "overall", "combined"}
_VALIDATION = {"val", "valid", "validation", "eval", "evaluation", "test", "dev"}
_OTHER_LOSS = {
    "best", "min", "max", "lowest", "std", "target", "stop", "aux", "auxiliary", "reg", "regularization", "kl", "z",
    "balance", "balancing", "entropy", "commitment",
}  # fmt: skip

_WITHIN = re.compile(
    r"(?:(?:metrics|scalars|values|extras?|payload|fields|record|logs?|perf|performance|data(?=\.(?!time(?!\.))))\.)+"
)  # what objects are called that hold the numbers of a record
_GROUP = re.compile(
    r"\A(?:perf|performance|trainer|optim|optimizer)/(?=.)"
)  # in which charts of trackers stand together
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BRACKETS = re.compile(r"[(\[{]\s*([^()\[\]{}]*?)\s*[)\]}]\s*$")
_SLASH = re.compile(
    r"(?<![a-z])(s|secs?|seconds?|ms|us|time|images?|imgs?|samples?|examples?|seqs?|sequences?|tokens?|toks?|tflops?"
    r"|steps?|iters?|iterations?|batch(?:es)?|updates?|epochs?)"
    r"/(?=(?:s|sec|second|gpu|device|rank|gcd|it|iter|iteration|step|batch|b)(?![a-z_]))"
)
_PER_SECOND = re.compile(r"(?<=[a-z])/s(?:ecs?|econds?)?\Z")
_RATE_IN_SHORT = re.compile(  # throughput_img_s
    r"(?:(?:global|total|mean|avg)_)?(?:throughput|speed|rate)_(?:im(?:age|g)s?|samples?|examples?|seqs?|tok(?:en)?s?)_s"
)
_RATE = re.compile(
    r"(?:(?P<before>global|total|overall|aggregate|local)_)?(?:throughput_)?"
    r"(?P<what>images|image|imgs|img|samples|sample|examples|sequences|seqs|tokens|token|toks|tok)_per_s"
    r"(?P<per>_per_(?:gpu|device|rank|gcd|worker|accelerator))?(?:_(?P<after>global|total))?"
)


class _NameReading(NamedTuple):
    """What a name means.  The role is `time` where the name leaves open which time it is."""

    role: str | None
    unit: str | None = None


def words_of(name: str) -> tuple[str, str | None]:
    """A name as words joined by `_`, and its unit if it has one: `stepTime (ms)` is `step_time`, `ms`."""
    unit: str | None = None
    spelled = name.strip().replace("AdamW", "Adamw")  # an optimizer, and not watts
    text = _GROUP.sub("", _CAMEL.sub("_", spelled).lower(), count=1).replace(" / ", "/")
    if match := _BRACKETS.search(text):
        unit, text = "h" if match[1] == "h" else SPELT.get(match[1]), text[: match.start()]
        if unit is None:
            rate = _PER_SECOND.sub("_per_s", match[1])  # `speed [words/sec]` has no unit of time
            text = f"{'' if _SLASH.search(match[1]) else text}_{rate}"
    while _SLASH.search(text):
        text = _SLASH.sub(r"\1_per_", text)
    if (inner := _WITHIN.match(text)) and text[inner.end() :]:
        text = text[inner.end() :]
    words = [word for word in re.split(r"[^\w%@]+|_", text) if word]
    words = [SPELT[word] if k and words[k - 1] == "per" and word in SPELT else word for k, word in enumerate(words)]
    if len(words) > 1 and words[0] in ("train", "training"):
        del words[0]
    if len(words) > 1 and words[-1] == "is":  # `time consumption is 4.01`
        words.pop()
    if words[-1:] == ["s"] and _RATE_IN_SHORT.fullmatch("_".join(words)):
        words[-1:] = ["per", "s"]
    if unit is None and len(words) > 1 and words[-1] in SPELT and words[-2] != "per":
        unit = SPELT[words.pop()]
        if len(words) > 1 and words[-1] == "in":
            words.pop()
    if unit is None and len(words) > 1 and words[-1] == "h" and words[-2] in _TIMED:  # total_time_h
        unit = words.pop()
    if unit is None and len(words) > 2 and words[1] == "per" and words[0] in SPELT:  # ms_per_step
        unit, words[0] = SPELT[words[0]], "time"
    return "_".join(words), unit


_OF_BYTES = ("MBs", "GBs")  # and not mbs and gbs, which are batches


_OF_A_SET = re.compile(r"[a-z]S\Z")  # `clsS` beside `clsT`: of the source and of the target, or of a student


@functools.lru_cache(maxsize=4096)  # each line of a log repeats the same names
def read_name(name: str) -> _NameReading:
    """The role that a name claims, and its unit."""
    stem, unit = words_of(name)
    if rate := _RATE.fullmatch(stem):
        scope = "rank" if rate["per"] or rate["before"] == "local" else None
        scope = scope or ("global" if rate["before"] or rate["after"] else None)
        return _NameReading("tokens_per_s" if rate["what"].startswith("tok") else "samples_per_s", scope)
    if unit in UNITS_OF_KIND["time"] and (what := _TIME_OF.sub("", stem)) in _STEMS:
        return _NameReading(_STEMS[what], unit)
    if stem in _ANY_TIME and (unit is None or unit in UNITS_OF_KIND["time"]):
        return _NameReading("time", unit)
    if len(stem) > 1 and SPELT.get(stem) in ("s", "ms"):
        return _NameReading("time", SPELT[stem])
    role = BY_NAME.get(stem) if name.strip() not in _OF_BYTES else None
    fits = role is not None and (unit is None or unit in UNITS_OF_KIND.get(role.kind, ()))
    if role is None and unit == "s" and _OF_A_SET.search(name):
        return _NameReading(None, None)
    return _NameReading(role.name if role and fits else None, unit)


def loss_of(names: Iterable[str]) -> str | None:
    """The column that is the loss, where none is called so: the total of several, their mean, or the only one.

    The best loss so far, one of validation, or one that is added to the loss is never it.
    """
    words = {name: words_of(name)[0].split("_") for name in names if "loss" in name.lower()}
    losses = [name for name in words if not _VALIDATION.intersection(words[name])]
    named = [name for name in losses if words[name][-1] == "loss" or _TOTAL.issuperset(words[name][1:])]
    totals = [name for name in named if _TOTAL.intersection(words[name])]
    means = [name for name in named if _MEANS.intersection(words[name]) and _PLAIN.issuperset(words[name])]
    only = totals or means or (named if len(losses) == 1 else [])
    return only[0] if len(only) == 1 and not _OTHER_LOSS.intersection(words[only[0]]) else None


def metric_unit(name: str, unit: str | None, role: str | None = None) -> str | None:
    """Unit of a number that stays a metric; that of a rate names what is counted, and whether it is of one device.

    `role` is what the column was read as, if its name does not say it.
    """
    named, scope = read_name(name)
    rate = {"tokens_per_s": "tokens/s", "samples_per_s": "samples/s"}.get(role or named or "")
    if rate and "rank" in (unit, scope):
        return f"{rate}/device"
    return rate or (None if unit in (*UNITS_OF_KIND["rate"], "1") else unit)
