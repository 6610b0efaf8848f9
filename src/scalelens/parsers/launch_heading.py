"""What a launch script or a training script prints of its devices and batches before the training.

Tool: shell scripts around torchrun and accelerate, and scripts that print their own settings
Versions: any
Yields: params
Source: echo lines of job scripts, print lines of rank 0

Such headings are typed by hand, so that what they say counts only where it fits together: the world size must be the
nodes times the devices of a node, and the effective batch a multiple of the batch of a device times the devices.  What
does not fit, and what a file says twice with different numbers, is not used, and a problem says so.  A world size alone
is not used: some scripts count nodes in it.  Where another format reads other numbers in the same file, those stay.

A heading belongs to the training that follows; a file without one, or with several runs, gives nothing.

Samples:
    Nodes      : 2
    GPUs/Node  : 2
    World Size : 4
    [INFO] Nodes: 2 | GPUs/node: 2 | World size: 4
    [INFO] Batch per GPU: 128 | Effective batch: 512
    Number of GPUs per node: 8
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Nodes", "nodes", "GPUs/", "GPUs per", "World", "Batch per", "Effective batch")
SETTINGS_ALONE = True  # a text of which no other format takes a line is asked about as if these were not there

_TAG = re.compile(r"\s*(?:\[(?:INFO|info|Info)\]\s*)?")
_FIELD = re.compile(r"([A-Za-z][A-Za-z /]{2,24}?)\s*:\s*(\d{1,7})\s*\Z")
_NAMES = {
    "nodes": "nodes", "num nodes": "nodes", "number of nodes": "nodes", "gpus/node": "devices_per_node",
    "gpus per node": "devices_per_node", "number of gpus per node": "devices_per_node", "world size": "world_size",
    "batch per gpu": "micro_batch_size", "batch size per gpu": "micro_batch_size",
    "effective batch": "global_batch_size", "effective batch size": "global_batch_size",
}  # fmt: skip
_SAID = {"nodes": "nodes", "devices_per_node": "devices of a node", "world_size": "world size",
         "micro_batch_size": "batch of a device", "global_batch_size": "effective batch"}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.said: dict[str, tuple[int, int]] = {}  # fact: value and line
        self.differing: dict[str, int] = {}  # facts with several values, each with the line of the second

    def take(self, line: Line) -> bool:
        fields = [_FIELD.match(part.strip()) for part in line.text[_TAG.match(line.text).end() :].split("|")]  # type: ignore[union-attr]
        names = [_NAMES.get(" ".join(field[1].lower().split())) if field else None for field in fields]
        if not all(names):
            return False
        for name, field in zip(names, fields, strict=True):
            value = int(field[2])  # type: ignore[index]
            known, _ = self.said.setdefault(str(name), (value, line.number))
            if known != value:
                self.differing.setdefault(str(name), line.number)
        return True

    def conclude(self) -> None:
        if not self.said or self.rows.part or min(line for _, line in self.said.values()) > self.rows.last_step_line:
            return
        for name, line in self.differing.items():
            self.rows.problem(line, f"the {_SAID[name]} is printed with different numbers: not used")
        said = {name: value for name, (value, _) in self.said.items() if value and name not in self.differing}
        devices = self._devices(said)
        self._batches(said, devices or self.rows.params.get("devices"))

    def _devices(self, said: dict[str, int]) -> int | None:
        """The devices that nodes and devices of a node give; the world size must be the same where it is printed."""
        if not {"nodes", "devices_per_node"} <= said.keys():
            return None
        product = said["nodes"] * said["devices_per_node"]
        if said.get("world_size", product) != product:
            self._does_not_fit("world_size", f"{said['nodes']} nodes of {said['devices_per_node']} devices")
            return None
        if self._is_known_otherwise({"nodes": said["nodes"], "devices": product}):
            return None
        for name in ("nodes", "devices_per_node"):
            self._param(name, said[name])
        self._param("devices", product, origin="log" if "world_size" in said else "inferred")
        return product

    def _batches(self, said: dict[str, int], devices: int | str | None) -> None:
        """The batches, where that of all devices is a multiple of that of one times the devices."""
        if not {"micro_batch_size", "global_batch_size"} <= said.keys() or not isinstance(devices, int):
            return
        if said["global_batch_size"] % (said["micro_batch_size"] * devices):
            self._does_not_fit("global_batch_size", f"{said['micro_batch_size']} on each of {devices} devices")
            return
        if self._is_known_otherwise({name: said[name] for name in ("micro_batch_size", "global_batch_size")}):
            return
        for name in ("micro_batch_size", "global_batch_size"):
            self._param(name, said[name])

    def _is_known_otherwise(self, facts: dict[str, int]) -> bool:
        return any(self.rows.params.get(name, value) != value for name, value in facts.items())

    def _param(self, name: str, value: int, origin: str = "log") -> None:
        if name not in self.rows.params:
            line = self.said.get(name) or self.said.get("world_size") or self.said["nodes"]
            self.rows.param(name, value, line[1], origin=origin)

    def _does_not_fit(self, name: str, what: str) -> None:
        value, line = self.said[name]
        self.rows.problem(line, f"the {_SAID[name]} of {value} does not fit {what}: not used")
