"""Headings of one of several trainings: `===== Fold 3 =====`, `seed: 17`, `Model: resnet18`.

A count without a name that begins anew below each, `[3/50] loss: 2.1 - 7s`, may be of epochs as well as of steps.
"""

from scalelens.parsing import lazy_re as re

_HEADING = re.compile(
    rb"\W*(?:(?:start(?:ing)?|training|running)\s)?(?:folds?|seed|trial|run|repeat|model)(?![a-z])"
    rb"[\W_]{0,4}[\w.-]{1,40}(?:\s?/\s?\d{1,4})?\W*",
    re.IGNORECASE,
)
_LONGEST = 80


class Repeats:
    """Counts them."""

    def __init__(self) -> None:
        self.seen = 0

    def look(self, line: str | bytes) -> None:
        if len(line) <= _LONGEST:
            raw = line.encode() if isinstance(line, str) else line
            self.seen += _HEADING.fullmatch(raw.rstrip()) is not None
