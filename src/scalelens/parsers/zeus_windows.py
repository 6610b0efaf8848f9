"""Zeus's measurement windows (CSV).

Tool: zeus.monitor.ZeusMonitor(log_file=...)
Versions: 0.4 to 0.15
Yields: energy, metrics
Source: zeus/monitor/energy.py, ZeusMonitor.end_window()

A row for each window, energies in joules by device, and `elapsed_time` in seconds.  start_time is since 1970, or of a
clock with a zero of its own (ts_origin `relative`): either way it tells which windows follow each other and which lie
within another, as steps do within an epoch.  The method is `zeus`: the GPU's own counter from Volta on, before it the
integral of polled power.  The name of the window is a metric of the same line, with its seconds.  Zeus's optimizer of
the power limit (zeus/optimizer/power_limit.py) names its windows by the limit in watts: that is a metric `power limit`.
Summaries that Zeus's paper made of many runs are refused.

Samples:
    start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy
    13586410.28,epoch 0,8.22,1067.5,1072.4
    13586420.69,__GlobalPowerLimitOptimizer_275,8.02,1066.0,1045.9
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Moment, epoch
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import first_cells, rows_of

VERSION = 2
IN_HEAD = (b"window_name", b"power_limit", b"target_metric")

_FIRST = ["start_time", "window_name", "elapsed_time"]
_SUMMARY = ["dataset", "network", "batch_size", "optimizer"]
_DEVICE = re.compile(r"(gpu|cpu|dram|soc)(\d*)_energy")
_LIMIT = re.compile(r"__GlobalPowerLimitOptimizer_([1-9]\d{1,3})")
_SCOPES = {"gpu": "gpu", "cpu": "cpu", "dram": "memory"}


def recognise(head: bytes, name: str) -> bool:
    first = [*first_cells(head)]
    return first[:3] == _FIRST or (first[:4] == _SUMMARY and bool({*first} & {"power_limit", "target_metric"}))


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    for number, row, whole in rows_of(source):
        if row[:4] == _SUMMARY:
            rows.problem(
                number, "a summary of many runs: it holds no samples or energies of a single run", ",".join(row)
            )
            return
        if row[:3] == _FIRST:
            header = row
            continue
        span_s = amount(row[2]) if whole and len(row) == len(header) else None
        if span_s is None:
            rows.problem(number, "the row is cut, or its elapsed time is not a number", ",".join(row))
            continue
        rows.metric(number, None, None, None, row[1], span_s, "s")
        if limit := _LIMIT.fullmatch(row[1]):
            rows.metric(number, None, None, None, "power limit", float(limit[1]), "W")
        ts, origin = _end_of(row[0], span_s)
        for column, text in zip(header[3:], row[3:], strict=True):
            device = _DEVICE.fullmatch(column)
            energy = amount(text)
            if device is None or energy is None:
                if text not in ("", "None"):
                    rows.problem(number, f"{column} is not the energy of a device", ",".join(row))
                continue
            rows.add(
                "energy", number, device=device[2] if device[1] == "gpu" else device[1] + device[2],
                scope=_SCOPES.get(device[1]), energy_j=energy or None, span_s=span_s, method="zeus", ts=ts,
                ts_origin=origin,
            )  # fmt: skip


def _end_of(start: str, span_s: float) -> tuple[Moment | None, str | None]:
    """The end of a window: since 1970, or since the zero of its clock."""
    ns, unit = epoch(start)
    if ns is not None and unit == "s":
        return ns + round(span_s * SECOND), "utc"
    begins = amount(start)
    return (None, None) if begins is None else (round(begins * SECOND) + round(span_s * SECOND), "relative")
