"""Energies that a line of text states with their unit: `Total energy consumed: 12.3 kWh`, `GPU Energy (J): 523.1`."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.tabular.energy_columns import energy_column

_NUMBER = r"\d{1,20}(?:[.,']\d{1,25}){0,5}(?:[eE][-+]?\d{1,3})?"
_VALUE = re.compile(
    rf"(?<![\w.,'+/^-])({_NUMBER}) ?(?:"
    r"([mkKMGu\u00b5\u03bc]?)(?:(?<![mkKM]) |(?<=[mk]) (?=J;))?(J(?:oules?)?|Wh)"
    r"|(?:([Mm]illi|[Mm]icro|[Kk]ilo|[Mm]ega) ?)?([Jj]oules?|[Ww]att[- ]?[Hh]ours?)"
    r")(?![\w/*\u00b7^]| ?/| per | ?\u00b7)"
)
# The unit stands in the name: the number follows, and nothing but another cell.
_NAMED = re.compile(
    r"(?:\A|[,;|{(\[\t]|[\])] |\. | - )[ #*>-]*([A-Za-z][^=:,;|{}\"'\t]{1,80}?) *[:=|]"
    rf" *({_NUMBER})(?=\s*(?:\Z|[,;|)}}\]]))"
)
_PAIR = re.compile(rf"[ #*-]*([A-Za-z][^=:,;|\"'\t]{{1,80}})[,;\t] *({_NUMBER})[,;\s]*\Z")
_TIME = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?(?:[T ,]+\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?Z?|\b\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?"
)
_BEFORE = re.compile(r"[,;|{}\t]|\. |\] | - |(?<=[a-z]) (?=INFO|DEBUG)")  # what ends the cell before a label
_AT_END = re.compile(
    r"(?:[\s:=~\u2248>*#(-]|\b(?:is|was|were|of|about|approx(?:imately)?|to|by)\b){1,40}\Z", re.IGNORECASE
)
_DEVICE = re.compile(
    r"(?<![A-Za-z])(gpu|cpu|package|pkg|socket|card|node|ipu|gcd|dram)(?:[ _#:-]|id|index){0,3}(\d{1,3})(?!\d)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[ ,]*(?:of )?((?:electricity |energy )?(?:was |were |has been )?(?:used|consumed|spent)\b[^.;,|]{0,60})"
)
_ALL = re.compile(r"(?<![a-z])(?:all|total|overall|sum|combined)(?![a-z])", re.IGNORECASE)
# Energies of other things than computers, and of no measurement.
_OTHER = re.compile(
    r"kinetic|potential|binding|internal|thermal|heat|photon|laser|beam|pulse|bond|angle|solar|photovoltaic|(?<![a-z])pv(?![a-z])"
    r"|household|building|charg|generated|produc|harvest|fuel|food|activation|free|formation|adsorption|vehicle|trip|barrier"
    r"|ground|fermi|coulomb|elastic|strain|collision|impact|would|could|should|expect|compar|equivalent|\bvs\b|reduc|increas"
    r"|improve|error|goal|threshold|offset|tree|overhead|loss|requir|need|remain|stored|left|best|worst|lowest|highest|median"
    r"|(?<![a-z])(?:district|city|house|station|country|panel|wind|turbine|hydro|fields?|magnet\w*)(?![a-z])",
    re.IGNORECASE,
)
_CONSUMED = re.compile(
    r"consum|used|usage|spent|drawn|measured|electricity|train|infer|run|program|execut|rapl|nvml|batter|joule|power|watt",
    re.IGNORECASE,
)
_POWER = re.compile(r"\d ?[mk]?W(?![\w/])|[\[(][mk]?W[\])]|[Ww]atts?(?![A-Za-z])")
_CUMULATIVE = re.compile(r"cumulative|accumulated|so far|since the (?:begin|start)|codecarbon", re.IGNORECASE)
_PREFIXES = {"milli": "m", "micro": "u", "kilo": "k", "mega": "M", "K": "k", "\u00b5": "u", "\u03bc": "u"}
_GROUPED = re.compile(
    r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|\d{1,3}(?:'\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+"
)
_LETTERS = re.compile(r"[^\W\d_]{3}")
_SEPARATED = re.compile(r"(?:[:=|,;\t~\u2248>]|\b(?:is|was|were|of))[\s(]*\Z")
_ENERGY = re.compile(r"energ|joule|consum|electric|kwh", re.IGNORECASE)
_ENERGY_LAST = re.compile(
    r"(?:energy|joules|consumed|consumption|energy used|usage)\W*\Z|energy\b.{0,12}\Z", re.IGNORECASE
)
_PROSE = re.compile(r"report|instance|example|\b(?:to|can|will|may|might|that|which|we|you|they) consum", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:The|An?|This|That|It|Its|Each|One|Our|Your)\b", re.IGNORECASE)
_MOST_WORDS = 14  # of a label
_FEW_WORDS = 4  # of one that does not say what it labels, or has no mark after it
_LONGEST = 400  # characters of a line


class Statement(NamedTuple):
    """An energy, and what the words beside it say."""

    joules: float | None  # None: its number can be read in two ways
    scope: str | None
    device: str | None
    is_sure: bool  # whether the line says that it was consumed, or names a part of a computer
    is_cumulative: bool
    label: str


def statements(text: str) -> Iterator[Statement]:
    """The energies of a line, each once, also where it stands there in two units."""
    if len(text) > _LONGEST or '"' in text:  # a cell of a table, or a value in JSON
        return
    plain = _TIME.sub(" ", text)
    end = 0
    for match in _VALUE.finditer(plain):
        before, begin = plain[end : match.start()], end
        end = match.end()
        label = _label_of(before)
        unit = _unit_of(match)
        found = _statement(label, match[1], unit, plain) if _is_label(label, before) else None
        after = _AFTER.match(plain, match.end()) if not found and (not begin or before.strip(" (/")) else None
        if found or (after and (found := _statement(after[1], match[1], unit, plain))):
            yield found
    if not end:
        pair = _PAIR.fullmatch(plain)
        for match in [pair] if pair else _NAMED.finditer(plain):
            if column := energy_column(0, match[1].strip()):
                unit = next(unit for unit, scale in _units().items() if scale == column.scale)
                if statement := _statement(_WITHOUT_UNIT.sub(" ", match[1]), match[2], unit, plain):
                    yield statement


def _is_label(label: str, before: str) -> bool:
    """Whether words are a label, and not those of a sentence that mentions an energy."""
    words = len(label.split())
    if words > _MOST_WORDS or _PROSE.search(label):
        return False
    if not _SEPARATED.search(before):
        return words <= _FEW_WORDS and _ENERGY_LAST.search(label) is not None and not _ARTICLE.match(label)
    return _ENERGY.search(label) is not None or (scope_of_words(label) not in (None, "total") and words <= _FEW_WORDS)


_WITHOUT_UNIT = re.compile(r"[\[(][^\])]{1,12}[\])]|(?<=[_ ])(?:[kmu]?[jJ]|[kK]?[wW][hH]|[Jj]oules)\Z")


@functools.cache  # when it is first asked for: most texts state no energy
def _units() -> dict[str, float]:
    """Units of energy, each in joules."""
    units = ("uJ", "mJ", "J", "kJ", "MJ", "mWh", "Wh", "kWh", "MWh")
    return {unit: column.scale for unit in units if (column := energy_column(0, f"energy [{unit}]"))}


def _label_of(before: str) -> str:
    """The words that name what follows: the last cell, with the name of a device in the one before it."""
    cells = [_AT_END.sub("", cell) for cell in _BEFORE.split(before)]
    own = next((cell for cell in reversed(cells[-2:]) if _LETTERS.search(cell)), "")
    *above, last = [piece.strip() for piece in own.split(":")]
    named = [piece for piece in above if len(piece) <= 20 and scope_of_words(piece)]
    return " ".join((*named[-1:], last)).strip()


def _unit_of(match: re.Match[str]) -> str:
    if match[3]:
        return f"{_PREFIXES.get(match[2], match[2])}{'Wh' if match[3] == 'Wh' else 'J'}"
    size = _PREFIXES.get((match[4] or "").lower(), "")
    return f"{size}{'J' if match[5].lower().startswith('joule') else 'Wh'}"


def _statement(label: str, number: str, unit: str, text: str) -> Statement | None:
    column = energy_column(0, f"{label} [{unit}]") if label and unit in _units() else None
    if column is None or _OTHER.search(label):
        return None
    scope = scope_of_words(_ALL.sub(" ", label)) or scope_of_words(label)
    device = _DEVICE.search(label)
    value = _number_of(number)
    is_sure = bool(scope not in (None, "total") or _CONSUMED.search(label) or _POWER.search(text))
    return Statement(
        None if value is None else value * column.scale, scope, f"{device[1].lower()}{device[2]}" if device else None,
        is_sure, _CUMULATIVE.search(text) is not None, label,
    )  # fmt: skip


def _number_of(text: str) -> float | None:
    """A number; None where a comma may divide thousands or a fraction."""
    if _GROUPED.fullmatch(text):
        return float(
            text.replace(".", "").replace(",", ".")
            if text.rfind(",") > text.rfind(".") > 0
            else re.sub("[,']", "", text)
        )
    if text.count(",") == 1 and not re.fullmatch(r"\d{1,3},\d{3}", text) and "." not in text:
        text = text.replace(",", ".")
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text) else None
