"""Columns of power that are of one thing: all GPUs next to each of them, a package next to its cores."""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re

_OWN = {  # words that say no more than the scope
    "gpu": re.compile(r"gpus?|cuda|nvidia|dgpu|cards?", re.IGNORECASE),
    "cpu": re.compile(r"cpus?|packages?|pkgs?|sockets?|processors?", re.IGNORECASE),
    "memory": re.compile(r"(?:d?ram|memory|mem|ddr\d?|dimm)s?", re.IGNORECASE),
}
_NUMBER = re.compile(r"[\d_ .#:-]*\d[\d_ .#:-]*")
_SEPARATORS = re.compile(r"[\s_.#:-]+")
CPU = re.compile(r"cpus?|processors?", re.IGNORECASE)
PACKAGE = re.compile(r"(?:cpu[_ -]?)?(?:package|pkg)", re.IGNORECASE)


class PowerColumn(NamedTuple):
    """A column of power."""

    k: int
    name: str
    scale: float | None  # to watts; None where the name has no unit
    device: str | None
    scope: str | None


def of_things(columns: list[PowerColumn]) -> list[PowerColumn]:
    """Without sums and means of several, and without kinds of one.

    `gpu_power` next to those of gpu0 and gpu1 is made out of these; `gpu_active_power` next to `gpu_power` is a part or
    another figure of it, as are cores that are called a CPU next to their package.
    """
    for scope, own_words in _OWN.items():
        own = [column for column in columns if column.scope == scope]
        rest = {column.k: own_words.sub("", column.device or "") for column in own}
        plain = [column for column in own if not _SEPARATORS.sub("", rest[column.k])]
        numbered = [column for column in own if _NUMBER.fullmatch(rest[column.k])]
        if numbered:
            left_out = plain
        elif package := next((column for column in plain if PACKAGE.fullmatch(column.device or "")), None):
            columns = [
                each._replace(scope="cpu_part") if each in plain and each != package else each for each in columns
            ]
            left_out = [column for column in own if column not in plain]
        else:
            left_out = [column for column in own if column not in plain[:1]] if plain else []
        columns = [column for column in columns if column not in left_out]
    return columns
