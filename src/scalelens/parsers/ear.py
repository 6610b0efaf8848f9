"""EAR's tables of jobs and of loops.

Tool: EAR (Energy Aware Runtime), eacct -c, --ear-user-db, the report plug-in csv_ts
Versions: 3 to 5
Yields: energy, power, jobs, params
Source: EAR src/common/output/, types/application.c and types/loop.c, create_app_header() and create_loop_header()

A row of the jobs' table is a job step on a node: mean powers over TIME_SEC, and energy as EAR counts it, their product.
The step of the batch script holds the others: where a job has others too, its energy is in `jobs` alone.  A row of the
loops' table holds the mean powers of an interval that ended at TIMESTAMP, in seconds since 1970; ITER_TIME_SEC is the
time of a loop that EAR found in the program, which is not a training step.  DC_NODE_POWER_W is the whole node, PCK the
sockets, DRAM the memory; a power of 0 was not measured.

Samples:
    JOBID;STEPID;NODENAME;AVG_CPUFREQ_KHZ;DEF_FREQ_KHZ;TIME_SEC;CPI;TPI;MEM_GBS;IO_MBS;PERC_MPI;DC_NODE_POWER_W;DRAM_POWER_W;PCK_POWER_W
    471208;0;n01;2400000;2400000;125.5;0.75;1.0;10.5;0.5;1.0;1250.5;35.5;410.25
"""

import math

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.tabular.cells import cells_of, first_cells, lines_of

VERSION = 3
IN_HEAD = (b"DC_NODE_POWER_W",)

_NEEDED = {"JOBID", "STEPID", "NODENAME", "DC_NODE_POWER_W"}
_COLUMN = re.compile(r"(?:(DC_NODE)|(DRAM)|(PCK)|GPU(\d{1,3}))_POWER_W")
_BATCH = {"sb", "4294967291", "4294967294"}  # of the script
_ID = re.compile(r"\d{1,18}")


def recognise(head: bytes, name: str) -> bool:
    names = {*first_cells(head, ";")}
    return names >= _NEEDED and bool(names & {"TIME_SEC", "ITER_TIME_SEC"})


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    records: list[tuple[int, dict[str, str]]] = []
    for number, text, whole in lines_of(source):
        cells = cells_of(text, ";")
        if not names or cells[0] == names[0]:
            names = cells
        elif not whole or len(cells) != len(names):
            rows.problem(number, f"the row has {len(cells)} cells, the header {len(names)}, or it is cut", text)
        else:
            records.append((number, dict(zip(names, cells, strict=True))))
    samples = Samples(rows)
    worked = {row["JOBID"] for _, row in records if row["STEPID"] not in _BATCH}
    job = None
    for number, row in records:
        if job not in (None, row["JOBID"]):
            rows.new_part()
        job = row["JOBID"]
        rows.param("job_id", job if _ID.fullmatch(job) else None, number, origin="scheduler")
        if "TIME_SEC" in row:
            _step(number, row, rows, alone=job not in worked)
        else:
            _loop(number, row, samples)


def _step(number: int, cells: dict[str, str], rows: Rows, alone: bool) -> None:
    """A job step on a node."""
    span_s, node_w = _positive(cells["TIME_SEC"]), _positive(cells["DC_NODE_POWER_W"])
    if span_s is None:
        rows.problem(number, "TIME_SEC is not a time", ";".join(cells.values()))
        return
    rows.add(
        "jobs", number, job_id=cells["JOBID"], step_id=cells["STEPID"], node_list=cells["NODENAME"], nodes=1,
        elapsed_s=span_s, energy_j=node_w * span_s if node_w else None,
    )  # fmt: skip
    for name, cell in cells.items() if cells["STEPID"] not in _BATCH or alone else ():
        if (match := _COLUMN.fullmatch(name)) and (power := _positive(cell)):
            device, scope = _sensor(match)
            rows.add(
                "energy", number, node=cells["NODENAME"], device=device, scope=scope, energy_j=power * span_s,
                span_s=span_s, method="ear",
            )  # fmt: skip


def _loop(number: int, cells: dict[str, str], samples: Samples) -> None:
    """An interval on a node."""
    ended = _positive(cells.get("TIMESTAMP", ""))
    stamp = (round(ended * 1e9), "utc") if ended and 946_684_800 < ended < 4_102_444_800 else None
    for name, cell in cells.items():
        if (match := _COLUMN.fullmatch(name)) and _positive(cell) is not None:
            samples.power(number, Sensor(cells["NODENAME"], *_sensor(match)), cell, stamp)


def _sensor(match: re.Match[str]) -> tuple[str | None, str]:
    """Device and scope of a column."""
    scope = "node_dc" if match[1] else "memory" if match[2] else "cpu" if match[3] else "gpu"
    return match[4], scope


def _positive(text: str) -> float | None:
    """A number above zero."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None
