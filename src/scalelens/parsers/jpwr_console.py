"""jpwr energies in a job's output.

Tool: jpwr, by itself or inside CARAML
Versions: jpwr to 0.0.10; CARAML's get_power.py before it
Yields: energy
Source: jpwr/clitool.py; CARAML llm_training/aux/nvidia_energy_llm_fix.patch, get_power.py

What the files hold, at six digits: watt-hours become joules, added up as in `jpwr_energy` (`riemann_right`) or the
cards' own counters (`counter`).  Lists of numbers are devices in their order.  The table of power samples is printed
with its middle left out and its times rounded to minutes, and not read.

Samples:
    Energy data:
    Energy-per-GPU-list integrated(Wh):
    Energy-per-GPU-list integrated(Wh): [0.0748, 0.0888, 0.076, 0.0496]
    Energy-per-GPU-list from energy_from_counter(Wh):    rocm:0  rocm:1
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.jpwr_names import jpwr_scopes
from scalelens.parsing.rows import Rows
from scalelens.units import ratio

VERSION = 1
ANCHORS = ("Energy data:", "Energy-per-GPU-list ", "energy_from_counter:")
LATER = ("node", "scope")  # known after the last line of a block

_HEADING = re.compile(
    r"\s*(?:Energy data:|energy_from_counter:|Energy-per-GPU-list (integrated|from [\w-]{1,40}) ?\(Wh\): ?(.*))\s*"
)
_BLOCK = re.compile(
    r"\s*(?:(?:pynvml|rocm|gc|gh):|nodename\s|rank\s|dtype:|Additional data:|Name:|\d{1,3}\s+[\d.]|timestamps\s|\s*\Z)"
)
_DEVICES = re.compile(r"(?:pynvml|rocm|gc|gh):\d{1,3}(?:\s+(?:pynvml|rocm|gc|gh):\d{1,3})*")
_ENERGY = re.compile(r"((?:pynvml|rocm|gc|gh):\S.{0,60}?)\s+(\d[\d.]{0,20}(?:e[-+]\d{1,3})?)")
_LIST = re.compile(r"\[(.{0,2000})\]")
_JOULES = ratio("Wh", "J")


class Reader:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.claims: re.Pattern[str] | None = None
        self.block: list[dict[str, Any]] = []  # rows of the energies being read
        self.method = "riemann_right"
        self.columns: list[str] = []

    def take(self, line: Line) -> bool:
        self.claims = None
        match = _HEADING.fullmatch(line.text)
        if not match:
            return False
        self.method = "riemann_right" if match[1] == "integrated" or "data:" in line.text else "counter"
        self.block, self.columns = [], []
        rest = (match[2] or "").strip()
        if listed := _LIST.fullmatch(rest):
            for k, text in enumerate(listed[1].split(",") if listed[1].strip() else ()):
                self.add(line, str(k), text.strip())
            return True
        self.claims = _BLOCK
        if rest:
            self.more(line._replace(text=rest))
        return True

    def more(self, line: Line) -> None:
        text = line.text.strip()
        if _DEVICES.fullmatch(text):
            self.columns = text.split()
        elif match := _ENERGY.fullmatch(text):
            self.add(line, match[1], match[2])
        elif self.columns and re.match(r"\d", text):
            values = text.split()[1:]
            if len(values) == len(self.columns):
                for column, value in zip(self.columns, values, strict=True):
                    self.add(line, column, value)
            else:
                self.rows.problem(line.number, "the row has other columns than its header", line.text)
            self.columns = []
        elif text.startswith("nodename"):
            for row in self.block:
                row["node"] = text.partition(" ")[2].strip()
        elif ":" in text[:8] and not text.startswith(("dtype:", "Name:")):
            self.rows.problem(line.number, "the line is cut, or does not hold the energy of a device", line.text)

    def add(self, line: Line, device: str, text: str) -> None:
        try:
            energy = float(text)
        except ValueError:
            energy = -1.0
        if not 0 <= energy < 1e12:
            self.rows.problem(line.number, f"the energy of {device} is not a number of watt-hours", line.text)
            return
        row = {
            "node": None,
            "device": device,
            "scope": None,
            "energy_j": energy * _JOULES or None,
            "method": self.method,
        }
        self.block.append(row)
        self.rows.put("energy", line.number, row)
        devices = [str(row["device"]) for row in self.block]
        powered = {device for device, row in zip(devices, self.block, strict=True) if row["energy_j"]}
        scopes = jpwr_scopes(devices, powered)
        for known in self.block:
            known["scope"] = scopes[known["device"]]
