"""The report of logs whose only times are those of epochs."""

from pathlib import Path

import polars as pl
import pytest

from command_line import Run
from scalelens.report.content import Content, content_of
from scalelens.report.findings import epochs


@pytest.fixture
def content(run: Run, tmp_path: Path) -> Content:
    for gpus in (1, 2, 4):
        lines = (
            f"Epoch {k}/5 | train_loss: {2.5 - k / 6:.3f} | time: {90 / gpus + k / 10 + (k == 1) * 20:.2f}s\n"
            for k in range(1, 6)
        )
        (tmp_path / f"gpu{gpus}.log").write_text("".join(lines))
    assert run("ingest", tmp_path, "-w", tmp_path / "w").code == 0
    return content_of(tmp_path / "w")


def test_the_time_of_an_epoch_is_on_the_first_screen(content: Content) -> None:
    """Without the first epoch, as in the figure beside it."""
    assert content.headline == "epochs"
    article = next(one for one in content.articles if one.name == "epochs")
    (sentence,) = article.sentences
    assert sentence.text == "3 runs: an epoch takes 22.85 s in gpu4 to 90.35 s in gpu1."
    assert sentence.doubt == "Means of 4 epochs, without the first of several."
    assert article.chart and article.chart.svg
    assert "an epoch of the fastest run, mean" in [one.label for one in content.numbers]


def test_runs_with_times_of_steps_have_no_time_of_an_epoch(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("epoch,step,step_time_s,epoch_time_s\n0,1,0.5,9\n0,2,0.5,9\n1,3,0.5,9\n")
    assert run("ingest", tmp_path, "-w", tmp_path / "w").code == 0
    assert "epochs" not in [one.name for one in content_of(tmp_path / "w").articles]


def test_nothing_is_said_without_epochs() -> None:
    none = pl.DataFrame(schema=dict.fromkeys(epochs.GLANCE, pl.String))
    assert epochs.sentences(none, {}) == []
    assert epochs.number(none, {}) is None
    assert epochs.nothing(none)
