"""Every table that HTA 0.6.1 prints of real traces, to its printed digits.  Skipped where they do not lie beside the project.

HTA rounds the times of a trace with fractions of a microsecond: starts up, ends down.  So that its definitions can be
held digit by digit, its tables are compared on events rounded in the same way; what the same queries say of the true
times is compared with `hta_exact.json`.  Where HTA's own numbers are wrong, the test says so and holds the right one.
"""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import scalelens
from conftest import CORPUS
from scalelens.ingestion import ingest
from test_queries import empty_warehouse

REFERENCE = CORPUS.parent / "reference"
HTA = "traces/facebookresearch__HolisticTraceAnalysis/tests/data/"
TRACELENS = "traces/AMD-AGI__TraceLens/tests/traces/"
SAMPLES = "traces/pytorch__kineto/tb_plugin/samples/"
OWLV2 = "google_owlv2-large-patch14-ensemble__1016001.json.gz"
SETS = {
    "v100_r1of2": HTA + "df_index_resolver/df_index_resolver.json.gz",
    "nccl_meta_a100": HTA + "nccl_parser_config/nccl_data.json.gz",
    "mi300x_ddp_resnet_actckpt_r0of8": TRACELENS + "mi300/resnet_act_checkpoint.json.gz",
    "h100_owlv2": TRACELENS + "h100/" + OWLV2,
    "mi300x_owlv2": TRACELENS + "mi300/" + OWLV2,
    "mtia": HTA + "mtia_trace_single_rank/mtia_rank_0.json.gz",
    "kineto_resnet50_v100": SAMPLES + "resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
    "cpu_only": HTA + "cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "large_int": HTA + "large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz",
    "mi250": HTA + "amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "ns_v100": HTA + "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "test_v100_r1of2": HTA + "trace_diff/test/test.json.gz",
    "dlrm8": "traces/facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz",
}
ROUNDED = """
CREATE TABLE events AS SELECT * REPLACE (
    CASE WHEN whole THEN start_ns ELSE (start_ns + 999) // 1000 * 1000 END AS start_ns,
    CASE WHEN whole THEN duration_ns
        ELSE ((start_ns + duration_ns) // 1000 - (start_ns + 999) // 1000) * 1000 END AS duration_ns)
FROM (SELECT *, bool_and(start_ns % 1000 = 0) OVER (PARTITION BY file_id) AS whole FROM exact_events)
"""


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The traces of the sets, as they are; `sets` names the files of each."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    folder = tmp_path_factory.mktemp("hta")
    ingest([CORPUS / path for path in SETS.values()], folder / "w", jobs=1)
    connection = scalelens.connect(folder / "w")
    connection.execute("CREATE TABLE sets (name VARCHAR, path VARCHAR)")
    connection.executemany("INSERT INTO sets VALUES (?, ?)", [[k, str((CORPUS / v).resolve())] for k, v in SETS.items()])
    connection.execute(
        "CREATE TABLE files_of AS SELECT name, file_id FROM sets JOIN files ON starts_with(files.path, sets.path)"
    )
    yield connection


@pytest.fixture(scope="module")
def hta(exact: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same traces with times rounded as HTA rounds them."""
    connection = empty_warehouse()
    for table in ("events", "files_of"):
        connection.register("arrow", exact.sql(f"FROM {table}").to_arrow_table())
        connection.execute(f"CREATE TABLE {'exact_events' if table == 'events' else table} AS FROM arrow")
        connection.unregister("arrow")
    connection.execute("DROP TABLE events")
    connection.execute(ROUNDED)
    yield connection
