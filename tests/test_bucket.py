"""A warehouse in S3: the answers of a local one, whoever writes at once, whatever is killed, removed or altered.

The server is moto's, over HTTP, or that of SCALELENS_TEST_S3 (http://127.0.0.1:PORT), which knows the key `somebody`
with the secret `secret`.  Another machine is another folder of copies.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scalelens
from command_line import one_line
from conftest import ROOT
from scalelens.database.macros import macro_file
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load
from scalelens.warehouse import gc as collecting
from scalelens.warehouse.bucket import Bucket
from scalelens.warehouse.check import check
from scalelens.warehouse.compact import compact
from scalelens.warehouse.files import ABANDONED_S
from scalelens.warehouse.gc import gc
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.root import BucketPath, root_of
from test_warehouse import (
    IN_SMALL_BATCHES,
    ask,
    everything,
    steps_by_path,
    touch_later,
    write_log,
    write_logs,
)

if TYPE_CHECKING:
    from command_line import Run

pytest.importorskip("moto", reason="moto is not installed")

DEMO = ROOT / "src" / "scalelens" / "demo" / "logs"

VARIABLES = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
}


ADDRESS = os.environ.get("SCALELENS_TEST_S3")
only_moto = pytest.mark.skipif(ADDRESS is not None, reason="only moto is made to refuse")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server."""
    if ADDRESS:
        yield ADDRESS
        return
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class Store:
    """The objects of a bucket as others see them, and machines with copies of them."""

    def __init__(self, server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import boto3

        for name, value in {**VARIABLES, "AWS_ENDPOINT_URL": server}.items():
            monkeypatch.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        self.client = boto3.client("s3", endpoint_url=server)
        self.bucket = f"study-{uuid.uuid4()}"
        place = {"LocationConstraint": VARIABLES["AWS_DEFAULT_REGION"]}
        self.client.create_bucket(Bucket=self.bucket, CreateBucketConfiguration=place)
        self.root = root_of(f"s3://{self.bucket}/all/logs")
        self.folder, self.monkeypatch = folder, monkeypatch
        self.use_machine("first")

    def use_machine(self, name: str) -> None:
        cache = self.folder / name / "scalelens"
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not any(cache.iterdir()) and (macros := macro_file(load())):  # making it takes longer than most tests
            shutil.copy2(macros, cache)
        self.monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))

    def copies(self, machine: str) -> list[str]:
        """Names of the records and segments on a machine."""
        copies = (path for folder in (self.folder / machine).rglob("s3-*") for path in folder.rglob("[!.]*.*"))
        return sorted(path.name for path in copies if path.is_file())

    def names(self, folder: str) -> list[str]:
        """Names of the objects below the prefix in `_log` or `segments`."""
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=f"all/logs/{folder}/").get("Contents", [])
        return [name for item in listed if (name := item["Key"].rpartition("/")[2])]

    def key(self, name: str) -> dict[str, str]:
        folder = "_log" if name.endswith(".json") else "segments"
        return {"Bucket": self.bucket, "Key": f"all/logs/{folder}/{name}"}

    def read(self, name: str) -> bytes:
        return bytes(self.client.get_object(**self.key(name))["Body"].read())

    def write(self, name: str, content: bytes) -> None:
        self.client.put_object(**self.key(name), Body=content)

    def remove(self, name: str) -> None:
        self.client.delete_object(**self.key(name))


@pytest.fixture
def store(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    return Store(server, tmp_path / "machines", monkeypatch)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_logs(tmp_path / "logs", 3)


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


# The answers of a local warehouse


def test_the_path_of_a_bucket_stays_as_it_is_written() -> None:
    for text in ("s3://study/a/b", "s3:/study/a/b", "s3://study/a/b/", Path("s3://study/a/b")):
        root = root_of(text)
        assert isinstance(root, BucketPath) and f"{root}" == "s3://study/a/b" == str(root.resolve())
    assert root_of("logs/s3/x") == Path("logs/s3/x") and not isinstance(root_of("s3"), BucketPath)


def test_the_commands_do_what_they_do_in_a_folder(store: Store, logs: Path, tmp_path: Path, run: "Run") -> None:
    shutil.copytree(DEMO, logs / "demo")
    commands: list[Callable[[object], tuple[object, ...]]] = [
        lambda root: ("ingest", logs, "-w", root, "--jobs", "1"),
        lambda root: ("ingest", logs, "-w", root, "--jobs", "1"),
        lambda root: ("query", "scaling", "-w", root),
        lambda root: ("query", "batch_stats", "runs=devices = 2", "-w", root),
        lambda root: ("sql", "SELECT count(*), sum(step_s) FROM steps", "-w", root),
        lambda root: ("forget", logs / "0.log", "-w", root),
        lambda root: ("query", "runs_overview", "-w", root),
        lambda root: ("compact", "-w", root),
        lambda root: ("check", "-w", root),
        lambda root: ("gc", "-w", root),
        lambda root: ("query", "kernel_summary", "-w", root),
    ]
    for command in commands:
        here, there = (run(*map(str, command(root))) for root in (tmp_path / "local", store.root))
        assert (there.code, there.out) == (here.code, here.out) and here.code == 0, there
        assert there.err == here.err.replace(str(tmp_path / "local"), str(store.root))
    assert run("plot", "scaling", "-o", str(tmp_path / "scaling.svg"), "-w", str(store.root)).code == 0
    assert run("verify", str(tmp_path / "scaling.svg"), "-w", str(tmp_path / "local")).code == 0


def test_a_long_history_has_the_rows_of_a_folder_on_every_machine(store: Store, tmp_path: Path) -> None:
    """Logs that grow, a copy, a file whose first path is forgotten, one that is gone."""
    logs, homes = tmp_path / "logs", (tmp_path / "local", store.root)
    for steps in range(1, 4):
        for number in range(3):
            write_log(logs / f"{number}.log", steps, step_ms=1000.0 + 10 * number)
            touch_later(logs / f"{number}.log")
            for home in homes:
                ingest([logs], home)
    shutil.copy(logs / "0.log", logs / "copy.log")
    write_log(logs / "bad.log", step_ms=5000.0)
    for home in homes:
        ingest([logs], home)
        Warehouse(home).forget([str(logs / "0.log"), str(logs / "bad.log")])
    before = everything(tmp_path / "local")
    assert everything(store.root) == before
    store.use_machine("second")
    assert everything(store.root) == before
    compact(store.root)
    assert everything(store.root) == before
    store.use_machine("first")
    assert everything(store.root) == before
    assert check(store.root).damages == [] and len(store.names("_log")) == 1


def test_python_and_the_environment_name_the_same_path(
    store: Store, logs: Path, run: "Run", monkeypatch: pytest.MonkeyPatch
) -> None:
    scalelens.ingest(logs, warehouse=str(store.root))
    monkeypatch.setenv("SCALELENS_WAREHOUSE", str(store.root))
    assert run("sql", "SELECT count(*) AS n FROM steps").out == "n\n15\n"
    assert scalelens.query("runs_overview", str(store.root)).height == 3
    assert scalelens.connect(str(store.root)).execute("SELECT count(*) FROM steps").fetchall() == [(15,)]


WITH_WORKERS = """
import sys
from scalelens.ingestion import ingest, processes
from scalelens.warehouse.root import root_of
ingest.BATCH_FILES = 2
ingest.ingest([ingest.Path(sys.argv[1])], root_of(sys.argv[2]), jobs=2)
print(processes.start_method())
"""


def test_workers_write_what_one_process_writes(store: Store, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 5)
    ingest([logs], tmp_path / "local", jobs=1)
    command = [sys.executable, "-c", WITH_WORKERS, logs, str(store.root)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stdout == "spawn\n", f"a connection does not live on in a copy of the process {ran.stderr}"
    assert everything(store.root) == everything(tmp_path / "local")
    assert len(store.names("_log")) == 3


# What is fetched, and what goes


def test_a_question_fetches_the_tables_that_it_names(store: Store) -> None:
    ingest([DEMO], store.root, jobs=1)
    store.use_machine("second")
    ask(store.root, "SELECT count(*) FROM steps")
    tables = {name.partition("-")[0] for name in store.copies("second") if name.endswith(".parquet")}
    assert "steps" in tables and "events" not in tables
    store.use_machine("third")
    ask(store.root, "SELECT count(*) FROM events")
    assert {name.partition("-")[0] for name in store.copies("third") if name.endswith(".parquet")} == {"events"}


def test_a_question_asks_for_the_list_alone_where_all_is_here(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([logs], store.root)
    before = everything(store.root)

    def refused(*_: object) -> None:
        raise AssertionError("it fetches again")

    monkeypatch.setattr(Bucket, "downloaded", refused)
    assert everything(store.root) == before


def test_what_is_erased_goes_from_every_machine(store: Store, logs: Path) -> None:
    ingest([logs], store.root)
    for machine in ("second", "first"):
        store.use_machine(machine)
        everything(store.root)
    Warehouse(store.root).forget([str(logs / "0.log")])
    compact(store.root)
    kept = sorted(store.names("_log") + store.names("segments"))
    assert store.copies("first") == kept and len(kept) > 1
    store.use_machine("second")
    cache = Warehouse(store.root).cache
    (of_the_question,) = cache.iterdir()
    assert steps_by_path(store.root) == {"1.log": 5, "2.log": 5}
    assert not of_the_question.exists(), "it knew the file that is forgotten"
    assert {name for name in store.copies("second") if not name.endswith(".bin")} <= set(kept)


def test_a_question_is_asked_again_where_its_segments_were_replaced(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch, run: "Run"
) -> None:
    """Another machine compacts while the segments of a question are fetched."""
    ingest([logs], store.root)
    Warehouse(store.root).forget([str(logs / "0.log")])
    ingest([write_log(logs / "0.log", 7)], store.root)
    store.use_machine("second")
    fetch = Bucket.fetch

    def late(self: Bucket, folder: Path, names: Any) -> None:
        if folder.name == "segments":
            monkeypatch.setattr(Bucket, "fetch", fetch)
            store.use_machine("first")
            compact(store.root)
            store.use_machine("second")
        fetch(self, folder, names)

    monkeypatch.setattr(Bucket, "fetch", late)
    assert run("sql", "SELECT count(step_s) AS n FROM steps", "-w", str(store.root)).out == "n\n17\n"
    assert Bucket.fetch is fetch


def test_a_log_that_is_folded_while_it_is_fetched_is_read_again(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        ingest([logs / f"{number}.log"], store.root)
    store.use_machine("second")
    fetch = Bucket.fetch

    def late(self: Bucket, folder: Path, names: Any) -> None:
        monkeypatch.setattr(Bucket, "fetch", fetch)
        store.use_machine("first")
        Warehouse(store.root).fold(0)
        store.use_machine("second")
        fetch(self, folder, names)

    monkeypatch.setattr(Bucket, "fetch", late)
    assert len(Warehouse(store.root).live().paths) == 3 and Bucket.fetch is fetch


# Several writers, and writers that are killed


def started(store: Store, machine: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    """A command on a machine, with many small batches."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(store.folder / machine)}
    return subprocess.Popen(
        [sys.executable, "-c", IN_SMALL_BATCHES, *map(str, arguments)],
        text=True, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def test_ingests_of_several_machines_at_once_leave_each_file_once(store: Store, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 8)
    shutil.copytree(logs, tmp_path / "logs" / "copies")
    folders = (logs, logs, logs / "copies")
    together = [
        started(store, f"m{number}", "ingest", folder, "-w", store.root, "--jobs", "1")
        for number, folder in enumerate(folders)
    ]
    assert [process.communicate()[1] for process in together if process.wait()] == []
    ingest([logs], tmp_path / "local")
    ingest([logs], store.root)
    assert everything(store.root) == everything(tmp_path / "local")


def test_a_writer_may_be_killed_at_any_moment(store: Store, tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 12, 40)
    chance = random.Random(23)
    for number in range(4):
        process = started(store, f"m{number}", "ingest", logs, "-w", store.root, "--jobs", "1")
        wanted = len(store.names("_log")) + 1
        until = time.monotonic() + 60
        while process.poll() is None and len(store.names("_log")) < wanted and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(chance.random() / 10)
        with contextlib.suppress(ProcessLookupError):  # it may have ended in time
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        store.use_machine(f"reader{number}")
        counts = steps_by_path(store.root)
        assert counts and set(counts.values()) == {40}
    ingest([logs], store.root)
    ingest([logs], tmp_path / "local")
    assert everything(store.root) == everything(tmp_path / "local")
    assert check(store.root).damages == []


def test_segments_without_a_record_do_not_count_and_are_removed_after_a_day(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([logs / "0.log"], store.root)
    before = store.names("segments")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Bucket, "write_once", killed)
        ingest([logs], store.root)
    left = set(store.names("segments")) - set(before)
    assert left and steps_by_path(store.root) == {"0.log": 5}
    assert any("belong to no record" in note for note in check(store.root).notes)
    assert gc(store.root) == []
    monkeypatch.setattr(collecting, "ABANDONED_S", -1)
    assert {garbage.path.name for garbage in gc(store.root)} == left
    assert store.names("segments") == before and steps_by_path(store.root) == {"0.log": 5}


def test_a_compaction_of_more_than_a_day_keeps_its_segments(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([logs], store.root)
    files = Warehouse(store.root).files
    paths = [Warehouse(store.root).segments / name for name in store.names("segments")]
    changed: list[str] = []
    monkeypatch.setattr(Bucket, "put", lambda self, path, final: changed.append(final.name))
    files.keep_young(paths)
    assert changed == []
    os.utime(paths[0], (time.time() - ABANDONED_S,) * 2)
    files.keep_young(paths)
    assert changed == [paths[0].name]


# Damage


def test_check_finds_every_alteration_though_this_machine_has_good_copies(store: Store, logs: Path) -> None:
    ingest([logs / "0.log"], store.root)
    ingest([logs], store.root)
    before, newest = everything(store.root), max(store.names("_log"))
    for name in store.names("_log") + store.names("segments"):
        content = store.read(name)
        for damaged in (flipped(content), content[:-1], *([] if name == newest else [None])):
            if damaged is None:
                store.remove(name)
            else:
                store.write(name, damaged)
            by_size = damaged is None or len(damaged) < len(content) or name.endswith(".json")
            for quick in (False, True):
                found = [line.split()[0].rpartition("/")[2] for line in check(store.root, quick).damages]
                assert found == [name] * (by_size or not quick), (name, quick)
            store.write(name, content)
    assert check(store.root).damages == [] and everything(store.root) == before


def test_check_mends_copies_and_takes_no_damage_from_a_bucket(store: Store, logs: Path) -> None:
    ingest([logs], store.root)
    name = store.names("segments")[0]
    copy, whole = Warehouse(store.root).segments / name, store.read(name)
    copy.write_bytes(flipped(whole))
    assert check(store.root).damages == [] and copy.read_bytes() == whole
    store.write(name, flipped(whole))
    assert len(check(store.root).damages) == 1 and copy.read_bytes() == whole


def test_what_check_says_mends_a_bucket(store: Store, logs: Path, run: "Run") -> None:
    ingest([logs], store.root)
    before = everything(store.root)
    for folder in ("segments", "_log"):
        name = store.names(folder)[0]
        store.write(name, flipped(store.read(name)))
        code, out, _ = run("check", "-w", str(store.root))
        command = out.splitlines()[0].rpartition(": scalelens ")[2].split()
        assert code == 1 and command[-2:] == ["-w", str(store.root)]
        assert run(*command).code == 0
        assert run("check", "-w", str(store.root)).code == 0
        assert everything(store.root) == before


# Errors in one line


def test_what_is_no_warehouse_is_said(store: Store, logs: Path, run: "Run") -> None:
    one_line(run("query", "scaling", "-w", str(store.root)), "there is no warehouse", f"-w {store.root}")
    for wrong in ("s3://", "s3://name:word@study/all"):
        said = run("query", "scaling", "-w", wrong)
        one_line(said, "needs the name of a bucket")
        assert "word" not in said.err
    for command in (("ingest", str(logs)), ("query", "scaling")):
        one_line(run(*command, "-w", "s3://not-there/all"), "s3://not-there/all", "there is no such bucket")
    store.client.put_object(Bucket=store.bucket, Key="thesis/main.tex", Body=b"x")
    one_line(run("ingest", str(logs), "-w", f"s3://{store.bucket}/thesis"), "contains other files")


@only_moto
def test_a_bucket_that_may_not_be_read_or_written_is_said(
    store: Store, logs: Path, run: "Run", monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([logs / "0.log"], store.root)
    with monkeypatch.context() as patched:
        patched.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)  # it knows nobody
        for command in (("ingest", str(logs)), ("query", "scaling"), ("check",), ("compact",)):
            one_line(run(*command, "-w", str(store.root)), str(store.root), "access is denied", "AWS_ACCESS_KEY_ID")
    assert steps_by_path(store.root) == {"0.log": 5}


def slowed(monkeypatch: pytest.MonkeyPatch, refused: Callable[[int, dict[str, Any]], bool]) -> None:
    """The server answers some requests, by their number and what they ask, with 503 Slow Down."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication

    answer, number = DomainDispatcherApplication.__call__, itertools.count(1)

    def refusing(self: Any, asked: dict[str, Any], start: Any) -> Any:
        if not refused(next(number), asked):
            return answer(self, asked, start)
        body = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
        start("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]

    monkeypatch.setattr(DomainDispatcherApplication, "__call__", refusing)


@only_moto
def test_a_server_that_refuses_some_requests_is_asked_again(
    store: Store, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        slowed(patched, lambda number, _: number % 3 == 0)
        ingest([logs], store.root)
        assert steps_by_path(store.root) == {"0.log": 5, "1.log": 5, "2.log": 5}


@only_moto
def test_a_server_that_takes_no_object_loses_nothing_of_before(
    store: Store, logs: Path, run: "Run", monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([logs / "0.log"], store.root)
    with monkeypatch.context() as patched:
        slowed(patched, lambda _, asked: asked["REQUEST_METHOD"] in ("PUT", "POST"))
        one_line(run("ingest", str(logs), "-w", str(store.root)), str(store.root), "cannot be written or read")
    assert steps_by_path(store.root) == {"0.log": 5}
    ingest([logs], store.root)
    assert steps_by_path(store.root) == {"0.log": 5, "1.log": 5, "2.log": 5}


@only_moto
@pytest.mark.slow
def test_a_prefix_of_100_000_objects(store: Store, logs: Path, run: "Run") -> None:
    """A list of objects comes in pages of a thousand."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    ingest([logs / "0.log"], store.root)
    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    for number in range(50_000):
        backend.put_object(store.bucket, f"all/logs/notes/{number}", b"x")
        backend.put_object(store.bucket, f"all/logs/segments/steps-{number:016x}.parquet", b"x")
    ingest([logs], store.root)
    assert steps_by_path(store.root) == {"0.log": 5, "1.log": 5, "2.log": 5}
    store.use_machine("second")
    assert steps_by_path(store.root) == {"0.log": 5, "1.log": 5, "2.log": 5}
    assert len(store.copies("second")) < 50


def test_a_server_that_is_not_there_is_said(store: Store, logs: Path) -> None:
    os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"  # `store` sets it back
    process = started(store, "first", "query", "scaling", "-w", store.root)
    assert (process.communicate()[1].count("the server cannot be reached"), process.returncode) == (1, 2)


def test_a_local_warehouse_loads_nothing_of_s3(logs: Path, tmp_path: Path) -> None:
    asked = (
        "import sys, scalelens; scalelens.ingest(sys.argv[1], warehouse=sys.argv[2]); "
        "scalelens.query('scaling', sys.argv[2]); print('scalelens.warehouse.bucket' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", asked, logs, tmp_path / "w"], capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


def test_what_grew_on_one_machine_is_known_on_the_other(store: Store, logs: Path) -> None:
    for steps, machine in enumerate(("first", "second", "first", "second"), 6):
        store.use_machine(machine)
        write_log(logs / "1.log", steps)
        assert ingest([logs], store.root).unchanged == (0 if steps == 6 else 2)
        assert steps_by_path(store.root) == {"0.log": 5, "1.log": steps, "2.log": 5}
    assert [int(name.partition("-")[0]) for name in store.names("_log")] == [1, 2, 3, 4], "each has seen the other"
