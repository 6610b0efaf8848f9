"""The settings of a training, as `print(args)` shows them.

Tool: Python's argparse and types.SimpleNamespace, in scripts that print what they were called with
Versions: any
Yields: params
Source: cpython Lib/argparse.py, _AttributeHolder.__repr__(); Lib/types.py, SimpleNamespace

Each value becomes a row of `params` under its own name; lists, None and objects are passed over.  What `runs` asks for
gets its name there where the setting can mean nothing else, and nothing else of the file says it.  A `world_size` is
passed over: many scripts count nodes in it, or leave its default.

Settings belong to the step records that follow them.  A file without such records gives none: it may have prepared the
data, or evaluated a model.  Each rank may print its settings; those that only tell the ranks apart are left out, and
so are those that differ with a device counted from 0, such as the seed of a rank.
Where settings that can change the speed (devices, batch, model and its sizes, precision and those of `settings_catalog`)
differ from those that the records before followed, the records after them are another run; settings that say that they only
evaluate begin none.  Any other setting in which the launches of one run differ is not used, and a problem names it.
A file with several runs that something else tells apart gives none, since nothing shows whose settings they are.
With one node, `num_gpus` and the like are the devices of the job.

Samples:
    Namespace(model='resnet50', batch_size=64, lr=0.1, betas=[0.9, 0.999], amp=True, resume=None)
    2026-01-02 03:04:05,678 - INFO - Namespace(arch='vit_b_16', epochs=90, local_rank=0, output_dir='out')
    args: namespace(data=namespace(root='data', workers=8), seed=1)
"""

import ast
import functools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import is_of_a_model, settings_of_speed, write_configuration
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer_valued

VERSION = 2
ANCHORS = ("Namespace(", "namespace(")
SETTINGS_ALONE = True  # a text of which no other format takes a line is asked about as if these were not there

_HEAD = re.compile(r"(?<!\w)(?<!Experiment args: )(?:Simple)?[Nn]amespace\(")  # those are of cscs_course
_NAME = re.compile(r"\s*([A-Za-z_]\w*)=")
_PLAIN = re.compile(r"[^'\"()\[\]{}<>,]*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_LONGEST = 50_000  # characters of a line
_SHORT = 80  # characters of a value that is likely to recur
_MOST_LAUNCHES = 1_000  # settings that are kept of one file
_DEEPEST = 20
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OF_A_RANK = {
    "local_rank", "rank", "gpu", "gpu_id", "node_rank", "global_rank", "device", "is_master",
}  # fmt: skip
_SIZES = {"world_size"}  # tell launches apart, and are not written as settings
_DEVICES = ("num_gpus", "gpus", "ngpus", "n_gpus", "num_devices", "gpus_per_node", "ngpus_per_node")
_NODES = ("num_nodes", "nnodes", "nodes", "n_nodes")
_BATCHES = {"batch_size", "train_batch_size", "bs", "batch", "bsz"}
_EVALUATES = re.compile(r"(?<![a-z])(?:eval|infer|test|validat|predict)", re.IGNORECASE)
_FLAGS_OF_EVALUATION = ("evaluate", "eval", "eval_only", "test_only", "only_eval", "test", "inference")
_MOST_NAMED = 5


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.printed: list[tuple[int, dict[str, Any]]] = []  # line and settings

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text) if len(line.text) <= _LONGEST else None
        settings = _settings_of(line.text, head.end()) if head else {}
        if settings and head and len(self.printed) < _MOST_LAUNCHES:
            evaluates = _EVALUATES.search(line.text, 0, head.start()) or _only_evaluates(settings)
            if self.printed and not evaluates and _of_speed(settings) != _of_speed(self.printed[-1][1]):
                self.rows.other_settings(line.number)
            self.printed.append((line.number, settings))
        return bool(settings)

    def conclude(self) -> None:
        """Each run has the settings that were printed after the records of the run before it, and before its own last."""
        rows = self.rows
        ends = sorted((last.line, part) for part, last in rows.last_steps.items())
        if rows.is_split_otherwise or len({rows.stretch_of(line) for line, _ in ends}) < len(ends):
            return
        part, facts, begin = rows.part, rows.params, 0
        for end, rows.part in ends:
            rows.params = {}
            self.write([one for one in self.printed if begin < one[0] < end])
            begin = end
        rows.part, rows.params = part, facts

    def write(self, printed: list[tuple[int, dict[str, Any]]]) -> None:
        """Facts of a run; without the settings in which its launches differ."""
        if not printed:
            return
        first, settings = printed[0]
        differing: dict[str, int] = {}  # names, each with the first line that says otherwise
        for line, others in printed[1:]:
            for key in settings.keys() & others.keys() - _SIZES:
                if settings[key] != others[key]:
                    differing.setdefault(key, line)
        if names := sorted(differing.keys() - _of_ranks([settings for _, settings in printed], differing)):
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            named = f"{', '.join(names[:_MOST_NAMED])}{more}"
            self.rows.problem(
                min(differing[name] for name in names),
                f"the settings that this file prints differ in {named}: not used",
            )
        settings = {key: value for key, value in settings.items() if key not in differing}
        known = self.rows.facts_of(self.rows.part)
        if (devices := _devices_of(settings)) and known.isdisjoint(("devices", "nodes")):
            self.rows.param("devices", devices, first, origin="inferred")
        settings = {key: value for key, value in settings.items() if key not in _SIZES}
        write_configuration(settings, self.rows, first, known=known)


def _of_ranks(printed: list[dict[str, Any]], differing: Collection[str]) -> set[str]:
    """Settings that tell the ranks of a launch apart, where each printed its own: its device, and what differs with it.

    The ranks show where a setting of devices counts from 0 and each number is printed equally often.
    """
    for name in _DEVICES:
        counts = Counter(integer_valued(settings.get(name)) for settings in printed)
        if name in differing and {*counts} == {*range(len(counts))} and len({*counts.values()}) == 1:
            return {key for key in differing if len({str(settings.get(key)) for settings in printed}) >= len(counts)}
    return set()


def _of_speed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that can change the speed of a training, or are of another model."""
    telling = settings_of_speed() | _BATCHES | _SIZES | {*_DEVICES, *_NODES}
    return {
        key: value for key, value in settings.items() if key.lower() in telling or is_of_a_model(key.lower(), value)
    }


def _only_evaluates(settings: Mapping[str, Any]) -> bool:
    """Whether settings say that nothing is trained with them."""
    named = any(_EVALUATES.match(str(settings.get(key))) for key in ("mode", "phase", "action"))
    return named or any(settings.get(key) is True for key in _FLAGS_OF_EVALUATION)


def _devices_of(settings: Mapping[str, Any]) -> int | None:
    """The devices of a job that states one node; None where they do not follow."""
    nodes = {settings[key] for key in _NODES if key in settings}
    counts = {count for key in _DEVICES if (count := integer_valued(settings.get(key))) and count > 0}
    return counts.pop() if nodes == {1} and len(counts) == 1 else None


def _settings_of(text: str, start: int, depth: int = 0) -> dict[str, Any]:
    """Names and values of a namespace whose bracket opens before `start`; those of nested ones with their names."""
    settings: dict[str, Any] = {}
    for name, value in _pairs(text, start):
        if name in _OF_A_RANK:
            continue
        head = _HEAD.match(value)
        if head and depth < _DEEPEST:
            settings[name] = _settings_of(value, head.end(), depth + 1)
        elif (plain := (_short_value if len(value) <= _SHORT else _value_of)(value)) is not None:
            settings[name] = plain
    return settings


def _pairs(text: str, start: int) -> Iterator[tuple[str, str]]:
    """Each name with the text of its value, up to the closing bracket.  The last value of a line that is cut is left out."""
    while name := _NAME.match(text, start):
        end = _end_of_value(text, name.end())
        if end is None:
            return
        yield name[1], text[name.end() : end].strip()
        if text[end] != ",":
            return
        start = end + 1


def _end_of_value(text: str, start: int) -> int | None:
    """Where the comma or the bracket stands that ends a value; None where the line ends before."""
    place, closing = start, list[str]()
    while (place := _PLAIN.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        mark = text[place]
        if mark in "'\"" and (quoted := _QUOTED.match(text, place)):
            place = quoted.end()
            continue
        if not closing and mark in ",)":
            return place
        if closing and mark == closing[-1]:
            closing.pop()
        elif mark in _CLOSING:
            closing.append(_CLOSING[mark])
        place += 1
    return None


def _value_of(text: str) -> str | int | float | bool | None:
    """A plain value: a word that is quoted, a number, True or False."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, str | int | float) else None


_short_value = functools.lru_cache(maxsize=1 << 12)(_value_of)  # the logs of a folder print the same settings
