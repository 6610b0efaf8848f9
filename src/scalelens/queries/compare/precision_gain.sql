-- Gain by precision: the speedup of a narrower number format where all else is equal.
--
-- Answers: How much faster is training in a narrower number format?
--   From the wider format to bf16, fp16, amp or fp8.  These are the rows of `ablation` whose one changed setting is the
--   precision.
--
-- Formula: speedup = (W1 / t1) / (W0 / t0), with W the global batch and t the time of a step, 0 before and 1 after the
--   change.
--
-- Reference: see ablation
--
-- Limits: A narrower format often allows a larger batch.  That gain is not included: the batches are equal.
--
-- Glance: from_precision to_precision speedup from_step_s to_step_s model system devices device_model note
--
-- Sources: ablation
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--
-- Columns:
--   from_precision    VARCHAR      wider number format
--   to_precision      VARCHAR      narrower number format
--   system            VARCHAR      machine
--   model             VARCHAR      model
--   device_model      VARCHAR      model of the device
--   devices           INTEGER      devices
--   speedup           DOUBLE       throughput after over throughput before; above 1 is a gain
--   speedup_low       DOUBLE       lower end; NULL where either side has one run
--   speedup_high      DOUBLE       upper end
--   interval_kind     VARCHAR      ci95 (at least) where both sides have one, else range
--   from_step_s       DOUBLE s     time of a step before the change
--   to_step_s         DOUBLE s     time of a step after the change
--   from_run_ids      VARCHAR[]    runs before the change
--   to_run_ids        VARCHAR[]    runs after the change
--   note              VARCHAR      what to know or doubt
SELECT from_value AS from_precision, to_value AS to_precision, * EXCLUDE (setting, from_value, to_value)
FROM ablation(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, statistic := statistic)
WHERE setting = 'precision' AND from_value IS NOT NULL
ORDER BY model, devices, from_precision, to_precision, from_run_ids
