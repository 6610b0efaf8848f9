-- Times of each kernel, copy and fill.
--
-- Answers: Which kernels take the time of the devices?
--   How often do they run, and how much do their durations vary?
--   Time is the sum of durations: kernels of several streams may run at once, so the sums of a rank can exceed its
--   span.
--
-- Glance: run_id rank name share% total_ns calls mean_ns median_ns max_ns class train_step
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: gpu_classes
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id        VARCHAR      run
--   file_id       VARCHAR      file of the trace
--   rank          INTEGER      global rank
--   train_step    BIGINT       step; NULL per rank
--   class         VARCHAR      compute, communication or memory
--   name          VARCHAR      name of the kernel, copy or fill
--   calls         BIGINT       number of times it ran
--   total_ns      BIGINT ns    sum of its durations
--   share         DOUBLE       share of the sum over all names, 0 to 1
--   mean_ns       DOUBLE ns    mean duration
--   min_ns        BIGINT ns    shortest
--   median_ns     DOUBLE ns    median duration
--   max_ns        BIGINT ns    longest
--   stddev_ns     DOUBLE ns    sample standard deviation; NULL for one call
WITH
kernels AS (
    SELECT run_id, file_id, rank, train_step, class, name, count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns,
        avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns, median(duration_ns) AS median_ns,
        max(duration_ns) AS max_ns, stddev_samp(duration_ns ORDER BY duration_ns) AS stddev_ns
    FROM gpu_classes(runs := runs, per := per, steps := steps)
    GROUP BY run_id, file_id, rank, train_step, class, name),
sums AS (
    SELECT *, sum(total_ns) OVER (PARTITION BY run_id, file_id, rank, train_step) AS all_ns FROM kernels)
SELECT run_id, file_id, rank, train_step, class, name, calls, total_ns,
    total_ns / nullif(all_ns, 0) AS share, mean_ns, min_ns, median_ns, max_ns, stddev_ns
FROM sums
ORDER BY run_id, rank, file_id, train_step, total_ns DESC, name
