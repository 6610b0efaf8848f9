"""CarbonTracker's log: mean power of each component and length of each epoch.

Tool: carbontracker, log_dir=... (*_carbontracker.log)
Versions: 1.1 to 2.4
Yields: energy
Source: saintslab/carbontracker carbontracker/tracker.py, _log_epoch_measurements()

The energy of a device is mean power times duration, summed over the epochs that were measured: they follow each other.
It is without PUE.  The energy that the tool prints at the end (`Actual consumption`, and the file
`*_carbontracker_output.log`) is multiplied by a PUE that differs between versions, holds all components, and is
refused; so is `Predicted consumption`.  Power of all processes on the devices; a CPU without RAPL is a share of its TDP.
Times are local (--tz), of whole seconds.

Samples:
    2026-01-02 03:04:05 - carbontracker version 2.4.7
    2026-01-02 03:04:05 - CarbonTracker: The following components were found: GPU with device(s) Tesla T4.
"""

from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, lines_of

VERSION = 1
IN_HEAD = (b"carbontracker version ", b"CarbonTracker:")

_FIRST = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d - (?:carbontracker version \S{1,40}|CarbonTracker:.{0,300})\s*\Z")
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) - (.*)\Z", re.DOTALL)
_CONSUMPTION = re.compile(r"\s*(?:\S+ \S+ - CarbonTracker: *)?(?:Actual|Predicted) consumption for \d+ epoch")
_DURATION = re.compile(r"Duration: (\d{1,6}):(\d\d):(\d\d\.\d\d)")
_POWER = re.compile(r"Average power usage \(W\) for (\w{1,30}): (\[[^\]]*\]|\S+)")
_SCOPES = {"gpu": "gpu", "cpu": "cpu"}
_MOST_LINES = 1000  # of one array


def recognise(head: bytes, name: str) -> bool:
    first = first_lines(head)
    return bool(first) and bool(_FIRST.match(first[0]))


def read(source: Source, rows: Rows) -> None:
    span_s: float | None = None
    printed: tuple[int, str] | None = None
    energies: dict[tuple[str, int], tuple[float, float, int, str]] = {}
    for number, text, whole in _records(source):
        if _CONSUMPTION.match(text):
            printed = printed or (number, text)
        match = _LINE.match(text.rstrip())
        if not match:
            continue
        if not whole and ("Duration: " in text or "Average power" in text):
            rows.problem(number, MAY_BE_CUT, text)
        elif duration := _DURATION.fullmatch(match[2]):
            span_s = int(duration[1]) * 3600 + int(duration[2]) * 60 + float(duration[3])
        elif power := _POWER.fullmatch(match[2]):
            if span_s is None:
                rows.problem(number, "the power of an epoch without a duration", text)
                continue
            for k, word in enumerate(power[2].strip("[]").split()):
                watts = amount(word)
                if watts is None:
                    if word not in ("None", "nan"):
                        rows.problem(number, f"the power of {power[1]} is not a number of watts", text)
                    continue
                joules, seconds, _, _ = energies.get((power[1], k), (0.0, 0.0, 0, ""))
                energies[power[1], k] = joules + watts * span_s, seconds + span_s, number, match[1]
    if printed and not energies:
        rows.problem(
            printed[0], "its energies are multiplied by a PUE that the log does not say: none is read", printed[1]
        )
    for (component, k), (joules, seconds, line, time) in energies.items():
        stamp, origin = stamp_of(time) or (None, None)
        rows.add(
            "energy", line, device=str(k), scope=_SCOPES.get(component.lower()), energy_j=joules or None,
            span_s=seconds, method="carbontracker", ts=stamp, ts_origin=origin,
        )  # fmt: skip


def _records(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Lines of the log; an array of many devices takes several."""
    held: tuple[int, str] | None = None
    lines = 0
    for number, text, whole in lines_of(source):
        if held and not _LINE.match(text) and lines < _MOST_LINES:
            held, lines = (held[0], f"{held[1]} {text}"), lines + 1
            if "]" not in text:
                continue
            yield *held, whole
            held = None
        elif re.search(r"\(W\) for \w+: \[[^\]]*\Z", text):
            held, lines = (number, text), 0
        else:
            held = None
            yield number, text, whole
