"""A table of a voltage and a current, as of a shunt or a power monitor: `Time (ms),Main (mA),Main Voltage (V)`."""

from collections.abc import Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import separated
from scalelens.parsing.values import amount

_VOLTAGE = re.compile(
    r"(?:.*[_ ])?(?i:voltage|volts?|bus|v|u|main|load|supply)[_ ]*"
    r"(?:[\[(]([mu\u00b5]?[Vv]|[Vv]olts?)[\])]|(?<=[_ ])([mu]?[Vv]|volts?))"
)
_CURRENT = re.compile(
    r"(?:.*[_ ])?(?i:current|amps?|amperes?|i|main|load|supply)[_ ]*"
    r"(?:[\[(]([mu\u00b5]?[Aa]|[Aa]mps?)[\])]|(?<=[_ ])([mu]?[Aa]|amps?))"
)
_NEITHER = re.compile(
    r"shunt|limit|max|min|peak|std|set|ref|factor|phase|apparent|reactive|rms|(?<![a-z])(?:ac|pf|usb|charge|l\d)(?![a-z])|charging"
    r"|solar|panel|frequency",
    re.IGNORECASE,
)
_POWER = re.compile(r"power|watt|(?:^|[^a-z])p(?:$|[^a-z])|energy|[\[( _][mk]?w[\])]?$", re.IGNORECASE)
_SCALES = {"m": 1e-3, "u": 1e-6, "\u00b5": 1e-6}


class VoltsAndAmperes(NamedTuple):
    """Columns of a voltage and a current, and what makes them volts and amperes."""

    voltage: int
    volts: float
    current: int
    amperes: float

    def header(self, header: Sequence[str]) -> list[str]:
        """The header of a table of powers: that of the table, and their product."""
        return [*header, "power [W]"]

    def power(self, cells: Sequence[str]) -> list[str] | None:
        """A row with the product of its voltage and its current, which is the power of a direct current."""
        voltage, current = amount(cells[self.voltage]), amount(cells[self.current])
        if voltage is None or current is None:
            return [*cells, ""]
        return [*cells, repr(voltage * self.volts * current * self.amperes)]


def volts_and_amperes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> VoltsAndAmperes | None:
    """The voltage and the direct current of a table, if it has one of each with a unit, and no power."""
    if any(map(_POWER.search, header)) or any(map(_NEITHER.search, header)):
        return None
    names = [separated(name) for name in header]
    voltages = [(k, match) for k, name in enumerate(names) if (match := _VOLTAGE.fullmatch(name))]
    currents = [(k, match) for k, name in enumerate(names) if (match := _CURRENT.fullmatch(name))]
    if len(voltages) != 1 or len(currents) != 1:
        return None
    volts, amperes = (
        _SCALES.get(unit[0], 1.0) if (unit := match[1] or match[2]).lower() not in ("volts", "amps") else 1.0
        for _, match in (*voltages, *currents)
    )
    found = VoltsAndAmperes(voltages[0][0], volts, currents[0][0], amperes)
    whole = [cells for cells in rows if len(cells) == len(header)]
    return found if whole and all(amount(whole[0][k]) is not None for k in (found.voltage, found.current)) else None
