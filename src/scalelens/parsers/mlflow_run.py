"""meta.yaml of an MLflow run, and the parameters in the folder next to it.

Tool: MLflow, file store
Versions: 1 to 3
Yields: params, phases
Source: mlflow/store/tracking/file_store.py, _make_persisted_run_info_dict(); mlflow/entities/run_status.py

Times are milliseconds since 1970, the status a number: FINISHED is taken as completed, FAILED as an error, KILLED as
cancelled.  A file below `params` holds nothing but a value, the same bytes under many names: it is read from here, with
the name that it has there, and is a document in `files`.  An experiment's own meta.yaml says nothing of a run.

Samples:
    artifact_uri: file:///scratch/mlruns/1/0123456789abcdef0123456789abcdef/artifacts
    end_time: 1714979309512
    experiment_id: '1'
    lifecycle_stage: active
    run_id: 0123456789abcdef0123456789abcdef
    status: 3
"""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1
IN_HEAD = (b"\nexperiment_id:",)

_KEYS = (
    re.compile(rb"^lifecycle_stage:", re.MULTILINE),
    re.compile(rb"^(?:artifact_uri|artifact_location):", re.MULTILINE),
)
_ENTRY = re.compile(r"(\w+): *(.*)\Z", re.DOTALL)
_OUTCOMES = {"3": "completed", "4": "error", "5": "cancelled"}
_MOMENT = re.compile(r"1\d{12}\Z")
_LONGEST_FILE = 1 << 14  # MLflow writes less than a kilobyte
_LONGEST = 500  # characters of a parameter's value, which MLflow bounds as well
_MOST = 10_000


def recognise(head: bytes, name: str) -> bool:
    return len(head) < _LONGEST_FILE and b"\nexperiment_id:" in head and all(key.search(head) for key in _KEYS)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace")
    entries = {
        match[1]: (match[2].strip("'\""), n)
        for n, line in enumerate(text.splitlines(), 1)
        if (match := _ENTRY.match(line.rstrip()))
    }
    if "run_id" not in entries and "run_uuid" not in entries:
        return
    for key in ("run_name", "user_id", "source_name", "entry_point_name", "source_version"):
        value, line = entries.get(key, ("", None))
        rows.param(key, value or None, line)
    status, line = entries.get("status", ("", None))
    rows.param("outcome", _OUTCOMES.get(status), line)
    (began, _), (ended, line) = (entries.get(key, ("", None)) for key in ("start_time", "end_time"))
    if _MOMENT.match(began) and _MOMENT.match(ended):
        rows.add(
            "phases", line, phase="run", span_s=(int(ended) - int(began)) / 1000, origin="logged", ts_origin="utc",
            ts=datetime.fromtimestamp(int(ended) / 1000, UTC).replace(tzinfo=None),
        )  # fmt: skip
    _parameters(Path(source.path).parent / "params", rows)


def _parameters(folder: Path, rows: Rows) -> None:
    """The values below a folder, under the names of their files."""
    with contextlib.suppress(OSError):
        for path in sorted(folder.rglob("*"))[:_MOST]:
            if path.is_file():
                value = path.read_bytes()[: 4 * _LONGEST].decode("utf-8", "replace").strip()
                rows.param(path.relative_to(folder).as_posix(), value[:_LONGEST] or None)
