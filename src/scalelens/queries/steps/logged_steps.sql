-- Time of each step of the selected runs, as in step_times, with its position if the step alone determines it.
--
-- Answers: What did the log report for each step, gathered over its ranks?
--   Runs of runs_in_order and of runs_of_single_records are read as they are; the records of the others are gathered.
--
-- Helper: used by selected_steps, epochs_logged and steady_state
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
--   is_in_order          BOOLEAN           whether the record was read as one of a run of runs_in_order
--   position_in_run      BIGINT            position of the record among those of the run, from 1; NULL where it was not
WITH
ordered AS MATERIALIZED (FROM runs_in_order(runs := runs)),
alone AS MATERIALIZED (FROM runs_of_single_records(runs := runs) EXCEPT SELECT run_id FROM ordered),
as_they_are AS NOT MATERIALIZED (
    SELECT run_id, file_id, line, attempt, epoch, step, step_s, averaged_steps, value_kind, samples, tokens,
        if(tflops_per_device >= 0, tflops_per_device, NULL)::DOUBLE AS tflops_per_device, skipped_steps,
        implausible LIKE '%step_s%' AS is_implausible, ts
    FROM main.steps WHERE phase = 'train' AND (NOT of_epochs OR epoch IS NOT NULL))
SELECT * EXCLUDE (first_step, apart), true AS is_in_order, (step - first_step) // apart + 1 AS position_in_run
FROM as_they_are JOIN ordered USING (run_id)
UNION ALL BY NAME
SELECT * REPLACE (step_s IS NOT NULL AND coalesce(is_implausible, false) AS is_implausible), false AS is_in_order
FROM as_they_are JOIN alone USING (run_id)
UNION ALL BY NAME
SELECT * EXCLUDE (ranks), false AS is_in_order
FROM _step_times_of(of_epochs := of_epochs,
    runs := 'run_id NOT IN (SELECT run_id FROM ordered UNION ALL FROM alone)' || and_selected(runs))
