-- Kernels during communication and without it: how much longer they take during it.
--
-- Answers: Does communication slow down kernels, and on which ranks?
--   A collective that waits during compute holds part of the device, and so the rank that arrives first computes
--   longest.  That is contention, not a slow GPU: outlier_gpus compares ranks by what they compute free of it.
--   A kernel is compared with itself: its name, at its place in the step, without communication, on this rank or on
--   others after their pace is taken out (kernels_beside).  `pace` compares only kernels that run free, so that it
--   shows a slow GPU whatever runs during the rest.
--
-- Formula: factor = sum b / sum (p r - (d - b)) over the kernels that are not free, with d their duration, b the part
--   of it in which communication runs, r what the kernel takes without communication, and p the pace of the rank:
--   during b the kernel progresses 1 / factor as fast.  added = sum (d - p r).
--
-- Assumptions: Ranks of a pipeline stage run the same kernels in the same order.
--
-- Limits: A factor needs ten calls that are not free, of kernels that also run free somewhere, with a tenth of the time
--   during communication, and ten free ones with 5 % of the rank's time; else it is NULL.  Kernels whose work depends on
--   the data, such as those of variable lengths, are compared as if it did not.
--
-- Glance: run_id rank class name factor beside_share% pace added_ns total_ns beside_ns calls free_calls note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: kernels_beside
--
-- Parameters: runs
--   per := 'kernel'    one row per name of a 'kernel', or one per 'class' of a rank
--
-- Columns:
--   run_id           VARCHAR      run
--   file_id          VARCHAR      file of the trace
--   rank             INTEGER      global rank
--   class            VARCHAR      compute or memory
--   name             VARCHAR      name of the kernel or copy; NULL per class
--   calls            BIGINT       number of times it ran
--   total_ns         BIGINT ns    sum of its durations
--   beside_ns        BIGINT ns    part of it in which communication of the rank ran
--   beside_share     DOUBLE       share of the sum, 0 to 1
--   free_calls       BIGINT       calls without communication, up to 5 % of them
--   free_ns          BIGINT ns    sum of their durations
--   free_mean_ns     DOUBLE ns    their mean duration
--   other_mean_ns    DOUBLE ns    mean duration of the calls that are not free, whatever their places in the step
--   pace             DOUBLE       duration of the rank's free kernels of this class over that of all ranks
--   factor           DOUBLE       how many times as long the same kernels take during communication
--   compared_ns      BIGINT ns    part of `beside_ns` in kernels that also run free, on which the factor rests
--   added_ns         BIGINT ns    how much longer these took than they would have without communication
--   note             VARCHAR      why the factor is missing
WITH
kernels AS (
    SELECT *, CASE per WHEN 'kernel' THEN name WHEN 'class' THEN NULL ELSE error('per is ''kernel'' or ''class''') END AS label,
        NOT is_free AND reference_ns IS NOT NULL AND pace IS NOT NULL AS is_compared
    FROM kernels_beside(runs := runs)),
sums AS (
    SELECT run_id, file_id, rank, class, label AS name, count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns,
        sum(beside_ns)::BIGINT AS beside_ns, count(*) FILTER (is_free) AS free_calls,
        sum(duration_ns) FILTER (is_free)::BIGINT AS free_ns, avg(duration_ns) FILTER (is_free) AS free_mean_ns,
        avg(duration_ns) FILTER (NOT is_free) AS other_mean_ns, any_value(pace) AS pace,
        count(*) FILTER (is_compared) AS compared_calls, sum(beside_ns) FILTER (is_compared) AS compared_ns,
        sum(pace * reference_ns - duration_ns + beside_ns) FILTER (is_compared) AS alone_ns,
        sum(duration_ns - pace * reference_ns) FILTER (is_compared) AS longer_ns
    FROM kernels GROUP BY ALL),
of_ranks AS (
    SELECT *, sum(free_calls) OVER of_class AS free_calls_of_class,
        coalesce(sum(free_ns) OVER of_class, 0) / nullif(sum(total_ns) OVER of_class, 0) AS free_share_of_class
    FROM sums WINDOW of_class AS (PARTITION BY run_id, file_id, rank, class)),
judged AS (
    SELECT *, CASE WHEN calls = free_calls THEN 'no communication runs at the same time'
            WHEN pace IS NULL OR free_calls_of_class < 10 OR free_share_of_class < 0.05
                THEN 'too little of the rank''s time is without communication'
            WHEN compared_calls < 10 OR compared_ns < 0.1 * beside_ns OR alone_ns <= 0
                THEN 'too few of these kernels also run without communication' END AS note
    FROM of_ranks)
SELECT run_id, file_id, rank, class, name, calls, total_ns, beside_ns, beside_ns / nullif(total_ns, 0) AS beside_share,
    free_calls, free_ns, free_mean_ns, other_mean_ns, pace, CASE WHEN note IS NULL THEN compared_ns / alone_ns END AS factor,
    coalesce(compared_ns, 0)::BIGINT AS compared_ns, CASE WHEN note IS NULL THEN longer_ns::BIGINT END AS added_ns, note
FROM judged
ORDER BY run_id, rank, file_id, class, added_ns DESC NULLS LAST, total_ns DESC, name
