"""LIKWID's energies: tables of likwid-perfctr with an energy, and likwid-powermeter.

Tool: likwid-perfctr -g ENERGY, MEM_DP, ..., also by regions (-m) and as CSV (-O); likwid-powermeter
Versions: 4.0 to 5.4
Yields: energy
Source: RRZE-HPC/likwid groups/*/ENERGY.txt, src/applications/likwid-perfctr.lua, likwid-powermeter.lua

A row `Energy [J]` is of the packages, or of the domain that it names.  Only the first hardware thread of each socket
has a value, the others have 0: the energy is the sum of the row, and its duration is `Runtime (RDTSC) [s]` above it.
Regions and groups are windows without a time: nothing says whether one is within another, and the energy of a run is
known as a range.  The sums of all threads that follow (`STAT`) are the same again.

Samples:
    |      Energy [J]      |  1234.5000 |          0 |
    Energy [J],1234.5000,0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" [J] ", " [J],", "Runtime (RDTSC) [s]", "Energy consumed: ", "Runtime: ", "Measure for socket ", "Domain ")

_ROW = re.compile(r"\|\s+(Energy(?: [\w+ ]{1,20})?) \[J\]\s+\|((?:\s+[-+.\deEnainf]{1,30}\s+\|){1,4096})\s*")
_CSV = re.compile(r"(Energy(?: [\w+ ]{1,20})?) \[J\],((?:[-+.\deEnainf]{0,30},){0,4096}[-+.\deEnainf]{0,30})")
_CSV_RUNTIME = re.compile(r"Runtime \(RDTSC\) \[s\],((?:[-+.\deEnainf]{0,30},){0,4096}[-+.\deEnainf]{0,30})")
_RUNTIME = re.compile(r"\|\s+Runtime \(RDTSC\) \[s\]\s+\|((?:\s+[-+.\deEnainf]{1,30}\s+\|){1,4096})\s*")
_CONSUMED = re.compile(r"Energy consumed: (\d{1,15}(?:\.\d{1,15})?) Joules\s*")
_SPAN = re.compile(r"Runtime: (\d{1,12}(?:\.\d{1,12})?) s\s*")
_SOCKET = re.compile(r"Measure for socket (\d{1,4}) on CPU \d{1,6}\s*")
_DOMAIN = re.compile(r"Domain (PKG|PP0|PP1|DRAM|PLATFORM):?\s*")
_SCOPES = {
    "": "cpu", "PKG": "cpu", "PP0": "cpu_part", "PP1": "cpu_part", "Core": "cpu_part", "L3": "cpu_part", "L2": "cpu_part",
    "DRAM": "memory", "HBM": "memory", "PLATFORM": "platform", "PSYS": "platform",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.span_s: float | None = None
        self.socket: str | None = None
        self.domain: str | None = None

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if match := _RUNTIME.fullmatch(text) or _CSV_RUNTIME.fullmatch(text):
            self.span_s = max(_numbers(match[1]), default=0.0) or None
        elif match := _ROW.fullmatch(text) or _CSV.fullmatch(text):
            self._add(line.number, match[1].removeprefix("Energy").strip(), sum(_numbers(match[2])), None)
        elif match := _SPAN.fullmatch(text):
            self.span_s = float(match[1])
        elif match := _SOCKET.fullmatch(text):
            self.socket = match[1]
        elif match := _DOMAIN.fullmatch(text):
            self.domain = match[1]
        elif (match := _CONSUMED.fullmatch(text)) and self.domain:
            self._add(line.number, self.domain, float(match[1]), self.socket)
        else:
            return False
        return True

    def _add(self, number: int, domain: str, energy_j: float, socket: str | None) -> None:
        scope = _SCOPES.get(domain)
        if scope is None:
            self.rows.problem(number, f"nothing is known of LIKWID's domain {domain}", str(energy_j))
        elif energy_j:
            device = f"{domain or 'PKG'} {socket or ''}".strip()
            self.rows.add(
                "energy", number, device=device, scope=scope, energy_j=energy_j, span_s=self.span_s, method="likwid"
            )


def _numbers(cells: str) -> list[float]:
    found = []
    for cell in cells.replace("|", ",").split(","):
        try:
            value = float(cell)
        except ValueError:
            continue
        found += [value] if 0 <= value < float("inf") else []
    return found
