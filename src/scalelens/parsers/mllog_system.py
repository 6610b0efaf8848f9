"""The machine and the job, as NVIDIA's MLPerf launcher prints them: `:::SYSJSON` and `:::DLPAL`.

Tool: NVIDIA's MLPerf launch scripts (run_with_docker.sh, run.sub)
Versions: MLPerf Training v1.0 to v6
Yields: params, jobs
Source: mlperf_common: scripts/mlperf-sysjson.sh; `:::DLPAL image job nodes node-list job-name config`, echoed by run.sub

`bash -x` prints the command before its output: only a line that begins with the tag counts.
A config ends in nodes, devices per node and batch per device: `BOX7_002x08x032`.  What is named UNKNOWN is left out.
The description is written by hand, often once for all sizes (`"number_of_nodes":"1"` in a job of four nodes): after a job
with another number of nodes it is `machine.number_of_nodes`, and not the run's.

Samples:
    :::SYSJSON {"system_name":"BOX7","number_of_nodes":"2","accelerators_per_node":"8","accelerator_model_name":"NVIDIA B200"}
    :::DLPAL registry/ssd:1 4711 2 n[8-9] 'train' BOX7_002x08x032
"""

import json
import shlex
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (":::SYSJSON ", ":::DLPAL ")

_FACTS = {
    "system_name": "system", "number_of_nodes": "nodes", "accelerators_per_node": "devices_per_node",
    "accelerator_model_name": "device_model", "framework": "framework_release",
}  # fmt: skip
_COUNT = re.compile(r"\d{1,7}")
_CONFIG = re.compile(r".*_(\d{1,6})x(\d{1,6})x\d+")
_decode = json.JSONDecoder().raw_decode
_LONGEST = 50_000  # characters of the launcher's line


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.jobs: set[tuple[int, str]] = set()
        self.nodes: dict[int, int] = {}  # of the job, by part

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if text.startswith(ANCHORS[0]):
            try:
                self.machine(_decode(text, len(ANCHORS[0]))[0], line.number)
            except (ValueError, AttributeError, RecursionError):
                self.rows.problem(
                    line.number, "the description of the system is cut, or its JSON is damaged", line.text
                )
            return True
        if text.startswith(ANCHORS[1]):
            self.job(text.removeprefix(ANCHORS[1]), line)
            return True
        return False

    def machine(self, facts: dict[str, Any], number: int) -> None:
        software = facts.get("other_software_stack")
        named = {f"software.{name}": value for name, value in (software if isinstance(software, dict) else {}).items()}
        nodes, per_node = (str(facts.get(name, "")) for name in ("number_of_nodes", "accelerators_per_node"))
        of_job = self.nodes.get(self.rows.part)
        is_of_other_size = of_job is not None and bool(_COUNT.fullmatch(nodes)) and int(nodes) != of_job
        known = {**_FACTS, "number_of_nodes": "machine.number_of_nodes"} if is_of_other_size else _FACTS
        for name, value in {**facts, **named}.items():
            if value and isinstance(value, str | int) and "UNKNOWN" not in str(value):
                self.rows.param(known.get(name, name if name in named else f"machine.{name}"), value, number)
        if _COUNT.fullmatch(nodes) and _COUNT.fullmatch(per_node):
            self.rows.param("devices", (of_job or int(nodes)) * int(per_node), number, origin="inferred")

    def job(self, text: str, line: Line) -> None:
        if len(text) > _LONGEST:
            self.rows.problem(line.number, f"the launcher's line has more than {_LONGEST:,} characters", line.text)
            return
        try:
            words = shlex.split(text)  # which takes the square of a long word
        except ValueError:
            words = text.split()
        if len(words) < 4 or not words[1].isdecimal() or not _COUNT.fullmatch(words[2]):
            self.rows.problem(line.number, "the launcher's line is cut before its node list", line.text)
            return
        image, job, nodes, node_list = words[:4]
        self.nodes[self.rows.part] = int(nodes)
        if (self.rows.part, job) not in self.jobs:
            self.jobs.add((self.rows.part, job))
            hosts = ",".join(expand(node_list)) or node_list
            self.rows.add("jobs", line.number, job_id=job, nodes=int(nodes), node_list=hosts)
        for fact, value in (("job_id", job), ("nodes", int(nodes))):
            self.rows.param(fact, value, line.number, origin="scheduler")
        self.rows.param("container_image", image, line.number)
        if len(words) > 5 and (config := _CONFIG.fullmatch(words[5])):
            self.rows.param("config", words[5], line.number)
            self.rows.param("devices_per_node", int(config[2]), line.number, origin="inferred")
            self.rows.param("devices", int(config[1]) * int(config[2]), line.number, origin="inferred")
