"""The literal anchors of line formats: what a line must hold to be offered to a format, searched for all at once."""

import functools
from types import ModuleType
from typing import NamedTuple

import ahocorasick_rs

from scalelens.parsing.attempts import HEADERS
from scalelens.parsing.format_file import name_of


class Offer(NamedTuple):
    """What is done with a line of some anchors."""

    names: list[str]  # of the formats that it is offered to
    is_header: bool  # of a launch


class _Anchors(NamedTuple):
    """The anchors of formats: the same for all files."""

    formats: dict[str, ModuleType]  # by name
    finder: ahocorasick_rs.BytesAhoCorasick
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
    pairs = sorted({(anchor, name) for name, format in by_name.items() for anchor in format.ANCHORS})
    texts = sorted({*HEADERS, *(anchor for anchor, _ in pairs)})
    finder = ahocorasick_rs.BytesAhoCorasick(
        [text.encode() for text in texts],
        implementation=ahocorasick_rs.Implementation.DFA,  # twice as fast; its table is a few megabytes
    )
    takers = [[name for anchor, name in pairs if anchor == text] for text in texts]
    of_json = {
        index: names[0]
        for index, names in enumerate(takers)
        if len(names) == 1 and hasattr(by_name[names[0]].Reader, "take_json")
    }
    columnar = {name for name, format in by_name.items() if hasattr(format.Reader, "take_records")}
    of_columns = {index for index, names in enumerate(takers) if not columnar.isdisjoint(names)}
    of_alike = {
        index: names[0]
        for index, names in enumerate(takers)
        if len(names) == 1 and hasattr(by_name[names[0]].Reader, "take_alike") and texts[index] not in HEADERS
    }
    return _Anchors(by_name, finder, texts, takers, of_json, of_columns, of_alike)
