"""Lines that nobody wrote: of what is read of them nothing is wrong, and most is read."""

import contextlib
import statistics
from pathlib import Path

import pytest

import drawn_lines
from scalelens.ingestion.formats import load
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source

_NEAR = 0.02
_READ = 0.95  # of the logs


class _Times(Rows):
    """The times of steps and of epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[float] = []
        self.epochs: list[float] = []

    def put(self, table: str, line: int, row: dict[str, object]) -> None:
        kept = {"steps": (self.steps, "step_s"), "phases": (self.epochs, "span_s")}.get(table)
        if kept and isinstance(seconds := row.get(kept[1]), float):
            kept[0].append(seconds)
        super().put(table, line, row)


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1060), marks=pytest.mark.slow)], ids=["day", "night"]
)
def test_of_drawn_lines_most_are_read_and_none_wrong(seeds: range, tmp_path: Path) -> None:
    formats, wrong, read = load(), [], 0
    for seed in seeds:
        drawn = drawn_lines.drawn(seed)
        path = tmp_path / f"{seed}.log"
        path.write_text(drawn.text)
        times = _Times()
        with contextlib.closing(open_source(path)) as source:
            read_rows(source, formats, times)
        told = times.epochs if drawn.of_epochs else times.steps
        other = times.steps if drawn.of_epochs else []
        near = bool(told) and abs(statistics.median(told) / drawn.typical_s - 1) <= _NEAR
        read += near
        if other or (told and not near):
            wrong.append((seed, drawn.wording, statistics.median(told or other), drawn.typical_s))
    assert not wrong
    assert read >= _READ * len(seeds)
