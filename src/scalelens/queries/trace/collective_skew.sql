-- Which rank keeps the others waiting at collectives.
--
-- Answers: Who arrives last at collectives, and what does that cost?
--   How often does that happen, and how long do the others wait?
--   Blame is that of collective_arrivals.  `outlier_gpus` says why a rank is late: because of its GPU, its host, its
--   data, or because it waits for another rank itself.
--
-- Formula: last_share = times_last / collectives; blame_share = its blame / blame of all ranks of the run; wait_ns =
--   sum of its waits (collective_arrivals).
--
-- Assumptions: Clocks are equal once clock_offsets are subtracted.
--
-- Limits: The last to arrive may itself have waited for another rank: see outlier_gpus.
--
-- Glance: run_id rank times_last last_share% blame_ns blame_share% wait_ns mean_wait_ns collectives busy_ns note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: collective_arrivals
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id          VARCHAR      run
--   rank            INTEGER      rank
--   collectives     BIGINT       collectives compared with at least one other rank
--   times_last      BIGINT       collectives at which it arrived last (the lowest rank, if several did)
--   last_share      DOUBLE       share of its collectives at which it arrived last
--   times_first     BIGINT       collectives at which it arrived first (the highest rank, if several did)
--   wait_ns         BIGINT ns    total time for which it waited for the last
--   mean_wait_ns    DOUBLE ns    mean over its collectives
--   busy_ns         BIGINT ns    total time that it spent in collectives
--   blame_ns        BIGINT ns    waiting of the others that it caused, as in collective_arrivals
--   blame_share     DOUBLE       its share of the blame of the run
--   offset_ns       DOUBLE ns    largest offset of its clock that was subtracted; NULL where one is not known
--   note            VARCHAR      what to know or doubt
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
