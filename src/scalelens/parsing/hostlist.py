"""Slurm's compressed lists of hosts, `n[01-03,7],gpu1`, as names."""

import re

_MOST_HOSTS = 100_000  # more than any machine has: a text that names more is not a list of hosts
_PART = re.compile(r"((?:[^\[\],\s]|\[[\d,-]*\])+)")
_BRACKET = re.compile(r"\[([\d,-]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str) -> list[str]:
    """Names of the hosts, in the order of the list; empty if the text is not such a list."""
    hosts: list[str] = []
    for part in _PART.findall(text):
        names = [""]
        for piece in re.split(r"(\[[\d,-]*\])", part):
            inside = _BRACKET.fullmatch(piece)
            numbers = _numbered(inside[1]) if inside else [piece]
            if len(names) * len(numbers) + len(hosts) > _MOST_HOSTS:
                return []
            names = [name + number for name in names for number in numbers]
        hosts += names
    return hosts


def _numbered(text: str) -> list[str]:
    """`08-10,12` as 08, 09, 10, 12: as many digits as the first number of a range has."""
    numbers: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if not match:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first + len(numbers) > _MOST_HOSTS:  # of one range, or of many together
            return [""] * (_MOST_HOSTS + 1)
        numbers += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return numbers
