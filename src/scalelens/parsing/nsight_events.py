"""Records of an export of Nsight Systems as rows of `events`.

The database has no index, so names are looked up here and not joined there, and every table is read once, in batches.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.nsight_processes import DEVICE_TABLES, Process
from scalelens.parsing.nsight_tables import MARK, Selection, query
from scalelens.parsing.rows import Rows
from scalelens.parsing.sqlite_file import Database

_CALL_SUFFIX = re.compile(r"_v\d+(?:_pt[sd]\w*)?\Z")
_OPERATOR = re.compile(r"(.+?), (?:seq|op_id) = \d", re.DOTALL)  # PyTorch's emit_nvtx
_STEP = re.compile(r"(?:ProfilerStep|step|iteration|iter)[ _#:=.]*(\d{1,18})\Z", re.IGNORECASE)
_STEP_GLOBS = ("ProfilerStep#[0-9]*", "[Ss][Tt][Ee][Pp]*[0-9]", "[Ii][Tt][Ee][Rr]*[0-9]")
_DRIVER = 1  # eventClass of a call
_SINCE_1970 = 10**17  # larger times are absolute already

_AS_THEY_ARE = {"stream": "stream", "message_bytes": "size"}  # fields by their columns
_TEXT = pa.string()

_Numbers = npt.NDArray[np.int64]


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
        sql, fields = query(selection, columns)
        for records in self.database.batches(sql):
            self._add(selection, dict(zip(fields, zip(*records, strict=True), strict=True)), "globalTid" not in columns)
        return self.line - first

    def _add(self, selection: Selection, fields: dict[str, tuple[Any, ...]], is_device: bool) -> None:
        start, count = np.array(fields["start"], np.int64), len(fields["start"])
        owners = _integers(fields.get("owner", (0,) * count)).fill_null(0).to_numpy()
        if self.base is None:
            self.base = self._session_start(int(start[0]))
        callers, which = np.unique(owners, return_inverse=True)
        keys = [caller >> 24 for caller in callers.tolist()]
        processes = [self.processes.get(key) or Process(0, key & 0xFFFFFF, None, 0) for key in keys]
        of_caller = pa.array(which)
        columns = {column: _integers(fields[name]) for column, name in _AS_THEY_ARE.items() if name in fields}
        columns |= self._words(selection.category, fields, owners)
        columns |= {
            "line": pa.array(np.arange(self.line + 1, self.line + 1 + count)),
            "start_ns": pa.array(start + self.base),
            "rank": pa.array([process.rank for process in processes], pa.int32()).take(of_caller),
            "train_step": self._step_at(start, owners >> 24),
        }
        self.line += count
        if "end" in fields:
            lasted = pc.subtract(_integers(fields["end"]), pa.array(start))
            columns["duration_ns"] = pc.if_else(pc.less(lasted, 0), None, lasted)
        if "correlation" in fields:
            raised = pa.array([process.number << 32 for process in processes], pa.int64()).take(of_caller)
            columns["correlation"] = pc.add(_integers(fields["correlation"]), raised)
        pids = [process.pid for process in processes]
        if is_device:
            devices = zip(which.tolist(), fields.get("device", (None,) * count), strict=True)
            columns["process"] = pa.array([self.device_names.get((pids[k], device)) for k, device in devices], _TEXT)
        else:
            columns["process"] = pa.array([str(pid) for pid in pids]).take(of_caller)
            columns["thread"] = pa.array([str(caller & 0xFFFFFF) for caller in callers.tolist()]).take(of_caller)
        self._put(columns, np.array([process.part for process in processes])[which])

    def _put(self, columns: dict[str, pa.Array], parts: _Numbers) -> None:
        if (parts == parts[0]).all():
            self.rows.part = int(parts[0])
            self.rows.put_columns("events", columns)
        else:
            for part in np.unique(parts).tolist():
                self.rows.part = part
                chosen = pa.array(parts == part)
                self.rows.put_columns("events", {name: column.filter(chosen) for name, column in columns.items()})
        self.rows.part = 0

    def _words(self, category: str, fields: dict[str, tuple[Any, ...]], owners: _Numbers) -> dict[str, pa.Array]:
        """Name, category, phase and arguments of records; a name is a text or the number of one."""
        texts = [name if type(name) is str else self.texts.get(name) for name in fields["name"]]
        count = len(texts)
        kinds, nothing = np.array(fields.get("kind", (None,) * count)), (None,) * count
        args: Sequence[str | None] = fields.get("args", nothing)
        if category == "nvtx":
            args = self._range_args(texts, fields.get("domain", nothing), owners)
        elif category == "cuda_runtime":
            short = {text: _CALL_SUFFIX.sub("", text) for text in {*texts} if text}
            texts = [short.get(text) for text in texts]  # type: ignore[arg-type]
        of_driver = pa.array((kinds == _DRIVER) & (category == "cuda_runtime"))
        is_mark = pa.array((kinds == MARK) & (category == "nvtx"))
        return {
            "ph": pc.if_else(is_mark, "i", "X"),
            "name": pa.array(texts, _TEXT),
            "category": pc.if_else(of_driver, "cuda_driver", category),
            "args": pa.array(args, _TEXT),
        }

    def _range_args(self, texts: list[str | None], domains: Sequence[Any], owners: _Numbers) -> list[str | None]:
        """Arguments of ranges: a domain other than the default one, and the whole text of PyTorch's ranges.

        In `texts` the latter lose their numbers.
        """
        args: list[str | None] = [None] * len(texts)
        if not any(domains) and not any(", " in text for text in {*texts} if text):
            return args
        for k, (text, domain) in enumerate(zip(texts, domains, strict=True)):
            arguments: dict[str, str] = {}
            if domain:
                arguments["domain"] = self.domains.get((int(owners[k]) >> 24, domain)) or str(domain)
            if text and ", " in text and (operator := _OPERATOR.match(text)):
                texts[k], arguments["text"] = operator[1], text
            if arguments:
                args[k] = msgspec.json.encode(arguments).decode()
        return args

    def _session_start(self, first: int) -> int:
        """Nanoseconds since 1970 at which times of the capture begin; 0 where that is not known."""
        known = "utcEpochNs" in self.database.columns.get("TARGET_INFO_SESSION_START_TIME", set())
        starts = self.database.rows("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1") if known else []
        base = 0 if first > _SINCE_1970 or not starts else int(starts[0][0] or 0)
        self.rows.param("trace_clock", "unix" if base or first > _SINCE_1970 else "relative")
        return base

    def _domains(self) -> dict[tuple[int, int], str]:
        """Names of NVTX domains by process and number."""
        if not {"domainId", "text"} <= self.database.columns.get("NVTX_EVENTS", set()):
            return {}
        name = "SELECT globalTid >> 24, domainId, coalesce(text, textId) FROM NVTX_EVENTS WHERE eventType = 75"
        return {(key, number): str(self.texts.get(text, text)) for key, number, text in self.database.rows(name)}

    def _device_names(self) -> dict[tuple[int, int], str]:
        """The GPU by process id and by the number that the process gives it.

        A process that sees one GPU calls it 0.  Without the table that shows which it is, GPUs of several processes
        that have the same number are distinguished by the process.
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

    def _steps(self) -> dict[int, _Numbers]:
        """Starts, ends and numbers of the ranges that are steps, shape (3, n), by vm and pid."""
        if not {"text", "textId", "end"} <= self.database.columns.get("NVTX_EVENTS", set()):
            return {}
        ids = ", ".join(str(number) for number, text in self.texts.items() if text and _STEP.match(text)) or "NULL"
        # Leaving out NULL first saves three calls of GLOB for each row without a text.
        globs = " OR ".join(f"text GLOB '{glob}'" for glob in _STEP_GLOBS)
        named = f"(text IS NOT NULL AND ({globs}) OR textId IN ({ids}))"
        ranges = 'SELECT globalTid >> 24, start, "end", coalesce(text, textId) FROM NVTX_EVENTS'
        spans: dict[int, list[tuple[int, int, int]]] = {}
        for key, start, end, text in self.database.rows(f'{ranges} WHERE {named} AND "end" >= start'):
            if step := _STEP.match(str(self.texts.get(text, text))):
                spans.setdefault(key, []).append((start, end, int(step[1])))
        return {key: np.array(sorted(of_key), np.int64).T for key, of_key in spans.items()}

    def _step_at(self, start: _Numbers, keys: _Numbers) -> pa.Array:
        """The step of its process in which something starts."""
        step, inside = np.zeros(len(start), np.int64), np.zeros(len(start), bool)
        for key, (begins, ends, steps) in self.steps.items():
            k = np.searchsorted(begins, start, "right") - 1
            within = (keys == key) & (k >= 0) & (start < ends[k])
            step, inside = np.where(within, steps[k], step), inside | within
        return pa.array(step, mask=~inside)


def _integers(values: Sequence[Any]) -> pa.Array:
    return pa.array(values, pa.int64())
