-- Time of each combination of classes of device work that ran at once.
--
-- Answers: How long did only kernels run, only communication, both at once, nothing?
--   One sweep over the work of a rank: at each instant a device is in one of these states, so that they add up to the
--   span.  `temporal_breakdown` and `comm_overlap` are sums of them.  Times are whole nanoseconds.
--
-- Helper: used by comm_overlap and temporal_breakdown
--
-- Needs: events
--
-- Sources: gpu_classes
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id                      VARCHAR      run
--   file_id                     VARCHAR      file of the trace
--   rank                        INTEGER      global rank
--   train_step                  BIGINT       step; NULL per rank
--   start_ns                    BIGINT ns    start of the first work
--   span_ns                     BIGINT ns    from there to the end of the last
--   compute_only_ns             BIGINT ns    compute alone
--   communication_only_ns       BIGINT ns    communication alone
--   memory_only_ns              BIGINT ns    copies and fills alone
--   compute_communication_ns    BIGINT ns    compute and communication
--   compute_memory_ns           BIGINT ns    compute, copies and fills
--   communication_memory_ns     BIGINT ns    communication, copies and fills
--   all_three_ns                BIGINT ns    all of them
--   idle_ns                     BIGINT ns    nothing
WITH
spans AS (
    SELECT run_id, file_id, rank, train_step, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS span_ns,
        class_spans(list(start_ns), list(end_ns),
            list(CASE class WHEN 'compute' THEN 1 WHEN 'communication' THEN 2 ELSE 4 END)) AS lasted_ns
    FROM gpu_classes(runs := runs, per := per, steps := steps) GROUP BY run_id, file_id, rank, train_step)
SELECT run_id, file_id, rank, train_step, start_ns, span_ns,
    lasted_ns[1 + 1] AS compute_only_ns, lasted_ns[1 + 2] AS communication_only_ns, lasted_ns[1 + 4] AS memory_only_ns,
    lasted_ns[1 + 1 + 2] AS compute_communication_ns, lasted_ns[1 + 1 + 4] AS compute_memory_ns,
    lasted_ns[1 + 2 + 4] AS communication_memory_ns, lasted_ns[1 + 1 + 2 + 4] AS all_three_ns, lasted_ns[1] AS idle_ns
FROM spans
