-- Runs that are repeats of each other, each with its value.
--
-- Answers: Which runs are repeats of each other, and what is their value?
--   Runs with the same `alike` agree in all settings that can change speed, in system, model and devices.
--
-- Helper: used by compare and noise
--
-- Sources: runs, run_values, held_settings
--
-- Parameters: runs, epochs, warmup, exclude, measure, quantile
--
-- Columns:
--   run_id             VARCHAR      run
--   system             VARCHAR      machine
--   model              VARCHAR      model
--   precision          VARCHAR      number format of the training
--   devices            INTEGER      devices
--   device_model       VARCHAR      model of the devices
--   global_batch_size  BIGINT samples  per step over all devices
--   started_at         TIMESTAMP    start of the run
--   run_value          DOUBLE       value of the run, in the unit of the measure
--   alike              VARCHAR      all that repeats agree in
SELECT r.run_id, system, model, r.precision, devices, device_model, global_batch_size, started_at, run_value,
    concat_ws(' / ', system, devices, device_model, r.precision, global_batch_size, seq_length, held, held_of_model,
        layout, study) AS alike
FROM run_values(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, measure := measure,
    quantile := quantile) AS v JOIN runs AS r ON r.run_id = v.run_id
JOIN held_settings(runs := runs) AS h ON h.run_id = v.run_id
WHERE run_value > 0 AND devices IS NOT NULL
ORDER BY r.run_id
