-- Time between neighboring power readings, on the clock of the log.
--
-- Answers: Between which samples is power known, and where are gaps?
--   A gap is an interval of more than three sampling periods.  Within one file it can be bridged; between two files it
--   is open, because the tool was stopped.
--
-- Helper: used by many queries
--
-- Sources: power_readings, power_clock
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR      run
--   node         VARCHAR      host name
--   device       VARCHAR      device as the tool numbers it
--   scope        VARCHAR      what the sensor covers: gpu module gcd oam grace cpu memory ...
--   sensor       BIGINT       number of the sensor, for joins
--   begins_ns    BIGINT ns    time of the first sample, since 1970 on the log's clock
--   ends_ns      BIGINT ns    time of the second sample
--   begins_w     DOUBLE W     power of the first sample
--   ends_w       DOUBLE W     power of the second sample
--   period_s     DOUBLE s     sampling period: half of the time lies in intervals no longer than this
--   kind         VARCHAR      sampled, gap or open
--   has_clock    BOOLEAN      whether the times are those of the log; else they are the readings' own, which cannot be
--                             joined to it
WITH
readings AS (
    SELECT r.*, dense_rank() OVER (ORDER BY r.run_id, node, device, scope) AS sensor,
        epoch_ns(sampled_at) + (coalesce(offset_s, 0) * 1e9)::BIGINT AS t, offset_s IS NOT NULL AS has_clock
    FROM power_readings(runs := runs) AS r
    JOIN power_clock(runs := runs) AS c ON c.run_id = r.run_id AND c.power_origin = r.ts_origin),
intervals AS (
    SELECT *, lead(t) OVER series AS next_t, lead(power_w) OVER series AS next_w,
        file_id <> lead(file_id) OVER series AS is_seam
    FROM readings WINDOW series AS (PARTITION BY sensor ORDER BY t)),
weighed AS (
    SELECT *, sum(next_t - t) OVER (PARTITION BY sensor ORDER BY next_t - t) AS up_to,
        sum(next_t - t) OVER (PARTITION BY sensor) AS total
    FROM intervals WHERE next_t > t),
timed AS (
    SELECT *, min(next_t - t) FILTER (WHERE 2 * up_to >= total) OVER (PARTITION BY sensor) AS period FROM weighed)
SELECT run_id, node, device, scope, sensor, t AS begins_ns, next_t AS ends_ns, power_w AS begins_w, next_w AS ends_w,
    period / 1e9 AS period_s,
    CASE WHEN next_t - t <= 3 * period THEN 'sampled' WHEN is_seam THEN 'open' ELSE 'gap' END AS kind, has_clock
FROM timed
ORDER BY sensor, begins_ns
