"""The page of a report: what it says, that it is inert, loads nothing, and is the same every time."""

import re
import shlex
import shutil
from collections.abc import Callable
from datetime import datetime
from html import unescape
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
from typer.testing import CliRunner

import scalelens
from asking import shown_by
from command_line import Run, app
from scalelens.errors import UserError
from scalelens.report import rendering
from scalelens.report.articles import chart
from scalelens.report.asking import MOST_ROWS, ReportTable
from scalelens.report.content import Content, content_of
from scalelens.report.findings import (
    collectives,
    contradictions,
    device_time,
    energy,
    energy_sources,
    failure_rates,
    failures,
    forecast,
    losses,
    measured_energy,
    mlperf,
    outliers,
    pace,
    power,
    quality,
    repeats,
    scaling,
    slow_steps,
    step_times,
    stuck,
)
from scalelens.report.glance import GlanceBlock
from scalelens.report.html import listed, page
from scalelens.report.html_tables import table
from scalelens.report.key_numbers import key_numbers
from scalelens.report.subject import subject_of
from scalelens.report.text.sentences import MOST, FindingSentence, KeyNumber, few, few_within
from scalelens.report.text.table_columns import TableColumn

DEMO = Path(scalelens.__file__).parent / "demo" / "logs"
GOLDEN = Path(__file__).parent / "fixtures" / "report" / "demo.txt"
HOSTILE = "x\"><img src=x onerror=document.title='hacked'>$$\\input{x}'"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    warehouse = tmp_path_factory.mktemp("report") / "w"
    scalelens.ingest(DEMO, warehouse=warehouse)
    return content_of(warehouse)


def written(content: Content, title: str = "demo") -> str:
    return page(content, title, ["scalelens report"])


def words_of(content: Content) -> str:
    """What was asked and said, without numbers of charts and tables."""
    lines = [f"# {content.subject.title}", *(f"{name}: {text}" for name, text in content.subject.facts.items())]
    lines += [" | ".join(number) for number in content.numbers]
    for article in content.articles:
        lines.append(f"# {article.question}" + (f" (weight {article.weight:.3f})" if article.weight else ""))
        lines += [f"{said.text} | {said.doubt}" for said in article.sentences] or [article.nothing]
    return "\n".join(lines) + "\n"


def test_findings_of_the_demo(content: Content, golden: Callable[[str, Path], None]) -> None:
    golden(words_of(content), GOLDEN)


def test_each_finding_names_its_sql_its_files_and_its_rows(content: Content) -> None:
    found = [article for article in content.articles if article.sentences]
    assert {article.question for article in found} >= {
        "How well does the training scale?",
        "How fast is each run?",
    }
    for article in found:
        assert article.table.sql and article.table.blocks and article.n_inputs
        assert re.fullmatch("[0-9a-f]{64}", article.inputs_sha256)
        assert article.chart is None or article.chart.svg.startswith("<svg")


NAMES = {"a": "job A", "b": "job B"}


def test_sentence_of_a_slow_rank() -> None:
    row = {"run_id": "a", "rank": 17, "node": "n0042", "verdict": "slow", "cause": "gpu", "ratio": 1.14, "q": 0.001,
           "flagged_share": 0.96, "n_steps": 50, "peers": 64, "late_share": None, "evidence": "", "reason": None}  # fmt: skip
    ordinary = row | {"rank": 3, "verdict": "ordinary", "ratio": 1.0}
    said = outliers.sentences(pl.DataFrame([ordinary, row]), NAMES)
    assert [one.text for one in said] == [
        "Rank 17 on n0042 of job A computes 14 % longer than its peers, in 96 % of its steps. Cause: its GPU."
    ]
    assert said[0].weight == pytest.approx(0.14)
    assert said[0].doubt == "50 steps, compared with 63 other ranks; by chance in 0.1 % of such jobs."
    brief = pl.DataFrame([row | {"q": 1e-9, "n_steps": 1, "peers": 2}])
    assert not outliers.sentences(brief, NAMES), "jitter of one step passes for slowness"
    assert outliers.nothing(brief) == "1 rank stood out in fewer than 5 steps, which is too few to tell."
    said = outliers.sentences(brief.with_columns(ratio=1.4), NAMES)
    assert said[0].doubt == (
        "1 step, too few to be sure, compared with 1 other rank; by chance in less than 0.1 % of such jobs."
    )
    late = row | {"verdict": "late", "cause": "host", "q": 1.0, "evidence": "last at 21 of 21 collectives"}
    said = outliers.sentences(pl.DataFrame([late]), NAMES)
    assert said[0].text == "Rank 17 on n0042 of job A keeps the others waiting. Cause: its host."
    assert said[0].doubt == "50 steps, compared with 63 other ranks. Evidence: last at 21 of 21 collectives."
    assert outliers.nothing(pl.DataFrame([ordinary])) == "1 rank compared, none stands out."


def test_sentence_of_a_rank_that_others_wait_for_in_the_few_steps_of_a_trace() -> None:
    late = {"run_id": "a", "rank": 2, "node": None, "verdict": "late", "cause": "host", "ratio": 0.95, "q": 0.6,
            "flagged_share": 0.0, "n_steps": 2, "peers": 4, "late_share": 0.2, "evidence": "", "reason": None}  # fmt: skip
    rows = pl.DataFrame(
        [late, late | {"run_id": "b", "late_share": 1.4, "ratio": 0.9}, late | {"rank": 3, "late_share": 0.05}]
    )
    said = outliers.sentences(rows, NAMES)
    assert [(one.text, one.weight) for one in said] == [
        ("Rank 2 of job B keeps the others waiting, for longer than its steps take. Cause: its host.", 1.0),
        ("Rank 2 of job A keeps the others waiting, for 20 % of its steps. Cause: its host.", 0.02),
    ]
    assert outliers.sentences(pl.DataFrame([late | {"n_steps": 50}]), NAMES)[0].weight == 0.2
    assert said[0].doubt == "2 steps, too few to be sure, compared with 3 other ranks."
    assert outliers.run_to_draw(rows) == "b"
    assert not outliers.sentences(rows.filter(rows["rank"] == 3), NAMES), "a little lateness in two steps is chance"


def test_sentence_of_a_rank_that_did_not_come() -> None:
    row = {"run_id": "b", "process_group": "0 default_pg", "rank": 2, "verdict": "behind", "waits_in": "all_reduce",
           "n_ranks": 3, "missing_ranks": 1}  # fmt: skip
    said = stuck.sentences(pl.DataFrame([row | {"rank": 0, "verdict": "waits"}, row]), NAMES)
    assert [one.text for one in said] == ["Rank 2 of job B did not call all_reduce of group 0 default_pg."]
    assert said[0].doubt == "Dumps of 3 ranks; 1 without a dump are not judged."


def test_sentence_of_a_benchmark_of_collectives() -> None:
    row = {"run_id": "a", "test": "all_reduce", "place": "out", "busbw_bytes_per_s": 23.04e9, "message_bytes": 2**20,
           "measurements": 10, "with_wrong_values": 3}  # fmt: skip
    said = collectives.sentences(pl.DataFrame([row, row | {"place": "in", "busbw_bytes_per_s": 0.0}]), NAMES)
    assert said == [
        (
            "1 run received wrong values: job A.",
            "Counted by the tests themselves (#wrong). What trains with these calls may be wrong as well.",
            1.0,
        ),
        (
            "job A: all_reduce out of place reaches 23.04 GB/s of bus bandwidth, at 1,048,576 bytes.",
            "The highest of 10 measurements; 3 had wrong values.",
            0.0,
        ),
    ]


def test_the_fastest_collective_is_told_first() -> None:
    rows = pl.DataFrame([
        {"run_id": run, "test": "all_reduce", "place": "in", "busbw_bytes_per_s": rate, "message_bytes": 2**20,
         "measurements": 1, "with_wrong_values": 0}
        for run, rate in (("a", 8e10), ("b", 3e11))
    ])  # fmt: skip
    first, second = collectives.sentences(rows, NAMES)
    assert first.text.startswith("job B: all_reduce in place reaches 300 GB/s") and second.text.startswith("job A")
    number = collectives.number(rows, NAMES)
    assert number is not None and (number.value, number.remark) == ("300 GB/s", "all_reduce, job B")


def test_shares_of_the_loss_add_up() -> None:
    row = {"run_id": "a", "parallel_efficiency": 0.64, "load_balance": 0.8, "communication_efficiency": 0.8,
           "orchestration_efficiency": 1.0, "ranks": 8, "note": None}  # fmt: skip
    assert losses.sentences(pl.DataFrame([row]), NAMES)[0].text == (
        "job A: 64.0 % of the devices' time is computation; of the rest, 50 % is lost to uneven work, "
        "50 % to communication and copies that nothing hides."
    )
    row |= {"load_balance": 1.0, "communication_efficiency": 0.64, "note": "no computation scalability: no series; one"}
    (sentence,) = losses.sentences(pl.DataFrame([row]), NAMES)
    assert sentence.text.endswith("; the rest is lost to communication and copies that nothing hides.")
    assert sentence.doubt == "8 traced ranks; one."


def test_sentences_of_failures_and_contradictions() -> None:
    rows = pl.DataFrame({"run_id": ["a", "b"], "outcome": ["oom", "oom"], "text": ["CUDA out of memory", None]})
    said = failures.sentences(rows, NAMES)[0].text
    assert said == "2 runs ran out of memory: job A, job B. The log says: CUDA out of memory"
    rows = rows.with_columns(text=pl.Series(["CUDA out of memory", "oom-kill"]))
    assert failures.sentences(rows, NAMES)[0].text == "2 runs ran out of memory: job A, job B."
    facts = {"run_id": ["a", "a", "b", "b"], "key": ["devices"] * 4, "value": ["8", "4"] * 2,
             "origin": ["log", "nccl"] * 2, "is_timed": True, "chosen": [True, False] * 2}  # fmt: skip
    said = contradictions.sentences(pl.DataFrame(facts), NAMES)
    assert [one.text for one in said] == ["job A, job B: the number of devices is 8 by the log, 4 by NCCL's lines."]
    assert said[0].doubt == "This page uses 8. With the other value, what follows from it differs by a factor of 2."
    zero = contradictions.sentences(pl.DataFrame(facts | {"value": ["8", "0"] * 2}), NAMES)
    assert zero[0].doubt == "This page uses 8."
    names = pl.DataFrame(facts | {"key": ["system"] * 4, "value": ["X86", "SPR"] * 2})
    said = contradictions.sentences(names, NAMES)
    assert [(one.doubt, one.weight) for one in said] == [("This page uses X86.", 0.0)]


def test_few_failures_make_no_figure() -> None:
    rows = pl.DataFrame({"part": ["all", "cause", "cause"], "failures": [3, 2, 1]})
    assert failure_rates.charts(rows) == failure_rates.CHARTS
    assert failure_rates.charts(rows.with_columns(failures=pl.Series([2, 2, 1]))) == ()


def test_sentences_of_pace_and_slow_steps() -> None:
    slower = {"run_id": "a", "verdict": "slowing", "steady_s": 0.55, "before_s": 0.5, "steady_from_step": 300,
              "n_steps": 400, "note": None, "change_steps": "300", "step_s": 0.51, "mean_s": 0.52}  # fmt: skip
    said = pace.sentences(pl.DataFrame([slower]), NAMES)
    assert said[0].text == "job A is 10.0 % slower from step 300 on: 0.55 s a step."
    unsteady = slower | {"verdict": "unsteady", "steady_s": None, "change_steps": "26 45"}
    said = pace.sentences(pl.DataFrame([unsteady]), NAMES)
    assert said[0].text == "job A has no steady pace: it changes at steps 26, 45."
    assert not pace.sentences(pl.DataFrame([slower | {"steady_s": 0.505}]), NAMES), "1 % is only in the table"
    assert pace.nothing(pl.DataFrame([slower]).clear()) == "No log gives a step time."
    slow = {"run_id": "b", "class": "periodic", "n_slow": 9, "cost_share": 0.12, "cost_s": 6.0, "fast_s": 0.1,
            "slowest_s": 1.0, "period_steps": 100, "first_step": 7, "last_step": 807, "averaged_steps": 1}  # fmt: skip
    last = slow | {"class": "isolated", "n_slow": 1, "period_steps": None, "first_step": 63, "last_step": 63}
    said = slow_steps.sentences(pl.DataFrame([slow, slow | {"cost_share": 0.001}, last, last | {"n_slow": 2}]), NAMES)
    assert [one.text for one in said] == [
        "job B: 12.0 % of its step time is the extra cost of 9 slow steps in a rhythm, every 100 steps "
        "(between steps 7 and 807).",
        "job B: 12.0 % of its step time is the extra cost of 1 isolated slow step (step 63).",
        "job B: 12.0 % of its step time is the extra cost of 2 isolated slow steps (steps 63 and 63).",
    ]
    assert {one.weight for one in said} == {0.12}
    end = slow_steps.sentences(pl.DataFrame([last | {"class": "last"}]), NAMES)[0]
    assert (end.text, end.weight) == ("job B: its last step (63) takes 1 s instead of 100 ms.", 0.0)
    means = slow_steps.sentences(pl.DataFrame([last | {"n_slow": 5, "averaged_steps": 20}]), NAMES)[0]
    assert "is the extra cost of 5 isolated slow means of 20 steps (" in means.text
    assert means.doubt == "They cost 6 s more than ordinary steps; the slowest is 1 s instead of 100 ms."
    end = slow_steps.sentences(pl.DataFrame([last | {"class": "last", "averaged_steps": 0}]), NAMES)[0]
    assert end.text == "job B: its last mean of several steps (63) is 1 s instead of 100 ms."


def test_sentences_of_repeats_and_energies_that_differ() -> None:
    row = {"series": "s", "devices": 16, "is_unlike": True, "factor": 7.01, "run_ids": ["a", "b"]}
    said = repeats.sentences(pl.DataFrame([row, row | {"series": "t"}]), NAMES)
    assert said == [
        (
            "job A, job B: 2 runs on 16 devices have the same settings and differ by a factor of 7.01.",
            "No log says why. They have no efficiency.",
            1.0,
        )
    ], "the same repeats in two series are one finding"
    sums = {"run_id": "a", "source": "scheduler", "scope": "job", "energy_j": 3.6e6, "note": "less than its devices"}
    small = sums | {"scope": "gpu", "note": "no accelerator draws so little on average"}
    said = energy_sources.sentences(pl.DataFrame([sums, sums | {"note": None}, small]), NAMES)
    assert [(one.text, one.doubt) for one in said] == [
        ("job A: 1 kWh of the job by scheduler is doubtful.", "Less than its devices.")
    ]


def test_energy_begins_with_the_most_work_per_watt_hour() -> None:
    row = {"run_id": "a", "energy_j": 36_000.0, "units": 1.0, "unit": "device", "tokens_per_wh": 1234.5,
           "samples_per_wh": None, "energy_kind": "integrated", "coverage": 0.5, "note": None}  # fmt: skip
    better = row | {"run_id": "b", "tokens_per_wh": 2000.0, "units": 4.0, "energy_j": 8.755e7}
    rows = pl.DataFrame([row, better])
    assert [one.text for one in energy.sentences(rows, NAMES)] == [
        "job B: 2,000 tokens per Wh; 24.32 kWh of 4 devices.", "job A: 1,234 tokens per Wh; 10 Wh of 1 device.",
    ]  # fmt: skip
    assert energy.number(rows, NAMES) == ("2,000 tokens/Wh", "best work per energy", "job B")
    alone = pl.DataFrame([row | {"tokens_per_wh": None}], schema_overrides={"tokens_per_wh": pl.Float64})
    assert energy.number(alone, NAMES) == ("10 Wh", "largest energy of a run's devices", "job A")


def test_a_few_step_times_are_drawn_one_after_the_other() -> None:
    assert step_times.charts(pl.DataFrame({"n_steps": [2, 4]}))[0] == "step_times"
    assert step_times.charts(pl.DataFrame({"n_steps": [2, 40]})) == step_times.CHARTS


def test_runs_that_are_all_warmup_are_said_to_be_too_short() -> None:
    rows = pl.DataFrame({"run_id": ["a", "b"], "step_s": [None, None], "n_steps": [0, 0], "n_excluded": [2, 1]})
    (found,) = step_times.sentences(rows, NAMES)
    assert found.text == "Too short to say: the 3 step records of 2 runs are all left out, most as warm-up."
    assert step_times.charts(rows)[0] == "throughput exclude=none"
    assert step_times.sentences(rows.with_columns(n_excluded=0), NAMES) == []


def test_the_curve_of_energy_over_the_batch_needs_two_batches_of_one_model() -> None:
    facts = {
        "system": None,
        "model": "bert",
        "precision": "bf16",
        "devices": 8,
        "energy_j": 1.0,
        "global_batch_size": 8,
    }
    other_model = facts | {"model": "gpt", "global_batch_size": 16}
    assert energy.charts(pl.DataFrame([facts, facts | {"global_batch_size": 16}]))[0] == "energy_by_batch"
    assert energy.charts(pl.DataFrame([facts, other_model]))[0] != "energy_by_batch"


@pytest.mark.parametrize(("kinds", "said"), [
    (["ci95"], "The median has a 95 % interval."),
    (["ci95", "ci95"], "Each median has a 95 % interval. Runs with"),
    (["ci95", "range"], "1 run with a 95 % interval, 1 with a range. Runs with"),
    (["range"], "The run is not long and steady enough for a 95 % interval: a range is given."),
    (["range", "range"], "No run is long and steady enough for a 95 % interval: a range is given. Runs with"),
])  # fmt: skip
def test_how_many_step_times_have_an_interval(kinds: list[str], said: str) -> None:
    runs = ["a", "b"][: len(kinds)]
    counts = [50] * len(kinds)
    rows = pl.DataFrame(
        {"run_id": runs, "step_s": [1.0] * len(kinds), "interval_kind": kinds, "n_steps": counts, "n_excluded": counts}
    )
    assert said in step_times.sentences(rows, NAMES)[0].doubt


def test_sentences_of_mlperf_scores_and_of_accuracies() -> None:
    row = {"submitter": "acme", "system": "box", "benchmark": "bert", "minutes": 5.371, "n_results": 10,
           "n_converged": 9, "nodes": 1, "devices": 8, "note": None}  # fmt: skip
    assert mlperf.sentences(pl.DataFrame([row]), NAMES) == [
        (
            "bert: 5.371 min on box (1 node, 8 devices).",
            "Mean of 10 results without the fastest and the slowest; 9 reached the target.",
            0.0,
        )
    ]
    value = {"score_name": "accuracy", "run_id": "a", "phase": "validation", "n_values": 3, "first_score": 0.2,
             "last_score": 0.7, "best_score": 0.76, "epoch": 3.0, "step": 30}  # fmt: skip
    loss = value | {"score_name": "loss", "phase": "train", "run_id": "b", "first_score": 11.0, "last_score": 2.5}
    rows = pl.DataFrame([loss, loss | {"run_id": "a"}, value])
    assert [one.text for one in quality.sentences(rows, NAMES)] == [
        "job A: highest accuracy in validation 76.0 %.", "job B: the loss of training goes from 11 to 2.5.",
    ]  # fmt: skip
    assert quality.number(rows, NAMES) == ("76.0 %", "best validation accuracy", "job A")


def test_the_power_of_several_sensors_is_energy_over_time(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text(
        "timestamp, index, power.draw [W]\n"
        + "".join(
            f"2024/01/01 10:00:{second:02}.000, {card}, {watts} W\n"
            for second in range(0, 21, 10)
            for card, watts in ((0, 100), (1, 300))
        )
    )
    scalelens.ingest(tmp_path / "power.csv", warehouse=tmp_path / "w")
    rows = scalelens.open(tmp_path / "w").sql(power.SQL)
    assert [(row["sensors"], row["mean_w"]) for row in rows.iter_rows(named=True)] == [(2, 200.0)]
    said = power.sentences(rows, dict.fromkeys(rows["run_id"], "power"))
    assert said[0].text == "power: 200 W on average (2 GPU sensors)."


def test_what_a_report_is_about() -> None:
    facts = {"run_id": "a", "framework": "pytorch", "model": "ResNet50", "system": None, "device_model": "A100",
             "device_unit": "gpu", "devices": 8, "precision": "amp", "started_at": datetime(2024, 3, 1, 9),
             "ended_at": datetime(2024, 3, 2), "has_steps": True}  # fmt: skip
    rows = [facts, facts | {"model": "resnet50", "devices": 32}, facts | {"model": "resnet50", "devices": 1}]
    told = subject_of(pl.DataFrame(rows, schema_overrides={"system": pl.String}))
    assert told.title == "resnet50 on A100", "a model is named as most logs name it"
    assert told.facts == {
        "System": "", "Model": "resnet50", "Devices": "1 to 32 GPUs, A100", "Framework": "pytorch", "Precision": "amp",
        "Dates": "1 March 2024 to 2 March 2024",
    }  # fmt: skip
    several = [facts | {"model": name, "system": "LUMI", "device_unit": unit} for name, unit in
               (("bert", "gpu"), ("gpt", "gcd"), ("ssd", "gpu"))]  # fmt: skip
    told = subject_of(pl.DataFrame(several))
    assert (told.title, told.facts["Devices"]) == ("bert, gpt and ssd on LUMI", "8 devices, A100")
    unnamed = facts | {"device_model": None}
    told = subject_of(pl.DataFrame([facts, unnamed], schema_overrides={"system": pl.String}))
    assert told.title == "ResNet50 on A100 and unnamed devices", "what one of two runs says is not said of both"
    told = subject_of(pl.DataFrame([facts, unnamed | {"has_steps": False}], schema_overrides={"system": pl.String}))
    assert told.title == "ResNet50 on A100", "a power file trains nothing"
    sizes = [facts | {"model": f"gpt-{size}b"} for size in ("117", "18.4")]
    told = subject_of(pl.DataFrame(sizes, schema_overrides={"system": pl.String}))
    assert told.title == "gpt-18.4b and gpt-117b on A100"
    nothing = unnamed | {"model": None}
    texts = {"system": pl.String, "model": pl.String, "device_model": pl.String, "framework": pl.String}
    assert subject_of(pl.DataFrame([nothing], schema_overrides=texts)).title == "Training with pytorch"
    assert subject_of(pl.DataFrame([nothing | {"framework": None}], schema_overrides=texts)).title == ""


def test_a_folder_with_few_findings_has_numbers_of_its_runs() -> None:
    overview = pl.DataFrame({"run_id": ["a", "b"], "outcome": ["unknown", "completed"], "devices": [8, None],
                             "n_records": [5, 7]})  # fmt: skip
    assert key_numbers(overview, NAMES, [], {}) == [
        ("2", "runs", "1 completed, 1 of unknown outcome"), ("8", "devices, at most", "job A"),
        ("12", "step records", "in 2 runs"),
    ]  # fmt: skip


def test_a_folder_with_little_else_has_numbers_of_what_was_read() -> None:
    overview = pl.DataFrame({"run_id": ["a", "b"], "outcome": "time_limit", "devices": [None, None], "nodes": [4, 2],
                             "n_records": [0, 0]})  # fmt: skip
    read = {"energies": 0, "samples": 0, "values": 0, "metrics": 0, "steps": 0, "files": 2, "bytes": 128_000,
            "problems": 0}  # fmt: skip
    assert key_numbers(overview, NAMES, [], {}, read) == [
        ("2", "runs", "2 reached the time limit"), ("4", "nodes, at most", "job A"), ("2", "files", "128 kB in all"),
        ("0", "lines not understood", "of formats that ScaleLens knows"),
    ]  # fmt: skip


def test_the_first_screen_says_that_lines_like_those_of_a_training_are_not_read(tmp_path: Path) -> None:
    """They belong to no format that ScaleLens knows, so they do not count as not understood."""
    (tmp_path / "logs").mkdir()
    for k in range(2):
        lines = [f"Loss: {3 / n:.3f} | Precision@1: {n:.3f}% ({n}/{128 + 7 * n})" for n in range(1, 60)]
        (tmp_path / "logs" / f"workers_{k}.out").write_text(f"workers {k}\n" + "\n".join(lines) + "\n")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    made = content_of(tmp_path / "w")
    said = "2 files have lines that look like training and are not read, such as line 2 of workers_0.out: “Loss: 3"
    assert said in page(made, "", [])
    assert ("0", "lines not understood", "of formats that ScaleLens knows") in made.numbers


def test_a_table_of_nodes_and_rates_is_a_study(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("Nodes,Tokens/sec\n2,100.5\n4,180.5\n8,300.5\n")
    scalelens.ingest(tmp_path / "sizes.csv", warehouse=tmp_path / "w")
    assert shown_by(tmp_path / "w", "scaling")[0] == "plot throughput -o throughput.pdf"
    made = content_of(tmp_path / "w")
    shown = next(article for article in made.articles if article.name == made.headline)
    assert shown.chart and shown.chart.command == "plot throughput -o throughput.pdf"
    assert [sentence.text for sentence in shown.sentences] == [
        "3 runs: a node does 37.56 tokens/s in sizes 8 nodes to 50.25 tokens/s in sizes 2 nodes.",
        "8 nodes do 2.99 times the tokens/s of 2.",
    ]
    assert made.numbers[:3] == [
        ("3", "runs", "3 of unknown outcome"), ("50.25 tokens/s", "per node, as printed", "sizes 2 nodes"),
        ("8", "nodes, at most", "sizes 8 nodes"),
    ]  # fmt: skip


def test_a_rate_that_does_not_grow_with_the_nodes_is_not_that_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("Nodes,Tokens/sec\n2,100.5\n4,101.5\n8,99.5\n")
    scalelens.ingest(tmp_path / "sizes.csv", warehouse=tmp_path / "w")
    assert "plot throughput -o throughput.pdf" not in shown_by(tmp_path / "w", "scaling")


def test_runs_that_only_failed_are_told_first(tmp_path: Path) -> None:
    line = "slurmstepd: error: *** JOB {} ON n1 CANCELLED AT 2023-06-10T09:59:21 DUE TO TIME LIMIT ***\n"
    for job in (3665238, 3660463):
        (tmp_path / f"{job}.err").write_text("warning: nothing here\n" * 3 + line.format(job))
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    made = page(content_of(tmp_path / "w"), "", [])
    first = made[made.index('class="first"') :]
    assert first.index("Did the runs complete?") < first.index("2 runs reached the time limit")
    assert "The logs contain no step times, no power and no traces, so there is nothing else to conclude" in first


def test_a_single_step_time_is_counted_where_it_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,step_time_s\n1,0.5\n")
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    made = page(content_of(tmp_path / "w"), "", [])
    assert "The logs contain only 1 step time, no power and no traces, so there is nothing to conclude" in made


def test_one_energy_is_a_number_and_not_a_bar() -> None:
    rows = pl.DataFrame({"energy_j": [5.4e4], "global_batch_size": [None], "system": [None], "model": [None],
                         "precision": [None], "devices": [1]})  # fmt: skip
    assert energy.charts(rows) == ()
    assert energy.charts(pl.concat([rows, rows])) == ("energy_scaling", "energy", "energy_by_batch")


def test_energies_of_runs_without_devices_are_told_with_their_bounds() -> None:
    rows = pl.DataFrame({
        "run_id": ["a", "b"], "source": ["codecarbon", "energy_table"], "scope": ["total", None], "energy_j": [7.2e6, None],
        "low_j": [None, 3.6e6], "high_j": [None, 1.08e7], "windows": [4, 33], "addition": [None, "from 1 to 2 J: ..."],
    })  # fmt: skip
    bounds, whole = measured_energy.sentences(rows, NAMES)
    assert bounds.text == "job B: 1 kWh to 3 kWh in 33 measurements." and bounds.doubt.startswith("The largest")
    assert (whole.text, whole.doubt) == ("job A: 2 kWh in 4 measurements.", "")
    assert measured_energy.number(rows, NAMES) == ("37", "measured energies", "in 2 runs")


def test_energies_without_logs_have_a_figure_on_the_first_screen(tmp_path: Path) -> None:
    rows = "".join(f"p{k},{1500 + k * 5 % 6}\n" for k in range(6))
    (tmp_path / "programs.csv").write_text(f"program,energy_joules\n{rows}")
    scalelens.ingest(tmp_path / "programs.csv", warehouse=tmp_path / "w")
    made = content_of(tmp_path / "w")
    shown = next(article for article in made.articles if article.name == made.headline)
    assert (shown.name, shown.chart and shown.chart.command) == ("measured_energy", "plot energy -o energy.pdf")


def test_texts_of_a_chart_in_a_page_fit_in_any_font(content: Content) -> None:
    charts = [article.chart.svg for article in content.articles if article.chart and article.chart.svg]
    texts = [text for svg in charts for text in re.findall(r"<text[^>]*>[^<]*</text>", svg)]
    lengths = {re.sub("<[^>]*>", "", text): re.search('textLength="([^"]*)"', text) for text in texts}
    assert texts and lengths["100"] and float(lengths["100"][1]) == pytest.approx(3 * 7 * 0.556, abs=0.1)
    assert all(lengths.values()), "the demo has ordinary letters only"
    assert rendering.fitted(re.fullmatch("<text([^>]*)>([^<]*)</text>", '<text font-size="7px">中</text>')) == (  # type: ignore[arg-type]
        '<text font-size="7px">中</text>'
    ), "the width of a letter that is not known is not guessed"


def test_a_score_among_metrics_is_told_and_drawn_as_plot_draws_it(tmp_path: Path) -> None:
    for size in (2, 4):
        values = "".join(f"1581191487.6,{step},{10 * step + size}\n" for step in range(1, 6))
        (tmp_path / f"run-gpux{size}-tag-Top1_val.csv").write_text(f"Wall time,Step,Value\n{values}")
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    made = content_of(tmp_path / "w")
    shown = next(article for article in made.articles if article.name == made.headline)
    assert shown.chart and shown.chart.command == "plot accuracy score_name=Top1_val -o accuracy.pdf"
    assert [sentence.text.partition(": ")[2] for sentence in shown.sentences] == [
        "Top1_val goes from 14 to 54.", "Top1_val goes from 12 to 52.",
    ]  # fmt: skip
    (of_scaling,) = (article for article in made.articles if article.name == "scaling")
    command = f"scalelens query not_compared -w {tmp_path / 'w'}"
    assert of_scaling.nothing == f"2 runs: no record times a step. Run by run: {command}", "as it can be pasted"


def test_rates_of_devices_that_logs_print_without_step_times_are_the_first_figure(tmp_path: Path) -> None:
    for job, rate in (("257", "8,382"), ("952", "5,685")):
        record = f"loss:  2.7  grad_norm:  0.1  memory: 227.58GiB(82.31%)  tps: {rate}  tflops: 503.83  mfu: 20.15%\n"
        (tmp_path / f"hero_job{job}.out").write_text("".join(f"step: {step}  {record}" for step in (98, 99, 100)))
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    made = content_of(tmp_path / "w")
    shown = next(article for article in made.articles if article.name == made.headline)
    assert shown.chart and shown.chart.command == "plot throughput -o throughput.pdf"
    assert shown.sentences[0].text == (
        "2 runs: a device does 5,685 tokens/s in hero_job952 to 8,382 tokens/s in hero_job257."
    )
    assert KeyNumber("8,382 tokens/s", "per device, as printed", "hero_job257") in made.numbers
    assert shown_by(tmp_path / "w", "scaling")[0] == "plot throughput -o throughput.pdf"


@pytest.mark.parametrize(("scale", "expected"), [
    (1, KeyNumber("1.357 s", "median step", "exact")),
    (0.01, KeyNumber("13.57 ms", "median step", "exact")),
    (100, KeyNumber("120 s", "median step", "rounded")),  # of which a whole second is little
])  # fmt: skip
def test_a_median_of_times_in_few_digits_is_the_first_number_only_where_there_is_no_other(
    scale: float, expected: KeyNumber, tmp_path: Path
) -> None:
    times = {"exact": [1.3571, 1.3482, 1.3669, 1.3573, 1.3566, 1.3571], "rounded": [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]}
    if scale == 100:
        times["rounded"] = [1.21, 1.19, 1.2, 1.2, 1.2, 1.2]
    for name, several in times.items():
        lines = "".join(f"{step},{time * scale!r},2.5\n" for step, time in enumerate(several, 1))
        (tmp_path / f"{name}.csv").write_text(f"step,step_time_s,loss\n{lines}")
    scalelens.ingest(tmp_path, warehouse=tmp_path / "w")
    assert expected in content_of(tmp_path / "w").numbers
    scalelens.ingest(tmp_path / "rounded.csv", warehouse=tmp_path / "alone")
    (alone,) = (number for number in content_of(tmp_path / "alone").numbers if number.label == "median step")
    assert alone.remark == "rounded"


def test_an_accuracy_of_nought_is_no_course(tmp_path: Path) -> None:
    rows = pl.DataFrame({"score_name": ["accuracy"], "run_id": ["a"], "phase": ["train"], "n_values": [3],
                         "first_score": [0.0], "last_score": [0.0], "best_score": [0.0]})  # fmt: skip
    assert quality.sentences(rows, NAMES) == []
    assert quality.nothing(rows) == "No run has a course to tell: accuracies below 0.1 %, or single records."


def test_energies_without_work_answer_how_much_energy_there_was() -> None:
    rows = pl.DataFrame({"tokens_per_wh": [None, 3.0], "samples_per_wh": [None, None]})
    assert energy.question(rows) == "How much work does a watt-hour give?"
    assert energy.question(rows.head(1)) == "How much energy did the runs take?"


def test_names_in_a_sentence_are_as_many_as_it_has_room_for() -> None:
    assert few_within(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"
    long = [f"{'gpt3 ' * 10}job {k}" for k in range(3)]
    assert few_within(long) == f"{long[0]} and 2 more"
    assert few_within(long[:2]) == f"{long[0]} and 1 more"


def test_a_growing_model_has_no_efficiency() -> None:
    row = {"series": "s", "devices": 16, "baseline_devices": 8, "efficiency": None, "efficiency_low": None, "speedup": None,
           "tflops_per_device": 45.0, "n_runs": 1, "n_steps": 9, "note": "the model grows"}  # fmt: skip
    said = scaling.sentences(pl.DataFrame([row]), NAMES)
    assert said[0].text == "s: 16 devices against 8, 45 TFLOP/s per device; it has no efficiency."
    assert said[0].doubt.endswith("The model grows.")


def test_without_a_model_the_rates_of_both_sizes_are_told() -> None:
    row = {"series": "s", "scaling": "throughput", "devices": 32, "baseline_devices": 1, "efficiency": None,
           "efficiency_low": None, "speedup": None, "tflops_per_device": None, "n_runs": 5, "n_steps": 20,
           "samples_per_s": 9427.47, "note": "no log names the model"}  # fmt: skip
    rows = pl.DataFrame([row | {"devices": 1, "samples_per_s": 321.3}, row])
    told = scaling.sentences(rows, NAMES)[0]
    assert told.text == "s: 32 devices against 1: 9,427 samples/s against 321.3; it has no efficiency."
    assert told.doubt == "5 runs, 20 step records. No log names the model."
    number = scaling.number(rows, NAMES)
    assert number and tuple(number)[:3] == ("9,427 samples/s", "throughput on 32 devices", "321.3 on 1: s")
    two_bases = pl.concat([rows, rows.head(1)])
    assert scaling.number(two_bases, NAMES) is None
    assert "samples/s" not in scaling.sentences(two_bases, NAMES)[0].text
    growing = rows.with_columns(scaling=pl.lit("mixed"))
    assert "samples/s" not in scaling.sentences(growing, NAMES)[0].text and scaling.number(growing, NAMES) is None


def test_sizes_in_no_series_are_named_and_the_figure_shows_them() -> None:
    row = {"series": "s", "devices": 16, "baseline_devices": 8, "efficiency": 0.9, "efficiency_low": None, "speedup": 1.8,
           "tflops_per_device": None, "n_runs": 1, "n_steps": 9, "note": None, "other_sizes": [32, 64, 2496]}  # fmt: skip
    rows = pl.DataFrame([row | {"devices": 8}, row])
    said = [sentence.text for sentence in scaling.sentences(rows, NAMES)]
    assert said == ["s: 16 devices against 8: 90.0 % of ideal.", "No series has the runs on 32, 64 and 2,496 devices."]
    assert scaling.charts(rows)[0] == "throughput"
    few_others = rows.with_columns(other_sizes=pl.lit([32]))
    assert scaling.charts(few_others)[0] == "scaling"
    none = rows.with_columns(other_sizes=pl.lit(None, pl.List(pl.Int64)))
    assert len(scaling.sentences(none, NAMES)) == 1


def test_dates_of_a_folder_of_power_are_those_of_its_readings(tmp_path: Path) -> None:
    rows = "".join(
        f"2026-05-{day:02}T10:00:{second:02},{power}\n" for day in (3, 5) for second, power in enumerate([300] * 9)
    )
    (tmp_path / "power.csv").write_text(f"timestamp,gpu_power_w\n{rows}")
    scalelens.ingest(tmp_path / "power.csv", warehouse=tmp_path / "w")
    content = content_of(tmp_path / "w")
    assert content.subject.facts["Dates"] == "3 May 2026 to 5 May 2026"
    assert "<dt>Not in the logs</dt><dd class=unknown>system, model, devices, framework, precision</dd>" in written(
        content
    )


def test_a_column_of_unknown_scope_may_be_a_sum_and_gives_no_headline() -> None:
    row = {"run_id": "a", "scope": "gpu", "mean_w": 440.0, "energy_j": 1.0}
    rows = pl.DataFrame([row, row | {"run_id": "b", "scope": None, "mean_w": 3521.0}])
    stated = "largest mean power of the sensors that say what they measure"
    assert power.number(rows, NAMES) == ("440 W", stated, "GPU, job A")
    smaller = rows.with_columns(mean_w=pl.Series([440.0, 35.0]))
    assert power.number(smaller, NAMES) == ("440 W", "largest mean power of a sensor", "GPU, job A")
    assert power.number(rows.filter(pl.col("scope").is_null()), NAMES).value == "3,521 W"


def test_device_time_is_total_over_total() -> None:
    rows = pl.DataFrame({"run_id": ["a", "a"], "span_ns": [300, 100], "compute_ns": [300, 0], "exposed_comm_ns": [0, 50],
                         "exposed_memory_ns": [0, 0], "idle_ns": [0, 50], "idle_share": [0.0, 0.5]})  # fmt: skip
    assert device_time.sentences(rows, NAMES)[0].text == (
        "job A: of the traced time, the devices compute 75.0 %, communicate without computing 12.5 %, are idle 12.5 %."
    )


def test_a_doubt_that_all_sentences_share_is_said_once() -> None:
    one, other = FindingSentence("a is slow.", "1 traced rank."), FindingSentence("b is slow.", "1 traced rank.")
    shown = listed(few([one, other] * MOST))
    assert shown.count("1 traced rank.") == 1 and "For each of them: 1 traced rank." in shown
    assert "For each" not in listed([one])
    assert "For each" not in listed([one, other._replace(doubt="2 traced ranks.")])


def test_a_chart_that_refuses_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UserError("15 lines are more than one chart can show (12)", "choose runs")

    monkeypatch.setattr("scalelens.report.articles.draw", refuse)
    assert chart(Mock(too_large=set()), "batch_cdf", {}, {}).refusal == (
        "There is no figure here: 15 lines are more than one chart can show (12); choose runs."
    )


def test_same_input_same_bytes(content: Content, tmp_path: Path) -> None:
    scalelens.ingest(DEMO, warehouse=tmp_path / "w", jobs=1)
    assert written(content) == written(content_of(tmp_path / "w"))


def test_a_forecast_is_told_where_it_says_something() -> None:
    columns = ("series", "devices", "largest_devices", "doublings", "efficiency_at_least", "efficiency_at_most",
               "n_residuals")  # fmt: skip
    cells = [
        ("gpt", 1024, 1024, 0.0, None, None, None),
        ("gpt", 2048, 1024, 1.0, 0.61, 0.74, 28),
        ("gpt", 4096, 1024, 2.0, 0.50, 0.80, 28),
        ("wild", 16, 8, 1.0, 0.20, 3.00, 28),
    ]
    rows = pl.DataFrame(cells, schema=columns, orient="row")
    (told,) = forecast.sentences(rows, {})
    assert told.text == "gpt: at 2,048 devices expect 61 % to 74 % of ideal; 1,024 were run."
    assert "in 28 forecasts whose result is known" in told.doubt
    wild, short = rows.filter(pl.col("series") == "wild"), rows.head(1)
    assert forecast.sentences(wild, {}) == [] and "too far from a line" in forecast.nothing(wild)
    assert forecast.nothing(short).startswith("A forecast needs four sizes")
    assert forecast.nothing(rows.clear()) == "No series has several sizes."


def test_page_loads_nothing_and_is_small(content: Content) -> None:
    text = written(content)
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\((?!#)|<link|<iframe|<object|<embed|<img", text)
    assert {link[0] for link in re.findall(r"""\b(?:src|href)=["']?(.)""", text)} == {"#"}
    assert text.count("<script>") == 1
    assert len(text) < 1_000_000
    assert len(re.findall(r"<h1>", text)) == 1


def test_texts_of_files_are_inert(tmp_path: Path) -> None:
    shutil.copytree(DEMO / "gpt-r1", tmp_path / "logs" / HOSTILE)
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    text = written(content_of(tmp_path / "w"), HOSTILE)
    assert "<img" not in text and "onerror=" in text  # it is there, as a text
    assert HOSTILE in unescape(text)


def test_control_characters_are_seen() -> None:
    shown = GlanceBlock(
        "\x1b[2J", [TableColumn("run_id", "run", ["</td><script>alert(1)</script>\x00"], False)], {"\x07": ["a"]}, 1
    )
    text = table(ReportTable([shown], 1, "FROM runs"))
    assert "\x1b" not in text and "\x00" not in text and "\x07" not in text
    assert "<script>" not in text


def test_rows_without_room_are_counted() -> None:
    shown = GlanceBlock("", [TableColumn("run_id", "run", ["a"] * MOST_ROWS, False)], {}, MOST_ROWS)
    assert "7 more rows" in table(ReportTable([shown], MOST_ROWS + 7, "FROM runs"))
    in_remarks = GlanceBlock("outcome time_limit", [], {"the log says so": ["a", "b"]}, 2)
    assert "more rows" not in table(ReportTable([in_remarks], 2, "FROM runs")), "those that a remark names are there"


@pytest.mark.parametrize("files", [pytest.param({}, marks=pytest.mark.slow), {"notes.md": "# Notes\n", "core": "\0\1"}])
def test_folder_without_runs(tmp_path: Path, files: dict[str, str]) -> None:
    (tmp_path / "logs").mkdir()
    for name, text in files.items():
        (tmp_path / "logs" / name).write_text(text)
    arguments = ["report", str(tmp_path / "logs"), "-w", str(tmp_path / "w"), "-o", str(tmp_path / "r.html")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"No run was found in {len(files)} file" in text
    assert ("1 of them was not understood" in text) == bool(files)
    assert not re.search("<h2>(Findings|Runs|More tables|Also checked)</h2>", text), "no heading without content"
    assert all(name in text for name in files)


def test_trace_keeps_no_warehouse_and_asks_of_traces_alone(tmp_path: Path) -> None:
    shutil.copytree(DEMO / "gpt-r1", tmp_path / "logs")
    output = tmp_path / "traces.html"
    arguments = ["report", "--trace", str(tmp_path / "logs"), "-o", str(output), "-w", str(tmp_path / "w")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = output.read_text(encoding="utf-8")
    assert not (tmp_path / "w").exists()
    assert "Which kernels take the time?" in text and "How well does the training scale?" not in text


def test_commands_of_a_report_give_rows_and_a_figure(run: Run, tmp_path: Path) -> None:
    """Also where there is nothing to scale: the figure is that of the first screen."""
    (tmp_path / "train.csv").write_text("step,loss\n" + "".join(f"{k},{10 / k}\n" for k in range(1, 41)))
    run("ingest", tmp_path / "train.csv", "-w", tmp_path / "w")
    assert run("report", "-w", tmp_path / "w", "-o", tmp_path / "r.html").code == 0
    text = (tmp_path / "r.html").read_text()
    again = unescape(re.findall(r"<pre>(.*?)</pre>", text[text.index('id="again"') :], re.S)[0]).splitlines()
    assert [line.split()[1] for line in again] == ["report", "query", "plot"]
    for line in again[1:]:
        words = [str(tmp_path / word) if word.endswith(".pdf") else word for word in shlex.split(line)[1:]]
        ran = run(*words)
        assert ran.code == 0 and (Path(words[words.index("-o") + 1]).exists() if "-o" in words else ran.out)
