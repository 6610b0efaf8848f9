"""jpwr power samples (CSV).

Tool: jpwr, by itself or inside CARAML
Versions: jpwr to 0.0.10; CARAML adds the columns nodename and rank
Yields: power
Source: jpwr/ctxmgr.py, measure_power(); CARAML llm_training/aux/nvidia_energy_llm_fix.patch

A row holds one sample of each device of the node, `timestamps` (seconds since 1970) being taken after the last one.
Samples come in pairs, as the tool waits from the stamp before its sleep: no rate can be had from their distances.
Every rank measures every device of its node.  Scopes nest: module holds grace and the GPU, grace holds cpu and sysio.

The node is the column nodename, else the host of the file name: power.HOST.PID.csv, power.N.HOST.PID.csv.
The device is the tool's label.  A rocm device is a GCD; where only even ones give power (MI250X), each is a whole OAM.
A rocm column of nothing but zeros is one that jpwr forces to 0, as the card lacks the counter it asks for: unknown,
flag `forced_zero`.  Any other zero stands as printed with the flag `zero`: gc prints one for what it cannot parse.

Samples:
    ,timestamps,pynvml:0,pynvml:1,gh:Module Power Socket 0
    0,1795238790.3073554,190.66,279.504,165.627
    1,1795238790.4078891,200.66,284.428,165.627
"""

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from scalelens.rows import Rows
from scalelens.source import Source

VERSION = 2

HEADER = re.compile(rb"(?:\xef\xbb\xbf)?,timestamps,[^\n]*(?:pynvml|rocm|gc|gh):")
HOST = re.compile(r"\bpower\.(?:(?:\d+|None)\.)*([\w.-]*[A-Za-z][\w.-]*)\.\d+\.csv\Z")
SCOPES = {"pynvml": "gpu", "rocm": "gcd", "gc": "ipu"}
GH_SCOPES = ("module", "grace", "cpu", "sysio")
EPOCHS = (946_684_800, 4_102_444_800)  # seconds of 2000 and of 2100


def recognise(head: bytes, name: str) -> bool:
    return bool(HEADER.match(head))


def read(source: Source, rows: Rows) -> None:
    lines = records(source)
    _, header, _ = next(lines)
    labels = {k: label for k, label in enumerate(header) if ":" in label}
    unpowered = forced_zero(source, labels)
    scopes = {k: scope(label, labels, unpowered) for k, label in labels.items()}
    in_name = HOST.search(source.name)
    named = header.index("nodename") if "nodename" in header else None
    for number, fields, whole in lines:
        if fields == header:
            continue  # several files in one
        stamp = time_of(fields[1]) if whole and len(fields) == len(header) else None
        if stamp is None:
            cut = not whole or len(fields) != len(header)
            why = "the line is cut" if cut else "the time is no number of seconds since 1970"
            rows.problem(number, why, ",".join(fields))
            continue
        node = fields[named] if named is not None else in_name[1] if in_name else None
        for k, label in labels.items():
            power = watts(fields[k])
            if power is None:
                rows.problem(number, f"the power of {label} is no number", ",".join(fields))
                continue
            flag = "na" if math.isnan(power) else "forced_zero" if k in unpowered else None if power else "zero"
            rows.add(
                "power", number, node=node, device=label, scope=scopes[k], ts=stamp, ts_origin="utc", flag=flag,
                power_w=power if flag in (None, "zero") else None,
            )  # fmt: skip


def records(source: Source) -> Iterator[tuple[int, list[str], bool]]:
    """Lines with their number, as fields, and whether the line has an end."""
    number, rest = 0, b""
    for block in source.utf8():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line.decode("utf-8", "replace").rstrip("\r").split(","), True
    if rest.strip():
        yield number + 1, rest.decode("utf-8", "replace").rstrip("\r").split(","), False


def forced_zero(source: Source, labels: dict[int, str]) -> set[int]:
    """Columns of rocm that never hold a power."""
    silent = {k for k, label in labels.items() if label.startswith("rocm:")}
    for _, fields, whole in records(source) if silent else ():
        if whole and len(fields) > max(labels):
            silent -= {k for k in silent if (watts(fields[k]) or 0) > 0}
    return silent


def scope(label: str, labels: dict[int, str], unpowered: set[int]) -> str | None:
    """What the sensor of a device covers."""
    method, _, what = label.partition(":")
    if method == "gh":
        return next((scope for scope in GH_SCOPES if scope in what.lower()), None)
    if method == "rocm" and what[-1:] in "02468":
        gcds = {k for k, other in labels.items() if other.startswith("rocm:")}
        odd = {k for k in gcds if labels[k][-1] in "13579"}
        if odd and odd <= unpowered < gcds:
            return "oam"
    return SCOPES.get(method)


def time_of(text: str) -> int | None:
    """Nanoseconds since 1970 of the number that the tool computed with, not of the digits that stand for it."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return round(Fraction(seconds) * 10**9) if EPOCHS[0] < seconds < EPOCHS[1] else None


def watts(text: str) -> float | None:
    """A power, nan for one that is not available, None for what is no number."""
    try:
        power = float(text.strip() or "nan")
    except ValueError:
        return math.nan if text.strip().upper() in ("N/A", "NA", "NONE") else None
    return None if math.isinf(power) else power
