-- Times of annotations, on the host and on the device.
--
-- Answers: How long do the phases take that a program marks?
--   Forward, optimizer, a collective: on the host and on the device.
--   An annotation of the host has a twin on each stream that it launched work on, from the first to the last of that
--   work.  NVTX ranges have no twin: kernel_tree shows the work that was launched within them.
--
-- Glance: run_id rank side name calls total_ns mean_ns max_ns
--
-- Partition: run_id, light
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
--   name         VARCHAR      annotation
--   calls        BIGINT       number of occurrences
--   total_ns     BIGINT ns    sum of the durations
--   mean_ns      DOUBLE ns    mean duration
--   min_ns       BIGINT ns    shortest
--   max_ns       BIGINT ns    longest
--   stddev_ns    DOUBLE ns    sample standard deviation; NULL for one call
WITH
marks AS (
    SELECT file_id, max(train_step) AS last_step, count(DISTINCT name) AS n_steps, max(start_ns) AS last_ns
    FROM step_annotations() GROUP BY file_id)
SELECT run_id, file_id, rank, CASE category WHEN 'gpu_user_annotation' THEN 'device' ELSE 'host' END AS side, name,
    count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns, avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns,
    max(duration_ns) AS max_ns, stddev_samp(duration_ns) AS stddev_ns
FROM events LEFT JOIN marks USING (file_id)
WHERE (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))
    AND category IN ('user_annotation', 'gpu_user_annotation', 'nvtx') AND duration_ns IS NOT NULL
    AND CASE steps WHEN 'all' THEN true WHEN 'hta' THEN coalesce(n_steps, 0) < 2 OR start_ns < last_ns
        WHEN 'complete' THEN train_step IS NOT NULL AND (n_steps < 2 OR train_step < last_step)
        ELSE error('steps is ''all'', ''complete'' or ''hta''') END
GROUP BY run_id, file_id, rank, side, name
ORDER BY run_id, rank, file_id, side, total_ns DESC, name
