"""The best and the median of many runs or series, with the others drawn pale behind them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from scalelens.charts import style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

_PALE = "#b4b4b4"
_BEST = style.Look("", style.COLORS[0], "circle", [1, 0], 1.8, True)
_MEDIAN = style.Look("", style.COLORS[1], "square", [4, 1.5], 1.4, True)
_OTHER = style.Look("", _PALE, None, [1, 0], 0.5, True)
_FEWEST = 3  # of fewer, none is in the middle
_OF_PANELS = ("best of the panel", "median of the panel", "others")
PALE, NAMED = 0, 1  # how far in front the marks of a row are


class _Highlights(NamedTuple):
    """The label of each run, and the looks of the labels."""

    labels: Mapping[str, str]
    looks: Sequence[style.Look]


class Chosen(NamedTuple):
    """The looks of labels; where some stand out, which do so in each panel, for below its title."""

    looks: list[style.Look]
    lines: Mapping[str, Sequence[str]] = {}
    is_part: bool = False  # whether some stand out


def highlights(
    names: Mapping[str, str], values: Mapping[str, float], is_lower_better: bool, page: Page, what: str = "runs"
) -> _Highlights:
    """The best and the median one of the runs that `values` rank, three at least; `names` are those of all."""
    best, median = _best_and_median(names, values, is_lower_better)
    others = f"{len(names) - 2} other {what}"
    labels = dict.fromkeys(names, others)
    labels |= {median: f"median: {names[median]}", best: f"best: {names[best]}"}
    return _Highlights(labels, _looks((labels[best], labels[median], others), page))


def looks_of(
    panels: Mapping[str, Sequence[Row]],
    value: Callable[[Sequence[Row]], float | None],
    page: Page,
    what: str = "series",
    is_lower_better: bool = False,
) -> Chosen:
    """The looks of the labels of rows.  Of more than a legend can name, the best and the median of a panel stand out.

    `value` ranks a label by its rows in a panel; None: it is not ranked.  Rows keep the label as `own`; `front` says
    how far in front their marks are.  Raises UserError for too many labels of which fewer than three are ranked.
    """
    rows = [row for part in panels.values() for row in part]
    for row in rows:
        row["own"], row["front"] = row["label"], NAMED
    labels = sorted({row["label"] for row in rows}, key=words.natural)
    if len(labels) <= style.MOST_SERIES:
        return Chosen(style.looks(labels, page))
    ranks = {panel: _ranks(part, value) for panel, part in panels.items()}
    if len(panels) > 1 or "" not in panels:
        lines = {panel: _mark(panels[panel], ranks[panel], is_lower_better) for panel in panels}
        return Chosen(_looks(_OF_PANELS, page, "circle"), lines, True)
    if len(ranks[""]) < _FEWEST:
        return Chosen(style.looks(labels, page))
    chosen = highlights({label: label or "unnamed" for label in labels}, ranks[""], is_lower_better, page, what)
    for row in rows:
        row["label"] = chosen.labels[row["own"]]
        row["front"] = _front(row["label"], [look.label for look in chosen.looks])
    return Chosen([look._replace(shape=look.shape or "circle") for look in chosen.looks], {}, True)


def in_front_last(rows: Iterable[Row]) -> list[Row]:
    """The rows in the order in which their marks are drawn."""
    return sorted(rows, key=lambda row: row["front"])


def _ranks(rows: Sequence[Row], value: Callable[[Sequence[Row]], float | None]) -> dict[str, float]:
    of_label: dict[str, list[Row]] = {}
    for row in rows:
        of_label.setdefault(row["label"], []).append(row)
    values = {label: value(its) for label, its in of_label.items()}
    return {label: rank for label, rank in values.items() if rank is not None}


def _mark(rows: Sequence[Row], ranks: Mapping[str, float], is_lower_better: bool) -> list[str]:
    """Gives the rows of a panel the label of their place.  Returns which labels are the best and the median."""
    best, median, others = _OF_PANELS
    places: dict[str, str] = {}
    if ranks:
        first, middle = _best_and_median({label: label for label in ranks}, ranks, is_lower_better)
        places = {first: best} if len(ranks) < _FEWEST else {first: best, middle: median}
    for row in rows:
        row["label"] = places.get(row["own"], others)
        row["front"] = _front(row["label"], _OF_PANELS)
    return [f"{place.partition(' ')[0]}: {label or 'unnamed'}" for label, place in places.items()]


def _front(label: str, labels: Sequence[str]) -> int:
    return len(labels) - 1 - labels.index(label)


def _best_and_median(names: Mapping[str, str], values: Mapping[str, float], is_lower_better: bool) -> tuple[str, str]:
    ranked = sorted(values, key=lambda run: (values[run] if is_lower_better else -values[run], names[run], run))
    return ranked[0], ranked[(len(ranked) - 1) // 2]


def _looks(labels: Sequence[str], page: Page, shape: str | None = None) -> list[style.Look]:
    looks = [look._replace(label=label) for look, label in zip((_BEST, _MEDIAN, _OTHER), labels, strict=True)]
    return [look._replace(color=page.colors.get(look.label, look.color), shape=look.shape or shape) for look in looks]
