"""The lines of a file around a row: a path or file_id of `files` in an answer, and the line that `from` has."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.question.session import Session
    from scalelens.warehouse.records import Entry

EXAMPLE = {"file": "bf16-r1/rank0.log", "line": 20}
_AROUND, _LONGEST_LINE = 5, 400


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    file: Annotated[
        str,
        msgspec.Meta(description="Path as in `files`, or a file_id (its beginning is enough).",
                     examples=["bf16-r1/rank0.log"], min_length=4, max_length=4_096),
    ]  # fmt: skip
    line: Annotated[int, msgspec.Meta(description="Line of the file, from 1.", ge=1, le=10_000_000_000)] = 1
    around: Annotated[int, msgspec.Meta(description="Lines before and after it.", ge=0, le=50)] = _AROUND


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply

    return Reply(desk.study.in_session(lambda session: _lines(session, given)))


def _lines(session: "Session", given: Arguments) -> dict[str, Any]:
    from scalelens.assistant.fitting import fitted_list
    from scalelens.assistant.log_lines import lines_of
    from scalelens.question.inputs import name_of

    entry = _entry_of(session, given.file)
    first = max(1, given.line - given.around)
    texts = lines_of(entry, first, given.line + given.around)
    if not texts:
        raise UserError(f"the file has no line {given.line}", "use a line given by `from` in an answer")
    content = {
        "file_id": entry.file_id,
        "untrusted_path": name_of(entry, entry.path),
        "size_bytes": entry.size_bytes,
        "status": entry.status,
        "asked_line": given.line,
        "first_line": first,
        "untrusted_lines": [text[:_LONGEST_LINE] for text in texts],
    }
    return fitted_list(content, "untrusted_lines", "ask for fewer lines around")


def _entry_of(session: "Session", name: str) -> "Entry":
    """The file of the warehouse with this path or id.  Raises UserError where there is none, or more than one."""
    from scalelens.question.inputs import name_of

    live = session.warehouse.live()
    by_name = [entry for path, entry in sorted(live.paths.items()) if name in (path, name_of(entry, path))]
    found = by_name or [entry for entry in live.paths.values() if entry.file_id.startswith(name.lower())]
    contents = {entry.file_id: entry for entry in found}
    if len(contents) == 1:
        return next(iter(contents.values()))
    if contents:
        raise UserError(f"{len(contents)} files have that name", "name one by its file_id: sql with FROM files")
    raise UserError("this file is not in the warehouse", "take a path or file_id of `files` in an answer")
