"""An answer without rows says why, and what would give it some."""

import json
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

import scalelens
from command_line import Run
from conftest import FIXTURES
from scalelens.errors import UserError
from scalelens.question.empty import not_understood, reason_of, reasons
from scalelens.question.question import Question
from scalelens.question.session import Session
from sizes import ingested, write_weak_study

SKIPPED = (
    " iteration {n:8d}/ 500 | consumed samples: {n:12d} | elapsed time per iteration (ms): 1000.5 | "
    "global batch size:    16 | lm loss: 1.0E+00 | number of skipped iterations:   1 | number of nan iterations:   0 |\n"
)


def warehouse_of(tmp_path: Path, text: str = "", fixture: Path | None = None) -> Path:
    logs, home = tmp_path / "logs", tmp_path / "w"
    logs.mkdir()
    name = fixture.name if fixture else "train.log"
    (logs / name).write_bytes(fixture.read_bytes() if fixture else text.encode())
    scalelens.ingest(logs, warehouse=home)
    return home


def test_commands_name_runs_as_people_do() -> None:
    names = {"0123456789ab": "bert 16 nodes", "ba9876543210-1": "gpt"}
    row = {"run_id": "0123456789ab", "remedy": "compare: scalelens query differences a=0123456789ab b=ba9876543210-1"}
    (reason,) = [reason_of("other settings", [row], names)]
    assert reason.remedy == 'compare: scalelens query differences a="bert 16 nodes" b=gpt'


FILES = [sorted((FIXTURES / folder).glob(pattern))[0] for folder, pattern in (
    ("kineto", "*.json"), ("megatron", "*.log"), ("nvidia_smi", "*.csv"),
)]  # fmt: skip


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fixture", FILES, ids=lambda path: path.parent.name)
def test_every_query_without_rows_has_a_reason(tmp_path: Path, fixture: Path, share: int) -> None:
    """By day each query is asked of one of the files."""
    with Session(warehouse_of(tmp_path, fixture=fixture)) as session:
        empty = 0
        for name, query in [*session.queries.items()][FILES.index(fixture) % share :: share]:
            try:
                is_empty = not session.ask(Question(name)).table.num_rows
            except UserError:
                continue  # it needs a parameter, and says which
            if is_empty and not query.is_helper:
                empty += 1
                found = reasons(session, Question(name))
                assert found and all(reason.reason and reason.remedy for reason in found), name
        assert empty > 10


def test_a_question_about_no_series_is_not_told_to_run_another_size(run: Run, tmp_path: Path) -> None:
    """The one size has all facts, but no epoch and no second batch."""
    home = ingested(write_weak_study(tmp_path / "logs", {8: 1.0}, micro_batch_size=256), tmp_path / "w")
    reasons_told = {
        "epoch_times": "no log times an epoch",
        "epoch_stats": "no log times several epochs",
        "batch_size_curve": "no two runs differ only in their batch",
        "batch_device_grid": "no two runs differ only in their devices and batch",
        "scaling": "1 run: no other size was run",
    }
    for query, reason in reasons_told.items():
        assert run("query", query, "-w", home).err.startswith(f"{reason}; "), query


def test_reasons_rest_on_what_the_question_has_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are many records, they are not read a second time to say why there are no rows."""
    root, question = (
        ingested(write_weak_study(tmp_path / "logs", {8: 1.0}), tmp_path / "w"),
        Question("batch_size_curve"),
    )
    with Session(root, about=question.statement) as session:
        assert not session.ask(question).table.num_rows
        assert "batch_stats" not in {use.name for use in session.helpers.tables}
        of_few = reasons(session, question)
    monkeypatch.setattr("scalelens.question.session.KEPT_BYTES", 0)
    with Session(root, about=question.statement) as session:
        assert not session.ask(question).table.num_rows
        (kept,) = (table for use, table in session.helpers.tables.items() if use.name == "batch_stats")
        assert reasons(session, question) == of_few
        session.connection.execute(f"UPDATE {kept} SET step_s = 123")
        asked = Question(sql="SELECT DISTINCT step_s FROM batch_stats()")
        with Session(root, about=asked.statement, known=session) as further:
            assert further.ask(asked).table["step_s"].to_pylist() == [123]


def test_a_batch_that_no_log_states_is_named_to_who_asks_for_its_curve(run: Run, tmp_path: Path) -> None:
    home = ingested(write_weak_study(tmp_path / "logs", {8: 1.0}), tmp_path / "w")
    told = run("query", "batch_size_curve", "-w", home).err
    assert told.startswith("1 run: no log states the global batch; set batch_per_device = ")
    assert "run by run: scalelens query not_compared facts_only=true -w " in told


def test_records_that_are_all_left_out_are_not_called_missing(run: Run, tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, "".join(SKIPPED.format(n=n) for n in range(1, 12)))
    for query in ("throughput", "scaling"):
        ran = run("query", query, "-w", home)
        assert (
            "1 run: every record that times a step is left out; see by which rule: scalelens query exclusions"
            in ran.err
        )


def test_a_selection_without_runs_is_named(run: Run, tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, SKIPPED.format(n=1))
    ran = run("query", "batch_stats", "runs=devices = 99", "-w", home)
    assert "no run matches devices = 99; see the runs with: scalelens query runs_overview" in ran.err


def test_a_warm_up_that_nothing_leaves_out_is_refused(tmp_path: Path) -> None:
    home = warehouse_of(tmp_path, SKIPPED.format(n=1))
    with pytest.raises(
        UserError, match="exclude=none leaves nothing out, and warmup=20 leaves out the first 20 records"
    ):
        scalelens.query("batch_stats", warehouse=home, exclude="none", warmup=20)
    assert scalelens.query("batch_stats", warehouse=home, exclude="none", warmup=0)["n_steps"].to_list() == [1]


def mllog(records: Iterable[tuple[float, str, object]], **metadata: object) -> str:
    kind = {"namespace": "", "event_type": "POINT_IN_TIME", "metadata": {"file": "train.py", "lineno": 1, **metadata}}
    times = ((1745514100000 + int(1000 * at_s), key, value) for at_s, key, value in records)
    return "".join(
        f":::MLLOG {json.dumps(kind | {'time_ms': ms, 'key': key, 'value': value})}\n" for ms, key, value in times
    )


def measured_nodes(folder: Path) -> None:
    """A training that logs a mean over each epoch, without a step, beside the power of its whole node."""
    rates = [(20.0 * k, "tracked_stats", {"throughput": 1000.0 + k}) for k in range(1, 6)]
    facts = [(0.1, "cache_clear", True), (0.2, "submission_benchmark", "bert"), (0.3, "global_batch_size", 100),
             (0.5, "init_stop", None), (1, "run_start", None)]  # fmt: skip
    (folder / "power" / "result_0").mkdir(parents=True)
    (folder / "result_0.txt").write_text(
        mllog(facts) + mllog(rates, epoch_num=7) + mllog([(101, "run_stop", None)], status="success")
    )
    readings = [(float(k), "power_reading", 3000.0) for k in range(103)]
    (folder / "power" / "result_0" / "node_0.txt").write_text(
        mllog([(0, "conversion_eff", 0.9)], measurement_type="AC") + mllog(readings, host="node_0")
    )


def test_energy_of_nodes_is_offered_where_no_device_was_measured(run: Run, tmp_path: Path) -> None:
    measured_nodes(tmp_path / "logs")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    ran = run("query", "energy_efficiency", "-w", tmp_path / "w")
    reason, command = ran.err.strip().split("; see it with: scalelens ")
    assert reason == "nothing was measured per device, but per node"
    again = run(*shlex.split(command))
    assert again.code == 0 and len(again.out.splitlines()) == 2
    assert run("plot", "energy_by_batch", "-w", tmp_path / "w", "-o", tmp_path / "e.json").code == 0
    assert "Wh per node" in (tmp_path / "e.json").read_text()


def test_a_mean_over_an_epoch_of_unknown_length_is_not_the_work_of_one_step(tmp_path: Path) -> None:
    """Five epochs are not five batches: the samples are unknown, and so is the work of a watt-hour."""
    measured_nodes(tmp_path / "logs")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    study = scalelens.open(tmp_path / "w")
    rows = study.sql("SELECT energy_j, samples, samples_per_wh FROM energy_efficiency(per := 'node')").rows()
    assert [(row[0] > 0, *row[1:]) for row in rows] == [(True, None, None)]
    assert study.sql("FROM work_done() WHERE samples IS NOT NULL").height == 0


def test_a_refusal_names_the_files_that_were_not_understood(tmp_path: Path, run: Run) -> None:
    """Of as many names the one with most in it: it is where the results may be."""
    for name in ("a", "b"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "DONE.txt").write_text(f"done {name}\n")
        (tmp_path / "logs" / name / "results.json").write_text(json.dumps({"what": name, "of": list(range(40))}))
    (tmp_path / "logs" / "train.log").write_bytes(FILES[1].read_bytes())
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    with Session(tmp_path / "w", (), "FROM runs; FROM selected_runs()") as session:
        told = not_understood(session)
    assert told.startswith("4 files, such as results.json, were not understood; see why: scalelens ")
    shown = run(*shlex.split(told.partition("scalelens ")[2]), "-w", tmp_path / "w")
    assert shown.code == 0 and shown.out.count("results.json") == 2
