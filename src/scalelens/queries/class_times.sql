-- Time of each combination of classes of device work that ran at once.
--
-- Answers: How long did only kernels run, only communication, both at once, nothing?
--   One sweep over the work of a rank: at each instant a device is in one of these states, so that they add up to the
--   span. `temporal_breakdown` and `comm_overlap` are sums of them. Times are whole nanoseconds.
--
-- Sources: gpu_events
--
-- Parameters:
--   runs := ''        SQL condition over the columns of `runs`, as text; empty takes all
--   per := 'rank'     a row per 'rank', or per rank and 'step'; work of no step is then left out
--   steps := 'all'    which part of a trace: 'all', 'complete' steps, or the selection of 'hta'
--
-- Columns:
--   run_id                    VARCHAR       run
--   file_id                   VARCHAR       file of the trace
--   rank                      INTEGER       global rank
--   train_step                BIGINT        step, NULL per rank
--   start_ns                  BIGINT ns     start of the first work
--   span_ns                   BIGINT ns     from there to the end of the last
--   compute_only_ns           BIGINT ns     compute alone
--   communication_only_ns     BIGINT ns     communication alone
--   memory_only_ns            BIGINT ns     copies and fills alone
--   compute_communication_ns  BIGINT ns     compute and communication
--   compute_memory_ns         BIGINT ns     compute, copies and fills
--   communication_memory_ns   BIGINT ns     communication, copies and fills
--   all_three_ns              BIGINT ns     all of them
--   idle_ns                   BIGINT ns     nothing
WITH
work AS (
    SELECT run_id, file_id, rank, class, start_ns, end_ns,
        CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step
    FROM gpu_events(runs := runs, steps := steps, launches := per = 'step') WHERE per <> 'step' OR train_step IS NOT NULL),
edges AS (
    SELECT run_id, file_id, rank, train_step, CASE change WHEN 1 THEN start_ns ELSE end_ns END AS edge_ns,
        CASE class WHEN 'compute' THEN change ELSE 0 END AS compute,
        CASE class WHEN 'communication' THEN change ELSE 0 END AS communication,
        CASE class WHEN 'memory' THEN change ELSE 0 END AS memory
    FROM work CROSS JOIN (VALUES (1), (-1)) AS sides(change)),
states AS (
    SELECT run_id, file_id, rank, train_step, edge_ns, lead(edge_ns) OVER later - edge_ns AS lasted_ns,
        sum(compute) OVER before > 0 AS compute, sum(communication) OVER before > 0 AS communication,
        sum(memory) OVER before > 0 AS memory
    FROM edges
    WINDOW later AS (PARTITION BY run_id, file_id, rank, train_step ORDER BY edge_ns),
        before AS (PARTITION BY run_id, file_id, rank, train_step ORDER BY edge_ns ROWS UNBOUNDED PRECEDING)),
sums AS (
    SELECT run_id, file_id, rank, train_step, min(edge_ns) AS start_ns, max(edge_ns) - min(edge_ns) AS span_ns,
        sum(lasted_ns) FILTER (compute AND NOT communication AND NOT memory) AS c,
        sum(lasted_ns) FILTER (communication AND NOT compute AND NOT memory) AS n,
        sum(lasted_ns) FILTER (memory AND NOT compute AND NOT communication) AS m,
        sum(lasted_ns) FILTER (compute AND communication AND NOT memory) AS cn,
        sum(lasted_ns) FILTER (compute AND memory AND NOT communication) AS cm,
        sum(lasted_ns) FILTER (communication AND memory AND NOT compute) AS nm,
        sum(lasted_ns) FILTER (compute AND communication AND memory) AS cnm,
        sum(lasted_ns) FILTER (NOT (compute OR communication OR memory)) AS idle
    FROM states GROUP BY run_id, file_id, rank, train_step)
SELECT run_id, file_id, rank, train_step, start_ns, span_ns,
    coalesce(c, 0)::BIGINT AS compute_only_ns, coalesce(n, 0)::BIGINT AS communication_only_ns,
    coalesce(m, 0)::BIGINT AS memory_only_ns, coalesce(cn, 0)::BIGINT AS compute_communication_ns,
    coalesce(cm, 0)::BIGINT AS compute_memory_ns, coalesce(nm, 0)::BIGINT AS communication_memory_ns,
    coalesce(cnm, 0)::BIGINT AS all_three_ns, coalesce(idle, 0)::BIGINT AS idle_ns
FROM sums
ORDER BY run_id, rank, file_id, train_step
