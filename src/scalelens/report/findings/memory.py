"""How near to its limit is the devices' memory, and is it fragmented?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 125
SQL = """
WITH sites AS (
    SELECT file_id, device, arg_max(site, bytes) AS largest_site, max(share) AS largest_share
    FROM memory_by_site() WHERE site IS NOT NULL GROUP BY ALL)
SELECT s.*, largest_site, largest_share,
    unused_at_peak_bytes / nullif(peak_requested_bytes + unused_at_peak_bytes, 0) AS unused_share
FROM memory_snapshots() AS s LEFT JOIN sites AS w ON w.file_id = s.file_id AND w.device IS NOT DISTINCT FROM s.device
ORDER BY peak_requested_bytes DESC NULLS LAST, run_id, rank, file_id, device"""
GLANCE = ("run_id", "rank", "device", "peak_requested_bytes", "unused_at_peak_bytes", "peak_reserved_bytes",
          "allocated_bytes", "free_bytes", "fragmentation%", "ooms", "largest_site", "largest_share%",
          "note")  # fmt: skip
CHARTS = ("memory_over_time",)
ABOUT_TRACES = True
IS_REMARK = True
_MUCH_UNUSED = 0.1  # share of what is reserved at the peak


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    failed = [_failed(row, names) for row in rows.iter_rows(named=True) if row["ooms"]]
    known = [row for row in rows.iter_rows(named=True) if row["peak_requested_bytes"] and not row["ooms"]]
    return few(failed + [_peak(row, names) for row in known])


def _failed(row: Mapping[str, Any], names: Mapping[str, str]) -> FindingSentence:
    text = f"{_whose(row, names)}: {plural(row['ooms'], 'allocation')} failed, the largest of {_gb(row['oom_bytes'])}."
    return FindingSentence(text, _doubt(row), 1.0)


def _peak(row: Mapping[str, Any], names: Mapping[str, str]) -> FindingSentence:
    share = row["unused_share"] or 0
    site = f"; {percent(row['largest_share'])} of it at {row['largest_site']}" if row["largest_site"] else ""
    text = f"{_whose(row, names)}: at the peak, tensors use {_gb(row['peak_requested_bytes'])}{site}."
    if share >= _MUCH_UNUSED:
        text += f" {percent(share)} of what PyTorch reserves then is unused."
    return FindingSentence(text, _doubt(row), share if share >= _MUCH_UNUSED else 0.0)


def _whose(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    rank = "" if row["rank"] is None else f", rank {row['rank']}"
    return f"{names[row['run_id']]}{rank}"


def _doubt(row: Mapping[str, Any]) -> str:
    events = plural(row["entries"], "recorded event")
    said = f"Peak in {events} of the allocator; memory of other libraries is not included."
    return f"{said} {row['note']}" if row["note"] else said


def _gb(count: int) -> str:
    size, unit = next(((size, unit) for size, unit in ((1e9, "GB"), (1e6, "MB")) if count >= size), (1e3, "kB"))
    return f"{count / size:.3g} {unit}"


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No memory snapshot was read."
    return "The memory snapshots have no history, so the peak is unknown."
