"""The literal anchors of line formats: what a line must hold to be offered to a format, searched for all at once."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, cast

import ahocorasick_rs

from scalelens.parsing.attempts import HEADERS
from scalelens.parsing.format_file import methods_of, name_of

_SEARCHED_AT_FIRST = 4 << 20  # bytes

_Find = Callable[..., list[tuple[int, int, int]]]  # the index, the begin and the end of each hit


class Offer(NamedTuple):
    """What is done with a line of some anchors."""

    names: list[str]  # of the formats that it is offered to
    is_header: bool  # of a launch


class _Finder:
    """Searches for texts.  The search that is twice as fast takes as long to build as that of some megabytes."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = [text.encode() for text in texts]
        self._left = _SEARCHED_AT_FIRST

    def of_block(self, size_bytes: int) -> _Find:
        """The search for a block of so many bytes: the one that is built at once, until much was searched by it."""
        self._left -= size_bytes
        finder = self._at_first if self._left > 0 else self._fast
        return cast("_Find", finder.find_matches_as_indexes)

    @functools.cached_property
    def _at_first(self) -> ahocorasick_rs.BytesAhoCorasick:
        return ahocorasick_rs.BytesAhoCorasick(self._texts, implementation=ahocorasick_rs.Implementation.ContiguousNFA)

    @functools.cached_property
    def _fast(self) -> ahocorasick_rs.BytesAhoCorasick:
        """Its table is a few megabytes."""
        return ahocorasick_rs.BytesAhoCorasick(self._texts, implementation=ahocorasick_rs.Implementation.DFA)


class _Anchors(NamedTuple):
    """The anchors of formats: the same for all files."""

    formats: dict[str, ModuleType]  # by name
    finder: _Finder
    texts: list[str]
    takers: list[list[str]]  # names of the formats that have each
    of_json: dict[int, str]  # anchors before objects of JSON, with the one format that has each
    of_columns: set[int]  # anchors of formats that read records by columns
    of_alike: dict[int, str]  # anchors of one format that takes lines together, with its name

    def offer(self, anchors: list[int]) -> Offer:
        names = dict.fromkeys(name for anchor in anchors for name in self.takers[anchor])
        return Offer([*names], any(self.texts[anchor] in HEADERS for anchor in anchors))


@functools.lru_cache(maxsize=8)
def anchors_of(formats: tuple[ModuleType, ...]) -> _Anchors:
    by_name = {name_of(format): format for format in formats}
    names_of: dict[str, list[str]] = {header: [] for header in HEADERS}
    for anchor, name in sorted({(anchor, name) for name, format in by_name.items() for anchor in format.ANCHORS}):
        names_of.setdefault(anchor, []).append(name)
    texts = sorted(names_of)
    methods = {name: methods_of(format) for name, format in by_name.items()}
    takers = [names_of[text] for text in texts]
    of_json = {
        index: names[0] for index, names in enumerate(takers) if len(names) == 1 and "take_json" in methods[names[0]]
    }
    columnar = {name for name in by_name if "take_records" in methods[name]}
    of_columns = {index for index, names in enumerate(takers) if not columnar.isdisjoint(names)}
    of_alike = {
        index: names[0]
        for index, names in enumerate(takers)
        if len(names) == 1 and "take_alike" in methods[names[0]] and texts[index] not in HEADERS
    }
    return _Anchors(by_name, _Finder(texts), texts, takers, of_json, of_columns, of_alike)
