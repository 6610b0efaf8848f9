"""Energy against simulations: windows and counters of known energy, sampled signals with outages and changed clocks."""

import io
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from conftest import as_dicts
from little_warehouse import Row, Warehouse
from random_study import Values
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source

DAY_NS = 20_000 * 86_400 * 10**9
SECOND = 10**9
SECONDS = 2000  # of a simulated signal


# Windows: in sequence, with pauses, nested, overlapping; of several devices and nodes, in several files


def in_sequence(rng: np.random.Generator) -> list[tuple[float, float]]:
    edges = np.sort(rng.choice(np.arange(1, 100 * SECONDS), rng.integers(3, 12), replace=False)) / 100
    return list(pairwise(edges))


def with_pauses(rng: np.random.Generator) -> list[tuple[float, float]]:
    return in_sequence(rng)[::2]


def nested(rng: np.random.Generator) -> list[tuple[float, float]]:
    """Epochs in a run, steps in epochs."""
    epochs = with_pauses(rng) if rng.random() < 0.5 else in_sequence(rng)
    steps = [
        edge for begins, ends in epochs for edge in zip(*(np.linspace(begins, ends, 4)[k:][:3] for k in (0, 1)), strict=True)
    ]  # fmt: skip
    whole = [(epochs[0][0], epochs[-1][1])] if rng.random() < 0.5 else []
    return [*whole, *epochs, *steps]


def overlapping(rng: np.random.Generator) -> list[tuple[float, float]]:
    edges = np.sort(rng.integers(1, 100 * SECONDS, (rng.integers(2, 12), 2)), axis=1) / 100
    return [(begins, ends) for begins, ends in edges if ends - begins > 1]


KINDS = (in_sequence, with_pauses, nested, overlapping)
EXACT = KINDS[:3]


def union(windows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for begins, ends in sorted(windows):
        if joined and begins <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(ends, joined[-1][1])
        else:
            joined.append((begins, ends))
    return joined


def test_a_thousand_sets_of_windows(warehouse: Warehouse) -> None:
    rng = np.random.default_rng(7)
    rows: list[Row] = []
    truths: dict[tuple[str, str, str], tuple[float, float, bool]] = {}
    for number in range(1000):
        kind, run_id = KINDS[number % len(KINDS)], f"r{number:04}"
        relative, files = bool(rng.random() < 0.3), int(rng.integers(1, 3))
        sensors = [(f"n{k}", str(d)) for k in range(rng.integers(1, 3)) for d in range(rng.integers(1, 4))]
        for node, device in sensors:
            windows = kind(rng) or [(1.0, 9.0)]
            so_far = np.concatenate([[0.0], np.cumsum(rng.uniform(0, 700, SECONDS))])

            def took(span: tuple[float, float], so_far: Values = so_far) -> float:
                return float(np.diff(np.interp(span, np.arange(SECONDS + 1), so_far))[0])

            parts = union(windows)
            covered_s = sum(ends - begins for begins, ends in parts)
            truths[run_id, node, device] = sum(map(took, parts)), covered_s, kind in EXACT
            for line in rng.permutation(len(windows)):
                begins, ends = windows[line]
                common = {"run_id": run_id, "node": node, "device": device, "scope": "gpu", "method": "zeus"}
                file_id = f"f{number}" if relative else f"f{number}-{line % files}"
                rows.append({**common, "file_id": file_id, "line": int(line), "energy_j": took((begins, ends)),
                    "span_s": ends - begins, "ts": (0 if relative else DAY_NS) + round(ends * SECOND),
                    "ts_origin": "relative" if relative else "utc"})  # fmt: skip
    warehouse.insert("runs", [{"run_id": run_id} for run_id in sorted({key[0] for key in truths})])
    warehouse.insert("energy", rows)
    said = warehouse.ask("FROM reported_energy()")
    assert len(said) == len(truths)
    for row in said:
        truth, covered_s, exact = truths[row["run_id"], row["node"], row["device"]]
        assert row["low_j"] <= truth * (1 + 1e-9) and row["high_j"] >= truth * (1 - 1e-9), row
        assert row["span_s"] == pytest.approx(covered_s, abs=1e-5), row
        assert (row["reported_j"] is None) == (row["note"] is not None), row
        if row["reported_j"] is not None or exact:
            assert row["reported_j"] == pytest.approx(truth, rel=1e-9), row
    ranges = [row for row in said if row["reported_j"] is None]
    assert 0 < len(ranges) < 0.3 * len(said)
    totals = {row["run_id"]: row for row in warehouse.ask("FROM energy_reconciled()")}
    for run_id in totals:
        of_run = [row for row in said if row["run_id"] == run_id]
        sums = [sum(row[name] for row in of_run) for name in ("low_j", "high_j")]
        row = totals[run_id]
        assert (row["energy_j"] is None) == any(part["reported_j"] is None for part in of_run)
        if row["energy_j"] is None:
            assert [row["low_j"], row["high_j"]] == pytest.approx(sums)
        else:
            assert row["energy_j"] == pytest.approx(sums[0])


def test_a_thousand_counters_that_wrap_or_begin_anew() -> None:
    rng = np.random.default_rng(11)
    for _ in range(1000):
        range_j, wraps = float(rng.uniform(1e3, 3e5)), bool(rng.random() < 0.6)
        steps = rng.uniform(0, 0.3 * range_j, rng.integers(3, 40))
        truth = start = float(rng.uniform(0, range_j))
        shown, lost = [start], False
        for step in steps:
            truth += step
            if wraps:
                shown.append(truth % range_j)
            elif rng.random() < 0.05:  # the driver was loaded anew in the middle of the step
                shown.append(step / 2)
                lost = lost or shown[-1] < shown[-2]
            else:
                shown.append(shown[-1] + step)
        tables: dict[str, list[Row]] = {}
        rows = Rows("f", lambda table, batch, kept=tables: kept.setdefault(table, []).extend(batch.to_pylist()))
        samples = Samples(rows)
        for line, joules in enumerate(shown):
            stamp = DAY_NS + line * SECOND, "utc"
            samples.counter(line, Sensor("n", "0", "cpu"), f"{joules:.12g}", stamp, 1.0, range_j if wraps else None)
        samples.finish("energy")
        rows.flush()
        (row,) = tables["energy"]
        if wraps:
            assert (row["energy_j"], row["flag"]) == (pytest.approx(truth - start, rel=1e-9), None)
        else:
            assert row["energy_j"] <= (truth - start) * (1 + 1e-9)
            assert lost <= (row["flag"] == "reset")


# Sampled signals: jitter, samples in pairs, outages, and clocks that are changed

LOADED = formats.load()
BERLIN = ZoneInfo("Europe/Berlin")
CHANGES = (datetime(2026, 10, 25, 1, tzinfo=ZoneInfo("UTC")), datetime(2026, 3, 29, 1, tzinfo=ZoneInfo("UTC")))


def sampled_at(rng: np.random.Generator, period: float) -> tuple[Values, Values]:
    """Times of samples, and the length of the outages among them."""
    pauses = period * rng.uniform(0.8, 1.2, rng.integers(150, 400))
    outages = period * rng.choice([5.0, 20.0, 100.0, 2000.0], rng.integers(0, 4)) * rng.uniform(1, 2)
    pauses[rng.choice(len(pauses), len(outages), replace=False)] = outages
    times = np.concatenate([[0.0], np.cumsum(pauses)])
    if rng.random() < 0.3:  # in pairs, as jpwr's
        times = np.sort(np.concatenate([times, times + 1e-3 * period]))
    return times, outages


def signal(rng: np.random.Generator, times: Values, period: float) -> tuple[Values, Values]:
    """Watts at these times and joules until them, of a signal that changes in the course of many samples."""
    mean = rng.uniform(100, 600)
    waves = [
        (mean * rng.uniform(0, 0.2), 2 * np.pi / (period * rng.uniform(20, 200)), rng.uniform(0, 6)) for _ in range(4)
    ]
    watts = mean + sum(height * np.sin(pace * times + phase) for height, pace, phase in waves)
    joules = mean * times + sum(-height / pace * np.cos(pace * times + phase) for height, pace, phase in waves)
    return watts, joules


def as_read(text: str) -> list[Row]:
    """The samples that ScaleLens reads in a CSV."""
    kept: list[Row] = []

    def keep(table: str, batch: Any) -> None:
        assert table == "power", table
        stamps = batch["ts"].cast("int64").to_pylist()
        kept.extend({**row, "ts": ns} for row, ns in zip(as_dicts(batch), stamps, strict=True))

    rows = Rows("f", keep)
    read_rows(Source("power.csv", io.BytesIO(text.encode()), len(text), 0), LOADED, rows)
    rows.flush()
    return kept


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2, 3))])
def test_a_thousand_sampled_signals(warehouse: Warehouse, part: int) -> None:
    rng = np.random.default_rng(part)
    wanted: dict[str, tuple[float, float, bool, bool]] = {}
    samples: list[Row] = []
    for number in range(250):
        run_id, period, local = f"r{number}", float(rng.choice([0.1, 1.0, 10.0])), bool(rng.random() < 0.4)
        times, _ = sampled_at(rng, period)
        watts, joules = signal(rng, times, period)
        pauses = np.diff(times)
        within = pauses <= 3 * np.median(pauses[pauses > 0.1 * period])
        if local:
            times = np.round(times, 6)
            change = CHANGES[number % 2]
            # The clock changes where samples are taken, not in an outage: nobody can tell there.
            middle = times[rng.choice(np.flatnonzero(within & (pauses > 0.1 * period))[1:])] + 0.4 * period
            instants = [change + timedelta(seconds=float(time - middle)) for time in times]
            lines = [
                f"{at.astimezone(BERLIN):%Y-%m-%d %H:%M:%S.%f},{w:.6f}" for at, w in zip(instants, watts, strict=True)
            ]
            rows = as_read("timestamp,power_w\n" + "\n".join(lines) + "\n")
            assert len(rows) == len(times)
        else:
            rows = [{"ts": DAY_NS + round(time * SECOND), "ts_origin": "utc", "power_w": float(w)}
                for time, w in zip(times, watts, strict=True)]  # fmt: skip
        samples.extend({**row, "run_id": run_id, "file_id": run_id} for row in rows)
        share = pauses[within].sum() / pauses.sum()
        wanted[run_id] = float(np.diff(joules)[within].sum()), share, not within.all(), local
    warehouse.insert("runs", [{"run_id": run_id} for run_id in wanted])
    warehouse.insert("power", samples)
    rows = warehouse.ask("FROM energy_integrated()")
    assert len(rows) == len(wanted)
    for row in rows:
        truth, share, has_gap, local = wanted[row["run_id"]]
        assert row["energy_j"] - row["bridged_j"] == pytest.approx(truth, rel=0.01), row
        assert row["coverage"] == pytest.approx(share, abs=0.01), row
        assert ("gap" in row["flags"]) == has_gap, row
        assert ("clock_changed" in row["flags"]) == local, row
