-- Runs whose rules follow from the numbers of their steps, with the times that these rules leave.
--
-- Answers: Of which runs are the statistics read in one pass, and what do they rest on?
--   The records are of one file and one attempt.  Each is a single step with its number, and all state the same samples
--   and tokens, or none.  Epochs rise with the steps.  TFLOP/s are there for all records or for none, and where there are
--   some, one rank has them.  The log names no warm-up of its own.  `batch_stats` reads millions of records of such runs
--   in a fraction of the time; for all others it reads `selected_steps`, which would say the same of these.  Where
--   `epochs` are asked for, or another `exclude` than these two, no run is here.
--
-- Helper: used by batch_stats
--
-- Sources: steps, members, phases, params, runs, selected_runs, epochs_logged
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   warmup := 2             records left out at the start
--   exclude := 'rules'      'none' leaves nothing out, 'steady' also what comes before the steady state
--
-- Columns:
--   run_id               VARCHAR           run
--   times_s              DOUBLE[] s        time of each step that no rule leaves out, the largest over the ranks, in order
--   tflops_per_device    DOUBLE[] TFLOP/s  as printed, of the same steps; NULL where the log states none
--   n_excluded           BIGINT            steps that a rule leaves out
--   samples              DOUBLE samples    per step, of the global batch; else the run's global batch size
--   tokens               DOUBLE tokens     per step, of the global batch; else samples times the run's sequence length
WITH
-- Almost free where a run has nothing of the kind: DuckDB sees it in the ranges of the row groups.
-- `main`: a query that calls this one may have a table of its own called steps or members.
others AS (
    SELECT run_id FROM main.steps WHERE phase = 'warmup'
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind <> 'instant'
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind IS NULL
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND averaged_steps <> 1
    UNION ALL SELECT run_id FROM main.params WHERE key = 'writers' AND value = 'ambiguous'
    UNION ALL SELECT run_id FROM main.members WHERE why = 'twin'
    UNION ALL SELECT run_id FROM main.steps
    WHERE phase = 'train' AND run_id IN (SELECT run_id FROM main.members GROUP BY run_id HAVING count(*) > 1)
    GROUP BY run_id HAVING min(file_id) < max(file_id) OR min(part) < max(part)),
of_runs AS (
    SELECT run_id, list(step) AS steps, list(step_s) AS times_s, list(epoch) FILTER (WHERE epoch IS NOT NULL) AS epoch_of_steps,
        list(tflops_per_device) FILTER (WHERE tflops_per_device IS NOT NULL) AS tflops,
        coalesce(min(attempt), 0) AS attempt, min(samples) AS samples, min(tokens) AS tokens, count(ts) AS n_ts
    FROM main.steps
    WHERE phase = 'train' AND trim(epochs::VARCHAR) = '' AND exclude IN ('rules', 'none')
    GROUP BY run_id
    HAVING (count(attempt) = 0 OR count(attempt) = count(*) AND min(attempt) = max(attempt))
        AND (count(samples) = 0 OR count(samples) = count(*) AND min(samples) = max(samples))
        AND (count(tokens) = 0 OR count(tokens) = count(*) AND min(tokens) = max(tokens))
        AND count(ts) IN (0, count(*))),
-- The rules of selected_steps, as numbers of steps.
whole_epochs AS (
    FROM epochs_logged(runs := concat(
        'run_id IN (SELECT run_id FROM main.steps WHERE epoch IS NOT NULL)', ' AND (' || nullif(trim(runs), '') || ')'))
    WHERE has_every_batch),
odd_steps AS (
    SELECT run_id, list(step) AS left_out
    FROM (
        SELECT run_id, first_step AS step FROM whole_epochs WHERE starts_in_log
        UNION ALL SELECT run_id, last_step FROM whole_epochs WHERE ends_in_log
        UNION ALL SELECT run_id, step FROM main.steps WHERE phase = 'train' AND skipped_steps > 0)
    WHERE exclude = 'rules' GROUP BY run_id),
timed_with_more AS (
    SELECT run_id, list({attempt: coalesce(attempt, 0), step: step}) AS moments
    FROM main.phases WHERE phase IN ('evaluation', 'checkpoint') AND step IS NOT NULL AND exclude = 'rules' GROUP BY run_id),
chosen AS MATERIALIZED (
    SELECT run_id, global_batch_size, seq_length, o.left_out AS odd_steps,
        CASE WHEN regexp_matches(framework, '(?i)megatron|neox|primus') THEN moments END AS moments
    FROM main.runs LEFT JOIN odd_steps AS o USING (run_id) LEFT JOIN timed_with_more USING (run_id)
    WHERE run_id IN (FROM selected_runs(runs := runs))
        AND run_id NOT IN (SELECT run_id FROM others WHERE run_id IS NOT NULL)),
kept AS MATERIALIZED (
    SELECT run_id, coalesce(samples, global_batch_size) AS samples,
        coalesce(tokens, coalesce(samples, global_batch_size) * seq_length) AS tokens,
        kept_records(steps, times_s, epoch_of_steps, tflops,
            list_concat(odd_steps, [m.step + 1 FOR m IN moments IF n_ts = 0 AND m.attempt = of_runs.attempt]),
            if(exclude = 'rules', greatest(floor(warmup), 0), 0)::BIGINT) AS records
    FROM of_runs JOIN chosen USING (run_id))
SELECT run_id, records.times_s, records.tflops_per_device, records.n_excluded, samples, tokens
FROM kept WHERE records IS NOT NULL
