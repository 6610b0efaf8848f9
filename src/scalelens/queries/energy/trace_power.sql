-- Power of the devices of traced runs, on the clock of the traces, with the energy since the first sample.
--
-- Answers: Which power readings fall within a trace, and which device do they belong to?
--   Traces count from 1970 in UTC.  Readings in local time are moved by the only zone, in quarters of an hour, in which they
--   cover the traces of the run.  Of several sensors as many count as devices were traced, those that took most in the time of
--   the traces; two sensors of one device, of two tools, are thus one.  Which rank drives which device no file says.
--
-- Helper: used by energy_of_trace
--
-- Needs: events
--
-- Sources: params, gpu_work, power_intervals, power_clock
--
-- Parameters: runs
--   lag_s := 0.0    seconds by which a reading comes after the power that it shows
--
-- Columns:
--   run_id       VARCHAR      run
--   sensor       BIGINT       number of the sensor
--   sensors      BIGINT       sensors of the run that count
--   begins_ns    BIGINT ns    start of an interval between samples, since 1970 in UTC
--   ends_ns      BIGINT ns    its end
--   begins_w     DOUBLE W     power at its start
--   ends_w       DOUBLE W     power at its end
--   is_known     BOOLEAN      whether power is known within it: it is not longer than three sampling periods
--   before_j     DOUBLE J     energy of all known intervals before
--   before_ns    BIGINT ns    time of all known intervals before
--   note         VARCHAR      why the readings of a run cannot be used; then all but run_id is NULL
WITH
traces AS (
    SELECT w.run_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns, count(DISTINCT (w.file_id, rank)) AS devices,
        bool_and(p.value IS NOT DISTINCT FROM 'unix') AS is_unix
    FROM gpu_work(runs := runs) AS w
    LEFT JOIN (SELECT file_id, min(value) AS value FROM params WHERE key = 'trace_clock' GROUP BY file_id) AS p USING (file_id)
    GROUP BY w.run_id),
clocks AS (
    SELECT run_id, count(*) AS origins, any_value(power_origin) AS power_origin, any_value(log_origin) AS log_origin,
        any_value(offset_s) AS offset_s
    FROM power_clock(runs := runs) GROUP BY run_id),
intervals AS (
    SELECT i.*, t.first_ns, t.last_ns, t.devices, power_origin, is_unix, origins,
        power_origin = 'utc' OR coalesce(log_origin = 'utc' AND offset_s IS NOT NULL, false) AS has_zone,
        -- power_intervals adds the offset to the clock of the log.
        CASE WHEN power_origin = 'utc' OR NOT has_zone THEN -coalesce(offset_s, 0) ELSE 0 END AS back_s
    FROM power_intervals(runs := runs) AS i JOIN traces AS t USING (run_id) JOIN clocks USING (run_id)
    WHERE scope IN ('gpu', 'gcd', 'oam', 'ipu')),
extents AS (
    SELECT run_id, first_ns, last_ns, devices, is_unix, origins, power_origin, has_zone,
        min(begins_ns) + (any_value(back_s) * 1e9)::BIGINT AS since_ns,
        max(ends_ns) + (any_value(back_s) * 1e9)::BIGINT AS until_ns, any_value(back_s) AS back_s
    FROM intervals GROUP BY ALL),
zones AS (
    SELECT e.*, zone_s, (least(last_ns, until_ns + zone_s * 1000000000) - greatest(first_ns, since_ns + zone_s * 1000000000))
        / nullif(last_ns - first_ns, 0) AS covered
    FROM extents AS e, (SELECT unnest(range(-56, 57)) * 900 AS zone_s) WHERE zone_s = 0 OR NOT has_zone),
fitted AS (
    SELECT run_id, devices, back_s, first_ns, last_ns, is_unix, origins, power_origin, has_zone, max(covered) AS covered,
        count(*) FILTER (covered >= 0.98) AS fitting, min(zone_s) FILTER (covered >= 0.98) AS fitting_s
    FROM zones GROUP BY ALL),
judged AS (
    SELECT *, CASE WHEN has_zone THEN 0 ELSE fitting_s END AS zone_s,
        CASE WHEN NOT is_unix THEN 'times of the trace count from a zero of its own'
            WHEN origins > 1 OR power_origin = 'relative' THEN 'the clock of the readings is not known'
            WHEN NOT has_zone AND fitting > 1
                THEN format('{} zones of the readings fit: state the zone (--tz, or a sidecar)', fitting)
            WHEN CASE WHEN has_zone THEN covered <= 0 ELSE fitting = 0 END
                THEN 'power was not measured in the time of the trace' END AS reason
    FROM fitted),
moved AS (
    SELECT i.run_id, i.sensor, begins_ns + ((j.back_s + j.zone_s - lag_s) * 1e9)::BIGINT AS begins_ns,
        ends_ns + ((j.back_s + j.zone_s - lag_s) * 1e9)::BIGINT AS ends_ns, begins_w, ends_w, kind = 'sampled' AS is_known, j.devices,
        j.first_ns, j.last_ns
    FROM intervals AS i JOIN judged AS j USING (run_id) WHERE reason IS NULL),
ranked AS (
    SELECT run_id, sensor, devices, row_number() OVER (PARTITION BY run_id ORDER BY took DESC, sensor) AS place
    FROM (SELECT run_id, sensor, devices, sum((begins_w + ends_w) / 2 * greatest(least(ends_ns, last_ns)
            - greatest(begins_ns, first_ns), 0)) AS took FROM moved GROUP BY ALL)),
counted AS (
    SELECT run_id, sensor, count(*) OVER (PARTITION BY run_id) AS sensors FROM ranked WHERE place <= devices)
SELECT run_id, sensor, sensors, begins_ns, ends_ns, begins_w, ends_w, is_known,
    coalesce(sum(CASE WHEN is_known THEN (begins_w + ends_w) / 2 * (ends_ns - begins_ns) / 1e9 END) OVER earlier, 0) AS before_j,
    coalesce(sum(CASE WHEN is_known THEN ends_ns - begins_ns END) OVER earlier, 0)::BIGINT AS before_ns, NULL AS note
FROM moved JOIN counted USING (run_id, sensor)
WINDOW earlier AS (PARTITION BY run_id, sensor ORDER BY begins_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
UNION ALL
SELECT run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, reason FROM judged WHERE reason IS NOT NULL
