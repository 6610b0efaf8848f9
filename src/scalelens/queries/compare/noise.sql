-- How much identical runs differ, and the smallest difference that a number of runs can show.
--
-- Answers: How much do repeats of the same run differ?  Which difference can one, three, five or ten runs show?
--   A row for each configuration with two runs or more: they agree in all settings that can change speed, in system and
--   devices.  `least_3` is the difference beyond which 5 % of pairs of three runs of the same thing lie: a smaller one,
--   measured with three runs a side, may be noise.
--   From ten repeats on these limits are resampled from them (`calibration` is own).  With fewer they are assumed to be
--   those of published repeats (noise_catalog): of the same system where it is there, else the largest of all.
--   Two modes, quiet and congested, are a mixture: `slow_share` and `slow_by` say how many of the runs are slow, and by
--   how much.  A small `slow_p` says that slow runs follow each other in time: repeats of one hour are then no sample of
--   the noise.
--
-- Formula:
--   scatter = standard deviation of ln(value).  least_k = the 95 % quantile of |ln(mean of k / mean of k)|, with geometric
--   means, of all pairs for k = 1 and of 4,000 resampled ones else.
--   slow: beyond the median by 5 robust sigma and 2 %.  slow_p: Wald and Wolfowitz' test of runs.
--
-- Reference: Wald and Wolfowitz, Annals of Mathematical Statistics 11, 1940.  statistics/noise.py, docs/statistics.md.
--
-- Assumptions: What varied between the repeats varies again.  Repeats of one afternoon show the noise of an afternoon.
--
-- Limits: Calibrated on the first half of three published series of 67 to 117 runs, at most 6.5 % of pairs of the second
--   half lie beyond the limit.
--
-- Glance: configuration n_runs scatter% largest_ratio least_1% least_3% least_5% least_10% calibration slow_share% note
--
-- When empty: no two runs with times of steps have the same settings
--
-- Sources: repeated_values, noise_catalog
--
-- Parameters: runs, epochs, warmup, exclude, measure, quantile
--
-- Columns:
--   configuration    VARCHAR      system, model, devices and batch, in short
--   system           VARCHAR      machine
--   devices          INTEGER      devices
--   n_runs           BIGINT       runs of the configuration that have a value
--   first_started    TIMESTAMP    start of the first of them
--   last_started     TIMESTAMP    start of the last
--   measure          VARCHAR      what scatters
--   run_value        DOUBLE       geometric mean over the runs, in the unit of the measure
--   scatter          DOUBLE       standard deviation between the runs, as a share
--   largest_ratio    DOUBLE       largest over smallest of the runs' values
--   least_1          DOUBLE       smallest difference that one run a side shows at 5 % false alarms, as a share
--   least_3          DOUBLE       the same of three runs a side
--   least_5          DOUBLE       of five runs a side
--   least_10         DOUBLE       of ten runs a side
--   calibration      VARCHAR      own, or catalog: assumed from published repeats
--   slow_share       DOUBLE       share of the runs in a slow mode; NULL where there is none
--   slow_by          DOUBLE       median of the slow runs over that of the others, less 1
--   slow_p           DOUBLE       chance that slow runs follow each other as much by accident
--   run_ids          VARCHAR[]    the runs, in the order of time
--   note             VARCHAR      what is assumed, and what the modes mean
WITH
grouped AS (
    SELECT any_value(system) AS system, any_value(devices) AS devices,
        concat_ws(' · ', any_value(system), any_value(model), any_value(precision), any_value(devices) || ' devices',
            any_value(device_model), 'batch ' || any_value(global_batch_size)) AS configuration,
        count(*) AS n_runs, min(started_at) AS first_started, max(started_at) AS last_started,
        exp(avg(ln(run_value))) AS run_value, list(run_id ORDER BY started_at NULLS LAST, run_id) AS run_ids,
        noise_of_runs(list(run_value ORDER BY started_at NULLS LAST, run_id)) AS own
    FROM repeated_values(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, measure := measure,
        quantile := quantile)
    GROUP BY alike HAVING count(*) > 1),
assumed AS (
    SELECT g.*, c.system AS of_system, c.workload, c.n_runs AS of_runs, c.least_1, c.least_3, c.least_5, c.least_10
    FROM grouped AS g CROSS JOIN noise_catalog AS c
    QUALIFY row_number() OVER (PARTITION BY g.run_ids
        ORDER BY coalesce(regexp_matches(lower(g.system), c.pattern), false) DESC, c.least_1 DESC) = 1)
SELECT configuration, system, devices, n_runs, first_started, last_started, measure AS measure, run_value,
    own.scatter AS scatter, own.largest_ratio AS largest_ratio,
    coalesce(own.least_1, least_1) AS least_1, coalesce(own.least_3, least_3) AS least_3,
    coalesce(own.least_5, least_5) AS least_5, coalesce(own.least_10, least_10) AS least_10,
    if(own.least_1 IS NULL, 'catalog', 'own') AS calibration,
    own.slow_share AS slow_share, own.slow_by AS slow_by, own.slow_p AS slow_p, run_ids,
    notes([
        CASE WHEN own.least_1 IS NULL THEN format('{} repeats are too few to calibrate by: the limits are assumed to be those '
            || 'of {} runs of {} on {}', n_runs, of_runs, workload, of_system) END,
        CASE WHEN own.slow_share IS NOT NULL THEN format('a mixture: {:.0f} % of the runs are {:.1f} % slower or larger than '
            || 'the others{}', 100 * own.slow_share, 100 * own.slow_by,
            if(own.slow_p < 0.05, ', and follow each other in time', '')) END]) AS note
FROM assumed
ORDER BY n_runs DESC, configuration, run_ids
