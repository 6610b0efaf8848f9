-- Time of each step of the selected runs, as in step_times, with its position if the step alone determines it.
--
-- Answers: What did the log report for each step, gathered over its ranks?
--   Runs of runs_in_order are read as they are; the others are those of gathered_steps.
--
-- Helper: used by epochs_logged and steady_state
--
-- Sources: steps, runs_in_order, gathered_steps
--
-- Parameters: runs
--   of_epochs := false    true: only records that name their epoch
--
-- Columns:
--   run_id               VARCHAR           run
--   file_id              VARCHAR           file of the slowest rank's record
--   line                 BIGINT            line of the slowest rank's record
--   attempt              INTEGER           restart
--   epoch                DOUBLE            epoch
--   step                 BIGINT            step, the last of an interval
--   step_s               DOUBLE s          time of a step, the largest over the ranks
--   averaged_steps       BIGINT            steps that the time is a mean of
--   value_kind           VARCHAR           instant, interval_mean, running_mean, epoch_mean, run_mean or run_median
--   samples              DOUBLE samples    per step, of the global batch
--   tokens               DOUBLE tokens     per step, of the global batch
--   tflops_per_device    DOUBLE TFLOP/s    as printed
--   skipped_steps        BIGINT            iterations skipped in the interval
--   is_implausible       BOOLEAN           the time cannot be true
--   ts                   TIMESTAMP         time of the record
--   is_in_order          BOOLEAN           whether the record was read as one of a run of runs_in_order
--   position_in_run      BIGINT            position of the record among those of the run, from 1; NULL where it was not
SELECT run_id, file_id, line, attempt, epoch, step, step_s, averaged_steps, value_kind, samples, tokens,
    if(tflops_per_device >= 0, tflops_per_device, NULL)::DOUBLE AS tflops_per_device, skipped_steps,
    implausible LIKE '%step_s%' AS is_implausible, ts, true AS is_in_order, (step - first_step) // apart + 1 AS position_in_run
-- `main`: a query that calls this one may have a WITH part called steps.
FROM main.steps JOIN runs_in_order(runs := runs) USING (run_id)
WHERE phase = 'train' AND (NOT of_epochs OR epoch IS NOT NULL)
UNION ALL BY NAME
SELECT *, false AS is_in_order FROM gathered_steps(runs := runs, of_epochs := of_epochs)
