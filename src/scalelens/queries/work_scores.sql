-- Each rank's own work against that of its peers, step by step.
--
-- Answers: Does a rank compute longer than its peers, or wait longer for data, too often for an accident?
--   Peers are the ranks of one pipeline stage; where stages are not known, all ranks.  In each step
--   z = (x - median) / max(1.4826 MAD, 2 % of the median); a rank is flagged where z > 3.5 and x is 10 % over the median
--   (waiting for data: 10 % of the step time over).  Of two peers neither can be flagged.
--   p: were a rank like its peers flagged in one step of twenty, the probability of so many flags in so many steps
--   (binomial; the steps are taken as independent).  q: p after Benjamini and Hochberg over the ranks of the run.
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
--   z               DOUBLE      median over steps
--   spread          DOUBLE      median over steps of 1.4826 MAD over the median
--   steps_over      BIGINT      steps in which the ratio is above 1.1
--   flagged         BIGINT      steps in which its compute time is flagged
--   p               DOUBLE      probability of so many flags by accident; NULL with fewer than three peers
--   q               DOUBLE      the same over all ranks of the run
--   n_data_steps    BIGINT      steps in which its waiting for data is compared
--   data_ratio      DOUBLE      median over steps of its waiting for data beyond the peers' median, over the step time
--   data_flagged    BIGINT      steps in which its waiting for data is flagged
--   data_q          DOUBLE      q of those flags
WITH
given AS (FROM query(CASE WHEN work <> '' THEN 'FROM ' || work
    ELSE 'FROM rank_work(runs := ''' || replace(runs, '''', '''''') || ''')' END)),
peers AS (
    SELECT *, median(compute_s) OVER peer AS compute_mid_s, min(compute_s) OVER peer AS compute_least_s,
        count(compute_s) OVER peer AS computing, median(data_s) OVER peer AS data_mid_s,
        count(data_s) OVER peer AS loading, median(step_s) OVER peer AS step_mid_s
    FROM given WINDOW peer AS (PARTITION BY run_id, stage, train_step)),
deviations AS (
    SELECT *, 1.4826 * median(abs(compute_s - compute_mid_s)) OVER peer AS compute_mad_s,
        1.4826 * median(abs(data_s - data_mid_s)) OVER peer AS data_mad_s
    FROM peers WINDOW peer AS (PARTITION BY run_id, stage, train_step)),
scores AS (
    SELECT *, (compute_s - compute_mid_s) / nullif(greatest(compute_mad_s, 0.02 * compute_mid_s), 0) AS z,
        compute_s / nullif(CASE computing WHEN 2 THEN compute_least_s ELSE compute_mid_s END, 0) AS ratio,
        compute_mad_s / nullif(compute_mid_s, 0) AS spread,
        (data_s - data_mid_s) / nullif(greatest(data_mad_s, 0.02 * data_mid_s), 0) AS data_z,
        (data_s - data_mid_s) / nullif(step_mid_s, 0) AS data_ratio
    FROM deviations),
ranks AS (
    SELECT run_id, rank, any_value(stage) AS stage, any_value(origin) AS origin, max(computing) AS peers,
        count(ratio) FILTER (WHERE computing > 1) AS n_steps, median(compute_s) AS compute_s,
        median(ratio) FILTER (WHERE computing > 1) AS ratio, median(z) FILTER (WHERE computing > 1) AS z,
        median(spread) FILTER (WHERE computing > 1) AS spread,
        count(*) FILTER (WHERE computing > 1 AND ratio > 1.1) AS steps_over,
        count(*) FILTER (WHERE computing > 2 AND ratio > 1.1 AND z > 3.5) AS flagged,
        count(data_ratio) FILTER (WHERE loading > 2) AS n_data_steps,
        median(data_ratio) FILTER (WHERE loading > 1) AS data_ratio,
        count(*) FILTER (WHERE loading > 2 AND data_ratio > 0.1 AND data_z > 3.5) AS data_flagged
    FROM scores GROUP BY run_id, rank),
tested AS (
    SELECT *, CASE WHEN peers > 2 THEN binomial_tail(flagged, n_steps, 0.05) END AS p,
        binomial_tail(data_flagged, n_data_steps, 0.05) AS data_p
    FROM ranks),
-- Benjamini and Hochberg: p times the number of ranks over its place among them, from the largest p downwards.
stepped AS (
    SELECT *, p * count(p) OVER (PARTITION BY run_id)
            / count(p) OVER (PARTITION BY run_id ORDER BY p) AS stepped,
        data_p * count(data_p) OVER (PARTITION BY run_id)
            / count(data_p) OVER (PARTITION BY run_id ORDER BY data_p) AS data_stepped
    FROM tested)
SELECT run_id, rank, stage, origin, peers, n_steps, compute_s, ratio, z, spread, steps_over, flagged, p,
    CASE WHEN p IS NOT NULL THEN min(stepped) OVER (PARTITION BY run_id ORDER BY p DESC) END AS q,
    n_data_steps, data_ratio, data_flagged,
    CASE WHEN data_p IS NOT NULL THEN min(data_stepped) OVER (PARTITION BY run_id ORDER BY data_p DESC) END AS data_q
FROM stepped
ORDER BY run_id, rank
