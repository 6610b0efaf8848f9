-- All that is said of a run's energy, side by side: who says it, what it covers, and what cannot all be true.
--
-- Answers: Do all that measure the energy of a run agree?
--   The scheduler, the node's sensors, DCGM, jpwr, nvidia-smi and the log.
--   A row per source and scope, summed over its sensors.  Two rows contradict each other where a whole is less than 95 %
--   of a part of it that was not measured for longer (a job and its steps, a node and its devices), or where two sources
--   cover the same scope for the same time, within 5 %, and differ by more than 10 %.  A row contradicts itself where a
--   device draws less than 5 W or more than 2800 W on average.  Rows that cover other scopes or times may differ.
--
-- Formula: contradiction: whole < 0.95 part; or for one scope, with spans within 5 %, larger / smaller > 1.1; or a
--   device below 5 W or above 2800 W on average.
--
-- Limits: Sources that cover other scopes or times are not held against each other.  It says that two cannot both be
--   true, not which one is.
--
-- Glance: run_id said_by scope energy_j mean_w how covers span_s coverage% contradiction
--
-- Partition: run_id
--
-- Sources: runs, jobs, reported_energy, energy_integrated, energy_of_steps, power, files, selected_runs
--
-- Parameters: runs
--   extent := 'run'          'run' from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' is 'readings' where the log has no times, flag no_run_times
--
-- Columns:
--   run_id           VARCHAR      run
--   said_by          VARCHAR      scheduler, the formats of the tool's files, or the log
--   how              VARCHAR      accounted, reported (the tool's own sum), integrated (ours, of its samples) or printed
--   scope            VARCHAR      job, job step, or what the sensors cover: gpu module gcd oam node_ac node_dc ...
--   sensors          BIGINT       sensors, or nodes of the job
--   covers           DOUBLE       devices or nodes that they cover
--   energy_j         DOUBLE J     of all of them
--   span_s           DOUBLE s     time that is covered, the longest of a sensor
--   mean_w           DOUBLE W     per device or node that is covered
--   coverage         DOUBLE       share of the time that is not in gaps, of the worst sensor
--   contradiction    VARCHAR      which other row it contradicts, or why it cannot be true; NULL where nothing is against it
WITH
selected AS (FROM selected_runs(runs := runs)),
reported AS (
    SELECT run_id, 'reported' AS how, scope, node, device, max(reported_j) AS energy_j, max(span_s) AS span_s,
        CASE WHEN w.method IN ('codecarbon', 'ear', 'mlperf', 'zeus') THEN w.method
            ELSE array_to_string(f.formats, ' ') END AS said_by
    FROM reported_energy() AS w LEFT JOIN files AS f USING (file_id) WHERE run_id IN (FROM selected) GROUP BY ALL),
tools AS (
    SELECT p.run_id, p.node, p.device, p.scope,
        string_agg(DISTINCT array_to_string(f.formats, ' '), ' ' ORDER BY array_to_string(f.formats, ' ')) AS said_by
    FROM power AS p LEFT JOIN files AS f USING (file_id) WHERE p.run_id IN (FROM selected) GROUP BY ALL),
sensors AS (
    SELECT *, NULL::DOUBLE AS coverage FROM reported
    UNION ALL BY NAME
    SELECT i.run_id, t.said_by, 'integrated' AS how, i.scope, i.node, i.device, energy_j, energy_j / mean_w AS span_s,
        coverage
    FROM energy_integrated(runs := runs, extent := extent) AS i LEFT JOIN tools AS t ON t.run_id = i.run_id
        AND t.node IS NOT DISTINCT FROM i.node AND t.device IS NOT DISTINCT FROM i.device
        AND t.scope IS NOT DISTINCT FROM i.scope
    WHERE energy_j IS NOT NULL),
said AS (
    SELECT run_id, coalesce(nullif(said_by, ''), 'a file') AS said_by, how, scope, count(*) AS sensors,
        count(DISTINCT coalesce(node, '')) AS n_nodes, sum(CASE WHEN scope IN ('gpu', 'gcd', 'oam', 'ipu') THEN coalesce(len(string_split(device, ',')), 1) ELSE 1 END
            )::DOUBLE AS covers,
        sum(energy_j ORDER BY node, device) AS energy_j, max(span_s) AS span_s, min(coverage) AS coverage
    FROM sensors GROUP BY run_id, said_by, how, scope
    UNION ALL BY NAME
    SELECT run_id, 'scheduler' AS said_by, 'accounted' AS how,
        if(step_id IS NULL, 'job', 'job step ' || step_id) AS scope, max(nodes)::BIGINT AS sensors,
        max(nodes)::DOUBLE AS covers, max(energy_j) AS energy_j, max(elapsed_s) AS span_s
    FROM jobs WHERE energy_j IS NOT NULL AND run_id IN (FROM selected) GROUP BY run_id, step_id
    UNION ALL BY NAME
    SELECT run_id, 'log' AS said_by, 'printed' AS how, 'gpu' AS scope, any_value(r.devices)::BIGINT AS sensors,
        any_value(r.devices)::DOUBLE AS covers, sum(energy_j * averaged_steps ORDER BY place_in_run) AS energy_j,
        sum(energy_j / power_w * averaged_steps ORDER BY place_in_run) AS span_s
    FROM energy_of_steps(runs := runs) JOIN runs AS r USING (run_id) WHERE energy_kind = 'printed' GROUP BY run_id),
levels AS (
    SELECT *, energy_j / nullif(span_s, 0) / nullif(covers, 0) AS mean_w,
        CASE WHEN scope = 'job' THEN 6 WHEN starts_with(scope, 'job step') THEN 5
            ELSE list_position(['gpu gcd ipu', 'oam', 'module', 'node_dc', 'node_ac'],
                CASE WHEN scope IN ('gpu', 'gcd', 'ipu') THEN 'gpu gcd ipu' ELSE scope END) - 1 END AS level
    FROM said),
-- A whole holds a part where it covers as many nodes, modules or packages; what the scheduler accounts covers all.
pairs AS (
    SELECT x.run_id, x.said_by, x.how, x.scope, y.energy_j AS other_j, CASE
            WHEN x.level > y.level AND x.energy_j < 0.95 * y.energy_j AND coalesce(y.span_s <= 1.05 * x.span_s, true)
                AND (x.level >= 5 OR x.n_nodes >= y.n_nodes)
                AND (x.level NOT IN (1, 2) OR x.sensors * if(x.scope = 'oam', 2, 1) >= y.sensors)
                THEN format('less than {} of {}, {:.0f} J, which is a part of it', y.scope, y.said_by, y.energy_j)
            WHEN y.level > x.level AND y.energy_j < 0.95 * x.energy_j AND coalesce(x.span_s <= 1.05 * y.span_s, true)
                AND (y.level >= 5 OR y.n_nodes >= x.n_nodes)
                AND (y.level NOT IN (1, 2) OR y.sensors * if(y.scope = 'oam', 2, 1) >= x.sensors)
                THEN format('more than {} of {}, {:.0f} J, of which it is a part', y.scope, y.said_by, y.energy_j)
            WHEN x.scope = y.scope AND x.covers = y.covers AND abs(x.span_s / y.span_s - 1) < 0.05
                AND abs(ln(x.energy_j / y.energy_j)) > ln(1.1)
                THEN format('{} {} {:.0f} J for the same', y.said_by, y.how, y.energy_j) END AS against
    FROM levels AS x JOIN levels AS y ON y.run_id = x.run_id AND (y.said_by, y.how, y.scope) <> (x.said_by, x.how, x.scope)
        AND x.energy_j > 0 AND y.energy_j > 0),
worst AS (
    SELECT run_id, said_by, how, scope, arg_max(against, other_j) AS against
    FROM pairs WHERE against IS NOT NULL GROUP BY run_id, said_by, how, scope)
SELECT l.run_id, l.said_by, l.how, l.scope, sensors, covers, l.energy_j, l.span_s, mean_w, coverage,
    notes([against,
        CASE WHEN l.level = 0 AND mean_w < 5 THEN 'no accelerator draws so little on average'
            WHEN l.level = 0 AND mean_w > 2800 THEN 'no accelerator draws so much' END]) AS contradiction
FROM levels AS l LEFT JOIN worst AS p ON p.run_id = l.run_id AND p.said_by = l.said_by AND p.how = l.how AND p.scope = l.scope
ORDER BY l.run_id, l.level DESC NULLS LAST, l.scope, l.said_by, l.how
