"""What leaves ScaleLens can be checked: the same, different in what, or not to be told and why."""

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import scalelens
from logs import megatron_line
from scalelens.catalog import cells_of
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import paths_of_queries
from scalelens.question.provenance import make_provenance, rows_sha256
from scalelens.report import provenance_changes
from scalelens.report.provenance_in_files import latex_comment, markdown_comment, provenance_of
from scalelens.version import __version__

if TYPE_CHECKING:
    from command_line import Ran, Run

FORMATS = {"latex": "tex", "markdown": "md", "envelope": "json"}
FIGURES = ("pdf", "svg", "png", "html", "json")


def write_log(path: Path, step_ms: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(megatron_line(step, step_ms + step % 7) for step in range(1, 60)))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the logs of two runs and their warehouse."""
    for number in range(2):
        write_log(tmp_path / "logs" / f"run{number}" / "job.log", 1000.0 + 100 * number)
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    return tmp_path


def written(run: "Run", home: Path, name: str = "batch_stats", format: str = "latex", *more: str) -> Path:
    """A table in a file."""
    path = home / f"{name}.{FORMATS[format]}"
    path.write_text(run("query", name, "-w", home / "w", "--format", format, *more).out)
    return path


def verify(run: "Run", path: Path, *more: str) -> "Ran":
    return run("verify", path, "-w", path.parent / "w", *more)


def said(ran: "Ran", code: int, verdict: str, *texts: str) -> None:
    assert ran.code == code and f": {verdict}: " in ran.out, ran
    for text in texts:
        assert text in ran.out


# The same


def test_a_part_of_an_axis_is_the_same(run: "Run", home: Path) -> None:
    path = home / "part.svg"
    run("plot", "batch_cdf", "--xlim", "0.1:5", "-o", path, "-w", home / "w")
    said(verify(run, path), 0, "same")
    refused = run("plot", "throughput", "--x", "steps", "-o", path, "-w", home / "w")
    assert refused.code == 2 and "'x' is not a parameter of throughput" in refused.err


@pytest.mark.parametrize("suffix", FIGURES)
def test_a_figure_is_the_same(run: "Run", home: Path, suffix: str) -> None:
    path = home / f"cdf.{suffix}"
    run("plot", "batch_cdf", "exclude=none", "-o", path, "-w", home / "w", "--width", "double")
    said(verify(run, path), 0, "same", "all 2 files are unchanged since they were read")


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_is_the_same(run: "Run", home: Path, format: str) -> None:
    path = written(run, home, "batch_stats", format, "exclude=none", "--where", "step_s > 1", "--limit", "9")
    said(verify(run, path), 0, "same")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # as git may do
    said(verify(run, path), 0, "same")


def test_users_sql_is_the_same(run: "Run", home: Path) -> None:
    path = home / "own.tex"
    statement = "SELECT run_id, step_s, [1, 2] AS n, {'a': 'x -- > é'} AS s FROM step_times ORDER BY ALL"
    path.write_text(run("sql", statement, "-w", home / "w", "--format", "latex").out)
    said(verify(run, path), 0, "same")


def test_the_logs_need_not_be_there_where_nobody_asks_for_them(run: "Run", home: Path) -> None:
    path = written(run, home)
    shutil.rmtree(home / "logs")
    said(verify(run, path, "--no-sources"), 0, "same", "the logs were not looked at")


def test_what_was_made_again_can_be_kept(run: "Run", home: Path) -> None:
    path = written(run, home)
    said(verify(run, path, "--remade", str(home / "again")), 0, "same")
    assert (home / "again" / path.name).read_bytes() == path.read_bytes()


# Different


@pytest.mark.parametrize("chart", ["throughput", "energy"])
def test_a_figure_of_a_moved_folder_has_the_same_rows(chart: str, tmp_path: Path) -> None:
    """Where runs stand in groups by their folders, too: their paths are no part of what is compared."""
    hashes = set()
    for place in ("here", "there"):
        folder = tmp_path / place / "logs"
        write_log(folder / "a" / "one.log", 100.0)
        (folder / "energies.csv").write_text("run,energy [Wh],time [s]\none,12.5,60\ntwo,13.5,61\n")
        ingest([folder], tmp_path / place / "w", jobs=1)
        hashes.add(scalelens.plot(chart, tmp_path / place / "w").provenance["rows_sha256"])
    assert len(hashes) == 1


def test_one_byte_of_one_log(run: "Run", home: Path) -> None:
    path, log = written(run, home), home / "logs" / "run1" / "job.log"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    ran = verify(run, path)
    said(ran, 1, "different", f"{log} has changed since it was read")
    assert "run0" not in ran.out


def test_a_log_that_grew(run: "Run", home: Path) -> None:
    path, log = written(run, home), home / "logs" / "run0" / "job.log"
    with log.open("a") as file:
        file.write("done\n")
    said(verify(run, path), 1, "different", f"{log} has grown by 5 bytes")


def test_a_log_that_was_read_again(run: "Run", home: Path) -> None:
    path, log = written(run, home), home / "logs" / "run1" / "job.log"
    write_log(log, 1500.0)
    ingest([home / "logs"], home / "w", jobs=1)
    said(verify(run, path), 1, "different", "run1/job.log has changed and was read again", "1 of 2 rows differ",
         "step_s")  # fmt: skip


def test_a_run_that_came_later(run: "Run", home: Path) -> None:
    path = written(run, home)
    write_log(home / "logs" / "run2" / "job.log", 1300.0)
    ingest([home / "logs"], home / "w", jobs=1)
    said(
        verify(run, path),
        1,
        "different",
        "there are 3 rows, and there were 2; 1 of them were not there",
        "run2/job.log",
    )


def test_a_member_of_an_archive(run: "Run", home: Path) -> None:
    archive = Path(shutil.make_archive(str(home / "packed"), "gztar", home / "logs"))
    ingest([archive], home / "w2", jobs=1)
    path = home / "t.tex"
    path.write_text(run("query", "batch_stats", "-w", home / "w2", "--format", "latex").out)
    said(run("verify", path, "-w", home / "w2"), 0, "same", "all 2 files")
    write_log(home / "logs" / "run1" / "job.log", 1001.0)
    shutil.make_archive(str(home / "packed"), "gztar", home / "logs")
    ran = run("verify", path, "-w", home / "w2")
    said(ran, 1, "different", f"{archive}!./run1/job.log has changed since it was read")
    assert "run0" not in ran.out


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_that_was_changed_by_hand(run: "Run", home: Path, format: str) -> None:
    path = written(run, home, "batch_stats", format)
    text = path.read_text()
    number = re.search(
        r"\d\.\d{3}", text.partition("scalelens:provenance")[0] if format == "markdown" else text[-2500:]
    )
    place = text.rfind("1.00") if number is None else text.index(number[0])
    path.write_text(text[:place] + "9" + text[place + 1 :])
    said(verify(run, path), 1, "different", "the rows are the same, and line")


def test_rows_in_another_order_are_the_same(run: "Run", home: Path) -> None:
    path = home / "steps.md"
    path.write_text(run("sql", "SELECT step, step_s FROM steps", "-w", home / "w", "--format", "markdown").out)
    *before, first, second = path.read_text().splitlines(keepends=True)[:4]
    rest = path.read_text().splitlines(keepends=True)[4:]
    path.write_text("".join([*before, second, first, *rest]))
    said(verify(run, path), 0, "same", "another order")


def test_a_picture_that_was_changed(run: "Run", home: Path) -> None:
    path = home / "cdf.svg"
    run("plot", "batch_cdf", "-o", path, "-w", home / "w")
    path.write_text(path.read_text().replace("#0072B2", "#0072B3"))
    said(verify(run, path), 1, "different", "line 1 of the file was changed")


OWN_QUERY = """-- Steps that are long.
--
-- Answers: Which?
--
-- Sources: step_times
--
-- Columns:
--   run_id  VARCHAR   run
--   step_s  DOUBLE s  time
SELECT run_id, step_s FROM step_times WHERE step_s > 1.1
"""


def test_another_definition_of_a_query(run: "Run", home: Path) -> None:
    folder = home / "mine"
    folder.mkdir()
    (folder / "long_steps.sql").write_text(OWN_QUERY)
    path = written(run, home, "long_steps", "markdown", "--queries", str(folder))
    said(verify(run, path, "--queries", str(folder)), 0, "same")
    (folder / "long_steps.sql").write_text(OWN_QUERY.replace("1.1", "1.105"))
    ran = verify(run, path, "--queries", str(folder))
    said(ran, 1, "different", "there are", "the SQL of long_steps has changed")
    (folder / "long_steps.sql").write_text(OWN_QUERY.replace("1.1", "1.10"))
    said(verify(run, path, "--queries", str(folder)), 0, "same", "the SQL of long_steps has changed")


def test_another_version_is_said_and_is_no_difference(run: "Run", home: Path) -> None:
    path = written(run, home, "batch_stats", "envelope")
    envelope = json.loads(path.read_text())
    envelope["provenance"]["scalelens"] = "0.0.1"
    path.write_text(json.dumps(envelope))
    said(verify(run, path), 0, "same", "made by scalelens 0.0.1")


def test_an_envelope_of_another_schema_cannot_be_checked(run: "Run", home: Path) -> None:
    path = written(run, home, "batch_stats", "envelope")
    path.write_text(path.read_text().replace("scalelens-envelope/2", "scalelens-envelope/1"))
    said(verify(run, path), 2, "cannot", "an envelope of another version (scalelens-envelope/1): write it again")


@pytest.mark.parametrize("suffix", ["svg", "json"])
def test_a_picture_of_another_version_is_not_certified(run: "Run", home: Path, suffix: str) -> None:
    path = home / f"cdf.{suffix}"
    run("plot", "batch_cdf", "-o", path, "-w", home / "w")
    path.write_text(path.read_text().replace(__version__, "0.0.1"))
    said(verify(run, path), 3, "values same, picture not compared", "made by scalelens 0.0.1")


# Cannot


def test_a_log_that_is_gone(run: "Run", home: Path) -> None:
    path, log = written(run, home), home / "logs" / "run1" / "job.log"
    log.unlink()
    said(verify(run, path), 2, "cannot", f"{log} is gone")


def test_a_difference_counts_more_than_what_cannot_be_told(run: "Run", home: Path) -> None:
    path = written(run, home)
    (home / "logs" / "run1" / "job.log").unlink()
    write_log(home / "logs" / "run0" / "job.log", 1001.0)
    said(verify(run, path), 1, "different", "is gone", "has changed since it was read")


def test_another_warehouse(run: "Run", home: Path) -> None:
    path = written(run, home)
    said(run("verify", path, "-w", home / "none"), 2, "cannot", "there is no warehouse")
    write_log(home / "others" / "x" / "job9.log", 1000.0)
    ingest([home / "others"], home / "w3", jobs=1)
    ran = run("verify", path, "-w", home / "w3")
    said(ran, 1, "different", "rows differ" if "rows differ" in ran.out else "there are", "is not in this warehouse")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "a,b\n1,2\n", "CSV has no comment that every reader skips; write a table"),
        ("a.tex", "hello", "has no provenance record"),
        ("a.json", "{}", "has no provenance record"),
        ("a.json", '{"usermeta": 3}', "has no provenance record"),
        ("a.md", "<!-- scalelens:provenance {broken -->", "is damaged"),
        ("a.md", '<!-- scalelens:provenance {"sql": "x", "chart": "scaling"} -->', "damaged"),
        ("a.md", '<!-- scalelens:provenance {"sql": "x", "unsafe": true} -->', "--unsafe"),
    ],
)
def test_what_says_too_little(run: "Run", home: Path, name: str, content: str, reason: str) -> None:
    (home / name).write_text(content)
    said(verify(run, home / name), 2, "cannot", reason)


def test_several_files_and_the_worst_of_them(run: "Run", home: Path) -> None:
    path = written(run, home)
    (home / "a.csv").write_text("a\n")
    ran = run("verify", path, home / "a.csv", "-w", home / "w")
    assert ran.code == 2 and len(ran.out.splitlines()) == 2
    assert [line.split(": ")[1] for line in ran.out.splitlines()] == ["same", "cannot"]


def test_a_file_cannot_make_verify_read_or_write_others(run: "Run", home: Path) -> None:
    """What a file says of itself is not trusted: its SQL sees the warehouse alone, and only reads."""
    secret = home / "secret.csv"
    secret.write_text("a\n1\n")
    for statement in (f"SELECT * FROM read_csv('{secret}')", f"COPY (SELECT 1) TO '{home / 'out.csv'}'"):
        comment = {"sql": statement, "statement": statement, "format": "markdown"}
        (home / "a.md").write_text(markdown_comment(comment))
        said(verify(run, home / "a.md"), 2, "cannot", "it cannot be made again")
    assert not (home / "out.csv").exists()


# What a file says of itself


def test_comments_hold_any_text(tmp_path: Path) -> None:
    told = {"sql": "SELECT '--> %  \\end{document} é \u202e" + " " * 300 + "x'", "inputs": {}}
    for comment in (latex_comment(told), markdown_comment(told)):
        (tmp_path / "f").write_text(f"text\n{comment}more\n")
        assert provenance_of(tmp_path / "f") == told
    lines = latex_comment(told).splitlines()
    assert all(line.startswith("%") and line == line.rstrip() and len(line) < 120 for line in lines)
    assert markdown_comment(told).count("--") == 2 and markdown_comment(told).count(">") == 1


def test_no_path_of_a_home_folder_is_told(run: "Run", home: Path) -> None:
    path = written(run, home, "batch_stats", "markdown")
    assert sorted(provenance_of(path)["inputs"].values()) == ["run0/job.log", "run1/job.log"]
    assert str(home) not in path.read_text()


def test_many_rows_and_files_are_told_by_one_hash() -> None:
    inputs = {f"{number:064x}": "a.log" for number in range(1001)}
    told = make_provenance({}, "FROM x", inputs, pl.DataFrame({"a": range(1001)}), {})
    assert "inputs" not in told and "row_hashes" not in told and told["n_inputs"] == told["rows"] == 1001
    assert len(json.dumps(told)) < 1000


def test_rows_with_nested_values_have_a_hash() -> None:
    rows = pl.DataFrame({"a": [[1.0, None], []], "b": [{"x": 1}, None], "c": [[[1]], [[2]]], "d": [b"x", b"y"]})
    assert rows_sha256(rows) == rows_sha256(rows.reverse()) != rows_sha256(rows.head(1))


def test_which_rows_and_columns_differ() -> None:
    rows = pl.DataFrame({"run": ["a", "b", "c"], "devices": [1, 2, 4], "step_s": [1.0, 2.0, 3.0]})
    told = make_provenance({}, "FROM x", {}, rows, {})
    other = rows.with_columns(step_s=pl.Series([1.0, 2.5, 3.0]))
    assert provenance_changes.different_rows(told, other) == ["1 of 3 rows differ, in step_s: run b, devices 2"]
    assert provenance_changes.different_rows(told, rows.head(2))[0].startswith(
        "there are 2 rows, and there were 3; 0 of them"
    )


@pytest.mark.parametrize(
    ("version", "queries", "is_known"),
    [
        ("1.0.0", {"batch_stats"}, True),
        ("0.9", {"batch_stats", "gpu_events"}, True),
        (None, {"batch_stats"}, True),
        ("1.0.0", {"batch_statistics"}, False),
        ("99.0.0", {"batch_stats"}, False),
        ("9" * 5000, {"batch_stats"}, False),
    ],
)
def test_what_is_known_to_have_changed_is_named(version: str | None, queries: set[str], is_known: bool) -> None:
    told = {"scalelens": version, "definitions": dict.fromkeys(queries, "0")}
    known = provenance_changes.known_changes(told)
    assert any("since 1.1.0, in batch_stats: " in sentence for sentence in known) is is_known
    assert is_known or known == []


def test_known_changes_are_of_queries_that_there_are() -> None:
    named = {name for row in cells_of("changed_answers.csv") for name in row["queries"].split()}
    assert named - paths_of_queries().keys() == set()


def test_old_figures_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps({"usermeta": {"scalelens": {"sql": "FROM x", "inputs": ["a"]}}}))
    assert provenance_of(tmp_path / "f.json")["inputs"] == {"a": ""}
    with pytest.raises(UserError, match="cannot read"):
        provenance_of(tmp_path / "none.json")
