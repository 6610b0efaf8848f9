"""Snapshots of PyTorch's memory, against an allocator that counts what it does, entry by entry."""

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scalelens
from allocator import Allocator, random_snapshots
from asking import answer
from conftest import FIXTURES
from scalelens.parsing.call_sites import call_site

OLDER = "allocated before the history began"


def ingested(folder: Path, content: Any, name: str = "rank3_memory.pickle", protocol: int = 4) -> Path:
    path = folder / name
    is_json = name.endswith(".json")
    path.write_bytes(json.dumps(content).encode() if is_json else pickle.dumps(content, protocol=protocol))
    scalelens.ingest(path, warehouse=folder / "w")
    return folder / "w"


def asked(warehouse: Path, name: str, **parameters: Any) -> list[dict[str, Any]]:
    rows: pl.DataFrame = scalelens.query(name, warehouse=warehouse, **parameters)
    return rows.to_dicts()


@pytest.mark.parametrize(("seed", "recorded"), [(1, 1 << 30), (2, 1 << 30), (3, 60)])
def test_totals_and_sites_are_those_that_the_allocator_counted(tmp_path: Path, seed: int, recorded: int) -> None:
    allocator = random_snapshots(seed, recorded=recorded)
    warehouse = ingested(tmp_path, allocator.snapshot(device=1), protocol=2 + seed)
    seen, owners = allocator.seen[-recorded:], allocator.owners[-recorded:]
    rows = asked(warehouse, "memory_over_time", points=10_000)
    assert [(row["requested_bytes"], row["reserved_bytes"]) for row in rows if row["action"] != "free_requested"] == [
        pair for pair, entry in zip(seen, allocator.history[-recorded:], strict=True) if entry["action"] != "free_requested"
    ]  # fmt: skip
    peak = max(range(len(seen)), key=lambda n: (seen[n][0], -n))
    (summary,) = asked(warehouse, "memory_snapshots")
    assert (summary["rank"], summary["device"]) == (3, "1")
    assert summary["peak_requested_bytes"] == seen[peak][0]
    assert summary["unused_at_peak_bytes"] == seen[peak][1] - seen[peak][0]
    assert summary["peak_reserved_bytes"] == max(reserved for _, reserved in seen)
    by_site = {row["site"]: row["bytes"] for row in asked(warehouse, "memory_by_site")}
    assert sum(by_site.values()) == seen[peak][0]
    if recorded > len(allocator.history):  # a shorter history does not know who allocated what it frees
        counted = dict(owners[peak])
        assert by_site.pop(None, None) == counted.pop("before", None)
        assert {site.split()[1]: held for site, held in by_site.items()} == counted


def test_the_state_is_what_the_blocks_say(tmp_path: Path) -> None:
    allocator = random_snapshots(7)
    warehouse = ingested(tmp_path, allocator.snapshot())
    free = {segment: allocator.free_blocks(segment) for segment in allocator.segments}
    sizes = [size for blocks in free.values() for _, size in blocks]
    (row,) = asked(warehouse, "memory_snapshots")
    assert row["reserved_bytes"] == sum(allocator.segments.values())
    assert row["allocated_bytes"] == sum(block["size"] for block in allocator.blocks.values())
    assert row["requested_bytes"] == sum(block["requested_size"] for block in allocator.blocks.values())
    assert (row["free_bytes"], row["largest_free_bytes"]) == (sum(sizes), max(sizes))
    assert row["fragmentation"] == pytest.approx(1 - max(sizes) / sum(sizes))
    assert row["stranded_bytes"] == sum(
        size for segment, blocks in free.items() for _, size in blocks if size < allocator.segments[segment]
    )
    held: dict[str, int] = {}
    for block in allocator.blocks.values():
        held[block["site"]] = held.get(block["site"], 0) + block["requested_size"]
    rows = asked(warehouse, "memory_by_site", moment="snapshot")
    assert {row["site"].split()[1] if row["site"] else "before": row["bytes"] for row in rows} == held


# What torch.cuda.memory_stats() said at the end of the run, on an H100 with PyTorch 2.11: peaks of what was asked for and
# reserved; asked for, allocated and reserved at the end.
OF_PYTORCH = {
    "resnet50": (5_830_299_280, 7_029_653_504, 311_361_772, 314_808_320, 7_029_653_504),  # history without the model
    "transformer": (1_117_825_316, 1_570_766_848, 277_957_660, 280_638_976, 1_570_766_848),  # stacks with C++
}


@pytest.mark.parametrize("name", OF_PYTORCH)
def test_real_snapshots_say_what_pytorch_counted(tmp_path: Path, name: str) -> None:
    scalelens.ingest(FIXTURES / "memory_snapshots" / f"{name}.pickle.gz", warehouse=tmp_path / "w")
    (row,) = asked(tmp_path / "w", "memory_snapshots")
    columns = ("peak_requested_bytes", "peak_reserved_bytes", "requested_bytes", "allocated_bytes", "reserved_bytes")
    assert tuple(row[column] for column in columns) == OF_PYTORCH[name]
    sites = asked(tmp_path / "w", "memory_by_site")
    assert sum(site["bytes"] for site in sites) == row["peak_requested_bytes"]
    named = {site["site"]: round(site["share"], 3) for site in sites if site["share"] > 0.07}
    assert named == {
        "resnet50": {"resnet.py:155 forward": 0.242, "resnet.py:154 forward": 0.242, "resnet.py:147 forward": 0.084,
                     "resnet.py:146 forward": 0.084},
        "transformer": {"mem.py:23 <module>": 0.804, "backward: AddmmBackward0": 0.071},
    }[name]  # fmt: skip


def test_thinning_keeps_the_peaks(tmp_path: Path) -> None:
    allocator = random_snapshots(4, requests=600)
    warehouse = ingested(tmp_path, allocator.snapshot())
    rows = asked(warehouse, "memory_over_time", points=40)
    assert len(rows) <= 60 < len(allocator.history)
    assert max(row["requested_bytes"] for row in rows) == max(requested for requested, _ in allocator.seen)
    assert max(row["reserved_bytes"] for row in rows) == max(reserved for _, reserved in allocator.seen)
    assert sum(row["is_peak"] for row in rows) == 1


def small() -> Allocator:
    """Half of a segment is in use at its two ends, and a request for the rest of it fails."""
    allocator = Allocator()
    held = [allocator.allocate(256 << 10, site, 10) for site in ("a", "b", "c", "d")]
    allocator.free(held[1])
    allocator.free(held[2])
    return allocator


def test_a_failure_with_as_much_free_is_fragmentation(tmp_path: Path) -> None:
    allocator = small()
    allocator.note("oom", 4096, 400 << 10, [])
    allocator.note("oom", 4096, 4 << 20, [])
    (row,) = asked(ingested(tmp_path, allocator.snapshot()), "memory_snapshots")
    assert (row["ooms"], row["oom_bytes"]) == (2, 4 << 20)
    assert row["note"] == (
        "1 of 2 failed allocations asked for no more than was reserved and unused: fragmentation, or rounding"
    )


def test_without_a_history_the_peak_is_not_known_and_not_zero(tmp_path: Path) -> None:
    snapshot = small().snapshot()
    for written in (snapshot | {"device_traces": [[]]}, snapshot["segments"]):
        folder = tmp_path / type(written).__name__
        folder.mkdir()
        warehouse = ingested(folder, written, "snapshot.pickle")
        (row,) = asked(warehouse, "memory_snapshots")
        assert (row["entries"], row["peak_requested_bytes"], row["allocated_bytes"]) == (0, None, 512 << 10)
        assert row["note"] == "no history was recorded: the peak is not known"
        (peak,) = asked(warehouse, "memory_by_site")
        assert (peak["bytes"], peak["note"].split(":")[0]) == (
            None,
            "no history was recorded, so that the peak is not known",
        )
        (notes,) = answer(warehouse, "SELECT note FROM files").fetchall()
        assert "its history was not recorded" in notes[0]
        assert asked(warehouse, "memory_over_time") == []


def test_blocks_without_addresses_lie_one_after_another(tmp_path: Path) -> None:
    """As PyTorch 1.13 writes them; its blocks have a history of their own."""
    segments = small().snapshot()["segments"]
    for segment in segments:
        for block in segment["blocks"]:
            frames, requested = block.pop("frames"), block.pop("requested_size")
            block.pop("address")
            if block["state"] != "inactive":
                block["history"] = [{"addr": 0, "real_size": requested, "frames": frames}]
    warehouse = ingested(tmp_path, segments, "rank_0.pickle")
    (row,) = asked(warehouse, "memory_snapshots")
    assert (row["rank"], row["requested_bytes"], row["free_bytes"]) == (0, 512 << 10, 512 << 10)
    sites = asked(warehouse, "memory_by_site", moment="snapshot")
    assert [(site["site"], site["bytes"]) for site in sites] == [
        ("model.py:10 a", 256 << 10),
        ("model.py:10 d", 256 << 10),
    ]


def test_json_gives_the_rows_of_a_pickle(tmp_path: Path) -> None:
    snapshot = random_snapshots(5).snapshot()
    rows = []
    for name in ("rank0.pickle", "rank0.json"):
        folder = tmp_path / name
        folder.mkdir()
        warehouse = ingested(folder, snapshot, name)
        rows.append(answer(warehouse, "SELECT * EXCLUDE (run_id, file_id) FROM events").fetchall())
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1])) and len(rows[0]) > 300


def test_a_cut_snapshot_keeps_what_stands_before(tmp_path: Path) -> None:
    content = pickle.dumps(random_snapshots(6).snapshot(), protocol=4)
    counts = []
    for end in (len(content) // 3, len(content) // 2, len(content) - 1):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / "rank0.pickle").write_bytes(content[:end])
        report = scalelens.ingest(folder, warehouse=folder / "w")
        assert [entry.status for entry in report.entries] == ["partial"]
        found = answer(folder / "w", "SELECT count(*), count(DISTINCT args->>'device') FROM events")
        counts.append(found.fetchall()[0])
    assert counts[0] < counts[1] < counts[2]
    assert {devices for _, devices in counts} == {1}


def test_odd_values_are_problems_and_cost_no_more_than_themselves(tmp_path: Path) -> None:
    """Lists where a text belongs, nested deeper than Python prints; sizes beyond any device; one list named often."""
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    snapshot = small().snapshot()
    entry = {"action": "alloc", "addr": 1, "size": 1, "frames": [{"filename": deep, "name": deep, "line": deep}]}
    odd = [entry | {"action": deep}, entry | {"size": 1 << 60}, entry | {"size": deep}, dict(entry)]
    snapshot["device_traces"] = [odd] * 3 + [deep]
    snapshot["segments"] += [
        snapshot["segments"][0] | {"blocks": [{"state": deep, "size": 5}], "segment_pool_id": (deep, {})}
    ]
    warehouse = ingested(tmp_path, snapshot)
    reasons = answer(warehouse, "SELECT reason, count(*) FROM problems GROUP BY ALL ORDER BY ALL").fetchall()
    assert reasons == [("the block has no size or no state", 1), ("the entry has no known action or no size", 3)]
    assert asked(warehouse, "memory_over_time")[0]["entries"] == 1
    assert [row["site"] for row in asked(warehouse, "memory_by_site")] == ["model.py:10 a", "model.py:10 d", None]


@pytest.mark.parametrize(
    ("frames", "site"),
    [
        ([("/home/me/pytorch/torch/nn/modules/linear.py", "forward"), ("/home/me/torch/train.py", "step")], "train.py:1 step"),
        ([("/env/dist-packages/torch/_tensor.py", "backward"), ("/env/lib/python3.12/runpy.py", "run")], "_tensor.py:1 backward"),
        ([("??", "torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)")], "backward: MulBackward0"),
        ([("/env/site-packages/transformers/models/llama.py", "mlp")], "llama.py:1 mlp"),
        ([("/tmp/ipykernel_12/3.py", "<module>")], "3.py:1 <module>"),
        ([("??", "PyEval_EvalCode")], None),
        ([], None),
    ],
)  # fmt: skip
def test_a_site_is_outside_of_the_framework(frames: list[tuple[str, str]], site: str | None) -> None:
    found = call_site([{"filename": filename, "name": name, "line": 1} for filename, name in frames])
    assert (found.site if found else None) == site
