"""The best and the median of many runs or series, with the others drawn pale behind them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scalelens.charts import style
from scalelens.charts.layout import Page

_PALE = "#b4b4b4"
_BEST = style.Look("", style.COLORS[0], "circle", [1, 0], 1.8, True)
_MEDIAN = style.Look("", style.COLORS[1], "square", [4, 1.5], 1.4, True)
_OTHER = style.Look("", _PALE, None, [1, 0], 0.5, True)


class _Highlights(NamedTuple):
    """The label of each run, and the looks of the labels."""

    labels: Mapping[str, str]
    looks: Sequence[style.Look]


def highlights(
    names: Mapping[str, str], values: Mapping[str, float], is_lower_better: bool, page: Page, what: str = "runs"
) -> _Highlights:
    """The best and the median one of the runs that `values` rank, three at least; `names` are those of all."""
    ranked = sorted(values, key=lambda run: (values[run] if is_lower_better else -values[run], names[run], run))
    best, median = ranked[0], ranked[(len(ranked) - 1) // 2]
    others = f"{len(names) - 2} other {what}"
    labels = dict.fromkeys(names, others)
    labels |= {median: f"median: {names[median]}", best: f"best: {names[best]}"}
    looks = [_BEST._replace(label=labels[best]), _MEDIAN._replace(label=labels[median]), _OTHER._replace(label=others)]
    return _Highlights(labels, [_in_color(look, page) for look in looks])


def _in_color(look: style.Look, page: Page) -> style.Look:
    return look._replace(color=page.colors.get(look.label, look.color))
