-- Settings of each run under canonical names: those that can change its speed, those that name it, and neutral ones.
--
-- Answers: With which settings was a run made, whatever its framework calls them?
--   The catalog (`FROM settings_catalog`) says which key of a framework is which setting.  Among several candidates the
--   most trusted origin counts, then the key that comes first in the catalog, then the first one in the files.
--   Values are normalized before they are compared: a flag is `true`; off, `None` and empty count as not stated; a
--   count is an integer; a parallel size of 1 counts as not stated; words are in lower case.  A text that is not a
--   value of its kind (two ranks that print into one line) is left out.  The device model is the catalog's name, found
--   by the name in the log or by the system.
--
-- Glance: setting value run_id~ origin class
--
-- Partition: run_id
--
-- Sources: params, runs, jobs, settings_catalog, run_devices, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id           VARCHAR    run
--   setting_order    INTEGER    order in which settings are shown
--   setting          VARCHAR    canonical name
--   class            VARCHAR    performance, identity or neutral
--   varies_with      VARCHAR    size: it follows from the number of devices; model: it grows with the model; else NULL
--   value            VARCHAR    value, in the form in which it is compared
--   origin           VARCHAR    where it comes from: sidecar log scheduler nccl environment path inferred
--   key              VARCHAR    name that the writer uses for it
WITH
keys AS (
    SELECT place AS setting_order, setting, class, kind, varies_with, unnest(string_split(keys, ' ')) AS key,
        generate_subscripts(string_split(keys, ' '), 1) AS key_order
    FROM settings_catalog),
-- For columns of `runs`, the value that `runs` has chosen counts; its origin is in `params`.
facts AS (
    UNPIVOT (
        SELECT run_id, framework::VARCHAR AS framework, model::VARCHAR AS model, r.precision::VARCHAR AS precision,
            dataset::VARCHAR AS dataset, system::VARCHAR AS system, nodes::VARCHAR AS nodes,
            devices::VARCHAR AS devices, devices_per_node::VARCHAR AS devices_per_node,
            device_model::VARCHAR AS device_model, device_unit::VARCHAR AS device_unit,
            micro_batch_size::VARCHAR AS micro_batch_size, global_batch_size::VARCHAR AS global_batch_size,
            seq_length::VARCHAR AS seq_length, tp::VARCHAR AS tp, pp::VARCHAR AS pp, dp::VARCHAR AS dp,
            cp::VARCHAR AS cp, job_id::VARCHAR AS job_id
        FROM runs AS r WHERE run_id IN (FROM selected_runs(runs := runs)))
    ON COLUMNS(* EXCLUDE (run_id)) INTO NAME key VALUE value),
trimmed_params AS (
    SELECT run_id, file_id, line, lower(key) AS key, origin, trim(value) AS text, unit,
        list_position(['sidecar', 'log', 'scheduler', 'nccl', 'environment', 'path', 'inferred'], origin) AS trust
    FROM params WHERE run_id IN (FROM selected_runs(runs := runs))),
stated AS (
    SELECT run_id, file_id, line, key, origin, trust, text, lower(text) AS word FROM trimmed_params
    WHERE key NOT IN (SELECT key FROM facts)
    UNION ALL BY NAME
    SELECT f.run_id, f.key, trim(f.value) AS text, lower(trim(f.value)) AS word,
        arg_min(s.origin, s.trust) AS origin, min(s.trust) AS trust
    FROM facts AS f LEFT JOIN trimmed_params AS s USING (run_id, key) GROUP BY f.run_id, f.key, f.value),
readable AS (
    SELECT s.run_id, setting_order, setting, class, varies_with, s.origin, s.trust, s.key, key_order, file_id, line,
        CASE WHEN word IN ('', 'none', 'null', 'false', 'no', 'off', 'nan', '[]', '()', '{}') THEN NULL
            WHEN kind = 'flag' THEN CASE WHEN word IN ('true', 'yes', 'on', '1') THEN 'true' END
            WHEN kind = 'count' THEN nullif(TRY_CAST(TRY_CAST(text AS DOUBLE) AS BIGINT), 0)::VARCHAR
            WHEN kind = 'split' THEN nullif(nullif(TRY_CAST(TRY_CAST(text AS DOUBLE) AS BIGINT), 0), 1)::VARCHAR
            WHEN kind = 'number' THEN TRY_CAST(text AS DOUBLE)::VARCHAR
            WHEN length(word) <= 100 AND NOT regexp_matches(word, '[{\[]') THEN word END AS value
    FROM stated AS s JOIN keys AS k USING (key)),
-- A recipe is printed even if fp8 is off: where another key says whether fp8 is on, the recipe does not count.
chosen AS (
    FROM readable WHERE value IS NOT NULL AND NOT (key = 'fp8_recipe' AND run_id IN (
        SELECT run_id FROM stated WHERE key IN ('fp8', 'fp8_hybrid', 'fp8_e4m3')))
    QUALIFY row_number() OVER (PARTITION BY run_id, setting ORDER BY
        trust, key_order, file_id, line) = 1),
-- A long list of hosts is told by its ends, its length and four digits that are equal for equal lists.
node_lists AS (
    SELECT run_id, CASE WHEN len(hosts) <= 4 THEN array_to_string(hosts, ', ')
        ELSE format('{} ... {} ({} nodes, {})', hosts[1], hosts[-1], len(hosts), left(md5(hosts::VARCHAR), 4)) END AS text
    FROM (
        SELECT run_id, list_sort(list_distinct(string_split(max(node_list), ','))) AS hosts
        FROM main.jobs WHERE step_id IS NULL AND node_list <> '' AND run_id IN (FROM selected_runs(runs := runs))
        GROUP BY run_id)),
devices AS (
    SELECT run_id, lower(device) AS device FROM run_devices(runs := runs) WHERE device IS NOT NULL)
SELECT run_id, setting_order, setting, c.class, varies_with,
    CASE setting WHEN 'device_model' THEN coalesce(device, value) ELSE value END AS value, origin, key
FROM chosen AS c LEFT JOIN devices USING (run_id)
UNION ALL BY NAME
SELECT run_id, s.place AS setting_order, setting, s.class, varies_with, device AS value, 'inferred' AS origin, 'system' AS key
FROM devices JOIN settings_catalog AS s ON setting = 'device_model'
WHERE run_id NOT IN (SELECT run_id FROM chosen WHERE setting = 'device_model')
UNION ALL BY NAME
SELECT run_id, s.place AS setting_order, setting, s.class, varies_with, text AS value, 'scheduler' AS origin, 'node_list' AS key
FROM node_lists JOIN settings_catalog AS s ON setting = 'node_list'
ORDER BY run_id, setting_order
