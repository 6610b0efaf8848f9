"""Texts with one wrong digit, unit, rounding or ratio: `audit` finds them, and nothing in the texts before.

Each text is made from values that follow from each other, printed as papers do.  A change counts as one that an identity
can see if its values contradict the others beyond what the printed digits hide; the generators change only such values.
"""

import random
from collections.abc import Callable

import pytest

from scalelens.audit.finding import Finding
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.reading import document_of

TEXTS = 200
LEAST_FOUND = 0.9
Text = tuple[str, list[str]]  # with {0}, {1}, ... for what may be changed, and the true numbers in these places


def table(headings: list[str], rows: list[list[str]], draw: random.Random) -> str:
    """A table by pipes, tabs, or columns of spaces."""
    kind = draw.choice(["pipes", "tabs", "spaces"])
    lines = [headings, *rows]
    if kind == "tabs":
        return "\n".join("\t".join(line) for line in lines) + "\n"
    if kind == "spaces":
        return "\n".join("  ".join(cell.ljust(24) for cell in line).rstrip() for line in lines) + "\n"
    rule = ["---"] * len(headings)
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *rows)) + "\n"


def scaling(draw: random.Random) -> Text:
    """Devices, rate, time of a fixed work, speedup and efficiency."""
    rate, work, loss = draw.uniform(90, 3000), draw.uniform(5e5, 2e6), draw.uniform(0.005, 0.05)
    rows, true = [], []
    for step in range(draw.randint(5, 7)):
        devices, efficiency = 2**step, 1 - loss * step
        given = rate * devices * efficiency
        cells = [f"{given:,.1f}", f"{work / given:,.1f}", f"{devices * efficiency:.2f}", f"{100 * efficiency:.1f}"]
        places = range(len(true), len(true) + 4)
        rows.append([str(devices), *(f"{{{place}}}" for place in places)])
        true += cells
    return table(["GPUs", "Throughput (images/s)", "Time (s)", "Speedup", "Efficiency (%)"], rows, draw), true


def energies(draw: random.Random) -> Text:
    """Batch size, time, energy, mean power and images per energy of a fixed work."""
    work, rows, true = draw.uniform(1e6, 2e6), [], []
    for step in range(draw.randint(5, 8)):
        seconds, watts = draw.uniform(300, 900), draw.uniform(150, 400)
        cells = [
            f"{seconds:.1f}",
            f"{watts * seconds / 3600:.2f}",
            f"{watts:.1f}",
            f"{work / (watts * seconds / 3600):.1f}",
        ]
        places = range(len(true), len(true) + 4)
        rows.append([str(16 * 2**step), *(f"{{{place}}}" for place in places)])
        true += cells
    return table(["Batch size", "Time [s]", "Energy [Wh]", "Mean power [W]", "Images/Wh"], rows, draw), true


def parts(draw: random.Random) -> Text:
    """Parts of a time, their shares, and a total."""
    seconds = [round(draw.uniform(20, 900), 1) for _ in range(draw.randint(4, 6))]
    total, rows, true = sum(seconds), [], []
    for part, value in enumerate([*seconds, total]):
        rows.append(
            ["total" if part == len(seconds) else f"phase {'abcdef'[part]}", f"{{{len(true)}}}", f"{{{len(true) + 1}}}"]
        )
        true += [f"{value:.1f}", f"{100 * value / total:.1f}"]
    return table(["Part", "Time (s)", "Share (%)"], rows, draw), true


def speedup(draw: random.Random) -> Text:
    devices, efficiency = 2 ** draw.randint(2, 9), draw.uniform(0.6, 0.99)
    true = [f"{devices * efficiency:.1f}", f"{100 * efficiency:.1f}"]
    return f"On {devices} GPUs we reach a speedup of {{0}}, an efficiency of {{1}} %.\n", true


def change(draw: random.Random) -> Text:
    before = draw.uniform(0.3, 900)
    after = before * draw.uniform(0.15, 0.8)
    true = [f"{before:.4g}", f"{after:.4g}", f"{before / after:.2f}"]
    return "The step time falls from {0} s to {1} s, a speedup of {2}.\n", true


def percentage(draw: random.Random) -> Text:
    before = draw.uniform(100, 900)
    after = before * draw.uniform(1.05, 1.45)
    true = [f"{before:.1f}", f"{after:.1f}", f"{100 * (after / before - 1):.1f}"]
    return "The throughput rises from {0} images/s to {1} images/s, an increase of {2} %.\n", true


def mean_power(draw: random.Random) -> Text:
    hours, watts = draw.uniform(0.5, 9), draw.uniform(150, 690)
    return "The run took {0} Wh in {1} h, a mean power of {2} W.\n", [
        f"{hours * watts:.1f}",
        f"{hours:.2f}",
        f"{watts:.1f}",
    ]


def work(draw: random.Random) -> Text:
    rate, seconds = draw.uniform(100, 9000), draw.uniform(20, 900)
    true = [f"{rate:.1f}", f"{seconds:.1f}", f"{rate * seconds:.0f}"]
    return "It processes {0} images/s for {1} s, that is {2} images.\n", true


def tokens(draw: random.Random) -> Text:
    batch, length = draw.choice([48, 96, 160, 1536]), draw.choice([512, 2048, 4096])
    return f"A batch of {batch} sequences of {length} tokens is {{0}} tokens per step.\n", [str(batch * length)]


def steps(draw: random.Random) -> Text:
    count, batch = draw.randint(12, 500), draw.choice([24, 96, 256])
    return f"We ran {count} steps of {batch} images, {{0}} images in total.\n", [str(count * batch)]


KINDS: list[Callable[[random.Random], Text]] = [
    scaling, energies, parts, speedup, change, percentage, mean_power, work, tokens, steps,
]  # fmt: skip


def other_digit(text: str, draw: random.Random) -> str:
    """One of the first two digits is another: later ones change less than the clocks of a rate and a time may differ."""
    places = [place for place, character in enumerate(text) if character.isdigit()][:2]
    place = draw.choice(places)
    digit = draw.choice([digit for digit in "123456789" if digit != text[place]])
    return text[:place] + digit + text[place + 1 :]


UNITS = [("[s]", "[ms]"), ("[Wh]", "[kWh]"), ("[W]", "[kW]"), (" Wh in", " kWh in"), (" h, a", " min, a"), (" W.", " kW."),
         (" s to", " ms to"), ("images/s to", "images/min to"), ("images/s for", "images/min for"), (" s, that", " min, that")]  # fmt: skip


def other_unit(text: str, draw: random.Random) -> str:
    """The text with another unit behind a number or in a heading; the same text where it has none that matters."""
    swaps = [swap for swap in UNITS if swap[0] in text]
    return text.replace(*draw.choice(swaps), 1) if swaps else text


def other_rounding(text: str, draw: random.Random) -> str:
    """The last digits cut or raised: two digits are left, and these are rounded the wrong way."""
    value = number(text)
    scale = 10.0 ** (len(str(int(value))) - 2)
    return f"{(int(value / scale) + draw.choice([-1, 2])) * scale:.{0 if scale >= 1 else 1}f}"


def other_ratio(text: str, draw: random.Random) -> str:
    """The ratio of other numbers: twice, half or a quarter more."""
    value = number(text) * draw.choice([2, 0.5, 1.25, 0.8])
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


CHANGES = [other_digit, other_rounding, other_ratio]


def planted(seed: int) -> tuple[str, str, str]:
    """The true text, the changed text, and what was changed."""
    draw = random.Random(seed)
    make = KINDS[seed % len(KINDS)]
    text, true = make(draw)
    right = text.format(*true)
    kind = seed // len(KINDS) % (len(CHANGES) + 1)
    if kind == len(CHANGES) and (wrong := other_unit(right, draw)) != right:
        return right, wrong, f"{make.__name__} other_unit"
    changed = CHANGES[kind % len(CHANGES)]
    place = draw.randrange(len(true))
    values = list(true)
    while number(values[place]) == number(true[place]):
        values[place] = changed(true[place], draw)
    return right, text.format(*values), f"{make.__name__} {changed.__name__}: {true[place]} -> {values[place]}"


def number(text: str) -> float:
    return float(text.replace(",", ""))


def found_in(text: str) -> list[Finding]:
    return inconsistencies(document_of(text, suffix=".md"))


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_true_texts_are_not_accused(make: Callable[[random.Random], Text]) -> None:
    for seed in range(TEXTS // len(KINDS)):
        text, true = make(random.Random(seed))
        assert found_in(text.format(*true)) == [], text.format(*true)


def test_most_changes_are_found() -> None:
    missed = []
    for seed in range(TEXTS):
        true, wrong, what = planted(seed)
        assert found_in(true) == [], true
        if not any(finding.kind == "inconsistent" for finding in found_in(wrong)):
            missed.append(what)
    assert len(missed) <= (1 - LEAST_FOUND) * TEXTS, missed


def test_the_accused_row_is_the_changed_one() -> None:
    right = total = 0
    for seed in range(0, TEXTS, len(KINDS)):
        true, wrong, _ = planted(seed)
        lines = [
            number for number, (a, b) in enumerate(zip(true.splitlines(), wrong.splitlines(), strict=True), 1) if a != b
        ]
        for finding in found_in(wrong):
            total += 1
            right += finding.numbers[0].line in lines
    assert right == total > TEXTS // len(KINDS) // 2
