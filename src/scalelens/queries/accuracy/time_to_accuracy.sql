-- Time to a target: when a training run first reached an accuracy or a loss.
--
-- Answers: How long does it take until the model is good enough?
--   Validation decides where the log has any.  Otherwise training records decide, by the mean of the last few of them:
--   single batches pass the target by chance long before the model does.
--
-- Formula: the time of the first value (accuracy_curve) that is at least the target; for a loss, at most the target.
--
-- Reference: Coleman et al., DAWNBench, 2017; Mattson et al., MLPerf training benchmark, arXiv 1910.01500.
--
-- Assumptions: see accuracy_curve.
--
-- Limits: Nothing is known between two validations, so the time may be late by as much as the time between them.  One
--   run is one sample: MLPerf takes 3 to 40.  With a `clock` of `sum of steps` the time leaves out start-up, validation
--   and checkpoints, and cannot be compared with a wall-clock time.
--
-- Glance: run_id devices global_batch_size is_reached time_to_target_s~ score~ best_score~ epoch~ step~
--   device_hours~ decided_by clock
--
-- When empty: no run logs such a score, or nothing tells apart the launches or ranks that logged it
--
-- Sources: accuracy_curve, runs
--
-- Parameters: runs, score_name
--   target := 0.75          value to be reached
--   direction := 'auto'     'up' or 'down'; 'auto' is down for a loss, else up
--   window_records := 10    training records whose mean has to reach the target
--
-- Columns:
--   run_id               VARCHAR           run
--   model                VARCHAR           model
--   precision            VARCHAR           number format
--   devices              INTEGER           devices
--   global_batch_size    BIGINT samples    per step over all devices
--   is_reached           BOOLEAN           whether the target was reached
--   time_to_target_s     DOUBLE s          time until it was reached
--   clock                VARCHAR           where the time starts: run start or first record; or sum of steps
--   epoch                DOUBLE            epoch in which it was reached
--   step                 BIGINT            step at which it was reached
--   score                DOUBLE            value at that point
--   best_score           DOUBLE            best value of the run
--   device_hours         DOUBLE            devices times the time, in hours
--   decided_by           VARCHAR           validation, train (means of records), or metric
--   n_values             BIGINT            values that could decide
--   file_id              VARCHAR           file of the value
--   line                 BIGINT            line of the value
WITH
curve AS (
    SELECT *, coalesce(phase, 'metric') AS kind,
        count(*) FILTER (WHERE phase = 'validation') OVER (PARTITION BY run_id) AS n_validations,
        CASE WHEN direction = 'down' OR (direction = 'auto' AND score_name = 'loss') THEN -1
            WHEN direction IN ('auto', 'up') THEN 1 ELSE error('direction is ''auto'', ''up'' or ''down''') END AS sign
    FROM accuracy_curve(runs := runs, score_name := score_name)),
deciding AS (
    SELECT *, CASE WHEN kind <> 'train' THEN score
        WHEN count(*) OVER recent >= window_records THEN avg(score) OVER recent END AS judged
    FROM curve WHERE (kind = 'validation') = (n_validations > 0)
    WINDOW recent AS (PARTITION BY run_id, attempt, file_id ORDER BY line
        ROWS BETWEEN window_records - 1 PRECEDING AND CURRENT ROW)),
judged_runs AS (
    SELECT run_id, any_value(kind) AS decided_by, count(judged) AS n_values,
        max(judged * sign) * any_value(sign) AS best_score,
        arg_min({'elapsed_s': elapsed_s, 'clock': clock, 'epoch': epoch, 'step': step, 'score': judged, 'file_id': file_id,
            'line': line}, (attempt, file_id, line)) FILTER (WHERE judged * sign >= target * sign) AS hit
    FROM deciding GROUP BY run_id)
SELECT run_id, model, r.precision, devices, global_batch_size, hit IS NOT NULL AS is_reached,
    hit.elapsed_s AS time_to_target_s, hit.clock AS clock, hit.epoch AS epoch, hit.step AS step, hit.score AS score,
    best_score, devices * hit.elapsed_s / 3600 AS device_hours, decided_by, n_values, hit.file_id AS file_id, hit.line AS line
FROM judged_runs JOIN runs AS r USING (run_id)
WHERE n_values > 0
ORDER BY model, r.precision, devices, run_id
