"""A list of JSON objects, one for each epoch or step: `{"gpus": 4, "log": [{"epoch": 1, "loss": 2.5}, ...]}`."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import json_number
from scalelens.tabular.column_names import read_name

_OPENING = re.compile(rb'"[\w ()/%.-]{1,80}"\s*:\s*\[\s*\{(?P<first>[^{}\[\]]{1,4000})')
_KEY = re.compile(rb'"([\w ()/%.-]{1,80})"\s*:')
_FEWEST = 2  # objects
_MEASURED = {"loss", "accuracy", "batch_time", "epoch_time", "samples_per_s", "tokens_per_s"}

Objects = list[Mapping[str, Any]]


def begins_in(head: bytes) -> bool:
    """Whether a list of such objects begins in the first bytes of a document."""
    return any(
        _counts({key.decode("utf-8", "replace") for key in _KEY.findall(opening["first"])}) is not None
        for opening in _OPENING.finditer(head)
    )


def history_of(document: Mapping[str, Any]) -> tuple[str, Objects] | None:
    """The name and the objects of the one list that counts epochs or steps upwards; None where there is not one."""
    found = [(name, value) for name, value in document.items() if _is_history(value)]
    return found[0] if len(found) == 1 else None


def _counts(names: set[str]) -> str | None:
    """The name that counts epochs or steps, if something that is measured is next to it."""
    by_role = {read_name(name).role: name for name in sorted(names, reverse=True)}
    return (by_role.get("step") or by_role.get("epoch")) if _MEASURED & by_role.keys() else None


def _is_history(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < _FEWEST or not all(isinstance(each, dict) for each in value):
        return False
    counted = _counts({*value[0]})
    counts = [json_number(each.get(counted)) for each in value] if counted else []
    known = [count for count in counts if count is not None]
    return len(known) == len(value) and all(a < b for a, b in itertools.pairwise(known))


def as_lists(objects: Objects) -> dict[str, list[Any]]:
    """The numbers of all objects, a list for each name; None where an object has no number of that name."""
    names = dict.fromkeys(name for each in objects for name, value in each.items() if json_number(value) is not None)
    return {
        name: [each.get(name) if json_number(each.get(name)) is not None else None for each in objects]
        for name in names
    }


def places_of(text: str, begin: int, name: str, objects: Sequence[Any]) -> list[int]:
    """Where each object of a list begins; fewer where that cannot be told."""
    opening = re.compile(rf"{re.escape(json.dumps(name))}\s*:\s*\[").search(text, begin)
    decoder, places, place = json.JSONDecoder(), list[int](), opening.end() if opening else len(text)
    for each in objects:
        start = text.find("{", place)
        if start < 0:
            break
        value, place = decoder.raw_decode(text, start)
        if value != each:
            break
        places.append(start)
    return places
