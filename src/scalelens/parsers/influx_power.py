"""Power in InfluxDB's line protocol, as Telegraf writes it to a file, and in its annotated CSV.

Tool: Telegraf (outputs.file), influx query --raw, influxd inspect export-lp
Versions: line protocol of InfluxDB 1 to 3; annotated CSV of Flux
Yields: power
Source: InfluxDB reference, line protocol and annotated CSV; telegraf plugins/inputs/nvidia_smi, intel_powerstat,
    ipmi_sensor

A field is a power where its name says so with its unit (power_w, current_power_consumption_watts), or the name of its
measurement does and the field is `value`; a tag `unit` may say it.  power_draw of Telegraf's nvidia_smi is in watts.
Limits and means are none, as in power_csv.  The node is the tag host; the device is what the tags index, gpu,
package_id, sensor, name, ... say.  Times are since 1970, in any unit, or dates.

Samples:
    nvidia_smi,host=n1,index=0,name=NVIDIA\\ H100 power_draw=312.5,temperature_gpu=41i 1767323045000000000
"""

import csv
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, head_lines, lines_of
from scalelens.tabular.power_columns import power_column

VERSION = 1

_LINE = re.compile(
    r"((?:[^,\s\\=]|\\.){1,200})((?:,(?:[^,\s\\=]|\\.){1,100}=(?:[^,\s\\=]|\\.){1,300}){0,60}) "
    r"((?:[^\s\"]|\\ |\"(?:[^\"\\]|\\.)*\"){1,8000}) (\d{10,19})\s*"
)
_PAIR = re.compile(r'((?:[^,\s\\=]|\\.){1,100})=("(?:[^"\\]|\\.)*"|(?:[^,\s\\]|\\.){1,300})')
_ESCAPED = re.compile(r"\\([, =\\])")
_ANNOTATED = re.compile(r"#(?:group|datatype|default),")
_NEEDED = ("_time", "_value", "_field")
_OWN = ("", "result", "table", "_start", "_stop", "_time", "_value", "_field", "_measurement")
_NODES = ("host", "hostname", "node")
_DEVICES = (
    "index",
    "gpu",
    "gpu_id",
    "device",
    "package_id",
    "socket",
    "domain",
    "zone",
    "sensor",
    "name",
    "uuid",
    "id",
)
_KNOWN = {("nvidia_smi", "power_draw"): 1.0}  # whose unit the plugin's page says
_MOST_LINES = 40  # of the head that are looked at


class _Point(NamedTuple):
    measurement: str
    tags: dict[str, str]
    fields: dict[str, str]
    time: str


def recognise(head: bytes, name: str) -> bool:
    first = first_lines(head)  # other formats ask for them, too; most texts are told by their ends
    if not first or (first[0][0] != "#" and 2 * sum(not _may_end_point(line) for line in first) >= _MOST_LINES):
        return False
    lines = [*itertools.islice(head_lines(head), _MOST_LINES)]
    if lines and _ANNOTATED.match(lines[0]):
        return any(all(word in line.split(",") for word in _NEEDED) for line in lines)
    points = [point for line in lines if not line.startswith("#") and (point := _point_of(line))]
    return 2 * len(points) > len(lines) and any(_power_of(point, field) for point in points for field in point.fields)


def _may_end_point(text: str) -> bool:
    return text.rstrip()[-10:].isdigit()


def _point_of(text: str) -> _Point | None:
    match = _LINE.fullmatch(text) if "=" in text and len(text) < 20_000 else None
    if match is None:
        return None
    tags, fields = ({_plain(k): _plain(v) for k, v in _PAIR.findall(part or "")} for part in (match[2], match[3]))
    return _Point(_plain(match[1]), tags, fields, match[4])


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.strip('"'))


def _power_of(point: _Point, field: str) -> tuple[float, str | None] | None:
    """The unit of a field in watts, and what it covers; None where it is no power or its unit is not said."""
    scale = _KNOWN.get((point.measurement, field))
    if scale:
        return scale, "gpu"
    unit = point.tags.get("unit")
    word = f"{point.measurement} {point.tags.get('name', '')}".strip() if field in ("value", "gauge") else field
    column = power_column(0, f"{word} [{unit}]" if unit and power_column(0, f"x [{unit}]") else word)
    if column is None or column.scale is None or (unit and column.scale != _scale_of(unit)):
        return None
    return column.scale, column.scope or scope_of_words(point.measurement)


def _scale_of(unit: str) -> float | None:
    column = power_column(0, f"power [{unit}]")
    return column.scale if column else None


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    first = next((text for _, text, _ in lines_of(source)), "")
    points = _annotated(source, rows) if _ANNOTATED.match(first) else _lines(source, rows)
    for number, point in points:
        stamp = stamp_of(point.time)
        node = next((point.tags[name] for name in _NODES if name in point.tags), None)
        device = next((point.tags[name] for name in _DEVICES if name in point.tags), None)
        powers = {field: power for field in point.fields if (power := _power_of(point, field))}
        for field, (scale, scope) in powers.items():
            if stamp is None:
                rows.problem(number, "the point has no time that can be read", point.time)
                continue
            named = device if len(powers) == 1 and device else " ".join(filter(None, (device, field)))
            samples.power(number, Sensor(node, named, scope), point.fields[field].rstrip("iu"), stamp, scale)


def _lines(source: Source, rows: Rows) -> Iterator[tuple[int, _Point]]:
    for number, text, whole in lines_of(source):
        point = _point_of(text) if whole else None
        if point:
            yield number, point
        elif not text.startswith("#"):
            rows.problem(number, "not a line of InfluxDB's protocol" if whole else MAY_BE_CUT, text)


def _annotated(source: Source, rows: Rows) -> Iterator[tuple[int, _Point]]:
    """Points of annotated CSV, in which a table may follow another with other columns."""
    header: list[str] = []
    for number, text, whole in lines_of(source):
        if text.startswith("#"):
            continue
        cells = next(csv.reader([text]), [])
        if all(name in cells for name in _NEEDED):
            header = cells
        elif not whole or len(cells) != len(header):
            rows.problem(number, "the line is cut, or has other columns than the header" if whole else MAY_BE_CUT, text)
        else:
            row = dict(zip(header, cells, strict=True))
            tags = {name: value for name, value in row.items() if name not in _OWN and value}
            yield number, _Point(row.get("_measurement", ""), tags, {row["_field"]: row["_value"]}, row["_time"])
