"""Omnistat's report card: energy, power and use of a job's GPUs.

Tool: omnistat-query, at the end of a job or afterwards
Versions: 0.1 to 1.9
Yields: energy, metrics, params
Source: ROCm/omnistat omnistat/query.py, generate_report_card()

The energy is of all GPUs of all nodes, from Start to End time, with two decimals of kilowatt-hours in older versions and
three digits in newer ones; it is integrated from the power that the cards report.  `device` numbers the GPUs over the
nodes.  Where the vendor counts energies (Cray EX), the card has those of the nodes, their CPUs, memory and accelerators
in place of it, as sums over the nodes.  A row of GPU # is the largest and the mean value over that GPU of each node:
metrics, with the GPU as `place`.  The printed duration lacks whole days and is not read.  Times are local (--tz).

Samples:
    Omnistat Report Card for Job Id: 471208
    Omnistat Report Card for Job # 44092
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import stamp_of
from scalelens.parsing.values import amount
from scalelens.units import ratio

VERSION = 1
ANCHORS = ("Omnistat Report Card for Job ",)

_TITLE = re.compile(r"\s*Omnistat Report Card for Job (?:Id:|#) *(\S{1,100})\s*\Z")
_CARD = re.compile(
    r"\s*(?:\Z|-|\*\* Report confined|Job Overview |GPU Statistics:|\||GPU #|\d{1,4} \||Approximate Total |Vendor Energy)"
)
_NODES = re.compile(r"\s*Job Overview \(Num Nodes = (\d{1,6}), Machine = (.{1,100})\)\s*\Z")
_TIME = re.compile(r"\s*--> (Start|End) +time = (\S+ \S+)\s*\Z")
_GPU = re.compile(r"\s*(\d{1,4}) \|((?: +\d[\d.]* +\d[\d.]* +\|){3,4})")
_ENERGY = re.compile(
    r"\s*Approximate Total (GPU|CPU|Memory|Accel|Node) +Energy Consumed += (\d[\d.]*(?:e[-+]?\d\d?)?) kWh\b"
)
_SCOPES = {"GPU": "gpu", "Accel": "gpu", "CPU": "cpu", "Memory": "memory", "Node": "node_dc"}
_COLUMNS = (("gpu utilization", "%"), ("gpu memory use", "%"), ("gpu temperature", "°C"), ("gpu power", "W"))
_JOULES = ratio("kWh", "J")
_MOST_GPUS = 100_000
_MOST_SIZES = 8  # numbers of GPUs whose names a file may need
_UNREADABLE = "the energy is cut, or is not a number of kilowatt-hours"


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.times: dict[str, datetime] = {}
        self.origin: str | None = None
        self.nodes, self.gpus = 0, 0
        self.of_gpus: dict[int, str] = {}  # names of so many GPUs, which all rows share

    def take(self, line: Line) -> bool:
        self.claims = None
        match = _TITLE.match(line.text)
        if not match:
            return False
        self.times, self.origin, self.nodes, self.gpus = {}, None, 0, 0
        self.rows.param("job_id", match[1], line.number, origin="scheduler")
        self.claims = _CARD
        return True

    def more(self, line: Line) -> None:
        if match := _NODES.match(line.text):
            self.nodes = int(match[1])
            self.rows.param("nodes", self.nodes, line.number, origin="scheduler")
            self.rows.param("system", match[2], line.number, origin="environment")
        elif match := _TIME.match(line.text):
            stamp = stamp_of(match[2])
            if stamp and isinstance(stamp[0], datetime):
                self.times[match[1]], self.origin = stamp[0], stamp[1]
        elif match := _GPU.match(line.text):
            self.gpus += 1
            pairs = [pair.split() for pair in match[2].split("|")[:-1]]
            for place, stat in enumerate(("max", "mean")):
                values = [
                    (name, value, unit)
                    for (name, unit), pair in zip(_COLUMNS, pairs, strict=False)
                    if (value := amount(pair[place])) is not None
                ]
                self.rows.metrics(line.number, None, f"gpu {match[1]}", None, values, stat)
        elif match := _ENERGY.match(line.text):
            self.energy(line, match[1], amount(match[2]))
        elif "Approximate Total" in line.text:
            self.rows.problem(line.number, _UNREADABLE, line.text)

    def energy(self, line: Line, what: str, kwh: float | None) -> None:
        if kwh is None:
            self.rows.problem(line.number, _UNREADABLE, line.text)
            return
        start, end = self.times.get("Start"), self.times.get("End")
        gpus = self.nodes * self.gpus
        if gpus not in self.of_gpus and 0 < gpus <= _MOST_GPUS and len(self.of_gpus) < _MOST_SIZES:
            self.of_gpus[gpus] = ",".join(map(str, range(gpus)))
        of_gpus = self.of_gpus.get(gpus)
        self.rows.add(
            "energy", line.number, device=of_gpus if _SCOPES[what] == "gpu" else what.lower(), scope=_SCOPES[what],
            energy_j=kwh * _JOULES or None, span_s=(end - start).total_seconds() if start and end else None,
            method="omnistat", ts=end, ts_origin=self.origin,
        )  # fmt: skip
