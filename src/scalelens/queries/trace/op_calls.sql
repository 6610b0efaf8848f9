-- Each call of an operator on the host, with the device work that it launched.
--
-- Answers: Which operator launched which work, and how much time did a call take itself?
--   Calls on a thread are nested.  NVTX ranges count as operators.  Work belongs to the innermost operator around its
--   launching call; `subtree` includes what the calls within launched.
--
-- Helper: used by kernel_tree and op_summary
--
-- Needs: events
--
-- Sources: events, gpu_events, selected_runs
--
-- Parameters: runs, steps
--
-- Columns:
--   run_id               VARCHAR      run
--   file_id              VARCHAR      file of the trace
--   line                 BIGINT       position of the call in the trace
--   rank                 INTEGER      global rank
--   train_step           BIGINT       step in which it starts
--   name                 VARCHAR      operator
--   depth                BIGINT       number of operators around it on its thread
--   parent_line          BIGINT       position of the innermost of them
--   start_ns             BIGINT ns    start
--   duration_ns          BIGINT ns    duration
--   self_ns              BIGINT ns    part of it outside of the operators within
--   kernels              BIGINT       pieces of device work that it launched itself; NULL, like the times, where the trace
--                                     links no work to a launch
--   kernel_ns            BIGINT ns    sum of their durations
--   subtree_kernels      BIGINT       the same, including the operators within
--   subtree_kernel_ns    BIGINT ns    sum of their durations
WITH
ops AS (
    SELECT run_id, file_id, line, rank, train_step, name, start_ns, duration_ns, process, thread FROM events
    WHERE category IN ('cpu_op', 'operator', 'nvtx') AND duration_ns IS NOT NULL
        AND (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))),
launches AS (
    SELECT file_id, launch_process AS process, launch_thread AS thread, launch_start_ns AS start_ns,
        count(*) AS kernels, sum(duration_ns)::BIGINT AS kernel_ns
    FROM gpu_events(runs := runs, steps := steps) WHERE launch_start_ns IS NOT NULL GROUP BY ALL),
entries AS (
    SELECT file_id, process, thread, line, start_ns, duration_ns, 0 AS kernels, 0 AS kernel_ns FROM ops
    UNION ALL
    SELECT file_id, process, thread, -1, start_ns, -1, kernels, kernel_ns FROM launches),
threads AS (
    SELECT file_id, nested(list(line), list(start_ns), list(duration_ns), list(kernels), list(kernel_ns)) AS calls
    FROM entries GROUP BY file_id, process, thread),
calls AS (SELECT file_id, unnest(calls, recursive := true) FROM threads),
-- Where no work of a device is linked to a call, nobody knows what launched it.
unlinked AS (
    SELECT file_id, true AS is_unlinked FROM gpu_events(runs := runs, steps := steps)
    GROUP BY file_id HAVING count(launch_start_ns) = 0)
SELECT run_id, file_id, line, rank, train_step, name, depth, nullif(parent_line, -1) AS parent_line, start_ns, duration_ns,
    self_ns, CASE WHEN is_unlinked IS NULL THEN kernels END AS kernels, CASE WHEN is_unlinked IS NULL THEN kernel_ns END
        AS kernel_ns, CASE WHEN is_unlinked IS NULL THEN subtree_kernels END AS subtree_kernels,
    CASE WHEN is_unlinked IS NULL THEN subtree_kernel_ns END AS subtree_kernel_ns
FROM ops JOIN calls USING (file_id, line) LEFT JOIN unlinked USING (file_id)
