-- Gaps between the work of a stream, by what the stream waited for.
--
-- Answers: Why is a stream idle?
--   Because the host launches too late, because kernels are short, or for another reason?
--   A gap ends where work starts.  It is the `host`'s if the call that launched this work began after the previous work
--   had ended; else it is `kernel`, the time it takes to start the next one, if it is shorter than kernel_wait_us; else
--   `other`: work that was launched in time and waited for another stream or an event.
--
-- Formula: gap = start of a piece of work - end of what ran before it on the stream; host: its launch began after that
--   end; kernel: otherwise, if the gap is below kernel_wait_us; other: the rest.
--
-- Reference: Meta, HolisticTraceAnalysis, get_idle_time_breakdown.
--
-- Limits: A stream that idles while another one works is not an idle device: see temporal_breakdown.
--
-- Glance: run_id rank stream cause idle_ns share% gaps median_ns max_ns train_step
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: gpu_events
--
-- Parameters: runs, steps
--   per := 'rank'           one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--   kernel_wait_us := 30    microseconds below which a gap is the time it takes to start a kernel
--
-- Columns:
--   run_id        VARCHAR      run
--   file_id       VARCHAR      file of the trace
--   rank          INTEGER      global rank
--   train_step    BIGINT       step of the work that ends the gap; NULL per rank
--   stream        BIGINT       stream
--   cause         VARCHAR      host, kernel or other
--   gaps          BIGINT       number of gaps
--   idle_ns       BIGINT ns    sum of the gaps
--   share         DOUBLE       share of the stream's gaps, 0 to 1
--   mean_ns       DOUBLE ns    mean gap
--   stddev_ns     DOUBLE ns    sample standard deviation; NULL for one gap
--   min_ns        BIGINT ns    shortest
--   p25_ns        DOUBLE ns    a quarter of the gaps is shorter
--   median_ns     DOUBLE ns    median gap
--   p75_ns        DOUBLE ns    a quarter of the gaps is longer
--   max_ns        BIGINT ns    longest
WITH
work AS (
    SELECT run_id, file_id, rank, train_step, stream, start_ns, launch_start_ns,
        max(end_ns) OVER (PARTITION BY run_id, file_id, rank, process, stream ORDER BY start_ns, end_ns, line
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM gpu_events(runs := runs, steps := steps)),
gaps AS (
    SELECT run_id, file_id, rank, stream, greatest(start_ns - before_ns, 0) AS gap_ns,
        CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step,
        CASE WHEN launch_start_ns > before_ns THEN 'host'
            WHEN start_ns - before_ns < kernel_wait_us * 1000 THEN 'kernel' ELSE 'other' END AS cause
    FROM work WHERE before_ns IS NOT NULL AND (per <> 'step' OR train_step IS NOT NULL)),
causes AS (
    SELECT run_id, file_id, rank, train_step, stream, cause, count(*) AS gaps, sum(gap_ns)::BIGINT AS idle_ns,
        avg(gap_ns) AS mean_ns, stddev_samp(gap_ns ORDER BY gap_ns) AS stddev_ns, min(gap_ns) AS min_ns,
        quantile_cont(gap_ns, 0.25) AS p25_ns, median(gap_ns) AS median_ns, quantile_cont(gap_ns, 0.75) AS p75_ns,
        max(gap_ns) AS max_ns
    FROM gaps GROUP BY run_id, file_id, rank, train_step, stream, cause),
sums AS (
    SELECT *, sum(idle_ns) OVER (PARTITION BY run_id, file_id, rank, train_step, stream) AS all_ns FROM causes)
SELECT run_id, file_id, rank, train_step, stream, cause, gaps, idle_ns,
    idle_ns / nullif(all_ns, 0) AS share, mean_ns, stddev_ns, min_ns, p25_ns, median_ns, p75_ns, max_ns
FROM sums
ORDER BY run_id, rank, file_id, train_step, stream, cause
