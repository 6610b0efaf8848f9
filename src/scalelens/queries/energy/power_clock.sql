-- The clock of the power readings against that of the log.
--
-- Answers: How far apart are the clocks of the power readings and of the log?
--   And how is that known?
--   If both are in UTC, or both in local time: 0.  If one of each: the zone is the only one, in quarters of an hour, in
--   which 98 % of the run was measured.  If the readings go through the end or the beginning of summer time and no zone
--   is stated, a log in local time cannot be joined to them.  Where several zones fit, or none, there is no offset, and nothing is joined by
--   time: `ingest --tz` or a sidecar can state the zone.
--
-- Glance: run_id offset_s evidence power_origin log_origin
--
-- Partition: run_id
--
-- Needs: power
--
-- Sources: power, members, steps, phases, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id          VARCHAR      run
--   power_origin    VARCHAR      utc or naive: times of the readings
--   log_origin      VARCHAR      utc or naive: times of the log; utc where it has both, NULL where it has none
--   begins          TIMESTAMP    start of the first interval that the log times
--   ends            TIMESTAMP    last time in the log
--   offset_s        DOUBLE s     what to add to the times of the readings; NULL where it cannot be known
--   evidence        VARCHAR      how it is known, or why not
WITH
selected AS (FROM selected_runs(runs := runs)),
times AS (
    SELECT run_id, ts_origin, ts - to_microseconds((coalesce(step_s * averaged_steps, step_s, 0) * 1e6)::BIGINT) AS since, ts
    FROM steps WHERE run_id IN (FROM selected) AND ts IS NOT NULL
    UNION ALL
    SELECT run_id, ts_origin, ts - to_microseconds((coalesce(span_s, 0) * 1e6)::BIGINT), ts
    FROM phases WHERE run_id IN (FROM selected) AND ts IS NOT NULL),
logs AS (
    SELECT run_id, ts_origin AS log_origin, min(since) AS begins, max(ts) AS ends FROM times GROUP BY run_id, ts_origin
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY ts_origin DESC) = 1),  -- 'utc' > 'naive'
readings AS (
    SELECT run_id, ts_origin AS power_origin, min(ts)::TIMESTAMP AS first_ts, max(ts)::TIMESTAMP AS last_ts,
        coalesce(bool_or(flag = 'clock_changed'), false) AS is_changed
    FROM power WHERE run_id IN (FROM selected) AND ts IS NOT NULL AND isfinite(power_w)
        AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
    GROUP BY ALL),
candidates AS (
    SELECT run_id, power_origin, zone_s,
        epoch(least(ends, last_ts + to_seconds(zone_s)) - greatest(begins, first_ts + to_seconds(zone_s)))
            / nullif(epoch(ends - begins), 0) AS measured
    FROM readings JOIN logs USING (run_id), (SELECT unnest(range(-56, 57)) * 900 AS zone_s)
    WHERE log_origin <> power_origin),
zones AS (
    SELECT run_id, power_origin, count(*) AS n_zones, min(zone_s) AS zone_s
    FROM candidates WHERE measured >= 0.98 GROUP BY ALL)
SELECT r.run_id, r.power_origin, log_origin, begins, ends,
    CASE WHEN is_changed AND log_origin = 'naive' THEN NULL WHEN log_origin = r.power_origin THEN 0.0 WHEN n_zones = 1 THEN zone_s::DOUBLE END AS offset_s,
    CASE WHEN log_origin IS NULL THEN 'the log has no times'
        WHEN is_changed AND log_origin = 'naive'
            THEN 'the clock of the readings was changed meanwhile: state the zone (--tz, or a sidecar)'
        WHEN log_origin = r.power_origin AND log_origin = 'utc' THEN 'both in UTC'
        WHEN log_origin = r.power_origin THEN 'both in local time, assumed to be of one zone'
        WHEN n_zones = 1 THEN 'the only zone in which the readings cover the run'
        WHEN n_zones > 1 THEN format('{} zones fit: state the zone (--tz, or a sidecar)', n_zones)
        ELSE 'in no zone do the readings cover the run' END AS evidence
FROM readings AS r LEFT JOIN logs AS l USING (run_id)
LEFT JOIN zones AS z ON z.run_id = r.run_id AND z.power_origin = r.power_origin
ORDER BY r.run_id, r.power_origin
