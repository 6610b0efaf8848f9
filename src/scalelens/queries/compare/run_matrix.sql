-- A study at a glance: what is done, what failed and why, and what is missing, by configuration and number of devices.
--
-- Answers: Which runs of my scaling study are still to be made?
--   The sizes of a study are those that any of its configurations has run, and the doublings between the smallest and
--   the largest of them if all its sizes are multiples of the smallest.  A configuration that ran at one size only has
--   nothing missing: it may not be meant as a series.  Runs belong to one study if they share a system or lie in
--   similar folders (held_settings).  A configuration is every performance setting except those that follow from the
--   size, and weak or strong scaling where the log says which.
--
-- Glance: study configuration devices state n_done n_runs why
--
-- When empty: no log states the number of devices
--
-- Sources: runs, step_times, phases, held_settings, params, selected_runs, labels
--
-- Parameters: runs
--
-- Columns:
--   study            VARCHAR      system, or folders with numbers masked
--   configuration    VARCHAR      model, number format, framework, device, and how it
--                                 scales
--   devices          INTEGER      devices
--   state            VARCHAR      done (a run of this size timed its steps, epochs or itself, and did not fail), failed
--                                 or missing
--   n_runs           BIGINT       runs of this size
--   n_done           BIGINT       those that are done
--   why              VARCHAR      outcome of each failed run with its line: oom (line 812); or `no time was logged`
--   run_ids          VARCHAR[]    these runs
WITH
timed AS (
    SELECT run_id FROM step_times WHERE step_s IS NOT NULL
    UNION SELECT run_id FROM phases WHERE phase IN ('epoch', 'train', 'run') AND span_s > 0),
scalings AS (SELECT run_id, min(value) AS scaling FROM params WHERE key = 'scaling' GROUP BY run_id),
judged AS (
    SELECT r.run_id, coalesce(system, study, '') AS study, held, r.devices, outcome, outcome_line,
        concat_ws(' · ', model, r.precision, framework, nullif(regexp_extract(held, 'device_model [^,]+'), ''), scaling, labels)
            AS configuration,
        t.run_id IS NOT NULL AND outcome IN ('completed', 'unknown', 'time_limit', 'cancelled') AS is_done,
        CASE WHEN t.run_id IS NULL AND outcome IN ('completed', 'unknown') THEN 'no time was logged'
            ELSE outcome || coalesce(format(' (line {})', outcome_line), '') END AS why
    FROM held_settings(runs := runs) JOIN runs AS r USING (run_id) LEFT JOIN timed AS t USING (run_id)
    LEFT JOIN scalings USING (run_id) LEFT JOIN labels() USING (run_id)
    WHERE r.devices > 0 AND r.run_id IN (FROM selected_runs(runs := runs))),
doublings AS (
    SELECT study, min(devices) AS least, max(devices) AS most
    FROM judged GROUP BY study
    HAVING bool_and(devices % (SELECT min(j.devices) FROM judged AS j WHERE j.study = judged.study) = 0)),
sizes AS (
    SELECT DISTINCT study, devices FROM judged
    UNION
    SELECT study, (least * 2 ** k)::INTEGER AS devices FROM doublings, range(20) AS t(k)
    WHERE least * 2 ** k <= most),
cells AS (
    SELECT c.study, configuration, held, s.devices
    FROM (SELECT study, configuration, held, list(DISTINCT devices) AS own FROM judged GROUP BY ALL) AS c
    JOIN sizes AS s ON s.study = c.study AND (len(own) > 1 OR s.devices = own[1]))
SELECT w.study, w.configuration, w.devices,
    CASE WHEN bool_or(is_done) THEN 'done' WHEN count(run_id) > 0 THEN 'failed' ELSE 'missing' END AS state,
    count(run_id) AS n_runs, count(*) FILTER (is_done) AS n_done,
    string_agg(why, ', ' ORDER BY run_id) FILTER (NOT is_done) AS why,
    list(run_id ORDER BY run_id) FILTER (run_id IS NOT NULL) AS run_ids
FROM cells AS w LEFT JOIN judged AS j ON j.study = w.study AND j.configuration = w.configuration AND j.held = w.held
    AND j.devices = w.devices
GROUP BY w.study, w.configuration, w.held, w.devices
ORDER BY w.study, w.configuration, w.held, w.devices
