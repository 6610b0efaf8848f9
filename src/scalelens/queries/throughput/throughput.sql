-- Throughput: samples and tokens per second, of the job, of a node and of a device.
--
-- Answers: How much work is done per second?
--   Rates that the log prints are in columns of their own; for logs that print only rates, those are all there is.
--
-- Formula: total work of the records that count, over their total time.  For a node and a device: over their number.
--
-- Reference: Hoefler and Belli, SC'15, rules 3 and 4: rates are not averaged.
--
-- Limits: The interval is that of the median step time within one run.  The rates include stalls, the median does not.
--   Where the log prints means in whole milliseconds or seconds, as Keras does, the note says between which rates that
--   leaves the run.
--
-- Glance: run_id devices samples_per_s device_samples_per_s tokens_per_s device_tokens_per_s step_s n_steps
--   batch_per_device nodes precision model printed_samples_per_s
--   printed_tokens_per_s rate_scope note
--
-- When empty: not_timed
--
-- Sources: batch_stats, rates_logged, unstated_facts, steps, runs, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id                   VARCHAR             run
--   model                    VARCHAR             model
--   precision                VARCHAR             number format
--   nodes                    INTEGER             nodes
--   devices                  INTEGER             devices
--   batch_per_device         DOUBLE samples      global batch over devices
--   n_steps                  BIGINT              records that the rates rest on
--   step_s                   DOUBLE s            median time of a step
--   step_s_low               DOUBLE s            lower end of its interval
--   step_s_high              DOUBLE s            upper end of its interval
--   interval_kind            VARCHAR             ci95, or range where 95 % cannot be claimed
--   samples_per_s            DOUBLE samples/s    of the whole job
--   node_samples_per_s       DOUBLE samples/s    of a node
--   device_samples_per_s     DOUBLE samples/s    of a device
--   tokens_per_s             DOUBLE tokens/s     of the whole job
--   device_tokens_per_s      DOUBLE tokens/s     of a device
--   printed_samples_per_s    DOUBLE samples/s    by the rates that the log prints (rates_logged), whatever they include
--   printed_tokens_per_s     DOUBLE tokens/s     the same for tokens
--   rate_scope               VARCHAR             what the printed rates are of: global (the job) or rank (a device); NULL where
--                                                nothing says it
--   note                     VARCHAR             what to know or doubt
WITH
-- Means as a bar prints them, in whole milliseconds, or in whole seconds from one second on.
rounded AS (
    SELECT run_id, unit_s
    FROM (
        SELECT run_id, step_s, if(min(step_s) OVER (PARTITION BY run_id) < 1, 0.001, 1.0) AS unit_s
        FROM steps
        WHERE value_kind IN ('epoch_mean', 'running_mean') AND coalesce(phase, 'train') = 'train' AND step_s > 0
            AND run_id IN (FROM selected_runs(runs := runs)))
    GROUP BY run_id, unit_s
    HAVING bool_and(abs(step_s - unit_s * round(step_s / unit_s)) < 1e-9) AND (unit_s < 1 OR count(DISTINCT step_s) > 1))
SELECT run_id, model, r.precision, nodes, devices, r.global_batch_size / devices AS batch_per_device, s.n_steps,
    step_s, step_s_low, step_s_high, interval_kind, s.samples_per_s, s.samples_per_s / nodes AS node_samples_per_s,
    s.samples_per_s / devices AS device_samples_per_s, s.tokens_per_s, s.tokens_per_s / devices AS device_tokens_per_s,
    l.samples_per_s AS printed_samples_per_s, l.tokens_per_s AS printed_tokens_per_s, rate_scope,
    notes(list_concat([
        CASE WHEN devices IS NULL THEN 'no log states the number of devices' END, note,
        CASE WHEN s.samples_per_s > 0 AND unit_s >= 0.01 * mean_s
            THEN format('times of steps are in whole {}: samples_per_s is between {:.0f} and {}',
                if(unit_s < 1, 'milliseconds', 'seconds'), s.samples_per_s * mean_s / (mean_s + unit_s / 2),
                if(mean_s > unit_s / 2, format('{:.0f}', s.samples_per_s * mean_s / (mean_s - unit_s / 2)), 'any rate')) END,
        CASE WHEN rate_scope IS NULL AND l.samples_per_s > 0
            THEN 'nothing says whether the printed rate is of the job or of a device' END,
        CASE WHEN l.n_steps = 0 AND s.n_steps IS NULL THEN 'all records are left out (exclude=none includes them)' END],
        facts)) AS note
FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id)
LEFT JOIN batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS s USING (run_id)
LEFT JOIN rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS l USING (run_id)
LEFT JOIN unstated_facts(runs := runs) USING (run_id) LEFT JOIN rounded USING (run_id)
WHERE s.n_steps > 0 OR l.n_steps = 0 OR l.samples_per_s > 0 OR l.tokens_per_s > 0
ORDER BY model, r.precision, devices, run_id
