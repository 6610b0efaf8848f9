-- Step records of the selected runs, each with the rules that leave it out.
--
-- Answers: What do the statistics read, and what do they leave out?
--   Nothing is left out for being slow.  Rows are in no order: sort by position_in_run.  The rules:
--   logged_warmup   the log itself calls it warm-up; no other rule applies to it
--   warmup          one of the first `warmup` records of an attempt (but not a value that stands for a whole run, or for
--                   an epoch that `epochs` chooses); records that the log calls warm-up count among them, so that
--                   warm-up is left out once
--   first_of_epoch  first batch of an epoch whose batches are all logged (epochs_logged)
--   last_of_epoch   last batch of such an epoch, if it is known to be the last
--   evaluation      an evaluation lies within the interval, and the program's timer keeps running: interval means whose
--                   record has no time stamp of its own (Megatron before core 0.6 and its forks; there single steps, too)
--   checkpoint      the same for saving a checkpoint
--   skipped         iterations in it were skipped (loss scale overflow)
--   implausible     the time cannot be true: it is not above zero, or longer than the stamps of its log
--   summary         a running mean, or the mean of an epoch or a run, if the steps are also logged one by one, or if the
--                   log gives the same mean before (JUBE prints its analysis, then tables of it)
--   not_steady      before the steady state of its attempt (steady_state); only with exclude := 'steady'
--   ambiguous       several launches or ranks wrote the records of the run, and nothing says which of them wrote this one
--
-- Helper: used by many queries
--
-- Partition: run_id, unordered
--
-- Sources: steps, runs_in_order, gathered_steps, logged_warmup, runs, params, phases, epochs_logged, [steady_state]
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id               VARCHAR           run
--   file_id              VARCHAR           file of the slowest rank's record
--   line                 BIGINT            line of the slowest rank's record
--   attempt              INTEGER           restart
--   epoch                DOUBLE            epoch
--   step                 BIGINT            step, the last of an interval
--   step_s               DOUBLE s          time of a step, the largest over the ranks; records without one are not
--                                          included
--   averaged_steps       BIGINT            steps that the time is a mean of, 1 where the log does not say
--   value_kind           VARCHAR           instant, interval_mean, running_mean, epoch_mean, run_mean or run_median
--   samples              DOUBLE samples    per step, of the global batch; else the run's global batch size
--   tokens               DOUBLE tokens     per step, of the global batch; else samples times the run's sequence length
--   tflops_per_device    DOUBLE TFLOP/s    as printed
--   ts                   TIMESTAMP         time of the record
--   position_in_run      BIGINT            position of the record among those of the run, from 1, in order
--   excluded_by          VARCHAR[]         rules that leave the record out; NULL where none does
WITH
-- Sorted once.  What follows is counted as the records come: without an order and a partition nothing is sorted again.
in_turn AS (
    SELECT *, row_number() OVER () AS nth,
        run_id IS DISTINCT FROM lag(run_id) OVER () AS begins_run,
        begins_run OR attempt <> lag(attempt) OVER () AS begins_attempt,
        coalesce(value_kind NOT IN ('instant', 'interval_mean'), false) AS is_smoothed,
        count(*) FILTER (WHERE NOT is_smoothed AND NOT is_logged_warmup) OVER (ROWS UNBOUNDED PRECEDING) AS nth_step,
        count(*) FILTER (WHERE is_smoothed AND NOT is_logged_warmup) OVER (ROWS UNBOUNDED PRECEDING) AS nth_smoothed
    FROM (
        SELECT * REPLACE (coalesce(attempt, 0) AS attempt)
        FROM (
            SELECT *, false AS is_logged_warmup FROM gathered_steps(runs := runs) WHERE isfinite(step_s)
            UNION ALL BY NAME
            SELECT *, true AS is_logged_warmup FROM logged_warmup(runs := runs))
        ORDER BY run_id, coalesce(attempt, 0), epoch, step, file_id, line)),
sorted AS MATERIALIZED (
    SELECT * EXCLUDE (nth, begins_run, begins_attempt, nth_step, nth_smoothed),
        nth - max(nth - 1) FILTER (WHERE begins_run) OVER (ROWS UNBOUNDED PRECEDING) AS position_in_run,
        if(is_smoothed,
            nth_smoothed - max(nth_smoothed - if(is_smoothed AND NOT is_logged_warmup, 1, 0)) FILTER (WHERE begins_attempt)
                OVER (ROWS UNBOUNDED PRECEDING),
            nth_step - max(nth_step - if(is_smoothed OR is_logged_warmup, 0, 1)) FILTER (WHERE begins_attempt)
                OVER (ROWS UNBOUNDED PRECEDING)) AS position_after_named
    FROM in_turn),
-- Warm-up that the log names comes first in its attempt, wherever its records are.
n_named AS (SELECT run_id, attempt, is_smoothed, count(*) AS n_named FROM sorted WHERE is_logged_warmup GROUP BY ALL),
of_runs AS (
    SELECT run_id, bool_or(value_kind IN ('instant', 'interval_mean') AND NOT is_logged_warmup) AS run_has_steps,
        bool_or(value_kind = 'run_median') AS run_has_median,
        min({shorter: -averaged_steps, file_id: file_id, line: line})
            FILTER (WHERE value_kind = 'run_mean' AND step IS NULL) AS longest_mean,
        min({shorter: -averaged_steps, file_id: file_id, line: line})
            FILTER (WHERE value_kind = 'run_median' AND step IS NULL) AS longest_median
    FROM sorted GROUP BY run_id),
ambiguous_runs AS (SELECT run_id FROM params WHERE key = 'writers' AND value = 'ambiguous'),
megatrons AS (SELECT run_id FROM runs WHERE regexp_matches(framework, '(?i)megatron|neox|primus')),
moments AS MATERIALIZED (
    SELECT DISTINCT run_id, coalesce(attempt, 0) AS attempt, phase, step AS happened
    FROM phases WHERE phase IN ('evaluation', 'checkpoint')),
records AS NOT MATERIALIZED (
    SELECT t.run_id, file_id, line, attempt, epoch, step, step_s, coalesce(averaged_steps, 1) AS averaged_steps, value_kind,
        is_smoothed, coalesce(samples, global_batch_size) AS samples,
        coalesce(tokens, coalesce(samples, global_batch_size) * seq_length) AS tokens,
        tflops_per_device, skipped_steps, is_implausible, ts, is_logged_warmup, position_in_run, position_after_named,
        ts IS NULL AND (value_kind = 'interval_mean' OR run_id IN (SELECT run_id FROM megatrons))
            AND run_id IN (SELECT run_id FROM moments) AS may_hold_more
    FROM (
        SELECT run_id, file_id, line, coalesce(attempt, 0) AS attempt, epoch, step, step_s, averaged_steps, value_kind,
            false AS is_smoothed, samples, tokens,
            if(tflops_per_device >= 0, tflops_per_device, NULL)::DOUBLE AS tflops_per_device, skipped_steps,
            implausible LIKE '%step_s%' AS is_implausible, ts, false AS is_logged_warmup,
            (step - first_step) // apart + 1 AS position_in_run, position_in_run AS position_after_named
        FROM main.steps JOIN runs_in_order(runs := runs) USING (run_id) WHERE phase = 'train'
        UNION ALL BY NAME FROM sorted) AS t JOIN runs USING (run_id)),
-- What happens after step e is timed with step e + 1, so it lies within the interval of a record if e is between
-- step - averaged_steps and step - 1.  Where that is several steps, it is the latest one.
held AS (
    SELECT run_id, attempt, happened + 1 AS step, 1 AS averaged_steps, phase FROM moments
    UNION ALL
    SELECT r.run_id, r.attempt, r.step, averaged_steps, r.phase
    FROM (
        SELECT DISTINCT run_id, attempt, step, averaged_steps, phase
        FROM sorted JOIN (SELECT DISTINCT run_id, phase FROM moments) USING (run_id)
        WHERE ts IS NULL AND averaged_steps > 1) AS r
    ASOF JOIN moments AS m ON r.run_id = m.run_id AND r.attempt = m.attempt AND r.phase = m.phase AND m.happened < r.step
    WHERE happened >= step - averaged_steps),
holding AS (
    SELECT run_id, attempt, step, averaged_steps, bool_or(phase = 'evaluation') AS holds_evaluation,
        bool_or(phase = 'checkpoint') AS holds_checkpoint
    FROM held GROUP BY ALL),
judged AS (
    SELECT r.*, CASE WHEN is_logged_warmup THEN ['logged_warmup'] ELSE list_filter([
            CASE WHEN coalesce(n_named, 0) + position_after_named <= warmup AND value_kind NOT IN ('run_mean', 'run_median')
                AND NOT (value_kind = 'epoch_mean' AND trim(epochs::VARCHAR) <> '') THEN 'warmup' END,
            CASE WHEN has_every_batch AND starts_in_log AND step = first_step THEN 'first_of_epoch' END,
            CASE WHEN has_every_batch AND ends_in_log AND step = last_step THEN 'last_of_epoch' END,
            CASE WHEN may_hold_more AND holds_evaluation THEN 'evaluation' END,
            CASE WHEN may_hold_more AND holds_checkpoint THEN 'checkpoint' END,
            CASE WHEN skipped_steps > 0 THEN 'skipped' END,
            CASE WHEN is_implausible THEN 'implausible' END,
            CASE WHEN step IS NULL AND (
                    value_kind = 'run_mean' AND (file_id, line) <> (longest_mean.file_id, longest_mean.line)
                    OR value_kind = 'run_median' AND (file_id, line) <> (longest_median.file_id, longest_median.line))
                OR run_has_steps AND is_smoothed
                OR run_has_median AND value_kind = 'run_mean' THEN 'summary' END,
            CASE WHEN r.run_id IN (SELECT run_id FROM ambiguous_runs) THEN 'ambiguous' END
        ], lambda rule: rule IS NOT NULL) END AS rules
    FROM records AS r LEFT JOIN of_runs USING (run_id) LEFT JOIN n_named USING (run_id, attempt, is_smoothed)
    LEFT JOIN holding USING (run_id, attempt, step, averaged_steps)
    LEFT JOIN epochs_logged(runs := runs) AS l ON l.run_id = r.run_id AND l.attempt = r.attempt AND l.epoch = r.epoch)
SELECT run_id, file_id, line, attempt, epoch, step, step_s, averaged_steps, value_kind, samples, tokens,
    tflops_per_device, ts, position_in_run,
    CASE exclude WHEN 'none' THEN NULL WHEN 'rules' THEN CASE WHEN rules <> [] THEN rules END
        WHEN 'steady' THEN nullif(CASE WHEN step < steady_from_step AND rules <> ['logged_warmup']
            THEN list_append(rules, 'not_steady') ELSE rules END, [])
        ELSE error('exclude is ''rules'', ''steady'' or ''none''') END AS excluded_by
FROM judged
-- Called in a text, so that DuckDB plans it only where it is needed.
LEFT JOIN query(CASE exclude
        WHEN 'steady' THEN 'SELECT run_id, attempt, steady_from_step FROM steady_state(runs := ' || quoted(runs) || ')'
        ELSE 'SELECT NULL::VARCHAR AS run_id, NULL::INTEGER AS attempt, NULL::BIGINT AS steady_from_step WHERE false' END) AS paces
    USING (run_id, attempt)
WHERE trim(epochs::VARCHAR) = ''
    OR len([span FOR span IN [string_split(span, '-') FOR span IN string_split(epochs::VARCHAR, ',') IF trim(span) <> '']
        IF floor(epoch) BETWEEN span[1]::INTEGER AND span[-1]::INTEGER]) > 0
