-- All figures for a run's energy side by side: their source, what they cover, and which cannot all be true.
--
-- Answers: Do all measurements of a run's energy agree?
--   The scheduler, the node's sensors, DCGM, jpwr, nvidia-smi and the log.
--   One row per source and scope, summed over its sensors.  Two rows contradict each other if a whole is less than 95 %
--   of one of its parts that was not measured for longer (a job and its steps, a node and its devices), or if two
--   sources cover the same scope for the same time, within 5 %, and differ by more than 10 %.  A row contradicts itself
--   if a device draws less than 5 W or more than 2800 W on average.  Rows that cover different scopes or times may
--   differ.
--
-- Formula: a contradiction is whole < 0.95 part; or for one scope, with spans within 5 %, larger / smaller > 1.1; or a
--   device below 5 W or above 2800 W on average.
--
-- Limits: Sources that cover different scopes or times are not compared.  The query says that two figures cannot both
--   be true, not which one is.
--
-- Glance: run_id source scope energy_j mean_w how covers span_s coverage% note
--
-- Partition: run_id
--
-- Sources: runs, jobs, reported_energy, energy_integrated, energy_of_steps, power, files, selected_runs
--
-- Parameters: runs
--   extent := 'run'    'run' is from the first to the last time of the log, 'readings' from the first to the last
--                      sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--
-- Columns:
--   run_id      VARCHAR     run
--   source      VARCHAR     scheduler, the formats of the tool's files, or log
--   how         VARCHAR     accounted, reported (the tool's own sum), integrated (computed from its samples) or printed
--   scope       VARCHAR     job, job step, or what the sensors cover: gpu module gcd oam node_ac node_dc ...
--   sensors     BIGINT      sensors, or nodes of the job
--   covers      DOUBLE      devices or nodes that they cover
--   energy_j    DOUBLE J    of all of them
--   span_s      DOUBLE s    time that is covered, the longest of a sensor
--   mean_w      DOUBLE W    per device or node that is covered
--   coverage    DOUBLE      share of the time outside of gaps, for the worst sensor
--   note        VARCHAR     which other row it contradicts, or why it cannot be true; NULL where nothing contradicts it
WITH
selected AS (FROM selected_runs(runs := runs)),
reported AS (
    SELECT run_id, 'reported' AS how, scope, node, device, max(reported_j) AS energy_j, max(span_s) AS span_s,
        CASE WHEN w.method IN ('codecarbon', 'ear', 'mlperf', 'zeus') THEN w.method
            ELSE array_to_string(f.formats, ' ') END AS source
    FROM reported_energy() AS w LEFT JOIN files AS f USING (file_id) WHERE run_id IN (FROM selected) GROUP BY ALL),
tools AS (
    SELECT p.run_id, p.node, p.device, p.scope,
        string_agg(DISTINCT array_to_string(f.formats, ' '), ' ' ORDER BY array_to_string(f.formats, ' ')) AS source
    FROM power AS p LEFT JOIN files AS f USING (file_id) WHERE p.run_id IN (FROM selected) GROUP BY ALL),
sensors AS (
    SELECT *, NULL::DOUBLE AS coverage FROM reported
    UNION ALL BY NAME
    SELECT i.run_id, t.source, 'integrated' AS how, i.scope, i.node, i.device, energy_j, energy_j / mean_w AS span_s,
        coverage
    FROM energy_integrated(runs := runs, extent := extent) AS i LEFT JOIN tools AS t ON t.run_id = i.run_id
        AND t.node IS NOT DISTINCT FROM i.node AND t.device IS NOT DISTINCT FROM i.device
        AND t.scope IS NOT DISTINCT FROM i.scope
    WHERE energy_j IS NOT NULL),
figures AS (
    SELECT run_id, coalesce(nullif(source, ''), 'a file') AS source, how, scope, count(*) AS sensors,
        count(DISTINCT coalesce(node, '')) AS n_nodes,
        sum(CASE WHEN scope IN ('gpu', 'gcd', 'oam', 'ipu') THEN coalesce(len(string_split(device, ',')), 1) ELSE 1 END)::DOUBLE
            AS covers,
        sum(energy_j ORDER BY node, device) AS energy_j, max(span_s) AS span_s, min(coverage) AS coverage
    FROM sensors GROUP BY run_id, source, how, scope
    UNION ALL BY NAME
    SELECT run_id, 'scheduler' AS source, 'accounted' AS how,
        if(step_id IS NULL, 'job', 'job step ' || step_id) AS scope, max(nodes)::BIGINT AS sensors,
        max(nodes)::DOUBLE AS covers, max(energy_j) AS energy_j, max(elapsed_s) AS span_s
    FROM jobs WHERE energy_j IS NOT NULL AND run_id IN (FROM selected) GROUP BY run_id, step_id
    UNION ALL BY NAME
    SELECT run_id, 'log' AS source, 'printed' AS how, 'gpu' AS scope, any_value(r.devices)::BIGINT AS sensors,
        any_value(r.devices)::DOUBLE AS covers, sum(energy_j * averaged_steps ORDER BY position_in_run) AS energy_j,
        sum(energy_j / power_w * averaged_steps ORDER BY position_in_run) AS span_s
    FROM energy_of_steps(runs := runs) JOIN runs AS r USING (run_id) WHERE energy_kind = 'printed' GROUP BY run_id),
levels AS (
    SELECT *, energy_j / nullif(span_s, 0) / nullif(covers, 0) AS mean_w,
        CASE WHEN scope = 'job' THEN 6 WHEN starts_with(scope, 'job step') THEN 5
            ELSE list_position(['gpu gcd ipu', 'oam', 'module', 'node_dc', 'node_ac'],
                CASE WHEN scope IN ('gpu', 'gcd', 'ipu') THEN 'gpu gcd ipu' ELSE scope END) - 1 END AS level
    FROM figures),
-- A whole includes a part if it covers as many nodes, modules or packages; the scheduler's figure covers everything.
pairs AS (
    SELECT x.run_id, x.source, x.how, x.scope, y.energy_j AS other_j, CASE
            WHEN x.level > y.level AND x.energy_j < 0.95 * y.energy_j AND coalesce(y.span_s <= 1.05 * x.span_s, true)
                AND (x.level >= 5 OR x.n_nodes >= y.n_nodes)
                AND (x.level NOT IN (1, 2) OR x.sensors * if(x.scope = 'oam', 2, 1) >= y.sensors)
                THEN format('less than {} of {}, {:.0f} J, which is a part of it', y.scope, y.source, y.energy_j)
            WHEN y.level > x.level AND y.energy_j < 0.95 * x.energy_j AND coalesce(x.span_s <= 1.05 * y.span_s, true)
                AND (y.level >= 5 OR y.n_nodes >= x.n_nodes)
                AND (y.level NOT IN (1, 2) OR y.sensors * if(y.scope = 'oam', 2, 1) >= x.sensors)
                THEN format('more than {} of {}, {:.0f} J, of which it is a part', y.scope, y.source, y.energy_j)
            WHEN x.scope = y.scope AND x.covers = y.covers AND abs(x.span_s / y.span_s - 1) < 0.05
                AND abs(ln(x.energy_j / y.energy_j)) > ln(1.1)
                THEN format('{} {} {:.0f} J for the same', y.source, y.how, y.energy_j) END AS against
    FROM levels AS x JOIN levels AS y ON y.run_id = x.run_id AND (y.source, y.how, y.scope) <> (x.source, x.how, x.scope)
        AND x.energy_j > 0 AND y.energy_j > 0),
worst AS (
    SELECT run_id, source, how, scope, arg_max(against, other_j) AS against
    FROM pairs WHERE against IS NOT NULL GROUP BY run_id, source, how, scope)
SELECT l.run_id, l.source, l.how, l.scope, sensors, covers, l.energy_j, l.span_s, mean_w, coverage,
    notes([against,
        CASE WHEN l.level = 0 AND mean_w < 5 THEN 'no accelerator draws so little on average'
            WHEN l.level = 0 AND mean_w > 2800 THEN 'no accelerator draws so much' END]) AS note
FROM levels AS l LEFT JOIN worst AS p ON p.run_id = l.run_id AND p.source = l.source AND p.how = l.how AND p.scope = l.scope
ORDER BY l.run_id, l.level DESC NULLS LAST, l.scope, l.source, l.how
