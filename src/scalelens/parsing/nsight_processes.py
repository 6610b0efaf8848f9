"""The processes of a capture of Nsight Systems: which rank each is, and which part of the file its events are.

A file may hold all ranks of a node.  Ranks come from MPI, else from the environment of the one process that works,
else from the file's name, else from torchrun with one node, which gives device k to rank k.  Where the ranks of
several processes are not known, each process is a part, and so a run, of its own: their times must not be added up.
"""

import re
from typing import NamedTuple

from scalelens.parsing.rows import Rows
from scalelens.parsing.sqlite_file import Database
from scalelens.parsing.values import rank_in_name

_MPI_RANK = re.compile(r"MPI Rank (\d{1,9})\Z")
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
DEVICE_TABLES = tuple(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"))
_HOST_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS",
               "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS")  # fmt: skip
_ONE_NODE = re.compile(r"--nnodes[= ]1(?::1)?(?![\d:])|--standalone\b")


class Process(NamedTuple):
    number: int  # in the file, from 0
    pid: int
    rank: int | None
    part: int  # of the file, from 0


def processes_of(database: Database, environment: dict[str, str], name: str) -> tuple[dict[int, Process], bool]:
    """Each process of the capture by vm and pid (`globalTid >> 24`), and whether their ranks are known."""
    devices: dict[int, set[int]] = {}
    for table in DEVICE_TABLES:
        if {"globalPid", "deviceId"} <= database.columns.get(table, set()):
            for key, device in database.rows(f"SELECT DISTINCT globalPid >> 24, deviceId FROM {table}"):
                devices.setdefault(key, set()).add(device)
    hosts: set[int] = set()
    for table in _HOST_TABLES:
        if "globalTid" in database.columns.get(table, set()):
            hosts |= {key for (key,) in database.rows(f"SELECT DISTINCT globalTid >> 24 FROM {table}") if key}
    keys = sorted((devices.keys() | hosts) - {None})
    workers = sorted(devices) or keys
    ranks = _ranks_of(database, environment, name, workers, devices)
    known = len(workers) < 2 or len({*map(ranks.get, workers)} - {None}) == len(workers)
    parts = {key: 0 if known else part for part, key in enumerate(workers)}
    return {
        key: Process(number, key & 0xFFFFFF, ranks.get(key), parts.get(key, 0)) for number, key in enumerate(keys)
    }, known


def _ranks_of(
    database: Database, environment: dict[str, str], name: str, workers: list[int], devices: dict[int, set[int]]
) -> dict[int, int]:
    """Ranks by vm and pid; empty where they are not known."""
    ranks: dict[int, int] = {}
    if {"globalTid", "rank"} <= database.columns.get("MPI_RANKS", set()):
        ranks = dict(database.rows("SELECT globalTid >> 24, rank FROM MPI_RANKS WHERE rank >= 0"))
    elif {"text", "eventType"} <= database.columns.get("NVTX_EVENTS", set()):
        named = database.rows(
            "SELECT globalTid >> 24, text FROM NVTX_EVENTS WHERE eventType = 39 AND text LIKE 'MPI %'"
        )
        ranks = {key: int(rank[1]) for key, text in named if (rank := _MPI_RANK.match(text))}
    if ranks:
        return ranks
    if len(workers) == 1:
        from_launcher = next((environment[key] for key in RANK_VARIABLES if environment.get(key, "").isdecimal()), None)
        only = int(from_launcher) if from_launcher else rank_in_name(name)
        return {} if only is None else {workers[0]: only}
    each = [min(devices[key]) for key in workers if len(devices.get(key, ())) == 1]
    if _launched_on_one_node(database) and sorted(each) == list(range(len(workers))):
        return dict(zip(workers, each, strict=True))
    return {}


def _launched_on_one_node(database: Database) -> bool:
    """Whether torchrun was started for a job of one node."""
    if "META_DATA_CAPTURE" not in database.columns:
        return False
    words = "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:COMMAND' OR name LIKE 'PROCESS_0:ARGUMENT%'"
    command = " ".join(str(value) for (value,) in database.rows(words))
    return "torchrun" in command and bool(_ONE_NODE.search(command))


def captured_environment(database: Database, rows: Rows) -> dict[str, str]:
    """Variables of the process that was launched.  Only those of the launcher are kept: others may be secrets."""
    if "META_DATA_CAPTURE" not in database.columns:
        return {}
    lines = database.rows("SELECT value FROM META_DATA_CAPTURE WHERE name LIKE 'PROCESS_0:ENVIRONMENT_VARIABLE%'")
    pairs = [str(value).partition("=") for (value,) in lines]
    wanted = ("SLURM_JOB_ID", "SLURM_NNODES", "WORLD_SIZE", *RANK_VARIABLES)
    environment = {key: value.strip('"') for key, _, value in pairs if key in wanted}
    rows.param("job_id", environment.get("SLURM_JOB_ID"), origin="environment")
    rows.param("nodes", environment.get("SLURM_NNODES"), origin="environment")
    rows.param("devices", environment.get("WORLD_SIZE"), origin="environment")
    return environment
