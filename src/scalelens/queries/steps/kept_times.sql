-- Times of the records that count, one list per run, in order.
--
-- Answers: What do the distribution of step times and its elbows rest on?
--   A run whose records are all left out by a rule is included without times.
--
-- Helper: used by batch_cdf and elbow
--
-- Sources: selected_steps
--
-- Parameters: runs, epochs, warmup, exclude
--   by_epoch := false    true: each epoch of 200 records on its own, shorter ones together
--
-- Columns:
--   run_id       VARCHAR       run
--   own_epoch    DOUBLE        epoch that stands on its own; NULL for all records, or for the epochs that are together
--   of_epochs    BIGINT[]      epochs of the records; NULL where the log names none
--   n_steps      BIGINT        records that count
--   times_s      DOUBLE[] s    their times
--   label        VARCHAR       what one record is: `single steps`, `means of 10 steps`
--   reason       VARCHAR       why they say nothing about single steps; NULL where they do
WITH
records AS (
    SELECT *, excluded_by IS NULL AS counts,
        count(*) FILTER (excluded_by IS NULL) OVER (PARTITION BY run_id, floor(epoch)) AS n_of_epoch
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude))
SELECT run_id, CASE WHEN by_epoch AND n_of_epoch >= 200 THEN floor(epoch) END AS own_epoch,
    list_sort(list(DISTINCT floor(epoch)::BIGINT) FILTER (WHERE counts AND epoch IS NOT NULL)) AS of_epochs,
    count(*) FILTER (WHERE counts) AS n_steps,
    list(step_s ORDER BY position_in_run) FILTER (WHERE counts) AS times_s,
    CASE WHEN max(averaged_steps) FILTER (WHERE counts) = 1 THEN 'single steps'
        WHEN min(averaged_steps) FILTER (WHERE counts) = max(averaged_steps) FILTER (WHERE counts)
            THEN format('means of {} steps', max(averaged_steps) FILTER (WHERE counts))
        ELSE format('means of {} to {} steps', min(averaged_steps) FILTER (WHERE counts),
            max(averaged_steps) FILTER (WHERE counts)) END AS label,
    CASE WHEN n_steps = 0 THEN format('all {} records are left out: see exclusions', count(*))
        ELSE string_agg(DISTINCT value_kind, ' and ' ORDER BY value_kind)
            FILTER (WHERE counts AND value_kind NOT IN ('instant', 'interval_mean'))
            || ': a mean of many steps hides the tail of single ones' END AS reason
FROM records GROUP BY run_id, own_epoch
ORDER BY run_id, own_epoch NULLS LAST
