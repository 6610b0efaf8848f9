-- Cumulative distribution of step times, run by run.
--
-- Answers: Which share of the steps took at most this long?
--   Only single steps show their tail.  Means over an interval are given and labeled; running means, and means of an
--   epoch or a run, are refused, and so are runs of which no record is left: they have one row without numbers that
--   says why.
--
-- Formula: cdf(t) = records that took at most t / all records that count.
--
-- Limits: A mean over several steps hides the tail of single ones: `label` says what a record is.  Elbows and their
--   intervals are those of `elbow`.
--
-- Glance: run_id label n_steps step_s~ reason note
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: kept_times
--
-- Parameters: runs, epochs, warmup, exclude
--   cdf_slots := 0    pieces of a run's times, in equal steps and in equal ratios, of which the first and the last
--                     corner are kept, with the median and the elbows; 0 keeps all
--
-- Columns:
--   run_id              VARCHAR     run
--   step_s              DOUBLE s    time of a step
--   cdf                 DOUBLE      share of the records that took at most step_s, 0 to 1
--   elbow_number        BIGINT      number of the elbow here: 1, or 2 and more inside the tail (elbow); NULL where
--                                   there is none
--   elbow_share_low     DOUBLE      lower end of the 95 % interval of the elbow's share
--   elbow_share_high    DOUBLE      upper end
--   note                VARCHAR     why the run has no elbow; NULL where it has one
--   n_steps             BIGINT      records of the run
--   label               VARCHAR     what one record is: `single steps`, `means of 10 steps`
--   reason              VARCHAR     why there is no distribution; NULL where there is one
WITH
kept AS MATERIALIZED (FROM kept_times(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
with_elbows AS MATERIALIZED (SELECT *, elbows(times_s) AS shape FROM kept WHERE reason IS NULL),
elbows_of_runs AS (
    SELECT run_id, generate_subscripts(shape.elbows, 1) AS elbow_number, unnest(shape.elbows) AS elbow FROM with_elbows),
drawn AS (
    SELECT run_id, n_steps, label, shape.reason AS note,
        distribution(times_s, cdf_slots, [elbow.step_s FOR elbow IN shape.elbows]) AS corners FROM with_elbows),
corners AS (
    SELECT * EXCLUDE (corners), unnest(corners.step_s) AS step_s, unnest(corners.n_at_most) AS n_at_most FROM drawn)
SELECT c.run_id, c.step_s, n_at_most / n_steps AS cdf, elbow_number, elbow.share_low AS elbow_share_low,
    elbow.share_high AS elbow_share_high, note, n_steps, label, NULL::VARCHAR AS reason
FROM corners AS c LEFT JOIN elbows_of_runs AS e ON e.run_id = c.run_id AND e.elbow.step_s = c.step_s
UNION ALL BY NAME
SELECT run_id, n_steps, reason FROM kept WHERE reason IS NOT NULL
ORDER BY run_id, step_s
