"""The page of a report: what it says, that it is inert, loads nothing, and is the same every time."""

import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
from typer.testing import CliRunner

import scalelens
from command_line import app
from logs import megatron_line
from scalelens.errors import UserError
from scalelens.report import rendering
from scalelens.report.content import MOST_ROWS, Content, ReportTable, chart, content_of
from scalelens.report.findings import (
    collectives,
    contradictions,
    device_time,
    failures,
    losses,
    outliers,
    pace,
    scaling,
    slow_steps,
    stuck,
)
from scalelens.report.glance import GlanceBlock
from scalelens.report.html import listed, page, table
from scalelens.report.text.sentences import MOST, FindingSentence, few
from scalelens.report.text.table_columns import TableColumn

STUDY = """using world size: {devices}, data-parallel size: {devices}, tensor-model-parallel size: 1, \
pipeline-model-parallel size: 1
------------------------ arguments ------------------------
  hidden_size ..................................... 512
  num_attention_heads ............................. 8
  num_layers ...................................... 4
  padded_vocab_size ............................... 32000
-------------------- end of arguments ---------------------
"""
TYPE_A_WORD = """<script>addEventListener("load", () => {
  const filter = document.getElementById("filter");
  filter.value = "WORD";
  filter.dispatchEvent(new Event("input"));
  const shown = [...document.querySelectorAll("tbody tr")].filter((row) => !row.matches(".away"));
  const others = shown.filter((row) => !row.textContent.includes("WORD")).length;
  const requests = performance.getEntriesByType("resource").length;
  document.title = `${shown.length} rows, ${others} others, ${requests} requests`;
});</script>"""
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
    lines = []
    for article in content.articles:
        lines.append(f"# {article.question}")
        lines += [f"{said.text} | {said.doubt}" for said in article.sentences] or [article.nothing]
    return "\n".join(lines) + "\n"


def test_findings_of_the_demo(content: Content, golden: Callable[[str, Path], None]) -> None:
    golden(words_of(content), GOLDEN)


def test_each_finding_names_its_sql_its_files_and_its_rows(content: Content) -> None:
    found = [article for article in content.articles if article.sentences]
    assert {article.question for article in found} >= {
        "How well does the training scale?",
        "How long does a step take?",
    }
    for article in found:
        assert article.table.sql and article.table.blocks and article.n_inputs
        assert re.fullmatch("[0-9a-f]{64}", article.inputs_sha256)
        assert article.chart is None or article.chart.svg.startswith("<svg")


NAMES = {"a": "job A", "b": "job B"}


def test_sentence_of_a_slow_rank() -> None:
    row = {"run_id": "a", "rank": 17, "node": "n0042", "verdict": "slow", "cause": "gpu", "ratio": 1.14, "q": 0.001,
           "flagged_share": 0.96, "n_steps": 50, "peers": 64, "evidence": "", "reason": None}  # fmt: skip
    ordinary = row | {"rank": 3, "verdict": "ordinary", "ratio": 1.0}
    said = outliers.sentences(pl.DataFrame([ordinary, row]), NAMES)
    assert [one.text for one in said] == [
        "Rank 17 on n0042 of job A computes 14 % longer than its peers, in 96 % of its steps. Cause: its GPU."
    ]
    assert said[0].doubt == "50 steps, among 63 others; by accident in 0.1 % of such jobs."
    said = outliers.sentences(pl.DataFrame([row | {"q": 1e-9, "n_steps": 1, "peers": 2}]), NAMES)
    assert said[0].doubt == "1 step, among 1 other; by accident in less than 0.1 % of such jobs."
    assert outliers.nothing(pl.DataFrame([ordinary])) == "1 rank compared, none stands out."


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
            "job A: all_reduce out of place reaches 23.04 GB/s of bus bandwidth, at 1,048,576 bytes.",
            "The highest of 10 measurements; 3 had wrong values.",
        )
    ]


def test_shares_of_the_loss_add_up() -> None:
    row = {"run_id": "a", "parallel_efficiency": 0.64, "load_balance": 0.8, "communication_efficiency": 0.8,
           "orchestration_efficiency": 1.0, "ranks": 8, "note": None}  # fmt: skip
    assert losses.sentences(pl.DataFrame([row]), NAMES)[0].text == (
        "job A: 64.0 % of the devices' time is computation; of the loss 50 % is uneven work, "
        "50 % is communication and copies that nothing hides."
    )


def test_sentences_of_failures_and_contradictions() -> None:
    rows = pl.DataFrame({"run_id": ["a", "b"], "outcome": ["oom", "oom"]})
    assert failures.sentences(rows, NAMES)[0].text == "2 runs ended out of memory (job A, job B)."
    facts = {"run_id": ["a", "a"], "key": ["devices"] * 2, "value": ["8", "4"], "origin": ["log", "nccl"]}
    said = contradictions.sentences(pl.DataFrame(facts | {"chosen": [True, False]}), NAMES)
    assert said == [("job A: its sources name different devices: 8 (log), 4 (nccl).", "This page uses 8.")]


def test_sentences_of_pace_and_slow_steps() -> None:
    slower = {"run_id": "a", "verdict": "slowing", "steady_s": 0.55, "before_s": 0.5, "steady_from_step": 300,
              "n_steps": 400, "note": None, "change_steps": "300"}  # fmt: skip
    said = pace.sentences(pl.DataFrame([slower]), NAMES)
    assert said[0].text == "job A is 10.0 % slower from step 300 on: 0.55 s a step."
    unsteady = slower | {"verdict": "unsteady", "steady_s": None, "change_steps": "26 45"}
    said = pace.sentences(pl.DataFrame([unsteady]), NAMES)
    assert said[0].text == "job A has no steady pace: other levels begin at steps 26, 45."
    assert pace.nothing(pl.DataFrame([slower]).clear()) == "No log has the time of a step."
    slow = {"run_id": "b", "class": "periodic", "n_slow": 9, "cost_share": 0.12, "cost_s": 6.0, "fast_s": 0.1,
            "slowest_s": 1.0, "period_steps": 100, "first_step": 7, "last_step": 807}  # fmt: skip
    last = slow | {"class": "isolated", "n_slow": 1, "period_steps": None, "first_step": 63, "last_step": 63}
    said = slow_steps.sentences(pl.DataFrame([slow, slow | {"cost_share": 0.001}, last, last | {"n_slow": 2}]), NAMES)
    assert [one.text for one in said] == [
        "job B: 12.0 % of its time went into 9 slow steps in a rhythm, every 100 steps (between steps 7 and 807).",
        "job B: 12.0 % of its time went into 1 isolated slow step (step 63).",
        "job B: 12.0 % of its time went into 2 isolated slow steps (steps 63 and 63).",
    ]


def test_texts_of_a_chart_in_a_page_fit_in_any_font(content: Content) -> None:
    charts = [article.chart.svg for article in content.articles if article.chart and article.chart.svg]
    texts = [text for svg in charts for text in re.findall(r"<text[^>]*>[^<]*</text>", svg)]
    lengths = {re.sub("<[^>]*>", "", text): re.search('textLength="([^"]*)"', text) for text in texts}
    assert texts and lengths["100"] and float(lengths["100"][1]) == pytest.approx(3 * 7 * 0.556, abs=0.1)
    assert all(lengths.values()), "the demo has ordinary letters only"
    assert rendering.fitted(re.fullmatch("<text([^>]*)>([^<]*)</text>", '<text font-size="7px">中</text>')) == (  # type: ignore[arg-type]
        '<text font-size="7px">中</text>'
    ), "the width of a letter that is not known is not guessed"


def test_a_growing_model_has_no_efficiency() -> None:
    row = {"series": "s", "devices": 16, "baseline_devices": 8, "efficiency": None, "efficiency_low": None, "speedup": None,
           "tflops_per_device": 45.0, "n_runs": 1, "n_steps": 9, "note": "the model grows"}  # fmt: skip
    said = scaling.sentences(pl.DataFrame([row]), NAMES)
    assert said[0].text == "s: 16 devices against 8, 45 TFLOP/s per device; it has no efficiency."
    assert said[0].doubt.endswith("The model grows.")


def test_device_time_is_total_over_total() -> None:
    rows = pl.DataFrame({"run_id": ["a", "a"], "span_ns": [300, 100], "compute_ns": [300, 0], "exposed_comm_ns": [0, 50],
                         "exposed_memory_ns": [0, 0], "idle_ns": [0, 50], "idle_share": [0.0, 0.5]})  # fmt: skip
    assert device_time.sentences(rows, NAMES)[0].text == (
        "job A: the devices compute in 75.0 %, communicate without computing in 12.5 %, are idle in 12.5 % "
        "of the traced time."
    )


def test_a_doubt_that_all_sentences_share_is_said_once() -> None:
    one, other = FindingSentence("a is slow.", "1 traced rank."), FindingSentence("b is slow.", "1 traced rank.")
    shown = listed(few([one, other] * MOST))
    assert shown.count("1 traced rank.") == 1 and "For each of them: 1 traced rank." in shown
    assert "For each" not in listed([one])
    assert "For each" not in listed([one, other._replace(doubt="2 traced ranks.")])


def test_a_chart_that_refuses_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UserError("15 lines are more than one chart can show (12)", "choose runs")

    monkeypatch.setattr("scalelens.report.content.draw", refuse)
    assert chart(Mock(), "batch_cdf").refusal == (
        "No chart batch_cdf: 15 lines are more than one chart can show (12); choose runs. "
        "The command is: scalelens plot batch_cdf -o batch_cdf.pdf"
    )


def test_same_input_same_bytes(content: Content, tmp_path: Path) -> None:
    scalelens.ingest(DEMO, warehouse=tmp_path / "w", jobs=1)
    assert written(content) == written(content_of(tmp_path / "w"))


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


@pytest.mark.parametrize("files", [pytest.param({}, marks=pytest.mark.slow), {"notes.md": "# Notes\n", "core": "\0\1"}])
def test_folder_without_runs(tmp_path: Path, files: dict[str, str]) -> None:
    (tmp_path / "logs").mkdir()
    for name, text in files.items():
        (tmp_path / "logs" / name).write_text(text)
    arguments = ["report", str(tmp_path / "logs"), "-w", str(tmp_path / "w"), "-o", str(tmp_path / "r.html")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No file holds a run." in text
    assert all(name in text for name in files)


def test_trace_keeps_no_warehouse_and_asks_of_traces_alone(tmp_path: Path) -> None:
    shutil.copytree(DEMO / "gpt-r1", tmp_path / "logs")
    output = tmp_path / "traces.html"
    arguments = ["report", "--trace", str(tmp_path / "logs"), "-o", str(output), "-w", str(tmp_path / "w")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = output.read_text(encoding="utf-8")
    assert not (tmp_path / "w").exists()
    assert "Which kernels take the time?" in text and "How well does the training scale?" not in text


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_script_runs_in_chromium(content: Content, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(written(content, HOSTILE), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", f"file://{tmp_path / 'report.html'}"], capture_output=True, text=True, timeout=120
    ).stdout
    assert re.search(r'<div class="tools">', shown)  # the script took `hidden` away
    assert "<title>hacked" not in shown


def filtered(text: str, word: str, folder: Path) -> tuple[int, int, int]:
    """Types a word into the filter of a page.  Returns the rows then shown, those without the word, and the requests."""
    page = folder / "filtered.html"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)  # it lets no other script run
    page.write_text(text + TYPE_A_WORD.replace("WORD", word), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    ran = subprocess.run(
        [*command, "--enable-logging=stderr", "--dump-dom", f"file://{page}"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in ran.stderr
    rows, others, requests = re.findall(r"<title>(\d+) rows, (\d+) others, (\d+) requests", ran.stdout)[0]
    return int(rows), int(others), int(requests)


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_filter_leaves_the_rows_with_a_word(content: Content, tmp_path: Path) -> None:
    rows, *rest = filtered(written(content), "gpt-r1", tmp_path)
    assert rows > 0 and rest == [0, 0]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_report_of_200_runs_is_small_and_its_filter_works(tmp_path: Path) -> None:
    for run in range(200):
        system, devices = ("lumi", "leonardo")[run % 2], 8 * 2 ** (run // 2 % 5)
        folder = tmp_path / "logs" / system / f"n{devices // 8}-r{run // 10}"
        folder.mkdir(parents=True)
        records = [megatron_line(step, (8000 + run) / devices) for step in range(1, 13)]
        (folder / "train.log").write_text(STUDY.format(devices=devices) + "".join(records))
    (tmp_path / "logs" / "scalelens.toml").write_text('templates = ["{system}/*/*"]\n')
    page = tmp_path / "report.html"
    arguments = ["report", str(tmp_path / "logs"), "-w", str(tmp_path / "w"), "-o", str(page)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert page.stat().st_size < 5_000_000
    rows, *rest = filtered(page.read_text(encoding="utf-8"), "leonardo", tmp_path)
    assert rows >= 100 and rest == [0, 0]
