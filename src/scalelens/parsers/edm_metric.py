"""Scores of StyleGAN's snapshots: metric-fid50k_full.jsonl.

Tool: StyleGAN2-ADA, StyleGAN3 (NVlabs)
Versions: PyTorch, 2020 and later
Yields: metrics
Source: stylegan3/metrics/metric_main.py, report_metric()

One object for each scored snapshot, whose name says how many thousand images it had seen.  The scores are metrics, and
so is the time of the scoring, which is not training.  The lines do not state a tick.

Samples:
    {"results": {"fid50k_full": 31.5}, "metric": "fid50k_full", "total_time": 95.5, "total_time_str": "1m 36s", "num_gpus": 2, "snapshot_pkl": "network-snapshot-000400.pkl", "timestamp": 1772409600.5}
"""

import json

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_number, json_number_or_nan

VERSION = 1
ANCHORS = ('"total_time_str": ', '{"results": {"')

_SNAPSHOT = re.compile(r"network-snapshot-(\d{1,12})\.pkl")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.has_one = False

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text.startswith('{"results": {'):
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            if self.has_one:
                self.rows.problem(line.number, "the record is cut", text)
            return self.has_one
        results = record.get("results")
        if not isinstance(results, dict) or not {"metric", "total_time", "snapshot_pkl"} <= record.keys():
            return False  # results of a tool that measures something else
        self.has_one = True
        fields = results.items()
        values: list[tuple[str, float, str | None]] = [
            (name, value, None) for name, field in fields if (value := json_number_or_nan(field)) is not None
        ]
        if (seconds := json_number(record["total_time"])) is not None:
            values.append(("total_time", seconds, "s"))
        if snapshot := _SNAPSHOT.fullmatch(str(record["snapshot_pkl"])):
            values.append(("snapshot_kimg", float(snapshot[1]), None))
        self.rows.metrics(line.number, line.rank, line.location, None, values)
        return True
