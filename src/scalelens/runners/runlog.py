"""What the runners share: the log of structured lines, and the facts of a run.

Rank R writes rankR.log.  Each line is `:::SCALELENS ` and a JSON object.  The event `run` holds the settings, `facts`
what may differ between ranks and restarts, `step` one step of this rank, `phase` a span of time, `end` how it ended:
an error too, with its first words.
"""
# mypy: ignore-errors

import atexit
import contextlib
import json
import os
import platform
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
LOCAL_RANK, LOCAL_WORLD = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))

KEPT = re.compile(
    "(NCCL|RCCL|TORCH|PYTORCH|CUDA|HIP|HSA|ROCR|GPU|MIOPEN|OMP|GOMP|KMP|MKL|GLOO|UCX|FI|MPICH|SLURM|APPTAINER_NAME)_.*"
)
SECRET = re.compile("TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|JWT|COOKIE|PRIVATE|SIGNATURE|LICEN[CS]E|USER|MAIL|ACCOUNT")
LOGIN = re.compile(r"//[^/\s]*:[^/\s]*@|\bBearer\b")  # a value that holds a password


def open_log(path):
    """Two functions: one logs an event, one prints a text.  A thread writes both every two seconds, so that no step
    waits for a disk.

    On SIGTERM or ^C the thread writes the rest and ends the process, even while training hangs in a collective: Python
    puts the number of the signal into a pipe without waiting for the main thread.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    lines, lock = ["\n"] if file.tell() else [], threading.Lock()  # a killed attempt may have left half a line
    texts = []

    def log(event, **values):
        values = {"event": event, "rank": RANK, **values, "time": round(time.time(), 6)}
        lines.append(f":::SCALELENS {json.dumps({k: v for k, v in values.items() if v is not None})}\n")

    def say(text):
        texts.append(f"{text}\n")

    def write():
        with lock:
            file.write("".join(lines.pop(0) for _ in range(len(lines))).encode())
            if texts:
                sys.stdout.write("".join(texts.pop(0) for _ in range(len(texts))))
                sys.stdout.flush()

    def write_until_signal():
        while not select.select([signals], [], [], 2.0)[0]:
            write()
        log("end", outcome="cancelled")
        write()
        os._exit(128 + os.read(signals, 1)[0])

    signals, wakeup = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, lambda *_: None)
    atexit.register(write)
    threading.Thread(target=write_until_signal, daemon=True).start()
    return log, say


def add_place(parser, name, has_gpu):
    """Adds the options of every runner that say where it runs, and where its logs go."""
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if has_gpu else "cpu")
    parser.add_argument(
        "--out", type=Path, default=Path("results", f"{name}-n{WORLD}"),
        help="folder for logs and traces; a restart adds to it; default %(default)s",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="check these options, and run nothing")


def share_batch(parser, args, devices):
    """Gives each device as much of the global batch as the others, and says whether that is strong or weak scaling."""
    args.scaling = "weak" if args.global_batch_size is None else "strong"
    if args.global_batch_size is None:
        args.global_batch_size = args.batch_per_device * devices
    args.batch_per_device, rest = divmod(args.global_batch_size, devices)
    if rest or args.batch_per_device < 1:
        parser.error(f"a global batch of {args.global_batch_size} cannot be shared equally by {devices} devices")


def checked(args):
    """The arguments; with --check, which whoever starts many ranks may ask first, the process ends here."""
    return sys.exit() if args.check else args


@contextlib.contextmanager
def ending(log):
    """Logs how the run ended.  After ^C the thread does it."""
    try:
        yield
    except Exception as fault:
        text = f"{type(fault).__name__}: {fault}"
        log("end", outcome="oom" if "OutOfMemory" in text else "error", outcome_text=text[:500])
        raise
    log("end", outcome="completed")


def facts():
    """Host, versions, state of the code and environment: what a later reader of the numbers needs."""
    import torch

    nccl = torch.cuda.nccl.version() if torch.cuda.is_available() else None
    return {
        "host": socket.gethostname(),
        "job_id": os.environ.get("SLURM_JOB_ID"),
        "python_version": platform.python_version(),
        "torch_version": str(torch.__version__),
        "cuda_version": torch.version.cuda,
        "rocm_version": torch.version.hip,
        "nccl_version": ".".join(map(str, nccl)) if nccl else None,
        **(git() if RANK == 0 else {}),
        **{f"env_{name}": value for name, value in environment(os.environ).items()},
    }


def environment(variables):
    """Variables that change how a run goes, without those that look like a secret, a person or a password."""
    return {
        name: value[:500]
        for name, value in sorted(variables.items())
        if KEPT.fullmatch(name) and not SECRET.search(name) and not LOGIN.search(value)
    }


def git():
    """Commit of the folder that holds these scripts, and whether the folder was changed since."""

    def ask(*words):
        command = ["git", "-C", str(Path(__file__).resolve().parent), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()

    try:
        return {"git_commit": ask("rev-parse", "HEAD"), "git_changed": int(bool(ask("status", "--porcelain", ".")))}
    except (OSError, subprocess.SubprocessError):
        return {}  # no git here, or no repository


def device(gpu):
    """Model and unit of the device, where this machine says them."""
    import torch

    if gpu:
        name = torch.cuda.get_device_name()
        return {"device_model": name, "device_unit": "gcd" if "MI250" in name else "gpu"}
    try:
        name = Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0]
    except OSError:
        name = ""
    return {"device_model": name or None, "device_unit": "cpu"}
