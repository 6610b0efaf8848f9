-- What one run says about scaling: its size, its work, its time, and what a series must hold equal.
--
-- Answers: Which runs can be compared, and with which numbers does `scaling` do it?
--   Work is the global batch, time that of a step; runs without devices, batch or a step time are not here.
--   What must be equal is every performance setting that a run states (held_settings).
--
-- Helper: used by scaling_series
--
-- Sources: runs, step_times, batch_stats, labels, model_flops, held_settings
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   warmup := 2             records left out at the start of each attempt
--   exclude := 'rules'      'none' leaves nothing out, 'steady' also what comes before the steady state
--   metric := 'step_s'      time of a step: 'step_s' the median, 'mean_s' the mean, which holds the stalls
--   series_by := ''         further columns of `runs` that a series must hold equal: 'tp, pp'
--
-- Columns:
--   run_id               VARCHAR             run
--   settings             VARCHAR             name of what a series holds equal beside the model
--   held                 VARCHAR             all performance settings that a series holds equal, beside those of the model
--   held_of_model        VARCHAR             the same of the model: its name, its shape, how it is split
--   layout               VARCHAR             performance settings that follow from the size: repeats share them
--   study                VARCHAR             folders of a run of no known system, numbers masked; else NULL
--   has_model            BOOLEAN             whether a model or its shape is known
--   system               VARCHAR             machine
--   model                VARCHAR             model
--   parameters           DOUBLE              parameters of the model
--   precision            VARCHAR             number format
--   nodes                INTEGER             nodes
--   devices              INTEGER             devices
--   global_batch_size    BIGINT samples      per step over all devices; else the largest of a record
--   n_steps              BIGINT              records that the statistics rest on
--   step_s               DOUBLE s            time of a step, by the metric
--   mean_s               DOUBLE s            mean time of a step
--   step_s_low           DOUBLE s            lower end of its interval, NULL for the mean
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95 or range
--   timed_s              DOUBLE s            seconds that the records cover
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   model_tflops         DOUBLE TFLOP/s      per device: tokens per second times model_flops, comparable between tools
--   printed_tflops       DOUBLE TFLOP/s      per device, as printed, by the writer's own formula
--   value_kinds          VARCHAR             what the records are
WITH
times AS (FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
largest AS (SELECT run_id, max(samples)::BIGINT AS largest_batch FROM step_times GROUP BY run_id),
further AS (
    SELECT run_id, CASE WHEN trim(series_by) <> '' THEN translate(further::VARCHAR, '{}'':', '') END AS further
    FROM query('SELECT r.run_id, further FROM runs AS r, LATERAL (SELECT '
        || CASE WHEN trim(series_by) = '' THEN 'NULL' ELSE series_by END || ') AS further')),
points AS (
    SELECT r.*, t.* EXCLUDE (run_id), labels, further, flops_per_token, held, held_of_model, layout, study, has_model,
        coalesce(global_batch_size, largest_batch) AS batch,
        CASE metric WHEN 'step_s' THEN step_s WHEN 'mean_s' THEN mean_s
            ELSE error('metric is ''step_s'' or ''mean_s''') END AS time_s
    FROM times AS t JOIN runs AS r USING (run_id) JOIN further USING (run_id) JOIN model_flops() USING (run_id)
    LEFT JOIN largest USING (run_id) LEFT JOIN labels() USING (run_id) JOIN held_settings(runs := runs) USING (run_id))
SELECT run_id,
    concat_ws(' · ', system, p.precision, dataset, 'seq ' || seq_length, framework, labels, further) AS settings,
    concat_ws(', ', held, further) AS held, held_of_model, layout, study, has_model,
    system, model, parameters, p.precision, nodes, devices, batch AS global_batch_size, n_steps,
    time_s AS step_s, mean_s, CASE metric WHEN 'step_s' THEN step_s_low END AS step_s_low,
    CASE metric WHEN 'step_s' THEN step_s_high END AS step_s_high,
    CASE metric WHEN 'step_s' THEN interval_kind END AS interval_kind,
    timed_s, samples_per_s, tokens_per_s * flops_per_token / devices / 1e12 AS model_tflops,
    tflops_per_device AS printed_tflops, value_kinds
FROM points AS p
WHERE devices > 0 AND batch > 0 AND time_s > 0
ORDER BY settings, model, devices, batch, run_id
