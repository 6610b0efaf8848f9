"""Which quantity the words around a number name, and which columns have it.

A column fits in two steps.  If it has a quantity that the words name, its values may be what is printed.  If it also
has the same qualifiers, such as a mean, a 95th percentile or "per device", it is what the words say.
"""

import re
from functools import cache
from typing import NamedTuple

from scalelens.audit.warehouse.measures import SHARE
from scalelens.audit.warehouse.values import KnownValue
from scalelens.report.text.table_columns import header


class _Quantity(NamedTuple):
    measure: str
    words: re.Pattern[str]
    columns: re.Pattern[str]


def _quantity(measure: str, words: str, columns: str) -> _Quantity:
    return _Quantity(measure, re.compile(words, re.IGNORECASE), re.compile(rf"(?:{columns})(?:_low|_high)?"))


_QUANTITIES = (
    _quantity("s", r"\b(step|iteration|batch|mini-?batch)", r"(\w+_)?step_s|(mean|p\d+|fast|elbow|departure)_s"),
    _quantity("s", r"\bepochs?\b", r"\w*epoch_s|extra_s|first_batch_s"),
    _quantity("s", r"time[- ]to[- ]\w+|train(ing)? time|\bmin(utes)?\b|\bscores?\b", r"minutes|time_to_target_s"),
    _quantity("samples/s", "", r"\w*samples_per_s"),
    _quantity("tokens/s", "", r"\w*tokens_per_s"),
    _quantity("FLOP/s", "", r"\w*tflops\w*"),
    _quantity("samples/J", "", r"(samples|batch)_per_wh"),
    _quantity("tokens/J", "", "tokens_per_wh"),
    _quantity("J", "", r"\w+_(j|wh)"),
    _quantity("W", "", r"\w+_w"),
    _quantity(SHARE, r"efficien|of (the )?(ideal|linear|perfect)", "efficiency"),
    _quantity(SHARE, r"speed-?up|\bfaster\b|\btimes\b|[×x]\b|-fold", "speedup"),
    _quantity(SHARE, r"\bgoodput\b", "goodput"),
    _quantity(SHARE, r"\bMFU\b|model FLOPs? utili", "mfu"),
    _quantity(SHARE, r"\bHFU\b|hardware FLOPs? utili", "hfu"),
)  # fmt: skip
_PER_DEVICE = r"(per|each|/) ?(\w+ )?(device|gpu|gcd|ipu|hpu|chip|accelerator)\b"
_QUALIFIERS = {
    "mean": r"\b(mean|average|avg)\b",
    **{f"p{k}": rf"\bp{k}\b|\b{k}(th|\.)? ?percentile|\b{k} ?%[- ]quantile" for k in (5, 25, 75, 95, 99)},
    "first": r"\bfirst\b", "later": r"\blater\b|\bfollowing\b|\bother\b", "extra": r"\bextra\b",
    "device": _PER_DEVICE, "node": r"(per|each|/) ?node\b",
    "printed": r"\b(printed|logged|as reported)\b", "reported": r"\breported\b", "peak": r"\bpeak\b",
    "hardware": r"\bhardware\b", "fast": r"\bfast mode\b", "elbow": r"\belbow\b", "departure": r"\bdepart",
    "low": r"\blow(er|est)?\b", "high": r"\b(high|upp)er\b|\bhighest\b", "from": r"\bbefore\b", "to": r"\bafter\b",
    "tdp": r"\bTDP\b|power limit", "epoch": r"\bepochs?\b", "total": r"\btotal\b",
    # No column has these qualifiers: a number with one of them is never compared with another quantity.
    "part": r"\b(forward|backward|optimi[sz]er|data[ -](load\w*|wait\w*|time)|input|idle|communicat\w+|comput\w+|"
    r"checkpoint\w*|evaluat\w+|validat\w+|compil\w+|cop(y|ies))\b",
    "spread": r"\b(standard deviation|std|variance|jitter|minimum|maximum|max|fastest|slowest|shortest|longest)\b",
    "supposed": r"\b(theoretical\w*|(?<!as )(?<!than )expect(?:s|ed)?|predict\w+|estimat\w+|target|would)\b",
}  # fmt: skip
_PATTERNS = {name: re.compile(words, re.IGNORECASE) for name, words in _QUALIFIERS.items()}
_WORD_OF_COLUMN = {"unit": "device"}
_IGNORED = {"FLOP/s": {"device"}, "s": {"total"}}  # qualifiers that mean nothing for a measure


def holds(known: KnownValue, words: str) -> bool:
    """Whether a column has a quantity that the words name."""
    kinds = [kind for kind in _quantities_of(known.column) if kind.measure == known.measure.name]
    if kinds:
        return any(kind.words.search(words) for kind in kinds)
    return _names_header(known.column, words)


@cache
def _quantities_of(column: str) -> list[_Quantity]:
    return [kind for kind in _QUANTITIES if kind.columns.fullmatch(column)]


@cache
def _names_header(column: str, words: str) -> bool:
    """Whether the text has all words of a column's header."""
    text = words.lower()
    return all(re.search(rf"\b{re.escape(word.lower())}", text) for word in header(column).split())


def is_said(known: KnownValue, words: str) -> bool:
    """Whether the words name this column, and not another one of the same quantity."""
    ignored = _IGNORED.get(known.measure.name, set())
    if not _quantities_of(known.column) or not holds(known, words):
        return False
    return _qualifiers_of_column(known.column) - ignored == _qualifiers_of_words(words) - ignored


@cache
def _qualifiers_of_column(column: str) -> set[str]:
    parts = {_WORD_OF_COLUMN.get(part, part) for part in column.split("_")}
    return parts & _QUALIFIERS.keys() - ({"to"} if "time_to" in column else set())


@cache
def _qualifiers_of_words(words: str) -> set[str]:
    return {name for name, pattern in _PATTERNS.items() if pattern.search(words)}
