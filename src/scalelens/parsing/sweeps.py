"""The device of a row by its place in a sweep, where a tool reads one device after the other and no column names them.

Rows of a sweep are close together, and sweeps are far apart.  A sweep that stalls halfway falls into pieces.  Pieces
that follow each other and add up to the usual length are one sweep, as the tool's order never changes.
"""

import itertools
from collections import Counter
from collections.abc import Iterable

import numpy as np

_SWEEP_NS = 50_000_000  # a sweep of a node's devices takes a few milliseconds
_LEAST_USUAL = 0.9  # share of rows in sweeps of the usual length
_FARTHER = 4  # times as far apart as rows of a sweep are sweeps, at least


def places_in_sweeps(times: Iterable[tuple[int, int]]) -> dict[int, int] | None:
    """Place in the sweep of each line, given lines and their times in ns, of those lines that have one.

    None where it cannot be told: sweeps have several lengths, or are as close to each other as their rows.  The last
    sweep may be cut.
    """
    pieces: list[list[tuple[int, int]]] = []
    for line, ns in times:
        if not pieces or not 0 <= ns - pieces[-1][0][1] < _SWEEP_NS:
            pieces.append([])
        pieces[-1].append((line, ns))
    if not pieces:
        return {}
    judged = pieces[:-1] or pieces
    length = Counter(map(len, judged)).most_common(1)[0][0]
    usual = [piece for piece in judged if len(piece) == length]
    if len(usual) * length < _LEAST_USUAL * sum(map(len, judged)) or _too_close(usual):
        return None
    places: dict[int, int] = {}
    of_length = itertools.groupby(pieces, lambda piece: len(piece) == length)
    for is_usual, group in of_length:
        sweeps = list(group) if is_usual else _joined(list(group), length)
        places |= {line: k for sweep in sweeps for k, (line, _) in enumerate(sweep)}
    if len(pieces) > 1 and len(pieces[-1]) < length:
        places |= {line: k for k, (line, _) in enumerate(pieces[-1]) if pieces[-1][0][0] not in places}
    return places


def _too_close(sweeps: list[list[tuple[int, int]]]) -> bool:
    """Whether sweeps are hardly farther from each other than their rows are."""
    within = [b[1] - a[1] for sweep in sweeps for a, b in itertools.pairwise(sweep)]
    between = [b[0][1] - a[-1][1] for a, b in itertools.pairwise(sweeps)]
    return bool(within and between) and float(np.median(between)) < _FARTHER * float(np.median(within))


def _joined(pieces: list[list[tuple[int, int]]], length: int) -> list[list[tuple[int, int]]]:
    """Sweeps whose pieces follow each other and add up to the usual length; pieces that do not are left out."""
    sweeps: list[list[tuple[int, int]]] = []
    begun: list[tuple[int, int]] = []
    for piece in pieces:
        begun = [*begun, *piece] if len(begun) + len(piece) <= length else piece
        if len(begun) == length:
            sweeps.append(begun)
            begun = []
    return sweeps
