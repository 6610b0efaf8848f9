"""Power samples that Zeus prints: a time, below it the watts of each GPU, and at the end their energies.

Tool: python -m zeus.monitor power
Versions: 0.8 to 0.16
Yields: power, energy
Source: zeus/monitor/__main__.py, power()

The time is local (--tz).  Of eight GPUs each has a line of its own.  A GPU that gave no power has none.  The energies
at the end are the tool's own, over all of its time: the method is `zeus`.

Samples:
    2026-01-02 03:04:05.678901
    {'GPU0': 312.5, 'GPU1': 298.125}
"""

import itertools
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1
IN_HEAD = (b"'GPU",)

_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{6})?)")
_GPU = re.compile(r"'GPU(\d{1,3})': (\d{1,9}(?:\.\d{1,20})?|None)")
_POWERS = re.compile(rf"\{{ ?{_GPU.pattern}(?:, {_GPU.pattern}){{0,63}},? ?\}}")
_TOTAL = re.compile(r"Total (time \(s\)|energy \(J\)):(?: (\d[\d.]{0,20}))?")
_MOST_LINES = 66  # of the powers of a time


def recognise(head: bytes, name: str) -> bool:
    lines = _joined((k, line, True) for k, line in enumerate(head_lines(head)))
    (_, first, _), (_, second, _) = itertools.islice(itertools.chain(lines, _NOTHING), 2)
    return bool(_TIME.fullmatch(first) and _POWERS.fullmatch(second))


_NOTHING = ((0, "", True), (0, "", True))


def _joined(lines: Iterator[tuple[int, str, bool]]) -> Iterator[tuple[int, str, bool]]:
    """Lines, those within braces as one."""
    held: list[str] = []
    begin = 0
    for number, text, whole in lines:
        begin = begin if held else number
        held.append(text.strip())
        if not held[0].startswith("{") or "}" in text or len(held) > _MOST_LINES:
            yield begin, " ".join(held), whole
            held = []
    if held:
        yield begin, " ".join(held), False


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    above, span_s = "", None
    for number, text, whole in _joined(lines_of(source)):
        stamp = stamp_of(above) if _TIME.fullmatch(above) else None
        if total := _TOTAL.fullmatch(text):
            span_s = amount(total[2]) if total[2] else span_s
        elif _POWERS.fullmatch(text) and stamp:
            for device, power in _GPU.findall(text):
                if power != "None":
                    samples.power(number, Sensor(None, device, "gpu"), f"{power} W", stamp)
        elif _POWERS.fullmatch(text) and above.startswith("Total energy"):
            for device, energy in _GPU.findall(text):
                if energy != "None":
                    rows.add(
                        "energy", number, device=device, scope="gpu", energy_j=amount(energy), span_s=span_s,
                        method="zeus",
                    )  # fmt: skip
        elif not _TIME.fullmatch(text):
            rows.problem(number, "neither a time nor the powers of GPUs below one" if whole else MAY_BE_CUT, text)
        above = text
