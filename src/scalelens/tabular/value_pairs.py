"""Reports of names and values, one in each line: `Average power: 1.49 W`, or a CSV `Metric,Value`."""

from collections.abc import Iterator

from scalelens.parsing import lazy_re as re

_PAIR = re.compile(
    r"[ \t#*|>-]*([A-Za-z][^=:,;|\t\"{}]{0,80}?)[ \t]*(?:[:=,;|\t]|\.{3,} ?:?)[ \t]*"
    r"\"?([^\s\"][^\n\"]{0,120}?)\"?\Z"
)
_AT_END = " \t,;|"
_MEASURED = re.compile(
    r"([-+]?\d{1,15}(?:\.\d{1,25})?(?:[eE][-+]?\d{1,3})?) ?([A-Za-z%\u00b0\u00b5][A-Za-z/%-]{0,11})?"
)
_UNIT_IN_NAME = re.compile(
    r"[\[(][^\])]{1,12}[\])]\s*\Z|_(?:s|ms|w|mw|j|kj|wh|kwh|seconds|watts|joules)\Z", re.IGNORECASE
)
_LEAST = 0.5  # of the lines that are not blank or rules
_FEWEST = 3  # pairs
_MOST_LINES = 400
_RULE = re.compile(r"[-=_*#+~. ]*\Z")


def value_pairs(text: str) -> list[dict[str, str]]:
    """The reports of a text, each as values by name, the units in the names; none where other lines are many.

    A name that comes again begins another report.
    """
    lines = [line for line in text.splitlines()[: _MOST_LINES + 1] if not _RULE.match(line)]
    if len(lines) > _MOST_LINES:
        return []
    reports: list[dict[str, str]] = [{}]
    count = 0
    for name, value in _pairs(lines):
        count += 1
        if name in reports[-1]:
            reports.append({})
        reports[-1][name] = value
    return reports if count >= max(_FEWEST, _LEAST * len(lines)) else []


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        match = _PAIR.match(line.rstrip(_AT_END))  # else a row of marks is passed for each length of the value
        if match is None:
            continue
        measured = _MEASURED.fullmatch(match[2])
        if measured and measured[2] and not _UNIT_IN_NAME.search(match[1]):
            yield f"{match[1]} [{measured[2]}]", measured[1]
        else:
            yield match[1], measured[1] if measured else match[2]
