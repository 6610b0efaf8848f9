"""Random inputs for tests: values, file contents, sidecars, presets and command lines, each drawn with a `random.Random`."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from scalelens.runs.sidecar import KEYS
from scalelens.tabular.role_table import ROLE
from test_robustness import ANCHORS, CONTENTS

Chance = random.Random

NAMES = sorted(CONTENTS)
ODD_WORDS = [
    "",
    "\0",
    "\x1b[1m",
    "{",
    "}",
    "{job}",
    "{nodes}",
    "*",
    "**",
    "9" * 400,
    '"""',
    "\\",
    "\u2028",
    "\ud800",
    "'",
]
NUMBERS = [
    "0",
    "1",
    "17",
    "-1",
    "0.25",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "9" * 30,
    "1.354,9",
    "0x1f",
    "١٢",
    "12 ms",
    "3:04",
]
JOINTS = [b"\n", b" ", b": ", b" | ", b"1", b"nan", b"=", b"{", b"[", b'"']
LETTERS = "abcxyz _-:/=%.,;#é漢\t\r\n\x85\x1b"


def word(chance: Chance) -> str:
    """A text of at most twelve characters, or one that is odd."""
    if chance.random() < 0.3:
        return chance.choice(ODD_WORDS)
    return "".join(
        chance.choice(LETTERS) if chance.random() < 0.8 else chr(chance.randrange(0xD800))
        for _ in range(chance.randrange(13))
    )


def value(chance: Chance, depth: int = 2) -> Any:
    """Anything that JSON can hold."""
    kind = chance.randrange(8 if depth else 6)
    if kind >= 6:
        inner = [value(chance, depth - 1) for _ in range(chance.randrange(4))]
        return inner if kind == 6 else {word(chance): one for one in inner}
    return [
        None, chance.random() < 0.5, chance.randrange(-(2**70), 2**70), chance.randrange(-3, 9),
        chance.choice([0.0, -1.5, 1e308, float("nan"), float("inf")]), word(chance),
    ][kind]  # fmt: skip


# Files


def content(chance: Chance) -> bytes:
    """A file: of two fixtures, of what formats look for, or of nothing but bytes."""
    return chance.choice([spliced, spliced, soup, lambda chance: chance.randbytes(chance.randrange(400))])(chance)


def spliced(chance: Chance) -> bytes:
    """The head of one fixture and the tail of another."""
    one, other = CONTENTS[chance.choice(NAMES)], CONTENTS[chance.choice(NAMES)]
    return one[: chance.randint(0, len(one))] + other[chance.randint(0, len(other)) :]


def soup(chance: Chance) -> bytes:
    """Anchors of formats, and what may stand between them."""
    kinds: list[Callable[[], bytes]] = [
        lambda: chance.choice(ANCHORS), lambda: chance.choice(JOINTS), lambda: chance.randbytes(chance.randrange(7))
    ]  # fmt: skip
    return b"".join(chance.choice(kinds)() for _ in range(chance.randrange(60)))


COLUMN_NAMES = [*ROLE, "iter_time", "it", "time (s)", "loss:", "throughput", "tokens/s", "gpu", "ts"]


def table(chance: Chance) -> str:
    """A CSV or JSON lines, with columns that may mean something."""
    names = [
        chance.choice(COLUMN_NAMES) if chance.random() < 0.8 else word(chance) for _ in range(chance.randint(1, 5))
    ]
    rows = [[cell(chance, k) for _ in names] for k in range(chance.randrange(12))]
    if chance.random() < 0.3:
        return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    mark = chance.choice(",;\t")
    return "\n".join(mark.join(row) for row in [names, *rows])


def log(chance: Chance) -> str:
    """Lines that count upwards, as a training prints them."""
    lead = chance.choice(["", "[rank0] ", "2026-01-02 03:04:05 ", word(chance)])
    count = chance.choice(["step", "Iter", "epoch", "batch", word(chance)])
    names = [chance.choice(COLUMN_NAMES) for _ in range(chance.randrange(4))]
    lines = [
        " ".join([f"{lead}{count} {k}", *(f"{name}{chance.choice([': ', '='])}{cell(chance, k)}" for name in names)])
        for k in range(chance.randrange(15))
    ]
    return "\n".join(lines)


def cell(chance: Chance, row: int) -> str:
    kind = chance.random()
    return str(row) if kind < 0.4 else chance.choice(NUMBERS) if kind < 0.9 else word(chance)


# What users write


def sidecar(chance: Chance) -> str:
    """A `scalelens.toml`.  JSON of a value is mostly TOML; what is not is a fault to be named."""
    if chance.random() < 0.2:
        return "".join(word(chance) for _ in range(chance.randrange(8)))
    lines = []
    for _ in range(chance.randrange(6)):
        key = chance.choice(KEYS) if chance.random() < 0.7 else json.dumps(word(chance))
        one = [template(chance) for _ in range(chance.randrange(4))] if chance.random() < 0.5 else value(chance)
        lines.append(f"{key} = {json.dumps(one)}")
    return "\n".join(lines)


def template(chance: Chance) -> str:
    pieces = ["{", "}", "{job}", "{nodes}", "{a b}", "*", "/", "..", "x"]
    return "".join(chance.choice(pieces) for _ in range(chance.randrange(9)))


def columns(chance: Chance) -> dict[str, str]:
    """What the columns of a preset are."""
    roles = [chance.choice([*ROLE]) if chance.random() < 0.9 else word(chance) for _ in range(chance.randrange(4))]
    units = ["", "", ":s", ":ms", ":%", ":" + word(chance)]
    return {role: chance.choice([*COLUMN_NAMES, word(chance)]) + chance.choice(units) for role in roles}


COMMANDS = ["check", "identify", "query", "tables", "sql", "label", "forget", "explain", "formats", "compare", "ingest"]
OPTIONS = ["--map", "-w", "--format", "-o", "--quick", "--by", "--no-such-option", "-", "--", "step=step", "runs=*"]


def command_line(chance: Chance) -> list[str]:
    """A command with arguments that stay in the folder where it runs."""
    given: Sequence[str] = [
        chance.choice(OPTIONS) if chance.random() < 0.5 else word(chance) for _ in range(chance.randrange(6))
    ]
    inside = (
        text.replace("/", "").replace("\0", "").replace("\ud800", "\udcff") for text in given
    )  # as shells give it
    return [chance.choice(COMMANDS), *(text for text in inside if text != "..")]
