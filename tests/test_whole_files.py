"""Files are written whole or not at all, whatever the disk holds and whenever the process ends."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.whole_files import whole_file, write_file

if TYPE_CHECKING:
    from command_line import Run

LOGS = ROOT / "src" / "scalelens" / "demo" / "logs"
# What is written, and by which command; {} is the folder to write to.
COMMANDS = {
    "f.svg": "plot scaling -o {}/f.svg", "f.pdf": "plot scaling -o {}/f.pdf", "f.png": "plot scaling -o {}/f.png",
    "f.html": "plot scaling -o {}/f.html", "f.json": "plot scaling -o {}/f.json", "r.html": "report -o {}/r.html",
    "rows.csv": "plot scaling -o {}/g.svg --data {}/rows.csv", "n.tex": "numbers a=batch_stats.step_s[run='gpt-weak-r2'] -o {}/n.tex",
    "t": "export {}/t", "d.duckdb": "connect -o {}/d.duckdb", "e.duckdb": "connect --copy -o {}/e.duckdb",
    "b": "bundle {}/b {}/../t.md", "again": "verify {}/../t.md --remade {}/again",
}  # fmt: skip
ALIKE = ("d.duckdb", "e.duckdb", "t", "b")  # hold a time, or are folders


@contextmanager
def disk_of(size_bytes: int) -> Iterator[None]:
    """No file grows beyond this size, as on a disk that is full.

    Python would keep half of what it compiled then, and fail to import it ever after.
    """
    before, compiles = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from scalelens.question.question import Question
    from scalelens.report.written import write

    folder = tmp_path_factory.mktemp("whole")
    ingest([LOGS], folder / "w", jobs=1)
    (folder / "t.md").write_text(write(folder / "w", Question("batch_stats"), "markdown", False)[0])
    return folder


def words_of(name: str, place: Path) -> list[str]:
    return [*(word.replace("{}", str(place)) for word in COMMANDS[name].split()), "-w", str(place.parent / "w")]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    with disk_of(100), pytest.raises(UserError, match="cannot write"):
        write_file(path, b"new" * 100)
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Else a link in a folder that others write to would choose which file of the user's is overwritten."""
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("untouched")
    link.symlink_to(other)
    write_file(link, b"new")
    assert other.read_text() == "untouched" and not link.is_symlink() and link.read_text() == "new"


def test_who_may_read_a_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o640)
    write_file(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o640 and path.read_text() == "new"


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is not a file"):
        write_file(tmp_path / "pipe", b"x")
    with pytest.raises(UserError, match="is not a file"):
        write_file(Path("/dev/null"), b"x")


def test_what_is_begun_and_not_ended_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in the midst"), whole_file(tmp_path / "f") as part:
        part.write_text("half")
        raise ValueError("in the midst")
    assert [*tmp_path.iterdir()] == []


def whole_or_nothing(name: str, place: Path, whole: bytes | None) -> None:
    made = place / name
    if made.is_file() and name not in ALIKE:
        assert made.read_bytes() == whole, name
    if made.is_dir() and name == "t":
        assert len([*made.iterdir()]) > 10, name
    if made.is_dir() and name == "b":
        assert (made / "make.sh").exists() and (made / "MANIFEST.json").stat().st_size > 100
    if made.suffix == ".duckdb" and made.exists():
        import duckdb

        with duckdb.connect(str(made), read_only=True) as connection:
            assert connection.execute("FROM about").fetchall()
    left = [path.name for path in place.iterdir() if not path.name.startswith(".")]
    assert {*left} <= {name, "g.svg"}, left


def full(run: "Run", home: Path, name: str, size_bytes: int, whole: bytes | None) -> int:
    """Carries out a command with so much room for each file."""
    place = home / "out"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with disk_of(size_bytes):
        ran = run(*words_of(name, place))
    assert "Traceback" not in ran.err and ran.code in (0, 1, 2), ran
    assert ran.code == 0 or ran.err or name == "again", ran
    whole_or_nothing(name, place, whole)
    assert not [path for path in place.iterdir() if path.name.startswith(".")]
    return ran.code


def made_whole(run: "Run", home: Path, name: str) -> bytes | None:
    """The bytes of a file that nothing hindered."""
    place = home / "out"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    assert run(*words_of(name, place)).code == 0
    whole_or_nothing(name, place, (place / name).read_bytes() if (place / name).is_file() else None)
    return (place / name).read_bytes() if (place / name).is_file() else None


@pytest.mark.parametrize("name", ["f.json", "d.duckdb", "n.tex"])
def test_a_command_on_a_full_disk(run: "Run", home: Path, name: str) -> None:
    assert full(run, home, name, 100, b"") != 0


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_on_full_disks(run: "Run", home: Path, name: str) -> None:
    whole = made_whole(run, home, name)
    dice = random.Random(name)
    for _ in range(12):
        full(run, home, name, int(10 ** dice.uniform(0, 6.5)), whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f.svg", "r.html", "t", "d.duckdb", "b", "n.tex"])
def test_each_command_killed(run: "Run", home: Path, name: str) -> None:
    whole = made_whole(run, home, name)
    dice = random.Random(name)
    for _ in range(8):
        place = home / "out"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "scalelens", *words_of(name, place)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(dice.uniform(0.5, 6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        whole_or_nothing(name, place, whole)
