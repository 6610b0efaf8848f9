r"""A printed formula of an efficiency or speedup falls with the time of n, or rises with its rate.

`e(n) = \frac{t(n)}{t(1)}` is inverted if the text says that t is a runtime and e an efficiency or a speedup; the same
formula with a throughput is right.  The meaning of a letter comes from the sentence before the formula, and from what
follows `where`.  Without it, nothing is accused.
"""

import re
from collections.abc import Iterator

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number, bounds_of

_NAME = r"\\?(?:tilde|bar|hat|overline|mathrm|text)?\s{0,2}\{?\s{0,2}[A-Za-z]{1,12}\}?(?:_\{?\w{0,12}\}?)?"


def _call(side: str) -> str:
    """The pattern of `t(n)`, `t_n` or `T_{min}`."""
    return rf"(?P<{side}>{_NAME})\s{{0,2}}(?:\((?P<{side}_of>[^()]{{1,12}})\)|_\{{?(?P<{side}_at>\w+)\}}?)"


_LEFT = r"(?<![A-Za-z\\])" + _call("left") + r"\s*(?::=|=|\\equiv)\s*"
_TIMES_DEVICES = r"(?:[nNpP]\s*(?:\\cdot|\\times|\*|·|\\,|\s)\s*)?"
ABOVE, BELOW = _TIMES_DEVICES + _call("above"), _TIMES_DEVICES + _call("below")
_FRACTION = re.compile(_LEFT + rf"\\[dt]?frac\s*\{{\s*{ABOVE}\s*\}}\s*\{{\s*{BELOW}\s*\}}")
_SLASH = re.compile(_LEFT + rf"{ABOVE}\s*/\s*\(?{BELOW}(?![\w(])")
_BASE = re.compile(r"1|0|[a-zA-Z]_?\{?(?:0|1|min|\\min|base|ref|\\mathrm\{min\})\}?|min|base|ref|one|single")
_SHARES = re.compile(r"efficien|speed.?up", re.IGNORECASE)
_TIME = re.compile(r"\b(?:run\s?time|wall.?clock|wall.?time|time|duration|latency)\b", re.IGNORECASE)
_RATE = re.compile(r"\b(?:throughput|rate|performance|speed|flop\S*|images per second|bandwidth)\b", re.IGNORECASE)
CHARACTERS_BEFORE, CHARACTERS_AFTER = 250, 400


def find(document: Document) -> Iterator[Finding]:
    """Formulas of an efficiency or a speedup that are upside down."""
    text = document.text
    if not _SHARES.search(text):
        return
    for pattern in (_FRACTION, _SLASH):
        for match in pattern.finditer(text):
            kind = _meaning_of(text, match)
            upside_down = {"time": _is_base(match, "below") and not _is_base(match, "above"),
                           "rate": _is_base(match, "above") and not _is_base(match, "below")}  # fmt: skip
            if _same_letter(match) and upside_down.get(kind, False):
                yield _finding(text, match, kind)


def _is_base(match: re.Match[str], side: str) -> bool:
    """Whether the argument or index of this side is the base case: 1, 0, n_0, n_{min}."""
    argument = match[f"{side}_of"] or match[f"{side}_at"] or ""
    return bool(_BASE.fullmatch(argument.strip(" $")))


def _same_letter(match: re.Match[str]) -> bool:
    return re.sub(r"[\s{}]", "", match["above"]) == re.sub(r"[\s{}]", "", match["below"])


def _meaning_of(text: str, match: re.Match[str]) -> str:
    """`time` or `rate`: the quantity in a formula of an efficiency or speedup; "" if the text does not say."""
    before = text[max(0, match.start() - CHARACTERS_BEFORE) : match.start()]
    if not _SHARES.search(_last_sentence(before)):
        return ""
    after = text[match.end() : match.end() + CHARACTERS_AFTER]
    letter = re.escape(re.sub(r"[\\{}]", "", match["above"]).strip())
    defined = re.search(
        rf"\bwhere\b[^.]*?\$?{letter}\b[^.]*?\b(?:is|denotes|are|stands for|means)\b([^.]*)", after, re.IGNORECASE
    )
    definition = defined[1] if defined else ""
    time, rate = _TIME.search(definition), _RATE.search(definition)
    if time and (not rate or time.start() < rate.start()):
        return "time"
    return "rate" if rate else ""


def _last_sentence(text: str) -> str:
    """The sentence before the formula."""
    return re.split(r"[.!?]\s+(?=[A-Z])", text.strip(" $\n"))[-1]


def _finding(text: str, match: re.Match[str], kind: str) -> Finding:
    shown = " ".join(match[0].split())
    line = text.count("\n", 0, match.start()) + 1
    column = match.start() - text.rfind("\n", 0, match.start())
    base = match["below_of"] or match["below_at"] if kind == "time" else match["above_of"] or match["above_at"]
    span = bounds_of("1", count=True)
    number = Number(base, span.low, span.high, "", line, column, shown)
    right = "base case by that of n" if kind == "time" else "n devices by that of the base case"
    falls = "rise as the run gets slower" if kind == "time" else "fall as the run gets faster"
    return Finding(
        "inconsistent",
        (number,),
        f"The formula {shown} is inverted: the text says that {match['above']} is a {kind}, so an efficiency or "
        f"speedup would {falls}.  It divides the {kind} of the {right}.",
        "conclusion",
        shown,
    )
