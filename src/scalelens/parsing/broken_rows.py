"""Rows of a table that are printed in pieces, with lines of NCCL between the pieces.

A program prints a piece, NCCL prints whole lines, the program prints the next piece.  Cells have fixed widths, which
follow from the heading of the table.  So the end of a piece is known even where the name of a host follows at
once: `-1` and `17a2:40:40 [0] NCCL INFO` are not `-117a2`.
"""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re

_NCCL_LINE = re.compile(
    r"(?:\[\d{1,6}\] )?(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?"
    r"[\w.-]{1,255}:\d+:\d+ (?:\[-?\d+\] )?(?:\S{1,99}:\d+ )?[NR]CCL [A-Z]{4,7}\b"
)
_CELLS = r"\s{1,12}(?:N/A|[\d.]+(?:e[-+]\d+)?)" * 3
BETWEEN = re.compile(rf"\s*\Z|{_NCCL_LINE.pattern}|{_CELLS}\s")  # what may follow a row that lacks pieces
_FIRST_CELL = re.compile(r"\s*\S+")


class Piece(NamedTuple):
    """What the heading shows of one piece: its number of cells, and where its first cell and the piece end."""

    cells: int
    first_end: int
    length: int


def pieces_of(heading: str, begins: list[int]) -> list[Piece]:
    """The pieces of a row, from a heading that begins with `#`; `begins` are the columns with which they begin."""
    ends = [word.end() for word in re.finditer(r"\S+", heading)][1:]
    pieces = []
    for first, after in zip(begins, [*begins[1:], len(ends)], strict=True):
        start = ends[first - 1] if first else 0
        pieces.append(Piece(after - first, ends[first] - start, ends[after - 1] - start))
    return pieces


def whole_pieces(text: str, pieces: list[Piece]) -> tuple[list[list[str]], str]:
    """The cells of each piece that stands whole at the beginning of a text, and what follows them.

    A launcher's prefix may have taken the first blank.
    """
    found: list[list[str]] = []
    for piece in pieces:
        first = _FIRST_CELL.match(text)
        missing = piece.first_end - first.end() if first else -1
        length = piece.length - missing
        cells = text[:length].split()
        if missing not in ((0,) if found else (0, 1)) or len(text) < length or len(cells) != piece.cells:
            break
        found.append(cells)
        text = text[length:]
    return found, text


def is_interrupted(rest: str) -> bool:
    """Whether nothing, or a line of NCCL, follows the pieces of a row."""
    return not rest.strip() or _NCCL_LINE.match(rest) is not None
