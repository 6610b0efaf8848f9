"""Energies of a window, as a program prints what ZeusMonitor.end_window() returns.

Tool: zeus.monitor.ZeusMonitor, python -m zeus.monitor energy
Versions: 0.4 to 0.16
Yields: energy
Source: zeus/monitor/energy.py, Measurement

Energies are in joules by device, `time` in seconds.  The window has no name and no time of its own here, so nothing says
which windows lie within another; `log_file=` of ZeusMonitor leaves both (`zeus_windows`).  The method is `zeus`.

Samples:
    Measurement(time=12.5, gpu_energy={0: 3125.25, 1: 3098.5}, cpu_energy=None, dram_energy=None, soc_energy=None)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import amount

VERSION = 1
ANCHORS = ("Measurement(",)

_NUMBER = r"\d{1,12}(?:\.\d{1,20})?(?:e[-+]\d\d)?"
_WINDOW = re.compile(rf"Measurement\( ?time=({_NUMBER}), gpu_energy=(?=[{{N])([^()]{{4,10000}}?) ?\)")
_DOMAIN = re.compile(r"(gpu|cpu|dram)_energy=\{([^{}]{0,4000})\}")
_DEVICE = re.compile(rf"(\d{{1,3}}): ({_NUMBER})(?=,|\s*\Z)")
_SCOPES = {"gpu": "gpu", "cpu": "cpu", "dram": "memory"}
_INSIDE = re.compile(r"\s+\S|\)\s*\Z")
_MOST_LINES = 600
_CUT = "the window of Zeus is cut, or damaged"


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.parts: list[str] = []  # of a window that is printed over several lines
        self.end = 0  # its last line

    def take(self, line: Line) -> bool:
        self.claims = None
        at = line.text.find("Measurement(")
        if match := _WINDOW.search(line.text, at):
            self.window(line.number, match)
            return True
        if line.text.startswith("Measurement(time=", at):
            self.rows.problem(line.number, _CUT, line.text)
            return True
        if line.text[at:].strip() != "Measurement(":
            return False
        self.parts, self.end, self.claims = ["Measurement("], line.number, _INSIDE
        return True

    def more(self, line: Line) -> None:
        self.parts.append(line.text.strip())
        self.end = line.number
        if line.text.strip() == ")" or len(self.parts) > _MOST_LINES:
            self.claims = None
            self.finish()

    def finish(self) -> None:
        """The window that is open."""
        if match := _WINDOW.fullmatch(text := " ".join(self.parts)):
            self.window(self.end, match)
        elif "gpu_energy=" in text:  # other programs have a Measurement, too
            self.rows.problem(self.end, _CUT, text)
        self.parts = []

    def window(self, number: int, match: re.Match[str]) -> None:
        span_s = amount(match[1])
        for domain, devices in _DOMAIN.findall(f"gpu_energy={match[2]}"):
            for device, energy in _DEVICE.findall(devices.strip()):
                self.rows.add(
                    "energy", number, device=device if domain == "gpu" else f"{domain}{device}", scope=_SCOPES[domain],
                    energy_j=amount(energy), span_s=span_s, method="zeus",
                )  # fmt: skip
