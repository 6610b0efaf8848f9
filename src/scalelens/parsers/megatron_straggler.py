"""Megatron's straggler detector: the least and the largest value over all ranks, with the rank of each.

Tool: Megatron-LM (--log-straggler) and forks of it (heimdall in GPT-NeoX)
Versions: core 0.6 to 0.19
Yields: metrics
Source: megatron/core/utils.py, StragglerDetector.report(); megatron/core/README_STRAGGLER.md

Rtt is the time of the traced operations of a step, DRtt that of loading its data, Etpt the throughput that follows;
power, temperature, utilisation and clock are sensors of the device.  Each is a mean over the logging interval.  The
power says W and is mW, as PyTorch gives it: it is in W here.

Samples:
     0: INFO:megatron.core.utils:[2026-01-02 03:04:05] | MnRtt/Rnk: 3450.10ms/8 | MxRtt/Rnk: 3468.20ms/0 | MnPwr/Rnk: 601000W/8 | MxPwr/Rnk: 683000.00W/18 | MnTmp/Rnk: 52C/0 | MxTmp/Rnk: 65C/21 | MnUtl/Rnk: 97%/8 | MxUtl/Rnk: 100%/6 | MnClk/Rnk: 1950MHz/28 | MxClk/Rnk: 1980MHz/0 | MnDRtt/Rnk: 14.27ms/23 | MxDRtt/Rnk: 34.65ms/3 | MnEtpt/Rnk: 296.02TF/0 | MxEtpt/Rnk: 297.32TF/8
     0: INFO:megatron.core.utils:^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 296.02/0, 296.10/3, 296.20/5, 296.31/9,
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("MnRtt/Rnk: ", "Ranks with lowest ", "Ranks with highest ")

_EXTREME = re.compile(r"\b(Mn|Mx)([A-Z]\w{1,7})/Rnk: (-?[\d.]+)(ms|W|C|%|MHz|TF)/(\d{1,9})\b")
_LIST = re.compile(r"Ranks with (?:lowest|highest) +Etpt\(TF\): ((?:[\d.]+/\d+, ?)*[\d.]+/\d+)")
_STATS = {"Mn": "min", "Mx": "max"}
_UNITS = {"TF": "TFLOP/s"}
_MILLIWATTS = "Pwr"


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if ranks := _LIST.search(line.text):
            for pair in ranks[1].split(","):
                value, _, rank = pair.strip().partition("/")
                self.add(line, "Etpt", value, "TF", rank, "value")
            return True
        extremes = _EXTREME.findall(line.text)
        for end, name, value, unit, rank in extremes:
            self.add(line, name, value, unit, rank, _STATS[end])
        return bool(extremes)

    def add(self, line: Line, name: str, text: str, unit: str, rank: str, stat: str) -> None:
        try:
            value = float(text) / (1000 if name == _MILLIWATTS else 1)
        except ValueError:
            self.rows.problem(line.number, f"'{text}' of {name} is not a number", line.text)
            return
        metric = (f"straggler {name}", value, _UNITS.get(unit, unit))
        self.rows.metrics(line.number, int(rank), None, self.rows.step, [metric], stat)
