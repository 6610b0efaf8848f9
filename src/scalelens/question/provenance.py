"""Where an answer comes from: the question, its SQL, and hashes of definitions, rows and files."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from scalelens.version import __version__

if TYPE_CHECKING:
    from scalelens.queries.header import Query

Provenance = Mapping[str, Any]

_MOST_LISTED = 1000  # rows, and inputs, that are listed one by one; of more there is one hash


def make_provenance(
    made: Mapping[str, Any], sql: str, inputs: Mapping[str, str], rows: pl.DataFrame, queries: Mapping[str, "Query"]
) -> dict[str, Any]:
    """What is needed to make a file again, and to check that it is the same.

    `made` says what was asked for, such as chart and parameters.  `inputs` are the files that were read: names by id
    (sha256 of the contents).  `rows` are the rows that were drawn or printed, `queries` those that `sql` needs.
    """
    plain = comparable(rows)
    provenance = {
        **made,
        "scalelens": __version__,
        "sql": sql,
        "definitions": {name: short_hash(query.definition) for name, query in sorted(queries.items())},
        "rows": rows.height,
        "rows_sha256": rows_sha256(rows),
        "columns": {name: short_hash(*sorted(map(repr, plain[name].to_list()))) for name in plain.columns},
        "inputs_sha256": hashlib.sha256("\n".join(sorted(inputs)).encode()).hexdigest(),
        "n_inputs": len(inputs),
    }
    if rows.height <= _MOST_LISTED:
        provenance["row_hashes"] = _row_hashes(rows)
    if len(inputs) <= _MOST_LISTED:
        provenance["inputs"] = dict(sorted(inputs.items()))
    return dict(sorted(provenance.items()))


def comparable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with 12 digits of each number, since sums over many threads differ in the last; nested values as text."""
    lists = [
        name
        for name, kind in rows.schema.items()
        if isinstance(kind, pl.List) and not (kind.inner.is_nested() or kind.inner == pl.Binary)
    ]
    others = [
        name for name, kind in rows.schema.items() if name not in lists and (kind.is_nested() or kind == pl.Binary)
    ]
    return rows.with_columns(
        cs.float().round_sig_figs(12),
        cs.by_dtype(pl.Null).cast(pl.String),  # which older versions of polars cannot sort
        *(pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(" ") for name in lists),
        *(pl.Series(name, map(repr, rows[name].to_list()), pl.String) for name in others),
    )


def rows_sha256(rows: pl.DataFrame) -> str:
    """Hash of rows in any order."""
    plain = comparable(rows)
    return hashlib.sha256((plain.sort(pl.all()) if plain.width else plain).write_csv().encode()).hexdigest()


def _row_hashes(rows: pl.DataFrame) -> list[str]:
    """A short hash of each row, sorted: they tell how many rows differ, and which of the new ones."""
    return sorted(short_hash(repr(row)) for row in comparable(rows).iter_rows())


def short_hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
