-- Efficiency under every rule of exclusion, statistic and choice of epochs.
--
-- Answers: How different would the efficiency be with another choice?
--   One row for each size and choice: all rules as in `scaling`, all but one, none; the median and the mean; all
--   epochs, and each epoch alone.  Series, base and work stay as they are; for repeats, the median over the runs
--   counts.  A choice that leaves no record of a run, or of the base, is not included.
--
-- Formula: E = (B / t) / (n / n0) / (B0 / t0) for each choice, with B the global batch and t the median over the
--   repeats of their median or mean step; difference = E - E with all rules, the median and all epochs.
--
-- Limits: Only for runs with an efficiency in `scaling`.  One choice is changed at a time.  This says how much the
--   choice matters, not which one is right.
--
-- Glance: series devices efficiency%~ difference%~ step_s~
--
-- When empty: not_compared
--
-- Sources: scaling, selected_steps
--
-- Parameters: runs, warmup, series_by
--
-- Columns:
--   series                VARCHAR     what the runs of the series have in common (scaling_series)
--   devices               INTEGER     devices
--   run_id                VARCHAR     run; for repeats, the one with the median time
--   rules_applied         VARCHAR     all, none, or `all but` one
--   statistic             VARCHAR     median or mean
--   epochs_taken          VARCHAR     all, or the number of an epoch
--   n_steps               BIGINT      records that this rests on, over all runs
--   step_s                DOUBLE s    time of a step
--   efficiency            DOUBLE      with this choice
--   difference            DOUBLE      from the efficiency with all rules, the median and all epochs
--   largest_difference    DOUBLE      difference that is farthest from 0, over all choices for this size
WITH
points AS (
    SELECT series, devices, global_batch_size, run_id, coalesce(run_ids, [run_id]) AS repeats,
        row_number() OVER (PARTITION BY series ORDER BY devices, speedup DESC, run_id) AS position
    FROM scaling(runs := runs, warmup := warmup, series_by := series_by) WHERE efficiency IS NOT NULL),
runs_of_points AS MATERIALIZED (
    SELECT series, position, devices, global_batch_size, p.run_id, unnest(repeats) AS run FROM points AS p),
records AS MATERIALIZED (
    FROM selected_steps(runs := runs, warmup := warmup) WHERE run_id IN (SELECT run FROM runs_of_points)),
choices AS (
    SELECT 'all' AS rules_applied, NULL::VARCHAR AS rule UNION ALL SELECT 'none', NULL
    UNION ALL SELECT 'all but ' || rule, rule FROM (SELECT DISTINCT unnest(excluded_by) AS rule FROM records)),
of_runs AS (
    SELECT run_id AS run, rules_applied, 'all' AS epochs_taken, count(*) AS n_steps, median(step_s) AS median_s,
        sum(step_s * averaged_steps ORDER BY position_in_run) / sum(averaged_steps) AS mean_s
    FROM records JOIN choices ON excluded_by IS NULL OR rules_applied = 'none' OR excluded_by = [rule]
    GROUP BY run_id, rules_applied
    UNION ALL
    SELECT run_id, 'all', format('{:g}', epoch), count(*), median(step_s),
        sum(step_s * averaged_steps ORDER BY position_in_run) / sum(averaged_steps)
    FROM records WHERE excluded_by IS NULL AND epoch = floor(epoch) GROUP BY run_id, epoch),
times AS (
    SELECT * EXCLUDE (median_s, mean_s), 'median' AS statistic, median_s AS time_s FROM of_runs
    UNION ALL SELECT * EXCLUDE (median_s, mean_s), 'mean', mean_s FROM of_runs),
of_points AS (
    SELECT series, position, devices, global_batch_size, m.run_id, rules_applied, epochs_taken, statistic,
        sum(n_steps)::BIGINT AS n_steps, median(time_s) AS step_s
    FROM runs_of_points AS m JOIN times USING (run)
    GROUP BY series, position, devices, global_batch_size, m.run_id, rules_applied, epochs_taken, statistic),
efficiencies AS (
    SELECT p.*, (p.global_batch_size / p.step_s) / (p.devices / b.devices) / (b.global_batch_size / b.step_s) AS efficiency
    FROM of_points AS p JOIN of_points AS b ON b.series = p.series AND b.position = 1 AND b.rules_applied = p.rules_applied
        AND b.epochs_taken = p.epochs_taken AND b.statistic = p.statistic),
differences AS (
    SELECT *, efficiency - max(efficiency) FILTER (WHERE rules_applied = 'all' AND epochs_taken = 'all' AND statistic = 'median')
        OVER (PARTITION BY series, position) AS difference
    FROM efficiencies)
SELECT series, devices, run_id, rules_applied, statistic, epochs_taken, n_steps, step_s, efficiency, difference,
    arg_max(difference, abs(difference)) OVER (PARTITION BY series, position) AS largest_difference
FROM differences
ORDER BY series, devices, position, rules_applied, statistic DESC, epochs_taken <> 'all', TRY_CAST(epochs_taken AS DOUBLE)
