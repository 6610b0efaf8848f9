-- Jobs with the time of a step, their configuration and their suspects: what `blame` compares.
--
-- Answers: Which runs can say whether a node, a setting or an hour makes jobs slow?
--   Runs with the time of a step and with a suspect.  A configuration is every setting that can change speed, and the
--   labels that the user gave.
--
-- Helper: used by blame and blame_jobs
--
-- Sources: run_nodes, run_values, configuration, labels, params, runs
--
-- Parameters: runs, epochs, warmup, exclude
--   suspects := 'node'    what is tested: 'node', 'setting' or 'hour'
--
-- Columns:
--   run_id           VARCHAR      run
--   step_s           DOUBLE s     median time of a step
--   configuration    VARCHAR      its settings that can change speed, and its labels
--   suspects_of      VARCHAR[]    its suspects: nodes, settings with their values, or day and hour
--   moment_s         DOUBLE s     when it started, since 1970; NULL where that is not known, and for hours
WITH
suspected AS (
    SELECT run_id, list(DISTINCT label ORDER BY label) AS labels FROM query(CASE suspects
        WHEN 'node' THEN 'SELECT run_id, node AS label FROM run_nodes(runs := ' || quoted(runs) || ')'
        WHEN 'setting' THEN 'SELECT run_id, setting || '' '' || value AS label FROM configuration(runs := ' || quoted(runs)
            || ') AS c WHERE c.class <> ''performance'' AND setting NOT IN (''job_id'', ''run_name'', ''paths'', ''started'', ''node_list'', ''seed'') '
            || 'UNION ALL SELECT run_id, key || '' '' || min(value) FROM params WHERE regexp_matches(key, ''_version$|^version$|commit'') '
            || 'AND key NOT IN (''framework_version'', ''torch_version'', ''nccl_version'', ''cuda_version'') GROUP BY run_id, key'
        WHEN 'hour' THEN 'SELECT run_id, strftime(started_at, ''%H:00'') AS label FROM runs WHERE started_at IS NOT NULL '
            || 'UNION ALL SELECT run_id, strftime(started_at, ''%Y-%m-%d'') FROM runs WHERE started_at IS NOT NULL'
        ELSE 'SELECT error(''suspects: ' || suspects || ' is none of node setting hour'')::VARCHAR AS run_id, '''' AS label' END)
    GROUP BY run_id),
settings AS (
    SELECT run_id, string_agg(setting || ' ' || value, ', ' ORDER BY setting_order) AS settings
    FROM configuration(runs := runs) AS c WHERE c.class = 'performance' GROUP BY run_id)
SELECT run_id, run_value AS step_s, concat_ws('; ', settings, l.labels) AS configuration, s.labels AS suspects_of,
    CASE WHEN suspects <> 'hour' THEN epoch(started_at) END AS moment_s
FROM run_values(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, measure := 'step_s',
    quantile := 0.5)
JOIN suspected AS s USING (run_id) JOIN runs USING (run_id)
LEFT JOIN settings USING (run_id) LEFT JOIN labels() AS l USING (run_id)
WHERE run_value > 0
ORDER BY run_id
