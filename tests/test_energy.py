"""Energy: what readings integrate to, on which clock, of which devices; and published tables, column by column."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalelens
from little_warehouse import Warehouse
from scalelens.ingestion.ingest import ingest

WATTS = 300.0
DAY_NS = 20_000 * 86_400 * 10**9  # a day of 2024


def readings(
    warehouse: Warehouse, samples: list[tuple[float, float]], file_id: str = "p", run_id: str = "r", **columns: Any
) -> None:
    """Samples of one file, as seconds and watts."""
    known = {"node": "n1", "device": "pynvml:0", "scope": "gpu", "ts_origin": "utc"} | columns
    warehouse.insert(
        "power",
        [
            {"run_id": run_id, "file_id": file_id, "line": line, "ts": DAY_NS + round(second * 1e9), "power_w": watts}
            | known
            for line, (second, watts) in enumerate(samples, 2)
        ],
    )


def integrated(warehouse: Warehouse, **parameters: str) -> list[dict[str, Any]]:
    said = ", ".join(f"{name} := '{value}'" for name, value in parameters.items())
    return warehouse.ask(f"FROM energy_integrated({said})")


# A constant power is its time, however it was sampled


@st.composite
def samplings(draw: st.DrawFn) -> list[list[float]]:
    """Times of the samples of one to three files, each from 0 to 100 s, sampled unevenly, in pairs, with duplicates."""
    files = []
    for _ in range(draw(st.integers(1, 3))):
        inner = draw(st.lists(st.floats(0.001, 99.999), min_size=3, max_size=60))
        times = [0.0, 100.0, *inner, *(time + 1e-5 for time in inner[: draw(st.integers(0, 3))])]
        files.append(draw(st.permutations([*times, *draw(st.lists(st.sampled_from(times), max_size=5))])))
    return files


FOUR_RUNS = st.lists(
    st.tuples(samplings(), st.booleans()), min_size=4, max_size=4
)  # planning takes longer than four runs


@given(FOUR_RUNS, st.sampled_from(["trapezoid", "left", "right"]))
@settings(max_examples=10, deadline=None)
def test_a_constant_power_is_its_time_whatever_the_sampling(
    runs: list[tuple[list[list[float]], bool]], method: str
) -> None:
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": str(place)} for place in range(len(runs))])
    for place, (files, ranks) in enumerate(runs):
        for number, times in enumerate(files):
            file = {"run_id": str(place), "file_id": f"p{place}-{number}"}
            readings(warehouse, [(time, WATTS) for time in times], **file)
            if ranks:
                fact = {**file, "line": 1, "key": "measured_by_rank", "value": str(number)}
                warehouse.insert("params", [fact])
    rows = integrated(warehouse, method=method)
    assert sorted(row["run_id"] for row in rows) == ["0", "1", "2", "3"]
    for row in rows:
        assert row["energy_j"] == pytest.approx(30_000, rel=1e-9)
        assert row["mean_w"] == pytest.approx(WATTS, rel=1e-9)
        assert row["span_s"] == 100


def test_a_gap_lowers_the_coverage(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    readings(warehouse, [(k / 2, WATTS) for k in range(201) if not 60 < k < 100])
    (row,) = integrated(warehouse)
    assert (row["energy_j"], row["coverage"], row["sampling_s"]) == (pytest.approx(30_000), 0.8, 0.5)
    assert row["flags"] == ["gap", "no_run_times"]


def test_jitter_is_no_gap(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    source = random.Random(3)
    readings(warehouse, [(k + source.uniform(-0.4, 0.4), WATTS) for k in range(101)])
    (row,) = integrated(warehouse)
    assert (row["coverage"], row["flags"]) == (1, ["no_run_times"])


def test_samples_in_pairs_change_nothing(warehouse: Warehouse) -> None:
    """jpwr waits from the stamp before its sleep, so that its samples come two by two."""
    warehouse.insert("runs", [{"run_id": "single"}, {"run_id": "paired"}])
    samples = [(k / 10, 200 + 50 * (k % 7)) for k in range(100)]
    readings(warehouse, samples, run_id="single", file_id="s")
    paired = [(time + late, watts) for time, watts in samples for late in (0, 1e-7)]
    readings(warehouse, paired, run_id="paired", file_id="t")
    single, pairs = sorted(integrated(warehouse), key=lambda row: row["run_id"], reverse=True)
    assert pairs["energy_j"] == pytest.approx(single["energy_j"], rel=1e-6)
    assert pairs["sampling_s"] == pytest.approx(single["sampling_s"], rel=1e-5)


def test_implausible_samples_are_left_out_and_counted(warehouse: Warehouse) -> None:
    warehouse.run("r", [1.0] * 10, devices=1)
    readings(warehouse, [(k, WATTS) for k in range(0, 101, 2)])
    readings(warehouse, [(k, 1000 * WATTS) for k in range(1, 100, 2)], flag="implausible")
    (row,) = integrated(warehouse)
    assert (row["energy_j"], row["readings"], row["n_implausible"]) == (pytest.approx(30_000), 51, 50)
    assert row["flags"] == ["no_run_times", "implausible"]
    (row,) = warehouse.ask("FROM energy_efficiency()")
    assert "50 power samples are implausible and left out" in row["note"]


def test_methods_are_sums_over_neighbouring_samples(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    samples = [(0, 100.0), (1, 200), (3, 50), (3.5, 400)]
    readings(warehouse, samples)
    steps = [(b[0] - a[0], a[1], b[1]) for a, b in pairwise(samples)]
    for method, expected in (
        ("left", sum(t * a for t, a, _ in steps)),
        ("right", sum(t * b for t, _, b in steps)),
        ("trapezoid", sum(t * (a + b) / 2 for t, a, b in steps)),
    ):
        assert integrated(warehouse, method=method)[0]["energy_j"] == pytest.approx(expected)


# One device, one energy


def test_ranks_that_measure_the_same_device_count_it_once(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    for rank in (0, 1):
        fact = {"run_id": "r", "file_id": f"p{rank}", "line": 1, "key": "measured_by_rank", "value": str(rank)}
        warehouse.insert("params", [fact])
        readings(warehouse, [(k / 10 + rank, WATTS) for k in range(101 - rank)], file_id=f"p{rank}")
    (row,) = integrated(warehouse)
    assert (row["energy_j"], row["readings"], row["flags"]) == (
        pytest.approx(3000), 101, ["no_run_times", "several_files"]
    )  # fmt: skip


def test_files_of_a_restart_add_up_and_the_pause_is_not_bridged(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    readings(warehouse, [(k, WATTS) for k in range(11)], file_id="first")
    readings(warehouse, [(30 + k, WATTS) for k in range(11)], file_id="again")
    (row,) = integrated(warehouse)
    assert (row["energy_j"], row["mean_w"], row["coverage"]) == (pytest.approx(6000), pytest.approx(WATTS), 0.5)


def test_nested_scopes_name_what_holds_them(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    scopes = ("module", "grace", "cpu", "sysio", "gpu")
    for scope in scopes:
        readings(warehouse, [(0, 10), (10, 10)], device=scope, scope=scope)
    readings(warehouse, [(0, 90), (10, 90)], device="oam", scope="oam", node="n2")
    readings(warehouse, [(0, 90), (10, 90)], device="gcd", scope="gcd", node="n2")
    holders = {row["scope"]: row["part_of"] for row in integrated(warehouse)}
    assert holders == {
        "module": None, "grace": "module", "cpu": "grace", "sysio": "grace", "gpu": "module", "oam": None, "gcd": "oam"
    }  # fmt: skip


def test_a_board_holds_what_its_own_file_measures_beside_it(warehouse: Warehouse) -> None:
    """The input rail of a Jetson holds the other rails; the board of an IPU does not hold the host's CPU."""
    warehouse.insert("runs", [{"run_id": "jetson"}, {"run_id": "ipu"}])
    for device, scope, watts in (("VDD_IN", "board", 12), ("VDD_CPU_GPU_CV", "sysio", 7), ("VDD_GPU", "gpu", 2)):
        readings(warehouse, [(0, watts), (10, watts)], run_id="jetson", device=device, scope=scope)
    readings(warehouse, [(0, 90), (10, 90)], run_id="ipu", file_id="b", device="0", scope="board")
    readings(warehouse, [(0, 60), (10, 60)], run_id="ipu", file_id="c", device="cpu", scope="cpu")
    energies = warehouse.ask("SELECT run_id, energy_j FROM energy_of_runs(per := 'node') ORDER BY run_id")
    assert [row["energy_j"] for row in energies] == pytest.approx([1500, 120])


def test_a_sensor_that_is_always_zero_holds_nothing(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    readings(warehouse, [(0, 0), (10, 0)], device="CPU Platform", scope="platform", flag="zero")
    readings(warehouse, [(0, 60), (10, 60)], device="CPU Package", scope="cpu")
    (row,) = warehouse.ask("FROM energy_of_runs(per := 'node')")
    assert (row["energy_j"], row["unit_w"], row["idle_share"]) == (pytest.approx(600), pytest.approx(60), 1)


def test_an_outage_longer_than_all_samples_is_a_gap(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    readings(warehouse, [(k, WATTS) for k in [*range(100), *range(1100, 1200)]])
    (row,) = integrated(warehouse)
    assert (row["sampling_s"], row["coverage"], "gap" in row["flags"]) == (1, pytest.approx(198 / 1199), True)
    assert row["energy_j"] - row["bridged_j"] == pytest.approx(198 * WATTS)


def test_sensors_side_by_side_cover_the_same_time(warehouse: Warehouse) -> None:
    """AC in UTC could be cut to the log, DC in local time could not: AC came out below DC."""
    stepped(warehouse, 60, 2, 20, devices=1)
    readings(warehouse, [(k, 1100) for k in range(141)], device="ac", scope="node_ac", file_id="ac")
    local = [(3600 + k, 1000) for k in range(141)]
    readings(warehouse, local, device="dc", scope="node_dc", file_id="dc", ts_origin="naive")
    ac, dc = sorted(integrated(warehouse), key=lambda row: row["scope"])
    assert (ac["span_s"], ac["readings"], dc["span_s"], dc["readings"]) == (40, 41, 40, 41)
    warehouse.connection.execute("DELETE FROM power WHERE file_id = 'dc'")
    local = [(86_400 * k, 1000) for k in range(3)]  # in no zone do these cover the run
    readings(warehouse, local, device="dc", scope="node_dc", file_id="dc", ts_origin="naive")
    ac, dc = sorted(integrated(warehouse), key=lambda row: row["scope"])
    assert (ac["span_s"], ac["readings"]) == (140, 141) and "no_clock" in ac["flags"] and "no_clock" in dc["flags"]


# The clock of the log


def stepped(warehouse: Warehouse, first: float, step_s: float, count: int, origin: str = "utc", **run: Any) -> None:
    """A run, `r` if it has no other name, of `count` steps, the first beginning `first` seconds into the day."""
    times = [first + step_s * k for k in range(1, count + 1)]
    stamps = [(DAY_NS + round(time * 1e9)) // 1000 for time in times]
    run = {"run_id": "r"} | run
    warehouse.insert("runs", [run])
    shared = {
        "run_id": run["run_id"],
        "file_id": "l",
        "attempt": 0,
        "step_s": step_s,
        "averaged_steps": 1,
        "value_kind": "instant",
    }
    rows = [{**shared, "line": k, "step": k, "ts": stamp} for k, stamp in enumerate(stamps, 1)]
    warehouse.insert("steps", [{**row, "phase": "train", "ts_origin": origin} for row in rows])
    warehouse.insert("step_times", rows)


def test_the_run_is_cut_out_of_the_readings(warehouse: Warehouse) -> None:
    stepped(warehouse, 20, 2, 10, devices=1, global_batch_size=8)
    readings(warehouse, [(k, 100.0 if k < 20 else WATTS) for k in range(101)])
    (run,), (whole,) = integrated(warehouse), integrated(warehouse, extent="readings")
    assert (run["span_s"], run["energy_j"], run["coverage"], run["flags"]) == (20, pytest.approx(6000), 1, None)
    assert (whole["span_s"], whole["energy_j"]) == (100, pytest.approx(2000 + 100 + 80 * WATTS, rel=1e-3))


def test_a_run_measured_in_part_says_so(warehouse: Warehouse) -> None:
    stepped(warehouse, 0, 2, 50)
    readings(warehouse, [(k, WATTS) for k in range(50, 201)])
    (row,) = integrated(warehouse)
    assert (row["coverage"], row["energy_j"]) == (0.5, pytest.approx(50 * WATTS))


def test_readings_of_another_time_are_no_energy_of_the_run(warehouse: Warehouse) -> None:
    stepped(warehouse, 5000, 2, 5)
    readings(warehouse, [(k, WATTS) for k in range(50)])
    (row,) = integrated(warehouse)
    assert (row["energy_j"], row["coverage"], row["flags"]) == (None, 0, ["not_in_run"])


@pytest.mark.parametrize(
    ("lead_s", "ahead_s", "offset_s", "evidence"),
    [
        (5, 3600, -3600, "the only zone in which the readings cover the run"),
        (5, -5.75 * 3600, 5.75 * 3600, "the only zone in which the readings cover the run"),
        (2000, 3600, None, "5 zones fit: state the zone (--tz, or a sidecar)"),
        (5, 1000, None, "in no zone do the readings cover the run"),
    ],
)
def test_local_times_join_where_one_zone_fits(
    warehouse: Warehouse, lead_s: float, ahead_s: float, offset_s: float | None, evidence: str
) -> None:
    stepped(warehouse, 40_000, 2, 100)
    span = (40_000 - lead_s + ahead_s, 40_200 + lead_s + ahead_s)
    readings(warehouse, [(span[0], WATTS), (span[1], WATTS)], ts_origin="naive")
    (clock,) = warehouse.ask("FROM power_clock()")
    assert (clock["offset_s"], clock["evidence"]) == (offset_s, evidence)
    (row,) = integrated(warehouse)
    assert row["flags"] == (None if offset_s is not None else ["no_clock"])


# Efficiency


def test_steps_are_told_apart_from_start_up(warehouse: Warehouse) -> None:
    stepped(warehouse, 60, 2, 20, devices=1, global_batch_size=8, seq_length=10)
    readings(warehouse, [(k / 2, 100.0 if k < 120 else WATTS) for k in range(201)])
    (row,) = warehouse.ask("FROM energy_efficiency(extent := 'readings')")
    assert row["step_j"] == pytest.approx(2 * WATTS)
    assert row["steps_share"] == pytest.approx(40 * WATTS / (60 * 100 + 40 * WATTS), rel=2e-2)
    assert (row["samples"], row["idle_share"]) == (160, pytest.approx(100 * 100 / row["energy_j"]))
    assert row["tokens_per_wh"] == pytest.approx(10 * row["samples_per_wh"])


def test_devices_that_took_no_part_do_not_count(warehouse: Warehouse) -> None:
    """A tool measures all devices of a node, also where the run has one."""
    stepped(warehouse, 0, 2, 20, devices=1, global_batch_size=8)
    readings(warehouse, [(0, 60), (40, 60)], device="pynvml:0")
    readings(warehouse, [(0, 300), (40, 300)], device="pynvml:2")
    (row,) = warehouse.ask("FROM energy_efficiency()")
    assert (row["units"], row["energy_j"]) == (1, pytest.approx(12_000))
    assert (row["step_j"], row["steps_share"]) == (pytest.approx(600), pytest.approx(1))
    assert row["note"] == "more devices were measured than the run had: those that took most energy count"


def test_a_package_is_two_gcds(warehouse: Warehouse) -> None:
    stepped(warehouse, 0, 2, 20, devices=4, device_unit="gcd", global_batch_size=8, nodes=1)
    for device in ("rocm:0", "rocm:2"):
        readings(warehouse, [(0, 400), (40, 400)], device=device, scope="oam")
    found = {per: warehouse.ask(f"FROM energy_efficiency(per := '{per}')")[0] for per in ("device", "package", "node")}
    assert {per: (row["units"], row["unit_w"]) for per, row in found.items()} == {
        "device": (4, pytest.approx(200)), "package": (2, pytest.approx(400)), "node": (1, pytest.approx(800))
    }  # fmt: skip
    assert found["device"]["samples_per_wh"] == found["package"]["samples_per_wh"]


CATALOG = (
    ("NVIDIA H100", "gpu", "h100", 700), ("AMD MI250X OAM", "gpu", "mi250x oam", 560), ("AMD MI250X GCD", "gcd", "mi250x", None)
)  # fmt: skip


LIMITS: tuple[tuple[str, str | None, str, dict[str, float | None]], ...] = (
    ("NVIDIA H100", "gpu", "gpu", {"device": 700, "package": 700, "node": None}),
    ("NVIDIA H100", None, "gpu", {"device": 700, "package": 700, "node": None}),
    ("AMD MI250X", "gcd", "oam", {"device": 280, "package": 560, "node": None}),
    ("AMD MI250X", "gcd", "gcd", {"device": 280, "package": 560, "node": None}),
    ("AMD MI250X OAM", "gcd", "oam", {"device": 280, "package": 560, "node": None}),
    ("AMD MI250X", "gpu", "oam", {"device": None, "package": None}),  # of a half or a whole one, who knows
    ("Unheard of", "gpu", "gpu", {"device": None}),
)


def test_share_of_the_power_limit(warehouse: Warehouse) -> None:
    fields = ("place", "device", "unit", "pattern", "tdp_w")
    rows = [dict(zip(fields, (place, *row), strict=True)) for place, row in enumerate(CATALOG, 1)]
    warehouse.insert("devices_catalog", rows)
    for place, (device_model, device_unit, scope, _) in enumerate(LIMITS):
        run = str(place)
        devices = 4 if scope == "oam" and device_unit == "gcd" else 2
        stepped(
            warehouse,
            0,
            2,
            20,
            run_id=run,
            devices=devices,
            device_unit=device_unit,
            device_model=device_model,
            nodes=1,
        )
        for device in ("d:0", "d:1"):
            where = {"run_id": run, "file_id": f"p{run}", "node": f"n{run}", "device": device, "scope": scope}
            readings(warehouse, [(0, 140), (40, 140)], **where)
    for per in ("device", "package", "node"):
        asked = warehouse.ask(f"FROM energy_efficiency(per := '{per}')")
        found = {int(row["run_id"]): row for row in asked}
        assert len(found) == len(asked)
        for place, (_, device_unit, scope, limits) in enumerate(LIMITS):
            if per in limits:
                row, limit = found[place], limits[per]
                assert row["tdp_w"] == limit
                assert row["tdp_share"] == (limit and pytest.approx(row["unit_w"] / limit))
                # 140 W of an OAM are 70 W of each GCD, the same share of both
                if per != "node" and scope in ("oam", "gcd") and device_unit == "gcd":
                    assert row["tdp_share"] == pytest.approx(140 / 560 if scope == "oam" else 280 / 560)


def test_energy_that_the_log_prints(warehouse: Warehouse) -> None:
    """Megatron prints joules per iteration and GPU."""
    warehouse.run("r", [0.5] * 10, devices=4, global_batch_size=8)
    rows = [{"run_id": "r", "file_id": "r", "line": k, "phase": "train", "energy_j": 120.0} for k in range(10)]
    warehouse.insert("steps", rows)
    (row,) = warehouse.ask("FROM energy_efficiency()")
    assert (row["energy_kind"], row["step_j"], row["unit_w"], row["energy_j"]) == ("printed", 480, 240, 4800)


# CARAML on the Graphcore M2000 POD4, as presented: batch, rate per second, watt-hours, the published efficiency

GPT = (
    (64, 64.99, 15.68, 4.08), (128, 97.21, 18.20, 7.03), (256, 129.96, 18.37, 13.93), (512, 155.72, 18.56, 27.60),
    (1024, 172.94, 19.07, 53.71), (2048, 183.37, 20.05, 102.13), (4096, 188.88, 21.88, 187.22),
    (8192, 191.86, 25.47, 321.34), (16384, 193.41, 33.00, 496.43),
)  # fmt: skip
RESNET = (
    (16, 1827.72, 32.09, 39925.87), (32, 1857.90, 31.73, 40382.19), (64, 1879.29, 31.75, 40346.18),
    (128, 1888.11, 31.67, 40452.50), (256, 1887.23, 31.58, 40563.65), (512, 1891.74, 31.49, 40689.85),
    (1024, 1893.07, 31.50, 40668.79), (2048, 1889.87, 31.53, 40636.28), (4096, 1891.58, 31.51, 40660.14),
)  # fmt: skip
IMAGES = 1281167
MISPRINTS = (512, 8192)  # batches whose published efficiency belongs to other watt-hours: 18.55 and 25.49


def gpt_runs(warehouse: Warehouse) -> None:
    """Four steps of each batch on four IPUs, and the energy of each IPU, which holds compilation."""
    for batch, rate, watt_hours, _ in GPT:
        run_id = f"gpt-{batch:05}"
        facts = {
            "model": "gpt-117m",
            "devices": 4,
            "device_unit": "ipu",
            "global_batch_size": batch,
            "seq_length": 1024,
        }
        warehouse.run(run_id, [batch / rate] * 4, **facts)
        rows = [{"run_id": run_id, "file_id": run_id, "device": f"gc:{k}", "scope": "ipu"} for k in range(4)]
        warehouse.insert("energy", [{**row, "energy_j": watt_hours * 3600, "method": "riemann_right"} for row in rows])


def within_print(published: float, watt_hours: float, digits: float) -> Any:
    """What the printed digits of the watt-hours allow, and those of the result itself."""
    return pytest.approx(published, abs=published * 0.005 / watt_hours + digits)


def test_published_gpt_table(warehouse: Warehouse) -> None:
    gpt_runs(warehouse)
    rows = warehouse.ask("FROM energy_efficiency() ORDER BY global_batch_size")
    assert len(rows) == len(GPT)
    for row, (batch, _, watt_hours, published) in zip(rows, GPT, strict=True):
        assert (row["global_batch_size"], row["unit_wh"]) == (batch, pytest.approx(watt_hours))
        assert row["batch_per_wh"] == pytest.approx(published, rel=1e-3)
        assert (row["batch_per_wh"] == within_print(published, watt_hours, 0.005)) == (batch not in MISPRINTS)
        # Four steps on four IPUs: the same number is samples per watt-hour of the machine, and tokens are 1024 times it.
        assert row["samples_per_wh"] == pytest.approx(row["batch_per_wh"])
        assert row["tokens_per_wh"] == pytest.approx(1024 * row["samples_per_wh"])
    rates = warehouse.ask("SELECT samples_per_s, tokens_per_s FROM batch_stats(warmup := 0) ORDER BY run_id")
    for row, (_, rate, _, _) in zip(rates, GPT, strict=True):
        assert (row["samples_per_s"], row["tokens_per_s"]) == (pytest.approx(rate), pytest.approx(1024 * rate))


def test_published_resnet_table(warehouse: Warehouse) -> None:
    for batch, rate, watt_hours, _ in RESNET:
        run_id = f"resnet-{batch:05}"
        warehouse.insert("runs", [{"run_id": run_id, "devices": 1, "device_unit": "ipu", "global_batch_size": batch}])
        epoch = {
            "file_id": run_id,
            "attempt": 0,
            "phase": "epoch",
            "epoch": 0.0,
            "samples": IMAGES,
            "samples_per_s": rate,
        }
        warehouse.insert("phases", [{"run_id": run_id, "line": 1, "span_s": IMAGES / rate, **epoch}])
        energy = {"device": "gc:0", "scope": "ipu", "energy_j": watt_hours * 3600, "method": "riemann_right"}
        warehouse.insert("energy", [{"run_id": run_id, "file_id": run_id, **energy}])
    rows = warehouse.ask("FROM energy_efficiency() ORDER BY global_batch_size")
    for row, (batch, _, watt_hours, published) in zip(rows, RESNET, strict=True):
        assert (row["global_batch_size"], row["epoch_wh"]) == (batch, pytest.approx(watt_hours))
        assert row["samples_per_wh"] == within_print(published, watt_hours, 0.005)
    rates = warehouse.ask("FROM energy_by_batch() ORDER BY global_batch_size")
    assert [(row["rate_of"], row["samples_per_s"]) for row in rates] == [
        ("epochs", pytest.approx(rate)) for _, rate, _, _ in RESNET
    ]


def test_fixed_part_of_the_gpt_table(warehouse: Warehouse) -> None:
    """15.68 Wh within 3.9 s of steps would be 14 kW an IPU: most of it is compilation."""
    gpt_runs(warehouse)
    (line,) = warehouse.ask("FROM energy_fixed_part()")
    assert (line["fixed_wh"], line["work_w"]) == (pytest.approx(18.0, abs=0.1), pytest.approx(159, abs=2))
    assert line["fixed_wh_low"] <= line["fixed_wh"] <= line["fixed_wh_high"]
    assert line["work_w_low"] < line["work_w"] < line["work_w_high"]
    assert line["odd_runs"] == ["gpt-00064"]


def test_three_sizes_make_no_line(warehouse: Warehouse) -> None:
    gpt_runs(warehouse)
    (line,) = warehouse.ask("FROM energy_fixed_part(runs := 'global_batch_size < 500')")
    assert (line["work_w"], line["note"]) == (None, "3 different times of work are too few for a line: it takes 4")


def test_energy_of_the_same_work_at_each_size(warehouse: Warehouse) -> None:
    for devices, watts in ((1, 300.0), (2, 280.0), (4, 270.0)):
        run_id = f"r{devices}"
        warehouse.run(run_id, [1.0 / devices * 1.1**devices] * 10, devices=devices, global_batch_size=64, model="m")
        spent = 10 * 1.1**devices / devices * watts
        devices_of = [{"run_id": run_id, "file_id": run_id, "device": str(k), "scope": "gpu"} for k in range(devices)]
        warehouse.insert("energy", [{**row, "energy_j": spent, "method": "counter"} for row in devices_of])
    rows = warehouse.ask("FROM energy_scaling()")
    assert [(row["devices"], row["energy_of"], row["scaling"]) for row in rows] == [
        (n, "runs", "strong") for n in (1, 2, 4)
    ]
    assert [row["relative_energy"] for row in rows] == [
        pytest.approx(1.1**n * watts / (1.1 * 300)) for n, watts in ((1, 300), (2, 280), (4, 270))
    ]


def test_a_run_that_failed_before_it_worked_is_no_point(warehouse: Warehouse) -> None:
    warehouse.run("works", [1.0] * 10, devices=1, global_batch_size=64, model="m", outcome="completed")
    warehouse.run("fails", [], devices=1, global_batch_size=2048, model="m", outcome="oom")
    warehouse.run("unlogged", [], devices=1, global_batch_size=128, model="m", outcome="unknown")
    for run_id in ("works", "fails", "unlogged"):
        row = {"run_id": run_id, "file_id": run_id, "device": "0", "scope": "gpu", "energy_j": 3600.0}
        warehouse.insert("energy", [{**row, "method": "counter"}])
    rows = warehouse.ask("FROM energy_by_batch()")
    assert [(row["global_batch_size"], row["unit_wh"]) for row in rows] == [(64, 1), (128, 1)]


def test_half_of_the_devices_measured_is_no_half_of_the_energy(warehouse: Warehouse) -> None:
    stepped(warehouse, 0, 2, 20, devices=1, global_batch_size=8, model="m")
    readings(warehouse, [(0, 300), (40, 300)])
    facts = {"run_id": "s", "devices": 2, "global_batch_size": 8, "model": "m"}
    warehouse.insert("runs", [facts])
    for table in ("steps", "step_times"):
        warehouse.connection.execute(f"INSERT INTO {table} SELECT * REPLACE ('s' AS run_id) FROM {table}")
    readings(warehouse, [(0, 300), (40, 300)], run_id="s", file_id="q")
    rows = warehouse.ask("FROM energy_scaling()")
    assert [(row["devices"], row["energy_of"], row["relative_energy"]) for row in rows] == [
        (1, "steps", 1), (2, "steps", pytest.approx(2))
    ]  # fmt: skip


# Over time


@given(
    st.lists(st.lists(st.floats(0, 700), min_size=2, max_size=200), min_size=3, max_size=3),
    st.sampled_from([4, 20, 100, 1000]),
)
@settings(max_examples=10, deadline=None)
def test_thinned_power_keeps_its_ends_and_extremes(runs: list[list[float]], points: int) -> None:
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": str(place)} for place in range(len(runs))])
    for place, watts in enumerate(runs):
        readings(warehouse, [(k / 2, value) for k, value in enumerate(watts)], run_id=str(place), file_id=f"p{place}")
    rows = warehouse.ask(f"FROM power_over_time(points := {points}) ORDER BY begins_s")
    for place, watts in enumerate(runs):
        drawn = [(row["begins_s"], row["power_w"]) for row in rows if row["run_id"] == str(place)]
        assert len(drawn) <= max(points, 4) and set(drawn) <= {(k / 2, value) for k, value in enumerate(watts)}
        assert (drawn[0], drawn[-1]) == ((0, watts[0]), ((len(watts) - 1) / 2, watts[-1]))
        assert {min(watts), max(watts)} <= {value for _, value in drawn}
        if len(watts) <= points:
            assert len(drawn) == len(watts)


def test_phases_of_a_run_lie_over_its_readings(warehouse: Warehouse) -> None:
    stepped(warehouse, 60, 2, 20, devices=1)
    span = {"run_id": "r", "file_id": "l", "line": 1, "phase": "startup", "span_s": 50.0, "ts_origin": "utc"}
    warehouse.insert("phases", [{**span, "ts": (DAY_NS + 50 * 10**9) // 1000}])
    readings(warehouse, [(k - 10, WATTS) for k in range(140) if not 80 < k < 90])
    rows = warehouse.ask("FROM power_over_time()")
    spans = {row["phase"]: (row["begins_s"], row["ends_s"]) for row in rows if row["phase"]}
    assert spans == {"startup": (0, 50), "steps": (60, 100)}
    samples = [row for row in rows if row["phase"] is None]
    assert {row["segment"] for row in samples if row["begins_s"] <= 70} == {0}
    assert {row["segment"] for row in samples if row["begins_s"] >= 80} == {1}
    cut = warehouse.ask("FROM power_over_time(margin_s := 0) WHERE phase IS NULL")
    assert (cut[0]["begins_s"], cut[-1]["begins_s"]) == (0, 100)


def test_batches_of_repeats_have_a_range(warehouse: Warehouse) -> None:
    for batch, joules in ((8, 3600), (8, 7200), (16, 7200)):
        run_id = f"{batch}-{joules}"
        warehouse.run(run_id, [1.0] * 4, steps={"samples": batch}, model="m", devices=1, global_batch_size=batch)
        energy = {"run_id": run_id, "file_id": run_id, "device": "0", "scope": "gpu", "energy_j": joules}
        warehouse.insert("energy", [energy])
    small, large = warehouse.ask("FROM energy_by_batch(warmup := 0)")
    assert (small["n_runs"], small["unit_wh"], small["unit_wh_low"], small["unit_wh_high"]) == (2, 1.5, 1, 2)
    assert (large["n_runs"], large["unit_wh"], large["unit_wh_low"]) == (1, 2, None)
    assert (small["samples_per_s"], large["samples_per_wh"], large["series"]) == (8, 32, "m · 1 device")


# MLPerf


def mllog(time_s: float, key: str, value: Any = None, **metadata: Any) -> str:
    """A line of MLPerf, at a second of 2027."""
    record = {"time_ms": round(1.8e12 + 1000 * time_s), "event_type": "POINT_IN_TIME", "key": key, "value": value}
    return f":::MLLOG {json.dumps({'namespace': '', **record, 'metadata': metadata or ''})}\n"


def test_two_nodes_with_the_same_bytes_are_reported_and_not_added(tmp_path: Path) -> None:
    result = tmp_path / "acme-ac-power" / "results" / "2xACME" / "bert"
    power = result / "power" / "result_1"
    power.mkdir(parents=True)
    readings = mllog(0, "power_measurement_start") + "".join(mllog(2 * k, "power_reading", 1000) for k in range(1, 51))
    for node in ("node_0.txt", "node_1.txt"):
        (power / node).write_text(readings + mllog(100, "power_measurement_stop"))
    trained = mllog(50, "tracked_stats", {"throughput": 900.0}, step=100)
    (result / "result_1.txt").write_text(mllog(20, "run_start") + trained + mllog(80, "run_stop", status="success"))
    ingest([tmp_path / "acme-ac-power"], tmp_path / "w", jobs=1)
    (sensor,) = scalelens.query("energy_integrated", tmp_path / "w").to_dicts()
    assert "same_bytes" in sensor["flags"] and sensor["energy_j"] == pytest.approx(60_000)
    (row,) = scalelens.query("mlperf_energy", tmp_path / "w").to_dicts()
    assert row["note"] == "another file of the run has the same content, and is not added"
    assert (row["official_j"], row["energy_j"]) == (pytest.approx(60_000), pytest.approx(60_000))


def test_mlperf_counts_the_run_without_its_initialisation(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    for phase, span_s, end_s in (("startup", 40.0, 40), ("run", 60.0, 100)):
        stamp = {"ts": (DAY_NS + end_s * 10**9) // 1000, "ts_origin": "utc"}
        warehouse.insert("phases", [{"run_id": "r", "file_id": "l", "phase": phase, "span_s": span_s, **stamp}])
    said = {"run_id": "r", "file_id": "p", "name": "power_measurement_start", "value": DAY_NS / 1e9, "unit": "s"}
    warehouse.insert("metrics", [said | {"place": "n1"}])
    readings(warehouse, [(k, 100 if k <= 40 else 900) for k in range(101)], device="node", scope="node_ac")
    (row,) = warehouse.ask("FROM mlperf_energy()")
    assert (row["energy_j"], row["coverage"]) == (pytest.approx(60 * 900 - 400), 1)


def test_a_run_of_unknown_length_is_not_a_point_of_the_line(warehouse: Warehouse) -> None:
    """Of means over epochs, and no step: the time that the run worked is not known."""
    gpt_runs(warehouse)
    (before,) = warehouse.ask("FROM energy_fixed_part(runs := 'global_batch_size > 64')")
    of_run = "WHERE run_id = 'gpt-00064'"
    warehouse.connection.execute(f"UPDATE step_times SET step = NULL, value_kind = 'epoch_mean' {of_run}")
    assert warehouse.ask("FROM energy_fixed_part()") == [before]
