"""What stands beside a series, as a table or as a figure: the sizes that were run and are not in it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scalelens.cli.output import errors
from scalelens.cli.pasting import in_warehouse

if TYPE_CHECKING:
    from scalelens.question.session import Session


def other_sizes(session: "Session", parameters: Mapping[str, Any], shown: Iterable[int | None]) -> str:
    """Which sizes no series has; empty where there are none."""
    from scalelens.question.other_sizes import remark

    return remark(session, parameters, shown)


def print_other_sizes(text: str) -> None:
    """Says on stderr what `other_sizes` gives."""
    if text:
        errors.print(in_warehouse(text), markup=False, soft_wrap=True)
