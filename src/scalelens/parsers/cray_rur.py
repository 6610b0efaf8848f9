"""Energy of an application, as Cray's Resource Utilization Reporting prints it.

Tool: RUR, plugin energy, on Cray XC; its file, the system log, or the output of the job
Versions: CLE 5.1 to 6.0
Yields: energy, params
Source: openpbs src/modules/python/pbs/v1/_pmi_cray.py reads the form of the file; Cray's S-2393

Joules of all nodes that an application (apid) ran on, before their processors' and accelerators' converters, from its
start to its end; whatever else the job did is not in it.  Lists and objects are read.  Nodes are of one application at
a time, so that the applications of a job add up.  0 was not measured.

Samples:
    uid: 1204, apid: 86989, jobid: 471208, cmdname: ./train, plugin: energy ['energy_used', 318]
    energy : 86989 : ['energy_used', 318, 'nodes_throttled', 0]
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("energy_used",)

_LINE = re.compile(
    r"(?:\bapid: (\d{1,18}),(?: jobid: (\d{1,18})[\w.-]*,)?.*?\bplugin: energy |(?<!\S)energy : (\d{1,18}) : )"
    r"[\[{].*?['\"]energy_used['\"] ?[,:] ?(\d{1,15})\b"
)


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _LINE.search(line.text)
        if not match:
            return False
        if match[2] and int(match[2]):
            self.rows.job(match[2], line.number, "scheduler")
        if int(match[4]):
            self.rows.add(
                "energy", line.number, scope="node_dc", device=f"apid {match[1] or match[3]}",
                energy_j=float(match[4]), method="rur",
            )  # fmt: skip
        return True
