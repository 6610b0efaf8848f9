-- What more devices would give: speed and efficiency at sizes that were not run, with an interval.
--
-- Answers: What would 8 times the devices give?
--   The measured sizes of each series, then twice the largest size, four times, and so on up to `times_devices`.  The
--   interval holds the result in nine of ten forecasts like these: it comes from series whose larger sizes are known,
--   those of MLPerf's public results and this one, each cut and forecast from its smaller sizes.  Where the sizes of a
--   series lie off a line, or the forecast goes far, it is wide.  `scaling_fit` says which law a series follows;
--   this query says what to expect.
--
-- Formula: log X = c + b log n by least squares, b at most 1, with X the speed at n devices.
--   ends = X exp(-q s) and X exp(q s); s = (0.02 + scatter about the line) * (0.5 + doublings beyond the largest size);
--   q = the 90 % quantile of |log(measured / forecast)| / s over all known forecasts.  The upper end is at most what the
--   devices would give at the best efficiency of the sizes that were run, which none of the known results exceeds.
--
-- Reference: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005; Lei and others, J. American
--   Statistical Association 113, 2018 (split conformal prediction).  statistics/forecasts.py; docs/statistics.md.
--
-- Assumptions: The series is like those whose errors are known: nothing changes at the larger size but the number of devices,
--   and what follows from it.
--
-- Limits: Fewer than four sizes are refused.  A limit that comes at one size (a switch more, a batch that can no longer be
--   divided) cannot be foreseen; it is in the interval only as far as the published series met such limits too.
--
-- Glance: series devices doublings speedup efficiency% efficiency_at_least% efficiency_at_most% note
--
-- Needs: runs.devices
--
-- When empty: not_compared
--
-- Sources: fit_points
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--   times_devices := 8    how many times the largest size to forecast, by doublings
--
-- Columns:
--   series                 VARCHAR      what the runs of the series have in common
--   scaling                VARCHAR      weak, strong or throughput
--   devices                INTEGER      devices
--   baseline_devices       INTEGER      devices of the smallest size
--   largest_devices        INTEGER      devices of the largest size that was run
--   doublings              DOUBLE       doublings beyond the largest size; 0 where it was measured
--   speedup                DOUBLE       speed over that of the smallest size; NULL where refused
--   speedup_at_least       DOUBLE       lower end of its 90 % interval; NULL where it was measured or refused
--   speedup_at_most        DOUBLE       upper end
--   efficiency             DOUBLE       speedup over devices, as a share of that of the smallest size
--   efficiency_at_least    DOUBLE       lower end of its 90 % interval; NULL where it was measured or refused
--   efficiency_at_most     DOUBLE       upper end
--   n_residuals            BIGINT       known forecasts that the interval rests on; NULL where there is none
--   run_ids                VARCHAR[]    runs of the size; of a forecast, of the largest size
--   note                   VARCHAR      the forecast in words, or why there is none
WITH
points AS (
    FROM fit_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
series_of AS (
    SELECT series, any_value(scaling) AS scaling, any_value(baseline_devices) AS baseline_devices,
        max(devices) AS largest_devices, arg_max(run_ids, devices) AS run_ids,
        list(devices::DOUBLE ORDER BY devices) AS sizes, list(cost_s ORDER BY devices) AS costs_s
    FROM points GROUP BY series),
beyond AS (
    SELECT * EXCLUDE (found), found.devices::INTEGER AS devices, found.speedup AS speedup, found.low AS low,
        found.high AS high, found.n_residuals AS n_residuals, found.reason AS reason
    FROM (SELECT * EXCLUDE (sizes, costs_s), unnest(forecast_speeds(sizes, costs_s,
            list_transform(range(1, 1 + floor(log2(greatest(times_devices, 2)))::BIGINT), lambda n: largest_devices * 2.0 ** n))) AS found
        FROM series_of))
SELECT series, p.scaling, p.devices, p.baseline_devices, largest_devices, 0.0 AS doublings, speedup,
    NULL::DOUBLE AS speedup_at_least, NULL::DOUBLE AS speedup_at_most,
    speedup * p.baseline_devices / p.devices AS efficiency, NULL::DOUBLE AS efficiency_at_least,
    NULL::DOUBLE AS efficiency_at_most, NULL::BIGINT AS n_residuals, p.run_ids, NULL AS note
FROM points AS p JOIN series_of USING (series)
UNION ALL BY NAME
SELECT series, scaling, devices, baseline_devices, largest_devices, log2(devices / largest_devices) AS doublings, speedup,
    low AS speedup_at_least, high AS speedup_at_most, speedup * baseline_devices / devices AS efficiency,
    low * baseline_devices / devices AS efficiency_at_least, high * baseline_devices / devices AS efficiency_at_most,
    n_residuals, run_ids,
    coalesce(reason, format('{:.0f} to {:.0f} % of the efficiency at {} {}', 100 * efficiency_at_least,
        100 * efficiency_at_most, baseline_devices, if(baseline_devices = 1, 'device', 'devices'))) AS note
FROM beyond
ORDER BY series, devices
