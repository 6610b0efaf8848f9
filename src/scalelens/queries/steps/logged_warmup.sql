-- Step records that the log itself calls warm-up, in the form of step_times.
--
-- Answers: Which steps did the program set apart before it began to measure?
--   One row per run, attempt and step: the slowest rank's time, samples once.
--
-- Helper: used by selected_steps
--
-- Sources: steps, members, selected_runs
--
-- Parameters: runs
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
--   averaged_steps       BIGINT            steps that the time is a mean of
--   value_kind           VARCHAR           instant, interval_mean, running_mean, epoch_mean, run_mean or run_median
--   samples              DOUBLE samples    per step, of the global batch
--   tokens               DOUBLE tokens     per step, of the global batch
--   tflops_per_device    DOUBLE TFLOP/s    as printed
--   skipped_steps        BIGINT            iterations skipped in the interval
--   ts                   TIMESTAMP         time of the record
SELECT run_id, arg_max(file_id, step_s) AS file_id, arg_max(line, step_s) AS line, attempt, min(epoch) AS epoch, step,
    max(step_s) AS step_s, arg_max(averaged_steps, step_s) AS averaged_steps, arg_max(value_kind, step_s) AS value_kind,
    max(samples) AS samples, max(tokens) AS tokens, median(tflops_per_device) AS tflops_per_device,
    max(skipped_steps)::BIGINT AS skipped_steps, min(ts) AS ts
-- `main`: a query that calls this one may have a WITH part called steps or members.
FROM main.steps
WHERE phase = 'warmup' AND isfinite(step_s) AND run_id IN (FROM selected_runs(runs := runs))
    AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'twin')
GROUP BY run_id, attempt, step, CASE WHEN step IS NULL THEN concat(file_id, line) END
ORDER BY run_id, attempt, epoch, step, file_id, line
