"""Files that repeat the power readings of another do not count twice; readings of other devices always count."""

import random
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from asking import answer
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.power_windows import MOST_WINDOWS, Windows

START = datetime(2026, 3, 4, 5, 6, 7, 250_000)
DEVICES = 3
Sweep = tuple[datetime, list[float]]


def sweeps(seed: int, seconds: int = 400, start: datetime = START, cap: float | None = None) -> list[Sweep]:
    """Readings of the devices of a node that train and save by turns: all do the same, and each is a little different."""
    chance, at, found = random.Random(seed), start, []
    chips = [chance.uniform(0.97, 1.03) for _ in range(DEVICES)]
    while at < start + timedelta(seconds=seconds):
        elapsed = (at - start).total_seconds()
        load = 90 if elapsed < 12 or elapsed % 47 < 5 else 380 + 20 * (elapsed % 31 < 13)
        watts = [load * chip + chance.gauss(0, 9) for chip in chips]
        found.append((at, [round(min(cap or 1000, w), 2) for w in watts]))
        at += timedelta(milliseconds=100 + chance.randrange(4))
    return found


def as_tool(readings: list[Sweep]) -> str:
    """As nvidia-smi writes it, each device some milliseconds after the one before."""
    lines = ["timestamp, index, power.draw [W]"]
    for at, watts in readings:
        for device, power_w in enumerate(watts):
            stamp = at + timedelta(milliseconds=3 * device)
            lines.append(f"{stamp:%Y/%m/%d %H:%M:%S}.{stamp.microsecond // 1000:03}, {device}, {power_w:.2f} W")
    return "\n".join([*lines, ""])


def as_table(rows: list[tuple[datetime, float]], name: str = "power_w") -> str:
    return "\n".join(
        [f"datetime,{name}", *(f"{at.isoformat(sep=' ', timespec='milliseconds')},{w}" for at, w in rows), ""]
    )


def summed(readings: list[Sweep]) -> list[tuple[datetime, float]]:
    return [(at, sum(watts)) for at, watts in readings]


def by_second(readings: list[Sweep]) -> list[tuple[datetime, float]]:
    """Sums as means over seconds, each at its beginning."""
    seconds: dict[datetime, list[float]] = {}
    for at, watts in readings:
        seconds.setdefault(at.replace(microsecond=0), []).append(sum(watts))
    return [(second, round(sum(all_w) / len(all_w), 3)) for second, all_w in seconds.items()]


def smoothed(readings: list[Sweep]) -> list[tuple[datetime, float]]:
    rows = summed(readings)
    return [(at, (before + w) / 2) for (_, before), (at, w) in pairwise(rows)]


def one(readings: list[Sweep], device: int) -> list[tuple[datetime, float]]:
    return [(at, watts[device]) for at, watts in readings]


OWN = sweeps(1)
COPIES = {
    "sums": as_table(summed(OWN)),
    "means over seconds": as_table(by_second(OWN)),
    "means of two": as_table(smoothed(OWN)),
    "sums without the start": as_table(summed(OWN)[80:]),
    "one device alone": as_table(one(OWN, 1)),
    "the same in other words": as_tool(OWN).replace("power.draw [W]", "power.draw.average [W]").replace(" W", ""),
}
OTHERS = {
    "another node at the same time": as_table(summed(sweeps(2))),
    "the same work a minute later": as_table(summed(sweeps(1, start=START + timedelta(seconds=61)))),
    "another device at the same time": as_table(one(sweeps(3), 0)),
    "a power that the tool never read": as_table([(at, 40 + sum(watts) / 10) for at, watts in OWN]),
    "a power that nothing changes": as_table([(at, 64.0) for at, _ in OWN]),
}


def energy(folder: Path, home: Path) -> tuple[int, float, list[str]]:
    """Runs, their joules together, and the files whose readings do not count."""
    ingest([folder], home)
    (joules,) = answer(home, "SELECT sum(energy_j) FROM energy_integrated() WHERE part_of IS NULL").fetchall()[0]
    copies = answer(
        home, "SELECT f.path FROM problems AS p JOIN files AS f USING (file_id) WHERE reason LIKE '%do not count%'"
    ).fetchall()
    (runs,) = answer(home, "SELECT count(*) FROM runs").fetchall()[0]
    return runs, joules, [Path(path).name for (path,) in copies]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    """A folder with the readings of the tool alone, its warehouse, and its joules."""
    folder, home = tmp_path_factory.mktemp("logs"), tmp_path_factory.mktemp("alone") / "home"
    (folder / "processed").mkdir()
    (folder / "node_power.csv").write_text(as_tool(OWN))
    runs, joules, copies = energy(folder, home)
    assert runs == 1 and not copies
    return folder, home, joules


@pytest.mark.parametrize("what", COPIES)
def test_a_copy_does_not_count(what: str, alone: tuple[Path, Path, float], tmp_path: Path) -> None:
    folder, home, joules = alone
    copy = folder / "processed" / "out.csv"
    copy.write_text(COPIES[what])
    try:
        assert energy(folder, tmp_path / "after") == (1, joules, ["out.csv"])
        shutil.copytree(home, tmp_path / "before")
        assert energy(folder, tmp_path / "before") == (1, joules, ["out.csv"])  # found when it comes later, too
    finally:
        copy.unlink()


@pytest.mark.parametrize("what", OTHERS)
def test_what_another_device_took_counts(what: str, alone: tuple[Path, Path, float], tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "other").mkdir(parents=True)
    (folder / "node_power.csv").write_text(as_tool(OWN))
    (folder / "other" / "more_power.csv").write_text(OTHERS[what])
    runs, joules, copies = energy(folder, tmp_path / "home")
    assert not copies
    assert joules > 1.01 * alone[2]
    assert runs == 2


def test_devices_at_their_limit_are_not_copies(tmp_path: Path) -> None:
    """Devices that all draw what they may differ by little: the same power, and each counts."""
    for device in range(DEVICES):
        readings = one(sweeps(7 + device, cap=350.0), device)
        (tmp_path / f"device{device}_power.csv").write_text(as_table(readings))
    assert energy(tmp_path, tmp_path / "home")[2] == []


def test_two_copies_are_of_the_original(tmp_path: Path) -> None:
    (tmp_path / "a_sums.csv").write_text(COPIES["sums"])
    (tmp_path / "b_seconds.csv").write_text(COPIES["means over seconds"])
    (tmp_path / "node_power.csv").write_text(as_tool(OWN))
    ingest([tmp_path], tmp_path / "home")
    named = answer(tmp_path / "home", "SELECT text FROM problems WHERE reason LIKE '%do not count%'").fetchall()
    assert named == [("node_power.csv",), ("node_power.csv",)]


def readings_of(n: int, order: random.Random | None = None) -> Iterator[tuple[tuple[str, str, str], int, float]]:
    times = [10**18 + k * 700_000_000 for k in range(n)]
    if order:
        order.shuffle(times)
    for ns in times:
        yield ("", "gpu", "0"), ns, 100 + ns // 10**9 % 7


@pytest.mark.parametrize("n", [1, 2, 30, 500, 40_000])
def test_windows_hold_every_reading_in_any_order(n: int) -> None:
    in_order, shuffled = Windows(), Windows()
    in_order.add(readings_of(n))
    shuffled.add(readings_of(n, random.Random(n)))
    assert in_order == shuffled
    assert sum(in_order.counts[0]) == n and len(in_order.counts[0]) <= MOST_WINDOWS
    assert sum(in_order.sums[0]) == round(1000 * sum(power_w for _, _, power_w in readings_of(n)))
    wide = in_order.doubled()
    assert sum(wide.counts[0]) == n and wide.first == in_order.first // 2


def test_windows_of_too_many_sensors_are_given_up() -> None:
    windows = Windows()
    windows.add((("", "gpu", str(device)), 10**18, 1.0) for device in range(1000))
    assert windows.is_given_up and not windows.sums
    windows.add([(("", "gpu", "0"), 10**18, 1.0)])
    assert not windows.sums


def test_windows_hold_no_reading_that_no_sensor_gives() -> None:
    windows = Windows()
    windows.add([(("", "gpu", "0"), 10**18, power_w) for power_w in (-1.0, 1e300, 250.0)])
    assert (windows.sums, windows.counts) == ([[250_000]], [[1]])
