"""Bars of runs, the fastest first, with their names inside: `throughput` where devices do not tell them apart."""

from collections.abc import Sequence

from scalelens.charts import facets, many_runs, run_bars, style, words
from scalelens.charts.layout import Page
from scalelens.charts.run_bars import Measure
from scalelens.charts.style import Row
from scalelens.charts.work_kinds import Kind

MOST_RUNS = 48
_REPEATED = 1.05  # repeats of a run differ by less


def tells_more(points: Sequence[Row]) -> bool:
    """Whether bars with names tell the runs apart better than points over devices.

    They do on one number of devices, where no two sizes are of one series, and where most points have the look and the
    size of another, and other rates.
    """
    sizes: dict[tuple[object, object], set[object]] = {}
    for point in points:
        sizes.setdefault((point["model"], point["label"]), set()).add(point["devices"])
    if len({point["devices"] for point in points}) == 1 or all(len(of_series) == 1 for of_series in sizes.values()):
        return True
    alike: dict[tuple[object, ...], list[float]] = {}
    for point in points:
        rate = point["device_tokens_per_s"] or point["device_samples_per_s"]
        alike.setdefault((point["model"], point["label"], point["devices"]), []).append(rate)
    return 2 * sum(len(rates) for rates in alike.values() if max(rates) > _REPEATED * min(rates)) > len(points)


def are_told_apart(kinds: Sequence[Kind], page: Page) -> bool:
    """Whether more runs than there are bars, of one kind and size, can be told apart without their devices."""
    points = [point for kind in kinds for point in kind.points]
    if len(kinds) != 1 or len({point["devices"] for point in points}) != 1:
        return False
    return many_runs.told_apart(points, _measure(kinds[0], ""), page, MOST_RUNS) is not None


def panels(
    kinds: Sequence[Kind], page: Page, ending: str = ""
) -> tuple[list[list[style.Panel]], list[style.Look], list[str]]:
    """Bars of all runs, a panel below the other for each kind of work, with their legend and notes on it.

    Where there are too many runs for bars, they are drawn as in `many_runs`.  `ending` is that of the axes' titles.
    """
    points = [point for kind in kinds for point in kind.points]
    sizes = {point["devices"] for point in points}
    where = f", on {words.devices(points[0])}" if len(sizes) == 1 and None not in sizes else ""
    of_what = "" if ending and words.unit(points) == words.JOB else f" per {words.unit(points)}"
    grid: list[list[style.Panel]] = []
    legend: list[style.Look] = []
    notes: list[str] = []
    most = MOST_RUNS // len(kinds)
    for kind in kinds:
        title = f"{kind.work}/s{of_what}{where}{ending}"
        heading = kind.name if len(kinds) > 1 else ""
        if len(points) > MOST_RUNS and len(kind.points) > most:
            panel, looks, note = many_runs.drawn(kind.points, _measure(kind, title), page, most)
            legend += [look for look in looks if look not in legend]
            notes += [note] if note and note not in notes else []
        else:
            panel = _bars(kind, title, page, len(sizes) > 1, heading)
        grid.append([panel._replace(chart=facets.titled(panel.chart, heading, 1, page), name=heading)])
    return grid, legend, notes


def _measure(kind: Kind, title: str) -> Measure:
    return Measure(kind.rate, title, "fastest")


def _bars(kind: Kind, title: str, page: Page, has_size: bool, heading: str) -> style.Panel:
    """The bars of a kind, the fastest first.  Their names end with the devices, if these differ."""
    measure = _measure(kind, title)
    fastest = sorted(kind.points, key=lambda point: (-point[kind.rate], words.natural(run_bars.name(point))))
    texts = [text_of(point, kind.rate, has_size, heading) for point in fastest]
    return run_bars.panel(fastest, texts, measure, page)


def text_of(point: Row, rate: str, has_size: bool, heading: str) -> str:
    """The name, unless the heading of the panel is the same, with the size, unless the name has it, and the rate."""
    name, size = run_bars.name(point), words.devices(point) if has_size else ""
    pieces = [name if name != heading else "", size if size not in name else "", *run_bars.amount(point, rate)]
    return " · ".join(filter(None, pieces))
