-- Each call of an operator on the host, with the device work that it launched.
--
-- Answers: Which operator launched which work, and how much of its own time did a call take?
--   Calls on a thread are nested. Work belongs to the innermost operator around its launching call; `subtree` is what
--   the calls within launched too.
--
-- Sources: events, gpu_events, selected_runs
--
-- Parameters:
--   runs := ''        SQL condition over the columns of `runs`, as text; empty takes all
--   steps := 'all'    which part of a trace: 'all', 'complete' steps, or the selection of 'hta'
--
-- Columns:
--   run_id               VARCHAR       run
--   file_id              VARCHAR       file of the trace
--   line                 BIGINT        place of the call in the trace
--   rank                 INTEGER       global rank
--   train_step           BIGINT        step in which it starts
--   name                 VARCHAR       operator
--   depth                BIGINT        operators around it on its thread
--   parent_line          BIGINT        place of the innermost of them
--   start_ns             BIGINT ns     start
--   duration_ns          BIGINT ns     duration
--   self_ns              BIGINT ns     of it outside of the operators within
--   kernels              BIGINT        pieces of device work that it launched itself
--   kernel_ns            BIGINT ns     sum of their durations
--   subtree_kernels      BIGINT        those of the operators within as well
--   subtree_kernel_ns    BIGINT ns     sum of their durations
WITH
ops AS (
    SELECT run_id, file_id, line, rank, train_step, name, start_ns, duration_ns, process, thread FROM events
    WHERE category IN ('cpu_op', 'operator') AND duration_ns IS NOT NULL
        AND (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))),
launches AS (
    SELECT file_id, launch_process AS process, launch_thread AS thread, launch_start_ns AS start_ns,
        count(*) AS kernels, sum(duration_ns)::BIGINT AS kernel_ns
    FROM gpu_events(runs := runs, steps := steps) WHERE launch_start_ns IS NOT NULL GROUP BY ALL),
-- At one instant calls end before others begin, the outer begins first and ends last, and so does what lasts no time.
edges AS (
    SELECT file_id, process, thread, line, start_ns AS edge_ns, 1 AS kind, -duration_ns AS outer_first,
        line AS line_first, 1 AS change,
        0 AS kernels, 0 AS kernel_ns FROM ops
    UNION ALL
    SELECT file_id, process, thread, line, start_ns + duration_ns, CASE duration_ns WHEN 0 THEN 3 ELSE 0 END, duration_ns,
        -line, -1, 0, 0 FROM ops
    UNION ALL
    SELECT file_id, process, thread, NULL, start_ns, 2, NULL, NULL, 0, kernels, kernel_ns FROM launches),
nested AS (
    SELECT *, sum(change) OVER so_far AS depth, sum(kernels) OVER so_far AS all_kernels,
        sum(kernel_ns) OVER so_far AS all_kernel_ns
    FROM edges
    WINDOW so_far AS (PARTITION BY file_id, process, thread ORDER BY edge_ns, kind, outer_first, line_first
        ROWS UNBOUNDED PRECEDING)),
-- The innermost call around an edge is the last that began at its depth.
owned AS (
    SELECT *, last_value(CASE change WHEN 1 THEN line END IGNORE NULLS) OVER (
        PARTITION BY file_id, process, thread, depth ORDER BY edge_ns, kind, outer_first, line_first
        ROWS UNBOUNDED PRECEDING) AS owner FROM nested),
parents AS (
    SELECT file_id, line, max(depth) FILTER (change = 1) - 1 AS depth,
        max(owner) FILTER (change = -1) AS parent_line,
        max(all_kernels) FILTER (change = -1) - max(all_kernels) FILTER (change = 1) AS subtree_kernels,
        max(all_kernel_ns) FILTER (change = -1) - max(all_kernel_ns) FILTER (change = 1) AS subtree_kernel_ns
    FROM owned WHERE line IS NOT NULL GROUP BY file_id, line),
direct AS (
    SELECT file_id, owner AS line, sum(kernels) AS kernels, sum(kernel_ns) AS kernel_ns FROM owned
    WHERE line IS NULL AND depth > 0 GROUP BY file_id, owner),
within AS (
    SELECT file_id, parent_line AS line, sum(duration_ns) AS children_ns FROM parents JOIN ops USING (file_id, line)
    WHERE depth > 0 GROUP BY file_id, parent_line)
SELECT run_id, file_id, line, rank, train_step, name, depth::BIGINT AS depth,
    CASE WHEN depth > 0 THEN parent_line END AS parent_line, start_ns, duration_ns,
    (duration_ns - coalesce(children_ns, 0))::BIGINT AS self_ns,
    coalesce(kernels, 0)::BIGINT AS kernels, coalesce(kernel_ns, 0)::BIGINT AS kernel_ns,
    subtree_kernels::BIGINT AS subtree_kernels, subtree_kernel_ns::BIGINT AS subtree_kernel_ns
FROM ops JOIN parents USING (file_id, line) LEFT JOIN direct USING (file_id, line) LEFT JOIN within USING (file_id, line)
