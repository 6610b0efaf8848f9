-- Launches of device work by the call that made them.
--
-- Answers: Is a rank limited by launching?
--   Are the calls longer than the work that they launch, and does the work wait?
--
-- Glance: run_id rank launch_name launches launch_ns median_launch_ns median_work_ns short_share% median_delay_ns
--   max_delay_ns train_step
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: kernel_launches
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id              VARCHAR      run
--   file_id             VARCHAR      file of the trace
--   rank                INTEGER      global rank
--   train_step          BIGINT       step; NULL per rank
--   launch_name         VARCHAR      call
--   launches            BIGINT       pieces of work that it launched
--   launch_ns           BIGINT ns    sum of the durations of the calls
--   median_launch_ns    DOUBLE ns    median duration of the call
--   p95_launch_ns       DOUBLE ns    one call in 20 is longer
--   median_work_ns      DOUBLE ns    median duration of the work
--   short_share         DOUBLE       share of the work that is shorter than the call that launched it, 0 to 1
--   median_delay_ns     DOUBLE ns    median time between the end of the call and the start of the work
--   p95_delay_ns        DOUBLE ns    one piece of work in 20 waits longer
--   max_delay_ns        BIGINT ns    longest wait
WITH
launches AS (
    SELECT * EXCLUDE (train_step),
        CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step
    FROM kernel_launches(runs := runs, steps := steps) WHERE per <> 'step' OR train_step IS NOT NULL)
SELECT run_id, file_id, rank, train_step, launch_name, count(*) AS launches,
    sum(launch_duration_ns)::BIGINT AS launch_ns, median(launch_duration_ns) AS median_launch_ns,
    quantile_cont(launch_duration_ns, 0.95) AS p95_launch_ns, median(duration_ns) AS median_work_ns,
    avg((duration_ns < launch_duration_ns)::INTEGER) AS short_share, median(delay_ns) AS median_delay_ns,
    quantile_cont(delay_ns, 0.95) AS p95_delay_ns, max(delay_ns) AS max_delay_ns
FROM launches
GROUP BY run_id, file_id, rank, train_step, launch_name
ORDER BY run_id, rank, file_id, train_step, launches DESC, launch_name
