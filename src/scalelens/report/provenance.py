"""Where a figure comes from: what it was drawn of, and how a file that holds it is asked for it.

The provenance stands where each kind of file keeps metadata: in the XMP of a PDF, in `metadata` of an SVG, in a text
chunk of a PNG, in a `meta` element of HTML and in `usermeta` of JSON.
"""

import contextlib
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import polars.selectors as cs
import vl_convert

from scalelens.errors import UserError
from scalelens.version import __version__

Provenance = Mapping[str, Any]

METADATA_NAME = "scalelens:provenance"  # of the XML element, of the chunk of a PNG, of the `meta` element
NAMESPACE = "urn:scalelens:provenance:"
VL_CONVERT = version("vl-convert-python")


def make_provenance(
    chart: str, sql: str, parameters: Mapping[str, str], inputs: Iterable[str], rows: pl.DataFrame
) -> dict[str, Any]:
    """What is needed to draw a figure again, and to check that it is the same.

    `inputs` are the ids of the files that were read (sha256 of their contents), `rows` are the rows that were drawn.
    """
    files = sorted(set(inputs))
    return {
        "scalelens": __version__,
        "renderer": f"vl-convert {VL_CONVERT}, Vega-Lite {vega_lite_version() or 'newest'}",
        "chart": chart,
        "sql": sql,
        "parameters": dict(parameters),
        "rows_sha256": rows_sha256(rows),
        "inputs_sha256": hashlib.sha256("\n".join(files).encode()).hexdigest(),
        "inputs": files,
    }


def vega_lite_version() -> str | None:
    """Version of Vega-Lite that Altair writes, where vl-convert has it."""
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return version if version in vl_convert.get_vegalite_versions() else None


def rows_sha256(rows: pl.DataFrame) -> str:
    """Hash of rows in any order.  It counts 12 digits of a number, since sums over many threads differ in the last."""
    lists = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    plain = rows.with_columns(
        cs.float().round_sig_figs(12),
        *(pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(" ") for name in lists),
    )
    return hashlib.sha256(plain.sort(pl.all()).write_csv().encode()).hexdigest()


def as_text(provenance: Provenance) -> str:
    """Provenance as ASCII, which every metadata field can hold."""
    return json.dumps(provenance, sort_keys=True)


def provenance_of(path: Path) -> dict[str, Any]:
    """Provenance of a figure that `rendering.save` wrote.  Raises UserError where a file holds none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "name a figure") from None
    for pattern, plain in (
        (rb"<scalelens:provenance[^>]*>(.*?)</scalelens:provenance>", html.unescape),
        (rb'<meta name="scalelens:provenance" content="(.*?)">', html.unescape),
        (rb"tEXtscalelens:provenance\0([ -~]*)", str),  # and perhaps bytes of the checksum, which follows it
    ):
        if match := re.search(pattern, content, re.DOTALL):
            provenance, _ = json.JSONDecoder().raw_decode(plain(match[1].decode()))
            return dict(provenance)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return dict(json.loads(content)["usermeta"]["scalelens"])
    raise UserError(f"{path} does not say where it comes from", "only figures that scalelens drew do")
