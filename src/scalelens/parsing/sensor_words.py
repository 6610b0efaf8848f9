"""What a sensor covers, by the words that name it: `package-0`, `dram`, `CPU Cores`, `total`, `VDD_GPU`."""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.jetson_rails import is_rail, scope_of_rail

# The first that matches counts: the memory of a GPU is a part of it, the cores of a CPU are parts of the CPU.
_SCOPES = tuple(
    (re.compile(rf"(?<![a-z])(?:{words})(?![a-z])"), scope)
    for words, scope in (
        (
            r"wall|outlet|pdu|plug|(?:node|system|server|psu)[ _-]?ac|ac|psu\w*|ps +(?:in|input|power)|chassis",
            "node_ac",
        ),
        (
            r"(?:dc[ _-]?)?(?:node|system|server)(?:[ _-]?dc)?"
            r"(?![ _-]+(?:gpu|cpu|package|pkg|socket|processor|d?ram|memory|mem|cores?|platform)s?(?![a-z]))|dc",
            "node_dc",
        ),
        (r"^(?:host|machine|computer|pc|laptop|notebook|desktop|workstation|battery)(?: discharge)?$", "node_dc"),
        (r"total[ -]+(?:cpu|ia)[ -]*cores?", "cpu_part"),
        (r"total|sum|overall|combined|all", "total"),
        (r"psys|platform", "platform"),
        (r"module", "module"),
        (r"grace", "grace"),
        (r"(?:gpu|card)s?[ _-]*(?:core|memory|mem|hbm|vram|soc|uncore|chip)s?", "gpu_part"),
        (r"mvddq?|pcie?[ _-]*slot|[ #-]*pin[ #-]*", "gpu_part"),
        (r"[ai]gpu|integrated|pp|uncore|cores|(?:cpu|ia)[ _-]*core|^(?:ia|core)[ #-]*$|cpu[ _-]*soc|gt", "cpu_part"),
        (r"(?:cpu[ _-]*)?(?:dram|ram|memory|mem|ddr\d?|dimm)s?", "memory"),
        (r"gcd", "gcd"),
        (r"oam", "oam"),
        (r"ipu", "ipu"),
        (r"gpus?|cuda|nvidia|dgpu", "gpu"),
        (r"cpus?|package|pkg|socket|processor", "cpu"),
    )
)  # fmt: skip

_LONGEST = 300  # characters; names of sensors are shorter
_UNIT_AT_END = re.compile(r"(?<=[a-z]{3})(?=(?:[mku]?[WJ]|[mk]?Wh)\Z)")
_NEW_WORD = re.compile(r"(?<=[a-z0-9]{2})(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])")


def separated(name: str) -> str:
    """The words of a name divided by `_`, also where only capital letters divide them: `TotalEnergyJ`, `PkgWatt`."""
    return _NEW_WORD.sub("_", _UNIT_AT_END.sub("_", name, count=1))


def names_part(text: str) -> bool:
    """Whether what stands after a unit says of what a number is: `_gpu`, `_0`, `(surface)`; not `_mean`."""
    return not text.strip(" _-.0123456789") or text.lstrip("_ ")[:1] in "([" or scope_of_words(text) is not None


def scope_of_words(text: str) -> str | None:
    """The scope that a name says; None where it says none.  Of a long text its beginning counts."""
    text = text[:_LONGEST]
    if is_rail(text):
        return scope_of_rail(text)
    plain = re.sub(r"[_\d]+", " ", text.lower()).strip()
    return next((scope for words, scope in _SCOPES if words.search(plain)), None)
