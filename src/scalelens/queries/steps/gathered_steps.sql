-- Time of each step of the runs whose records are not in order, as in step_times.
--
-- Answers: What did the log report for each step, gathered over its ranks?
--   Runs of runs_of_single_records are read as they are; the records of the others are gathered.
--
-- Helper: used by selected_steps and logged_steps
--
-- Sources: steps, step_times, runs_in_order, runs_of_single_records, runs
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
WITH
ordered AS MATERIALIZED (SELECT run_id FROM runs_in_order(runs := runs)),
alone AS MATERIALIZED (FROM runs_of_single_records(runs := runs) EXCEPT SELECT run_id FROM ordered)
SELECT run_id, file_id, line, attempt, epoch, step, step_s, averaged_steps, value_kind, samples, tokens,
    if(tflops_per_device >= 0, tflops_per_device, NULL)::DOUBLE AS tflops_per_device, skipped_steps,
    coalesce(step_s IS NOT NULL AND implausible LIKE '%step_s%', false) AS is_implausible, ts
FROM main.steps JOIN alone USING (run_id)
WHERE phase = 'train' AND (NOT of_epochs OR epoch IS NOT NULL)
UNION ALL BY NAME
SELECT * EXCLUDE (ranks)
FROM _step_times_of(of_epochs := of_epochs,
    runs := 'run_id NOT IN (SELECT run_id FROM ordered UNION ALL FROM alone)' || and_selected(runs))
