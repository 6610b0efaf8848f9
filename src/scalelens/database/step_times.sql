-- One row per run, attempt and step: the slowest rank's time, samples once.
-- A running mean, or a mean of an epoch or a run, has a row of its own: it never replaces the step's own time.
-- This text defines the view `step_times` and the macro `_step_times_of`, which selects runs by a condition, as
-- `selected_runs` does, before it gathers their steps: DuckDB would gather those of all runs first.  With `of_epochs`
-- it gathers only records that name their epoch.
CREATE $what AS $kind
SELECT run_id,
       arg_max(file_id, coalesce(step_s, '-inf'::DOUBLE)) AS file_id,
       arg_max(line, coalesce(step_s, '-inf'::DOUBLE)) AS line,
       attempt, min(epoch) AS epoch, step,
       max(step_s) AS step_s,
       arg_max(averaged_steps, coalesce(step_s, '-inf'::DOUBLE)) AS averaged_steps,
       arg_max(value_kind, coalesce(step_s, '-inf'::DOUBLE)) AS value_kind,
       max(samples) AS samples, max(tokens) AS tokens, median(tflops_per_device) AS tflops_per_device,
       max(skipped_steps) AS skipped_steps, list_unique(list(rank))::BIGINT AS ranks, min(ts) AS ts
FROM main.steps
WHERE phase = 'train' AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'twin')$chosen
GROUP BY run_id, attempt, step, coalesce(value_kind NOT IN ('instant', 'interval_mean'), false),
         CASE WHEN step IS NULL
             THEN concat(file_id, CASE WHEN value_kind[:4] = 'run_' THEN value_kind ELSE line::VARCHAR END) END
