-- Energy of each sensor, integrated over its power readings.
--
-- Answers: How much energy did each device take, how well was it measured, and what does the tool itself say?
--   Time-weighted, so that uneven sampling changes nothing; one row per sensor, however many ranks measured it
--   (power_readings).  Sensors nest: add up rows whose `part_of` is NULL.
--   Between two samples of one file more than three sampling periods apart nothing was measured: the method bridges
--   such a gap, as the tools do, and `coverage` leaves it out.  Between two files it is not bridged.
--
-- Sources: power_readings, power_clock, power, energy, files
--
-- Parameters:
--   runs := ''               SQL condition over the columns of `runs`, as text; empty takes all
--   extent := 'run'          'run' from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' is 'readings' where the log has no times, flag no_run_times
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--
-- Columns:
--   run_id             VARCHAR      run
--   node               VARCHAR      host name
--   device             VARCHAR      device as the tool numbers it
--   scope              VARCHAR      what the sensor covers: gpu module gcd oam grace cpu memory ...
--   part_of            VARCHAR      scope of the same node that holds this one and was measured too; NULL where none
--   readings           BIGINT       samples that count
--   span_s             DOUBLE s     length of the extent
--   energy_j           DOUBLE J     energy within the extent, gaps within a file bridged
--   mean_w             DOUBLE W     energy over the time that it was integrated over
--   coverage           DOUBLE       share of the extent between samples that are no gap
--   sampling_s         DOUBLE s     sampling period: half of the time lies in intervals no longer than it
--   reported_j         DOUBLE J     energy as the tool says, of the longest measurement
--   reported_method    VARCHAR      how the tool came to it
--   flags              VARCHAR[]    gap, no_run_times, no_offset (the clocks cannot be joined: extent is that of the
--                                   readings), not_in_run (no sample within the run: of another one), one_reading,
--                                   several_files, same_bytes (another file of the run holds the same), zero, na,
--                                   forced_zero, duplicate, stale (samples so marked); NULL for none
WITH
clock AS (FROM power_clock(runs := runs)),
readings AS (
    SELECT r.*, dense_rank() OVER (ORDER BY r.run_id, node, device, scope) AS sensor,
        epoch_ns(ts) + (coalesce(offset_s, 0) * 1e9)::BIGINT AS t,
        epoch_ns(begins) AS begins_t, epoch_ns(ends) AS ends_t, offset_s IS NOT NULL AS has_offset
    FROM power_readings(runs := runs) AS r
    JOIN clock AS c ON c.run_id = r.run_id AND c.power_origin = r.ts_origin),
sensors AS (
    SELECT sensor, run_id, node, device, scope, count(*) AS readings, max(n_files) AS n_files,
        bool_and(has_offset) AS has_offset, max(ends_t) > min(begins_t) AS has_run_times,
        CASE WHEN extent = 'run' AND bool_and(has_offset) AND max(ends_t) > min(begins_t)
            THEN {'since': min(begins_t), 'until': max(ends_t)}
            WHEN extent IN ('run', 'readings') THEN {'since': min(t), 'until': max(t)}
            ELSE error('extent is ''run'' or ''readings''') END AS of
    FROM readings GROUP BY sensor, run_id, node, device, scope),
intervals AS (
    SELECT sensor, t AS t0, lead(t) OVER series AS t1, power_w AS p0, lead(power_w) OVER series AS p1,
        file_id <> lead(file_id) OVER series AS is_seam
    FROM readings WINDOW series AS (PARTITION BY sensor ORDER BY t)),
periods AS (
    SELECT sensor, min(t1 - t0) AS period
    FROM (
        SELECT *, sum(t1 - t0) OVER (PARTITION BY sensor ORDER BY t1 - t0) AS up_to,
            sum(t1 - t0) OVER (PARTITION BY sensor) AS total
        FROM intervals WHERE t1 > t0)
    WHERE 2 * up_to >= total GROUP BY sensor),
-- The part [a, b] of each interval that lies within the extent.
clipped AS (
    SELECT i.*, t1 - t0 > 3 * period AS is_gap, greatest(t0, s.of.since) AS a, least(t1, s.of.until) AS b
    FROM intervals AS i JOIN periods USING (sensor) JOIN sensors AS s USING (sensor)
    WHERE t1 > t0 AND least(t1, s.of.until) > greatest(t0, s.of.since)),
areas AS (
    SELECT sensor, t0, (b - a) / 1e9 AS span_s, is_gap, is_gap AND is_seam AS is_open,
        CASE method WHEN 'left' THEN p0 WHEN 'right' THEN p1
            WHEN 'trapezoid' THEN p0 + (p1 - p0) * ((a - t0) + (b - t0)) / (2 * (t1 - t0))
            ELSE error('method is ''trapezoid'', ''left'' or ''right''') END AS power_w
    FROM clipped),
-- Sums in order of time: the last digit does not depend on the number of threads.
energies AS (
    SELECT sensor, bool_or(is_gap) AS has_gap,
        sum(power_w * span_s ORDER BY t0) FILTER (WHERE NOT is_open) AS energy_j,
        sum(span_s ORDER BY t0) FILTER (WHERE NOT is_open) AS integrated_s,
        sum(span_s ORDER BY t0) FILTER (WHERE NOT is_gap) AS covered_s
    FROM areas GROUP BY sensor),
marks AS (
    SELECT run_id, node, device, scope, bool_or(len(paths) > 1) AS has_twin,
        list(DISTINCT flag ORDER BY flag) FILTER (WHERE flag IS NOT NULL) AS marks
    FROM power LEFT JOIN files USING (file_id) GROUP BY ALL),
reported AS (
    SELECT run_id, node, device, scope,
        arg_max({'j': energy_j, 'method': e.method}, coalesce(span_s, energy_j)) AS said
    FROM energy AS e GROUP BY ALL),
scopes AS (SELECT DISTINCT run_id, node, scope FROM sensors),
-- What lies within what, from the inside out.
nests AS (
    SELECT unnest(string_split(inside, ' ')) AS scope, outside, place
    FROM (VALUES ('cpu sysio', 'grace', 1), ('gpu grace cpu sysio', 'module', 2), ('gcd', 'oam', 1),
        ('ipu', 'board', 1), ('gpu module gcd oam grace cpu memory sysio ipu board', 'node_dc', 3),
        ('gpu module gcd oam grace cpu memory sysio ipu board node_dc', 'node_ac', 4)) AS n(inside, outside, place)),
parts AS (
    SELECT s.run_id, s.node, s.scope, arg_min(outside, place) AS part_of
    FROM scopes AS s JOIN nests USING (scope)
    JOIN scopes AS o ON o.run_id = s.run_id AND o.node IS NOT DISTINCT FROM s.node AND o.scope = outside
    GROUP BY ALL)
SELECT s.run_id, s.node, s.device, s.scope, part_of, s.readings, (s.of.until - s.of.since) / 1e9 AS span_s,
    energy_j, energy_j / integrated_s AS mean_w,
    coalesce(covered_s, 0) / nullif((s.of.until - s.of.since) / 1e9, 0) AS coverage,
    period / 1e9 AS sampling_s, said.j AS reported_j, said.method AS reported_method,
    nullif(list_concat(list_filter([
            CASE WHEN has_gap THEN 'gap' END,
            CASE WHEN extent = 'run' AND has_run_times IS NOT true THEN 'no_run_times' END,
            CASE WHEN extent = 'run' AND has_run_times AND NOT has_offset THEN 'no_offset' END,
            CASE WHEN energy_j IS NULL AND s.readings > 1 THEN 'not_in_run' END,
            CASE WHEN s.readings = 1 THEN 'one_reading' END,
            CASE WHEN n_files > 1 THEN 'several_files' END,
            CASE WHEN has_twin THEN 'same_bytes' END
        ], lambda flag: flag IS NOT NULL), coalesce(marks, [])), []) AS flags
FROM sensors AS s LEFT JOIN energies USING (sensor) LEFT JOIN periods USING (sensor)
LEFT JOIN marks AS m ON m.run_id = s.run_id AND m.node IS NOT DISTINCT FROM s.node
    AND m.device IS NOT DISTINCT FROM s.device AND m.scope IS NOT DISTINCT FROM s.scope
LEFT JOIN reported AS r ON r.run_id = s.run_id AND r.node IS NOT DISTINCT FROM s.node
    AND r.device IS NOT DISTINCT FROM s.device AND r.scope IS NOT DISTINCT FROM s.scope
LEFT JOIN parts AS p ON p.run_id = s.run_id AND p.node IS NOT DISTINCT FROM s.node AND p.scope = s.scope
ORDER BY s.run_id, s.node, s.scope, s.device
