"""What runs are called, and which runs a name means."""

import json
import re
import tarfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import scalelens
from little_warehouse import Warehouse
from scalelens.question.run_names import in_command, with_names
from scalelens.report.columns import Columns
from scalelens.report.glance import by_names
from scalelens.runs.own_names import tells_something
from scalelens.runs.part import job_in_name
from sizes import ingested, write_log

SIZES = (1, 2, 16)


def names(warehouse: Warehouse) -> dict[str, str]:
    return {row["run_id"]: row["name"] for row in warehouse.ask("FROM run_names()")}


def meant(warehouse: Warehouse, text: str) -> list[str]:
    quoted = text.replace("'", "''")
    return [
        row["run_id"] for row in warehouse.ask(f"FROM named_runs(selector := '{quoted}', of := 'a')") if row["run_id"]
    ]


def study(warehouse: Warehouse, precisions: tuple[str, ...] = ("amp", "fp32"), **facts: object) -> None:
    for precision in precisions:
        for nodes in SIZES:
            warehouse.run(
                f"{precision}{nodes}", name="resnet50", model="resnet50", precision=precision, nodes=nodes,
                devices=4 * nodes, path=f"/s/{precision}/n{nodes}/slurm.out", **facts,
            )  # fmt: skip


def test_files_of_tensorboard_are_told_apart_by_when_they_began(warehouse: Warehouse) -> None:
    for run, rest in {"a": "1777777777.n1.52.0", "b": "1777777839.n1.71.0"}.items():
        warehouse.run(run, name="sft", path=f"/s/sft/tb/events.out.tfevents.{rest}")
    assert names(warehouse) == {"a": "sft 20260503-030937", "b": "sft 20260503-031039"}
    assert meant(warehouse, "sft 20260503-030937") == ["a"]
    warehouse.run("c", name="sft", path="/s/sft/tb/events.out.tfevents.1777777839.n2.8.0")
    assert names(warehouse)["c"] == "sft events.out.tfevents.1777777839.n2.8.0", "two of one second"


def test_traces_that_a_handler_names_are_called_by_their_folder_and_when_they_were_written(tmp_path: Path) -> None:
    trace = {
        "distributedInfo": {"rank": 0, "world_size": 1},
        "traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "a"}],
    }
    for folder, host, stamp in (
        ("overlap", "ip-10-0-0-7.eu.compute.internal_311", "1698955063520869240"),
        ("overlap", "ip-10-0-0-7_415", "1698955163520869240"), ("plain", "n1.cluster.eu_9", "1698955263520"),
        ("sweep", "resnet50_bs_32", "1698955363520869240"),
    ):  # fmt: skip
        (tmp_path / folder).mkdir(exist_ok=True)
        trace["traceEvents"][0]["ts"] += 1
        (tmp_path / folder / f"{host}.{stamp}.pt.trace.json").write_text(json.dumps(trace))
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    shown = {name for (name,) in scalelens.open(tmp_path / "w").sql("SELECT name FROM run_names()").iter_rows()}
    assert shown == {"overlap 20231102-195743", "overlap 20231102-195923", "plain", "resnet50_bs_32"}


def test_a_log_beside_a_tracker_that_states_less_is_named_by_its_framework(warehouse: Warehouse) -> None:
    for run, facts in {
        "a": {"framework": "torchtitan", "device_model": "NVIDIA GeForce RTX 5090", "devices": 8}, "b": {"devices": 8},
        "c": {"devices": 8},
    }.items():  # fmt: skip
        warehouse.run(run, name="fsdp8", path=f"/s/fsdp8/{run}/x", **facts)
    assert names(warehouse) == {"a": "fsdp8 torchtitan", "b": "fsdp8 b", "c": "fsdp8 c"}
    assert meant(warehouse, "fsdp8 NVIDIA GeForce RTX 5090") == ["a"], "any of its words names it still"


def test_runs_of_one_framework_are_named_by_what_one_of_them_states(warehouse: Warehouse) -> None:
    for run, facts in {"a": {"precision": "bf16"}, "b": {}}.items():
        warehouse.run(run, name="gpt", framework="megatron", path=f"/s/{run}/x", **facts)
    assert names(warehouse) == {"a": "gpt bf16", "b": "gpt"}


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("bf16-large", True), ("resnet50", True), ("gpt_a100_n2", True), ("a", True), ("run_B", True),
        ("slurm-3665238", False), ("v0-20260102-030405", False), ("swift_out", False), ("v2_bf16", True), ("batches", False), ("log", False), ("train_log", False), ("3108079", False),
        ("rank0", False), ("stdout_0012", False), ("2026-11-25_10-00-00", False), ("version_3", False), ("n16", False),
        ("16-node", False), ("nodes_4", False),
    ],
)  # fmt: skip
def test_a_name_that_any_log_may_have_tells_nothing(name: str, tells: bool) -> None:
    assert tells_something(name) == tells


def test_runs_of_one_table_are_called_what_the_tracker_calls_them(tmp_path: Path) -> None:
    table = "Name,State,Created,Runtime,loss\n{},finished,2026-08-12T10:00:00Z,12,1.5\n{},finished,2026-08-13T10:00:00Z,9,1\n"
    shown = {}
    for file, names_there in {"export": ("wise-sun-7", "2026-08-12_18-43"), "sweep": ("1", "2")}.items():
        (tmp_path / f"{file}.csv").write_text(table.format(*names_there))
    warehouse = tmp_path / "w"
    scalelens.ingest(tmp_path, warehouse=warehouse)
    shown = {name for (name,) in scalelens.open(warehouse).sql("SELECT name FROM run_names()").iter_rows()}
    assert shown == {"wise-sun-7", "2026-08-12_18-43", "sweep 1", "sweep 2"}


def test_a_count_of_nodes_tells_something_where_no_fact_does() -> None:
    assert tells_something("16-node", has_facts=False)


def test_names_are_made_of_what_tells_runs_apart(warehouse: Warehouse) -> None:
    study(warehouse)
    assert names(warehouse) == {
        "amp1": "resnet50 amp 1 node", "amp2": "resnet50 amp 2 nodes", "amp16": "resnet50 amp 16 nodes",
        "fp321": "resnet50 fp32 1 node", "fp322": "resnet50 fp32 2 nodes", "fp3216": "resnet50 fp32 16 nodes",
    }  # fmt: skip


def test_a_fact_that_all_runs_share_is_left_out(warehouse: Warehouse) -> None:
    study(warehouse, ("amp",), system="s")
    assert set(names(warehouse).values()) == {"resnet50 1 node", "resnet50 2 nodes", "resnet50 16 nodes"}


def test_equal_runs_have_their_job_then_a_folder_then_their_part_then_their_id(warehouse: Warehouse) -> None:
    warehouse.run("1111aa", name="jobs", job_id="77", path="/s/x/log")
    warehouse.run("1111bb", name="jobs", job_id="78", path="/s/x/log")
    warehouse.run("2222aa", name="folders", path="/s/old/run/log")
    warehouse.run("2222bb", name="folders", path="/s/new/run/log")
    warehouse.run("3333", name="parts", path="/s/x/log")
    warehouse.run("3333-1", name="parts", path="/s/x/log")
    warehouse.run("444444aa", name="ids", path="/s/x/log")
    warehouse.run("444444bb", name="ids", path="/s/x/log")
    assert names(warehouse) == {
        "1111aa": "jobs job 77", "1111bb": "jobs job 78", "2222aa": "folders old", "2222bb": "folders new",
        "3333": "parts", "3333-1": "parts (2)", "444444aa": "ids 444444a", "444444bb": "ids 444444b",
    }  # fmt: skip


def test_runs_that_one_folder_does_not_tell_apart_have_as_many_as_do(warehouse: Warehouse) -> None:
    for system in ("a100", "h200"):
        for test in ("idle", "load"):
            warehouse.run(f"{system}-{test}", name="power", path=f"/s/{system}/tests/{test}/power.csv")
    warehouse.run("other", name="alone", path="/t/a100/tests/idle/alone.csv")
    assert names(warehouse) == {
        "a100-idle": "power a100 idle", "a100-load": "power a100 load", "h200-idle": "power h200 idle",
        "h200-load": "power h200 load", "other": "alone",
    }  # fmt: skip
    assert meant(warehouse, "power h200") == ["h200-idle", "h200-load"]


def test_a_long_name_is_shortened_to_what_tells_the_runs_apart(warehouse: Warehouse) -> None:
    def long(rate: str, seed: int) -> str:
        return f"finetune_llama-7b-on-all-of-the-corpus_lr{rate}_warmup-of-two-thousand-steps_seed{seed}_2024-05-01"

    for k, (rate, seed) in enumerate([("1e-4", 1), ("1e-4", 2), ("3e-4", 1)]):
        warehouse.run(f"run{k}", name=long(rate, seed), path=f"/s/{k}.log")
    assert names(warehouse) == {"run0": "…lr1e-4…seed1…", "run1": "…lr1e-4…seed2…", "run2": "…lr3e-4…seed1…"}
    for text in ("…lr3e-4…seed1…", long("3e-4", 1), "…lr3e-4…"):
        assert meant(warehouse, text) == ["run2"]
    command = in_command(names(warehouse), "run2")
    assert command == "…lr3e-4…seed1…"
    assert warehouse.ask(f"FROM selected_runs(runs := '{command}')") == [{"run_id": "run2"}]
    warehouse.run("run3", name="bf16", precision="bf16", path="/s/bf16.log")
    assert names(warehouse)["run2"] == "…lr3e-4…seed1…", "a short name changes no long one"


def test_one_long_name_is_cut(warehouse: Warehouse) -> None:
    stated = "what the tracker calls it: a sentence of many words, which no table has a column for"
    warehouse.run("only", name=stated, path="/s/a.log")
    assert names(warehouse) == {"only": f"{stated[:59]}…"}
    assert meant(warehouse, stated) == meant(warehouse, f"{stated[:59]}…") == ["only"]


def test_parts_of_a_file_are_named_by_what_tells_them_apart(warehouse: Warehouse) -> None:
    warehouse.run("1111", name="sizes", nodes=48, path="/s/sizes.csv")
    warehouse.run("1111-1", name="sizes (2)", nodes=96, path="/s/sizes.csv")
    warehouse.run("2222", name="alike", path="/s/alike.csv")
    warehouse.run("2222-1", name="alike (2)", path="/s/alike.csv")
    assert names(warehouse) == {
        "1111": "sizes 48 nodes", "1111-1": "sizes 96 nodes", "2222": "alike", "2222-1": "alike (2)",
    }  # fmt: skip
    assert meant(warehouse, "sizes (2)") == ["1111-1"], "as it was called before"


def test_a_job_stands_for_many_facts_that_do_not_tell_runs_apart(warehouse: Warehouse) -> None:
    far, near = "the-system-with-a-long-name-far-away", "the-system-with-a-long-name-next-door"
    for job, (system, devices) in enumerate([(far, 8), (far, 8), (near, 8), (near, 16)]):
        warehouse.run(f"{job}", name="gpt", system=system, devices=devices, job_id=f"{job}", path="/s/x/log")
    assert names(warehouse) == {
        "0": "gpt job 0", "1": "gpt job 1", "2": f"gpt {near} 8 devices", "3": f"gpt {near} 16 devices",
    }  # fmt: skip
    assert meant(warehouse, f"gpt {far} 8 devices job 1") == ["1"], "the longer name still means its run"


def test_files_that_only_their_last_ending_tells_apart_are_named_whole(warehouse: Warehouse) -> None:
    for ending in ("log", "out"):
        warehouse.run(ending, name="job952", path=f"/s/job952.{ending}")
    assert names(warehouse) == {"log": "job952.log", "out": "job952.out"}
    assert meant(warehouse, "job952.out") == ["out"]


def test_every_name_is_of_one_run_and_means_it(warehouse: Warehouse) -> None:
    study(warehouse)
    warehouse.run(
        "again", name="resnet50", model="resnet50", precision="amp", nodes=1, devices=4, path="/t/x/slurm.out"
    )
    warehouse.run("bare")
    called = names(warehouse)
    assert len(set(called.values())) == len(called) == 8
    assert all(meant(warehouse, name) == [run_id] for run_id, name in called.items())


def test_a_name_that_was_shown_keeps_its_runs_when_others_come(warehouse: Warehouse) -> None:
    study(warehouse, ("amp",))
    before = names(warehouse)
    for number, precision in enumerate(("amp", "fp32", "fp32")):
        warehouse.run(
            f"late{number}", name="resnet50", model="resnet50", precision=precision, nodes=1 + number, system="t",
            devices=4, job_id=f"{number}", path="/t/slurm.out",
        )  # fmt: skip
    assert names(warehouse)["amp1"] != before["amp1"]
    for run_id, name in before.items():
        assert run_id in meant(warehouse, name), name
    assert len(meant(warehouse, "resnet50 1 node")) == 2


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("amp 16 nodes", ["amp16"]), ("AMP 16 nodes", ["amp16"]), ("fp32", ["fp321", "fp3216", "fp322"]),
        ("resnet50 amp 16 nodes 64 devices", ["amp16"]), ("resnet50 a…16 nodes", ["amp16"]), ("fp3216", ["fp3216"]),
        ("precision=amp", ["amp1", "amp16", "amp2"]), ("nodes = 2", ["amp2", "fp322"]), ("nodes = 5", []),
        ("resnet5", []), ("fp3", []), ("16 nodes resnet50", []), ("nope=1", []), ("", []),
    ],
)  # fmt: skip
def test_a_text_means_the_runs_that_it_fits(warehouse: Warehouse, text: str, runs: list[str]) -> None:
    study(warehouse)
    assert meant(warehouse, text) == runs


def test_a_selection_takes_names_and_pairs_as_it_takes_conditions(warehouse: Warehouse) -> None:
    study(warehouse)
    for text in ("fp32", "precision=fp32", "precision = ''fp32''"):
        rows = warehouse.ask(f"FROM selected_runs(runs := '{text}')")
        assert sorted(row["run_id"] for row in rows) == ["fp321", "fp3216", "fp322"]
    assert warehouse.ask("FROM runs_overview(runs := 'nodes = 5')") == []


def test_numbers_of_names_are_in_order(warehouse: Warehouse) -> None:
    """A student had varied the workers of the loader: 0, 12, 16 and 4 stood in this order."""
    for name in ("workers_16", "workers_4", "workers_0", "n2/b10", "n2/b9", "n10/b1", "x-20230401123456789012345"):
        warehouse.run(name, [1.0] * 5, path=f"/logs/{name}.out")
    ordered = warehouse.column("SELECT run_id FROM runs_overview()")
    assert ordered == ["n2/b9", "n2/b10", "n10/b1", "workers_0", "workers_4", "workers_16", "x-20230401123456789012345"]


def test_a_text_that_names_no_run_lists_the_closest(warehouse: Warehouse) -> None:
    study(warehouse)
    with pytest.raises(
        duckdb.Error, match=re.escape("runs: no run is called 'resnet50 amp 1'; there are resnet50 amp 1 node, ")
    ):
        warehouse.ask("FROM runs_overview(runs := 'resnet50 amp 1')")


def test_a_side_that_fits_several_runs_lists_them(warehouse: Warehouse) -> None:
    study(warehouse)
    complaint = "a: 'amp' fits 3 runs; name one of resnet50 amp 1 node, resnet50 amp 16 nodes, resnet50 amp 2 nodes, or"
    with pytest.raises(duckdb.Error, match=complaint):
        warehouse.ask("FROM two_sides(a := 'amp', b := 'fp321')")


def test_a_condition_without_runs_names_the_query_that_shows_them(warehouse: Warehouse) -> None:
    study(warehouse)
    complaint = "a: no run matches nodes > 99; see the runs with: scalelens query runs_overview"
    with pytest.raises(duckdb.Error, match=complaint):
        warehouse.ask("FROM two_sides(a := 'nodes > 99', b := 'fp321')")
    assert warehouse.ask("FROM runs_overview()")


def test_rows_of_people_are_sorted_by_the_numbers_in_names() -> None:
    rows = Columns(pa.table({"run_id": ["a", "b", "c"]}))
    assert by_names(rows, {"a": "n16", "b": "n2", "c": "n1"})["run_id"] == ["c", "b", "a"]


def test_files_that_only_their_names_tell_apart_are_named_by_them(warehouse: Warehouse) -> None:
    for every in (1, 10):
        warehouse.run(f"c{every}", name="h100", path=f"/s/h100/ckpt{every}.csv")
    for k in (1, 2):
        warehouse.run(f"{k}abcd", name="twins", path=f"/s/{k}/log.csv")
    assert {run: name for run, name in names(warehouse).items() if run[0] == "c"} == {
        "c1": "h100 ckpt1", "c10": "h100 ckpt10",
    }  # fmt: skip
    assert meant(warehouse, "h100 ckpt10") == ["c10"]
    assert meant(warehouse, "ckpt1") == ["c1"]


def test_traces_of_ranks_are_called_by_what_their_names_share(tmp_path: Path) -> None:
    for folder, stems, name in (
        ("a", ("Baseline - 12-11 - e049e-rank0-trace", "Baseline - 12-11 - 6bd4b-rank1-trace"), "Baseline - 12-11"),
        ("b", ("bench-h100_rank10", "bench-h100_rank11"), "bench-h100"),
        ("gpt-long", ("rank0_trace", "rank1_trace"), "gpt-long"),
        ("c", ("bench-h100_rank7",), "bench-h100_rank7"),
    ):
        for rank, stem in enumerate(stems):
            event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0 + rank}
            about = {"rank": rank, "world_size": 2}
            (tmp_path / folder).mkdir(exist_ok=True)
            trace = {"schemaVersion": 1, "distributedInfo": about, "traceEvents": [event]}
            (tmp_path / folder / f"{stem}.json").write_text(json.dumps(trace))
        scalelens.ingest(tmp_path / folder, warehouse=tmp_path / f"w{folder}")
        names = scalelens.query("run_names", warehouse=tmp_path / f"w{folder}")["name"].to_list()
        assert names == [name]


def test_a_folder_in_an_archive_is_called_by_its_own_name(tmp_path: Path) -> None:
    for rank in (0, 1):
        event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0 + rank}
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [event]}
        (tmp_path / f"worker{rank}.json").write_text(json.dumps(trace))
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for rank in (0, 1):
            archive.add(tmp_path / f"worker{rank}.json", f"dlrm/worker{rank}.pt.trace.json")
    scalelens.ingest(tmp_path / "all.tar.gz", warehouse=tmp_path / "w")
    assert scalelens.query("run_names", warehouse=tmp_path / "w")["name"].to_list() == ["dlrm"]


def test_files_that_differ_after_a_dot_are_named_by_what_differs(warehouse: Warehouse) -> None:
    """`cg.A.1.power.txt` of two folders: what is before the first dot tells nothing apart, and no id is needed."""
    for k, folder in enumerate(("MPI", "OMP")):
        for size in (1, 2):
            for kind in ("power", "sensor"):
                path = f"/s/{folder}/cg.A.{size}.{kind}.txt"
                warehouse.run(f"{k}{size}{kind}", name="cg", path=path)
    assert names(warehouse) == {
        f"{k}{size}{kind}": f"cg.A.{size}.{kind} {folder}"
        for k, folder in enumerate(("MPI", "OMP")) for size in (1, 2) for kind in ("power", "sensor")
    }  # fmt: skip
    assert meant(warehouse, "cg.A.2.power OMP") == ["12power"]
    assert sorted(meant(warehouse, "cg.A.2.power")) == ["02power", "12power"]


def test_the_name_of_a_file_that_holds_the_runs_own_stands_for_it_and_for_the_model(warehouse: Warehouse) -> None:
    """`batch_scaling 2 devices batch 16 resnet50 batch_scaling_ddp_resnet50` says two things twice."""
    for strategy in ("ddp", "fsdp"):
        for model in ("resnet50", "vit"):
            for batch in (16, 32):
                path = f"/s/batch_scaling_{strategy}_{model}.json"
                facts = {"devices": 2, "global_batch_size": batch, "model": model}
                warehouse.run(f"{strategy}{model}{batch}", name="batch_scaling", path=path, **facts)
    assert names(warehouse) == {
        f"{strategy}{model}{batch}": f"batch_scaling_{strategy}_{model} batch {batch}"
        for strategy in ("ddp", "fsdp") for model in ("resnet50", "vit") for batch in (16, 32)
    }  # fmt: skip
    assert meant(warehouse, "batch_scaling_ddp_vit batch 32") == ["ddpvit32"]
    assert sorted(meant(warehouse, "batch_scaling batch 16 vit")) == ["ddpvit16", "fsdpvit16"]


def test_commands_call_runs_by_their_names() -> None:
    known = {"8ca7238ccb0d": "amp 2 nodes", "8ca7238ccb0d-1": "fp32"}
    assert with_names("see: scalelens query exclusions runs=8ca7238ccb0d", known).endswith(' runs="amp 2 nodes"')
    assert with_names("a=8ca7238ccb0d-1 b=8ca7238ccb0d; c", known) == 'a=fp32 b="amp 2 nodes"; c'
    assert with_names("runs=0123456789ab sha=8ca7238ccb0d", known) == "runs=0123456789ab sha=8ca7238ccb0d"
    called = "compare them by differences(a := '{}', b := '{}')"
    assert with_names(called.format("8ca7238ccb0d-1", "0123456789ab"), known) == called.format("fp32", "0123456789ab")
    assert with_names("(a := '8ca7238ccb0d')", {"8ca7238ccb0d": "amy's run"}) == "(a := 'amy''s run')"


NAMED_JOBS = {
    "slurm-1809577.out": "1809577",
    "1809577.out": "1809577",
    "resnet.o1809577": "1809577",
    "2024-02-03-3665238.out": "3665238",
    "train_20240203_987654.log": "987654",  # no clock shows 98 hours
    "train_20240203_123456.log": None,
    "train-2024-02-03_123456.log": None,
    "03_02_2024.123456.out": None,
    "240203-123456.log": None,
    "2024-02-03 07:54:18.359974.log": None,
    "2024-02-03_07-54-18.35997.log": None,
    "log_1719483321.txt": None,
    "20240203.log": None,
    "gpt_41500001_nid001017.out": "41500001",  # as `#SBATCH -o %x_%j_%N.out` gives on HPE Cray
    "gpt_41500001_step001017.out": None,
}


def test_the_job_and_the_node_in_a_name_are_not_what_people_call_the_run(tmp_path: Path) -> None:
    for devices, job, node in ((8, 41500001, 1017), (16, 41500002, 1022)):
        write_log(tmp_path / "logs" / f"tiny_{job}_nid{node:06}.txt", 0.5, devices=devices)
    rows = scalelens.open(ingested(tmp_path / "logs", tmp_path / "w")).sql("FROM run_names() ORDER BY name")
    assert rows["name"].to_list() == ["tiny 16 devices", "tiny 8 devices"]
    assert "job 41500002" in rows["words"].to_list()[0]


@pytest.mark.parametrize("name", NAMED_JOBS)
def test_a_time_in_a_name_is_no_job(name: str) -> None:
    assert job_in_name(name) == NAMED_JOBS[name]
