-- Throughput over devices and batch per device, as a grid.
--
-- Answers: With how many devices and which batch is a device used best?
--   All settings of a series are equal, except those that follow from the size.  Each cell is one measured combination;
--   combinations that were not measured have no row.
--
-- Formula: relative = (X / n) / the largest (X / n) of the series, with X the throughput and n the devices; with per :=
--   'job', X over the largest X.
--
-- Limits: Each cell shows the fastest of its configurations (micro-batches, nodes): the best that was tried.
--
-- Glance: series devices batch_per_device device_samples_per_s relative% samples_per_s step_s n_runs model system
--   precision device_model note
--
-- When empty: not_compared facts_only=true; no two runs differ only in their devices and batch
--
-- Sources: configurations, settings_catalog
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--   per := 'device'          whose throughput is compared: that of a 'device', or of the whole 'job'
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
--   relative                DOUBLE              throughput of a device, or of the job, over the best of the series;
--                                               NULL where repeats differ by half or more
--   note                    VARCHAR             what to know or doubt
--   run_ids                 VARCHAR[]           runs
WITH
of_size AS (SELECT list(setting) AS names FROM settings_catalog WHERE varies_with = 'size'),
measured AS (
    SELECT c.*, global_batch_size / devices AS batch_per_device, CASE per WHEN 'job' THEN 1 ELSE devices END AS sharing,
        [setting FOR setting IN all_settings IF NOT list_contains(names, split_part(setting, ' ', 1))] AS others
    FROM configurations(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, statistic := statistic) AS c, of_size),
cells AS (
    SELECT *, min(configuration) OVER (PARTITION BY held, others) AS series
    FROM measured
    QUALIFY row_number() OVER (PARTITION BY held, others, devices, batch_per_device ORDER BY step_s, configuration) = 1)
SELECT series, system, model, c.precision, device_model, devices, batch_per_device, n_runs, step_s, samples_per_s,
    samples_per_s / devices AS device_samples_per_s,
    CASE WHEN scatter < 1.5 THEN samples_per_s / sharing
        / max(samples_per_s / sharing) FILTER (WHERE scatter < 1.5) OVER (PARTITION BY series) END AS relative,
    CASE WHEN scatter > 1.1 THEN format('repeats differ by a factor of {:.2f}', scatter) END AS note, run_ids
FROM cells AS c
QUALIFY count(*) OVER (PARTITION BY series) > 1
ORDER BY model, c.precision, device_model, series, devices, batch_per_device
