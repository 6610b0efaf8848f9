"""What the rows of the page are: runs, sizes, epochs, slow steps or kernels, each asked by a query that is there.

A statement is the query, and joins that add what a reader wants beside it: the run's name and settings, a file and a
line.  The page writes the same statement again with the joins that a picture needs, so the parts stay apart.
"""

from collections.abc import Sequence
from typing import NamedTuple

SETTINGS = (
    "framework", "model", "dataset", "system", "precision", "device_model", "nodes", "devices", "micro_batch_size",
    "global_batch_size", "seq_length", "tp", "pp", "dp", "cp", "outcome",
)  # fmt: skip
ALL_ROWS = "n_all_rows"  # how many rows there were before some were left out


class Join(NamedTuple):
    """SQL that adds columns to the rows, with {} in the place of those that are wanted."""

    sql: str
    columns: tuple[str, ...]


class Kind(NamedTuple):
    title: str
    query: str
    x: tuple[str, ...]  # columns to begin with: the first of them that has values
    y: tuple[str, ...]
    color: tuple[str, ...]
    order: str  # of the rows; decides which are kept where there are too many
    kept: str  # the same in words
    joins: tuple[Join, ...]
    where: str = ""

    def source(self, most: int | None = None) -> str:
        """What stands after FROM, before the joins; with `most`, that many rows."""
        if most is None:
            return f"{self.query}()"
        where = f" WHERE {self.where}" if self.where else ""
        return f"(FROM {self.query}(){where} ORDER BY {self.order} LIMIT {most})"

    def joins_with(self, columns: Sequence[str]) -> list[Join]:
        """The joins that add a column to those of the query, each with the columns that it adds."""
        have, made = {*columns}, []
        for join in self.joins:
            new = tuple(name for name in join.columns if name not in have)
            have |= {*new}
            made += [Join(join.sql, new)] if new else []
        return made

    def statement(self, joins: Sequence[Join], most: int) -> str:
        """The first rows with all that is joined, and the number of all rows."""
        where = f" WHERE {self.where}" if self.where else ""
        first = (
            f"(SELECT *, count(*) OVER () AS {ALL_ROWS} FROM {self.query}(){where} ORDER BY {self.order} LIMIT {most})"
        )
        added = "".join(join.sql.replace("{}", ", ".join(join.columns)) for join in joins)
        return f"FROM {first}{added} ORDER BY {self.order}"


_NAMES = Join(" LEFT JOIN (SELECT run_id, name AS run FROM run_names()) USING (run_id)", ("run",))
_PATHS = Join(" LEFT JOIN (SELECT run_id, path AS file FROM runs) USING (run_id)", ("file",))
_SETTINGS = Join(" LEFT JOIN (SELECT run_id, {} FROM runs) USING (run_id)", SETTINGS)
_FILES = Join(" LEFT JOIN (SELECT file_id, path AS file FROM files) USING (file_id)", ("file",))
_TIMES = Join(
    " LEFT JOIN (SELECT run_id, {} FROM batch_stats()) USING (run_id)",
    (
        "step_s_low", "step_s_high", "interval_kind", "mean_s", "p95_s", "n_steps", "samples_per_s", "tokens_per_s",
        "tflops_per_device",
    ),
)  # fmt: skip
_FIRST_LINES = Join(
    " LEFT JOIN (SELECT s.run_id, min(s.line) AS line FROM steps AS s JOIN files AS f USING (file_id)"
    " JOIN runs AS r ON r.run_id = s.run_id AND r.path = f.path GROUP BY s.run_id) USING (run_id)",
    ("line",),
)
_LINES_OF_EPOCHS = Join(
    " LEFT JOIN (SELECT run_id, coalesce(attempt, 0) AS attempt, epoch, min_by(path, (path, line)) AS file,"
    " min_by(line, (path, line)) AS line FROM (SELECT run_id, attempt, epoch, file_id, line FROM steps UNION ALL"
    " SELECT run_id, attempt, epoch, file_id, line FROM phases) JOIN files USING (file_id)"
    " GROUP BY ALL) USING (run_id, attempt, epoch)",
    ("file", "line"),
)

KINDS = {
    "runs": Kind(
        "Runs", "runs_overview", ("devices", "nodes", "global_batch_size", "run"),
        ("step_s", "printed_samples_per_s", "printed_tokens_per_s"),
        ("model", "precision", "framework", "system", "outcome"), "run_id", "those whose ids come first, a fair sample",
        (_NAMES, _PATHS, _SETTINGS, _TIMES, _FIRST_LINES),
    ),
    "sizes": Kind(
        "Sizes", "scaling", ("devices",), ("efficiency", "speedup", "step_s", "samples_per_s"), ("series",),
        "series, devices, run_id", "those of the first series", (_NAMES, _PATHS, _SETTINGS, _FIRST_LINES),
    ),
    "epochs": Kind(
        "Epochs", "epoch_times", ("epoch",), ("epoch_s", "train_s", "batches_s"), ("run", "model", "devices"),
        "run_id, attempt, epoch", "those of the runs whose ids come first", (_NAMES, _LINES_OF_EPOCHS, _SETTINGS),
    ),
    "slow_steps": Kind(
        "Slow steps", "slow_steps", ("step",), ("cost_s", "step_s"), ("class", "run"),
        "cost_s DESC, run_id, attempt, step, file_id, line", "those that cost most", (_NAMES, _FILES, _SETTINGS),
        "reason IS NULL",
    ),
    "kernels": Kind(
        "Kernels", "kernel_summary", ("calls",), ("total_ns",), ("class", "rank", "run"),
        "total_ns DESC, run_id, file_id, rank, name, class", "those that take most time",
        (_NAMES, _FILES, _SETTINGS),
    ),
}  # fmt: skip
