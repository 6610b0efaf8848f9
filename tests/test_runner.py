"""The vision runner as a user starts it: by torchrun, on the CPU, and killed."""

import contextlib
import gzip
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT
from scalelens.lines import Offer
from scalelens.parsers import scalelens_run
from scalelens.rows import Rows

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")

SCRIPT = ROOT / "src/scalelens/runners/vision.py"
SMALL = ("--device", "cpu", "--image-size", "32")


def start(out: Path, *options: str, ranks: int = 1, **environment: str) -> subprocess.Popen[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)] if ranks > 1 else []
    command = [sys.executable, *torchrun, str(SCRIPT), *SMALL, "--out", str(out), *options]
    pipe, cores = subprocess.PIPE, sorted(os.sched_getaffinity(0))

    def confine() -> None:
        # A core for each rank: threads that wait for one another crawl where other work runs beside the tests.
        os.sched_setaffinity(0, cores[:ranks])

    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment}, preexec_fn=confine
    )


def finished(process: subprocess.Popen[str]) -> None:
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 0, errors


def records(log: Path) -> list[dict[str, Any]]:
    """The events of a log, each of which must be a whole line."""
    text = log.read_text()
    assert text.endswith("}\n")
    return [json.loads(line.removeprefix(":::SCALELENS ")) for line in text.splitlines() if line]


def of(events: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [record for record in events if record["event"] == event]


def rows_of(log: Path) -> dict[str, list[dict[str, Any]]]:
    """What ScaleLens makes of a log, by table."""
    tables: dict[str, list[dict[str, Any]]] = {}
    rows = Rows("f", lambda table, batch: tables.setdefault(table, []).extend(batch.to_pylist()))
    Offer([scalelens_run], rows).read([log.read_bytes()])
    rows.flush()
    return tables


@pytest.fixture(scope="module")
def vision() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vision", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ONE_RANK = ("--batch-size", "4", "--steps", "3", "--epochs", "2", "--profile-steps", "0", "--lr", "0")


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one")
    finished(start(out, *ONE_RANK, SLURM_JOB_ID="4242", HF_TOKEN="hf_secret"))
    return out


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("two")
    finished(start(out, "--global-batch-size", "8", "--steps", "6", "--profile-steps", "2", "--lr", "0", ranks=2))
    return out


def test_resnet50_is_torchvisions(vision: ModuleType) -> None:
    parameters = {name: tuple(value.shape) for name, value in vision.ResNet().named_parameters()}
    assert sum(torch.Size(shape).numel() for shape in parameters.values()) == 25_557_032
    assert len(parameters) == 161
    expected = {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.bias": (64,),
        "layer1.0.conv1.weight": (64, 64, 1, 1),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer3.5.bn2.weight": (256,),
        "layer4.0.downsample.1.bias": (2048,),
        "layer4.2.bn3.weight": (2048,),
        "fc.weight": (1000, 2048),
    }
    assert {name: parameters.get(name) for name in expected} == expected
    assert vision.ResNet((3, 4, 23, 3)).conv1.stride == (2, 2)
    strides = [vision.ResNet().get_submodule(f"layer{k}.0.conv2").stride[0] for k in (1, 2, 3, 4)]
    assert strides == [1, 2, 2, 2]


def test_one_process_logs_every_event(one_rank: Path) -> None:
    events = records(one_rank / "rank0.log")
    assert [record["event"] for record in events] == [
        "run", "phase", "step", "step", "step", "phase", "step", "step", "step", "phase", "end",
    ]  # fmt: skip
    facts = events[0]
    assert facts["parameters"] == 25_557_032
    assert (facts["devices"], facts["nodes"], facts["global_batch_size"], facts["scaling"]) == (1, 1, 4, "weak")
    assert (facts["job_id"], facts["device_unit"], facts["precision"]) == ("4242", "cpu", "fp32")
    assert [(record["epoch"], record["step"]) for record in of(events, "step")] == [(k // 3, k + 1) for k in range(6)]
    startup, *trained = of(events, "phase")
    assert startup["phase"] == "startup"
    assert [(phase["epoch"], phase["step"], phase["samples"]) for phase in trained] == [(0, 3, 12), (1, 6, 12)]
    for phase, steps in zip(trained, (of(events, "step")[:3], of(events, "step")[3:]), strict=True):
        assert 0 <= phase["span_s"] - sum(step["step_s"] for step in steps) < 0.5
    assert events[-1]["outcome"] == "completed"
    assert "hf_secret" not in (one_rank / "rank0.log").read_text()
    assert not list(one_rank.glob("trace*"))


def test_every_step_of_every_rank_is_read(two_ranks: Path) -> None:
    for rank in (0, 1):
        tables = rows_of(two_ranks / f"rank{rank}.log")
        assert "problems" not in tables
        assert [row["step"] for row in tables["steps"]] == [1, 2, 3, 4, 5, 6]
        assert [row["phase"] for row in tables["steps"]] == ["warmup"] * 5 + ["train"]
        assert {row["rank"] for row in tables["steps"]} == {rank}
        assert {(row["samples"], row["value_kind"]) for row in tables["steps"]} == {(8.0, "instant")}
        assert all(0 <= row["data_s"] < row["step_s"] for row in tables["steps"])
        params = {row["key"]: row["value"] for row in tables["params"]}
        assert (params["devices"], params["nodes"], params["micro_batch_size"]) == ("2", "1", "4")
        assert (params["scaling"], params["outcome"]) == ("strong", "completed")


def test_steps_last_as_long_in_the_trace_as_in_the_log(two_ranks: Path) -> None:
    for rank in (0, 1):
        steps = {record["step"]: record for record in of(records(two_ranks / f"rank{rank}.log"), "step")}
        trace = json.loads(gzip.decompress((two_ranks / f"trace_rank{rank}.json.gz").read_bytes()))
        assert trace["distributedInfo"]["rank"] == rank
        traced = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        assert [event["name"] for event in traced] == ["ProfilerStep#3", "ProfilerStep#4"]
        for event in traced:
            step = steps[int(event["name"].partition("#")[2])]
            assert event["dur"] / 1e6 == pytest.approx(step["step_s"], rel=0.02)
            ended = trace["baseTimeNanoseconds"] / 1e9 + (event["ts"] + event["dur"]) / 1e6
            assert ended == pytest.approx(step["time"], abs=0.05)


def test_rank_0_computes_the_same_in_any_world(one_rank: Path, two_ranks: Path) -> None:
    """At a learning rate of 0, the same seed and batch per device give the same losses step by step."""
    alone, together, other = (
        [record["loss"] for record in of(records(log), "step")]
        for log in (one_rank / "rank0.log", two_ranks / "rank0.log", two_ranks / "rank1.log")
    )
    # The number of threads changes the order of sums, which batch normalisation over four values makes larger.
    assert together == pytest.approx(alone, rel=5e-3)
    assert max(abs(b / a - 1) for a, b in zip(alone, other, strict=True)) > 2e-2
    assert alone[:2] == pytest.approx(alone[4:], rel=1e-4)


def test_losses_fall_and_sigterm_leaves_whole_lines(tmp_path: Path) -> None:
    options = ("--batch-size", "4", "--precision", "bf16", "--profile-steps", "0", "--lr", "0.001")
    process = start(tmp_path, *options, ranks=2)
    wait_for(lambda: (tmp_path / "rank1.log").read_text().count('"data_s"') >= 16, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    for rank in (0, 1):
        events = records(tmp_path / f"rank{rank}.log")
        assert (events[-1]["event"], events[-1]["outcome"]) == ("end", "cancelled")
        steps = of(events, "step")
        assert [record["step"] for record in steps] == list(range(1, len(steps) + 1))
        losses = [record["loss"] for record in steps]
        assert sum(losses[-4:]) < sum(losses[:4])
        assert "problems" not in rows_of(tmp_path / f"rank{rank}.log")


def test_sigterm_is_heeded_while_another_rank_is_awaited(tmp_path: Path) -> None:
    alone = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    process = start(tmp_path, **alone)
    wait_for(lambda: "run" in (tmp_path / "rank0.log").read_text(), process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert [record["event"] for record in records(tmp_path / "rank0.log")] == ["run", "end"]


def test_restart_after_a_kill_is_another_attempt(one_rank: Path, tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    whole = (one_rank / "rank0.log").read_text()
    log.write_text(whole[: whole.index('"step": 5')])
    finished(start(tmp_path, *ONE_RANK))
    tables = rows_of(log)
    assert [(row["attempt"], row["step"]) for row in tables["steps"]] == [
        (0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6),
    ]  # fmt: skip
    assert [row["reason"] for row in tables["problems"]] == ["the record is cut, or its JSON is damaged"]
    assert {row["part"] for row in tables["steps"]} == {0}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--device", "cpu", "--precision", "fp16"], "fp16 needs a GPU"),
        (["--global-batch-size", "9"], "cannot be shared equally by 2 devices"),
        (["--batch-size", "4", "--global-batch-size", "16"], "not allowed with"),
    ],
)
def test_what_cannot_run_is_refused(vision: ModuleType, monkeypatch, capsys, options: list[str], sentence: str) -> None:
    monkeypatch.setattr(vision, "WORLD", 2)
    monkeypatch.setattr(sys, "argv", ["vision.py", "--out", "nowhere", *options])
    with pytest.raises(SystemExit, match="2"):
        vision.arguments()
    assert sentence in capsys.readouterr().err


def wait_for(arrived: Callable[[], bool], process: subprocess.Popen[str], limit_s: float = 60) -> None:
    until = time.monotonic() + limit_s
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):
            if arrived():
                return
        time.sleep(0.1)
    process.kill()
    pytest.fail(f"the runner did not get there: {process.communicate()}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
