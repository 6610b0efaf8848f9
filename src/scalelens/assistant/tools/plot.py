"""Draw a chart: a picture, and its file in a temporary folder.  Without a chart: the list of charts."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from scalelens.assistant.parameters import Parameters

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE: dict[str, Any] = {"chart": "scaling", "parameters": {"runs": "precision = 'fp32'"}}
LIMIT_S = 120
_MOST_PICTURE_BYTES = 1_000_000


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    chart: Annotated[
        str, msgspec.Meta(description="Name of a chart.", examples=["scaling", "step_times"], max_length=100)
    ] = ""
    parameters: Parameters = {}
    also: Annotated[Literal["", "pdf", "svg"], msgspec.Meta(description="A second file for a paper, of this kind.")] = (
        ""
    )


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.charts.load import load

    if not given.chart:
        charts = {name: (chart.__doc__ or "").strip().splitlines()[0] for name, chart in sorted(load().items())}
        return Reply({"charts": charts})
    content, picture = _drawn(desk, given.chart, given.parameters, [given.also] if given.also else [])
    return Reply(content, [picture])


def _drawn(desk: "Desk", chart: str, parameters: dict[str, Any], others: list[str]) -> tuple[dict[str, Any], bytes]:
    """What is said of a chart that is drawn, and its picture."""
    import tempfile
    from pathlib import Path

    from scalelens.assistant.fitting import short

    folder = Path(tempfile.mkdtemp(dir=desk.temporary))
    paths = [folder / f"figure.{suffix}" for suffix in ("png", *others)]
    for path in paths:
        plotted = desk.study.plot(chart, path, **parameters)
    picture = paths[0].read_bytes()
    content = {
        "chart": chart,
        "parameters": parameters,
        "files": [str(path) for path in paths],
        "rows": plotted.rows.height,
        "untrusted_caption": short(getattr(plotted.chart, "description", "") or ""),
        "inputs_sha256": plotted.provenance["inputs_sha256"],
        "next": "verify takes these files",
    }
    if len(picture) > _MOST_PICTURE_BYTES:
        return {**content, "picture": "too large to be sent; it is in the file"}, b""
    return content, picture
