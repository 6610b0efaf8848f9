"""Options and paths of the tests.  `pytest --update` rewrites the goldens: look at the difference before committing it."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does, before numpy is imported

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

import spread

if TYPE_CHECKING:
    from command_line import Run
    from little_warehouse import Warehouse

# Containers often forbid files of bytecode: then each of the hundreds of processes of the tests compiles all it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
CORPUS = ROOT.parent / "shared" / "corpus"

# How long an example takes says how busy the machine is.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the goldens")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "not slow":
        spread.only_by_day()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    by_night = set(spread.by_night(item.nodeid for item in items if item.get_closest_marker("slow") is None))
    for item in items:
        if item.nodeid in by_night:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end; once looked through, they are not again before there are a quarter more.

    Frozen, they would be counted by each question: it asks whether anything is frozen, which takes as long as a look.
    """
    gc.collect()


@pytest.fixture
def corpus() -> Path:
    """Real files that lie beside the project on some machines; tests of them are skipped elsewhere."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    return CORPUS


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compares a text with a golden file, or writes it with --update."""

    def compare(text: str, path: Path) -> None:
        if request.config.getoption("--update"):
            if text.strip():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            else:
                path.unlink(missing_ok=True)
        assert text == (path.read_text() if path.exists() else ""), (
            f"{path.name} differs; look at it, then pytest --update"
        )

    return compare


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> "Run":
    """Runs the command line in this process."""
    import command_line

    return command_line.runner(capsys, monkeypatch)


@pytest.fixture
def warehouse() -> "Warehouse":
    """A warehouse without a row, to be filled by hand."""
    import little_warehouse

    return little_warehouse.Warehouse()


def as_dicts(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows with times of nanoseconds as text, because Python's own end at the microsecond."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values of a column; most hold nothing, and are not looked through."""
    if column.null_count == len(column):
        return [None] * len(column)
    return (column.cast(pa.string()) if column.type == pa.timestamp("ns") else column).to_pylist()
