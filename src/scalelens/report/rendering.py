"""A chart as a file: PDF, SVG, PNG, HTML or Vega-Lite JSON, with its provenance inside.

The same chart always gives the same bytes, without a network: fonts and JavaScript come with vl-convert.
"""

import contextlib
import hashlib
import html
import io
import json
import re
import struct
import zlib
from collections.abc import Callable
from html import unescape
from math import inf
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from scalelens.charts import words
from scalelens.charts.adjust import adjusted
from scalelens.charts.layout import POINTS_PER_MM, SINGLE, Page
from scalelens.errors import UserError
from scalelens.inert import visible_throughout
from scalelens.question.provenance import Provenance
from scalelens.report.provenance_in_files import (
    METADATA_NAME,
    NAMESPACE,
    VL_CONVERT,
    as_text,
    vega_lite_version,
)
from scalelens.version import __version__
from scalelens.whole_files import write_file

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PPI = 300
_ADDRESSES_BYTES = 75 << 30  # reserved by V8, which runs Vega; it uses few of them
_TEXT = re.compile(r"<text([^>]*)>([^<]*)</text>")
_CLIP = re.compile(r"(?<=id=\")clip\d+(?=\")|(?<=url\(#)clip\d+(?=\))")
_PLACE_BYTES = 10  # of an SVG that a place takes at least: "L12.3,45.6"
_GATHERED = {"aggregate", "bin", "timeUnit"}  # in a channel: then rows are drawn together
_FONT_SIZE = re.compile(r'font-size="([\d.]{1,20})px"')


def save(chart: Any, path: Path, provenance: Provenance, page: Page = SINGLE) -> None:
    """Writes a chart in the format that the suffix of `path` names, as wide as the page.

    Raises UserError for an unknown suffix, and for settings of the page that the chart cannot follow.
    """
    if path.suffix.lower() not in WRITERS:
        *first, last = WRITERS
        raise UserError(f"cannot tell the figure type from {path}", f"use {', '.join(first)} or {last}")
    spec = adjusted(specification(chart, provenance), page, height_of)
    write_file(path, WRITERS[path.suffix.lower()](spec, provenance, page))


def specification(chart: Any, provenance: Provenance) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with its provenance as `usermeta`."""
    with alt.data_transformers.enable(consolidate_datasets=False):  # keeps the data beside the marks that draw them
        # Checking each row against the schema takes Altair a minute for 20,000 rows.  The tests check all charts.
        spec: dict[str, Any] = chart.to_dict(validate=False)
    # Options of vega-embed.  A link to the online editor would need a network.
    embed = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}, "renderer": "svg"}
    spec = visible_throughout(spec)  # a control character crashes the renderer, and this process with it
    return {**spec, "usermeta": {"scalelens": dict(provenance), "embedOptions": embed}}


def drawing(chart: Any, provenance: Provenance, page: Page = SINGLE, most_bytes: float = inf) -> str:
    """A chart as SVG for an HTML page or a notebook, with the settings of `page`; empty where it is larger than that.

    A reader's machine may replace the font by a wider one, so each text is fitted to the room that it has.
    """
    spec = specification(chart, provenance)
    if most_bytes < inf and _PLACE_BYTES * places_in(spec) > most_bytes:
        return ""
    svg = _TEXT.sub(fitted, svg_of(adjusted(spec, page, height_of)))
    return svg if len(svg) <= most_bytes else ""


def places_in(spec: dict[str, Any], data: Any = None) -> int:
    """How many places the marks of a specification draw at least: those of rows that are drawn as they are."""
    data = spec.get("data", data)
    count = sum(places_in(part, data) for kind in ("vconcat", "hconcat", "layer") for part in spec.get(kind, ()))
    channels = spec.get("encoding", {})
    x, y = (channels.get(axis, {}) for axis in "xy")
    if "mark" not in spec or "transform" in spec or not isinstance(data, dict):
        return count
    if any(channel.keys() & _GATHERED for channel in channels.values() if isinstance(channel, dict)):
        return count
    fields = x.get("field"), y.get("field")
    rows = data.get("values", []) if None not in fields else []
    return count + sum(None not in (row.get(fields[0]), row.get(fields[1])) for row in rows)


def fitted(text: re.Match[str]) -> str:
    """A text of an SVG with its length, if the widths of all its letters are known."""
    attributes, content = text[1], unescape(text[2])
    size = _FONT_SIZE.search(attributes)
    if not size or not content.strip() or not words.has_known_width(content):
        return text[0]
    length = words.text_width(content) * float(size[1]) / words.SIZE
    return f'<text{attributes} textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{text[2]}</text>'


def height_of(spec: dict[str, Any]) -> float:
    """Height of a drawing in points of the layout."""
    return size_of(svg_of(spec))[1]


def svg_of(spec: dict[str, Any]) -> str:
    """The drawing.  Vega numbers its clip paths on from drawing to drawing; here they are named by what is drawn.

    Several drawings may stand on one page, where a name must be that of one path.
    """
    _check_addresses()
    svg = str(vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version(), allowed_base_urls=[]))
    drawn = hashlib.blake2b(_CLIP.sub("", svg).encode(), digest_size=4).hexdigest()
    names = {name: f"clip-{drawn}-{k}" for k, name in enumerate(dict.fromkeys(_CLIP.findall(svg)))}
    return _CLIP.sub(lambda clip: names[clip[0]], svg)


def _check_addresses() -> None:
    """Raises UserError where the engine that draws would end this process, because it cannot reserve addresses."""
    with contextlib.suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < _ADDRESSES_BYTES:
            raise UserError(
                f"this process may use {limit / 1e9:,.0f} GB of addresses, which are too few to draw figures",
                "draw where the limit is higher: ulimit -v unlimited",
            )


def size_of(svg: str) -> tuple[float, float]:
    width, height = re.findall(r'\b(?:width|height)="([\d.]+)"', svg.partition(">")[0])[:2]
    return float(width), float(height)


def _drawing(spec: dict[str, Any], page: Page) -> str:
    """The SVG, as wide as the page in points.  Vega rounds its own width to a whole number of layout points."""
    svg = svg_of(spec)
    width, height = size_of(svg)
    points = page.width_mm * POINTS_PER_MM if "vconcat" in spec else width  # others were not made by `style.figure`
    opening, rest = svg.split(">", 1)
    opening = re.sub(r'\bwidth="[\d.]+"', f'width="{points:.2f}"', opening, count=1)
    opening = re.sub(r'\bheight="[\d.]+"', f'height="{height * points / width:.2f}"', opening, count=1)
    return f"{opening}>{rest}"


def _pdf(spec: dict[str, Any], provenance: Provenance, page: Page) -> bytes:
    """The PDF, rewritten by pikepdf, which orders objects from the root and sorts the names in each dictionary.

    svg2pdf orders fonts by a hash table that differs at each call, so its own bytes would, too.
    """
    import pikepdf  # the other formats do without

    content = io.BytesIO()
    with pikepdf.open(io.BytesIO(vl_convert.svg_to_pdf(_drawing(spec, page)))) as pdf:
        with pdf.open_metadata(set_pikepdf_as_editor=False) as xmp:  # it fills the document information too
            xmp.register_xml_namespace(NAMESPACE, METADATA_NAME.partition(":")[0])
            xmp["xmp:CreatorTool"] = f"scalelens {__version__}"
            xmp["pdf:Producer"] = f"vl-convert {VL_CONVERT} (svg2pdf)"
            xmp[METADATA_NAME] = as_text(provenance)
        pdf.save(content, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    return content.getvalue()


def _svg(spec: dict[str, Any], provenance: Provenance, page: Page) -> bytes:
    """The SVG with its size in points: a pixel of Vega is a point on paper."""
    opening, rest = _drawing(spec, page).split(">", 1)
    opening = re.sub(r'\b(width|height)="([\d.]+)"', r'\1="\2pt"', opening)
    text = html.escape(as_text(provenance), quote=False)
    element = f'<{METADATA_NAME} xmlns:scalelens="{NAMESPACE}">{text}</{METADATA_NAME}>'
    return f"{opening}><metadata>{element}</metadata>{rest}\n".encode()


def _png(spec: dict[str, Any], provenance: Provenance, page: Page) -> bytes:
    header, *pixels, end = _png_chunks(bytes(vl_convert.svg_to_png(_drawing(spec, page), ppi=_PPI)))
    metadata = b"tEXt", f"{METADATA_NAME}\0{as_text(provenance)}".encode("ascii")
    density = [chunk for chunk in pixels if chunk[0] != b"IDAT"]
    # vl-convert hardly compresses: recompressed, the same pixels take a quarter of the bytes.
    stream = zlib.decompress(b"".join(body for kind, body in pixels if kind == b"IDAT"))
    chunks = [header, metadata, *density, (b"IDAT", zlib.compress(stream, 9)), end]
    return _PNG_SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def _png_chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and body of each chunk."""
    offset, chunks = len(_PNG_SIGNATURE), []
    while offset < len(png):
        length, kind = struct.unpack(">I4s", png[offset : offset + 8])
        chunks.append((kind, png[offset + 8 : offset + 8 + length]))
        offset += 12 + length  # a checksum follows the body
    return chunks


def _json(spec: dict[str, Any], provenance: Provenance, page: Page) -> bytes:
    return (json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


_HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="scalelens {version}">
<meta name="{name}" content="{provenance}">
<title>{title}</title>
<style>
body {{ margin: 2em; background: {ground}; }}
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


def _html(spec: dict[str, Any], provenance: Provenance, page: Page) -> bytes:
    """A page that loads nothing else.  On a screen the figure is twice as large as on paper."""
    # Within a script, only "<" could end it or open a comment.
    written = json.dumps(spec, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    content = _HTML.format(
        version=__version__,
        name=METADATA_NAME,
        provenance=html.escape(as_text(provenance)),
        title=html.escape(f"{provenance.get('chart', 'chart')} · ScaleLens"),
        library=vl_convert.javascript_bundle(vl_version=vega_lite_version()),  # type: ignore[call-arg]
        ground=spec.get("config", {}).get("background", "white"),
        spec=written,
    )
    return content.encode()


WRITERS: dict[str, Callable[[dict[str, Any], Provenance, Page], bytes]] = {
    ".pdf": _pdf,
    ".svg": _svg,
    ".png": _png,
    ".html": _html,
    ".json": _json,
}
