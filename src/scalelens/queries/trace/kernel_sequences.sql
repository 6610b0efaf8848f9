-- Sequences of kernels that operators launch.
--
-- Answers: Which kernels does an operator run, and in which order?
--   How often, and how long do they take to start?
--   Every call of an operator that launched work is one sequence, with the kernels in the order in which they start.
--   Without `op` a launch belongs to the innermost operator around it; with it, to the outermost whose name contains
--   that text, so that op := 'aten::linear' also gathers the kernels of the operators within.  NVTX ranges count as
--   operators.  This corresponds to HTA's frequent sequences and operator delays.
--
-- Glance: run_id name calls kernel_ns sequence op_ns op_delay_ns launch_delay_ns n_kernels rank
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: events, gpu_events, selected_runs
--
-- Parameters: runs, steps
--   op := ''    text in the operator's name; empty takes the innermost operator, whatever its name
--
-- Columns:
--   run_id             VARCHAR      run
--   file_id            VARCHAR      file of the trace
--   rank               INTEGER      global rank
--   name               VARCHAR      operator
--   sequence           VARCHAR      names of the kernels, with ' -> ' between them
--   n_kernels          BIGINT       kernels of the sequence
--   calls              BIGINT       number of occurrences
--   op_ns              BIGINT ns    sum of the durations of the operator on the host
--   kernel_ns          BIGINT ns    sum of the durations of the kernels
--   op_delay_ns        DOUBLE ns    mean time from the start of the operator to that of its first launching call
--   launch_delay_ns    DOUBLE ns    mean time from the start of that call to that of its kernel
WITH
ops AS (
    SELECT run_id, file_id, rank, line, name, start_ns, duration_ns, process, thread FROM events
    WHERE category IN ('cpu_op', 'operator', 'nvtx') AND duration_ns IS NOT NULL AND (op = '' OR contains(name, op))
        AND (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))),
launched AS (
    SELECT file_id, line, launch_process AS process, launch_thread AS thread, launch_start_ns AS start_ns
    FROM gpu_events(runs := runs, steps := steps) WHERE launch_start_ns IS NOT NULL),
edges AS (
    SELECT file_id, process, thread, line, start_ns AS edge_ns, 1 AS kind, -duration_ns AS outer_first,
        line AS line_first, 1 AS change FROM ops
    UNION ALL
    SELECT file_id, process, thread, line, start_ns + duration_ns, CASE duration_ns WHEN 0 THEN 3 ELSE 0 END, duration_ns,
        -line, -1 FROM ops
    UNION ALL
    SELECT file_id, process, thread, line, start_ns, 2, NULL, NULL, 0 FROM launched),
nested AS (
    SELECT *, sum(change) OVER (PARTITION BY file_id, process, thread ORDER BY edge_ns, kind, outer_first, line_first
        ROWS UNBOUNDED PRECEDING) AS depth
    FROM edges),
-- The call around a launch at some depth is the last one that began at that depth.
owned AS (
    SELECT file_id, line, change, depth, last_value(CASE change WHEN 1 THEN line END IGNORE NULLS) OVER (
        PARTITION BY file_id, process, thread, CASE WHEN op = '' THEN depth ELSE least(depth, 1) END
        ORDER BY edge_ns, kind, outer_first, line_first ROWS UNBOUNDED PRECEDING) AS owner FROM nested
    WHERE op = '' OR change = 0 OR depth = CASE change WHEN 1 THEN 1 ELSE 0 END),
work AS (
    SELECT g.*, o.owner FROM owned AS o JOIN gpu_events(runs := runs, steps := steps) AS g USING (file_id, line)
    WHERE change = 0 AND depth > 0),
calls AS (
    SELECT file_id, owner AS line, string_agg(name, ' -> ' ORDER BY start_ns, line) AS sequence, count(*) AS n_kernels,
        sum(duration_ns) AS kernel_ns, min(launch_start_ns) AS launch_start_ns,
        arg_min(start_ns - launch_start_ns, launch_start_ns) AS launch_delay_ns
    FROM work GROUP BY file_id, owner)
SELECT run_id, file_id, rank, name, sequence, n_kernels, count(*) AS calls, sum(duration_ns)::BIGINT AS op_ns,
    sum(kernel_ns)::BIGINT AS kernel_ns, avg(launch_start_ns - start_ns) AS op_delay_ns,
    avg(launch_delay_ns) AS launch_delay_ns
FROM calls JOIN ops USING (file_id, line)
GROUP BY run_id, file_id, rank, name, sequence, n_kernels
ORDER BY run_id, rank, file_id, calls DESC, kernel_ns DESC, name, sequence
