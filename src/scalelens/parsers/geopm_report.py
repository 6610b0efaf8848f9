"""GEOPM's report: energies of the packages, memory and GPUs of each host.

Tool: geopmlaunch, GEOPM_CTL=process (geopm.report)
Versions: 0.6 to 3.1
Yields: energy
Source: geopm/geopm src/Reporter.cpp; docs/source/geopm_report.7.rst

`Application Totals` of each host count, from the start of the application to its end; those of regions and epochs are
parts of them and are not read.  The package energy is of all sockets, the memory and GPU energies of all of the host.
The report does not say when the application ended.

Samples:
    ##### geopm 1.1.0+dev29gac79fdf #####
    GEOPM Version: 2.0.0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, lines_of

VERSION = 1

_FIRST = re.compile(r"##### geopm \S{1,80} #####\s*\Z|[\"']?GEOPM Version[\"']?: \S{1,80}\s*\Z", re.IGNORECASE)
_HOST = re.compile(r"Host: (\S{1,100})\s*\Z")  # of the older reports
_NAME = re.compile(r"  ([^\s:]{1,100}):\s*\Z")  # below Hosts:, of the newer ones, which are YAML
_TOTALS = re.compile(r"( *)Application Totals:\s*\Z")
_FIELD = re.compile(r"( +)(\S.{0,60}?) \((?:s|sec|J|joules)\): (\S+)\s*\Z")
_SCOPES = {
    "package-energy": ("packages", "cpu"),
    "dram-energy": ("memory", "memory"),
    "gpu-energy": ("gpus", "gpu"),
    "board-energy": ("board", "node_dc"),
}


def recognise(head: bytes, name: str) -> bool:
    return any(map(_FIRST.match, first_lines(head)[:1]))


def read(source: Source, rows: Rows) -> None:
    host: str | None = None
    below_hosts = False
    indent: int | None = None  # of the totals that are open
    span_s: float | None = None
    for number, text, whole in lines_of(source):
        if match := _HOST.match(text):
            host, indent = match[1], None
        elif text.startswith("Hosts:"):
            below_hosts, indent = True, None
        elif below_hosts and (match := _NAME.match(text)):
            host, indent = match[1], None
        elif match := _TOTALS.match(text):
            indent, span_s = len(match[1]), None
        elif indent is not None and len(text) - len(text.lstrip()) <= indent:
            indent = None
        elif indent is not None and (match := _FIELD.match(text)):
            value = amount(match[3]) if whole else None
            if match[2] == "runtime":
                span_s = value
            elif match[2] in _SCOPES and value is None:
                rows.problem(number, MAY_BE_CUT if not whole else "the energy is not a number of joules", text)
            elif match[2] in _SCOPES:
                device, scope = _SCOPES[match[2]]
                rows.add(
                    "energy", number, node=host, device=device, scope=scope, energy_j=value or None, span_s=span_s,
                    method="geopm",
                )  # fmt: skip
