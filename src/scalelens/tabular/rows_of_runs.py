"""Whether the rows of a table of powers are runs or settings, each with its own mean power, and not samples in time."""

import itertools
from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensors import epoch, stamp_of
from scalelens.parsing.values import amount

_WORD = re.compile(r"[^\W\d_][\w .:+/()-]{0,98}")
_FEWEST_WORDS = 4  # rows that each have a word of their own
_FEWEST_SETTINGS = 4
_MOST_SETTINGS = 100  # rows of a series of settings
_SETTING = re.compile(
    r"(?:[a-z]+[_ ])?(?:size|threads?|cores?|workers?|processes|procs|ranks?|nodes?|batch|frequency|freq|clock"
    r"|dim(?:ension)?|concurrency|users|clients|length|seq_?len|depth|layers|limit|cap)"
    r"(?:[_ ]?[\[(]?(?:[mkg]?hz|w|mb|gb|kb)[\])]?)?"
    r"|n|n_?(?:threads|cores|gpus|procs|nodes)|num_\w{1,20}",
    re.IGNORECASE,
)


def told_by(header: Sequence[str], rows: Sequence[Sequence[str]], time: int, others: Sequence[int]) -> str | None:
    """The column that has another word in each row, or a setting that goes through a series while no clock runs."""
    counts_from_zero = all(epoch(row[time])[1] is None and amount(row[time]) is not None for row in rows)
    for k, name in enumerate(header):
        if k == time or k in others:
            continue
        cells = [row[k] for row in rows]
        if len(cells) >= _FEWEST_WORDS and len({*cells}) == len(cells) and all(map(_is_word, cells)):
            return name
        if counts_from_zero and is_setting(name) and _is_series(cells):
            return name
    return None


def is_setting(name: str) -> bool:
    """Whether a column is called after what a benchmark sets: `batch_size`, `num_threads`."""
    return _SETTING.fullmatch(name) is not None


def _is_word(cell: str) -> bool:
    return _WORD.fullmatch(cell) is not None and stamp_of(cell) is None


def _is_series(cells: Sequence[str]) -> bool:
    values = [value for cell in cells if (value := amount(cell)) is not None]
    pairs = [*itertools.pairwise(values)]
    return _FEWEST_SETTINGS <= len(values) == len(cells) <= _MOST_SETTINGS and (
        all(before < after for before, after in pairs) or all(before > after for before, after in pairs)
    )
