"""What the system refuses is one line and an exit code: closed streams, a removed folder, too little memory."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from scalelens.ingestion.ingest import ingest

LOGS = ROOT / "src" / "scalelens" / "demo" / "logs" / "bf16-r1"


def started(*words: object, shell: str = 'exec "$@"', folder: Path | None = None, **variables: str) -> Any:
    """A command in a process of its own, begun by a line of the shell."""
    command = ["sh", "-c", shell, "sh", sys.executable, "-m", "scalelens", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, cwd=folder)


def refused(ran: Any, *said: str) -> None:
    assert ran.returncode == 2 and "Traceback" not in ran.stderr, ran
    assert all(text in ran.stderr for text in said), ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1, ran.stderr


@pytest.mark.parametrize("words", [["explain", "mfu"], ["--help"]])
def test_a_closed_stdout(words: list[str]) -> None:
    refused(started(*words, shell='exec "$@" >&-'), "Bad file descriptor")


def test_all_streams_closed(tmp_path: Path) -> None:
    """Else the first file that is opened would get the number of stdout, and the result."""
    ran = started("ingest", LOGS, "-w", tmp_path / "w", shell='exec "$@" <&- >&- 2>&-')
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_full_device() -> None:
    refused(
        started("explain", "mfu", shell='exec "$@" > /dev/full'), "cannot write the result (No space left on device)"
    )


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ran = started("ingest", "logs", shell='cd "$GONE" && rmdir "$GONE" && exec "$@"', GONE=str(gone))
    refused(ran, "the current folder was removed")


def test_polars_without_threads(tmp_path: Path) -> None:
    ingest([LOGS], tmp_path / "w", jobs=1)
    ran = started("sql", "FROM runs", "-w", tmp_path / "w", "--format", "markdown", POLARS_MAX_THREADS="0")
    assert ran.returncode == 0 and ran.stdout.startswith("|") and "Traceback" not in ran.stderr, ran


def test_a_failed_ingest_leaves_no_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("scalelens.ingestion.ingest.read_batch", fails)
    with pytest.raises(MemoryError):
        ingest([LOGS], tmp_path / "w", jobs=1)
    assert not (tmp_path / "w").exists()
    (tmp_path / "w").mkdir()
    with pytest.raises(MemoryError):
        ingest([LOGS], tmp_path / "w", jobs=1)
    assert (tmp_path / "w").exists()  # it was the user's


def test_too_little_memory(tmp_path: Path) -> None:
    """OpenBLAS sets memory aside and now and then ends the process itself where there is none: then another limit."""
    for limit_kib in (250_000, 240_000, 260_000, 230_000, 245_000, 255_000):
        limited = f'ulimit -v {limit_kib}; exec "$@"'
        ran = started("ingest", LOGS, "-w", tmp_path / "w", shell=limited, OPENBLAS_NUM_THREADS="1")
        assert not (tmp_path / "w").exists()
        if not ran.stderr.startswith("OpenBLAS"):
            break
    refused(ran, "too little memory")


def test_what_counts_as_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from scalelens.cli import refusals

    assert refusals.is_for_lack_of_memory(MemoryError())
    assert not refusals.is_for_lack_of_memory(ImportError("no such module"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 30))
    assert refusals.is_for_lack_of_memory(ImportError("failed to map segment from shared object"))
    assert refusals.is_for_lack_of_memory(SystemError("<function f> returned NULL without setting an exception"))
    assert refusals.is_for_lack_of_memory(RuntimeError("can't start new thread"))
    assert not refusals.is_for_lack_of_memory(ValueError("a defect")) and not refusals.is_for_lack_of_memory(
        SystemExit(1)
    )


def test_figures_need_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that draws ends the whole process where it cannot reserve them."""
    from scalelens.errors import UserError
    from scalelens.report.rendering import svg_of

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 34, 1 << 34))
    with pytest.raises(UserError, match="ulimit -v unlimited"):
        svg_of({})
