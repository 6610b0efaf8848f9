"""Tables of power and energy that people may write, over many axes, each with the joules that it holds."""

import itertools
import json
import math
import random
from collections.abc import Callable, Iterable

import pytest

from test_power import read

N = 60
START = 1_772_618_400  # seconds since 1970
RANDOM = random.Random(40)
P, Q, R = ([round(base * (0.8 + 0.4 * RANDOM.random()), 2) for _ in range(N)] for base in (300, 250, 60))


def joules(watts: Iterable[float]) -> float:
    """Of samples a second apart."""
    return math.fsum((first + second) / 2 for first, second in itertools.pairwise(watts))


COUNTED = [joules(P[: k + 1]) for k in range(N)]
E, F, G = map(joules, (P, Q, R))
TIMES: dict[str, Callable[[int], str]] = {
    "timestamp": lambda k: f"{START + k}",
    "timestamp_ms": lambda k: f"{(START + k) * 1000}",
    "time_ns": lambda k: f"{(START + k) * 10**9}",
    "elapsed_s": lambda k: f"{k}.0",
    "seconds_since_start": lambda k: f"{k}.0",
    "Time [min]": lambda k: f"{k / 60:.9f}",
    "time stamp": lambda k: f"20260304 10:00:{k:02d}",
    "datetime": lambda k: f"2026-03-04 10:00:{k:02d}.000",
    "time": lambda k: f"10:00:{k:02d}",
}
UNITS = {"power_w": 1.0, "Power (mW)": 1e3, "power_kw": 1e-3, "GPU Power [uW]": 1e6, "power_watts": 1.0}


def measured(content: str, name: str) -> dict[str | None, float]:
    """Joules by scope, of samples (trapezoids of each sensor) and of what the table counted."""
    tables = read(content, name)
    series: dict[tuple[str | None, str | None], dict[int, float]] = {}
    for row in tables.get("power", []):
        if row["power_w"] is not None:
            series.setdefault((row["scope"], row["device"]), {})[row["ns"]] = row["power_w"]
    found: dict[str | None, float] = {}
    for (scope, _), samples in series.items():
        pairs = itertools.pairwise(sorted(samples.items()))
        energy = math.fsum((before[1] + after[1]) / 2 * (after[0] - before[0]) / 1e9 for before, after in pairs)
        found[scope] = found.get(scope, 0.0) + energy
    for row in tables.get("energy", []):
        found[row["scope"]] = found.get(row["scope"], 0.0) + row["energy_j"]
    return found


def table(header: str, row: Callable[[int], str], rows: Iterable[int] = range(N)) -> str:
    return header + "\n" + "".join(f"{row(k)}\n" for k in rows)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("form", ["csv", "semicolons", "lines", "array", "columns", "lists"])
def test_times_units_and_forms(form: str, time: str, unit: str) -> None:
    scope = "gpu" if "GPU" in unit else None
    cells = [(TIMES[time](k), f"{P[k] * UNITS[unit]:.8f}") for k in range(N)]
    objects = [{time: json.loads(t) if t.replace(".", "").isdecimal() else t, unit: float(p)} for t, p in cells]
    content, name = {
        "csv": (f"{time},{unit}\n" + "".join(f"{t},{p}\n" for t, p in cells), "a.csv"),
        "semicolons": (f"{time};{unit}\n" + "".join(f"{t};{p}\n".replace(".", ",") for t, p in cells), "a.csv"),
        "lines": ("".join(json.dumps(each) + "\n" for each in objects), "a.jsonl"),
        "array": (json.dumps(objects), "a.json"),
        "columns": (json.dumps({key: [each[key] for each in objects] for key in objects[0]}), "a.json"),
        "lists": (json.dumps({"model": "bert", "samples": objects}), "a.json"),
    }[form]
    if form == "semicolons" and time == "datetime":
        content = content.replace(",000;", ".000;")
    assert measured(content, name) == {scope: pytest.approx(E, rel=1e-5)}


def at(k: int, *cells: object) -> str:
    return ",".join(map(str, (START + k, *cells)))


BESIDE = {  # a header, its rows, and the joules by scope; nothing where the table is refused
    "mean": ("timestamp,gpu0_power_w,gpu1_power_w,avg_power_w", lambda k: at(k, P[k], Q[k], R[k]), {"gpu": E + F}),
    "smoothed": ("timestamp,power_raw_w,power_smoothed_w", lambda k: at(k, P[k], P[k] + 1), {None: E}),
    "limits": ("timestamp,power_w,power_limit_w,max_power_w", lambda k: at(k, P[k], 400, 500), {None: E}),
    "net": ("timestamp,power_w,net_power_w,idle_power_w", lambda k: at(k, P[k], P[k] - 20, 20), {None: E}),
    "process": ("timestamp,power_w,process_power_w", lambda k: at(k, P[k], P[k] / 3), {None: E}),
    "output": ("timestamp,input_power_w,output_power_w", lambda k: at(k, P[k], P[k] * 0.9), {None: E}),
    "two tools": ("timestamp,power_rapl_w,power_perf_w", lambda k: at(k, P[k], P[k]), {None: E}),
    "two units": ("timestamp,power_mw,power_w", lambda k: at(k, P[k] * 1000, P[k]), {None: E}),
    "total": (
        "timestamp,cpu_w,gpu_w,power_w", lambda k: at(k, P[k], Q[k], P[k] + Q[k]),
        {"cpu": E, "gpu": F, "total": E + F},
    ),
    "no total": ("timestamp,cpu_w,gpu_w,power_w", lambda k: at(k, P[k], Q[k], R[k]), {"cpu": E, "gpu": F, None: G}),
    "nested": (
        "timestamp,package_w,cores_w,dram_w", lambda k: at(k, P[k], P[k] / 2, R[k]),
        {"cpu": E, "cpu_part": E / 2, "memory": G},
    ),
    "rails": (
        "timestamp,VDD_IN_mW,VDD_CPU_mW", lambda k: at(k, P[k] * 1000, R[k] * 1000), {"board": E, "cpu": G},
    ),
    "house": ("timestamp,grid_power_w,solar_power_w,load_w", lambda k: at(k, P[k], Q[k], P[k] + Q[k]), {}),
    "use of a GPU": ("timestamp,gpu,power_w", lambda k: at(k, 20 + k * k % 79, P[k]), {None: E}),
    "phases": ("timestamp,label,power_w", lambda k: at(k, "idle" if k < 20 else "train", P[k]), {None: E}),
    "phases in turn": ("timestamp,label,power_w", lambda k: at(k, "prefill" if k % 2 else "decode", P[k]), {}),
    "sensors in turn": ("timestamp,label,power_w", lambda k: f"{at(k, 'CPU', P[k])}\n{at(k, 'GPU', Q[k])}", {"cpu": E, "gpu": F}),
    "two without a name": ("timestamp,power_w", lambda k: f"{at(k, P[k])}\n{START + k + 0.004:.3f},{Q[k]}", {}),
    "servers": (
        "timestamp,server,power_w", lambda k: f"{at(k, 'a', P[k])}\n{at(k, 'a', P[k])}", {None: E},
    ),
    "intervals": ("timestamp,dt,power_w", lambda k: at(k, 1 + k % 4, P[k]), {}),
    "phases with durations": (
        "timestamp,phase,phase_ms,total_mw", lambda k: f"20260304 10:00:{k // 2:02d},p{k % 4},{k % 4 * 50},{P[k] * 1000}", {},
    ),
    "counter": ("timestamp,energy_j", lambda k: at(k, COUNTED[k]), {None: E}),
    "counter in MWh": ("timestamp,energy_MWh", lambda k: at(k, f"{COUNTED[k] / 3.6e9:.15f}"), {None: E}),
    "counter that stands still": ("timestamp,energy_j", lambda k: at(k, 100), {}),
    "of each interval": ("timestamp,energy_j", lambda k: at(k, P[k]), {None: sum(P)}),
    "not there": ("timestamp,power_w", lambda k: at(k, "N/A" if k % 20 == 7 else P[k]), {None: E}),
    "missing as -1": ("timestamp,power_w", lambda k: at(k, -1 if k % 20 == 7 else P[k]), {None: E}),
    "windows": (
        "start_time,end_time,avg_power_w", lambda k: f"{START + k * k},{START + (k + 1) ** 2},{P[k]}",
        {None: math.fsum((2 * k + 1) * P[k] for k in range(N))},
    ),
    "a counter of another unit": (
        "timestamp,power_w,energy_j", lambda k: at(k, P[k], COUNTED[k] / 1000), {None: E},
    ),
    "one time more than the header has": (
        "time,index,power_w", lambda k: f"2026-03-04 10:00:{k:02d},2026-03-04 10:00:{k:02d}.500,0,{P[k]}", {None: E},
    ),
    "seconds that were measured": (
        "tag,measure_seconds_actual,avg_power_w,median_power_w", lambda k: f"t{k},2.0,{P[k]},{Q[k]}", {None: 2 * sum(P)},
    ),
    "energies of intervals by name": (
        "timestamp,energy_delta_j,energy_per_sample_j", lambda k: at(k, P[k], Q[k]), {None: sum(P)},
    ),
    "energies that may be of intervals": ("timestamp,energy_j", lambda k: at(k, sorted(P)[k]), {}),
    "a counter that began long ago": ("timestamp,energy_j", lambda k: at(k, 1e7 + COUNTED[k]), {None: E}),
    "missing as nines": ("timestamp,power_w", lambda k: at(k, 999999 if k % 20 == 7 else P[k]), {None: E}),
    "thousands with points": (
        "timestamp;power_w", lambda k: f"{START + k};{10 * P[k]:,.1f}".replace(",", " ").replace(".", ",").replace(" ", "."),
        {None: 10 * E},
    ),
    "thousands with commas": ("timestamp,power_w", lambda k: f'{START + k},"{10 * P[k]:,.1f}"', {None: 10 * E}),
    "times with points beside commas": (
        "time_s;power_w", lambda k: f"{k + 1}.500;{P[k]:.1f}".replace(f";{P[k]:.1f}", f";{P[k]:.1f}".replace(".", ",")), {},
    ),
    "thousands or fractions": ("timestamp;power_mw", lambda k: f"{START + k};{P[k]:.3f}", {}),
    "a date in a column of no known name": ("stamped,power_w", lambda k: f"2026-03-04 10:00:{k:02d},{P[k]}", {None: E}),
    "a unit in the middle": ("timestamp,power_W_gpu0,power_W_gpu1", lambda k: at(k, P[k], Q[k]), {"gpu": E + F}),
    "divided by its unit": ("timestamp,Power/W,Tasks/W", lambda k: at(k, P[k], Q[k]), {None: E}),
    "series of Prometheus": (
        'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0""}","DCGM_FI_DEV_POWER_USAGE{gpu=""1""}","sum(node_watts{a=""b""})"',
        lambda k: at(k, P[k], Q[k], R[k]), {"gpu": E + F},
    ),
    "the sum of two GPUs": (
        "timestamp,gpu_power_w,gpu_0_power_w,gpu_1_power_w,cpu_power_w", lambda k: at(k, P[k] + Q[k], P[k], Q[k], R[k]),
        {"gpu": E + F, "cpu": G},
    ),
    "the mean of two GPUs": (
        "timestamp,gpu_power_w,gpu0_power_w,gpu1_power_w", lambda k: at(k, (P[k] + Q[k]) / 2, P[k], Q[k]), {"gpu": E + F},
    ),
    "all sockets and each": ("timestamp,cpu_power_w,socket0_w,socket1_w", lambda k: at(k, P[k] + Q[k], P[k], Q[k]), {"cpu": E + F}),
    "what is above idle": ("timestamp,gpu_power_w,gpu_active_power_w", lambda k: at(k, P[k], P[k] - 50), {"gpu": E}),
    "a package and its CPU": ("timestamp,package_power_w,cpu_power_w", lambda k: at(k, P[k], P[k] / 2), {"cpu": E, "cpu_part": E / 2}),
    "a package with a GPU in it": (
        "timestamp,cpu_power_mw,gpu_power_mw,package_power_mw", lambda k: at(k, P[k] * 1e3, R[k] * 1e3, (P[k] + R[k]) * 1e3),
        {"cpu_part": E, "gpu": G, "total": E + G},
    ),
    "a package that may hold the GPU": (
        "timestamp,cpu_power_w,gpu_power_w,package_power_w", lambda k: at(k, R[k], 20, P[k]), {"cpu_part": G, "gpu": 20 * 59},
    ),
    "a package, its cores and a card": (
        "timestamp,CPU Package Power [W],IA Cores Power [W],GPU Power [W]", lambda k: at(k, P[k], Q[k] / 2, R[k]),
        {"cpu": E, "cpu_part": F / 2, "gpu": G},
    ),
    "a board with all": ("timestamp,board_power_w,cpu_power_w,gpu_power_w", lambda k: at(k, P[k], 9, R[k]), {"board": E, "cpu": 9 * 59, "gpu": G}),
    "a board of a card": ("timestamp,board_power_w,gpu_chip_power_w", lambda k: at(k, P[k], R[k]), {"gpu": E, "gpu_part": G}),
    "a host": ("timestamp,host_power_w,cpu_power_w", lambda k: at(k, P[k], R[k]), {"node_dc": E, "cpu": G}),
    "the GPU of a node": ("timestamp,node_gpu_power_w,node_power_w", lambda k: at(k, R[k], P[k]), {"gpu": G, "node_dc": E}),
    "a share": ("timestamp,gpu_power_w,allocated_power_w,job_power_w", lambda k: at(k, P[k], Q[k], R[k]), {"gpu": E}),
    "a part of a total": (
        "timestamp,total_power_w,gpu_power_w,blue_power_w", lambda k: at(k, P[k], R[k], 20), {"total": E, "gpu": G, "other": 20 * 59},
    ),
    "above its total": ("timestamp,total_power_w,blue_power_w", lambda k: at(k, R[k], P[k]), {"total": G}),
    "fans": ("timestamp,gpu_power_w,fan_power_w", lambda k: at(k, P[k], 20), {"gpu": E, "other": 20 * 59}),
    "two alike and one at zero": (
        "timestamp,blue_power_w,red_power_w,green_power_w", lambda k: at(k, 30, 30, 0), {None: 60 * 59},
    ),
    "bounds": ("timestamp,power_w,power_lower_w,power_upper_w", lambda k: at(k, P[k], P[k] - 9, P[k] + 9), {None: E}),
    "the powers so far": ("timestamp,power_w,total_power_w", lambda k: at(k, P[k], sum(P[: k + 1])), {None: E}),
    "the sum as a row": (
        "timestamp,gpu,power_w", lambda k: f"{at(k, 0, P[k])}\n{at(k, 1, Q[k])}\n{at(k, -1, P[k] + Q[k])}", {"gpu": E + F},
    ),
    "the mean as a row": (
        "timestamp,gpu,power_w", lambda k: f"{at(k, 'GPU0', P[k])}\n{at(k, 'GPU1', Q[k])}\n{at(k, 'avg', P[k])}", {"gpu": E + F},
    ),
    "a current reading and its mean": ("timestamp,VDD_IN_cur_mW,VDD_IN_avg_mW", lambda k: at(k, P[k] * 1e3, R[k] * 1e3), {"board": E}),
    "runs of models": ("timestamp,model,power_w", lambda k: at(600 * k, f"m{k}", P[k]), {}),
    "runs of settings": ("threads,elapsed_s,power_w", lambda k: f"{k + 1},{k * k + 5.5},{P[k]}", {}),
    "powers in cells": ("time,gpu,cpu", lambda k: f"{START + k},{P[k]} W,{Q[k]} W", {"gpu": E, "cpu": F}),
    "what is left": ("timestamp,energy-rate (W),energy (Wh)", lambda k: at(k, P[k], f"{50 - COUNTED[k] / 3600:.6f}"), {}),
    "series of a node": (
        "timestamp,kepler_node_package_joules_total,kepler_node_dram_joules_total", lambda k: at(k, 5000 + COUNTED[k], 900 + COUNTED[k] / 9),
        {"cpu": E, "memory": E / 9},
    ),
    "before and after": ("task,energy_before_j,energy_after_j,time_s", lambda k: f"t{k},{k * 10},{k * 10 + 5},{k % 7}.5", {}),
}  # fmt: skip


GAPS = ("not there", "missing as -1", "missing as nines")  # bridged


@pytest.mark.parametrize("case", BESIDE)
def test_what_stands_beside_a_power(case: str) -> None:
    header, row, expected = BESIDE[case]
    assert measured(table(header, row), "a.csv") == pytest.approx(expected, rel=0.03 if case in GAPS else 1e-6)


def test_order_repeats_and_headers_change_nothing() -> None:
    rows = [at(k, P[k]) for k in range(N)]
    shuffled = random.Random(3).sample(rows, N)
    for lines in (rows[::-1], shuffled, rows + rows[10:20], [*rows[:30], "timestamp,power_w", *rows[30:]]):
        assert measured("\n".join(["timestamp,power_w", *lines]) + "\n", "a.csv") == {None: pytest.approx(E)}


def test_devices_of_a_sample() -> None:
    samples = [
        {"ts": START + k, "gpus": [{"index": 0, "power_w": P[k]}, {"index": 1, "power_w": Q[k]}]} for k in range(N)
    ]
    assert measured("".join(json.dumps(each) + "\n" for each in samples), "a.jsonl") == {"gpu": pytest.approx(E + F)}
    assert measured(json.dumps(samples), "a.json") == {"gpu": pytest.approx(E + F)}
    by_device = {f"gpu{i}": [{"t_s": k, "power_w": w} for k, w in enumerate(own)] for i, own in enumerate((P, Q))}
    assert measured(json.dumps(by_device), "a.json") == {"gpu": pytest.approx(E + F)}


def test_numbers_in_objects_with_their_unit() -> None:
    samples = [{"t": START + k, "power": {"value": 1000 * P[k], "unit": "mW"}} for k in range(N)]
    assert measured("".join(json.dumps(each) + "\n" for each in samples), "a.jsonl") == {None: pytest.approx(E)}


@pytest.mark.parametrize(
    "document",
    [
        {"pue": 1.58, "runs": [{"energy_j": 500, "duration_s": 5}]},
        [{"pue": 1.58, "actual": {"energy (kWh)": 0.0009, "duration (s)": 10}}] * 2,
        {"before": {"energy_j": 5000, "time_s": 1}, "after": {"energy_j": 9000, "time_s": 60}},
        {"PowerControl": [{"t": START + k, "PowerCapacityWatts": 1600} for k in range(N)]},
    ],
)
def test_energies_that_are_none_of_a_measurement(document: object) -> None:
    assert measured(json.dumps(document), "a.json") == {}


def test_energies_in_an_object_of_their_own() -> None:
    document = {"duration_s": 60, "energy": {"cpu": {"joules": 10.5}, "gpu": {"joules": 50}, "total": {"joules": 60.5}}}
    assert measured(json.dumps(document), "a.json") == {"cpu": 10.5, "gpu": 50, "total": 60.5}
