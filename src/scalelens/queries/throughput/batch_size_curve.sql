-- Throughput against the batch of a device, and the knee beyond which a larger batch gains little.
--
-- Answers: Which batch is large enough to keep the devices busy?
--   All settings of a series, including the number of devices, are equal, except the batches.  The knee is the smallest
--   batch from which on every doubling gains less than `least_gain`.
--
-- Formula: gain of a doubling between two sizes = (X2 / X1)^(ln 2 / ln (b2 / b1)) - 1, with X the throughput and b the
--   batch of a device.
--
-- Assumptions: Between two measured sizes, throughput grows as a power of the batch.
--
-- Limits: No knee with fewer than three sizes, and none beyond the largest.  The knee is one of the measured sizes:
--   with one run per size its uncertainty is not known.  Sizes whose repeats differ by half or more are left out.  A
--   larger batch may need more epochs: see time_to_accuracy.
--
-- Glance: series batch_per_device device_samples_per_s gain_of_doubling% is_knee step_s samples_per_s n_runs model
--   system precision devices device_model reason
--
-- When empty: not_compared facts_only=true; no two runs differ only in their batch
--
-- Sources: configurations
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--   least_gain := 0.1        gain in throughput from doubling the batch that counts as little below this
--
-- Columns:
--   series                  VARCHAR             smallest run_id of its runs
--   system                  VARCHAR             machine
--   model                   VARCHAR             model
--   precision               VARCHAR             number format
--   device_model            VARCHAR             model of the device
--   devices                 INTEGER             devices
--   batch_per_device        DOUBLE samples      global batch over devices
--   n_runs                  BIGINT              runs
--   step_s                  DOUBLE s            time of a step; for repeats, the median over the runs
--   samples_per_s           DOUBLE samples/s    global batch over the time of a step
--   device_samples_per_s    DOUBLE samples/s    of a device
--   gain_of_doubling        DOUBLE              gain in throughput per doubling, from the size before: 1 is ideal
--   is_knee                 BOOLEAN             whether the knee is here
--   knee                    DOUBLE samples      batch of a device at the knee of the series
--   reason                  VARCHAR             why the series has no knee
--   run_ids                 VARCHAR[]           runs
--   settings                VARCHAR             further settings in which the series differ; NULL where there are none
WITH
measured AS (
    SELECT *, global_batch_size / devices AS batch_per_device,
        [setting FOR setting IN all_settings IF NOT regexp_matches(setting, '^(micro_batch_size|global_batch_size) ')] AS others
    FROM configurations(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, statistic := statistic)),
-- Of several ways to reach the same batch (micro-batches) the fastest counts.
sizes AS (
    SELECT *, min(configuration) OVER (PARTITION BY held, others, devices) AS series
    FROM measured WHERE scatter < 1.5
    QUALIFY row_number() OVER (PARTITION BY held, others, devices, batch_per_device ORDER BY step_s, configuration) = 1),
gains AS (
    SELECT *, lag(batch_per_device) OVER by_size AS batch_before, lag(samples_per_s) OVER by_size AS rate_before,
        power(samples_per_s / rate_before, ln(2) / ln(batch_per_device / batch_before)) - 1 AS gain_of_doubling,
        count(*) OVER (PARTITION BY series) AS n_sizes
    FROM sizes WINDOW by_size AS (PARTITION BY series ORDER BY batch_per_device)),
after_each AS (
    SELECT *, max(coalesce(gain_of_doubling, -1)) OVER (PARTITION BY series ORDER BY batch_per_device
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS largest_gain_after,
        last_value(gain_of_doubling) OVER (PARTITION BY series ORDER BY batch_per_device
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_gain
    FROM gains),
knees AS (
    SELECT *, min(batch_per_device) FILTER (WHERE n_sizes >= 3 AND largest_gain_after < least_gain)
        OVER (PARTITION BY series) AS knee
    FROM after_each),
-- Settings of all series, which tell none apart.
shared AS (
    SELECT list(setting) AS of_all
    FROM (
        SELECT setting FROM (SELECT DISTINCT series, unnest(others) AS setting FROM knees WHERE n_sizes > 1)
        GROUP BY setting HAVING count(*) = (SELECT count(DISTINCT series) FROM knees WHERE n_sizes > 1)))
SELECT series, system, model, k.precision, device_model, devices, batch_per_device, n_runs, step_s, samples_per_s,
    samples_per_s / devices AS device_samples_per_s, gain_of_doubling,
    coalesce(batch_per_device = knee, false) AS is_knee, knee,
    CASE WHEN n_sizes < 3 THEN format('{} sizes are too few: a bend needs three', n_sizes)
        WHEN knee IS NULL
            THEN format('throughput still grows by {:.0f} % per doubling at the largest batch', 100 * last_gain) END AS reason,
    run_ids,
    nullif(array_to_string([setting FOR setting IN others IF NOT coalesce(list_contains(of_all, setting), false)
        AND NOT regexp_matches(setting, '^(system|model|precision|device_model|devices|nodes|devices_per_node) ')], ', '), '')
        AS settings
FROM knees AS k CROSS JOIN shared WHERE n_sizes > 1
ORDER BY model, k.precision, device_model, devices, series, batch_per_device
