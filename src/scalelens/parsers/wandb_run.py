"""W&B's own record of a run, run-ID.wandb: what the client keeps while it is offline, and beside an upload.

Tool: Weights & Biases client, in any mode but `disabled`
Versions: 0.12 to 0.31; files of 0.19, 0.29, 0.30 and 0.31 were at hand
Yields: steps, metrics, params, power, phases
Source: wandb/proto/wandb_internal.proto; core/internal/transactionlog; wandb/sdk/internal/datastore.py before 0.20

Protobuf messages in LevelDB's log format, whose checksum here is the CRC-32 of zlib.  `line` is the number of the
record.  A history record holds what one or several calls of log() gave for a `_step`, with `_timestamp` and `_runtime`.
Its numbers have the roles that columns of a CSV have by their names (docs/generic.md); all others are metrics.  Texts,
tables, pictures and histograms are passed over.  Values that the script set itself in the summary are metrics without
a step.

The step is the column that the script counts steps in, as `train/global_step`; without one it is `_step`, which counts
the calls of log() unless the script gave it: then, as `--map step=_step` does, its leaps show that it is a step.  Where
nothing shows what it counts, no time of a step is made of the stamps, and the note says so.

Settings are facts under their own names and canonical ones, last values last; so are name, group, project, tags, host,
GPU and command, where the client keeps them here: before 0.20 they stand in wandb-metadata.json.  Power of GPUs is
`power`, their use and memory are metrics with their device; clients before 0.18 average over 30 s.  Output lines are
not read here: files/output.log beside the record has them.  The client writes in blocks of 32 KiB: what a killed run
logged last may be missing.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.leveldb_log import records
from scalelens.parsing.protobuf import fields, signed
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.system_metrics import SystemMetrics
from scalelens.parsing.values import YEARS_2000_TO_2100
from scalelens.tabular.history.columns import History, Series
from scalelens.tabular.history.meanings import Own
from scalelens.tabular.history.writing import write_history

VERSION = 1

_MAGIC = b":W&B\xe1\xbe\x00"
_OWN = Own("_step", "_timestamp", ("_runtime",))
_HISTORY, _SUMMARY, _CONFIG, _STATS, _OUTPUT, _RUN, _EXIT, _HEADER, _ENVIRONMENT = 2, 3, 5, 7, 13, 17, 18, 21, 26
_LONGEST_JSON = 1 << 20
_RUN_FACTS = {
    1: "wandb_run_id",
    3: "project",
    6: "run_group",
    7: "job_type",
    8: "run_name",
    12: "sweep_id",
    13: "host_name",
}


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(_MAGIC)


def read(source: Source, rows: Rows) -> str | None:
    run = _Run(rows)
    for number, record in records(source, len(_MAGIC), rows.problem):
        try:
            run.take(number, record)
        except (ValueError, TypeError, AttributeError, IndexError):
            rows.problem(number, "the record is damaged")
    return run.finish()


class _Run:
    """What the records of a file say."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.history = History()
        self.system = SystemMetrics(rows)
        self.single: dict[bytes, Series] = {}  # by a name that is not nested
        self.configuration: dict[str, Any] = {}
        self.configured = 0
        self.summary: dict[str, tuple[int, float]] = {}  # line and last value
        self.last: tuple[float | None, float | None] = (None, None)  # runtime and stamp of the last record
        self.ended = False
        self.environment = False
        self.output_lines = 0
        self.takes: dict[int, Callable[[int, Any], None]] = {
            _CONFIG: self.take_configuration, _STATS: self.take_stats, _RUN: self.take_run, _EXIT: self.take_exit,
            _HEADER: self.take_header, _ENVIRONMENT: self.take_environment, _HISTORY: self.take_history,
            _SUMMARY: self.take_summary, _OUTPUT: self.take_output,
        }  # fmt: skip

    def take(self, number: int, record: bytes) -> None:
        """A record.  Most are a number and the history or the summary of a step, and nothing else."""
        kind, at = _only_field(record)
        if kind == _HISTORY:
            self.take_history(number, record, at)
            return
        if kind == _SUMMARY and self.repeats_history(record, at):
            return
        content, kind = b"", 0
        for field, value in fields(record):
            if field in self.takes:
                kind, content = field, value
        if kind:
            self.takes[kind](number, content)

    def take_history(self, number: int, record: bytes, at: int = 0) -> None:
        """The values of a record.  Most names and values are shorter than 128 bytes, and stand alone in their item."""
        row, single, end = self.history.begin(number), self.single, len(record)
        while at < end and record[at] == 0x0A and record[at + 1] < 128:
            begin = at + 2
            at = begin + record[at + 1]
            if record[begin] == 0x12:
                name = begin + 2 + record[begin + 1]
                if record[name : name + 2] == b"\x82\x01" and name + 3 + record[name + 2] == at <= end:
                    key = record[begin + 2 : name]
                    try:
                        value = float(record[name + 3 : at])
                    except ValueError:  # true, a text, a list
                        continue
                    series = single.get(key)
                    if series is None:
                        series = single[key] = self.history.series(key.decode("utf-8", "replace"))
                    series.rows.append(row)
                    series.values.append(value)
                    continue
            self.take_item(row, record[begin:at])
        if at < end and record[at] != 0x12:  # the step, which is an item as well
            for field, item in fields(record[at:]):
                if field == 1:
                    self.take_item(row, item)

    def repeats_history(self, record: bytes, at: int) -> bool:
        """Whether the client made a summary of the history by itself, as it does after each of its records."""
        if record[at : at + 1] != b"\x0a" or record[at + 1] > 127:
            return False
        key = record[at + 4 : at + 4 + record[at + 3]]
        return key in self.single or key in (b"_wandb", b"_runtime")

    def take_item(self, row: int, item: bytes) -> None:
        name, value = _item(item)
        if name and value is not None:
            series = self.history.series(name)
            series.rows.append(row)
            series.values.append(value)

    def take_summary(self, number: int, record: bytes) -> None:
        """Values that the script set."""
        for field, item in fields(record):
            name, value = _item(item) if field == 1 else ("", None)
            if name and value is not None:
                self.summary[name] = number, value

    def take_output(self, number: int, record: bytes) -> None:
        self.output_lines += record.count(b"\n")

    def take_configuration(self, number: int, record: bytes) -> None:
        self.configured = self.configured or number
        for field, item in fields(record):
            names, content = [], None
            for part, value in fields(item) if field in (1, 2) else ():
                if part in (1, 2):
                    names.append(value.decode("utf-8", "replace"))
                elif part == 16:
                    content = _json(value)
            inner = self.configuration
            for name in names[:-1]:
                inner = inner.setdefault(name, {})
            if field == 1 and names:
                inner[names[-1]] = content
            elif field == 2 and names:
                inner.pop(names[-1], None)

    def take_run(self, number: int, record: bytes) -> None:
        tags = []
        for field, value in fields(record):
            if field in _RUN_FACTS and value:
                self.rows.param(_RUN_FACTS[field], value.decode("utf-8", "replace")[:500], number)
                if _RUN_FACTS[field] == "host_name":
                    self.system.node = value.decode("utf-8", "replace")
            elif field == 10:
                tags.append(value.decode("utf-8", "replace"))
            elif field == 4:
                self.take_configuration(number, value)
        if tags:
            self.rows.param("tags", ", ".join(tags)[:500], number)

    def take_header(self, number: int, record: bytes) -> None:
        version = dict(fields(dict(fields(record)).get(1, b""))).get(1, b"")
        self.rows.param("wandb_version", version.decode("utf-8", "replace").partition("+")[0] or None, number)

    def take_environment(self, number: int, record: bytes) -> None:
        """The machine.  GPUs are those of the node, whether or not the run uses them."""
        self.environment = True
        texts: dict[int, list[str]] = {}
        for field, value in fields(record):
            if field == 27:
                key, entry = (dict(fields(value)).get(k, b"").decode("utf-8", "replace") for k in (1, 2))
                if key.lower().removeprefix("slurm_") == "job_id" and entry.isdecimal():
                    self.rows.job(entry, number, "environment")
            else:
                texts.setdefault(field, []).append(
                    str(signed(value)) if isinstance(value, int) else value.decode("utf-8", "replace")
                )
        program, arguments = texts.get(6, []), texts.get(5, [])
        if program:
            self.rows.param("command", " ".join([*program, *arguments])[:500], number)
        for field, key in ((18, "device_model"), (19, "node_gpu_count"), (25, "cuda_version"), (2, "python_version")):
            self.rows.param(key, texts[field][0] if field in texts else None, number, origin="environment")

    def take_stats(self, number: int, record: bytes) -> None:
        stamp, values = None, []
        for field, value in fields(record):
            if field == 2:
                stamp = _stamp(value)
            elif field == 3:
                values.append(_item(value))
        for name, number_of in values:
            if name and number_of is not None:
                self.system.take(number, name, number_of, (stamp, "utc") if stamp else None)

    def take_exit(self, number: int, record: bytes) -> None:
        values = dict(fields(record))
        code, runtime_s = signed(values.get(1, 0)), signed(values.get(2, 0))
        self.ended = True
        self.rows.param("exit_code", code, number)
        self.rows.param("outcome", "completed" if code == 0 else "error", number)
        if runtime_s > 0:
            self.rows.add("phases", number, phase="run", span_s=float(runtime_s), origin="logged")

    def finish(self) -> str | None:
        self.rows.param("tracker", "wandb")
        configuration = {name: value for name, value in self.configuration.items() if name != "_wandb"}
        write_configuration(configuration, self.rows, self.configured or None)
        found = write_history(self.history, _OWN, self.rows, False, {"_runtime": "s"})
        for name, (line, value) in self.summary.items():
            self.rows.metric(line, None, None, None, name, value)
        if self.history.records > 1 and found.lacks_times:
            notes = [
                "_step may count calls of log(): times of steps need a column that counts steps, or --map step=_step"
            ]
        else:
            notes = []
        if not self.ended:
            notes.append("the run did not end, or is still running: what it logged last may not be written yet")
        if not self.environment:
            notes.append("the machine and the command are not in it: wandb-metadata.json has them")
        if self.output_lines:
            notes.append(
                f"{self.output_lines:,} output lines are not read here, but in files/output.log if the client wrote it"
            )
        return "; ".join(notes) or None


def _only_field(record: bytes) -> tuple[int, int]:
    """The field of a record that has nothing but it and its number, and where its content begins; else 0."""
    at = 0
    if record[0] == 8:
        at = 1
        while record[at] > 127:
            at += 1
        at += 1
    kind, size, at = record[at], record[at + 1], at + 2
    if size > 127:
        size, at = size + ((record[at] - 1) << 7), at + 1
    return (kind >> 3, at) if kind & 7 == 2 and at + size == len(record) else (0, 0)


def _item(item: bytes) -> tuple[str, float | None]:
    """Name and number of an item of a history, a summary or statistics; no number where it is something else."""
    names, value = [], None
    for field, content in fields(item):
        if field in (1, 2):
            names.append(content.decode("utf-8", "replace"))
        elif field == 16 and len(content) < 64:
            value = _number(content)
        elif field == 5:
            value = float(signed(content)) if isinstance(content, int) else None
    return ".".join(filter(None, names)), value


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _json(text: bytes) -> Any:
    if len(text) > _LONGEST_JSON:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _stamp(message: bytes) -> datetime | None:
    """A protobuf Timestamp."""
    values = dict(fields(message))
    seconds = signed(values.get(1, 0))
    if not YEARS_2000_TO_2100[0] < seconds < YEARS_2000_TO_2100[1]:
        return None
    return datetime.fromtimestamp(seconds + values.get(2, 0) / 1e9, UTC).replace(tzinfo=None)
