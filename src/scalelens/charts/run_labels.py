"""Labels of runs by the facts that set them apart, for charts with a line for each run."""

import re
from typing import Any

import polars as pl

from scalelens.charts import naming, words
from scalelens.charts.style import Row

TELLING = ("system", "model", "precision", "device_model", "devices", "batch")  # the last by `batch`
_KIND = "kind"  # of a run's records, empty for single steps
ONE_STEP = "single steps"  # the query's label for runs whose records are single steps


def labels(rows: pl.DataFrame, room: float) -> dict[str, str]:
    """Label of each run: the facts that set it apart, else its name, else its id.

    Labels wider than `room` leave out what follows from the other facts.
    """
    runs = rows.unique("run_id", maintain_order=True).to_dicts()
    tells_kind = rows["label"].n_unique() > 1
    kinds = ["" if not tells_kind or run["label"] == ONE_STEP else run["label"] for run in runs]
    facts = [{name: fact(run, name) for name in TELLING} | {_KIND: kind} for run, kind in zip(runs, kinds, strict=True)]
    # What one run alone states does not set it apart from those that do not say; names do, where nothing else does.
    known = {name: {row[name] for row in facts} - ({""} if name != _KIND else set()) for name in facts[0]}
    names = [name for name in facts[0] if len(known[name]) > 1]
    texts = _texts(facts, names)
    if any(words.text_width(" · ".join(label)) > room for label in texts):
        names = naming.telling(facts, names)
        texts = _texts(facts, names)
    for further in ("name", "run_id"):
        same = [texts.count(label) > 1 for label in texts]
        texts = [
            [*label, _rest(fact(run, further), row)] if alike else label
            for label, run, row, alike in zip(texts, runs, facts, same, strict=True)
        ]
    joined = _as_wide_as(texts, facts, names, room)
    return {run["run_id"]: label for run, label in zip(runs, joined, strict=True)}


def _texts(facts: list[dict[str, str]], names: list[str]) -> list[list[str]]:
    return [[row[name] for name in names if row[name]] for row in facts]


def _as_wide_as(texts: list[list[str]], facts: list[dict[str, str]], names: list[str], room: float) -> list[str]:
    """Labels, without the last facts that are not needed to tell them apart where some are wider than `room`."""
    labels = [" · ".join(text) for text in texts]
    for name in reversed(names):
        if all(words.text_width(label) <= room for label in labels):
            break
        fewer = [[part for part in text if part != row[name]] for text, row in zip(texts, facts, strict=True)]
        shorter = [" · ".join(text) for text in fewer]
        if len(set(shorter)) == len(set(labels)) and all(shorter):
            texts, labels = fewer, shorter
    return labels


def _rest(name: str, facts: dict[str, str]) -> str:
    """A name without the facts of its run, which often make most of it; whole if nothing else would be left."""
    rest = name
    for part in sorted(filter(None, facts.values()), key=len, reverse=True):
        rest = re.sub(rf"(?<!\S){re.escape(part)}(?!\S)", " ", rest)
    return " ".join(rest.split()) or name


def batch(known: pl.DataFrame) -> Any:
    """The batch of each run in words: the batch per device if it is the same on different numbers of devices."""
    if not {"global_batch_size", "devices"} <= set(known.columns):
        return pl.lit(None, pl.String)
    of_device = known["global_batch_size"] / known["devices"]
    if known["devices"].n_unique() > 1 and of_device.n_unique() == 1 and of_device[0] is not None:
        return pl.lit(f"batch {of_device[0]:g} per {words.unit(known.to_dicts())}")
    batch = pl.col("global_batch_size")
    return pl.when(batch.is_not_null()).then(pl.format("batch {}", batch))


def fact(run: Row, name: str) -> str:
    """A fact of a run in words; empty if it is unknown."""
    value = run.get(name)
    if value is None:
        return ""
    if name == "devices":
        return words.devices(run)
    return f"run {value[:8]}" if name == "run_id" else f"{value}"
