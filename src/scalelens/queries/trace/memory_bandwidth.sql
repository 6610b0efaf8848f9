-- Rate at which device memory is copied and filled, over time.
--
-- Answers: At which rate is device memory copied and filled over time?
--   Copies at the same time are added up.  As in HTA, the rates of the copies of a kind that run at an instant are
--   added, and the statistics are over the instants at which the sum changes and is not 0.  For the mean over bytes and
--   time see `memory_copies`.
--
-- Formula: rate = sum of bytes / duration over the copies of a kind that run at an instant; statistics over the
--   instants at which it changes and is above 0.
--
-- Reference: Meta, HolisticTraceAnalysis, get_memory_bw_summary.
--
-- Limits: The mean is over changes, not over bytes or time: memory_copies has that mean.
--
-- Glance: run_id rank kind mean_gb_per_s median_gb_per_s max_gb_per_s changes
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: memory_events
--
-- Parameters: runs, steps
--
-- Columns:
--   run_id             VARCHAR        run
--   file_id            VARCHAR        file of the trace
--   rank               INTEGER        global rank
--   kind               VARCHAR        Memcpy HtoD, Memcpy DtoD, Memset, ...
--   changes            BIGINT         changes to a rate above 0
--   mean_gb_per_s      DOUBLE GB/s    mean of the rates
--   stddev_gb_per_s    DOUBLE GB/s    sample standard deviation
--   min_gb_per_s       DOUBLE GB/s    smallest
--   p25_gb_per_s       DOUBLE GB/s    a quarter of the rates is smaller
--   median_gb_per_s    DOUBLE GB/s    median rate
--   p75_gb_per_s       DOUBLE GB/s    a quarter of the rates is larger
--   max_gb_per_s       DOUBLE GB/s    largest
WITH
changes AS (
    SELECT run_id, file_id, rank, kind, line, sign, sign * gb_per_s AS change,
        CASE sign WHEN 1 THEN start_ns ELSE start_ns + CASE duration_ns WHEN 0 THEN 1000 ELSE duration_ns END END AS changed_ns
    FROM memory_events(runs := runs, steps := steps) CROSS JOIN (VALUES (1), (-1)) AS sides(sign)
    WHERE gb_per_s IS NOT NULL),
rates AS (
    SELECT *, sum(change) OVER so_far AS rate, sum(sign) OVER so_far AS running
    FROM changes
    WINDOW so_far AS (PARTITION BY run_id, file_id, rank, kind ORDER BY changed_ns, sign, line ROWS UNBOUNDED PRECEDING))
SELECT run_id, file_id, rank, kind, count(*) AS changes,
    avg(rate ORDER BY rate) AS mean_gb_per_s, stddev_samp(rate ORDER BY rate) AS stddev_gb_per_s,
    min(rate) AS min_gb_per_s, quantile_cont(rate, 0.25) AS p25_gb_per_s,
    median(rate) AS median_gb_per_s, quantile_cont(rate, 0.75) AS p75_gb_per_s, max(rate) AS max_gb_per_s
FROM rates WHERE running > 0 AND rate > 0
GROUP BY run_id, file_id, rank, kind
ORDER BY run_id, rank, file_id, kind
