"""What W&B's record says about a run as a whole: its names, configuration, machine and end."""

from typing import Any

from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.protobuf import fields, signed
from scalelens.parsing.rows import Rows
from scalelens.parsing.wandb_messages import LONGEST, json_of, text_of

_RUN_FACTS = {
    1: "wandb_run_id",
    3: "project",
    6: "run_group",
    7: "job_type",
    8: "run_name",
    12: "sweep_id",
    13: "host_name",
}
_TAG, _CONFIGURATION = 10, 4
_PROGRAM, _ARGUMENTS, _SLURM = 6, 5, 27
_MACHINE = {18: "device_model", 19: "node_gpu_count", 25: "cuda_version", 2: "python_version"}


class RunFacts:
    """The facts of one run.  Each message that has some is given to the method of its kind."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.host: str | None = None
        self.ended = False
        self.knows_machine = False
        self._configuration: dict[str, Any] = {}
        self._configured = 0  # the first record that says something of it

    def take_run(self, number: int, record: bytes) -> None:
        tags = []
        for field, value in fields(record):
            if field in _RUN_FACTS and value:
                self.rows.param(_RUN_FACTS[field], text_of(value)[:LONGEST], number)
                if _RUN_FACTS[field] == "host_name":
                    self.host = text_of(value)
            elif field == _TAG:
                tags.append(text_of(value))
            elif field == _CONFIGURATION:
                self.take_configuration(number, value)
        if tags:
            self.rows.param("tags", ", ".join(tags)[:LONGEST], number)

    def take_configuration(self, number: int, record: bytes) -> None:
        """Settings that are set (field 1) or removed (field 2), each under one name or a nested one."""
        self._configured = self._configured or number
        for field, item in fields(record):
            names, content = [], None
            for part, value in fields(item) if field in (1, 2) else ():
                if part in (1, 2):
                    names.append(text_of(value))
                elif part == 16:
                    content = json_of(value)
            inner = self._configuration
            for name in names[:-1]:
                inner = inner.setdefault(name, {})
            if field == 1 and names:
                inner[names[-1]] = content
            elif field == 2 and names:
                inner.pop(names[-1], None)

    def take_header(self, number: int, record: bytes) -> None:
        version = dict(fields(dict(fields(record)).get(1, b""))).get(1, b"")
        self.rows.param("wandb_version", text_of(version).partition("+")[0] or None, number)

    def take_environment(self, number: int, record: bytes) -> None:
        """The machine.  GPUs are those of the node, whether or not the run uses them."""
        self.knows_machine = True
        texts: dict[int, list[str]] = {}
        for field, value in fields(record):
            if field == _SLURM:
                key, entry = (text_of(dict(fields(value)).get(k, b"")) for k in (1, 2))
                if key.lower().removeprefix("slurm_") == "job_id" and entry.isdecimal():
                    self.rows.job(entry, number, "environment")
            else:
                texts.setdefault(field, []).append(str(signed(value)) if isinstance(value, int) else text_of(value))
        program, arguments = texts.get(_PROGRAM, []), texts.get(_ARGUMENTS, [])
        if program:
            self.rows.param("command", " ".join([*program, *arguments])[:LONGEST], number)
        for field, key in _MACHINE.items():
            self.rows.param(key, texts[field][0] if field in texts else None, number, origin="environment")

    def take_exit(self, number: int, record: bytes) -> None:
        values = dict(fields(record))
        code, runtime_s = signed(values.get(1, 0)), signed(values.get(2, 0))
        self.ended = True
        self.rows.param("exit_code", code, number)
        self.rows.param("outcome", "completed" if code == 0 else "error", number)
        if runtime_s > 0:
            self.rows.add("phases", number, phase="run", span_s=float(runtime_s), origin="logged")

    def finish(self) -> None:
        """Writes the configuration, when its last values are known."""
        self.rows.param("tracker", "wandb")
        configuration = {name: value for name, value in self._configuration.items() if name != "_wandb"}
        write_configuration(configuration, self.rows, self._configured or None)
