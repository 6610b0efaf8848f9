"""What the peers print of real traces, and what is known of them.  Skipped where they do not lie beside the project.

A test per kind of table of TraceLens; where its number is not ours, the reason stands in the test.
"""

import ast
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import pytest

import scalelens
from asking import rows_of
from conftest import CORPUS
from scalelens.ingestion.ingest import ingest

TABLES = CORPUS.parent / "reference" / "tracelens"
TRACES = CORPUS / "traces"
PARAM = "facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz"
FILES = {
    "dlrm8_r0": PARAM,
    "dlrm8_collectives": PARAM,
    "h100_owlv2": "AMD-AGI__TraceLens/tests/traces/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "mi300x_owlv2": "AMD-AGI__TraceLens/tests/traces/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "mi300x_ddp_resnet_actckpt_r0of8": "AMD-AGI__TraceLens/tests/traces/mi300/resnet_act_checkpoint.json.gz",
    "mi300x_ddp_resnet_actckpt_r0of8__unlinked": "AMD-AGI__TraceLens/tests/traces/mi300/resnet_act_checkpoint.json.gz",
    "nccl_meta_a100": "facebookresearch__HolisticTraceAnalysis/tests/data/nccl_parser_config/nccl_data.json.gz",
    "v100_r1of2": "facebookresearch__HolisticTraceAnalysis/tests/data/df_index_resolver/df_index_resolver.json.gz",
}
RANKS = {"v100_r1of2": 1}
csv.field_size_limit(sys.maxsize)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens the warehouse of a set of traces."""
    if not TABLES.is_dir():
        pytest.skip("no tables of the peers beside the project")

    @cache
    def of(file: str) -> duckdb.DuckDBPyConnection:
        root = tmp_path_factory.mktemp("w")
        ingest([TRACES / file], root, jobs=1)
        return scalelens.connect(root)

    yield lambda name: of(FILES.get(name, name))
    for kept in (operator_calls, ask, of):
        kept.cache_clear()


def table(name: str, sheet: str) -> list[dict[str, str]]:
    with (TABLES / name / f"{sheet}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def ask(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Rows of a query: a table of one trace is asked for once."""
    return rows_of(connection, query)


# Collectives


def test_collectives_of_dlrm(opened: Any) -> None:
    connection = opened("dlrm8_collectives")
    ours = ask(connection, "FROM collectives() ORDER BY call")
    arrivals = {(row["call"], row["rank"]): row for row in ask(connection, "FROM collective_arrivals()")}
    theirs = table("dlrm8_collectives", "nccl_implicit_sync")
    assert len(ours) == len(theirs) == 8
    for row, said in zip(ours, theirs, strict=True):
        assert row["time_ns"] == 1000 * int(said["comm_latency"])
        assert row["skew_ns"] == 1000 * int(said["skew in start time"])
        assert row["end_skew_ns"] == 1000 * int(said["skew in end time"])
        assert row["mean_wait_ns"] == 1000 * float(said["avg_wait_time"])
        assert row["first_rank"] == int(said["earliest arrival rank"])
        for rank in range(8):
            arrival = arrivals[row["call"], rank]
            assert arrival["wait_ns"] == 1000 * int(said[f"rank_{rank}_wait_time"])
            assert arrival["duration_ns"] == 1000 * int(said[f"rank_{rank}_dur"])


def test_summary_of_collectives_of_dlrm(opened: Any) -> None:
    (said,) = table("dlrm8_collectives", "nccl_summary_implicit_sync")
    for column, of_theirs in (
        ("time_ns", "comm_latency"), ("skew_ns", "skew in start time"), ("end_skew_ns", "skew in end time"),
    ):  # fmt: skip
        for theirs, ours in (("mean", "avg"), ("median", "median"), ("min", "min"), ("max", "max")):
            found = ask(opened("dlrm8_collectives"), f"SELECT {ours}({column}) / 1000 AS x FROM collectives()")[0]["x"]
            assert found == pytest.approx(float(said[f"{of_theirs}_{theirs}"]))


def test_each_call_of_dlrm(opened: Any) -> None:
    ours = {
        (row["rank"], row["start_ns"]): (row["call"], row["duration_ns"])
        for row in ask(opened("dlrm8_collectives"), "FROM collective_calls()")
    }
    theirs = table("dlrm8_collectives", "nccl_long")
    assert len(ours) == len(theirs) == 64
    for said in theirs:
        found = ours[int(said["rank"]), 1000 * int(said["ts"])]
        assert found == (int(said["collective_id"]), 1000 * int(said["dur"]))


def test_stragglers_of_dlrm(opened: Any) -> None:
    ours = {row["rank"]: row for row in ask(opened("dlrm8_collectives"), "FROM collective_skew()")}
    for said in table("dlrm8_collectives", "straggler_summary"):
        row = ours[int(said["rank"])]
        assert row["wait_ns"] == 1000 * int(said["total_wait_time_us"])
        assert row["mean_wait_ns"] / 1000 == pytest.approx(float(said["mean_wait_time_us"]), abs=0.0501)
        assert row["times_last"] == int(said["times_arrived_last"])
        assert row["times_first"] == int(said["times_arrived_first"])
        assert 100 * row["last_share"] == float(said["pct_arrived_last"])
        assert row["collectives"] == int(said["num_collectives"])
        assert row["busy_ns"] == 1000 * int(said["total_nccl_dur_us"])


@pytest.mark.parametrize("name", ["nccl_meta_a100", "mi300x_ddp_resnet_actckpt_r0of8"])
def test_collectives_by_message(opened: Any, name: str) -> None:
    ours = ask(
        opened(name),
        """SELECT kind, dtype, in_bytes, out_bytes, group_size, sum(duration_ns) / 1000 AS total, avg(duration_ns) / 1000
            AS mean, stddev(duration_ns) / 1000 AS deviation, min(duration_ns) / 1000 AS least,
            max(duration_ns) / 1000 AS most, count(*) AS calls
        FROM collective_calls() WHERE in_bytes IS NOT NULL GROUP BY ALL""",
    )
    theirs = table(name, "coll_analysis")
    assert len(ours) == len(theirs)
    found = {(row["kind"].replace("_", ""), row["dtype"], row["in_bytes"]): row for row in ours}
    for said in theirs:
        message = round(float(said["In msg size (MB)_first"]) * 2**20)
        row = found[said["Collective name"], said["dtype"].lower(), message]
        assert row["out_bytes"] == round(float(said["Out msg size (MB)_first"]) * 2**20)
        assert (row["calls"], row["group_size"]) == (int(said["operation_count"]), float(said["Group size"]))
        for ours_, theirs_ in (("total", "sum"), ("mean", "mean"), ("least", "min"), ("most", "max")):
            assert row[ours_] == pytest.approx(float(said[f"dur_{theirs_}"]), rel=1e-9)
        assert row["deviation"] == pytest.approx(float(said["dur_std"]), rel=1e-6)


def test_arrival_by_an_independent_script(opened: Any) -> None:
    said = json.loads((CORPUS.parent / "reference" / "dlrm8_collective_arrival.json").read_text())
    connection = opened("dlrm8_collectives")
    for row, collective in zip(ask(connection, "FROM collectives() ORDER BY call"), said["collectives"], strict=True):
        assert row["last_rank"] == collective["last"]
        assert [row[name] for name in ("skew_ns", "margin_ns", "end_skew_ns", "time_ns")] == [
            1000 * collective[name] for name in ("skew", "last_minus_second", "end_skew", "min_dur")
        ]
    for row in ask(connection, "FROM collective_skew()"):
        rank = str(row["rank"])
        assert row["wait_ns"] == 1000 * said["total_wait_us"][rank]
        assert row["times_last"] == said["times_last"][rank]
        assert row["blame_ns"] == 1000 * said["marginal_blame"][rank]


# Slow GPUs


def test_dlrm_has_a_late_host_and_no_slow_gpu(opened: Any) -> None:
    rows = {row["rank"]: row for row in ask(opened("dlrm8_collectives"), "FROM outlier_gpus()")}
    assert {row["verdict"] for row in rows.values()} == {"late", "ordinary", "unknown"}
    assert [(rank, row["cause"]) for rank, row in rows.items() if row["verdict"] == "late"] == [(7, "host")]
    assert "last at 5 of 8 collectives" in rows[7]["evidence"]


@pytest.mark.parametrize(("job", "slow"), [("AR", [0]), ("ST", [])])
def test_labelled_traces_of_bytedance(opened: Any, job: str, slow: list[int]) -> None:
    connection = opened(f"ByteDance-Seed__StragglerAnalysis/data/trace-{job}.parquet")
    rows = ask(connection, "FROM outlier_gpus() WHERE verdict <> 'ordinary'")
    assert [row["rank"] for row in rows] == slow
    if slow:
        (row,) = rows
        assert (row["verdict"], row["cause"], row["flagged_share"]) == ("slow", "gpu", 1.0)
        assert (round(row["z"], 1), round(row["ratio"], 2)) == (67.5, 2.35)  # by an independent script


# Operators

PLAIN = ("GEMM", "CONV_fwd", "CONV_bwd", "BinaryElementwise", "UnaryElementwise", "Normalization", "Reduce_fwd")
RESNET = ("mi300x_ddp_resnet_actckpt_r0of8", "mi300x_ddp_resnet_actckpt_r0of8__unlinked")
SETS = ("dlrm8_r0", "h100_owlv2", "mi300x_owlv2", *RESNET)
CASES = [(name, sheet) for name in SETS for sheet in PLAIN if (TABLES / name / f"{sheet}.csv").is_file()]

Key = tuple[str, str, str]

# Their kernels are those of an operator within, where ours are counted; the operator within is in the same table or
# in another.  mean calls sum, linalg_norm copies, a division by a number calls that by a tensor.
HOLDS_ANOTHER = ("aten::batch_norm", "aten::layer_norm", "aten::mean", "aten::linalg_norm", "aten::sum", "aten::div")


@pytest.mark.parametrize(("name", "sheet"), CASES)
def test_work_of_operators(opened: Any, name: str, sheet: str) -> None:
    ours: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    # Of the MI300X they do not find the launches of fills, of the H100 they do.
    for row in ask(
        opened(name),
        """WITH fills AS (
            SELECT o.file_id, o.line, sum(g.duration_ns) AS fill_ns
            FROM op_work() AS o JOIN events AS e USING (file_id, line) JOIN gpu_events() AS g
                ON g.file_id = o.file_id AND g.category = 'gpu_memset'
                AND g.launch_start_ns BETWEEN e.start_ns AND e.start_ns + e.duration_ns
            GROUP BY ALL)
        SELECT o.name, shapes, e.args->>'Input type' AS types, count(*) AS calls, any_value(flops) AS flops,
            any_value(moved_bytes) AS moved, sum(kernel_ns) / 1000 AS kernel_us, sum(coalesce(fill_ns, 0)) / 1000 AS fill_us
        FROM op_work() AS o JOIN events AS e USING (file_id, line) LEFT JOIN fills USING (file_id, line)
        WHERE coalesce(o.rank, 0) = 0 GROUP BY ALL""",
    ):
        ours[row["name"], normal(row["shapes"]), normal(row["types"])].append(row)
    theirs: dict[Key, list[dict[str, str]]] = defaultdict(list)
    for said in table(name, sheet):
        if float(said["Kernel Time (µs)_sum"]) > 0:  # others launch nothing: they ran on the host
            theirs[said["name"], normal(said["Input Dims_first"]), normal(said["Input type_first"])].append(said)
    assert theirs
    compared = 0
    for key, rows in theirs.items():
        if not (found := ours.get(key)):
            assert key[0] in HOLDS_ANOTHER, key
            continue
        calls, time = sum(row["calls"] for row in found), sum(row["kernel_us"] for row in found)
        filled = time - sum(row["fill_us"] for row in found)
        their_calls = sum(int(said["name_count"]) for said in rows)
        their_time = sum(float(said["Kernel Time (µs)_sum"]) for said in rows)
        rounding = 0.002 * their_calls + 0.001  # theirs are differences of microseconds since 1970 in floating point
        if key[0] not in HOLDS_ANOTHER:
            assert calls == their_calls, key
            assert time == pytest.approx(their_time, abs=rounding) or filled == pytest.approx(
                their_time, abs=rounding
            ), key
            compared += 1
        if not their_mistake(key, rows[0]):
            assert found[0]["flops"] == pytest.approx(1e9 * float(rows[0]["GFLOPS_first"]), rel=1e-9), key
            assert found[0]["moved"] == round(2**20 * float(rows[0]["Data Moved (MB)_first"])), key
    assert compared or sheet == "Reduce_fwd"


def normal(text: str) -> str:
    """Shapes or types, as JSON or as Python writes them."""
    return json.dumps(ast.literal_eval(text)).replace(" ", "")


def their_mistake(key: Key, said: dict[str, str]) -> bool:
    """Where theirs cannot be right, and ours is another."""
    name, shapes, _ = key
    if name == "aten::convolution_backward":  # no gradient of the input was asked for, and theirs counts it
        return "[False, True, False]" in said["Concrete Inputs_first"]
    if name == "aten::add_" and shapes == "[[1,5184,4],[5184,4],[]]":  # in place: the result is bfloat16, not float
        return True
    if name == "aten::copy_" and not said["Data Moved (MB)_first"]:
        return True
    # A reduction over some axes gives more than the one number that theirs takes it to give.
    axes = ast.literal_eval(said["Concrete Inputs_first"] or "[]")
    return name in ("aten::sum", "aten::mean", "aten::linalg_norm") and any(str(axis).startswith("[") for axis in axes)


@pytest.mark.parametrize("name", RESNET)
def test_backward_of_a_mean_writes_every_element(opened: Any, name: str) -> None:
    """Reduce_bwd: they put the forward's sum, of one result, on the kernels of its gradient, a division by 49.

    The division reads 10 x 512 x 7 x 7 numbers of 2 bytes and writes as many.
    """
    (said,) = (row for row in table(name, "Reduce_bwd") if float(row["Kernel Time (µs)_sum"]) > 0)
    assert (said["name"], said["param: num_output_elems"]) == ("aten::mean", "1")
    rows = ask(
        opened(name),
        "FROM op_work() WHERE name = 'aten::div' AND replace(shapes, ' ', '') = '[[10,512,7,7],[]]'",
    )
    assert len(rows) == int(said["name_count"]) == 3
    assert sum(row["kernel_ns"] for row in rows) / 1000 == pytest.approx(float(said["Kernel Time (µs)_sum"]), abs=0.01)
    assert {row["family"] for row in rows} == {"elementwise"}
    elements = 10 * 512 * 7 * 7
    assert round(2**20 * float(said["Data Moved (MB)_first"])) == 2 * elements + 2
    assert {(row["flops"], row["moved_bytes"]) for row in rows} == {(elements, 4 * elements + 8)}


@pytest.mark.parametrize("name", ["dlrm8_r0", "v100_r1of2", "nccl_meta_a100"])
def test_backward_reductions_that_cannot_be_reckoned(opened: Any, name: str) -> None:
    """Reduce_bwd of these: nothing was launched, or the trace has no shapes; theirs has 0 operations then."""
    for said in table(name, "Reduce_bwd"):
        assert float(said["Kernel Time (µs)_sum"]) == 0 or float(said["GFLOPS_first"]) == 0
    if name != "dlrm8_r0":
        assert ask(opened(name), "SELECT name FROM op_work() WHERE flops IS NOT NULL") == []


OPERATORS = ("dlrm8_r0", "h100_owlv2", "mi300x_owlv2", *RESNET, "nccl_meta_a100", "v100_r1of2")
ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")


@cache
def operator_calls(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    """Each call that launched something, itself or by an operator within, with its arguments.

    `fill_ns` is the time of the fills that calls within it launched.
    """
    rows = ask(
        connection,
        f"""WITH
        calls AS (
            SELECT o.*, e.thread, e.args FROM op_calls() AS o JOIN events AS e USING (file_id, line)
            WHERE coalesce(o.rank, 0) = {RANKS.get(name, 0)} AND o.subtree_kernels > 0),
        fills AS (
            SELECT c.file_id, c.line, sum(g.duration_ns) AS fill_ns
            FROM calls AS c JOIN gpu_events() AS g ON g.file_id = c.file_id AND g.category = 'gpu_memset'
                AND g.launch_thread = c.thread
                AND g.launch_start_ns BETWEEN c.start_ns AND c.start_ns + c.duration_ns
            GROUP BY ALL)
        SELECT calls.*, coalesce(fill_ns, 0) AS fill_ns FROM calls LEFT JOIN fills USING (file_id, line)""",
    )
    for row in rows:
        said = json.loads(row["args"] or "{}")
        row["key"] = (row["name"], *(normal(str(said[one])) if said.get(one) else "" for one in ARGUMENTS))
    return rows


def key_of(said: dict[str, str]) -> tuple[str, ...]:
    return (said["name"], *(normal(said[one]) if said[one] else "" for one in ARGUMENTS))


def agrees(ours_ns: int, theirs_us: float, calls: int, fill_ns: int = 0) -> bool:
    """Theirs are differences of microseconds since 1970 in floating point, and without the fills of AMD's libraries."""
    rounding = 0.002 * calls + 0.001
    return any(abs(time / 1000 - theirs_us) <= rounding for time in (ours_ns, ours_ns - fill_ns))


def sums_by(rows: list[dict[str, Any]], by: str, *columns: str) -> dict[Any, list[int]]:
    """Calls, and the sums of columns."""
    found: dict[Any, list[int]] = defaultdict(lambda: [0] * (1 + len(columns)))
    for row in rows:
        found[row[by]] = [x + y for x, y in zip(found[row[by]], [1, *(row[one] for one in columns)], strict=True)]
    return found


def theirs_by(name: str, sheet: str, keys: Any, *columns: str) -> dict[Any, list[float]]:
    """The sums of their columns: they group by the thread too."""
    found: dict[Any, list[float]] = defaultdict(lambda: [0.0] * len(columns))
    for said in table(name, sheet):
        key = keys(said)
        found[key] = [x + float(said[one]) for x, one in zip(found[key], columns, strict=True)]
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_by_arguments(opened: Any, name: str) -> None:
    """ops_unique_args: time that calls of the same arguments launched, themselves and with the operators within."""
    calls = [row for row in operator_calls(opened(name), name) if row["kernels"] > 0]
    ours = sums_by(calls, "key", "kernel_ns", "subtree_kernel_ns", "fill_ns")
    said = theirs_by(
        name, "ops_unique_args", key_of,
        "operation_count", "total_direct_kernel_time_sum", "total_subtree_kernel_time_sum",
    )  # fmt: skip
    assert {key[0] for key in ours.keys() - said.keys()} <= {"record_param_comms"}  # they list collectives elsewhere
    for key, (count, direct, subtree) in said.items():
        found, direct_ns, subtree_ns, fill_ns = ours[key]
        fill_ns = fill_ns if name in RESNET else 0
        assert found == count, key
        assert agrees(direct_ns, direct, found, fill_ns) and agrees(subtree_ns, subtree, found, fill_ns), key


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_their_categories(opened: Any, name: str) -> None:
    """ops_summary and ops_summary_by_category: the same by name, and added by the category they put a name into."""
    calls = [row for row in operator_calls(opened(name), name) if row["kernels"] > 0]
    ours = sums_by(calls, "name", "kernel_ns", "subtree_kernel_ns", "fill_ns")
    in_category: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0])
    all_of = sum(float(said["total_direct_kernel_time_sum"]) for said in table(name, "ops_summary"))
    for said in table(name, "ops_summary"):
        found, direct_ns, subtree_ns, fill_ns = ours[said["name"]]
        fill_ns = fill_ns if name in RESNET else 0
        assert found == int(said["Count"])
        assert agrees(direct_ns, float(said["total_direct_kernel_time_sum"]), found, fill_ns)
        assert agrees(subtree_ns, float(said["total_subtree_kernel_time_sum"]), found, fill_ns)
        assert (direct_ns - fill_ns) / 10 / all_of == pytest.approx(float(said["Percentage (%)"]), abs=2e-3)
    listed = {said["name"]: said["op category"] for said in table(name, "ops_unique_args")}
    for op, category in listed.items():
        found, direct_ns, _, fill_ns = ours[op]
        so_far = in_category[category]
        in_category[category] = [so_far[0] + found, so_far[1] + direct_ns, so_far[2] + fill_ns]
    for said in table(name, "ops_summary_by_category"):
        found, direct_ns, fill_ns = in_category[said["op category"]]
        assert found == int(said["Count"])
        time = 1000 * float(said["total_direct_kernel_time_ms"])
        assert agrees(direct_ns, time, found, fill_ns if name in RESNET else 0), said["op category"]


@pytest.mark.parametrize("name", [one for one in OPERATORS if one not in RESNET])
def test_outermost_operators(opened: Any, name: str) -> None:
    """unified_perf_summary: each piece of work once, at the outermost operator that the table lists.

    A kernel that they give a row of its own, as a synthetic operator, is left to the test of kernels.
    """
    said = theirs_by(
        name, "unified_perf_summary", key_of, "operation_count", "total_duration_us", "Kernel Time (µs)_sum"
    )  # fmt: skip
    said = {key: values for key, values in said.items() if "(Synthetic Op)" not in key[0]}
    calls = {(row["file_id"], row["line"]): row for row in operator_calls(opened(name), name)}

    def is_outermost(row: dict[str, Any]) -> bool:
        while row := calls.get((row["file_id"], row["parent_line"])):  # type: ignore[assignment]
            if row["key"] in said:
                return False
        return True

    ours = sums_by([row for row in calls.values() if is_outermost(row)], "key", "duration_ns", "subtree_kernel_ns")
    assert said
    for key, (count, duration, kernels) in said.items():
        assert ours[key][0] == count, key
        assert agrees(ours[key][1], duration, ours[key][0]) and agrees(ours[key][2], kernels, ours[key][0]), key


@pytest.mark.parametrize("name", ["h100_owlv2", "mi300x_owlv2"])
def test_work_of_the_outermost_operators(opened: Any, name: str) -> None:
    """unified_perf_summary: operations and bytes, where ours are those of the same operator."""
    ours = {
        (row["name"], normal(row["shapes"]), normal(row["types"])): row
        for row in ask(
            opened(name),
            "SELECT o.*, e.args->>'Input type' AS types FROM op_work() AS o JOIN events AS e USING (file_id, line)",
        )
    }
    checked = 0
    for said in table(name, "unified_perf_summary"):
        key = (said["name"], normal(said["Input Dims"] or "[]"), normal(said["Input type"] or "[]"))
        row = ours.get(key)
        if row and said["GFLOPS"] and not their_mistake(key, {"Concrete Inputs_first": said["Concrete Inputs"],
                                                              "Data Moved (MB)_first": said["Data Moved (MB)"]}):  # fmt: skip
            assert row["flops"] == pytest.approx(1e9 * float(said["GFLOPS"]), rel=1e-9), key
            assert row["moved_bytes"] == round(2**20 * float(said["Data Moved (MB)"])), key
            checked += 1
    assert checked > 20


# Kernels


@pytest.mark.parametrize("name", [one for one in OPERATORS if "unlinked" not in one])
def test_kernels(opened: Any, name: str) -> None:
    """kernel_summary: theirs are apart by operator and stream, and without copies and fills."""
    theirs: dict[str, list[dict[str, str]]] = defaultdict(list)
    for said in table(name, "kernel_summary"):
        theirs[said["Kernel name"]].append(said)
    ours = {
        row["name"]: row
        for row in ask(
            opened(name), f"FROM kernel_summary() WHERE coalesce(rank, 0) = {RANKS.get(name, 0)}"
        )
    }  # fmt: skip
    assert {row["class"] for kernel, row in ours.items() if kernel not in theirs} <= {"memory"}
    all_us = sum(ours[kernel]["total_ns"] for kernel in theirs) / 1000
    for kernel, rows in theirs.items():
        row = ours[kernel]

        def of(column: str, rows: list[dict[str, str]] = rows) -> list[float]:
            return [float(said[f"Kernel duration (µs)_{column}"]) for said in rows]

        assert row["calls"] == sum(of("count")), kernel
        assert row["total_ns"] / 1000 == pytest.approx(sum(of("sum")), abs=0.002 * row["calls"])
        assert row["min_ns"] / 1000 == pytest.approx(min(of("min")), abs=0.002)
        assert row["max_ns"] / 1000 == pytest.approx(max(of("max")), abs=0.002)
        share = sum(float(said["Percent of kernels time (%)"]) for said in rows)
        assert 0.1 * row["total_ns"] / all_us == pytest.approx(share, abs=1e-4), kernel


@pytest.mark.parametrize("name", [one for one in OPERATORS if "unlinked" not in one])
def test_kernels_by_operator(opened: Any, name: str) -> None:
    """kernel_summary: the innermost operator around the launch, and none where the trace lacks the launch."""
    ours = {
        (row["operator"], row["name"]): row
        for row in ask(
            opened(name),
            f"""SELECT split_part(operators, ' / ', -1) AS operator, name, sum(calls) AS calls, sum(total_ns) AS total_ns
            FROM kernel_tree() WHERE coalesce(rank, 0) = {RANKS.get(name, 0)} GROUP BY ALL""",
        )
    }
    theirs = theirs_by(
        name, "kernel_summary", lambda said: (said["Parent cpu_op"] or None, said["Kernel name"]),
        "Kernel duration (µs)_count", "Kernel duration (µs)_sum",
    )  # fmt: skip
    for key, (calls, total) in theirs.items():
        assert ours[key]["calls"] == calls, key
        assert ours[key]["total_ns"] / 1000 == pytest.approx(total, abs=0.002 * calls), key
