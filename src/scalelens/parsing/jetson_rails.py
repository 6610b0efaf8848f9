"""What a power rail of a Jetson feeds, by its name."""

import re

_MODULE = ("VDD_IN", "POM_5V_IN", "VIN")
_SCOPES = (("GPU", "gpu"), ("CPU", "cpu"), ("DDR", "memory"), ("MEM", "memory"))
_RAIL = re.compile(r"(?:VDD|POM|VIN|NC)(?:_[A-Z0-9_]+)?|VDDRQ|SYS5V")


def is_rail(text: str) -> bool:
    """Whether a name is that of a rail: a supply voltage, and what it feeds."""
    return bool(_RAIL.fullmatch(text.strip().upper()))


def scope_of_rail(rail: str) -> str:
    """The scope of a rail; `sysio` is the rest, among it a rail of both CPU and GPU."""
    rail = rail.strip().upper()
    if rail in _MODULE:
        return "board"
    scopes = {scope for word, scope in _SCOPES if word in rail}
    return scopes.pop() if len(scopes) == 1 else "sysio"
