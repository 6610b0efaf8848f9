"""A chart with nothing to draw names a command that shows what the logs hold, and that command works."""

import shlex
import shutil
from pathlib import Path

import pytest
import typer.testing

from command_line import app
from conftest import FIXTURES


def invoke(command: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, shlex.split(command))


@pytest.mark.parametrize(
    ("log", "command"),
    [
        ("epicure_vision/two_epochs.csv", "plot batch_cdf"),
        ("dllogger/json_lines.json", "plot throughput"),
        ("megatron/apertus.log", "plot step_times"),
        ("kineto/ns_base.json", "plot kernel_summary"),
        ("jpwr/caraml.csv", "plot power_over_time"),
        ("nccl_tests/all_reduce_perf_old.log", "query collective_benchmarks"),
        ("job_end/cancelled.err", "identify"),
    ],
)
def test_a_refused_chart_names_what_the_logs_can_show(
    log: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FIXTURES / log, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    refused = str(invoke("plot scaling -o scaling.pdf").exception)
    named = refused.rpartition("scalelens ")[2]
    assert named.startswith(command), refused
    assert invoke(named).exit_code == 0
