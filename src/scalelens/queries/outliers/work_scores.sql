-- Each rank's own work compared with its peers, over all steps.
--
-- Answers: Does a rank compute longer than its peers, or wait longer for data, too often and too far for chance?
--   Peers are the ranks of one pipeline stage, without those of nodes that are slow as a whole (node_scores); where
--   stages are not known, all ranks.  Times are those that computing takes without communication (rank_work).
--   A rank's ratio is the median over steps of its time over the peers' median: z =
--   (ratio - 1) / max(1.4826 MAD of the peers' ratios, 0.02).  Its level is the mean of the middle half of those steps,
--   which is more precise where there are few.
--   p is the larger of two probabilities, so both must be small.  The first is that the rank lies so far above the
--   others, by a moderated t-test with 2 % and the noise of a level as the expected spread (statistics/peers.py).  The
--   second is that so many of its steps exceed half the threshold, if steps of its peers do so as often as is seen, and
--   at least one step in twenty (binomial; steps are taken as independent).  q is p adjusted after Holm over the run's
--   ranks: a rank that is slow beyond doubt does not make it easier for a second one.  Whether one is slow
--   itself, or only the end of a long tail of the others, is told by those below it: apart_p is the probability of such
--   a tail, or of one below a faster rank with a q below 0.03 if that is smaller (statistics/peers.py).  Few ranks cannot
--   show that there is none; enough says how many could.
--   A burst is a step longer by the threshold than the rank's own median, unless communication runs during more of it
--   than of its peers and what that adds is not known; burst_q is the probability of so many, if
--   they come as often as those of the peers.  Waiting for data is judged by steps in which it is longer by the
--   threshold, as a share of the step time.
--
-- Helper: used by outlier_gpus
--
-- Sources: work_ratios, node_scores
--
-- Parameters: runs, threshold
--
-- Columns:
--   run_id             VARCHAR     run
--   rank               INTEGER     rank
--   node               VARCHAR     host name, or the ranks of its block; NULL where not known
--   stage              INTEGER     pipeline stage; NULL where not known
--   origin             VARCHAR     trace, timers, device or log
--   peers              BIGINT      ranks of the stage whose compute time is known, including this one
--   n_steps            BIGINT      steps in which its compute time is compared
--   compute_s          DOUBLE s    median of its compute time
--   ratio              DOUBLE      median over steps of its time over the peers' median (with two ranks: over the
--                                  smaller)
--   with_contention    DOUBLE      the same of its compute time as it was, during communication or not
--   contended          BIGINT      steps in which that is beyond the threshold
--   contention         DOUBLE      how many times as long its kernels take during communication; NULL where not known
--   beside_share       DOUBLE      median over steps of the share of its kernels' time in which communication runs
--   beside_more        DOUBLE      median over steps of that share less the median of its peers'
--   level              DOUBLE      mean of the middle half of those ratios
--   excess             DOUBLE      its level over the median of the others, less 1
--   noise              DOUBLE      standard error of a level, from the scatter of the steps
--   z                  DOUBLE      how far it stands out among its peers over all steps
--   spread             DOUBLE      1.4826 MAD of the ratios of its peers
--   flagged            BIGINT      steps in which the ratio is beyond the threshold
--   leaning            BIGINT      steps above the median of the others by half the threshold
--   p                  DOUBLE      probability of standing out so far by chance; NULL with fewer than three peers
--   q                  DOUBLE      p adjusted for all ranks of the run
--   apart_p            DOUBLE      probability that it is the end of a long tail; 0.5 where two others are not known, NULL
--                                  where q is 0.03 or more
--   enough             BIGINT      of the slowest: so many ranks, of which the others scatter like these, would show that
--                                  it is slow; NULL where these do, or 1,024 would not
--   bursts             BIGINT      steps longer by the threshold than its own median
--   burst_ratio        DOUBLE      median of the ratio in these steps
--   burst_q            DOUBLE      probability of so many bursts by chance, adjusted for all ranks of the run
--   node_ratio         DOUBLE      its node over the other nodes; NULL where nodes are not compared
--   on_slow_node       BOOLEAN     whether its node is slow as a whole
--   n_data_steps       BIGINT      steps in which its waiting for data is compared
--   data_ratio         DOUBLE      median over steps of its waiting for data less the peers' median, over the step time
--   data_z             DOUBLE      how far that stands out
--   data_flagged       BIGINT      steps in which it is beyond the threshold
--   data_q             DOUBLE      q for these steps
WITH
nodes AS MATERIALIZED (FROM node_scores(runs := runs, threshold := threshold)),
levels AS (
    SELECT run_id, rank, any_value(node) AS node, any_value(stage) AS stage, any_value(origin) AS origin,
        max(peers) AS peers, count(ratio) AS n_steps, median(compute_s) AS compute_s, median(ratio) AS ratio,
        median(beyond) AS beyond, mad(beyond) AS deviation, list_sort(list(beyond)) AS in_order, n_steps // 4 AS quarter,
        list_avg(in_order[quarter + 1:n_steps - quarter]) AS inner_mean, max(loading) AS loading, count(data_ratio) AS n_data_steps,
        median(data_ratio) AS data_ratio, count(*) FILTER (WHERE data_ratio > threshold) AS data_flagged,
        median(with_contention) AS with_contention, count(*) FILTER (WHERE with_contention > 1 + threshold) AS contended,
        max(contention) AS contention, median(beside_share) AS beside_share, median(beside_more) AS beside_more
    FROM work_ratios(runs := runs) GROUP BY run_id, rank),
with_nodes AS (
    SELECT l.*, n.ratio AS node_ratio, coalesce(n.is_slow, false) AS on_slow_node
    FROM levels AS l LEFT JOIN nodes AS n
        ON n.run_id = l.run_id AND n.node = l.node AND n.stage IS NOT DISTINCT FROM l.stage),
-- Without the ranks of slow nodes, the others are typical, and their median is 1 again.
centered AS (
    SELECT *, coalesce(median(inner_mean + 1) FILTER (WHERE NOT on_slow_node AND slow_nodes) OVER peer, 1) AS center,
        -- 1.09 is for the mean of the middle half; n / (n - 0.8) for the MAD of few values (Croux and Rousseeuw,
        -- Computational Statistics 1, 1992).
        coalesce(1.09 * 1.4826 * avg(deviation * sqrt(n_steps) / (n_steps - 0.8)) OVER peer, 0) AS noise
    FROM (SELECT *, bool_or(on_slow_node) OVER (PARTITION BY run_id, stage) AS slow_nodes FROM with_nodes)
    WINDOW peer AS (PARTITION BY run_id, stage)),
standings AS (
    SELECT run_id, stage, unnest(list(rank)) AS rank,
        unnest(standing(list((1 + inner_mean) / center), any_value(noise), list(NOT on_slow_node))) AS standing_of_rank
    FROM centered WHERE n_steps > 0 GROUP BY run_id, stage),
ranks AS MATERIALIZED (
    SELECT c.*, (1 + inner_mean) / center AS level, standing_of_rank.middle AS middle, standing_of_rank.p AS p,
        standing_of_rank.tail_p AS tail_p, standing_of_rank.enough AS enough_ranks
    FROM centered AS c LEFT JOIN standings USING (run_id, rank)),
counts AS (
    SELECT run_id, rank, count(*) FILTER (WHERE c.ratio > r.center * (1 + threshold)) AS flagged,
        count(*) FILTER (WHERE c.ratio > r.center * r.middle * (1 + threshold / 2)) AS leaning,
        count(*) FILTER (WHERE is_burst) AS bursts, median(c.ratio) FILTER (WHERE is_burst) AS burst_ratio
    FROM (
        SELECT c.*, c.ratio > greatest(r.ratio, center * middle) * (1 + threshold)
            AND NOT coalesce(c.contention IS NULL AND c.beside_more > 0.05, false) AS is_burst
        FROM work_ratios(runs := runs) AS c JOIN ranks AS r USING (run_id, rank)) AS c
    JOIN ranks AS r USING (run_id, rank)
    GROUP BY ALL),
counted AS (
    SELECT r.*, c.* EXCLUDE (run_id, rank), CASE WHEN leaning < n_steps / 2 THEN leaning ELSE 0 END AS usual,
        CASE WHEN leaning < n_steps / 2 THEN n_steps ELSE 0 END AS usual_steps
    FROM ranks AS r JOIN counts AS c USING (run_id, rank)),
-- How often the others do: Jeffreys' estimate, which is above 0 even if none of them ever does.
compared_with AS (
    SELECT *, 1.4826 * mad((1 + beyond) / center) FILTER (WHERE NOT on_slow_node) OVER peer AS spread,
        (sum(usual) OVER peer - usual + 0.5) / (sum(usual_steps) OVER peer - usual_steps + 1) AS often,
        (sum(bursts) OVER peer - bursts + 0.5) / (sum(n_steps) OVER peer - n_steps + 1) AS burst_often,
        1.4826 * mad(data_ratio) OVER peer AS data_spread,
        median(data_flagged / nullif(n_data_steps, 0)) OVER peer AS data_often
    FROM counted WINDOW peer AS (PARTITION BY run_id, stage)),
tested AS (
    SELECT * EXCLUDE (p), level / middle - 1 AS excess, ((1 + beyond) / center - 1) / greatest(spread, 0.02) AS z,
        data_ratio / greatest(data_spread, 0.02) AS data_z,
        CASE WHEN peers > 2 THEN greatest(p, binomial_tail(leaning, n_steps, greatest(often, 0.05))) END AS p,
        CASE WHEN peers > 2 THEN binomial_tail(bursts, n_steps, burst_often) END AS burst_p,
        CASE WHEN loading > 2 THEN binomial_tail(data_flagged, n_data_steps, greatest(data_often, 0.05)) END AS data_p
    FROM compared_with),
adjusted AS (
    SELECT run_id, unnest(list(rank)) AS rank, unnest(holm(list(p))) AS q,
        unnest(benjamini_hochberg(list(burst_p))) AS burst_q, unnest(benjamini_hochberg(list(data_p))) AS data_q
    FROM tested GROUP BY run_id)
SELECT run_id, rank, node, stage, origin, peers, n_steps, compute_s, ratio / center AS ratio, with_contention,
    contended, contention, beside_share, beside_more, level, excess, noise, z,
    spread, flagged, leaning, p, q,
    CASE WHEN q < 0.03 THEN CASE WHEN on_slow_node THEN 0
        ELSE coalesce(min(tail_p) OVER fastest_first, 0.5) END END AS apart_p,
    CASE WHEN apart_p >= 0.03 THEN enough_ranks::BIGINT END AS enough, bursts, burst_ratio / center AS burst_ratio, burst_q, node_ratio, on_slow_node, n_data_steps,
    data_ratio, data_z, data_flagged, data_q
FROM tested JOIN adjusted USING (run_id, rank)
WINDOW fastest_first AS (PARTITION BY run_id, stage, on_slow_node, q < 0.03 ORDER BY level)
ORDER BY run_id, rank
