"""What an export of Nsight Systems holds, as rows: the same for each kind of export."""

from scalelens.parsing.nsight_events import Capture
from scalelens.parsing.nsight_processes import captured_environment, processes_of
from scalelens.parsing.nsight_tables import GRAPH_TABLE, KERNEL_TABLE, SELECTIONS
from scalelens.parsing.rows import Rows
from scalelens.parsing.sqlite_file import Database

_OF_TARGET = {"Hostname": "host_name", "NvDriverVersion": "driver_version", "CpuDescription": "cpu_model"}
_WARNING, _ERROR = 2, 3  # severities of a diagnostic event
_GRAPHS = (
    "launches of whole CUDA graphs count as compute; what ran inside of them was not recorded (--cuda-graph-trace)"
)
_NO_KERNELS = "the capture contains no kernel: CUDA was not traced, or its trace failed"
_NO_RANKS = "the ranks of its processes are unknown: each is taken for a separate run"


def read_capture(database: Database, rows: Rows, name: str, notes: list[str]) -> None:
    """Adds the rows of an export, and notes on it.  `name` is that of the export, which may tell the rank.

    Raises sqlite3.Error where a table is damaged; what was added before is kept.
    """
    _facts(database, rows)
    processes, known = processes_of(database, captured_environment(database, rows), name)
    notes += [] if known else [_NO_RANKS]
    capture = Capture(database, rows, processes)
    counts = {selection.table: capture.read(selection) for selection in SELECTIONS}
    _diagnostics(database, rows)
    if graphs := counts[GRAPH_TABLE]:
        rows.problem(None, f"{graphs} {_GRAPHS}")
    elif not counts[KERNEL_TABLE]:
        notes.append(_NO_KERNELS)


def _facts(database: Database, rows: Rows) -> None:
    """Facts about the capture and the machine."""
    of_export = next((t for t in ("META_DATA_EXPORT", "EXPORT_META_DATA") if t in database.columns), None)
    if of_export:
        version = f"SELECT value FROM {of_export} WHERE name = 'EXPORT_PRODUCT_VERSION'"
        rows.param("nsight_systems_version", next((value for (value,) in database.rows(version)), None))
    if "TARGET_INFO_SYSTEM_ENV" in database.columns:
        for name, value in database.rows("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"):
            if name in _OF_TARGET and value and value != "unknown":
                rows.param(_OF_TARGET[name], value)
    if "TARGET_INFO_GPU" in database.columns:
        models = [name for (name,) in database.rows("SELECT DISTINCT name FROM TARGET_INFO_GPU WHERE name <> ''")]
        rows.param("device_model", ", ".join(models) or None)


def _diagnostics(database: Database, rows: Rows) -> None:
    """What the profiler warned of: a trace may lack what it could not record."""
    if {"severity", "text"} <= database.columns.get("DIAGNOSTIC_EVENT", set()):
        said = f"SELECT text, count(*) FROM DIAGNOSTIC_EVENT WHERE severity IN ({_WARNING}, {_ERROR}) GROUP BY text"
        for text, count in database.rows(f"{said} ORDER BY min(timestamp)"):
            rows.problem(None, f"Nsight Systems warned while it recorded ({count} times)", str(text))
