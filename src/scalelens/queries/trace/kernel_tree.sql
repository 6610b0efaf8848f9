-- Device work by the operators that launched it, from the outermost to the innermost.
--
-- Answers: Which operators launched which kernels?
--   Work belongs to the innermost operator around its launching call, and to all operators around that one; each piece
--   is in one row.  Sums over rows whose paths begin alike are those of `subtree_kernel_ns` in op_summary.
--
-- Glance: run_id rank operators name total_ns share% calls class
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: gpu_events, events, selected_runs
--
-- Parameters: runs, steps
--
-- Columns:
--   run_id       VARCHAR      run
--   file_id      VARCHAR      file of the trace
--   rank         INTEGER      global rank
--   operators    VARCHAR      names from the outermost in, with ' / ' between them; NULL where there is none around the
--                             launch, or the trace lacks the launch
--   class        VARCHAR      compute, communication or memory
--   name         VARCHAR      kernel, copy or fill
--   calls        BIGINT       number of times it ran
--   total_ns     BIGINT ns    sum of its durations
--   share        DOUBLE       share of the sum over all work of the rank, 0 to 1
WITH
work AS MATERIALIZED (
    SELECT run_id, file_id, rank, class, name, duration_ns, launch_process AS process, launch_thread AS thread,
        launch_start_ns
    FROM gpu_events(runs := runs, steps := steps)),
launches AS (
    SELECT file_id, process, thread, list(launch_start_ns) AS times
    FROM (SELECT DISTINCT file_id, process, thread, launch_start_ns FROM work WHERE launch_start_ns IS NOT NULL)
    GROUP BY ALL),
-- A call ends before what starts at its end, unless it lasts no time.
calls AS (
    SELECT file_id, process, thread, list(line) AS lines, list(start_ns) AS starts,
        list(greatest(start_ns, start_ns + duration_ns - 1)) AS ends, list(coalesce(name, '')) AS names
    FROM events
    WHERE category IN ('cpu_op', 'operator', 'nvtx') AND duration_ns IS NOT NULL
        AND (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))
    GROUP BY ALL),
paths AS (
    SELECT file_id, process, thread, unnest(times) AS launch_start_ns,
        unnest(launch_paths(lines, starts, ends, names, times)) AS operators
    FROM calls JOIN launches USING (file_id, process, thread)),
sums AS (
    SELECT run_id, file_id, rank, operators, class, name, count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns
    FROM work LEFT JOIN paths USING (file_id, process, thread, launch_start_ns)
    GROUP BY ALL)
SELECT *, total_ns / nullif(sum(total_ns) OVER (PARTITION BY run_id, file_id, rank), 0) AS share
FROM sums
ORDER BY run_id, rank, file_id, total_ns DESC, operators, class, name
