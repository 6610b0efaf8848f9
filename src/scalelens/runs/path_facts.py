"""Facts about a run in the names of its files and folders: `hpg.dgxb200x8.n2`, `V100-LOG`, `tp4_pp2`, `static1050`.

The name nearest to the file takes precedence over the names above it, and a log over all names.  A name with two values
(`a100_vs_v100`) gives none, and neither do the names above it.  A count that contradicts the number of devices in a log
is ignored: `n1024` may count devices.  So is the `n12` of `runA_n12`, which may count anything: it is a number of nodes
if it is the whole name of a folder, or if the log or a name counts devices.
"""

import functools
import re

from scalelens import catalog

# Names of devices: the text before an `x4` may also be the model number of a machine (XE8545x4).
_DEVICE = r"(?:gb[23]00|[ab]h?[1-3]0?00|b200|b300|a100|h100|h200|gh200|v100|mi\d{3}[axh]?|pvc|ipu)"
_IN_A_NAME = "n"  # a number of nodes, if something else counts the devices
_NAME_PATTERNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"(?<![a-z0-9])n(\d{1,5})c(\d{1,3})(?![a-z0-9])"), ("nodes", "devices_per_node")),
    (re.compile(r"(?<![a-z0-9.])(\d{1,4})n(\d{1,2})g(?![a-z0-9])"), ("nodes", "devices_per_node")),
    (re.compile(r"(?<![a-z0-9])(?<!gpu_)(?<!gpus_)n?nodes[-_=]?(\d{1,5})(?![a-z0-9])"), ("nodes",)),
    (re.compile(r"(?<![a-z0-9])nhosts?[-_=]?(\d{1,5})(?![a-z0-9])"), ("nodes",)),
    (re.compile(r"\An(\d{1,5})\Z"), ("nodes",)),
    (re.compile(r"(?<![a-z0-9])(?<!gpu_)(?<!gpus_)n(\d{1,5})(?![a-z0-9])"), (_IN_A_NAME,)),
    (re.compile(r"(?<![a-z0-9.])(\d{1,5})[-_]?nodes?(?![a-z0-9])"), ("nodes",)),
    (re.compile(rf"{_DEVICE}x(\d{{1,2}})(?![a-z0-9])"), ("devices_per_node",)),
    (re.compile(r"(?<![a-z])(?:gpus?|devices)[-_]?per[-_]?node[-_=]?(\d{1,2})(?![a-z0-9])"), ("devices_per_node",)),
    (re.compile(r"(?<![a-z0-9])n?gpus?[x_=-]?n?(\d{1,5})(?![a-z0-9])"), ("devices",)),
    (re.compile(r"(?<![a-z0-9.])(\d{1,5})[-_]?gpus?(?![a-z0-9]|[-_]?per)"), ("devices",)),
)
# How names of devices in the catalog begin: V100, MI250X, RTX 4090, Gaudi 2.  `max_1550` is more likely a maximum.
_FAMILY = re.compile(r"\b(?!Max\b)([A-Za-z]{1,5}) ?(\d{1,4}[A-Z]?)\b")
_FORM = r"(?:[-_ ]?(?:sxm\d?|pcie|nvl|oam|gcd|\d{2,3}gb))*"
_MORE_LIKELY_ELSE = ("b200", "t4", "h20", "a40")  # by itself: a batch size, a fourth try, twenty hours
_SPLIT = re.compile(r"(?<![a-z0-9])(?:(?:tp|pp|dp)[-_=]?\d{1,4}[-_]?)+(?![a-z0-9])")
_SPLIT_PART = re.compile(r"(tp|pp|dp)[-_=]?(\d+)")
_LARGEST_PP = 64  # llama.cpp's pp512 is a prompt of 512 tokens
_SEQUENCE = re.compile(r"(?<![a-z0-9])seq(?:([-_]?len(?:gth)?)[-_=]?|[-_=]?)([1-9]\d{1,6})(?![a-z0-9])")
_CLOCK = re.compile(
    r"(?<![a-z0-9])((?:(?:gpu|sm|core|freq|clk|clock|static)[-_=]?)*)([1-9]\d{2,3})[-_]?(mhz)?(?![a-z0-9])"
)
_NAMED_CLOCK = re.compile(r"(?:static|freq|(?:clk|clock)[-_=]?)\Z")
# After these words, a number is the clock of something else, or says how often something happens.
_OF_ANOTHER = re.compile(r"(?:cpu|mem|memory|hbm|dram|uncore|log|print|save|eval|val|test|ckpt|checkpoint)[^a-z]*\Z")
_CLOCKS_MHZ = range(100, 4001)
_YEARS = range(2010, 2041)
_PRECISION = re.compile(
    r"(?<![a-z0-9])(?:(no|non|without|not)[-_]?)?(fp32|bf16|fp16|amp|fp8|tf32|(?:nv|mx)?fp4)(?![a-z0-9])"
)
_SWITCHED_OFF = re.compile(r"[-_=]?(?:off|false|no|disabled|0)(?![a-z0-9])")


def facts_of(path: str, root: str, devices: str | None = None) -> dict[str, str]:
    """Facts in the names of a path, from the name of the ingested folder on; `devices` is what a log states."""
    above = root.rstrip("/").rpartition("/")[0]
    names = path.removeprefix(above).lower().strip("/").split("/")
    facts: dict[str, str] = {}
    for name in reversed(names):
        for pattern, keys in _NAME_PATTERNS:
            if (match := pattern.search(name)) and all(map(int, match.groups())):  # gpu0 and n0 are not counts
                for key, value in zip(keys, match.groups(), strict=True):
                    facts.setdefault(key, str(int(value)))
    in_a_name = facts.pop(_IN_A_NAME, None)
    if in_a_name and (devices or {"devices", "devices_per_node"} & facts.keys()):
        facts.setdefault("nodes", in_a_name)
    if devices and devices.isdecimal():
        facts = _without_contradictions(facts, int(devices), spelled=any("node" in name for name in names))
    if "devices" not in facts and {"nodes", "devices_per_node"} <= facts.keys():
        facts["devices"] = str(int(facts["nodes"]) * int(facts["devices_per_node"]))
    settings: dict[str, set[str]] = {}
    for name in reversed(names):
        settings = {**_settings_in(name), **settings}
    return facts | {key: value for key, values in settings.items() if len(values) == 1 for value in values if value}


def _without_contradictions(facts: dict[str, str], devices: int, spelled: bool) -> dict[str, str]:
    """The facts without counts that a job on so many devices cannot have.

    `n4` of a job on 4 devices may count nodes or devices; if a name contains `node`, each node has one device.
    """
    nodes, on_each = (int(facts.get(key, 0)) for key in ("nodes", "devices_per_node"))
    wrong = {"devices_per_node"} if on_each > devices else set()
    if nodes > 1 and (devices % nodes or (nodes == devices and not spelled and on_each != 1)):
        wrong.add("nodes")
    if nodes and on_each and nodes * on_each != devices:
        wrong |= {"nodes", "devices_per_node"}
    return {key: value for key, value in facts.items() if key not in wrong}


def _settings_in(name: str) -> dict[str, set[str]]:
    """Settings in a lower-case name, each with all values that the name has for it."""
    settings = {
        "device_model": _devices_in(name),
        "precision": _precisions_in(name),
        "seq_length": _lengths_in(name),
        "device_clock_mhz": _clocks_in(name),
    }
    for split in _SPLIT.finditer(name):
        for key, size in _SPLIT_PART.findall(split[0]):
            if int(size) and (key != "pp" or int(size) <= _LARGEST_PP):
                settings.setdefault(key, set()).add(str(int(size)))
    return {key: values for key, values in settings.items() if values}


def _devices_in(name: str) -> set[str]:
    """Models of devices, written so that the catalog's patterns match: `V100`, `A100-SXM4-80GB`, `RTX 4090`."""
    devices = set()
    for match in _device_pattern().finditer(name):
        maker, family, form, count = match.groups()
        if family not in _MORE_LIKELY_ELSE or maker or form or count:
            model = _families()[re.sub(r"[-_ ]", "", family)]
            devices.add("-".join([model, *re.findall(r"[a-z]+\d?|\d+gb", form)]).upper())
    return devices


@functools.cache
def _families() -> dict[str, str]:
    """Families of the devices in the catalog: `rtx4090` is RTX 4090."""
    matches = (_FAMILY.search(row["device"]) for row in catalog.rows("devices_catalog"))
    return {(match[1] + match[2]).lower(): match[0] for match in matches if match}


@functools.cache
def _device_pattern() -> re.Pattern[str]:
    """A device of the catalog by its family: not within another word, but after `dgx`, `8x` and `XE8545x4`."""
    names = (name.lower().replace(" ", "[-_ ]?") for name in _families().values())
    longest_first = "|".join(sorted(names, key=lambda name: (-len(name), name)))
    return re.compile(
        r"(?:(?<![a-z0-9])(?:(dgx|hgx|nvidia|amd)[-_ ]?|\d{1,4}x?)?|(?<=x\d))"
        rf"({longest_first})({_FORM})(x\d{{1,2}})?(?![a-z0-9])"
    )


def _precisions_in(name: str) -> set[str]:
    """Number formats; an empty text if one is switched off.  `amp` with the format that it uses is that format."""
    precisions = {
        "" if match[1] or _SWITCHED_OFF.match(name, match.end()) else match[2] for match in _PRECISION.finditer(name)
    }
    return precisions - {"amp"} if len(precisions & {"fp16", "bf16"}) == 1 and len(precisions) == 2 else precisions


def _lengths_in(name: str) -> set[str]:
    """Sequence lengths.  Without `len`, a number that is not a multiple of 64 may be a number of sequences."""
    return {length for named, length in _SEQUENCE.findall(name) if named or int(length) % 64 == 0}


def _clocks_in(name: str) -> set[str]:
    """Clocks that devices are locked to.  Without `mhz`, a number may be a year, a loss scale or a number of steps."""
    clocks = set()
    for match in _CLOCK.finditer(name):
        words, clock = match[1], int(match[2])
        by_name = _NAMED_CLOCK.search(words) and not (clock in _YEARS or clock & (clock - 1) == 0 or clock % 500 == 0)
        if clock in _CLOCKS_MHZ and (match[3] or by_name) and not _OF_ANOTHER.search(name[: match.start()]):
            clocks.add(match[2])
    return clocks
