-- Times of annotations, on the host and on the device.
--
-- Answers: How long do the phases take that a program marks?
--   Forward, optimizer, a collective: on the host and on the device.
--   An annotation of the host has a twin on each stream that it launched work on, from the first to the last of that
--   work; twins of one annotation count once, from the start of the first to the end of the last.  NVTX ranges have no
--   twin: kernel_tree shows the work that was launched within them.
--   Names that differ only in numbers, as `step[DECODE bs=16]` and `step[DECODE bs=8]` do, are one row, with N for each
--   number.  With `steps := 'hta'` each name and each twin is counted by itself, as HTA does.
--
-- Glance: run_id rank side name calls total_ns mean_ns max_ns
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: events, selected_runs, step_annotations
--
-- Parameters: runs
--   steps := 'all'    which part of a trace: 'all', 'complete' steps, or the selection of 'hta'; for annotations by
--                     start
--
-- Columns:
--   run_id       VARCHAR      run
--   file_id      VARCHAR      file of the trace
--   rank         INTEGER      global rank
--   side         VARCHAR      host or device
--   name         VARCHAR      annotation, with N for the numbers in which several differ
--   names        BIGINT       number of names that the row is of
--   calls        BIGINT       number of occurrences
--   total_ns     BIGINT ns    sum of the durations
--   mean_ns      DOUBLE ns    mean duration
--   min_ns       BIGINT ns    shortest
--   max_ns       BIGINT ns    longest
--   stddev_ns    DOUBLE ns    sample standard deviation; NULL for one call
WITH
marks AS (
    SELECT file_id, max(train_step) AS last_step, count(DISTINCT name) AS n_steps, max(start_ns) AS last_ns
    FROM step_annotations() GROUP BY file_id),
annotations AS (
    SELECT run_id, file_id, rank, line, CASE category WHEN 'gpu_user_annotation' THEN 'device' ELSE 'host' END AS side, name,
        start_ns, duration_ns,
        CASE WHEN side = 'device' AND steps <> 'hta' THEN json_extract_string(args, '$."External id"') END AS twin_of
    FROM events LEFT JOIN marks USING (file_id)
    WHERE (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))
        AND category IN ('user_annotation', 'gpu_user_annotation', 'nvtx') AND duration_ns IS NOT NULL
        AND CASE steps WHEN 'all' THEN true WHEN 'hta' THEN coalesce(n_steps, 0) < 2 OR start_ns < last_ns
            WHEN 'complete' THEN train_step IS NOT NULL AND (n_steps < 2 OR train_step < last_step)
            ELSE error('steps is ''all'', ''complete'' or ''hta''') END),
phases AS (
    SELECT run_id, file_id, rank, side, name,
        CASE WHEN steps = 'hta' THEN name ELSE regexp_replace(name, '\d+', 'N', 'g') END AS pattern,
        max(start_ns + duration_ns) - min(start_ns) AS duration_ns
    FROM annotations GROUP BY run_id, file_id, rank, side, name, coalesce(twin_of, 'line ' || line))
SELECT run_id, file_id, rank, side, CASE WHEN count(DISTINCT name) = 1 THEN any_value(name) ELSE pattern END AS name,
    count(DISTINCT name) AS names, count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns, avg(duration_ns) AS mean_ns,
    min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, stddev_samp(duration_ns ORDER BY duration_ns) AS stddev_ns
FROM phases
GROUP BY run_id, file_id, rank, side, pattern
ORDER BY run_id, rank, file_id, side, total_ns DESC, pattern
