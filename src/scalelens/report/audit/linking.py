"""Words with which a sentence says that one number follows from those before it.

Patterns of identities are written for `Sentence.marked`, where `<0>` stands for the first number and its unit.  A
sentence that only names numbers beside each other has no such words, and is left alone.
"""

import re

WORDS = (
    ",", r" \(", ":", " =", " is", " are", " makes?", " gives?", " giving", " or", r",? that is,?", r",? i\.e\.,?",
    r",? which (?:is|are|makes|gives|means)", " so", " hence", " thus", " therefore", " a total of", " in total",
    " altogether",
)  # fmt: skip
FOLLOWS = rf"(?:{'|'.join(WORDS)})+ ?"
# "9 epochs of ", "4 x ", and "3 times ", which is a number with its unit.
MULTIPLIER = re.compile(r"<\d+>(?:[^<>.;]{0,24}(?: (?:of|with|at)|[x×]|\bcdot)(?: the| a)?)? ?$")


def is_multiplied(marked: str, start: int) -> bool:
    """The number that begins at `start` is taken several times: "9 epochs of <1>"."""
    return bool(MULTIPLIER.search(marked[:start]))
