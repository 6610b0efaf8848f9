-- Runs whose rules follow from the numbers of their steps, with their statistics.
--
-- Answers: For which runs can the statistics be computed in one pass, and what do they rest on?
--   All records are from one file and one attempt.  Each is a single step with its number, and all state the same
--   samples and tokens, or none.  Epochs rise with the steps.  TFLOP/s are there for all records or for none, and if
--   there are any, they are from one rank.  The log names no warm-up of its own.  `batch_stats` reads millions of
--   records of such runs in a fraction of the time; for all other runs it reads `selected_steps`, which would give the
--   same for these.  If `epochs` are selected, or `exclude` is neither 'rules' nor 'none', no run is included.
--
-- Helper: used by batch_stats, runs_overview
--
-- Pays from: 10000 steps of runs without
--   phase = 'warmup' OR phase = 'train' AND (value_kind IS DISTINCT FROM 'instant' OR averaged_steps <> 1)
--
-- Sources: steps, members, phases, params, runs, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id               VARCHAR           run
--   n_steps              BIGINT            steps that no rule leaves out
--   n_excluded           BIGINT            steps that the rules leave out
--   first_step           BIGINT            smallest step of a record, including those left out
--   last_step            BIGINT            largest step of a record, including those left out
--   timed_s              DOUBLE s          seconds that the steps took, each with the largest time over the ranks
--   step_s_low           DOUBLE s          lower end of the interval of the median
--   step_s_high          DOUBLE s          upper end of the interval
--   interval_kind        VARCHAR           ci95, or range (smallest to largest record) where 95 % cannot be claimed
--   n_eff                DOUBLE            equivalent number of independent records
--   autocorrelation      DOUBLE            lag-1, of the ranks
--   reason               VARCHAR           why there is no 95 % interval
--   percentiles_s        DOUBLE[] s        5th, 25th, 50th, 75th, 95th and 99th percentile of the times
--   tflops_per_device    DOUBLE TFLOP/s    median as printed; NULL where the log states none
--   samples              DOUBLE samples    per step, of the global batch; else the run's global batch size
--   tokens               DOUBLE tokens     per step, of the global batch; else samples times the run's sequence length
WITH
-- Runs that are not plain.  Almost free where there are none: DuckDB sees it in the ranges of the row groups.
-- `main`: a query that calls this one may have a WITH part called steps or members.
others AS (
    SELECT run_id FROM main.steps WHERE phase = 'warmup'
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind <> 'instant'
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind IS NULL
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND averaged_steps <> 1
    UNION ALL SELECT run_id FROM main.steps WHERE implausible IS NOT NULL
    UNION ALL SELECT run_id FROM main.params WHERE key = 'writers' AND value = 'ambiguous'
    UNION ALL SELECT run_id FROM main.members WHERE why = 'twin'
    UNION ALL SELECT run_id FROM main.steps
    WHERE phase = 'train' AND run_id IN (SELECT run_id FROM main.members GROUP BY run_id HAVING count(*) > 1)
    GROUP BY run_id HAVING min(file_id) < max(file_id) OR min(part) < max(part)),
-- By part, not by run: otherwise DuckDB would join a run to each of millions of records (views.py).
of_parts AS (
    SELECT file_id, part, list(try_cast(step AS INTEGER)) AS steps, list(step_s) AS times_s,
        list(epoch) FILTER (WHERE epoch IS NOT NULL) AS epoch_of_steps,
        list(tflops_per_device) FILTER (WHERE tflops_per_device IS NOT NULL) AS tflops,
        coalesce(min(attempt), 0) AS attempt, min(samples) AS samples, min(tokens) AS tokens, count(ts) AS n_ts
    FROM main.steps
    WHERE phase = 'train' AND trim(epochs::VARCHAR) = '' AND exclude IN ('rules', 'none')
    GROUP BY file_id, part
    HAVING (count(attempt) = 0 OR count(attempt) = count(*) AND min(attempt) = max(attempt))
        AND (count(samples) = 0 OR count(samples) = count(*) AND min(samples) = max(samples))
        AND (count(tokens) = 0 OR count(tokens) = count(*) AND min(tokens) = max(tokens))
        AND count(ts) IN (0, count(*))),
-- The rules of selected_steps, as step numbers.
skipped AS (
    SELECT run_id, list(step) AS skipped_steps
    FROM main.steps WHERE phase = 'train' AND skipped_steps > 0 AND exclude = 'rules' GROUP BY run_id),
timed_with_more AS (
    SELECT run_id, list({attempt: coalesce(attempt, 0), step: step}) AS moments
    FROM main.phases WHERE phase IN ('evaluation', 'checkpoint') AND step IS NOT NULL AND exclude = 'rules' GROUP BY run_id),
chosen AS MATERIALIZED (
    SELECT run_id, file_id, part, global_batch_size, seq_length, skipped_steps,
        CASE WHEN regexp_matches(framework, '(?i)megatron|neox|primus') THEN moments END AS moments
    FROM main.runs JOIN main.members USING (run_id)
    LEFT JOIN skipped USING (run_id) LEFT JOIN timed_with_more USING (run_id)
    WHERE run_id IN (FROM selected_runs(runs := runs))
        AND run_id NOT IN (SELECT run_id FROM others WHERE run_id IS NOT NULL)),
counted AS MATERIALIZED (
    SELECT run_id, coalesce(samples, global_batch_size) AS samples,
        coalesce(tokens, coalesce(samples, global_batch_size) * seq_length) AS tokens,
        step_statistics(steps, times_s, epoch_of_steps, tflops,
            list_concat(skipped_steps, [m.step + 1 FOR m IN moments IF n_ts = 0 AND m.attempt = of_parts.attempt]),
            if(exclude = 'rules', greatest(floor(warmup), 0), 0)::BIGINT, exclude = 'rules') AS stats
    FROM of_parts JOIN chosen USING (file_id, part))
SELECT run_id, stats.n_steps, stats.n_excluded, stats.first_step, stats.last_step, stats.timed_s,
    stats.around.low AS step_s_low, stats.around.high AS step_s_high, stats.around.kind AS interval_kind,
    stats.around.n_eff, stats.around.autocorrelation, stats.around.reason,
    stats.percentiles AS percentiles_s, stats.tflops_per_device, samples, tokens
FROM counted WHERE stats IS NOT NULL
