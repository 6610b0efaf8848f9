"""Lists whose items differ in their numbers and labels alone: records, which are read as the rows of a table.

"- small: before 14.99, after 4.26, delta -10.72" in four items or more is a table of three columns without its lines.
The words before a number are the heading of its column.  What the columns of the others fulfill must hold in each.
So are the lists of a sentence that says "respectively": the first number of each is a row, and so on.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms import accusing
from scalelens.audit.headings import meaning_of_heading
from scalelens.audit.rows import few_rows, typed_rows

_LABEL = re.compile(r"^[^<>:]{0,80}:")
_VERDICT = re.compile(r" ?(?:→|->|=>|[—–-] ) ?[^<>\d]{1,40}$")
_WORDS = re.compile(r"[a-z][\w./-]*", re.IGNORECASE)
_NEXT = re.compile(r"[,;.<]| (?:the|and|which|on|in|for|at|so|it|they|we|each) ")  # ends what a list counts
_RESPECTIVELY = re.compile(r"\bresp(?:ectively|\.)")
_LIST = re.compile(r"<\d+>(?:, <\d+>)+,? (?:and|or) <\d+>")
_RULES = (accusing.find, few_rows.find, typed_rows.find)
_LEAST_OF_LIST = 3
_LEAST_RECORDS, _MOST_RECORDS = 4, 40
_LEAST_OPERANDS = 2
_LEAST_NUMBERS, _MOST_NUMBERS = 2, 8


def find(document: Document) -> Iterator[Finding]:
    """Numbers of a record that break what the other records fulfill."""
    tables = tuple(_table_of(group) for group in _groups(document.sentences))
    yield from _as_lists(accusing.find(replace(document, tables=tables)))
    for sentence in document.sentences:
        if _RESPECTIVELY.search(sentence.marked) and (table := _table_of_lists(sentence)):
            apart = replace(document, tables=(table,))
            yield from _as_lists(found for rule in _RULES for found in rule(apart))


def _as_lists(findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        if len(finding.numbers) <= _LEAST_OPERANDS:
            continue  # a factor between two numbers, or between two records
        numbers = tuple(replace(number, row=None, cell=None) for number in finding.numbers)
        yield replace(finding, numbers=numbers, sentence=finding.sentence.replace("the table at", "the list at"))


def _table_of_lists(sentence: Sentence) -> TextTable | None:
    """The lists of a sentence that have equally many numbers, each as a column; None with fewer than two."""
    marked, found = sentence.marked, [re.findall(r"<(\d+)>", each[0]) for each in _LIST.finditer(sentence.marked)]
    longest = max(map(len, found), default=0)
    lists = [[int(k) for k in each] for each in found if len(each) == longest]
    if longest < _LEAST_OF_LIST or len(lists) < _LEAST_OPERANDS:
        return None
    columns, headings = [], [""]
    for places in lists:
        numbers = [sentence.numbers[k] for k in places]
        after = _WORDS.findall(_NEXT.split(marked.partition(f"<{places[-1]}>")[2])[0])
        unit = numbers[-1].unit
        headings.append(" ".join([f"({unit})", *after[:3]] if unit else after[:3]))
        columns.append(
            [replace(n, unit=n.unit or unit, row=row, cell=len(headings) - 1) for row, n in enumerate(numbers)]
        )
    rows = list(zip(*columns, strict=True))
    return TextTable(
        index=-1,
        line=sentence.line,
        headings=tuple(headings),
        meanings=tuple(meaning_of_heading(each) for each in headings),
        cells=tuple((None, *row) for row in rows),
        texts=tuple((f"of {k}", *(number.text for number in row)) for k, row in enumerate(rows)),
    )


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
