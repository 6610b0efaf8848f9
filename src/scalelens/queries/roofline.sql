-- Operators against the roofline of the device: how fast they compute and move data, and how fast they could.
--
-- Answers: Which operators take the time, are they bound by arithmetic or by memory, and how far from the bound?
--   One row per operator, shapes and element type: rates are total work over total time of their kernels.  The bound
--   follows from the two parameters, dense peaks of the device for the element type; without them it is NULL.
--   The roofline is the time that the slower of both would take: a share near 1 cannot be improved by a faster kernel;
--   above 1 the shapes tell more than is moved (a cache), or the peak is not that of this device.
--
-- Sources: op_work
--
-- Parameters:
--   runs := ''                    SQL condition over the columns of `runs`, as text; empty takes all
--   peak_tflops := NULL           dense peak of the device for the element type, in TFLOP/s
--   bandwidth_gb_per_s := NULL    bandwidth of the device's memory, in GB/s (1e9 bytes)
--
-- Columns:
--   run_id            VARCHAR           run
--   name              VARCHAR           operator
--   family            VARCHAR           gemm convolution attention normalisation reduction elementwise
--   shapes            VARCHAR           shapes of its inputs
--   dtype             VARCHAR           element type
--   calls             BIGINT            calls, over all ranks
--   kernel_s          DOUBLE s          time of their kernels
--   share             DOUBLE            of the time of all operators here
--   gflops            DOUBLE GFLOP      floating-point operations of a call
--   moved_mb          DOUBLE MB         data moved by a call, in 1e6 bytes
--   intensity         DOUBLE FLOP/B     floating-point operations per byte
--   tflops_per_s      DOUBLE TFLOP/s    achieved
--   gb_per_s          DOUBLE GB/s       achieved
--   bound             VARCHAR           compute or memory
--   roofline_us       DOUBLE us         least time of a call
--   roofline_share    DOUBLE            least time over the time taken
WITH
summed AS (
    SELECT run_id, name, family, shapes, dtype, count(*) AS calls, sum(kernel_ns) / 1e9 AS kernel_s,
        any_value(flops) AS flops, any_value(moved_bytes) AS moved_bytes
    FROM op_work(runs := runs) WHERE flops IS NOT NULL GROUP BY ALL),
bounded AS (
    SELECT *, flops / (peak_tflops::DOUBLE * 1e12) AS compute_s,
        moved_bytes / (bandwidth_gb_per_s::DOUBLE * 1e9) AS memory_s
    FROM summed)
SELECT run_id, name, family, shapes, dtype, calls, kernel_s,
    kernel_s / nullif(sum(kernel_s) OVER (PARTITION BY run_id), 0) AS share,
    flops / 1e9 AS gflops, moved_bytes / 1e6 AS moved_mb, flops / nullif(moved_bytes, 0) AS intensity,
    calls * flops / nullif(kernel_s, 0) / 1e12 AS tflops_per_s, calls * moved_bytes / nullif(kernel_s, 0) / 1e9 AS gb_per_s,
    CASE WHEN compute_s >= memory_s THEN 'compute' WHEN compute_s < memory_s THEN 'memory' END AS bound,
    CASE WHEN compute_s IS NOT NULL AND memory_s IS NOT NULL THEN greatest(compute_s, memory_s) END * 1e6 AS roofline_us,
    CASE WHEN compute_s IS NOT NULL AND memory_s IS NOT NULL
        THEN calls * greatest(compute_s, memory_s) / nullif(kernel_s, 0) END AS roofline_share
FROM bounded
ORDER BY run_id, kernel_s DESC, name, shapes
