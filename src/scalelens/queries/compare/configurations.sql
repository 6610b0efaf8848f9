-- Configurations: runs that share every performance setting, one row each, with their step time.
--
-- Answers: Which configurations were measured, how often, and how long does a step of each take?
--   As in `scaling`, the run is the unit where there are repeats; for a single run the interval is that of its steps.
--   Precision includes the format of fp8.  A gradient accumulation that follows from the batch sizes does not count as
--   a setting.
--
-- Helper: used by ablation, batch_size_curve and batch_device_grid
--
-- Sources: scaling_points, configuration, labels
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--
-- Columns:
--   configuration        VARCHAR             smallest run_id of its runs
--   all_settings         VARCHAR[]           setting and value, in the order of the catalog
--   held                 VARCHAR             labels, and the folder of runs whose system is not known
--   run_ids              VARCHAR[]           runs, the fastest first
--   n_runs               BIGINT              runs
--   n_steps              BIGINT              records that the statistics rest on, over all runs
--   system               VARCHAR             machine
--   model                VARCHAR             model
--   precision            VARCHAR             number format
--   device_model         VARCHAR             model of the device
--   devices              INTEGER             devices
--   global_batch_size    BIGINT samples      per step over all devices
--   step_s               DOUBLE s            time of a step; for repeats, the median over the runs
--   step_s_low           DOUBLE s            lower end of its interval
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95, or range where 95 % cannot be claimed
--   interval_of          VARCHAR             steps (within one run) or runs (between repeats)
--   samples_per_s        DOUBLE samples/s    global batch over the time of a step
--   scatter              DOUBLE              longest time over shortest of the repeats
WITH
points AS (
    SELECT * EXCLUDE (settings, held, step_s)
    FROM scaling_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude,
        metric := CASE statistic WHEN 'median' THEN 't_b' WHEN 'mean' THEN 'mean_s' ELSE statistic END)),
performance_settings AS (
    SELECT run_id, setting_order, setting, value,
        max(value) FILTER (WHERE setting = 'fp8' AND key <> 'fp8_recipe') OVER of_run AS fp8,
        count(*) FILTER (WHERE setting IN ('micro_batch_size', 'global_batch_size')) OVER of_run = 2 AS has_batches
    FROM configuration(runs := runs) AS c WHERE c.class = 'performance'
    WINDOW of_run AS (PARTITION BY run_id)),
texts AS (
    SELECT run_id, max(value) FILTER (WHERE setting = 'device_model') AS device_model,
        list(setting || ' ' || CASE WHEN setting = 'precision' AND fp8 IS NOT NULL THEN value || '+fp8' ELSE value END
            ORDER BY setting_order) AS settings
    FROM performance_settings
    WHERE setting NOT IN ('dp', 'fp8') AND NOT (setting = 'gradient_accumulation' AND has_batches) GROUP BY run_id)
SELECT min(run_id) AS configuration, settings AS all_settings, concat_ws(', ', labels, study) AS held,
    list(run_id ORDER BY time_s, run_id) AS run_ids, count(*) AS n_runs, sum(n_steps)::BIGINT AS n_steps,
    any_value(system) AS system, any_value(model) AS model, any_value(p.precision) AS precision,
    any_value(device_model) AS device_model, devices, global_batch_size,
    median(time_s) AS step_s,
    CASE WHEN n_runs > 1 THEN median_interval_between_runs(list(time_s)).low ELSE min(time_s_low) END AS step_s_low,
    CASE WHEN n_runs > 1 THEN median_interval_between_runs(list(time_s)).high ELSE max(time_s_high) END AS step_s_high,
    CASE WHEN n_runs > 1 THEN median_interval_between_runs(list(time_s)).kind ELSE min(interval_kind) END AS interval_kind,
    CASE WHEN n_runs > 1 THEN 'runs' ELSE 'steps' END AS interval_of,
    global_batch_size / median(time_s) AS samples_per_s,
    max(time_s) / min(time_s) AS scatter
FROM points AS p JOIN texts USING (run_id) LEFT JOIN labels() USING (run_id)
GROUP BY settings, held, devices, global_batch_size
ORDER BY configuration
