-- Runs that are in no scaling series, and what would put them into one.
--
-- Answers: Why is a run not in `scaling`, and how can that be fixed?
--   Which line of a scalelens.toml would do it?  The first reason that applies is given: no step was timed, or only
--   rates were logged; the number of devices or the batch is not known; no other size was run; another size was run
--   with other settings, and then the nearest run is named.
--
-- Glance: run_id nearest~ differs reason remedy
--
-- Sources: runs, batch_stats, rates_logged, scaling_points, scaling_series, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--
-- Columns:
--   run_id     VARCHAR    run
--   name       VARCHAR    name of the run
--   reason     VARCHAR    what is missing
--   remedy     VARCHAR    what to do about it
--   nearest    VARCHAR    run of another size that differs least; NULL where there is none
--   differs    VARCHAR    settings in which that run differs
WITH
points AS (
    FROM scaling_points(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
compared AS (
    SELECT DISTINCT unnest(run_ids) AS run_id
    FROM scaling_series(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, metric := metric,
        series_by := series_by)),
timed AS (
    SELECT run_id FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE step_s > 0),
rated AS (FROM rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
left_over AS (
    SELECT r.run_id, r.name, r.devices, t.run_id IS NOT NULL OR p.run_id IS NOT NULL AS is_timed,
        p.run_id IS NOT NULL AS is_point,
        CASE WHEN l.samples_per_s > 0 AND rate_scope = 'global' THEN 'throughput' WHEN l.tflops_per_device > 0 THEN 'tflops' END AS rate
    FROM runs AS r LEFT JOIN timed AS t USING (run_id) LEFT JOIN points AS p USING (run_id)
    LEFT JOIN rated AS l USING (run_id)
    WHERE r.run_id IN (FROM selected_runs(runs := runs)) AND r.run_id NOT IN (FROM compared)),
pieces AS (
    SELECT run_id, devices, global_batch_size, study,
        list_filter(list_concat(string_split(held, ', '), string_split(held_of_model, ', ')), lambda x: x <> '') AS pieces
    FROM points),
nearest AS (
    SELECT a.run_id, b.run_id AS other, a.study IS NOT DISTINCT FROM b.study AS is_one_study,
        list_sort(list_distinct(list_transform(list_concat(
            list_filter(a.pieces, lambda x: NOT list_contains(b.pieces, x)),
            list_filter(b.pieces, lambda x: NOT list_contains(a.pieces, x))),
            lambda x: split_part(x, ' ', 1)))) AS differs,
        a.global_batch_size / a.devices = b.global_batch_size / b.devices OR a.global_batch_size = b.global_batch_size
            AS is_one_batch
    FROM pieces AS a JOIN left_over USING (run_id) JOIN pieces AS b ON a.devices <> b.devices
    QUALIFY row_number() OVER (PARTITION BY a.run_id
        ORDER BY len(differs) + (NOT is_one_batch)::INTEGER + (NOT is_one_study)::INTEGER, b.run_id) = 1)
SELECT l.run_id, l.name,
    CASE WHEN NOT is_timed AND rate IS NOT NULL THEN 'the log prints a rate but no step time'
        WHEN NOT is_timed THEN 'no record times a step'
        WHEN devices IS NULL THEN 'no log states the number of devices'
        WHEN NOT is_point THEN 'no log states the global batch'
        WHEN other IS NULL THEN 'no other size was run'
        WHEN len(differs) > 0 THEN 'other sizes were run with other settings'
        WHEN NOT is_one_study THEN 'no log names the system, and the folders are not those of one study'
        ELSE 'no other size has the same global batch, or the same batch per device' END AS reason,
    CASE WHEN NOT is_timed AND rate IS NOT NULL THEN 'scalelens query scaling metric=' || rate
        WHEN NOT is_timed THEN 'see what was read from its file: scalelens identify FILE'
        WHEN devices IS NULL THEN 'set it in scalelens.toml: templates = ["n{devices}/*"], or devices = 8 under [facts]'
        WHEN NOT is_point THEN 'set it in scalelens.toml: global_batch_size = 256 under [facts]'
        WHEN other IS NULL THEN 'run a second size'
        WHEN len(differs) > 0 THEN format('compare: scalelens query differences a={} b={}', l.run_id, other)
        WHEN NOT is_one_study THEN 'set it in scalelens.toml: system = "..." under [facts], or study = "..." under [labels]'
        ELSE 'run a size with the same batch per device, or with the same global batch' END AS remedy,
    other AS nearest, array_to_string(differs, ', ') AS differs
FROM left_over AS l LEFT JOIN nearest AS n USING (run_id)
ORDER BY reason, l.name, l.run_id
