"""Attacks on every kind of file that `verify` takes, counted by kind of file and kind of change.

`python tests/attacks_on_verify.py 20 out.csv` makes the answer to each query and the figure of each chart from the
fixtures, attacks each of them in each way so many times, and writes how many attacks there were and how many were found.
"""

import csv
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conftest import FIXTURES, ROOT
from scalelens.charts.load import load as load_charts
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load as load_queries
from scalelens.question.question import Question
from scalelens.report.plotting import plot
from scalelens.report.provenance_in_files import provenance_in, without_provenance
from scalelens.report.remaking import remade
from scalelens.report.verification import compared
from scalelens.report.written import write
from test_mlperf import scores_alone

BINARY = (".pdf", ".png")  # the attack may hit what they say of their version
TOKEN = {
    ".json": rb'-?\d[\d.eE+-]*|"(?:[^"\\]|\\.)*"', ".md": rb"(?<=\| )[^|\n]+(?= \|)", ".tex": rb"(?<=& )[^&\n\\]+(?= [&\\])",
}  # fmt: skip
BYTES = b'0123456789.-+eEabz "&|\\{}<>\n\t,:\0\xff'
NOT_CERTIFIED = ("different", "cannot")


class Attacked(NamedTuple):
    """A file, and what it is when made again."""

    path: Path
    content: bytes
    made: Any

    def verdict(self, content: bytes) -> str:
        try:
            return compared(provenance_in(content, self.path), content, self.made).verdict
        except UserError:
            return "cannot"

    def is_found(self, changed: bytes) -> bool:
        """Whether `verify` does not certify the file any more."""
        found = self.verdict(changed)
        return found in NOT_CERTIFIED or (found == "values" and self.path.suffix in BINARY)


def attacked(path: Path, root: Path) -> Attacked:
    content = path.read_bytes()
    return Attacked(path, content, remade(path, provenance_in(content, path), root))


def shown(file: Attacked) -> list[range]:
    """Where the bytes are that people read: all but the provenance."""
    text = file.content.decode("latin-1")
    if file.path.suffix in BINARY:
        return [range(len(text))]
    if file.path.suffix == ".json":  # from a key that follows it, or up to it
        where = text.index('"provenance": {') if '"provenance": {' in text else text.index('"usermeta": {')
        return [range(text.index('"rows": ['), text.index('"doubts": ['))] if "doubts" in text else [range(where)]
    bare = without_provenance(text)
    start = next(k for k, (a, b) in enumerate(zip(text, bare + "\0", strict=False)) if a != b)
    return [range(start), range(start + len(text) - len(bare), len(text))]


def tokens(file: Attacked) -> list[tuple[int, int]]:
    pattern = TOKEN.get(file.path.suffix, rb"[\d.]{2,12}")
    if "numbers" in file.made.provenance:
        pattern = rb"(?<=\}\{)[^{}\n]+(?=\})"
    return [
        found.span()
        for part in shown(file)
        for found in re.compile(pattern).finditer(file.content, part.start, part.stop)
    ]


def _byte(content: bytes, dice: random.Random, a: int, b: int) -> tuple[int, bytes]:
    return dice.randrange(a, b), bytes([dice.choice(BYTES)])


def of_bytes(kind: str, content: bytes, dice: random.Random, spans: list[tuple[int, int]]) -> bytes:
    """Bytes of values changed, removed and added; values swapped, moved, emptied and doubled."""
    (a, b), (c, d) = sorted(dice.sample(spans, 2))
    place, byte = _byte(content, dice, a, b)
    return {
        "byte": content[:place] + byte + content[place + 1 :],
        "removed": content[:place] + content[place + 1 :],
        "added": content[:place] + byte + content[place:],
        "swapped": content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:],
        "moved": content[:a] + content[b:c] + content[a:b] + content[c:],
        "emptied": content[:a] + content[b:],
        "doubled": content[:c] + content[a:b] + content[c:],
    }[kind]


OF_BYTES = ("byte", "removed", "added", "swapped", "moved", "emptied", "doubled")
OF_ROWS = ("row swapped", "row removed", "row doubled", "cells swapped")


def _rows_of_json(told: Any) -> list[Any]:
    """The rows of an envelope, or the largest list of values of a specification."""
    if "rows" in told:
        return told["rows"]  # type: ignore[no-any-return]
    found: list[list[Any]] = []

    def look(inner: Any) -> None:
        if isinstance(inner, dict):
            if isinstance(inner.get("values"), list):
                found.append(inner["values"])
            for value in inner.values():
                look(value)
        if isinstance(inner, list):
            for value in inner:
                look(value)

    look({key: value for key, value in told.items() if key != "usermeta"})
    return max(found, key=len, default=[])


def of_rows(kind: str, file: Attacked, dice: random.Random) -> bytes | None:
    """Rows swapped, removed and doubled, and cells of one column swapped between two rows; None where it has no two."""
    if file.path.suffix == ".json":
        told = json.loads(file.content)
        rows = _rows_of_json(told)
        if len(rows) < 2:
            return None
        a, b = sorted(dice.sample(range(len(rows)), 2))
        if kind == "cells swapped":
            if not isinstance(rows[a], list | dict) or not isinstance(rows[b], type(rows[a])):
                return None
            columns = range(len(rows[a])) if isinstance(rows[a], list) else sorted({*rows[a]} & {*rows[b]})
            if not columns:
                return None
            column = dice.choice(list(columns))
            rows[a][column], rows[b][column] = rows[b][column], rows[a][column]
        else:
            _rows(kind, rows, a, b)
        return json.dumps(told).encode()
    lines = file.content.splitlines(keepends=True)
    body = [k for k, line in enumerate(lines) if line.startswith(b"| ") or line.endswith(b"\\\\\n")]
    if file.path.suffix not in (".md", ".tex") or len(body) < 2:
        return None
    a, b = sorted(dice.sample(body, 2))
    if kind == "cells swapped":
        cut = b" | " if file.path.suffix == ".md" else b" & "
        one, other = lines[a].split(cut), lines[b].split(cut)
        column = dice.randrange(min(len(one), len(other)))
        one[column], other[column] = other[column], one[column]
        lines[a], lines[b] = cut.join(one), cut.join(other)
    else:
        _rows(kind, lines, a, b)
    return b"".join(lines)


def _rows(kind: str, rows: list[Any], a: int, b: int) -> None:
    if kind == "row swapped":
        rows[a], rows[b] = rows[b], rows[a]
    elif kind == "row removed":
        del rows[a]
    else:
        rows.insert(b, rows[a])


def attacks(file: Attacked, number: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """So many attacks in each way that change what a file says, each with its kind."""
    dice, spans = random.Random(seed), tokens(file)
    for kind in (*OF_BYTES, *OF_ROWS):
        left, tries = number, 0
        while left and tries < 20 * number:
            tries += 1
            if kind in OF_ROWS:
                changed = of_rows(kind, file, dice)
            else:
                changed = of_bytes(kind, file.content, dice, spans) if len(spans) > 1 else None
            if changed is None:
                break
            if not means_the_same(file, changed):
                left -= 1
                yield kind, changed


def means_the_same(file: Attacked, changed: bytes) -> bool:
    """Whether an attack hit nothing: the same bytes, JSON that Python reads as the same, or rows in another order."""
    if changed == file.content:
        return True
    if file.path.suffix in (".md", ".tex"):
        return sorted(changed.splitlines()) == sorted(file.content.splitlines()) and rows_only(file, changed)
    if file.path.suffix == ".json":
        try:
            return as_read(changed) == as_read(file.content)
        except (ValueError, AttributeError):
            return False
    return False


def as_read(content: bytes) -> Any:
    """JSON with its numbers as they are written, and rows in any order."""
    told = json.loads(content, parse_float="#{}".format, parse_int="#{}".format)
    return {**told, "rows": sorted(json.dumps(row, sort_keys=True) for row in told.get("rows", []))}


def rows_only(file: Attacked, changed: bytes) -> bool:
    """Whether only lines between the head and the foot of the table have moved."""
    lines = file.content.splitlines()
    head, foot = (b"\\midrule", b"\\bottomrule") if file.path.suffix == ".tex" else (lines[1], b"")
    body = range(lines.index(head) + 1, lines.index(foot))
    pairs = enumerate(zip(changed.splitlines(), lines, strict=True))
    return all(k in body for k, (now, was) in pairs if was != now)


# Every output


def fixtures_of_all(home: Path) -> Path:
    """A warehouse with logs, traces, power and energy, so that most queries have an answer."""
    kinds = ("kineto", "jpwr_csv", "nccl_tests", "rocm_smi", "sacct", "memory_snapshot", "flight_recorder")
    folders = [FIXTURES / kind for kind in kinds if (FIXTURES / kind).is_dir()]
    ingest([ROOT / "src" / "scalelens" / "demo" / "logs", *folders], home / "w", jobs=1)
    return home / "w"


def outputs(root: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Each kind of file that says where it comes from, with its kind; those without a row are left out."""
    formats = (
        ("envelope", ".json", False),
        ("markdown", ".md", False),
        ("latex", ".tex", False),
        ("latex", ".tex", True),
    )
    for number, name in enumerate(sorted(load_queries())):
        format, suffix, at_a_glance = formats[number % len(formats)]
        path = folder / f"{name}{suffix}"
        try:
            text, answer, _ = write(root, Question(name), format, at_a_glance)
        except UserError:
            continue
        if 0 < answer.table.num_rows <= 300:
            path.write_text(text)
            yield format + " at a glance" * at_a_glance, path
    for statement in (
        "SELECT * FROM runs LIMIT 9",
        "SELECT step, step_s, [1, 2] AS n, 'x & y' AS s FROM steps LIMIT 40",
    ):
        for format, suffix, _ in formats[:3]:
            path = folder / f"sql{len(statement)}{suffix}"
            path.write_text(write(root, Question(sql=f"{statement}"), format, False)[0])
            yield f"{format} of SQL", path
    yield from figures(root, folder)


def figures(root: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    from scalelens.report.number_macros import numbers_text

    for number, name in enumerate(sorted(load_charts())):
        for suffix in (".json", (".svg", ".pdf", ".png", ".html")[number % 4]):
            path = folder / f"chart-{name}{suffix}"
            try:
                plot(root, name, path)
            except UserError:
                break
            yield f"figure {suffix}", path
    selectors = {"a": "SELECT min(step_s) FROM batch_stats()", "b": "SELECT max(step_s) FROM batch_stats()",
                 "c": "SELECT count(*) FROM runs"}  # fmt: skip
    (folder / "numbers.tex").write_text(numbers_text(root, selectors, ())[0])
    yield "numbers", folder / "numbers.tex"


def results_and_a_sweep(home: Path) -> Path:
    """A warehouse with what the other one lacks: scores without steps, and more runs of one size than a figure has bars."""
    scores_alone(home / "mlperf", {8: 41.5, 16: 23.25, 32: 12.125})
    log = (ROOT / "src" / "scalelens" / "demo" / "logs" / "gpt-r1" / "rank0.log").read_text()
    names = [
        f"{schedule}_{way}_{seed}" for schedule in ("gpipe", "zb", "ib") for way in "abcdef" for seed in (11, 22, 43)
    ]
    for number, name in enumerate(names):
        slower = 1 + number // 3 / 9 + number % 3 / 400
        times = re.sub(r'(?<="step_s": )[\d.]+', lambda found, by=slower: f"{float(found[0]) * by:.6f}", log)  # type: ignore[misc]
        (home / "sweep" / name).mkdir(parents=True)
        (home / "sweep" / name / "rank0.log").write_text(times.replace('"seed": 1234', f'"seed": {name[-2:]}'))
    ingest([home / "mlperf", home / "sweep"], home / "w2", jobs=1)
    return home / "w2"


def outputs_of_sweep(root: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Times to train, and throughputs of runs that share bars, in each kind of file."""
    for name in ("time_to_train", "throughput"):
        for format, suffix in (("envelope", ".json"), ("markdown", ".md"), ("latex", ".tex")):
            path = folder / f"sweep-{name}{suffix}"
            path.write_text(write(root, Question(name), format, False)[0])
            yield format, path
        for suffix in (".json", ".svg", ".pdf", ".png", ".html"):
            path = folder / f"sweep-chart-{name}{suffix}"
            plot(root, name, path)
            yield f"figure {suffix}", path


def count(number: int, told: Callable[[str], None] = print) -> Counter[tuple[str, str, bool]]:
    """How many attacks there were on each kind of file, in each way, and whether they were found."""
    counted: Counter[tuple[str, str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for make, of in ((fixtures_of_all, outputs), (results_and_a_sweep, outputs_of_sweep)):
            root = make(Path(folder))
            for kind, path in of(root, Path(folder)):
                count_attacks_on(attacked(path, root), kind, number, counted, told)
    return counted


def count_attacks_on(
    file: Attacked, kind: str, number: int, counted: Counter[tuple[str, str, bool]], told: Callable[[str], None]
) -> None:
    if file.verdict(file.content) != "same":
        told(f"{file.path.name} is not the same when it is made again")
        counted[kind, "none", False] += 1
        return
    for way, changed in attacks(file, number):
        is_found = file.is_found(changed)
        counted[kind, way, is_found] += 1
        if not is_found:
            told(f"{file.path.name}: {way} was not found: {_difference(file.content, changed)}")


def _difference(was: bytes, now: bytes) -> str:
    place = next((k for k, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), 0)
    return f"{was[place - 30 : place + 30]!r} became {now[place - 30 : place + 30]!r}"


if __name__ == "__main__":
    with open(sys.argv[2], "w", newline="") as out:
        csv.writer(out).writerows([*key, value] for key, value in sorted(count(int(sys.argv[1])).items()))
