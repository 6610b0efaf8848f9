"""Words with which a sentence says that one number follows from those before it.

Patterns of identities are written for `Sentence.marked`, where `<0>` stands for the first number and its unit.  A
sentence that only names numbers beside each other has no such words, and is left alone.
"""

WORDS = (
    ",", r" \(", ":", " =", " is", " are", " makes?", " gives?", " giving", " or", r",? that is,?", r",? i\.e\.,?",
    r",? which (?:is|are|makes|gives|means)", " so", " hence", " thus", " therefore", " a total of", " in total",
    " altogether",
)  # fmt: skip
FOLLOWS = rf"(?:{'|'.join(WORDS)})+ ?"
