"""What a device does in an event: computation, communication or movement of memory.  Only this file knows kernel names.

The category of an event says whether it is work of a device.  If it is a kernel, its name decides the class.  Calls
of the host, annotations and waits have no class.  So has a host operator with a `stream` among its arguments
(Triton's): its kernel is a row of its own.
"""

import functools
import re

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc

# Categories of Kineto (libkineto/src/ActivityType.h) in lower case; `memcpy` and `memset` are those of PyTorch 1.8,
# `gpu_op` is that of Intel's unitrace.
_MEMORY = ("gpu_memcpy", "gpu_memset", "memcpy", "memset", "xpu_memcpy", "xpu_memset")
# A whole CUDA graph (of Nsight Systems) is busy with what was not recorded; its format says that it counts as compute.
_KERNELS = ("kernel", "mtia_ccp_events", "gpu_op", "cuda_graph")

_COMMUNICATION_NAMES = (
    # Vendors' libraries: ncclKernel_*, ncclDevKernel_*, mscclKernel_*, oneccl_*, hcom_*.
    "nccl|rccl|hccl|msccl|oneccl|mccl|cncl|xccl|ccl::|hcom_",
    "gloo|nvshmem|rocshmem|userbuffers",  # Gloo, one-sided memory, Transformer Engine
    "deep_ep::|(^|\\W)(inter|intra)node(_ll)?::|elastic_?buffer",  # DeepEP, under whatever namespace it was built
    # Experts' tokens there and back: DeepEP's hybrid, MORI, TensorRT-LLM, pplx, FlashInfer, Ascend's.
    "hybrid_ep::|(^|\\W)ep_?(dispatch|combine)_?int(ra|er)node|a2a_?(dispatch|combine)|moe_?(distribute|alltoall)",
    "cross_device_reduce",  # vLLM, SGLang and AITER
    "symm_?mem|multimem_|(^|\\W)(put|wait)_signal_kernel",  # PyTorch's symmetric memory, also by NVLink's multicast
    # PyTorch's again, TensorRT-LLM, FlashInfer; not the reductions within a warp or block of one kernel.
    "(^|[^pk])all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|all2all",
    "collective[-_]?(permute|broadcast)|async-collective",  # XLA's
)
# Inductor names its kernels after the operators around them: triton_poi_fused_all_reduce_0 fills the buffer of one.
_COMPUTE_NAMES = ("^triton_[a-z]+_fused_",)
_MEMORY_NAMES = ("^(hip)?Mem(cpy|set)", "^dma", "^__amd_rocclr_(copy|fill)Buffer", "^zeCommandListAppendMemory")
# Entries of a stream that do nothing, of MTIA and of Level Zero.
_WAITS = ("^event_(wait|record)", "^zeCommandListAppend(Barrier|WaitOnEvents|SignalEvent)")

_WORK = pa.array(_KERNELS + _MEMORY)
# The class of a name is that of the first pattern that it holds; a kernel of any other name computes.
_CLASSES = (
    (_COMPUTE_NAMES, "compute"), (_COMMUNICATION_NAMES, "communication"), (_MEMORY_NAMES, "memory"), (_WAITS, None),
)  # fmt: skip
_PLACED = pa.array(["compute", "communication", "memory", None], pa.string())
_PLACES = {of: place for place, of in enumerate(_PLACED.to_pylist())}


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], str | None]]:
    """Compiled for the first kernel: logs have none."""
    return [
        (re.compile("|".join(names), re.IGNORECASE if of == "communication" else re.NOFLAG), of)
        for names, of in _CLASSES
    ]


@functools.lru_cache(maxsize=1 << 16)
def kernel_class(name: str | None, category: str | None) -> str | None:
    """'compute', 'communication' or 'memory'; None for what is not work of a device."""
    if category in _MEMORY:
        return "memory"
    if category not in _KERNELS:
        return None
    return next((of for pattern, of in _patterns() if pattern.search(name or "")), "compute")


def classes(names: pa.Array, categories: pa.Array) -> pa.Array:
    """The class of each event, shape (n,) and (n,) to (n,)."""
    work = np.flatnonzero(pc.is_in(categories, _WORK).to_numpy(zero_copy_only=False))
    if not len(work):
        return pa.nulls(len(names), pa.string())
    name, category = (pc.dictionary_encode(pc.take(column, pa.array(work)), "encode") for column in (names, categories))
    name_texts, category_texts = name.dictionary.to_pylist(), category.dictionary.to_pylist()
    # Many events share few names: each pair of name and category is looked at once, as one number.
    width = len(category_texts)
    pair_of_event = name.indices.to_numpy().astype(np.int64) * width + category.indices.to_numpy()
    is_pair = np.zeros(len(name_texts) * width, bool)
    is_pair[pair_of_event] = True
    # The place of each class in the list of them; the last is NULL, and that of what is not work.
    of_pair = np.zeros(len(is_pair), np.int8)
    for pair in np.flatnonzero(is_pair).tolist():
        of_pair[pair] = _PLACES[kernel_class(name_texts[pair // width], category_texts[pair % width])]
    places = np.full(len(names), _PLACES[None], np.int8)
    places[work] = of_pair[pair_of_event]
    return pc.take(_PLACED, pa.array(places))


def with_class(events: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of `events` with their column `class`."""
    index = events.schema.get_field_index("class")
    return events.set_column(index, events.schema.field(index), classes(events["name"], events["category"]))
