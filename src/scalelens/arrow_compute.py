"""`pyarrow.compute`, which is loaded when the first of its functions is used: 0.02 s that small logs do without.

from scalelens import arrow_compute as pc
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own machinery asks for these
        raise AttributeError(name)
    import pyarrow.compute

    return getattr(pyarrow.compute, name)
