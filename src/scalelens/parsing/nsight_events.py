"""Records of an export of Nsight Systems as rows of `events`.

The database has no index, so names are looked up here and not joined there, and every table is read once, in batches.
"""

import re
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scalelens.parsing.nsight_processes import DEVICE_TABLES, Process
from scalelens.parsing.nsight_tables import MARK, Selection, query
from scalelens.parsing.rows import Rows
from scalelens.parsing.sqlite_file import Database

CALL_SUFFIX = re.compile(r"_v\d+(?:_pt[sd]\w*)?\Z")
OPERATOR = re.compile(r"(.+?), (?:seq|op_id) = \d", re.DOTALL)  # PyTorch's emit_nvtx
STEP = re.compile(r"(?:ProfilerStep|step|iteration|iter)[ _#:=.]*(\d{1,18})\Z", re.IGNORECASE)
STEP_GLOBS = ("ProfilerStep#[0-9]*", "[Ss][Tt][Ee][Pp]*[0-9]", "[Ii][Tt][Ee][Rr]*[0-9]")
DRIVER = 1  # eventClass of a call
SINCE_1970 = 10**17  # larger times are absolute already

Numbers = npt.NDArray[np.int64]


class Capture:
    """Reads tables of one database.  `processes` are by vm and pid."""

    def __init__(self, database: Database, rows: Rows, processes: dict[int, Process]) -> None:
        self.database, self.rows, self.processes = database, rows, processes
        self.line = 0
        self.texts: dict[int, str] = dict(database.rows("SELECT id, value FROM StringIds"))
        self.domains = self._domains()
        self.device_names = self._device_names()
        self.steps = self._steps()
        self.base: int | None = None

    def read(self, selection: Selection) -> int:
        """Adds the records of a table.  Returns how many they are."""
        columns, first = self.database.columns.get(selection.table, set()), self.line
        if "start" not in columns:
            return 0
        for records in self.database.batches(query(selection, columns)):
            self._add(selection, [*zip(*records, strict=True)], is_device="globalTid" not in columns)
        return self.line - first

    def _add(self, selection: Selection, fields: list[tuple[Any, ...]], is_device: bool) -> None:
        starts, ends, owners, names, devices, streams, correlations, sizes, kinds, arguments = fields
        first, count, is_nvtx = self.line + 1, len(starts), selection.category == "nvtx"
        self.line += count
        start, owner = np.array(starts, np.int64), np.array([number or 0 for number in owners], np.int64)
        if self.base is None:
            self.base = self._session_start(int(start[0]))
        end = np.array([begun if ended is None else ended for begun, ended in zip(starts, ends, strict=True)], np.int64)
        keys, which = np.unique(owner >> 24, return_inverse=True)
        processes = [self.processes.get(int(key)) or Process(0, int(key) & 0xFFFFFF, None, 0) for key in keys]
        texts, args = self._named(selection.category, names, owner, arguments)
        raised = np.array([process.number << 32 for process in processes], np.int64)[which]
        columns = {
            "line": pa.array(np.arange(first, first + count)),
            "ph": pa.array(["i" if is_nvtx and kind == MARK else "X" for kind in kinds]),
            "name": pa.array(texts, pa.string()),
            "category": pa.array(categories(selection.category, kinds)),
            "start_ns": pa.array(start + self.base),
            "duration_ns": pa.array(end - start, mask=np.array([ended is None for ended in ends]) | (end < start)),
            "rank": pa.array([process.rank for process in processes], pa.int32()).take(pa.array(which)),
            "stream": pa.array(streams, pa.int64()),
            "correlation": pc.add(pa.array(correlations, pa.int64()), pa.array(raised)),
            "message_bytes": pa.array(sizes, pa.int64()),
            "train_step": self._step_at(start, keys, which),
            "args": pa.array(args, pa.string()),
        }
        pids = [process.pid for process in processes]
        if is_device:
            named = [self.device_names.get((pids[p], d)) for p, d in zip(which.tolist(), devices, strict=True)]
            columns["process"] = pa.array(named, pa.string())
        else:
            columns["process"] = pa.array([str(pid) for pid in pids]).take(pa.array(which))
            columns["thread"] = pc.cast(pa.array(owner & 0xFFFFFF), pa.string())
        self._put(columns, np.array([process.part for process in processes])[which])

    def _put(self, columns: dict[str, pa.Array], parts: Numbers) -> None:
        for part in np.unique(parts).tolist():
            self.rows.part = part
            chosen = pa.array(parts == part)
            self.rows.put_columns("events", {name: column.filter(chosen) for name, column in columns.items()})
        self.rows.part = 0

    def _named(
        self, category: str, names: tuple[Any, ...], owner: Numbers, arguments: tuple[Any, ...]
    ) -> tuple[list[str | None], list[str | None] | tuple[Any, ...]]:
        """Names and arguments of records; a name is a text or the number of one."""
        texts = [name if name is None or type(name) is str else self.texts.get(name) for name in names]
        if category == "cuda_runtime":
            short = {text: CALL_SUFFIX.sub("", text) for text in {*texts} if text}
            return [short.get(text) for text in texts], arguments  # type: ignore[arg-type]
        if category != "nvtx":
            return texts, arguments
        whole = texts.copy()
        args: list[str | None] = [None] * len(texts)
        for k, text in enumerate(whole):
            said: dict[str, str] = {}
            if arguments[k]:
                said["domain"] = self.domains.get((int(owner[k]) >> 24, arguments[k])) or str(arguments[k])
            if text and ", " in text and (operator := OPERATOR.match(text)):
                texts[k], said["text"] = operator[1], text
            if said:
                args[k] = msgspec.json.encode(said).decode()
        return texts, args

    def _session_start(self, first: int) -> int:
        """Nanoseconds since 1970 at which times of the capture begin; 0 where that is not known."""
        known = "utcEpochNs" in self.database.columns.get("TARGET_INFO_SESSION_START_TIME", set())
        said = self.database.rows("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1") if known else []
        base = 0 if first > SINCE_1970 or not said else int(said[0][0] or 0)
        self.rows.param("trace_clock", "unix" if base or first > SINCE_1970 else "relative")
        return base

    def _domains(self) -> dict[tuple[int, int], str]:
        """Names of NVTX domains by process and number."""
        if not {"domainId", "text"} <= self.database.columns.get("NVTX_EVENTS", set()):
            return {}
        name = "SELECT globalTid >> 24, domainId, coalesce(text, textId) FROM NVTX_EVENTS WHERE eventType = 75"
        return {(key, number): str(self.texts.get(text, text)) for key, number, text in self.database.rows(name)}

    def _device_names(self) -> dict[tuple[int, int], str]:
        """The GPU by process id and by the number that the process gives it.

        A process that sees one GPU calls it 0.  Without the table that tells which it is, GPUs of several processes
        that have the same number are told apart by the process.
        """
        used: set[tuple[int, int]] = set()
        for table in DEVICE_TABLES:
            if {"globalPid", "deviceId"} <= self.database.columns.get(table, set()):
                pairs = self.database.rows(f"SELECT DISTINCT globalPid >> 24 & 16777215, deviceId FROM {table}")
                used |= {(pid, device) for pid, device in pairs if device is not None}
        gpus: dict[tuple[int, int], int] = {}
        if {"gpuId", "cudaId", "pid"} <= self.database.columns.get("TARGET_INFO_CUDA_DEVICE", set()):
            devices = self.database.rows("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE")
            gpus = {(pid, device): gpu for pid, device, gpu in devices}
        seen_by = {device: sum(other == device for _, other in used) for _, device in used}
        return {
            (pid, device): str(gpus[pid, device]) if (pid, device) in gpus
            else str(device) if seen_by[device] == 1 else f"{device} of {pid}"
            for pid, device in used
        }  # fmt: skip

    def _steps(self) -> dict[int, Numbers]:
        """Starts, ends and numbers of the ranges that are steps, shape (3, n), by vm and pid."""
        if not {"text", "textId", "end"} <= self.database.columns.get("NVTX_EVENTS", set()):
            return {}
        ids = ", ".join(str(number) for number, text in self.texts.items() if text and STEP.match(text)) or "NULL"
        named = " OR ".join(f"text GLOB '{glob}'" for glob in STEP_GLOBS)
        ranges = 'SELECT globalTid >> 24, start, "end", coalesce(text, textId) FROM NVTX_EVENTS WHERE "end" >= start'
        spans: dict[int, list[tuple[int, int, int]]] = {}
        for key, start, end, text in self.database.rows(f"{ranges} AND ({named} OR textId IN ({ids}))"):
            if step := STEP.match(str(self.texts.get(text, text))):
                spans.setdefault(key, []).append((start, end, int(step[1])))
        return {key: np.array(sorted(of_key), np.int64).T for key, of_key in spans.items()}

    def _step_at(self, start: Numbers, keys: Numbers, which: Numbers) -> pa.Array:
        """The step of its process in which something starts."""
        step, inside = np.zeros(len(start), np.int64), np.zeros(len(start), bool)
        for place, key in enumerate(keys.tolist()):
            if key in self.steps:
                begins, ends, numbers = self.steps[key]
                k = np.searchsorted(begins, start, "right") - 1
                within = (which == place) & (k >= 0) & (start < ends[k])
                step, inside = np.where(within, numbers[k], step), inside | within
        return pa.array(step, mask=~inside)


def categories(category: str, kinds: tuple[Any, ...]) -> list[str]:
    if category != "cuda_runtime":
        return [category] * len(kinds)
    return ["cuda_driver" if kind == DRIVER else category for kind in kinds]
