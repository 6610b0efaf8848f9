"""Archives of every kind are folders; a member that cannot be read is a problem that names it."""

import contextlib
import gzip
import io
import lzma
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from asking import answer
from scalelens.ingestion.identify import identify
from scalelens.ingestion.ingest import ingest
from scalelens.parsing import zip_members
from scalelens.parsing.archives import UnreadMembersError, open_members
from scalelens.parsing.source import open_source
from test_warehouse import write_log

MB = 1 << 20
STEPS = "SELECT parse_filename(path), count(*) FROM steps JOIN files USING (file_id) GROUP BY 1 ORDER BY 1"
PROBLEMS = "SELECT parse_filename(path), reason, text FROM problems JOIN files USING (file_id) ORDER BY text"


def packed_tar(logs: Path, path: Path) -> None:
    stored = io.BytesIO()
    with tarfile.open(fileobj=stored, mode="w") as tar:
        tar.add(logs, "logs")
    path.write_bytes(zstandard.compress(stored.getvalue()) if path.suffix == ".zst" else stored.getvalue())


def packed_by_tarfile(logs: Path, path: Path) -> None:
    with tarfile.open(path, f"w:{path.suffix[1:].lower()}") as tar:  # type: ignore[call-overload]
        tar.add(logs, "logs")


def packed_zip(logs: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(logs.rglob("*")):
            archive.write(file, Path("logs") / file.relative_to(logs))


def zip_of(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def asked(warehouse: Path, statement: str) -> list[tuple[Any, ...]]:
    return answer(warehouse, statement).fetchall()


def members(path: Path) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """Contents by name, and what was not read."""
    contents = {}
    try:
        for member in open_members(path):
            contents[member.path.rpartition("!")[2]] = member.read()
            member.close()
    except UnreadMembersError as error:
        return contents, error.unread
    return contents, []


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.tar", packed_tar),
        ("a.tar.zst", packed_tar),
        ("a.tar.gz", packed_by_tarfile),
        ("a.tar.xz", packed_by_tarfile),
        ("a.tar.bz2", packed_by_tarfile),
        ("a.zip", packed_zip),
        ("A.ZIP", packed_zip),
        ("a.Tar.GZ", packed_by_tarfile),
    ],
)
def test_an_archive_gives_the_rows_of_its_folder(name: str, pack: Callable[[Path, Path], None], tmp_path: Path) -> None:
    for rank in range(3):
        write_log(tmp_path / "logs" / f"n{rank}" / f"rank{rank}.log")
    (tmp_path / "packed").mkdir()
    pack(tmp_path / "logs", tmp_path / "packed" / name)
    ingest([tmp_path / "logs"], tmp_path / "plain")
    ingest([tmp_path / "packed"], tmp_path / "w")
    assert asked(tmp_path / "w", STEPS.replace("parse_filename(path)", "string_split(path, 'logs/')[-1]")) == asked(
        tmp_path / "plain", STEPS.replace("parse_filename(path)", "string_split(path, 'logs/')[-1]")
    )
    note = asked(tmp_path / "w", f"SELECT status, note FROM files WHERE path LIKE '%/{name}'")
    assert note == [("ok", "archive of 3 files")]


def altered(path: Path, name: str, field: int, value: int) -> None:
    """Writes a 16-bit field of a member's header into the archive's directory and before the member itself."""
    content = bytearray(path.read_bytes())
    for signature, names_at, fields_at in ((b"PK\1\2", 46, 8), (b"PK\3\4", 30, 6)):
        at = content.find(signature)
        while content[at + names_at : at + names_at + len(name)] != name.encode():
            at = content.find(signature, at + 1)
        struct.pack_into("<H", content, at + fields_at + field, value)
    path.write_bytes(content)


FLAGS, METHOD = 0, 2


def test_members_that_are_not_read_are_problems_and_the_others_are_read(tmp_path: Path) -> None:
    write_log(tmp_path / "a.log")
    log = (tmp_path / "a.log").read_bytes()
    path = zip_of(tmp_path / "a.zip", {"damaged": b"x" * 99, "locked": b"y", "other": b"z", "run/a.log": log}, 0)
    (tmp_path / "a.log").unlink()
    altered(path, "locked", FLAGS, 1)
    altered(path, "other", METHOD, zipfile.ZIP_LZMA)
    path.write_bytes(path.read_bytes().replace(b"x" * 99, b"w" + b"x" * 98))
    ingest([path], tmp_path / "w")
    problems = asked(tmp_path / "w", PROBLEMS)
    assert [(file, text) for file, _, text in problems] == [
        ("a.zip", "damaged"),
        ("a.zip", "locked"),
        ("a.zip", "other"),
    ]
    damaged, locked, other = (reason for _, reason, _ in problems)
    assert "is damaged" in damaged and "is encrypted" in locked and "method 14" in other
    assert asked(tmp_path / "w", "SELECT count(*) > 0 FROM steps") == [(True,)]
    assert asked(tmp_path / "w", "SELECT count(*) FROM runs") == [(1,)], "an archive's problems are no run"
    assert asked(tmp_path / "w", "SELECT status FROM files WHERE path LIKE '%/a.zip'") == [("partial",)]
    assert "damaged is damaged" in (said := identify(path)[0]) and "a.log: " in said
    (tmp_path / "copy.zip").write_bytes(path.read_bytes())
    ingest([path, tmp_path / "copy.zip"], tmp_path / "w", reread=True)
    assert len(asked(tmp_path / "w", "FROM problems")) == 3


def test_a_cut_zip_and_a_damaged_tar_are_problems(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    path = zip_of(tmp_path / "logs" / "a.zip", {"a.log": bytes(1000)})
    path.write_bytes(path.read_bytes()[:-30])
    (tmp_path / "logs" / "b.tar.xz").write_bytes(lzma.compress(b"no archive " * 100))
    ingest([tmp_path / "logs"], tmp_path / "w")
    zip_problem, tar_problem = sorted(asked(tmp_path / "w", PROBLEMS))
    assert zip_problem[0] == "a.zip" and "it is cut, or not a zip file" in zip_problem[1]
    assert tar_problem[0] == "b.tar.xz" and "archive is damaged" in tar_problem[1]
    assert asked(tmp_path / "w", "SELECT count(*) FROM runs") == [(0,)]


def test_members_that_share_their_bytes_are_not_unpacked(tmp_path: Path) -> None:
    """A small archive of which each member unpacks to the same megabytes."""
    path = zip_of(tmp_path / "a.zip", {"0": bytes(8 * MB)})
    content = path.read_bytes()
    start = content.index(b"PK\1\2")
    end = content.index(b"PK\5\6")
    entry, tail = content[start:end], bytearray(content[end:])
    struct.pack_into("<HHL", tail, 8, 500, 500, 500 * len(entry))
    path.write_bytes(content[:start] + entry * 500 + bytes(tail))
    read, unread = members(path)
    assert len(read) == 1 and 450 < len(unread) < 500
    assert "overlap" in unread[0][1].lower()


def test_a_directory_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "MOST_DIRECTORY", 1 << 12)
    path = zip_of(tmp_path / "a.zip", {f"{k}.log": b"" for k in range(1000)})
    with pytest.raises(tarfile.ReadError, match="list of members of more than"):
        next(open_members(path))


def test_a_large_member_is_unpacked_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "IN_MEMORY", MB)
    path = zip_of(tmp_path / "a.zip", {"a.log": bytes(200 * MB)})
    tracemalloc.start()
    (member,) = open_members(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert member.size_bytes == 200 * MB and peak < 20 * MB
    member.close()


def test_a_member_above_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "MOST_MEMBER", 1 << 10)
    read, unread = members(zip_of(tmp_path / "a.zip", {"small": b"x", "large": bytes(2000), "last": b"y"}))
    assert list(read) == ["small", "last"]
    assert [name for name, _ in unread] == ["large"]


def test_nothing_is_written_where_a_name_points_to_and_links_are_not_files(tmp_path: Path) -> None:
    path = tmp_path / "inner" / "a.zip"
    path.parent.mkdir()
    link = zipfile.ZipInfo("link.log")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside.log", b"x")
        archive.writestr("/outside.log", b"y")
        archive.writestr(link, b"../outside.log")
    read, unread = members(path)
    assert list(read.values()) == [b"x", b"y"] and not unread
    assert not (tmp_path / "outside.log").exists() and not Path("/outside.log").exists()


@pytest.mark.parametrize("position", range(0, 260, 7))
def test_a_zip_that_is_altered_anywhere_gives_its_own_bytes_or_says_why_not(position: int, tmp_path: Path) -> None:
    contents = {"a.log": b"step 1\n" * 50, "b.log": b"step 2\n" * 50}
    path = zip_of(tmp_path / "a.zip", contents)
    stored = bytearray(path.read_bytes())
    stored[position % len(stored)] ^= 0x41
    path.write_bytes(stored)
    try:
        read, _ = members(path)
    except tarfile.TarError:
        return
    assert set(read.values()) <= set(contents.values())


@pytest.mark.parametrize(
    ("name", "head", "words"),
    [("a.7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(range(200)), "7-Zip"), ("a.rar", b"Rar!\x1a\7\1\0" + bytes(90), "RAR")],
)
def test_an_archive_that_is_not_read_says_what_to_do(name: str, head: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head)
    ingest([tmp_path / name], tmp_path / "w")
    ((status, note),) = asked(tmp_path / "w", "SELECT status, note FROM files")
    assert status == "unknown" and words in note and "unpack it" in note


@pytest.mark.parametrize(
    ("name", "head", "words"),
    [
        ("report1.arrow", b"ARROW1\0\0", "nsys export --type sqlite"),
        ("Report1.nsys-rep", b"\0\1\2", "nsys export --type sqlite"),
        ("gemm.ncu-rep", b"\0\1\2", "ncu --import"),
        ("results.pftrace", b"\x0a\x12\x50\0", "rocprofv3 --output-format csv"),
        ("perfetto-trace-0.proto", b"\x0a\x12\x50\0", "traceconv json FILE"),
    ],
)
def test_a_recording_that_is_not_read_says_how_to_export_it(name: str, head: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head + bytes(range(256)))
    ingest([tmp_path / name], tmp_path / "w")
    ((status, note),) = asked(tmp_path / "w", "SELECT status, note FROM files")
    assert status == "unknown" and words in note


@pytest.mark.parametrize("name", ["inner.zip", "inner.TAR.GZ"])
def test_an_archive_within_an_archive_is_named_and_its_neighbours_are_read(name: str, tmp_path: Path) -> None:
    write_log(tmp_path / "logs" / "a.log")
    packed = packed_zip if name.endswith(".zip") else packed_by_tarfile
    packed(tmp_path / "logs", tmp_path / name)
    (tmp_path / name).rename(tmp_path / "logs" / name)
    packed_zip(tmp_path / "logs", tmp_path / "outer.zip")
    ingest([tmp_path / "outer.zip"], tmp_path / "w")
    assert asked(tmp_path / "w", "SELECT count(DISTINCT file_id) FROM steps") == [(1,)]
    ((status, note),) = asked(tmp_path / "w", f"SELECT status, note FROM files WHERE path LIKE '%!%{name}'")
    assert status == "unknown" and "archive within an archive" in note


def test_the_suffix_of_a_compression_may_be_in_upper_case(tmp_path: Path) -> None:
    write_log(tmp_path / "a.log")
    (tmp_path / "B.LOG.GZ").write_bytes(gzip.compress((tmp_path / "a.log").read_bytes()))
    with contextlib.closing(open_source(tmp_path / "B.LOG.GZ")) as source:
        assert source.name == "B.LOG"
