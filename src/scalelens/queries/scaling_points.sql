-- What one run says about scaling: its size, its work, its time, and what a series must hold equal.
--
-- Answers: Which runs can be compared, and with which numbers does `scaling` do it?
--   Work is the global batch, time that of a step: runs without devices, batch or a step time are not here.
--   Two figures of TFLOP/s per device.  `model_tflops`, comparable between tools: tokens per second times
--   6 parameters + 12 layers * hidden size * sequence length (PaLM, appendix B: forward and backward pass, attention in
--   full, no recomputation), over the devices; NULL without that shape or for a mixture of experts.
--   `printed_tflops`: the writer's own formula, which differs between forks.
--
-- Sources: runs, params, batch_stats
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
--   run_id               VARCHAR             run
--   settings             VARCHAR             what a series holds equal beside the model; what is unknown counts as equal
--   model                VARCHAR             model
--   parameters           DOUBLE              parameters of the model
--   layout               VARCHAR             what repeats of one size share beside the settings
--   system               VARCHAR             machine
--   precision            VARCHAR             number format
--   nodes                INTEGER             nodes
--   devices              INTEGER             devices
--   global_batch_size    BIGINT samples      per step over all devices; else the largest of a record
--   n_steps              BIGINT              records that the statistics rest on
--   step_s               DOUBLE s            time of a step, by the metric
--   step_s_low           DOUBLE s            lower end of its interval, NULL for the mean
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95 or range
--   timed_s              DOUBLE s            seconds that the records cover
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   model_tflops         DOUBLE TFLOP/s      per device, of the model
--   printed_tflops       DOUBLE TFLOP/s      per device, as printed
--   value_kinds          VARCHAR             what the records are
WITH
shapes AS (
    SELECT run_id, max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key = 'num_layers') AS layers,
        max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key = 'hidden_size') AS hidden_size,
        coalesce(max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key IN ('num_experts', 'moe_num_experts')), 0) > 1 AS is_mixture
    FROM params GROUP BY run_id),
-- Labels are what only the user said.  What grows with the size, or tells repeats apart, does not make another series.
labels AS (
    SELECT run_id, string_agg(DISTINCT key || '=' || value, ' ' ORDER BY key || '=' || value) AS labels
    FROM params WHERE origin = 'sidecar' AND key NOT IN (
        'nodes', 'devices', 'devices_per_node', 'device_model', 'device_unit', 'micro_batch_size', 'global_batch_size',
        'tp', 'pp', 'dp', 'cp', 'job_id', 'outcome', 'name', 'parameters', 'repeat', 'trial', 'seed',
        'system', 'framework', 'model', 'precision', 'dataset', 'seq_length')  -- these are compared anyway
    GROUP BY run_id),
further AS (FROM query('SELECT run_id, concat_ws('' '', ' || coalesce(nullif(array_to_string(list_transform(
    string_split(nullif(trim(series_by), ''), ','), lambda key: '''' || trim(key) || '='' || ' || trim(key)), ', '), ''), 'NULL')
    || ') AS further FROM runs')),
stats AS (FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
largest AS (SELECT run_id, max(samples) AS samples FROM step_times GROUP BY run_id),
points AS (
    SELECT r.*, s.* EXCLUDE (run_id), labels, further, layers, hidden_size, is_mixture
    FROM stats AS s JOIN runs AS r USING (run_id) JOIN further USING (run_id)
    LEFT JOIN labels USING (run_id) LEFT JOIN shapes USING (run_id))
SELECT 1
