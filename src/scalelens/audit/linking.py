"""Words with which a sentence says that one number follows from those before it.

Patterns of identities are written for `Sentence.marked`, where `<0>` stands for the first number and its unit.  A
sentence that only names numbers beside each other has no such words, and is left alone.
"""

import re

from scalelens.audit.document import Sentence

AMOUNTS = "(?:corresponds?|amounts?) to"
WORDS = (
    ",", r" \(", ":", " =", " is", " are", " makes?", " gives?", " giving", " or", r",? that is,?", r",? i\.e\.,?",
    rf",? which (?:is|are|makes|gives|means|{AMOUNTS})", rf",? {AMOUNTS}", ",? (?:corresponding|equivalent) to", " so",
    " hence", " thus", " therefore", " a total of", ",? for a total of", " in total", " altogether",
)  # fmt: skip
FOLLOWS = rf"(?:{'|'.join(WORDS)})+ ?"
# Stronger than a comma or a bracket, behind which another fact may stand.
SAME = rf"(?:,? that is,?|,? i\.e\.,?|,? which (?:is|are|makes|gives|means|{AMOUNTS})|,? {AMOUNTS}|,? for a total of) ?"
# "9 epochs of ", "4 x ", and "3 times ", which is a number with its unit.
MULTIPLIER = re.compile(r"<\d+>(?:[^<>.;]{0,24}(?: (?:of|with|at)|[x×]|\bcdot)(?: the| a)?)? ?$")


def is_multiplied(marked: str, start: int) -> bool:
    """The number that begins at `start` is taken several times: "9 epochs of <1>"."""
    return bool(MULTIPLIER.search(marked[:start]))


def is_hedged(sentence: Sentence, place: int) -> bool:
    """The number at `place` is no exact figure.  "Over 2 h" behind what was done in it is a duration, not a bound."""
    return bool(sentence.numbers[place].hedge) and f"over <{place}>" not in sentence.marked
