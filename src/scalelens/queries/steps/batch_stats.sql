-- Time of a step, run by run: median with its interval, mean, percentiles, rates.
--
-- Answers: How long does a step take, and how sure is that?
--   And what was left out of it?
--   The interval of the median is distribution-free, allows for correlation between near and distant steps, and for the
--   rounding of the times (`median_interval` in statistics/medians.py).  It assumes that the run is long compared with
--   the changes within it: docs/statistics.md shows what the interval covers.  It is about this run only: another run
--   may differ by more.  A run of which `epochs` selects nothing is included without numbers, and its note says which
--   epochs it has.
--
-- Formula:
--   step_s is the median of the records, mean_s = sum(t k) / sum(k), with t the time of a step and k the steps that a
--   record is a mean of; samples_per_s = sum(W k) / sum(t k), with W the samples of a step.
--   Interval of the median: order statistics j = floor(n (0.5 - 0.98 / sqrt(n_eff)) + 0.5) and n + 1 - j, widened by
--   what the rounding of the times hides.  n_eff is the smallest of four estimates: by lag 1, by the initial positive
--   sequence, by block means, by the spectrum (long memory and slow drift).
--
-- Reference: Hoefler and Belli, SC'15, section 3.1, and Le Boudec, Performance Evaluation of Computer and
--   Communication Systems, 2010 (interval); Geyer, Statistical Science 7, 1992 (initial positive sequence).
--   statistics/medians.py, statistics/effective_size.py.
--
-- Assumptions: The run is long compared with the changes within it.
--
-- Limits: Below 80 records, and where the records carry as little information as a few independent ones, their range
--   takes the place of the interval; also where a run went between two levels a few times only.  What comes less often
--   than a run is long cannot be seen in it: the note of a run of fewer than 300 records says from where on.  What the
--   interval covers was simulated: docs/statistics.md.
--
-- Glance: run_id n_steps step_s p95_s samples_per_s tokens_per_s mean_s p99_s n_excluded value_kinds note
--
-- When empty: not_timed
--
-- Partition: run_id, light
--
-- Sources: selected_steps, plain_runs, step_times, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id               VARCHAR             run
--   n_steps              BIGINT              records that the statistics rest on
--   step_s               DOUBLE s            median over the records
--   step_s_low           DOUBLE s            lower end of its interval
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95, or range (smallest to largest record) where 95 % cannot be claimed
--   mean_s               DOUBLE s            total time over total steps
--   p5_s                 DOUBLE s            5th percentile of the records, exact, interpolated linearly
--   p25_s                DOUBLE s            25th percentile
--   p75_s                DOUBLE s            75th percentile
--   p95_s                DOUBLE s            95th percentile
--   p99_s                DOUBLE s            99th percentile
--   n_eff                DOUBLE              equivalent number of independent records
--   autocorrelation      DOUBLE              lag-1, of the ranks
--   samples_per_s        DOUBLE samples/s    total samples over total time, of the whole job
--   tokens_per_s         DOUBLE tokens/s     total tokens over total time, of the whole job
--   tflops_per_device    DOUBLE TFLOP/s      median as printed, by the tool's own formula
--   timed_steps          BIGINT              steps that the records cover
--   timed_s              DOUBLE s            seconds that they took
--   value_kinds          VARCHAR             what the records are: instant, interval_mean, ...
--   n_excluded           BIGINT              records that the rules leave out (exclusions)
--   note                 VARCHAR             why there is no 95 % interval; what the records do not show
WITH
-- Runs whose rules follow from the step numbers are read in one pass; `records` holds the others.
plain AS MATERIALIZED (
    FROM plain_runs(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
records AS (
    FROM selected_steps(epochs := epochs, warmup := warmup, exclude := exclude,
        runs := 'run_id NOT IN (SELECT run_id FROM plain)' || and_selected(runs))),
statistics AS (
    SELECT run_id,
        median_interval(list(step_s ORDER BY position_in_run)) AS bounds,
        quantile_cont(step_s, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]) AS percentiles,
        sum(averaged_steps)::BIGINT AS timed_steps,
        -- summed in order, so that the last digit does not depend on the number of threads
        sum(step_s * averaged_steps ORDER BY position_in_run) AS timed_s,
        sum(samples * averaged_steps ORDER BY position_in_run)
            / sum(step_s * averaged_steps ORDER BY position_in_run) FILTER (WHERE samples IS NOT NULL) AS samples_per_s,
        sum(tokens * averaged_steps ORDER BY position_in_run)
            / sum(step_s * averaged_steps ORDER BY position_in_run) FILTER (WHERE tokens IS NOT NULL) AS tokens_per_s,
        median(tflops_per_device) AS tflops_per_device,
        string_agg(DISTINCT value_kind, ' ' ORDER BY value_kind) AS value_kinds
    FROM records WHERE excluded_by IS NULL GROUP BY run_id
    UNION ALL
    SELECT run_id, {low: step_s_low, high: step_s_high, kind: interval_kind, n_eff: n_eff,
            autocorrelation: autocorrelation, reason: reason},
        percentiles_s, n_steps, timed_s, samples * n_steps / timed_s, tokens * n_steps / timed_s,
        tflops_per_device, 'instant'
    FROM plain WHERE n_steps > 0),
-- Records of runs whose total is not the sum of their times.
of_means AS MATERIALIZED (
    FROM records WHERE run_id IN (SELECT run_id FROM statistics WHERE regexp_matches(value_kinds, 'run_median|running_mean'))),
-- The median of a run is not its total time: that is the longest mean of the run, where the log gives one.
totals_beside_medians AS (
    SELECT run_id, averaged_steps AS timed_steps, step_s * averaged_steps AS timed_s, samples / step_s AS samples_per_s,
        tokens / step_s AS tokens_per_s
    FROM of_means
    WHERE value_kind = 'run_mean' AND step IS NULL
        AND run_id IN (SELECT run_id FROM of_means WHERE value_kind = 'run_median' AND excluded_by IS NULL)
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY averaged_steps DESC, file_id, line) = 1),
-- A running mean is of all steps since its epoch began, those of the running means before it among them.
totals_of_running_means AS (
    SELECT run_id, sum(averaged_steps)::BIGINT AS timed_steps, sum(step_s * averaged_steps ORDER BY position_in_run) AS timed_s,
        sum(samples * averaged_steps ORDER BY position_in_run) / sum(step_s * averaged_steps ORDER BY position_in_run) AS samples_per_s,
        sum(tokens * averaged_steps ORDER BY position_in_run) / sum(step_s * averaged_steps ORDER BY position_in_run) AS tokens_per_s
    FROM (
        FROM of_means
        WHERE excluded_by IS NULL
            AND run_id IN (SELECT run_id FROM of_means WHERE value_kind = 'running_mean' AND averaged_steps > 1 AND excluded_by IS NULL)
        QUALIFY value_kind <> 'running_mean' OR row_number() OVER (
            PARTITION BY run_id, attempt, epoch, value_kind ORDER BY averaged_steps DESC, position_in_run DESC) = 1)
    GROUP BY run_id),
totals AS (
    SELECT run_id, timed_steps, timed_s, samples_per_s, tokens_per_s FROM statistics
    WHERE value_kinds NOT ILIKE '%run_median%' AND run_id NOT IN (SELECT run_id FROM totals_of_running_means)
    UNION ALL FROM totals_beside_medians
    UNION ALL FROM totals_of_running_means),
-- The epochs of the runs, for the note, where `epochs` selects some of them.
epochs_of_runs AS (
    SELECT run_id, format('its epochs are numbered {:.0f} to {:.0f}', min(floor(epoch)), max(floor(epoch))) AS epochs_text
    FROM step_times
    WHERE trim(epochs::VARCHAR) <> '' AND isfinite(step_s) AND run_id IN (FROM selected_runs(runs := runs))
    GROUP BY run_id),
counts AS (
    SELECT run_id, count(position_in_run) FILTER (WHERE excluded_by IS NULL) AS n_steps,
        count(excluded_by) AS n_excluded, count(position_in_run) AS n_selected
    FROM records FULL JOIN epochs_of_runs USING (run_id) GROUP BY run_id
    UNION ALL
    SELECT run_id, n_steps, n_excluded, n_steps + n_excluded FROM plain)
SELECT run_id, n_steps, percentiles[3] AS step_s, bounds.low AS step_s_low, bounds.high AS step_s_high,
    bounds.kind AS interval_kind, t.timed_s / t.timed_steps AS mean_s, percentiles[1] AS p5_s, percentiles[2] AS p25_s,
    percentiles[4] AS p75_s, percentiles[5] AS p95_s, percentiles[6] AS p99_s, bounds.n_eff AS n_eff,
    bounds.autocorrelation AS autocorrelation, t.samples_per_s, t.tokens_per_s, tflops_per_device,
    t.timed_steps, t.timed_s, value_kinds, n_excluded,
    notes([
        CASE WHEN n_selected = 0 AND trim(epochs::VARCHAR) <> '' THEN format('epochs := ''{}'' selects nothing', epochs) END,
        CASE WHEN trim(epochs::VARCHAR) <> '' THEN coalesce(epochs_text, 'the log names no epochs') END,
        CASE WHEN n_steps = 0 AND n_selected > 0 THEN 'all records are left out (exclude=none includes them)' END,
        bounds.reason,
        CASE WHEN bounds.kind = 'ci95' AND n_steps < 300  -- by simulation: docs/statistics.md
            THEN format('a change that comes less often than every {} records may not be in the interval', n_steps // 3) END,
        CASE WHEN regexp_matches(value_kinds, 'running|epoch|run_') THEN 'means hide the spread of single steps' END,
        CASE WHEN value_kinds ILIKE '%run_median%' AND t.timed_s IS NULL
            THEN 'the log gives the median of the run alone: its mean and its rates are not known' END,
        CASE WHEN value_kinds ILIKE '%running_mean%' THEN 'a running mean includes the warm-up' END]) AS note
FROM counts LEFT JOIN statistics USING (run_id) LEFT JOIN totals AS t USING (run_id) LEFT JOIN epochs_of_runs USING (run_id)
ORDER BY run_id
