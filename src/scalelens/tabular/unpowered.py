"""A table of samples of a device's state, such as its utilization, without the power that a sample is read for.

timestamp, utilization.gpu [%], memory.used [MiB]           nvidia-smi, asked for these fields
"""

from scalelens.parsing import lazy_re as re
from scalelens.tabular.cells import cells_of, first_lines

_STATE = re.compile(
    r"(?:\w{1,20}[._ ])?(?:util|utili[sz]ation|usage|mem(?:ory)?|temp(?:erature)?|clocks?|fan|pstate|ram|vram|swap)"
    r"(?:[._ ][\w.]{1,40})?(?: ?\[[^]]{1,10}\]| ?\([^)]{1,10}\))?|(?:cpu|gpu|mem|memory|ram)_?(?:percent|pct|%)",
    re.IGNORECASE,
)
_OTHER = re.compile(r"power|watt|energy|joule|step|iter|epoch|batch|loss|(?:^|[^a-z])k?wh?(?:$|[^a-z])", re.IGNORECASE)
_OF_NVIDIA_SMI = re.compile(r"(?:utilization|memory|temperature|clocks)\.[a-z.]{2,30}(?: \[[^]]+\])?")
_FEWEST = 2  # columns of a state
_NAMED = 3  # of them, in a sentence


def lacking_power(head: bytes) -> str | None:
    """What to add to a table of such samples, by its header; None for other texts."""
    header, *rows = [*first_lines(head), ""]
    names = cells_of(header)
    states = [name for name in names if _STATE.fullmatch(name)]
    if len(states) < _FEWEST or 2 * len(states) < len(names) or any(map(_OTHER.search, names)):
        return None
    if not any(len(cells_of(row)) == len(names) and re.search(r"\d", row) for row in rows):
        return None
    shown = ", ".join(name.partition(" [")[0] for name in states[:_NAMED]) + (", ..." if len(states) > _NAMED else "")
    if any(map(_OF_NVIDIA_SMI.fullmatch, states)):
        fields = "timestamp, index and power.draw"
        return f"samples of {shown} without a power: add {fields} to nvidia-smi's --query-gpu, and they are read"
    return f"samples of {shown} without a power: with a time and a column of watts (power_w) they are read"
