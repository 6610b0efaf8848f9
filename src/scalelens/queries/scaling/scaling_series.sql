-- Series of runs that differ in size: which belong together, and whether they scale weakly or strongly.
--
-- Answers: Of which series is each configuration a point?
--   A series is of two sizes or more, equal in system, framework, model, precision, data set, sequence length, labels
--   and `series_by`; with an equal batch per device it is `weak`, with an equal global batch `strong`.  A run may be in
--   several.  Configurations of no such series are tried again without the model: those of equal global batch are
--   `mixed` if the model grows with the devices.  What is left then is in no series, and not here.
--   Runs equal in all that, in devices, batch and layout are repeats: one row, and the run is the unit.
--
-- Helper: used by scaling
--
-- Sources: scaling_points
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   warmup := 2             records left out at the start of each attempt
--   exclude := 'default'    'none' leaves nothing out
--   metric := 'step_s'      time of a step: 'step_s' the median, 'mean_s' the mean, which holds the stalls
--   series_by := ''         further columns of `runs` that a series must hold equal: 'tp, pp'
--
-- Columns:
--   series               VARCHAR             what the series holds equal
--   scaling              VARCHAR             weak, strong or mixed
--   run_ids              VARCHAR[]           runs, the fastest first
--   system               VARCHAR             machine
--   model                VARCHAR             model
--   parameters           DOUBLE              parameters of the model
--   precision            VARCHAR             number format
--   nodes                INTEGER             nodes
--   devices              INTEGER             devices
--   global_batch_size    BIGINT samples      per step over all devices
--   n_runs               BIGINT              runs
--   n_steps              BIGINT              records that the statistics rest on, of all runs
--   step_s               DOUBLE s            time of a step; of repeats the median over the runs
--   step_s_low           DOUBLE s            lower end of its interval
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95, or range where 95 % cannot be claimed
--   interval_of          VARCHAR             steps (within one run) or runs (between repeats)
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   model_tflops         DOUBLE TFLOP/s      per device, of the model
--   printed_tflops       DOUBLE TFLOP/s      per device, as printed, median over the runs
--   is_smoothed          BOOLEAN             the times are running means, or means of an epoch or a run
WITH
points AS (
    FROM scaling_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
configurations AS (
    SELECT settings, system, model, parameters, p.precision, nodes, devices, global_batch_size,
        list(run_id ORDER BY step_s, run_id) AS run_ids, count(*) AS n_runs, sum(n_steps)::BIGINT AS n_steps,
        median(step_s) AS step_s,
        CASE count(*) WHEN 1 THEN 'steps' ELSE 'runs' END AS interval_of,
        {'low': min(step_s_low), 'high': max(step_s_high), 'kind': min(interval_kind)} AS within_run,
        median_interval_between_runs(list(step_s)) AS between_runs,
        sum(samples_per_s * timed_s ORDER BY run_id) / sum(timed_s ORDER BY run_id) AS samples_per_s,
        sum(model_tflops * timed_s ORDER BY run_id) / sum(timed_s ORDER BY run_id) AS model_tflops,
        median(printed_tflops) AS printed_tflops,
        bool_or(regexp_matches(value_kinds, 'running|epoch|run_')) AS is_smoothed
    FROM points AS p
    GROUP BY settings, system, model, parameters, p.precision, nodes, devices, global_batch_size, layout),
candidates AS (
    SELECT 'weak' AS scaling, format('weak (batch {:g} per device)', global_batch_size / devices) AS what_is_equal, *
    FROM configurations
    UNION ALL
    SELECT 'strong', format('strong (global batch {})', global_batch_size), * FROM configurations),
of_one_model AS (
    FROM candidates QUALIFY count(DISTINCT devices) OVER (PARTITION BY settings, model, what_is_equal) >= 2),
left_over AS (FROM configurations WHERE run_ids NOT IN (SELECT run_ids FROM of_one_model)),
-- Each size has a model of its own, and sorting by devices sorts the models by their parameters.
growing AS (
    SELECT settings, global_batch_size FROM left_over GROUP BY settings, global_batch_size
    HAVING count(DISTINCT devices) >= 2 AND count(parameters) = count(*)
        AND count(DISTINCT parameters) = count(DISTINCT devices)
        AND list(parameters ORDER BY devices, parameters) = list(parameters ORDER BY parameters)),
members AS (
    SELECT concat_ws(' · ', model, nullif(settings, ''), what_is_equal) AS series, * EXCLUDE (what_is_equal)
    FROM of_one_model
    UNION ALL
    SELECT concat_ws(' · ', nullif(settings, ''), format('mixed (global batch {}, growing model)', global_batch_size)),
        'mixed', *
    FROM left_over SEMI JOIN growing USING (settings, global_batch_size))
SELECT series, scaling, run_ids, system, model, parameters, m.precision, nodes, devices, global_batch_size,
    n_runs, n_steps, step_s,
    CASE interval_of WHEN 'runs' THEN between_runs.low ELSE within_run.low END AS step_s_low,
    CASE interval_of WHEN 'runs' THEN between_runs.high ELSE within_run.high END AS step_s_high,
    CASE interval_of WHEN 'runs' THEN between_runs.kind ELSE within_run.kind END AS interval_kind,
    interval_of, samples_per_s, model_tflops, printed_tflops, is_smoothed
FROM members AS m
ORDER BY series, devices, step_s / global_batch_size, run_ids
