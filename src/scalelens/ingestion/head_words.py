"""The texts that the files of formats hold in their first bytes (`IN_HEAD`), searched for all at once.

Most texts hold none of them.  Then a dozen formats are asked whether a file is theirs, in place of a hundred.
"""

from collections.abc import Iterable
from types import ModuleType

import ahocorasick_rs

_AT_ONCE = 40  # texts that vector instructions look for together; beyond 64 the search is ten times slower


class HeadWords:
    """Which of some formats may own a file."""

    def __init__(self, formats: Iterable[ModuleType]) -> None:
        self._formats = [(format, {*vars(format).get("IN_HEAD", ())}) for format in formats]
        self._of_any = [format for format, words in self._formats if not words]
        self._words = sorted(set().union(*(words for _, words in self._formats)))
        groups = [self._words[k : k + _AT_ONCE] for k in range(0, len(self._words), _AT_ONCE)]
        first = ahocorasick_rs.MatchKind.LeftmostFirst
        self._any_of = [ahocorasick_rs.BytesAhoCorasick(group, matchkind=first) for group in groups]
        self._all = ahocorasick_rs.BytesAhoCorasick(self._words, implementation=ahocorasick_rs.Implementation.DFA)

    def may_own(self, head: bytes) -> list[ModuleType]:
        """The formats of which a file that begins like this has a text, and those that name none."""
        if not any(finder.find_matches_as_indexes(head) for finder in self._any_of):
            return self._of_any
        hits = {word for word, _, _ in self._all.find_matches_as_indexes(head, overlapping=True)}
        held = {self._words[word] for word in hits}
        return [format for format, words in self._formats if not words or words & held]
