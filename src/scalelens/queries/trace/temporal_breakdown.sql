-- Where the time of the devices goes: compute, communication and copies that nothing hides, idle.
--
-- Answers: How long does each rank compute, communicate, copy or idle?
--   Compute is the union of its kernels; communication and memory count where they are exposed: memory where neither of
--   the others runs. The parts add up to the span, from the start of the first work to the end of the last. HTA's
--   compute and idle are the same; its non-compute is exposed communication and memory together.
--
-- Formula: compute = |K|; exposed communication = |C minus K|; exposed memory = |M minus K minus C|; idle = span - |K
--   or C or M|, with K, C, M the unions of the intervals of compute kernels, of communication, and of copies and fills.
--
-- Reference: Meta, HolisticTraceAnalysis, breakdown_analysis.
--
-- Limits: What a kernel's name does not tell is compute.  Kernels that wait, such as a collective for a late rank, are
--   busy.
--
-- Glance: run_id rank train_step compute_share% exposed_comm_share% exposed_memory_share% idle_share% span_ns
--   compute_ns exposed_comm_ns idle_ns
--
-- Sources: class_times
--
-- Parameters:
--   runs := ''        SQL condition over the columns of `runs`, as text; empty takes all
--   per := 'rank'     a row per 'rank', or per rank and 'step'; work of no step is then left out
--   steps := 'all'    which part of a trace: 'all', 'complete' steps, or the selection of 'hta'
--
-- Columns:
--   run_id                  VARCHAR       run
--   file_id                 VARCHAR       file of the trace
--   rank                    INTEGER       global rank
--   train_step              BIGINT        step, NULL per rank
--   span_ns                 BIGINT ns     from the first work to the end of the last
--   compute_ns              BIGINT ns     compute, whatever runs beside it
--   exposed_comm_ns         BIGINT ns     communication without compute
--   exposed_memory_ns       BIGINT ns     copies and fills without compute or communication
--   idle_ns                 BIGINT ns     nothing
--   compute_share           DOUBLE        of the span, 0 to 1
--   exposed_comm_share      DOUBLE        of the span, 0 to 1
--   exposed_memory_share    DOUBLE        of the span, 0 to 1
--   idle_share              DOUBLE        of the span, 0 to 1
WITH
parts AS (
    SELECT run_id, file_id, rank, train_step, span_ns,
        compute_only_ns + compute_communication_ns + compute_memory_ns + all_three_ns AS compute_ns,
        communication_only_ns + communication_memory_ns AS exposed_comm_ns,
        memory_only_ns AS exposed_memory_ns, idle_ns
    FROM class_times(runs := runs, per := per, steps := steps))
SELECT *, compute_ns / nullif(span_ns, 0) AS compute_share, exposed_comm_ns / nullif(span_ns, 0) AS exposed_comm_share,
    exposed_memory_ns / nullif(span_ns, 0) AS exposed_memory_share, idle_ns / nullif(span_ns, 0) AS idle_share
FROM parts
ORDER BY run_id, rank, file_id, train_step
