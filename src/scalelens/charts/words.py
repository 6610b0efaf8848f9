"""Text of figures: counts and names in captions, and the width of text on paper."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SIZE = 7  # of labels, legend and caption, in points
NODE = "node"  # the unit of devices where no log states how many there are, and nodes stand for them
JOB = "job"  # the same where the rate of the whole job is all that is known


def wrap(text: str, width: float) -> list[str]:
    """Small text in lines of at most `width` points, never broken at a no-break space, nor before a unit."""
    lines: list[str] = []
    for word in _BREAK.split(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(shorten(word, width))
    return lines


def within_lines(text: str, width: float, most: int) -> list[str]:
    """A text in at most `most` lines of at most `width` points; a longer text loses its middle."""
    lines = wrap(text, width)
    if len(lines) > most:
        lines[most - 1 :] = [shorten(" ".join(lines[most - 1 :]), width)]
    return lines


def shorten(text: str, width: float) -> str:
    """A text of at most `width` points.  A longer text loses its middle, because names differ at their ends.

    One that has left out something already loses what stands before that: `run116-rerun… · 8221`.
    """
    begin, mark, end = text.rpartition("…")
    if mark and begin and "…" not in begin and text_width(f"…{end}") < width / 2:
        while begin and text_width(f"{begin}…{end}") > width:
            begin = begin[:-1]
        return f"{begin}…{end}"
    kept = text
    for half in range(len(text) // 2, 0, -1):
        if text_width(kept) <= width:
            break
        kept = f"{text[:half]}…{text[-half:]}"
    return kept


_PROCESSOR = re.compile(r"\b(?:Xeon|EPYC|Opteron|Ryzen|Threadripper|Core|CPU|Processor)\b", re.IGNORECASE)
_FILLING = re.compile(  # words of a processor's name that tell nothing
    r" CPU(?= @)|(?<=Xeon) CPU\b|(?<=Xeon\(R\)) CPU\b|(?<=Intel\(R\)) CPU\b| @ \d[\d.]* ?[GM]Hz| ?\((?:R|TM|C)\)"
    r"| \d+-Core(?= Processor)|(?<!·) Processor(?= |$)| with Radeon Graphics",
    re.IGNORECASE,
)
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[A-Za-zµ]{1,4}\b)")
# Where a sentence may be broken: `21 %` and `40 ms` stay whole.
_BREAK = re.compile(r" (?!(?<=\d )(?:%|[nµm]?s|[kM]?Wh?|k?J|[kKMGT]i?B(?:/s)?|TFLOP/s)(?!\w))")
_PART = re.compile(r"[^ _/-]*[ _/-]*")  # of a name, with the separators after it


def without_shared_ends(names: Sequence[str]) -> tuple[list[str], str, str]:
    """Different names without the parts that all begin or end with, and these parts; some of each name is left.

    A part goes up to a blank, `_`, `-` or `/`: `gpt_436m_base` and `gpt_447m_wide_base` are `436m` and `447m_wide`.
    """
    rests = list(names)
    begin = _shared([_PART.findall(name) for name in rests])
    rests = [name[len(begin) :] for name in rests]
    end = _shared([_PART.findall(name[::-1]) for name in rests])[::-1]
    return [name[: len(name) - len(end)] for name in rests], begin, end


def _shared(parts: Sequence[Sequence[str]]) -> str:
    """What all begin with, short of the last part of any."""
    shared = ""
    for several in zip(*(name[:-2] for name in parts), strict=False):  # the last match is empty
        if len(set(several)) > 1:
            break
        shared += several[0]
    return shared


def brief_processors(names: Sequence[str]) -> list[str]:
    """Names without what makers write into those of processors: `Intel Xeon E5-2690 v3`, `AMD EPYC 7763`.

    All stay as they are where two would then be the same.
    """
    brief = [_FILLING.sub("", name).strip() if _PROCESSOR.search(name) else name for name in names]
    return brief if len(set(brief)) == len(set(names)) and all(brief) else list(names)


def fitting(names: Sequence[str], width: float) -> list[str]:
    """Names of at most `width` points.

    Too long ones lose what all share: first at their ends, then within them; then each loses its middle.
    """
    if all(text_width(name) <= width for name in names):
        return list(names)
    names = brief_processors(names)
    if all(text_width(name) <= width for name in names):
        return list(names)
    whole = [_BEFORE_UNIT.sub("\u00a0", name) for name in names]  # an amount stays whole, whose unit all share
    rests, begin, end = without_shared_ends(whole) if len(set(whole)) > 1 else (whole, "", "")
    marked = [f"{'…' if begin else ''}{rest}{'…' if end else ''}" for rest in rests]
    if any(text_width(name) > width for name in marked):
        marked = _without_shared_parts(marked)
    return shortened([name.replace("\u00a0", " ") for name in marked], width)


def _without_shared_parts(names: Sequence[str]) -> list[str]:
    """The names with an ellipsis for the parts that all have, where they still differ.

    `Feb08_hal11_resnet50_gpux8_O2` and `Feb09_hal13_resnet50_gpux16_O2` are `Feb08_hal11_…gpux8_…` and
    `Feb09_hal13_…gpux16_…`.
    """
    parts = [[part for part in _PART.findall(name) if part] for name in names]
    shared = set.intersection(*({part.rstrip(" _/-") for part in of_one} for of_one in parts)) - {""}
    brief = []
    for of_one in parts:
        kept = ["…" if part.rstrip(" _/-") in shared else part for part in of_one]
        brief.append(re.sub("…+", "…", "".join(kept)))
    is_telling = len(set(brief)) == len(set(names)) and "…" not in brief
    return brief if is_telling else list(names)


def shortened(names: Sequence[str], width: float) -> list[str]:
    """Names of at most `width` points.  A longer one loses its middle, or what all share that would then be the same.

    `gpt-52b · deepspeed · A100` and `gpt-52b · megatron · A100` are `gpt…deepspeed…A100` and `gpt…megatron…A100`.
    """
    brief = [shorten(name, width) for name in names]
    alike: dict[str, list[str]] = {}
    for name, short in zip(names, brief, strict=True):
        if name not in alike.setdefault(short, []):
            alike[short].append(name)
    for several in alike.values():
        if len(several) > 1:
            rests, begin, end = without_shared_ends(several)
            told = dict(zip(several, (_around(rest, begin, end, width) for rest in rests), strict=True))
            if len({*told.values()} - {*brief}) == len(several):
                brief = [told.get(name, short) for name, short in zip(names, brief, strict=True)]
    return brief


def _around(rest: str, begin: str, end: str, width: float) -> str:
    """What tells a name apart, with as much before and after it as there is room for."""
    head = cut(begin, (width - text_width(rest)) / 2)
    room = width - text_width(head + rest)
    tails = (end, *(f"…{end[n:]}" for n in range(1, len(end) + 1)))
    tail = next((text for text in tails if text_width(text) <= room), "")
    return shorten(f"{head}{rest}{tail}", width)


def cut(text: str, width: float) -> str:
    """A text of at most `width` points.  A longer text loses its end."""
    kept = text
    while kept and text_width(kept) > width:
        text = text[:-1]
        kept = f"{text}…"
    return kept


# Widths of Arial's letters in thousandths of the font size.
_LETTERS = {
    "'": 191, "ijl": 222, "|": 260, " \u00a0!,./:;[]\\Ift": 278, "()-`r·°²": 333, "{}": 334, '"': 355, "*": 389,
    "^": 469, "cksvxyzJ": 500, "¶": 537, "†‡§": 556, "µ": 576,
    "+<=>~±×−": 584, "FTZ": 611, "ABEKPSVXY&": 667, "CDHNRUw": 722, "GOQ": 778, "mM": 833, "%": 889, "W": 944,
    "@—…": 1015,
}  # fmt: skip
_LETTER_WIDTH = {letter: width for letters, width in _LETTERS.items() for letter in letters}


def text_width(text: str) -> float:
    """Width of small text in points."""
    return sum(_LETTER_WIDTH.get(letter, 556) for letter in text) * SIZE / 1000


def has_known_width(text: str) -> bool:
    """Whether the widths of all letters are known, not guessed."""
    return all(letter in _LETTER_WIDTH or letter.isascii() for letter in text)


def short_number(value: float) -> str:
    """Four significant digits, large numbers in full."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def counted(counts: Sequence[float], what: str, plural: str = "") -> str:
    """`1 run`, `3 runs`, `58 to 498 steps`: a count, or the smallest and the largest of several."""
    low, high = min(counts), max(counts)
    many = short_number(low) if low == high else f"{short_number(low)} to {short_number(high)}"
    return f"{many} {what if high == 1 else plural or f'{what}s'}"


def records_of(points: Sequence[Mapping[str, Any]], record: str = "step record") -> str:
    """`3 runs, 58 to 498 step records`: what a point of a chart represents."""
    counts = [counted([point["n_runs"] for point in points], "run")]
    if steps := [point["n_steps"] for point in points if point["n_steps"]]:
        counts.append(counted(steps, record))
    return ", ".join(counts)


def unit(rows: Iterable[Mapping[str, Any]]) -> str:
    """`GPU` if all devices are GPUs, `node` or `job` if these stand for them, else `device`."""
    units = {row.get("device_unit") for row in rows}
    only = units.pop() if len(units) == 1 else None
    return (only if only in (NODE, JOB) else only.upper()) if only else "device"


def devices(row: Mapping[str, Any]) -> str:
    """`8 GPUs`: the devices of a run."""
    return counted([row["devices"]], unit([row]))


# By the value of the parameter `steps` of a query.
_PARTS_OF_TRACES = {"all": "whole traces", "complete": "their complete steps", "hta": "the events that HTA selects"}


def part_of_traces(parameters: Mapping[str, str] | None) -> str:
    """Which part of the traces a query counted."""
    return _PARTS_OF_TRACES[(parameters or {}).get("steps", "all")]


def sentence(text: str) -> str:
    """A note of a query as a sentence for the caption."""
    return f"{text[0].upper()}{text[1:]}."


def notes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The distinct notes of rows, as sentences."""
    return [sentence(note) for note in dict.fromkeys(note for row in rows for note in split_notes(row["note"]))]


def split_notes(text: str | None) -> list[str]:
    """The notes that a query has joined in one cell, without those that name a query to ask: paper asks none."""
    return [note for note in (text or "").split("; ") if note and not _CALL.search(note)]


_CALL = re.compile(r"\w\(\w+ := ")  # differences(a := ...)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
QUOTED = re.compile(r"'[^']*'")


def joined(alike: Sequence[str]) -> str:
    """One text for several that differ only in numbers or quoted names: `the mean is 1.22 to 1.54 of the median`.

    Quoted names that differ, such as the runs to compare, are left out: `differences(a := '…')`.
    """
    if len({tuple(QUOTED.findall(text)) for text in alike}) > 1:
        alike = [QUOTED.sub("'…'", text) for text in alike]
    columns = zip(*(NUMBER.findall(text) for text in alike), strict=True)
    ends = [sorted(set(numbers), key=float) for numbers in columns]
    ranges = iter([numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}" for numbers in ends])
    return NUMBER.sub(lambda _: next(ranges), alike[0])


def once_each(notes: Iterable[str]) -> list[str]:
    """The notes, those that differ only in numbers or quoted names as one, in the order of the alphabet."""
    alike: dict[str, list[str]] = {}
    for note in sorted(set(notes)):
        alike.setdefault(NUMBER.sub("#", QUOTED.sub("''", note)), []).append(note)
    return [joined(texts) for texts in alike.values()]


def natural(text: str) -> list[tuple[bool, float, str]]:
    """A key that sorts `batch 16` before `batch 128`, `0.25` before `0.5`, and `v1.5.2` by its parts."""
    parts = re.split(r"((?<![\d.])\d+\.\d+(?![\d.])|\d+)", text)
    return [(n % 2 == 1, float(part) if n % 2 else 0.0, part) for n, part in enumerate(parts)]


_CAUSES = {"gpu": "GPU", "nccl": "NCCL", "code": "program or settings"}  # of failures, where not in plain words


def cause(name: str) -> str:
    """What ended runs, as people say it."""
    return _CAUSES.get(name, name)


_UNITS = {
    "_bytes_per_s": "bytes/s", "_samples_per_s": "samples/s", "_tokens_per_s": "tokens/s", "_per_s": "1/s", "_s": "s",
    "_ns": "ns", "_us": "µs", "_ms": "ms", "_j": "J", "_w": "W", "_wh": "Wh", "_bytes": "bytes",
}  # fmt: skip


def with_unit(column: str) -> str:
    """A column as the title of an axis: `step [s]` for `step_s`, `samples/s` for `samples_per_s`."""
    rate = re.fullmatch(r"(samples|tokens|bytes)_per_s", column)
    if rate:
        return f"{rate[1]}/s"
    ending = next((ending for ending in _UNITS if column.endswith(ending) and column != ending), "")
    name = column.removesuffix(ending).replace("_", " ")
    return f"{name} [{_UNITS[ending]}]" if ending else name
