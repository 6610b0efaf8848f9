"""The energies of a section of a program, as pyJoules and pyRAPL count them: in its CSV and in its lines."""

from collections.abc import Mapping

from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import SECOND
from scalelens.parsing.values import amount
from scalelens.units import factors

_MICRO, _MILLI = factors("uJ", "mJ").values()
DOMAIN = r"(?:package|dram|core|uncore|nvidia_gpu)_\d{1,3}"


def put_section(rows: Rows, line: int, began_ns: int, span_s: float, energies: Mapping[str, str]) -> None:
    """Writes a row for each energy, by its device.  RAPL counts in microjoules, NVML in millijoules."""
    ends = began_ns + round(span_s * SECOND)
    for device, text in energies.items():
        value = amount(text)
        if value is None:
            if text.lower() not in ("", "none", "nan"):
                rows.problem(line, f"{device} is not an energy", text)
            continue
        rows.add(
            "energy", line, device=device, span_s=span_s, ts=ends, ts_origin="utc", method="counter",
            scope="cpu_part" if device.startswith(("core", "uncore")) else scope_of_words(device),
            energy_j=value * (_MILLI if device.startswith("nvidia") else _MICRO),
        )  # fmt: skip
