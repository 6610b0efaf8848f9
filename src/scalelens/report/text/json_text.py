"""Rows as JSON."""

import math
from typing import TYPE_CHECKING, Any

from scalelens.inert import escaped_in_json

if TYPE_CHECKING:
    import polars as pl


def json_text(rows: "pl.DataFrame") -> str:
    """Rows as a JSON array of objects."""
    import msgspec

    return escaped_in_json(msgspec.json.Encoder(decimal_format="number").encode(plain_rows(rows)).decode())


def plain_rows(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    """Rows as objects.  NaN and infinity become None, because JSON does not have them."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return [{name: plain(value) for name, value in row.items()} for row in rows.iter_rows(named=True)]
