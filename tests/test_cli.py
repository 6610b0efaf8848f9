"""The command line: results on stdout, all else on stderr; what a user did wrong is one line that says what to do.

CONTRIBUTING's recipes are run as they stand there.
"""

import csv
import errno
import gzip
import inspect
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import scalelens
from asking import answer, connect
from command_line import Ran, Run, app, one_line
from conftest import FIXTURES
from logs import megatron_line
from recipes import recipe
from scalelens.ingestion import formats
from scalelens.queries import load as queries
from scalelens.question.question import call
from scalelens.tables import documented
from spread import spread


def started(*arguments: str | Path, **options: Any) -> "subprocess.Popen[bytes]":
    """The command line as a process of its own group."""
    return subprocess.Popen(
        [sys.executable, "-m", "scalelens", *map(str, arguments)],
        stderr=subprocess.PIPE, start_new_session=True, **{"stdout": subprocess.PIPE, **options},
    )  # fmt: skip


def write_log(path: Path, steps: int = 5, step_ms: float = 1000.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(megatron_line(step, step_ms + step % 7) for step in range(1, steps + 1)))
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of two logs and a file that is none."""
    for number in range(2):
        write_log(tmp_path / "logs" / f"{number}.log", step_ms=1000.0 + 10 * number)
    (tmp_path / "logs" / "notes.txt").write_text("call the vendor\n")
    return tmp_path / "logs"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that no test changes."""
    folder = tmp_path_factory.mktemp("study")
    scalelens.ingest(write_log(folder / "logs" / "job.log"), warehouse=folder / "warehouse")
    return folder / "warehouse"


# Help

COMMANDS = sorted(command.name or command.callback.__name__ for command in app.registered_commands if command.callback)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert re.search(r"Examples?:.*scalelens " + command, ran.out, re.DOTALL)


def test_without_a_command_there_is_help(run: Run) -> None:
    ran = run()
    assert all(command in ran.out + ran.err for command in COMMANDS)


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"scalelens {scalelens.__version__}\n", "")


def test_an_unknown_option_is_wrong_use(run: Run) -> None:
    ran = run("sql", "FROM runs", "--color")
    assert (ran.code, ran.out) == (2, "")
    assert "--color" in ran.err


# Errors


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM steps", "scalelens tables"),
        ("FROM nowhere", "scalelens tables"),
        ("FROM nothing_asked()", "scalelens queries"),
        ("SELECT error('out\nof\nluck')", "out of luck"),
        ("SELECT 'x'::INTEGER", "Could not convert"),
        ("FROM 's3://bucket/file.parquet'", "--unsafe"),
    ],
)
def test_wrong_sql_is_one_line(run: Run, home: Path, statement: str, said: str) -> None:
    one_line(run("sql", statement, "-w", home), said)


def test_a_missing_extension_is_one_line(run: Run, home: Path) -> None:
    one_line(run("sql", "FROM 's3://bucket/file.parquet'", "-w", home, "--unsafe"), "httpfs")


@pytest.mark.parametrize(
    "arguments",
    [("sql", "FROM runs"), ("query", "runs_overview"), ("plot", "scaling", "-o", "x.pdf"), ("forget", "a.log")],
    ids=lambda arguments: arguments[0],
)
def test_a_missing_warehouse_is_said_with_how_to_make_one(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    one_line(run(*arguments, "-w", tmp_path / "none"), "there is no warehouse at", "scalelens ingest")


def test_a_newer_schema_is_said_with_the_upgrade(run: Run, logs: Path, tmp_path: Path) -> None:
    run("ingest", logs, "-w", tmp_path / "w")
    (record,) = (tmp_path / "w" / "_log").iterdir()
    newer = json.dumps(json.loads(record.read_text()) | {"schema": 999})
    record.with_name(f"{record.name[:20]}-0a1b2c3d.json").write_text(newer)
    record.unlink()
    for arguments in (("sql", "FROM runs"), ("ingest", logs), ("forget", logs)):
        one_line(run(*arguments, "-w", tmp_path / "w"), "newer ScaleLens", "pip install --upgrade scalelens")


def test_a_missing_segment_is_said(run: Run, logs: Path, tmp_path: Path) -> None:
    run("ingest", logs, "-w", tmp_path / "w")
    shutil.rmtree(tmp_path / "w" / "segments")
    one_line(run("sql", "FROM runs", "-w", tmp_path / "w"), "segment")


@pytest.mark.parametrize("command", ["ingest", "identify"])
def test_a_missing_path_is_said(run: Run, tmp_path: Path, command: str) -> None:
    one_line(run(command, tmp_path / "none"), f"{tmp_path / 'none'}")


def test_a_file_below_a_file_is_missing(run: Run, logs: Path, tmp_path: Path) -> None:
    one_line(run("ingest", logs / "0.log" / "x", "-w", tmp_path / "w"), "no such file or folder")


def test_a_folder_that_may_not_be_read_is_said(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != logs)
    one_line(run("ingest", logs, "-w", tmp_path / "w"), f"{logs} cannot be read", "permissions")


def test_a_path_behind_a_folder_that_may_not_be_entered_is_said(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, **options: Any) -> Any:
        if self == logs:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return looked(self, **options)

    looked = Path.stat
    monkeypatch.setattr(Path, "stat", refused)
    one_line(run("ingest", logs, "-w", tmp_path / "w"), f"{logs} cannot be read", "permissions")


def test_a_folder_inside_that_may_not_be_read_is_named_and_the_rest_is_read(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Any) -> Any:
        if Path(path) == logs / "secret":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    (logs / "secret").mkdir()
    listed = os.scandir
    monkeypatch.setattr(os, "scandir", refused)
    ran = run("ingest", logs, "-w", tmp_path / "w")
    assert ran.code == 0
    assert f"cannot be read: {logs / 'secret'}: Permission denied" in ran.err
    assert "2 runs" in ran.err


def test_of_many_links_to_nothing_some_are_named_and_the_others_counted(run: Run, logs: Path, tmp_path: Path) -> None:
    for number in range(6):
        (logs / f"rank{number}.log").symlink_to(tmp_path / "moved" / f"rank{number}.log")
    (logs / "held.log").symlink_to(logs / "0.log" / "below")
    (logs / "round.log").symlink_to(logs / "round.log")
    ran = run("ingest", logs, "-w", tmp_path / "w")
    assert ran.code == 0
    unread = [line for line in ran.err.splitlines() if line.startswith("cannot be read: ")]
    reason = "a link to a file that is not there"
    assert unread == [
        *(f"cannot be read: {logs / name}: {reason}" for name in ("held.log", "rank0.log", "rank1.log", "rank2.log")),
        f"cannot be read: 3 more ({reason})",
        f"cannot be read: {logs / 'round.log'}: {os.strerror(errno.ELOOP)}",
    ]
    assert "2 runs" in ran.err


def test_a_warehouse_that_is_a_file_is_refused(run: Run, logs: Path, tmp_path: Path) -> None:
    for place in (logs / "0.log", logs / "0.log" / "below"):
        one_line(run("ingest", logs, "-w", place), "is not a folder", "give -w a folder")
    one_line(run("sql", "FROM runs", "-w", logs / "0.log"), "there is no warehouse")


def test_a_folder_with_other_content_is_no_warehouse(run: Run, logs: Path) -> None:
    one_line(run("ingest", logs, "-w", logs), "contains other files", "new or empty folder")
    assert sorted(path.name for path in logs.iterdir()) == ["0.log", "1.log", "notes.txt"]


def test_a_warehouse_that_may_not_be_written_is_said(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    one_line(run("ingest", logs, "-w", tmp_path / "w"), "permissions")


def test_unknown_names_list_what_there_is(run: Run, home: Path) -> None:
    one_line(run("query", "nothing", "-w", home), "there is no query 'nothing'", *queries.load())
    one_line(run("tables", "nothing"), "there is no table 'nothing'", *documented())
    one_line(run("plot", "nothing", "-o", "x.pdf", "-w", home), "scaling", "batch_cdf")
    names = [module.__name__.rpartition(".")[2] for module in (*formats.load().of_lines, *formats.load().of_files)]
    one_line(run("explain", "nothing"), *queries.load(), *names, *documented())
    ran = run("sql", "FROM runs", "--format", "excel", "-w", home)
    assert ran.code == 2
    assert all(name in ran.err for name in ("table", "csv", "json", "markdown", "latex", "parquet"))


def test_a_name_that_belongs_elsewhere_says_where(run: Run, home: Path) -> None:
    one_line(run("runs"), "there is no command 'runs'; perhaps: scalelens query runs_overview")
    one_line(run("scaling"), "scalelens query scaling, or: scalelens plot scaling -o scaling.pdf")
    one_line(run("steps"), "scalelens sql 'FROM steps'")
    one_line(run("plot", "runs_overview", "-o", "f.pdf", "-w", home), "see its rows: scalelens query runs_overview -w")
    one_line(run("query", "step_times", "-w", home), "draws the rows of: scalelens query step_course -w")


def test_unknown_parameters_list_what_there_is(run: Run, home: Path) -> None:
    one_line(run("query", "batch_stats", "warm=5", "-w", home), "'warm'", "warmup", "exclude")
    one_line(run("query", "batch_stats", "warmup", "-w", home), "KEY=VALUE")
    one_line(run("query", "batch_stats", "runs=nothing = 1", "-w", home))


def test_other_wrong_use_is_one_line(run: Run, logs: Path, tmp_path: Path, home: Path) -> None:
    one_line(run("ingest", logs, "-w", tmp_path / "w", "--tz", "Europe/Nowhere"), "Europe/Nowhere")
    one_line(run("ingest", logs, "-w", tmp_path / "w", "--formats", tmp_path / "none"), "--formats")
    one_line(run("queries", "--queries", tmp_path / "none"), "--queries")
    one_line(run("formats", "--check", tmp_path / "none"))
    one_line(run("identify", logs), "no file")
    one_line(run("forget", "nothing.log", "-w", home), "nothing in the warehouse is called nothing.log")
    one_line(run("plot", "scaling", "-w", home), "-o scaling.pdf")
    one_line(run("plot", "scaling", "-o", tmp_path / "x.bmp", "-w", home))


def test_a_damaged_archive_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "logs.tar.gz").write_bytes(b"\x1f\x8b and nothing else")
    one_line(run("identify", tmp_path / "logs.tar.gz"), "logs.tar.gz cannot be read")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("shape", ["csv", "parquet", "table"])
def test_a_result_that_cannot_be_written_is_said(home: Path, shape: str) -> None:
    with Path("/dev/full").open("wb") as full:
        process = started("sql", "FROM range(100000)", "-w", home, "--format", shape, stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    *_, last = err.decode().splitlines()
    assert last.startswith("scalelens: cannot write the result (No space left on device); ")
    assert b"Traceback" not in err


def test_a_reader_that_has_enough_is_no_error(home: Path) -> None:
    process = started("sql", "FROM range(1000000)", "-w", home)
    assert process.stdout and process.stdout.readline() == b"range\n"
    process.stdout.close()
    assert process.stderr and process.stderr.read() == b""
    assert process.wait() == 0


@pytest.mark.parametrize("statement", [";", "/* nothing */", " "])
def test_a_statement_of_nothing_has_no_rows(run: Run, home: Path, statement: str) -> None:
    done = run("sql", statement, "-w", home)
    assert (done.code, done.out.strip(), done.err) == (0, "", "")


# Output

SHOWN = r"""
SELECT 7 AS n, 2.5::DOUBLE AS x, NULL AS nothing, 'a|b, "c" & 50 % \ _' AS text, ['p', 'q'] AS list, true AS yes,
       TIMESTAMP '2026-01-02 03:04:05.25' AS moment, sum(6)::HUGEINT AS total, 1 AS n, INTERVAL 90 MINUTE AS span
"""
NAMES = ["n", "x", "nothing", "text", "list", "yes", "moment", "total", "n_1", "span"]
TEXT = r'a|b, "c" & 50 % \ _'


def test_csv_can_be_read_back(run: Run, home: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(run("sql", SHOWN, "-w", home, "--format", "csv").out))
    assert list(row) == NAMES
    assert row["text"] == TEXT
    assert [row[name] for name in ("n", "x", "nothing", "list", "total", "n_1")] == ["7", "2.5", "", "p q", "6", "1"]
    assert (row["moment"], row["span"]) == ("2026-01-02 03:04:05.250", "01:30:00")


NO_CALENDAR = (
    "'infinity'::TIMESTAMP", "TIMESTAMPTZ '10000-01-01 00:00:00+00'", "DATE '-infinity'", "DATE '10000-01-01'",
    "TIMESTAMP '0001-01-01' - INTERVAL 1 SECOND", "[TIMESTAMP 'infinity']", "{'k': [NULL, DATE 'infinity']}",
    "MAP {1: 'infinity'::TIMESTAMP_S}",
)  # fmt: skip
IN_A_CALENDAR = (
    "TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '0001-01-01'", "DATE '9999-12-31'", "NULL::TIMESTAMP",
    "[TIMESTAMP_NS '2026-01-02 03:04:05.123456789']", "MAP {1: DATE '0001-01-01'}", "TIMESTAMP_NS '2262-01-01'",
)  # fmt: skip


@pytest.mark.parametrize("format", spread(["table", "csv", "json", "markdown", "latex", "parquet"], str, "calendar"))
def test_a_time_that_no_calendar_has_is_a_sentence(run: Run, home: Path, format: str) -> None:
    for value in NO_CALENDAR:
        asked = f"SELECT {value} AS moment UNION ALL SELECT NULL"
        one_line(run("sql", asked, "-w", home, "--format", format), "'moment'", "years 1 to 9999", "VARCHAR")
    for value in IN_A_CALENDAR if format != "parquet" else ():
        assert run("sql", f"SELECT {value} AS moment", "-w", home, "--format", format).code == 0, value


def test_json_can_be_read_back(run: Run, home: Path) -> None:
    (row,) = json.loads(run("sql", SHOWN, "-w", home, "--format", "json").out)
    assert list(row) == NAMES
    assert (row["n"], row["x"], row["nothing"], row["text"]) == (7, 2.5, None, TEXT)
    assert (row["list"], row["yes"], row["total"]) == (["p", "q"], True, 6)


def test_markdown_can_be_read_back(run: Run, home: Path) -> None:
    head, rule, row, _, origin = run("sql", SHOWN, "-w", home, "--format", "markdown").out.splitlines()
    assert origin.startswith("<!-- scalelens:provenance {")
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (head, rule, row)]
    assert cells[0] == NAMES
    assert set(cells[1]) == {"---"}
    assert cells[2][3].replace("\\|", "|") == TEXT
    assert len(cells[2]) == len(NAMES)


def test_latex_can_be_read_back(run: Run, home: Path) -> None:
    written = run("sql", SHOWN, "-w", home, "--format", "latex").out.splitlines()
    lines = [line for line in written if not line.startswith("%")]
    assert lines[:2] == [r"\begin{tabular}{rrlllllrrl}", r"\toprule"]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    row = re.split(r"(?<!\\) & ", lines[4].removesuffix(r" \\"))
    assert len(row) == len(NAMES)
    assert row[3] == r'a\textbar{}b, "c" \& 50 \% \textbackslash{} \_'


def test_parquet_can_be_read_back(home: Path) -> None:
    out, err = started("sql", SHOWN, "-w", home, "--format", "parquet").communicate()
    frame = pl.read_parquet(io.BytesIO(out))
    assert (frame.columns, err) == (NAMES, b"")
    assert frame["text"].to_list() == [TEXT]
    assert frame["list"].to_list() == [["p", "q"]]


def test_a_table_shows_what_is_known(run: Run, home: Path) -> None:
    ran = run("sql", "SELECT 7 AS n, 'a [b] c' AS text, NULL AS nothing", "-w", home, "--format", "table")
    assert re.search(r"n +text *\n.*7 +a \[b\] c", ran.out, re.DOTALL)
    assert "nothing known of: nothing" in ran.err


def test_lists_that_all_rows_share_stand_above_the_table(run: Run, home: Path) -> None:
    ran = run("sql", "SELECT n, ['gap', 'zero'] AS flags FROM range(2) AS t(n)", "-w", home, "--format", "table")
    assert ran.out.startswith("flags gap zero\n")


def test_nested_values_have_a_place_in_csv(run: Run, home: Path) -> None:
    statement = "SELECT [1, 2] AS numbers, {'a': 1} AS pair, 'x'::BLOB AS bytes, [[1], [2]] AS deep"
    (row,) = csv.DictReader(io.StringIO(run("sql", statement, "-w", home).out))
    assert row["numbers"] == "1 2"
    assert "a" in row["pair"]


def test_numbers_that_json_has_not_are_null(run: Run, home: Path) -> None:
    statement = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, ['nan'::DOUBLE] AS c"
    (row,) = json.loads(run("sql", statement, "-w", home, "--format", "json").out)
    assert row == {"a": None, "b": None, "c": [None]}


def test_no_rows_are_no_error(run: Run, home: Path) -> None:
    assert run("sql", "SELECT 1 AS n WHERE false", "-w", home).out == "n\n"
    assert run("sql", "SELECT 1 AS n WHERE false", "-w", home, "--format", "json").out == "[]\n"
    for shape in ("table", "markdown", "latex"):
        assert run("sql", "SELECT 1 AS n WHERE false", "-w", home, "--format", shape).code == 0


def test_csv_when_piped(run: Run, home: Path) -> None:
    plain = run("sql", "FROM runs", "-w", home)
    assert plain == run("sql", "FROM runs", "-w", home, "--format", "csv")
    assert plain.out.startswith("run_id,")


def test_a_table_on_a_terminal(home: Path) -> None:
    terminal, other = pty.openpty()
    process = started("sql", "SELECT 7 AS seven, 'x' AS letter", "-w", home, stdout=other)
    os.close(other)
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            shown += os.read(terminal, 10_000)
        except OSError:  # all has been read, and the other side is closed
            break
    process.communicate()
    os.close(terminal)
    text = re.sub(r"\x1b\[[\d;]*m", "", shown.decode())
    assert re.search(r"seven +letter", text)
    assert "seven,letter" not in text


@pytest.mark.parametrize("arguments", [("queries",), ("tables",), ("formats",), ("tables", "steps")], ids=" ".join)
def test_lists_are_rows_too(run: Run, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert len(json.loads(ran.out)) > 5


@pytest.mark.parametrize("name", ["batch_stats", "megatron", "steps"])
def test_everything_can_be_explained(run: Run, name: str) -> None:
    ran = run("explain", name)
    assert ran.code == 0
    assert len(ran.out) > 200


def test_queries_answer(run: Run, home: Path) -> None:
    ran = run("query", "batch_stats", "warmup=0", "exclude=none", "-w", home, "--format", "json")
    (row,) = json.loads(ran.out)
    assert (ran.code, row["n_steps"]) == (0, 5)


ASKED = sorted(name for name, query in queries.load().items() if not query.is_helper)


@pytest.mark.parametrize("name", spread(ASKED, str, "what it reads", share=6))
def test_a_query_finds_all_that_it_reads(home: Path, name: str) -> None:
    asks_for_sides = {"a", "b"} <= {
        parameter.name for parameter in queries.load()[name].parameters
    } and name != "trace_diff"
    statement = f"FROM {call(name, {'a': 'devices > 0', 'b': 'devices = 0'} if asks_for_sides else {})}"
    connection = connect(home, statement)  # what it reads is found before it is carried out
    assert connection.sql(statement).columns == [column.name for column in queries.load()[name].columns]


def test_the_environment_may_name_the_warehouse(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALELENS_WAREHOUSE", str(home))
    assert run("sql", "SELECT count(*) AS n FROM steps").out == "n\n5\n"


# Ingest


def test_ingest_says_what_it_did_on_stderr(run: Run, logs: Path, tmp_path: Path) -> None:
    ran = run("ingest", logs, "-w", tmp_path / "w")
    assert (ran.code, ran.out) == (0, "")
    assert re.search(r"megatron +2 ", ran.err)
    assert "notes.txt (no known format in it)" in ran.err
    assert f"2 runs of unknown outcome in {tmp_path / 'w'}" in ran.err
    assert f"next: scalelens query runs_overview -w {tmp_path / 'w'}, scalelens plot -o figure.pdf -w" in ran.err
    assert "\x1b" not in ran.err, "a progress bar is for people"


def test_what_is_next_without_steps_is_the_report(run: Run, tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("timestamp,gpu_power_w\n" + "".join(f"{1.7e9 + k},300\n" for k in range(9)))
    said = run("ingest", tmp_path / "power.csv", "-w", tmp_path / "w").err
    assert "next: scalelens report -o report.html -w" in said
    assert f"scalelens query energy_reconciled -w {tmp_path / 'w'}" in said, "a table, too"
    assert run("query", "energy_reconciled", "-w", tmp_path / "w").out.count("\n") > 1


def test_what_is_next_draws_a_figure_of_any_folder(run: Run, tmp_path: Path) -> None:
    """Of power alone, too: `plot` without a name takes the chart that these logs can show."""
    (tmp_path / "power.csv").write_text("timestamp,gpu_power_w\n" + "".join(f"{1.7e9 + k},300\n" for k in range(9)))
    said = run("ingest", tmp_path / "power.csv", "-w", tmp_path / "w").err
    assert "scalelens plot -o figure.pdf" in said
    figure = tmp_path / "figure.svg"
    assert run("plot", "-o", figure, "-w", tmp_path / "w").code == 0
    assert figure.stat().st_size > 0


def test_nothing_is_drawn_of_what_no_chart_shows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "job.out").write_text("slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***\n")
    said = run("ingest", tmp_path / "job.out", "-w", tmp_path / "w").err
    assert "next: scalelens report -o report.html" in said
    assert "scalelens plot" not in said


def test_nothing_is_drawn_of_one_record_or_of_the_collectives_of_one_rank(run: Run, tmp_path: Path) -> None:
    """One record is warm-up, and where no rank waits for another nothing shows who comes late."""
    (tmp_path / "one.csv").write_text("epoch,step,step_time_s\n1,8,1.4\n")
    said = run("ingest", tmp_path / "one.csv", "-w", tmp_path / "one").err
    assert "next: scalelens query runs_overview" in said and "scalelens plot" not in said
    said = run("ingest", FIXTURES / "nccl_profiler", "-w", tmp_path / "events").err
    figure = tmp_path / "figure.svg"
    draws = run("plot", "-o", figure, "-w", tmp_path / "events").code == 0
    assert ("scalelens plot" in said) == draws


def test_a_series_says_which_sizes_it_lacks(run: Run, tmp_path: Path) -> None:
    """As a table for people, and as a figure; not where the user chose rows."""
    for devices, batch in ((8, 64), (16, 128), (64, 100)):
        config = f"[facts]\ndevices = {devices}\nmodel = 'm'\nglobal_batch_size = {batch}\nsystem = 's'\n"
        folder = tmp_path / "logs" / f"n{devices}"
        folder.mkdir(parents=True)
        (folder / "scalelens.toml").write_text(config)
        (folder / "a.csv").write_text("step,step_time_s\n" + "".join(f"{k},{1 + k % 3 / devices}\n" for k in range(40)))
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    said = "no series has the runs on 64 devices; see why: scalelens query not_compared"
    assert said in run("query", "scaling", "--format", "table", "-w", tmp_path / "w").err
    assert said in run("plot", "scaling", "-w", tmp_path / "w", "-o", tmp_path / "a.svg").err
    assert said not in run("query", "scaling", "--format", "csv", "-w", tmp_path / "w").err
    assert said not in run("query", "scaling", "--format", "table", "--limit", 1, "-w", tmp_path / "w").err
    assert said not in run("query", "scaling", "runs=devices < 64", "--format", "table", "-w", tmp_path / "w").err


def test_files_that_were_not_read_for_one_reason_are_named_together(run: Run, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"the notes of {name}\n")
    ran = run("ingest", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt", "-w", tmp_path / "w")
    assert "not understood  3   a.txt, b.txt and c.txt (no known format in it)\n" in ran.err


def test_ingest_again_says_that_nothing_changed(run: Run, logs: Path, tmp_path: Path) -> None:
    run("ingest", logs, "-w", tmp_path / "w")
    assert "3 files have not changed since they were read" in run("ingest", logs, "-w", tmp_path / "w").err


def test_names_are_no_markup(run: Run, tmp_path: Path) -> None:
    write_log(tmp_path / "[red]logs[" / "a[/].log")
    ran = run("ingest", tmp_path / "[red]logs[", "-w", tmp_path / "[/w]")
    assert ran.code == 0
    assert f"in {tmp_path / '[/w]'}" in ran.err


def test_strict_is_an_answer(run: Run, logs: Path, tmp_path: Path) -> None:
    assert run("ingest", logs, "-w", tmp_path / "w", "--strict").code == 1
    assert run("sql", "SELECT count(*) AS n FROM steps", "-w", tmp_path / "w").out == "n\n10\n"
    (logs / "notes.txt").unlink()
    assert run("ingest", logs, "-w", tmp_path / "v", "--strict").code == 0


def test_strict_minds_what_cannot_be_read(run: Run, logs: Path, tmp_path: Path) -> None:
    (logs / "notes.txt").unlink()
    (logs / "latest.log").symlink_to(logs / "gone.log")
    assert run("ingest", logs, "-w", tmp_path / "w", "--strict").code == 1


def test_dry_run_writes_nothing(run: Run, logs: Path, tmp_path: Path) -> None:
    ran = run("ingest", logs, "-w", tmp_path / "w", "--dry-run")
    assert ran.code == 0
    assert re.search(r"megatron +2 ", ran.err)
    assert "nothing was written" in ran.err
    assert not (tmp_path / "w").exists()
    run("ingest", logs, "-w", tmp_path / "w")
    before = sorted((tmp_path / "w").rglob("*"))
    write_log(logs / "2.log", step_ms=5000.0)
    run("ingest", logs, "-w", tmp_path / "w", "--dry-run")
    assert sorted((tmp_path / "w").rglob("*")) == before


def test_a_cut_file_is_named(run: Run, tmp_path: Path) -> None:
    whole = gzip.compress(write_log(tmp_path / "job.log", 300).read_bytes())
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "job.log.gz").write_bytes(whole[:-100])
    ran = run("ingest", tmp_path / "logs", "-w", tmp_path / "w")
    assert "job.log.gz (the compressed stream is cut)" in ran.err


def test_identify_shows_which_format_takes_which_lines(run: Run, logs: Path) -> None:
    ran = run("identify", logs / "0.log")
    rows = {(row["format"], row["table"]): row for row in csv.DictReader(io.StringIO(ran.out))}
    steps = rows["megatron", "steps"]
    assert (steps["rows"], steps["first_line"], steps["last_line"]) == ("5", "1", "5")
    assert ran.err == "0.log: ok\n"


def test_identify_says_what_is_not_understood(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "cut.log"
    log.write_text((megatron_line(1, 1000.0) + megatron_line(2, 1000.0))[:-90])
    ran = run("identify", log)
    (problem,) = [row for row in csv.DictReader(io.StringIO(ran.out)) if row["table"] == "problems"]
    assert "cut" in problem["example"]
    assert ran.err == "cut.log: partial\n"


def test_forget_takes_paths_folders_and_runs(run: Run, tmp_path: Path) -> None:
    for name in ("a/0.log", "a/1.log", "b/0.log", "c/0.log"):
        write_log(tmp_path / name, step_ms=1000.0 + 10 * len(list(tmp_path.rglob("*.log"))))
    home = tmp_path / "w"
    run("ingest", *(tmp_path / name for name in "abc"), "-w", home)
    count = ("sql", "SELECT count(*) AS n FROM files", "-w", home)
    assert "1 files are forgotten" in run("forget", tmp_path / "b" / "0.log", "-w", home).err
    assert run(*count).out == "n\n3\n"
    run("forget", tmp_path / "a", "-w", home)
    assert run(*count).out == "n\n1\n"
    ((run_id,),) = answer(home, "SELECT run_id FROM runs").fetchall()
    run("forget", run_id, "-w", home)
    assert run(*count).out == "n\n0\n"


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Waits for what must come sooner or later."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


IN_SMALL_BATCHES = (
    "from scalelens.ingestion import ingest; ingest.BATCH_FILES = 2; from scalelens.cli import main; main()"
)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_at_once_and_keeps_what_was_committed(tmp_path: Path, jobs: int) -> None:
    logs, home, count = tmp_path / "logs", tmp_path / "w", 160
    for number in range(count):
        write_log(logs / f"{number}.log", 200, 1000.0 + 10 * number)
    process = subprocess.Popen(
        [sys.executable, "-c", IN_SMALL_BATCHES, "ingest", str(logs), "-w", str(home), "--jobs", str(jobs)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: (home / "_log").is_dir() and list((home / "_log").glob("*.json")))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"interrupted; committed work is kept[^\n]*\n", err), err
    found = answer(home, "SELECT count(*) FROM steps GROUP BY file_id").fetchall()
    assert set(found) == {(200,)}
    assert len(found) < count, "it went on"
    scalelens.ingest(logs, warehouse=home)
    assert answer(home, "SELECT count(*) FROM files").fetchall() == [(count,)]


INTERRUPTED = """
import os, re, signal, multiprocessing.process as processes
from pathlib import Path

start = processes.BaseProcess.start


def started(self):
    start(self)
    handles = False
    while not handles:  # Python is up in it, and imports
        masks = re.findall(r"Sig(?:Cgt|Ign):\\s*(\\w+)", Path(f"/proc/{self.pid}/status").read_text())
        handles = any(int(mask, 16) & 2 for mask in masks)
    os.killpg(0, signal.SIGINT)


processes.BaseProcess.start = started
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at a process in /proc")
def test_an_interrupt_while_workers_start_is_one_line(tmp_path: Path) -> None:
    for number in range(8):
        write_log(tmp_path / "logs" / f"{number}.log", 5, 1000.0 + 10 * number)
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED + IN_SMALL_BATCHES, "ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "2"],
        capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (130, "", 1), run.stderr


def test_a_worker_that_is_killed_is_one_error(tmp_path: Path) -> None:
    for number in range(8):
        write_log(tmp_path / "logs" / f"{number}.log", 5, 1000.0 + 10 * number)
    killing = (
        "import os, signal, multiprocessing.process as p; start = p.BaseProcess.start\n"
        "def started(self): start(self); os.kill(self.pid, signal.SIGKILL)\n"
        "p.BaseProcess.start = started\n" + IN_SMALL_BATCHES
    )
    run = subprocess.run(
        [sys.executable, "-c", killing, "ingest", tmp_path / "logs", "-w", tmp_path / "w", "--jobs", "2"],
        capture_output=True, text=True,
    )  # fmt: skip
    one_line(Ran(run.returncode, run.stdout, run.stderr), "a worker process was ended", "--jobs")


# Features by adding a file


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the format of the recipe, and a log that it reads."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mytool.py").write_text(recipe("Add a format"))
    (tmp_path / "own.log").write_text("hello\nmytool step 12 took 0.5 s\nmytool step 13 took 1.5 s\n")
    return folder


STEPS = ("sql", "SELECT step, step_s FROM steps ORDER BY step", "--format", "csv")
READ = "step,step_s\n12,0.5\n13,1.5\n"


def test_a_format_of_a_user_is_a_file_in_a_folder(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("ingest", tmp_path / "own.log", "-w", tmp_path / "w", "--formats", own).code == 0
    assert run(*STEPS, "-w", tmp_path / "w").out == READ
    assert "mytool,My tool's progress line." in run("formats", "--formats", own).out
    assert "mytool,steps,2,2,3" in run("identify", tmp_path / "own.log", "--formats", own).out


def test_a_folder_of_formats_may_be_named_by_the_environment(
    run: Run, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALELENS_FORMATS", str(own))
    run("ingest", tmp_path / "own.log", "-w", tmp_path / "w")
    assert run(*STEPS, "-w", tmp_path / "w").out == READ


def test_workers_know_the_formats_of_the_user(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalelens.ingestion.ingest.BATCH_FILES", 1)
    for number in range(3):
        (tmp_path / f"{number}.own.log").write_text(f"mytool step {number} took 0.5 s\n")
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w", jobs=2, format_folders=(own,))
    assert answer(tmp_path / "w", "SELECT count(*) FROM steps").fetchall() == [(5,)]


def test_a_format_of_a_user_may_take_the_place_of_ours(run: Run, own: Path, tmp_path: Path) -> None:
    own.joinpath("mytool.py").rename(own / "megatron.py")
    write_log(tmp_path / "job.log")
    run("ingest", tmp_path / "own.log", tmp_path / "job.log", "-w", tmp_path / "w", "--formats", own)
    header, *steps = run(*STEPS, "-w", tmp_path / "w").out.split()
    assert [header, *steps[-2:]] == READ.split()
    assert [float(step.split(",")[1]) for step in steps[:-2]] == pytest.approx([1.001, 1.002, 1.003, 1.004, 1.005])
    formats = run("sql", "SELECT formats[1] FROM files ORDER BY path", "-w", tmp_path / "w", "--format", "csv").out
    assert formats.split()[1:] == ["generic_lines", "megatron"]  # what ours would read is a log that no format knows


def test_good_formats_hold(run: Run, own: Path, tmp_path: Path) -> None:
    (own / "fixtures" / "mytool").mkdir(parents=True)
    shutil.copy(tmp_path / "own.log", own / "fixtures" / "mytool" / "first.log")
    ran = run("formats", "--check", own)
    assert (ran.code, ran.err) == (0, f"the formats of {own} pass the test\n")


FILE_FORMAT = '''"""My tool's table.

Tool: mytable
Versions: 1
Yields: metrics
Source: mytable/write.py

Samples:
    mytable,1
    3,0.5
"""

VERSION = 1


def recognise(head, name):
    return head.startswith(b"mytable,1\\n3,")


def read(source, rows):
    rows.metric(2, None, None, 3, "value", 0.5)
'''


def test_samples_of_a_file_format_are_the_beginning_of_a_file(run: Run, own: Path) -> None:
    (own / "mytable.py").write_text(FILE_FORMAT)
    assert run("formats", "--check", own).code == 0
    (own / "mytable2.py").write_text(FILE_FORMAT)
    assert "taken by mytable and mytable2, not by mytable alone" in run("formats", "--check", own).err
    (own / "mytable2.py").write_text(FILE_FORMAT.replace("    3,0.5\n", ""))
    assert "taken by no format, not by mytable2 alone" in run("formats", "--check", own).err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Tool: mytool", "", "has no 'Tool:' line"),
        ("    mytool step 12 took 0.5 s\n", "", "'Samples:'"),
        ("took 0.5 s\n", "takes 0.5 s\n", "taken by no format, not by mytool alone"),
        ("int(found[1])", "int(found[9])", "failed at mytool.py"),
        ('"mytool step "', '"other step "', "taken by no format"),
    ],
)
def test_bad_formats_are_told_why(run: Run, own: Path, old: str, new: str, said: str) -> None:
    text = (own / "mytool.py").read_text()
    assert old in text
    (own / "mytool.py").write_text(text.replace(old, new))
    ran = run("formats", "--check", own)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_sample_that_two_formats_take_is_told(run: Run, own: Path) -> None:
    shutil.copy(own / "mytool.py", own / "mytool2.py")
    ran = run("formats", "--check", own)
    assert ran.code == 1
    assert "taken by mytool and mytool2, not by mytool alone" in ran.err


def test_a_fixture_that_a_format_fails_at_is_told(run: Run, own: Path) -> None:
    (own / "fixtures" / "mytool").mkdir(parents=True)
    (own / "fixtures" / "mytool" / "odd.log").write_text("mytool step 12 took 1.2.3 s\n")
    (own / "fixtures" / "mytool" / "other.log").write_text("hello\n")
    ran = run("formats", "--check", own)
    assert ran.code == 1
    assert re.search(r"odd.log: the format mytool failed at mytool.py:\d+ \(ValueError", ran.err)
    assert re.search(r"takes nothing of .*other.log", ran.err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "has no VERSION, __doc__, ANCHORS and Reader, or recognise and read"),
        ('"""A format."""\nVERSION = 1\nANCHORS = ("x",)\n', "has no Reader"),
        (
            '"""A format."""\nVERSION = 1\nIN_HEAD = b"x"\ndef recognise(head, name): ...\ndef read(source, rows): ...\n',
            "has no IN_HEAD of bytes",
        ),
        ("def broken(:\n", "SyntaxError"),
        ("import nothing_of_that_name\n", "ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "SystemExit"),
    ],
)
def test_a_file_that_is_no_format_is_said(run: Run, tmp_path: Path, logs: Path, text: str, said: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mytool.py").write_text(text)
    for arguments in (
        ("formats", "--check", tmp_path / "own"),
        ("identify", logs / "0.log", "--formats", tmp_path / "own"),
    ):
        one_line(run(*arguments), "mytool.py", said)


def test_a_format_that_fails_costs_its_lines_alone(run: Run, own: Path, tmp_path: Path) -> None:
    text = (own / "mytool.py").read_text()
    (own / "mytool.py").write_text(text.replace("int(found[1])", "1 // (int(found[1]) - 13)"))
    write_log(tmp_path / "job.log")
    (tmp_path / "own.log").write_text((tmp_path / "own.log").read_text() + (tmp_path / "job.log").read_text())
    assert run("ingest", tmp_path / "own.log", "-w", tmp_path / "w", "--formats", own).code == 0
    assert run("sql", "SELECT count(*) AS n FROM steps", "-w", tmp_path / "w").out == "n\n6\n"
    problems = run("sql", "SELECT line, format, reason FROM problems", "-w", tmp_path / "w").out
    assert re.search(r"^3,mytool,the format mytool failed at mytool.py:\d+ \(ZeroDivisionError", problems, re.MULTILINE)


def test_a_query_of_a_user_is_a_file_in_a_folder(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "slow_steps.sql").write_text(recipe("Add a query"))
    ran = run("query", "slow_steps", "slowest_s=1.004", "-w", home, "--queries", tmp_path)
    assert [row["step"] for row in csv.DictReader(io.StringIO(ran.out))] == ["5"]
    assert "slow_steps,Steps slower than a limit." in run("queries", "--queries", tmp_path).out
    asked = run("sql", "SELECT count(*) AS n FROM slow_steps()", "-w", home, "--queries", tmp_path)
    assert asked.out == "n\n5\n"


def test_a_folder_of_queries_may_be_named_by_the_environment(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_steps.sql").write_text(recipe("Add a query"))
    monkeypatch.setenv("SCALELENS_QUERIES", str(tmp_path))
    assert len(run("query", "slow_steps", "-w", home).out.splitlines()) == 6


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("-- Answers: Which steps took too long?", "--", "'Answers:'"),
        ("SELECT run_id", "SELEC run_id", "slow_steps.sql"),
        ("FROM step_times", "FROM nowhere", "slow_steps.sql"),
        ("SELECT run_id", "DROP TABLE runs; SELECT run_id", "single SELECT"),
    ],
)
def test_a_file_that_is_no_query_is_said(run: Run, home: Path, tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in recipe("Add a query")
    (tmp_path / "slow_steps.sql").write_text(recipe("Add a query").replace(old, new))
    one_line(run("query", "slow_steps", "-w", home, "--queries", tmp_path), said)


# The library


def test_the_library_does_what_its_docstring_says(tmp_path: Path) -> None:
    write_log(tmp_path / "logs" / "job.log", 50)
    study = tmp_path / "study"
    report = scalelens.ingest(tmp_path / "logs", warehouse=study)
    assert [entry.rows_by_format["megatron"] > 50 for entry in report.entries] == [True]
    assert scalelens.query("batch_stats", warehouse=study, warmup=5)["n_steps"].to_list() == [45]
    assert scalelens.connect(study).sql("FROM runs").fetchall()
    named = re.findall(r"scalelens\.(\w+)\(", inspect.getdoc(scalelens) or "")
    assert named and all(hasattr(scalelens, name) for name in named)


def test_a_refused_figure_names_one_that_can_be_drawn(run: Run, tmp_path: Path) -> None:
    for run_name in ("a", "b"):
        points = "".join(f"{1.7e9 + k},{k},{60 + k}\n" for k in range(9))
        (tmp_path / f"run-{run_name}-tag-Top1_val.csv").write_text(f"Wall time,Step,Value\n{points}")
    home = tmp_path / "w"
    run("ingest", tmp_path, "-w", home)
    for chart in ("scaling", "accuracy"):
        refused = run("plot", chart, "-o", tmp_path / "x.svg", "-w", home).err
        assert 'scalelens plot accuracy score_name="Top1_val" -o accuracy.pdf' in refused
    assert run("plot", "accuracy", "score_name=Top1_val", "-o", tmp_path / "x.svg", "-w", home).code == 0
