-- Operators against the roofline of the device: how fast they compute and move data, and how fast they could.
--
-- Answers: Which operators are how far from what the device can do?
--   Are they bound by arithmetic or by memory?
--   One row per operator, shapes and element type: rates are total work over total time of their kernels.  The bound
--   follows from the dense peak for the element type and the memory bandwidth: those of the parameters, else the
--   catalog's for the device of the run (float32 as such, not TF32); where neither is known it is NULL.
--   The roofline is the time that the slower of the two would take.  A share near 1 cannot be improved by a faster
--   kernel; above 1, less is moved than the shapes imply (a cache), or the peak is that of another device.
--
-- Formula: roofline time = max(flops / peak, bytes / bandwidth) of a call; roofline_share = calls * roofline time /
--   kernel time; intensity = flops / bytes.
--
-- Reference: Williams, Waterman and Patterson, CACM 52(4), 2009.  Peaks: the catalog's `source`, FROM devices_catalog.
--
-- Assumptions: Each operand is moved once from and to memory.  The device runs at the clock for which the vendor states
--   the peak.
--
-- Limits: Operators whose shapes are not in the trace, or for which ScaleLens has no formula, are not included
--   (op_work).  Float32 is compared with full fp32, though TF32 may have been on.
--
-- Glance: run_id name bound roofline_share% share% kernel_s tflops_per_s gb_per_s calls dtype intensity shapes peak
--   bandwidth
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: op_work, run_devices
--
-- Parameters: runs
--   peak_tflops := NULL           dense peak of the device, in TFLOP/s, for all element types; NULL takes the catalog's
--   bandwidth_gb_per_s := NULL    bandwidth of the device's memory, in GB/s (1e9 bytes); NULL takes the catalog's
--
-- Columns:
--   run_id            VARCHAR           run
--   name              VARCHAR           operator
--   family            VARCHAR           gemm convolution attention normalization reduction elementwise
--   shapes            VARCHAR           shapes of its inputs
--   dtype             VARCHAR           element type
--   calls             BIGINT            calls, over all ranks
--   kernel_s          DOUBLE s          time of their kernels
--   share             DOUBLE            share of the time of all operators here
--   gflops            DOUBLE GFLOP      floating-point operations of a call
--   moved_mb          DOUBLE MB         data moved by a call, in 1e6 bytes
--   intensity         DOUBLE FLOP/B     floating-point operations per byte
--   tflops_per_s      DOUBLE TFLOP/s    achieved
--   gb_per_s          DOUBLE GB/s       achieved
--   peak              DOUBLE TFLOP/s    dense peak that it is compared with
--   bandwidth         DOUBLE GB/s       bandwidth that it is compared with
--   bound             VARCHAR           compute or memory
--   roofline_us       DOUBLE us         least time of a call
--   roofline_share    DOUBLE            least time over the time taken
WITH
summed AS (
    SELECT run_id, name, family, shapes, dtype, count(*) AS calls, sum(kernel_ns) / 1e9 AS kernel_s,
        any_value(flops) AS flops, any_value(moved_bytes) AS moved_bytes
    FROM op_work(runs := runs) WHERE flops IS NOT NULL GROUP BY ALL),
with_peaks AS (
    SELECT s.*, coalesce(peak_tflops::DOUBLE, CASE lower(dtype)
            WHEN 'float' THEN fp32_tflops WHEN 'c10::half' THEN fp16_tflops WHEN 'c10::bfloat16' THEN bf16_tflops
            WHEN 'c10::float8_e4m3fn' THEN fp8_tflops WHEN 'c10::float8_e5m2' THEN fp8_tflops
            WHEN 'c10::float8_e4m3fnuz' THEN fp8_tflops WHEN 'c10::float8_e5m2fnuz' THEN fp8_tflops END) AS peak,
        coalesce(bandwidth_gb_per_s::DOUBLE, d.bandwidth_gb_per_s) AS bandwidth
    FROM summed AS s LEFT JOIN run_devices(runs := runs) AS d USING (run_id)),
bounded AS (
    SELECT *, flops / (peak * 1e12) AS compute_s, moved_bytes / (bandwidth * 1e9) AS memory_s FROM with_peaks)
SELECT run_id, name, family, shapes, dtype, calls, kernel_s,
    kernel_s / nullif(sum(kernel_s) OVER (PARTITION BY run_id), 0) AS share,
    flops / 1e9 AS gflops, moved_bytes / 1e6 AS moved_mb, flops / nullif(moved_bytes, 0) AS intensity,
    calls * flops / nullif(kernel_s, 0) / 1e12 AS tflops_per_s,
    calls * moved_bytes / nullif(kernel_s, 0) / 1e9 AS gb_per_s,
    peak, bandwidth,
    CASE WHEN compute_s >= memory_s THEN 'compute' WHEN compute_s < memory_s THEN 'memory' END AS bound,
    CASE WHEN compute_s IS NOT NULL AND memory_s IS NOT NULL THEN greatest(compute_s, memory_s) END * 1e6 AS roofline_us,
    CASE WHEN compute_s IS NOT NULL AND memory_s IS NOT NULL
        THEN calls * greatest(compute_s, memory_s) / nullif(kernel_s, 0) END AS roofline_share
FROM bounded
ORDER BY run_id, kernel_s DESC, name, shapes
