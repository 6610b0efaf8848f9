"""Kineto traces: exact against other readers on real ones, and whole however they are damaged."""

import gzip
import io
import itertools
import json
import logging
import random
import re
import subprocess
import sys
import tarfile
import types
import warnings
import zlib
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import answer
from conftest import FIXTURES
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import kineto
from scalelens.parsing import trace_events as events
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.traces.critical_path import critical_path_by_hta

HTA = "traces/facebookresearch__HolisticTraceAnalysis/tests/data/"
TRACELENS = "traces/AMD-AGI__TraceLens/tests/traces/"
REAL = (
    HTA + "cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    HTA + "nccl_parser_config/nccl_data.json.gz",
    HTA + "amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    HTA + "large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz",
    HTA + "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    HTA + "trace_file_list/inference_rank_1.json.gz",
    HTA + "mtia_inference_trace/mtia_inference_rank_0.json.gz",
    HTA + "call_stack/backward_thread.json",
    HTA + "triton_example/triton_example.json.gz",
    TRACELENS + "h100/Falconsai_nsfw_image_detection__1016002.json.gz",
    TRACELENS + "mi210/gpu_only_trace/gpu_only_trace.json.gz",
    TRACELENS + "inference/vllm_decode_full/graph_execution.json.gz",
    "traces/pytorch__kineto/tb_plugin/samples/resnet50_num_workers_0/worker0.pt.trace.json.gz",
    "generated/kineto_cpu/traces_gpt_pp2/rank0.json.gz",
)
NO_TRACES = (
    HTA + "memory_analysis/memory_timeline.raw.gz",
    HTA + "execution_trace/benchmark_simple_add_et.json.gz",
    TRACELENS + "tracediff_test/cpu_op_map.json",
)
NS_BASE = (FIXTURES / "kineto" / "ns_base.json").read_bytes()
EVENT = '{"ph": "X", "name": "%s", "pid": 1, "tid": 1, "ts": %s, "dur": 1}'


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def tables(data: bytes | str, name: str = "trace.json") -> dict[str, list[dict[str, Any]]]:
    data = data.encode() if isinstance(data, str) else data
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    rows = Rows("f", lambda table, batch: found[table].extend(batch.to_pylist()))
    kineto.read(Source(f"/somewhere/{name}", io.BytesIO(data), len(data), 0), rows)
    rows.flush()
    return found


def trace(*events: str) -> str:
    return '{"schemaVersion": 1, "traceEvents": [' + ",\n".join(events) + "]}"


def whole(value: Any) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def expected(data: bytes) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Events, and the rows they should be, by the standard library's reader, their times by decimal arithmetic."""
    document = json.loads(data, parse_float=Decimal)
    document = {"traceEvents": document} if isinstance(document, list) else document
    events, base = document["traceEvents"], document.get("baseTimeNanoseconds", 0)
    return events, [
        (
            line, event["ph"], event["name"], event["cat"].lower() if event.get("cat") else None,
            base + int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000) if "dur" in event else None,
            *(None if event.get(key) is None else str(event[key]) for key in ("pid", "tid")),
            *(whole(event.get("args", {}).get(key)) for key in ("stream", "correlation")), event.get("args"),
        )
        for line, event in enumerate(events, 1) if event["ph"] in "XiIC"
    ]  # fmt: skip


def equals_the_standard_library(data: bytes) -> None:
    found = tables(data)
    columns = "line ph name category start_ns duration_ns process thread stream correlation"
    rows = [
        (*(row[column] for column in columns.split()), row["args"] and json.loads(row["args"], parse_float=Decimal))
        for row in found["events"]
    ]
    events, want = expected(data)
    assert rows == want
    assert not found["problems"]
    counts = Counter(event["ph"] for event in events if event["ph"] not in "XiIC")
    said = {row["key"]: row["value"] for row in found["params"] if row["key"].startswith("trace_events_")}
    assert said == {f"trace_events_{ph}": str(count) for ph, count in counts.items()}
    at = 0
    for row in found["events"]:
        if row["args"] is not None:
            at = data.find(row["args"].encode(), at) + 1
            assert at, row


@pytest.mark.parametrize("name", REAL, ids=lambda name: name.split("/", 1)[1].rsplit("/", 1)[-1])
def test_real_traces_are_read_as_the_standard_library_reads_them(corpus: Path, name: str) -> None:
    equals_the_standard_library(content(corpus / name))


@pytest.mark.slow
def test_every_trace_of_the_corpus_is_read_as_the_standard_library_reads_it(corpus: Path) -> None:
    checked = 0
    for path in sorted((corpus / "traces").rglob("*")):
        if path.suffix in (".gz", ".json") and not path.name.endswith(".tar.gz"):
            data = content(path)
            if kineto.recognise(data[: 1 << 16], path.name):
                equals_the_standard_library(data)
                checked += 1
    with tarfile.open(corpus / "traces/facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz") as archive:
        for member in archive:
            if member.isfile():
                equals_the_standard_library(archive.extractfile(member).read())
                checked += 1
    assert checked >= 50


def test_real_files_are_recognized_by_content(corpus: Path) -> None:
    assert [name for name in REAL if not kineto.recognise(content(corpus / name)[: 1 << 16], "x")] == []
    assert [name for name in NO_TRACES if kineto.recognise(content(corpus / name)[: 1 << 16], "x.json")] == []


def test_metadata_longer_than_the_head_is_recognized() -> None:
    groups = [{"pg_name": str(k), "ranks": list(range(500))} for k in range(100)]
    long = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 7, "pg_config": groups}})[:-1]
    text = f'{long}, "traceEvents": [{EVENT % ("a", 1)}]}}'
    assert kineto.recognise(text.encode()[: 1 << 16], "x")
    assert [row["rank"] for row in tables(text)["events"]] == [7]


def test_cut_at_any_byte_keeps_the_exact_prefix() -> None:
    rows, start = tables(NS_BASE)["events"], NS_BASE.index(b'"traceEvents": [') + 16
    for end in range(0, len(NS_BASE) - 1, 3):
        found = tables(NS_BASE[:end])
        assert len(found["problems"]) == (1 if NS_BASE[end:].strip() else 0), end
        if end > start:
            assert found["events"] == rows[: len(found["events"])], end
            assert len(found["events"]) >= NS_BASE[start:end].count(b"\n  },") - 4, end  # four are no rows


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damage_costs_one_event(data: st.DataObject) -> None:
    def events(text: bytes) -> set[tuple[Any, ...]]:
        return {(row["name"], row["start_ns"]) for row in tables(text)["events"]}

    at = data.draw(st.integers(NS_BASE.index(b'"traceEvents": [') + 16, len(NS_BASE) - 1))
    length = data.draw(st.integers(0, 1))
    damaged = NS_BASE[:at] + data.draw(st.binary(max_size=1)) + NS_BASE[at + length :]
    assert len(events(NS_BASE) - events(damaged)) <= 1


@given(st.one_of(st.binary(max_size=200), st.text(alphabet='[]{}",:\\ phXtsargE1.-n', max_size=120).map(str.encode)))
@settings(max_examples=300, deadline=None)
def test_nothing_raises(noise: bytes) -> None:
    kineto.recognise(noise, "x")
    tables(noise)
    tables(b'{"schemaVersion": 1, "traceEvents": [' + noise)
    tables(b"[" + noise + b"]")


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
def test_events_do_not_depend_on_the_blocks_they_come_in(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ns_base.json", "control_chars.json", "tail_metadata.json", "array.json"):
        data = content(FIXTURES / "kineto" / name)
        monkeypatch.undo()
        want = tables(data)["events"]
        monkeypatch.setattr(Source, "utf8", lambda self, _: iter([*self.chunks(size)]))
        assert tables(data)["events"] == want, name


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("5125096980867.834", 5125096980867834), ("1", 1000), ("1.5", 1500), ("0.001", 1), ("-0.5", -500),
        ("1.5e3", 1500000), ("1e-3", 1), ("1790857026000000.1235", 1790857026000000124), ('"12.25"', 12250),
        ("1e400", None), ("null", None), ('"nan"', None), ("[1]", None), ("9" * 5000, None), ("", None),
    ],
)  # fmt: skip
def test_times_are_exact(text: str, nanoseconds: int | None) -> None:
    assert events.decimal_nanoseconds(msgspec.Raw(text.encode())) == nanoseconds


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.json", 0), ("rank-34.Jul_15.json", 34), ("mtia_rank_12.json", 12), ("trace_8_Rank3.json", 3),
        ("local_rank_2.json", None), ("frank1.json", None), ("worker0.json", None), ("rank99999999999.json", None),
    ],
)  # fmt: skip
def test_rank_comes_from_the_name_where_the_trace_has_none(name: str, rank: int | None) -> None:
    assert tables(trace(EVENT % ("a", 1)), name)["events"][0]["rank"] == rank


def test_rank_of_the_trace_goes_before_the_name() -> None:
    assert {row["rank"] for row in tables(NS_BASE, "rank0.json")["events"]} == {3}


def test_metadata_behind_the_events_holds_for_all_of_them() -> None:
    data = content(FIXTURES / "kineto" / "tail_metadata.json")
    rows = tables(data)["events"]
    base = 1719853884000000000
    assert [row["start_ns"] - base for row in rows] == [4382708395400000, 4382708395440500, 4382708395433669]
    assert [row["train_step"] for row in rows] == [None, 551, 551]
    assert {row["rank"] for row in rows} == {34}
    assert [row["start_ns"] for row in tables(data.replace(b'"trace.json",', b'"trace.json'))["events"]] == [
        row["start_ns"] for row in rows
    ]


@pytest.mark.parametrize("name", ["tail_metadata", "ns_base", "pairs", "linked_by_flows", "merged_ranks", "array"])
def test_rows_do_not_depend_on_how_much_is_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace of more columns than are held is read once more for its metadata and the annotations of its steps."""
    data = (FIXTURES / "kineto" / f"{name}.json").read_bytes()
    held = tables(data)
    assert held["events"]
    monkeypatch.setattr(kineto, "HELD_BYTES", 0)
    monkeypatch.setattr(Source, "utf8", lambda self, _: self.chunks(100))
    assert tables(data) == held


def test_a_base_after_the_events_moves_times_as_far_as_they_stay_times() -> None:
    last = (1 << 63) - 1
    text = trace(EVENT % ("a", "1.5"), EVENT % ("b", str((last - 10**18) // 1000 + 1)))
    rows = tables(text[:-1] + f', "baseTimeNanoseconds": {10**18}}}')
    assert [(row["name"], row["start_ns"]) for row in rows["events"]] == [("a", 10**18 + 1500)]
    assert [(row["line"], row["text"]) for row in rows["problems"]] == [(2, "b")]
    clock = [(row["value"], row["line"], row["origin"]) for row in rows["params"] if row["key"] == "trace_clock"]
    assert clock == [("unix", 1, "log")]


def test_device_work_belongs_to_the_step_of_its_own_stream() -> None:
    steps = {row["name"][:12]: row["train_step"] for row in tables(NS_BASE)["events"]}
    assert steps["ampere_sgemm"] == 3  # runs while the host is in step 4 already, inside its stream's annotation of 3
    assert steps["ncclDevKerne"] == 4  # its stream has no annotation


def test_collectives() -> None:
    row = next(row for row in tables(NS_BASE)["events"] if row["name"].startswith("nccl"))
    assert (row["collective"], row["process_group"], row["group_size"]) == ("allreduce", "0", 8)
    assert (row["message_bytes"], row["dtype"], row["stream"]) == (2873320 * 2, "BFloat16", 20)


def test_every_event_in_many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    args = '{"l": [{"name": 1}, {"name": "},\\n {\\"ph\\": 1"}]}'
    nested = '{"ph": "X", "name": "n%d", "pid": 1, "tid": 1, "ts": %d, "args": ' + args + "}"
    events = [nested % (k, k) if k % 5 == 0 else EVENT % (f"n{k}", k) for k in range(3000)]
    events[1500] = '{"ph": "X", "name": broken}'
    monkeypatch.setattr(Source, "utf8", lambda self, _: self.chunks(10_000))
    found = tables(trace(*events))
    assert [row["line"] for row in found["events"]] == [k for k in range(1, 3001) if k != 1501]
    assert [row["line"] for row in found["problems"]] == [1501]


def test_a_cut_compression_stream_keeps_what_is_whole() -> None:
    data = gzip.compress(NS_BASE)
    rows = tables(NS_BASE)["events"]
    found = tables(data[: len(data) // 2])
    assert found["events"] == rows[: len(found["events"])]
    assert len(found["problems"]) == 1


def test_a_cut_gzip_gives_exactly_the_events_before_the_cut() -> None:
    rng = random.Random(5)
    kinds = (
        '"args": {"External id": %d, "Input Dims": [[%d, 2], []]}',
        '"args": {"stream": 7, "correlation": %d}, "id": %d',
    )
    start = b'{"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": ['
    pieces, ends = [start], []
    for k in range(12_000):
        event = f"{EVENT[:-1]}, {kinds[k % 2]}}}" % (
            f"op {rng.random()} {{}}",
            f"{k}.{k % 1000:03}",
            k,
            rng.randrange(99),
        )
        pieces.append((",\n" if k else "\n").encode() + event.encode())
        ends.append(len(pieces[-1]))
    text = b"".join(pieces) + b"]}"
    ends = [len(start) + end for end in itertools.accumulate(ends)]
    packed, whole = gzip.compress(text), tables(text)["events"]
    assert len(whole) == 12_000
    for _ in range(20):
        cut = packed[: rng.randrange(200, len(packed) - 30)]
        there = len(zlib.decompressobj(31).decompress(cut))
        found = tables(cut)
        assert found["events"] == whole[: sum(end <= there for end in ends)]
        assert len(found["problems"]) == 1


def test_bad_bytes_cost_only_the_texts_they_stand_in() -> None:
    text = trace(*(EVENT % (f"op{k}", k) for k in range(5))).encode()
    found = tables(text.replace(b"op1", b"o\xff1").replace(b"op2", b"o\x012").replace(b"op3", b"o\\3"))
    assert [row["name"] for row in found["events"]] == ["op0", "o\ufffd1", "o\x012", "o\\3", "op4"]
    assert [row["reason"][:30] for row in found["problems"]] == ["texts that are not quite JSON "]


PARSE_PIECE_BY_PIECE = """
import resource, sys
from pathlib import Path
from scalelens.ingestion.batch import IngestOptions, read_batch
from scalelens.ingestion.walk import WalkedFile
from scalelens.ingestion import formats
from scalelens.warehouse.log import Warehouse
path, root = Path(sys.argv[1]), Path(sys.argv[2])
Warehouse(root).create()
found = WalkedFile(str(path), str(path), path.stat().st_size, 0)
(entry,) = read_batch([found], IngestOptions(root), formats.load(), set(), lambda _: None, Warehouse(root))
own = Path("/proc/self/status")  # what getrusage says holds the peak of the process that started this one
peak = own.read_text().split("VmHWM:")[1].split()[0] if own.exists() else resource.getrusage(0).ru_maxrss
print(entry.rows, entry.problems, int(peak) // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    path, rng = tmp_path / "rank0.json.gz", random.Random(1)
    kernel = ', "cat": "kernel", "args": {"stream": %d, "correlation": %d, "grid": [%d, 1, 1]}}'
    count, at = 2_000_000, 0.0
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [')
        for k in range(count):
            at += rng.random()
            event = EVENT[:-1] % (f"void gemm_kernel<{k % 300}, float, {'x' * 60}>", f"{at:.3f}")
            file.write((",\n" if k else "\n") + event + kernel % (k % 9, k, k % 500))
        file.write('], "traceName": "large"}')
    done = subprocess.run(
        [sys.executable, "-c", PARSE_PIECE_BY_PIECE, path, tmp_path / "w"], capture_output=True, text=True
    )
    rows, problems, megabytes = map(int, done.stdout.split())
    assert (rows, problems) == (count + 3, 0), done.stderr  # and three facts of the run
    assert megabytes < 200


@pytest.mark.parametrize("apart", [23, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", ["rocprof/two_gpus.json", "xprof_trace/gpu.trace.json", "paddle_trace/gpu_rank2.json"])
def test_other_traces_keep_the_exact_prefix_too(path: str, apart: int) -> None:
    data = (FIXTURES / path).read_bytes()
    rows = parsed(data)[0]
    for end in range(100, len(data) - 3, apart):
        found, status = parsed(data[:end])
        assert found == rows[: len(found)], end
        assert status == "partial", end
        assert len(found) >= sum(data[:end].count(key) for key in (b'"ph":"X"', b'"end_timestamp"')) - 1, end


def parsed(data: bytes) -> tuple[list[dict[str, Any]], str]:
    found: list[dict[str, Any]] = []
    rows = Rows("f", lambda table, batch: found.extend(batch.to_pylist() if table == "events" else []))
    status, _ = read_rows(Source("/somewhere/trace.json", io.BytesIO(data), len(data), 0), formats.load(), rows)
    return found, status


def test_work_is_linked_to_its_launch_by_flows_alone_in_a_trace_without_correlation(tmp_path: Path) -> None:
    text = (FIXTURES / "kineto" / "linked_by_flows.json").read_text()
    (tmp_path / "none.json").write_text(re.sub(r'\{"ph": "[sf]", "id": [89].*?\},\n', "", text))
    ingest([FIXTURES / "kineto" / "linked_by_flows.json"], tmp_path / "linked", jobs=1)
    ingest([tmp_path / "none.json"], tmp_path / "none", jobs=1)
    asked = "SELECT name, kernels, kernel_ns, subtree_kernel_ns FROM op_summary()"
    assert answer(tmp_path / "linked", asked).fetchall() == [("aten::mm", 2, 127_000, 127_000)]
    assert answer(tmp_path / "none", asked).fetchall() == [("aten::mm", None, None, None)]


def test_ranks_of_one_file_are_ranks(tmp_path: Path) -> None:
    ingest([FIXTURES / "kineto" / "merged_ranks.json"], tmp_path / "w", jobs=1)
    found = answer(tmp_path / "w", "SELECT rank, compute_ns, exposed_comm_ns FROM temporal_breakdown()").fetchall()
    assert found == [(0, 30_500, 40_000), (1, 9_000, 20_000)]
    assert answer(tmp_path / "w", "SELECT ranks, time_ns FROM collectives()").fetchall() == [(2, 20_000)]


class _Hta:
    """In the place of Holistic Trace Analysis: a path, and what it prints, logs and warns of on the way."""

    empty = False

    def __init__(self, trace_files: dict[int, str], include_last_profiler_step: bool) -> None:
        print("parsing")
        logging.getLogger("hta").warning("no shortcut for %s", trace_files)

    def critical_path_analysis(self, rank: int, annotation: str, instance: int) -> tuple["_Hta", bool]:
        warnings.warn("an event has no parent", stacklevel=1)
        return self, True

    def get_critical_path_breakdown(self) -> "_Hta":
        return self

    def __getitem__(self, column: str) -> Any:
        return pa.array({"bound_by": ["cpu_bound"], "s_name": ["aten::mm"], "duration": [12.5]}[column])


def test_what_hta_prints_and_warns_of_stays_from_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    analysis: Any = types.ModuleType("hta.trace_analysis")
    analysis.TraceAnalysis = _Hta
    monkeypatch.setitem(sys.modules, "hta", types.ModuleType("hta"))
    monkeypatch.setitem(sys.modules, "hta.trace_analysis", analysis)
    ingest([FIXTURES / "kineto" / "ns_base.json"], tmp_path / "w", jobs=1)
    capfd.readouterr()
    rank = answer(tmp_path / "w", "SELECT coalesce(any_value(rank), 0) FROM events").fetchall()[0][0]
    found = critical_path_by_hta(tmp_path / "w", rank=rank)
    assert found.rows() == [("cpu_bound", "aten::mm", 1, 12.5, 1.0)]
    assert capfd.readouterr() == ("", "")
    assert logging.root.manager.disable == logging.NOTSET
