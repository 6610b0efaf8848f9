-- How much launched work waits on each stream.
--
-- Answers: Is the host ahead of the device, or blocked by a full queue?
--   The length rises by one at each launching call and falls when its work starts; a graph is one entry, which leaves
--   the queue with its first kernel.  As in HTA, the statistics are over the changes of the length; `time_mean_length`
--   weights each length by the time that it lasted.  HTA leaves graphs out.
--
-- Formula: length = launching calls made - pieces of work started, at each change; time_mean_length = sum(length *
--   time) / sum(time).
--
-- Reference: Meta, HolisticTraceAnalysis, get_queue_length_summary.
--
-- Limits: Mean and quantiles are over the changes, not over time.  Work whose launch is not in the trace is not
--   counted.
--
-- Glance: run_id rank stream time_mean_length max_length median_length full_ns changes
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: gpu_events
--
-- Parameters: runs, steps
--   full_queue := 1024    length from which a queue is full
--
-- Columns:
--   run_id              VARCHAR      run
--   file_id             VARCHAR      file of the trace
--   rank                INTEGER      global rank
--   stream              BIGINT       stream
--   changes             BIGINT       changes of the length
--   mean_length         DOUBLE       mean length
--   stddev_length       DOUBLE       sample standard deviation
--   min_length          BIGINT       smallest
--   p25_length          DOUBLE       a quarter of the lengths is smaller
--   median_length       DOUBLE       median length
--   p75_length          DOUBLE       a quarter of the lengths is larger
--   max_length          BIGINT       largest
--   time_mean_length    DOUBLE       mean over time
--   full_ns             BIGINT ns    time with a full queue
WITH
work AS (
    SELECT run_id, file_id, rank, process, stream, correlation, launch_start_ns, min(start_ns) AS start_ns
    FROM gpu_events(runs := runs, steps := steps) WHERE launch_start_ns IS NOT NULL GROUP BY ALL),
changes AS (
    SELECT run_id, file_id, rank, process, stream, correlation, change,
        CASE change WHEN 1 THEN launch_start_ns ELSE start_ns END AS changed_ns
    FROM work CROSS JOIN (VALUES (1), (-1)) AS sides(change)),
lengths AS (
    SELECT run_id, file_id, rank, stream, sum(change) OVER later::BIGINT AS length,
        lead(changed_ns) OVER later - changed_ns AS lasted_ns
    FROM changes
    WINDOW later AS (PARTITION BY run_id, file_id, rank, process, stream ORDER BY changed_ns, change DESC, correlation
        ROWS UNBOUNDED PRECEDING))
SELECT run_id, file_id, rank, stream, count(*) AS changes, avg(length) AS mean_length,
    stddev_samp(length ORDER BY length) AS stddev_length,
    min(length) AS min_length, quantile_cont(length, 0.25) AS p25_length, median(length) AS median_length,
    quantile_cont(length, 0.75) AS p75_length, max(length) AS max_length,
    sum(length * lasted_ns) / nullif(sum(lasted_ns), 0) AS time_mean_length,
    coalesce(sum(lasted_ns) FILTER (length >= full_queue), 0)::BIGINT AS full_ns
FROM lengths
GROUP BY run_id, file_id, rank, stream
ORDER BY run_id, rank, file_id, stream
