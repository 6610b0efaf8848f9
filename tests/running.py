"""Runners as a user starts them, for the tests of them."""

import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT
from ranks import start_ranks
from scalelens.parsers import scalelens_run
from scalelens.parsing.dispatch import LineDispatcher
from scalelens.parsing.rows import Rows

RUNNERS = ROOT / "src/scalelens/runners"


def runner_module(name: str) -> ModuleType:
    sys.path.insert(0, str(RUNNERS))  # as Python does for a script
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(RUNNERS))


def start(script: str, *options: object, ranks: int = 1, **environment: str) -> subprocess.Popen[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)] if ranks > 1 else []
    command = [sys.executable, *torchrun, str(RUNNERS / script), "--device", "cpu", *map(str, options)]
    pipe, cores = subprocess.PIPE, sorted(os.sched_getaffinity(0))

    def confine() -> None:
        # A core for each rank: threads that wait for one another crawl where other work runs beside the tests.
        os.sched_setaffinity(0, cores[:ranks])

    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment}, preexec_fn=confine
    )


def carried_out(script: str, *options: object, ranks: int = 1, **environment: str) -> str:
    """What the ranks of a runner print until all have ended."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        words = [str(RUNNERS / script), "--device", "cpu", *map(str, options)]
        started = start_ranks(words, ranks, {"MASTER_PORT": str(free_port()), **environment}, out, err)
        for process in started:
            process.join(600)
            process.kill()
        codes = [process.exitcode for process in started]
        assert codes == [0] * ranks, f"{codes}\n{out.read_text()}\n{err.read_text()}"
        return out.read_text()


def finished(process: subprocess.Popen[str]) -> str:
    """What it printed."""
    try:
        output, errors = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output


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
    LineDispatcher([scalelens_run], rows).read([log.read_bytes()])
    rows.flush()
    return tables


def wait_for(arrived: Callable[[], bool], process: subprocess.Popen[str], limit_s: float = 120) -> None:
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
