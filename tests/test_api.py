"""The library as people use it in notebooks and in programs that are checked for types."""

import gc
import inspect
from importlib.resources import files

import pytest

import scalelens
from scalelens.errors import UserError
from test_cli import write_log


@pytest.fixture
def study(tmp_path):
    logs = tmp_path / "logs"
    write_log(logs / "run.log", steps=40)
    (logs / "<b>&x.txt").write_text("nothing that anybody knows\n" * 3)
    return logs, tmp_path / "w"


def test_report_names_what_was_read_and_what_was_not(study):
    logs, warehouse = study
    report = scalelens.ingest(logs, warehouse=warehouse, jobs=1)
    shown = report._repr_html_()
    assert repr(report).startswith("IngestReport(") and len(repr(report)) < 200 and "1 ok" in repr(report)
    assert "megatron" in shown
    assert "&lt;b&gt;&amp;x.txt" in shown and "<b>&x" not in shown
    assert "1 unchanged" in repr(scalelens.ingest(logs / "run.log", warehouse=warehouse, jobs=1))


def test_dry_run_writes_nothing(study):
    logs, warehouse = study
    assert scalelens.ingest(logs, warehouse=warehouse, dry_run=True).entries
    assert not warehouse.exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_afterwards_as_before(study, enabled):
    """A caller who measures has switched the collector off, and wants it to stay so."""
    logs, warehouse = study
    (gc.enable if enabled else gc.disable)()
    try:
        scalelens.ingest(logs, warehouse=warehouse, jobs=1)
        after_ingest = gc.isenabled()
        scalelens.query("runs_overview", warehouse=warehouse)
        assert (after_ingest, gc.isenabled()) == (enabled, enabled)
    finally:
        gc.enable()


def test_ingest_names_its_options():
    from scalelens.ingestion import ingest

    offered = inspect.signature(scalelens.ingest).parameters
    assert not any(option.kind is option.VAR_KEYWORD for option in offered.values())
    assert set(inspect.signature(ingest.ingest).parameters) == set(offered)
    with pytest.raises(TypeError):
        scalelens.ingest("x", job=1)


def test_plot_is_shown_without_a_file_and_is_the_same_with_one(study, tmp_path):
    logs, warehouse = study
    scalelens.ingest(logs, warehouse=warehouse, jobs=1)
    shown = scalelens.plot("batch_cdf", warehouse=warehouse)
    written = scalelens.plot("batch_cdf", tmp_path / "x.svg", warehouse)
    assert shown._repr_svg_().startswith("<svg") and shown._repr_svg_() == written._repr_svg_()
    assert (tmp_path / "x.svg").read_text().startswith("<svg") and "rows)" in repr(shown)
    with pytest.raises(UserError):
        scalelens.plot("no_such_chart", warehouse=warehouse)
    wanted = {
        "width": "double",
        "title": "By hand",
        "caption": False,
        "labels": {"step time [s]": "time of a batch [s]"},
    }
    changed = scalelens.plot("batch_cdf", warehouse=warehouse, settings=wanted)
    svg = changed._repr_svg_()
    assert "By hand" in svg and "time of a batch [s]" in svg and 'width="504"' in svg.partition(">")[0]
    assert changed.provenance["settings"] == wanted
    with pytest.raises(UserError, match="'colour' is not a setting of a figure"):
        scalelens.plot("batch_cdf", warehouse=warehouse, settings={"colour": "red"})


def test_types_are_offered():
    assert files("scalelens").joinpath("py.typed").is_file()
