-- What was run: one row per run, with its settings and how it ended.
--
-- Answers: What is in this warehouse?
--
-- Glance: run_id model system nodes devices global_batch_size step_s~ outcome printed_samples_per_s~
--   printed_tokens_per_s~ rate_scope precision n_records~ attempts n_problems~ note outcome_text
--
-- Sources: runs, params, members, step_times, problems, selected_runs, plain_runs, selected_steps, rates_logged,
--   unstated_facts
--
-- Parameters: runs
--   epochs := ''          epochs and ranges of them, '4' or '1-3,5'; empty takes all; for step_s
--   warmup := 2           records left out at the start of each attempt; for step_s
--   exclude := 'rules'    'none' leaves nothing out, 'steady' also leaves out what comes before the steady state; for
--                         step_s
--
-- Columns:
--   run_id               VARCHAR           run
--   name                 VARCHAR           name of the file or folder that it comes from
--   framework            VARCHAR           training framework
--   model                VARCHAR           model as named, or derived from its shape
--   system               VARCHAR           machine
--   precision            VARCHAR           number format
--   nodes                INTEGER           nodes
--   devices              INTEGER           devices that took part
--   micro_batch_size     BIGINT samples    per device and forward pass
--   global_batch_size    BIGINT samples    per step over all devices
--   tp                   INTEGER           tensor parallel size
--   pp                   INTEGER           pipeline parallel size
--   dp                   INTEGER           data parallel size
--   cp                   INTEGER           context parallel size
--   n_records            BIGINT            step records in the log, before any rule leaves some out
--   first_step           BIGINT            smallest step of a record
--   last_step            BIGINT            largest step of a record
--   step_s               DOUBLE s          median time of a step (batch_stats)
--   printed_samples_per_s    DOUBLE samples/s    by the rates that the log prints (throughput)
--   printed_tokens_per_s     DOUBLE tokens/s     the same for tokens
--   rate_scope               VARCHAR             what the printed rates are of: global (the job) or rank (a device); NULL where
--                                                nothing says it
--   outcome              VARCHAR           completed, oom, collective_timeout, time_limit, ... or unknown
--   outcome_text         VARCHAR           the line of the log that says so; NULL where the run completed
--   attempts             INTEGER           times it was started
--   n_problems           BIGINT            lines that were not understood
--   note                 VARCHAR           facts that no log states: inferred from others, or from the path
WITH
-- As in batch_stats: most runs are read in one pass, the others step by step.
plain AS MATERIALIZED (
    FROM plain_runs(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
logged AS (
    SELECT run_id, n_steps + n_excluded AS n_records, first_step, last_step FROM plain
    UNION ALL
    SELECT run_id, count(*), min(step), max(step)
    FROM _step_times_of(
        runs := 'run_id NOT IN (SELECT run_id FROM plain)' || and_selected(runs))
    GROUP BY run_id),
endings AS (
    SELECT run_id, line AS outcome_line, any_value(value) AS outcome_text FROM params
    WHERE key = 'outcome_text' GROUP BY run_id, line),
problems_of_runs AS (SELECT run_id, count(*) AS n_problems FROM problems GROUP BY run_id),
times AS (
    SELECT run_id, percentiles_s[3] AS step_s FROM plain
    UNION ALL
    SELECT run_id, median(step_s)
    FROM selected_steps(epochs := epochs, warmup := warmup, exclude := exclude,
        runs := 'run_id NOT IN (SELECT run_id FROM plain)' || and_selected(runs))
    WHERE excluded_by IS NULL GROUP BY run_id)
SELECT r.run_id, name, framework, model, system, r.precision, nodes, devices, micro_batch_size, global_batch_size,
    tp, pp, dp, cp, coalesce(n_records, 0) AS n_records, first_step, last_step, step_s,
    samples_per_s AS printed_samples_per_s, tokens_per_s AS printed_tokens_per_s, rate_scope, outcome,
    outcome_text, attempts,
    coalesce(n_problems, 0) AS n_problems, notes(facts) AS note
FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id)
LEFT JOIN logged USING (run_id) LEFT JOIN problems_of_runs USING (run_id) LEFT JOIN times USING (run_id)
LEFT JOIN endings AS e ON e.run_id = r.run_id AND e.outcome_line = r.outcome_line
LEFT JOIN unstated_facts(runs := runs) USING (run_id)
LEFT JOIN (SELECT run_id, min(part) AS part FROM members GROUP BY run_id) USING (run_id)
LEFT JOIN rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) USING (run_id)
-- n2 before n16: each number of a path is compared as a number.  Runs of one log are in its order.
ORDER BY system, model, r.precision, devices,
    list_transform(regexp_extract_all(r.path, '[0-9]{1,18}|[^0-9]+'),
        lambda piece: CASE WHEN piece SIMILAR TO '[0-9]+' THEN lpad(piece, 18, '0') ELSE piece END),
    r.path, part, run_id
