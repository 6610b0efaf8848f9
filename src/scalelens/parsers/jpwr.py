"""jpwr power samples (CSV).

Tool: jpwr, by itself or inside CARAML; runners/power.py writes the same
Versions: jpwr to 0.0.10; CARAML adds the columns nodename and rank; its own get_power.py before jpwr
Yields: power, params
Source: jpwr/ctxmgr.py, measure_power(); CARAML llm_training/aux/nvidia_energy_llm_fix.patch

A row holds one sample of each device of the node, `timestamps` (seconds since 1970) being taken after the last one.
Samples come in pairs, as the tool waits from the stamp before its sleep: no rate can be had from their distances.
Every rank measures every device of its node: the param `measured_by_rank` is the column rank, else the number in
power.RANK.csv (--use-mpi) or power.RANK.HOST.PID.csv, so that a device is counted once.  Scopes nest: module holds grace and the GPU, grace holds cpu and sysio.

The node is the column nodename, else the host of the file name: power.HOST.PID.csv, or with a suffix of the user's
power.SUFFIX.HOST.PID.csv.  Suffixes that number ranks are taken off; others cannot be told from a host's name.
The device is the tool's label.  A rocm device is a GCD; where only even ones give power (MI250X), each is a whole OAM.
Before jpwr columns were numbers, followed by `timestamps`, of GPUs or GCDs: their scope is unknown, NULL.
A rocm column of nothing but zeros is one that jpwr forces to 0, as the card lacks the counter it asks for: unknown,
flag `forced_zero`.  Any other zero is kept as printed with the flag `zero`: gc prints one for what it cannot parse.

Samples:
    ,timestamps,pynvml:0,pynvml:1,gh:Module Power Socket 0
    0,1795238790.3073554,190.66,279.504,165.627
    1,1795238790.4078891,200.66,284.428,165.627
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.jpwr_names import jpwr_host, jpwr_rank, jpwr_scopes
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import doubt, epoch, watts
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, rows_of

VERSION = 6
IN_HEAD = (b"timestamps",)

_HEADER = re.compile(
    rb"(?:\xef\xbb\xbf)?,?(?:timestamps,[^\n]*(?:pynvml|rocm|gc|gh):|0,(?:[1-9]\d?,)*timestamps(?:,\w+)*\r?\n)"
)


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEADER.match(head))


def read(source: Source, rows: Rows) -> None:
    lines = rows_of(source)
    _, header, _ = next(lines)
    labels = {k: label for k, label in enumerate(header) if ":" in label or label.isdecimal()}
    time = header.index("timestamps")
    unpowered = _forced_zero(source, labels)
    scopes = jpwr_scopes(labels.values(), {label for k, label in labels.items() if k not in unpowered})
    host = jpwr_host(source.name)
    named, ranked = (header.index(name) if name in header else None for name in ("nodename", "rank"))
    rows.param("measured_by_rank", jpwr_rank(source.name), origin="path")
    for number, fields, whole in lines:
        if fields == header:
            continue  # several files in one
        if len(fields) != len(header):
            rows.problem(number, "the line is cut", ",".join(fields))
            continue
        unread = None if whole else len(fields) - 1
        if unread is not None:
            rows.problem(number, MAY_BE_CUT, ",".join(fields))
            if unread in (time, named, ranked):
                continue
        stamp, unit = epoch(fields[time])
        if unit != "s":
            rows.problem(number, "the time is not a number of seconds since 1970", ",".join(fields))
            continue
        node = fields[named] if named is not None else host
        if ranked is not None and fields[ranked].isdecimal():
            rows.param("measured_by_rank", int(fields[ranked][:9]), number)
        for k, label in ((k, label) for k, label in labels.items() if k != unread):
            power = watts(fields[k])
            if power is None:
                rows.problem(number, f"the power of {label} is not a number", ",".join(fields))
                continue
            flag = "forced_zero" if k in unpowered and power == power else doubt(power, scopes[label])
            rows.add(
                "power", number, node=node, device=label, scope=scopes[label], ts=stamp, ts_origin="utc", flag=flag,
                power_w=None if flag in ("na", "forced_zero") else power,
            )  # fmt: skip


def _forced_zero(source: Source, labels: dict[int, str]) -> set[int]:
    """Columns of rocm, or that may be of rocm, in which no power is above zero."""
    silent = {k for k, label in labels.items() if label.startswith("rocm:") or label.isdecimal()}
    for _, fields, whole in rows_of(source) if silent else ():
        if whole and len(fields) > max(labels) and any(fields[k] != label for k, label in labels.items()):
            silent -= {k for k in silent if (watts(fields[k]) or 0) > 0}
    return silent
