"""Limits of partitions and QoS: how many nodes a job may have, and for how long."""

import csv
import re

from scalelens.catalog import CATALOG_FOLDER
from scalelens.errors import UserError
from scalelens.units import ratio

DAY, HOUR, MINUTE = (round(ratio(name, "s")) for name in ("d", "h", "min"))
_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<first>\d+)(?::(?P<second>\d+))?(?::(?P<third>\d+))?")


def seconds(time: str) -> int:
    """A time limit as sbatch reads it: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S.

    Raises UserError where it is none of these.
    """
    found = _TIME.fullmatch(time)
    if not found:
        raise UserError(f"'{time}' is not a time limit", "write hours:minutes:seconds, such as --time 01:30:00")
    first, second, third = (int(found[name] or 0) for name in ("first", "second", "third"))
    if found["days"] or found["third"]:
        return int(found["days"] or 0) * DAY + first * HOUR + second * MINUTE + third
    return first * MINUTE + second


def check_size(name: str, nodes: int) -> None:
    """Raises UserError for more nodes than a system has, by its name, where a document states how many it has."""
    with (CATALOG_FOLDER / "published" / "epicure.csv").open(newline="", encoding="utf-8") as text:
        stated = {
            row["system"]: int(row["printed"])
            for row in csv.DictReader(text)
            if (row["name"], row["quantity"]) == ("epicure/systems", "nodes_of_partition")
        }
    if nodes > stated.get(name, nodes):
        raise UserError(
            f"{name} has {stated[name]} nodes, and a job of this study asks for {nodes}",
            "name fewer with --nodes; FROM published_systems() has the nodes of each system",
        )


def check_limits(system: str | None, partition: str, qos: str, nodes: int, time: str) -> None:
    """Raises UserError for a job that no known limit of its partition and QoS admits.

    Nothing is known of most partitions: their jobs pass, and Slurm decides.
    """
    asked = seconds(time)
    with (CATALOG_FOLDER / "slurm_limits.csv").open(newline="", encoding="utf-8") as text:
        limits = [row for row in csv.DictReader(text) if row["system"] == system]
    own = [row for row in limits if (row["partition"], row["qos"]) == (partition, qos)]
    if not own or any(_admits(row, nodes, asked) for row in own):
        return
    others = [row for row in limits if row not in own and _admits(row, nodes, asked)]
    raise UserError(
        f"a job of {nodes} nodes and {time} is beyond what {_name_of(own[0])} of {system} admits: {_texts(own)}",
        f"{_texts(others, named=True)} would admit it" if others else "take fewer nodes or less time",
    )


def _admits(limit: dict[str, str], nodes: int, time_s: int) -> bool:
    """Whether a job keeps a limit.  An empty cell is a limit that nobody knows."""
    most = int(limit["max_nodes"]) if limit["max_nodes"] else nodes
    longest_s = seconds(limit["max_time"]) if limit["max_time"] else time_s
    return int(limit["min_nodes"]) <= nodes <= most and time_s <= longest_s


def _texts(limits: list[dict[str, str]], named: bool = False) -> str:
    return "; ".join(f"{_name_of(row)} ({_text(row)})" if named else _text(row) for row in limits)


def _name_of(limit: dict[str, str]) -> str:
    return f"--partition {limit['partition']}" + (f" --qos {limit['qos']}" if limit["qos"] else "")


def _text(limit: dict[str, str]) -> str:
    first, last = limit["min_nodes"], limit["max_nodes"]
    nodes = f"{first} to {last} nodes" if last else f"from {first} nodes on"
    return f"{nodes}, {limit['max_time']}" if limit["max_time"] else nodes
