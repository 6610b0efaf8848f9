-- Energy of each run's accelerators, or of its nodes.
--
-- Answers: How much energy did a run take, for how many units, and what reports it?
--   Energy is integrated from the readings (energy_integrated); where there are none, it is as a tool reported it; else
--   as the log printed it per step and device.  Where more devices were measured than the run had (a tool reads the
--   whole node), those that took most count.
--
-- Helper: used by energy_efficiency and energy_fixed_part
--
-- Needs: power, energy, steps.energy_j
--
-- Sources: runs, reported_energy, scope_nesting, energy_of_steps, energy_integrated, power_readings, selected_runs
--
-- Parameters: runs
--   per := 'device'          unit: 'device' as the run counts them, 'package' (two GCDs are one) or 'node' with
--                            everything in it
--   extent := 'run'          'run' is from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--                            it
--
-- Columns:
--   run_id             VARCHAR      run
--   energy_kind        VARCHAR      integrated, reported or printed
--   unit               VARCHAR      device, package or node
--   units              DOUBLE       units whose energy counts
--   measured_share     DOUBLE       devices whose energy counts over those of the run; NULL where their number is not
--                                   known
--   energy_j           DOUBLE J     of all units; NULL where only bounds are known
--   low_j              DOUBLE J     at least (reported_energy)
--   high_j             DOUBLE J     at most; NULL where that is not known
--   unit_w             DOUBLE W     of one unit, mean over the measured time
--   coverage           DOUBLE       share of the extent outside of gaps, for the worst sensor
--   idle_share         DOUBLE       share that the lowest power of each sensor would have taken by itself
--   reported_j         DOUBLE J     as reported by the tool, for the same units
--   reported_method    VARCHAR      how the tool determined it
--   flags              VARCHAR[]    flags of the sensors (energy_integrated), and more_measured where some devices do
--                                   not count
WITH
facts AS (
    SELECT run_id, devices, nodes, CASE WHEN device_unit = 'gcd' THEN 2 ELSE 1 END AS devices_per_oam
    FROM runs WHERE run_id IN (FROM selected_runs(runs := runs))),
integrated AS (
    FROM energy_integrated(runs := runs, extent := extent, method := method) WHERE energy_j IS NOT NULL),
lowest AS (
    SELECT run_id, node, device, scope, min(power_w) AS lowest_w FROM power_readings(runs := runs) GROUP BY ALL),
reported AS (
    FROM reported_energy(runs := runs)
    QUALIFY row_number() OVER (PARTITION BY run_id, node, device, scope ORDER BY low_j DESC, method) = 1),
holders AS (
    SELECT r.run_id, r.node, r.scope, arg_min(outside, position) AS part_of
    FROM reported AS r JOIN scope_nesting() USING (scope)
    JOIN reported AS o ON o.run_id = r.run_id AND o.node IS NOT DISTINCT FROM r.node AND o.scope = outside
        AND o.low_j > 0 AND (NOT same_file OR list_has_any(r.file_ids, o.file_ids))
    GROUP BY r.run_id, r.node, r.scope),
sensors AS (
    SELECT i.run_id, i.node, i.device, i.scope, part_of, energy_j, energy_j AS low_j,
        energy_j AS high_j, energy_j / nullif(mean_w, 0) AS measured_s, coverage, lowest_w, reported_j, reported_method, flags,
        'integrated' AS energy_kind
    FROM integrated AS i JOIN lowest AS l ON l.run_id = i.run_id AND l.node IS NOT DISTINCT FROM i.node
        AND l.device IS NOT DISTINCT FROM i.device AND l.scope IS NOT DISTINCT FROM i.scope
    UNION ALL
    SELECT r.run_id, r.node, r.device, r.scope, part_of, reported_j, low_j, high_j, NULL, NULL, NULL,
        reported_j, r.method, NULL, 'reported'
    FROM reported AS r LEFT JOIN holders AS h
        ON h.run_id = r.run_id AND h.node IS NOT DISTINCT FROM r.node AND h.scope = r.scope
    WHERE r.run_id NOT IN (SELECT run_id FROM integrated)),
of_unit AS (
    SELECT s.*, f.* EXCLUDE (run_id),
        CASE WHEN per = 'node' THEN NULL WHEN scope = 'oam' THEN devices_per_oam
            ELSE coalesce(len(string_split(device, ',')), 1) END AS holds_devices,
        CASE per WHEN 'device' THEN holds_devices
            WHEN 'package' THEN CASE scope WHEN 'gcd' THEN 0.5 ELSE 1 END * if(scope = 'oam', 1, holds_devices)
            WHEN 'node' THEN CASE row_number() OVER (PARTITION BY s.run_id, node ORDER BY device) WHEN 1 THEN 1 ELSE 0 END
            ELSE error('per is ''device'', ''package'' or ''node''') END AS units
    FROM sensors AS s JOIN facts AS f USING (run_id)
    WHERE CASE per WHEN 'node' THEN part_of IS NULL
        ELSE scope IN ('gpu', 'gcd', 'oam', 'ipu') AND part_of IS DISTINCT FROM 'oam' END),
judged AS (
    SELECT *, coalesce(devices, 0) = 0 OR per = 'node'
            OR sum(holds_devices) OVER (PARTITION BY run_id ORDER BY low_j DESC, node, device
                ROWS UNBOUNDED PRECEDING) <= devices AS counts
    FROM of_unit),
measured AS (
    SELECT run_id, energy_kind, sum(units)::DOUBLE AS units,
        sum(holds_devices) / any_value(nullif(devices, 0)) AS device_share,
        sum(units) / any_value(nullif(nodes, 0)) AS node_share,
        CASE WHEN count(energy_j) = count(*) THEN sum(energy_j ORDER BY node, device, scope) END AS energy_j,
        sum(low_j ORDER BY node, device, scope) AS low_j,
        CASE WHEN count(high_j) = count(*) THEN sum(high_j ORDER BY node, device, scope) END AS high_j,
        sum(energy_j / measured_s ORDER BY node, device, scope) / sum(units) AS unit_w,
        min(coverage) AS coverage,
        sum(lowest_w * measured_s ORDER BY node, device, scope) / sum(energy_j ORDER BY node, device, scope) AS idle_share,
        CASE WHEN count(reported_j) IN (0, count(*)) OR energy_kind = 'integrated'
            THEN sum(reported_j ORDER BY node, device, scope) END AS reported_j, any_value(reported_method) AS reported_method,
        list_sort(list_distinct(flatten(list(flags) FILTER (WHERE flags IS NOT NULL)))) AS flags
    FROM judged WHERE counts GROUP BY run_id, energy_kind),
surplus AS (SELECT DISTINCT run_id FROM judged WHERE NOT counts),
printed AS (
    SELECT run_id, sum(energy_j * averaged_steps ORDER BY position_in_run) AS energy_j,
        sum(energy_j * averaged_steps ORDER BY position_in_run)
            / sum(energy_j / power_w * averaged_steps ORDER BY position_in_run) AS run_w
    FROM energy_of_steps(runs := runs) WHERE energy_kind = 'printed' AND per = 'device' GROUP BY run_id)
SELECT run_id, energy_kind, per AS unit, units, CASE per WHEN 'node' THEN node_share ELSE device_share END AS measured_share,
    energy_j, low_j, high_j, unit_w, coverage, idle_share, reported_j, reported_method,
    nullif(list_concat(coalesce(flags, []),
        CASE WHEN s.run_id IS NULL THEN [] ELSE ['more_measured'] END), []) AS flags
FROM measured LEFT JOIN surplus AS s USING (run_id)
UNION ALL
SELECT run_id, 'printed', per, devices::DOUBLE, 1.0, energy_j, energy_j, energy_j, run_w / devices, NULL, NULL, NULL, NULL, NULL
FROM printed JOIN facts USING (run_id)
WHERE run_id NOT IN (SELECT run_id FROM measured)
ORDER BY run_id
