-- Which rank keeps the others waiting at collectives.
--
-- Answers: Who arrives last at collectives, and what does that cost?
--   How often, and how much waiting of the others is it?
--   Blame is that of collective_arrivals.  Why a rank is late, by its GPU, its host, its data or because it waits for
--   another rank itself, `outlier_gpus` says.
--
-- Formula: last_share = times_last / collectives; blame_share = its blame / blame of all ranks of the run; wait_ns =
--   sum of its waits (collective_arrivals).
--
-- Assumptions: Clocks are equal after clock_offsets.
--
-- Limits: The last to arrive may itself have waited for another rank: outlier_gpus says why.
--
-- Glance: run_id rank times_last last_share% blame_ns blame_share% wait_ns mean_wait_ns collectives busy_ns note
--
-- Partition: run_id
--
-- Sources: collective_arrivals
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id           VARCHAR    run
--   rank             INTEGER    rank
--   collectives      BIGINT     collectives compared with at least one other rank
--   times_last       BIGINT     collectives at which it arrived last (of equals the lowest rank)
--   last_share       DOUBLE     the same as a share
--   times_first      BIGINT     collectives at which it arrived first (of equals the highest rank)
--   wait_ns          BIGINT ns    total time it waited for the last
--   mean_wait_ns     DOUBLE ns     mean over its collectives
--   busy_ns          BIGINT ns    total time it was in collectives
--   blame_ns         BIGINT ns    waiting of the others that it caused, as in collective_arrivals
--   blame_share      DOUBLE     the same as a share of the run's
--   offset_ns        DOUBLE ns     largest offset of its clock that was taken off; NULL where one is not known
--   note             VARCHAR    what to doubt
WITH
ordered AS (
    SELECT *,
        row_number() OVER (PARTITION BY run_id, call ORDER BY wait_ns, rank) AS from_last,
        row_number() OVER (PARTITION BY run_id, call ORDER BY lateness_ns, rank DESC) AS from_first
    FROM collective_arrivals(runs := runs, tolerance_us := tolerance_us) WHERE ranks > 1),
summed AS (
    SELECT run_id, rank, count(*) AS collectives, count(*) FILTER (WHERE from_last = 1) AS times_last,
        count(*) FILTER (WHERE from_first = 1) AS times_first, sum(wait_ns)::BIGINT AS wait_ns,
        avg(wait_ns) AS mean_wait_ns, sum(duration_ns)::BIGINT AS busy_ns,
        sum(blame_ns)::BIGINT AS blame_ns,
        CASE WHEN count(offset_ns) = count(*) THEN max(offset_ns) END AS offset_ns,
        string_agg(DISTINCT note, '; ' ORDER BY note) AS note
    FROM ordered GROUP BY run_id, rank)
SELECT run_id, rank, collectives, times_last, times_last / collectives AS last_share, times_first, wait_ns,
    mean_wait_ns, busy_ns, blame_ns, blame_ns / nullif(sum(blame_ns) OVER (PARTITION BY run_id), 0) AS blame_share,
    offset_ns, note
FROM summed
ORDER BY run_id, blame_ns DESC, rank
