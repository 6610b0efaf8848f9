"""Words by which a sentence says that a number follows from those before it.

The patterns match `Sentence.marked`, in which `<0>` stands for the first number and its unit.  A sentence that only
lists numbers has no such words and is left alone.
"""

import re

from scalelens.audit.document import Sentence

_AMOUNTS = "(?:corresponds?|amounts?) to"
_WORDS = (
    ",", r" \(", ":", " =", " is", " are", " makes?", " gives?", " giving", " or", r",? that is,?", r",? i\.e\.,?",
    rf",? which (?:is|are|makes|gives|means|{_AMOUNTS})", rf",? {_AMOUNTS}", ",? (?:corresponding|equivalent) to",
    " so", " hence", " thus", " therefore", " a total of", ",? for a total of", " in total", " altogether",
)  # fmt: skip
FOLLOWS = rf"(?:{'|'.join(_WORDS)})+ ?"
# Stronger than a comma or a bracket, which another fact may follow.
SAME = (
    rf"(?:,? that is,?|,? i\.e\.,?|,? which (?:is|are|makes|gives|means|{_AMOUNTS})|,? {_AMOUNTS}|,? for a total of) ?"
)
# "9 epochs of ", "4 x ", and "3 times ", which is a number with its unit.
_MULTIPLIER = re.compile(r"<\d+>(?:[^<>.;]{0,24}(?: (?:of|with|at)|[x×]|\bcdot)(?: the| a)?)? ?$")


def is_multiplied(marked: str, start: int) -> bool:
    """Whether the number that begins at `start` is multiplied: "9 epochs of <1>"."""
    return bool(_MULTIPLIER.search(marked[:start]))


def is_hedged(sentence: Sentence, index: int) -> bool:
    """Whether a number is not an exact figure.  "350 Wh over 2 h" has a duration, not a bound."""
    return bool(sentence.numbers[index].hedge) and f"over <{index}>" not in sentence.marked
