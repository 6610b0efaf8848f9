-- Sizes of each series that can be fitted, with the time per work of every run.
--
-- Answers: Which points does a fit rest on?
--   For each size, the fastest configuration.  Series without an efficiency are not included: their model grows or is
--   not known, or runs of one size are too unlike to be repeats.
--   Karp and Flatt's fraction e = (1/S - 1/k) / (1 - 1/k), with S the speedup and k the devices over those of the base,
--   is the serial share that this one point would have by Amdahl's law.  If it grows with the size, it is not a
--   constant share: communication grows, or the load is uneven.
--
-- Helper: used by scaling_fit, scaling_fit_points and diminishing_returns
--
-- Reference: A. Karp, H. Flatt, Measuring parallel processor performance, CACM 33 (1990)
--
-- Needs: runs.devices
--
-- Sources: scaling_series
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   series              VARCHAR       what the runs of the series have in common
--   scaling             VARCHAR       weak, strong or throughput
--   run_ids             VARCHAR[]     runs, the fastest first
--   devices             INTEGER       devices
--   baseline_devices    INTEGER       devices of the smallest size
--   cost_s              DOUBLE s      time per work; for repeats the median
--   costs_s             DOUBLE[] s    the same for each run
--   speedup             DOUBLE        speed over that of the smallest size
--   speedup_low         DOUBLE        lower end of its 95 % interval between runs; NULL where either size has one run
--   speedup_high        DOUBLE        upper end
--   karp_flatt          DOUBLE        e; NULL at the smallest size
--   karp_flatt_low      DOUBLE        lower end, by the interval of the speedup; NULL where either size has one run
--   karp_flatt_high     DOUBLE        upper end
WITH
points AS (
    SELECT *, count(work) OVER of_series = count(*) OVER of_series AS knows_work,
        bool_or(is_unlike) OVER of_series AS has_unlike
    FROM scaling_series(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)
    WHERE has_model AND scaling <> 'mixed' WINDOW of_series AS (PARTITION BY series)),
costs AS (
    SELECT *, CASE WHEN knows_work THEN work ELSE 1 END AS amount, time_s / amount AS cost_s,
        list_transform(repeat_times_s, lambda x: x / amount) AS costs_s
    FROM points WHERE NOT has_unlike
    QUALIFY row_number() OVER (PARTITION BY series, devices ORDER BY cost_s, run_ids) = 1),
against_base AS (
    SELECT *, first_value(c) OVER (PARTITION BY series ORDER BY devices) AS base FROM costs AS c),
speeds AS (
    SELECT *, base.devices AS baseline_devices, devices / base.devices AS k, base.cost_s / cost_s AS speedup,
        ratio_interval(CASE WHEN k > 1 THEN base.costs_s END, costs_s) AS bounds
    FROM against_base)
SELECT series, scaling, run_ids, devices, baseline_devices, cost_s, costs_s, speedup, bounds.low AS speedup_low,
    bounds.high AS speedup_high,
    CASE WHEN k > 1 THEN (1 / speedup - 1 / k) / (1 - 1 / k) END AS karp_flatt,
    CASE WHEN k > 1 THEN (1 / bounds.high - 1 / k) / (1 - 1 / k) END AS karp_flatt_low,
    CASE WHEN k > 1 THEN (1 / bounds.low - 1 / k) / (1 - 1 / k) END AS karp_flatt_high
FROM speeds
ORDER BY series, devices
