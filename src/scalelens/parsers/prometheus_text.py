"""Prometheus's text format: powers and counters of energy that an exporter showed, page after page.

Tool: Kepler, node_exporter, Scaphandre, nvidia_gpu_exporter, ipmi_exporter, ...; whatever fetched their pages (curl, a script)
Versions: the text format 0.0.4, OpenMetrics 1.0
Yields: power, energy
Source: Prometheus, exposition formats; kepler docs/metrics; node_exporter collector/rapl_linux.go

The names of the series say what they are, as in the answers of range queries; shares of containers and processes, limits
and means are not read.  The time is the one after the number, else that of a line with little but a time before the
page (`date`, `# 1767323045`); a page by itself has none.  dcgm-exporter's pages have a reader of their own.

Samples:
    # HELP kepler_node_package_joules_total Aggregated RAPL value in package (socket) in joules
    # TYPE kepler_node_package_joules_total counter
    kepler_node_package_joules_total{instance="n1",mode="dynamic",package="0"} 1234.5
"""

import itertools

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import head_lines, lines_of
from scalelens.tabular.prometheus_series import labels_of, quantity_of, repeated, sensor_of

VERSION = 1
IN_HEAD = (b"# HELP", b"# TYPE", b"# UNIT")

_ABOUT = re.compile(r"# (?:HELP|TYPE|UNIT) [a-zA-Z_:][\w:]* ")
_SERIES = re.compile(
    r'(\w[\w:]*(?:\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\})?)[ \t]+(\S{1,40})(?:[ \t]+(\d{1,16}(?:\.\d{1,9})?))?'
)
_EDGES = " \t#=*-+_[](){}"
_STAMPED = re.compile(r"(?:time ?stamp|time|date|scraped?(?: at)?|sample)\s*[:=]?\s*", re.IGNORECASE)
_MEASURES = re.compile(r"(?:watts?|joules(?:_total)?|_mW|power|_POWER\w*)(?=[{ ])")
_LONGEST_TIME = 60  # characters of a line with little but a time


def recognise(head: bytes, name: str) -> bool:
    if b"DCGM_FI_" in head:
        return False
    lines = [*itertools.islice(head_lines(head), 400)]
    return any(map(_ABOUT.match, lines)) and any(map(_SERIES.fullmatch, lines))


def read(source: Source, rows: Rows) -> str | None:
    names = {text.split("{")[0].split(" ")[0] for _, text, _ in lines_of(source) if not text.startswith("#")}
    same = repeated(names)
    samples = Samples(rows)
    stamp: tuple[Moment, str] | None = None
    found = timeless = 0
    for number, text, whole in lines_of(source):
        if not _MEASURES.search(text) or text.startswith("# "):
            stamp = _time_of(text) or stamp
            continue
        match = _SERIES.fullmatch(text.strip())
        labels = labels_of(match[1]) if match else None
        quantity = quantity_of(labels) if labels else None
        if match is None or labels is None or quantity is None or labels["__name__"] in same:
            continue
        if not whole:
            rows.problem(number, "the line may be cut", text)
            continue
        found += 1
        at = stamp_of(match[3]) if match[3] else stamp
        sensor = sensor_of(labels, quantity)
        if quantity.is_counter:
            samples.counter(number, sensor, match[2], at, quantity.scale)
        else:
            samples.power(number, sensor, match[2], at, quantity.scale)
            timeless = timeless or (0 if at else number)
    samples.finish("energy")
    if timeless:
        rows.problem(timeless, "the samples have no time: no energy follows from their powers")
    return None if found else "a page of Prometheus without a power that is known by its name"


def _time_of(text: str) -> tuple[Moment, str] | None:
    """The time of a line that holds little else."""
    if len(text) > _LONGEST_TIME or _ABOUT.match(text):
        return None
    bare = text.strip(_EDGES)
    return stamp_of(_STAMPED.sub("", bare, count=1)) if bare[:1].isalnum() else None
