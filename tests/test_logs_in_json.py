"""Logs that stand in a document of JSON are read like the files of an archive, and nothing else of it is a log."""

import json
from pathlib import Path

import pytest

from asking import answer
from conftest import FIXTURES
from scalelens.ingestion.identify import identify
from scalelens.ingestion.ingest import ingest

LOG = (FIXTURES / "pytorch_seq2seq" / "training.log").read_text()
STEPS = "SELECT string_split(path, '!')[2], count(*), median(step_s) FROM steps JOIN files USING (file_id) GROUP BY 1 ORDER BY 1"
FILES = "SELECT string_split(path, '/')[-1], status, note FROM files ORDER BY path"


def asked(warehouse: Path, statement: str) -> list[tuple]:
    return answer(warehouse, statement).fetchall()


def plain(tmp_path: Path) -> tuple:
    (tmp_path / "plain.log").write_text(LOG)
    ingest([tmp_path / "plain.log"], tmp_path / "plain")
    ((_, count, median),) = asked(tmp_path / "plain", STEPS)
    return count, median


@pytest.mark.parametrize(
    "document, name",
    [
        ({"command": "python train.py", "returncode": 0, "stdout": LOG, "stderr": ""}, "stdout"),
        ({"runs": [{"nodes": "two", "stdout": LOG}]}, "runs/0.out"),
        ({"study": {"a/b c!": {"log": LOG.splitlines()}}}, "study/a_b_c_/log"),
        ([{"logs": LOG.splitlines(keepends=True)}], "0/logs"),
    ],
)
def test_a_text_of_a_document_is_read_as_the_log_that_it_is(document, name: str, tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps(document, indent=1))
    ingest([file], tmp_path / "w")
    assert asked(tmp_path / "w", STEPS) == [(name, *plain(tmp_path))]
    assert asked(tmp_path / "w", FILES)[0] == ("study.json", "ok", "a document with 1 logs")
    assert name.rpartition("/")[2] in identify(file)[0]
    ingest([file], tmp_path / "w")
    assert asked(tmp_path / "w", STEPS) == [(name, *plain(tmp_path))]


@pytest.mark.parametrize(
    "command", ["mpirun -np 8 python train.py --lr 0.1", ["mpirun", "-np", "8", "python", "train.py", "--lr", "0.1"]]
)
def test_the_command_beside_a_log_is_of_its_run(command: str | list[str], tmp_path: Path) -> None:
    runs = [
        {"command": command, "stderr": LOG},
        {"command": "two\nlines", "stderr": LOG.replace("7", "6")},
        {"out": LOG},
    ]
    (tmp_path / "study.json").write_text(json.dumps({"runs": runs}))
    ingest([tmp_path / "study.json"], tmp_path / "w")
    said = "SELECT string_split(path, '!')[2], value FROM params JOIN files USING (file_id) WHERE key = 'devices'"
    assert asked(tmp_path / "w", said) == [("runs/0.err", "8")]


def test_a_document_that_changes_has_the_logs_that_it_has_now(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"runs": [{"stdout": LOG}, {"stdout": LOG.replace("(", "(- ")}, {"stdout": LOG * 2}]}))
    ingest([file], tmp_path / "w")
    file.write_text(json.dumps({"runs": [{"stdout": LOG}]}))
    ingest([file], tmp_path / "w")
    assert [name for name, *_ in asked(tmp_path / "w", STEPS)] == ["runs/0.out"]
    assert len(asked(tmp_path / "w", FILES)) == 2


def test_what_a_cell_of_a_notebook_printed_is_read_when_asked(tmp_path: Path) -> None:
    half = len(LOG.splitlines()) // 2
    lines = LOG.splitlines(keepends=True)
    streams = [{"output_type": "stream", "name": "stdout", "text": part} for part in (lines[:half], lines[half:])]
    cells = [
        {"cell_type": "code", "source": lines, "outputs": []},
        {"cell_type": "code", "source": ["train()"], "outputs": streams},
    ]
    file = tmp_path / "training.ipynb"
    file.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    ingest([file], tmp_path / "w")
    assert [status for _, status, _ in asked(tmp_path / "w", FILES)] == ["document"]
    ingest([file], tmp_path / "asked", documents=True)
    assert asked(tmp_path / "asked", STEPS) == [("cell2.out", *plain(tmp_path))]


@pytest.mark.parametrize(
    "document",
    [
        {"text": "One sentence.\nAnother one.\nA third.\nA fourth.\nA fifth.\n"},
        {"code": LOG},
        [{"instruction": "say it", "output": "no"}] * 20,
        {"runs": [{"stdout": "step 1 loss 2\nstep 2 loss 1\n"}]},
    ],
)
def test_other_texts_are_no_logs(document, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document))
    ingest([tmp_path / "a.json"], tmp_path / "w")
    assert [name for name, *_ in asked(tmp_path / "w", FILES)] == ["a.json"]


@pytest.mark.parametrize("text", ['{"stdout": "a', "[" * 100_000, '{"stdout": "\\ud800\\n1\\n2\\n3\\n4\\n5\\n"}', "{}"])
def test_a_damaged_document_does_no_harm(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    report = ingest([tmp_path / "a.json"], tmp_path / "w")
    assert report is not None
