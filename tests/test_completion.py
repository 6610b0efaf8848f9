"""Completion in the shell, asked for as bash, zsh and fish do: by variables, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from logs import megatron_line
from scalelens.ingestion.ingest import ingest

SCRIPT = "from scalelens.cli import main; import sys; sys.argv[0] = 'scalelens'; main()"
SHELLS = ("bash", "zsh", "fish")


def offered(words: str, shell: str = "bash", **variables: str) -> list[str]:
    """What a shell is offered behind these words.  A space at their end begins a new word."""
    given = {"bash": {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}}
    given |= {other: {"_TYPER_COMPLETE_ARGS": words} for other in ("zsh", "fish")}
    environment = {**os.environ, **given[shell], **variables, "_SCALELENS_COMPLETE": f"complete_{shell}"}
    if shell == "fish":
        environment["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=shell != "fish"
    )
    assert done.stderr == ""
    if shell == "zsh":
        return [line.split('"')[1] for line in done.stdout.splitlines() if '"' in line]
    return [line.split("\t")[0] for line in done.stdout.splitlines() if line]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for name in ("before", "after"):
        (folder / f"{name}.out").write_text("".join(megatron_line(step) for step in range(1, 4)) + name)
    ingest([folder], folder / "w", jobs=1)
    return folder / "w"


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_queries_parameters_and_runs(shell: str, warehouse: Path) -> None:
    assert sorted(offered("scalelens que", shell)) == ["queries", "query"]
    assert "scaling" in offered("scalelens query scal", shell)
    assert offered("scalelens query batch_stats war", shell) == ["warmup="]
    assert offered("scalelens plot step_h", shell) == ["step_heatmap"]
    runs = offered("scalelens compare ", shell, SCALELENS_WAREHOUSE=str(warehouse))
    assert runs == ["after", "before"]


def test_helpers_are_not_offered_and_each_name_begins_as_the_word() -> None:
    names = offered("scalelens query s")
    assert "step_course" in names and "selected_steps" not in names
    assert all(name.startswith("s") for name in names)


def test_parameters_are_those_of_the_query_before_them() -> None:
    assert "quantile=" in offered("scalelens compare a b ")
    assert "least_of_interest=" in offered("scalelens next-runs a b ")
    assert "a=" not in offered("scalelens next-runs a b ")
    assert set(offered("scalelens plot step_times ")) == set(offered("scalelens query step_course "))


def test_queries_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine_alone.sql").write_text("-- Mine.\n--\n-- Parameters:\n--   own := 1    x\n--\nSELECT 1\n")
    assert offered("scalelens query mine", SCALELENS_QUERIES=str(tmp_path)) == ["mine_alone"]
    assert offered(f"scalelens query --queries {tmp_path} mine_alone ") == ["own="]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_cannot_be_found_out_is_not_offered(shell: str, tmp_path: Path) -> None:
    (tmp_path / "w/_log").mkdir(parents=True)
    (tmp_path / "w/_log/1.record").write_text("damaged")
    for home in (tmp_path / "nothing", tmp_path / "w"):
        assert offered("scalelens compare ", shell, SCALELENS_WAREHOUSE=str(home)) == []
    assert offered("scalelens query no_such_query ", shell) == []
    assert offered("scalelens query s", shell, SCALELENS_QUERIES="/no/such/folder") == []


def test_offering_names_loads_no_library_that_is_slow() -> None:
    slow = "{'duckdb', 'polars', 'pyarrow', 'scipy', 'altair'}"
    loaded = f"atexit.register(lambda: print(sorted({slow} & set(sys.modules)), file=sys.stderr))"
    code = f"import atexit, sys; {loaded}; {SCRIPT}"
    variables = {
        "_SCALELENS_COMPLETE": "complete_bash",
        "COMP_WORDS": "scalelens query batch_stats w",
        "COMP_CWORD": "3",
    }
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("warmup=", "[]\n") or (done.stdout.strip(), done.stderr) == (
        "warmup=",
        "[]\n",
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_for_the_shell_is_shown(shell: str) -> None:
    environment = {**os.environ, "_SCALELENS_COMPLETE": f"source_{shell}"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert "_SCALELENS_COMPLETE=complete_" + shell in done.stdout
