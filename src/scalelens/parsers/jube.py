"""JUBE's own files of a benchmark: workpackages.xml and analyse.xml.

Tool: JUBE, by itself or as CARAML runs it
Versions: JUBE 2.0 to 2.7
Yields: params, steps, metrics
Source: jube/workpackage.py, etree_repr(); jube/analyser.py; jube/conf.py

A workpackage is a run, and so a part of the file, with those of its parents' parameters that it does not set itself.
One that alone of its step depends on a single other one (CARAML's combine_energy) belongs to the run of that one.
`describes_folder` names the folders of a run, next to the file: what lies in them is of that run.
A parameter's value is its <selection>, else its <value>; scripts (several lines, or more than 200 characters) are left
out, and the environment is not looked at.  Origin `environment`: what the script was given, below what logs say.

Every pattern that is a number is metrics: the pattern itself is the first match, then _first _last _min _max _sum _avg
_cnt and so on; texts are params, as is the job id.  Besides, step times in seconds (step_time, iteration_time,
time_per_iteration, time_per_step, and CARAML's elp_pat) and rates of the whole job in samples per second
(step_throughput, imagespersec, images_per_second, images_per_sec, samples_per_second, samples_per_sec) give a row of
steps with their _avg over _cnt matches, of kind `run_mean`: the first match, with what it compiles, is in it.
tokens_per_second is a metric: of IPUs CARAML means sequences.

Samples:
    <workpackages><workpackage id="0"><step iteration="0" cycle="0">train</step></workpackage></workpackages>
"""

from collections import Counter
from typing import Any
from xml.parsers import expat

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number

VERSION = 2
IN_HEAD = (b"<workpackages", b"<analyse")

_ROOT = re.compile(rb"<(workpackages|analyse)\s*/?>")
_FACTS = {
    "system_name": "system", "systemname": "system", "nodes": "nodes", "total_devices": "devices",
    "gpus_per_node": "devices_per_node", "global_batch_size": "global_batch_size", "micro_batch_size": "micro_batch_size",
    "sequence_length": "seq_length", "seq_length": "seq_length", "tp_size": "tp", "pp_size": "pp", "dp_size": "dp",
    "cp_size": "cp", "model": "model", "tf_model": "model", "dataset": "dataset", "precision": "precision",
    "queue": "partition",
}  # fmt: skip
_TEXTS = ("system", "model", "dataset", "precision", "partition")
_JOB_ID = ("jobid", "job_id", "jobnumber")
_TIMES = ("step_time", "iteration_time", "time_per_iteration", "time_per_step", "elp_pat")
_RATES = (
    "step_throughput", "imagespersec", "images_per_second", "images_per_sec", "samples_per_second", "samples_per_sec",
)  # fmt: skip
_NUMBER = re.compile(r"\d{1,9}")
_LONGEST = 200


class _EntityError(Exception):
    """The file declares entities of its own."""


class _Element:
    """An element of the file, with its line."""

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.text = ""
        self.children: list[_Element] = []

    def all(self, tag: str) -> list["_Element"]:
        return [child for child in self.children if child.tag == tag]

    def text_of(self, tag: str) -> str:
        """Text of the first child of that name."""
        return next((child.text.strip() for child in self.all(tag)), "")


def recognise(head: bytes, name: str) -> bool:
    match = _ROOT.search(head[:1000])
    return bool(match) and b"<" not in re.sub(rb"<[?!][^>]*>", b"", head[: match.start()] if match else b"")


def read(source: Source, rows: Rows) -> None:
    packages: list[tuple[_Element, str]] = []  # the whole ones, each with its step in analyse.xml
    stack: list[_Element] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        stack.append(_Element(tag, attributes, parser.CurrentLineNumber))

    def end(tag: str) -> None:
        element = stack.pop()
        if tag == "workpackage":
            packages.append((element, stack[-1].attributes.get("name", "") if stack else ""))
        elif len(stack) > 1:
            stack[-1].children.append(element)

    def text(characters: str) -> None:
        stack[-1].text += characters

    def entity(*_: object) -> None:
        raise _EntityError  # JUBE writes none, and a few lines of them unpack to gigabytes

    parser.EntityDeclHandler = entity
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    damage: int | None = None
    try:
        for block in source.utf8():
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        damage = error.lineno
    except _EntityError:
        rows.problem(parser.CurrentLineNumber, "the file declares XML entities, as JUBE never does: it is not read on")
    except LookupError:  # the first line names an encoding that does not exist
        damage = 1
    numbered = [(element, step) for element, step in packages if _NUMBER.fullmatch(element.attributes.get("id", ""))]
    for element, _ in packages:
        if not _NUMBER.fullmatch(element.attributes.get("id", "")):
            rows.problem(element.line, "a workpackage without a number")
    if any(element.all("pattern") for element, _ in numbered):
        for number, (element, step) in enumerate(sorted(numbered, key=lambda item: int(item[0].attributes["id"]))):
            if number:
                rows.new_part()
            _analysed(element, step, rows)
    else:
        _parameters({int(element.attributes["id"]): element for element, _ in numbered}, rows)
    if damage:
        rows.problem(damage, "the file is cut, or its XML is damaged: what was read before is kept")


def _parameters(packages: dict[int, _Element], rows: Rows) -> None:
    """A part for each run: a workpackage, and the chain of those that depend on it only."""
    parents = {
        id: [int(text) for text in package.text_of("parents").split(",") if _NUMBER.fullmatch(text.strip())]
        for id, package in packages.items()
    }
    siblings = Counter((parents[id][0], package.text_of("step")) for id, package in packages.items() if parents[id])

    def run_of(id: int, depth: int = 0) -> int:
        above = parents[id]
        alone = len(above) == 1 and above[0] in packages and siblings[above[0], packages[id].text_of("step")] == 1
        return run_of(above[0], depth + 1) if alone and depth < len(packages) else id

    runs: dict[int, list[int]] = {}
    for id in sorted(packages):
        runs.setdefault(run_of(id), []).append(id)
    for position, (root, ids) in enumerate(sorted(runs.items())):
        if position:
            rows.new_part()
        for id in ids:
            rows.param("describes_folder", _folder(id, packages[id].text_of("step")), packages[id].line)
        parameters: dict[str, tuple[str, int]] = {}
        for id in (*ids, *_ancestors(root, parents)):
            for group in packages[id].all("parameterset") if id in packages else ():
                for parameter in group.all("parameter"):
                    value = parameter.text_of("selection") or parameter.text_of("value")
                    parameters.setdefault(parameter.attributes.get("name", ""), (value, parameter.line))
        for name, (value, line) in parameters.items():
            if name and value and len(value) <= _LONGEST and "\n" not in value:
                _fact(name, value, line, rows)
        if "ipus_per_replica" in parameters:
            rows.param("device_unit", "ipu", parameters["ipus_per_replica"][1], origin="inferred")


def _ancestors(id: int, parents: dict[int, list[int]]) -> list[int]:
    """The workpackages that one depends on, the nearest first."""
    above: list[int] = []
    waiting = list(parents.get(id, ()))
    while waiting:
        if (nearest := waiting.pop(0)) not in above:
            above.append(nearest)
            waiting += parents.get(nearest, ())
    return above


def _fact(name: str, value: str, line: int, rows: Rows) -> None:
    key = _FACTS.get(name, f"jube.{name}")
    if key in _TEXTS or _NUMBER.fullmatch(value) or key not in _FACTS.values():
        rows.param(key, value, line, origin="environment")
    else:
        rows.param(f"jube.{name}", value, line, origin="environment")


def _folder(id: int, step: str) -> str:
    """Folder of a workpackage, as JUBE names it."""
    return f"{id:06d}_{step}"


def _analysed(package: _Element, step: str, rows: Rows) -> None:
    """What the patterns found in the files of a workpackage."""
    rows.param("describes_folder", _folder(int(package.attributes["id"]), step), package.line)
    patterns = {pattern.attributes.get("name", ""): pattern for pattern in package.all("pattern")}
    bases = [name for name in patterns if f"{name}_cnt" in patterns] or list(patterns)
    values: dict[str, Any] = {}
    for name, pattern in patterns.items():
        base = next((base for base in bases if name == base or name.startswith(f"{base}_")), name)
        value = number(pattern.text) if pattern.attributes.get("type", "float") in ("int", "float") else None
        if base in _JOB_ID or value is None:
            if name == base and pattern.text.strip():
                key = "job_id" if base in _JOB_ID else f"jube.{name}"
                rows.param(key, pattern.text.strip()[:_LONGEST], pattern.line, origin="environment")
        else:
            rows.metric(pattern.line, None, None, None, name, value)
            values.setdefault(name, value)
    time = next((name for name in _TIMES if f"{name}_avg" in values), None)
    rate = next((name for name in _RATES if f"{name}_avg" in values), None)
    if named := time or rate:
        rows.add(
            "steps", patterns[f"{named}_avg"].line, phase="train", value_kind="run_mean", rate_scope="global",
            step_s=values[f"{time}_avg"] if time else None, samples_per_s=values[f"{rate}_avg"] if rate else None,
            averaged_steps=int(values[f"{named}_cnt"]) if 0 < values.get(f"{named}_cnt", 0) < 1e9 else None,
        )  # fmt: skip
