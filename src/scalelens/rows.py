"""What a parser hands back: rows of the warehouse's tables, and problems.

A reader of a format gets one `Rows` per file and calls

    rows.add("steps", line=12, step=10, step_s=1.38)     a row; columns left out are NULL
    rows.param("tp", 4, line=3)                          a fact about the run, visible to the file's other formats
    rows.problem(12, "the record is cut", text)          ours, and not understood
    rows.new_part()                                      what follows is another run
"""

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any

import pyarrow as pa

from scalelens.tables import SCHEMAS

BATCH = 20_000  # rows of one table held as Python objects before they become Arrow
TEXT_LIMIT = 500

Write = Callable[[str, pa.RecordBatch], None]


class Rows:
    """Rows of one file, gathered by table and handed over as Arrow in batches.

    `params` holds the facts of the current part, so that formats of one file see each other's (a record needs the
    sequence length from the argument dump).
    """

    def __init__(self, file_id: str = "", write: Write | None = None, zone: tzinfo | None = None) -> None:
        self.file_id = file_id
        self.zone = zone  # of naive times, where the user says it
        self.part = 0
        self.params: dict[str, Any] = {}
        self.step: int | None = None  # the step of the last record, for lines that follow it
        self.attempt = 0
        self.steps_line = 0  # line of the last record of a step
        self.format: str | None = None  # the format whose turn it is
        self.taken: dict[str, int] = {}  # lines, or for a file format one, by format
        self.rows_of: dict[str | None, int] = {}  # rows other than problems, by format
        self.problems_of: dict[str | None, int] = {}
        self.parts: dict[int, dict[str, Any]] = {}
        self._write = write
        self._held: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._facts: set[tuple[int, str, str, str]] = set()

    def add(self, table: str, line: int | None, **values: Any) -> None:
        """One row of `table`, from `line`.  Units are those of the column names; columns left out are NULL."""
        values["line"] = line
        values["part"] = self.part
        held = self._held[table]
        held.append(values)
        self.rows_of[self.format] = self.rows_of.get(self.format, 0) + 1
        if len(held) >= BATCH:
            self._hand_over(table)

    def param(self, key: str, value: Any, line: int | None = None, unit: str | None = None, origin: str = "log") -> None:
        """A fact about the run.  The same fact said twice is one row; another value is kept beside the first."""
        if value is None:
            return
        self.params[key] = value
        fact = (self.part, key, str(value), origin)
        if fact not in self._facts:
            self._facts.add(fact)
            self.add("params", line, key=key, value=str(value), unit=unit, origin=origin)

    def metric(
        self, line: int | None, rank: int | None, place: str | None, step: int | None, name: str, value: float,
        unit: str | None = None, stat: str = "value",
    ) -> None:  # fmt: skip
        """A number with no column of its own."""
        self.add(
            "metrics", line, attempt=self.attempt, rank=rank, place=place, step=step, name=name, value=value, unit=unit, stat=stat
        )

    def latest(self, table: str) -> dict[str, Any] | None:
        """The row added last, while it can still be amended."""
        return self._held[table][-1] if self._held[table] else None

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        """Ours and not understood: kept, with the reason in a sentence."""
        row = {"line": line, "part": self.part, "format": self.format, "reason": reason, "text": text[:TEXT_LIMIT]}
        self._held["problems"].append(row)
        self.problems_of[self.format] = self.problems_of.get(self.format, 0) + 1

    def new_part(self) -> None:
        """What follows belongs to another run: other settings, or another launch."""
        self.part += 1
        self.params, self.step, self.attempt = {}, None, 0

    def flush(self) -> None:
        """Hands over everything that is still held."""
        for table in SCHEMAS:
            self._hand_over(table)

    def _hand_over(self, table: str) -> None:
        held, self._held[table] = self._held[table], []
        if not held:
            return
        for row in held:
            row["file_id"] = self.file_id
            if self.zone and row.get("ts_origin") == "naive" and row["ts"]:
                row["ts"] = row["ts"].replace(tzinfo=self.zone).astimezone(UTC).replace(tzinfo=None)
                row["ts_origin"] = "utc"
        self._summarise(table, held)
        if self._write:
            self._write(table, pa.RecordBatch.from_pylist(held, schema=SCHEMAS[table]))

    def _summarise(self, table: str, held: list[dict[str, Any]]) -> None:
        """What must be known of each part to join files into runs, without reading the rows again."""
        for row in held:
            part = self.parts.get(row["part"])
            if part is None:
                part = self.parts[row["part"]] = {"rows": {}, "steps": {}, "attempts": 0}
            part["rows"][table] = part["rows"].get(table, 0) + 1
            if table == "steps":
                rank, step = str(row.get("rank")), row.get("step") or 0
                low, high = part["steps"].get(rank, (step, step))
                part["steps"][rank] = (min(low, step), max(high, step))
                part["attempts"] = max(part["attempts"], (row.get("attempt") or 0) + 1)
            elif table == "events" and row.get("rank") not in (ranks := part.setdefault("traced", [])):
                ranks.append(row.get("rank"))
            elif table == "params" and row["key"] == "job_id":
                part.setdefault("job_id", row["value"])
            if table in ("steps", "phases") and (ts := row.get("ts")) is not None:
                part["started_at"] = min(part.get("started_at", ts), ts)
                part["ended_at"] = max(part.get("ended_at", ts), ts)
