-- Each device's power while it works, compared with the other devices of the run.
--
-- Answers: Does a device draw less than the others?
--   A device that is throttled, or has less to do, does.
--   A device is working while it draws more than the middle between its resting and its highest power, the 5 % and 95 %
--   quantiles of its samples.  x = (power - median over the devices) / median, z = x / max(1.4826 MAD of x, 0.02), as
--   in work_scores; with three devices or more, one stands out if z is beyond 3.5 and x beyond 10 %, in either
--   direction.  A power of zero is not a measurement.  Power files do not say which rank uses the device.
--
-- Formula: x = median power at work / median over the devices of the scope - 1; z = x / max(1.4826 MAD of x, 0.02);
--   stands out where |z| > 3.5 and |x| > 0.1.
--
-- Assumptions: The devices have the same work, and a device is working while it draws more than the middle of the 5 %
--   and 95 % quantiles.
--
-- Limits: Needs three devices.  Less power may mean less work, a lower limit, or heat: power alone does not distinguish
--   them.
--
-- Glance: run_id node device power_w ratio stands_out z n_samples compared scope
--
-- Partition: run_id
--
-- Needs: power
--
-- Sources: power_readings
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR     run
--   node          VARCHAR     host name
--   device        VARCHAR     device as the tool numbers it
--   scope         VARCHAR     what the sensor covers: gpu gcd oam module ipu; devices of one scope are compared
--   compared      BIGINT      devices of the scope, including this one
--   n_samples     BIGINT      samples in which it is working
--   power_w       DOUBLE W    median of its power in these samples
--   ratio         DOUBLE      power_w over the median of the devices
--   z             DOUBLE      how far it stands out
--   stands_out    BOOLEAN     whether it stands out by the rule above
WITH
readings AS (
    FROM power_readings(runs := runs) WHERE scope IN ('gpu', 'gcd', 'oam', 'module', 'ipu') AND power_w > 0),
middles AS (
    SELECT run_id, node, device, scope,
        (quantile_cont(power_w, 0.05) + quantile_cont(power_w, 0.95)) / 2 AS middle_w
    FROM readings GROUP BY ALL),
powers AS (
    SELECT r.run_id, r.node, r.device, r.scope, count(*) AS n_samples, median(r.power_w) AS power_w
    FROM readings AS r JOIN middles AS m ON m.run_id = r.run_id AND m.node IS NOT DISTINCT FROM r.node
        AND m.device IS NOT DISTINCT FROM r.device AND m.scope = r.scope AND r.power_w >= middle_w
    GROUP BY ALL),
ratios AS (
    SELECT *, count(*) OVER peer AS compared, power_w / nullif(median(power_w) OVER peer, 0) AS ratio
    FROM powers WINDOW peer AS (PARTITION BY run_id, scope)),
scores AS (
    SELECT *, (ratio - 1) / greatest(1.4826 * mad(ratio) OVER (PARTITION BY run_id, scope), 0.02) AS z FROM ratios)
SELECT run_id, node, device, scope, compared, n_samples, power_w, ratio, z,
    compared > 2 AND abs(z) > 3.5 AND abs(ratio - 1) > 0.1 AS stands_out
FROM scores
ORDER BY run_id, scope, z, node, device
