"""The critical path of a step by Holistic Trace Analysis (the extra `hta`), in the trace file itself, for one rank.

Ours is the query `critical_path`, across ranks; `chosen` takes the part that was asked for.

Columns of HTA's:
  bound_by       VARCHAR    cpu_bound, gpu_compute_bound, gpu_communication_bound, gpu_kernel_launch_overhead, ...
  name           VARCHAR    operator or kernel, NULL where the path waits or launches
  pieces         BIGINT     pieces of the path
  duration_us    DOUBLE us  their time
  share          DOUBLE     of the path
"""

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from scalelens.database.connect import connect
from scalelens.errors import UserError
from scalelens.parsing.archive_names import is_archive
from scalelens.parsing.archives import open_members
from scalelens.parsing.source import open_source


def chosen(rows: pl.DataFrame, rank: int | None, step: int | None) -> pl.DataFrame:
    """Rows of the query `critical_path` of one rank, or of one step.  Raises UserError where there is none."""
    reasons = rows["reason"].drop_nulls().unique().to_list()
    found = rows.filter(pl.col("kind").is_not_null()).drop("reason")
    if found.is_empty():
        raise UserError(
            f"there is no critical path: {reasons[0] if reasons else 'the warehouse has no device trace'}",
            "see which traces there are: scalelens query trace_steps",
        )
    kept = found
    for name, value in (("rank", rank), ("train_step", step)):
        if value is not None:
            kept = kept.filter(pl.col(name) == value)
    if kept.is_empty():
        known = ", ".join(map(str, found["train_step"].unique().drop_nulls().sort().to_list()[:12])) or "none"
        raise UserError("that rank and step have no critical path", f"steps that have a path: {known}")
    return kept


def critical_path_by_hta(
    root: Path, rank: int = 0, run: str = "", annotation: str = "ProfilerStep", instance: int = 0
) -> pl.DataFrame:
    """Time on the critical path of a step by what bounds it: one row per cause and name, the longest first.

    `run` is the beginning of a run's id, where several runs have that rank; `instance` counts the spans whose names
    begin with `annotation`, from 0.
    Raises UserError where HTA is not installed, where the trace is no longer there, or where HTA finds no path in it.
    """
    _need_hta()
    path = _trace_of(root, rank, run)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"  # HTA reads .json and .json.gz alone
        plain.write_bytes(_content(path))
        try:
            pieces = _pieces_of(plain, rank, annotation, instance)
        except Exception as error:  # whatever HTA, pandas or networkx raise for a trace that they do not expect
            pieces, reason = None, f"{type(error).__name__}: {error}".splitlines()[0][:200]
        else:
            reason = f"it cannot follow {annotation} number {instance}, or there is none"
    if pieces is None or pieces.empty:
        raise UserError(
            f"HTA finds no critical path in {path} ({reason})", "choose a step with --annotation ... --instance ..."
        )
    return _summed(pieces)


def _need_hta() -> None:
    try:
        import hta.trace_analysis  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"Holistic Trace Analysis cannot be imported ({error})",
            "install it: pip install 'scalelens[hta]'",
        ) from None


def _pieces_of(trace: Path, rank: int, annotation: str, instance: int) -> Any:
    """The pieces of the path, a pandas DataFrame, or None where HTA says that it failed."""
    from hta.trace_analysis import TraceAnalysis

    with _silence():
        analysis = TraceAnalysis(trace_files={rank: str(trace)}, include_last_profiler_step=True)
        graph, success = analysis.critical_path_analysis(rank, annotation, instance)
        return graph.get_critical_path_breakdown() if success else None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keeps what HTA prints, logs and warns of from the terminal: thousands of lines of a trace that it can follow."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _trace_of(root: Path, rank: int, run: str) -> str:
    """Path of the one trace of a rank."""
    connection = connect(root, {}, "events files")
    rows = connection.execute(
        "SELECT DISTINCT e.run_id, f.path FROM events AS e JOIN files AS f USING (file_id) "
        "WHERE coalesce(e.rank, 0) = ? AND starts_with(e.run_id, ?) ORDER BY ALL",
        [rank, run],
    ).fetchall()
    if not rows:
        raise UserError(f"the warehouse has no trace of rank {rank}", "see which there are: scalelens query rank_work")
    runs = sorted({run_id for run_id, _ in rows})
    if len(runs) > 1:
        raise UserError(
            f"{len(runs)} runs have a trace of rank {rank}", f"name the run with --run: one of {', '.join(runs[:8])}"
        )
    if len(rows) > 1:
        raise UserError(
            f"run {runs[0]} has {len(rows)} traces of rank {rank}",
            "ingest the one you mean into a warehouse of its own: scalelens ingest FILE -w FOLDER",
        )
    return str(rows[0][1])


def _content(path: str) -> bytes:
    """Bytes of a trace, also where it is compressed or in an archive (`archive.tar.gz!member`)."""
    if Path(path).is_file():
        return open_source(Path(path)).read()
    archive = path.partition("!")[0]
    if Path(archive).is_file() and is_archive(archive):
        for source in open_members(Path(archive)):
            if source.path == path:
                return source.read()
    raise UserError(f"{path} is no longer there", "restore it: HTA reads the trace file itself")


def _summed(pieces: Any) -> pl.DataFrame:
    """Pieces of the path, a pandas DataFrame, added up by what bounds them and by their names."""
    columns = {name: pieces[name].tolist() for name in ("bound_by", "s_name", "duration")}
    frame = pl.DataFrame(
        {
            "bound_by": [value if isinstance(value, str) else None for value in columns["bound_by"]],
            "name": [value if isinstance(value, str) else None for value in columns["s_name"]],
            "duration_us": [float(value) for value in columns["duration"]],
        },
        schema={"bound_by": pl.String, "name": pl.String, "duration_us": pl.Float64},
    )
    return (
        frame.group_by("bound_by", "name")
        .agg(pieces=pl.len().cast(pl.Int64), duration_us=pl.col("duration_us").sum())
        .filter(pl.col("duration_us") > 0)
        .with_columns(share=pl.col("duration_us") / pl.col("duration_us").sum())
        .select("bound_by", "name", "pieces", "duration_us", "share")
        .sort("duration_us", "bound_by", "name", descending=[True, False, False])
    )
