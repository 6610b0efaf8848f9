-- Ablation: the effect of one setting where all others are equal.
--
-- Answers: What did a single change of the configuration gain or cost?
--   One row for each pair of configurations that differ in one performance setting and in nothing else that a log
--   states.  The change is from `from_value` to `to_value`: from not set to set, or from the smaller to the larger
--   number.  Pairs that differ in their number of devices belong to `scaling`.
--
-- Formula: speedup = (W1 / t1) / (W0 / t0), with W the global batch and t the time of a step, 0 before and 1 after the
--   change.  Its interval combines the slow end of one side with the fast end of the other, so it carries the
--   uncertainty of both.
--
-- Reference: Hoefler and Belli, SC'15, rule 7.  Kalibera and Jones, arXiv 2007.10899: the run is the unit.
--
-- Assumptions: Settings that no log states did not differ.
--
-- Limits: No interval without repeats on both sides.  No speedup where repeats differ by half or more.  A setting that
--   only one log states counts as the change, because settings that are off are often not printed.
--
-- Glance: setting from_value to_value speedup from_step_s to_step_s model system devices device_model from_run_ids
--   to_run_ids note
--
-- When empty: no two configurations with times of steps differ in one setting alone
--
-- Sources: configurations, settings_catalog
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--
-- Columns:
--   setting          VARCHAR      canonical name of the setting (FROM settings_catalog)
--   from_value       VARCHAR      its value before; NULL where it is not stated
--   to_value         VARCHAR      its value after
--   system           VARCHAR      machine
--   model            VARCHAR      model
--   device_model     VARCHAR      model of the device
--   devices          INTEGER      devices
--   speedup          DOUBLE       throughput after over throughput before; above 1 is a gain
--   speedup_low      DOUBLE       lower end; NULL where either side has one run
--   speedup_high     DOUBLE       upper end
--   interval_kind    VARCHAR      ci95 (at least) where both sides have one, else range
--   from_step_s      DOUBLE s     time of a step before the change
--   to_step_s        DOUBLE s     time of a step after the change
--   from_run_ids     VARCHAR[]    runs before the change
--   to_run_ids       VARCHAR[]    runs after the change
--   note             VARCHAR      what to know or doubt
WITH
measured AS (
    SELECT *, array_to_string(all_settings, ', ') AS joined_settings
    FROM configurations(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, statistic := statistic)),
parts AS (SELECT configuration, held, all_settings, unnest(all_settings) AS part FROM measured),
without_one AS (
    SELECT configuration, held, split_part(part, ' ', 1) AS setting, substr(part, strpos(part, ' ') + 1) AS value,
        array_to_string([other FOR other IN all_settings IF other <> part], ', ') AS others,
        coalesce(list_position(['fp64', 'fp32', 'tf32', 'amp', 'fp16', 'bf16', 'fp8', 'mxfp4', 'nvfp4', 'fp4'],
            split_part(value, '+', 1)), 11) AS width
    FROM parts),
changes AS (
    SELECT a.setting, a.configuration AS before, b.configuration AS after, a.value AS from_value, b.value AS to_value
    FROM without_one AS a JOIN without_one AS b USING (held, setting, others)
    WHERE CASE WHEN a.setting = 'precision' THEN (a.width, a.value) < (b.width, b.value)
        ELSE coalesce(TRY_CAST(a.value AS DOUBLE) < TRY_CAST(b.value AS DOUBLE), a.value < b.value) END
    UNION ALL
    SELECT b.setting, a.configuration, b.configuration, NULL, b.value
    FROM measured AS a JOIN without_one AS b ON a.held = b.held AND a.joined_settings = b.others),
pairs AS (
    SELECT c.*, a.system, a.model, a.device_model, a.devices, a.step_s AS from_step_s, b.step_s AS to_step_s,
        a.run_ids AS from_run_ids, b.run_ids AS to_run_ids, b.samples_per_s / a.samples_per_s AS ratio,
        greatest(a.scatter, b.scatter) AS longest_over_shortest,
        s.place AS setting_order,
        s.setting NOT IN ('seq_length', 'image_size') AND (s.varies_with IS DISTINCT FROM 'model' OR s.setting IN ('tp', 'pp', 'vp', 'ep', 'etp')) AS is_same_work,
        is_same_work AND longest_over_shortest < 1.5 AS is_comparable,
        is_comparable AND a.n_runs > 1 AND b.n_runs > 1 AS has_interval,
        b.step_s / b.step_s_high * a.step_s_low / a.step_s AS at_worst,
        b.step_s / b.step_s_low * a.step_s_high / a.step_s AS at_best,
        greatest(a.interval_kind, b.interval_kind) AS wider_kind  -- 'range' > 'ci95'
    FROM changes AS c JOIN measured AS a ON a.configuration = c.before JOIN measured AS b ON b.configuration = c.after
    JOIN settings_catalog AS s USING (setting))
SELECT p.setting, from_value, to_value, system, model, device_model, devices,
    CASE WHEN is_comparable THEN ratio END AS speedup,
    CASE WHEN has_interval THEN ratio * at_worst END AS speedup_low,
    CASE WHEN has_interval THEN ratio * at_best END AS speedup_high,
    CASE WHEN has_interval THEN wider_kind END AS interval_kind,
    from_step_s, to_step_s, from_run_ids, to_run_ids,
    notes([
        CASE WHEN NOT is_same_work THEN 'a sample is not the same work on both sides: no speedup'
            WHEN NOT is_comparable THEN format('repeats differ by a factor of {:.2f}: no log says why', longest_over_shortest)
            WHEN longest_over_shortest > 1.1 THEN format('repeats differ by a factor of {:.2f}', longest_over_shortest) END,
        CASE WHEN is_comparable AND NOT has_interval THEN 'a side has one run: no interval' END,
        CASE WHEN from_value IS NULL THEN 'off, or not stated, on one side' END]) AS note
FROM pairs AS p
WHERE p.setting NOT IN ('devices', 'nodes', 'devices_per_node', 'instances', 'replicas', 'system', 'device_model', 'device_unit')
ORDER BY setting_order, model, devices, from_value NULLS FIRST, to_value, from_run_ids, to_run_ids
