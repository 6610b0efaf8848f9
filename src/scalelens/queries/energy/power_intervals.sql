-- Time between neighboring power readings, on the clock of the log.
--
-- Answers: Between which samples is power known, and where are gaps?
--   A gap is an interval of more than three sampling periods.  Within one file it can be bridged; between two files it
--   is open, because the tool was stopped.  The sampling period is the median of the intervals, without those shorter
--   than a tenth of the 90 % quantile: some tools take samples in pairs.  Intervals count alike, however long they are,
--   so that an outage does not become the period.
--
-- Helper: used by many queries
--
-- Needs: power
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
--   period_s     DOUBLE s     sampling period: the median interval, without samples in pairs
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
-- The tenth of the longest is where outages are, however long; a tenth of the others' longest is where pairs are.
ranked AS (
    SELECT *, next_t - t AS length, row_number() OVER (PARTITION BY sensor ORDER BY next_t - t) AS place,
        count(*) OVER (PARTITION BY sensor) AS n
    FROM intervals WHERE next_t > t),
periods AS (
    SELECT sensor, median(length) AS period
    FROM (SELECT *, min(length) FILTER (WHERE place > 0.9 * (n - 1)) OVER (PARTITION BY sensor) AS long FROM ranked)
    WHERE length >= long / 10 GROUP BY sensor)
SELECT run_id, node, device, scope, sensor, t AS begins_ns, next_t AS ends_ns, power_w AS begins_w, next_w AS ends_w,
    period / 1e9 AS period_s,
    CASE WHEN next_t - t <= 3 * period THEN 'sampled' WHEN is_seam THEN 'open' ELSE 'gap' END AS kind, has_clock
FROM ranked JOIN periods USING (sensor)
ORDER BY sensor, begins_ns
