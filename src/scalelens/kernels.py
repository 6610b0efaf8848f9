"""What device work is: computation, communication or movement of memory.  The one place that knows names of kernels.

`kernel_class(name, category)` in SQL gives 'compute', 'communication' or 'memory', and NULL for what is no work of a
device: calls of the host, annotations, waits.  The category says what is device work; where it is a kernel, its name
says which.  A host operator with a `stream` among its arguments (Triton's) stays what it is: its kernel is a row of
its own.
"""

import duckdb

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

KERNEL_CLASS = f"""
CREATE OR REPLACE MACRO kernel_class(name, category) AS CASE
    WHEN category IN {MEMORY} THEN 'memory'
    WHEN category IS NULL OR category NOT IN {KERNELS} THEN NULL
    WHEN regexp_matches(name, '{"|".join(COMPUTE_NAMES)}') THEN 'compute'
    WHEN regexp_matches(name, '(?i){"|".join(COMMUNICATION_NAMES)}') THEN 'communication'
    WHEN regexp_matches(name, '{"|".join(MEMORY_NAMES)}') THEN 'memory'
    WHEN regexp_matches(name, '{"|".join(WAITS)}') THEN NULL
    ELSE 'compute' END
"""


# What `kernel_class` can be known for: a filter that a scan applies before it reads the names.
ON_DEVICE = f"CREATE OR REPLACE MACRO is_on_device(category) AS category IN {KERNELS + MEMORY}"


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes `kernel_class` and `is_on_device` known to SQL."""
    connection.execute(KERNEL_CLASS)
    connection.execute(ON_DEVICE)
