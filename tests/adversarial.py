"""Files made to be slow or large: the pieces of each format's own samples, again and again, in many ways.

An attack is known by its format, its way and its size: the same three give the same bytes.  `python
tests/adversarial.py 1000000 out.csv` tries all of them at that size, each in a process of its own, and writes what each took.
"""

import csv
import io
import json
import os
import random
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.format_file import name_of, samples
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

FIXTURES = Path(__file__).resolve().parent / "fixtures"
TOKEN = re.compile(rb"[A-Za-z_]+|\d+|[ \t]+|\n|[^\w\s]|.", re.DOTALL)
LONGEST_SEED = 200_000
SECONDS = 60  # of processor time, after which the kernel ends the process of an attack


class Seed(NamedTuple):
    """What a format reads: its sample lines, or a fixture."""

    name: str  # of a file
    content: bytes


def seeds(format: object) -> list[Seed]:
    """The samples of a format as one text, and the largest of its fixtures."""
    name = name_of(format)  # type: ignore[arg-type]
    lines = samples(format)  # type: ignore[arg-type]
    found = [Seed("job.log", "\n".join(lines).encode() + b"\n")] if lines else []
    files = [path for path in (FIXTURES / name).rglob("*") if path.is_file() and not is_golden(path)]
    files = sorted(files, key=lambda path: (path.stat().st_size, path.name))
    files = [path for path in files if 0 < path.stat().st_size < LONGEST_SEED and path.suffix not in (".gz", ".zst")]
    return found + [Seed(path.name, path.read_bytes()) for path in files[-1:]]


def is_golden(path: Path) -> bool:
    return path.suffix == ".status" or bool(re.search(r"\.[a-z_]+\.csv\Z", path.name))


def filled(before: bytes, part: bytes, behind: bytes, size: int) -> bytes:
    return before + part * max(1, (size - len(before) - len(behind)) // max(1, len(part))) + behind


def honest(seed: Seed, chance: random.Random, size: int) -> bytes:
    """The seed again and again."""
    return filled(b"", seed.content, b"", size)


def one_line(seed: Seed, chance: random.Random, size: int) -> bytes:
    return filled(b"", seed.content.replace(b"\n", b" "), b"\n", size)


def token_repeated(seed: Seed, chance: random.Random, size: int) -> bytes:
    """One token, or two or three beside each other, fills the file."""
    tokens = [*TOKEN.finditer(seed.content)]
    first = chance.randrange(len(tokens))
    last = min(len(tokens) - 1, first + chance.choice((0, 0, 1, 2)))
    part = seed.content[tokens[first].start() : tokens[last].end()]
    return filled(seed.content[: tokens[last].end()], part, seed.content[tokens[last].end() :], size)


def foreign_repeated(seed: Seed, chance: random.Random, size: int) -> bytes:
    """What patterns and parsers like to repeat, anywhere in the seed."""
    parts = (b" ", b"\t", b"9", b"a", b"0.", b",", b'"', b"'", b"\\", b"[", b"{", b"(", b"<a>", b'{"a":', b"[[", b"=",
             b"x=1 ", b"x: 1, ", b"1,", b"a,", b"| ", b"-", b"_", b"%", b"\r", b"\x1b[", b"\x1b[0m", b"[0]:", b"0: ",
             b"\n ", b"\n", b"/", b";", b"&", b"\0", b"1e9 ", b"\xff", b"\xef\xbb\xbf", b"1:", b"2024-")  # fmt: skip
    tokens = [*TOKEN.finditer(seed.content)]
    at = chance.choice(tokens).end()
    return filled(seed.content[:at], chance.choice(parts), seed.content[at:], size)


def cut_lines(seed: Seed, chance: random.Random, size: int) -> bytes:
    """A line cut at one place, as often as fits."""
    line = chance.choice([line for line in seed.content.splitlines() if line.strip()] or [b"x"])
    tokens = [*TOKEN.finditer(line)]
    return filled(seed.content, line[: chance.choice(tokens).end()] + b"\n", b"", size)


def counted(seed: Seed, chance: random.Random, size: int) -> bytes:
    """Other numbers, or other words, in each copy of a line: many steps, ranks, keys, hosts and kernels."""
    lines = [line for line in seed.content.splitlines(keepends=True) if line.strip()] or [b"x 1\n"]
    line = chance.choice(lines)
    kind = rb"\d+" if chance.random() < 0.5 else rb"[A-Za-z]\w*"
    places = [*re.finditer(kind, line)] or [*re.finditer(rb".", line)]
    place, out, length, number = chance.choice(places), [seed.content], len(seed.content), 0
    backwards = chance.random() < 0.3
    while length < size:
        number += 1
        shown = 10_000_000 - number if backwards else number
        kept = b"" if place[0].isdigit() else place[0]
        out.append(line[: place.start()] + kept + b"%d" % shown + line[place.end() :])
        length += len(out[-1])
    return b"".join(out)


def all_counted(seed: Seed, chance: random.Random, size: int) -> bytes:
    """Every number of the seed counts up with each copy."""
    numbers, out, length, copy = re.compile(rb"\d+"), [], 0, 0
    while length < size:
        copy += 1
        out.append(numbers.sub(lambda found: b"%d" % (int(found[0][:12]) + copy), seed.content))  # noqa: B023
        length += len(out[-1])
    return b"".join(out)


def shuffled(seed: Seed, chance: random.Random, size: int) -> bytes:
    """Lines, or tokens, of the seed in random order."""
    pieces = seed.content.splitlines(keepends=True) if chance.random() < 0.5 else TOKEN.findall(seed.content)
    out, length = [seed.content], len(seed.content)
    while length < size:
        out += (more := chance.choices(pieces, k=1000))
        length += sum(map(len, more))
    return b"".join(out)


def huge_numbers(seed: Seed, chance: random.Random, size: int) -> bytes:
    """Numbers that no column holds, or none at all, in the place of some numbers of each copy."""
    huge = (b"1e308", b"9" * 400, b"-1", b"1e-320", b"NaN", b"-inf", b"18446744073709551616", b"0", b"1e9999", b"0x1F")
    place, out, length = re.compile(rb"\d+(?:\.\d+)?"), [], 0
    while length < size:
        share = chance.choice((0.02, 0.2, 1.0))
        out.append(
            place.sub(lambda found: chance.choice(huge) if chance.random() < share else found[0], seed.content)  # noqa: B023
        )
        length += len(out[-1]) or size
    return b"".join(out)


def damaged(seed: Seed, chance: random.Random, size: int) -> bytes:
    """Bytes of each copy changed, removed and doubled, holes of zeros, and copies that end at any byte."""
    out, length = [seed.content], len(seed.content)
    while length < size:
        copy = bytearray(seed.content)
        for _ in range(chance.choice((1, 3, 30))):
            at = chance.randrange(len(copy)) if copy else 0
            copy[at : at + chance.choice((0, 1, 1, 5))] = chance.choice(
                (bytes([chance.randrange(256)]), b"", b"\0" * chance.choice((1, 4096)), bytes(copy[at : at + 20]))
            )
        out.append(bytes(copy[: chance.randrange(len(copy) + 1)] if chance.random() < 0.3 else copy))
        length += len(out[-1]) or 1
    return b"".join(out)


def recoded(seed: Seed, chance: random.Random, size: int) -> bytes:
    """The text in another encoding than its beginning says, or in several."""
    text = seed.content.decode("utf-8", "replace")
    codes = chance.choice((("utf-16",), ("utf-16-be",), ("utf-32",), ("utf-8-sig", "utf-16-le"), ("cp037", "utf-8")))
    out, length = [], 0
    while length < size:
        out.append(text.encode(codes[len(out) % len(codes)], "replace"))
        length += len(out[-1]) or size
    return b"".join(out)


def long_label(seed: Seed, chance: random.Random, size: int) -> bytes:
    """A word of a third of the file, and after it the lines that may be about it again and again."""
    words = [*re.finditer(rb"[A-Za-z][\w./-]*", seed.content)] or [*re.finditer(rb".", seed.content, re.DOTALL)]
    word = chance.choice(words[: chance.choice((3, 30, len(words)))])
    before, behind = seed.content[: word.start()], seed.content[word.end() :]
    following = behind.partition(b"\n")[2] or behind
    return filled(before + word[0] * (size // 3 // len(word[0])) + behind, following, b"", size)


def long_value(seed: Seed, chance: random.Random, size: int) -> bytes:
    """A document of JSON with a value of a third of the file, and what stands after it in a list again and again.

    What is no JSON has a long word once more.
    """
    if not (found := _json_of(seed)):
        return long_label(seed, chance, size)
    document, is_lines = found
    holders = [
        (holder, key)
        for holder in _containers(document)
        for key in (holder if isinstance(holder, dict) else range(len(holder)))
    ]
    lists = [found for found in _containers(document) if isinstance(found, list) and found]
    if not holders:
        return long_label(seed, chance, size)
    third = size // 3
    repeated = chance.choice(lists) if lists and not is_lines else None
    holder, key = chance.choice(holders)
    copied = "" if repeated is None else "".join(f", {json.dumps(each)}" for each in repeated)
    long = chance.choice(
        ("a" * third, [1] * (third // 3), {"a": "b" * third}, int("9" * 4000), {f"k{k}": k for k in range(third // 12)})
    )
    if repeated is not None:
        repeated.append(mark := "\x00again\x00")
    holder[key] = long
    out = json.dumps(document)
    if is_lines:
        return filled(out.encode() + b"\n", seed.content + b"\n", b"", size)
    if repeated is None or json.dumps(mark) not in out:
        return out.encode()
    count = max(1, (size - len(out)) // max(1, len(copied)))
    return out.replace(f", {json.dumps(mark)}", copied * count).encode()


def long_key(seed: Seed, chance: random.Random, size: int) -> bytes:
    """A document of JSON with a name of a third of the file, and many values below that name."""
    found = _json_of(seed)
    holders = [each for each in _containers(found[0]) if isinstance(each, dict) and each] if found else []
    if not found or not holders:
        return long_label(seed, chance, size)
    holder, third = chance.choice(holders), size // 3
    key = chance.choice([*holder])
    value = holder[key]
    if isinstance(value, list):
        value = value * (third // max(1, len(json.dumps(value))))
    else:
        inner = value if isinstance(value, dict) else {}
        name, plain = next(((k, v) for k, v in inner.items() if not isinstance(v, dict | list)), ("k", 1))
        value = inner | {f"{name}{k}": plain for k in range(third // (len(json.dumps([name, plain])) + 6))}
    items = [(f"{k}{'a' * third}", value) if k == key else (k, v) for k, v in holder.items()]
    holder.clear()
    holder.update(items)
    return json.dumps(found[0]).encode() + (b"\n" + seed.content if found[1] else b"")


def _json_of(seed: Seed) -> tuple[Any, bool] | None:
    """The document of a seed, or its first line where each is one; None where it is no JSON."""
    text = seed.content.decode("utf-8", "replace")
    for part, is_line in ((text, False), (text.strip().partition("\n")[0], True)):
        try:
            return json.loads(part), is_line
        except ValueError:
            continue
    return None


def in_objects(seed: Seed, chance: random.Random, size: int) -> bytes:
    """The seed as a container wrote it: a line, or many lines, within an object of JSON, changed in another way."""
    text = seed.content.decode("utf-8", "replace")
    lines = text.splitlines() or [""]
    if chance.random() < 0.3:
        lines = ["\n".join((lines * chance.choice((1, 30, 300)))[:3000])[:100_000]] * 3
    name, beside = chance.choice((("log", "stream"), ("message", "levelname"), ("MESSAGE", "_PID"), ("msg", "level")))
    records = (
        {name: f"{line}\n", beside: "stdout", "time": f"2026-01-02T03:04:{k % 60:02}.123456789Z"}
        for k, line in enumerate(lines * (1 + 4 // len(lines)))
    )
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    return chance.choice(CHANGED)(Seed(seed.name, content), chance, size)


def in_other_words(seed: Seed, chance: random.Random, size: int) -> bytes:
    """The seed with words of training in another language, most often with decimal commas, changed in another way."""
    words = chance.choice(OTHER_WORDS)
    text = seed.content.decode("utf-8", "replace")
    text = re.sub(r"[A-Za-z]+", lambda found: words.get(found[0].lower().removesuffix("s"), found[0]), text)
    if chance.random() < 0.7:
        text = re.sub(r"(\d)\.(\d)", r"\1,\2", text)
    return chance.choice(CHANGED)(Seed(seed.name, text.encode()), chance, size)


def _containers(value: Any) -> Iterator[Any]:
    """Objects and lists within a document, with itself."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from _containers(each)


Way = Callable[[Seed, random.Random, int], bytes]
CHANGED: tuple[Way, ...] = (
    honest, one_line, token_repeated, foreign_repeated, cut_lines, counted, all_counted, shuffled, huge_numbers, damaged,
    long_label, long_value, long_key,
)  # fmt: skip
_ENGLISH = ("epoch", "step", "iteration", "iter", "loss", "time", "batch", "accuracy", "second", "total")
OTHER_WORDS = [
    dict(zip(_ENGLISH, words.split(), strict=True))
    for words in (
        "Epoche Schritt Iteration Iteration Verlust Dauer Batch Genauigkeit Sekunden Gesamtzeit",
        "轮 步 迭代次数 迭代次数 损失 耗时 批次 准确率 秒 总耗时",
        "эпоха шаг итерация итерация потери время батч точность секунд всего",
        "エポック ステップ 反復 反復 損失 時間 バッチ 精度 秒 合計",
    )
]
WAYS: dict[Way, int] = {  # how often each is tried on a seed
    one_line: 1, token_repeated: 2, foreign_repeated: 3, cut_lines: 1, counted: 2, all_counted: 1, shuffled: 1,
    huge_numbers: 1, damaged: 2, recoded: 1, long_label: 3, long_value: 3, long_key: 2, in_objects: 2, in_other_words: 2,
}  # fmt: skip


class Attack(NamedTuple):
    format: str
    way: str
    number: int
    name: str  # of the file
    make: Callable[[int], bytes]  # bytes of a file of about this size


def attacks(format: object) -> Iterator[Attack]:
    """Attacks on a format; those of `honest` come first, one for each seed."""
    name = name_of(format)  # type: ignore[arg-type]
    for place, seed in enumerate(seeds(format)):
        for way, count in {honest: 1, **WAYS}.items():
            if way is long_key and not _json_of(seed):
                continue
            for number in range(count):
                known = f"{name} {place} {way.__name__} {number}"
                yield Attack(
                    name, way.__name__, 100 * place + number, seed.name,
                    lambda size, way=way, seed=seed, known=known: way(seed, random.Random(known), size)[: size + 4096],  # type: ignore[misc]
                )  # fmt: skip


class Cost(NamedTuple):
    seconds: float  # of processor time
    peak_bytes: int  # held by the process, beyond what it began with
    rows: int


def cost_of(attack: Attack, size: int, loaded: formats.Formats) -> Cost | None:
    """What reading costs, in a process of its own; None where the kernel had to end it."""
    content = attack.make(size)
    into, out = os.pipe()
    child = os.fork()
    if not child:
        os.close(into)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        begin, before = time.process_time(), _resident_bytes()
        rows = Rows("f", lambda *_: None)
        try:
            read_rows(Source(attack.name, io.BytesIO(content), len(content), 0), loaded, rows)
            rows.flush()
            count = sum(rows.rows_by_format.values())
        except BaseException as error:
            sys.stderr.write(f"{attack.format} {attack.way} {attack.number}: {error!r}\n")
            count = -1
        os.write(out, f"{time.process_time() - begin} {count} {before}".encode())
        os._exit(0)
    os.close(out)
    with open(into, "rb") as pipe:
        said = pipe.read().split()
    _, _, usage = os.wait4(child, 0)
    return Cost(float(said[0]), (usage.ru_maxrss << 10) - int(said[2]), int(said[1])) if said else None


def _resident_bytes() -> int:
    """What this process has in memory; a fork begins with all that the process before it had."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main(size: int, path: Path, names: list[str]) -> None:
    loaded = formats.load()
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        for format in sorted({*loaded.of_lines, *loaded.of_files}, key=name_of):
            if names and name_of(format) not in names:
                continue
            for attack in attacks(format):
                cost = cost_of(attack, size, loaded)
                out.writerow([*attack[:4], *(cost or ("killed", "", ""))])
                file.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
