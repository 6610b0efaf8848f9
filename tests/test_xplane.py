"""XLA's profile as it stores it, against the trace.json that JAX made of the same profile."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

import scalelens
from conftest import FIXTURES

STORED = FIXTURES / "xplane" / "h100.xplane.pb"
CONVERTED = FIXTURES / "xplane_of_jax" / "h100.trace.json.gz"  # the device alone
STEPS_NS = (1_795_672_316_931_061_942, 1_795_672_316_935_822_147)  # of five steps, by the clock of the host
PROFILED_NS = 1_795_672_316_917_544_786

Message = bytes


def ingested(folder: Path, *files: Path) -> duckdb.DuckDBPyConnection:
    folder.mkdir(exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    scalelens.ingest(folder, warehouse=folder / "w")
    return scalelens.connect(folder / "w")


def test_work_is_that_of_the_converted_trace_on_the_clock_of_the_host(tmp_path: Path) -> None:
    kernels = "SELECT name, {} AS start_ns, duration_ns, stream, correlation FROM events WHERE category = 'kernel' ORDER BY ALL"
    stored = ingested(tmp_path / "a", STORED).sql(kernels.format(f"start_ns - {PROFILED_NS}")).fetchall()
    converted = ingested(tmp_path / "b", CONVERTED).sql(kernels.format("start_ns")).fetchall()
    assert stored == converted and len(stored) == 75
    first, last, facts = (
        scalelens.connect(tmp_path / "a" / "w")
        .sql("""SELECT min(start_ns), max(start_ns + duration_ns),
        (SELECT list(value ORDER BY key) FROM params WHERE key IN ('device_model', 'framework', 'trace_clock'))
        FROM events WHERE category = 'kernel'""")
        .fetchall()[0]
    )
    assert STEPS_NS[0] < first < last < STEPS_NS[1]
    assert facts == ["NVIDIA H100 80GB HBM3", "jax", "unix"]


def test_beside_its_converted_trace_it_counts_once(tmp_path: Path) -> None:
    connection = ingested(tmp_path / "a", STORED, CONVERTED)
    assert connection.sql("SELECT count(*) FROM events WHERE category = 'kernel'").fetchall() == [(75,)]
    (note,) = connection.sql("SELECT note FROM files WHERE path LIKE '%.pb'").fetchall()[0]
    assert note == "the same profile is in h100.trace.json.gz next to it, which provides the events"


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def message(*fields: tuple[int, int | bytes]) -> Message:
    """A message of fields: integers, or what has a length."""
    return b"".join(
        varint(number << 3) + varint(value) if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )  # fmt: skip


def named(number: int, name: str) -> Message:
    return message((1, number), (2, message((1, number), (2, name.encode()))))


def profile(lines: Mapping[str, list[Message]], since: int, plane: str, *more: Message) -> bytes:
    of_plane = [
        (3, message((2, line.encode()), (3, since), *((4, event) for event in events)))
        for line, events in lines.items()
    ]
    names = [
        (4, named(1, "fusion.7")),
        (4, named(2, "while.2")),
        (4, named(3, "MemcpyD2H")),
        (4, named(5, "CopyDeviceToDevice")),
        (5, named(9, "correlation_id")),
    ]
    return b"".join(
        message((1, content)) for content in (message((1, 4), (2, plane.encode()), *of_plane, *names), *more)
    )


def rows(tmp_path: Path, content: bytes) -> list[tuple[Any, ...]]:
    (tmp_path / "rank2.xplane.pb").write_bytes(content)
    scalelens.ingest(tmp_path / "rank2.xplane.pb", warehouse=tmp_path / "w")
    return scalelens.connect(tmp_path / "w").sql(
        "SELECT rank, name, category, class, stream, start_ns, duration_ns, correlation, args FROM events ORDER BY line"
    ).fetchall()  # fmt: skip


def test_a_tpu_works_in_its_operations_and_not_in_the_loops_around_them(tmp_path: Path) -> None:
    operations = [message((1, 2), (2, 0), (3, 9_000_400)), message((1, 1), (2, 1_500_600), (3, 2_000_400))]
    modules = [message((1, 1), (2, 0), (3, 9_000_400))]
    content = profile({"XLA Ops": operations, "XLA Modules": modules}, 5_000, "/device:TPU:0")
    assert [row[1:7] for row in rows(tmp_path, content)] == [
        ("while.2", "gpu_user_annotation", None, None, 5_000, 9_000),
        ("fusion.7", "kernel", "compute", None, 6_501, 2_000),
        ("fusion.7", "gpu_user_annotation", None, None, 5_000, 9_000),
    ]  # fmt: skip
    assert scalelens.sql("SELECT value FROM params WHERE key = 'trace_clock'", tmp_path / "w")["value"].to_list() == [
        "relative"
    ]


def test_statistics_are_arguments_and_a_copy_is_no_kernel(tmp_path: Path) -> None:
    event = message((1, 3), (2, 1_000_000), (3, 500), (4, message((1, 9), (3, 77))))
    content = profile({"Stream #13(MemcpyD2H)": [event]}, 1_700_000_000_000_000_000, "/device:GPU:1")
    assert rows(tmp_path, content) == [
        (2, "MemcpyD2H", "gpu_memcpy", "memory", 13, 1_700_000_000_000_001_000, 1, 77, json.dumps({"correlation_id": 77})),
    ]  # fmt: skip


def test_a_copy_of_rocm_is_no_kernel_and_several_gpus_of_a_process_are_said(tmp_path: Path) -> None:
    work = [message((1, 5), (2, 0), (3, 400_000)), message((1, 1), (2, 500_000), (3, 300_000))]
    other = profile({"Stream #1": [message((1, 1), (2, 900_000), (3, 100_000))]}, 0, "/device:GPU:1")
    found = rows(tmp_path, profile({"Stream #1": work}, 0, "/device:GPU:0") + other)
    assert [row[1:4] for row in found][:2] == [
        ("CopyDeviceToDevice", "gpu_memcpy", "memory"),
        ("fusion.7", "kernel", "compute"),
    ]
    parts = "SELECT compute_ns, exposed_memory_ns, idle_ns, note FROM temporal_breakdown()"
    assert scalelens.connect(tmp_path / "w").sql(parts).fetchall() == [
        (400, 400, 200, "2 devices count as one: idle is where none of them works")
    ]


def test_events_without_times_are_counted_in_the_note(tmp_path: Path) -> None:
    assert rows(tmp_path, profile({"Stream #1": [message((1, 1), (5, 300), (3, 10))]}, 0, "/device:GPU:0")) == []
    (note,) = scalelens.connect(tmp_path / "w").sql("SELECT note FROM files").fetchall()[0]
    assert note == "events without times, which it only counts, are left out"


def test_a_cut_profile_keeps_whole_planes(tmp_path: Path) -> None:
    content = STORED.read_bytes()
    for end in range(1, len(content), 997):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / "a.xplane.pb").write_bytes(content[:end])
        report = scalelens.ingest(folder, warehouse=folder / "w", jobs=1)
        assert [entry.status for entry in report.entries] in (["partial"], ["unknown"], ["ok"], ["empty"]), end
