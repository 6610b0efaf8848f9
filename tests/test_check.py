"""`scalelens check`: every altered byte and every missing file is said in one line, with what mends it."""

import errno
import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.parquet as pq
import pytest

from asking import connect
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.check import check
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import fits_name, record_name, segment
from test_warehouse import everything, records, steps_by_path, touch_later, write_log, write_logs

if TYPE_CHECKING:
    from command_line import Run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A small warehouse of three commits: two logs, one of them grown, one forgotten."""
    logs = write_logs(tmp_path / "logs", 2, 2)
    ingest([logs], tmp_path / "warehouse")
    write_log(logs / "1.log", 3)
    touch_later(logs / "1.log")
    ingest([logs], tmp_path / "warehouse")
    Warehouse(tmp_path / "warehouse").forget([str(logs / "0.log")])
    return tmp_path / "warehouse"


def stored(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file())


def texts(home: Path) -> str:
    """All that a warehouse holds, unpacked: its records, and the rows of its segments."""
    log = [path.read_text() for path in (home / "_log").iterdir()]
    return "".join([*log, *(str(pq.read_table(path).to_pylist()) for path in (home / "segments").glob("*.parquet"))])


def mend(damage: str) -> list[str]:
    """The command at the end of a damage's line."""
    return shlex.split(damage.rpartition(": scalelens ")[2])


def test_a_whole_warehouse_has_no_damage(home: Path, run: "Run") -> None:
    for options in ([], ["--quick"]):
        code, out, err = run("check", "-w", str(home), *options)
        assert (code, out) == (0, "")
        assert re.search(r"3 records and \d+ segments: no damage", err)


def flipped(whole: bytes) -> Iterator[tuple[int, bytes]]:
    """Bit `k % 8` of byte `k` flipped, for each byte."""
    for at in range(len(whole)):
        yield at, whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]


def test_a_flipped_bit_of_any_byte_is_found(home: Path) -> None:
    """In every segment and every record, by what `check` asks of each."""
    written = {
        segment(table, batch.id): batch.segments[table]
        for batch in Warehouse(home).live().batches.values()
        for table in batch.tables
    }
    assert {path.name for path in stored(home)} == {*written, *records(home)}
    for path in stored(home):
        for at, damaged in flipped(path.read_bytes()):
            if path.name in written:
                assert hashlib.sha256(damaged).hexdigest() != written[path.name].sha256, at
            else:
                assert not fits_name(path.name, damaged), at


def test_a_flipped_bit_is_reported_in_one_line(home: Path) -> None:
    for path in stored(home):
        whole = path.read_bytes()
        for at, damaged in [*flipped(whole)][:: len(whole) // 12]:
            path.write_bytes(damaged)
            (damage,) = check(home).damages
            assert damage.startswith(str(path.relative_to(home))), at
            assert "scalelens " in damage and "\n" not in damage
        path.write_bytes(whole)
    assert check(home).damages == []


def test_a_file_that_is_gone_or_cut_is_reported(home: Path, tmp_path: Path) -> None:
    newest = records(home)[-1]
    for path in stored(home):
        whole = path.read_bytes()
        for damaged in (None, b"", whole[:-1], whole + b"x"):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            for quick in (False, True):
                report = check(home, quick)
                if damaged is None and path.name == newest:  # nobody builds on the newest one
                    assert report.damages == []
                    continue
                (damage,) = report.damages
                assert damage.startswith(str(path.relative_to(home)))
        path.write_bytes(whole)


def test_opening_says_that_a_record_is_gone_or_altered(home: Path) -> None:
    for name in records(home)[:-1]:
        path = home / "_log" / name
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(UserError, match=rf"{name} is gone.* scalelens check"):
            connect(home)
        path.write_bytes(whole.replace(b'"rows":', b'"row5":', 1) if b'"rows":' in whole else whole[::-1])
        with pytest.raises(UserError, match=rf"{name} is damaged.* scalelens check"):
            connect(home)
        path.write_bytes(whole)


@pytest.mark.parametrize("key", ["size_bytes", "modified_ns", "rows", "attempts"])
def test_a_record_with_a_number_that_no_table_holds_is_damaged(home: Path, key: str) -> None:
    record = home / "_log" / records(home)[-2]
    altered = re.sub(rf'"{key}":\d+'.encode(), f'"{key}":{2**64}'.encode(), record.read_bytes())
    record.unlink()
    record.with_name(record_name(9, altered)).write_bytes(altered)
    assert any("is damaged" in str(damage) and key in str(damage) for damage in check(home).damages)
    with pytest.raises(UserError, match="is damaged"):
        connect(home, about="SELECT * FROM runs")


def test_a_removed_newest_record_leaves_segments_without_a_record(home: Path) -> None:
    for name in records(home)[-2:]:
        (home / "_log" / name).unlink()
    (note,) = check(home).notes
    assert "belong to no record" in note


@pytest.mark.parametrize("damage", ["flip", "remove"])
@pytest.mark.parametrize("of", ["_log", "segments"])
def test_the_command_that_is_named_mends(home: Path, run: "Run", damage: str, of: str) -> None:
    before = everything(home)
    live = Warehouse(home).live()
    batch = live.providers[next(iter(live.paths.values())).file_id].batch
    path = home / of / records(home)[1] if of == "_log" else home / of / f"steps-{batch}.parquet"
    whole = path.read_bytes()
    path.unlink() if damage == "remove" else path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    code, out, _ = run("check", "-w", str(home))
    assert code == 1
    command = mend(out.strip())
    assert command[:2] == ["ingest", "--again"]
    assert run(*command)[0] == 0
    assert run("check", "-w", str(home))[:2] == (0, "")
    Warehouse(home).forget([path for path in Warehouse(home).live().paths if path.endswith("0.log")])
    assert everything(home) == before


def test_a_lost_record_of_another_folder_is_not_given_up_in_silence(tmp_path: Path, home: Path, run: "Run") -> None:
    other = write_logs(tmp_path / "other", 1, 4)
    ingest([other], home)
    ingest([write_log(tmp_path / "third" / "c.log", 6)], home)
    name = records(home)[1]
    (home / "_log" / name).unlink()
    report = ingest([other], home, reread=True)
    assert [name in damage for damage in report.damages] == [True]
    assert len(check(home).damages) == 1
    code, out, _ = run("check", "--accept", "-w", str(home))
    assert (code, out) == (0, "")
    assert steps_by_path(home) == {"0.log": 4, "1.log": 2, "c.log": 6}, "what the lost record said of 1.log is given up"


def test_a_damaged_segment_of_files_that_are_gone_is_forgotten(home: Path, tmp_path: Path, run: "Run") -> None:
    for path in (home / "segments").glob("steps-*"):
        path.unlink()
    shutil.rmtree(tmp_path / "logs")
    damage = next(line for line in check(home).damages if "1.log" in line)
    assert mend(damage)[0] == "forget"


def test_rows_that_nobody_needs_are_mended_by_compact(home: Path) -> None:
    live = Warehouse(home).live()
    needed = {entry.batch for entry in live.providers.values()}
    dead = next(batch for batch in live.batches if batch not in needed)
    (home / "segments" / f"steps-{dead}.parquet").unlink()
    (damage,) = check(home).damages
    assert mend(damage)[0] == "compact"


def test_a_disk_that_fails_is_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def failing(self: Path, *arguments: Any, **options: Any) -> Any:
        if self.name.startswith("steps-"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", failing)
    damages = check(home).damages
    assert damages and all("cannot be read (Input/output error)" in damage for damage in damages)


def test_records_without_a_digest_are_read_and_said(home: Path) -> None:
    before = everything(home)
    live = Warehouse(home).live()
    for name in records(home):
        path = home / "_log" / name
        record = msgspec.json.decode(path.read_bytes())
        record.pop("builds_on", None)
        for batch in record.get("batches", ()):
            batch.pop("segments", None)
        path.with_name(f"{name[:20]}-0a1b2c3d.json").write_bytes(msgspec.json.encode(record))
        path.unlink()
    assert everything(home) == before
    assert Warehouse(home).live().paths == live.paths
    report = check(home)
    assert report.damages == []
    assert "3 records" in report.notes[0] and "carry no checksum" in report.notes[0]
