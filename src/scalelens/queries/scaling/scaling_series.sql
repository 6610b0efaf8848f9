-- Series of runs that differ in size: which belong together, and whether they scale weakly or strongly.
--
-- Answers: Which configurations form a series?
--   Runs that are equal in every performance setting that either states are repeats: they are one row, and the run is
--   the unit.  Where repeats differ by 10 %, or by 5 % and by more than their own intervals, their range is shown, and
--   `scatter` gives the factor; where they differ by half or more, something differs that no log states, and they stay
--   apart, one row each.
--   A series has two sizes or more, equal in all settings except those that follow from the number of devices, in
--   labels and in `series_by`; with an equal batch per device it is `weak`, with an equal global batch `strong`.  A run
--   may be in several.  Where no log states the batch it is a series of `throughput`, for the metrics that need none.
--   Configurations in no such series are tried again without the model: those of equal global batch are `mixed` if the
--   model grows with the devices.  Where no model or shape is known, a series is one of `throughput`.  What is left
--   then is in no series, and is not included.
--
-- Helper: used by scaling
--
-- Needs: runs.devices
--
-- Sources: scaling_points
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   series                 VARCHAR             what the runs of the series have in common
--   scaling                VARCHAR             weak, strong, mixed or throughput
--   run_ids                VARCHAR[]           runs, the fastest first
--   system                 VARCHAR             machine
--   model                  VARCHAR             model
--   parameters             DOUBLE              parameters of the model
--   precision              VARCHAR             number format
--   nodes                  INTEGER             nodes
--   devices                INTEGER             devices
--   global_batch_size      BIGINT samples      per step over all devices
--   n_runs                 BIGINT              runs
--   n_steps                BIGINT              records that the statistics rest on, over all runs
--   time_s                 DOUBLE s            time by the metric (scaling_points); for repeats, the median over the
--                                              runs
--   time_s_low             DOUBLE s            lower end of its interval
--   time_s_high            DOUBLE s            upper end of its interval
--   repeat_times_s         DOUBLE[] s          times of the runs, in the order of run_ids
--   work                   DOUBLE              what is done in time_s
--   interval_kind          VARCHAR             ci95, or range where 95 % cannot be claimed
--   interval_of            VARCHAR             steps (within one run) or runs (between repeats)
--   samples_per_s          DOUBLE samples/s    total samples over total time
--   tokens_per_s           DOUBLE tokens/s     total tokens over total time, where samples are not known
--   model_tflops           DOUBLE TFLOP/s      per device, of the model
--   printed_tflops         DOUBLE TFLOP/s      per device, as printed, median over the runs
--   is_smoothed            BOOLEAN             whether the times are running means, or means of an epoch or a run
--   held                   VARCHAR             all performance settings that are equal within the series
--   scatter                DOUBLE              longest time over shortest, of repeats that differ more than they should
--   is_unlike              BOOLEAN             whether such runs are kept apart, because they differ by half or more
--   fastest_and_slowest    VARCHAR[]           the two runs to compare in that case
--   mean_over_median       DOUBLE              mean time over median time, the largest of the runs
--   has_device_model       BOOLEAN             whether the model of the device is known
--   has_model              BOOLEAN             whether the model or its shape is known
--   batch_note             VARCHAR             what to know or doubt about the batch
WITH
points AS (
    FROM scaling_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
alike AS (
    SELECT *, max(time_s) OVER same / min(time_s) OVER same AS ratio,
        max(coalesce(time_s_low, time_s)) OVER same > min(coalesce(time_s_high, time_s)) OVER same AS is_apart,
        CASE WHEN count(*) OVER same > 1 AND (ratio > 1.1 OR (ratio > 1.05 AND is_apart)) THEN ratio END AS scatter,
        coalesce(scatter >= 1.5, false) AS is_unlike,
        [arg_min(run_id, time_s) OVER same, arg_max(run_id, time_s) OVER same] AS fastest_and_slowest
    FROM points AS p
    WINDOW same AS (PARTITION BY held, held_of_model, study, devices, global_batch_size, layout)),
configurations AS (
    SELECT settings, held, held_of_model, study, has_model, system, model, parameters, p.precision, nodes, devices,
        global_batch_size,
        list(run_id ORDER BY time_s, run_id) AS run_ids, count(*) AS n_runs, sum(n_steps)::BIGINT AS n_steps,
        median(time_s) AS time_s, list(time_s ORDER BY time_s, run_id) AS repeat_times_s, median(work) AS work,
        CASE count(*) WHEN 1 THEN 'steps' ELSE 'runs' END AS interval_of,
        {'low': min(time_s_low), 'high': max(time_s_high), 'kind': min(interval_kind)} AS within_run,
        median_interval_between_runs(list(time_s)) AS between_runs,
        coalesce(sum(samples_per_s * timed_s ORDER BY run_id) / sum(timed_s ORDER BY run_id), median(samples_per_s))
            AS samples_per_s,
        median(tokens_per_s) AS tokens_per_s,
        sum(model_tflops * timed_s ORDER BY run_id) / sum(timed_s ORDER BY run_id) AS model_tflops,
        median(printed_tflops) AS printed_tflops,
        bool_or(regexp_matches(value_kinds, 'running|epoch|run_mean')) AS is_smoothed,
        max(scatter) AS scatter, is_unlike, any_value(fastest_and_slowest) AS fastest_and_slowest,
        max(mean_s / step_s) AS mean_over_median,
        bool_or(contains(held, 'device_model ')) AS has_device_model, any_value(batch_note) AS batch_note
    FROM alike AS p
    GROUP BY settings, held, held_of_model, study, has_model, system, model, parameters, p.precision, nodes, devices,
        global_batch_size, layout, is_unlike, CASE WHEN is_unlike THEN run_id END),
candidates AS (
    SELECT 'weak' AS scaling, format('weak (batch {:g} per device)', global_batch_size / devices) AS what_is_equal, *
    FROM configurations WHERE global_batch_size > 0
    UNION ALL
    SELECT 'strong', format('strong (global batch {})', global_batch_size), * FROM configurations WHERE global_batch_size > 0
    UNION ALL
    SELECT 'throughput', 'throughput (batch unknown)', * FROM configurations WHERE global_batch_size IS NULL),
of_one_model AS (
    FROM candidates
    QUALIFY count(DISTINCT devices) OVER (PARTITION BY held, held_of_model, study, what_is_equal) >= 2),
left_over AS (FROM configurations WHERE run_ids NOT IN (SELECT run_ids FROM of_one_model)),
-- Each size has a model of its own, and the larger the size the larger the model: by the fourth root of the sizes at
-- least, as models of nearly the same size on ever more devices are other models, not one that grows.
growing AS (
    SELECT held, study, global_batch_size FROM left_over GROUP BY held, study, global_batch_size
    HAVING count(DISTINCT devices) >= 2 AND count(parameters) = count(*)
        AND count(DISTINCT parameters) = count(DISTINCT devices)
        AND count(DISTINCT (devices, parameters)) = count(DISTINCT devices)
        AND list(parameters ORDER BY devices, parameters) = list(parameters ORDER BY parameters)
        AND max(parameters) / min(parameters) >= (max(devices) / min(devices)) ** 0.25),
members AS (
    SELECT concat_ws(' · ', model, nullif(settings, '')) AS name, * REPLACE (
        CASE WHEN has_model THEN scaling ELSE 'throughput' END AS scaling)
    FROM of_one_model
    UNION ALL
    SELECT nullif(settings, ''), 'mixed', format('mixed (global batch {}, growing model)', l.global_batch_size), l.*
    FROM left_over AS l JOIN growing AS g ON l.held = g.held AND l.study IS NOT DISTINCT FROM g.study
        AND l.global_batch_size = g.global_batch_size),
-- Where series share a name, what distinguishes them is added to it.
pieces AS (
    SELECT DISTINCT name, held, study, CASE WHEN scaling <> 'mixed' THEN held_of_model ELSE '' END AS held_of_model,
        unnest(list_concat(string_split(held, ', '), string_split(CASE WHEN scaling <> 'mixed' THEN held_of_model ELSE '' END, ', '),
            [regexp_extract(study, '[^/]*$')])) AS piece
    FROM members),
common_pieces AS (
    SELECT p.name, piece FROM pieces AS p
    JOIN (SELECT name, count(DISTINCT (held, study, held_of_model)) AS n FROM pieces GROUP BY name) AS all_of USING (name)
    GROUP BY p.name, piece, n HAVING count(DISTINCT (held, study, held_of_model)) = n),
-- Versions change with the machine, say: where the other pieces keep all series of a name apart, these do without them.
told AS (
    SELECT name, held, study, held_of_model, string_agg(piece, ', ' ORDER BY piece) AS with_versions,
        string_agg(piece, ', ' ORDER BY piece) FILTER (NOT regexp_matches(piece, '^\w*_version ')) AS without_versions
    FROM pieces ANTI JOIN common_pieces USING (name, piece) WHERE piece <> '' GROUP BY name, held, study, held_of_model),
apart AS (
    SELECT name, held, study, held_of_model,
        if(count(DISTINCT without_versions) OVER (PARTITION BY name) = count(*) OVER (PARTITION BY name),
            without_versions, with_versions) AS apart
    FROM told)
SELECT concat_ws(' · ', nullif(m.name, ''), apart, what_is_equal) AS series, scaling, run_ids, system, model, parameters,
    m.precision, nodes, devices, global_batch_size, n_runs, n_steps, time_s,
    CASE interval_of WHEN 'runs' THEN if(scatter IS NULL, between_runs.low, repeat_times_s[1]) ELSE within_run.low END AS time_s_low,
    CASE interval_of WHEN 'runs' THEN if(scatter IS NULL, between_runs.high, repeat_times_s[-1]) ELSE within_run.high END
        AS time_s_high,
    repeat_times_s, work,
    CASE interval_of WHEN 'runs' THEN if(scatter IS NULL, between_runs.kind, 'range') ELSE within_run.kind END
        AS interval_kind,
    interval_of, samples_per_s, tokens_per_s, model_tflops, printed_tflops, is_smoothed,
    m.held, scatter, is_unlike, fastest_and_slowest, mean_over_median, has_device_model, has_model, batch_note
FROM members AS m LEFT JOIN apart AS a ON m.name IS NOT DISTINCT FROM a.name AND m.held = a.held
    AND m.study IS NOT DISTINCT FROM a.study
    AND a.held_of_model = CASE WHEN scaling <> 'mixed' THEN m.held_of_model ELSE '' END
ORDER BY series, devices, time_s / coalesce(work, 1), run_ids
