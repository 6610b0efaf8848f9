"""What is left of a warehouse that was made for work that failed: nothing, if nothing was committed."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from scalelens.warehouse.log import Warehouse

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Work = Callable[Concatenate[Any, Path, _Given], _Result]


def leaves_no_empty_warehouse(work: _Work[_Given, _Result]) -> _Work[_Given, _Result]:
    """Work that takes a warehouse after its first argument.  If it fails, a warehouse that it made goes, if empty.

    Folders are removed only where they are empty: another process may have begun to write there.
    """

    @functools.wraps(work)
    def guarded(first: Any, root: Path, /, *arguments: _Given.args, **options: _Given.kwargs) -> _Result:
        was_there = root.exists()
        try:
            return work(first, root, *arguments, **options)
        except BaseException:
            store = Warehouse(root)
            for folder in (store.log, store.segments, store.root) if not was_there else ():
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise

    return guarded
