"""Real files that no one here wrote, and what their authors publish about them.  Skipped where they do not lie beside the project."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import scalelens
from conftest import CORPUS, ROOT
from scalelens.ingestion import ingest

SERIES = CORPUS / "llm" / "bigscience-workshop__bigscience" / "experiments" / "gpt2-meg"
PUBLISHED = CORPUS.parent / "reference" / "published_logs.json"


@pytest.mark.parametrize("group", ["llm", "vision"])
def test_facts_counted_by_an_independent_script(corpus: Path, group: str) -> None:
    done = subprocess.run(
        [sys.executable, corpus.parent / "check" / "corpus.py", group, "--scalelens", f"{sys.executable} -m scalelens"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_published_medians_of_a_growing_model(corpus: Path, tmp_path: Path) -> None:
    ingest([SERIES], tmp_path / "w", jobs=1)
    rows = scalelens.query("scaling", tmp_path / "w").sort("devices")
    published = next(iter(json.loads(PUBLISHED.read_text()).values()))
    assert rows["devices"].to_list() == published["gpus"]
    assert set(rows["scaling"]) == {"mixed"}
    assert rows["efficiency"].null_count() == rows.height
    for median, said in zip(rows["step_s"], published["step_s"], strict=True):
        assert median == pytest.approx(said, rel=0.01)
    runs = scalelens.connect(tmp_path / "w").execute(
        "SELECT r.devices, r.tp, r.pp, r.parameters / 1e9, p.value FROM runs r JOIN params p USING (run_id) "
        "WHERE p.key = 'num_layers' AND r.global_batch_size = 4 ORDER BY r.devices"
    ).fetchall()  # fmt: skip
    assert [run[2] for run in runs] == published["pp"]
    assert {run[1] for run in runs} == {published["tp"]}
    assert [int(run[4]) for run in runs] == [40, 48, 64, 64, 64]
    for run, billions in zip(runs, published["parameters_b"], strict=True):
        assert run[3] == pytest.approx(billions, rel=0.03)


def test_published_hardware_flops_follow_from_ours(corpus: Path, tmp_path: Path) -> None:
    """Their formula, 8 N per token with recomputation, from our medians and parameters."""
    ingest([SERIES], tmp_path / "w", jobs=1)
    published = next(iter(json.loads(PUBLISHED.read_text()).values()))
    rows = scalelens.connect(tmp_path / "w").execute(
        "SELECT 8 * r.parameters * r.seq_length * r.global_batch_size / (s.step_s * r.devices * 1e12) "
        "FROM scaling() s JOIN runs r USING (run_id) ORDER BY r.devices"
    ).fetchall()  # fmt: skip
    for (ours,), said in zip(rows, published["tflops_per_gpu_hardware"], strict=True):
        assert ours == pytest.approx(said, rel=0.04)


def test_whole_corpus_is_read_without_a_failure_of_a_format(corpus: Path, tmp_path: Path) -> None:
    for group in ("llm", "vision", "generated", "power"):
        ingest([corpus / group], tmp_path / group)
        failures = scalelens.connect(tmp_path / group).execute(
            "SELECT * FROM problems WHERE reason LIKE 'the format % failed%'"
        )
        assert failures.fetchall() == []


def test_jube_benchmark_that_jube_made(corpus: Path, tmp_path: Path) -> None:
    ingest([corpus / "generated" / "jube"], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    runs = connection.execute(
        "SELECT name, global_batch_size, system, max(step_s), min(averaged_steps) FROM runs JOIN step_times t USING (run_id) "
        "WHERE value_kind = 'instant' GROUP BY ALL ORDER BY 2"
    ).fetchall()
    assert runs == [
        ("000000_benchmark", 64, "GC200", 0.9847668872134175, 1),
        ("000001_benchmark", 128, "GC200", 1.969533774426835, 1),
    ]
    assert connection.execute("SELECT count(*) FROM runs").fetchall() == [(2,)]


def test_reports_that_were_not_fetched_say_so(corpus: Path, tmp_path: Path) -> None:
    ingest([corpus / "power" / "graphcore__popliner"], tmp_path / "w", jobs=1)
    notes = scalelens.connect(tmp_path / "w").execute("SELECT status, note FROM files ORDER BY path").fetchall()
    assert [status for status, _ in notes] == ["unknown", "unknown"]
    assert all("git-LFS" in note and "git lfs pull" in note for _, note in notes)
