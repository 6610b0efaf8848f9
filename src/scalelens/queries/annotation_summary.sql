-- Times of annotations, on the host and on the device.
--
-- Answers: How long do the phases that a program marks (forward, optimizer, a collective) take on either side?
--   An annotation of the host has a twin on each stream that it launched work on, from the first to the last of it.
--
-- Sources: events
--
-- Columns:
--   run_id       VARCHAR       run
--   file_id      VARCHAR       file of the trace
--   rank         INTEGER       global rank
--   side         VARCHAR       host or device
--   name         VARCHAR       annotation
--   calls        BIGINT        how often
--   total_ns     BIGINT ns     sum of the durations
--   mean_ns      DOUBLE ns     mean duration
--   min_ns       BIGINT ns     shortest
--   max_ns       BIGINT ns     longest
--   stddev_ns    DOUBLE ns     sample standard deviation, NULL for one
SELECT run_id, file_id, rank, CASE category WHEN 'user_annotation' THEN 'host' ELSE 'device' END AS side, name,
    count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns, avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns,
    max(duration_ns) AS max_ns, stddev_samp(duration_ns) AS stddev_ns
FROM events
WHERE category IN ('user_annotation', 'gpu_user_annotation') AND duration_ns IS NOT NULL
GROUP BY run_id, file_id, rank, side, name
ORDER BY run_id, rank, file_id, side, total_ns DESC, name
