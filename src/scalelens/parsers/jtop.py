"""Power rails of a Jetson, as jtop's example logger writes them (CSV).

Tool: jtop_logger.py, rbonghi/jetson_stats
Versions: jetson_stats 4; no real file was at hand: by the writer's source
Yields: power, metrics
Source: rbonghi/jetson_stats examples/jtop_logger.py; jtop/jtop.py, stats(); jtop/core/power.py, total_power()

Powers are milliwatts and times are local ones of the board.  `device` is the name of the rail.  jtop takes the rail that
feeds the whole module, where the board has one, as TOT: scope board.  Elsewhere TOT is the sum of the rails, which does
not hold all that the module draws: a TOT that equals the sum is left out, as its parts are there.

Samples:
    time,uptime,CPU1,CPU2,RAM,SWAP,GPU,Fan pwmfan0,Temp CPU,Power VDD_CPU_GPU_CV,Power VDD_SOC,Power TOT,jetson_clocks,nvp model
    2026-01-02 03:04:05.678901,"1 day, 2:03:04",12,OFF,0.31,0.0,55.5,30.0,47.5,812,1450,4712,OFF,15W
"""

from scalelens.parsing.jetson_rails import scope_of_rail
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME, number
from scalelens.tabular.cells import MAY_BE_CUT, rows_of

VERSION = 2
IN_HEAD = (b"time,uptime,CPU1,",)

_HEADER = b"time,uptime,CPU1,"
_RAIL, _TOTAL, _CELSIUS = "Power ", "Power TOT", "Temp "


def recognise(head: bytes, name: str) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    return first.startswith(_HEADER) and b",Power TOT" in first


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    lines = rows_of(source)
    _, header, _ = next(lines)
    for line, cells, whole in lines:
        text = ",".join(cells)
        if len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
        elif not whole:
            rows.problem(line, MAY_BE_CUT, text)
        elif (stamp := stamp_of(cells[0])) is None:
            rows.problem(line, UNREADABLE_TIME, text)
        else:
            named = dict(zip(header, cells, strict=True))
            for name in _powers(named):
                rail = name.removeprefix(_RAIL)
                scope = "board" if name == _TOTAL else scope_of_rail(rail)
                samples.power(line, Sensor(None, rail, scope), named[name], stamp, scale=1e-3)
            temperatures = [
                (f"temperature {name.removeprefix(_CELSIUS)}", celsius, "°C")
                for name, cell in named.items()
                if name.startswith(_CELSIUS) and (celsius := number(cell)) is not None
            ]
            rows.metrics(line, None, None, None, temperatures)


def _powers(cells: dict[str, str]) -> list[str]:
    """The columns of power; without the total where it is the sum of the rails."""
    rails = [name for name in cells if name.startswith(_RAIL) and name != _TOTAL]
    parts = [number(cells[name]) for name in rails]
    is_sum = None not in parts and number(cells[_TOTAL]) == sum(part for part in parts if part is not None)
    return rails if is_sum else [*rails, _TOTAL]
