"""Odd places cost one sentence each, and the rest goes on."""

import contextlib
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from command_line import one_line
from scalelens.errors import UserError
from scalelens.ingestion import processes
from scalelens.ingestion.ingest import ingest
from test_warehouse import steps_by_path, write_log, write_logs

if TYPE_CHECKING:
    from command_line import Run


def test_a_path_beyond_the_longest_is_said(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 2)
    before = os.getcwd()
    os.chdir(logs)
    try:
        for _ in range(30):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        Path("deep.log").write_text("too deep to be named")
        os.symlink("..", "link")
    finally:
        os.chdir(before)
    try:
        report = ingest([logs], tmp_path / "w")
        assert steps_by_path(tmp_path / "w") == {"0.log": 5, "1.log": 5}
        assert any("File name too long" in line for line in report.unreadable)
    finally:
        remove_deep(logs)


def remove_deep(folder: Path) -> None:
    """What pytest cannot remove, because it names whole paths."""
    before = os.getcwd()
    os.chdir(folder)
    depth = 0
    with contextlib.suppress(OSError):
        while True:
            os.chdir("d" * 200)
            depth += 1
    os.unlink("deep.log")
    os.unlink("link")
    for _ in range(depth):
        os.chdir("..")
        os.rmdir("d" * 200)
    os.chdir(before)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 1)
    os.mkfifo(logs / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.getcwd()
        os.chdir(logs)  # the path of a socket has a hundred characters at most
        listener.bind("socket")
        os.chdir(before)
        os.symlink("/dev/zero", logs / "zero")
        report = ingest([logs], tmp_path / "w")
    assert sorted(line.partition(": ") for line in report.unreadable) == [
        (str(logs / name), ": ", "a pipe, socket or device, not a file") for name in ("pipe", "socket", "zero")
    ]
    assert steps_by_path(tmp_path / "w") == {"0.log": 5}


def test_a_warehouse_whose_name_is_not_utf8_is_one_line(tmp_path: Path, run: "Run") -> None:
    log = write_log(tmp_path / "a.log")
    home = tmp_path / os.fsdecode(b"w\xff")
    for command in (("ingest", log), ("sql", "FROM runs"), ("check",), ("forget", log)):
        one_line(run(*command, "-w", home), "is not UTF-8", "give -w")


def test_no_further_processes_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(processes.concurrent.futures.ProcessPoolExecutor, "submit", none_left)
    monkeypatch.setattr("scalelens.ingestion.ingest.BATCH_FILES", 1)
    with pytest.raises(UserError, match="--jobs 1"):
        ingest([write_logs(tmp_path / "logs", 2)], tmp_path / "w", jobs=2)
