"""Writes a file completely or not at all: the old one stays until the new one is there."""

import contextlib
import os
from pathlib import Path

from scalelens.errors import UserError


def write_file(path: Path, content: bytes) -> None:
    """Raises UserError if the file cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UserError(f"cannot write {path}: {error.strerror}", "choose another place with -o") from None
