-- The size beyond which doubling the devices gains less than a given share of speed.
--
-- Answers: From how many devices on is it no longer worth doubling them?
--   A gain of 1 is twice the speed, 0.5 half as much again.  By USL, or with four sizes by Amdahl's law (scaling_fit);
--   refused below four.  A size beyond twice the largest is not named: nothing is known there, and `note` says so.
--
-- Formula: The devices n with X(2 n) / X(n) = 1 + gain, by the fitted law X: USL with five sizes or more, else Amdahl's
--   (scaling_fit).  last_doubling = S(n) / S(n / 2) - 1, measured at the largest n.
--
-- Reference: Gunther, Guerrilla Capacity Planning, 2007, chapter 4 (USL).  statistics/fits.py:gain_of_doubling.
--
-- Assumptions: those of scaling_fit; the interval is of the same kind.
--
-- Limits: Refused below four sizes.  An answer beyond the largest size is extrapolated; beyond twice the largest there
--   is none.
--
-- Glance: series devices_worth devices_low devices_high gain_wanted% last_doubling% law largest_devices n_sizes
--   n_runs note
--
-- When empty: not_compared
--
-- Sources: fit_points
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--   gain := 0.5    share of speed that a doubling should give
--
-- Columns:
--   series             VARCHAR    what the runs of the series have in common
--   scaling            VARCHAR    weak, strong or throughput
--   law                VARCHAR    usl or amdahl
--   gain_wanted        DOUBLE     the parameter gain
--   devices_worth      DOUBLE     devices beyond which a doubling gains less
--   devices_low        DOUBLE     lower end of its 95 % interval; NULL where it is below the smallest size
--   devices_high       DOUBLE     upper end; NULL where it is beyond twice the largest size
--   last_doubling      DOUBLE     measured gain of the last doubling, from half the largest size; NULL where that was
--                                 not run
--   n_sizes            BIGINT     sizes
--   n_runs             BIGINT     runs
--   largest_devices    INTEGER    devices of the largest size
--   note               VARCHAR    why there is no answer, or what to doubt
WITH
points AS (
    FROM fit_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
runs_of_points AS (SELECT series, scaling, devices, baseline_devices, unnest(costs_s) AS run_s FROM points),
fits AS (
    SELECT series, any_value(scaling) AS scaling, count(DISTINCT devices) AS n_sizes, count(*) AS n_runs,
        max(devices) AS largest_devices, min(devices) AS least_devices,
        gain_of_doubling(list(devices::DOUBLE ORDER BY devices, run_s), list(run_s ORDER BY devices, run_s),
            CASE WHEN gain > 0 AND gain < 1 THEN gain ELSE error('gain lies between 0 and 1') END::DOUBLE) AS fit
    FROM runs_of_points GROUP BY series),
doublings AS (
    SELECT a.series, b.speedup / a.speedup - 1 AS last_doubling FROM points AS a
    JOIN fits AS f ON f.series = a.series AND 2 * a.devices = largest_devices
    JOIN points AS b ON b.series = a.series AND b.devices = largest_devices)
SELECT series, scaling, CASE WHEN fit.value IS NOT NULL THEN fit.law END AS law, gain::DOUBLE AS gain_wanted,
    CASE WHEN fit.value BETWEEN least_devices AND 2 * largest_devices THEN fit.value END AS devices_worth,
    CASE WHEN fit.low BETWEEN least_devices AND 2 * largest_devices THEN fit.low END AS devices_low,
    CASE WHEN fit.high BETWEEN least_devices AND 2 * largest_devices THEN fit.high END AS devices_high,
    last_doubling, n_sizes, n_runs, largest_devices,
    notes([fit.reason,
        CASE WHEN fit.value > 2 * largest_devices THEN 'every doubling up to twice the largest size gains more' END,
        CASE WHEN fit.value BETWEEN largest_devices AND 2 * largest_devices THEN 'extrapolated' END,
        CASE WHEN fit.value < least_devices THEN 'no doubling that was run gains as much' END,
        CASE WHEN abs(fit.largest_residual) > 0.05
            THEN format('a run is {:.0f} % off the law: it may not hold', 100 * abs(fit.largest_residual)) END]) AS note
FROM fits LEFT JOIN doublings USING (series)
ORDER BY series
