"""What an epoch gave, in lines of their own beside the one that counts the epoch.

    Epoch: 01 | Epoch Time: 0m 12s                        train loss: 2.104, acc: 0.402
        Train Loss: 2.104 | Train PPL:   8.201            val   loss: 2.201, acc: 0.377
         Val. Loss: 2.201 |  Val. PPL:   9.034            Epoch 1 took 12.3 s

Such a line counts nothing, begins with whether it is of the training or the validation, and stands next to the line of
its epoch, with nothing but others of its kind between them.
"""

from collections import Counter, defaultdict
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.fields import Field, parsed
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.records import TIMES, LineTable
from scalelens.tabular.unknown_logs.shapes import shaped

_MOSTLY = 0.9
_MOST = 1_000_000  # lines that are looked at
_PHASE = re.compile(
    r"(?P<phase>train(?:ing)?|val(?:id(?:ation)?)?|dev|test|eval(?:uation)?)(?![A-Za-z0-9])[ ._:]{0,3}", re.IGNORECASE
)
_ALIGNED = re.compile(r"(?<=[A-Za-z.]) {2,6}(?=[A-Za-z])")  # `Val   Loss`, below `Train Loss`
_LOSS = re.compile(r"(?<![a-z])loss", re.IGNORECASE)


def results_beside(source: Source, table: LineTable) -> dict[int, dict[str, Any]]:
    """By the line of a record, the columns and values of what stands beside it; empty where nothing does."""
    shape = table.shape
    if shape.bar or not shape.of_epochs_alone or any(map(_LOSS.search, shape.names)):
        return {}
    records: list[int] = []
    found: dict[int, dict[str, Any]] = defaultdict(dict)  # by how many records come before
    twice: set[str] = set()
    next_to = False  # whether nothing else stands between the record and the line
    waiting: dict[str, Any] = {}  # what stands before a record, with nothing else between them
    before_first = False
    for k, (line, whole) in enumerate(log_lines(source)):
        if k >= _MOST or line.rank is not None or line.location is not None:
            return {}
        parts = shaped(line.text)
        if parts and table.is_of_shape(parts):
            if not records:
                before_first = bool(waiting)
            if before_first:
                found[len(records)] = waiting
            records.append(line.number)
            next_to, waiting = True, {}
            continue
        told = _told(line.text, table) if whole and not parts else {}
        if not told:
            next_to, waiting = False, {}
            continue
        twice |= waiting.keys() & told.keys()
        waiting = {**told, **waiting}
        if next_to and not before_first:
            found[len(records) - 1] = waiting
    often = Counter(column for cells in found.values() for column in cells)
    kept = {column for column, times in often.items() if column not in twice and times >= _MOSTLY * len(records) - 1}
    stands_on_both_sides = before_first and next_to and bool(waiting)  # of an evaluation before the first epoch
    if stands_on_both_sides or not any(map(_LOSS.search, kept)):
        return {}
    return {records[k]: {name: value for name, value in cells.items() if name in kept} for k, cells in found.items()}


def named_by_phase(text: str) -> list[Field]:
    """The numbers of a line; where it begins with a phase, those without one have its: `Val   Loss: 2.2 Acc: 0.4`."""
    fields = parsed(_ALIGNED.sub(" ", text)).fields
    begin = _PHASE.match(fields[0].name) if fields else None
    if begin is None or _trains(begin):
        return fields
    return [
        field if _PHASE.match(field.name) else field._replace(name=f"{begin['phase']} {field.name}") for field in fields
    ]


def _trains(begin: re.Match[str]) -> bool:
    return begin["phase"].lower().startswith("train")


def _told(text: str, table: LineTable) -> dict[str, Any]:
    """Column and value of the numbers of a line that begins with a phase; empty for others."""
    fields = named_by_phase(text)
    if not fields or not _PHASE.match(fields[0].name) or any(field.unit in TIMES for field in fields):
        return {}
    return dict(filter(None, map(table.named, fields)))
