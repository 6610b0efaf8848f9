"""The catalog: every row has a source, its figures can be true together, and names that logs print find their row."""

import re
from pathlib import Path

import pytest

import scalelens
from scalelens import catalog
from scalelens.ingestion.ingest import ingest
from scalelens.tables import DEVICES, SYSTEMS

ROWS = catalog.rows("devices_catalog")
BY_NAME = {row["device"]: row for row in ROWS}


@pytest.mark.parametrize("name", ["devices_catalog", "systems_catalog"])
def test_each_row_is_named_once_and_has_a_source(name: str) -> None:
    rows = catalog.rows(name)
    key = "device" if name == "devices_catalog" else "system"
    assert len({row[key] for row in rows}) == len(rows) >= 10
    for row in rows:
        assert re.fullmatch(r"https://\S+", row["source"]), row[key]
        assert re.compile(row["pattern"]) and row["pattern"] == re.sub(r"(?<!\\)[A-Z]", "", row["pattern"]), row[key]
        assert row["unit"] in ("gpu", "gcd", "ipu", "hpu", "tpu"), row[key]
    assert [row["place"] for row in rows] == list(range(1, len(rows) + 1))
    assert catalog.table(name).column_names == [c.name for c in (DEVICES if key == "device" else SYSTEMS)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["device"])
def test_figures_of_a_device_can_be_true_together(row: dict) -> None:
    peaks = [row[f"{kind}_tflops"] for kind in ("fp32", "tf32", "fp16", "fp8")]
    known = [peak for peak in peaks if peak is not None]
    assert known == sorted(known), "a narrower format is never slower"
    assert row["bf16_tflops"] is None or row["fp16_tflops"] is None or row["bf16_tflops"] <= row["fp16_tflops"]
    if row["tf32_tflops"] and row["fp16_tflops"]:
        assert row["fp16_tflops"] / row["tf32_tflops"] == pytest.approx(2, rel=0.02)  # a ratio of 4 were sparse
    if row["fp8_tflops"] and row["fp16_tflops"]:
        assert row["fp8_tflops"] / row["fp16_tflops"] == pytest.approx(2, rel=0.02)
    assert row["memory_gb"] is None or row["memory_gb"] > 0
    assert row["tdp_w"] is None or 70 <= row["tdp_w"] <= 1500


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["device"])
def test_a_figure_that_nobody_has_read_anywhere_is_not_there(row: dict) -> None:
    note = row["note"] or ""
    peaks = [row[name] for name in row if name.endswith("_tflops") or name == "bandwidth_gb_per_s"]
    if "was opened" in note and "no document" in note:
        assert set(peaks) == {None}
    elif not note.startswith("custom"):
        assert set(peaks) != {None}, "a row without figures says why"


def test_a_gcd_is_half_of_its_module() -> None:
    for model in ("MI250", "MI250X"):
        gcd, oam = BY_NAME[f"AMD Instinct {model} GCD"], BY_NAME[f"AMD Instinct {model} OAM"]
        for figure in ("memory_gb", "fp16_tflops", "bandwidth_gb_per_s"):
            assert gcd[figure] * 2 == pytest.approx(oam[figure], rel=0.002)


@pytest.mark.parametrize(
    ("name", "of", "share"),
    [
        ("NVIDIA GH200 96GB", "NVIDIA H100 SXM 80GB", 1),
        ("NVIDIA GH200 144GB", "NVIDIA H100 SXM 80GB", 1),
        ("NVIDIA H200 SXM 141GB", "NVIDIA H100 SXM 80GB", 1),
        ("AMD Instinct MI325X", "AMD Instinct MI300X", 1),
        ("AMD Instinct MI300A", "AMD Instinct MI300X", 228 / 304),  # compute units, at one clock
        ("Graphcore Bow IPU", "Graphcore GC200 IPU", 1.4),  # one chip, at a higher clock: "up to 40 %"
    ],
)
def test_peaks_of_devices_of_one_design_are_as_their_units_and_clocks(name: str, of: str, share: float) -> None:
    """A peak with sparsity, or of two devices, would be twice as high."""
    peaks = [figure for figure in BY_NAME[name] if figure.endswith("_tflops") and BY_NAME[name][figure]]
    assert "fp16_tflops" in peaks
    assert all(BY_NAME[name][peak] == pytest.approx(share * BY_NAME[of][peak], rel=0.005) for peak in peaks)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100 SXM 40GB"),
        ("A100-SXM-80GB", "NVIDIA A100 SXM 80GB"),
        ("A100-PCIE-40GB", "NVIDIA A100 PCIe 40GB"),
        ("NVIDIA A100 80GB PCIe", "NVIDIA A100 PCIe 80GB"),
        ("NVIDIA A100-SXM-64GB", "NVIDIA A100 SXM 64GB"),
        ("Tesla V100-SXM2-32GB", "NVIDIA V100 SXM2 32GB"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM 80GB"),
        ("NVIDIA H100-SXM5-80GB", "NVIDIA H100 SXM 80GB"),
        ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe 80GB"),
        ("NVIDIA H200", "NVIDIA H200 SXM 141GB"),
        ("NVIDIA GH200 120GB", "NVIDIA GH200 96GB"),
        ("NVIDIA GH200 144G HBM3e", "NVIDIA GH200 144GB"),
        ("NVIDIA B200", "NVIDIA B200 SXM 180GB"),
        ("NVIDIA GB200", "NVIDIA GB200"),
        ("NVIDIA L40S", "NVIDIA L40S"),
        ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("AMD Instinct MI250X", "AMD Instinct MI250X GCD"),
        ("AMD Instinct MI300X-NPS1-SPX-192GB-750W", "AMD Instinct MI300X"),
        ("MI355X", "AMD Instinct MI355X"),
        ("Graphcore IPU GC200", "Graphcore GC200 IPU"),
        ("Intel(R) Data Center GPU Max 1550", "Intel Data Center GPU Max 1550"),
        ("Tesla V100-SXM2", "NVIDIA V100 SXM2"),
        ("Tesla V100S-PCIE-32GB", "NVIDIA V100S PCIe 32GB"),
        ("NVIDIA A100", "NVIDIA A100"),
        ("A100-SXM4", "NVIDIA A100"),
        ("A100X", None),
        ("NVIDIA A800-SXM4-80GB", "NVIDIA A800"),
        ("NVIDIA A40", "NVIDIA A40"),
        ("NVIDIA RTX A4000", None),
        ("NVIDIA H20", "NVIDIA H20"),
        ("Tesla T4", "NVIDIA T4"),
        ("TPU v4", "Google TPUv4"),
        ("TPU v5 lite", "Google TPUv5e"),
        ("TPU v5", "Google TPUv5p"),
        ("tpu-v5p", "Google TPUv5p"),
        ("TPU v6e", "Google TPUv6e"),
        ("NVIDIA V100", None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", None),
        ("NVIDIA H100", None),
        ("Quadro K600", None),
    ],
)
def test_names_of_logs_find_their_device(name: str, device: str | None) -> None:
    found = catalog.device(name)
    assert (found and found["device"]) == device


def test_devices_of_systems_are_in_the_catalog() -> None:
    for row in catalog.rows("systems_catalog"):
        assert row["device"] in BY_NAME
        assert row["unit"] == BY_NAME[row["device"]]["unit"]


def test_a_run_finds_its_device_in_sql(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("GPU models and configuration: GPU 0: NVIDIA A100-SXM4-40GB\n")
    ingest([log], tmp_path / "w", jobs=1)
    rows = scalelens.query("run_devices", tmp_path / "w")
    assert rows["device"].to_list() == ["NVIDIA A100 SXM 40GB"]
    assert rows["bf16_tflops"].to_list() == [312.0]


def test_a_slice_of_a_device_has_no_peak(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB MIG 1g.10gb\n")
    ingest([log], tmp_path / "w", jobs=1)
    rows = scalelens.query("run_devices", tmp_path / "w")
    assert rows["device_model"].to_list() == ["NVIDIA A100-SXM4-80GB MIG 1g.10gb"]
    assert rows["device"].to_list() == [None]


def test_a_key_of_a_framework_is_one_setting() -> None:
    rows = catalog.rows("settings_catalog")
    keys = [key for row in rows for key in row["keys"].split()]
    assert len(set(keys)) == len(keys) and all(key == key.lower() for key in keys)
    assert len({row["setting"] for row in rows}) == len(rows)
    for row in rows:
        assert row["class"] in ("performance", "identity", "neutral") and row["meaning"]
        assert row["kind"] in ("flag", "count", "split", "number", "word")
        assert row["varies_with"] in (None, "size", "model")
        assert row["setting"] in row["keys"].split() or row["class"] != "performance"
