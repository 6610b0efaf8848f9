"""What the runners measure with: the device, its clock, and a profiler of a few steps."""
# mypy: ignore-errors

import contextlib
import os
import time

import torch
from runlog import LOCAL_RANK, LOCAL_WORLD, RANK

clock = time.perf_counter
AUTOCAST = {"fp32": None, "tf32": None, "amp": torch.float16, "bf16": torch.bfloat16}


def use_device(gpu):
    """Takes the rank's device, and the cores nearest to it where the environment names them."""
    bind(os.environ.get("SCALELENS_RANK_CORES", "").split())
    if gpu:
        torch.cuda.set_device(LOCAL_RANK % torch.cuda.device_count())  # Slurm may show each task one GPU, as number 0
    else:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // LOCAL_WORLD))


def bind(cores_by_rank):
    """Binds this process to its cores, such as `49-55`, or to those of them that the job may use.

    Threads and readers that are started later are bound with it.  With one task per node Slurm cannot do it.
    """
    if len(cores_by_rank) > LOCAL_RANK:
        first, _, last = cores_by_rank[LOCAL_RANK].partition("-")
        cores = set(range(int(first), int(last or first) + 1)) & os.sched_getaffinity(0)
        if cores:
            os.sched_setaffinity(0, cores)


class DeviceClock:
    """Seconds between two events on a GPU.  The CPU has no such clock: nothing happens there."""

    def __init__(self, gpu):
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if gpu else []

    def start(self):
        for event in self.events[:1]:
            event.record()

    def stop(self):
        for event in self.events[1:]:
            event.record()

    def synchronise(self):
        if self.events:
            torch.cuda.synchronize()

    def seconds(self):
        """Between start and stop, after synchronise; None on the CPU."""
        return self.events[0].elapsed_time(self.events[1]) / 1e3 if self.events else None


def warmup_steps(args):
    """Traced steps are slower, and the one after them waits for the slowest writer: no statistic may use them.

    Nor may it use the first, which is not traced: it chooses algorithms, by kernels that no later step has.
    """
    return max(args.warmup_steps, args.profile_steps + 2 if args.profile_steps else 0)


@contextlib.contextmanager
def profiler(args, steps):
    """Traces --profile-steps of the warm-up, all but its last step, into trace_rankR.json.gz.

    Before them it records one step that it throws away, because a profiler's start is slow.  It is stopped after an
    error too: a process that ends while it records ends with a segmentation fault.
    """
    idle = args.warmup_steps - args.profile_steps - 1 if args.profile_steps else steps + 1
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=idle, warmup=1, active=max(args.profile_steps, 1), repeat=1),
        on_trace_ready=lambda tracer: tracer.export_chrome_trace(str(args.out / f"trace_rank{RANK}.json.gz")),
    ) as tracer:
        yield tracer
