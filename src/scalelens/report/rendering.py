"""A chart as a file: PDF, SVG, PNG, HTML or Vega-Lite JSON, with its provenance inside.

The same chart gives the same bytes, with no network: fonts and JavaScript come with vl-convert.  Provenance stands
where each kind of file keeps metadata: XMP and document information of a PDF, `metadata` of an SVG, a text chunk of a
PNG, a `meta` element of HTML, `usermeta` of JSON; `read` finds it again in all of them.
"""

import contextlib
import hashlib
import html
import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import polars.selectors as cs
import vl_convert

from scalelens.errors import UserError
from scalelens.report import pdf
from scalelens.version import __version__

KEY = "scalelens:provenance"
NAMESPACE = "urn:scalelens:provenance:"
PPI = 300
VL_CONVERT = version("vl-convert-python")

Provenance = Mapping[str, Any]


def provenance(
    chart: str, sql: str, parameters: Mapping[str, str], inputs: Iterable[str], rows: pl.DataFrame
) -> dict[str, Any]:
    """What it takes to draw a figure again and to see that it is the same.

    `inputs` are the file ids (sha256 of the contents) that went in; `rows` the rows drawn, hashed in any order and to
    12 digits, because sums over many threads differ in the last.
    """
    files = sorted(set(inputs))
    return {
        "scalelens": __version__,
        "renderer": f"vl-convert {VL_CONVERT}, Vega-Lite {_vega_lite() or 'newest'}",
        "chart": chart,
        "sql": sql,
        "parameters": dict(parameters),
        "rows_sha256": rows_sha256(rows),
        "inputs_sha256": hashlib.sha256("\n".join(files).encode()).hexdigest(),
        "inputs": files,
    }


def rows_sha256(rows: pl.DataFrame) -> str:
    """Hash of rows that their order does not change."""
    lists = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    plain = rows.with_columns(
        cs.float().round_sig_figs(12),
        *(pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(" ") for name in lists),
    )
    return hashlib.sha256(plain.sort(pl.all()).write_csv().encode()).hexdigest()


def save(chart: Any, path: Path, said: Provenance) -> None:
    """Writes a chart in the format that the suffix of `path` names.  Raises UserError for any other suffix."""
    if path.suffix.lower() not in WRITERS:
        kinds = ", ".join(WRITERS)
        raise UserError(f"{path} has no suffix of a figure", f"name it with one of {kinds}")
    content = WRITERS[path.suffix.lower()](specification(chart, said), said)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # an older figure stays whole until the new one is
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UserError(f"cannot write {path}: {error.strerror}", "choose another place with -o") from None


def read(path: Path) -> dict[str, Any]:
    """Provenance of a figure that `save` wrote.  Raises UserError where a file holds none."""
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
            found, _ = json.JSONDecoder().raw_decode(plain(match[1].decode()))
            return dict(found)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return dict(json.loads(content)["usermeta"]["scalelens"])
    raise UserError(f"{path} does not say where it comes from", "only figures drawn by scalelens do")


def specification(chart: Any, said: Provenance) -> dict[str, Any]:
    """Vega-Lite of a chart, with its provenance as `usermeta`."""
    with alt.data_transformers.enable(consolidate_datasets=False):  # data stand where they are drawn
        spec: dict[str, Any] = chart.to_dict()
    # vega-embed reads its options here: no link to an editor on the network.
    embed = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}, "renderer": "svg"}
    return {**spec, "usermeta": {"scalelens": dict(said), "embedOptions": embed}}


def _vega_lite() -> str | None:
    """Version of Vega-Lite that Altair writes, where vl-convert has it."""
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return version if version in vl_convert.get_vegalite_versions() else None


def _text(said: Provenance) -> str:
    """Provenance as ASCII, which every metadata field can hold."""
    return json.dumps(said, sort_keys=True)


def _element(said: Provenance) -> str:
    return f'<{KEY} xmlns:scalelens="{NAMESPACE}">{html.escape(_text(said), quote=False)}</{KEY}>'


def _drawing(spec: dict[str, Any]) -> str:
    return str(vl_convert.vegalite_to_svg(spec, vl_version=_vega_lite(), allowed_base_urls=[]))


def _svg(spec: dict[str, Any], said: Provenance) -> bytes:
    """Vega's pixels are points of the paper."""
    opening, rest = _drawing(spec).split(">", 1)
    opening = re.sub(r'\b(width|height)="([\d.]+)"', r'\1="\2pt"', opening)
    return f"{opening}><metadata>{_element(said)}</metadata>{rest}\n".encode()


def _png(spec: dict[str, Any], said: Provenance) -> bytes:
    png = bytes(vl_convert.svg_to_png(_drawing(spec), ppi=PPI))
    chunk = b"tEXt" + f"{KEY}\0{_text(said)}".encode("ascii")
    header = 8 + 25  # signature and IHDR, which has to be the first chunk
    extra = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:header] + extra + png[header:]


def _json(spec: dict[str, Any], said: Provenance) -> bytes:
    return (json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="scalelens {version}">
<meta name="scalelens:provenance" content="{said}">
<title>{title}</title>
<style>
body {{ margin: 2em; }}
</style>
<script>{library}</script>
</head>
<body>
<div id="figure"></div>
<script>
vegaEmbed("#figure", {spec}).then(() => {{
  const drawing = document.querySelector("#figure svg.marks");
  drawing.style.cssText += `;width: ${{2 * drawing.viewBox.baseVal.width}}px; max-width: 100%; height: auto`;
}});
</script>
</body>
</html>
"""


def _html(spec: dict[str, Any], said: Provenance) -> bytes:
    """One page that loads nothing.  On a screen the figure is drawn twice as large as on paper."""
    # Within a script only "<" could end it or open a comment.
    written = json.dumps(spec, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    page = HTML.format(
        version=__version__,
        said=html.escape(_text(said)),
        title=html.escape(f"{said.get('chart', 'chart')} · ScaleLens"),
        library=vl_convert.javascript_bundle(vl_version=_vega_lite()),  # type: ignore[call-arg]
        spec=written,
    )
    return page.encode()


def _pdf(spec: dict[str, Any], said: Provenance) -> bytes:
    drawn = bytes(vl_convert.svg_to_pdf(_drawing(spec)))
    return pdf.with_metadata(drawn, _element(said), f"scalelens {__version__}", f"vl-convert {VL_CONVERT} (svg2pdf)")


WRITERS: dict[str, Callable[[dict[str, Any], Provenance], bytes]] = {
    ".pdf": _pdf,
    ".svg": _svg,
    ".png": _png,
    ".html": _html,
    ".json": _json,
}
