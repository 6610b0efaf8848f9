"""Series of measurements within a JSON document: `{"gpu": "A100", "samples": [{"time_s": 0.1, "power_w": 312.5}]}`."""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.source import Source
from scalelens.tabular.cells import nested_values
from scalelens.units import ratio

_MOST_BYTES = 32 << 20
_DEEPEST = 12
_SENSED = re.compile(rb'"[^"\n]{0,60}(?:power|watt|energy|joule|kwh)[^"\n]{0,60}"\s*:', re.IGNORECASE)
_POWER = re.compile(r"power|watt|(?:^|_)[mku]?w$", re.IGNORECASE)
_PROGRAMS = re.compile(r"process(?!or)|app|consumer|task|container|pod|(?:^|_)vms?(?:$|_)", re.IGNORECASE)
_DEVICE = re.compile(r"(?:id|index|idx|uuid|name|label)|(?:gpu|device|card|socket|node|sensor)(?:_?(?:id|index|name))?")
_TIME = re.compile(r"time|seconds|(?:^|_)(?:t|ts|s|ms|ns|elapsed)(?:$|_)|elapsed|date", re.IGNORECASE)
_INTERVAL = re.compile(
    r"(?:(?:power|energy|nvml|smi|monitor(?:ing)?)_)?(?:sampl(?:e|ing)|poll(?:ing)?|measurement)_?"
    r"(?:(?:interval|period|dt|every)_?(s|sec|secs|seconds|ms|msec)|(?:rate|frequency|freq)_?(hz))",
    re.IGNORECASE,
)
_LONGEST_INTERVAL = 1e6
_FULL = re.compile(r"\S")
_SHOWN = 200  # characters of what is cut
_MOST_SHARED = 50  # values beside a list of devices
_Object = dict[str, Any]


def is_document(head: bytes) -> bool:
    """Whether a file may be a JSON document that holds powers or energies."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and _SENSED.search(head) is not None


def document_of(source: Source) -> Any:
    """What a document holds; None where it is damaged or too large."""
    if source.size_bytes > _MOST_BYTES:
        return None
    try:
        return json.loads(source.text())
    except (ValueError, RecursionError):
        return None


def _documents_of(source: Source) -> tuple[Any, str | None]:
    """What a document holds, or a list of those that follow each other, as a loop around `tool --json` leaves them.

    The second is where such a list ends in something else, as in a document that is cut.
    """
    text = source.text().decode("utf-8", "replace") if source.size_bytes <= _MOST_BYTES else ""
    documents, at, decoder = list[Any](), 0, json.JSONDecoder()
    while begin := _FULL.search(text, at):
        try:
            document, at = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            return (documents, text[begin.start() :][:_SHOWN]) if len(documents) > 1 else (None, None)
        documents.append(document)
    return (documents if len(documents) > 1 else documents[0] if documents else None), None


def lists_of_samples(value: Any, by_interval: bool = False, depth: int = 0) -> Iterator[list[_Object]]:
    """Lists of objects that hold a time and a power each, also where each quantity has a list of its own.

    With `by_interval` also lists of powers without times, beside which the interval between them stands.
    """
    if depth > _DEEPEST:
        return
    is_table = isinstance(value, list) and len(value) > 1 and all(isinstance(each, dict) for each in value)
    if is_table and _is_sample(next(samples_of(value[0]), {})):
        yield [sample for each in value for sample in samples_of(each)]
        return
    if isinstance(value, dict):
        lists = {k: each for k, each in value.items() if isinstance(each, list) and _is_numbers(each)}
        if _is_sample(lists) and len({len(each) for each in lists.values()}) == 1:
            yield [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
            return
        if (
            by_interval
            and (powers := {k: each for k, each in lists.items() if _POWER.search(k)})
            and (every := _interval_in(value))
        ):
            samples: list[_Object] = [{"elapsed_s": k * every} for k in range(max(map(len, powers.values())))]
            for name, each in powers.items():
                for sample, power in zip(samples, each, strict=False):
                    sample[name] = power
            yield samples
            return
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from lists_of_samples(each, by_interval, depth + 1)


def _interval_in(record: _Object) -> float | None:
    """Seconds between the samples of an object that says their interval or their rate, with its unit."""
    for name, each in record.items():
        match = _INTERVAL.fullmatch(name)
        if match and isinstance(each, int | float) and not isinstance(each, bool) and 0 < each < _LONGEST_INTERVAL:
            unit = (match[1] or match[2]).lower()
            return 1 / each if unit == "hz" else each * ratio("ms" if unit.startswith("ms") else "s", "s")
    return None


def _is_numbers(values: list[Any]) -> bool:
    return len(values) > 1 and all(isinstance(each, int | float | str) for each in values)


def _is_sample(names: _Object) -> bool:
    return any(map(_POWER.search, names)) and any(map(_TIME.search, names))


def samples_of(record: _Object) -> Iterator[_Object]:
    """What an object holds under names joined by dots: once, or for each of the devices that it has in a list.

    `{"t": 1, "gpus": [{"index": 0, "power_w": 300}]}` has the columns t, gpu_index and power_w.  An object with many
    values of its own is not repeated for each of its devices.
    """
    own = dict(nested_values(record))
    lists = {
        name: each
        for name, each in record.items()
        if isinstance(each, list) and each and all(isinstance(inner, dict) for inner in each)
        if not _PROGRAMS.search(name) and any(map(_POWER.search, dict(nested_values(each[0]))))
    }
    if len(lists) != 1 or len(own) > _MOST_SHARED:
        yield own
        return
    name, devices = lists.popitem()
    word = name.lower().removesuffix("s")
    for number, device in enumerate(devices):
        cells = dict(nested_values(device))
        named = {
            f"{word}_{k}" if _DEVICE.fullmatch(k) and not k.startswith(word) else k: each for k, each in cells.items()
        }
        alone = {} if any(map(_DEVICE.fullmatch, cells)) else {f"{word}_index": number}
        yield own | alone | named


def _series_by_device(value: Any) -> list[_Object]:
    """The samples of several series that have the name of their device: `{"gpu0": [...], "gpu1": [...]}`."""
    found: list[_Object] = []
    for each in value.values() if isinstance(value, dict) else ():
        found = found or _series_by_device(each)
    if found or not isinstance(value, dict):
        return found
    series = {name: [*lists_of_samples(each)] for name, each in value.items() if isinstance(each, list)}
    series = {name: own for name, own in series.items() if own}
    if len(series) < 2 or any(len(own) > 1 or not _names_device(name) for name, own in series.items()):
        return []
    return [{"sensor": name} | sample for name, own in series.items() for sample in own[0]]


def _names_device(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z]{0,12}[_ :-]?\d{1,3}", name) is not None or scope_of_words(name) is not None


def series_in(source: Source) -> tuple[list[_Object] | None, str | None]:
    """The only series of a document, or that of several devices; None where it has none, or several of anything.

    The second is the beginning of a document that is cut, where several follow each other.
    """
    document, cut = _documents_of(source)
    series = [*lists_of_samples(document, by_interval=True)]
    return (series[0] if len(series) == 1 else _series_by_device(document) or None), cut


def objects_with(value: Any, names: set[str], depth: int = 0) -> Iterator[dict[str, str]]:
    """Objects of a document that have all of these keys, their values as text."""
    if isinstance(value, dict) and names <= {*value}:
        yield {name: "" if each is None else str(each) for name, each in value.items()}
    elif isinstance(value, dict | list) and depth < _DEEPEST:
        for each in value.values() if isinstance(value, dict) else value:
            yield from objects_with(each, names, depth + 1)
