"""Tokens = sequences × length.

In a table, a row is accused if the ratio of the rates of tokens and of sequences or samples is the same in most rows
but not in this one.  In a sentence: "a batch of 1,024 sequences of 2,048 tokens, 2,097,152 tokens per step".
"""

import re
from collections.abc import Iterator

from scalelens.audit.columns import first_value, rows_against
from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.linking import FOLLOWS, SAME, is_multiplied
from scalelens.audit.printed import Bounds
from scalelens.audit.wording import about, matters, middle

_LINKED = re.compile(
    r"<(?P<batch>\d+)> ?(?:(?:sequences|samples) )?(?:(?:and|of|with|at) )?(?:a |each )?(?:(?:sequence )?length of )?"
    rf"<(?P<length>\d+)>(?: each)?(?:(?P<same>{SAME})|{FOLLOWS})<(?P<tokens>\d+)>"
    r"(?P<per_step> (?:per|in a|in each|a) (?:step|batch|iteration|update))?"
)
_LENGTH_FIRST = re.compile(
    r"length of <(?P<length>\d+)>(?: tokens)? and (?:a )?(?:global )?batch size (?:of )?<(?P<batch>\d+)>,"
    r"(?P<per_step> (?:each|every|one|a) (?:step|batch|iteration|update) (?:processes|has|holds|contains|is)) "
    r"<(?P<tokens>\d+)>(?P<same>)"
)
_EACH_BATCH = re.compile(r"\b(?:each|every|one|a) (?:global )?(?:batch|step|iteration|update)\b")
_IDENTITY = "tokens = sequences × length"


def find(document: Document) -> Iterator[Finding]:
    """Rows and sentences whose tokens are not their sequences times their length."""
    for table in document.tables:
        rates = table.columns("rate")
        for tokens in (k for k in rates if table.meanings[k].item == "tokens"):
            for samples in (k for k in rates if table.meanings[k].item in ("samples", "sequences")):
                yield from rows_against(table, [tokens, samples], first_value, _IDENTITY)
        for tokens in (k for k in table.columns("work") if table.meanings[k].item == "tokens"):
            for length in table.columns("length"):
                for batch in table.columns("batch"):
                    yield from rows_against(table, [tokens, batch, length], _product, _IDENTITY)
    for sentence in document.sentences:
        yield from _of_sentence(sentence)


def _product(given: list[Bounds]) -> Bounds:
    return given[0] * given[1]


def _of_sentence(sentence: Sentence) -> Iterator[Finding]:
    for linked in (*_LINKED.finditer(sentence.marked), *_LENGTH_FIRST.finditer(sentence.marked)):
        indexes = (linked["batch"], linked["length"], linked["tokens"])
        batch, length, tokens = (sentence.numbers[int(k)] for k in indexes)
        of_a_step = bool(linked["per_step"]) or tokens.unit in ("tokens/steps", "tokens/batches")
        of_a_step |= bool(linked["same"] and tokens.unit == "tokens" and _EACH_BATCH.search(sentence.marked))
        of_a_step &= not is_multiplied(sentence.marked, linked.start())
        right = batch.bounds * length.bounds
        if of_a_step and right.apart(tokens.bounds) and not (batch.hedge or length.hedge or tokens.hedge):
            yield Finding(
                "inconsistent",
                (tokens, batch, length),
                f"{batch.text} sequences of {length.text} tokens are {about(middle(right), 7)} tokens, "
                f"not {tokens.text}.",
                matters(tokens.bounds, right),
                _IDENTITY,
            )
