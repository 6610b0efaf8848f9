-- Cumulative distribution of step times, run by run.
--
-- Answers: Which share of the steps took at most this long?
--   Only single steps show their tail.  Means over an interval are given and labelled; running means, and means of an
--   epoch or a run, are refused, as are runs of which nothing is left: one row without numbers that says why.
--
-- Formula: cdf(t) = records that took at most t / all records that count.
--
-- Limits: A mean over several steps hides the tail of single ones: `label` says what a record is.  Elbows and their
--   intervals are those of `elbow`.
--
-- Glance: run_id label n_steps step_s~ refusal elbow_reason
--
-- Sources: selected_steps, elbow
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   warmup := 2             records left out at the start of each attempt
--   exclude := 'rules'      'none' leaves nothing out, 'steady' also what comes before the steady state
--   cdf_slots := 0          pieces of a run's times, in equal steps and in equal ratios, of which the first and the last
--                           corner stay, with the median and the elbows; 0 keeps all
--
-- Columns:
--   run_id              VARCHAR     run
--   step_s              DOUBLE s    time of a step
--   cdf                 DOUBLE      share of the records that took at most step_s, 0 to 1
--   elbow_place         BIGINT      where this is an elbow: 1, or 2 and more inside the tail (elbow); else NULL
--   elbow_share_low     DOUBLE      lower end of the 95 % interval of its share
--   elbow_share_high    DOUBLE      upper end
--   elbow_reason        VARCHAR     why the run has no elbow, NULL where it has one
--   n_steps             BIGINT      records of the run
--   label               VARCHAR     what one record is: `single steps`, `means of 10 steps`
--   refusal             VARCHAR     why there is no distribution, NULL where there is one
WITH
selected AS (
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
records AS (FROM selected WHERE left_out IS NULL),
kinds AS (
    SELECT run_id, count(*) AS n_steps,
        CASE WHEN max(averaged_steps) = 1 THEN 'single steps'
            WHEN min(averaged_steps) = max(averaged_steps) THEN format('means of {} steps', max(averaged_steps))
            ELSE format('means of {} to {} steps', min(averaged_steps), max(averaged_steps)) END AS label,
        string_agg(DISTINCT value_kind, ' and ' ORDER BY value_kind)
            FILTER (WHERE value_kind NOT IN ('instant', 'interval_mean')) AS smoothed
    FROM records GROUP BY run_id),
shares AS (
    SELECT run_id, step_s, count(*) AS n_here, sum(n_here) OVER (PARTITION BY run_id ORDER BY step_s) AS n_at_most,
        min(step_s) OVER of_run AS low, max(step_s) OVER of_run AS high
    FROM records GROUP BY run_id, step_s WINDOW of_run AS (PARTITION BY run_id)),
slotted AS (
    SELECT *, CASE WHEN cdf_slots = 0 THEN [step_s] ELSE [
            floor(cdf_slots * (step_s - low) / nullif(high - low, 0)),
            CASE WHEN low > 0 THEN floor(cdf_slots * ln(step_s / low) / nullif(ln(high / low), 0)) END] END AS slot
    FROM shares),
corners AS (FROM elbow(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
without AS (SELECT run_id, reason AS elbow_reason FROM corners WHERE elbow_place IS NULL)
SELECT s.run_id, s.step_s, n_at_most / k.n_steps AS cdf, elbow_place, elbow_share_low, elbow_share_high, elbow_reason,
    k.n_steps, k.label, NULL::VARCHAR AS refusal
FROM kinds AS k JOIN slotted AS s USING (run_id) LEFT JOIN without USING (run_id)
LEFT JOIN corners AS c ON c.run_id = s.run_id AND c.elbow_s = s.step_s
WHERE smoothed IS NULL
WINDOW of_slot AS (PARTITION BY s.run_id, slot)
QUALIFY s.step_s IN (min(s.step_s) OVER of_slot, max(s.step_s) OVER of_slot) OR elbow_place IS NOT NULL
    OR k.n_steps / 2 BETWEEN n_at_most - n_here AND n_at_most
UNION ALL BY NAME
SELECT run_id, n_steps, smoothed || ': a mean of many steps hides the tail of single ones' AS refusal
FROM kinds WHERE smoothed IS NOT NULL
UNION ALL BY NAME
SELECT run_id, 0 AS n_steps, format('all {} records are left out: see exclusions', count(*)) AS refusal
FROM selected GROUP BY run_id HAVING count(*) FILTER (left_out IS NULL) = 0
ORDER BY run_id, step_s
