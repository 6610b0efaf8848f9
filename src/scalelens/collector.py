"""Python's garbage collector, paused while many objects are made that refer to each other in no circle."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Without the collector, which would look through rows or entries again and again.  Afterwards it is as before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what was made becomes old, so that it is not all looked at right now
                gc.freeze()
                gc.unfreeze()
            gc.enable()
