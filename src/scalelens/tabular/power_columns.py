"""Columns of power in a table of sensors, by their names and by what their first cell says."""

from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import names_part, scope_of_words, separated
from scalelens.parsing.sensors import SCALES as WATT_SCALES
from scalelens.parsing.sensors import UNAVAILABLE
from scalelens.tabular.power_kinship import PowerColumn, of_things
from scalelens.tabular.prometheus_series import is_series, series_column

_WORDS = r"m?(?:[Ww]atts?|WATTS?)|(?:[Mm]illi|[Mm]icro|[Kk]ilo)[ _-]?[Ww]atts?"
_UNIT = rf"[uU\u00b5\u03bc]W|uw|[mk]?[wW]|{_WORDS}"
_BRACKETS = re.compile(rf"(.*?) ?(?:\[ ?({_UNIT}) ?\]|\( ?({_UNIT}) ?\))(.*)")
_AT_END = re.compile(rf"(.*?)[_ .](?:in[_ ])?({_UNIT})")
_WITHIN = re.compile(rf"(.*?)(?<![A-Za-z])({_WORDS})(?![A-Za-z])(.*)")
_DIVIDED = re.compile(rf"((?:.*[^A-Za-z])?(?:[Pp]ower|POWER|[Ll]eistung|P|[Dd]raw)) ?[,/] ?({_UNIT})")  # Power / W
_AMID = re.compile(rf"(.*(?:[Pp]ower|[Pp]wr|[Dd]raw))[_ ]({_UNIT})[_ ](.+)")
_BARE = re.compile(rf"[um\u00b5\u03bck]W|{_WORDS}")
_SIZES = (("mic", "uw"), ("m", "mw"), ("u", "uw"), ("\u00b5", "uw"), ("\u03bc", "uw"), ("k", "kw"), ("w", "w"))
_POWER = re.compile(
    r"(?:^|[^a-z])(?:power|pwr|watts?|leistung|puissance|potencia|pot\u00eancia|potenza|vermogen)(?:$|[^a-z])",
    re.IGNORECASE,
)
_POWER_WORD = re.compile(
    r"(?:^|[_ .-])(?:power|pwr|watts?|draw|usage|consumption|current|curr?|now|reading|leistung)(?=$|[_ .-])",
    re.IGNORECASE,
)
_DRAWN = re.compile(r"(?:^|[^a-z])(?:draw|drawn|load|pow|p|consumption|wattage)(?:$|[^a-z])", re.IGNORECASE)
_NO_POWER = re.compile(
    r"limit|hours?(?:$|[^a-z])|cap(?:$|[^a-z])|tdp|thermal.design|max|min|std|energy|state|factor|management|mode|percent|pct|efficien|peak|target|budget"
    r"|baseline|idle|process(?!or)|service|container|(?:^|[^a-z])(?:apps?|pid|pods?|task|set|ppt)(?:$|[^a-z])"
    r"|apparent|reactive|capacity|simulat|normali[sz]|headroom|throttl|violation|(?<![a-z])(?:upper|lower|pl\d)(?![a-z])|predict|forecast|expected|threshold|median|varian|cumul|accumul|saving|quota|ratio|error"
    r"|(?:^|[^a-z])(?:per|net|above|excess|marginal|dynamic|static|leakage|delta|diff(?:erence)?|saved|rated|nominal"
    r"|reference|available|allowed|p\d\d)(?:$|[^a-z])|/ ?[mk]?w(?:att)?s?(?:$|[^a-z])"
    r"|graphics package",  # rocm-smi's, with a column of times that a script put before
    re.IGNORECASE,
)
_WORD = re.compile(r"(?:^|[^a-z])(gpu|cpu|ipu|d?ram|memory|module)[_ ]?(\d{1,3})?(?:$|[^a-z0-9])", re.IGNORECASE)
SAME_AGAIN = re.compile(
    r"(?:^|[_ .-])(?:average|avg|mean|rolling|ema|smoothed?|kalman|filtered|corrected|instant(?:aneous)?)(?=$|[_ .-])",
    re.IGNORECASE,
)
_BARE_MEAN = re.compile(r"(?:^|[_ .-])(?:average|avg|mean|rolling|ema|smoothed?)(?=$|[_ .-])", re.IGNORECASE)
# Tools that measure what others measure, too: their figures of one sensor are never added up.
_TOOL = re.compile(
    r"(?:^|[_ .-])(?:nvml|nvidia[_ -]?smi|smi|rapl|perf|powertop|turbostat|ipmi|dcmi|redfish|bmc|watt[_ ]?meter|meter"
    r"|raw|measured|reported|actual|true|reference|hwmon|scaphandre|codecarbon|kepler|powerapi|pyjoules|likwid|dcgm"
    r"|rocm|amdsmi|zeus|estimated|calibrated|model(?:l?ed)?)(?=$|[_ .-])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\d|(?:^|[_ .-])[a-z](?=$|[_ .-])", re.IGNORECASE)  # one of several
_MAINS = re.compile(r"(?:^|[_ .-])(?:mains?|incoming|utility)(?=$|[_ .-])", re.IGNORECASE)
_FILLING = re.compile(r"(?:^|[_ .-])(?:rate|in|over|of|interval|window|period)(?=$|[_ .-])", re.IGNORECASE)
_OUTPUT = re.compile(r"(?:^|[_ .-])(?:output|out|dc)(?=$|[_ .-])", re.IGNORECASE)
_INPUT = re.compile(r"(?:^|[_ .-])(?:input|in|ac)(?=$|[_ .-])", re.IGNORECASE)
_HOUSE = re.compile(r"solar|photovoltaic|(?:^|[^a-z])pv(?:$|[^a-z])|(?:^|[_ ])grid[_ ](?:power|k?w)", re.IGNORECASE)
_BOARD = re.compile(r"(?:gpu )?board", re.IGNORECASE)
_INLET = re.compile(r"slot|\d-pin|connector|12vhpwr", re.IGNORECASE)
_OF_METER = {"v", "a", "va", "volts", "amps", "voltage", "current", "wh", "kwh", "pf", "hz"}  # beside `W`
_FIELD = re.compile(r"(?:module\.)?power\.draw(?:\.(?:instant|average))?")  # of nvidia-smi, in watts
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_CELL = re.compile(r"\d[\d.]*(?:[eE][-+]?\d{1,2})? ?(?:[mku\u00b5]?W|[Ww]atts?)")


def power_columns(header: Sequence[str], cells: Sequence[str] = ()) -> list[PowerColumn]:
    """The columns of power: by their names, else where the cell of the first row is a number of watts."""
    meter = len(_OF_METER.intersection(map(str.lower, header))) > 0
    if any(map(_HOUSE.search, header)):  # flows of a house, some of which are parts of others
        return []
    found = []
    for k, name in enumerate(header):
        column = power_column(k, name) or (PowerColumn(k, name, 1.0, None, None) if name == "W" and meter else None)
        if column is None and k < len(cells) and has_unit(cells[k]) and not _NO_POWER.search(name):
            word = _WORD.search(name)
            column = PowerColumn(k, name, None, word[2] if word and word[2] else name or None, scope_of_words(name))
        found += [column] if column else []
    return _of_sensors(found)


def power_column(k: int, name: str) -> PowerColumn | None:
    """A column of power, by its name.  A unit in brackets or in letters is enough; `_w` needs a word beside it."""
    if is_series(name) or name.startswith("DCGM_FI_"):
        series = series_column(name)
        is_power = series is not None and not series[0].is_counter
        return PowerColumn(k, name, series[0].scale, series[1], series[0].scope) if series and is_power else None
    words = separated(name)
    if divided := _DIVIDED.fullmatch(words):
        words = f"{divided[1]} [{divided[2]}]"
    if _NO_POWER.search(words):
        return None
    unit, rest, is_sure = _unit_of(words)
    word = _WORD.search(words)
    is_drawn = unit and (word or _DRAWN.search(words) or scope_of_words(rest))
    if not (is_sure or _POWER.search(words) or is_drawn):
        return None
    label = _POWER_WORD.sub("", rest).strip(" _.-") or None
    scale = WATT_SCALES[unit] if unit else None
    return PowerColumn(k, name, scale, (word[2] if word else None) or label, scope_of_words(label or ""))


def _unit_of(name: str) -> tuple[str | None, str, bool]:
    """The unit that a name says, what else it says, and whether such a unit makes it a power by itself."""
    if _BARE.fullmatch(name):
        return _spelt(name), "", True
    if _FIELD.fullmatch(name):
        return "w", name, True
    if (match := _BRACKETS.fullmatch(name)) and (match[1] or match[4]).strip():
        return _spelt(match[2] or match[3]), f"{match[1]}{match[4]}", True
    if match := _AT_END.fullmatch(name):
        return _spelt(match[2]), match[1], "watt" in match[2].lower()
    if (match := _WITHIN.fullmatch(name) or _AMID.fullmatch(name)) and names_part(match[3]):
        return _spelt(match[2]), f"{match[1].rstrip('_ .-')}_{match[3].lstrip('_ .-')}".strip("_"), True
    return None, name, False


def _spelt(unit: str) -> str:
    return next(short for start, short in _SIZES if unit.lower().startswith(start))


def _of_sensors(columns: list[PowerColumn]) -> list[PowerColumn]:
    """One column for each sensor: a mean beside the power that it is of is the same again, as is another tool's figure.

    So is a mean of no part of a machine; what comes out of a supply went in.
    """
    kept: dict[tuple[str | None, str | None], PowerColumn] = {}
    for column in sorted(columns, key=lambda column: bool(SAME_AGAIN.search(column.name))):
        device = SAME_AGAIN.sub("", column.device or "").strip(" _.-") or None
        scope = scope_of_words(device or "") or column.scope
        if kept and not scope and _BARE_MEAN.search(separated(column.name)) and not _NUMBERED.search(device or ""):
            continue
        what = _FILLING.sub("", _TOOL.sub("", device or "")).strip(" _.-") or None
        kept.setdefault((what, scope), column._replace(device=device, scope=scope))
    inputs = {_INPUT.sub("", column.device or "") for column in kept.values() if _INPUT.search(column.device or "")}
    own = [
        column
        for column in sorted(kept.values(), key=lambda column: column.k)
        if not (_OUTPUT.search(column.device or "") and _OUTPUT.sub("", column.device or "") in inputs)
    ]
    return of_things(_of_card(_with_total(_without_tool(own))))


def _without_tool(columns: list[PowerColumn]) -> list[PowerColumn]:
    """A tool's name is not a device: if the only power column of a table has just that, its device is unknown."""
    if len(columns) == 1 and not _TOOL.sub("", columns[0].device or "").strip(" _.-"):
        return [columns[0]._replace(device=None)]
    return columns


def _with_total(columns: list[PowerColumn]) -> list[PowerColumn]:
    """A power without a word, beside others of which only words tell what they are, is not one more of them.

    Nor is that of the mains.
    """
    own = [column for column in columns if not (_MAINS.search(column.device or "") or column.scope) and column.device]
    return [
        column._replace(device="total", scope="total")
        if own and not column.scope and (not column.device or _MAINS.search(column.device))
        else column
        for column in columns
    ]


def _of_card(columns: list[PowerColumn]) -> list[PowerColumn]:
    """Of a graphics card (GPU-Z) the board holds its chip and memory; slot and plugs are where its power comes in."""
    if not any(_BOARD.fullmatch(column.device or "") for column in columns):
        return columns
    others = [column for column in columns if not _INLET.search(column.name)]
    parts = {column.scope for column in others if not _BOARD.fullmatch(column.device or "")}
    is_card = "gpu_part" in parts or len(others) < len(columns) or not parts - {None}
    scope = "gpu" if is_card else "board"
    return [column._replace(scope=scope) if _BOARD.fullmatch(column.device or "") else column for column in others]


def has_unit(text: str) -> bool:
    """Whether a cell says its own unit of power."""
    return bool(_CELL.fullmatch(text)) and not UNAVAILABLE.fullmatch(text)


def may_be_grouped(rows: Sequence[Sequence[str]], columns: Sequence[PowerColumn], delimiter: str | None) -> str | None:
    """A column of milliwatts with a point before the last three digits of each number, in a table with semicolons."""
    for column in columns if delimiter == ";" else ():
        cells = [row[column.k] for row in rows if row[column.k]]
        if column.scale and column.scale < 1 and len(cells) > 2 and all(map(_THOUSANDS.fullmatch, cells)):
            return column.name
    return None
