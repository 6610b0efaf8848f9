"""Small files stay small: what a database, an HDF5 file or a template costs is bounded by its size, by counting."""

import importlib
import io
import json
import pkgutil
import random
import re
import sqlite3
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from re._constants import (  # type: ignore[import-not-found]
    ASSERT,
    ASSERT_NOT,
    AT,
    BRANCH,
    MAX_REPEAT,
    MAXREPEAT,
    MIN_REPEAT,
    SUBPATTERN,
)
from re._parser import parse  # type: ignore[import-not-found]
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest

import adversarial
from conftest import FIXTURES
from nsight import capture, two_processes
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import hf_trainer_state, mllog_system, scaphandre
from scalelens.parsing import chrome_trace, configurations, lazy_re, sqlite_file
from scalelens.parsing.format_file import name_of, samples
from scalelens.parsing.hostlist import expand
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, open_source
from scalelens.runs import name_patterns
from scalelens.runs.templates import compiled
from scalelens.tabular import json_series, sensor_rows
from scalelens.tabular.cells import nested_values
from scalelens.tabular.energy_documents import measurements
from scalelens.tabular.value_pairs import value_pairs
from test_robustness import Result, read, read_source

COUNTING = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT 16000000)"


def read_file(path: Path) -> Result:
    source = open_source(path)
    try:
        return read_source(source)
    finally:
        source.close()


def altered(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as base:
        for statement in statements:
            base.execute(statement)
    base.close()
    return path


# SQLite


def test_views_of_a_capture_are_not_read(tmp_path: Path) -> None:
    tables = two_processes()
    kernels = tables.pop("CUPTI_ACTIVITY_KIND_KERNEL")
    assert kernels
    view = f"""CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {COUNTING} SELECT k AS start, k + 1 AS "end", 0 AS deviceId,
        0 AS contextId, 7 AS streamId, k AS correlationId, 1677721600 AS globalPid, 3 AS demangledName,
        3 AS shortName FROM n"""
    result = read_file(altered(capture(tmp_path / "a.sqlite", tables), view))
    names = [row["category"] for row in result.tables["events"]]
    assert names and "kernel" not in names
    assert "the capture contains no kernel" in (result.note or "")


def test_computed_columns_and_virtual_tables_are_not_read(tmp_path: Path) -> None:
    path = altered(
        capture(tmp_path / "a.sqlite", {}),
        "CREATE TABLE computed (a INTEGER, b TEXT AS (printf('%200000s', a)))",
        "CREATE VIRTUAL TABLE places USING rtree(id, low, high)",
        "CREATE VIEW many AS SELECT a.value FROM StringIds a, StringIds b",
        "CREATE TABLE plain (a INTEGER)",
    )
    source = open_source(path)
    with sqlite_file.sqlite_database(source) as database:
        assert "plain" in database.columns and "StringIds" in database.columns
        assert not {"computed", "places", "many"} & database.columns.keys()
        with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
            database.rows("SELECT * FROM many")
    source.close()


def test_a_join_of_alike_keys_is_bounded_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    """A row of each of two tables is 8 bytes: a thousand of each gave a million rows."""
    path = tmp_path / "a.db"
    path.write_bytes((FIXTURES / "rocpd" / "one_process.sqlite").read_bytes())
    with sqlite3.connect(path) as base:
        strings = next(
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE name GLOB 'rocpd_string_*'")
        )
        regions = strings.replace("string", "region")
        for table in (strings, regions):
            for _ in range(9):
                base.execute(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 500")
    base.close()
    result = read_file(path)
    assert 0 < len(result.tables["events"]) < sqlite_file._ROWS + path.stat().st_size / sqlite_file._BYTES_OF_ROW
    assert "far more rows or text than its size allows" in result.problems[-1]


def test_a_text_that_each_row_is_given_is_bounded(tmp_path: Path) -> None:
    """The value that a new column has by default is in no row, and in each one that is read."""
    path = capture(tmp_path / "a.sqlite", {"MPI_RANKS": [(k, k) for k in range(20_000)]})
    altered(path, f"ALTER TABLE MPI_RANKS ADD COLUMN text DEFAULT '{'x' * 100_000}'")
    source = open_source(path)
    with sqlite_file.sqlite_database(source) as database, pytest.raises(sqlite_file.TooCostlyError, match="text"):
        database.rows("SELECT text FROM MPI_RANKS")
    source.close()


def test_instructions_are_counted_and_time_is_not(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.sqlite", {"MPI_RANKS": [(k, k) for k in range(2_000)]})
    source = open_source(path)
    with sqlite_file.sqlite_database(source) as database, pytest.raises(sqlite_file.TooCostlyError, match="far longer"):
        database.rows("SELECT count(*) FROM MPI_RANKS a, MPI_RANKS b, MPI_RANKS c")
    source.close()


# HDF5


def frame(path: Path, make: Callable[[h5py.Group], None]) -> Path:
    """A frame as pandas writes it, with a table that `make` makes."""
    with h5py.File(path, "w") as file:
        group = file.create_group("jpwr")
        group.attrs["pandas_type"], group.attrs["nblocks"] = np.bytes_("frame"), 1
        group["block0_items"] = np.array([b"timestamps", b"rocm:0"])
        make(group)
    return path


def samples_of(count: int) -> np.ndarray:
    return np.array([[1.79e9 + k, 90.0 + k] for k in range(count)])


def elsewhere(group: h5py.Group) -> None:
    secret = Path(group.file.filename).with_name("secret")
    secret.write_bytes(samples_of(9).tobytes())
    group.create_dataset("block0_values", (9, 2), "f8", external=[(str(secret), 0, 144)])


def virtual(group: h5py.Group) -> None:
    other = Path(group.file.filename).with_name("other.h5")
    with h5py.File(other, "w") as file:
        file["x"] = samples_of(9)
    layout = h5py.VirtualLayout((9, 2), "f8")
    layout[:] = h5py.VirtualSource(str(other), "x", (9, 2))
    group.create_virtual_dataset("block0_values", layout)


def linked(group: h5py.Group) -> None:
    other = Path(group.file.filename).with_name("other.h5")
    with h5py.File(other, "w") as file:
        file["x"] = samples_of(9)
    group["block0_values"] = h5py.ExternalLink(str(other), "x")


def unwritten(group: h5py.Group) -> None:
    group.create_dataset("block0_values", (4_000_000, 2), "f8", chunks=(1000, 2), fillvalue=1.79e9)


def packed(group: h5py.Group) -> None:
    group.create_dataset("block0_values", (400_000, 2), "f8", np.full((400_000, 2), 1.79e9), compression=9)


def endless(group: h5py.Group) -> None:
    group["block0_values"] = samples_of(9)
    group.attrs["nblocks"] = 10**9


def again(group: h5py.Group) -> None:
    """One table under 60 names."""
    group["block0_values"] = samples_of(900)
    group.attrs["nblocks"] = 60
    for k in range(1, 60):
        group[f"block{k}_values"], group[f"block{k}_items"] = group["block0_values"], group["block0_items"]


REFUSED = {
    elsewhere: "is in another file", virtual: "is in another file", linked: "is a link",
    unwritten: "more numbers than the file has bytes for", packed: "more numbers than the file has bytes for",
    endless: "a frame of 1000000000 tables", again: "more numbers than the file has bytes for",
}  # fmt: skip


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_numbers_that_are_not_in_the_file_are_refused(tmp_path: Path, make: Callable[[h5py.Group], None]) -> None:
    result = read_file(frame(tmp_path / "power.h5", make))
    assert not result.tables.get("power")
    assert len(result.problems) == 1 and REFUSED[make] in result.problems[0]


def test_numbers_that_were_packed_are_read(tmp_path: Path) -> None:
    noisy = samples_of(900) + np.random.default_rng(1).random((900, 2))

    def make(group: h5py.Group) -> None:
        group.create_dataset("block0_values", (900, 2), "f8", noisy, compression=4, shuffle=True)

    assert len(read_file(frame(tmp_path / "power.h5", make)).tables["power"]) == 900


# Path templates


PIECES = {
    "{a}": "(?P<a>[^/]+)", "{b}": "(?P<b>[^/]+)", "{k:int}": r"(?<![0-9])(?P<k>[0-9]{1,18}(?![0-9]))", "*": "[^/]*?",
    "-": "-", "n": "n", "xl": "xl",
}  # fmt: skip


def test_templates_fit_as_a_regular_expression_does() -> None:
    """The longest text that the rest leaves, part by part, and as many folders for `**`."""
    chance, fitted = random.Random(3), 0
    for _ in range(2_000):
        folders, expression = [], ""
        for _ in range(chance.randint(1, 3)):
            pieces = chance.sample(sorted(PIECES), chance.randint(1, 5))
            folders.append("**" if chance.random() < 0.2 else "".join(pieces))
            of_name = "[^/]+" if pieces == ["*"] else "".join(PIECES[piece] for piece in pieces)
            expression += "(?:[^/]+/)*" if folders[-1] == "**" else of_name + "/"
        try:
            template = compiled("/".join(folders))
        except ValueError:  # parts beside each other, or of one name
            continue
        filled = re.sub(r"\{[^}]*\}|\*+", lambda _: chance.choice(("a", "12", "n-n", "xlxl", "7-n")), "/".join(folders))
        match = re.match(expression, filled + "/")
        expected = (
            {key: str(int(value)) if key == "k" else value for key, value in match.groupdict().items()}
            if match
            else None
        )
        assert template.match(filled) == expected, ("/".join(folders), filled)
        fitted += match is not None
    assert fitted > 300


def test_a_name_costs_its_length_however_many_parts_a_template_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven parts and a name of 243 letters did not end; steps are counted, over all pieces of the template."""
    compared = 0
    ends = name_patterns.ends_of

    def counted(piece: name_patterns.Piece, name: str, fits: list[bool]) -> list[int]:
        nonlocal compared
        compared += len(fits)
        return ends(piece, name, fits)

    monkeypatch.setattr(name_patterns, "ends_of", counted)
    template = compiled("-".join(f"{{p{k}}}" for k in range(7)) + "-end")
    assert template.match("-" * 243) is None
    assert 0 < compared <= 15 * 244
    assert compiled("/".join(["**", "*"] * 9) + "/end").match("/".join("a" * 60)) is None


# Patterns


def endless_beginnings(items: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a pattern begins with a repetition without an end, and needs something after it.

    Where such a pattern is searched for, each letter of a long run begins it anew.  What stands before the run ends
    that: `(?<!\\w)\\w+=`.
    """
    items = [*items]
    for place, (kind, given) in enumerate(items):
        if kind in (AT, ASSERT, ASSERT_NOT):
            return False
        if kind is SUBPATTERN:
            return endless_beginnings([*given[3], *items[place + 1 :]])
        if kind is BRANCH:
            return any(endless_beginnings([*branch, *items[place + 1 :]]) for branch in given[1])
        if kind in (MAX_REPEAT, MIN_REPEAT):
            optional = all(kind in (MAX_REPEAT, MIN_REPEAT) and given[0] == 0 for kind, given in items[place + 1 :])
            return given[1] is MAXREPEAT and not optional
        return False
    return False


def patterns() -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Name of each pattern of the package, the pattern, and whether a text is searched for it."""
    for package in ("parsers", "parsing", "tabular", "ingestion", "runs"):
        folder = importlib.import_module(f"scalelens.{package}").__path__
        for found in pkgutil.walk_packages(folder, f"scalelens.{package}."):
            module = importlib.import_module(found.name)
            code = Path(str(module.__file__)).read_text()
            for name, value in vars(module).items():
                if pattern := lazy_re.compiled(value):
                    is_searched = re.search(rf"\b{name}\.(?:search|find|sub|split)", code) is not None
                    yield f"{found.name}.{name}", pattern, is_searched


def test_no_pattern_that_is_searched_begins_without_an_end() -> None:
    found = {
        name
        for name, pattern, is_searched in patterns()
        if is_searched and endless_beginnings(parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    }
    assert not found
    assert endless_beginnings(parse(r"(\w+)=")) and not endless_beginnings(parse(r"(?<!\w)(\w+)="))
    assert endless_beginnings(parse(r"a|\s*b")) and not endless_beginnings(parse(r"\d+(?:\.\d+)?"))


LAZY_END = re.compile(r"[+*]\?\)*\\s\*\)*(?:\\Z|\$)$")


def test_no_pattern_looks_for_the_end_of_blanks_at_each_letter() -> None:
    """`(.*?)\\s*\\Z` takes the square of a long row of blanks: the text is stripped before."""
    assert not {name for name, pattern, _ in patterns() if LAZY_END.search(str(pattern.pattern))}
    assert LAZY_END.search(r"(\w+): *(.*?)\s*\Z") and not LAZY_END.search(r"(\w+): *(.*)\Z")


def test_a_long_row_of_blanks_in_a_printed_table_is_passed_once() -> None:
    """Two cells, each up to its first blanks: 250 KB of blanks took 21 s of the processor."""
    from scalelens.parsers import stable_baselines3_table

    begin = time.process_time()
    for text in (
        "|    ep" + " " * 100_000 + "x" + " " * 100_000,
        "|    a" + " " * 100_000 + "| b" + " " * 100_000 + "x",
    ):
        assert not stable_baselines3_table.ENTRY.match(text)
    assert time.process_time() - begin < 2
    assert stable_baselines3_table.ENTRY.match("|    ep_len_mean     | 132      |")[1] == "ep_len_mean"  # type: ignore[index]


def test_a_row_of_marks_after_a_value_is_passed_once() -> None:
    """It was passed for each length that the value before it may have."""
    begin = time.process_time()
    assert not value_pairs(("a" + ".... " * 14 + "b" + "; " * 100_000 + "x\n") * 2)
    assert time.process_time() - begin < 2
    assert value_pairs("Energy: 5 J;\nMean power ..... 2 W , \n| Duration | 2.5 s |\n") == [
        {"Energy [J]": "5", "Mean power [W]": "2", "Duration [s]": "2.5"}
    ]


# JSON


@pytest.mark.parametrize("part", [b'{"a":', b'{"a": {}, "b":', b'[{"a":', b'{"ph": "X", "args": {'])
def test_objects_within_objects_are_looked_at_a_few_times_each(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them was searched for its end, two hundred levels deep: 600 KB took a minute.  Tokens are counted."""
    looked, closing = 0, chrome_trace.Search.closing

    def counted(self: chrome_trace.Search, text: bytes, start: int) -> int | None:
        nonlocal looked
        before = self.tokens_left
        found = closing(self, text, start)
        looked += before - self.tokens_left
        return found

    monkeypatch.setattr(chrome_trace.Search, "closing", counted)
    content = b'{"traceEvents": [' + part * (200_000 // len(part))
    result = read(content, "trace.json")
    assert (result.status, result.tables.get("events")) == ("partial", None)
    assert 0 < looked <= 4 * (chrome_trace._TOKENS + chrome_trace._TOKENS_PER_BYTE * len(content))


def test_a_long_value_is_not_looked_at_for_each_of_those_that_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time of 300 KB that 40,000 sockets shared was parsed for each of them.  Letters are counted."""
    looked, stamp_of = 0, scaphandre.stamp_of

    def counted(text: str) -> Any:
        nonlocal looked
        looked += len(text)
        return stamp_of(text)

    monkeypatch.setattr(scaphandre, "stamp_of", counted)
    sockets = ", ".join(['{"id": 0, "consumption": 1.0}'] * 2_000)
    content = f'{{"host": {{"consumption": 1.0, "timestamp": "{"9" * 30_000}"}}, "sockets": [{sockets}]}}'.encode()
    result = read(content, "scaphandre.json")
    assert "the report has no time" in result.problems and "power" not in result.tables
    assert 0 < looked <= 20 * len(content)


def test_sensors_with_long_names_are_refused_and_not_cut() -> None:
    """Two names that begin alike would be one sensor; the name of a socket stood in each row of its domains, 12 GB."""
    socket = '{"id": "%s", "consumption": 1.0, "domains": [{"name": "dram", "consumption": 2.0}]}'
    sockets = ", ".join(socket % name for name in ("0", "x" * 400 + "1", "x" * 400 + "2"))
    host = '{"host": {"consumption": 9.0, "timestamp": 1767323045.3}, "sockets": [%s]}'
    result = read((host % sockets).encode(), "scaphandre.json")
    assert [row["device"] for row in result.tables["power"]] == ["host", "socket 0", "socket 0 dram"]
    assert len(result.problems) == 4 and "300 letters" in result.problems[0]


def test_each_summary_of_a_trainer_is_held_against_all_losses_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records before it were read again for each summary, and losses that no mean can hold raised."""
    looked, number = 0, hf_trainer_state.json_number_or_nan

    def counted(value: Any) -> float | None:
        nonlocal looked
        looked += 1
        return number(value)

    monkeypatch.setattr(hf_trainer_state, "json_number_or_nan", counted)
    records: list[dict[str, Any]] = [{"step": 1, "loss": 1e308}, {"step": 2, "loss": 1e308}]
    records += [{"step": 3, "train_runtime": 5.0, "train_steps_per_second": 1.0, "train_loss": 1.0}] * 200
    content = json.dumps({"epoch": 1.0, "global_step": 3, "log_history": records}).encode()
    result = read(content, "trainer_state.json")
    assert len(result.tables["steps"]) == 2 and len(result.tables["phases"]) == 200
    assert looked < 20 * len(records)


def test_a_count_in_a_file_makes_no_list_of_its_length() -> None:
    """30 KB of ranges made 30 million hosts, and a row of CodeCarbon named as many GPUs as it says it has."""
    assert expand("n[1-9999,1-3]") == [f"n{k}" for k in (*range(1, 10_000), 1, 2, 3)]
    begin = time.process_time()
    assert expand(f"n[{','.join(['1-9999'] * 3_000)}]") == []
    header = "timestamp,project_name,run_id,duration,emissions,energy_consumed,gpu_energy,gpu_count"
    rows = "".join(f"2026-11-01T10:00:00,p,r{k},60,0.1,1,0.5,{count}\n" for k, count in enumerate((2, 10**9, 10**18)))
    energies = read(f"{header}\n{rows}".encode(), "emissions.csv").tables["energy"]
    assert [row["device"] for row in energies if row["scope"] == "gpu"] == ["0,1", "gpu", "gpu"]
    assert time.process_time() - begin < 5


def allocated(work: Callable[[], object]) -> int:
    """The most bytes that Python held at once for some work."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_names_around_a_value_are_not_repeated_for_each_value() -> None:
    """Values within an object have its name before theirs: 300 KB of it before each of 10,000 took gigabytes."""
    long, many = "a" * 100_000, {f"k{k}": k for k in range(2_000)}
    energies = {"duration_s": 5, f"energy {long}": {f"p{k}_j": k for k in range(900)}, f"cpu {long}": {"a_j": 1} | many}
    framework = {"popvision": {"version": "3.3"}, long: many}
    ras = {"nccl_version": "2.28", "communicators": [{"hash": long, "ranks": [{"rank": k} for k in range(2_000)]}]}

    def work() -> None:
        assert not dict(nested_values({long: many}))
        configurations.write_configuration({"a": {long: many}}, Rows("f", lambda *_: None))
        assert not [*measurements(energies)]
        assert read(json.dumps(framework).encode(), "framework.json").tables["params"]
        read(json.dumps(ras).encode(), "ras.json")

    work()  # patterns are compiled, and modules imported
    assert allocated(work) < 30 << 20
    assert dict(nested_values({"gpu": {"0": {"power_w": 5}}})) == {"gpu.0.power_w": 5}


def test_long_texts_of_many_rows_are_not_gathered() -> None:
    """The name of a column stands in the arguments of each row below it: 1 MB of a trace held 1.3 GB."""
    header = f"Start (ns),Duration (ns),CorrId,{'Grd' * 30_000},Device,Strm,Name"
    table = header + "\n" + "".join(f"{k}000,500,{k},128,A100 (0),7,kernel\n" for k in range(1_000))

    def trace() -> None:
        read_rows(
            Source("t.csv", io.BytesIO(table.encode()), len(table), 0), LOADED, rows := Rows("f", lambda *_: None)
        )
        rows.flush()

    def metrics() -> None:
        rows = Rows("f", lambda *_: None)
        for k in range(1_000):
            rows.metric(k, None, None, k, f"{'a' * 90_000}{k}", 1.0)

    def events() -> None:
        rows = Rows("f", lambda *_: None)
        for k in range(1_000):
            rows.add("events", k, ph="X", name="kernel", start_ns=k, duration_ns=1, args=f"{'a' * 90_000}{k}")

    trace()
    assert allocated(trace) < 10 << 20 and allocated(metrics) < 60 << 20 and allocated(events) < 60 << 20


def test_a_long_line_of_a_launcher_is_not_divided_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's shlex takes the square of a long word: 14 s for one line of 1 MB."""
    monkeypatch.setattr(mllog_system.shlex, "split", lambda _: pytest.fail("it was divided"))
    (line,) = (each for each in samples(mllog_system) if "SYSJSON" not in each)
    assert any(
        "50,000 characters" in problem for problem in read(f"{line} {'a' * 60_000}\n".encode(), "a.log").problems
    )


def test_a_summary_with_a_column_of_a_long_name_is_not_read() -> None:
    for name, count in (("eval_loss", 2), ("eval_loss" + "a" * 200, 0)):
        found = read(f"epoch,train_loss,{name}\n0,2.5,2.25\n".encode(), "summary.csv")
        assert (len(found.tables.get("metrics", ())), bool(found.problems)) == (count, not count)


def test_the_samples_of_a_document_are_no_more_than_its_values() -> None:
    """A list of times as long as the file for each of many short ones, and an object for each of its devices."""
    ragged = {"sampling_interval_s": 2, "power": [1] * 20_000} | {f"p{k}_w": [5, 6] for k in range(2_000)}
    begin = time.process_time()
    (samples,) = json_series.lists_of_samples(ragged, by_interval=True)
    assert len(samples) == 20_000 and sum(map(len, samples)) == 2 * 20_000 + 2 * 2_000
    assert (samples[1]["elapsed_s"], samples[1]["p7_w"]) == (2, 6) and [*samples[2]] == ["elapsed_s", "power"]
    shared = {f"k{k}": k for k in range(2_000)}
    assert len([*json_series.samples_of(shared | {"gpus": [{"power_w": 1}] * 2_000})]) == 1
    assert len([*json_series.samples_of({"t": 1, "gpus": [{"power_w": 1}] * 2_000})]) == 2_000
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    "before, row, after", [("", '{"time_s": %d, "power_w": 5}\n', ""), ("[", '{"time_s": %d, "power_w": 5},', "{}]")]
)
def test_objects_that_lack_nearly_all_keys_are_not_filled_up(
    before: str, row: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each object had a cell for every key of the first: thousands for a line of a few bytes."""
    monkeypatch.setattr(sensor_rows, "_EMPTY_CELLS", 20_000)
    first = json.dumps({"time_s": 0, "power_w": 5} | {f"k{k}": k for k in range(1_000)})
    content = (
        before + first + (row[-1] if before else "\n") + "".join(row % k for k in range(1, 2_000)) + after
    ).encode()
    source = Source("power.json", io.BytesIO(content), len(content), 0)
    cells = [len(row.cells) for row in sensor_rows.sensor_rows(source)]
    assert len(cells) >= 2_000 and cells[:3] == [1_002] * 3
    assert sum(cells) <= 20_000 + 20 * 2 * len(cells) + 3 * 1_002


def test_a_document_with_many_energies_is_no_measurement() -> None:
    inner = json.dumps({f"part{k}_j": 1 for k in range(3_000)})
    for content in (f'{{"energy": {inner}, "duration_s": 3}}', f'{{"duration_s": 3, "energy_j": 3, {inner[1:]}'):
        assert "energy" not in read(content.encode(), "energy.json").tables


# Every format


LOADED = formats.load()
FORMATS = sorted({*LOADED.of_lines, *LOADED.of_files}, key=name_of)
SIZE, BYTES_OF_ROW = 20_000, 6  # of a file, and of its shortest row


def test_rows_are_no_more_than_bytes_allow() -> None:
    """Records that follow in one line, over the samples of all formats."""
    for format in FORMATS:
        attack = next((attack for attack in adversarial.attacks(format) if attack.way == "one_line"), None)
        if attack:
            content, rows = attack.make(SIZE), Rows("f", lambda *_: None)
            read_rows(Source(attack.name, io.BytesIO(content), len(content), 0), LOADED, rows)
            rows.flush()
            count = sum(rows.rows_by_format.values()) + sum(rows.problems_by_format.values())
            assert count <= len(content) / BYTES_OF_ROW, f"{attack[:3]} gives {count} rows of {len(content)} bytes"


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS, ids=name_of)
def test_no_small_file_is_slow_or_large(format: ModuleType) -> None:
    """Attacks of 250 KB on every format: ten times the processor time of honest files of the size, and 500 MB
    with the 100 that the process begins with.

    What no format takes is read as lines that nobody knows, so that such a log is honest too.
    """
    size = 250_000
    costs = {attack: adversarial.cost_of(attack, size, LOADED) for attack in adversarial.attacks(format)}
    unknown = next(other for other in FORMATS if name_of(other) == "generic_lines")
    fallback = adversarial.cost_of(next(adversarial.attacks(unknown)), size, LOADED)
    honest = [fallback, *(cost for attack, cost in costs.items() if attack.way == "honest")]
    honest_s = max(cost.seconds for cost in honest if cost)
    for attack, cost in costs.items():
        assert cost and cost.rows >= 0, f"{attack[:3]} was ended"
        assert cost.seconds < 10 * honest_s, f"{attack[:3]} took {cost.seconds:.1f} s, an honest file {honest_s:.1f} s"
        assert cost.peak_bytes < 400 << 20, f"{attack[:3]} took {cost.peak_bytes >> 20} MB"
