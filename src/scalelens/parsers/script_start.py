"""When a job script began: what `echo "START TIME: $(date)"` prints, as the scripts of BigScience and CARAML do.

Tool: shell scripts of jobs
Versions: any; date in English
Yields: phases
Source: bigscience-workshop/bigscience, slurm scripts; FZJ-JSC/CARAML, llm_training scripts

The zone is known where the line names UTC or GMT; of others the short names are ambiguous, and the time is naive.

Samples:
    START TIME: Sat Nov 21 05:25:41 UTC 2026
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = ("START TIME: ",)

_START = re.compile(r"^\s*START TIME: \w{3} +(\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d)(?: [AP]M)? (\w{1,5}) (\d{4})\s*\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _START.match(line.text)
        if not match:
            return False
        ts = line_time(f"{match[2]} {match[1]} {match[5]} {match[3]}", line, self.rows, "%d %b %Y %H:%M:%S")
        if ts is not None:
            origin = "utc" if match[4] in ("UTC", "GMT") else "naive"
            self.rows.add("phases", line.number, phase="run", origin="logged", ts=ts, ts_origin=origin)
        return True
