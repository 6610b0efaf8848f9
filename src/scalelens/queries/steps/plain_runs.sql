-- Runs of which no rule but the warm-up can leave a record out, with their times.
--
-- Answers: Of which runs do the times of the steps follow from the records in one pass?
--   The records are of one file and one attempt, each is a single step with its number, and all state the same samples
--   and tokens, or none.  None states an epoch, TFLOP/s or a skipped iteration, and there is no evaluation, checkpoint or
--   warm-up that the log itself names.  `batch_stats` reads millions of records of such runs in a fraction of the time;
--   for all others it reads `selected_steps`, which would say the same of these.  Where `epochs` are asked for, or
--   another `exclude` than these two, no run is here.
--
-- Helper: used by batch_stats
--
-- Sources: steps, members, phases, params, runs, selected_runs
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   exclude := 'rules'      'none' leaves nothing out, 'steady' also what comes before the steady state
--
-- Columns:
--   run_id     VARCHAR           run
--   times_s    DOUBLE[] s        time of each step, the largest over the ranks, in the order of the steps
--   samples    DOUBLE samples    per step, of the global batch; else the run's global batch size
--   tokens     DOUBLE tokens     per step, of the global batch; else samples times the run's sequence length
WITH
of_runs AS (
    SELECT run_id, slowest_by_step(list(step), list(step_s)) AS times_s, min(samples) AS samples, min(tokens) AS tokens
    -- `main`: a query that calls this one may have a table of its own called steps or members.
    FROM main.steps
    WHERE phase IN ('train', 'warmup') AND trim(epochs::VARCHAR) = '' AND exclude IN ('rules', 'none')
    GROUP BY run_id
    HAVING bool_and(phase = 'train') AND bool_and(value_kind = 'instant') AND count(value_kind) = count(*)
        AND coalesce(min(averaged_steps), 1) = 1 AND coalesce(max(averaged_steps), 1) = 1
        AND count(epoch) = 0 AND count(tflops_per_device) = 0 AND coalesce(max(skipped_steps), 0) <= 0
        AND (count(attempt) = 0 OR count(attempt) = count(*) AND min(attempt) = max(attempt))
        AND (count(samples) = 0 OR count(samples) = count(*) AND min(samples) = max(samples))
        AND (count(tokens) = 0 OR count(tokens) = count(*) AND min(tokens) = max(tokens))),
of_several_files AS (
    SELECT run_id FROM main.steps
    WHERE phase IN ('train', 'warmup')
        AND run_id IN (SELECT run_id FROM main.members GROUP BY run_id HAVING count(*) > 1)
    GROUP BY run_id HAVING min(file_id) < max(file_id) OR min(part) < max(part)),
others AS (
    FROM of_several_files
    UNION ALL SELECT run_id FROM main.phases WHERE phase IN ('evaluation', 'checkpoint')
    UNION ALL SELECT run_id FROM main.params WHERE key = 'writers' AND value = 'ambiguous'
    UNION ALL SELECT run_id FROM main.members WHERE why = 'twin')
SELECT run_id, times_s, coalesce(samples, global_batch_size) AS samples,
    coalesce(tokens, coalesce(samples, global_batch_size) * seq_length) AS tokens
FROM of_runs JOIN main.runs USING (run_id)
WHERE times_s IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))
    AND run_id NOT IN (SELECT run_id FROM others WHERE run_id IS NOT NULL)
