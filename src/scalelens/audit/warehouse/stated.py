"""Which rows the words around a number are about: "on 8 and 64 GPUs", "lumi", "batch size 32", a run's name."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from scalelens.audit.warehouse.values import AnswerRow, Facts

# Frameworks and data sets are not among them: each text mentions PyTorch somewhere.
_NAMES = ("name", "system", "model", "precision", "device_model", "job_id", "benchmark", "submitter", "node")
COUNTS = {
    "devices": r"GPUs?|GCDs?|IPUs?|HPUs?|devices?|accelerators?|chips?|ranks",
    "nodes": r"nodes?",
    "batch": r"batch(?:es)?(?:[ _-]sizes?)?",
    "seq_length": r"(?:sequence|context)[ _-]lengths?|seq[ _-]?len(?:gth)?",
}
_SPELLED = {"single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16}
_NUMBER = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+|{'|'.join(_SPELLED)})(?!\w|[.,]\d)"
_WORK = r"(?:k|M)?(?:samples|images|tokens|sequences)\b"
_UNIT = rf"(?!\s*(?:%|[mµn]?s\b|min\b|h\b|[kMGT]?[JWB]\b|k?Wh\b|times\b|×|{_WORK}|[GTP]FLOP))"
_LIST = rf"(?<![\w.,]){_NUMBER}(?:\s*(?:,|/|and|or|to|vs\.?|versus|than|over|with|–|->|→|-)+\s*{_NUMBER})*"
_PART_OF_NODE = r"(?!\s*(?:per|/|in (?:a|each|every)) ?(?:node|server|host)|[ -]nodes?\b)"
# "8 A100 GPUs" are 8 devices, but "8-GPU nodes" are not 8 nodes.
_ADJECTIVE = r"(?!GPU|GCD|IPU|HPU|device|accelerator|chip)[\w-]+"
_BEFORE = {
    key: re.compile(rf"({_LIST})[\s~-]+(?:{_ADJECTIVE}\s)?(?:{noun})\b{_PART_OF_NODE}", re.I)
    for key, noun in COUNTS.items()
}
_AFTER = {
    key: re.compile(rf"\b(?:{noun})(?:\s+of|\s+count)?\s*[\s:=|&]\s*({_LIST}){_UNIT}", re.I)
    for key, noun in COUNTS.items()
}
_SCALING = re.compile(r"\b(weak|strong)(?: and (?:weak|strong))?[ -](?:scaling|scales)|\b(weak|strong) and", re.I)
_GLUED = re.compile(r"[a-z]+|\d+")
_MOST_PARTS = 24  # of a name, which is split into letters and digits
Stated = dict[str, frozenset[Any]]


class Vocabulary:
    """What texts can say about the rows of a warehouse: names and counts."""

    def __init__(self, rows: Iterable[AnswerRow]) -> None:
        self.names: dict[tuple[str, ...], set[tuple[str, str]]] = {}
        self.domains: dict[str, set[str]] = {}
        for facts in (row.facts for row in rows):
            for key in _NAMES:
                for value in facts.get(key, ()):
                    if isinstance(value, str) and (parts := tuple(_GLUED.findall(value.lower()))):
                        self.names.setdefault(parts, set()).add((key, value))
                        self.domains.setdefault(key, set()).add(value)
        self.stated = lru_cache(maxsize=10_000)(self._stated)

    def _stated(self, words: str) -> Stated:
        """What the words say, by fact."""
        stated: dict[str, set[Any]] = {}
        for key in COUNTS:
            for match in (*_BEFORE[key].finditer(words), *_AFTER[key].finditer(words)):
                stated.setdefault(key, set()).update(_counts_in(match[1]))
        for kinds in _SCALING.findall(words):
            stated.setdefault("scaling", set()).update(kind.lower() for kind in kinds if kind)
        for key, value in self._named(words):
            if len(self.domains[key]) > 1:
                stated.setdefault(key, set()).add(value)
        return {key: frozenset(values) for key, values in stated.items()}

    def _named(self, words: str) -> set[tuple[str, str]]:
        """Names in the words.  If one name contains another, the longer one counts.

        `n8-r2` does not mean `n8`, nor does the run `resnet_amp` mean a model or a precision.
        """
        parts = _GLUED.findall(words.lower())
        found: list[tuple[int, int, str, str]] = []
        for start in range(len(parts)):
            for end in range(start + 1, min(start + _MOST_PARTS, len(parts)) + 1):
                for key, value in self.names.get(tuple(parts[start:end]), ()):
                    if key != "name" or not value.isalpha() or _is_called(value, words):
                        found.append((start, end, key, value))
        return {
            (key, value)
            for start, end, key, value in found
            if not any(a <= start and end <= b and b - a > end - start for a, b, _, _ in found)
        }


def _is_called(name: str, words: str) -> bool:
    """Whether a common word (`train`, `baseline`) is the name of a run here."""
    name = re.escape(name)
    return bool(re.search(rf"[`'\"“]{name}['`\"”]|\b(?:run|job) {name}\b|\b{name} (?:run|job)\b|^{name}\b", words))


def _counts_in(text: str) -> set[int]:
    """The counts in a list: `8, 16 and 64`."""
    words = re.findall(_NUMBER, text, re.IGNORECASE)
    return {_SPELLED.get(word.lower()) or int(word.replace(",", "")) for word in words}


def contradicts(facts: Facts, stated: Stated) -> bool:
    """Whether the words are about other rows: they state a fact, and this row has another one."""
    return any(facts.get(key) and not facts[key] & values for key, values in stated.items())


def facts_said(facts: Facts, stated: Stated) -> set[str]:
    """The facts of this row that the words state, by name."""
    return {key for key, values in stated.items() if facts.get(key, frozenset()) & values}
