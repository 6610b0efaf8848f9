"""Arrow's functions by their names give what `pyarrow.compute` gives, and reading logs does not load it."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest

from conftest import FIXTURES
from scalelens import arrow_compute as pc
from scalelens.ingestion.known_formats import our_formats

NUMBERS = pa.array([3, None, 1, 3], pa.int64())
FLOATS = pa.array([1.5, float("nan"), None, -2.0])
TEXTS = pa.array(["b,c", None, " a ", "b"])
MASK = pa.array([True, None, False, True])
TABLE = pa.table({"n": NUMBERS, "t": TEXTS, "b": pa.chunked_array([MASK.slice(0, 1), MASK.slice(1)])})
BATCH = TABLE.to_batches()[0]
BYTES = TEXTS.view(pa.binary())

CASES: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: pc.cast(NUMBERS, pa.float64()), lambda: NUMBERS.cast(pa.float64())),
    (lambda: pc.cast(TABLE["n"], pa.string()), lambda: TABLE["n"].cast(pa.string())),
    (lambda: pc.filter(TABLE, MASK), lambda: TABLE.filter(MASK)),
    (lambda: pc.filter(BATCH, MASK.slice(0, BATCH.num_rows)), lambda: BATCH.filter(MASK.slice(0, BATCH.num_rows))),
    (lambda: pc.filter(NUMBERS, MASK), lambda: NUMBERS.filter(MASK)),
    (lambda: pc.take(TABLE, pa.array([2, 0])), lambda: TABLE.take([2, 0])),
    (lambda: pc.take(TEXTS, pa.array([2, None])), lambda: TEXTS.take(pa.array([2, None]))),
    (lambda: pc.is_in(NUMBERS, pa.array([1, None])), lambda: pyarrow.compute.is_in(NUMBERS, pa.array([1, None]))),
    (lambda: pc.index_in(NUMBERS, value_set=NUMBERS), lambda: pyarrow.compute.index_in(NUMBERS, NUMBERS)),
    (lambda: pc.dictionary_encode(TEXTS), lambda: TEXTS.dictionary_encode()),
    (lambda: pc.dictionary_encode(TEXTS, "encode"), lambda: TEXTS.dictionary_encode("encode")),
    (lambda: pc.starts_with(TEXTS, "b"), lambda: pyarrow.compute.starts_with(TEXTS, "b")),
    (
        lambda: pc.replace_substring(TEXTS, ",", "."),
        lambda: pyarrow.compute.replace_substring(TEXTS, pattern=",", replacement="."),
    ),
    (lambda: pc.binary_slice(BYTES, 0, 2), lambda: pyarrow.compute.binary_slice(BYTES, 0, 2)),
    (lambda: pc.sorted_by(TABLE, ["n", "t"]), lambda: TABLE.sort_by([("n", "ascending"), ("t", "ascending")])),
    (lambda: pc.unique(TABLE["n"]), lambda: TABLE["n"].unique()),
    (lambda: pc.run_end_encode(NUMBERS), lambda: pyarrow.compute.run_end_encode(NUMBERS)),
    (lambda: pc.sum(NUMBERS), lambda: pyarrow.compute.sum(NUMBERS)),
    (lambda: pc.any(MASK), lambda: pyarrow.compute.any(MASK)),
    (lambda: pc.if_else(MASK, "a", "b"), lambda: pyarrow.compute.if_else(MASK, "a", "b")),
    (lambda: pc.coalesce(NUMBERS, pa.scalar(7)), lambda: NUMBERS.fill_null(7)),
    (lambda: pc.is_valid(FLOATS), lambda: FLOATS.is_valid()),
    (lambda: pc.divide(FLOATS, pa.scalar(100.0)), lambda: pyarrow.compute.divide(FLOATS, pa.scalar(100.0))),
    (lambda: pc.trunc(FLOATS), lambda: pyarrow.compute.trunc(FLOATS)),
]


@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_a_function_gives_what_arrows_own_gives(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    one, other = ours(), theirs()
    assert type(one) is type(other) and one.type == other.type if hasattr(one, "type") else one.schema == other.schema
    assert repr(one.as_py() if isinstance(one, pa.Scalar) else one.to_pylist()) == repr(
        other.as_py() if isinstance(other, pa.Scalar) else other.to_pylist()
    )


def test_every_function_that_is_called_exists() -> None:
    package = Path(pc.__file__).parent
    called = {name for file in package.rglob("*.py") for name in re.findall(r"\bpc\.([a-z_0-9]+)\(", file.read_text())}
    own = {name for name in called if getattr(vars(pc).get(name), "__module__", "") == pc.__name__}
    assert {"filter", "take", "ends", "sorted_by"} <= own
    assert called - own <= {*pyarrow.compute.list_functions()}


def test_ends_leave_out_what_is_no_number() -> None:
    assert pc.ends(FLOATS) == (-2.0, 1.5)
    assert pc.ends(NUMBERS) == (1, 3)
    assert pc.ends(pa.array([], pa.int64())) == (None, None)


def test_a_long_log_is_read_without_pyarrow_compute(tmp_path: Path) -> None:
    our_formats()
    header, *_ = (FIXTURES / "megatron" / "apertus.log").read_text().splitlines()
    record = next(
        line
        for file in sorted((FIXTURES / "megatron").glob("*.log"))
        for line in file.read_text().splitlines()
        if re.match(r" \[.*\] iteration +\d+/", line)
    )
    begin, count, rest = re.match(r"(.*? iteration +)(\d+)(/.*)", record).groups()  # type: ignore[union-attr]
    lines = [header, *(f"{begin}{int(count) + k:{len(count)}}{rest}" for k in range(600))]
    log = tmp_path / "long.log"
    log.write_text("\n".join(lines) + "\n")
    code = (
        "import sys; from pathlib import Path; from scalelens.ingestion.ingest import ingest; "
        "report = ingest([Path(sys.argv[1])], Path(sys.argv[2]), jobs=1); "
        "print(report.entries[0].rows, 'pyarrow.compute' in sys.modules)"
    )
    asked = [sys.executable, "-c", code, str(log), str(tmp_path / "warehouse")]
    done = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    rows, is_loaded = done.split()
    assert int(rows) > 600 and is_loaded == "False"
