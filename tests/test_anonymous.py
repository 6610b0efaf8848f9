"""What leaves the house with --anonymous holds no name of a user, host, account, job or folder, and can be checked."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from logs import megatron_line
from scalelens.ingestion.ingest import ingest
from scalelens.report.anonymous import write_anonymous
from scalelens.report.pseudonyms import Pseudonyms
from scalelens.report.remaking import verified
from scalelens.warehouse.check import check

if TYPE_CHECKING:
    from command_line import Run

NAMES = (
    "ada.l",
    "proj4711",
    "nid001234",
    "nid001235",
    "8812345",
    "8812346",
    "secret-dir",
    "ada@site.example",
    "10.253.7.9",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose logs tell all of it, in their paths, in settings and in lines that are not understood."""
    folder = tmp_path_factory.mktemp("home") / "ada.l" / "secret-dir"
    folder.mkdir(parents=True)
    said = "USER=ada.l --account=proj4711 HOSTNAME=nid001234 ada@site.example 10.253.7.9 /home/ada.l/x"
    (folder / "scalelens.toml").write_text(f"[labels]\nsubmitted = '{said}'\noperator = 'ada.l'\n")
    for k in range(2):
        log = folder / f"n{k + 1}" / f"slurm-881234{5 + k}.out"
        log.parent.mkdir(parents=True)
        log.write_text(
            f"SLURM_JOB_ID=881234{5 + k}\nSLURM_JOB_USER=ada.l\nSLURM_JOB_ACCOUNT=proj4711\nHOSTNAME=nid00123{4 + k}\n"
            "data_path ....................... /home/ada.l/data/c4\n"
            + "".join(megatron_line(step, 1000.0 + 50 * k + step % 5) for step in range(1, 40))
            + f" iteration ada.l on nid00123{4 + k} elapsed time per iteration (ms): /home/ada.l/x ada@site.example 10.253.7.9\n"
            f"srun: error: nid00123{4 + k}: task 0: Out Of Memory\n"
        )
        (log.parent / "power.csv").write_text(
            "timestamp,host,gpu,power_w\n"
            + "".join(f"2026-01-02T03:04:0{s}Z,nid00123{4 + k},0,100\n" for s in range(6))
        )
    ingest([folder], folder.parent.parent / "w", jobs=1)
    return folder.parent.parent


def named(content: bytes) -> list[str]:
    return [name for name in NAMES if name.encode() in content]


def test_no_name_is_in_any_column_of_an_export(home: Path, run: "Run", tmp_path: Path) -> None:
    assert named(json.dumps(tables(home, run, tmp_path / "plain", ())).encode()), "nothing to be replaced"
    ran = run("export", tmp_path / "t", "-w", home / "w", "--anonymous")
    assert (
        ran.code == 0 and "pseudonyms: 1 users, 1 accounts, 2 hosts, 2 jobs, 1 mail addresses, 1 addresses" in ran.err
    ), ran
    assert named(json.dumps(read(tmp_path / "t")).encode()) == []


def read(folder: Path) -> dict[str, str]:
    return {path.name: str(pl.read_parquet(path / "*.parquet").to_dicts()) for path in folder.iterdir()}


def tables(home: Path, run: "Run", folder: Path, more: tuple[str, ...]) -> dict[str, str]:
    assert run("export", folder, "-w", home / "w", *more).code == 0
    return read(folder)


def test_answers_stay_and_the_copy_is_whole(home: Path, run: "Run", tmp_path: Path) -> None:
    told = write_anonymous(home / "w", tmp_path / "copy")
    assert check(tmp_path / "copy").damages == []
    assert told.text("on nid001234 by ada.l, job 8812345") == "on host-1 by user-1, job 1000001"
    for question in (
        "SELECT n_steps, step_s, mean_s FROM batch_stats() ORDER BY ALL",
        "SELECT count(*), sum(power_w) FROM power",
    ):
        plain, other = (run("sql", question, "-w", place).out for place in (home / "w", tmp_path / "copy"))
        assert plain == other and plain.count("\n") > 1
    again = write_anonymous(home / "w", tmp_path / "again")
    assert again.text("nid001235 8812346") == told.text("nid001235 8812346") == "host-2 1000002"


def test_a_bundle_holds_no_name_and_is_verified(home: Path, run: "Run", tmp_path: Path) -> None:
    made = home / "t.md"
    made.write_text(
        run("sql", "SELECT * FROM params WHERE key <> 'nid001234'", "-w", home / "w", "--format", "markdown").out
    )
    assert named(made.read_bytes())
    ran = run("bundle", tmp_path / "b", made, "-w", home / "w", "--anonymous")
    assert ran.code == 0 and "replaced by pseudonyms" in ran.err, ran
    for path in (tmp_path / "b").rglob("*"):
        if path.is_file():
            content = str(pl.read_parquet(path).to_dicts()).encode() if path.suffix == ".parquet" else path.read_bytes()
            assert named(content) == [], path
    assert verified(tmp_path / "b" / "expected" / "t.md", tmp_path / "b" / "warehouse", sources=False).is_identical


def test_a_report_holds_no_name(home: Path, run: "Run", tmp_path: Path) -> None:
    ran = run("report", "-o", tmp_path / "r.html", "-w", home / "w", "--anonymous")
    assert ran.code == 0 and "replaced by pseudonyms" in ran.err, ran
    assert named((tmp_path / "r.html").read_bytes()) == []


def test_names_are_words_and_the_longest_counts() -> None:
    told = Pseudonyms(["/logs/x"])
    told.learn("USER=ann HOSTNAME=node7 BatchHost=node71 --account=ann_gpu JobId=123456 nid[001-004]")
    told.settle()
    assert told.text("annual ann node7 node71 node7.x ann_gpu 1234567 123456 nid[001-004]").split() == [
        "annual", "user-1", "host-2", "host-3", "host-2.x", "account-1", "1234567", "1000001", "host-1",
    ]  # fmt: skip
    assert (
        told.text("/logs/x/a.log and /scratch/q/b and 3/4 and http://a/b/c")
        == "/path-1/a.log and /path-2 and 3/4 and http://a/b/c"
    )
