-- Power readings, one series per sensor.
--
-- Answers: Which samples count where several files or ranks measured the same device?
--   A sensor is a device of a node in one scope.  Samples of the same instant are one, with their mean.  Ranks of one
--   launch that say which rank they are each measure all devices of their node: of their files the longest counts.
--   Other files of a sensor count where no earlier file measured, as after a restart.  Implausible samples do not
--   count, nor does a file that repeats the readings of another (`copy` in members).
--
-- Helper: used by many queries
--
-- Needs: power
--
-- Sources: power, params, members, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR         run
--   file_id       VARCHAR         file of the sample
--   node          VARCHAR         host name
--   device        VARCHAR         device as the tool numbers it
--   scope         VARCHAR         what the sensor covers: gpu module gcd oam grace cpu memory ...
--   sampled_at    TIMESTAMP_NS    time of the sample
--   ts_origin     VARCHAR         utc, or naive (local time)
--   power_w       DOUBLE W        power
--   n_files       BIGINT          files that measured the sensor, whether their samples count or not
WITH
samples AS (
    SELECT run_id, file_id, node, device, scope, ts, ts_origin, avg(power_w) AS power_w
    FROM power
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND ts IS NOT NULL AND isfinite(power_w)
        AND flag IS DISTINCT FROM 'implausible' AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
    GROUP BY ALL),
by_rank AS (SELECT DISTINCT run_id, file_id FROM params WHERE key = 'measured_by_rank'),
series AS (
    SELECT run_id, file_id, node, device, scope, ts_origin, min(ts) AS first_ts, max(ts) AS last_ts, count(*) AS readings
    FROM samples GROUP BY ALL),
judged AS (
    SELECT *, r.file_id IS NOT NULL AS is_of_rank,
        row_number() OVER (of_sensor ORDER BY r.file_id IS NULL, epoch_ns(last_ts) - epoch_ns(first_ts) DESC,
            readings DESC, s.file_id) = 1 AS is_longest,
        max(last_ts) OVER (of_sensor ORDER BY first_ts, last_ts DESC, s.file_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS measured_until,
        bool_or(r.file_id IS NOT NULL) OVER of_sensor AS has_ranks,
        count(*) OVER of_sensor AS n_files
    FROM series AS s LEFT JOIN by_rank AS r ON r.run_id = s.run_id AND r.file_id = s.file_id
    WINDOW of_sensor AS (PARTITION BY s.run_id, node, device, scope))
SELECT s.run_id, s.file_id, s.node, s.device, s.scope, s.ts AS sampled_at, s.ts_origin, s.power_w, n_files
FROM samples AS s JOIN judged AS j ON j.run_id = s.run_id AND j.file_id = s.file_id
    AND j.node IS NOT DISTINCT FROM s.node AND j.device IS NOT DISTINCT FROM s.device
    AND j.scope IS NOT DISTINCT FROM s.scope AND j.ts_origin IS NOT DISTINCT FROM s.ts_origin
WHERE CASE WHEN has_ranks THEN is_longest ELSE coalesce(s.ts > measured_until, true) END
ORDER BY s.run_id, s.node, s.device, s.scope, sampled_at
