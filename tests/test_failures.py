"""Failures: causes by lines, counts and rates as a script counts them, nodes that fail more than chance."""

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
import scipy.stats

from asking import ask_sql
from conftest import CORPUS
from little_warehouse import Row, Warehouse
from scalelens.ingestion.ingest import ingest
from scalelens.report.findings import failure_rates
from scalelens.statistics.blame import failing_labels
from scalelens.statistics.significance import poisson_interval

# Lines as the tools print them, with the cause that they tell.  Those of public logs and reports name their place; the
# others are of the corpus, or as the source of the tool prints them.
LINES = {
    # journalctl of a machine, in a public collection of notes
    ("node_failure", "balrog kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1122, GPU has fallen off the bus."): (
        "gpu", "Xid 79",
    ),
    # the training of IDEFICS on Jean Zay
    ("node_failure", "srun: error: Node failure on jean-zay-iam37"): ("node", None),
    # databrickslabs/dolly, issue 139; pytorch/pytorch, issue 10577
    ("error", "OSError: [Errno 28] No space left on device"): ("file system", "Errno 28"),
    ("error", "RuntimeError: write(): fd 29 failed with Input/output error"): ("file system", "RuntimeError"),
    ("node_failure", "NVRM: Xid (PCI:0000:8a:00): 79, pid=4711, GPU has fallen off the bus."): ("gpu", "Xid 79"),
    ("error", "RuntimeError: CUDA error: uncorrectable ECC error encountered"): ("gpu", "ECC"),
    ("oom", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."): (
        "out of memory", "torch.OutOfMemoryError",
    ),
    ("oom", "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed."): (
        "out of memory", None,
    ),
    ("error", "OSError: [Errno 28] No space left on device: 'ckpt/rank0.pt'"): ("file system", "Errno 28"),
    ("error", "OSError: [Errno 116] Stale file handle"): ("file system", "Errno 116"),
    ("collective_timeout", "[rank3]:[E1206 10:11:12 ProcessGroupNCCL.cpp:629] Watchdog caught collective operation timeout"): (
        "nccl", None,
    ),
    ("error", "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:230, unhandled cuda error"): (
        "nccl", "torch.distributed.DistBackendError",
    ),
    ("time_limit", "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-02T04:05:06 DUE TO TIME LIMIT ***"): (
        "time limit", None,
    ),
    ("error", "ValueError: bad batch"): ("code", "ValueError"),
}  # fmt: skip
START = datetime(2026, 11, 2)


def add_run(warehouse: Warehouse, run: str, outcome: str = "completed", text: str = "", **facts: object) -> None:
    given = {"devices": 8, "nodes": 2, "started_at": START, "ended_at": START + timedelta(hours=1)}
    warehouse.insert("runs", [{"run_id": run, "outcome": outcome, **given, **facts}])
    row = {"run_id": run, "file_id": run, "part": 0, "line": 9, "key": "outcome_text", "value": text}
    warehouse.insert("params", [row] * bool(text))


@pytest.mark.parametrize("line", LINES)
def test_a_line_tells_its_cause(warehouse: Warehouse, line: tuple[str, str]) -> None:
    add_run(warehouse, "r", *line)
    [row] = warehouse.ask("FROM failed_runs()")
    assert (row["cause"], row["code"], row["first_line"]) == (*LINES[line], line[1])


def test_the_first_line_after_the_last_step_tells_the_cause(warehouse: Warehouse) -> None:
    add_run(warehouse, "r", "error", "srun: error: n2: task 5: Exited with exit code 1")
    common = {"run_id": "r", "file_id": "r", "part": 0}
    steps = [
        {**common, "line": line, "step": step, "step_s": 2.0, "phase": "train"} for line, step in ((2, 39), (5, 40))
    ]
    warehouse.insert("steps", steps)
    warehouse.insert(
        "params",
        [{**common, "line": line, "key": "failure_text", "value": value} for line, value in (
            (3, "NVRM: Xid (PCI:0000:8a:00): 31, MMU fault"),  # the training went on
            (7, "n2: NVRM: Xid (PCI:0000:8a:00): 94, Contained"), (8, "NVRM: Xid (PCI:0000:8a:00): 48, DBE"),
        )],
    )  # fmt: skip
    warehouse.insert("jobs", [{"run_id": "r", "node_list": "n1,n2"}])
    warehouse.insert("phases", [{**common, "line": 4, "step": step, "phase": "checkpoint"} for step in (10, 30)])
    [row] = warehouse.ask("FROM failed_runs()")
    assert (row["cause"], row["code"], row["node"], row["line"]) == ("gpu", "Xid 94", "n2", 7)
    assert (row["checkpoint_step"], row["lost_steps"], row["lost_s"]) == (30, 10, 20)
    assert row["lost_node_hours"] == pytest.approx(20 * 2 / 3600)


def test_an_outcome_without_a_line_has_a_cause(warehouse: Warehouse) -> None:
    for outcome in (
        "oom",
        "node_failure",
        "collective_timeout",
        "time_limit",
        "error",
        "cancelled",
        "unknown",
        "completed",
    ):
        add_run(warehouse, outcome, outcome)
    rows = warehouse.ask("SELECT run_id, cause, first_line FROM failed_runs()")
    assert {row["run_id"]: row["cause"] for row in rows} == {
        "oom": "out of memory", "node_failure": "node", "collective_timeout": "nccl", "time_limit": "time limit",
        "error": "code",
    }  # fmt: skip


def generated(warehouse: Warehouse, n: int) -> list[Row]:
    """Jobs with all that a script would need to count their failures."""
    chance, jobs, texts = random.Random(n), [], list(LINES)
    for number in range(n):
        nodes = chance.choice([1, 2, 4])
        outcome, text = (
            chance.choice(texts)
            if chance.random() < 0.2
            else (chance.choice(["completed"] * 8 + ["unknown", "cancelled"]), "")
        )
        hours = chance.uniform(0.5, 24)
        hosts = [f"n{host}" for host in sorted(chance.sample(range(20), nodes))]
        jobs.append(
            {"run": f"j{number}", "nodes": nodes, "outcome": outcome, "text": text, "hours": hours, "hosts": hosts}
        )
    common = {"ended_at": None, "part": 0}
    warehouse.insert("runs", [
        {"run_id": job["run"], "outcome": job["outcome"], "nodes": job["nodes"], "devices": 4 * job["nodes"],
         "started_at": START + timedelta(hours=k), "ended_at": START + timedelta(hours=k) + timedelta(hours=job["hours"])}
        for k, job in enumerate(jobs)
    ])  # fmt: skip
    warehouse.insert("params", [
        {"run_id": job["run"], "file_id": job["run"], "line": 9, "key": "outcome_text", "value": job["text"], "part": common["part"]}
        for job in jobs if job["text"]
    ])  # fmt: skip
    warehouse.insert("jobs", [{"run_id": job["run"], "node_list": ",".join(job["hosts"])} for job in jobs])
    return jobs


def test_counts_and_rates_are_a_scripts(warehouse: Warehouse) -> None:
    jobs = generated(warehouse, 500)
    rows = {(row["part"], row["what"]): row for row in warehouse.ask("FROM failures()")}
    known = [job for job in jobs if job["outcome"] != "unknown"]
    causes = Counter(LINES[job["outcome"], job["text"]][0] for job in known if job["text"])
    node_hours = sum(job["nodes"] * job["hours"] for job in known)
    assert {what: row["failures"] for (part, what), row in rows.items() if part == "cause"} == causes
    for cause, count in causes.items():
        row = rows["cause", cause]
        assert row["failures_per_1000_node_h"] == pytest.approx(1000 * count / node_hours, rel=1e-6)
        assert row["failures_per_1000_node_h_low"] == pytest.approx(
            1000 * scipy.stats.chi2.ppf(0.025, 2 * count) / 2 / node_hours, rel=1e-6
        )
        assert row["failures_per_1000_node_h_high"] == pytest.approx(
            1000 * scipy.stats.chi2.ppf(0.975, 2 * count + 2) / 2 / node_hours, rel=1e-6
        )
    faults = [job for job in known if job["text"] and job["outcome"] != "time_limit"]
    of_all = rows["all", "all"]
    assert (of_all["failures"], of_all["n_runs"]) == (len(faults), len(known))
    assert of_all["n_unknown"] == len(jobs) - len(known)
    assert of_all["mtbf_h"] == pytest.approx(sum(job["hours"] for job in known) / len(faults), rel=1e-6)
    for nodes in (1, 2, 4):
        row, same = rows["devices", str(4 * nodes)], [job for job in known if job["nodes"] == nodes]
        failed = sum(job in faults for job in same)
        assert (row["failures"], row["n_runs"]) == (failed, len(same))
        assert row["mtbf_h"] == pytest.approx(sum(job["hours"] for job in same) / failed, rel=1e-6)
    for host in {host for job in faults for host in job["hosts"]}:
        row, same = rows["node", host], [job for job in known if host in job["hosts"]]
        assert (row["failures"], row["n_runs"]) == (sum(job in faults for job in same), len(same))
        assert row["node_hours"] == pytest.approx(sum(job["hours"] for job in same), rel=1e-6)


@pytest.mark.parametrize("has_times", [True, False])
def test_the_report_states_the_rate_that_the_query_gives(warehouse: Warehouse, has_times: bool) -> None:
    """Of runs that failed at an unknown time there is no rate: "2 runs failed" and "0 in 1,000 hours" contradict."""
    for run in range(10):
        add_run(warehouse, f"done{run}")
    for run in ("a", "b"):
        add_run(warehouse, run, "oom", **({} if has_times else {"ended_at": None}))
    [found] = failure_rates.sentences(pl.DataFrame(warehouse.ask(failure_rates.SQL)), {})
    assert found.text.startswith("2 of 12 runs failed")
    # 2 in 24 node-hours; the interval is that of a Poisson count of 2, 0.2422 to 7.2247
    assert found.doubt == ("83.3 in 1,000 node-hours (95 % interval 10.1 to 301)." if has_times else "")


def test_interval_of_a_count() -> None:
    assert poisson_interval(0) == (0, pytest.approx(3.6889, abs=1e-4))
    assert poisson_interval(10) == (pytest.approx(4.7954, abs=1e-4), pytest.approx(18.3904, abs=1e-4))


def simulated(seed: int, failing: str | None) -> list[str]:
    """Nodes that are named among 40, where one in 50 jobs fails, and every second with a node that is failing."""
    chance = random.Random(seed)
    nodes = [[f"n{host}" for host in chance.sample(range(40), 4)] for _ in range(300)]
    failed = [chance.random() < (0.5 if failing in of_job else 0.02) for of_job in nodes]
    rows = failing_labels(failed, ["c"] * 300, [float(job) for job in range(300)], nodes)
    return [row.name for row in rows if row.verdict == "slow"]


def test_a_failing_node_is_named_and_others_seldom() -> None:
    assert [simulated(seed, "n7") for seed in range(20)].count(["n7"]) >= 18
    assert sum(bool(simulated(seed, None)) for seed in range(40)) <= 3


# Real logs, which lie beside the project


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    warehouse = tmp_path_factory.mktemp("logs")
    ingest([CORPUS / group for group in ("llm", "more", "reach")], warehouse, jobs=2)
    return warehouse


@pytest.mark.slow  # the corpus is read
def test_failures_of_the_corpus_are_a_scripts(logs: Path) -> None:
    """Each failed run once, and its first line stands where it is said to stand."""
    outcomes = Counter(ask_sql(logs, "SELECT coalesce(outcome, 'unknown') AS outcome FROM runs")["outcome"])
    failed = ask_sql(logs, "SELECT f.*, path FROM failed_runs() AS f LEFT JOIN files USING (file_id)").to_dicts()
    faults = [name for name in outcomes if name not in ("completed", "unknown", "cancelled")]
    assert Counter(row["outcome"] for row in failed) == {name: outcomes[name] for name in faults}
    assert {row["cause"] for row in failed} >= {"code", "out of memory", "nccl", "time limit"}
    held = 0
    for row in failed:
        if row["first_line"] and Path(row["path"]).is_file() and not row["path"].endswith((".gz", ".xz", ".zst")):
            lines = Path(row["path"]).read_text(errors="replace").split("\n")[row["line"] - 1 :]
            is_traceback = "Traceback (most recent call last)" in lines[0]  # its message is its last line
            said = [line for line in lines[: 200 if is_traceback else 1] if row["first_line"][:40] in line]
            assert said, row["path"]
            held += 1
    assert held >= 10
    [of_all] = ask_sql(logs, "FROM failures() WHERE part = 'all'").to_dicts()
    assert of_all["failures"] == sum(outcomes[name] for name in faults) - outcomes["time_limit"]
    assert of_all["n_unknown"] == outcomes["unknown"]


@pytest.mark.slow
def test_hosts_of_public_logs_are_known_and_few_jobs_accuse_nobody(logs: Path) -> None:
    assert {"t006-009", "gadi-gpu-v100-0109"} <= set(ask_sql(logs, "SELECT node FROM run_nodes()")["node"])
    rows = ask_sql(logs, "FROM blame()").to_dicts()
    assert {row["verdict"] for row in rows} == {"unknown"}
    assert all(row["more_jobs"] for row in rows)
