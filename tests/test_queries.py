"""Queries: what a header says is what comes out; a golden each; the rules of the numbers one by one.

A golden `fixtures/queries/<query>.csv` is what the query says of the little warehouse in `fixtures/queries/tables`.
"""

import csv
import io
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import Run
from little_warehouse import (
    FIXTURES,
    MEMBERS_OF_RUNS,
    QUERIES,
    TABLES,
    Row,
    Warehouse,
    empty_warehouse,
    little_warehouse,
)
from scalelens.database import macros
from scalelens.database.connect import needed_tables
from scalelens.database.stand_ins import BUILTIN
from scalelens.errors import UserError
from scalelens.queries import load as queries
from scalelens.queries.calls import called_in
from scalelens.queries.header import Query, is_builtin
from scalelens.question.once import SharedHelpers
from scalelens.statistics.medians import median_interval
from spread import spread


@pytest.fixture
def little() -> Warehouse:
    return little_warehouse()


# What holds for every query


@pytest.mark.parametrize("name", spread(QUERIES, str, "header", share=4))
def test_header_is_what_the_query_returns(warehouse: Warehouse, name: str) -> None:
    """Without arguments and without a row; `test_golden` holds all of them to it, with their arguments."""
    described = warehouse.ask(f"DESCRIBE FROM {name}()")
    assert [(row["column_name"], row["column_type"]) for row in described] == [
        (column.name, column.type) for column in QUERIES[name].columns
    ]


TWO_SIDES = "a := 'one', b := 'run_id IN (''two-weak'', ''two-weak-again'')'"
ARGUMENTS = {  # of queries that say nothing without them
    "differences": "a := 'one', b := 'two-weak'",
    "accuracy_course": "score_name := 'conversion_eff', slots := 2",
    "accuracy_curve": "score_name := 'conversion_eff'",
    "time_to_accuracy": "score_name := 'conversion_eff', target := 0.9",
    "two_sides": TWO_SIDES,
    "named_runs": "selector := 'gpt-', of := 'a'",
    "compare": TWO_SIDES,
    "compared_runs": TWO_SIDES,
    "independent_values": TWO_SIDES,
    "compare_evidence": TWO_SIDES,
    "next_runs": TWO_SIDES,
    "compared_traces": "a := 'traced', b := 'one'",
    "what_if": f"operations := 'read_csv(''{FIXTURES / 'what_if_operations.csv'}'')'",
}


def one_in_fp32(little: Warehouse) -> None:
    """The run `one` again, in another precision and nothing else."""
    (one,) = little.ask("FROM runs WHERE run_id = 'one'")
    one |= {"run_id": "one-fp32", "precision": "fp32"}
    little.run(times=[0.5, 0.6, 0.7, 0.6, 0.5, 0.6], **one)
    label = {"file_id": "s1", "line": 1, "key": "cooling", "value": "water", "origin": "sidecar"}
    little.insert("params", [{"run_id": "one-fp32", **label}])


def size_of_images(little: Warehouse) -> None:
    size = {"file_id": "s1", "line": 3, "key": "image_size", "value": "224", "origin": "sidecar"}
    little.insert("params", [{"run_id": run, **size} for run in ("one", "two-weak")])


def plain_run(little: Warehouse) -> None:
    """A run of single steps, of two ranks, with nothing else in its log."""
    little.insert("runs", [{"run_id": "plain", "global_batch_size": 64, "seq_length": 128}])
    common = {
        "run_id": "plain",
        "file_id": "plain",
        "part": 0,
        "phase": "train",
        "value_kind": "instant",
        "averaged_steps": 1,
    }
    records = [(1, 0, 0.5), (1, 1, 0.75), (2, 0, 0.25), (2, 1, 0.125), (4, 0, 0.5), (3, 1, 0.25), (3, 0, 0.125)]
    little.insert(
        "steps",
        [{**common, "line": line, "step": step, "rank": rank, "step_s": step_s}
         for line, (step, rank, step_s) in enumerate(records, 1)],
    )  # fmt: skip


def items_of_tensors(little: Warehouse) -> None:
    """A tensor's item in each step of rank 0: the host waits for its device."""
    common = {"run_id": "traced", "file_id": "t0", "rank": 0, "ph": "X", "process": "100", "thread": "1"}
    spans = [("aten::item", "cpu_op", 800_000, 48_000), ("cudaStreamSynchronize", "cuda_runtime", 805_000, 25_000)]
    little.insert(
        "events",
        [{**common, "line": 900 + 2 * step + n, "name": name, "category": category, "train_step": step + 1,
          "start_ns": step * 1_000_000 + start, "duration_ns": duration}
         for step in range(2) for n, (name, category, start, duration) in enumerate(spans)],
    )  # fmt: skip


def iterations_of_an_engine(little: Warehouse) -> None:
    """A prefill and two decodes of an engine on rank 0, on host and device."""
    names = ["execute_context_2(96)_generation_0(0)", "execute_context_0(0)_generation_2(2)",
             "execute_context_0(0)_generation_2(2)"]  # fmt: skip
    common = {"run_id": "traced", "file_id": "t0", "rank": 0, "ph": "X", "process": "100", "thread": "1"}
    little.insert(
        "events",
        [{**common, "line": 800 + 2 * n + of_device, "name": name, "args": f'{{"External id": {n}}}',
          "category": "gpu_user_annotation" if of_device else "user_annotation",
          "start_ns": 300_000 * n + 20_000 * of_device, "duration_ns": 100_000 + 60_000 * of_device}
         for n, name in enumerate(names) for of_device in (False, True)],
    )  # fmt: skip


def dumps_of_a_flight_recorder(little: Warehouse) -> None:
    """Three of four ranks: rank 2 did not call the second collective, in which the others wait."""
    calls = [(rank, number) for rank in range(3) for number in (1, 2) if (rank, number) != (2, 2)]
    little.insert(
        "events",
        [{"run_id": "hung", "file_id": f"dump{rank}", "line": number, "rank": rank, "ph": "i", "name": "nccl:all_reduce",
          "category": "flight_recorder", "start_ns": number * 10**9, "collective": "all_reduce", "process_group": "0",
          "group_size": 4, "message_bytes": 4096,
          "args": f'{{"collective_seq_id": {number}, "state": "{"completed" if number == 1 else "started"}", '
                  '"retired": false, "is_p2p": false, "group": "default_pg"}'}
         for rank, number in calls],
    )  # fmt: skip
    little.insert("runs", [{"run_id": "hung"}])


def inspected_operations(little: Warehouse) -> None:
    """Two processes; the second takes twice as long."""
    little.insert("runs", [{"run_id": "inspected"}])
    common = {"run_id": "inspected", "ph": "X", "name": "AllReduce", "category": "nccl_inspector", "group_size": 2}
    common |= {"collective": "all_reduce", "message_bytes": 1_000_000}
    little.insert(
        "events",
        [{**common, "file_id": process, "line": line, "process": process, "duration_ns": duration_ns,
          "args": f'{{"nodes": 1, "busbw_bytes_per_s": {1e15 / duration_ns}}}'}
         for process, duration_ns in (("n0:1", 100_000), ("n1:2", 200_000)) for line in (1, 2)],
    )  # fmt: skip


def status_of_ras(little: Warehouse) -> None:
    """The last of two statuses.  Rank 1 has launched one reduction fewer, rank 2 no gather, rank 3 does not answer,
    rank 4 was never there; another communicator is level but for one rank that is not ready."""
    little.insert("runs", [{"run_id": "asked"}])
    of_all = [
        {"rank": 0, "AllReduce": 9, "AllGather": 2}, {"rank": 1, "AllReduce": 8, "AllGather": 2, "async_error": 6},
        {"rank": 2, "AllReduce": 9, "async_error": 7}, {"rank": 3, "missing": 1, "unresponsive": 1}, {"rank": 4, "missing": 1},
    ]  # fmt: skip
    told = [(2, line, f"n{line // 3} gpu {line}", f"ras.0x1b:0x2.{said}", value)
            for line, saying in enumerate(of_all, 1) for said, value in saying.items()]  # fmt: skip
    told += [(2, line, f"n0 gpu {line}", "ras.0x2c.ReduceScatter", 4) for line in (6, 7)]
    told += [(2, 7, "n0 gpu 7", "ras.0x2c.init_state", 7), (2, 1, None, "ras.0x1b:0x2.size", 4)]
    told += [(1, 1, "n0 gpu 1", "ras.0x1b:0x2.AllReduce", 1)]
    names = ("step", "line", "place", "name", "value")
    common = {"run_id": "asked", "file_id": "ras", "stat": "value"}
    little.insert("metrics", [common | dict(zip(names, row, strict=True)) for row in told])


def reports_of_detectors(little: Warehouse) -> None:
    """Megatron names rank 7 in both of its reports; NVRx gives it the worst score, and one to rank 0."""
    little.insert("runs", [{"run_id": "watched"}])
    told = [(line, name, stat, rank, value) for line in (5, 9) for name, stat, rank, value in (
        ("straggler Rtt", "min", 1, 3000.0), ("straggler Rtt", "max", 7, 3600.0), ("straggler Clk", "min", 7, 1500.0),
        ("straggler Clk", "max", 0, 1980.0), ("straggler DRtt", "min", 2, 10.0), ("straggler DRtt", "max", 3, 30.0),
    )]  # fmt: skip
    told += [(13, "GPU relative performance", "value", 7, 0.8), (14, "GPU relative performance", "value", 0, 1.0)]
    names = ("line", "name", "stat", "rank", "value")
    common = {"run_id": "watched", "file_id": "log"}
    little.insert("metrics", [common | dict(zip(names, row, strict=True)) for row in told])


def pipeline_of_two_ranks(little: Warehouse) -> None:
    """A description of the process group of the traced ranks."""
    little.connection.execute("""UPDATE events SET args = replace(args, '"Process Group Name"',
        '"Process Group Description":"mesh_pp","Process Group Ranks":"[0, 1]","Process Group Name"')""")


def timers_of_two_nodes(little: Warehouse) -> None:
    """Ranks 2 and 3, which are on the second node, compute half as long again as the others."""
    little.insert("runs", [{"run_id": "timed", "pp": 1, "nodes": 2, "devices": 4, "devices_per_node": 2}])
    common = {"run_id": "timed", "file_id": "log", "line": 1, "name": "forward-compute", "unit": "s", "stat": "value"}
    times = [1.0, 1.02, 1.5, 1.53]
    little.insert("metrics", [{**common, "step": step, "rank": rank, "value": value}
                              for step in (1, 2) for rank, value in enumerate(times)])  # fmt: skip


def runs_like_published_ones(little: Warehouse) -> None:
    """A run with the batch and devices of one published row, and one that does not say its batch."""
    facts = {"devices": 4, "device_unit": "ipu", "model": "gpt-117m", "name": "gpt-117m"}
    little.run("with-batch", [0.96] * 12, steps={"samples": 64}, global_batch_size=64, **facts)
    little.run("without-batch", [0.96] * 12, steps={"samples": 64}, **facts)


def trackers_of_one_machine(little: Warehouse) -> None:
    """Two runs whose trackers measured the whole machine, the second while the first ran."""
    common = {"node": "a CPU, 2 x a GPU", "device": "0,1", "scope": "gpu", "method": "codecarbon", "ts_origin": "naive"}
    hour = 1_800_000_000 * 10**9
    little.insert("runs", [{"run_id": "first"}, {"run_id": "second"}])
    little.insert("energy", [
        {"run_id": run_id, "file_id": run_id, "line": 2, "energy_j": joules, "span_s": span_s, "ts": hour + ends, **common}
        for run_id, joules, span_s, ends in (("first", 360_000, 1000, 0), ("second", 72_000, 200, -300 * 10**9))
    ])  # fmt: skip


def windows_of_power_limits(little: Warehouse) -> None:
    """A run of two devices under three limits, the middle one twice and once longer."""
    little.insert("runs", [{"run_id": "limits"}])
    measured = ((300, 10.0, 2500.0), (200, 11.0, 1800.0), (200, 13.0, 1850.0), (100, 25.0, 2100.0))
    for line, (limit, span_s, joules) in enumerate(measured, 2):
        where = {"run_id": "limits", "file_id": "z", "line": line}
        little.insert(
            "metrics", [{**where, "name": "power limit", "value": float(limit), "unit": "W", "stat": "value"}]
        )
        little.insert("energy", [
            {**where, "device": device, "scope": "gpu", "energy_j": joules / 2, "span_s": span_s, "method": "zeus"}
            for device in ("0", "1")
        ])  # fmt: skip


def devices_by_path(little: Warehouse) -> None:
    """A run whose number of devices stands in the name of its folder."""
    little.insert("params", [{"run_id": "traced", "key": "devices", "value": "2", "origin": "path"}])


def power_beside_traces(little: Warehouse) -> None:
    """The device of rank 0 takes 300 W, and 500 W from the second millisecond on."""
    clock = {"run_id": "traced", "key": "trace_clock", "value": "unix", "origin": "inferred"}
    little.insert("params", [{**clock, "file_id": file} for file in ("t0", "t1")])
    common = {"run_id": "traced", "file_id": "watts", "node": "n", "scope": "gpu", "ts_origin": "utc", "device": "0"}
    little.insert("power", [{**common, "line": n, "ts": n * 100_000, "power_w": 300.0 if n < 10 else 500.0}
                            for n in range(41)])  # fmt: skip


def exchange_of_experts(little: Warehouse) -> None:
    """Two exchanges of two ranks: in the first rank 1 gets three quarters of the tokens, the second is even."""
    sent = [[[10, 30], [15, 45]], [[20, 20], [20, 20]]]
    common = {"ph": "X", "category": "kernel", "name": "ncclDevKernel_SendRecv(...)", "stream": 9, "process_group": "5"}
    little.insert("runs", [{"run_id": "experts"}])
    little.insert(
        "events",
        [{**common, "run_id": "experts", "file_id": f"x{rank}", "rank": rank, "line": call, "start_ns": 1000 * call + rank,
          "duration_ns": 100 - rank, "collective": "all_to_allv", "dtype": "BFloat16", "group_size": 2,
          "message_bytes": 2 * sum(splits[rank]), "args": f'{{"In msg nelems": {sum(splits[rank])}, "Out msg nelems": '
          f'{sum(split[rank] for split in splits)}, "In split size": "{splits[rank]}"}}'}
         for call, splits in enumerate(sent) for rank in range(2)],
    )  # fmt: skip


def snapshot_of_memory(little: Warehouse) -> None:
    """Two allocations of which one is given back, one from before, and a free block between what is left."""
    little.insert("runs", [{"run_id": "held"}])
    common = {"run_id": "held", "file_id": "snapshot", "rank": 0, "ph": "i"}
    told = [
        ("memory_block", "active_allocated", '"address": 0, "segment": 0, "bytes": 512, "requested_bytes": 400'),
        ("memory_block", "inactive", '"address": 512, "segment": 0, "bytes": 1024'),
        ("memory_block", "active_allocated",
            '"address": 1536, "segment": 0, "bytes": 512, "requested_bytes": 500, "site": "b.py:2 g", "path": "b.py:2 g"'),
        ("memory_segment", "small", '"address": 0, "bytes": 2048'),
        ("memory_history", "alloc", '"address": 512, "bytes": 1000, "site": "a.py:1 f", "path": "m.py:9 main / a.py:1 f"'),
        ("memory_history", "alloc", '"address": 1536, "bytes": 500, "site": "b.py:2 g", "path": "b.py:2 g"'),
        ("memory_history", "free_requested", '"address": 512, "bytes": 1000'),
        ("memory_history", "free_completed", '"address": 512, "bytes": 1000'),
        ("memory_history", "oom", '"bytes": 1100, "device_free_bytes": 10'),
    ]  # fmt: skip
    little.insert(
        "events",
        [{**common, "line": line, "category": category, "name": name, "args": f'{{"device": 0, {args}}}',
          "start_ns": line * 1000 if category == "memory_history" else None}
         for line, (category, name, args) in enumerate(told, 1)],
    )  # fmt: skip


def jobs_on_nodes(little: Warehouse) -> None:
    """Repeats on two of six nodes each; n3 is slower by a tenth, n5 and n6 always come together."""
    pairs = [("n1", "n2"), ("n1", "n3"), ("n2", "n3"), ("n3", "n4"), ("n1", "n4"), ("n2", "n4"), ("n5", "n6")]
    for job in range(21):
        nodes = pairs[job % len(pairs)]
        time = (1.1 if "n3" in nodes else 1.0) + 0.001 * (7 * job % 11)
        started = datetime(2026, 11, 2) + timedelta(hours=job)
        little.run(f"job-{job:02}", [time] * 6, model="repeated", devices=8, started_at=started)
        little.insert("jobs", [{"run_id": f"job-{job:02}", "node_list": ",".join(nodes)}])


def trainings(little: Warehouse) -> None:
    """A run that reached its target after a first try, one that missed it, and one whose log ends early."""
    files = [{"file_id": name, "formats": ["mllog"]} for name in ("reached", "missed", "cut")]
    little.insert("files", files)
    for run, status, spans in (("reached", "success", (60.0, 300.0)), ("missed", "aborted", (900.0,)), ("cut", "", ())):
        little.insert("runs", [{"run_id": run, "model": "bert", "devices": 8}])
        common = {"run_id": run, "file_id": run, "part": 0}
        little.insert("members", [{"file_id": run, "part": 0, "run_id": run, "why": "file"}])
        facts = {"seed": "7", "submission_org": "acme"} | ({"run_status": status} if status else {})
        little.insert("params", [{**common, "line": 1, "key": key, "value": value} for key, value in facts.items()])
        little.insert(
            "metrics", [{**common, "line": 5 + n, "name": "eval_accuracy", "value": 0.5 + n / 10} for n in (0, 1)]
        )
        ended = [
            {**common, "line": 9 + n, "attempt": n, "phase": "run", "span_s": span_s} for n, span_s in enumerate(spans)
        ]
        little.insert("phases", ended) if ended else None


def jobs_that_failed(little: Warehouse) -> None:
    """Jobs of an hour on two of four nodes; those on n4 lose a GPU, one runs out of memory, one reaches its limit."""
    pairs = [("n1", "n2"), ("n1", "n3"), ("n2", "n3"), ("n3", "n4"), ("n1", "n4"), ("n2", "n3")]
    lines = {
        1: ("oom", "torch.OutOfMemoryError: CUDA out of memory"),
        2: ("time_limit", "CANCELLED AT DUE TO TIME LIMIT"),
    }
    for job in range(24):
        run, nodes = f"job-{job:02}", pairs[job % len(pairs)]
        outcome, text = lines.get(job, ("completed", ""))
        if "n4" in nodes:
            outcome, text = "node_failure", "n4: NVRM: Xid (PCI:0000:8a:00): 79, GPU has fallen off the bus."
        started = datetime(2026, 11, 2) + timedelta(hours=job)
        facts = {
            "devices": 8,
            "nodes": 2,
            "outcome": outcome,
            "started_at": started,
            "ended_at": started + timedelta(hours=1),
        }
        little.run(run, [1.0] * 6, model="repeated", **facts)
        little.insert("jobs", [{"run_id": run, "node_list": ",".join(nodes)}])
        common = {"run_id": run, "file_id": run, "part": 0}
        little.insert("steps", [{**common, "line": 2, "step": 6, "step_s": 1.0, "phase": "train"}])
        little.insert("phases", [{**common, "line": 1, "step": 4, "phase": "checkpoint"}])
        little.insert("params", [{**common, "line": 3, "key": "outcome_text", "value": text}] * bool(text))


def four_sizes(little: Warehouse) -> None:
    """Weak scaling that loses a little with each doubling."""
    for doubling, time in enumerate((1.0, 1.03, 1.05, 1.09)):
        devices = 4 * 2**doubling
        facts = {"devices": devices, "global_batch_size": 8 * devices, "micro_batch_size": 8, "model": "four-sizes"}
        little.run(f"on-{devices}", [time] * 12, steps={"samples": 8 * devices}, **facts)


def an_utilization_above_one(little: Warehouse) -> None:
    """nanoGPT divides by the peak of an A100; a benchmark of collectives with one rank."""
    little.run("nano", [0.5] * 4, framework="nanogpt", devices=1)
    common = {"run_id": "nano", "file_id": "n0", "name": "mfu", "unit": "%"}
    little.insert("metrics", [{**common, "line": line, "step": line, "value": 104.0} for line in range(1, 5)])
    size = {"run_id": "nano", "file_id": "n1", "line": 9, "test": "all_reduce", "message_bytes": 2**27, "place": "out"}
    little.insert("collective_benchmarks", [{**size, "algbw_bytes_per_s": 4e11, "busbw_bytes_per_s": 0.0}])


def more_memory_than_there_is(little: Warehouse) -> None:
    """100 GiB of 80; steps of 0.5 s that are printed two seconds apart."""
    little.run("late", device_model="NVIDIA A100-SXM4-80GB", framework="ours")
    common = {"run_id": "late", "file_id": "l0", "attempt": 0, "value_kind": "instant", "step_s": 0.5}
    start = datetime(2026, 5, 1, 12)
    little.insert("steps", [
        {**common, "line": k, "step": k, "ts": start + timedelta(seconds=2 * k), "peak_memory_bytes": 100 * 2**30}
        for k in range(1, 17)
    ])  # fmt: skip


def part_of_a_planned_study(little: Warehouse) -> None:
    """Of four planned runs one completed, one ended early, one is of another size, and one is missing."""
    for name, outcome in (("whole", "completed"), ("early", "oom"), ("other", "unknown")):
        little.run(name, [1.0] * 6, nodes=2, outcome=outcome)
        common = {"file_id": f"file-{name}", "part": 0}
        path = f"/study/{name}/rank0.log"
        little.insert("files", [{"file_id": f"file-{name}", "path": path, "paths": [path]}])
        little.insert("members", [{**common, "run_id": name, "why": "folder"}])
        little.insert("steps", [{**common, "run_id": name, "line": 1, "step": 1, "step_s": 1.0, "phase": "train"}])
    little.insert("files", [{"file_id": "plan", "path": "/study/plan.csv", "paths": ["/study/plan.csv"]}])
    planned = (("whole", 2), ("./early/", 2), ("other", 4), ("never", 2))
    plan = [{"planned_run": name, "nodes": nodes, "command": f"sbatch {name}.sh"} for name, nodes in planned]
    little.insert("planned_runs", [{"file_id": "plan", "line": k + 2, **row} for k, row in enumerate(plan)])


ADDED = {  # what the little warehouse lacks for an answer of a query
    "planned_runs": part_of_a_planned_study,
    "ablation": one_in_fp32, "precision_gain": one_in_fp32, "mfu": size_of_images, "model_flops": size_of_images,
    "plain_runs": plain_run, "stuck_collectives": dumps_of_a_flight_recorder,
    "inspected_collectives": inspected_operations, "rank_stages": pipeline_of_two_ranks,
    "straggler_reports": reports_of_detectors, "ras_status": status_of_ras,
    "time_to_train": trainings, "compare_published": runs_like_published_ones, "node_scores": timers_of_two_nodes,
    "energy_by_limit": windows_of_power_limits, "unstated_facts": devices_by_path, "energy_counted_twice": trackers_of_one_machine,
    "forecast": four_sizes, "implausible": an_utilization_above_one, "implausible_rates": an_utilization_above_one,
    "implausible_use": more_memory_than_there_is, "implausible_times": more_memory_than_there_is,
    "failures": jobs_that_failed, "failed_runs": jobs_that_failed, "job_exposure": jobs_that_failed,
    "blame": jobs_on_nodes, "blame_jobs": jobs_on_nodes, "blamed_jobs": jobs_on_nodes, "run_nodes": jobs_on_nodes,
    "blocking_calls": items_of_tensors, "inference_phases": iterations_of_an_engine,
    "expert_balance": exchange_of_experts, "energy_of_trace": power_beside_traces, "trace_power": power_beside_traces,
    "inference_iterations": iterations_of_an_engine, "memory_allocations": snapshot_of_memory, "memory_by_site": snapshot_of_memory,
    "memory_over_time": snapshot_of_memory, "memory_snapshots": snapshot_of_memory, "memory_totals": snapshot_of_memory,
}  # fmt: skip


def test_an_optional_source_is_read_through_a_text_alone() -> None:
    """One in brackets is not made for a statement without a text, so that the SQL itself must not name it."""
    for name, query in QUERIES.items():
        code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", query.sql)
        parameters = {parameter.name for parameter in query.parameters}
        assert not query.optional & queries.names_in(code) - parameters, name


def test_what_is_added_up_in_floating_point_is_added_up_in_order() -> None:
    """Otherwise the last digit depends on how DuckDB joins what comes before."""
    adding = re.compile(r"\b(?:regr_\w+|corr|covar_\w+|stddev\w*|var\w+)\s*\((?:[^()]|\([^()]*\))*\)(?!\s*OVER)")
    for name, query in QUERIES.items():
        calls = adding.findall(re.sub(r"--[^\n]*", "", query.sql))
        assert all(" ORDER BY " in call for call in calls), name


@pytest.fixture(scope="module")
def goldens() -> Iterator[Warehouse]:
    """The warehouse of the goldens in a connection of its own, which no test changes: filling it takes as long as an answer."""
    asked = little_warehouse(empty_warehouse())
    yield asked
    asked.connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    query = QUERIES[name]
    little = request.getfixturevalue("little" if name in ADDED else "goldens")
    called = f"FROM {name}({ARGUMENTS.get(name, '')})"
    ordered = re.search(r"^ORDER BY", query.sql, re.MULTILINE)
    if name in ADDED:
        ADDED[name](little)
    got = as_csv(little.ask(called if ordered else f"{called} ORDER BY ALL"), query)
    assert little.columns == [(column.name, column.type) for column in query.columns]
    golden = FIXTURES / f"{name}.csv"
    if request.config.getoption("--update", default=False):
        golden.write_text(got, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == got
    assert got.count("\n") > 1, "a golden without a row proves nothing"


def as_csv(rows: Sequence[Row], query: queries.Query) -> str:
    """Rows as they read best: numbers to 6 digits, lists with blanks, nothing for NULL."""

    def text(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(map(text, value))
        return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in query.columns)
    writer.writerows([text(value) for value in row.values()] for row in rows)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", spread([name for name, query in QUERIES.items() if query.needs], str, "needs", share=5)
)
def test_a_query_has_no_rows_without_what_it_needs(little: Warehouse, name: str) -> None:
    """Then it is not planned, and its columns stay what they are.  That it has rows with it, its golden shows."""
    query = QUERIES[name]
    called = f"{name}({ARGUMENTS.get(name, '')})"
    if name in ADDED:
        ADDED[name](little)
    for table, _, column in (needed.partition(".") for needed in query.needs):
        little.connection.execute(f"UPDATE {table} SET {column} = NULL" if column else f"DELETE FROM {table}")
    planned = little.connection.execute(f"FROM {BUILTIN}.{called}")
    assert not planned.fetchall()
    helpers = SharedHelpers(little.connection, QUERIES)
    helpers.share(f"FROM {called}")
    spared = little.connection.execute(f"FROM {called}")
    assert name in helpers.empty and not spared.fetchall()
    assert spared.description == planned.description
    helpers.forget()
    assert {needed.partition(".")[0] for needed in query.needs} <= needed_tables(f"FROM {name}()", QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_sources_are_what_the_query_reads(name: str) -> None:
    code = re.sub(r"--[^\n]*", "", QUERIES[name].sql).replace(" _step_times_of(", " step_times JOIN runs (")
    own = set(re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", code))
    read = {
        found for found in re.findall(r"(?:FROM|JOIN)\s+(?:main\.)?(\w+)", code) if found in TABLES or found in QUERIES
    } - own
    read |= set(re.findall(r"\bDESCRIBE (\w+)", code))
    assert set(QUERIES[name].sources) == read


def test_names_need_no_quotes() -> None:
    taken = duckdb.connect().execute("SELECT keyword_name, keyword_category FROM duckdb_keywords()").fetchall()
    words = dict(taken)
    for name, query in QUERIES.items():
        for parameter in query.parameters:
            assert words.get(parameter.name, "unreserved") == "unreserved", (name, parameter.name)
        for column in query.columns:
            assert words.get(column.name) != "reserved", (name, column.name)


def test_parameters_of_one_name_are_one_parameter() -> None:
    """But `per`, what a number is of: of energy a device, a package or a node, of throughput a device or the job, of
    traces a rank or a step; and the two sides `a` and `b`, of traces or of runs."""
    said: dict[str, set[tuple[str, str]]] = {}
    for query in QUERIES.values():
        for parameter in query.parameters:
            said.setdefault(parameter.name, set()).add((parameter.default, parameter.meaning.split("; for")[0]))
    assert [len(said.pop(name)) for name in ("per", "a", "b")] == [4, 2, 2]
    assert {name: len(meanings) for name, meanings in said.items()} == dict.fromkeys(said, 1)


# Which runs, epochs and records


def test_runs_is_a_condition_over_the_columns_of_runs(little: Warehouse) -> None:
    def selected(condition: str) -> list[str]:
        quoted = condition.replace("'", "''")
        return sorted(little.column(f"SELECT run_id FROM batch_stats(runs := '{quoted}')"))

    assert selected("precision = 'fp16'") == ["gpt-large", "gpt-small"]
    assert selected("system = 'alps' AND devices = 2 OR devices = 16") == [
        "gpt-small", "two-strong", "two-weak", "two-weak-again",
    ]  # fmt: skip
    assert len(selected(" ")) == 7
    with pytest.raises(duckdb.Error, match="nonsense"):
        selected("nonsense = 1")
    with pytest.raises(duckdb.Error, match="no run is called 'true LIMIT 1'"):
        selected("true LIMIT 1")


def test_runs_may_be_a_prepared_parameter(little: Warehouse) -> None:
    asked = little.connection.execute("SELECT run_id FROM batch_stats(runs := $which)", {"which": "devices = 1"})
    assert asked.fetchall() == [("one",)]


@pytest.mark.parametrize(
    ("epochs", "kept"), [("'0'", 6), ("1", 6), ("'0,1'", 12), ("'0-1'", 12), ("'2-4, 1'", 6), ("''", 12), ("'7'", 0)]
)
def test_epochs(little: Warehouse, epochs: str, kept: int) -> None:
    query = f"FROM selected_steps(epochs := {epochs}, runs := 'run_id = ''one''')"
    assert len(little.ask(query)) == kept


def test_warmup_counts_from_the_attempt_not_from_the_epoch_asked_for(little: Warehouse) -> None:
    query = "SELECT step FROM exclusions(epochs := 1, runs := 'run_id = ''one''') WHERE rule = 'warmup'"
    assert little.column(query) == []


def test_every_rule_can_be_turned_off(little: Warehouse) -> None:
    assert little.ask("FROM exclusions(exclude := 'none')") == []
    everything = little.column("SELECT count(*) + (SELECT count(*) FROM logged_warmup()) FROM step_times")
    assert little.column("SELECT sum(n_steps) FROM batch_stats(exclude := 'none')") == everything
    assert little.column("SELECT count(*) FROM selected_steps()") == everything
    with pytest.raises(duckdb.Error, match="exclude is 'rules', 'steady' or 'none'"):
        little.ask("FROM batch_stats(exclude := 'nothing')")


def rules(warehouse: Warehouse, call: str = "exclusions(warmup := 0)") -> list[tuple[int, str]]:
    return [(row["step"], row["rule"]) for row in warehouse.ask(f"FROM {call}")]


def test_first_records_of_each_attempt_are_warmup(warehouse: Warehouse) -> None:
    warehouse.run("a", [9, 2, 1, 1])
    warehouse.insert(
        "step_times",
        [
            {"run_id": "a", "line": 50 + step, "attempt": 1, "step": step, "step_s": 1.0, "value_kind": "instant"}
            for step in (3, 4, 5)
        ],
    )
    assert rules(warehouse, "exclusions()") == [(1, "warmup"), (2, "warmup"), (3, "warmup"), (4, "warmup")]
    assert rules(warehouse, "exclusions(warmup := 1)") == [(1, "warmup"), (3, "warmup")]


def test_what_the_log_calls_warmup_is_not_left_out_a_second_time(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.5, 1.25, 1.0], first=3)
    warm = {"run_id": "a", "file_id": "a", "attempt": 0, "phase": "warmup", "value_kind": "instant"}
    ranks = [
        {**warm, "line": 10 * step + rank, "step": step, "step_s": 9.0 + rank} for step in (1, 2) for rank in (0, 1)
    ]
    warehouse.insert("steps", ranks)
    assert rules(warehouse, "exclusions()") == [(1, "logged_warmup"), (2, "logged_warmup")]
    assert rules(warehouse, "exclusions(warmup := 3)") == [(1, "logged_warmup"), (2, "logged_warmup"), (3, "warmup")]
    assert warehouse.column("SELECT [n_steps, n_excluded] FROM batch_stats()") == [[3, 2]]
    assert warehouse.column("SELECT mean_s FROM batch_stats(exclude := 'none')") == [pytest.approx(23.75 / 5)]


def test_a_choice_of_epochs_that_selects_nothing_says_so(warehouse: Warehouse) -> None:
    warehouse.run("a")
    epoch(warehouse, 0, range(5))
    epoch(warehouse, 1, range(5))
    rows = warehouse.ask("FROM batch_stats(epochs := '9')")
    assert [(row["n_steps"], row["step_s"], row["note"]) for row in rows] == [
        (0, None, "epochs := '9' selects nothing; its epochs are numbered 0 to 1")
    ]
    (row,) = warehouse.ask("FROM batch_stats(epochs := 1, exclude := 'none')")
    assert row["n_steps"] == 5 and row["note"].startswith("its epochs are numbered 0 to 1")
    assert "numbered" not in (warehouse.ask("FROM batch_stats()")[0]["note"] or "")


def test_a_value_for_the_whole_run_is_no_warmup(warehouse: Warehouse) -> None:
    warehouse.run("a", [0.5], steps={"value_kind": "run_median", "averaged_steps": 300})
    assert rules(warehouse, "exclusions()") == []


def epoch(warehouse: Warehouse, number: float, batches: range, **columns: Any) -> None:
    common = {"run_id": "a", "attempt": 0, "epoch": number, "step_s": 1.0, "value_kind": "instant", "averaged_steps": 1}
    warehouse.insert("step_times", [common | {"line": step, "step": step} | columns for step in batches])


def test_the_ends_of_epochs_are_left_out_where_they_are_known(warehouse: Warehouse) -> None:
    warehouse.run("a")
    epoch(warehouse, 0, range(5))
    epoch(warehouse, 1, range(5, 10))
    epoch(warehouse, 2, range(10, 14))  # cut: 13 is not known to be the last
    assert rules(warehouse) == [
        (0, "first_of_epoch"), (4, "last_of_epoch"),
        (5, "first_of_epoch"), (9, "last_of_epoch"),
        (10, "first_of_epoch"),
    ]  # fmt: skip
    epoch(warehouse, 2, range(14, 15))  # as long as those before: it is complete
    assert rules(warehouse)[-1] == (14, "last_of_epoch")


def test_the_only_epoch_may_go_on(warehouse: Warehouse) -> None:
    warehouse.run("a")
    epoch(warehouse, 0, range(5))
    assert rules(warehouse) == [(0, "first_of_epoch")]


def test_an_epoch_that_a_restart_began_again_has_an_end_in_each_attempt(warehouse: Warehouse) -> None:
    warehouse.run("a")
    epoch(warehouse, 0, range(5))
    epoch(warehouse, 1, range(5, 8))  # broken off
    epoch(warehouse, 1, range(5, 10), attempt=1)
    epoch(warehouse, 2, range(10, 15), attempt=1)
    rows = warehouse.ask("FROM exclusions(warmup := 0)")
    assert [(row["attempt"], row["step"], row["rule"]) for row in rows] == [
        (0, 0, "first_of_epoch"), (0, 4, "last_of_epoch"), (0, 5, "first_of_epoch"),
        (1, 9, "last_of_epoch"), (1, 10, "first_of_epoch"), (1, 14, "last_of_epoch"),
    ]  # fmt: skip


def test_a_log_that_starts_within_an_epoch(warehouse: Warehouse) -> None:
    warehouse.run("a")
    epoch(warehouse, 3, range(17, 20))
    assert rules(warehouse) == []
    epoch(warehouse, 4, range(20, 24))  # longer than what is there of the one before, and yet perhaps cut
    assert rules(warehouse) == [(19, "last_of_epoch"), (20, "first_of_epoch")]


@pytest.mark.parametrize(
    ("batches", "kind", "averaged"),
    [
        ((range(0, 50, 10), range(50, 100, 10)), "instant", 1),  # every tenth batch: the last is not in the log
        ((range(10, 60, 10), range(60, 110, 10)), "interval_mean", 10),
        ((range(5), range(5, 10)), "running_mean", 1),
        ((range(2), range(2, 4)), "instant", 1),  # nothing would be left of epochs of two batches
    ],
)
def test_logs_without_every_batch_keep_the_ends_of_epochs(
    warehouse: Warehouse, batches: tuple[range, range], kind: str, averaged: int
) -> None:
    warehouse.run("a")
    for number, steps in enumerate(batches):
        epoch(warehouse, number, steps, value_kind=kind, averaged_steps=averaged)
    assert rules(warehouse) == []


def test_fractions_of_an_epoch_have_no_ends(warehouse: Warehouse) -> None:
    warehouse.run("a")
    for quarter in range(1, 9):  # rounded, so that several steps share a fraction
        epoch(warehouse, quarter / 4 + 0.01, range(5 * quarter, 5 * quarter + 5))
    assert rules(warehouse) == []


@pytest.mark.parametrize("phase", ["evaluation", "checkpoint"])
@pytest.mark.parametrize(
    ("facts", "steps", "after"),
    [
        ({}, {"value_kind": "interval_mean", "averaged_steps": 10, "samples": 4.0}, 110),
        ({"framework": "megatron-lm"}, {}, 101),  # log_interval 1: single steps, and the timer runs on
    ],
)
def test_the_record_after_an_evaluation_contains_it(
    warehouse: Warehouse, phase: str, facts: Row, steps: Row, after: int
) -> None:
    every = steps.get("averaged_steps", 1)
    warehouse.run("a", [1.0] * 6, steps=steps, first=100 - 2 * every, **facts)
    warehouse.insert("phases", [{"run_id": "a", "attempt": 0, "phase": phase, "step": 100}])
    assert rules(warehouse) == [(after, phase)]


@pytest.mark.parametrize(
    ("facts", "steps"),
    [
        ({"framework": "megatron-lm"}, {"ts": 0}),  # since core 0.5 the timer stops, and the record has a time stamp
        ({"framework": "pytorch"}, {}),  # the time of one batch
        ({"framework": "megatron-lm"}, {"attempt": 1}),  # the evaluation was in the attempt before
    ],
)
def test_an_evaluation_outside_the_timer_is_not_contained(warehouse: Warehouse, facts: Row, steps: Row) -> None:
    warehouse.run("a", [1.0] * 6, steps=steps, first=98, **facts)
    warehouse.insert("phases", [{"run_id": "a", "attempt": 0, "phase": "evaluation", "step": 100}])
    assert rules(warehouse) == []


def test_skipped_iterations(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0] * 3, steps={"value_kind": "interval_mean", "averaged_steps": 10, "skipped_steps": 8})
    warehouse.run("b", [1.0] * 3, steps={"skipped_steps": 0})
    assert rules(warehouse) == [(1, "skipped"), (11, "skipped"), (21, "skipped")]


def test_the_mean_of_an_epoch_is_left_out_beside_its_steps(warehouse: Warehouse) -> None:
    summary = {"run_id": "a", "attempt": 0, "step": 5, "step_s": 1.5, "value_kind": "epoch_mean", "averaged_steps": 5}
    warehouse.insert("runs", [{"run_id": "a"}])
    warehouse.insert("step_times", [summary])
    assert rules(warehouse) == []
    warehouse.insert("step_times", [summary | {"step": 1, "value_kind": "instant", "averaged_steps": 1}])
    assert rules(warehouse) == [(5, "summary")]


def test_a_running_mean_is_left_out_beside_single_steps(warehouse: Warehouse) -> None:
    warehouse.run("a", [9.0, 9.0, 1.0, 1.0, 1.0])
    running = {"run_id": "a", "attempt": 0, "value_kind": "running_mean"}
    warehouse.insert("step_times", [running | {"step": step, "step_s": 5.0} for step in range(1, 6)])
    assert [step for step, rule in rules(warehouse) if rule == "summary"] == [1, 2, 3, 4, 5]
    assert [step for step, rule in rules(warehouse, "exclusions()") if rule == "warmup"] == [1, 1, 2, 2]
    (row,) = warehouse.ask("SELECT n_steps, step_s, mean_s, value_kinds FROM batch_stats()")
    assert row == {"n_steps": 3, "step_s": 1.0, "mean_s": 1.0, "value_kinds": "instant"}
    assert {row["label"] for row in warehouse.ask("FROM batch_cdf()")} == {"single steps"}
    (row,) = warehouse.ask("SELECT value_kinds, note FROM batch_stats(exclude := 'none')")
    assert row["value_kinds"] == "instant running_mean"
    assert "a running mean includes the warm-up" in row["note"]


# Statistics of one run

batch_times = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=120)


_Case = TypeVar("_Case")


def several(cases: st.SearchStrategy[_Case]) -> st.SearchStrategy[list[_Case]]:
    """A run for each case, in one warehouse: planning a question takes longer than computing its answer."""
    return st.lists(cases, min_size=6, max_size=6)


@settings(max_examples=6, deadline=None)
@given(several(st.tuples(batch_times, st.integers(1, 100))))
def test_batch_stats_agree_with_numpy(cases: list[tuple[list[float], int]]) -> None:
    warehouse = Warehouse()
    for number, (times, every) in enumerate(cases):
        steps = {"value_kind": "interval_mean", "averaged_steps": every, "samples": 32.0, "ts": 0}
        warehouse.run(f"r{number}", times, steps=steps, seq_length=128)
    rows = warehouse.ask("FROM batch_stats(warmup := 0) ORDER BY run_id")
    for row, (times, every) in zip(rows, cases, strict=True):
        agrees_with_numpy(row, times, every)


def agrees_with_numpy(row: Row, times: list[float], every: int) -> None:
    values = np.array(times)
    total = float(values.sum()) * every
    assert row["n_steps"] == len(times)
    assert row["step_s"] == pytest.approx(np.median(values))
    assert row["mean_s"] == pytest.approx(values.mean())
    for percent in (5, 25, 75, 95, 99):
        assert row[f"p{percent}_s"] == pytest.approx(np.percentile(values, percent))
    assert row["samples_per_s"] == pytest.approx(32 * len(times) * every / total)
    assert row["tokens_per_s"] == pytest.approx(128 * 32 * len(times) * every / total)
    assert (row["timed_steps"], row["timed_s"]) == (len(times) * every, pytest.approx(total))
    interval = median_interval(values)
    names = ("step_s_low", "step_s_high", "interval_kind", "n_eff", "autocorrelation", "note")
    assert tuple(row[name] for name in names) == interval


def test_means_are_weighted_by_the_steps_they_cover(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0], steps={"samples": 8.0})
    tail = {"run_id": "a", "attempt": 0, "step": 10, "step_s": 2.0, "value_kind": "interval_mean", "averaged_steps": 9}
    warehouse.insert("step_times", [tail | {"samples": 16.0}])
    (row,) = warehouse.ask("FROM batch_stats(warmup := 0)")
    assert row["mean_s"] == pytest.approx((1 * 1.0 + 9 * 2.0) / 10)
    assert row["samples_per_s"] == pytest.approx((1 * 8 + 9 * 16) / (1 * 1.0 + 9 * 2.0))  # not the mean of the rates
    assert row["value_kinds"] == "instant interval_mean"


def test_a_run_of_which_nothing_is_left_is_still_there(warehouse: Warehouse) -> None:
    warehouse.run("a", [124.0, 129.0, 128.0], steps={"skipped_steps": 1})
    (row,) = warehouse.ask("FROM batch_stats()")
    assert (row["n_steps"], row["n_excluded"], row["step_s"], row["samples_per_s"]) == (0, 3, None, None)
    assert row["note"] == "all records are left out (exclude=none includes them)"


def test_a_time_that_is_no_number_is_no_record(warehouse: Warehouse) -> None:
    warehouse.run("a", [1.0, float("nan"), float("inf"), 2.0, 3.0])
    (row,) = warehouse.ask("FROM batch_stats(warmup := 0)")
    assert (row["n_steps"], row["step_s"]) == (3, 2.0)


@settings(max_examples=3, deadline=None)
@given(several(batch_times), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(runs: list[list[float]], shuffle: random.Random) -> None:
    answers = []
    for shuffled in (False, True):
        warehouse = Warehouse()
        rows = [
            {"run_id": f"r{number}", "file_id": "f", "line": line, "attempt": 0, "step": line, "step_s": step_s}
            | {"value_kind": "instant", "averaged_steps": 1, "samples": 3.0}
            for number, times in enumerate(runs)
            for line, step_s in enumerate(times)
        ]
        if shuffled:
            shuffle.shuffle(rows)
        facts = {"devices": 1, "global_batch_size": 3}
        warehouse.insert("runs", [{"run_id": f"r{number}", **facts} for number in range(len(runs))])
        warehouse.insert("step_times", rows)
        answers.append([warehouse.ask(f"FROM {name}()") for name in ("batch_stats", "batch_cdf", "exclusions")])
    assert answers[0] == answers[1]


@settings(max_examples=3, deadline=None)
@given(several(batch_times), st.sampled_from([0.001, 0.1, 3.0, 1000.0]))
def test_times_scaled_by_k_scale_rates_by_its_reciprocal(series: list[list[float]], k: float) -> None:
    """Each list of times is a series, of a model of its own, on one and two devices."""
    answers = []
    for factor in (1.0, k):
        warehouse = Warehouse()
        for number, times in enumerate(series):
            for devices in (1, 2):
                scaled = [step_s * factor * devices for step_s in times]
                facts = {"devices": devices, "global_batch_size": 8, "model": f"m{number}"}
                warehouse.run(f"r{number}n{devices}", scaled, **facts)
        stats = warehouse.ask("FROM batch_stats(warmup := 0) ORDER BY run_id")
        scaling = warehouse.ask("FROM scaling(warmup := 0) WHERE devices = 2 ORDER BY model")
        assert (len(stats), len(scaling)) == (2 * len(series), len(series))
        answers.append((stats, scaling))
    (stats, scaling), (scaled_stats, scaled_scaling) = answers
    for before, after in zip(stats, scaled_stats, strict=True):
        for name in ("step_s", "mean_s", "p5_s", "p99_s", "timed_s"):
            assert after[name] == pytest.approx(k * before[name])
        assert after["samples_per_s"] == pytest.approx(before["samples_per_s"] / k)
    for before, after in zip(scaling, scaled_scaling, strict=True):
        assert after["efficiency"] == pytest.approx(before["efficiency"]) == pytest.approx(0.25)


MANY_STEPS = """
    INSERT INTO step_times BY NAME
    SELECT 'r' || i % 4 AS run_id, i AS line, 0 AS attempt, i // 4 AS step, 'instant' AS value_kind,
        (hash(i) % 100003) / 7.0 AS step_s, 3.7 AS samples
    FROM range(100000) t(i)"""
MANY_KERNELS = """
    INSERT INTO events BY NAME
    SELECT 'r' || i % 4 AS run_id, 'r' || i % 4 AS file_id, 0 AS part, i AS line, 0 AS rank, 'kernel' AS category,
        7 AS stream, 'k' AS name, 'compute' AS class, i * 100000 AS start_ns, hash(i) % 100003 AS duration_ns
    FROM range(400000) t(i)"""


@pytest.mark.parametrize(("rows", "name"), [(MANY_STEPS, "batch_stats"), (MANY_KERNELS, "kernel_summary")])
def test_the_last_digit_does_not_depend_on_the_number_of_threads(rows: str, name: str) -> None:
    answers = set()
    for threads in (1, 8):
        with empty_warehouse() as connection:
            connection.execute(f"SET threads = {threads}")
            connection.execute("INSERT INTO runs BY NAME SELECT 'r' || i AS run_id FROM range(4) t(i)")
            connection.execute(MEMBERS_OF_RUNS)
            connection.execute(rows)
            answers.add(str(answer := connection.execute(f"FROM {name}()").fetchall()))
    assert len(answers) == 1 and len(answer) == 4


# Distributions


def test_cdf_is_that_of_numpy(warehouse: Warehouse) -> None:
    times = np.random.default_rng(7).integers(1, 30, 200) / 100
    warehouse.run("a", times.tolist())
    rows = warehouse.ask("FROM batch_cdf(warmup := 0)")
    values, counts = np.unique(times, return_counts=True)
    assert [row["step_s"] for row in rows] == values.tolist()
    assert [row["cdf"] for row in rows] == pytest.approx((np.cumsum(counts) / 200).tolist())
    assert {(row["n_steps"], row["label"], row["reason"]) for row in rows} == {(200, "single steps", None)}


@pytest.mark.parametrize(
    ("kind", "averaged", "label"),
    [("instant", 1, "single steps"), ("interval_mean", 1, "single steps"), ("interval_mean", 10, "means of 10 steps")],
)
def test_cdf_says_what_a_record_is(warehouse: Warehouse, kind: str, averaged: int, label: str) -> None:
    warehouse.run("a", [1.0, 2.0, 3.0], steps={"value_kind": kind, "averaged_steps": averaged})
    assert {row["label"] for row in warehouse.ask("FROM batch_cdf()")} == {label}


@pytest.mark.parametrize("kind", ["running_mean", "epoch_mean", "run_mean"])
def test_cdf_of_means_that_hide_the_tail_is_refused(warehouse: Warehouse, kind: str) -> None:
    warehouse.run("a", [1.0, 2.0, 3.0], steps={"value_kind": kind})
    (row,) = warehouse.ask("FROM batch_cdf()")
    assert (row["step_s"], row["cdf"]) == (None, None)
    assert row["reason"] == f"{kind}: a mean of many steps hides the tail of single ones"


# Scaling


def flat(step_s: float) -> list[float]:
    """Two records of warm-up and three of the same time."""
    return [9 * step_s, 3 * step_s, step_s, step_s, step_s]


def test_weak_and_strong_of_one_and_two_ranks(warehouse: Warehouse) -> None:
    common: Row = {"model": "resnet50", "precision": "fp32"}
    warehouse.run("one", flat(0.30), devices=1, global_batch_size=8, **common)
    warehouse.run("weak", flat(0.33), devices=2, global_batch_size=16, **common)
    warehouse.run("strong", flat(0.20), devices=2, global_batch_size=8, **common)
    rows = warehouse.ask("FROM scaling()")
    assert [(row["scaling"], row["run_id"], row["baseline_devices"]) for row in rows] == [
        ("strong", "one", 1), ("strong", "strong", 1), ("weak", "one", 1), ("weak", "weak", 1),
    ]  # fmt: skip
    assert rows[1]["series"] == "resnet50 · fp32 · strong (global batch 8)"
    assert rows[3]["series"] == "resnet50 · fp32 · weak (batch 8 per device)"
    assert rows[1]["speedup"] == pytest.approx(0.30 / 0.20)
    assert rows[1]["efficiency"] == pytest.approx(0.30 / (2 * 0.20))  # t(1) / (n t(n))
    assert rows[3]["speedup"] == pytest.approx(2 * 0.30 / 0.33)
    assert rows[3]["efficiency"] == pytest.approx(0.30 / 0.33)  # t(1) / t(n), not its inverse
    assert [row["efficiency"] for row in rows[::2]] == [1, 1]
    assert {row["note"] for row in rows} == {"no log names the device"}
    # one run per size: its range, and no interval for the efficiency
    assert {(row["interval_kind"], row["interval_of"], row["efficiency_low"]) for row in rows} == {
        ("range", "steps", None)
    }


def test_efficiency_is_from_work_and_time_whatever_the_batch(warehouse: Warehouse) -> None:
    """E = (W / t) / ((n / n0) (W0 / t0)), from a base of four devices."""
    for devices, step_s in ((4, 0.25), (8, 0.26), (32, 0.30)):
        warehouse.run(f"n{devices}", flat(step_s), model="m", devices=devices, global_batch_size=64 * devices)
    got = {row["devices"]: row["efficiency"] for row in warehouse.ask("FROM scaling()")}
    assert got == {
        n: pytest.approx((64 * n / t) / (n / 4 * (256 / 0.25))) for n, t in ((4, 0.25), (8, 0.26), (32, 0.30))
    }


def test_a_model_is_not_growing_where_a_size_has_that_of_a_smaller_one_as_well(warehouse: Warehouse) -> None:
    for run, devices, billions, layers in (("a", 16, 1, 12), ("b", 64, 1, 24), ("c", 64, 2, 32)):
        warehouse.run(
            run, flat(2.0), devices=devices, global_batch_size=4, seq_length=1024, framework="megatron-lm",
            model=f"gpt-{billions}b", parameters=1e9 * billions,
        )  # fmt: skip
        warehouse.insert("params", [{"run_id": run, "key": "num_layers", "value": str(layers), "origin": "log"}])
    assert warehouse.ask("FROM scaling()") == []


@pytest.mark.parametrize(("larger_b", "scaling"), [(1.40, None), (1.42, "mixed")])
def test_a_model_grows_by_the_fourth_root_of_the_devices_at_least(
    larger_b: float, scaling: str | None, warehouse: Warehouse
) -> None:
    """On four times the devices a model has to have 1.414 times the parameters; with less it is another model."""
    for run, devices, billions, layers in (("a", 16, 1.0, 12), ("b", 64, larger_b, 16)):
        warehouse.run(
            run, flat(2.0), devices=devices, global_batch_size=4, seq_length=1024, framework="megatron-lm",
            model=f"gpt-{billions}b", parameters=1e9 * billions,
        )  # fmt: skip
        warehouse.insert("params", [{"run_id": run, "key": "num_layers", "value": str(layers), "origin": "log"}])
    assert [row["scaling"] for row in warehouse.ask("FROM scaling()")] == ([scaling] * 2 if scaling else [])


def test_models_that_grow_with_the_devices_are_mixed_and_repeats_at_one_size_no_series(warehouse: Warehouse) -> None:
    """bigscience's base runs on 16 to 256 GPUs, and their two perf runs on 64."""
    published = {  # devices: parameters, seconds per step
        16: (18.4e9, 1.381), 32: (30e9, 1.618), 64: (65.7e9, 2.738), 128: (117e9, 4.234), 256: (207e9, 6.736),
    }  # fmt: skip
    layers = {16: (40, 6144), 32: (48, 7168), 64: (64, 9216), 128: (64, 12288), 256: (64, 16384)}
    interval = {"value_kind": "interval_mean", "averaged_steps": 10, "samples": 4.0, "tokens": 4096.0}
    for devices, (parameters, step_s) in published.items():
        facts: Row = {"framework": "megatron-lm", "model": f"gpt-{parameters / 1e9:.3g}b", "parameters": parameters}
        warehouse.run(
            f"n{devices}", flat(step_s), steps=interval, devices=devices, global_batch_size=4, seq_length=1024, **facts
        )
        for key, value in zip(("num_layers", "hidden_size"), layers[devices], strict=True):
            warehouse.insert("params", [{"run_id": f"n{devices}", "key": key, "value": str(value), "origin": "log"}])
    for again in ("perf", "perf-again"):
        warehouse.run(
            again,
            flat(124),
            devices=64,
            global_batch_size=1024,
            model="gpt-52b",
            framework="megatron-lm",
            seq_length=1024,
        )

    rows = warehouse.ask("FROM scaling()")
    assert {row["scaling"] for row in rows} == {"mixed"}
    assert {row["series"] for row in rows} == {"seq 1024 · megatron-lm · mixed (global batch 4, growing model)"}
    assert [(row["devices"], row["step_s"]) for row in rows] == [
        (n, pytest.approx(t)) for n, (_, t) in published.items()
    ]
    assert {(row["speedup"], row["efficiency"], row["efficiency_low"]) for row in rows} == {(None, None, None)}
    assert {row["note"] for row in rows} == {"the model grows with the devices: compare TFLOP/s per device"}
    assert {row["tflops_kind"] for row in rows} == {"model"}
    per_token = 6 * 18.4e9 + 12 * 40 * 6144 * 1024
    assert rows[0]["tflops_per_device"] == pytest.approx(4096 / 1.381 * per_token / 16 / 1e12)


def test_models_that_do_not_grow_with_the_devices_are_no_series(warehouse: Warehouse) -> None:
    for devices, parameters in ((16, 30e9), (32, 18e9)):
        warehouse.run(
            f"n{devices}",
            flat(1),
            devices=devices,
            global_batch_size=4,
            model=f"gpt-{parameters}",
            parameters=parameters,
        )
    for devices, model, size in ((64, "a", 18e9), (128, "b", 30e9), (128, "of unknown size", None)):
        warehouse.run(model, flat(1), devices=devices, model=model, parameters=size, global_batch_size=8)
    assert warehouse.ask("FROM scaling()") == []


def test_a_run_of_a_series_is_not_tried_again_without_its_model(warehouse: Warehouse) -> None:
    warehouse.run("small-16", flat(1), devices=16, model="small", parameters=18e9, global_batch_size=4)
    warehouse.run("small-32", flat(1), devices=32, model="small", parameters=18e9, global_batch_size=8)
    warehouse.run("large-32", flat(1), devices=32, model="large", parameters=30e9, global_batch_size=4)
    assert [(row["scaling"], row["run_id"]) for row in warehouse.ask("FROM scaling()")] == [
        ("weak", "small-16"), ("weak", "small-32"),
    ]  # fmt: skip


def test_six_sizes_of_two_batches_per_device_are_never_one_curve(warehouse: Warehouse) -> None:
    """HiPerGator's runs on 8 to 256 GPUs: 2, 2, 0.5, 0.5, 0.5, 0.5 samples per device."""
    batches = {8: 16, 16: 32, 32: 16, 64: 32, 128: 64, 256: 128}
    times = {8: 0.5436, 16: 0.5712, 32: 0.1877, 64: 0.1894, 128: 0.1928, 256: 0.2213}
    for devices, batch in batches.items():
        warehouse.run(f"n{devices}", flat(times[devices]), devices=devices, global_batch_size=batch, model="llama31-8b")
    found: dict[str, list[int]] = {}
    for row in warehouse.ask("FROM scaling()"):
        found.setdefault(row["series"].removeprefix("llama31-8b · "), []).append(row["devices"])
    assert found == {
        "strong (global batch 16)": [8, 32],
        "strong (global batch 32)": [16, 64],
        "weak (batch 0.5 per device)": [32, 64, 128, 256],
        "weak (batch 2 per device)": [8, 16],
    }


def test_repeats_are_one_row_with_the_range_of_the_runs(warehouse: Warehouse) -> None:
    for name, devices, step_s in (("a1", 1, 1.0), ("a2", 1, 1.1), ("a3", 1, 1.3), ("b1", 2, 1.2), ("b2", 2, 1.4)):
        warehouse.run(name, flat(step_s), model="m", devices=devices, global_batch_size=8 * devices)
    base, double = warehouse.ask("FROM scaling()")
    assert (base["run_id"], base["run_ids"], base["n_runs"], base["n_steps"]) == ("a2", ["a1", "a2", "a3"], 3, 9)
    assert [base[name] for name in ("step_s", "step_s_low", "step_s_high", "interval_kind", "interval_of")] == [
        pytest.approx(1.1), 1.0, 1.3, "range", "runs",
    ]  # fmt: skip
    assert (double["run_id"], double["step_s"]) == ("b1", pytest.approx(1.3))
    assert double["samples_per_s"] == pytest.approx(6 * 16 / (3 * 1.2 + 3 * 1.4))  # total work over total time
    assert double["efficiency"] == pytest.approx(1.1 / 1.3)
    # slow here and fast at the base, fast here and slow at the base
    assert (double["efficiency_low"], double["efficiency_high"]) == (pytest.approx(1.0 / 1.4), pytest.approx(1.3 / 1.2))
    assert (double["efficiency_kind"], base["efficiency_low"]) == ("range", None)


def test_six_repeats_have_an_interval_of_95_percent(warehouse: Warehouse) -> None:
    for devices in (1, 2):
        for k in range(6):
            warehouse.run(f"n{devices}-{k}", flat(1 + k / 100), model="m", devices=devices, global_batch_size=8)
    base, double = warehouse.ask("FROM scaling()")
    assert (base["interval_kind"], base["interval_of"], base["step_s_low"], base["step_s_high"]) == (
        "ci95",
        "runs",
        1.0,
        1.05,
    )
    assert double["efficiency_kind"] == "ci95"
    assert double["efficiency"] == pytest.approx(0.5)
    assert double["efficiency_low"] < double["efficiency"] < double["efficiency_high"]


def test_configurations_of_one_size_are_no_repeats_and_the_fastest_is_the_base(warehouse: Warehouse) -> None:
    known: Row = {"model": "m", "device_model": "d"}
    warehouse.run("a", flat(1.2), devices=4, nodes=1, global_batch_size=8, **known)
    warehouse.run("b", flat(1.0), devices=4, nodes=2, global_batch_size=8, **known)
    warehouse.run("c", flat(0.6), devices=8, nodes=2, global_batch_size=8, **known)
    rows = warehouse.ask("FROM scaling()")
    assert [(row["run_id"], row["n_runs"], row["efficiency"]) for row in rows] == [
        ("b", 1, 1.0), ("a", 1, pytest.approx(1 / 1.2)), ("c", 1, pytest.approx(1 / 1.2)),
    ]  # fmt: skip
    rivals = "several configurations at this size: series_by, or a label, separates them"
    assert [row["note"] for row in rows] == [rivals, rivals, None]
    rows = warehouse.ask("FROM scaling(series_by := 'nodes')")
    assert [(row["series"], row["run_id"]) for row in rows] == [
        ("m · nodes 2 · strong (global batch 8)", "b"), ("m · nodes 2 · strong (global batch 8)", "c"),
    ]  # fmt: skip
    assert warehouse.ask("FROM scaling(series_by := 'nodes, run_id')") == []


def test_tensor_parallel_sizes_are_series_of_their_own(warehouse: Warehouse) -> None:
    for devices, tp, step_s in ((4, 2, 1.2), (8, 2, 0.7), (4, 4, 1.0), (8, 4, 0.6)):
        warehouse.run(f"n{devices}-tp{tp}", flat(step_s), devices=devices, global_batch_size=8, tp=tp, model="m")
    rows = warehouse.ask("FROM scaling()")
    assert [(row["series"], row["devices"], row["efficiency"]) for row in rows] == [
        ("m · tp 2 · strong (global batch 8)", 4, 1.0), ("m · tp 2 · strong (global batch 8)", 8, pytest.approx(1.2 / 1.4)),
        ("m · tp 4 · strong (global batch 8)", 4, 1.0), ("m · tp 4 · strong (global batch 8)", 8, pytest.approx(1.0 / 1.2)),
    ]  # fmt: skip


def test_what_is_unknown_on_both_sides_counts_as_equal_and_on_one_side_not(warehouse: Warehouse) -> None:
    warehouse.run("a", flat(1), devices=1, global_batch_size=8)
    warehouse.run("b", flat(1), devices=2, global_batch_size=8)
    warehouse.run("c", flat(1), devices=4, global_batch_size=8, precision="bf16")
    assert [row["run_id"] for row in warehouse.ask("FROM scaling()")] == ["a", "b"]


@pytest.mark.parametrize("key", ["system", "framework", "model", "precision", "dataset"])
def test_runs_that_differ_in_a_setting_are_no_series(warehouse: Warehouse, key: str) -> None:
    for devices in (1, 2):
        facts: Row = {"devices": devices, "global_batch_size": 8, key: f"of {devices}"}
        warehouse.run(f"n{devices}", flat(1), **facts)
    assert warehouse.ask("FROM scaling()") == []


def test_labels_divide_series_but_the_number_of_a_repeat_does_not(warehouse: Warehouse) -> None:
    for run_id, devices in (("a1", 1), ("a2", 2), ("b1", 1), ("b2", 2)):
        warehouse.run(run_id, flat(1), devices=devices, global_batch_size=8)
        for key, value in (("cap", run_id[0]), ("repeat", run_id), ("nodes", str(devices))):
            warehouse.insert("params", [{"run_id": run_id, "key": key, "value": value, "origin": "sidecar"}])
    rows = warehouse.ask("FROM scaling()")
    assert [(row["series"], row["run_id"]) for row in rows] == [
        ("cap a · strong (global batch 8)", "a1"), ("cap a · strong (global batch 8)", "a2"),
        ("cap b · strong (global batch 8)", "b1"), ("cap b · strong (global batch 8)", "b2"),
    ]  # fmt: skip


def test_a_run_of_unknown_size_is_in_no_series(warehouse: Warehouse) -> None:
    warehouse.run("one", flat(1), devices=1, global_batch_size=8)
    warehouse.run("lost", flat(1), devices=None, global_batch_size=8)
    warehouse.run("no-batch", flat(1), devices=2)
    assert warehouse.ask("FROM scaling()") == []


def test_batch_comes_from_the_records_where_the_settings_lack_it(warehouse: Warehouse) -> None:
    for devices in (1, 2):
        name, samples = f"n{devices}", 8.0 * devices
        warehouse.run(name, flat(1), steps={"samples": samples}, devices=devices, model="m")
        warehouse.insert("steps", [{"run_id": name, "file_id": name, "part": 0, "phase": "train", "samples": samples}])
    assert [(row["scaling"], row["global_batch_size"]) for row in warehouse.ask("FROM scaling()")] == [
        ("weak", 8),
        ("weak", 16),
    ]


def test_efficiency_above_102_percent_is_doubted(warehouse: Warehouse) -> None:
    for devices, step_s in ((1, 1.0), (2, 0.495), (4, 0.24)):
        warehouse.run(f"n{devices}", flat(step_s), devices=devices, global_batch_size=8, model="m", device_model="d")
    assert [row["note"] for row in warehouse.ask("FROM scaling()")] == [
        None, None, "efficiency above 102 %: check the base first",
    ]  # fmt: skip


def test_running_means_are_doubted(warehouse: Warehouse) -> None:
    for devices in (1, 2):
        warehouse.run(
            f"n{devices}", flat(1), steps={"value_kind": "running_mean"}, devices=devices, global_batch_size=8,
            model="m", device_model="d",
        )  # fmt: skip
    assert {row["note"] for row in warehouse.ask("FROM scaling()")} == {
        "the times are means that may include the warm-up"
    }


def test_metric_of_the_mean_holds_the_stalls(warehouse: Warehouse) -> None:
    warehouse.run("one", [1, 1, 1, 1, 1, 1], devices=1, global_batch_size=8, model="m")
    warehouse.run("two", [1, 1, 0.5, 0.5, 0.5, 2.5], devices=2, global_batch_size=8, model="m")
    assert warehouse.column("SELECT efficiency FROM scaling()") == [1, 1]
    rows = warehouse.ask("FROM scaling(metric := 'mean_s')")
    assert [row["efficiency"] for row in rows] == [1, 0.5]
    assert {row["step_s_low"] for row in rows} == {None}
    with pytest.raises(duckdb.Error, match="metric is 't_b'"):
        warehouse.ask("FROM scaling(metric := 'loss')")


def test_printed_tflops_where_the_shape_of_one_is_unknown(warehouse: Warehouse) -> None:
    """Figures by two formulas are not put into one column."""
    for devices, parameters in ((1, 1e9), (2, None)):
        steps = {"tflops_per_device": 100.0 + devices, "tokens": 1e6}
        facts: Row = {"devices": devices, "global_batch_size": 8, "seq_length": 1024, "parameters": parameters}
        warehouse.run(f"n{devices}", flat(1), steps=steps, **facts)
        for key, value in (("num_layers", "24"), ("hidden_size", "1024")):
            warehouse.insert("params", [{"run_id": f"n{devices}", "key": key, "value": value, "origin": "log"}])
    assert [(row["tflops_kind"], row["tflops_per_device"]) for row in warehouse.ask("FROM scaling()")] == [
        ("as printed", 101), ("as printed", 102),
    ]  # fmt: skip


def test_a_mixture_of_experts_has_no_model_flops(warehouse: Warehouse) -> None:
    warehouse.run("moe", flat(1), parameters=30e9, seq_length=1024)
    shape = {"num_layers": "24", "hidden_size": "1024", "num_experts": "8"}
    warehouse.insert("params", [{"run_id": "moe", "key": k, "value": v, "origin": "log"} for k, v in shape.items()])
    assert warehouse.column("SELECT flops_per_token FROM model_flops()") == [None]


# Folders of queries


HEADER = """\
-- Runs of one size.
--
-- Answers: Which runs are of this size?
--
-- Sources: runs
--
-- Parameters:
--   size := 2    devices
--
-- Columns:
--   run_id    VARCHAR    run, whatever
--                        it is called
"""


@contextmanager
def own_queries(little: Warehouse, loaded: dict[str, Query]) -> Iterator[None]:
    """The queries of a user beside ours."""
    try:
        macros.create(
            little.connection, (query for query in loaded.values() if not is_builtin(query.path)), macros.USERS
        )
        yield
    finally:
        little.connection.execute(f"DROP SCHEMA {macros.USERS} CASCADE; CREATE SCHEMA {macros.USERS}")


def test_a_query_of_the_users_own(little: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "of_size.sql").write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size;\n")
    (tmp_path / "a_first.sql").write_text(HEADER + "SELECT run_id FROM of_size(size := size) ORDER BY run_id LIMIT 1")
    found = queries.load([tmp_path])
    assert list(found).index("of_size") < list(found).index("a_first")
    assert found["of_size"].title == "Runs of one size."
    assert found["of_size"].sources == ("runs",)
    assert found["of_size"].parameters == (("size", "2", "devices"),)
    assert found["of_size"].columns == (("run_id", "VARCHAR", None, "run, whatever it is called"),)
    with own_queries(little, found):
        assert little.column("SELECT run_id FROM a_first()") == ["two-strong"]
        assert little.column("SELECT run_id FROM a_first(size := 16)") == ["gpt-small"]


def test_a_header_may_say_more_of_a_statistic(tmp_path: Path) -> None:
    notes = "-- Formula:\n--   y = a + b\n--     with a = 1\n--\n-- Limits: of one node\n--\n"
    (tmp_path / "of_size.sql").write_text(HEADER.replace("-- Sources", f"{notes}-- Sources") + SELECT)
    found = queries.load([tmp_path])["of_size"]
    assert found.answers == "Which runs are of this size?"
    assert found.notes == {"Formula": "y = a + b\n  with a = 1", "Limits": "of one node"}
    assert found.columns == (("run_id", "VARCHAR", None, "run, whatever it is called"),)


def test_a_folder_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_size.sql").write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size")
    monkeypatch.setenv("SCALELENS_QUERIES", str(tmp_path))
    assert "of_size" in queries.load()


def test_a_query_of_the_users_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "scaling.sql").write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size")
    assert queries.load([tmp_path])["scaling"].path == tmp_path / "scaling.sql"


def test_a_query_of_the_users_own_may_lie_in_a_folder_of_its_topic(little: Warehouse, tmp_path: Path) -> None:
    for topic, name in (("mine", "of_size"), ("steps", "runs_overview")):
        (tmp_path / topic).mkdir()
        (tmp_path / topic / f"{name}.sql").write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size")
    loaded = queries.load([tmp_path])
    assert (loaded["of_size"].topic, loaded["runs_overview"].topic) == ("mine", "steps")
    assert loaded["runs_overview"].path == tmp_path / "steps" / "runs_overview.sql", "the topic of ours does not matter"
    with own_queries(little, loaded):
        for name in ("of_size", "runs_overview"):
            assert sorted(little.column(f"FROM {name}()")) == ["two-strong", "two-weak", "two-weak-again"]


def test_a_name_twice_in_one_folder_is_told_with_both_files(tmp_path: Path) -> None:
    paths = [tmp_path / topic / "of_size.sql" for topic in ("mine", "yours")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size")
    with pytest.raises(UserError) as raised:
        queries.load([tmp_path])
    assert all(str(path) in str(raised.value) for path in paths) and "; " in str(raised.value)
    assert queries.load([path.parent for path in paths])["of_size"].path == paths[-1], "of two folders the last counts"


def test_queries_in_topic_folders_are_ours(tmp_path: Path) -> None:
    (tmp_path / "of_size.sql").write_text(HEADER + "SELECT run_id FROM runs WHERE devices = size")
    loaded = queries.load([tmp_path])
    assert [name for name, query in loaded.items() if not is_builtin(query.path)] == ["of_size"]
    topics = {query.topic for query in QUERIES.values()}
    assert {
        "steps",
        "scaling",
        "trace",
        "energy",
        "outliers",
        "runs",
    } <= topics and queries.QUERIES_FOLDER.name not in topics


def test_helpers_are_listed_last(run: Run) -> None:
    listed = list(csv.DictReader(io.StringIO(run("queries", "--all", "--format", "csv").out)))
    assert {row["name"] for row in listed} == set(QUERIES)
    helpers = [QUERIES[row["name"]].is_helper for row in listed]
    assert helpers == sorted(helpers) and 0 < sum(helpers) < len(helpers)
    assert [row["topic"].endswith(" (helper)") for row in listed] == helpers
    questions = [row["topic"] for row in listed if not QUERIES[row["name"]].is_helper]
    assert questions == sorted(questions)


def test_every_query_comes_after_those_it_calls() -> None:
    done: set[str] = set()
    for name, query in queries.load().items():
        assert called_in(query.sql) & QUERIES.keys() <= done
        done.add(name)


SELECT = "SELECT run_id FROM runs WHERE devices = size"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("Of-Size.sql", HEADER + SELECT, "'Of-Size' cannot be the name of a query"),
        ("runs.sql", HEADER + SELECT, "'runs' cannot be the name of a query"),
        ("q.sql", SELECT, "the first line must be a title"),
        ("q.sql", HEADER.replace("Sources:", "Source:") + SELECT, "q.sql, line 5: unknown heading 'Source'"),
        ("q.sql", HEADER.split("-- Columns:")[0] + SELECT, "the header has no 'Columns:'"),
        ("q.sql", HEADER.replace("-- Sources", "-- Limits:\n--\n-- Sources") + SELECT, "'Limits:' is empty"),
        ("q.sql", HEADER.replace(":=", "=") + SELECT, "'size = 2    devices' is not an entry"),
        ("q.sql", HEADER.replace("VARCHAR    run", "VARCHAR") + SELECT, "is not an entry"),
        ("q.sql", HEADER, "a query must be a single SELECT after its header"),
        ("q.sql", HEADER + SELECT + "; DROP TABLE runs", "a query must be a single SELECT after its header"),
        ("q.sql", HEADER + "CREATE TABLE x AS " + SELECT, "a query must be a single SELECT after its header"),
        ("q.sql", HEADER + "SELECT FROM WHERE", "Parser Error"),
        ("q.sql", HEADER + "SELECT run_id FROM q(size := size)", "the queries call each other: q -> q"),
        ("q.sql", b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_file_that_is_no_query_is_named_with_a_remedy(
    tmp_path: Path, name: str, text: str | bytes, complaint: str
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as raised:
        queries.load([tmp_path])
    message = str(raised.value)
    assert complaint in message and name in message and "; " in message and "\n" not in message


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        queries.load([tmp_path / "nowhere"])


def test_sql_that_asks_for_what_is_not_there_is_named(little: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(HEADER + "SELECT run_id FROM nowhere")
    found, missing = queries.load([tmp_path]), "Table with name nowhere does not exist"
    with pytest.raises((UserError, duckdb.Error), match=missing) as raised, own_queries(little, found):
        little.ask("FROM q()")  # DuckDB 1.4.0 looks no earlier
    if raised.type is UserError:
        assert re.search(r"q\.sql: .*; correct the SQL$", str(raised.value))


ENDINGS = {
    "s": "s", "ns": "ns", "us": "us", "W": "w", "J": "j", "Wh": "wh", "bytes": "bytes", "MB": "mb", "GB": "gb",
    "samples/s": "samples_per_s", "tokens/s": "tokens_per_s", "GB/s": "gb_per_s", "MHz": "mhz",
    "bytes/s": "bytes_per_s", "samples/Wh": "per_wh", "tokens/Wh": "tokens_per_wh",
}  # fmt: skip
COUNTED = {
    "samples",
    "tokens",
    "FLOP",
    "GFLOP",
    "TFLOP/s",
    "FLOP/B",
    "GFLOP/s/W",
    "h",
    None,
}  # the name says what is counted
AXES = {"bandwidth", "peak"}  # of the roofline, in the words of its literature


def unit_by_name(name: str) -> str | None:
    """The unit that the end of a column's name stands for."""
    endings = {
        ending: unit for unit, ending in ENDINGS.items() if re.search(rf"(^|(?<!per)_){ending}(_low|_high)?$", name)
    }
    return endings[max(endings, key=len)] if endings else None


def test_a_column_of_one_name_has_one_type_and_unit() -> None:
    kinds: dict[str, set[tuple[str, str | None]]] = {}
    for query in QUERIES.values():
        for column in query.columns:
            kinds.setdefault(column.name, set()).add((column.type, column.unit))
    assert {name: several for name, several in kinds.items() if len(several) > 1} == {}


def test_measured_columns_end_in_their_unit() -> None:
    columns = {(column.name, column.unit) for query in QUERIES.values() for column in query.columns}
    assert {unit for _, unit in columns} <= ENDINGS.keys() | COUNTED
    measured = {(name, unit) for name, unit in columns if name not in AXES and (unit in ENDINGS or unit_by_name(name))}
    assert {(name, unit) for name, unit in measured if unit_by_name(name) != unit} == set()


def test_values_run_from_low_to_high(little: Warehouse) -> None:
    for row in little.ask("FROM batch_stats() WHERE n_steps > 0"):
        ordered = [row[name] for name in ("p5_s", "p25_s", "step_s", "p75_s", "p95_s", "p99_s")]
        assert all(low <= high for low, high in pairwise(ordered))
