"""Which runs of a study are done, which failed and why, and which are missing.

Shows: the gaps in a scaling study before the allocation ends.
Query: run_matrix
Encodings:
    x        devices
    y        a configuration, by what sets it apart from the others
    cell     done, failed or missing, by color and by the sign in it: the number of its runs, a cross, or nothing
    panel    a study
    caption  runs, why some failed, what counts as missing
Source: tables of completed and failed configurations in reports of benchmark campaigns
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import limits, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "run_matrix"

_DEVICE = re.compile(r" · device_model [^·]+(?= ·|$)")  # named where two configurations differ in it alone
_MASKED = re.compile(r"#(?:\.#)*")
MOST_STUDIES, MOST_ROWS = 4, 30
_ROW = 12.5  # height of a configuration in points
_GAP = 1.5  # between cells
_NAMES_SHARE = 0.55  # of the width that names of configurations may take
_CELL = 40  # points: as wide as a cell stays where few leave more room to names
_STATES = {
    "done": style.swatch("done, with its runs", "#8fd3b6"),
    "failed": style.swatch("× failed", "#eda27a"),
    "missing": style.swatch("missing", "#ececec"),
}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `run_matrix`.  Raises UserError without runs, or with too many."""
    if rows.is_empty():
        raise UserError("no log states the number of devices", "name them in a sidecar: scalelens label --help")
    cells: list[Row] = rows.to_dicts()
    studies: dict[str, list[Row]] = {}
    for cell in cells:
        studies.setdefault(cell["study"], []).append(cell)
    hint = limits.CHOOSE_RUNS
    limits.check_count(len(studies), MOST_STUDIES, "studies", hint)
    shared = _name_rows(cells)
    limits.check_count(len({(cell["study"], cell["label"]) for cell in cells}), MOST_ROWS, "configurations", hint)
    grid = [[_panel(_title(study) if len(studies) > 1 else "", of_study, page)] for study, of_study in studies.items()]
    legend = [look for state, look in _STATES.items() if any(cell["state"] == state for cell in cells)]
    caption = [f"{shared}." if shared else "", *_caption(cells)]
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _title(study: str) -> str:
    """A system; or folders, with a star for the numbers in which those of a study differ."""
    return _MASKED.sub("*", study)


def _name_rows(cells: Sequence[Row]) -> str:
    """Gives each cell the `label` of its configuration.  Returns what all configurations share.

    The query sorts by configuration, then by devices: a size that is not larger than the previous one begins another
    configuration, of the same name if they differ in a setting that is not part of the name.
    """
    names = dict.fromkeys(cell["configuration"] for cell in cells)
    without = {name: _DEVICE.sub("", name) for name in names}
    needed = [name for name in names if list(without.values()).count(without[name]) > 1]
    shared, told = naming.apart(name if name in needed else without[name] for name in names)
    labels = {name: told[name if name in needed else without[name]] for name in names}
    before: Row = {"study": None, "configuration": None, "devices": 0}
    number = 1
    for cell in cells:
        same = (cell["study"], cell["configuration"]) == (before["study"], before["configuration"])
        number = 1 if not same else number + (cell["devices"] <= before["devices"])
        label = labels[cell["configuration"]] or "all runs"
        cell["label"] = label if number == 1 else f"{label} ({number})"
        before = cell
    return shared


def _panel(study: str, cells: Sequence[Row], page: Page) -> style.Panel:
    """Names on the left, a column of cells for each number of devices; positions are in points."""
    names = list(dict.fromkeys(cell["label"] for cell in cells))
    sizes = sorted({cell["devices"] for cell in cells})
    width = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES
    room = max(width * _NAMES_SHARE, width - len(sizes) * _CELL)
    left = min(max(map(words.text_width, names)) + 6, room) - style.Y_AXIS
    column = (width - left) / len(sizes)
    placed = []
    for cell in cells:
        x, y = left + sizes.index(cell["devices"]) * column, (names.index(cell["label"]) + 1) * _ROW
        sign = {"done": f"{cell['n_done']}", "failed": "×", "missing": ""}[cell["state"]]
        box = {"x": x + _GAP / 2, "x2": x + column - _GAP / 2, "y": y + _GAP / 2, "y2": y + _ROW - _GAP / 2}
        tips = {name: cell[name] for name in ("label", "devices", "state", "why")}
        placed.append(box | tips | {"colour": _STATES[cell["state"]].color, "middle": x + column / 2,
                                    "centre": y + _ROW / 2, "sign": sign})  # fmt: skip
    shown = words.fitting(names, left + style.Y_AXIS - 4)
    texts = [{"x": -style.Y_AXIS, "y": (n + 1.5) * _ROW, "text": name} for n, name in enumerate(shown)]
    heads = [{"x": left + (n + 0.5) * column, "y": _ROW / 2, "text": f"{size}"} for n, size in enumerate(sizes)]
    widest = max(words.text_width(f"{size}") for size in sizes) + 4
    heads = heads[:: math.ceil(widest / column)]
    unit = [{"x": -style.Y_AXIS, "y": _ROW / 2, "text": "devices"}]
    boxes = alt.Chart(style.values(placed))
    color = alt.Color("colour:N", scale=None, legend=None)
    at = {"x": alt.X("x:Q", scale=None, axis=None), "y": alt.Y("y:Q", scale=None, axis=None)}
    middle = {"x": alt.X("middle:Q", scale=None, axis=None), "y": alt.Y("centre:Q", scale=None, axis=None)}
    tooltip = ["label:N", "devices:Q", "state:N", "why:N"]
    layers = [
        boxes.mark_rect().encode(**at, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), color=color, tooltip=tooltip),
        boxes.mark_text().encode(**middle, text=alt.Text("sign:N")),
        _texts([*unit, *texts], "left").encode(**at, text=alt.Text("text:N")),
        _texts(heads, "center").encode(**at, text=alt.Text("text:N")),
    ]
    drawn = alt.layer(*layers)
    height = (len(names) + 1) * _ROW
    return style.Panel(drawn.properties(title=study) if study else drawn, height=height)


def _texts(texts: Sequence[Row], align: str) -> Any:
    return alt.Chart(style.values(texts)).mark_text(align=align, baseline="middle")


def _caption(cells: Sequence[Row]) -> list[str]:
    lines = [f"{words.counted([sum(cell['n_runs'] for cell in cells)], 'run')}."]
    reasons = [cell["why"] for cell in cells if cell["state"] == "failed" and cell["why"]]
    if reasons:
        lines.append(f"Why the runs failed: {'; '.join(dict.fromkeys(reasons))}.")
    if any(re.search(r" \(\d+\)$", cell["label"]) for cell in cells):
        lines.append("(2): differs in a setting that the name does not say.")
    if any(cell["state"] == "missing" for cell in cells):
        lines.append("Missing: a size that another configuration of the study has, or a doubling between its sizes.")
    return lines
