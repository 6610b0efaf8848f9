"""The report of a study that states rates alone: a table of throughputs by the number of devices."""

from pathlib import Path

import polars as pl

from command_line import Run
from scalelens.report.content import content_of
from scalelens.report.findings import scaling_of_rates

STUDY = """\
model,seq_length,gpus,gpu,global_batch_size,tokens_per_s
narwhal-2b,1024,64,B200-180GB,256,83412
narwhal-2b,1024,128,B200-180GB,512,163118
narwhal-9b,1024,64,B200-180GB,128,21304
narwhal-9b,1024,128,B200-180GB,256,41311
"""


def test_a_study_of_rates_has_its_scaling_on_the_first_screen(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_text(STUDY)
    assert run("ingest", tmp_path, "-w", tmp_path / "w").code == 0
    content = content_of(tmp_path / "w")
    assert content.headline == "scaling_of_rates"
    article = next(one for one in content.articles if one.name == "scaling_of_rates")
    assert article.sentences[0].text == "97.0 % to 97.8 % of ideal at the largest size, over 2 series."
    assert article.chart and article.chart.svg
    assert ("97.8 %", "efficiency on 128 devices") in [(one.value, one.label) for one in content.numbers]


def test_rates_of_models_of_one_size_each_are_drawn_without_a_name(run: Run, tmp_path: Path) -> None:
    """A series needs two sizes; what ingest names draws the rates nevertheless."""
    lines = STUDY.replace("tokens_per_s", "total_tokens_per_s").splitlines()
    further = "narwhal-30b,1024,256,B200-180GB,512,30120"
    (tmp_path / "study.csv").write_text("\n".join([lines[0], lines[1], lines[4], further, ""]))
    said = run("ingest", tmp_path / "study.csv", "-w", tmp_path / "w").err
    assert "scalelens plot -o figure.pdf" in said
    drawn = run("plot", "-o", tmp_path / "figure.svg", "-w", tmp_path / "w")
    assert drawn.code == 0, drawn.err
    assert (tmp_path / "figure.svg").stat().st_size > 0


def test_ingest_names_the_figure_of_a_table_of_tokens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_text("gpus,tokens_per_s\n8,41200\n16,80100\n32,156000\n")
    assert "scalelens plot -o figure.pdf" in run("ingest", tmp_path / "study.csv", "-w", tmp_path / "w").err
    drawn = run("plot", "-o", tmp_path / "figure.svg", "-w", tmp_path / "w")
    assert drawn.code == 0, drawn.err


def test_times_of_steps_tell_more_than_rates(run: Run, tmp_path: Path) -> None:
    lines = STUDY.splitlines()
    timed = [f"{line},{'step_time_s' if k == 0 else 3.1}" for k, line in enumerate(lines)]
    (tmp_path / "study.csv").write_text("\n".join([*timed, ""]))
    assert run("ingest", tmp_path, "-w", tmp_path / "w").code == 0
    assert "scaling_of_rates" not in [one.name for one in content_of(tmp_path / "w").articles]


def test_a_gpu_that_is_a_number_stays_a_place(run: Run, tmp_path: Path) -> None:
    """A column that says which device a row is of, not which model, does not make runs of its rows."""
    (tmp_path / "steps.csv").write_text("step,gpu,step_time_s\n1,gpu0,0.5\n1,gpu1,0.5\n2,gpu0,0.5\n2,gpu1,0.6\n")
    told = run("identify", tmp_path / "steps.csv")
    assert "place" in f"{told.out}{told.err}" and "device_model" not in f"{told.out}{told.err}"


def test_runs_of_one_table_are_called_by_their_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_text(STUDY.replace(",128,21304", ",256,21304"))
    assert run("ingest", tmp_path, "-w", tmp_path / "w").code == 0
    names = run("query", "run_names", "-w", tmp_path / "w", "--format", "csv").out
    assert "study 64 devices batch 256 narwhal-2b" in names


def test_nothing_is_said_without_rates() -> None:
    none = pl.DataFrame(schema=dict.fromkeys(("series", "devices", "baseline_devices"), pl.String))
    assert scaling_of_rates.sentences(none, {}) == []
    assert scaling_of_rates.nothing(none)


def test_tables_of_a_text_are_drawn_by_their_headings(run: Run, tmp_path: Path) -> None:
    tables = [
        f"## {name}\n\n| GPUs | images/s |\n|---|---|\n| 1 | {rate} |\n| 2 | {1.9 * rate} |\n"
        for name, rate in (("Narwhal", 390), ("Dugong", 201))
    ]
    (tmp_path / "results.txt").write_text("\n".join(tables))
    assert run("ingest", tmp_path / "results.txt", "-w", tmp_path / "w").code == 0
    drawn = run("plot", "scaling", "-o", tmp_path / "figure.svg", "-w", tmp_path / "w")
    assert drawn.code == 0, drawn.err
    figure = (tmp_path / "figure.svg").read_text()
    assert "narwhal" in figure.lower() and "dugong" in figure.lower() and "row label" not in figure
