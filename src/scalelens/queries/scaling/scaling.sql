-- Scaling: what more devices gave, against the smallest size of the series.
--
-- Answers: How well does training scale, weakly and strongly, and against which base?
--   Efficiency E = (W / t) / ((n / n0) (W0 / t0)), with W the global batch, t the time of a step, n the devices, and
--   n0, W0, t0 those of the base: the smallest size, of several configurations there the fastest.
--   Its interval has the slow end of the one and the fast end of the other, so it carries the uncertainty of both.  It
--   needs repeats of both, because within one run nothing says what the next would give.
--   Where the model grows (`mixed`) there is no efficiency in time: TFLOP/s per device say how well they are used.  Nor
--   is there one where no model is known (`throughput`), or where repeats of a size are too unlike to be repeats.
--   Why two runs are not in one series: `differences(a := '...', b := '...')`.
--
-- Otherwise: not_compared
--
-- Sources: scaling_series
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   epochs := ''            epochs and ranges of them, '4' or '1-3,5'; empty takes all
--   warmup := 2             records left out at the start of each attempt
--   exclude := 'rules'      'none' leaves nothing out, 'steady' also what comes before the steady state
--   metric := 'step_s'      time of a step: 'step_s' the median, 'mean_s' the mean, which holds the stalls
--   series_by := ''         further columns of `runs` that a series must hold equal: 'tp, pp'
--
-- Columns:
--   series               VARCHAR             what the series holds equal (scaling_series)
--   scaling              VARCHAR             weak, strong, mixed or throughput
--   run_id               VARCHAR             run; of repeats the one with the median time, the faster of two
--   system               VARCHAR             machine
--   model                VARCHAR             model
--   precision            VARCHAR             number format
--   nodes                INTEGER             nodes
--   devices              INTEGER             devices
--   baseline_devices     INTEGER             devices of the base
--   global_batch_size    BIGINT samples      per step over all devices
--   n_runs               BIGINT              runs
--   n_steps              BIGINT              records that the statistics rest on, of all runs
--   step_s               DOUBLE s            time of a step, by the metric; of repeats the median over the runs
--   step_s_low           DOUBLE s            lower end of its interval
--   step_s_high          DOUBLE s            upper end of its interval
--   interval_kind        VARCHAR             ci95, or range where 95 % cannot be claimed
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   tflops_per_device    DOUBLE TFLOP/s      by tflops_kind
--   speedup              DOUBLE              throughput W / t over that of the base
--   efficiency           DOUBLE              E, 1 is ideal
--   efficiency_low       DOUBLE              lower end: slow here, fast at the base; NULL where either has one run
--   efficiency_high      DOUBLE              upper end: fast here, slow at the base
--   warning              VARCHAR             what to doubt
--   interval_of          VARCHAR             steps (within one run) or runs (between repeats)
--   tflops_kind          VARCHAR             model (tokens per second times model_flops), else `as printed`
--   tflops_printed       DOUBLE TFLOP/s      per device, by the writer's own formula
--   efficiency_kind      VARCHAR             ci95 (at least) where both ends have one, else range
--   run_ids              VARCHAR[]           all runs of the row, the fastest first, where there are several
WITH
points AS (
    FROM scaling_series(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
against_base AS (
    SELECT *, first_value(p) OVER (PARTITION BY series ORDER BY devices, step_s / global_batch_size, run_ids) AS base,
        count(*) OVER (PARTITION BY series, devices) > 1 AS has_rivals,
        bool_and(model_tflops IS NOT NULL) OVER (PARTITION BY series) AS has_model_tflops
    FROM points AS p),
efficiencies AS (
    SELECT *, base.devices AS baseline_devices,
        (global_batch_size / step_s) / (base.global_batch_size / base.step_s) AS speedup,
        speedup / (devices / baseline_devices) AS efficiency,
        step_s / step_s_high * base.step_s_low / base.step_s AS at_worst,
        step_s / step_s_low * base.step_s_high / base.step_s AS at_best,
        bool_or(is_unlike AND devices = base.devices) OVER (PARTITION BY series) AS has_unlike_base,
        scaling IN ('weak', 'strong') AND NOT is_unlike AND NOT has_unlike_base AS is_comparable,
        is_comparable AND run_ids <> base.run_ids AND n_runs > 1 AND base.n_runs > 1 AS has_interval
    FROM against_base)
SELECT series, scaling, run_ids[(n_runs + 1) // 2] AS run_id, system, model, e.precision, nodes, devices, baseline_devices,
    global_batch_size, n_runs, n_steps, step_s, step_s_low, step_s_high, interval_kind,
    samples_per_s,
    CASE WHEN has_model_tflops THEN model_tflops ELSE printed_tflops END AS tflops_per_device,
    CASE WHEN is_comparable THEN speedup END AS speedup, CASE WHEN is_comparable THEN efficiency END AS efficiency,
    CASE WHEN has_interval THEN efficiency * at_worst END AS efficiency_low,
    CASE WHEN has_interval THEN efficiency * at_best END AS efficiency_high,
    nullif(concat_ws('; ',
        CASE WHEN scaling = 'mixed' THEN 'the model grows with the devices: compare TFLOP/s per device' END,
        CASE WHEN scaling = 'throughput' THEN 'no log names the model or its shape: no efficiency; say model = "..." below '
            || '[facts] in scalelens.toml' END,
        CASE WHEN scatter IS NOT NULL THEN format('{} differ by a factor of {:.2f}: '
            || 'what differs no log says; compare them by differences(a := ''{}'', b := ''{}'')',
            if(is_unlike, 'runs of the same settings', 'repeats'), scatter, fastest_and_slowest[1], fastest_and_slowest[2]) END,
        CASE WHEN scaling IN ('weak', 'strong') AND NOT is_unlike AND has_unlike_base
            THEN 'the base is not one configuration: no efficiency' END,
        CASE WHEN is_comparable AND efficiency > 1.02 THEN 'efficiency above 102 %: look at the base first' END,
        CASE WHEN mean_over_median > 1.1 THEN format('the mean is {:.2f} of the median: stalls are not in it', mean_over_median) END,
        CASE WHEN has_rivals AND NOT is_unlike
            THEN 'several configurations at this size: series_by, or a label, tells them apart' END,
        CASE WHEN is_smoothed THEN 'the times are means that may hold the warm-up' END,
        CASE WHEN is_comparable AND NOT has_device_model THEN 'no log names the device' END), '') AS warning,
    CASE WHEN interval_kind IS NOT NULL THEN interval_of END AS interval_of,
    CASE WHEN has_model_tflops THEN 'model' WHEN printed_tflops IS NOT NULL THEN 'as printed' END AS tflops_kind,
    printed_tflops AS tflops_printed,
    CASE WHEN has_interval THEN greatest(interval_kind, base.interval_kind) END AS efficiency_kind,  -- 'range' > 'ci95'
    CASE WHEN n_runs > 1 THEN run_ids END AS run_ids
FROM efficiencies AS e
ORDER BY series, devices, step_s / global_batch_size, e.run_ids
