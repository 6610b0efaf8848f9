"""The lines that a run printed, as W&B's record keeps them.  The client may have written the same beside the record."""

import contextlib
import tempfile
from pathlib import Path
from typing import IO

from scalelens.parsing.protobuf import fields

_IN_MEMORY = 4 << 20
_TEXT = 3  # the field of a message


class Output:
    """The output of one run."""

    def __init__(self, path: str) -> None:
        self.lines = 0
        self.printed: IO[bytes] | None = None  # unless it is read elsewhere
        self.unread_because = _why_unread(path)

    def take(self, number: int, record: bytes) -> None:
        for field, text in fields(record):
            if field == _TEXT:
                self.lines += text.count(b"\n")
                if not self.unread_because:
                    self.printed = self.printed or tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
                    self.printed.write(text)


def _why_unread(path: str) -> str:
    """Why the lines are not read from the record, as the end of a sentence; nothing where they are."""
    beside = Path(path).parent / "files" / "output.log"
    with contextlib.suppress(OSError):
        if beside.stat().st_size:  # some clients leave it empty while they are offline
            return ", and read from files/output.log"
    return ""
