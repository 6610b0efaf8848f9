"""No input takes more memory, disk or time than its size allows: bombs, entities, and lines made to be slow."""

import bz2
import gzip
import io
import lzma
import random
import re
import tarfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import zstandard

from asking import answer
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.parsers import jube
from scalelens.parsing import archives, chrome_trace
from scalelens.parsing import source as sources
from scalelens.parsing.archives import open_members
from scalelens.parsing.dispatch import LineDispatcher
from scalelens.parsing.format_file import name_of, samples
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.source import MOST_RATIO, RATIO_FROM, Source, open_source
from test_warehouse import write_log

MB = 1 << 20


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // MB):
        yield bytes(MB)


def compressed(compressor: object, size: int) -> bytes:
    return b"".join([*(compressor.compress(block) for block in zeros(size)), compressor.flush()])  # type: ignore[attr-defined]


BOMBS = {
    "zst": lambda: compressed(zstandard.ZstdCompressor(level=19).compressobj(), 200 * MB),
    "bz2": lambda: compressed(bz2.BZ2Compressor(), 200 * MB),
    "xz": lambda: compressed(lzma.LZMACompressor(preset=1), 200 * MB),
}


@pytest.mark.parametrize("suffix", BOMBS)
def test_a_bomb_is_read_in_bounded_pieces_up_to_a_ratio_that_no_log_has(suffix: str, tmp_path: Path) -> None:
    bomb = BOMBS[suffix]()
    source = Source(f"job.log.{suffix}", io.BytesIO(bomb), len(bomb), 0)
    tracemalloc.start()
    unpacked = sum(map(len, source.chunks()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert unpacked <= max(RATIO_FROM, MOST_RATIO * len(bomb)) + 32 * MB
    assert source.damage and f"more than {MOST_RATIO:,} times its size" in source.damage
    assert peak < 150 * MB


def test_zeros_in_gzip_are_read_whole() -> None:
    """A node that crashes leaves a hole of zeros in a log, and gzip cannot pass a ratio of 1,032."""
    stored = gzip.compress(bytes(200 * MB))
    source = Source("job.log.gz", io.BytesIO(stored), len(stored), 0)
    assert sum(map(len, source.chunks())) == 200 * MB
    assert source.damage is None


def test_xz_whose_dictionary_needs_all_memory_is_said() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    compressor = lzma.LZMACompressor(format=lzma.FORMAT_XZ, filters=filters)
    stored = bytearray(compressor.compress(b"hello") + compressor.flush())
    source = Source("job.log.xz", io.BytesIO(stored), len(stored), 0)
    assert b"".join(source.chunks()) == b""
    assert source.damage and "emory" in source.damage


def test_a_bomb_beside_a_log_is_partial_or_unknown_and_the_ingest_goes_on(tmp_path: Path) -> None:
    write_log(tmp_path / "logs" / "a.log")
    (tmp_path / "logs" / "bomb.log.zst").write_bytes(BOMBS["zst"]())
    ingest([tmp_path / "logs"], tmp_path / "w")
    statement = "SELECT parse_filename(path), status, note FROM files ORDER BY path"
    (log, bomb) = answer(tmp_path / "w", statement).fetchall()
    assert log == ("a.log", "ok", None)
    assert bomb[1] in ("partial", "unknown") and "times its size" in bomb[2]


# Archives


def packed(path: Path, **contents: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_an_archive_is_unpacked_one_member_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tempfile_type] = []
    make = archives.tempfile.SpooledTemporaryFile

    def counted(*arguments: int, **options: int) -> object:
        assert all(file.closed for file in held)
        held.append(make(*arguments, **options))  # type: ignore[call-overload]
        return held[-1]

    monkeypatch.setattr(archives.tempfile, "SpooledTemporaryFile", counted)
    path = packed(tmp_path / "a.tar.gz", **{f"m{k}": bytes(1000 * k) for k in range(5)})
    sizes = []
    for member in open_members(path):
        sizes.append(member.size_bytes)
        member.close()
    assert sizes == [0, 1000, 2000, 3000, 4000]


tempfile_type = archives.tempfile.SpooledTemporaryFile


def test_a_member_that_is_too_large_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBER", 1 << 10)
    path = packed(tmp_path / "a.tar.gz", small=b"x", large=bytes(2000), last=b"y")
    found = []
    with pytest.raises(tarfile.ReadError, match="large is larger than .* and is not read"):
        for member in open_members(path):
            found.append(member.path.rpartition("!")[2])
            member.close()
    assert found == ["small", "last"]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_an_archive_that_is_no_header_is_said(
    tmp_path: Path, kind: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_HEADER", 4 * MB)
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 64 * MB
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(64 * MB))
    with pytest.raises(tarfile.TarError):
        for member in open_members(tmp_path / "a.tar"):
            member.close()


def test_damage_behind_the_last_member_is_said(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar.gz", one=b"x")
    path.write_bytes(path.read_bytes() + b"other bytes")
    with pytest.raises(tarfile.ReadError, match="other bytes follow"):
        for member in open_members(path):
            member.close()


def test_what_is_read_of_a_stream_is_what_was_compressed(tmp_path: Path) -> None:
    """Streams in a row, of any length, in pieces of any size."""
    text = b"".join(b"step %d took %d ms\n" % (k, k * k % 997) for k in range(60_000))
    for suffix, compress in (
        ("gz", gzip.compress), ("zst", zstandard.ZstdCompressor().compress), ("xz", lzma.compress),
        ("bz2", bz2.compress),
    ):  # fmt: skip
        path = tmp_path / f"job.log.{suffix}"
        path.write_bytes(compress(text[:1000]) + compress(b"") + compress(text[1000:]) + bytes(512))
        source = open_source(path)
        assert (source.read(), source.damage) == (text, None), suffix
        source.close()


# Time


SLOW_FORMAT = '''"""A format that is slow.

Tool: slow
Versions: 1
Yields: steps
Source: slow.py

Samples:
    slow step 7
"""

import re
import time

VERSION = 1
ANCHORS = ("slow step ",)
LINE = re.compile(r"slow step (\\d+)")


class Reader:
    claims = None

    def __init__(self, rows):
        self.rows = rows

    def take(self, line):
        if not (found := LINE.match(line.text)):
            return False
        self.rows.add("steps", line.number, step=int(found[1]), phase="train")
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return True
'''


def test_a_file_that_takes_too_long_is_partial_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SPARE_S", 0.02)
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "slow.py").write_text(SLOW_FORMAT)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("slow step 1\n" + "x" * (6 * MB) + "\nslow step 2\n")
    monkeypatch.setattr(sources, "SLOWEST_BYTES_PER_S", 10**9)
    write_log(tmp_path / "logs" / "b.log", 3)
    report = ingest([tmp_path / "logs"], tmp_path / "w", format_folders=(tmp_path / "formats",))
    (entry, _) = report.entries
    assert (entry.status, entry.rows) == ("partial", 1)
    assert "takes far too long" in (entry.note or "")
    monkeypatch.undo()
    assert ingest([tmp_path / "logs"], tmp_path / "w", format_folders=(tmp_path / "formats",)).unchanged == 2


def test_a_trace_without_events_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "LONGEST_HEAD", 4 * MB)
    content = b'{"schemaVersion": 1, "x": "' + b"y" * (40 * MB)
    tracemalloc.start()
    trace = chrome_trace.Trace(Source("a.json", io.BytesIO(content), len(content), 0))
    assert list(trace.slices()) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MB


def test_entities_of_xml_are_not_unpacked(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))
    (tmp_path / "workpackages.xml").write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE jube-benchmark-run [<!ENTITY e0 "x">{entities}]>\n<workpackages>&e9;</workpackages>\n'
    )
    rows: list[str] = []
    source = open_source(tmp_path / "workpackages.xml")
    found = Rows("f", lambda table, batch: rows.extend(batch["reason"].to_pylist()) if table == "problems" else None)
    jube.read(source, found)
    found.flush()
    source.close()
    assert rows == ["the file declares XML entities, as JUBE never does: it is not read on"]


# Lines made to be slow


LOADED = formats.load()
OF_LINES = [module for module in LOADED.of_lines if samples(module)]


def pumped(sample: str) -> Iterator[tuple[str, str, str]]:
    """What stands before, in and behind the part of a sample that is repeated: each token, and two beside each other."""
    tokens = [*re.finditer(r"\w+|\s+|[^\w\s]", sample)]
    for count in (1, 2):
        for first, last in zip(tokens, tokens[count - 1 :], strict=False):
            yield sample[: last.end()], sample[first.start() : last.end()], sample[last.end() :]


def adversarial(module: ModuleType) -> list[tuple[str, str, str]]:
    """Ways to make a line of a format long: parts of its samples, and what patterns like to repeat."""
    lines = samples(module)
    ways = {
        (before, part, behind)
        for sample in lines
        for before, part, behind in pumped(sample)
        if any(anchor in before + behind for anchor in module.ANCHORS)
    }
    generic = {
        (sample, part, "") for sample in lines for part in (" ", "9", "a", "a.", ",", '"', "x: 1.0 ", "_", "=1 ")
    }
    return [*random.Random(module.__name__).sample(sorted(ways), min(len(ways), 60)), *sorted(generic)]


@pytest.mark.parametrize("module", OF_LINES, ids=lambda module: name_of(module))
def test_no_line_costs_more_than_its_length(module: ModuleType) -> None:
    """Eight times the length takes eight times as long, not sixty-four: asked where it takes long at all."""

    def seconds(way: tuple[str, str, str], size: int) -> float:
        before, part, behind = way
        line = f"{before}{part * (size // len(part))}{behind}\n".encode()
        dispatcher = LineDispatcher([module], Rows("f", lambda *_: None))
        begin = time.process_time()
        dispatcher.read([line])
        return time.process_time() - begin

    slow = [way for way in adversarial(module) if seconds(way, 8_000) > 0.05]
    for way in slow:
        short, long = (min(seconds(way, size) for _ in range(3)) for size in (2_000, 16_000))
        assert long < 30 * short, f"{way[0]!r} and {way[1]!r} again and again: {short:.3f} s, then {long:.3f} s"


def test_the_words_of_a_long_name_cost_no_more_than_its_length() -> None:
    def seconds(size: int) -> float:
        name = "GPU" + "-000000000001" * (size // 13)
        begin = time.perf_counter()
        assert scope_of_words(name) == "gpu"
        return time.perf_counter() - begin

    short, long = (min(seconds(size) for _ in range(5)) for size in (4_000, 64_000))
    assert long < 60 * short, f"{short:.4f} s, then {long:.4f} s"


def test_what_a_format_holds_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of gzip unpacks to a gigabyte, which formats of small documents would hold at once."""
    monkeypatch.setattr(sources, "RATIO_FROM", 4 * MB)
    stored = gzip.compress(b'{"step": 1}' + b" " * (20 * MB))
    assert len(stored) * sources.MOST_RATIO_HELD < 4 * MB
    for read in (Source.read, Source.text):
        source = Source("summary.json.gz", io.BytesIO(stored), len(stored), 0)
        assert 3 * MB < len(read(source)) <= 4 * MB
        assert source.damage and "too much to keep in memory" in source.damage
