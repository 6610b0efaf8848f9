-- Ranks that keep the others waiting at collectives, and what they do meanwhile.
--
-- Answers: Why does a rank arrive late at collectives?
--   Because of its GPU, its host, its data, the network, or a rank that it waits for itself?
--   A rank is late if it arrives last at half of its collectives or more (too often for chance: q below 0.05, by the
--   binomial distribution at one in n for a collective of n ranks, adjusted after Holm), the waiting that it causes
--   is at least 2/n of all waiting (3/4 is always enough), and its lateness is at least 1 % of its steps.
--   Lateness is how much later it arrives than the last but one, summed over its collectives in the group where that
--   sum is largest.  Three things are compared with it: how much longer than the median of that group's other ranks it
--   waits for data (`input`), computes without communication (`gpu`), computes with what communication adds
--   (`contention`), or communicates in other groups (`upstream`: it passes on what another rank causes).  The first that
--   makes up half of the lateness is the cause; if none does, it is `host`.
--   `network`: once all ranks have arrived, the collectives of its group take longer than those of other groups of the
--   run with the same message, for three groups or more: z above 3.5 and 10 % longer.  Which of its ranks is the cause
--   is not known.
--
-- Formula:
--   lateness = sum over the collectives of a group of arrival - arrival of the last but one, where it comes last alone.
--   p = P(X >= times_last), X binomial with the mean of 1 / n over its collectives, each of n ranks; q after Holm.
--   network: (t - m) / max(1.4826 MAD, 2 % of m) above 3.5 and t > 1.1 m, with t the group's time for a message and m
--   the median of the groups.
--
-- Reference: Hoeffding, Annals of Mathematical Statistics 27, 1956 (the binomial distribution has the heavier tail than
--   collectives of several sizes); Holm, Scandinavian J. Statistics 6, 1979.
--
-- Assumptions: The clocks of the hosts are equal, or corrected by clock_offsets.
--
-- Limits: The first cause that explains half of the lateness is named; it may be one of two.  Ranks that were not
--   traced are not seen.
--
-- Glance: run_id rank cause blame_share% times_last collectives late_share lateness_s computes_s loads_s upstream_s
--   q network_ratio process_group
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: rank_work, collective_arrivals
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id           VARCHAR     run
--   rank             INTEGER     rank
--   cause            VARCHAR     input, gpu, contention, upstream, host or network; NULL where it is not late
--   process_group    VARCHAR     group in which the others wait for it most
--   collectives      BIGINT      collectives compared with at least one other rank
--   times_last       BIGINT      collectives at which it arrived last, alone
--   blame_share      DOUBLE      its share of the waiting that late ranks cause, as in collective_skew
--   q                DOUBLE      probability of being last so often by chance, adjusted for all ranks of the run
--   lateness_s       DOUBLE s    lateness in that group, as defined above
--   late_share       DOUBLE      lateness over its time in steps: 0.2 for a fifth of it, and above 1 where the others
--                                wait for longer than its steps take, as at collectives between steps
--   computes_s       DOUBLE s    how much longer than the others of the group it computes
--   alone_s          DOUBLE s    the same of what computing takes without communication (rank_work)
--   loads_s          DOUBLE s    how much longer it waits for data
--   upstream_s       DOUBLE s    how much longer it communicates in other groups
--   network_ratio    DOUBLE      time of its groups' collectives over that of other groups, largest over the messages
WITH
arrivals AS MATERIALIZED (
    SELECT *, blame_ns > 0 AS is_last, blame_ns // (ranks - 1) AS margin_ns,
        min(duration_ns) OVER (PARTITION BY run_id, call) AS time_ns
    FROM collective_arrivals(runs := runs, tolerance_us := tolerance_us) WHERE ranks > 1),
skew AS (
    SELECT run_id, rank, count(*) AS collectives, count(*) FILTER (WHERE is_last) AS times_last,
        sum(blame_ns) AS blame_ns, avg(1 / ranks) AS by_chance
    FROM arrivals GROUP BY run_id, rank),
in_group AS (
    SELECT run_id, process_group, rank, sum(duration_ns) / 1e9 AS busy_s, sum(margin_ns) / 1e9 AS lateness_s
    FROM arrivals GROUP BY ALL),
most AS (
    SELECT run_id, rank AS late_rank, max_by(process_group, lateness_s) AS process_group, max(lateness_s) AS lateness_s
    FROM in_group GROUP BY ALL),
totals AS (
    SELECT run_id, rank, coalesce(sum(compute_s), 0) AS compute_s, coalesce(sum(alone_s), 0) AS alone_s, coalesce(sum(data_s), 0) AS data_s,
        coalesce(sum(communication_s), 0) AS communication_s, sum(step_s) AS step_s
    FROM rank_work(runs := runs) GROUP BY ALL),
members AS (
    SELECT m.run_id, late_rank, m.process_group, m.lateness_s, rank = late_rank AS itself, compute_s, alone_s, data_s,
        step_s,
        greatest(communication_s - busy_s, 0) AS elsewhere_s
    FROM most AS m JOIN in_group AS g USING (run_id, process_group) LEFT JOIN totals USING (run_id, rank)),
explained AS (
    SELECT run_id, late_rank AS rank, process_group, lateness_s, max(step_s) FILTER (WHERE itself) AS step_s,
        max(compute_s) FILTER (WHERE itself) - median(compute_s) FILTER (WHERE NOT itself) AS computes_s,
        max(alone_s) FILTER (WHERE itself) - median(alone_s) FILTER (WHERE NOT itself) AS alone_s,
        max(data_s) FILTER (WHERE itself) - median(data_s) FILTER (WHERE NOT itself) AS loads_s,
        max(elsewhere_s) FILTER (WHERE itself) - median(elsewhere_s) FILTER (WHERE NOT itself) AS upstream_s
    FROM members GROUP BY ALL),
groups_timed AS (
    SELECT run_id, process_group, kind, in_bytes, median(time_ns) AS time_ns
    FROM arrivals WHERE ranks = group_size AND in_bytes IS NOT NULL
    GROUP BY ALL HAVING count(DISTINCT call) > 4),
messages AS (
    SELECT *, median(time_ns) OVER alike AS mid_ns, count(*) OVER alike AS n_groups
    FROM groups_timed WINDOW alike AS (PARTITION BY run_id, kind, in_bytes)),
slow_groups AS (
    SELECT *, (time_ns - mid_ns) / greatest(1.4826 * median(abs(time_ns - mid_ns)) OVER (
        PARTITION BY run_id, kind, in_bytes), 0.02 * mid_ns) AS z
    FROM messages),
networks AS (
    SELECT run_id, rank, max(time_ns / mid_ns) AS network_ratio
    FROM slow_groups JOIN in_group USING (run_id, process_group)
    WHERE n_groups > 2 AND z > 3.5 AND time_ns > 1.1 * mid_ns GROUP BY ALL),
tested AS (
    SELECT *, times_last / collectives AS last_share,
        blame_ns / nullif(sum(blame_ns) OVER (PARTITION BY run_id), 0) AS blame_share,
        binomial_tail(times_last, collectives, by_chance) AS p,
        count(*) OVER (PARTITION BY run_id) AS n_ranks
    FROM skew),
adjusted AS (
    SELECT run_id, unnest(list(rank)) AS rank, unnest(holm(list(p))) AS q FROM tested GROUP BY run_id),
judged AS (
    SELECT t.*, e.* EXCLUDE (run_id, rank), network_ratio, q, lateness_s / nullif(step_s, 0) AS late_share
    FROM tested AS t JOIN adjusted USING (run_id, rank) LEFT JOIN explained AS e USING (run_id, rank)
    LEFT JOIN networks USING (run_id, rank))
SELECT run_id, rank,
    CASE WHEN last_share >= 0.5 AND q < 0.05 AND blame_share >= least(2 / n_ranks, 0.75) AND late_share >= 0.01
        THEN CASE WHEN loads_s >= lateness_s / 2 THEN 'input' WHEN alone_s >= lateness_s / 2 THEN 'gpu'
            WHEN computes_s >= lateness_s / 2 THEN 'contention'
            WHEN upstream_s >= lateness_s / 2 THEN 'upstream' ELSE 'host' END
        WHEN network_ratio IS NOT NULL THEN 'network' END AS cause,
    process_group, collectives, times_last, blame_share, q, lateness_s, late_share, computes_s, alone_s, loads_s,
    upstream_s, network_ratio
FROM judged
ORDER BY run_id, lateness_s DESC, rank
