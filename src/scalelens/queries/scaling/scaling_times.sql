-- Scaling by three times: the median batch, the training part of an epoch, the whole epoch.
--
-- Answers: Is efficiency lost within batches, between them or outside training?
--   The median batch loses to communication.  The training part of an epoch also loses to stalls and to the start of
--   each epoch.  The whole epoch also loses to its validation.  Runs whose logs do not state the epochs have t_b only.
--
-- Formula:
--   that of scaling, once for each metric: E = speedup / (n / n0).
--
-- Reference: EPICURE, Best Practice Guide on AI Workloads, 5.2 and figure 5-1: the times t_b, t_tr and t_ep.
--
-- Assumptions: those of scaling: runs of one series differ in nothing that no log states.
--
-- Limits: t_tr and t_ep are means over the chosen epochs; t_b is a median of steps, which does not contain a few
--   stalls.
--
-- Needs: runs.devices
--
-- When empty: not_compared
--
-- Glance: series metric devices nodes n_runs time_s speedup efficiency% note
--
-- Sources: scaling
--
-- Parameters: runs, epochs, warmup, exclude, series_by
--
-- Columns:
--   series                 VARCHAR           what the runs of the series have in common (scaling_series)
--   scaling                VARCHAR           weak, strong, mixed or throughput
--   metric                 VARCHAR           t_b the median batch, t_tr the training part of an epoch, t_ep the epoch
--   run_id                 VARCHAR           run; for repeats, the one with the median time, the faster of two
--   nodes                  INTEGER           nodes
--   devices                INTEGER           devices
--   baseline_devices       INTEGER           devices of the base
--   global_batch_size      BIGINT samples    per step over all devices
--   n_runs                 BIGINT            runs
--   n_steps                BIGINT            records that the statistics rest on, over all runs
--   time_s                 DOUBLE s          time by the metric; for repeats, the median over the runs
--   speedup                DOUBLE            throughput W / t over that of the base
--   efficiency             DOUBLE            E, 1 is ideal
--   efficiency_low         DOUBLE            lower end of its interval; NULL where either size has one run
--   efficiency_high        DOUBLE            upper end of its interval
--   efficiency_kind        VARCHAR           ci95 with six repeats or more of both sizes, else range
--   interval_of            VARCHAR           steps (within one run) or runs (between repeats)
--   repeat_efficiencies    DOUBLE[]          efficiency of each run of run_ids, where they differ more than they should
--   run_ids                VARCHAR[]         all runs of the row, the fastest first, where there are several
--   note                   VARCHAR           what to know or doubt
WITH
by_times AS (
    FROM scaling(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := 't_b', series_by := series_by)
    UNION ALL
    FROM scaling(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := 't_tr', series_by := series_by)
    UNION ALL
    FROM scaling(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := 't_ep', series_by := series_by))
SELECT series, scaling, metric, run_id, nodes, devices, baseline_devices, global_batch_size, n_runs, n_steps,
    coalesce(step_s, epoch_s) AS time_s, speedup, efficiency, efficiency_low, efficiency_high, efficiency_kind, interval_of,
    repeat_efficiencies, run_ids, note
FROM by_times
ORDER BY series, list_position(['t_b', 't_tr', 't_ep'], metric), devices, speedup DESC, run_id
