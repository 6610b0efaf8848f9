-- MLPerf's official energy of each node and switch, with the integral over the run.
--
-- Answers: What energy does MLPerf Training's rule give?
--   And what was measured during the run?
--   Official: conversion efficiency times the right Riemann sum of the readings since power_measurement_start, over the
--   measured time, times the time to train (mlcommons/logging, result_summarizer); for a switch, its estimate times the
--   time to train.  That is mean power, including idle time before and after the run, for as long as the run.
--   Integrated: trapezoids from run_start to run_stop, without the initialization before it that energy_integrated
--   includes, times the conversion efficiency.
--
-- Formula: official_j = c (sum of P dt) T / M, with P each reading, dt the time since the previous one (right Riemann
--   sum), M the measured time, T the time to train, c the conversion efficiency.  energy_j = c times the trapezoids
--   from run_start to run_stop.
--
-- Reference: MLCommons, training_policies/power_measurement.adoc and mlcommons/logging, result_summarizer.
--
-- Limits: The official number is mean power times the time to train: it is not the energy of the run.
--
-- Glance: run_id node scope official_j energy_j time_to_train_s coverage% conversion_eff% measured_s device note
--
-- Partition: run_id
--
-- Needs: power
--
-- Sources: power, phases, metrics, files, power_intervals, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR     run
--   node               VARCHAR     host name
--   device             VARCHAR     device as the tool numbers it
--   scope              VARCHAR     node_ac, node_dc or switch
--   conversion_eff     DOUBLE      efficiency as stated; 1 where it is not
--   measured_s         DOUBLE s    from power_measurement_start to the stop, or to the last reading if there is none
--   time_to_train_s    DOUBLE s    from run_start to run_stop; NULL without the log of the result
--   official_j         DOUBLE J    by MLPerf's rule
--   energy_j           DOUBLE J    integrated over the time to train, times the conversion efficiency
--   coverage           DOUBLE      share of the time to train outside of gaps
--   note               VARCHAR     what to know or doubt
WITH
trained AS (
    SELECT run_id, max(span_s) AS time_to_train_s, epoch_ns(arg_max(ts, span_s)) AS stop_ns,
        stop_ns - (time_to_train_s * 1e9)::BIGINT AS start_ns
    FROM phases WHERE phase = 'run' AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY run_id),
declared AS (
    SELECT run_id, place AS node, max(value) FILTER (WHERE name = 'conversion_eff') AS conversion_eff,
        min(value) FILTER (WHERE name = 'power_measurement_start') AS begins_s,
        max(value) FILTER (WHERE name = 'power_measurement_stop') AS ends_s
    FROM metrics WHERE name IN ('conversion_eff', 'power_measurement_start', 'power_measurement_stop') GROUP BY run_id, place),
readings AS (
    SELECT p.run_id, file_id, p.node, device, scope, epoch_ns(ts) / 1e9 AS t, power_w, conversion_eff, begins_s, ends_s,
        lag(t, 1, begins_s) OVER (PARTITION BY p.run_id, p.node, device, scope ORDER BY ts) AS since
    FROM power AS p JOIN declared AS s ON s.run_id = p.run_id AND s.node IS NOT DISTINCT FROM p.node
    WHERE p.run_id IN (FROM selected_runs(runs := runs)) AND scope IN ('node_ac', 'node_dc')),
nodes AS (
    SELECT run_id, node, device, scope, coalesce(any_value(conversion_eff), 1) AS conversion_eff,
        CASE WHEN any_value(ends_s) > any_value(begins_s) THEN any_value(ends_s) ELSE max(t) END
            - coalesce(any_value(begins_s), min(t)) AS measured_s,
        coalesce(any_value(ends_s) <= any_value(begins_s), true) AS lacks_stop,
        sum(power_w * greatest(t - since, 0) ORDER BY t) AS sum_j, len(any_value(paths)) > 1 AS has_twin
    FROM readings LEFT JOIN files USING (file_id) GROUP BY run_id, node, device, scope),
-- An estimate has a date of its own, and holds for the whole run.
switches AS (
    SELECT p.run_id, p.node, device, scope, coalesce(max(conversion_eff), 1) AS conversion_eff, avg(power_w) AS power_w
    FROM power AS p LEFT JOIN declared AS s ON s.run_id = p.run_id AND s.node IS NOT DISTINCT FROM p.node
    WHERE p.run_id IN (FROM selected_runs(runs := runs)) AND scope = 'switch' GROUP BY ALL),
official AS (
    SELECT run_id, node, device, scope, conversion_eff, measured_s, lacks_stop, has_twin,
        conversion_eff * sum_j / nullif(measured_s, 0) AS official_w FROM nodes
    UNION ALL
    SELECT run_id, node, device, scope, conversion_eff, NULL, false, false, conversion_eff * power_w FROM switches),
parts AS (
    SELECT i.run_id, node, device, scope, kind, greatest(begins_ns, start_ns) AS a, least(ends_ns, stop_ns) AS b,
        b - a AS part_ns,
        begins_w + (ends_w - begins_w) * ((a - begins_ns) + (b - begins_ns)) / (2 * (ends_ns - begins_ns)) AS power_w
    FROM power_intervals(runs := runs) AS i JOIN trained AS t ON t.run_id = i.run_id
        AND begins_ns < stop_ns AND ends_ns > start_ns
    WHERE has_clock),
integrated AS (
    SELECT run_id, node, device, scope, sum(power_w * (part_ns / 1e9) ORDER BY a) FILTER (WHERE kind <> 'open') AS energy_j,
        coalesce(sum(part_ns) FILTER (WHERE kind = 'sampled'), 0) / 1e9 AS sampled_s
    FROM parts GROUP BY run_id, node, device, scope)
SELECT o.run_id, o.node, o.device, o.scope, conversion_eff, measured_s, time_to_train_s,
    official_w * time_to_train_s AS official_j,
    conversion_eff * energy_j AS energy_j, sampled_s / time_to_train_s AS coverage,
    notes([
        CASE WHEN time_to_train_s IS NULL THEN 'no run_start and run_stop: the time to train is not known' END,
        CASE WHEN lacks_stop THEN 'the stop is not after the start: measured until the last reading' END,
        CASE WHEN has_twin THEN 'another file of the run has the same content, and is not added' END,
        CASE o.scope WHEN 'switch' THEN 'an estimate, not a measurement' END]) AS note
FROM official AS o LEFT JOIN trained USING (run_id)
LEFT JOIN integrated AS e ON e.run_id = o.run_id AND e.node IS NOT DISTINCT FROM o.node
    AND e.device IS NOT DISTINCT FROM o.device AND e.scope = o.scope
ORDER BY o.run_id, o.scope, o.node, o.device
