"""Random input to parsers, presets, sidecars, commit records and the command line: nothing but a sentence comes out of it.

An input is known by a seed and its number: the same two give the same input, in the suite and at night.
"""

import contextlib
import io
import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import random_inputs
from asking import answer
from logs import megatron_line
from scalelens.cli import main
from scalelens.errors import UserError
from scalelens.folders import user_module
from scalelens.ingestion.formats import Formats, user_format
from scalelens.ingestion.identify import identify
from scalelens.ingestion.ingest import ingest
from scalelens.runs.sidecar import sidecar_of
from scalelens.warehouse.check import check
from scalelens.warehouse.records import record_name
from test_robustness import DEFECT, read

LIMIT_S = 10  # of processor time for one input
LIMIT_BYTES = 400 << 20  # that one input may add to the most memory held


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fails when what it encloses takes too much processor time or memory."""
    began_s, held = time.process_time(), peak_bytes()
    yield
    assert time.process_time() - began_s < LIMIT_S
    assert peak_bytes() - held < LIMIT_BYTES


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def parsers(chance: random.Random, folder: Path) -> None:
    no_defect(random_inputs.content(chance))


def no_defect(content: bytes, formats: Formats | None = None) -> None:
    """Reads a file; no format may fail at it."""
    result = read(content, looked_at=("problems",), formats=formats)
    found = [reason for reason in result.problems if DEFECT.match(reason)]
    assert not found, found


def presets(chance: random.Random, folder: Path) -> None:
    """The preset that `identify` writes for a file reads such files, and others; so does one that a user altered."""
    path, preset = folder / "table.txt", folder / "preset.py"
    text = random_inputs.table(chance) if chance.random() < 0.5 else random_inputs.log(chance)
    content = text.encode(errors="surrogatepass")
    path.write_bytes(content)
    preset.unlink(missing_ok=True)
    try:
        identify(path, preset=preset)
    except UserError:
        return  # not a file for a preset
    format = user_format(user_module(preset, "format"), preset)
    if chance.random() < 0.5:
        vars(format)["COLUMNS"] = random_inputs.columns(chance)
    for one in (content, random_inputs.table(chance).encode(errors="surrogatepass"), random_inputs.content(chance)):
        with contextlib.suppress(UserError):  # a role that does not exist, or has no unit
            no_defect(one, Formats([], [format]))


def sidecars(chance: random.Random, folder: Path) -> None:
    sidecar, _ = sidecar_of("study/scalelens.toml", random_inputs.sidecar(chance))
    sidecar.statements_on("study/n8/job.log")
    sidecar.run_of("study/n8/job.log")


def records(chance: random.Random, folder: Path) -> None:
    """A commit record with one value replaced, under a name that fits it, so that its digest says nothing."""
    home = a_warehouse(folder)
    (record,) = (home / "_log").iterdir()
    original = record.read_bytes()
    content = json.loads(original)
    container, key = chance.choice(places(content))
    container[key] = random_inputs.value(chance)
    altered = json.dumps(content).encode()
    other = record.with_name(record_name(1, altered))
    record.unlink()
    other.write_bytes(altered)
    try:
        check(home)
        answer(home, "SELECT * FROM runs").fetchall()
    except UserError:
        pass  # one sentence, as for any record that cannot be used
    finally:
        other.unlink()
        record.write_bytes(original)


def a_warehouse(folder: Path) -> Path:
    """A warehouse of one log, made once."""
    home = folder / "warehouse"
    if not home.exists():
        (folder / "job.log").write_text("".join(megatron_line(step) for step in range(1, 6)))
        ingest([folder / "job.log"], home)
    return home


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def command_lines(chance: random.Random, folder: Path) -> None:
    arguments, said = random_inputs.command_line(chance), io.StringIO()
    (folder / "here").mkdir(exist_ok=True)
    with (
        contextlib.chdir(folder / "here"),
        mock.patch.object(sys, "argv", ["scalelens", *arguments]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as ended:
            assert ended.code in (0, 1, 2), ended.code
    assert "Traceback" not in said.getvalue(), said.getvalue()


Trial = Callable[[random.Random, Path], None]
# Of a hundred inputs, how many are of each kind: those that cost least most often.
SHARES: dict[Trial, int] = {parsers: 55, presets: 10, sidecars: 29, records: 3, command_lines: 3}
TRIALS = [trial for trial, share in SHARES.items() for _ in range(share)]


def trial_of(number: int) -> Trial:
    return TRIALS[number % len(TRIALS)]


def try_input(seed: int, number: int, folder: Path) -> None:
    """Makes an input and tries it.  Raises whatever it brings to light."""
    for variable in ("SCALELENS_WAREHOUSE", "SCALELENS_FORMATS", "SCALELENS_QUERIES", "SCALELENS_CHARTS"):
        os.environ.pop(variable, None)
    with bounded():
        trial_of(number)(random.Random(f"{seed} {number}"), folder)
