"""Rows as a Markdown table."""

import re
from typing import TYPE_CHECKING

from scalelens.inert import visible
from scalelens.report.text.cells import cell

if TYPE_CHECKING:
    import polars as pl

_ACTIVE = re.compile(r"[|\[\]`]|\\(?=[!-/:-@\[-`{-~])|&(?=#?\w+;)")  # what Markdown would act on


def markdown(rows: "pl.DataFrame") -> str:
    """Rows as a Markdown table.  No text in it is HTML, a link or an image."""

    def inert(text: str) -> str:
        return _ACTIVE.sub(r"\\\g<0>", text).replace("<", "&lt;")

    lines = [[inert(visible(name)) for name in rows.columns], ["---"] * rows.width]
    lines += [[inert(cell(value)) for value in row] for row in rows.iter_rows()]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
