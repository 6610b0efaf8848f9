"""Lines that are a tag and an object of JSON, decoded many at a time.

MLPerf's logs consist of such lines: `:::MLLOG {"key": ...}`.  Those that follow one another are found by the positions
of their tags, and one call decodes their objects.  That takes a fifth of the time of decoding them line by line.  A
line that needs a closer look has no object here, and is read as any other: `srun -l` may have cut it, it holds an
anchor of another format or a control character, or its JSON is damaged.
"""

import bisect
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from scalelens.parsing.launcher_prefixes import ANSI_START, MPI_TAG, SRUN_CUT

_MOST_LINES = 512  # that are decoded together
_T = TypeVar("_T")
Hit = tuple[int, int, int]  # an anchor, and where it begins and ends
_NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # the second: a name that is not UTF-8


def tagged_lines(
    text: bytes, ends: list[int], hits: Sequence[Hit], position: int, index: int
) -> list[tuple[int, int, int, int]]:
    """The lines from a hit on that have the anchor of this hit and no other.

    `ends` are those of all lines, and `index` is that of a line not after the hit.  Lines without an anchor may stand
    between them.  Given are the index of each line, where it starts, where its tag ends, and where it ends itself.
    """
    lines: list[tuple[int, int, int, int]] = []
    tag, count = hits[position][0], len(hits)
    for at in range(position, min(position + _MOST_LINES, count)):
        anchor, _, after = hits[at]
        if anchor != tag:
            break
        if ends[index] < after:
            index = bisect.bisect_left(ends, after, index)
        start, end = ends[index - 1] + 1 if index else 0, ends[index]
        before = start - 1 - (ends[index - 2] + 1 if index > 1 else 0)  # bytes of the line before
        if end - start > SRUN_CUT or before >= SRUN_CUT or (at + 1 < count and hits[at + 1][1] < end):
            break
        lines.append((index, start, after, end))
        index += 1
    return lines


def objects_of(texts: list[bytes], decoder: msgspec.json.Decoder[_T]) -> Sequence[_T | None]:
    """The objects that some texts are; None for a text that is not one.

    What is decoded here is what `json` gives.  What differs, NaN or half a character, counts as not decoded.
    """
    joined = b"\n".join(texts)
    if ANSI_START in joined:
        return [None] * len(texts)
    if b"\r" in joined and joined.count(b"\r") > joined.count(b"\r\n") + joined.endswith(b"\r"):
        return [None] * len(texts)
    try:
        objects = decoder.decode_lines(joined)
        if len(objects) == len(texts):
            return objects
    except _NOT_DECODED:
        pass
    return [_object_of(text, decoder) for text in texts]


def _object_of(text: bytes, decoder: msgspec.json.Decoder[_T]) -> _T | None:
    try:
        return decoder.decode(text)
    except _NOT_DECODED:
        return None


def has_usual_head(head: bytes) -> bool:
    """Whether what stands before a tag is read the same whatever follows the tag."""
    return not (ANSI_START in head or b"\r" in head or MPI_TAG in head)
