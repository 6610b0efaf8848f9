"""What stands beside series, as a table or as a figure: sizes that are in none of them, and what splits them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scalelens.cli.output import errors
from scalelens.cli.pasting import in_warehouse

if TYPE_CHECKING:
    from scalelens.question.session import Session


def other_sizes(
    session: "Session", parameters: Mapping[str, Any], names: Sequence[str], sizes: Sequence[int | None]
) -> str:
    """Which sizes no series has, and which setting splits the series, by the name and the size of each row."""
    from scalelens.question import other_sizes, split_series

    said = other_sizes.remark(session, parameters, sizes), split_series.remark(names, sizes)
    return "\n".join(filter(None, said))


def print_other_sizes(text: str) -> None:
    """Says on stderr what `other_sizes` gives."""
    if text:
        errors.print(in_warehouse(text), markup=False, soft_wrap=True)
