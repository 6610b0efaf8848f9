-- Each device's clock while it works, compared with the other devices of the run.
--
-- Answers: Is a device clocked lower than the others?
--   And which limit does its driver name?
--   A device is working in the samples in which it draws more than the middle between its resting and its highest
--   power, as in power_scores: an idle device clocks down, which says nothing.  With three devices or more, one stands
--   out if z is below -3.5 and its ratio below 0.95.  A higher clock is not a finding.  The files do not say which rank
--   uses the device.
--
-- Formula: ratio = median clock / median over the devices; z = (ratio - 1) / max(1.4826 MAD of the ratios, 0.01).
--
-- Reference: NVML, nvmlClocksEventReasons: what the bits of `clocks_event_reasons.active` mean.
--
-- Limits: Only files that give power and clock in one line are read (nvidia-smi --query-gpu and dmon, dcgmi dmon,
--   amd-smi).  A clock that was set for all devices alike makes no difference between them.
--
-- Glance: run_id node device ratio clock_mhz stands_out limited_by z n_samples compared scope
--
-- Partition: run_id
--
-- Needs: power
--
-- Sources: metrics, power, members, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR       run
--   node          VARCHAR       host name
--   device        VARCHAR       device as the tool numbers it
--   scope         VARCHAR       what the sensor covers: gpu gcd oam; devices of one scope are compared
--   compared      BIGINT        devices of the scope, including this one
--   n_samples     BIGINT        samples in which it is working
--   clock_mhz     DOUBLE MHz    median of its clock in these samples
--   ratio         DOUBLE        clock_mhz over the median of the devices
--   z             DOUBLE        how far it stands out
--   stands_out    BOOLEAN       whether it stands out by the rule above
--   limited_by    VARCHAR       limits that its driver names in a tenth of these samples or more, with their share
WITH
sampled AS (
    SELECT DISTINCT p.run_id, p.node, p.device, scope, p.file_id, p.line, power_w, c.value / 1e6 AS clock_mhz,
        r.value::BIGINT AS reasons
    FROM power AS p
    JOIN metrics AS c ON c.run_id = p.run_id AND c.file_id = p.file_id AND c.line = p.line AND c.name = 'sm_clock'
        AND c.place IS NOT DISTINCT FROM nullif(concat_ws('/', p.node, p.device), '')
    LEFT JOIN metrics AS r ON r.run_id = p.run_id AND r.file_id = p.file_id AND r.line = p.line
        AND r.name = 'clock_event_reasons' AND r.place IS NOT DISTINCT FROM c.place
    WHERE p.run_id IN (FROM selected_runs(runs := runs)) AND scope IN ('gpu', 'gcd', 'oam')
        AND (p.file_id, p.part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
        AND power_w > 0 AND flag IS DISTINCT FROM 'implausible'),
working AS (
    SELECT * FROM sampled WINDOW sensor AS (PARTITION BY run_id, node, device, scope)
    QUALIFY power_w >= (quantile_cont(power_w, 0.05) OVER sensor + quantile_cont(power_w, 0.95) OVER sensor) / 2),
limits AS (
    SELECT unnest([4, 8, 32, 64, 128]) AS bit,
        unnest(['power cap', 'slowdown by hardware', 'temperature (driver)', 'temperature (hardware)', 'power brake']) AS label),
limited AS (
    SELECT run_id, node, device, scope, string_agg(format('{} in {:.0f} %', label, 100 * share), ', ' ORDER BY bit) AS limited_by
    FROM (SELECT run_id, node, device, scope, bit, label, avg((reasons & bit > 0)::INTEGER) AS share
        FROM working, limits GROUP BY ALL)
    WHERE share >= 0.1 GROUP BY run_id, node, device, scope),
clocks AS (
    SELECT run_id, node, device, scope, count(*) AS n_samples, median(clock_mhz) AS clock_mhz FROM working GROUP BY ALL),
ratios AS (
    SELECT *, count(*) OVER peer AS compared, clock_mhz / nullif(median(clock_mhz) OVER peer, 0) AS ratio
    FROM clocks WINDOW peer AS (PARTITION BY run_id, scope)),
scores AS (
    SELECT *, (ratio - 1) / greatest(1.4826 * mad(ratio) OVER (PARTITION BY run_id, scope), 0.01) AS z FROM ratios)
SELECT b.run_id, b.node, b.device, b.scope, compared, n_samples, clock_mhz, ratio, z,
    compared > 2 AND z < -3.5 AND ratio < 0.95 AS stands_out, limited_by
FROM scores AS b LEFT JOIN limited AS l ON l.run_id = b.run_id AND l.node IS NOT DISTINCT FROM b.node
    AND l.device IS NOT DISTINCT FROM b.device AND l.scope = b.scope
ORDER BY b.run_id, b.scope, z, b.node, b.device
