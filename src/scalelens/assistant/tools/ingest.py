"""Read files below --root into the warehouse; needs a server started with --write, or dry_run, which writes nothing."""

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.assistant.parameters import FilePath
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.ingestion.ingest import IngestReport

EXAMPLE = {"paths": ["."], "dry_run": True}
CHANGES = True
LIMIT_S = 1_800


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    paths: Annotated[list[FilePath], msgspec.Meta(description="Files and folders.", min_length=1, max_length=1_000)]
    dry_run: Annotated[bool, msgspec.Meta(description="Look, and write nothing.")] = False


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list

    paths = [desk.path_below(name) for name in given.paths]
    if not (desk.writes or given.dry_run):
        raise UserError("this server only reads", "start it with --write, or take dry_run")
    assert desk.root
    for path in paths:
        _check_links(path, desk.root)
    report = desk.study.ingest(*paths, dry_run=given.dry_run)
    return Reply(fitted_list(_told(report, given.dry_run), "untrusted_files", "sql with FROM files lists all"))


def _check_links(path: Path, root: Path) -> None:
    """Raises UserError for a link that leads out of the root: what is there must not be read."""
    for folder, folders, names in os.walk(path):
        for name in (*folders, *names):
            inner = os.path.join(folder, name)
            if os.path.islink(inner) and not Path(os.path.realpath(inner)).is_relative_to(root):
                raise UserError(
                    "a link in that folder points outside --root", "name the other files, or remove the link"
                )


def _told(report: "IngestReport", is_dry: bool) -> dict[str, Any]:
    entries = sorted(report.entries, key=lambda entry: (entry.status == "ok", entry.path))
    return {
        "written": not is_dry,
        "files_read": len(entries),
        "files_unchanged": report.unchanged,
        "files_by_status": dict(Counter(entry.status for entry in entries)),
        "problems": sum(entry.problems for entry in entries),
        "untrusted_faults": [*report.all_faults(), *report.remarks][:20],
        "columns": ["path", "status", "formats", "rows", "problems", "note"],
        "untrusted_files": [
            [Path(entry.path).name, entry.status, list(entry.formats), entry.rows, entry.problems, entry.note]
            for entry in entries
        ],
    }  # fmt: skip
