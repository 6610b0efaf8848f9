"""What stands beside a series, as a table or as a figure: the sizes that were run and are not in it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scalelens.cli.output import errors
from scalelens.cli.pasting import in_warehouse


def print_other_sizes(
    root: Path, folders: tuple[Path, ...], parameters: Mapping[str, Any], shown: Iterable[int | None]
) -> None:
    """Says on stderr which sizes no series has, if there are any."""
    from scalelens.question.other_sizes import remark

    if text := remark(root, folders, parameters, shown):
        errors.print(in_warehouse(text), markup=False, soft_wrap=True)
