-- Energy of each step record: what the devices took during its interval.
--
-- Answers: How many joules does a step take?
--   And how much of a run's energy went into steps at all?
--   The power of every accelerator that was measured (gpu, gcd, oam, ipu) is integrated by trapezoids over the record's
--   interval, which ends at its time stamp.  Where more devices were measured than the run had (a tool reads the whole
--   node), those that took most over all records count.  Records without a time stamp, records that were not measured
--   throughout, and runs whose two clocks cannot be joined (power_clock) are left out.  Where nothing was measured, it
--   is what the log prints per step and device, times the devices.
--
-- Formula: energy_j = sum, over the sensors that count, of the integral of power from ts - step_s * averaged_steps to
--   ts, over averaged_steps.
--
-- Assumptions: The time stamp of a record is the end of its interval.  Power changes linearly between two readings.
--
-- Limits: Steps shorter than a sampling period share readings, so that neighbors look alike.  A counter that the driver
--   averages lags the step.
--
-- Glance: run_id step energy_j power_w sensors energy_kind averaged_steps excluded_by line
--
-- Partition: run_id
--
-- Needs: power, steps.energy_j
--
-- Sources: selected_steps, power_intervals, power, steps, runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id             VARCHAR      run
--   file_id            VARCHAR      file of the slowest rank's record
--   line               BIGINT       line of the slowest rank's record
--   attempt            INTEGER      restart
--   step               BIGINT       step, the last of an interval
--   averaged_steps     BIGINT       steps that the record covers
--   energy_kind        VARCHAR      integrated, reported or printed
--   sensors            BIGINT       sensors that measured the whole interval
--   energy_j           DOUBLE J     per step, of all these sensors
--   power_w            DOUBLE W     mean over the interval, of all these sensors
--   position_in_run    BIGINT       position of the record among those of the run, from 1, in order
--   excluded_by        VARCHAR[]    rules that leave the record out; NULL where none does
WITH
-- Only runs with power, and below only those with printed energy: millions of other records would fill the memory.
selected AS MATERIALIZED (
    FROM selected_steps(epochs := epochs, warmup := warmup, exclude := exclude,
        runs := 'run_id IN (SELECT run_id FROM main.power UNION SELECT run_id FROM main.steps WHERE energy_j > 0)'
            || and_selected(runs))),
records AS (
    SELECT *, epoch_ns(ts) AS until_ns, until_ns - (step_s * averaged_steps * 1e9)::BIGINT AS since_ns
    FROM selected
    WHERE ts IS NOT NULL AND step_s > 0 AND NOT list_has_any(coalesce(excluded_by, []), ['summary', 'logged_warmup'])),
parts AS (
    SELECT r.run_id, position_in_run, sensor, scope, kind, greatest(begins_ns, since_ns) AS a, least(ends_ns, until_ns) AS b,
        b - a AS part_ns,
        begins_w + (ends_w - begins_w) * ((a - begins_ns) + (b - begins_ns)) / (2 * (ends_ns - begins_ns)) AS power_w
    FROM records AS r JOIN power_intervals(runs := runs) AS i
        ON i.run_id = r.run_id AND begins_ns < until_ns AND ends_ns > since_ns
    WHERE has_clock AND scope IN ('gpu', 'gcd', 'oam', 'ipu')),
of_sensors AS (
    SELECT run_id, position_in_run, sensor, scope, sum(power_w * (part_ns / 1e9) ORDER BY a) AS energy_j,
        sum(part_ns) FILTER (WHERE kind = 'sampled') AS sampled_ns
    FROM parts GROUP BY run_id, position_in_run, sensor, scope),
sensor_totals AS (
    SELECT run_id, sensor, devices, CASE WHEN scope = 'oam' AND device_unit = 'gcd' THEN 2 ELSE 1 END AS holds_devices,
        sum(energy_j ORDER BY position_in_run) AS took_j
    FROM of_sensors JOIN runs USING (run_id) GROUP BY run_id, sensor, scope, devices, device_unit),
counted_sensors AS (
    SELECT run_id, sensor FROM sensor_totals
    QUALIFY coalesce(devices, 0) = 0 OR sum(holds_devices) OVER (
        PARTITION BY run_id ORDER BY took_j DESC, sensor ROWS UNBOUNDED PRECEDING) <= devices),
integrated AS (
    SELECT run_id, position_in_run, count(*) AS sensors, sum(energy_j ORDER BY sensor) AS record_j
    FROM of_sensors JOIN counted_sensors USING (run_id, sensor) JOIN records AS r USING (run_id, position_in_run)
    WHERE sampled_ns >= 0.999 * (until_ns - since_ns)
    GROUP BY run_id, position_in_run)
SELECT run_id, file_id, line, attempt, step, averaged_steps, 'integrated' AS energy_kind, sensors,
    record_j / averaged_steps AS energy_j, record_j / ((until_ns - since_ns) / 1e9) AS power_w, position_in_run, excluded_by
FROM integrated JOIN records USING (run_id, position_in_run)
UNION ALL
SELECT r.run_id, r.file_id, r.line, r.attempt, r.step, r.averaged_steps, 'printed', NULL, s.energy_j * devices,
    s.energy_j * devices / r.step_s, position_in_run, excluded_by
FROM selected AS r
JOIN steps AS s ON s.run_id = r.run_id AND s.file_id = r.file_id AND s.line = r.line
    AND NOT contains(coalesce(excluded_by, []), 'logged_warmup')
JOIN runs AS facts ON facts.run_id = r.run_id
WHERE s.energy_j > 0 AND devices > 0 AND r.run_id NOT IN (SELECT run_id FROM integrated)
ORDER BY run_id, position_in_run
