"""A cut of a trace: what is in it, what is marked on it, and that it is a trace again.  And the critical path."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scalelens
from asking import answer
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.traces.export import export

BASE = 1_790_000_000_000_000_000


def trace(rank: int) -> dict[str, Any]:
    """Two steps of a rank in which it computes and meets the other; rank 1 comes 40 us later."""
    events: list[dict[str, Any]] = []
    for step in range(3):
        at, late = 1000.0 * step, 40.125 * rank
        host, name = {"ph": "X", "pid": 70 + rank, "tid": 70 + rank}, f"ProfilerStep#{step}"
        events += [
            host | {"cat": "user_annotation", "name": name, "ts": at, "dur": 900.0},
            host | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 10, "dur": 5.5, "args": {"correlation": 3 * step + 1}},
            host | {"cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "ts": at + 20, "dur": 5, "args": {"correlation": 3 * step + 2}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": at + 100, "dur": 200 + late, "args": {"stream": 7, "correlation": 3 * step + 1}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, "ts": at + 310 + late, "dur": 90.125 - late,
             "args": {"stream": 20, "correlation": 3 * step + 2, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
                      "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}},
        ]  # fmt: skip
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank}, "baseTimeNanoseconds": BASE, "traceEvents": events}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    for rank in range(2):
        (logs / f"rank{rank}.json").write_text(json.dumps(trace(rank)))
    ingest([logs], tmp_path / "w", jobs=1)
    return tmp_path / "w"


def events_of(root: Path) -> list[tuple[Any, ...]]:
    """Events of rank 1, the marks apart; processes and threads are renamed on the way."""
    return answer(
        root,
        "SELECT ph, name, category, start_ns, duration_ns, stream, correlation, train_step, collective, message_bytes, "
        "args::JSON FROM events WHERE rank = 1 AND category <> 'scalelens' ORDER BY ALL"
    ).fetchall()  # fmt: skip


def test_the_whole_is_the_same_trace_again(warehouse: Path, tmp_path: Path) -> None:
    for name in ("cut.json", "cut.json.gz"):
        assert export(warehouse, tmp_path / name, rank=1) == (
            15,
            4,
        )  # three collectives and a verdict: of two it cannot be told
        ingest([tmp_path / name], tmp_path / f"again-{name}", jobs=1)
        assert events_of(tmp_path / f"again-{name}") == events_of(warehouse)
    assert gzip.decompress((tmp_path / "cut.json.gz").read_bytes()) == (tmp_path / "cut.json").read_bytes()


def test_a_cut_holds_what_overlaps_it(warehouse: Path, tmp_path: Path) -> None:
    events, _ = export(warehouse, tmp_path / "cut.json", rank=1, from_s=0.00101, to_s=0.00102)
    written = json.loads((tmp_path / "cut.json").read_text())["traceEvents"]
    names = [event["name"] for event in written if event.get("cat") not in (None, "scalelens", "ac2g")]
    assert names == ["ProfilerStep#1", "cudaLaunchKernel"]
    assert events == 2


def test_marks_say_who_waits_for_whom(warehouse: Path, tmp_path: Path) -> None:
    marks = {}
    for rank in range(2):
        export(warehouse, tmp_path / "cut.json", rank=rank)
        written = json.loads((tmp_path / "cut.json").read_text())["traceEvents"]
        marks[rank] = [event for event in written if event.get("cat") == "scalelens" and event["ph"] == "X"]
    assert [(event["name"], event["ts"], event["dur"]) for event in marks[0]] == [
        ("waits for rank 1 (all_reduce)", 310 + 1000 * step, 40.125) for step in range(3)
    ]
    assert [(event["name"], event["ts"], event["dur"]) for event in marks[1]] == [
        ("others wait for this rank (all_reduce)", 310 + 1000 * step, 40.125) for step in range(3)
    ]


def test_arrows_lead_from_launches_to_their_work(warehouse: Path, tmp_path: Path) -> None:
    export(warehouse, tmp_path / "cut.json", rank=0)
    written = json.loads((tmp_path / "cut.json").read_text())["traceEvents"]
    named = {event["tid"]: event["args"]["name"] for event in written if event["name"] == "thread_name"}
    starts = {event["id"]: event["ts"] for event in written if event["ph"] == "s"}
    ends = {event["id"]: event["ts"] for event in written if event["ph"] == "f"}
    assert starts == {3 * step + k: 1000 * step + 10 * k for step in range(3) for k in (1, 2)}
    assert ends == {3 * step + k: 1000 * step + (100, 310)[k - 1] for step in range(3) for k in (1, 2)}
    assert "stream 7" in named.values()
    assert all(type(event["pid"]) is int and type(event["tid"]) is int for event in written)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 5}, "no trace of rank 5"),
        ({"rank": 0, "from_s": 2.0, "to_s": 1.0}, "ends before it begins"),
        ({"rank": 0, "from_s": 1.0, "to_s": 2.0}, "no event falls between"),
    ],
)
def test_what_cannot_be_cut_is_said(warehouse: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        export(warehouse, tmp_path / "cut.json", **options)
    assert not (tmp_path / "cut.json").exists()


def test_without_hta_the_critical_path_says_what_to_install(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hta.trace_analysis", None)
    with pytest.raises(UserError, match=r"pip install 'scalelens\[hta\]'"):
        scalelens.critical_path(warehouse, by="hta")


def test_critical_path_by_hta(warehouse: Path) -> None:
    pytest.importorskip("hta.trace_analysis")
    rows = scalelens.critical_path(warehouse, rank=1, instance=1, by="hta")
    assert rows["share"].sum() == pytest.approx(1)
    times = dict(rows.select("bound_by", "duration_us").iter_rows())
    assert times["cpu_bound"] == pytest.approx(5, abs=1)
    assert times["gpu_communication_bound"] == pytest.approx(50, abs=1.5)  # HTA rounds to microseconds
    with pytest.raises(UserError, match="finds no critical path"):
        scalelens.critical_path(warehouse, annotation="nothing", by="hta")


def test_the_critical_path_is_a_command(warehouse: Path) -> None:
    pytest.importorskip("hta.trace_analysis")
    command = [
        sys.executable,
        "-m",
        "scalelens",
        "trace",
        "critical-path",
        "--rank",
        "1",
        "--instance",
        "1",
        "--by",
        "hta",
    ]
    done = subprocess.run([*command, "--format", "csv", "-w", warehouse], capture_output=True, text=True, check=True)
    header, *lines = done.stdout.splitlines()
    assert header == "bound_by,name,pieces,duration_us,share"
    assert (
        lines
        == scalelens.critical_path(warehouse, rank=1, instance=1, by="hta").write_csv(include_header=False).splitlines()
    )


def test_a_trace_that_is_gone_is_named(warehouse: Path, tmp_path: Path) -> None:
    pytest.importorskip("hta.trace_analysis")
    (tmp_path / "logs" / "rank1.json").unlink()
    with pytest.raises(UserError, match="is no longer there"):
        scalelens.critical_path(warehouse, rank=1, by="hta")
