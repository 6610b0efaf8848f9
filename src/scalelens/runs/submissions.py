"""MLPerf's layout of a submission, which MLCommons prescribes and which is the same in every round.

    <submitter>/systems/<system>.json
    <submitter>/results/<system>/<benchmark>/result_0.txt
    <submitter>/results/<system>/<benchmark>/power/result_0/node_0.txt

MLPerf HPC has a folder `strong` or `weak` between system and benchmark.  Each result is a run of its own, even if one
job produced all of them.  A system file is not a run: it describes the machine of the runs in its results folder.
"""

from scalelens.parsing import lazy_re as re
from scalelens.warehouse.live import Live
from scalelens.warehouse.records import Entry

_LOGS = {"mllog", "mllog_old"}
_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_RESULT = re.compile(r"(?:^|[/!])results/[^/]+/(?:(?:strong|weak)/)?[^/]+/result_[^/]+\.(?:txt|log)" + _PACKED + r"\Z")
SYSTEM = re.compile(r"(?P<above>.*[/!]|)systems/(?P<system>[^/]+)\.json" + _PACKED + r"\Z")


def is_result(entry: Entry) -> bool:
    """Whether a file is the log of one result: it has the path of one, and lines of MLPerf."""
    return _RESULT.search(entry.path) is not None and not _LOGS.isdisjoint(entry.formats)


def described_results(live: Live) -> dict[str, list[str]]:
    """Folders of results by the file_id of the system file that describes them.

    System files may have the same bytes, so each path of a content counts.
    """
    folders: dict[str, list[str]] = {}
    for path, entry in sorted(live.paths.items()):
        provider = live.providers.get(entry.file_id)
        match = SYSTEM.fullmatch(path)
        if match and provider and "system_json" in provider.formats:
            folders.setdefault(entry.file_id, []).append(f"{match['above']}results/{match['system']}")
    return folders
