"""Traces as the profiler of PyTorch writes them, one for each rank, for the pictures of the gallery.  All is made up.

A small language model of experts with data parallelism: each rank computes forward, tokens go to the ranks of their
experts, gradients are summed while the backward still computes, and all ranks wait at the end of a step for the
slowest.  The power of the devices is that of computing, communicating or waiting.
"""

import json
import random
from pathlib import Path

RANKS, STEPS, LAYERS = 8, 6, 4
SLOW_RANK, SLOWDOWN = 5, 1.15
TOKENS, HIDDEN = 4096, 4096
SECOND_NS = 1_000_000_000
BASE_NS = 1_790_857_026 * SECOND_NS
COMPUTE, COMMUNICATION = 7, 20  # streams
HOST_US, LAUNCH_US = 30.0, 8.0  # an operator on the host, and from its launch to the device
SUM_US = 1500.0  # of the gradients of a layer
POPULAR_RANK, POPULAR = 3, 1.6  # its experts get more tokens than those of another rank
COMPUTING_W, COMMUNICATING_W, IDLE_W, SAMPLE_S = 640.0, 330.0, 120.0, 0.002
NAMES = {
    "aten::mm": "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
    "aten::_flash_attention_forward": "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128> >(Flash_fwd_params)",
    "aten::add": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >(int)",
    "aten::_fused_adamw_": "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >(int)",
    "aten::copy_": "Memcpy HtoD (Pinned -> Device)",
    "c10d::alltoall_base_": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "c10d::allreduce_": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}
HALF = "c10::BFloat16"


def product(inner: int, outer: int, share: float) -> tuple[str, list[list[int]], float]:
    """A product of matrices: its operator, its shapes, and its microseconds at a share of the peak of an H100."""
    return "aten::mm", [[TOKENS, inner], [inner, outer]], 2 * TOKENS * inner * outer / (989e6 * share)


LAYER = [
    product(HIDDEN, 3 * HIDDEN, 0.68),
    ("aten::_flash_attention_forward", [[1, TOKENS, 32, 128]] * 3, 620.0),
    product(HIDDEN, HIDDEN, 0.55),
    ("aten::add", [[TOKENS, HIDDEN]] * 2, 55.0),
    product(HIDDEN, 4 * HIDDEN, 0.72),
    product(4 * HIDDEN, HIDDEN, 0.64),
    ("aten::add", [[TOKENS, HIDDEN]] * 2, 52.0),
]


class Rank:
    """The trace of one rank as it grows.  Times are microseconds."""

    def __init__(self, rank: int) -> None:
        self.rank, self.rng = rank, random.Random(rank)
        self.pace = SLOWDOWN if rank == SLOW_RANK else 1.0
        self.host_us = 0.0
        self.free_us = {COMPUTE: 0.0, COMMUNICATION: 0.0}
        self.events: list[dict[str, object]] = []

    def add(
        self, category: str, name: str, pid: int, tid: int, begin_us: float, end_us: float, **facts: object
    ) -> None:
        self.events.append({
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(begin_us, 3),
            "dur": round(end_us - begin_us, 3), "args": facts,
        })  # fmt: skip

    def launch(self, operator: str, shapes: list[list[int]], stream: int) -> tuple[float, int]:
        """An operator on the host that launches one kernel; returns when the kernel can begin, and its number."""
        begin_us, number = self.host_us, len(self.events)
        self.host_us += HOST_US
        shown = {"External id": number, "Input Dims": shapes, "Input type": [HALF] * len(shapes)}
        if operator == "aten::mm":
            self.add("cpu_op", "aten::linear", 100, 100, begin_us, self.host_us - 1)
        self.add("cpu_op", operator, 100, 100, begin_us + 1, self.host_us - 2, **shown)
        self.add("cuda_runtime", "cudaLaunchKernel", 100, 100, begin_us + 4, begin_us + 9, correlation=number)
        return max(begin_us + 9 + LAUNCH_US, self.free_us[stream]), number

    def compute(self, operator: str, shapes: list[list[int]], microseconds: float) -> None:
        begin_us, number = self.launch(operator, shapes, COMPUTE)
        end_us = begin_us + microseconds * self.pace * self.rng.gauss(1, 0.01)
        category = "gpu_memcpy" if operator == "aten::copy_" else "kernel"
        self.add(category, NAMES[operator], 0, COMPUTE, begin_us, end_us, device=0, stream=COMPUTE, correlation=number)
        self.free_us[COMPUTE] = end_us

    def step(self, number: int, begin_us: float) -> None:
        end_us = max(self.free_us.values()) + 20
        self.add("user_annotation", f"ProfilerStep#{number}", 100, 100, begin_us, end_us)
        self.host_us = end_us + 5


def meet(ranks: list[Rank], operator: str, lasts_us: float, facts: list[dict[str, object]]) -> None:
    """A collective begins on each rank when its tensors are there, and ends on all at once."""
    begins = []
    for rank, of_rank in zip(ranks, facts, strict=True):
        ready_us, number = rank.launch(operator, [[of_rank["In msg nelems"]]], COMMUNICATION)  # type: ignore[list-item]
        begins.append((max(ready_us, rank.free_us[COMPUTE]), number))
    end_us = max(begin for begin, _ in begins) + lasts_us
    for rank, of_rank, (begin_us, number) in zip(ranks, facts, begins, strict=True):
        common = {"dtype": "BFloat16", "Group size": RANKS, "device": 0, "stream": COMMUNICATION, "correlation": number}
        rank.add("kernel", NAMES[operator], 0, COMMUNICATION, begin_us, end_us, **of_rank, **common)
        rank.free_us[COMMUNICATION] = end_us


def sum_gradients(ranks: list[Rank]) -> None:
    elements = 12 * HIDDEN**2
    facts: dict[str, object] = {
        "Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements,
        "Process Group Name": "0", "Process Group Description": "default_pg",
    }  # fmt: skip
    meet(ranks, "c10d::allreduce_", SUM_US, [facts] * len(ranks))


def send_tokens(ranks: list[Rank], step: int) -> None:
    """Each rank sends its tokens to the ranks of their experts."""
    rng = random.Random(step)
    shares = [(POPULAR if rank == POPULAR_RANK else 1.0) * rng.gauss(1, 0.1) for rank in range(RANKS)]
    sent = [round(TOKENS * HIDDEN * share / sum(shares)) for share in shares]
    facts: list[dict[str, object]] = [
        {"Collective name": "all_to_allv", "In msg nelems": sum(sent), "Out msg nelems": RANKS * received,
         "In split size": str(sent), "Out split size": str([received] * RANKS), "Process Group Name": "1",
         "Process Group Description": "expert_parallel"}
        for received in sent
    ]  # fmt: skip
    meet(ranks, "c10d::alltoall_base_", 400 * max(shares) / (sum(shares) / RANKS), facts)
    for rank in ranks:
        rank.free_us[COMPUTE] = max(rank.free_us.values())


def train(ranks: list[Rank]) -> None:
    for step in range(1, STEPS + 1):
        begins = [rank.host_us for rank in ranks]
        for rank in ranks:
            rank.compute("aten::copy_", [[TOKENS]], 40.0)
            for operator, shapes, microseconds in LAYER * LAYERS:
                rank.compute(operator, shapes, microseconds)
        send_tokens(ranks, step)
        for _ in range(LAYERS):
            for rank in ranks:
                for operator, shapes, microseconds in LAYER[::-1] * 2:
                    rank.compute(operator, shapes, microseconds)
            sum_gradients(ranks)
        for rank, begin_us in zip(ranks, begins, strict=True):
            rank.free_us[COMPUTE] = max(rank.free_us.values())
            rank.compute("aten::_fused_adamw_", [[12 * LAYERS * HIDDEN**2]], 900.0)
            rank.step(step, begin_us)


def write_traces(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    ranks = [Rank(number) for number in range(RANKS)]
    train(ranks)
    for rank in ranks:
        trace = {
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "record_shapes": 1,
            "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": RANKS},
            "baseTimeNanoseconds": BASE_NS, "traceEvents": rank.events,
        }  # fmt: skip
        (folder / f"rank{rank.rank}.json").write_text(json.dumps(trace))
    (folder / "power.csv").write_text(power(ranks))


def power(ranks: list[Rank]) -> str:
    """What jpwr samples of the devices while they are traced."""
    rng = random.Random(7)
    lines = [",timestamps," + ",".join(f"pynvml:{rank.rank}" for rank in ranks)]
    level, running = [IDLE_W] * len(ranks), [_work_of(rank) for rank in ranks]
    end_s = max(max(rank.free_us.values()) for rank in ranks) / 1e6
    for sample in range(int((end_s + 0.02) / SAMPLE_S)):
        now_us = (sample * SAMPLE_S - 0.01) * 1e6
        target = [_watts(work, now_us) for work in running]
        level = [w + 0.8 * (aim - w) for w, aim in zip(level, target, strict=True)]
        now_s = f"{BASE_NS / SECOND_NS + now_us / 1e6:.6f}"
        lines.append(f"{sample},{now_s},{','.join(f'{w + rng.gauss(0, 5):.3f}' for w in level)}")
    return "\n".join(lines) + "\n"


def _work_of(rank: Rank) -> list[tuple[float, float, float]]:
    """Begin, end and watts of each work of a device."""
    work = []
    for event in rank.events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            begin_us, watts = float(str(event["ts"])), COMMUNICATING_W if event["tid"] == COMMUNICATION else COMPUTING_W
            work.append((begin_us, begin_us + float(str(event["dur"])), watts))
    return work


def _watts(work: list[tuple[float, float, float]], now_us: float) -> float:
    return max((watts for begin, end, watts in work if begin <= now_us < end), default=IDLE_W)
