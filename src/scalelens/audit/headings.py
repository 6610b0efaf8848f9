"""What a column measures, read from its heading: `Throughput (images/sec)`, `Energy/Epoch/IPU Wh`, `step_time_ms`."""

import re
from dataclasses import dataclass

from scalelens.audit.units import DEVICES, ITEMS, PER, canonical
from scalelens.units import UNITS, base

_BRACKETS = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]")
_LAST_WORD = re.compile(r"(?:\s|_|\bin\s)([^\s_]+)$")
_TOKENS_PER_SECOND = re.compile(r"\bTPS\b")
_QUANTITIES = ("time", "power", "energy", "bytes")  # those that one unit without a slash measures
_ONE_DEVICE = "(?:gpu|gcd|ipu|hpu|device|accelerator)"
_RATE_OF_SUFFIX = re.compile(rf"^(\w+?)_per_(s|sec|second|step)(?:_per_({_ONE_DEVICE}))?$", re.IGNORECASE)
_COUNTED = r"^(?:total|num(?:ber)?|no\.?|#|n)?[\s_-]*(?:of\s)?(?:the\s|total\s|trained\s|training\s)?"
_COUNTS = {
    "micro_batch": rf"(?:micro|mini|local).?batch|\bmbs\b|batch.*(?:per|/)\s?{_ONE_DEVICE}",
    "batch": r"batch.?size|\bbatch\b|\bgbs\b",
    "devices": rf"{_COUNTED}{_ONE_DEVICE}s?(?:\scounts?)?$|\({_ONE_DEVICE}s\)",
    "nodes": rf"{_COUNTED}nodes?(?:\scounts?)?$",
    "length": r"(?:seq(?:uence)?|context)[\s_-]*len(?:gth)?",
    "work": rf"{_COUNTED}(?:images|samples|tokens|sequences)(?:\strained)?$",
    "steps": rf"{_COUNTED}(?:steps|iterations|iters|epochs)$",
}


@dataclass(frozen=True)
class ColumnMeaning:
    """What the numbers of a column are.

    kind  time, rate, power, energy, work_per_energy, energy_per_work, flops, bytes, share, speedup, efficiency, ratio,
          a count (batch, micro_batch, devices, nodes, length, work, steps), or "" if the heading does not say
    unit  canonical, "" if there is none
    item  what is counted, in a rate, a count of work or work per energy: "images"; else ""
    per   what a figure refers to: {"epochs", "IPU"}
    """

    kind: str
    unit: str = ""
    item: str = ""
    per: frozenset[str] = frozenset()


def meaning_of_heading(heading: str) -> ColumnMeaning:
    """Reads a heading.  If it leaves the kind open, the kind is ""."""
    plain = re.sub(r"[*$\\{}]|textbf|mathrm|text", "", heading).strip()
    name, unit = _name_and_unit(plain)
    lower = name.lower()
    per = _per_of(lower)
    if unit.startswith("1/"):
        item = _item_of(lower)
        unit = unit.replace("1/", f"{item}/", 1) if item else unit
    kind = _kind_of_unit(unit)
    if kind in ("", "share"):
        kind = _kind_of_words(lower) or ("devices" if unit in DEVICES else kind)
    item = next((part for part in unit.split("/") if part in ITEMS), "") or (_item_of(lower) if kind == "work" else "")
    per |= {part for part in unit.split("/")[1:] if part in (*DEVICES, "steps", "batches", "epochs")} - {item}
    return ColumnMeaning(kind, unit, item, frozenset(per))


def _name_and_unit(heading: str) -> tuple[str, str]:
    """`Training Time (sec.)` as its name and `s`; the unit may be in brackets, last, or the whole heading."""
    for inner in _BRACKETS.findall(heading):
        for part in (inner, *re.split(r"\s+or\s+|,\s*", inner)):
            if unit := canonical(part):
                return heading.replace(inner, ""), unit
    if _TOKENS_PER_SECOND.search(heading):
        return heading, "tokens/s"
    if heading.startswith("% of "):
        return heading, "%"
    if (whole := canonical(heading)) and whole != "B":  # the batch of a column "B"
        return heading, whole
    column = _RATE_OF_SUFFIX.match(heading)
    if column and (unit := canonical("/".join(part for part in column.groups() if part))):
        return heading, unit
    last = _LAST_WORD.search(heading)
    unit = _unit_of_suffix(last[1]) if last else ""
    return (heading[: last.start()], unit) if last and unit else (heading, "")


def _unit_of_suffix(word: str) -> str:
    """The unit in the last word of a heading.  A word such as `steps` or `GPU` there is a name."""
    unit = canonical(word) or {"w": "W", "j": "J", "wh": "Wh"}.get(word, "")
    return "" if unit in (*ITEMS, *DEVICES, "nodes", "runs", "cores", "B", "d", "FLOP") else unit


def _kind_of_unit(unit: str) -> str:
    name, _ = base(unit)
    over = name.split("/")
    if len(over) > 1:
        if over[0] in ITEMS and "s" in over[1:]:
            return "rate"
        if over[0] in ITEMS and "J" in over[1:]:
            return "work_per_energy"
        if over[0] == "J" and over[1] in ITEMS:
            return "energy_per_work" if over[1] not in ("epochs", "steps") else "energy"
        if over[0] == "s" and over[1] in ("steps", "batches", "epochs"):
            return "time"
    if over[:2] == ["FLOP", "s"]:
        return "flops"
    quantity = UNITS[over[0]].quantity if over[0] in UNITS else ""
    return quantity if quantity in _QUANTITIES else "share" if unit == "%" else ""


def _kind_of_words(name: str) -> str:
    """The kind from the words of a heading, if its unit does not say it."""
    plain = name.replace("_", " ").strip(" ()[]")
    if "/" in plain:
        return ""
    for kind, words in _COUNTS.items():
        if re.search(words, plain):
            return kind
    if re.search(r"\bspeed.?up\b", plain):
        return "speedup"
    if re.search(r"\befficiency\b|\beff\b|^e(?:\(n\))?$", plain) and not re.search(
        r"energy|power|memory|compute", plain
    ):
        return "efficiency"
    return "ratio" if re.fullmatch(r"ratio|relative.*|normali[sz]ed.*", plain) else ""


def _item_of(name: str) -> str:
    """What is counted, from the first words of a heading such as `Tokens/Time`."""
    words = PER.split(name)[0].split()
    return next((unit for word in words if (unit := canonical(word)) in ITEMS), "")


def _per_of(name: str) -> set[str]:
    """What a figure refers to: `energy/epoch/ipu`, `time per step`, `time spent on 2nd epoch`, `step time`."""
    words_after = [word for part in PER.split(name)[1:] for word in part.split()[:1]]
    per = {unit for word in words_after if (unit := canonical(word)) and unit != "s"}
    for words, unit in ((r"epoch", "epochs"), (r"\bstep|iteration|\bbatch", "steps")):
        if re.search(words, name):
            per.add(unit)
    return per
