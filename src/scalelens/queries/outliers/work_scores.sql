-- Each rank's own work against that of its peers, step by step.
--
-- Answers: Does a rank compute longer than its peers, or wait longer for data, too often for an accident?
--   Peers are the ranks of one pipeline stage; where stages are not known, all ranks.  In each step a rank is flagged if
--   its time is 10 % over the median of its peers (waiting for data: 10 % of the step time over).  How far it stands out
--   is judged over all steps together: z = x / max(1.4826 MAD of x, 0.02), x being the median over steps of
--   (time - peers' median) / peers' median (waiting for data: / step time).  With two peers, neither can stand out.
--   Against the MAD of a single step z would miss it: of four ranks whose times scatter by 7 %, one slower by a fifth
--   stands out in a quarter of its steps, however many there are.
--   p: the probability of so many flags in so many steps, if a rank were flagged in one step of twenty, or as often as
--   the median of its peers where that is more (binomial; the steps are taken as independent).  q: p after Benjamini and
--   Hochberg over the ranks of the run.
--
-- Helper: used by outlier_gpus
--
-- Sources: rank_work
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   work := ''              table that holds rows of rank_work already; empty asks for them
--
-- Columns:
--   run_id          VARCHAR     run
--   rank            INTEGER     rank
--   stage           INTEGER     pipeline stage, NULL where not known
--   origin          VARCHAR     trace, timers or log
--   peers           BIGINT      ranks of the stage whose compute time is known, itself included
--   n_steps         BIGINT      steps in which its compute time is compared
--   compute_s       DOUBLE s    median of its compute time
--   ratio           DOUBLE      median over steps of its compute time over the peers' median (of two: over the smaller)
--   z               DOUBLE      how far it stands out among its peers over all steps
--   spread          DOUBLE      1.4826 MAD of x among its peers
--   flagged         BIGINT      steps in which the ratio is above 1.1
--   p               DOUBLE      probability of so many flags by accident; NULL with fewer than three peers
--   q               DOUBLE      the same over all ranks of the run
--   n_data_steps    BIGINT      steps in which its waiting for data is compared
--   data_ratio      DOUBLE      median over steps of its waiting for data beyond the peers' median, over the step time
--   data_z          DOUBLE      how far that stands out
--   data_flagged    BIGINT      steps in which it is above 0.1
--   data_q          DOUBLE      q of those flags
WITH
given AS (FROM query(CASE WHEN work <> '' THEN 'FROM ' || work
    ELSE 'FROM rank_work(runs := ''' || replace(runs, '''', '''''') || ''')' END)),
peers AS (
    SELECT *, median(compute_s) OVER peer AS compute_mid_s, min(compute_s) OVER peer AS compute_least_s,
        count(compute_s) OVER peer AS computing, median(data_s) OVER peer AS data_mid_s,
        count(data_s) OVER peer AS loading, median(step_s) OVER peer AS step_mid_s
    FROM given WINDOW peer AS (PARTITION BY run_id, stage, train_step)),
ratios AS (
    SELECT *, CASE WHEN computing > 1 THEN compute_s / nullif(compute_mid_s, 0) - 1 END AS beyond,
        CASE computing WHEN 2 THEN compute_s / nullif(compute_least_s, 0) ELSE beyond + 1 END AS ratio,
        CASE WHEN loading > 1 THEN (data_s - data_mid_s) / nullif(step_mid_s, 0) END AS data_ratio
    FROM peers),
ranks AS (
    SELECT run_id, rank, any_value(stage) AS stage, any_value(origin) AS origin, max(computing) AS peers,
        count(ratio) AS n_steps, median(compute_s) AS compute_s, median(ratio) AS ratio, median(beyond) AS beyond,
        count(*) FILTER (WHERE ratio > 1.1) AS flagged,
        max(loading) AS loading, count(data_ratio) AS n_data_steps, median(data_ratio) AS data_ratio,
        count(*) FILTER (WHERE data_ratio > 0.1) AS data_flagged
    FROM ratios GROUP BY run_id, rank),
compared AS (
    SELECT *, 1.4826 * mad(beyond) OVER peer AS spread, 1.4826 * mad(data_ratio) OVER peer AS data_spread,
        median(flagged / nullif(n_steps, 0)) OVER peer AS often,
        median(data_flagged / nullif(n_data_steps, 0)) OVER peer AS data_often
    FROM ranks WINDOW peer AS (PARTITION BY run_id, stage)),
tested AS (
    SELECT *, beyond / greatest(spread, 0.02) AS z, data_ratio / greatest(data_spread, 0.02) AS data_z,
        CASE WHEN peers > 2 THEN binomial_tail(flagged, n_steps, greatest(often, 0.05)) END AS p,
        CASE WHEN loading > 2 THEN binomial_tail(data_flagged, n_data_steps, greatest(data_often, 0.05)) END AS data_p
    FROM compared),
adjusted AS (
    SELECT run_id, unnest(list(rank)) AS rank, unnest(benjamini_hochberg(list(p))) AS q,
        unnest(benjamini_hochberg(list(data_p))) AS data_q
    FROM tested GROUP BY run_id)
SELECT run_id, rank, stage, origin, peers, n_steps, compute_s, ratio, z, spread, flagged, p, q, n_data_steps,
    data_ratio, data_z, data_flagged, data_q
FROM tested JOIN adjusted USING (run_id, rank)
ORDER BY run_id, rank
