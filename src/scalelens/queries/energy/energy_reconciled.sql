-- All figures for a run's energy side by side: their source, what they cover, and which cannot all be true.
--
-- Answers: Do all measurements of a run's energy agree?
--   And what was added up to each?  The scheduler, the node's sensors, DCGM, jpwr, nvidia-smi and the log.
--   One row per source and scope.  Each joule counts once: windows of one sensor add up where they follow each other,
--   and one within another adds nothing (reported_energy); several files or ranks of one sensor count once
--   (power_readings); sensors and nodes of one scope are added; scopes are not, because they nest (scope_nesting):
--   `part_of` names the row that a row is in, and `parts_j` is what the parts of a row add up to.  Figures of several
--   sources are never added.  Where times do not decide, `energy_j` is NULL between `low_j` and `high_j`.
--   Two rows contradict each other if a whole is less than 95 % of one of its parts that was not measured for longer (a
--   job and its steps, a node and its devices), or if two sources cover the same scope for the same time, within 5 %,
--   and differ by more than 10 %.  A row contradicts itself if a device draws less than 5 W or more than 2800 W on
--   average, or if its parts are more than it.  Rows that cover different scopes or times may differ.
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
-- Needs: power, energy, steps.energy_j, jobs.energy_j
--
-- Sources: runs, jobs, reported_energy, energy_integrated, energy_of_steps, scope_nesting, power, members, files, selected_runs
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
--   part_of     VARCHAR     scope of the row of this source that includes this one; NULL where there is none
--   sensors     BIGINT      sensors, or nodes of the job
--   covers      DOUBLE      devices or nodes that they cover
--   energy_j    DOUBLE J    of all of them; NULL where only bounds are known
--   low_j       DOUBLE J    at least, where only bounds are known; else NULL
--   high_j      DOUBLE J    at most
--   parts_j     DOUBLE J    what the rows that are parts of this one add up to; NULL where there are none
--   windows     BIGINT      energies that the tool reported, and that were added up; NULL for its samples
--   span_s      DOUBLE s    time that is covered, the longest of a sensor
--   mean_w      DOUBLE W    per device or node that is covered
--   coverage    DOUBLE      share of the time outside of gaps, for the worst sensor
--   addition    VARCHAR     how it was added up, where that is not plain, and flags of the samples (energy_integrated)
--   note        VARCHAR     which other row it contradicts, or why it cannot be true; NULL where nothing contradicts it
WITH
selected AS (FROM selected_runs(runs := runs)),
reported AS (
    SELECT run_id, 'reported' AS how, source, scope, node, device, reported_j AS energy_j, low_j, high_j, span_s, windows,
        is_estimated, note AS addition
    FROM reported_energy(runs := runs)
    QUALIFY row_number() OVER (PARTITION BY run_id, source, scope, node, device ORDER BY low_j DESC, method) = 1),
tools AS (
    SELECT p.run_id, p.node, p.device, p.scope,
        string_agg(DISTINCT array_to_string(f.formats, ' '), ' ' ORDER BY array_to_string(f.formats, ' ')) AS source
    FROM power AS p LEFT JOIN files AS f USING (file_id) WHERE p.run_id IN (FROM selected)
        AND (p.file_id, p.part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
    GROUP BY ALL),
sensors AS (
    SELECT *, NULL::DOUBLE AS coverage FROM reported
    UNION ALL BY NAME
    SELECT i.run_id, t.source, 'integrated' AS how, i.scope, i.node, i.device, energy_j, energy_j AS low_j,
        energy_j AS high_j, energy_j / nullif(mean_w, 0) AS span_s, coverage, array_to_string(list_filter(flags, lambda flag: flag IN
            ('gap', 'clock_changed', 'clock_back', 'no_clock', 'implausible', 'na', 'forced_zero')), ' ') AS addition
    FROM energy_integrated(runs := runs, extent := extent) AS i LEFT JOIN tools AS t ON t.run_id = i.run_id
        AND t.node IS NOT DISTINCT FROM i.node AND t.device IS NOT DISTINCT FROM i.device
        AND t.scope IS NOT DISTINCT FROM i.scope
    WHERE energy_j IS NOT NULL),
-- A row of EAR is of one node; the same job may be in several files.
accounted AS (
    SELECT run_id, job_id, step_id, max(nodes) AS nodes, max(energy_j) AS energy_j, max(elapsed_s) AS elapsed_s
    FROM (
        SELECT run_id, job_id, step_id, sum(nodes) AS nodes, sum(energy_j ORDER BY node_list) AS energy_j,
            max(elapsed_s) AS elapsed_s
        FROM (
            SELECT run_id, file_id, job_id, step_id, node_list, max(nodes) AS nodes, max(energy_j) AS energy_j,
                max(elapsed_s) AS elapsed_s
            FROM jobs WHERE energy_j IS NOT NULL AND run_id IN (FROM selected) GROUP BY ALL)
        GROUP BY run_id, file_id, job_id, step_id)
    GROUP BY run_id, job_id, step_id),
figures AS (
    SELECT run_id, coalesce(nullif(source, ''), 'a file') AS source, how, scope, count(*) AS sensors,
        count(DISTINCT coalesce(node, '')) AS n_nodes,
        sum(n_devices)::DOUBLE AS covers,
        CASE WHEN count(energy_j) = count(*) THEN sum(energy_j ORDER BY node, device) END AS energy_j,
        sum(low_j ORDER BY node, device) AS low_j,
        CASE WHEN count(high_j) = count(*) THEN sum(high_j ORDER BY node, device) END AS high_j,
        max(span_s) AS span_s, min(coverage) AS coverage, sum(windows)::BIGINT AS windows,
        CASE WHEN count(span_s) = count(*) THEN sum(span_s * n_devices ORDER BY node, device) END AS device_s,
        notes([string_agg(DISTINCT nullif(addition, ''), '; ' ORDER BY nullif(addition, '')),
            CASE count(*) FILTER (WHERE is_estimated) WHEN 0 THEN NULL
                WHEN count(*) THEN 'estimated: a constant of the tool, not a measurement'
                ELSE format('{} of {} sensors are estimated', count(*) FILTER (WHERE is_estimated), count(*)) END
        ]) AS addition
    FROM (
        SELECT *, CASE WHEN scope IN ('gpu', 'gcd', 'oam', 'ipu') THEN coalesce(len(string_split(device, ',')), 1) ELSE 1 END
            AS n_devices
        FROM sensors) GROUP BY run_id, source, how, scope
    UNION ALL BY NAME
    SELECT run_id, 'scheduler' AS source, 'accounted' AS how,
        if(step_id IS NULL, 'job', 'job step ' || step_id) AS scope, max(nodes)::BIGINT AS sensors,
        max(nodes)::DOUBLE AS covers, sum(energy_j ORDER BY job_id) AS energy_j, sum(elapsed_s ORDER BY job_id) AS span_s
    FROM accounted GROUP BY run_id, step_id
    UNION ALL BY NAME
    SELECT run_id, 'log' AS source, 'printed' AS how, 'gpu' AS scope, any_value(r.devices)::BIGINT AS sensors,
        any_value(r.devices)::DOUBLE AS covers, sum(energy_j * averaged_steps ORDER BY position_in_run) AS energy_j,
        sum(energy_j / power_w * averaged_steps ORDER BY position_in_run) AS span_s
    FROM energy_of_steps(runs := runs) JOIN runs AS r USING (run_id) WHERE energy_kind = 'printed' GROUP BY run_id),
-- What each figure is a part of, among those of its source, and what its own parts add up to.
holders AS (
    SELECT f.run_id, f.source, f.how, f.scope, arg_min(outside, position) AS part_of
    FROM figures AS f JOIN scope_nesting() USING (scope)
    JOIN figures AS o ON o.run_id = f.run_id AND o.source = f.source AND o.how = f.how AND o.scope = outside AND o.low_j > 0
    GROUP BY f.run_id, f.source, f.how, f.scope),
contents AS (
    SELECT run_id, source, how, part_of AS scope, sum(energy_j ORDER BY f.scope) AS parts_j,
        string_agg(f.scope, ', ' ORDER BY f.scope) AS parts
    FROM figures AS f JOIN holders USING (run_id, source, how, scope) GROUP BY ALL
    HAVING count(energy_j) = count(*)),
levels AS (
    SELECT *, energy_j / nullif(coalesce(device_s, span_s * covers), 0) AS mean_w,
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
SELECT l.run_id, l.source, l.how, l.scope, part_of, sensors, covers, l.energy_j,
    CASE WHEN l.energy_j IS NULL THEN low_j END AS low_j, CASE WHEN l.energy_j IS NULL THEN high_j END AS high_j,
    parts_j, windows, l.span_s, mean_w, coverage, addition,
    notes([against,
        CASE WHEN l.scope = 'total' AND abs(parts_j - l.energy_j) > 1e-3 * l.energy_j
            THEN format('its parts ({}) add up to {:.6g} J, {:.6g} J {} than it', parts, parts_j,
                abs(parts_j - l.energy_j), if(parts_j > l.energy_j, 'more', 'less'))
            WHEN parts_j > 1.05 * l.energy_j
            THEN format('its parts ({}) add up to {:.6g} J, more than it', parts, parts_j) END,
        CASE WHEN l.level = 0 AND (mean_w < 5 OR l.energy_j = 0) THEN 'no accelerator draws so little on average'
            WHEN l.level = 0 AND mean_w > 2800 THEN 'no accelerator draws so much' END]) AS note
FROM levels AS l LEFT JOIN worst AS p ON p.run_id = l.run_id AND p.source = l.source AND p.how = l.how AND p.scope = l.scope
LEFT JOIN holders AS h ON h.run_id = l.run_id AND h.source = l.source AND h.how = l.how AND h.scope = l.scope
LEFT JOIN contents AS c ON c.run_id = l.run_id AND c.source = l.source AND c.how = l.how AND c.scope = l.scope
ORDER BY l.run_id, l.level DESC NULLS LAST, l.scope, l.source, l.how
