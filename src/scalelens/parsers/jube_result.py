"""Result tables of JUBE as CARAML lays them out: a row for each job.

Tool: JUBE result tables of CARAML and of JSC's benchmarks: CSV, `pretty`, and SQLite databases
Versions: CARAML 2024 and 2025, JUBE 2.7
Yields: params, steps, metrics, energy
Source: CARAML llm_training/*.yaml and resnet50/*.xml, <table>; jube/result_types/table.py, database.py

Each row is a run, and a part of the file.  What it says of steps stands for the run: kind `run_mean`.
Time/iteration(s) is the mean over the log's records for GPUs; for IPUs the last step alone, a mean of 1.
`step_time` is in seconds if the table has JUBE's titles of a job, too; in any other table its unit is unknown, and it
does not make the table one of JUBE.  Tokens/second is a metric in tokens per second for GPUs.  For IPUs (a column IPU/replica, or a system or version of
theirs) it is the log's `throughput`, in sequences: samples_per_s.  Their GlobalBatchSize counts device iterations: the
samples of one printed step.  Images/second is samples_per_s of the whole job; where no time is in the table, that of a step follows from the batch.
Energies are read where the title says their unit.  Other titles are params under their own name; blank cells and nan are unknown.

Samples:
    JobID,System,Version,Queue,JobTime,Model,ModelSize,Dataset,Nodes,Devices,GlobalBatchSize,Time/iteration(s),Tokens/second
    4711,GC200,2024.01,dc-ipu,00:40:00,GPT,117M,Synthetic,1,4,2048,11.17,183.37
    | JobID | System | Devices | GlobalBatchSize | Images/second |
"""

import csv
import sqlite3
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, sqlite_database
from scalelens.parsing.values import number
from scalelens.tabular.energy_columns import EnergyColumn, energy_column, joules_of

VERSION = 2

# Titles without their signs and in lower case: JUBE prints the pattern's own name where a column has no title.
_FACTS = {
    "jobid": "job_id", "system": "system", "systemname": "system", "model": "model", "modeltype": "model",
    "tfmodel": "model", "dataset": "dataset", "nodes": "nodes", "devices": "devices", "totaldevices": "devices",
    "globalbatchsize": "global_batch_size", "dataparallel": "dp", "tensorparallel": "tp", "pipelineparallel": "pp",
    "gcds": "devices", "devicespernode": "devices_per_node", "gpuspernode": "devices_per_node", "dpsize": "dp", "tpsize": "tp", "ppsize": "pp", "queue": "partition", "sequencelength": "seq_length",
}  # fmt: skip
_COUNTS = ("nodes", "devices", "devices_per_node", "global_batch_size", "dp", "tp", "pp", "seq_length")
_MEASURES = {
    "timeiterations": "step_s", "steptime": "step_s", "elppat": "step_s", "imagessecond": "samples_per_s",
    "imagessec": "samples_per_s", "imagespersec": "samples_per_s", "stepthroughput": "samples_per_s",
    "tokenssecond": "tokens_per_s", "tokenspersecond": "tokens_per_s", "avgtflopsgpu": "tflops_per_device",
    "tflopspat": "tflops_per_device",
}  # fmt: skip
_OF_JOBS = {"jobid", "system", "systemname", "queue"}  # without one of them a step time without a unit is left open
_SUFFIX = re.compile(r"_(?:avg|last)\Z")
_IPU = re.compile(r"\b(?:GC200|GC2|Bow|IPU|M2000|POD\d+)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")
_NAME = re.compile(r"[\w.-]+:\s*\Z")

_ResultTable = list[tuple[int, list[str]]]


def recognise(head: bytes, name: str) -> bool:
    if head.startswith(MAGIC):
        declared = re.findall(rb"CREATE TABLE \w+ \(([^)]*)\)", head)
        return any(
            _is_header([c.split()[0] for c in d.decode("utf-8", "replace").split(",") if c.split()]) for d in declared
        )
    if head.lstrip()[:1] in (b"{", b"["):  # JSON
        return False
    lines = [line.decode("utf-8", "replace") for line in head[:8192].split(b"\n", 3)[:3]]
    tables = (line for line in lines if line.count(",") > 1 or line.lstrip().startswith("|"))
    return any(_is_header(_cells(line)) for line in tables) and "\0" not in lines[0]


def read(source: Source, rows: Rows) -> None:
    begun = False
    is_database = source.head().startswith(MAGIC)
    for table in _in_database(source, rows) if is_database else _in_text(source.text()):
        (_, header), *records = table
        for line, values in records:
            if len(values) != len(header):
                rows.problem(line, f"the row has {len(values)} cells, the header {len(header)}", ",".join(values))
                continue
            if begun:
                rows.new_part()
            begun = True
            _job(dict(zip(header, values, strict=True)), line, rows)


def _job(row: dict[str, str], line: int, rows: Rows) -> None:
    """A row of a table."""
    known = {title: value for title, value in row.items() if value.strip().lower() not in ("", "nan", "none")}
    ipus = any(_bare_title(title) in ("ipureplica", "ipusperreplica") for title in row) or any(
        _IPU.search(value) for title, value in known.items() if _bare_title(title) in ("system", "systemname", "queue")
    )
    measured: dict[str, float | None] = {}
    measures = _measures_of({*map(_bare_title, row)})
    for title, value in known.items():
        measure, fact = measures.get(_bare_title(title)), _FACTS.get(_bare_title(title))
        if measure:
            amount = number(value)
            if amount is None or amount <= 0:
                rows.problem(line, f"{title} is not a positive number", value)
            elif measure == "tokens_per_s" and not ipus:
                rows.metric(line, None, None, None, title, amount, "tokens/s", "mean")
            else:
                measured.setdefault("samples_per_s" if measure == "tokens_per_s" else measure, amount)
        elif fact and fact in _COUNTS and not _NUMBER.fullmatch(value.strip()):
            rows.problem(line, f"{title} is not a whole number", value)
        else:
            rows.param(fact or title, value.strip(), line, origin="environment")
    _energies(known, line, rows)
    if ipus:
        rows.param("device_unit", "ipu", line, origin="inferred")
    rate, batch = (
        measured.get("samples_per_s"),
        known.get(next((t for t in known if _bare_title(t) == "globalbatchsize"), ""), ""),
    )
    if rate and "step_s" not in measured and _NUMBER.fullmatch(batch.strip()):
        measured["step_s"] = int(batch) / rate
    if measured:
        rows.add(
            "steps", line, phase="train", value_kind="run_mean", rate_scope="global",
            averaged_steps=1 if ipus and any(_bare_title(title) == "timeiterations" for title in known) else None, **measured,
        )  # fmt: skip


def _energies(known: dict[str, str], line: int, rows: Rows) -> None:
    """The energies of a job, by titles that say their unit; each once, also where it is there in two units."""
    found: dict[tuple[str | None, str | None], EnergyColumn] = {}
    for k, title in enumerate(known):
        if column := energy_column(k, title):
            found.setdefault((column.device, column.scope), column)
    parts = any(column.device for column in found.values())
    for column in found.values():
        energy_j = joules_of(known[column.name].strip(), column)
        label = ("total", "total") if parts and not column.device else (column.device, column.scope)
        if energy_j:
            rows.add("energy", line, device=label[0], scope=label[1], energy_j=energy_j, method="table")


def _in_text(content: bytes) -> Iterator[_ResultTable]:
    """The tables of a text: the header and its rows, with their lines."""
    table: _ResultTable = []
    for line, text in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        values = _cells(text)
        if _is_header(values) or not text.strip() or _NAME.match(text):
            if table:
                yield table
            table = [(line, values)] if _is_header(values) else []
        elif table and not set(text.strip()) <= {"|", "-", " "}:
            table.append((line, values))
    if table:
        yield table


def _in_database(source: Source, rows: Rows) -> Iterator[_ResultTable]:
    """The tables of a database; line is the place of the row."""
    try:
        with sqlite_database(source) as database:
            for name, columns in database.columns.items():
                if _is_header([*columns]):
                    header, records = database.table(name)
                    values = [["" if value is None else str(value) for value in record] for record in records]
                    yield [(0, header), *enumerate(values, 1)]
    except sqlite3.Error as error:
        rows.problem(None, f"the database is damaged ({error})")


def _cells(line: str) -> list[str]:
    """Cells of a line, of either style."""
    text = line.strip()
    if text.startswith("|"):
        return [cell.strip() for cell in text.strip("|").split("|")]
    try:
        return next(csv.reader([text]), [])
    except csv.Error:  # carriage returns and zeros of a file that is not text
        return []


def _bare_title(title: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _SUFFIX.sub("", title.strip().lower()))


def _is_header(titles: list[str]) -> bool:
    """Whether titles are those of a result: they name a setting and a measurement."""
    named = {_bare_title(title) for title in titles} if len(titles) >= 3 else set()
    return bool(named & _FACTS.keys()) and bool(named & _measures_of(named).keys())


def _measures_of(titles: set[str]) -> dict[str, str]:
    """What titles measure: `step_time` is in seconds where JUBE's patterns wrote it, next to those of a job."""
    return {
        title: measure for title, measure in _MEASURES.items() if title != "steptime" or not titles.isdisjoint(_OF_JOBS)
    }
