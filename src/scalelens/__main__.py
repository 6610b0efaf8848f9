"""python -m scalelens, and the command `scalelens`.

A command that is done ends at once: to take down numpy, Arrow and DuckDB object by object takes a tenth of the time of
a small question, and the system takes all of it back in any case.
"""

import atexit
import os
import sys
import threading

from scalelens.cli import main


def run() -> None:
    """Runs the command line, and ends the process with its exit code."""
    try:
        main()
        code = 0
    except SystemExit as ending:
        if not isinstance(ending.code, int) or threading.active_count() > 1:
            raise
        code = ending.code
    atexit._run_exitfuncs()  # what removes temporary folders, and closes connections
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            sys.exit(code)  # Python says what it thinks of it
    os._exit(code)


if __name__ == "__main__":
    run()
