"""Fields that PBS writes about a job in several places: its energy, and how it ended.

OpenPBS's power hook and its hook for Cray's RUR write resources_used.energy in kilowatt-hours.  A job whose energy was
not measured has 0, or none.
"""

import re

from scalelens.units import ratio

_JOULES = ratio("kWh", "J")
_NAMES = ("resources_used.energy", "energy")
_TORQUE = ("resources_used.energy_used", "energy_used")
_NUMBER = re.compile(r"(\d{1,12}(?:\.\d*)?|\.\d+)(?:[eE]([-+]?\d{1,2}))?(?: ?kWh)?")
_KILLED = {-26: "oom", -27: "oom", -29: "time_limit"}  # vmem, mem and walltime, of pbs_mom


def outcome_of(status: int) -> str | None:
    """The outcome that an exit status tells; None for 0, and for a signal, which qdel and limits send alike."""
    return _KILLED.get(status, "error" if 0 < status < 256 or status < 0 else None)


def energy_of_job(name: str, value: str) -> float | None:
    """Joules of a field of PBS; None for other fields, and for an energy that is 0 or not a number."""
    match = _NUMBER.fullmatch(value) if name in _NAMES else None
    return float(match[1]) * 10 ** int(match[2] or 0) * _JOULES or None if match else None


def why_no_energy(name: str, value: str) -> str | None:
    """Why a field of energy is not read, in a sentence; None where nothing is lost."""
    if name in _NAMES and not _NUMBER.fullmatch(value):
        return "the energy of the job is not a number of kilowatt-hours"
    number = _NUMBER.fullmatch(value) if name in _TORQUE else None
    if number and float(number[1]):
        return "Torque's energy_used does not say its unit: it is not read"
    return None
