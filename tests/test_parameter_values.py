"""Values of parameters: what cannot be one is named in one sentence, with what is allowed, before DuckDB is asked."""

from pathlib import Path

import pytest

import scalelens
from command_line import Run, one_line
from little_warehouse import QUERIES
from logs import megatron_line
from scalelens.errors import UserError
from scalelens.queries.parameter_values import CHOICES, check_value, what_it_takes, words
from scalelens.queries.shared_parameters import Parameter

PARAMETERS = sorted({parameter for query in QUERIES.values() for parameter in query.parameters})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of one run."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "logs").mkdir()
    (folder / "logs" / "job.log").write_text("".join(megatron_line(step, 1000.0) for step in range(1, 6)))
    scalelens.ingest(folder / "logs" / "job.log", warehouse=folder / "warehouse")
    return folder / "warehouse"


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: f"{parameter.name}-{parameter.default}")
def test_defaults_are_allowed(parameter: Parameter) -> None:
    check_value(parameter, None if parameter.default == "NULL" else parameter.default.strip("'"))


@pytest.mark.parametrize("name", CHOICES)
def test_the_header_quotes_every_choice(name: str) -> None:
    for parameter in (parameter for parameter in PARAMETERS if parameter.name == name):
        assert len(words(parameter)) >= 2


@pytest.mark.parametrize(
    ("query", "value", "takes"),
    [
        ("batch_stats", "warmup=-1", "a number, 0 or more"),
        ("batch_stats", "warmup=abc", "a number, 0 or more"),
        ("batch_stats", "warmup=", "a number, 0 or more"),
        ("batch_stats", "warmup=nan", "a number, 0 or more"),
        ("batch_stats", "exclude=rule", "rules, none or steady"),
        ("scaling", "metric=x", "t_b, mean_s, t_ep, t_tr, throughput or tflops"),
        ("energy_integrated", "method=middle", "trapezoid, right or left"),
        ("time_to_accuracy", "target=high", "a number"),
        ("elbow", "by_epoch=1", "true or false"),
        ("mfu", "formula=6n", "auto, 6N, palm, megatron or layers"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(run: Run, home: Path, query: str, value: str, takes: str) -> None:
    name, _, text = value.partition("=")
    one_line(run("query", query, value, "-w", home), f"'{text}' is not a value of {name}; it takes {takes}\n")


def test_the_library_refuses_the_same(home: Path) -> None:
    with pytest.raises(UserError, match="'-1' is not a value of warmup"):
        scalelens.query("batch_stats", warehouse=home, warmup=-1)
    assert scalelens.query("batch_stats", warehouse=home, warmup=0, exclude="none")["n_steps"].to_list() == [5]


def test_texts_that_no_one_can_list_are_free() -> None:
    assert {parameter.name for parameter in PARAMETERS if not what_it_takes(parameter)} >= {"runs", "epochs", "a", "b"}


def test_where_a_run_is_asked_for_the_hint_names_some(run: Run, home: Path) -> None:
    (name,) = scalelens.query("runs_overview", warehouse=home)["name"]
    ran = run("query", "compare", "a=jib", f"b={name}", "-w", home)
    one_line(ran, f"a: no run is called 'jib'; there is only {name}")


def test_a_close_name_of_a_query_is_suggested(run: Run, home: Path) -> None:
    one_line(run("query", "scalin", "-w", home), "there is no query 'scalin'; did you mean scaling")


def test_a_warehouse_without_runs_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("ingest", tmp_path / "empty", "-w", tmp_path / "w")
    assert "the named paths contain no files\n" in ran.err
    ran = run("query", "batch_stats", "-w", tmp_path / "w")
    assert (ran.code, "there are no runs in" in ran.err, "scalelens ingest logs/" in ran.err) == (0, True, True)
