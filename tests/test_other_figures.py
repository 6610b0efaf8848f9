"""A chart with nothing to draw names a command that shows what the logs hold, and that command works."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import typer.testing

import scalelens
from asking import ask_sql, connect, shown_by
from command_line import app
from conftest import FIXTURES
from scalelens.errors import UserError
from scalelens.question.question import call
from scalelens.question.run_names import RUN_NAMES, in_command
from scalelens.report import plotting
from sizes import ingested, write_log


def invoke(command: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, shlex.split(command))


HERE = Path("scalelens-warehouse")


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


NAMES = (
    "plain one", "3665238", "1", "1e5", "1234567890e1", "it's $HOME", 'a "b"', "k=v (1); two", "this or that", "true",
    "a\\b!c", "x`y`", "amy's run", "the students' n16", "'quoted'", "slurm (2)", "Xeon (R) 16", "isfinite(devices)",
    "f (a, b)", "sum (16) = 2", "(all)",
)  # fmt: skip


def test_a_run_that_is_advised_is_that_run_whatever_its_name(tmp_path: Path) -> None:
    """Where the shell or SQL would read a name as something else, its id is named."""
    (tmp_path / "logs").mkdir()
    for loss, name in enumerate(NAMES, 1):
        rows = "".join(f"{step},{loss / step}\n" for step in range(1, 41))
        (tmp_path / "logs" / f"{name}.csv").write_text(f"step,loss\n{rows}")
    home = ingested(tmp_path / "logs", tmp_path / "w")
    connection = connect(home, f"{RUN_NAMES}; FROM selected_runs(runs := 'a name')")
    names = dict(connection.sql(RUN_NAMES).fetchall())
    assert sorted(names.values()) == sorted(NAMES)
    for run, name in names.items():
        word = in_command(names, run)
        assert word == (run if re.search("[$\"=`!]|(?<!\\w)'|^true$| or |(?<! )[(]|[(].*,", name) else name)
        shown = subprocess.run(["sh", "-c", f'printf %s "{word}"'], capture_output=True, check=True)
        assert shown.stdout.decode() == word
        for given in (word, run):
            assert connection.sql(f"FROM {call('selected_runs', {'runs': given})}").fetchall() == [(run,)]


def test_what_is_offered_instead_is_of_the_selected_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, steps in (("long", 90), ("short", 30)):
        Path("logs").mkdir(exist_ok=True)
        rows = "".join(f"{step},{1 + step % 3 / 100}\n" for step in range(steps))
        Path(f"logs/{name}.csv").write_text(f"step,step_time_s\n{rows}")
    assert invoke("ingest logs").exit_code == 0
    statement = "SELECT run_id FROM runs WHERE name = 'short'"
    short = ask_sql(Path("scalelens-warehouse"), statement).item()
    offered = shown_by(HERE, "batch_cdf", f"run_id = '{short}'")[0]
    assert 'plot step_times runs="short"' in offered
    assert 'plot step_times runs="long"' in shown_by(HERE, "batch_cdf")[0]


@pytest.mark.parametrize(("records", "is_offered"), [(1, False), (2, True)])
def test_the_course_of_a_loss_is_offered_where_it_has_one(
    records: int, is_offered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{{'loss': 0.{9 - k}, 'learning_rate': 1e-05, 'epoch': 0.0{k + 1}}}\n" for k in range(records)]
    (tmp_path / "train.log").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert ask_sql(Path("scalelens-warehouse"), "SELECT count(loss) FROM steps").item() == records
    offered = shown_by(HERE, "scaling")[:1]
    assert offered == (["plot accuracy score_name=loss -o accuracy.pdf"] if is_offered else [])
    assert all(invoke(command).exit_code == 0 for command in offered)


def test_a_refusal_names_a_run_that_the_chart_can_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three runs, the one whose id comes first has no collective beside its kernels."""
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        names = ["gemm", *(["ncclDevKernel_AllReduce_Sum_bf16_RING_LL"] if name != "one" else [])]
        events = [
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": 10.0 * k + stream, "dur": 8.0,
             "args": {"device": 0, "stream": stream}}
            for k in range(4) for stream, kernel in enumerate(names)
        ]  # fmt: skip
        (tmp_path / name / "rank0.json").write_text(json.dumps({"name": name, "traceEvents": events}))
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    rows = ask_sql(Path("scalelens-warehouse"), "FROM runs ORDER BY name = 'one' DESC, run_id")
    first = plotting.drawable_first(rows["run_id"].to_list(), rows, _refuse_one)
    assert rows["name"][0] == "one" and first[0] == rows["run_id"][1] and sorted(first) == sorted(rows["run_id"])
    refused = str(invoke("plot contention -o contention.pdf").exception)
    offered = re.search('runs="([^"]+)"', refused)
    assert offered and invoke(f'plot contention runs="{offered[1]}" -o contention.pdf').exit_code == 0


@pytest.mark.parametrize("given", ["", "devices > 0"])
def test_of_too_many_studies_a_refusal_names_a_condition_under_which_they_can_be_drawn(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of seven systems ran one model, and a figure finds room for four."""
    for n in range(7):
        for devices in (8, 16):
            facts = {"model": "resnet50" if n < 4 else f"net{n}", "system": f"system{n}", "devices": devices}
            write_log(tmp_path / "logs" / f"{n}_{devices}" / "train.csv", 1.0, micro_batch_size=8, **facts)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest logs").exit_code == 0
    selected = f'runs="{given}"' if given else ""
    refused = str(invoke(f"plot run_matrix {selected} -o run_matrix.pdf").exception)
    command = refused.rpartition("for example: scalelens ")[2]
    condition = "(devices > 0) AND model = 'resnet50'" if given else "model = 'resnet50'"
    assert command == f'plot run_matrix runs="{condition}" -o run_matrix.pdf', refused
    assert invoke(command).exit_code == 0


@pytest.mark.parametrize(("names", "beginning"), [(["one"], "Sums over"), (["one", "two"], "one. Sums over")])
def test_a_figure_of_one_run_names_it_where_there_are_more(
    names: list[str], beginning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 8.0, "args": {"device": 0}}
    for name in names:
        events = [kernel | {"ts": 10.0 * k, "dur": float(len(name))} for k in range(4)]
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.json").write_text(
            json.dumps({"schemaVersion": 1, "of": name, "traceEvents": events})
        )
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert invoke("plot kernel_summary runs=one -o k.json").exit_code == 0
    description = json.loads(Path("k.json").read_text())["description"]
    assert description.startswith(f"{beginning} 1 whole trace."), description


def _refuse_one(rows: pl.DataFrame) -> None:
    if rows["name"][0] == "one":
        raise UserError("nothing to draw")


@pytest.mark.parametrize(("ranks", "chart"), [(1, "kernel_summary"), (2, "temporal_breakdown")])
def test_traces_of_several_ranks_are_offered_rank_by_rank(
    ranks: int, chart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(ranks):
        kernels = [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": rank, "tid": 7, "ts": 10.0 * k, "dur": 5.0 + rank, "args": {"device": rank, "stream": 7}}
            for k in range(4)
        ]  # fmt: skip
        about = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": kernels}
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(about))
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    offered = shown_by(HERE, "scaling")[0]
    assert offered.startswith(f"plot {chart} runs=")
    assert invoke(offered).exit_code == 0


def test_collectives_measured_alone_are_drawn_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FIXTURES / "nccl_tests" / "broken_rows_mpirun.log", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    result = invoke("plot -o first.json")
    assert result.exit_code == 0 and "the chart is collective_benchmarks;" in result.output


@pytest.mark.parametrize(("has_kernels", "chart"), [(False, "collective_arrivals"), (True, "temporal_breakdown")])
def test_arrivals_of_ranks_without_a_device_are_drawn_without_a_name(
    has_kernels: bool, chart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(2):
        calls = [
            {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 7, "tid": 7,
             "ts": 1000.0 * k + 100 * rank, "dur": 500.0 - 100 * rank}
            for k in range(6)
        ]  # fmt: skip
        kernels = [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": rank, "tid": 3, "ts": 1000.0 * k, "dur": 50.0,
             "args": {"device": rank, "stream": 3}}
            for k in range(6)
        ]  # fmt: skip
        about = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}}
        trace = about | {"traceEvents": calls + (kernels if has_kernels else [])}
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(trace))
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    result = invoke("plot -o first.json")
    assert result.exit_code == 0 and f"the chart is {chart};" in result.output


def test_ranks_without_a_device_that_log_steps_too_show_more_than_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chart that `plot` chose is not all, and who asked for a chart of traces is named one of traces."""
    for rank in range(2):
        calls = [
            {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7, "ts": 1e4 * k + 100 * rank, "dur": 50.0}
            for k in range(6)
            for category, name in (("user_annotation", "gloo:all_reduce"), ("cpu_op", "aten::mm"))
        ]
        about = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}}
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(about | {"traceEvents": calls}))
    rows = "".join(f"{k},{0.5 + k % 7 / 100}\n" for k in range(60))
    (tmp_path / "steps.csv").write_text(f"step,step_time_s\n{rows}")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    said = invoke("plot -o first.json").output
    assert "the chart is batch_cdf;" in said
    further = said.split("these logs also show: ")[1].splitlines()[0].split(", scalelens ")
    assert [shlex.split(command.removeprefix("scalelens "))[1] for command in further][-2:] == [
        "collective_arrivals", "op_summary"
    ]  # fmt: skip
    assert all(invoke(command.removeprefix("scalelens ")).exit_code == 0 for command in further)
    refused = str(invoke("plot kernel_summary -o kernels.pdf").exception)
    assert "scalelens plot collective_arrivals" in refused


def test_copies_alone_are_drawn_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": "Memcpy HtoD",
        "pid": 0,
        "tid": 7,
        "dur": 8.0,
        "args": {"device": 0},
    }
    events = [copy | {"ts": 10.0 * k} for k in range(4)]
    (tmp_path / "copies.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    result = invoke("plot -o first.json")
    assert result.exit_code == 0 and "the chart is kernel_summary;" in result.output


def test_runs_that_are_all_warmup_are_drawn_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for run, step_s in (("eager", 0.5), ("compiled", 0.4), ("fused", 0.3)):
        (tmp_path / f"{run}.csv").write_text(f"step,step_time_s\n10,{step_s}\n20,{step_s + 0.0125}\n")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    result = invoke("plot -o first.json")
    assert result.exit_code == 0 and "the chart is throughput;" in result.output
    assert "Nothing left out. The warm-up counts, too." in json.loads(Path("first.json").read_text())["description"]
    refused = str(invoke("plot throughput -o rates.json").exception)
    assert "scalelens plot throughput exclude=none -o throughput.pdf" in refused
    assert invoke("report -o report.html").exit_code == 0
    assert "Too short to say: the 6 step records of 3 runs are all left out" in Path("report.html").read_text()


def test_energies_without_readings_are_offered_as_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"p{k},{1500 + k * 5 % 6}\n" for k in range(6))
    (tmp_path / "programs.csv").write_text(f"program,energy_joules\n{rows}")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    offered = str(invoke("plot scaling -o scaling.pdf").exception).rpartition("scalelens ")[2]
    assert offered == "plot energy -o energy.pdf"
    assert invoke(offered).exit_code == 0


def test_power_that_cannot_be_true_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`power_over_time` leaves it out, so that it has nothing to draw."""
    rows = "".join(f"{1.7e9 + second},{power}\n" for second, power in enumerate([64271.0, 64300.0] * 10))
    (tmp_path / "power.csv").write_text(f"timestamp,gpu_power_w\n{rows}")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert ask_sql(Path("scalelens-warehouse"), "SELECT DISTINCT flag FROM power").rows() == [("implausible",)]
    assert "plot power_over_time" not in str(invoke("plot scaling -o scaling.pdf").exception)


def test_operators_are_offered_of_a_trace_that_has_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = {"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "name": "add"}
    for category, is_offered in (("cpu_op", True), ("user_annotation", False)):
        events = [{**trace, "cat": category, "ts": 10.0 * k} for k in range(4)]
        Path(f"{category}.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        assert invoke(f"ingest {category}.json -w {category}").exit_code == 0
        refused = str(invoke(f"plot scaling -o scaling.pdf -w {category}").exception)
        assert ("plot op_summary" in refused) == is_offered, refused


@pytest.mark.parametrize(
    ("records", "offered"),
    [(1, "query batch_stats"), (2, "plot step_times"), (6, "plot step_times"), (7, "plot batch_cdf")],
)
def test_a_distribution_is_offered_from_five_steps_on_without_the_warmup(
    records: int, offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the report shows one first."""
    rows = "".join(f"{step},{1 + step % 7 / 100}\n" for step in range(1, records + 1))
    (tmp_path / "train.csv").write_text(f"step,step_s\n{rows}")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    named = str(invoke("plot scaling -o scaling.pdf").exception).rpartition("scalelens ")[2]
    assert named.startswith(offered)
    assert invoke(named).exit_code == 0


def _training(settings: dict[str, object], step_s: float, steps: int = 12, **columns: float) -> str:
    """A log of the vision runner."""
    batch, devices = int(str(settings.get("batch", 64))), int(str(settings.get("devices", 4)))
    facts = {"model": "resnet50", "precision": "bf16", "dataset": "imagenet", "nodes": 1, **settings}
    run = {"event": "run", "framework": "pytorch", "micro_batch_size": batch, "global_batch_size": batch * devices,
           "devices": devices, "devices_per_node": devices, "device_unit": "gpu", **facts}  # fmt: skip
    events = [
        {"event": "step", "phase": "train", "epoch": 0, "step": n, "step_s": step_s * (1 + n % 3 / 100),
         "samples": batch * devices, "loss": 7.0 / n, **columns}
        for n in range(1, steps + 1)
    ]  # fmt: skip
    return "".join(f":::SCALELENS {json.dumps({**event, 'rank': 0})}\n" for event in (run, *events))


_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
# A folder of each kind, and the chart that answers the likeliest question about it.
KINDS = {
    "one run": ([_training({}, 0.3)], "batch_cdf"),
    "repeats": ([_training({"seed": seed}, 0.3 + seed / 1000) for seed in range(3)], "batch_cdf"),
    "runs of little scatter that state no batch": (
        ["step,step_s\n" + "".join(f"{n},{s * (1 + n % 3 / 1000)}\n" for n in range(12)) for s in (0.3, 0.9, 2.5)],
        "throughput",
    ),
    "runs of much scatter that state no batch": (
        ["step,step_s\n" + "".join(f"{n},{s * (1 + n % 3 / 10)}\n" for n in range(12)) for s in (0.3, 0.5, 0.7)],
        "batch_cdf",
    ),
    "unlike models": (
        [_training({}, 0.3), _training({"model": "bert", "dataset": "wikipedia", "devices": 8}, 0.8)],
        "throughput",
    ),
    "precisions": ([_training({"precision": kind}, s) for kind, s in (("bf16", 0.3), ("fp32", 0.9))], "throughput"),
    "batches": ([_training({"batch": batch}, batch / 200) for batch in (32, 64, 128)], "batch_size_curve"),
    "learning rates": ([_training({"learning_rate": rate}, 0.3) for rate in (0.1, 0.01, 0.001)], "accuracy"),
    "failures": ([_OOM, f"starting\n{_OOM}"], "failures"),
    "failures of short runs": ([_training({"batch": batch}, 0.3, 3) + _OOM for batch in (32, 64, 128)], "failures"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_one_kind_gets_the_figure_that_answers_its_question(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, chart = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    for number, log in enumerate(logs):
        Path(f"logs/run{number}.{'csv' if log.startswith('step,') else 'log'}").write_text(log)
    assert invoke("ingest logs").exit_code == 0
    said = invoke("plot -o figure.json")
    assert said.exit_code == 0 and f"the chart is {chart};" in said.output


@pytest.mark.parametrize(("name", "mark"), [
    ("mbs1_gbs{}", "Each point: 1 run"),  # a sweep whose names tell the batch
    ("{}", "Each bar: 1 run of 4 records."),
])  # fmt: skip
def test_runs_whose_logs_state_no_batch_are_shown_side_by_side_by_their_step_times(
    name: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for batch in (4, 8, 16, 32):
        run = Path("logs", name.format(batch if "{}" in name[1:] else chr(100 - batch)))
        run.mkdir(parents=True)
        rows = "".join(f"{step},{batch * (1.31 + step % 3 / 100):.3f},2.{step % 7}\n" for step in range(10, 61, 10))
        Path(run, "train.csv").write_text(f"step,step_time_s,loss\n{rows}")
    assert invoke("ingest logs").exit_code == 0
    said = invoke("plot -o figure.json")
    assert said.exit_code == 0 and "the chart is throughput;" in said.output
    figure = Path("figure.json").read_text()
    assert mark in figure and "median step time [s]" in figure and "not comparable by their step time" in figure


def test_the_course_of_an_accuracy_goes_before_that_of_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{epoch},{1 / epoch},{epoch / 10}\n" for epoch in range(1, 9))
    Path("history.csv").write_text(f"epoch,loss,val_accuracy\n{rows}")
    assert invoke("ingest history.csv").exit_code == 0
    assert "the chart is accuracy" in invoke("plot -o figure.json").output
    assert "validation accuracy" in Path("figure.json").read_text()


def test_power_of_several_runs_is_shown_as_their_energies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for run, watts in (("n1", 300), ("n2", 320)):
        Path(run).mkdir()
        rows = "".join(f"2025/03/04 10:00:{second:02}.000, 0, {watts} W\n" for second in range(30))
        Path(f"{run}/power.csv").write_text(f"timestamp, index, power.draw [W]\n{rows}")
    assert invoke("ingest n1").exit_code == 0
    assert "the chart is power_over_time" in invoke("plot -o one.json").output
    assert invoke("ingest n2").exit_code == 0
    assert "the chart is energy" in invoke("plot -o both.json").output


def test_failures_without_times_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        Path(f"job{number}.log").write_text(f"job {number}\n{_OOM}")
    assert invoke("ingest .").exit_code == 0
    assert invoke("plot failures -o f.json").exit_code == 0
    drawn = json.loads(Path("f.json").read_text())
    assert "out of memory · 3" in json.dumps(drawn, ensure_ascii=False)
    assert "3 of 3 runs failed" in drawn["description"] and "No rate: the logs do not give" in drawn["description"]


def test_curves_over_the_batch_are_named_by_the_settings_that_set_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one object for each sweep, which names the settings of all its runs once."""
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    for mode, step_ms in (("ddp", 20.0), ("fsdp", 30.0)):
        runs = [{"batch_size_per_gpu": 8 * n, "avg_step_time_ms": step_ms * n**0.9} for n in (1, 2, 4)]
        sweep = {"mode": mode, "model": "resnet50", "num_gpus": 2, "runs": runs}
        Path(f"logs/{mode}.json").write_text(json.dumps(sweep))
    assert invoke("ingest logs").exit_code == 0
    assert invoke("plot batch_size_curve -o b.json").exit_code == 0
    text = Path("b.json").read_text()
    assert "strategy ddp" in text and "strategy fsdp" in text and "as run" not in text


def test_a_figure_without_a_name_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the settings is said of the chart that could be drawn without them."""
    for size in (1, 2):
        _train(tmp_path / f"{size}", size, 9 / size)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    drawn = list[str]()
    asked = plotting.attempt
    monkeypatch.setattr(plotting, "attempt", lambda *given, **named: drawn.append(given[1]) or asked(*given, **named))
    assert invoke("plot -o once.json").exit_code == 0
    assert drawn == ["scaling"]
    assert "cannot tell the figure type" in str(invoke("plot -o once.xyz").exception)
    assert "does not show 'nothing'" in str(invoke("plot -o once.json --label nothing=0").exception)


def test_epochs_on_several_devices_are_a_study_where_no_step_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of two launches whose lines are mixed has no mean."""
    for nodes, per_node, epoch_s in ((1, 2, 12.0), (2, 2, 7.0), (2, 4, 5.0)):
        (tmp_path / f"{nodes * per_node}").mkdir()
        first, second = _epochs(epoch_s).splitlines(), _epochs(9).splitlines()
        order = [first[:3], second[:1], first[3:4], second[1:2], first[4:5], second[2:3], first[5:7], second[3:4],
                 first[7:8], second[4:5], first[8:9], second[5:6], first[9:], second[6:]]  # fmt: skip
        mixed = [line for part in order for line in part]
        epochs = "\n".join(mixed) if nodes * per_node == 8 else _epochs(epoch_s)
        (tmp_path / f"{nodes * per_node}" / "train.log").write_text(f"{_heading(nodes, per_node)}{epochs}\n")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert invoke("plot -o scaling.json").exit_code == 0
    description = json.loads(Path("scaling.json").read_text())["description"]
    assert "the time of an epoch is shown instead of efficiency" in description
    assert "Smallest size: 12.01 s an epoch on 2 devices. Left out: the first epoch" in description
    means = ask_sql(Path("scalelens-warehouse"), "SELECT devices, epoch_s FROM scaling(metric := 't_ep') ORDER BY 1")
    assert means.rows() == [(2, pytest.approx(12.0, abs=0.02)), (4, pytest.approx(7.0, abs=0.02))]


def test_no_line_goes_from_one_of_several_unlike_runs_of_the_smallest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size, epoch_s in (("plain", 1, 9.0), ("tuned", 1, 48.0), ("ddp_tuned", 4, 60.0)):
        _train(tmp_path / name, size, epoch_s)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert invoke("plot -o bars.json").exit_code == 0
    figure = Path("bars.json").read_text()
    assert all(f"{name} \\u00b7 {size} device" in figure or f"{name} · {size} device" in figure
               for name, size in (("plain", 1), ("tuned", 1), ("ddp_tuned", 4)))  # fmt: skip
    assert "differ by a factor of 5.3" in figure and "each run has a bar of its own" in figure
    assert '"type": "line"' not in figure and "ideal, from the smallest size" not in figure


def test_a_study_of_epochs_is_named_where_steps_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2):
        _train(tmp_path / f"{size}", size, 9 / size)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    told = invoke("query scaling").output
    assert "2 runs: the log times epochs, not steps; scalelens query scaling metric=t_ep" in told
    assert len(ask_sql(Path("scalelens-warehouse"), "FROM scaling(metric := 't_ep')")) == 2


def test_epochs_without_devices_and_losses_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A course had timed the epochs of 134 runs: there was nothing to draw."""
    for size in (2, 4, 8):
        epochs = "".join(f"epoch {k} time: {40 / size + (-1) ** k / 10:.4f} s\n" for k in range(1, 11))
        (tmp_path / f"ranks{size}.out").write_text(epochs)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    assert "the chart is epochs;" in invoke("plot -o epochs.json").output
    figure = json.loads(Path("epochs.json").read_text())["description"]
    assert "3 runs; each: the median of 9 epochs after the first one." in figure


def test_rates_of_several_sizes_are_named_where_no_log_states_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (1, 2, 4):
        rows = "".join(f"{step},0.{500 + step % 3},{size * (256 - step % 5) / 0.5}\n" for step in range(1, 31))
        (tmp_path / f"gpus{size}").mkdir()
        (tmp_path / f"gpus{size}" / "train.csv").write_text(f"step,step_time_s,samples_per_s\n{rows}")
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest . -w w").exit_code == 0
    told = " ".join(invoke("query scaling -w w").output.split())
    assert "3 runs: no log states the global batch" in told
    assert "compare them: scalelens query scaling metric=throughput; for steps, set batch_per_device" in told
    assert len(ask_sql(Path("w"), "FROM scaling(metric := 'throughput')")) == 3


def test_a_rate_of_a_loop_of_ones_own_is_compared_once_it_is_said_to_be_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (1, 2, 4):
        lines = (
            f"step {step} | loss 0.{500 + step % 3} | speed {400 - size + step % 3} samples/s" for step in range(1, 31)
        )
        (tmp_path / f"gpus{size}").mkdir()
        (tmp_path / f"gpus{size}" / "train.log").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    ask = "query scaling metric=throughput"
    assert invoke("ingest . -w open").exit_code == 0
    told = " ".join(invoke(f"{ask} -w open").output.split())
    assert "2 runs: nothing says that the printed rate is of the job; for gpus2, if it is, ingest with --map" in told
    column = "samples_per_s=speed [samples/s]"
    assert column in " ".join(invoke("identify gpus2/train.log").output.split()).replace(
        "samples_per_s ", "samples_per_s="
    )
    for scope, points in (("global", 3), ("rank", 0)):
        assert invoke(f"ingest . -w {scope} --map '{column}:{scope}'").exit_code == 0
        assert len(ask_sql(Path(scope), "FROM scaling(metric := 'throughput')")) == points
    assert "3 runs: the printed rate is of a device" in " ".join(invoke(f"{ask} -w rank").output.split())
    for warehouse, doubt in (("open", "Nothing says whether the rates are of the job or of a device."), ("global", "")):
        assert invoke(f"plot throughput -w {warehouse} -o {warehouse}.json").exit_code == 0
        description = json.loads(Path(f"{warehouse}.json").read_text())["description"]
        assert doubt in description and ("Nothing says" in description) == bool(doubt)


def _train(folder: Path, devices: int, epoch_s: float) -> None:
    """A log of epochs on one node, in a folder of its own."""
    folder.mkdir()
    (folder / "train.log").write_text(_heading(1, devices) + _epochs(epoch_s))


def _heading(nodes: int, per_node: int) -> str:
    return f"Nodes: {nodes}\nGPUs/node: {per_node}\nWorld size: {nodes * per_node}\n"


def _epochs(seconds: float) -> str:
    return "".join(
        f"Epoch [{k}] | Train Loss: {3 / k:.4f} | Time: {seconds + (-1) ** k / 10:.2f}s\n" for k in range(1, 11)
    )


@pytest.mark.parametrize(("failed", "runs", "chart"), [(1, 4, "accuracy"), (1, 2, "accuracy"), (3, 4, "failures")])
def test_failures_are_drawn_first_where_they_are_many(
    failed: int, runs: int, chart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(runs):
        end = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" if k < failed else ""
        (tmp_path / f"{k}").mkdir()
        losses = "".join(f"Epoch [{n}] | Train Loss: {(k + 2) / n:.4f} | Acc: {n}.5%\n" for n in range(1, 11))
        (tmp_path / f"{k}" / "train.log").write_text(losses + end)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    result = invoke("plot -o first.json")
    assert result.exit_code == 0 and f"the chart is {chart};" in result.output


def test_a_folder_without_runs_says_what_its_files_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FIXTURES / "power_csv" / "devices_alone_power.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert invoke("ingest .").exit_code == 0
    refused = str(invoke("plot scaling -o scaling.pdf").exception)
    assert "put the unit into their names, as in gpu0_power_w" in refused
    advised = refused.partition("see all: scalelens ")[2]
    assert "devices_alone_power.csv" in invoke(advised).output


def test_one_energy_of_each_scope_is_not_drawn_as_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    stamps = [f"2026-01-02T03:04:{second:02d}" for second in range(5, 15)]
    for name, watts in (("gpu0", 300), ("node", 900)):
        rows = "".join(f"{stamp},{watts + k}\n" for k, stamp in enumerate(stamps))
        (tmp_path / "logs" / name).mkdir()
        (tmp_path / "logs" / name / "power.csv").write_text(f"timestamp,{name}_power_w\n{rows}")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    found = ask_sql(tmp_path / "w", "FROM energy_reconciled() WHERE energy_j > 0 AND part_of IS NULL")
    assert found.height == found["scope"].n_unique() > 1
    assert shown_by(tmp_path / "w", "scaling")[0].startswith("plot power_over_time")
