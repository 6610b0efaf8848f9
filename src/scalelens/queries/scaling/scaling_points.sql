-- What one run contributes to scaling: its size, its work, its time, and what a series must hold equal.
--
-- Answers: Which runs can be compared, and which numbers does `scaling` use?
--   With the metrics t_b and mean_s, work is the global batch and time that of a step; with t_ep and t_tr they are
--   those of an epoch; with the rates, work is a sample, else a token, or a TFLOP.  Runs without devices,
--   or without a time by the metric, are not included; nor, with t_b and mean_s, are those without a batch.
--   An epoch is the mean over the epochs, because a validation may follow only every fourth.  Epochs that broke off are
--   left out and, unless `epochs` chooses some, so is the first of each attempt, which compiles and fills caches.
--   What must be equal is every performance setting that a run states (held_settings).
--
-- Helper: used by scaling_series
--
-- Needs: runs.devices
--
-- Sources: runs, params, steps, batch_stats, epoch_times, rates_logged, labels, model_flops, held_settings, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   run_id               VARCHAR             run
--   settings             VARCHAR             name for what a series holds equal apart from the model
--   held                 VARCHAR             all performance settings that a series holds equal, apart from those of
--                                            the model
--   held_of_model        VARCHAR             those of the model: its name, its shape, how it is split
--   layout               VARCHAR             performance settings that follow from the size: repeats share them
--   study                VARCHAR             folders of a run whose system is not known, with numbers masked; else NULL
--   has_model            BOOLEAN             whether a model or its shape is known
--   system               VARCHAR             machine
--   model                VARCHAR             model
--   parameters           DOUBLE              parameters of the model
--   precision            VARCHAR             number format
--   nodes                INTEGER             nodes
--   devices              INTEGER             devices
--   global_batch_size    BIGINT samples      per step over all devices; else the largest of a record, else inferred
--   n_steps              BIGINT              records that the statistics rest on; for t_ep and t_tr, epochs
--   step_s               DOUBLE s            median time of a step
--   mean_s               DOUBLE s            mean time of a step
--   time_s               DOUBLE s            time by the metric: of a step, an epoch, a sample, a token or a TFLOP
--   time_s_low           DOUBLE s            lower end of its interval; NULL for the mean and the rates
--   time_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95 or range; for epochs, the range from the shortest to the longest
--   work                 DOUBLE              what is done in time_s: samples, or 1 for the rates; NULL where not known
--   timed_s              DOUBLE s            time that the records cover
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   tokens_per_s         DOUBLE tokens/s     for throughput, total tokens over total time where samples are not known
--   model_tflops         DOUBLE TFLOP/s      per device: tokens per second times model_flops, comparable between tools
--   printed_tflops       DOUBLE TFLOP/s      per device, as printed, by the tool's own formula
--   value_kinds          VARCHAR             what the records are
--   batch_note           VARCHAR             what to know or doubt about the batch
WITH
times AS (FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
-- What a record or a log says of the batch goes before what follows from other facts.
inferred AS (
    SELECT run_id, max(value) FILTER (key = 'global_batch_size_origin') AS batch_origin,
        max(value) FILTER (key = 'global_batch_size_excluded_by') AS batch_excluded_by
    FROM params WHERE starts_with(key, 'global_batch_size_') GROUP BY run_id),
largest AS (SELECT run_id, max(samples)::BIGINT AS largest_batch FROM main.steps WHERE phase = 'train' GROUP BY run_id),
-- Called in a text, so that DuckDB plans each only where the metric needs it.
rates AS (
    FROM query(CASE WHEN metric IN ('throughput', 'tflops')
        THEN 'FROM rates_logged(' || selection(runs, epochs, warmup, exclude) || ')'
        ELSE 'SELECT NULL::VARCHAR AS run_id, 0 AS n_steps, 1.0::DOUBLE AS samples_per_s, 1.0::DOUBLE AS tokens_per_s, '
            'NULL::VARCHAR AS rate_scope, false AS is_of_run, 1.0::DOUBLE AS tflops_per_device WHERE false' END)),
spans AS (
    SELECT run_id, if(metric = 't_ep', epoch_s, train_s) AS span_s, samples,
        epoch > min(epoch) OVER (PARTITION BY run_id, attempt) AS is_later
    FROM query(CASE WHEN metric IN ('t_ep', 't_tr')
        THEN 'FROM epoch_times(' || selection(runs, epochs, warmup, exclude) || ') WHERE NOT is_cut'
        ELSE 'SELECT NULL::VARCHAR AS run_id, 0 AS attempt, 0.0::DOUBLE AS epoch, 1.0::DOUBLE AS epoch_s, '
            '1.0::DOUBLE AS train_s, 1.0::DOUBLE AS samples WHERE false' END)),
chosen_spans AS (
    FROM spans WHERE span_s > 0
    QUALIFY is_later OR exclude = 'none' OR trim(epochs::VARCHAR) <> '' OR count(*) OVER (PARTITION BY run_id) = 1),
epochs_of_runs AS (
    SELECT run_id, count(*) AS n_epochs, avg(span_s) AS epoch_s, min(span_s) AS shortest_s, max(span_s) AS longest_s,
        CASE WHEN count(samples) = count(*) THEN avg(samples) END AS epoch_samples
    FROM chosen_spans GROUP BY run_id),
extra AS (
    SELECT run_id, CASE WHEN trim(series_by) <> '' THEN translate(extra::VARCHAR, '{}'':', '') END AS extra
    FROM query('SELECT r.run_id, extra FROM runs AS r, LATERAL (SELECT '
        || CASE WHEN trim(series_by) = '' THEN 'NULL' ELSE series_by END || ') AS extra')),
points AS (
    SELECT r.*, t.* EXCLUDE (run_id, n_steps, samples_per_s, tflops_per_device, interval_kind), labels, extra, flops_per_token,
        held, held_of_model, layout, study, has_model,
        CASE WHEN batch_origin IS NULL THEN coalesce(global_batch_size, largest_batch)
            ELSE coalesce(largest_batch, global_batch_size) END AS batch,
        CASE WHEN batch_origin IS NOT NULL AND largest_batch IS NULL THEN 'global batch inferred from ' || batch_origin
            WHEN batch_excluded_by IS NOT NULL
            THEN format('{} excludes a global batch of {}: see contradictions', batch_excluded_by, batch) END AS batch_note,
        CASE WHEN rate_scope = 'global' THEN 1 WHEN rate_scope = 'rank' AND is_of_run THEN devices END AS rated_devices,
        coalesce(t.samples_per_s, l.samples_per_s * rated_devices) AS total_per_s,
        if(metric = 'throughput' AND total_per_s IS NULL, coalesce(t.tokens_per_s, l.tokens_per_s * rated_devices), NULL)
            AS tokens_alone_per_s,
        coalesce(t.tflops_per_device, l.tflops_per_device) AS printed_tflops,
        metric IN ('t_b', 'mean_s') AS is_of_steps, metric IN ('t_ep', 't_tr') AS is_of_epochs,
        CASE WHEN is_of_epochs THEN n_epochs WHEN t.n_steps > 0 THEN t.n_steps ELSE l.n_steps END AS n_records,
        CASE metric WHEN 't_b' THEN step_s WHEN 'mean_s' THEN mean_s WHEN 't_ep' THEN epoch_s WHEN 't_tr' THEN epoch_s
            WHEN 'throughput' THEN 1 / coalesce(total_per_s, tokens_alone_per_s) WHEN 'tflops' THEN 1 / (printed_tflops * devices)
            ELSE error('metric is ''t_b'' (the median step), ''mean_s'', ''t_ep'', ''t_tr'', ''throughput'' or ''tflops''') END
            AS time_s,
        CASE WHEN metric = 't_b' THEN step_s_low WHEN is_of_epochs AND n_epochs > 1 THEN shortest_s END AS time_s_low,
        CASE WHEN metric = 't_b' THEN step_s_high WHEN is_of_epochs AND n_epochs > 1 THEN longest_s END AS time_s_high,
        CASE WHEN metric = 't_b' THEN t.interval_kind WHEN is_of_epochs AND n_epochs > 1 THEN 'range' END AS interval_kind,
        CASE WHEN is_of_steps THEN batch WHEN is_of_epochs THEN epoch_samples ELSE 1 END::DOUBLE AS work
    FROM runs AS r JOIN extra USING (run_id) JOIN model_flops() USING (run_id)
    JOIN held_settings(runs := runs) USING (run_id)
    LEFT JOIN times AS t USING (run_id) LEFT JOIN rates AS l USING (run_id) LEFT JOIN epochs_of_runs USING (run_id)
    LEFT JOIN largest USING (run_id) LEFT JOIN inferred USING (run_id) LEFT JOIN labels() USING (run_id)
    WHERE run_id IN (FROM selected_runs(runs := runs)))
SELECT run_id,
    concat_ws(' · ', system, p.precision, dataset, 'seq ' || seq_length, framework, labels, extra) AS settings,
    concat_ws(', ', held, extra, CASE WHEN tokens_alone_per_s > 0 THEN 'rate of tokens' END) AS held, held_of_model,
    layout, study, has_model,
    system, model, parameters, p.precision, nodes, devices, batch AS global_batch_size, n_records AS n_steps,
    step_s, mean_s, time_s, time_s_low, time_s_high, interval_kind, work,
    timed_s, total_per_s AS samples_per_s, tokens_alone_per_s AS tokens_per_s,
    p.tokens_per_s * flops_per_token / devices / 1e12 AS model_tflops,
    printed_tflops, value_kinds, batch_note
FROM points AS p
WHERE devices > 0 AND time_s > 0 AND (batch > 0 OR NOT is_of_steps)
ORDER BY settings, model, devices, batch, run_id
