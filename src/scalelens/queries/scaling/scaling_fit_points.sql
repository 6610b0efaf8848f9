-- Measured and fitted speedup at each size, with the residual; and what a law predicts for larger sizes.
--
-- Answers: How well does each law of scaling fit?
--   What would it predict for twice the largest size?
--   The line of a law goes no further than twice the largest size; rows beyond the largest size have no measured
--   values, and those beyond twice the largest, which `up_to` asks for, are marked.  Karp and Flatt's fraction is given
--   for each point (fit_points).
--
-- Formula: residual = speedup / fitted_speedup - 1.  Karp and Flatt: e = (1 / S - 1 / k) / (1 - 1 / k), with S the
--   speedup and k the devices over those of the smallest size; its ends follow from the interval of S.
--
-- Reference: Karp and Flatt, CACM 33(5), 1990.  For the laws see scaling_fit.
--
-- Limits: A serial share that grows with the devices is overhead that grows, not a constant share.  Nothing is known
--   beyond twice the largest size.
--
-- Glance: series law devices speedup fitted_speedup residual% karp_flatt mark
--
-- Needs: runs.devices
--
-- When empty: not_compared
--
-- Sources: fit_points, scaling_fit
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--   up_to := 0    devices up to which the laws are evaluated, also beyond twice the largest size
--
-- Columns:
--   series             VARCHAR    what the runs of the series have in common
--   law                VARCHAR    amdahl, gustafson or usl; NULL where there is no fit
--   devices            INTEGER    devices
--   speedup            DOUBLE     measured, over the smallest size; NULL beyond the largest
--   speedup_low        DOUBLE     lower end of its 95 % interval between runs; NULL where this or the smallest has one
--                                 run
--   speedup_high       DOUBLE     upper end
--   fitted_speedup     DOUBLE     by the law, over the measured speed of the smallest size
--   residual           DOUBLE     measured over fitted, less 1
--   karp_flatt         DOUBLE     serial share according to this point alone
--   karp_flatt_low     DOUBLE     lower end; NULL where this or the smallest size has one run
--   karp_flatt_high    DOUBLE     upper end
--   mark               VARCHAR    extrapolated, or `beyond twice the largest size`; NULL where it was measured
WITH
points AS (
    FROM fit_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
laws AS (
    SELECT series, law, any_value(baseline_devices) AS baseline_devices, any_value(largest_devices) AS largest_devices,
        any_value(base_over_fitted) AS base_over_fitted,
        coalesce(max(fitted) FILTER (WHERE parameter IN ('serial_fraction', 'contention')), 0) AS share,
        coalesce(max(fitted) FILTER (WHERE parameter = 'coherency'), 0) AS coherency,
        count(fitted) > 0 AS is_fitted
    FROM scaling_fit(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)
    GROUP BY series, law),
beyond AS (
    SELECT series, law, (largest_devices * 2 ** unnest(range(1, 1 + greatest(1,
        ceil(log2(greatest(up_to, 1) / largest_devices))::BIGINT))))::INTEGER AS devices
    FROM laws WHERE is_fitted),
sizes AS (
    SELECT series, law, devices FROM laws JOIN points USING (series) UNION SELECT series, law, devices FROM beyond),
fitted AS (
    SELECT s.series, s.law, s.devices, largest_devices, s.devices / l.baseline_devices AS k,
        CASE WHEN NOT is_fitted THEN NULL WHEN s.law = 'gustafson' THEN share + (1 - share) * k
            ELSE k / (1 + share * (k - 1) + coherency * k * (k - 1)) END / base_over_fitted AS fitted_speedup
    FROM sizes AS s JOIN laws AS l ON l.series = s.series AND l.law IS NOT DISTINCT FROM s.law)
SELECT f.series, law, f.devices, speedup, speedup_low, speedup_high, fitted_speedup, speedup / fitted_speedup - 1 AS residual,
    karp_flatt, karp_flatt_low, karp_flatt_high,
    CASE WHEN f.devices > 2 * largest_devices THEN 'beyond twice the largest size'
        WHEN f.devices > largest_devices THEN 'extrapolated' END AS mark
FROM fitted AS f LEFT JOIN points AS p ON p.series = f.series AND p.devices = f.devices
ORDER BY f.series, law, f.devices
