"""Energies that lines of a log state with their unit, in the words of whoever wrote the program.

Tool: scripts and programs that print what RAPL, NVML or a meter counted; CodeCarbon's and PowerTOP's own lines
Versions: any
Yields: energy
Source: the words and the unit next to each number

An energy counts where words next to it say that it was consumed or name a part of a computer, or where there is a power in
its line; `Energy: 5 J` by itself only next to such a line.  Energies per token or step, means, limits, savings, and those of
physics are not read.  The words give the scope, and a number the device (`GPU 0`).  Lines do not say when: energies of
one scope may be the same or follow each other, and are a range.  Lines that say that they are cumulative, as those of
CodeCarbon's log are, count once, with the last number before they begin anew.
Where another format reads energies in the lines of the file, these are not read.

Samples:
    Total energy consumed: 12.5 kWh
    CPU Energy (J): 523.25
    [codecarbon INFO @ 10:20:30] Energy consumed for RAM : 0.000125 kWh. RAM Power : 5.5 W
"""

import itertools
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.tabular.energy_statements import Statement, statements

VERSION = 1
ANCHORS = ("nergy", "NERGY", "oules", "kWh", "RAPL", " kJ", "[codecarbon ")

_OTHERS = {
    "cray_rur", "energibridge", "jpwr_console", "likwid", "megatron_energy", "mlperf_power", "omnistat", "perf_energy",
    "zeus_log",
}  # fmt: skip
_NO_LOG = re.compile(r"\s*[#/\"'{]")  # comments, and what may be a piece of JSON
_OF_OTHERS = re.compile(
    r"\[Zeus\]|Joules[ ,;|\t]power/energy|Energy consumption in joules: [\d.]+ for|Total training energy \(GPU\)"
    r"|energy_used|Energy data:|Total Power Usage:|Approximate Total"
)
_CARBONTRACKER = re.compile(r"(?:Actual|Predicted) consumption for \d+ epoch")  # with the PUE of the tool's choice
_BELOW = 3  # lines
_CODECARBON = re.compile(r"\[codecarbon ")
_CONSTANT = re.compile(r"constant (?:consumption )?mode|based on TDP|TDP mode", re.IGNORECASE)
_MOST = 1000  # energies of a file


class _Stated(NamedTuple):
    line: int
    part: int
    is_of_codecarbon: bool
    of: Statement

    @property
    def key(self) -> tuple[object, ...]:
        return self.part, self.of.scope, self.of.device


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.stated: list[_Stated] = []
        self.is_cpu_constant = False
        self.carbontracker = -_BELOW - 1  # line of what it prints as consumption

    def take(self, line: Line) -> bool:
        of_codecarbon = _CODECARBON.search(line.text) is not None
        self.is_cpu_constant |= of_codecarbon and _CONSTANT.search(line.text) is not None
        if _CARBONTRACKER.search(line.text):
            self.carbontracker = line.number
        if (
            line.number - self.carbontracker <= _BELOW
            or _NO_LOG.match(line.text)
            or _OF_OTHERS.search(line.text)
            or not _OTHERS.isdisjoint(self.rows.taken)
            or len(self.stated) > _MOST
        ):
            return False
        found = [*statements(line.text)]
        self.stated += [_Stated(line.number, self.rows.part, of_codecarbon, each) for each in found]
        return any(each.is_sure for each in found)

    def conclude(self) -> None:
        if not _OTHERS.isdisjoint(self.rows.taken):
            return
        if len(self.stated) > _MOST:
            self.rows.problem(self.stated[0].line, f"more than {_MOST} lines state energies: they are not read")
            return
        own = self.rows.part
        for part, group in itertools.groupby(self.stated, lambda each: each.part):
            self.rows.part = part
            self._of_part([*group])
        self.rows.part = own

    def _of_part(self, stated: list[_Stated]) -> None:
        """The energies of a run."""
        known = stated if any(each.of.is_sure for each in stated) else []
        for each in (each for each in known if each.of.joules is None):
            self.rows.problem(each.line, "its number may have a mark between thousands, or before a fraction")
        for each in _once(_in_scopes([each for each in known if each.of.joules])):
            scope = each.of.scope
            estimated = each.is_of_codecarbon and (scope == "memory" or (scope == "cpu" and self.is_cpu_constant))
            self.rows.add(
                "energy", each.line, device=each.of.device, scope=scope, energy_j=each.of.joules,
                method="stated", flag="estimated" if estimated else None,
            )  # fmt: skip


def _in_scopes(stated: list[_Stated]) -> list[_Stated]:
    """An energy without a scope, with others that have one, is their total.

    Energies of numbered devices, with those of a device without a number, may be its parts: they are one sensor.
    """
    scopes = {each.of.scope for each in stated if each.of.scope}
    mixed = {
        each.of.scope for each in stated if each.of.device is None and any(
            other.of.scope == each.of.scope and other.of.device for other in stated)
    }  # fmt: skip
    return [
        each._replace(of=each.of._replace(
            scope=each.of.scope or ("total" if scopes else None),
            device=None if each.of.scope in mixed else each.of.device,
        ))
        for each in stated
    ]  # fmt: skip


def _once(stated: list[_Stated]) -> list[_Stated]:
    """Readings of what is cumulative: the last one before each new beginning."""
    kept: list[_Stated] = []
    last: dict[tuple[object, ...], _Stated] = {}
    for each in stated:
        if not each.of.is_cumulative:
            kept.append(each)
            continue
        before = last.get(each.key)
        if before and (before.of.joules or 0.0) > (each.of.joules or 0.0):
            kept.append(before)
        last[each.key] = each
    return sorted([*kept, *last.values()], key=lambda each: each.line)
