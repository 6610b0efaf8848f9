"""What device work is: computation, communication or movement of memory.  The one place that knows names of kernels.

A category says what is work of a device; where it is a kernel, its name says which.  Calls of the host, annotations and
waits have no class.  A host operator with a `stream` among its arguments (Triton's) stays what it is: its kernel is a
row of its own.
"""

import functools
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Categories of Kineto (libkineto/src/ActivityType.h) in lower case; `memcpy` and `memset` are those of PyTorch 1.8,
# `gpu_op` is that of Intel's unitrace.
MEMORY = ("gpu_memcpy", "gpu_memset", "memcpy", "memset", "xpu_memcpy", "xpu_memset")
KERNELS = ("kernel", "mtia_ccp_events", "gpu_op")

COMMUNICATION_NAMES = (
    # Vendors' libraries: ncclKernel_*, ncclDevKernel_*, mscclKernel_*, oneccl_*, hcom_*.
    "nccl|rccl|hccl|msccl|oneccl|mccl|cncl|xccl|ccl::|hcom_",
    "gloo|nvshmem|rocshmem|deep_ep::|userbuffers",  # Gloo, one-sided memory, DeepEP, Transformer Engine
    # Experts' tokens there and back: DeepEP's hybrid, MORI, TensorRT-LLM, pplx.
    "hybrid_ep::|(^|\\W)ep_?(dispatch|combine)_?int(ra|er)node|a2a_?(dispatch|combine)",
    "cross_device_reduce",  # vLLM, SGLang and AITER
    # PyTorch's symmetric memory, TensorRT-LLM, FlashInfer; not the reductions within a warp or block of one kernel.
    "(^|[^pk])all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|all2all",
    "collective[-_]?(permute|broadcast)|async-collective",  # XLA's
)
# Inductor's are named after the operators around them: triton_poi_fused_all_reduce_0 fills the buffer of one.
COMPUTE_NAMES = ("^triton_[a-z]+_fused_",)
MEMORY_NAMES = ("^(hip)?Mem(cpy|set)", "^dma", "^__amd_rocclr_(copy|fill)Buffer", "^zeCommandListAppendMemory")
# Entries of a stream that do nothing: of MTIA and of Level Zero.
WAITS = ("^event_(wait|record)", "^zeCommandListAppend(Barrier|WaitOnEvents|SignalEvent)")

WORK = pa.array(KERNELS + MEMORY)
COMPUTE, MEMORY_MOVED, WAIT = (re.compile("|".join(names)) for names in (COMPUTE_NAMES, MEMORY_NAMES, WAITS))
COMMUNICATION = re.compile("|".join(COMMUNICATION_NAMES), re.IGNORECASE)


@functools.lru_cache(maxsize=1 << 16)
def kernel_class(name: str | None, category: str | None) -> str | None:
    """'compute', 'communication' or 'memory', and None for what is no work of a device."""
    if category in MEMORY:
        return "memory"
    if category not in KERNELS:
        return None
    name = name or ""
    if COMPUTE.search(name):
        return "compute"
    if COMMUNICATION.search(name):
        return "communication"
    if MEMORY_MOVED.search(name):
        return "memory"
    return None if WAIT.search(name) else "compute"


def classes(names: pa.Array, categories: pa.Array) -> pa.Array:
    """The class of each event, shape (n,) and (n,) to (n,)."""
    places = np.flatnonzero(pc.is_in(categories, WORK).to_numpy(zero_copy_only=False))
    if not len(places):
        return pa.nulls(len(names), pa.string())
    taken = pa.array(places)
    name, category = (each.take(taken).dictionary_encode("encode") for each in (names, categories))
    wide = len(category.dictionary)
    pairs, which = np.unique(
        name.indices.to_numpy().astype(np.int64) * wide + category.indices.to_numpy(), return_inverse=True
    )
    known, kinds = name.dictionary.to_pylist(), category.dictionary.to_pylist()
    found = pa.array([kernel_class(known[pair // wide], kinds[pair % wide]) for pair in pairs.tolist()], pa.string())
    place = np.full(len(names), -1)
    place[places] = which
    return found.take(pa.array(place, mask=place < 0))


def with_class(events: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of `events` with their column `class`."""
    place = events.schema.get_field_index("class")
    return events.set_column(place, events.schema.field(place), classes(events["name"], events["category"]))
