"""Options and paths of the tests.  `pytest --update` rewrites the goldens: look at the difference before committing it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
CORPUS = ROOT.parent / "shared" / "corpus"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the goldens")


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


def as_dicts(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows with times of nanoseconds as text, because Python's own end at the microsecond."""
    columns = [column.cast(pa.string()) if column.type == pa.timestamp("ns") else column for column in table.columns]
    return type(table).from_arrays(columns, table.column_names).to_pylist()
