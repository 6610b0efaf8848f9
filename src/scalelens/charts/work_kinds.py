"""Runs by the kind of their work: an image, a sentence pair and a token are different work, however fast they go."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scalelens.charts import facets, naming, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

NOTE = "Each panel has its own axis, because a sample is not the same work for different models."
_UNKNOWN = "model unknown"


class Kind(NamedTuple):
    """Runs whose rates are of the same work."""

    name: str
    work: str  # `samples` or `tokens`
    points: list[Row]

    @property
    def rate(self) -> str:
        """The column of the rate."""
        return f"device_{self.work}_per_s"


def of(points: Sequence[Row], is_split: bool = True) -> list[Kind]:
    """The kinds of work, in natural order of their names; one kind, if they are not to be split.

    Tokens are one kind.  Samples are one kind within a data set that the logs state, else within a model.  Points that
    have no rate of the work of their kind are left out.
    """
    models: dict[Any, list[Row]] = {}
    for point in points:
        models.setdefault(_plain(point["model"]) if is_split else None, []).append(point)
    kinds: dict[tuple[str, str], list[Row]] = {}
    for model, runs in models.items():
        work = "samples" if any(run["device_tokens_per_s"] is None for run in runs) else "tokens"
        data = {run.get("dataset") for run in runs}
        kind = "" if work == "tokens" else data.pop() if len(data) == 1 and None not in data else model
        kinds.setdefault((work, kind or ""), []).extend(runs)
    found = [
        Kind(_name(runs, kind), work, [run for run in runs if run[f"device_{work}_per_s"] is not None])
        for (work, kind), runs in kinds.items()
    ]
    return sorted((kind for kind in found if kind.points), key=lambda kind: words.natural(kind.name))


def _name(runs: Sequence[Row], kind: str) -> str:
    """The model of the runs if they have one, else their data set; `tokens` for several models of language."""
    models = sorted({run["model"] or _UNKNOWN for run in runs}, reverse=True)
    return models[0] if len(set(map(_plain, models))) == 1 else kind or "tokens"


def _plain(model: str | None) -> str | None:
    """A model's name without what differs between spellings: `ResNet-50` is `resnet50`."""
    return model and re.sub(r"[\W_]", "", model.lower())


def take_from_labels(kinds: Sequence[Kind]) -> None:
    """Removes the model from the labels of runs whose panel is named by it."""
    for kind in kinds if len(kinds) > 1 else ():
        for point in kind.points:
            model = naming.fact_text(point, "model")
            if _plain(point["model"]) == _plain(kind.name):
                point["label"] = " · ".join(part for part in point["label"].split(" · ") if part != model)


def grid(
    kinds: Sequence[Kind], charts: Sequence[Any], columns: int, page: Page, lines: Mapping[str, Sequence[str]]
) -> list[list[style.Panel]]:
    """Charts with the names of their kinds above them and an axis each, in rows of panels; `lines` go below a name."""
    panels = [
        style.Panel(
            facets.titled(chart, kind.name, columns, page, True, lines.get(kind.name, ())),
            columns=columns,
            name=kind.name,
        )
        for kind, chart in zip(kinds, charts, strict=True)
    ]
    return [panels[n : n + columns] for n in range(0, len(panels), columns)]
