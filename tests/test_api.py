"""The library as people use it in notebooks and in programs that are checked for types."""

import doctest
import gc
import inspect
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

import scalelens
from conftest import ROOT
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
    assert set(inspect.signature(scalelens.Study.ingest).parameters) == set(offered) - {"warehouse"} | {"self"}
    with pytest.raises(TypeError):
        scalelens.ingest("x", job=1)


def test_plot_is_shown_without_a_file_and_is_the_same_with_one(study, tmp_path):
    logs, warehouse = study
    scalelens.ingest(logs, warehouse=warehouse, jobs=1)
    shown = scalelens.plot("batch_cdf", warehouse=warehouse)
    written = scalelens.plot("batch_cdf", warehouse, tmp_path / "x.svg")
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


def test_old_names_answer_for_one_version(study, tmp_path):
    logs, warehouse = study
    with pytest.deprecated_call(match="again is called reread now"):
        assert "1 ok" in repr(scalelens.ingest(logs, warehouse=warehouse, jobs=1, again=True))
    drawn = scalelens.plot("batch_cdf", tmp_path / "x.svg", warehouse)
    assert (tmp_path / "x.svg").exists() and drawn.rows.height


# Every example of a docstring, in a folder with the logs of the demo


EXAMPLES = [
    (f"{owner.__name__}.{name}", value)
    for owner in (scalelens, scalelens.Study)
    for name, value in vars(owner).items()
    if inspect.isfunction(value) and not name.startswith("_") and value.__module__ in ("scalelens", "scalelens.study")
]


@pytest.fixture(scope="module")
def folder_of_examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(Path(scalelens.__file__).parent / "demo" / "logs", folder / "logs")
    (folder / "paper.md").write_text("The efficiency on 2 GPUs is 120 %.\n")
    scalelens.ingest(folder / "logs", warehouse=folder / "study")
    scalelens.plot("scaling", folder / "study", folder / "scaling.svg")
    return folder


def test_there_is_an_example_for_everything():
    assert len(EXAMPLES) > 20
    for name, value in EXAMPLES:
        assert ">>> " in (value.__doc__ or ""), name


@pytest.fixture(scope="module")
def study_of_examples(folder_of_examples):
    with scalelens.open(folder_of_examples / "study") as study:
        yield study


def of_docstring(name: str, value):
    """Functions that hand a question to a study of their own are tried nightly, the study's methods always."""
    passes_on = name.startswith("scalelens.") and hasattr(scalelens.Study, name.partition(".")[2])
    return pytest.param(name, value, marks=pytest.mark.slow if passes_on else ())


@pytest.mark.parametrize(
    ("name", "value"),
    [of_docstring(*example) for example in (*EXAMPLES, ("scalelens", scalelens), ("Study", scalelens.Study))],
)
def test_the_example_of_a_docstring(name, value, folder_of_examples, study_of_examples, monkeypatch):
    monkeypatch.chdir(folder_of_examples)
    given = {"scalelens": scalelens, "study": study_of_examples}
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=options)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value), given, name, None, 0)
    out = []
    runner.run(test, out=out.append)
    assert test.examples and not runner.failures, "".join(out)


def test_the_page_that_shows_it_in_a_notebook(folder_of_examples, monkeypatch):
    monkeypatch.chdir(folder_of_examples)
    page = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL))
    runner, out = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), []
    runner.run(doctest.DocTestParser().get_doctest(page, {}, "python.md", None, 0), out=out.append)
    assert runner.tries > 10 and not runner.failures, "".join(out)
    methods = {name for name in vars(scalelens.Study) if not name.startswith("_")} - {"close", "critical_path"}
    for name in methods:
        assert f"study.{name}(" in (ROOT / "docs" / "python.md").read_text(), name


def test_a_study_sees_what_others_commit_and_shares_what_it_computes(study):
    logs, warehouse = study
    with scalelens.open(warehouse) as ours:
        ours.ingest(logs, jobs=1)
        assert ours.runs().height == 1
        write_log(logs / "another.log", steps=30)
        scalelens.ingest(logs, warehouse=warehouse, jobs=1)
        assert ours.runs().height == 2
        assert ours.query("batch_stats", sort="-n_steps", limit=1)["n_steps"].item() == 38
        with pytest.raises(UserError, match="there is no query 'batch_stat'; did you mean batch_stats"):
            ours.query("batch_stat")
    assert ours.sql("SELECT count(*) AS n FROM runs").item() == 2, "it opens again"
