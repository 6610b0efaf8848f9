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
--
-- Glance: run_id devices samples_per_s device_samples_per_s tokens_per_s device_tokens_per_s step_s n_steps
--   batch_per_device nodes precision model printed_samples_per_s
--   printed_tokens_per_s rate_scope note
--
-- When empty: not_compared
--
-- Sources: batch_stats, rates_logged, unstated_facts, runs, selected_runs
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
--   rate_scope               VARCHAR             what the printed rates are of: global (the job) or rank (a device)
--   note                     VARCHAR             what to know or doubt
SELECT run_id, model, r.precision, nodes, devices, r.global_batch_size / devices AS batch_per_device, s.n_steps,
    step_s, step_s_low, step_s_high, interval_kind, s.samples_per_s, s.samples_per_s / nodes AS node_samples_per_s,
    s.samples_per_s / devices AS device_samples_per_s, s.tokens_per_s, s.tokens_per_s / devices AS device_tokens_per_s,
    l.samples_per_s AS printed_samples_per_s, l.tokens_per_s AS printed_tokens_per_s, rate_scope,
    notes(list_concat([
        CASE WHEN devices IS NULL THEN 'no log states the number of devices' END, note,
        CASE WHEN l.n_steps = 0 AND s.n_steps IS NULL THEN 'all records are left out (exclude=none includes them)' END],
        facts)) AS note
FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id)
LEFT JOIN batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS s USING (run_id)
LEFT JOIN rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS l USING (run_id)
LEFT JOIN unstated_facts(runs := runs) USING (run_id)
WHERE s.n_steps > 0 OR l.n_steps = 0 OR rate_scope IS NOT NULL
ORDER BY model, r.precision, devices, run_id
