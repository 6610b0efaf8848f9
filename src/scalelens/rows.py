"""What a parser hands back: rows of the warehouse's tables, and problems.

A reader of a format gets one `Rows` per file and calls

    rows.add("steps", line=12, step=10, step_s=1.38)     a row; columns left out are NULL
    rows.param("tp", 4, line=3)                          a fact about the run, visible to the file's other formats
    rows.problem(12, "the record is cut", text)          ours, and not understood
    rows.new_part()                                      what follows is another run
"""

from typing import Any

import pyarrow as pa

from scalelens.tables import SCHEMAS

BATCH = 20_000  # rows of one table held as Python objects before they become Arrow
TEXT_LIMIT = 500


class Rows:
    """Rows of one file, gathered by table and handed over as Arrow in batches.

    `params` holds the facts of the current part, so that formats of one file see each other's (a record needs the
    sequence length from the argument dump).
    """

    def __init__(self, file_id: str, write: Any = None) -> None:
        self.file_id = file_id
        self.part = 0
        self.params: dict[str, Any] = {}
        self.format: str | None = None
        self.taken: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.summaries: dict[int, dict[str, Any]] = {}
        self._write = write
        self._held: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._params_seen: set[tuple[int, str, str, str]] = set()

    def add(self, table: str, line: int | None, **values: Any) -> None:
        """One row of `table`, from `line`.  Units are those of the column names."""
        held = self._held[table]
        values["line"] = line
        if "part" not in values:
            values["part"] = self.part
        held.append(values)
        if len(held) >= BATCH:
            self._hand_over(table)

    def param(self, key: str, value: Any, line: int | None = None, unit: str | None = None, origin: str = "log") -> None:
        """A fact about the run.  The same fact said twice is one row; another value is kept beside the first."""
        if value is None:
            return
        text = str(value)
        self.params[key] = value
        if (seen := (self.part, key, text, origin)) not in self._params_seen:
            self._params_seen.add(seen)
            self.add("params", line, key=key, value=text, unit=unit, origin=origin)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        """Ours and not understood: kept with the reason in a sentence."""
        self.add("problems", line, format=self.format, reason=reason, text=text[:TEXT_LIMIT])

    def new_part(self) -> None:
        """What follows belongs to another run: other settings, or another launch."""
        self.part += 1
        self.params = {}

    def flush(self) -> None:
        """Hands over everything that is still held."""
        for table in SCHEMAS:
            self._hand_over(table)

    def _hand_over(self, table: str) -> None:
        held = self._held[table]
        if not held:
            return
        self._held[table] = []
        self._summarise(table, held)
        for row in held:
            row["file_id"] = self.file_id
        if self._write:
            self._write(table, pa.RecordBatch.from_pylist(held, schema=SCHEMAS[table]))
