"""Many runs as marks on a line for each folder or file, where bars would show the few largest alone."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from statistics import median

import altair as alt

from scalelens.charts import axes, style, words
from scalelens.charts.layout import Page

_MOST_GROUPS, _FEWEST_OF_A_GROUP = 16, 3
_FEW_GROUPS = 3  # beside which a long title of the axis has no room
_BAND = 18.0  # height of a line of marks below its name
_MARK, _BELOW, _ABOVE = 7.0, 4.5, -4.5  # height of a mark, and where it and the name are in the band
RUN = style.Look("a run", "#0072B2", None, [1, 0], 1)
MEDIAN = style.Look("median", "#D55E00", "diamond", [1, 0], 0)


def grouped(paths: Mapping[str, str]) -> dict[str, list[str]]:
    """Runs by folder, else by file, named by what tells these apart; empty where neither makes groups of runs."""
    files = {run: PurePath(path) for run, path in paths.items() if path}
    places = {run: file.parent.parts for run, file in files.items()}
    if len({*places.values()}) == 1:
        places = {run: (file.name.split(".", 1)[0] or file.name,) for run, file in files.items()}
    by_place: dict[tuple[str, ...], list[str]] = {}
    for run, place in sorted(places.items(), key=lambda pair: (pair[1], pair[0])):
        by_place.setdefault(place, []).append(run)
    if not 1 < len(by_place) <= _MOST_GROUPS or len(paths) < _FEWEST_OF_A_GROUP * len(by_place):
        return {}
    shared = _shared(list(by_place))
    return {"/".join(place[shared:]) or place[-1]: runs for place, runs in by_place.items()}


def _shared(folders: Sequence[tuple[str, ...]]) -> int:
    """How many folders all paths begin with."""
    together = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        together += 1
    return together


def by_median(groups: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """The groups, that with the largest median first."""
    return dict(sorted(groups.items(), key=lambda group: (-median(group[1]), group[0])))


def panel(groups: Mapping[str, Sequence[float]], title: str, page: Page) -> style.Panel:
    """A line of marks for each group, in their order; one of no name is all runs."""
    ordered = list(groups.items())
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    counts = [words.counted([len(values)], "run") for _, values in ordered]
    texts = words.fitting([f"{name} · {n}" if name else n for (name, _), n in zip(ordered, counts, strict=True)], room)
    marks = [{"place": place, "value": value} for place, (_, values) in enumerate(ordered) for value in sorted(values)]
    middles = [
        {"place": place, "value": median(values), "text": text}
        for place, ((_, values), text) in enumerate(zip(ordered, texts, strict=True))
    ]
    every = [value for values in groups.values() for value in values]
    x = axes.along("value", title, every, map(median, groups.values()))
    y_title = "groups of runs" if len(ordered) > _FEW_GROUPS else "runs"
    y = alt.Y("place:O", title=y_title, axis=alt.Axis(labels=False, ticks=False, domain=False))
    names = alt.Chart(style.values(middles))
    chart = alt.layer(
        alt.Chart(style.values(marks))
        .mark_tick(color=RUN.color, opacity=0.4, thickness=1, height=_MARK, yOffset=_BELOW)
        .encode(x, y, tooltip=style.tooltips("value:Q")),
        names.mark_point(
            shape="diamond", size=24, filled=True, opacity=1, color=MEDIAN.color, stroke="white", strokeWidth=0.5,
            yOffset=_BELOW,
        ).encode(x, y, tooltip=style.tooltips("text:N", "value:Q")),
        names.mark_text(align="left", baseline="middle", dx=2, dy=_ABOVE).encode(
            y=y, x=alt.value(0), text=alt.Text("text:N")
        ),
    )  # fmt: skip
    return style.Panel(chart, height=_BAND * len(ordered))
