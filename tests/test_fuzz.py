"""A thousand random inputs, always the same ones: nothing but a sentence comes out.  `make nightly` tries a million."""

import json
import random
from pathlib import Path

import pytest

import fuzz_in_shards
import fuzzing
from command_line import Run, one_line
from scalelens.folders import user_module
from scalelens.ingestion.identify import identify

INPUTS = 1_000
SEED = 0


@pytest.mark.parametrize("trial", fuzzing.SHARES, ids=lambda trial: trial.__name__)
def test_random_inputs(trial: fuzzing.Trial, tmp_path: Path) -> None:
    numbers = [number for number in range(INPUTS) if fuzzing.trial_of(number) is trial]
    assert len(numbers) == INPUTS * fuzzing.SHARES[trial] // 100
    for number in numbers:
        fuzzing.try_input(SEED, number, tmp_path)


# What random inputs found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["label", "9" * 400], "File name too long"),
        (["sql", "SELECT '\udcff'"], "not valid UTF-8"),
        (["query", "scaling", "runs=\udcff"], "not valid UTF-8"),
    ],
)
def test_a_command_line_that_was_found_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzzing.a_warehouse(tmp_path)
    (tmp_path / "warehouse").rename("scalelens-warehouse")
    one_line(run(*arguments), said)


def test_a_preset_names_any_column_and_carries_out_none(tmp_path: Path) -> None:
    """The name of a column may be several lines, which must not become lines of the preset."""
    names = ["x\nraise SystemExit(7)\n", "a time\nraise SystemExit(8)\n", "t\ud800", "z\0", 'q"\\', "r\r"]
    rows = ({"step": k, **dict.fromkeys(names, 0.5 * k * k)} for k in range(9))
    (tmp_path / "a.txt").write_text("\n".join(map(json.dumps, rows)))
    identify(tmp_path / "a.txt", preset=tmp_path / "mine.py")
    mine = vars(user_module(tmp_path / "mine.py", "format"))
    assert mine["HEADER"] == ("step", *names) and mine["COLUMNS"] == {"step": "step"}


# What the fuzz itself notices


def raises(chance: random.Random, folder: Path) -> None:
    raise ValueError("planted")


def loops(chance: random.Random, folder: Path) -> None:
    while True:
        pass


def hoards(chance: random.Random, folder: Path) -> None:
    bytearray(2 * fuzzing.LIMIT_BYTES)


def passes(chance: random.Random, folder: Path) -> None:
    pass


def test_each_shard_goes_on_behind_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "TRIALS", [passes, raises, loops, hoards, passes])
    monkeypatch.setattr(fuzzing, "LIMIT_S", 0.05)
    monkeypatch.setattr(fuzz_in_shards, "SHARD", 5)
    found = fuzz_in_shards.fuzzed(tmp_path / "fuzz", 10)
    said = [("raises", "planted"), ("loops", "ended its process (-27)"), ("hoards", "MemoryError")] * 2
    assert len(found) == len(said)
    for number, (trial, what) in zip((1, 2, 3, 6, 7, 8), said, strict=True):
        (file,) = (tmp_path / "fuzz").glob(f"*-{number}.txt")
        assert file.read_text().startswith(f"{trial}\n") and what in file.read_text()
    assert fuzz_in_shards.fuzzed(tmp_path / "fuzz", 10) == found  # nothing is tried again
    monkeypatch.setattr(fuzzing, "TRIALS", [passes])
    assert len(fuzz_in_shards.fuzzed(tmp_path / "fuzz", 15)) == len(found)


def test_a_night_without_findings_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "TRIALS", [passes])
    assert fuzz_in_shards.fuzzed(tmp_path / "fuzz", 3) == [] and not (tmp_path / "fuzz").exists()
