-- Runs that are in no scaling series, and what would put them into one.
--
-- Answers: Why is a run not in `scaling`, and how can that be fixed?
--   Which line of a scalelens.toml would do it?  The first reason that applies is given: what the metric needs was not
--   logged; the number of devices or the batch is not known; no other size was run; another size was run with other
--   settings, and then the nearest run is named.  `...` in a remedy is what only you know.  Another metric is named
--   where it has a series of the run.
--
-- Glance: run_id nearest~ differs reason remedy
--
-- Sources: runs, members, files, step_times, batch_stats, rates_logged, epoch_times, held_settings, scaling_points,
--   scaling_series, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude, metric, series_by
--   facts_only := false    true: only runs that lack a fact of their own, whatever other sizes were run
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
    SELECT run_id, step_s, coalesce(samples_per_s, tokens_per_s) AS per_s, tflops_per_device
    FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
-- Runs with records that time a step, also where all are left out.
with_times AS (SELECT DISTINCT run_id FROM step_times WHERE step_s > 0),
rated AS (FROM rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
with_epochs AS (
    SELECT DISTINCT run_id FROM epoch_times(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE epoch_s > 0 AND NOT is_cut),
-- Runs of which a log was read by the names that it prints: whoever knows it can say what its columns are.
without_format AS (
    SELECT DISTINCT run_id FROM members JOIN files USING (file_id) WHERE contains(array_to_string(formats, ' '), 'generic_')),
facts AS (
    SELECT *, coalesce(tp, 1)::DOUBLE * coalesce(pp, 1) * coalesce(cp, 1) AS devices_per_replica,
        coalesce(dp, CASE WHEN devices % devices_per_replica = 0 AND device_unit IS DISTINCT FROM 'ipu'
            THEN devices / devices_per_replica END) AS replicas,
        regexp_replace(coalesce(path, ''), '/[^/]*$', '') AS folder, regexp_extract(coalesce(path, ''), '[^/]*$') AS file,
        count(*) OVER (PARTITION BY folder) AS n_in_folder,
        split_part(coalesce(path, 'FILE'), '!', 1) AS on_disk,
        shell_word(on_disk) AS opened
    FROM runs),
left_over AS (
    SELECT r.* EXCLUDE (global_batch_size), p.global_batch_size, r.global_batch_size AS stated_batch, p.run_id IS NOT NULL AS is_point,
        coalesce(t.step_s > 0, false) AS is_timed,
        coalesce(l.samples_per_s, l.tokens_per_s) AS printed_per_s,
        coalesce(printed_per_s > 0 AND (l.rate_scope = 'global' OR l.rate_scope = 'rank' AND l.is_of_run), false)
            OR coalesce(t.per_s > 0, false) AS has_rate,
        coalesce(l.tflops_per_device > 0, t.tflops_per_device > 0, false) AS prints_tflops,
        e.run_id IS NOT NULL AS has_epochs,
        CASE WHEN metric = 'throughput' THEN has_rate OR is_timed WHEN metric = 'tflops' THEN prints_tflops
            WHEN metric IN ('t_ep', 't_tr') THEN is_point OR r.devices IS NULL ELSE is_timed OR is_point END AS is_measured,
        metric = 'throughput' AND NOT is_measured AND r.devices IS NOT NULL AND coalesce(printed_per_s > 0, false)
            AS has_only_rate, l.rate_scope,
        list_filter([if(is_timed, 't_b', NULL), if(has_rate, 'throughput', NULL), if(prints_tflops, 'tflops', NULL),
            if(has_epochs, 't_ep', NULL)], lambda x: x IS NOT NULL) AS other_metrics
    FROM facts AS r LEFT JOIN timed AS t USING (run_id) LEFT JOIN points AS p USING (run_id)
    LEFT JOIN rated AS l USING (run_id) LEFT JOIN with_epochs AS e USING (run_id)
    WHERE r.run_id IN (FROM selected_runs(runs := runs)) AND r.run_id NOT IN (FROM compared)),
-- Another metric, of which another size was measured with the settings of the run.
measured AS (
    SELECT l.run_id, devices, stated_batch AS batch, h.held, h.held_of_model, h.study, unnest(other_metrics) AS shown_by,
        generate_subscripts(other_metrics, 1) AS place
    FROM left_over AS l JOIN held_settings(runs := runs) AS h USING (run_id) WHERE NOT is_measured OR NOT is_point),
sizes AS (SELECT DISTINCT * EXCLUDE (run_id, place) FROM measured),
otherwise AS (
    SELECT a.run_id, arg_min(a.shown_by, a.place) AS shown_by
    FROM measured AS a JOIN sizes AS b ON a.shown_by = b.shown_by AND a.held = b.held
        AND a.held_of_model = b.held_of_model AND a.study IS NOT DISTINCT FROM b.study AND a.devices <> b.devices
    WHERE a.batch = b.batch OR a.batch / a.devices = b.batch / b.devices
        OR (a.batch IS NULL AND b.batch IS NULL AND a.shown_by <> 't_b')
    GROUP BY a.run_id),
-- Repeats have the same settings: these are compared, and not each run with each other.
settings AS (
    SELECT devices, global_batch_size, study,
        list_filter(list_concat(string_split(held, ', '), string_split(held_of_model, ', ')), lambda x: x <> '') AS pieces,
        min(run_id) AS first_run, list(run_id) AS run_ids, bool_or(run_id IN (SELECT run_id FROM left_over)) AS has_left_over
    FROM points GROUP BY ALL),
nearest_settings AS (
    SELECT a.run_ids, b.first_run AS other, a.study IS NOT DISTINCT FROM b.study AS is_one_study,
        list_sort(list_distinct(list_transform(list_concat(
            list_filter(a.pieces, lambda x: NOT list_contains(b.pieces, x)),
            list_filter(b.pieces, lambda x: NOT list_contains(a.pieces, x))),
            lambda x: split_part(x, ' ', 1)))) AS differs,
        a.global_batch_size / a.devices = b.global_batch_size / b.devices OR a.global_batch_size = b.global_batch_size
            AS is_one_batch
    FROM settings AS a JOIN settings AS b ON a.devices <> b.devices
    WHERE a.has_left_over
    QUALIFY row_number() OVER (PARTITION BY a.first_run
        ORDER BY len(differs) + (NOT is_one_batch)::INTEGER + (NOT is_one_study)::INTEGER, b.first_run) = 1),
nearest AS (SELECT * EXCLUDE (run_ids), unnest(run_ids) AS run_id FROM nearest_settings)
SELECT l.run_id, l.name,
    CASE WHEN has_only_rate
            THEN if(rate_scope IS NULL, 'nothing says that the printed rate is of the job', 'the printed rate is of a device')
        WHEN NOT is_measured AND other_metrics = [] THEN if(l.run_id IN (FROM with_times),
            'every record that times a step is left out', 'no record times a step')
        WHEN NOT is_measured AND devices IS NOT NULL THEN CASE WHEN metric = 'throughput' THEN 'the log prints no samples or tokens per second'
            WHEN metric = 'tflops' THEN 'the log prints no TFLOP/s' WHEN metric IN ('t_ep', 't_tr') THEN 'no epoch is timed'
            WHEN has_rate OR prints_tflops THEN 'the log prints a rate but no step time'
            ELSE 'the log times epochs, not steps' END
        WHEN devices IS NULL THEN 'no log states the number of devices'
        WHEN NOT is_point THEN 'no log states the global batch'
        WHEN other IS NULL THEN 'no other size was run'
        WHEN len(differs) > 0 THEN 'other sizes were run with other settings'
        WHEN NOT is_one_study THEN 'no log names the system, and the folders are not those of one study'
        ELSE 'no other size has the same global batch, or the same batch per device' END AS reason,
    CASE WHEN has_only_rate AND rate_scope IS NULL AND l.run_id IN (FROM without_format)
            THEN 'if it is, ingest with --map samples_per_s=COLUMN:global; its COLUMN: scalelens identify ' || opened
        WHEN has_only_rate THEN 'see its rates: scalelens query throughput runs=' || l.run_id
        WHEN NOT is_measured AND other_metrics = [] AND l.run_id IN (FROM with_times)
            THEN format('see by which rule: scalelens query exclusions runs={}', l.run_id)
        WHEN NOT is_measured AND other_metrics = [] THEN 'see what was read from its file: scalelens identify ' || opened
        WHEN NOT is_measured AND devices IS NOT NULL THEN CASE
            WHEN shown_by IS NOT NULL THEN 'scalelens query scaling metric=' || shown_by
            WHEN is_timed THEN 'see its step times: scalelens query batch_stats runs=' || l.run_id
            WHEN has_rate THEN 'see its rates: scalelens query throughput runs=' || l.run_id
            WHEN has_epochs THEN 'see its epochs: scalelens query epoch_times runs=' || l.run_id
            ELSE 'see what was read from its file: scalelens identify ' || opened END
        WHEN devices IS NULL THEN CASE
            WHEN nodes > 0 AND NOT contains(path, '!')
                THEN format('set devices_per_node = ... under [facts] in {}/scalelens.toml', folder)
            WHEN n_in_folder = 1 AND NOT contains(path, '!')
                THEN format('set devices = ... under [facts] in {}/scalelens.toml', folder)
            WHEN NOT contains(path, '!') AND regexp_full_match(file, '[A-Za-z_.-]*[0-9]{1,5}[A-Za-z_.-]*')
                THEN format('set templates = ["{}"] in {}/scalelens.toml if the number in its name counts devices',
                    regexp_replace(file, '[0-9]+', '{devices}'), folder)
            ELSE CASE WHEN contains(path, '!') THEN '' ELSE format('set devices = ... under [facts] in {}/scalelens.toml, if its '
                    || '{} runs have the same number; else ', folder, n_in_folder) END
                || 'move its file into a folder gpusN, with N its number of devices, and forget where it was: scalelens forget '
                || opened END
        WHEN NOT is_point AND shown_by IS NOT NULL THEN format('compare them: scalelens query scaling metric={}; for steps, set '
            || 'batch_per_device = ... under [facts] in scalelens.toml', shown_by)
        WHEN NOT is_point AND micro_batch_size > 0 AND replicas > 0
            THEN format('set gradient_accumulation = ... under [facts] in scalelens.toml: micro-batches of {} that each of '
                || '{:.0f} replicas computes in a step', micro_batch_size, replicas)
        WHEN NOT is_point AND devices = 1 THEN 'set global_batch_size = ... under [facts] in scalelens.toml'
        WHEN NOT is_point THEN format('set batch_per_device = ... under [facts] in scalelens.toml, the global batch over its {} '
            || 'devices; or global_batch_size = ... where every size has the same', devices)
        WHEN len(differs) > 0 THEN format('compare: scalelens query differences a={} b={}', l.run_id, other)
        WHEN NOT is_one_study THEN 'set system = "..." under [facts], or study = "..." under [labels], in a scalelens.toml above both'
        ELSE 'run a second size' || coalesce(format(' with a batch of {:g} per device, or with a global batch of {}',
            l.global_batch_size / devices, l.global_batch_size), '') END AS remedy,
    other AS nearest, array_to_string(differs, ', ') AS differs
FROM left_over AS l LEFT JOIN nearest AS n USING (run_id) LEFT JOIN otherwise USING (run_id)
WHERE NOT facts_only OR NOT is_measured OR devices IS NULL OR NOT is_point
ORDER BY reason, l.name, l.run_id
