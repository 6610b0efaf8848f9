"""W&B's own record of a run, run-ID.wandb: what the client keeps while it is offline, and what it keeps during an upload.

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
GPU and command, where the client keeps them here: before 0.20 they are in wandb-metadata.json.  Power of GPUs is
`power`, their use and memory are metrics with their device; clients before 0.18 average over 30 s.  The client writes in
blocks of 32 KiB: what a killed run logged last may be missing.

Output lines are read as the log that they are, in a part of their own, where `line` counts them, unless they are in
files/output.log next to the record: clients of 0.19, 0.29 and 0.30 leave it empty or write none while they are offline.
A step that the log has as well counts once.
"""

from collections.abc import Callable
from typing import Any

from scalelens.parsing.leveldb_log import records
from scalelens.parsing.protobuf import fields
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.system_metrics import SystemMetrics
from scalelens.parsing.wandb_facts import RunFacts
from scalelens.parsing.wandb_messages import (
    CONFIG,
    ENVIRONMENT,
    EXIT,
    HEADER,
    HISTORY,
    OUTPUT,
    RUN,
    STATS,
    SUMMARY,
    only_field,
    read_item,
    stamp_of,
)
from scalelens.parsing.wandb_output import Output
from scalelens.tabular.history.meanings import Own
from scalelens.tabular.history.wandb_records import HistoryRecords
from scalelens.tabular.history.writing import write_history

VERSION = 2

_MAGIC = b":W&B\xe1\xbe\x00"
IN_HEAD = (_MAGIC,)
_OWN = Own("_step", "_timestamp", ("_runtime",))


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(_MAGIC)


def read(source: Source, rows: Rows) -> str | None:
    run = _Run(rows, Output(source.path))
    for number, record in records(source, len(_MAGIC), rows.problem):
        try:
            run.take(number, record)
        except (ValueError, TypeError, AttributeError, IndexError):
            rows.problem(number, "the record is damaged")
    return run.finish()


class _Run:
    """What the records of a file say."""

    def __init__(self, rows: Rows, output: Output) -> None:
        self.rows, self.output = rows, output
        self.records = HistoryRecords()
        self.facts = RunFacts(rows)
        self.system = SystemMetrics(rows)
        self.summary: dict[str, tuple[int, float]] = {}  # line and last value
        self.takes: dict[int, Callable[[int, Any], None]] = {
            CONFIG: self.facts.take_configuration, STATS: self.take_stats, RUN: self.facts.take_run,
            EXIT: self.facts.take_exit, HEADER: self.facts.take_header, ENVIRONMENT: self.facts.take_environment,
            HISTORY: self.records.take, SUMMARY: self.take_summary, OUTPUT: self.output.take,
        }  # fmt: skip

    def take(self, number: int, record: bytes) -> None:
        """A record.  Most are a number and the history or the summary of a step, and nothing else."""
        kind, at = only_field(record)
        if kind == HISTORY:
            first = self.records.history.records == 0
            self.records.take(number, record, at)
            if first:
                self.forget_copies()
            return
        if kind == SUMMARY and self.records.repeated_by(record, at):
            return
        content, kind = b"", 0
        for field, value in fields(record):
            if field in self.takes:
                kind, content = field, value
        if kind:
            self.takes[kind](number, content)

    def take_summary(self, number: int, record: bytes) -> None:
        """Values that the script set."""
        for field, item in fields(record):
            name, value = read_item(item) if field == 1 else ("", None)
            if name and value is not None:
                self.summary[name] = number, value

    def forget_copies(self) -> None:
        """Drops what the client copied into the summary before it wrote the first record of the history, as 0.29 does."""
        for name in [name for name, (_, value) in self.summary.items() if self.records.last(name) == value]:
            del self.summary[name]

    def take_stats(self, number: int, record: bytes) -> None:
        stamp, values = None, []
        for field, value in fields(record):
            if field == 2:
                stamp = stamp_of(value)
            elif field == 3:
                values.append(read_item(value))
        self.system.node = self.facts.host
        for name, value in values:
            if name and value is not None:
                self.system.take(number, name, value, (stamp, "utc") if stamp else None)

    def finish(self) -> str | None:
        self.facts.finish()
        found = write_history(self.records.history, _OWN, self.rows, False, {"_runtime": "s"})
        for name, (line, value) in self.summary.items():
            self.rows.metric(line, None, None, None, name, value)
        self.rows.printed = self.output.printed
        return "; ".join(self.notes(found.lacks_times and self.records.history.records > 1)) or None

    def notes(self, uncounted: bool) -> list[str]:
        notes = []
        if uncounted:
            notes.append(
                "_step may count calls of log(): times of steps need a column that counts steps, or --map step=_step"
            )
        if not self.facts.ended:
            notes.append("the run did not end, or is still running: what it logged last may not be written yet")
        if not self.facts.knows_machine:
            notes.append("the machine and the command are not in it: wandb-metadata.json has them")
        if self.output.lines:
            notes.append(f"{self.output.lines:,} output lines are in it{self.output.unread_because}")
        return notes
