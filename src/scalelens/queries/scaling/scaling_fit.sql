-- Laws of scaling fitted to each series: Amdahl, Gustafson (weak scaling) and the universal scalability law.
--
-- Answers: Which share of the work does not get faster with more devices?
--   Is it waiting or communicating?
--   One row for each parameter, with its 95 % interval.  Shares are shares of the work at the smallest size, n0: k = n
--   / n0.  Below four sizes (for USL, five) a fit is refused: one row gives the reason.  Check the residuals
--   (scaling_fit_points): a law whose residuals exceed the scatter of repeats is not the law of this series.
--
-- Formula:
--   Amdahl       X(k) = X(1) k / (1 + s (k - 1))
--   Gustafson    X(k) = X(1) (s + (1 - s) k)
--   USL          X(k) = X(1) k / (1 + a (k - 1) + b k (k - 1)), with a the contention and b the coherency
--
-- Reference: G. Amdahl, AFIPS 30 (1967); J. Gustafson, CACM 31 (1988); N. Gunther, Guerrilla Capacity Planning (2007)
--
-- Assumptions:
--   Relative deviations of the runs from the law are independent, normal and of one size: the interval contains the
--   values for which the sum of squares, all else fitted again, is within t^2 / degrees of freedom of its minimum.
--
-- Limits: a law that does not hold may have narrow intervals too; beyond twice the largest size nothing is known.
--
-- Glance: series law parameter fitted largest_residual% n_sizes n_runs baseline_devices largest_devices note
--
-- Needs: runs.devices
--
-- When empty: not_compared
--
-- Sources: fit_points
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   series              VARCHAR    what the runs of the series have in common
--   scaling             VARCHAR    weak, strong or throughput
--   law                 VARCHAR    amdahl, gustafson or usl; NULL where there is no fit
--   parameter           VARCHAR    serial_fraction, contention or coherency
--   fitted              DOUBLE     its value, relative to the smallest size
--   fitted_low          DOUBLE     lower end of its 95 % interval
--   fitted_high         DOUBLE     upper end
--   n_sizes             BIGINT     sizes
--   n_runs              BIGINT     runs
--   baseline_devices    INTEGER    devices of the smallest size
--   largest_devices     INTEGER    devices of the largest size
--   base_over_fitted    DOUBLE     measured speed of the smallest size over the fitted one
--   largest_residual    DOUBLE     measured over fitted speed, less 1, for the run farthest from the law
--   note                VARCHAR    why there is no fit, or what to doubt
WITH
points AS (
    FROM fit_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
runs_of_points AS (
    SELECT series, scaling, devices, baseline_devices, unnest(costs_s) AS run_s FROM points),
fits AS (
    SELECT series, any_value(scaling) AS scaling, count(DISTINCT devices) AS n_sizes, count(*) AS n_runs,
        any_value(baseline_devices) AS baseline_devices, max(devices) AS largest_devices,
        unnest(fit_laws(list(devices::DOUBLE ORDER BY devices, run_s), list(run_s ORDER BY devices, run_s))) AS fit
    FROM runs_of_points GROUP BY series)
SELECT f.series, f.scaling, fit.law AS law, fit.parameter AS parameter, fit.value AS fitted, fit.low AS fitted_low,
    fit.high AS fitted_high, n_sizes, n_runs, f.baseline_devices, largest_devices,
    1 / (cost_s * fit.base_speed) AS base_over_fitted, fit.largest_residual AS largest_residual,
    notes([fit.reason,
        CASE WHEN abs(fit.largest_residual) > 0.05
            THEN format('a run is {:.0f} % off the law: it may not hold', 100 * abs(fit.largest_residual)) END,
        CASE WHEN fit.low <= 0 AND fit.value IS NOT NULL THEN 'the share may be 0' END]) AS note
FROM fits AS f JOIN points AS p ON p.series = f.series AND p.devices = f.baseline_devices
WHERE law IS DISTINCT FROM 'gustafson' OR f.scaling = 'weak'
ORDER BY f.series, law, parameter
