"""Files that change while they are read or in between, rows of newer versions, and sidecars that others may write."""

import errno
import hashlib
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from asking import answer
from command_line import Run
from logs import megatron_line
from scalelens.errors import UserError
from scalelens.ingestion import batch
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.walk import may_be_of_others
from scalelens.parsing.source import CHUNK, Source
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

STEPS = 6_000  # more than 1 MiB


def text_of(step_ms: float, steps: int = STEPS) -> bytes:
    return "".join(megatron_line(step, step_ms) for step in range(1, steps + 1)).encode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "job.log"
    path.parent.mkdir()
    return path


def steps_in(tmp_path: Path) -> list[tuple[object, ...]]:
    """Each time of a step, how often, and whether the digest of its file is of `logs/job.log` as it is now."""
    asked = "SELECT s.step_s, count(*), any_value(f.file_id) FROM steps s JOIN files f USING (file_id) GROUP BY 1 ORDER BY 1"
    now = hashlib.sha256((tmp_path / "logs" / "job.log").read_bytes()).hexdigest()
    return [(step_s, count, file_id == now) for step_s, count, file_id in answer(tmp_path / "w", asked).fetchall()]


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    """Does something between the first and the second reading of each large file, with how often it was done before."""
    digest, times = Source.digest, 0

    def digest_and_act(self: Source) -> str:
        nonlocal times
        found = digest(self)
        if not self.is_held and self._opened_as:
            times += 1
            act(times - 1)
        return found

    monkeypatch.setattr(Source, "digest", digest_and_act)


def test_rows_are_of_the_bytes_that_were_hashed(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes of the same size, written after the file was hashed and before it was read."""
    log.write_bytes(text_of(100.0))
    assert log.stat().st_size > CHUNK

    def rewrite(times: int) -> None:
        if times == 0:
            log.write_bytes(text_of(200.0))

    between(monkeypatch, rewrite)
    ingest([log], tmp_path / "w", jobs=1)
    assert steps_in(tmp_path) == [(0.2, STEPS, True)]
    assert answer(tmp_path / "w", "SELECT count(*) FROM problems").fetchall() == [(0,)]


def test_a_file_that_another_one_replaces_is_read_again(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0))

    def replace(times: int) -> None:
        if times == 0:
            other = log.with_name("other")
            other.write_bytes(text_of(200.0))
            other.replace(log)

    between(monkeypatch, replace)
    ingest([log], tmp_path / "w", jobs=1)
    assert steps_in(tmp_path) == [(0.2, STEPS, True)]


def test_a_log_that_grows_is_read_once_up_to_where_it_was(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0))
    readings = []
    read = batch.read_rows
    monkeypatch.setattr(batch, "read_rows", lambda *given: readings.append(given) or read(*given))

    def append(times: int) -> None:
        with log.open("ab") as file:
            file.write(b"one more line\n")

    between(monkeypatch, append)
    ingest([log], tmp_path / "w", jobs=1)
    assert len(readings) == 1 and answer(tmp_path / "w", "SELECT count(*) FROM steps").fetchall() == [(STEPS,)]


def test_a_file_that_changes_all_the_time_gives_no_rows_and_is_said(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0))
    between(monkeypatch, lambda times: log.write_bytes(text_of(101.0 + times)) and None)
    (entry,) = ingest([log], tmp_path / "w", jobs=1).entries
    assert (entry.status, entry.rows) == ("unknown", 0) and "changed each time" in (entry.note or "")
    for table in ("steps", "metrics", "params", "problems"):
        assert answer(tmp_path / "w", f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table
    monkeypatch.undo()
    ingest([log], tmp_path / "w", jobs=1)
    assert [row[1:] for row in steps_in(tmp_path)] == [(STEPS, True)]


def test_a_file_that_was_left_alone_is_hashed_once(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(text_of(100.0))
    os.utime(log, ns=(10**18, 10**18))
    hashed: list[int] = []
    between(monkeypatch, hashed.append)
    ingest([log], tmp_path / "w", jobs=1)
    assert hashed == [0]


# Between two ingests


def same_size_and_time(path: Path, content: bytes) -> None:
    """Writes other bytes as `rsync -t` and `cp -p` do: under the time of modification of before."""
    before = path.stat()
    assert len(content) == before.st_size
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_other_bytes_of_the_same_size_and_time_are_read(log: Path, tmp_path: Path) -> None:
    log.write_bytes(text_of(100.0, 5))
    ingest([log], tmp_path / "w", jobs=1)
    same_size_and_time(log, text_of(200.0, 5))
    report = ingest([log], tmp_path / "w", jobs=1)
    assert (len(report.entries), report.unchanged) == (1, 0)
    assert steps_in(tmp_path) == [(0.2, 5, True)]


def test_the_same_bytes_of_another_ctime_are_hashed_once_and_not_read(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0, 5))
    ingest([log], tmp_path / "w", jobs=1)
    before = answer(tmp_path / "w", "FROM files").fetchall()
    log.chmod(0o600)
    hashed: list[str] = []
    digest = Source.digest
    monkeypatch.setattr(Source, "digest", lambda self: hashed.append(self.path) or digest(self))
    assert ingest([log], tmp_path / "w", jobs=1, dry_run=True).unchanged == 1
    reports = [ingest([log], tmp_path / "w", jobs=1) for _ in range(2)]
    assert [(report.entries, report.unchanged) for report in reports] == [([], 1)] * 2
    assert hashed == [str(log)] * 2  # by the dry run, and by the first of the two
    assert answer(tmp_path / "w", "FROM files").fetchall() == before and steps_in(tmp_path) == [(0.1, 5, True)]


def test_members_of_an_archive_stay_where_its_ctime_alone_is_another(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes(text_of(100.0, 5))
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "job.log", "job.log")
    ingest([tmp_path / "logs.tar.gz"], tmp_path / "w", jobs=1)
    (tmp_path / "logs.tar.gz").chmod(0o600)
    assert ingest([tmp_path / "logs.tar.gz"], tmp_path / "w", jobs=1).unchanged == 1
    assert answer(tmp_path / "w", "SELECT count(*) FROM steps").fetchall() == [(5,)]


def test_reread_helps_where_a_file_system_lies(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(text_of(100.0, 5))
    first = ingest([log], tmp_path / "w", jobs=1).entries[0]
    same_size_and_time(log, text_of(200.0, 5))
    lied = Warehouse(tmp_path / "w")
    lied.commit(
        [], [msgspec.structs.replace(first, batch="", changed_ns=log.stat().st_ctime_ns, order=0, committed_ns=0)]
    )
    assert ingest([log], tmp_path / "w", jobs=1).unchanged == 1
    ingest([log], tmp_path / "w", jobs=1, reread=True)
    assert steps_in(tmp_path) == [(0.2, 5, True)]


# Rows of a newer version


def read_by_newer(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads a log as a newer version with other formats would."""
    new_entry, version = batch.new_entry, batch.reader_version
    monkeypatch.setattr(batch, "new_entry", lambda given: msgspec.structs.replace(new_entry(given), read_by="9.1.0"))
    monkeypatch.setattr(batch, "reader_version", lambda *given: version(*given).replace("lines ", "lines new"))
    ingest([log], tmp_path / "w", jobs=1)
    monkeypatch.undo()


def test_rows_of_a_newer_version_stay_and_that_is_said(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0, 5))
    read_by_newer(tmp_path, log, monkeypatch)
    records = Warehouse(tmp_path / "w").names()
    report = ingest([log], tmp_path / "w", jobs=1)
    assert (report.entries, report.unchanged) == ([], 1) and Warehouse(tmp_path / "w").names() == records
    assert [sentence for sentence in report.remarks if "read by scalelens 9.1.0" in sentence]
    (log.parent / "copy.log").write_bytes(log.read_bytes())
    (copy,) = ingest([log.parent], tmp_path / "w", jobs=1).entries
    assert copy.status == "duplicate"  # its rows are those of the newer version, too
    assert len(ingest([log], tmp_path / "w", jobs=1, reread=True).entries) == 1


def test_what_was_written_after_a_newer_version_read_it_is_read(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0, 5))
    read_by_newer(tmp_path, log, monkeypatch)
    log.write_bytes(text_of(100.0, 6))
    report = ingest([log], tmp_path / "w", jobs=1)
    assert len(report.entries) == 1 and not report.remarks


def test_entries_that_name_no_version_are_not_of_a_newer_one() -> None:
    assert not batch.is_of_newer(Entry("/a")) and batch.is_of_newer(Entry("/a", read_by="1.10.0"))
    assert not batch.is_of_newer(Entry("/a", read_by=batch.__version__))


# Sidecars from above


def study(tmp_path: Path, log: Path) -> Path:
    log.write_bytes(text_of(100.0, 5))
    sidecar = tmp_path / "scalelens.toml"
    sidecar.write_text('[facts]\nsystem = "planted"\n')
    return sidecar


def system_of(tmp_path: Path) -> list[tuple[object, ...]]:
    return answer(tmp_path / "w", "SELECT system FROM runs").fetchall()


def test_a_sidecar_from_above_is_named_with_its_path(log: Path, tmp_path: Path, run: Run) -> None:
    sidecar = study(tmp_path, log)
    done = run("ingest", log.parent, "-w", tmp_path / "w")
    assert f"{sidecar} is read too" in done.err.replace("\n", "")
    assert system_of(tmp_path) == [("planted",)]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_a_sidecar_that_anybody_may_have_written_is_not_read(log: Path, tmp_path: Path, which: str) -> None:
    sidecar = study(tmp_path, log)
    tmp_path.chmod(0o777)
    os.chown(tmp_path if which == "folder" else sidecar, 12345, -1)
    report = ingest([log.parent], tmp_path / "w", jobs=1)
    assert [
        sentence for sentence in report.remarks if f"{sidecar} is not read" in sentence and "--sidecars" in sentence
    ]
    assert system_of(tmp_path) == [(None,)]
    report = ingest([log.parent], tmp_path / "w", jobs=1, trust_sidecars=True)
    assert system_of(tmp_path) == [("planted",)]


def test_whose_a_folder_is_decides_only_where_anybody_may_write() -> None:
    """Without root: what the system says of a folder and of a file is made up."""

    def status(mode: int, owner: int) -> os.stat_result:
        return os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))

    me, other = os.getuid(), os.getuid() + 1
    assert not may_be_of_others(status(0o755, other), status(0o644, other))
    assert not may_be_of_others(status(0o777, me), status(0o644, me))
    assert may_be_of_others(status(0o1777, other), status(0o644, me))
    assert may_be_of_others(status(0o777, me), status(0o644, other))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_sidecar_of_another_owner_than_the_logs_is_named(log: Path, tmp_path: Path) -> None:
    log.write_bytes(text_of(100.0, 5))
    (log.parent / "scalelens.toml").write_text('[facts]\nsystem = "theirs"\n')
    os.chown(log.parent / "scalelens.toml", 12345, -1)
    report = ingest([log.parent], tmp_path / "w", jobs=1)
    assert [sentence for sentence in report.remarks if "belongs to somebody else" in sentence]


# File systems that cannot link


def refuse(monkeypatch: pytest.MonkeyPatch, error: int, *names: str) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    for name in names:
        monkeypatch.setattr(os, name, refused)


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS])
def test_without_hard_links_a_commit_is_a_rename(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    log.write_bytes(text_of(100.0, 5))
    refuse(monkeypatch, error, "link")
    ingest([log], tmp_path / "w", jobs=1)
    log.write_bytes(text_of(200.0, 5))
    ingest([log], tmp_path / "w", jobs=1)
    assert steps_in(tmp_path) == [(0.2, 5, True)] and len(Warehouse(tmp_path / "w").names()) == 2


def test_where_no_file_can_be_given_a_name_nothing_is_read(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(text_of(100.0, 5))
    refuse(monkeypatch, errno.EPERM, "link", "rename")
    monkeypatch.setattr(batch, "read_rows", lambda *_: pytest.fail("it was read"))
    with pytest.raises(UserError, match="neither links nor renames a file"):
        ingest([log], tmp_path / "w", jobs=1)
    assert not (tmp_path / "w").exists()
