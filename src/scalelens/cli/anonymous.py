"""The warehouse that leaves the house: the user's own, or a copy with pseudonyms."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scalelens.cli.output import errors

if TYPE_CHECKING:
    from scalelens.report.pseudonyms import Pseudonyms


@contextmanager
def leaving(warehouse: Path, anonymous: bool) -> "Iterator[tuple[Path, Pseudonyms | None]]":
    """A warehouse and what stands for what in it; afterwards it is said what was replaced."""
    if not anonymous:
        yield warehouse, None
        return
    from scalelens.report.anonymous import anonymous_copy

    with anonymous_copy(warehouse) as (copy, told):
        yield copy, told
        errors.print(
            f"replaced by pseudonyms: {told.summary()}; names that appear in no column or variable are not found"
        )
