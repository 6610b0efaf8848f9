-- Clocks of the hosts compared with each other, by the common ends of their collectives.
--
-- Answers: By how much do the ranks' clocks differ, and can that be known?
--   All ranks leave an all_reduce, all_gather, reduce_scatter, all_to_all or barrier at about the same time.  The
--   offset of a host is the median, over such collectives of one process group, of how much later they end by its clock
--   than on the host of the group's lowest rank.  Where the traces do not name hosts, each rank counts as one.  Offsets
--   below `tolerance_us` are 0: ends differ by that much even where clocks do not (7 us among eight GPUs of a node).
--   So are offsets below four times spread / sqrt(collectives), about three standard errors of the median.
--
-- Formula: offset = median over the collectives of end on this host - end on the host of the lowest rank; spread =
--   1.4826 MAD; 0 where |offset| <= max(tolerance, 4 spread / sqrt(collectives)).
--
-- Assumptions: A clock does not drift while it is traced.
--
-- Limits: Offsets are known only between hosts that share a collective.
--
-- Glance: run_id rank host offset_ns spread_ns collectives process_group note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: collective_calls, params
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id           VARCHAR      run
--   process_group    VARCHAR      process group
--   rank             INTEGER      rank
--   host             VARCHAR      its host, or the rank where no host is named
--   offset_ns        DOUBLE ns    how far its clock is ahead; NULL where it cannot be estimated
--   measured_ns      DOUBLE ns    the same, before the tolerance is applied
--   spread_ns        DOUBLE ns    1.4826 times the median absolute deviation over the collectives
--   collectives      BIGINT       collectives that it rests on
--   note             VARCHAR      why it cannot be estimated, or what to doubt
WITH
calls_of_hosts AS (
    SELECT run_id, process_group, call, rank, start_ns + duration_ns AS end_ns,
        coalesce(h.value, 'rank ' || rank) AS host
    FROM collective_calls(runs := runs) AS c
    LEFT JOIN (SELECT run_id, file_id, min(value) AS value FROM params WHERE key = 'host_name' GROUP BY ALL) AS h
        USING (run_id, file_id)
    WHERE call IS NOT NULL AND rank IS NOT NULL
        AND kind IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier')),
ranks AS (
    SELECT run_id, process_group, rank, host, min_by(host, rank) OVER (PARTITION BY run_id, process_group) AS first_host
    FROM (SELECT DISTINCT run_id, process_group, rank, host FROM calls_of_hosts)),
-- Ends relative to the earliest of the call: a double cannot hold nanoseconds since 1970.
ends AS (
    SELECT run_id, process_group, call, host, median(after_ns) AS after_ns
    FROM (SELECT *, end_ns - min(end_ns) OVER (PARTITION BY run_id, process_group, call) AS after_ns FROM calls_of_hosts)
    GROUP BY ALL),
differences AS (
    SELECT DISTINCT e.run_id, e.process_group, e.host, e.call, e.after_ns - f.after_ns AS difference_ns
    FROM ends AS e JOIN ranks AS r USING (run_id, process_group, host)
    JOIN ends AS f ON f.run_id = e.run_id AND f.process_group = e.process_group AND f.call = e.call
        AND f.host = r.first_host),
estimated AS (
    SELECT run_id, process_group, host, median(difference_ns) AS measured_ns, 1.4826 * mad(difference_ns) AS spread_ns,
        count(*) AS collectives
    FROM differences GROUP BY ALL)
SELECT run_id, process_group, rank, host,
    CASE WHEN host = first_host THEN 0 WHEN collectives < 3 THEN NULL
        WHEN abs(measured_ns) <= greatest(1000 * tolerance_us, 4 * spread_ns / sqrt(collectives)) THEN 0
        ELSE measured_ns END::DOUBLE AS offset_ns,
    measured_ns, spread_ns, coalesce(collectives, 0) AS collectives,
    CASE WHEN host = first_host THEN NULL
        WHEN coalesce(collectives, 0) < 3 THEN 'fewer than three common collectives: the offset is not known'
        WHEN spread_ns > greatest(abs(measured_ns), 1000 * tolerance_us)
            THEN 'the ends vary more from one collective to the next than the offset' END AS note
FROM ranks LEFT JOIN estimated USING (run_id, process_group, host)
ORDER BY run_id, process_group, rank
