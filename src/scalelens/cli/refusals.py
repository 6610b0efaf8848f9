"""What the system refused, in one line: no space, no memory, a folder that is gone."""

import errno
import os
import sys
from contextlib import suppress

try:  # at once, since loading it later may take the memory that is lacking
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_NO_MEMORY = ("memory", "map segment", "start new thread", "allocat", "worker threads", "mmap")


def refusal_of(error: OSError) -> str:
    """What a system call refused, and what to do."""
    if error.errno == errno.ENOENT and _is_in_removed_folder():
        return "the current folder was removed; change to another one"
    if error.filename is not None:
        return f"{error.filename!a}: {error.strerror}; name another path"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{error.strerror}; raise the limit (ulimit -n)"
    return f"{error.strerror or error}; free some space, or name another path"


def _is_in_removed_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def is_for_lack_of_memory(error: BaseException) -> bool:
    """Whether an exception says that there was too little memory, or comes where memory is limited.

    Libraries say it in many ways: a module that cannot be loaded, a thread that cannot be started, a panic.
    """
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return False
    return _limit_bytes() is not None and (
        isinstance(error, (ImportError, SystemError)) or any(word in str(error).lower() for word in _NO_MEMORY)
    )


def end_for_lack_of_memory() -> None:
    """Says so and ends at once: whatever Python does at its end needs memory, too."""
    limit = _limit_bytes()
    words = (
        f"too little memory: this process may use {limit / 1e6:,.0f} MB (ulimit -v)" if limit else "too little memory"
    )
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, f"scalelens: {words}; run it where there is more\n".encode())
    os._exit(2)


def _limit_bytes() -> int | None:
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
