"""wandb-metadata.json: the machine and the command of a W&B run.

Tool: Weights & Biases client; newer ones write it while they upload, and keep the same in run-ID.wandb
Versions: 0.10 to 0.31; files of 0.19 were at hand
Yields: params
Source: wandb/sdk/internal/system/system_info.py; core/pkg/server and core/internal/runmetadata

GPUs are those of the node, whether or not the run uses them.  Clients around 0.18 list the name once for each GPU.

Samples:
    {"os": "Linux-5.14.0-x86_64-with-glibc2.34", "python": "3.11.4", "startedAt": "2026-09-21T14:13:20.250000Z", "args": ["--lr", "0.1"], "program": "train.py", "host": "node1", "executable": "/usr/bin/python3", "gpu": "NVIDIA A100-SXM4-40GB", "gpu_count": 4, "slurm": {"job_id": "4711"}}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count

VERSION = 2
IN_HEAD = (b'"startedAt"',)

_KEYS = tuple(re.compile(rb'"%s"\s*:\s*"' % key) for key in (b"os", b"python", b"startedAt", b"host", b"executable"))
_TEXTS = {"gpu": "device_model", "cudaVersion": "cuda_version", "cuda": "cuda_version", "python": "python_version"}
_LONGEST = 500  # characters of a value


def recognise(head: bytes, name: str) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and all(key.search(head) for key in _KEYS)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace")
    try:
        machine = json.loads(text)
        if not isinstance(machine, dict):
            raise ValueError
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text)
        return
    _write(machine, rows)


def _write(machine: dict[str, Any], rows: Rows) -> None:
    rows.param("host_name", _text(machine.get("host")), 1)
    arguments = machine.get("args")
    command = [machine.get("program"), *(arguments if isinstance(arguments, list) else ())]
    if (program := _text(command[0])) and not program.startswith("<"):  # as in a notebook
        rows.param("command", " ".join(map(str, command))[:_LONGEST], 1)
    for key, fact in _TEXTS.items():
        rows.param(fact, _one_for_all(_text(machine.get(key))), 1, origin="environment")
    rows.param("node_gpu_count", json_count(machine.get("gpu_count")) or None, 1, origin="environment")
    slurm, git = machine.get("slurm"), machine.get("git")
    job = _text(slurm.get("job_id")) if isinstance(slurm, dict) else None
    if job and job.isdecimal():
        rows.job(job, 1, "environment")
    rows.param("git_commit", _text(git.get("commit")) if isinstance(git, dict) else None, 1)


def _one_for_all(text: str | None) -> str | None:
    """What a list such as `[NVIDIA H100, NVIDIA H100]`, one entry for each GPU, has in all its places."""
    if text is None or not (text.startswith("[") and text.endswith("]")):
        return text
    entries = {entry.strip() for entry in text[1:-1].split(",")}
    return entries.pop() or None if len(entries) == 1 else text


def _text(value: Any) -> str | None:
    return value[:_LONGEST] or None if isinstance(value, str) else None
