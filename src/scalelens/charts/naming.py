"""Names of series and runs in a figure: what sets them apart is in the legend, what they share in the caption."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scalelens.charts import words

_DEVICE = re.compile(r"\bdevice_model ([^,·]+)")
_SHORT = re.compile(r"\d|^(?:nvidia|epyc)$|^.{1,3}$")  # words of a device's name that are written in capitals
_VENDOR = re.compile(r"^(?:NVIDIA|AMD|Intel)(?:\(R\))? ", re.IGNORECASE)
_SETTING = re.compile(r"(?:^|(?<=, ))([a-z]+(?:_[a-z]+)+) (?=\S)")


def plain(settings: str) -> str:
    """Settings as a query joins them, in words: `A100` for `device_model a100`, `micro batch size 4`.

    The label of a row in a table of runs says by itself what it is.
    """
    named = with_devices(settings)
    return _SETTING.sub(lambda name: "" if name[1] == "row_label" else name[1].replace("_", " ") + " ", named)


def with_devices(settings: str) -> str:
    """Settings as a query joins them, with the name of the device as its vendor writes it."""
    return _DEVICE.sub(lambda device: device_name(device[1]), settings)


def device_name(model: str) -> str:
    """A model of a device, which queries compare in lower case: `NVIDIA A100 SXM4`, `AMD Instinct MI250X`."""
    if not model.islower():
        return model
    words_of = (word.upper() if _SHORT.search(word) else word.capitalize() for word in model.split(" "))
    return " ".join(words_of).replace("GHZ", "GHz").replace("(r)", "(R)")


def without_vendors(models: Iterable[str | None]) -> dict[str | None, str | None]:
    """How to write each model of a device: without its vendor where another run leaves that out."""
    known = set(models)
    return {model: short if model and (short := _VENDOR.sub("", model)) in known else model for model in known}


def apart(names: Iterable[str]) -> tuple[str, dict[str, str]]:
    """For names such as `gpt · bf16 · lumi`: the parts that all share, and the other parts of each name."""
    tokens = {name: [plain(token) for token in name.split(" · ")] for name in names}
    first = next(iter(tokens.values()), [])
    shared = [token for token in first if all(token in parts for parts in tokens.values())]
    labels = {name: " · ".join(token for token in parts if token not in shared) for name, parts in tokens.items()}
    return " · ".join(shared), labels


def name_series(points: Sequence[dict[str, Any]], whose: str = "") -> str:
    """Gives each row a `label`, what sets its series apart, and its `batch`.  Returns what all share, as a sentence."""
    # The last part of a name is the kind of scaling with the batch: `weak (batch 8 per device)`.
    names = {row["series"]: row["series"].rpartition(" · ") for row in points}
    batches = {name: "".join(re.findall(r"\(([^,)]*)", last)) for name, (_, _, last) in names.items()}
    shared, labels = apart(dict.fromkeys(first for first, _, _ in names.values()))
    for row in points:
        row["label"], row["batch"] = labels[names[row["series"]][0]], batches[row["series"]]
    for label, kind in {(row["label"], row["scaling"]) for row in points}:
        same = [row for row in points if row["scaling"] == kind and row["label"] == label]
        if len({row["series"] for row in same}) > 1:
            for row in same:
                row["with_batch"] = " · ".join(filter(None, (label, row["batch"])))
    for row in points:
        row["label"] = row.pop("with_batch", row["label"])
    return f"{whose}{shared}." if shared else ""


FURTHER_FACTS = ("seq_length", "tp", "pp", "cp")  # that tell runs of one model and size apart
_SHORT_WORD = 4  # letters
_LONG_ENDS = 8  # letters that all models share, from which labels leave them out
_SHORT_FACTS = "short_facts"  # key of a row: shorter texts of its facts, where labels are too wide
_MOST_LABELS = 12  # as many series as a chart can show


def name_by_facts(
    points: Sequence[dict[str, Any]], facts: Sequence[str], further: Sequence[str] = (), room: float = math.inf
) -> str:
    """Gives each row a `label`, the facts that set its series apart.  Returns what all share, as a sentence.

    `further` facts are named where runs of the same size would have one label, unless there would be too many.  Labels
    wider than `room` leave out facts that follow from the others.
    """
    for point in points:
        point.pop(_SHORT_FACTS, None)
    for fact in further:
        tells = _alike_without(points, facts, fact)
        if tells and len({tuple(point[name] for name in (*facts, fact)) for point in points}) <= _MOST_LABELS:
            facts = (*facts, fact)
    known = {fact: {point[fact] for point in points} - {None} for fact in facts}
    named = [fact for fact in facts if len(known[fact]) > 1]
    notes: list[str] = []
    _label(points, named)
    if _is_wider(points, room):
        named = telling(points, named)
        notes = _shorten(points, named, room)
    for alike in _by_label(points):  # one run states what another does not
        differing = [fact for fact in facts if len({point[fact] for point in alike}) > 1]
        _label(alike, [fact for fact in facts if fact in named or fact in differing])
    for alike in _by_label(points):
        if len({point["series"] for point in alike}) > 1:
            for point in alike:
                point["label"] = " · ".join(filter(None, (point["label"], f"as run {point['series'][:6]}")))
    shared = []
    for fact in (fact for fact in facts if len(known[fact]) == 1):
        example = next(point for point in points if point[fact] is not None)
        is_partial = any(point[fact] is None for point in points)
        shared.append(fact_text(example, fact) + (" where stated" if is_partial else ""))
    return " ".join([*([f"{' · '.join(shared)}."] if shared else []), *notes])


def telling(points: Sequence[Mapping[str, Any]], facts: Sequence[str]) -> list[str]:
    """The facts that tell the rows apart, without those that follow from the ones before them."""
    telling: list[str] = []
    kinds = 1
    for fact in facts:
        more = len({tuple(point[name] for name in (*telling, fact)) for point in points})
        if more > kinds:
            telling, kinds = [*telling, fact], more
    return telling


def _label(points: Sequence[dict[str, Any]], facts: Sequence[str]) -> None:
    """Gives each row its label."""
    for point in points:
        point["label"] = " · ".join(fact_text(point, fact) for fact in facts if point[fact] is not None)


def _is_wider(points: Sequence[Mapping[str, Any]], room: float) -> bool:
    return any(words.text_width(point["label"]) > room for point in points)


def _shorten(points: Sequence[dict[str, Any]], facts: Sequence[str], room: float) -> list[str]:
    """Labels with ever shorter facts, until they fit.  Returns sentences on what the labels no longer say."""
    notes: list[str] = []
    for shorten in (_short_devices, _short_models, _short_numbers):
        notes += shorten(points, facts)
        _label(points, facts)
        if not _is_wider(points, room):
            break
    return notes


def _short_devices(points: Sequence[dict[str, Any]], facts: Sequence[str]) -> list[str]:
    named = [point for point in points if point["device_model"] is not None] if "device_model" in facts else []
    models = list(dict.fromkeys(point["device_model"] for point in named))
    names = words.brief_processors([device_name(model) for model in models])
    spare = _spare_words(names)
    brief = dict(zip(models, (name.removeprefix(spare) for name in names), strict=True))
    for point in named:
        _set_short(point, "device_model", brief[point["device_model"]])
    return []


def _short_models(points: Sequence[dict[str, Any]], facts: Sequence[str]) -> list[str]:
    """Names of models without what all begin or end with, if that is long."""
    names = list(dict.fromkeys(point["model"] for point in points if point["model"])) if "model" in facts else []
    rests, begin, end = words.without_shared_ends(names) if len(names) > 1 else ([], "", "")
    if len(begin) + len(end) < _LONG_ENDS:
        return []
    short = dict(zip(names, rests, strict=True))
    for point in points:
        if point["model"]:
            _set_short(point, "model", short[point["model"]])
    if begin and end:
        return [f"Models: {begin}…{end}."]
    return [f"Names of models {'begin' if begin else 'end'} with {begin or end}."]


def _short_numbers(points: Sequence[dict[str, Any]], facts: Sequence[str]) -> list[str]:
    """`batch 8 · seq 512` without `per GPU`, which the caption says."""
    for point in points:
        if "batch_per_device" in facts and point["batch_per_device"] is not None:
            _set_short(point, "batch_per_device", f"batch {point['batch_per_device']:g}")
        if "seq_length" in facts and point["seq_length"] is not None:
            _set_short(point, "seq_length", f"seq {point['seq_length']}")
    return [f"Batches are per {words.unit(points)}."] if "batch_per_device" in facts else []


def _set_short(point: dict[str, Any], fact: str, text: str) -> None:
    point[_SHORT_FACTS] = {**point.get(_SHORT_FACTS, {}), fact: text}


def _spare_words(models: Sequence[str]) -> str:
    """The words that all names of devices begin with: `NVIDIA GeForce ` of `RTX 5090` and `RTX 5070 Ti`."""
    names = set(models)
    shared: list[str] = []
    for words_there in zip(*(name.split(" ")[:-1] for name in names), strict=False):
        if len(set(words_there)) > 1:
            break
        shared.append(words_there[0])
    if shared and len(shared[-1]) <= _SHORT_WORD:  # the 5090 is an RTX 5090
        shared.pop()
    return " ".join([*shared, ""]) if len(names) > 1 and shared else ""


def _by_label(points: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    labels: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        labels.setdefault(point["label"], []).append(point)
    return list(labels.values())


def _alike_without(points: Sequence[Mapping[str, Any]], facts: Sequence[str], fact: str) -> bool:
    """Whether runs on equally many devices differ in a fact, and in none of the others."""
    values: dict[Any, set[Any]] = {}
    for point in points:
        values.setdefault((point["devices"], *(point[name] for name in facts)), set()).add(point[fact])
    return any(len(several) > 1 for several in values.values())


def fact_text(point: Mapping[str, Any], fact: str) -> str:
    """A fact of a run, for a label."""
    if fact in point.get(_SHORT_FACTS, {}):
        return f"{point[_SHORT_FACTS][fact]}"
    value = point[fact]
    if fact == "batch_per_device":
        return f"batch {value:g} per {words.unit([point])}"
    if fact == "device_model":
        return device_name(value)
    name = {"seq_length": "sequence ", "global_batch_size": "batch ", "tp": "tp ", "pp": "pp ", "cp": "cp "}.get(
        fact, ""
    )
    return words.devices(point) if fact == "devices" else f"{name}{value}"
