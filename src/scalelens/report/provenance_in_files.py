"""Where a figure, a table or a file of numbers comes from, and how a file that holds it is asked for it.

The provenance stands where each kind of file keeps metadata: in the XMP of a PDF, in `metadata` of an SVG, in a text
chunk of a PNG, in a `meta` element of HTML, in `usermeta` of Vega-Lite, in comments of LaTeX and Markdown and under
`provenance` in an envelope.  CSV has no comment that every reader skips, so a CSV holds none.
"""

import html
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scalelens.errors import UserError
from scalelens.question.provenance import Provenance

METADATA_NAME = "scalelens:provenance"  # of the XML element, of the chunk of a PNG, of the `meta` element
NAMESPACE = "urn:scalelens:provenance:"
VL_CONVERT = version("vl-convert-python")
_COMMENT_WIDTH = 110


def renderer() -> str:
    """Name and version of what draws figures."""
    return f"vl-convert {VL_CONVERT}, Vega-Lite {vega_lite_version() or 'newest'}"


def vega_lite_version() -> str | None:
    """Version of Vega-Lite that Altair writes, where vl-convert has it."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return version if version in vl_convert.get_vegalite_versions() else None


def as_text(provenance: Provenance) -> str:
    """Provenance as ASCII, which every metadata field can hold."""
    return json.dumps(provenance, sort_keys=True)


def latex_comment(provenance: Provenance) -> str:
    """Provenance as comment lines of LaTeX.  No line ends in a space, which an editor might take away."""
    text = json.dumps(provenance, sort_keys=True, separators=(",", ":")).replace("  ", " \\u0020")
    lines = re.findall(rf".{{0,{_COMMENT_WIDTH}}}\S", text)
    return f"% {METADATA_NAME}\n" + "".join(f"%+{line}\n" for line in lines)


def markdown_comment(provenance: Provenance) -> str:
    """Provenance as a comment of Markdown, which nothing in it ends."""
    text = as_text(provenance).replace("--", "-\\u002d").replace(">", "\\u003e")
    return f"<!-- {METADATA_NAME} {text} -->\n"


def _unfolded(comment: str) -> str:
    """The JSON in the comment lines of LaTeX."""
    return "".join(line.removeprefix("%+").rstrip() for line in comment.splitlines())


# Where each kind of file holds it, by how the file begins: what a log says in a cell must not be taken for it.
_PLACES = (
    (b"%PDF", rb"<scalelens:provenance[^>]*>(.*?)</scalelens:provenance>", html.unescape),
    (b"<svg", rb"<scalelens:provenance[^>]*>(.*?)</scalelens:provenance>", html.unescape),
    (b"<!DOCTYPE", rb'<meta name="scalelens:provenance" content="(.*?)">', html.unescape),
    # perhaps with bytes of the checksum, which follows it
    (b"\x89PNG", rb"tEXtscalelens:provenance\0([ -~]*)", str),
    (b"", rb"^% scalelens:provenance\r?\n((?:%\+[ -~]*\r?\n)+)", _unfolded),
    (b"", rb"^<!-- scalelens:provenance ([ -~]*) -->\r?$", str),
)
_KINDS = {"inputs": dict, "definitions": dict, "columns": dict, "row_hashes": list, "n_inputs": int, "rows": int}


def provenance_of(path: Path) -> dict[str, Any]:
    """Provenance of a file that ScaleLens wrote.  Raises UserError where a file holds none."""
    return provenance_in(content_of(path), path)


def content_of(path: Path) -> bytes:
    """The bytes of a figure or a table.  Raises UserError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "name a figure or a table") from None


def provenance_in(content: bytes, path: Path) -> dict[str, Any]:
    """Provenance in the bytes of a file that ScaleLens wrote.  Raises UserError where they hold none."""
    if content.lstrip().startswith(b"{"):
        return _checked(path, content.decode("utf-8", "replace"), ("usermeta", "scalelens"), ("provenance",))
    for start, pattern, plain in _PLACES:
        match = re.search(pattern, content, re.DOTALL | re.MULTILINE) if content.startswith(start) else None
        if match:
            return _checked(path, plain(match[1].decode("utf-8", "replace")))
    if path.suffix.lower() in (".csv", ".tsv"):
        raise UserError(
            f"{path} has no provenance record, because CSV has no comment that every reader skips",
            "write a table that can be checked by --format envelope, latex or markdown",
        )
    raise UserError(f"{path} has no provenance record", "only files written by scalelens have one")


def without_provenance(text: str) -> str:
    """A table or a page without what it says of where it comes from."""
    for start, pattern, _ in _PLACES:
        if text.startswith(start.decode("latin-1")):
            text, found = re.subn(pattern.decode("latin-1"), "", text, count=1, flags=re.DOTALL | re.MULTILINE)
            if found:
                break
    return text


def _checked(path: Path, text: str, *places: tuple[str, ...]) -> dict[str, Any]:
    """The provenance in a JSON text, at one of `places` in it.  Raises UserError where it is not whole."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    for place in places or ((),):
        inner = found
        for key in place:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("sql"), str):
            if isinstance(inner.get("inputs"), list):  # the first version wrote no names
                inner["inputs"] = {str(file_id): "" for file_id in inner["inputs"]}
            texts = (*inner.get("inputs", {}).values(), *inner.get("row_hashes", ())) if _is_whole(inner) else (None,)
            if not all(isinstance(text, str) for text in texts):
                raise _damaged(path)
            return inner
    raise UserError(f"{path} has no provenance record", "only files written by scalelens have one")


def _is_whole(said: dict[str, Any]) -> bool:
    return all(isinstance(said.get(key, kind()), kind) for key, kind in _KINDS.items())


def _damaged(path: Path) -> UserError:
    return UserError(f"the provenance record of {path} is damaged", "make the file again")
