"""Finds the numbers in a line of text, with the units after them.

Digits that measure nothing are skipped: those in names (A100, ResNet-50), versions, dates, links and references, and
the numbers of figures, tables and sections.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from scalelens.audit.printed import Number
from scalelens.audit.units import canonical

_NUMBER = re.compile(
    r"(?<![\w.,/^_\-–\[#:§])"  # not within a name, a range, a reference
    r"[-+\u2212]?\d+(?:[,'\u00a0\u2009\u202f ]\d{3}(?!\d))*(?:\.\d+)?"  # 1,024 or 2 130 or 0.90
    r"(?:[eE][-+]?\d{1,2}(?!\w)|\s?(?:\\times|×|·)\s?10\s?\^\s?\{?[-+]?\d{1,2}\}?)?"  # 2.5e3, 2.5 × 10^3
    r"(?:\s?(?:thousand|million|billion|trillion)\b|(?:k|M|B|T)\b(?!/))?"  # 1.3 million, 117M
    r"(?!\w*[-_]?\d)(?!\.\d)"  # not the beginning of a name, a date, a version
)
_MULTIPLE = re.compile(
    r"\s?(?:x|X|×|\\times)(?![\w\d]|\s?10\s?\^|\s\d|\s[A-Z]{2,3}\s?\d)|-?\s?fold\b|\s+times\b|\s?[倍배]"
)
_UNIT = re.compile(
    r"(?:(?<=[\d}])\$)?[\s~\\,-]?\s?(per\s?cent|%|\\%|[A-Za-zµμ][A-Za-zµμ\-]*(?![A-Za-zµμ\d]))"
    r"((?:\s?/\s?|\s+per\s+)(?:[A-Za-z]+))?((?:\s?/\s?|\s+per\s+)(?:[A-Za-z]+))?"
)
_NOT_MEASURED = re.compile(
    r"(?:\b(?:fig(?:ure)?s?|tab(?:le)?s?|sec(?:tion)?s?|chapters?|eqs?|equations?|appendix|version|v|page|pages|pp|vol|no|"
    r"step|epoch|rank|seed|layer|algorithm|listing|line|part|day|january|february|march|april|may|june|july|august|september|"
    r"october|november|december|ref|refs|lines|rtx|gtx|geforce|radeon|quadro|xeon|epyc|ryzen)\.?[\s~]*(?:\(|\\ref\{\w*\})?)$",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^#{1,6} +\d+(?:\.\d+)*\.?(?= )|"  # the number of a section
    r"https?://\S+|www\.\S+|doi:\S+|`[^`]*`|\b\d{1,4}([-/.])\d{1,2}\1\d{2,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|"
    r"\\(?:cite|ref|label|includegraphics|input|bibitem)\w*(?:\[[^\]]*\])?\{[^}]*\}|\[\d+(?:\s?[,–-]\s?\d+)*\]"
)
_LINK = re.compile(
    r"\[(?!\d+\])(?=[^\[\]]*\]\()"
)  # "[13.9 % from ...](https://...)" is prose, "[12](#ref)" a reference
_SHORT_UNIT = r"(?: ?(?:%|x|[A-Za-z/]{1,8}))?"
_QUOTED = re.compile(  # a measured number, or a change from one to another, is not code
    rf"`([-+\u2212]?\d[\d,]*(?:\.\d+{_SHORT_UNIT}|%| ?(?:bytes|[kKMGT]i?B|ms|tokens|kWh))"
    rf"(?: ?(?:→|->) ?\d[\d,]*\.\d+{_SHORT_UNIT})?)`"
)
_YEAR = re.compile(r"(?:19[89]|20[0-3])\d")  # 2048 is a batch size
_CITED = re.compile(r"\b[A-Z][a-z][\w'’-]+(?: et al\.)?,? \(?$")  # "(Miller, 1956; Craik & Lockhart, 1972)"
_COUNTED_THING = re.compile(
    r"\b(?:stage|phase|run|round|case|config|level|option|experiment|test|exp)\s$", re.IGNORECASE
)
_DEGREE = re.compile(r"(?:\b[TDCE]P\s?=?\s?\d+\W.{0,6}|[×x,] )PP\s?=?\s?$")  # "TP 8 x PP 8": not pages
_MOST_CHARACTERS = 24  # a longer one is an identifier
_WORDS_BEFORE = 40  # characters
_HEDGES = {
    "about": re.compile(
        r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.|order of|~|≈|∼|\\sim|[约約近])"
        r"[\s$\\]*$",
        re.IGNORECASE,
    ),
    "bound": re.compile(
        r"(?:up ?to|over|above|below|under|(?:more|less|fewer) than|at least|at most|exceed\w*|beyond|within|"
        r"(?<![-=])[<>≤≥]|超过|至少|不到|最多|高达|超過)"
        r"[\s$\\]*(?:a |an )?$",
        re.IGNORECASE,
    ),
}
_AT_LEAST = re.compile(r"\+(?=[\s).,;:|]|\Z)")  # 85%+, 100+ clients


_SPELLED = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "sixteen": 16, "thirty-two": 32, "sixty-four": 64,
}  # fmt: skip
_WORDS = re.compile(rf"\b({'|'.join(_SPELLED)})\b(?: (\w+))?", re.IGNORECASE)
_TIMES = ("s", "min", "h", "d")


@dataclass(frozen=True)
class _Numeral:
    """A number in a text: its position (start, end with its unit), digits, unit, and how exact it is."""

    start: int
    end: int
    text: str
    unit: str
    hedge: str


def _without_noise(text: str) -> str:
    """The text with blanks for links, code, dates and references, so that positions stay the same."""
    return _NOISE.sub(
        lambda found: _QUOTED.sub(r" \1 ", found[0]) if _QUOTED.fullmatch(found[0]) else " " * len(found[0]),
        _LINK.sub(" ", text),
    )


def numerals(text: str) -> list[_Numeral]:
    """The numbers of a text in their order."""
    clean = _without_noise(text)
    result = []
    for match in _NUMBER.finditer(clean):
        before = clean[max(0, match.start() - _WORDS_BEFORE) : match.start()]
        end, unit = _unit_after(clean, match.end())
        measured = before.endswith("(") and ("." in match[0] or unit)  # "per step (19.6 %)"
        measured = measured or (unit in _TIMES and end == match.end() + len(unit))  # "a step 984s long"
        measured = measured or bool(_DEGREE.search(before))
        named = len(match[0]) > _MOST_CHARACTERS or (not measured and _NOT_MEASURED.search(before))
        named = named or (re.search(r"\d \d", match[0]) and _COUNTED_THING.search(before))  # "stage 1 148 s"
        cited = bool(re.fullmatch(r"1[89]\d\d|20\d\d", match[0]) and _CITED.search(before))
        if named or ((cited or _YEAR.fullmatch(match[0])) and not unit):
            continue
        hedge = next((name for name, words in _HEDGES.items() if words.search(before)), "")
        hedge = "bound" if _AT_LEAST.match(clean, end) else hedge
        result.append(_Numeral(match.start(), end, match[0].strip(), unit, hedge))
    return result


def number_words(text: str, line: int) -> list[tuple[Number, int]]:
    """The numbers that a sentence spells out, and where each begins: "four servers with eight cards each"."""
    return [
        (Number(match[1], Decimal(size), Decimal(size), canonical(match[2] or ""), line, 1, text), match.start())
        for match in _WORDS.finditer(text)
        if (size := _SPELLED[match[1].lower()]) and (size > 1 or canonical(match[2] or "") in _TIMES)
    ]


def _unit_after(text: str, end: int) -> tuple[int, str]:
    """End and spelling of the unit after a number; "x" of a multiple, "" if there is none."""
    if multiple := _MULTIPLE.match(text, end):
        return multiple.end(), "x"
    found = _UNIT.match(text, end)
    if not found:
        return end, ""
    first = re.sub(r"per\s?cent|\\%", "%", found[1])
    for last in (3, 2, 1):
        unit = canonical(first + "".join(part or "" for part in found.groups()[1:last]))
        if unit:
            return max(found.end(group) for group in range(1, last + 1)), unit
    return end, ""
