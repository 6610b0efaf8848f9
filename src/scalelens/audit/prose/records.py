"""Lists whose items differ in their numbers and labels alone: records, which are read as the rows of a table.

"- small: before 14.99, after 4.26, delta -10.72" in four items or more is a table of three columns without its lines.
The words before a number are the heading of its column.  What the columns of the others fulfill must hold in each.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms import accusing
from scalelens.audit.headings import meaning_of_heading

_LABEL = re.compile(r"^[^<>:]{0,80}:")
_VERDICT = re.compile(r" ?(?:→|->|=>|[—–-] ) ?[^<>\d]{1,40}$")
_WORDS = re.compile(r"[a-z][\w./-]*", re.IGNORECASE)
_LEAST_RECORDS, _MOST_RECORDS = 4, 40
_LEAST_OPERANDS = 2
_LEAST_NUMBERS, _MOST_NUMBERS = 2, 8


def find(document: Document) -> Iterator[Finding]:
    """Numbers of a record that break what the other records fulfill."""
    tables = tuple(_table_of(group) for group in _groups(document.sentences))
    for finding in accusing.find(replace(document, tables=tables)):
        if len(finding.numbers) <= _LEAST_OPERANDS:
            continue  # a factor between two numbers, or between two records
        numbers = tuple(replace(number, row=None, cell=None) for number in finding.numbers)
        yield replace(finding, numbers=numbers, sentence=finding.sentence.replace("the table at", "the list at"))


def _groups(sentences: tuple[Sentence, ...]) -> Iterator[list[Sentence]]:
    """Sentences of one shape, one after the other."""
    group: list[Sentence] = []
    for sentence in (*sentences, Sentence("", 0)):
        if group and _shape(sentence) != _shape(group[0]):
            if _LEAST_RECORDS <= len(group) <= _MOST_RECORDS:
                yield group
            group = []
        if _LEAST_NUMBERS <= len(sentence.numbers) <= _MOST_NUMBERS:
            group.append(sentence)


def _shape(sentence: Sentence) -> tuple[str, int]:
    """What a record has besides numbers and its label."""
    text = _VERDICT.sub(" → #", _LABEL.sub(":", sentence.marked))
    return re.sub(r"[+\u2212-]?(?:<\d+>|\d+)", "#", text), len(sentence.numbers)


def _table_of(group: list[Sentence]) -> TextTable:
    first = group[0]
    ends = [0, *(end for _, end in first.positions)]
    names = [
        " ".join(_WORDS.findall(first.text[end:start])[-3:])
        for end, (start, _) in zip(ends, first.positions, strict=False)
    ]
    headings = ("", *names)
    return TextTable(
        index=-1,
        line=first.line,
        headings=headings,
        meanings=tuple(meaning_of_heading(each) for each in headings),
        cells=tuple(
            (None, *(replace(number, row=row, cell=k) for k, number in enumerate(sentence.numbers, 1)))
            for row, sentence in enumerate(group)
        ),
        texts=tuple(
            (sentence.text[: sentence.positions[0][0]], *(number.text for number in sentence.numbers))
            for sentence in group
        ),
    )
