"""JSON lists with a value or an object for each epoch or step, as scripts dump what they appended while they trained.

Tool: any script that ends with json.dump({"epoch_times": epoch_times}); Keras' history.history among them
Versions: an object of lists, or of one list of objects that count epochs or steps; a few such objects are a run each
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Lists are columns, and their names may be plurals: `epoch_times` is `epoch_time`.  A list of epochs or steps counts the
values.  Without one they are counted from 1, as epochs where a list holds times of epochs, or where Keras' `val_loss` is
next to its `loss`; the times of steps need no count.  Lists of another length are not read, and a problem names them.
Where each epoch or step is an object, the keys of the objects are the columns; the count grows from one to the next, and
a loss, an accuracy, a time or a rate is next to it.
What stands next to the lists is a fact about the run, and so are an object of settings next to them (`config`, `args`) and
what stands around several runs; the name of a run's object is the run's.  The rest is as in generic_csv: a time without
a unit is read only where its digits are Python's.
A row's line is that of its value in the list that counts, or of the value of the time; else that in which its object begins.

Samples:
    {"world_size": 4, "epoch_times_s": [35.25, 31.5, 31.75], "train_losses": [2.25, 1.75, 1.5]}
    {"1gpu": {"gpus": 1, "epoch_times_s": [60.5, 58.25]}, "2gpu": {"gpus": 2, "epoch_times_s": [31.5, 30.25]}}
    {"world_size": 4, "history": [{"epoch": 1, "train_loss": 2.25, "epoch_time_s": 35.25}, {"epoch": 2, "train_loss": 1.75, "epoch_time_s": 31.5}]}
"""

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from scalelens import tabular
from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count
from scalelens.tabular import json_objects
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import read_name
from scalelens.tabular.role_table import ROLE
from scalelens.tabular.runs import RUN_SETTINGS

VERSION = 1
LAST = True  # any other format comes first

_LIMIT = 32 << 20
_MOST_RUNS = 200
_LONGEST = 200  # characters of a fact
_LIST = re.compile(rb'"([\w ()/%.-]{1,80})"\s*:\s*\[\s*(?:[-+.\d]|null|NaN)')
_PLURALS = (
    ("accuracies", "accuracy"), ("latencies", "latency"), ("losses", "loss"), ("times", "time"), ("epochs", "epoch"),
    ("steps", "step"), ("iterations", "iteration"), ("iters", "iter"), ("durations", "duration"), ("lrs", "lr"),
    ("learning_rates", "learning_rate"), ("accs", "acc"), ("grad_norms", "grad_norm"), ("throughputs", "throughput"),
)  # fmt: skip
_PLURAL = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(plural for plural, _ in _PLURALS)})(?![A-Za-z])")
_VALUE = re.compile(r"[^\s,\[\]]+")
_SETTINGS = re.compile(
    r"(?:\w+_)?(?:args|arguments|config|configuration|hparams|hyperparameters|parameters|params|settings)\Z",
    re.IGNORECASE,
)
_Lists = dict[str, list[Any]]


def recognise(head: bytes, name: str) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith((b"{", b"[")):
        return False
    return _counted_by({_singular(key.decode()) for key in _LIST.findall(text)}) is not None or json_objects.begins_in(
        text
    )


def read(source: Source, rows: Rows) -> str | None:
    text = source.text() if source.size_bytes <= _LIMIT else b""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the lists are cut, or their JSON is damaged")
        return None
    runs = [*_runs_in(document, {}, None)]
    if not 0 < len(runs) <= _MOST_RUNS:
        return "JSON without a few lists that have a value for each epoch or step"
    lines, lacking, read_any = _Lines(text.decode("utf-8", "replace")), None, False
    for run_name, facts, lists, history in runs:
        if read_any:
            rows.new_part()
        table, key, others = _table_of(lists)
        of_values = lines.of_objects(*history) if history else lines.of_values(key, len(lists[key]))
        lacks = tabular.read(source, rows, functools.partial(_records_of, table, of_values))
        lacking, read_any = lacking or lacks, read_any or lacks is None
        if lacks is None:
            _write_facts(rows, facts, run_name if len(runs) > 1 else None, lines)
            if others:
                rows.problem(of_values[0], f"lists of another length are not read: {', '.join(others)}")
        lines.next_run()
    return None if read_any else lacking


def _singular(name: str) -> str:
    """A name of a list as that of one of its values."""
    return _PLURAL.sub(lambda match: dict(_PLURALS)[match[0]], name)


def _counted_by(names: set[str]) -> str | None:
    """The list that the others go with: it counts, or times; else Keras' own. None where nothing says what is counted."""
    by_role = {read_name(name).role: name for name in sorted(names, reverse=True)}
    for role in ("batch_time", "epoch_time"):
        if role in by_role:
            return by_role[role]
    measured = {"loss", "accuracy", "samples_per_s", "tokens_per_s", "time"} & by_role.keys()
    counted = by_role.get("step") or by_role.get("epoch")
    return counted if counted and measured else "loss" if {"loss", "val_loss"} <= names else None


def _runs_in(value: Any, around: Mapping[str, Any], name: str | None, depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Each object that has lists with a value for each epoch or step: its name, facts and lists.

    Where these come from one list of objects, its name and the objects follow, else None.
    """
    if depth > 3 or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        for each in value if all(isinstance(each, dict) for each in value) else ():
            yield from _runs_in(each, around, name, depth + 1)
        return
    lists = {key: each for key, each in value.items() if isinstance(each, list) and each and _is_numbers(each)}
    of_settings = [each for key, each in value.items() if isinstance(each, dict) and _SETTINGS.match(key)]
    stated = {key: each for group in (*of_settings, value) for key, each in group.items()}
    facts = {**around, **{key: each for key, each in stated.items() if not isinstance(each, list | dict)}}
    if _counted_by({*map(_singular, lists)}) is not None:
        yield name, facts, lists, None
        return
    if history := json_objects.history_of(value):
        beside = {key: each for key, each in lists.items() if len(each) != len(history[1])}
        yield name, facts, beside | json_objects.as_lists(history[1]), history
        return
    for key, each in value.items():
        yield from _runs_in(each, facts, key, depth + 1)


def _is_numbers(values: list[Any]) -> bool:
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


def _table_of(lists: _Lists) -> tuple[_Lists, str, list[str]]:
    """The lists that go together, by the names of one value; the name of the first; those of another length."""
    singular = {key: _singular(key) for key in lists}
    counted = _counted_by({*singular.values()})
    first = next(key for key in lists if singular[key] == counted)
    many = len(lists[first])
    table = {singular[key]: each for key, each in lists.items() if len(each) == many}
    roles = {read_name(name).role for name in table}
    if not roles & {"epoch", "step", "batch_time"}:
        table = {"epoch": [*range(1, many + 1)], **table}
    return table, first, [key for key, each in lists.items() if len(each) != many]


def _records_of(table: _Lists, lines: list[int], _: Source) -> Iterator[TableRecord]:
    for line, values in zip(lines, zip(*table.values(), strict=True), strict=True):
        cells = {name: value for name, value in zip(table, values, strict=True) if value is not None}
        yield TableRecord(line, cells, None, "")


def _write_facts(rows: Rows, facts: Mapping[str, Any], run_name: str | None, lines: "_Lines") -> None:
    """What is said of a run: settings by their roles, everything else by its name."""
    if run_name:
        rows.param("run", run_name, lines.of_key(run_name))
    for name, value in facts.items():
        if value is None or (isinstance(value, str) and not 0 < len(value) <= _LONGEST):
            continue
        role = read_name(name).role
        is_setting = role in RUN_SETTINGS and (ROLE[role].kind == "text" or json_count(value, 32) is not None)
        rows.param(role if role and is_setting else name, value, lines.of_key(name))


class _Lines:
    """In which lines of a document the keys and values of one run after another stand."""

    def __init__(self, text: str) -> None:
        self.text, self.begin, self.end = text, 0, 0  # from where to where the run is looked for
        self._counted = (0, 1)

    def next_run(self) -> None:
        self.begin = self.end

    def of_key(self, key: str) -> int:
        """The line of a key of this run, or of what stands around it."""
        pattern = re.compile(rf"{re.escape(json.dumps(key))}\s*:")
        found = pattern.search(self.text, self.begin) or pattern.search(self.text)
        return self._line(found.start() if found else self.begin)

    def of_values(self, key: str, many: int) -> list[int]:
        """The lines of the values of a list."""
        opening = re.compile(rf"{re.escape(json.dumps(key))}\s*:\s*\[").search(self.text, self.begin)
        values = _VALUE.finditer(self.text, opening.end() if opening else len(self.text))
        places = [value.start() for value in itertools.islice(values, many)]
        self.end = max(self.end, *places, 0) if places else self.end
        return [self._line(place) for place in places] + [self._line(self.end)] * (many - len(places))

    def of_objects(self, name: str, objects: json_objects.Objects) -> list[int]:
        """The lines in which the objects of a list begin."""
        places = json_objects.places_of(self.text, self.begin, name, objects)
        self.end = max(self.end, *places, 0) if places else self.end
        return [self._line(place) for place in places] + [self._line(self.end)] * (len(objects) - len(places))

    def _line(self, place: int) -> int:
        before, line = self._counted if self._counted[0] <= place else (0, 1)
        self._counted = place, line + self.text.count("\n", before, place)
        return self._counted[1]
