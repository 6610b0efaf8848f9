"""Facts about a run in the names of its files and folders: `hpg.dgxb200x8.n2`, `n8c4`, `gpux64`, `8gpu_weak`.

The name nearest to the file wins over the names above it.  Whatever a log says wins over all names.
"""

import re

# Names of devices: what stands before an `x4` may also be the model number of a machine (XE8545x4).
DEVICE = r"(?:gb[23]00|[ab]h?[1-3]0?00|b200|b300|a100|h100|h200|gh200|v100|mi\d{3}[axh]?|pvc|ipu)"
NAME_PATTERNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"(?<![a-z0-9])n(\d{1,5})c(\d{1,3})(?![a-z0-9])"), ("nodes", "devices_per_node")),
    (re.compile(r"(?<![a-z0-9])(?<!gpu_)(?<!gpus_)(?:nodes[-_]?|n)(\d{1,5})(?![a-z0-9])"), ("nodes",)),
    (re.compile(r"(?<![a-z0-9.])(\d{1,5})[-_]?nodes?(?![a-z0-9])"), ("nodes",)),
    (re.compile(rf"{DEVICE}x(\d{{1,2}})(?![a-z0-9])"), ("devices_per_node",)),
    (re.compile(r"(?<![a-z0-9])gpus?[x_-]?n?(\d{1,5})(?![a-z0-9])"), ("devices",)),
    (re.compile(r"(?<![a-z0-9.])(\d{1,5})[-_]?gpus?(?![a-z0-9])"), ("devices",)),
)


def facts_of(path: str, root: str) -> dict[str, str]:
    """Facts in the names of a path, from the ingested folder's own name downwards."""
    above = root.rstrip("/").rpartition("/")[0]
    names = path.removeprefix(above).lower().strip("/").split("/")
    facts: dict[str, str] = {}
    for name in reversed(names):
        for pattern, keys in NAME_PATTERNS:
            if (match := pattern.search(name)) and all(map(int, match.groups())):  # gpu0 and n0 are numbers, not counts
                for key, value in zip(keys, match.groups(), strict=True):
                    facts.setdefault(key, str(int(value)))
    if "devices" not in facts and {"nodes", "devices_per_node"} <= facts.keys():
        facts["devices"] = str(int(facts["nodes"]) * int(facts["devices_per_node"]))
    return facts
