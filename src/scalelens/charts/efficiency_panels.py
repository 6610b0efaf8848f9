"""A panel of efficiencies against the number of devices: its marks, and the roles of its points.

The charts `scaling` and `scaling_times` draw it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from scalelens.charts import axes, facets, style, words
from scalelens.charts.style import Row

KINDS = {
    "weak": "weak scaling", "strong": "strong scaling", "throughput": "scaling", "mixed": "growing model",
}  # fmt: skip
IDEAL = style.Look("ideal", style.GRAY, None, [1, 0], 0.7)
_NOTE_MARKS = "†‡§¶"
_MARK_AT = (2.5, -6)  # points from a marker to the middle of the left edge of its mark
_POINT_UNITS = 4  # size of a marker whose path is in points
_MARK_HEIGHT = 0.08  # of a mark, as a share of the highest value
_LEVEL_TOP = 1.03  # up to this efficiency the axis ends right above 100 %: the next tick would leave a sixth empty
REPEAT_SIZE = 7  # area of the mark of a single repeat, in square points
_FEWEST_ALIKE = 3  # series at a size; of fewer, none is in the middle


def judge(points: list[Row]) -> None:
    """Adds to each row whether it is the base, whether the line runs through it, its repeats and its kind of interval.

    If the base has one run, repeats that differ more than they should have their own range instead of an interval.
    """
    series, sizes = set(), set()
    for row in points:
        row["is_base"] = row["series"] not in series
        row["is_fastest"] = (row["series"], row["devices"]) not in sizes
        row["interval"] = (row["efficiency_kind"], row["interval_of"] or "runs") if row["efficiency_kind"] else None
        row["repeats"] = row.get("repeat_efficiencies") or []
        if row["repeats"] and not row["interval"]:
            row["efficiency_low"], row["efficiency_high"] = min(row["repeats"]), max(row["repeats"])
            row["interval"] = ("range", "runs")
        series.add(row["series"])
        sizes.add((row["series"], row["devices"]))


def mark_notes(points: list[Row]) -> list[str]:
    """Marks the rows that have notes.  Returns the notes for the caption.

    Notes that differ only in numbers or quoted names are one, and all notes on the same rows share a mark.
    """
    noted: dict[str, list[tuple[str, int]]] = {}
    for k, row in enumerate(points):
        row["marks"] = []
        for note in words.split_notes(row["note"]):
            noted.setdefault(words.NUMBER.sub("#", words.QUOTED.sub("''", note)), []).append((note, k))
    on_rows: dict[tuple[int, ...], list[str]] = {}
    for alike in noted.values():
        sentence = words.sentence(words.joined([note for note, _ in alike]))
        on_rows.setdefault(tuple(k for _, k in alike), []).append(sentence)
    notes, marks = [], 0
    for indexes, sentences in on_rows.items():
        kinds = {points[k]["scaling"] for k in indexes}
        if len(indexes) == sum(row["scaling"] in kinds for row in points):  # a mark at every point would say nothing
            notes += sentences
            continue
        mark = _NOTE_MARKS[marks % len(_NOTE_MARKS)] * (marks // len(_NOTE_MARKS) + 1)
        marks += 1
        notes.append(f"{mark}\u00a0{' '.join(sentences)}")
        for k in indexes:
            points[k]["marks"].append(mark)
    return notes


def efficiency(rows: Sequence[Row], looks: Sequence[style.Look], top: float, x: Any, has_axis: bool = True) -> Any:
    """Panel of weak or of strong series, up to the efficiency `top`.  Without an axis it shares that on its left."""
    measured = ("efficiency", "efficiency_low", "efficiency_high")
    percent = [row | {name: None if row[name] is None else 100 * row[name] for name in measured} for row in rows]
    percent = [row | {"repeats": [100 * value for value in row["repeats"]]} for row in percent]
    y = axes.from_zero("efficiency", "efficiency [%]", 100 * (top if top > _LEVEL_TOP else 1))
    y = y if has_axis else facets.without_axis(y)
    ideal = alt.Chart(style.values([{"ideal": 100}]))
    ideal = ideal.mark_rule(color=IDEAL.color, strokeWidth=IDEAL.thickness)
    return alt.layer(ideal.encode(y=alt.Y("ideal:Q")), *series_layers(percent, looks, x, y, "efficiency"))


def ranking(points: Sequence[Row], field: str) -> tuple[Callable[[Sequence[Row]], float | None], str]:
    """What ranks a series by a value, and the end of a sentence on the size that it is taken at.

    That is the largest size of three series or more: the value of another size says something else.  Without such a
    size it is the largest of each.
    """
    series: dict[int, set[str]] = {}
    for row in points:
        if row[field] is not None:
            series.setdefault(row["devices"], set()).add(row["label"])
    common = max((size for size, labels in series.items() if len(labels) >= _FEWEST_ALIKE), default=None)

    def rank(rows: Sequence[Row]) -> float | None:
        known = [(row["devices"], row[field]) for row in rows if row[field] is not None]
        return max((value for size, value in known if size == (common or max(known)[0])), default=None)

    return rank, f" on {words.devices(points[0] | {'devices': common})}" if common else " at its largest size"


def highest(rows: Sequence[Row]) -> float:
    """The highest efficiency that is drawn, at least the ideal."""
    ends: list[float] = [row[name] for row in rows for name in ("efficiency", "efficiency_high") if row[name]]
    repeats: list[float] = [value for row in rows for value in row["repeats"]]
    return max([1.0, *ends, *repeats])


def series_layers(rows: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any, field: str) -> list[Any]:
    """Lines, intervals, points and marks of notes."""
    by = style.encodings(looks)
    shown = ("series", "devices", "run_id", "n_runs", "n_steps", "note")
    tips = [alt.Tooltip(name, type="nominal") for name in shown]
    tips += [alt.Tooltip(name, type="quantitative", format=".4~g") for name in (field, "step_s") if name in rows[0]]

    def points(chosen: Sequence[Row]) -> Any:
        return alt.Chart(values_of(chosen, field, *shown, *(["step_s"] if "step_s" in rows[0] else [])))

    fastest = points([row for row in rows if row["is_fastest"]])
    layers = [
        fastest.mark_line().encode(
            x, y, by["color"], by["strokeDash"], by["strokeWidth"], detail=alt.Detail("series:N")
        )
    ]
    ends = (f"{field}_low", f"{field}_high")
    for kind in style.INTERVALS:
        of_kind = [row for row in rows if row["interval"] == kind]
        layers += style.interval_layers(of_kind, kind, x, ends, by["color"])
    layers.append(fastest.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips))
    if rivals := [row for row in rows if not row["is_fastest"]]:
        hollow = points(rivals).mark_point(filled=False, fill="white", strokeWidth=0.8)
        layers.append(hollow.encode(x, y, by["color"], by["shape"], tooltip=tips))
    if repeats := [row | {field: value} for row in rows for value in row["repeats"]]:
        ring = points(repeats).mark_point(filled=False, fill="white", strokeWidth=0.6, size=REPEAT_SIZE, shape="circle")
        layers.append(ring.encode(x, y, by["color"], tooltip=tips))
    if marked := [row for row in rows if row["marks"]]:
        apart = marks_apart(marked, field)
        mark = alt.Chart(values_of(apart, field, "mark")).mark_text(align="left", dx=_MARK_AT[0], dy=_MARK_AT[1])
        layers.append(mark.encode(x, y, text=alt.Text("mark:N")))
        ground = alt.Chart(values_of([row | {"ground": _ground(row["mark"])} for row in apart], field, "ground"))
        shape = alt.Shape("ground:N", scale=None, legend=None)
        layers.insert(1, ground.mark_point(color="white", size=_POINT_UNITS).encode(x, y, shape))
    return layers


def _ground(mark: str) -> str:
    """The path of a patch below a mark, over the lines and under the markers of all series."""
    (left, middle), right = _MARK_AT, _MARK_AT[0] + words.text_width(mark)
    return f"M{left - 0.5},{middle - 3.5}H{right + 0.5:.2f}V{middle + 3.5}H{left - 0.5}Z"


def marks_apart(marked: Sequence[Row], field: str) -> list[Row]:
    """Rows with marks.  Marks of points that are close together go above the highest one, so as not to overlap."""
    close = _MARK_HEIGHT * max(row[field] for row in marked)
    kept: list[Row] = []
    for row in sorted(marked, key=lambda row: (row["devices"], -row[field])):
        if kept and kept[-1]["devices"] == row["devices"] and kept[-1]["lowest"] - row[field] < close:
            marks = sorted({*kept[-1]["marks"], *row["marks"]}, key=lambda m: (len(m), _NOTE_MARKS.index(m[0])))
            kept[-1] |= {"marks": marks, "lowest": row[field]}
        else:
            kept.append(row | {"lowest": row[field]})
    return [row | {"mark": "".join(row["marks"])} for row in kept]


def values_of(rows: Sequence[Row], *fields: str) -> Any:
    """The data of a layer: only the columns that it draws."""
    return style.values([{name: row[name] for name in ("devices", "label", *fields)} for row in rows])
