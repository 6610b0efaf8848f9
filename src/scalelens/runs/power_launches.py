"""Which power and energy files of a folder without a log come from the same launch.

The files that one tool wrote in one launch have names that differ in the words power and energy.  If the names differ
in numbers, too, the files come from one launch if they name different ranks or measured at the same time.
"""

import heapq
import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from scalelens.runs.part import Part
from scalelens.runs.run import Run

_SENSED_WORDS = re.compile(r"combined|power|energy(?:[-_]from[-_]counter)?|\.(?:csv|h5)\b")

_Span = tuple[int, int]  # first and last sample, nanoseconds since 1970


class _Launch:
    """Files from one launch."""

    def __init__(self, stem: str, parts: list[Part]) -> None:
        self.stem, self.parts = stem, [*parts]
        self.ranks: set[int] = set().union(*(part.ranks for part in parts))
        self.spans = _without_overlaps(part.facts.measured for part in parts if part.facts.measured)

    def add(self, other: "_Launch") -> None:
        self.parts += other.parts
        self.ranks |= other.ranks
        self.spans = _without_overlaps([*self.spans, *other.spans])

    def overlaps(self, other: "_Launch") -> bool:
        """Whether both measured at the same time."""
        return any(begin <= end_2 and begin_2 <= end for begin, end in self.spans for begin_2, end_2 in other.spans)


class _Namesakes:
    """Launches whose files have names that differ only in numbers, in the order in which they were found.

    A file goes to the first launch that it fits.  Eras and ranks make it unnecessary to compare it with all of them.
    """

    def __init__(self, files: list[_Launch]) -> None:
        self.launches: list[_Launch] = []
        self._eras = _without_overlaps(span for launch in files for span in launch.spans)  # times without overlaps
        self._in_era: dict[tuple[int, bool], list[int]] = defaultdict(list)  # indexes by era and whether it has ranks
        self._first_free: dict[frozenset[int], int] = {}  # by ranks, the first index that may have none of these
        for launch in files:
            self._add(launch)

    def _add(self, new: _Launch) -> None:
        index = min(self._first_with_other_ranks(new), self._first_overlapping(new))
        if index == len(self.launches):
            self.launches.append(new)
        else:
            if new.ranks and not self.launches[index].ranks:
                self._first_free.clear()
            self.launches[index].add(new)
        for era in self._eras_of(new):
            in_era = self._in_era[era, bool(self.launches[index].ranks)]
            at = bisect_left(in_era, index)
            if in_era[at : at + 1] != [index]:
                in_era.insert(at, index)

    def _first_with_other_ranks(self, new: _Launch) -> int:
        ranks, end = frozenset(new.ranks), len(self.launches)
        index = self._first_free.get(ranks, 0) if ranks else end
        while index < end and not (self.launches[index].ranks and ranks.isdisjoint(self.launches[index].ranks)):
            index += 1
        self._first_free[ranks] = index
        return index

    def _first_overlapping(self, new: _Launch) -> int:
        """The first launch that measured at the same time.  If both name ranks, times do not matter."""
        kinds = (False,) if new.ranks else (False, True)
        near = heapq.merge(*(self._in_era[era, kind] for era in self._eras_of(new) for kind in kinds))
        fitting = (k for k in near if not (new.ranks and self.launches[k].ranks) and self.launches[k].overlaps(new))
        return next(fitting, len(self.launches))

    def _eras_of(self, launch: _Launch) -> set[int]:
        return {bisect_right(self._eras, begin, key=lambda era: era[0]) for begin, _ in launch.spans}


def launches(parts: Iterable[Part]) -> Iterator[Run]:
    """Runs of the power and energy files of a folder without a log."""
    files: dict[str, list[Part]] = defaultdict(list)
    rows: dict[tuple[str, str], list[Part]] = defaultdict(list)  # of tables that name the run of each
    for part in parts:
        if part.facts.run_name:
            rows[part.path, part.facts.run_name].append(part)
            continue
        stem = _SENSED_WORDS.sub("", posixpath.basename(part.path))
        files[re.sub(r"[\W_]+", ".", stem).strip(".")].append(part)
    unnamed = files.pop("", [])  # with names such as power.csv
    namesakes: dict[str, list[_Launch]] = defaultdict(list)
    for stem, of_stem in sorted(files.items()):
        namesakes[".".join(re.findall(r"[^\W\d_]+", stem))].append(_Launch(stem, of_stem))
    named = [launch for of_name in namesakes.values() for launch in _Namesakes(of_name).launches]
    groups = [launch.parts for launch in sorted(named, key=lambda launch: launch.stem)]
    if len(groups) == 1:
        groups[0].extend(unnamed)
    elif unnamed:
        groups.append(unnamed)
    for group in groups:
        yield Run(group, "folder" if len({part.path for part in group}) > 1 else "file")
    for group in rows.values():
        yield Run(group, "file")


def _without_overlaps(spans: Iterable[_Span]) -> list[_Span]:
    """Spans in order, with overlapping ones merged."""
    merged: list[_Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged
