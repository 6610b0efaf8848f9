-- Scaling: what more devices gave, against the smallest size of the series.
--
-- Answers: How well does training scale, and relative to which base?
--   The efficiency compares work per time.  `metric` chooses work and time: the global batch and a step; the samples of
--   an epoch and the epoch; or the samples of a rate, its tokens where no samples are
--   known.  Its interval carries the scatter of the repeats of both sizes, because nothing within one run shows what the
--   next run would give.
--   Where the model grows (`mixed`) there is no efficiency in time: TFLOP/s per device show how well the devices are
--   used.  Nor is there one where no model is known (`throughput`), or where the repeats of a size are too unlike to be
--   repeats.
--   To see why two runs are not in one series: `differences(a := '...', b := '...')`.
--
-- Formula:
--   speedup = (W / t) / (W0 / t0); E = speedup / (n / n0), with W the work, t its time, n the devices, and 0 the base:
--   the smallest size, and the fastest of several configurations there.
--   Its interval is ratio_interval of the repeats of both sizes; where repeats differ more than they should, slowest
--   over fastest and fastest over slowest.
--
-- Reference: Hoefler and Belli, SC'15, rules 1, 3 and 4; EPICURE, Best Practice Guide on AI Workloads, 5.2, whose
--   e(n) = t(n) / t(1) is the reciprocal.  statistics/ratios.py.
--
-- Assumptions: Two runs of one series differ in nothing that no log states.  Where no log states the samples of an
--   epoch, t_ep and t_tr assume one data set at every size.
--
-- Limits: No interval without repeats of both sizes.  No efficiency where the model grows, where none is known, or
--   where repeats of a size are too unlike.
--
-- Needs: runs.devices
--
-- When empty: not_compared
--
-- Glance: series devices n_steps step_s speedup efficiency% tflops_per_device tflops_printed samples_per_s tokens_per_s
--   nodes n_runs note
--
-- Sources: scaling_series, unstated_facts
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   series                 VARCHAR             what the runs of the series have in common (scaling_series)
--   scaling                VARCHAR             weak, strong, mixed or throughput
--   run_id                 VARCHAR             run; for repeats, the one with the median time, the faster of two
--   system                 VARCHAR             machine
--   model                  VARCHAR             model
--   precision              VARCHAR             number format
--   nodes                  INTEGER             nodes
--   devices                INTEGER             devices
--   baseline_devices       INTEGER             devices of the base
--   global_batch_size      BIGINT samples      per step over all devices
--   n_runs                 BIGINT              runs
--   n_steps                BIGINT              records that the statistics rest on, over all runs
--   step_s                 DOUBLE s            time of a step by t_b and mean_s; for repeats, the median over the runs
--   step_s_low             DOUBLE s            lower end of its interval
--   step_s_high            DOUBLE s            upper end of its interval
--   interval_kind          VARCHAR             for step_s or epoch_s: ci95, or range where 95 % cannot be claimed
--   samples_per_s          DOUBLE samples/s    total samples over total time
--   tokens_per_s           DOUBLE tokens/s     total tokens over total time, by the metric throughput where samples are
--                                              not known
--   tflops_per_device      DOUBLE TFLOP/s      by tflops_kind
--   speedup                DOUBLE              throughput W / t over that of the base
--   efficiency             DOUBLE              E, 1 is ideal
--   efficiency_low         DOUBLE              lower end of its interval; NULL where either size has one run
--   efficiency_high        DOUBLE              upper end of its interval
--   note                   VARCHAR             what to know or doubt
--   interval_of            VARCHAR             steps (within one run) or runs (between repeats)
--   tflops_kind            VARCHAR             model (tokens per second times model_flops), else `as printed`
--   tflops_printed         DOUBLE TFLOP/s      per device, by the tool's own formula
--   efficiency_kind        VARCHAR             ci95 with six repeats or more of both sizes, else range
--   run_ids                VARCHAR[]           all runs of the row, the fastest first, where there are several
--   metric                 VARCHAR             the metric
--   epoch_s                DOUBLE s            time of an epoch, or of its training part, by t_ep and t_tr
--   epoch_s_low            DOUBLE s            lower end of its interval
--   epoch_s_high           DOUBLE s            upper end of its interval
--   repeat_efficiencies    DOUBLE[]            efficiency of each run of run_ids, where they differ more than they
--                                              should
WITH
points AS (
    FROM scaling_series(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
-- Where a log does not state the work of an epoch: one data set at every size.
worked AS (
    SELECT * REPLACE (if(knows_work, work, 1) AS work)
    FROM (SELECT *, count(work) OVER (PARTITION BY series) = count(*) OVER (PARTITION BY series) AS knows_work FROM points)),
against_base AS (
    SELECT *,
        first_value({devices: devices, work: work, time_s: time_s, run_ids: run_ids, n_runs: n_runs, scatter: scatter,
            repeat_times_s: repeat_times_s}) OVER (PARTITION BY series ORDER BY devices, time_s / work, run_ids) AS base,
        count(*) OVER (PARTITION BY series, devices) > 1 AS has_rivals,
        bool_and(model_tflops IS NOT NULL) OVER (PARTITION BY series) AS has_model_tflops
    FROM worked),
efficiencies AS (
    SELECT *, base.devices AS baseline_devices,
        (work / time_s) / (base.work / base.time_s) AS speedup,
        speedup / (devices / baseline_devices) AS efficiency,
        bool_or(is_unlike AND devices = base.devices) OVER (PARTITION BY series) AS has_unlike_base,
        has_model AND scaling <> 'mixed' AND NOT is_unlike AND NOT has_unlike_base AS is_comparable,
        is_comparable AND run_ids <> base.run_ids AND n_runs > 1 AND base.n_runs > 1 AS has_interval,
        scatter IS NOT NULL OR base.scatter IS NOT NULL AS is_scattered,
        ratio_interval(CASE WHEN has_interval THEN base.repeat_times_s END, repeat_times_s) AS bounds
    FROM against_base)
SELECT series, scaling, run_ids[(n_runs + 1) // 2] AS run_id, system, model, e.precision, nodes, devices, baseline_devices,
    global_batch_size, n_runs, n_steps,
    CASE WHEN metric IN ('t_b', 'mean_s') THEN time_s END AS step_s,
    CASE WHEN metric IN ('t_b', 'mean_s') THEN time_s_low END AS step_s_low,
    CASE WHEN metric IN ('t_b', 'mean_s') THEN time_s_high END AS step_s_high,
    CASE WHEN metric NOT IN ('throughput', 'tflops') THEN interval_kind END AS interval_kind,
    samples_per_s, tokens_per_s,
    CASE WHEN has_model_tflops THEN model_tflops ELSE printed_tflops END AS tflops_per_device,
    CASE WHEN is_comparable THEN speedup END AS speedup, CASE WHEN is_comparable THEN efficiency END AS efficiency,
    CASE WHEN is_scattered AND has_interval THEN efficiency * time_s / repeat_times_s[-1] * base.repeat_times_s[1] / base.time_s
        WHEN has_interval THEN efficiency * time_s / base.time_s * bounds.low END AS efficiency_low,
    CASE WHEN is_scattered AND has_interval THEN efficiency * time_s / repeat_times_s[1] * base.repeat_times_s[-1] / base.time_s
        WHEN has_interval THEN efficiency * time_s / base.time_s * bounds.high END AS efficiency_high,
    notes(list_concat([
        CASE WHEN scaling = 'mixed' THEN 'the model grows with the devices: compare TFLOP/s per device' END,
        CASE WHEN NOT has_model AND scaling <> 'mixed' THEN 'no log names the model or its shape: no efficiency; set '
            || 'model = "..." under [facts] in scalelens.toml' END,
        CASE WHEN has_model AND scaling = 'throughput' THEN 'no log states the batch: whether this is weak or strong scaling is '
            || 'not known' END,
        batch_note,
        CASE WHEN is_comparable AND NOT knows_work THEN 'an epoch is taken to be the same data set at every size' END,
        CASE WHEN scatter IS NOT NULL THEN format('{} differ by a factor of {:.2f}: '
            || 'no log says why; compare them by differences(a := ''{}'', b := ''{}'')',
            if(is_unlike, 'runs of the same settings', 'repeats'), scatter, fastest_and_slowest[1], fastest_and_slowest[2]) END,
        CASE WHEN has_model AND scaling <> 'mixed' AND NOT is_unlike AND has_unlike_base
            THEN 'the base is not one configuration: no efficiency' END,
        CASE WHEN is_comparable AND efficiency > 1.02 THEN 'efficiency above 102 %: check the base first' END,
        CASE WHEN metric = 't_b' AND mean_over_median > 1.1
            THEN format('the mean is {:.2f} times the median: stalls are not included', mean_over_median) END,
        CASE WHEN has_rivals AND NOT is_unlike
            THEN 'several configurations at this size: series_by, or a label, separates them' END,
        CASE WHEN is_smoothed AND metric IN ('t_b', 'mean_s') THEN 'the times are means that may include the warm-up' END,
        CASE WHEN is_comparable AND NOT has_device_model THEN 'no log names the device' END],
        list_filter(facts, lambda fact: NOT starts_with(fact, 'global batch')))) AS note,  -- batch_note says more
    CASE WHEN interval_kind IS NOT NULL AND metric NOT IN ('throughput', 'tflops') THEN interval_of END AS interval_of,
    CASE WHEN has_model_tflops THEN 'model' WHEN printed_tflops IS NOT NULL THEN 'as printed' END AS tflops_kind,
    printed_tflops AS tflops_printed,
    CASE WHEN has_interval THEN if(is_scattered, 'range', bounds.kind) END AS efficiency_kind,
    CASE WHEN n_runs > 1 THEN run_ids END AS run_ids,
    metric AS metric,
    CASE WHEN metric IN ('t_ep', 't_tr') THEN time_s END AS epoch_s,
    CASE WHEN metric IN ('t_ep', 't_tr') THEN time_s_low END AS epoch_s_low,
    CASE WHEN metric IN ('t_ep', 't_tr') THEN time_s_high END AS epoch_s_high,
    CASE WHEN scatter IS NOT NULL AND is_comparable AND n_runs > 1
        THEN list_transform(repeat_times_s, lambda x: efficiency * time_s / x) END AS repeat_efficiencies
FROM efficiencies AS e LEFT JOIN unstated_facts(runs := runs) AS u ON u.run_id = e.run_ids[(n_runs + 1) // 2]
ORDER BY series, devices, time_s / work, e.run_ids
