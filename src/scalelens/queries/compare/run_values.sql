-- One number per run, for any measure and any quantile, with its interval within the run.
--
-- Answers: Which value of each run does a comparison, a history or a plan of repeats rest on?
--   A run's value is a quantile of its records.  `peak_memory_bytes` is the largest allocation on any device;
--   `sample_j` and `power_w` are of the whole run.  These have no quantile and no interval.  Runs without a record are
--   not included.
--
-- Helper: used by compare, history and next_runs
--
-- Sources: selected_steps, selected_runs, steps, metrics, energy_of_steps, energy_efficiency
--
-- Parameters: runs, epochs, warmup, exclude, measure, quantile
--
-- Columns:
--   run_id            VARCHAR           run
--   run_value         DOUBLE            value of the run, in the unit of the measure
--   low               DOUBLE            lower end of its interval, within the run
--   high              DOUBLE            upper end of its interval
--   interval_kind     VARCHAR           ci95, or range where 95 % cannot be claimed
--   n_eff             DOUBLE            equivalent number of independent records
--   n_steps           BIGINT            records that the value rests on
--   averaged_steps    BIGINT            steps that a record is a mean of, the largest number
--   value_kinds       VARCHAR           what the records are: instant, interval_mean, ...
--   samples           DOUBLE samples    in a step over all devices, median over the records
--   tokens            DOUBLE tokens     in a step over all devices, median over the records
--   timed_s           DOUBLE s          seconds that the records cover
WITH
timed AS (
    SELECT run_id, attempt, step, position_in_run, averaged_steps, value_kind, samples, tokens, step_s
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE excluded_by IS NULL AND step_s > 0),
waits AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, step, max(data_s) AS data_s
    FROM steps WHERE measure = 'data_s' AND phase = 'train' AND isfinite(data_s) GROUP BY ALL),
-- As text, so that questions about time do not wait until DuckDB has planned those about energy.
energies AS (
    SELECT run_id, position_in_run, averaged_steps, value, of_run
    FROM query(CASE measure
        WHEN 'step_j' THEN 'SELECT *, energy_j / sensors AS value, false AS of_run FROM energy_of_steps('
            || selection(runs, epochs, warmup, exclude) || ') WHERE excluded_by IS NULL'
        WHEN 'sample_j' THEN 'SELECT *, 0 AS position_in_run, 1 AS averaged_steps, 3600 / samples_per_wh AS value, '
            'true AS of_run FROM energy_efficiency(' || selection(runs, epochs, warmup, exclude)
            || ') WHERE samples_per_wh > 0'
        WHEN 'power_w' THEN 'SELECT *, 0 AS position_in_run, 1 AS averaged_steps, unit_w AS value, true AS of_run '
            'FROM energy_efficiency(' || selection(runs, epochs, warmup, exclude) || ') WHERE unit_w > 0'
        ELSE 'SELECT NULL::VARCHAR AS run_id, 0 AS position_in_run, 1 AS averaged_steps, 0.0 AS value, false AS of_run '
            'WHERE false' END)),
records AS (
    SELECT t.*, CASE measure WHEN 'step_s' THEN step_s WHEN 'samples_per_s' THEN samples / step_s
        WHEN 'tokens_per_s' THEN tokens / step_s WHEN 'data_s' THEN data_s
            ELSE CASE WHEN measure NOT IN ('step_j', 'sample_j', 'power_w', 'peak_memory_bytes') THEN error(format(
                '''{}'' is none of step_s samples_per_s tokens_per_s data_s step_j sample_j power_w peak_memory_bytes',
                measure))::DOUBLE END END AS value
    FROM timed AS t LEFT JOIN waits AS w ON w.run_id = t.run_id AND w.attempt = t.attempt AND w.step = t.step
    UNION ALL BY NAME
    SELECT run_id, position_in_run, averaged_steps, 'instant' AS value_kind, value FROM energies WHERE NOT of_run),
work AS (
    SELECT run_id, median(samples) AS samples, median(tokens) AS tokens, count(*) AS n_steps,
        sum(step_s * averaged_steps ORDER BY position_in_run) AS timed_s
    FROM timed GROUP BY run_id),
peaks AS (
    SELECT run_id, peak_memory_bytes AS value FROM steps
    UNION ALL
    SELECT run_id, value FROM metrics WHERE unit = 'bytes' AND regexp_matches(name, '(?i)max.*allocated')),
values_of_runs AS (
    SELECT run_id, quantile_cont(value, quantile) AS value,
        quantile_interval(list(value ORDER BY position_in_run), any_value(quantile::DOUBLE)) AS bounds,
        count(*) AS n_steps, max(averaged_steps) AS averaged_steps,
        string_agg(DISTINCT value_kind, ' ' ORDER BY value_kind) AS value_kinds
    FROM records WHERE value IS NOT NULL GROUP BY run_id
    UNION ALL BY NAME
    SELECT run_id, value FROM energies WHERE of_run
    UNION ALL BY NAME
    SELECT run_id, max(value) AS value FROM peaks
    WHERE measure = 'peak_memory_bytes' AND value > 0 AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY run_id)
SELECT run_id, value AS run_value,
    bounds.low AS low, bounds.high AS high, bounds.kind AS interval_kind, bounds.n_eff AS n_eff,
    coalesce(f.n_steps, w.n_steps, 0) AS n_steps, averaged_steps, value_kinds, samples, tokens, timed_s
FROM values_of_runs AS f LEFT JOIN work AS w USING (run_id)
ORDER BY run_id
