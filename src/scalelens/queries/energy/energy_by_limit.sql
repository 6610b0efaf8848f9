-- Time, energy and power of the same work under several power limits.
--
-- Answers: What does a lower power limit save, and how much time does it cost?
--   One row for each run and limit.  Zeus's optimizer trains the same number of steps under each limit and measures
--   each as a window; where a limit has several windows, their median counts.  Shares are of the highest limit.
--
-- Formula: power_w = energy over time, over all windows of the limit; saved = 1 - E(limit) / E(highest limit); longer =
--   t(limit) / t(highest limit) - 1.
--
-- Reference: You et al., Zeus, NSDI 2023: the power limit of a GPU against its energy and time.
--
-- Assumptions: All windows of a run do the same work, as those of Zeus's optimizer do.
--
-- Limits: Between two limits nothing is said.  A window is one measurement: how much it scatters is not known, and a
--   difference of a few percent may be chance.  What the rest of the machine takes is not in it.
--
-- Glance: run_id limit_w devices time_s energy_j power_w saved% longer% is_least note
--
-- Partition: run_id
--
-- Needs: energy
--
-- Sources: metrics, energy, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR      run
--   limit_w      DOUBLE W     power limit of a device
--   devices      INTEGER      devices that were measured
--   n_windows    BIGINT       windows under this limit
--   time_s       DOUBLE s     of a window
--   energy_j     DOUBLE J     of a window, over all devices
--   power_w      DOUBLE W     mean over the windows, of all devices
--   saved        DOUBLE       share of the energy that it saves against the highest limit; negative where it takes more
--   longer       DOUBLE       share by which it takes longer than under the highest limit
--   is_least     BOOLEAN      whether this limit took the least energy of the run
--   note         VARCHAR      what to know or doubt
WITH
limits AS (
    SELECT run_id, file_id, line, value AS limit_w FROM metrics
    WHERE name = 'power limit' AND unit = 'W' AND value > 0 AND run_id IN (FROM selected_runs(runs := runs))),
windows AS (
    SELECT run_id, limit_w, file_id, line, count(*) AS sensors, max(span_s) AS window_s,
        sum(e.energy_j ORDER BY node, device) AS window_j
    FROM limits JOIN energy AS e USING (run_id, file_id, line)
    WHERE e.scope = 'gpu' AND e.energy_j > 0 AND e.span_s > 0
    GROUP BY run_id, limit_w, file_id, line),
of_limits AS (
    SELECT run_id, limit_w, max(sensors)::INTEGER AS devices, count(*) AS n_windows, median(window_s) AS time_s,
        median(window_j) AS energy_j,
        sum(window_j ORDER BY file_id, line) / sum(window_s ORDER BY file_id, line) AS power_w,
        min(sensors) < max(sensors) AS is_uneven, max(window_s) > 1.05 * min(window_s) AS is_spread
    FROM windows GROUP BY run_id, limit_w)
SELECT run_id, limit_w, devices, n_windows, time_s, energy_j, power_w,
    1 - energy_j / arg_max(energy_j, limit_w) OVER whole AS saved,
    time_s / arg_max(time_s, limit_w) OVER whole - 1 AS longer,
    limit_w = arg_min(limit_w, energy_j) OVER whole AS is_least,
    notes([CASE WHEN is_uneven THEN 'windows of this limit measured different numbers of devices' END,
        CASE WHEN is_spread THEN 'windows of this limit differ by more than 5 % in time' END]) AS note
FROM of_limits
WINDOW whole AS (PARTITION BY run_id)
ORDER BY run_id, limit_w
