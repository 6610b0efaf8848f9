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

from conftest import FIXTURES, ROOT
from logs import megatron_line
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.check import check
from scalelens.warehouse.log import Warehouse
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
    "x.html": "explore -o {}/x.html", "tr.json": "trace export -w {}/../traces -o {}/tr.json", "tr.json.gz": "trace export -w {}/../traces -o {}/tr.json.gz",
    "claims.toml": "audit {}/../paper.md --write {}/claims.toml",
    "own.svg": "plot --sql SELECT|step,|step_s|FROM|step_times --x step --y step_s --mark point -o {}/own.svg",
    "ar.html": "report --anonymous -o {}/ar.html", "at": "export --anonymous {}/at", "ab": "bundle --anonymous {}/ab {}/../t.md",
    "mine.py": "identify {}/../metrics.csv --preset {}/mine.py", "logs": "label {}/logs --template n{nodes}",
    "jobs": "bench vision --slurm --system lumi --nodes 1..2 --account a --data /d --dry-run --out {}/jobs",
}  # fmt: skip
ALIKE = ("d.duckdb", "e.duckdb", "t", "b", "at", "ab")  # hold a time, or are folders
OTHER_WAREHOUSE = ("mine.py", "logs", "jobs", "tr.json", "tr.json.gz")
OF_WAREHOUSE = ("ingest {}/../more -w {}/w", "compact -w {}/w", "forget {}/../more/run0/a.log -w {}/w", "gc -w {}/w",
                "ingest {}/../more -w {}/w --reread", "ingest {}/../more -w {}/new", "demo -o {}/demo")  # fmt: skip


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
    for number in range(2):
        (folder / "more" / f"run{number}").mkdir(parents=True)
        lines = "".join(megatron_line(step, 100.0 + step % 7) for step in range(1, 200))
        (folder / "more" / f"run{number}" / "a.log").write_text(lines)
    ingest([FIXTURES / "kineto" / "array.json"], folder / "traces", jobs=1)
    ingest([LOGS], folder / "w", jobs=1)
    ingest([folder / "more" / "run0"], folder / "w", jobs=1)
    (folder / "paper.md").write_text("The fastest run takes 0.103 s a step.\n")
    (folder / "metrics.csv").write_text(
        "step,step_time_ms,loss\n" + "".join(f"{k},{90 + k % 3},2.5\n" for k in range(40))
    )
    (folder / "t.md").write_text(write(folder / "w", Question("batch_stats"), "markdown", False)[0])
    return folder


def words_of(name: str, place: Path) -> list[str]:
    words = [word.replace("{}", str(place)).replace("|", " ") for word in COMMANDS[name].split()]
    return words if name in OTHER_WAREHOUSE else [*words, "-w", str(place.parent / "w")]


def emptied(place: Path, name: str) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    if name == "logs":
        (place / "logs" / "n8").mkdir(parents=True)
        (place / "logs" / "n8" / "a.log").write_text(megatron_line(1))
    return place


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
    if made.is_dir() and name in ("t", "at"):
        assert len([*made.iterdir()]) > 10, name
    if name == "logs" and (made / "scalelens.toml").exists():
        assert "n{nodes}" in (made / "scalelens.toml").read_text()
    if name == "jobs":
        assert all(path.read_text().endswith("\n") for path in made.rglob("*.s*"))
    if made.is_dir() and name in ("b", "ab"):
        assert (made / "make.sh").exists() and (made / "MANIFEST.json").stat().st_size > 100
    if made.suffix == ".duckdb" and made.exists():
        import duckdb

        with duckdb.connect(str(made), read_only=True) as connection:
            assert connection.execute("FROM about").fetchall()
    left = [path.name for path in place.iterdir() if not path.name.startswith(".")]
    assert {*left} <= {name, "g.svg"}, left


def full(run: "Run", home: Path, name: str, size_bytes: int, whole: bytes | None) -> int:
    """Carries out a command with so much room for each file."""
    place = emptied(home / "out", name)
    with disk_of(size_bytes):
        ran = run(*words_of(name, place))
    assert "Traceback" not in ran.err and ran.code in (0, 1, 2), ran
    assert ran.code == 0 or ran.err or name == "again", ran
    whole_or_nothing(name, place, whole)
    assert not [path for path in place.iterdir() if path.name.startswith(".")]
    return ran.code


def made_whole(run: "Run", home: Path, name: str) -> bytes | None:
    """The bytes of a file that nothing hindered."""
    place = emptied(home / "out", name)
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
@pytest.mark.parametrize("name", ["f.svg", "r.html", "t", "d.duckdb", "b", "n.tex", "x.html", "tr.json", "ab", "jobs"])
def test_each_command_killed(run: "Run", home: Path, name: str) -> None:
    whole = made_whole(run, home, name)
    dice = random.Random(name)
    for _ in range(8):
        place = emptied(home / "out", name)
        killed_at_random(words_of(name, place), dice)
        whole_or_nothing(name, place, whole)


def nothing_lost(place: Path, steps: int) -> None:
    """Each warehouse there is whole, and holds what was committed."""
    from scalelens.database.connect import connect

    for root in (place / "w", place / "new", place / "demo" / "warehouse"):
        if Warehouse(root).exists():  # a process that is killed before the first commit may leave segments
            assert not check(root).damages, check(root).damages
            (counted,) = connect(root, {}).execute("SELECT count(*) FROM steps").fetchall()
            assert counted[0] >= steps or root.name != "w", counted
    for figure in (place / "demo").glob("*.p*"):
        assert figure.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_WAREHOUSE)
def test_a_warehouse_on_full_disks_and_killed(run: "Run", home: Path, command: str) -> None:
    from scalelens.database.connect import connect

    dice, place = random.Random(command), home / "out"
    ((steps,),) = connect(home / "w", {}).execute("SELECT count(*) FROM steps").fetchall()
    least = steps - 199 if command.startswith("forget") else steps
    words = [word.replace("{}", str(place)) for word in command.split()]
    for number in range(14):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(home / "w", place / "w")
        if number < 10:
            with disk_of(int(10 ** dice.uniform(0, 5.5))):
                ran = run(*words)
            assert "Traceback" not in ran.err and ran.code in (0, 1, 2), ran
        else:
            killed_at_random(words, dice)
        nothing_lost(place, least)


def killed_at_random(words: list[str], dice: random.Random) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "scalelens", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(dice.uniform(0.3, 4))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
