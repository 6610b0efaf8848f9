"""Aim's repository: named, with how to export what it holds.

Tool: Aim; .aim/run_metadata.sqlite of a repository
Versions: 3; a repository of 3.29 was at hand
Yields: problems
Source: aim/storage/structured/sql_engine/models.py

The database holds the names of runs.  Their series and settings lie in RocksDB next to it (.aim/seqs, .aim/meta), whose
compressed tables no reader of plain Python reads: a problem says how Aim exports them.
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC

VERSION = 1
IN_HEAD = (b"is_archived",)

_WORDS = (b"is_archived", b"finalized_at", b"experiment_id", b"run_tag")


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and all(word in head for word in _WORDS)


def read(source: Source, rows: Rows) -> None:
    rows.problem(
        None,
        "Aim keeps its series in RocksDB, next to this database, and they are not read; export them with Aim as CSV: "
        "for run in aim.Repo('.').iter_runs(): run.dataframe(include_props=False).to_csv(run.hash + '.csv')",
    )
