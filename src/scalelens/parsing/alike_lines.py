"""Lines of one format that follow one another in a short text: their reader takes them together.

What reading by columns costs before its first record is more than a log of some dozen records takes line by line.  Yet
nothing changes between most of these records but their numbers: a reader with `take_alike` looks once at what they
share, and hands their rows over at once.
"""

import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scalelens.parsing.launcher_prefixes import SRUN_CUT
from scalelens.parsing.tagged_json import Hit


class Place(NamedTuple):
    """Where a line stands in a text."""

    line: int  # its index among all lines
    start: int
    end: int
    hits: int  # up to the end of the line


def alike_lines(
    ends: list[int], hits: Sequence[Hit], position: int, index: int, of_format: Mapping[int, str]
) -> Iterator[Place]:
    """The lines from a hit on whose anchors are all of the format of this hit, by the anchors of such formats.

    `ends` are those of all lines, and `index` is that of a line not after the hit.  Lines without an anchor may stand
    between them.  A line that `srun -l` may have cut ends them.
    """
    name, count = of_format.get(hits[position][0]), len(hits)
    while position < count:
        at = hits[position][1]
        if ends[index] < at:
            index = bisect.bisect_left(ends, at, index)
        start, end = ends[index - 1] + 1 if index else 0, ends[index]
        before = start - 1 - (ends[index - 2] + 1 if index > 1 else 0)  # bytes of the line before
        if end - start > SRUN_CUT or before >= SRUN_CUT:
            return
        while position < count and hits[position][1] < end:
            if of_format.get(hits[position][0]) != name:
                return
            position += 1
        yield Place(index, start, end, position)
        index += 1
