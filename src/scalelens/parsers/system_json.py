"""MLPerf's description of a system, systems/<system>.json.

Tool: MLPerf Training and MLPerf HPC submissions
Versions: v0.7 to v6
Yields: params
Source: mlcommons/policies submission_rules.adoc, "system description"; written by hand by each submitter

Numbers are text.  A file is often copied from another size and not mended.  So what it states has the origin
`environment`: what the log of a run states wins over it, and arithmetic never does.  The name of the file is kept as a
second value of `system`, origin `path`, so that both are rows of contradictions().  Counts in the name of a system are
left out, as they are in logs: `4xBOX4x8H100` is BOX4.
A system without accelerators trains on its host processors: they are its devices then, with the unit `cpu`.

Samples:
    {
      "accelerator_model_name": "NVIDIA A100-SXM4-40GB",
      "accelerators_per_node": "4",
      "host_processors_per_node": "2",
      "number_of_nodes": "16",
      "system_name": "booster_gpu_n64"
    }
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.mlperf import platform_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 3
IN_HEAD = (b'"number_of_nodes"',)

_FACTS = {"system_name": "system", "number_of_nodes": "nodes", "framework": "framework_release"}
_ACCELERATORS = {"accelerators_per_node": "devices_per_node", "accelerator_model_name": "device_model"}
_PROCESSORS = {"host_processors_per_node": "devices_per_node", "host_processor_model_name": "device_model"}
_KEYS = (b'"number_of_nodes"', b'"accelerators_per_node"', b'"host_processors_per_node"')
_COUNT = re.compile(r"\d{1,7}")
_LIMIT = 1 << 20
_SUFFIX = re.compile(r"(?:\.json)?(?:\.(?:gz|zst|xz|bz2))?\Z")


def recognise(head: bytes, name: str) -> bool:
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        and all(key in head for key in _KEYS)
        and b":::" not in head
    )


def read(source: Source, rows: Rows) -> None:
    text = source.text()
    rows.param("system", _SUFFIX.sub("", source.name.rpartition("/")[2], count=1), origin="path")
    try:
        facts = json.loads(text[:_LIMIT])
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the description is cut, or its JSON is damaged")
        return
    where = {key: number for number, key in reversed(_keys(text))}
    nodes, accelerators, processors = (
        _count(facts.get(name)) for name in ("number_of_nodes", "accelerators_per_node", "host_processors_per_node")
    )
    fact_of = {**_FACTS, **(_PROCESSORS if accelerators == 0 else _ACCELERATORS)}
    for name, value in {**facts, **_stack(facts.get("other_software_stack"))}.items():
        if value not in ("", "N/A", None) and isinstance(value, str | int | float):
            fact = fact_of.get(name, name if name.startswith("software.") else f"machine.{name}")
            if fact == "system" and (platform := platform_of(str(value))):
                value = platform.machine
            rows.param(fact, value, where.get(name.removeprefix("software.")), origin="environment")
    if accelerators == 0:
        rows.param("device_unit", "cpu", where.get("accelerators_per_node"), origin="environment")
    if nodes and (per_node := accelerators if accelerators != 0 else processors):
        rows.param("devices", nodes * per_node, where.get("number_of_nodes"), origin="environment")


def _count(value: Any) -> int | None:
    """A number that is written as text; None where it is left out or is not a number."""
    return int(value) if _COUNT.fullmatch(str(value)) else None


def _stack(software: Any) -> dict[str, Any]:
    """Versions of software: an object, or a list of objects."""
    parts = software if isinstance(software, list) else [software]
    return {f"software.{name}": value for part in parts if isinstance(part, dict) for name, value in part.items()}


def _keys(text: bytes) -> list[tuple[int, str]]:
    """Line and name of each key."""
    lines = enumerate(text[:_LIMIT].split(b"\n"), 1)
    return [(k, key.decode("utf-8", "replace")) for k, line in lines for key in re.findall(rb'"([^"\\]*)"\s*:', line)]
