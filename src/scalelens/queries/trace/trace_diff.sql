-- Two traces, or two groups of them, compared name by name.
--
-- Answers: Which operators and kernels changed between two traces?
--   New, gone, called more or less often, longer or shorter.
--   Each side is a condition over run_id, file_id, path and rank; by default, rank 0 is compared with rank 1.  Several
--   traces on a side are added up.  The change is that of the number of calls, as in HTA's trace diff.
--
-- Glance: side name change total_diff_ns total_a_ns total_b_ns calls_a calls_b mean_ratio
--
-- Needs: events
--
-- Sources: events, files, gpu_events
--
-- Parameters:
--   a := 'rank = 0'    condition that selects the traces of one side: 'path LIKE ''%/before/%'''
--   b := 'rank = 1'    condition that selects those of the other side
--   steps := 'all'     which part of a trace: 'all', 'complete' steps, or the selection of 'hta'; for operators always
--                      all of it
--
-- Columns:
--   side             VARCHAR       host (operators) or device (kernels, copies, fills)
--   name             VARCHAR       operator or kernel
--   change           VARCHAR       added, deleted, increased, decreased or unchanged: calls of b against those of a
--   calls_a          BIGINT        calls on one side
--   calls_b          BIGINT        calls on the other
--   calls_diff       BIGINT        b less a
--   total_a_ns       BIGINT ns     sum of the durations on one side
--   total_b_ns       BIGINT ns     sum of the durations on the other
--   total_diff_ns    BIGINT ns     b less a
--   mean_ratio       DOUBLE        mean duration of b over that of a
WITH
sides AS (
    SELECT file_id, 1 AS in_a, 0 AS in_b FROM query(
        'SELECT DISTINCT file_id FROM (SELECT DISTINCT run_id, file_id, rank, path FROM events LEFT JOIN files USING (file_id)) '
        || 'WHERE (' || a || ')')
    UNION ALL
    SELECT file_id, 0, 1 FROM query(
        'SELECT DISTINCT file_id FROM (SELECT DISTINCT run_id, file_id, rank, path FROM events LEFT JOIN files USING (file_id)) '
        || 'WHERE (' || b || ')')),
calls AS (
    SELECT file_id, 'device' AS side, name, duration_ns FROM gpu_events(steps := steps)
    UNION ALL
    SELECT file_id, 'host', name, duration_ns FROM events
    WHERE category IN ('cpu_op', 'operator', 'nvtx') AND duration_ns IS NOT NULL),
sums AS (
    SELECT side, name, sum(in_a)::BIGINT AS calls_a, sum(in_b)::BIGINT AS calls_b,
        sum(in_a * duration_ns)::BIGINT AS total_a_ns, sum(in_b * duration_ns)::BIGINT AS total_b_ns
    FROM calls JOIN sides USING (file_id) GROUP BY side, name)
SELECT side, name,
    CASE WHEN calls_a = 0 THEN 'added' WHEN calls_b = 0 THEN 'deleted' WHEN calls_b > calls_a THEN 'increased'
        WHEN calls_b < calls_a THEN 'decreased' ELSE 'unchanged' END AS change,
    calls_a, calls_b, calls_b - calls_a AS calls_diff, total_a_ns, total_b_ns, total_b_ns - total_a_ns AS total_diff_ns,
    (total_b_ns / nullif(calls_b, 0)) / nullif(total_a_ns / nullif(calls_a, 0), 0) AS mean_ratio
FROM sums
ORDER BY side, abs(total_diff_ns) DESC, name
