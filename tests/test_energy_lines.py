"""Energies that lines of text state, and lines that only seem to."""

import pytest

from scalelens.parsers import energy_lines
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.tabular.energy_statements import statements


@pytest.mark.parametrize(
    ("text", "joules", "scope", "device"),
    [
        ("Total energy consumed: 12.5 kWh", 12.5 * 3.6e6, "total", None),
        ("2026-11-03 10:20:30,123 - INFO - Consumed 0.5 Wh", 1800.0, None, None),
        ("INFO:root:GPU 0: Energy: 5.5 J", 5.5, "gpu", "gpu0"),
        ("Energy used: 2 KWh", 7.2e6, None, None),
        ("RAPL package-1: 123 J", 123.0, "cpu", "package1"),
        ("GPU 1 energy = 1,234.5 J (0.343 Wh)", 1234.5, "gpu", "gpu1"),
        ("CPU Energy (kWh),0.00025", 900.0, "cpu", None),
        ("| DRAM energy | 35.25 J |", 35.25, "memory", None),
        ("Package energy (uJ): 2500000", 2.5, "cpu", None),
        ("0.0025 kWh of electricity used since the beginning.", 9000.0, None, None),
        ("The energy consumed was :  165 m J;", 0.165, None, None),
        ("Energy used in training = 0.5 kilowatt-hours", 1.8e6, None, None),
    ],
)
def test_stated_energy(text: str, joules: float, scope: str | None, device: str | None) -> None:
    (found,) = statements(text)
    assert (found.joules, found.scope, found.device) == (pytest.approx(joules), scope, device)
    assert found.is_sure


@pytest.mark.parametrize(
    "text",
    [
        "Energy per token: 0.5 J",
        "Mean GPU energy: 5 J",
        "Kinetic energy: 5 J",
        "binding energy: 215 kJ/mol",
        "Energy saved: 12 J",
        "the CPU limit is 5 W",
        "For instance, training reportedly consumed 1,287 megawatt-hours",
        "The A100 consumed 400 Wh",
        "Note that this is a 3.6 kWh charger",
        "energy: 12 J/s",
        "Energy: -5 J",
        '"Total energy consumed: 5 J"',
    ],
)
def test_no_stated_energy(text: str) -> None:
    assert not [*statements(text)]


def test_thousands_or_fraction_in_doubt() -> None:
    (found,) = statements("GPU energy: 1,234 J")
    assert found.joules is None


def _energies(*lines: str) -> list[tuple[str | None, float]]:
    written: list[dict[str, object]] = []
    rows = Rows()
    reader = energy_lines.Reader(rows)
    rows.add = lambda table, line, **values: written.append(values)  # type: ignore[method-assign]
    for number, text in enumerate(lines, 1):
        reader.take(Line(text, number))
    reader.conclude()
    return [(row["scope"], row["energy_j"]) for row in written]  # type: ignore[misc]


def test_bare_energy_counts_only_beside_one_that_was_consumed() -> None:
    assert _energies("Energy: 5 J") == []
    assert _energies("Energy: 5 J", "CPU energy: 3 J") == [("total", 5.0), ("cpu", 3.0)]
    assert _energies("Energy: 5 J, mean power: 2 W") == [(None, 5.0)]


def test_the_same_number_twice_in_a_line() -> None:
    assert _energies("GPU energy: 5 J, energy: 5 J") == [("gpu", 5.0), ("total", 5.0)]


def test_cumulative_energies_count_once_for_each_beginning() -> None:
    lines = [f"cumulative GPU energy: {joules} J" for joules in (10, 20, 30, 5, 15)]
    assert _energies(*lines) == [("gpu", 30.0), ("gpu", 15.0)]


def test_lines_of_another_format_are_left_to_it() -> None:
    rows = Rows()
    rows.taken["perf_energy"] = 1
    assert not energy_lines.Reader(rows).take(Line("CPU energy: 3 J", 1))
