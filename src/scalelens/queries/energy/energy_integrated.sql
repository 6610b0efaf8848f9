-- Energy of each sensor, integrated over its power readings.
--
-- Answers: How much energy did each device take, and how well was it measured?
--   And what does the tool itself report?
--   Readings are weighted by time, so that uneven sampling changes nothing; there is one row per sensor, however many
--   ranks measured it (power_readings).  Sensors nest: add up the rows whose `part_of` is NULL.
--   Figures shown side by side cover the same time: the extent is one for all sensors of a run that share a clock, the
--   run's only if the clocks of all of them can be joined to the log (else flag no_clock).
--   A gap lies between two samples of one file that are more than three sampling periods apart.  The method bridges it,
--   as the tools do, and `coverage` leaves it out.  A gap between two files is not bridged.
--
-- Formula: E = sum over the intervals between two readings of (P1 + P2) / 2 * (t2 - t1), by trapezoids; 'left' takes P1
--   and 'right' P2 for the interval, as some tools do.  Coverage is the time between a sensor's readings, less its
--   gaps, over the extent.
--
-- Reference: jpwr (FZJ), MLPerf's result_summarizer (right sums).  Yang et al., SC'24, arXiv 2312.02741: what
--   nvidia-smi samples.
--
-- Assumptions: Power changes linearly between two readings.  A reading is the power at its time stamp.
--
-- Limits: Sensors average over windows that the tools do not state, or see part of the time only; coverage does not
--   contain that error.  Work shorter than a sampling period has no energy of its own.
--
-- Glance: run_id node device scope energy_j mean_w coverage% reported_j sampling_s span_s readings part_of flags
--
-- Partition: run_id
--
-- Needs: power, energy
--
-- Sources: power_readings, power_intervals, power_clock, reported_energy, scope_nesting, power, members, files,
--   selected_runs
--
-- Parameters: runs
--   extent := 'run'          'run' is from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--                            it
--
-- Columns:
--   run_id             VARCHAR      run
--   node               VARCHAR      host name
--   device             VARCHAR      device as the tool numbers it
--   scope              VARCHAR      what the sensor covers: gpu module gcd oam grace cpu memory ...
--   part_of            VARCHAR      scope on the same node that includes this one and was measured too; NULL where
--                                   there is none
--   readings           BIGINT       samples within the extent
--   span_s             DOUBLE s     length of the extent: one for all sensors of a run that share a clock
--   energy_j           DOUBLE J     energy within the extent, gaps within a file bridged
--   bridged_j          DOUBLE J     part of it in gaps, where nothing was measured
--   mean_w             DOUBLE W     energy over the time that it was integrated over
--   coverage           DOUBLE       share of the extent outside of gaps
--   sampling_s         DOUBLE s     sampling period: the median interval, without samples in pairs
--   reported_j         DOUBLE J     energy as the tool reports it (reported_energy); NULL where it may be one of several
--   reported_method    VARCHAR      how the tool determined it
--   flags              VARCHAR[]    gap, no_run_times, no_clock (the readings cannot be joined to the log: the extent
--                                   is theirs), not_in_run (no sample within the run: it is from another one),
--                                   one_reading, several_files, same_bytes (another file of the run has the same
--                                   content), zero, na, forced_zero, duplicate, stale, implausible, clock_changed (summer time
--                                   began or ended: times are counted on in the order of the file), clock_back (the
--                                   clock went back for another reason) (samples with that mark); NULL for none
--   n_implausible      BIGINT       samples left out because no device draws so much
WITH
clocked AS (
    SELECT r.*, epoch_ns(sampled_at) + (coalesce(offset_s, 0) * 1e9)::BIGINT AS t, begins, ends,
        offset_s IS NOT NULL AS has_clock
    FROM power_readings(runs := runs) AS r
    JOIN power_clock(runs := runs) AS c ON c.run_id = r.run_id AND c.power_origin = r.ts_origin),
of_runs AS (
    SELECT run_id, bool_and(has_clock) AS has_clock, max(ends) > min(begins) AS has_run_times,
        epoch_ns(min(begins)) AS run_begins, epoch_ns(max(ends)) AS run_ends
    FROM clocked GROUP BY run_id),
-- Figures shown side by side cover the same time: one extent for all sensors of a run, as far as they share a clock.
extents AS (
    SELECT run_id, ts_origin, CASE
            WHEN extent = 'run' AND any_value(o.has_clock) AND any_value(has_run_times)
                THEN {'begins': any_value(run_begins), 'ends': any_value(run_ends)}
            WHEN extent IN ('run', 'readings') THEN {'begins': min(t), 'ends': max(t)}
            ELSE error('extent is ''run'' or ''readings''') END AS of
    FROM clocked JOIN of_runs AS o USING (run_id) GROUP BY run_id, ts_origin),
readings AS (
    SELECT c.run_id, node, device, scope, max(n_files) AS n_files, any_value(o.has_clock) AS has_clock,
        any_value(has_run_times) AS has_run_times, {'begins': min(of.begins), 'ends': max(of.ends)} AS of,
        count(*) AS all_readings, count(*) FILTER (WHERE t BETWEEN of.begins AND of.ends) AS readings
    FROM clocked AS c JOIN of_runs AS o USING (run_id)
    JOIN extents AS e ON e.run_id = c.run_id AND e.ts_origin = c.ts_origin
    GROUP BY c.run_id, node, device, scope),
intervals AS (FROM power_intervals(runs := runs)),
sensors AS (
    SELECT sensor, i.run_id, i.node, i.device, i.scope, any_value(period_s) AS period_s, any_value(r.of) AS of
    FROM intervals AS i JOIN readings AS r ON r.run_id = i.run_id AND r.node IS NOT DISTINCT FROM i.node
        AND r.device IS NOT DISTINCT FROM i.device AND r.scope IS NOT DISTINCT FROM i.scope
    GROUP BY ALL),
-- The part [a, b] of each interval within the extent, and the power at its middle.
parts AS (
    SELECT i.*, greatest(begins_ns, of.begins) AS a, least(ends_ns, of.ends) AS b, b - a AS part_ns,
        CASE method WHEN 'left' THEN begins_w WHEN 'right' THEN ends_w
            WHEN 'trapezoid' THEN begins_w
                + (ends_w - begins_w) * ((a - begins_ns) + (b - begins_ns)) / (2 * (ends_ns - begins_ns))
            ELSE error('method is ''trapezoid'', ''left'' or ''right''') END AS power_w
    FROM intervals AS i JOIN sensors USING (sensor)
    WHERE least(ends_ns, of.ends) > greatest(begins_ns, of.begins)),
-- Summed in order of time, so that the last digit does not depend on the number of threads.
energies AS (
    SELECT sensor, bool_or(kind <> 'sampled') AS has_gap,
        sum(power_w * (part_ns / 1e9) ORDER BY a) FILTER (WHERE kind <> 'open') AS energy_j,
        sum(power_w * (part_ns / 1e9) ORDER BY a) FILTER (WHERE kind = 'gap') AS bridged_j,
        sum(part_ns) FILTER (WHERE kind <> 'open') AS integrated_ns,
        sum(part_ns) FILTER (WHERE kind = 'sampled') AS sampled_ns
    FROM parts GROUP BY sensor),
marks AS (
    SELECT run_id, node, device, scope, bool_or(len(paths) > 1) AS has_twin,
        list(DISTINCT flag ORDER BY flag) FILTER (WHERE flag IS NOT NULL) AS marks,
        count(*) FILTER (WHERE flag = 'implausible') AS n_implausible
    FROM power LEFT JOIN files USING (file_id)
    WHERE run_id IN (FROM selected_runs(runs := runs))
        AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
    GROUP BY ALL),
reported AS (
    SELECT run_id, node, device, scope,
        arg_max({'j': reported_j, 'method': e.method},
            {'span_s': coalesce(span_s, -1), 'j': low_j, 'method': e.method}) AS report
    FROM reported_energy(runs := runs) AS e GROUP BY run_id, node, device, scope),
scopes AS (
    SELECT run_id, node, coalesce(scope, 'other') AS scope, list(DISTINCT file_id) AS file_ids, max(power_w) > 0 AS measured
    FROM power_readings(runs := runs) GROUP BY ALL),
holders AS (
    SELECT s.run_id, s.node, s.scope, arg_min(outside, position) AS part_of
    FROM scopes AS s JOIN scope_nesting() USING (scope)
    JOIN scopes AS o ON o.run_id = s.run_id AND o.node IS NOT DISTINCT FROM s.node AND o.scope = outside
        AND o.measured AND (NOT same_file OR list_has_any(s.file_ids, o.file_ids))
    GROUP BY ALL)
SELECT m.run_id, m.node, m.device, m.scope, part_of, coalesce(readings, 0) AS readings,
    (s.of.ends - s.of.begins) / 1e9 AS span_s, energy_j,
    CASE WHEN energy_j IS NOT NULL THEN coalesce(bridged_j, 0) END AS bridged_j, energy_j / (integrated_ns / 1e9) AS mean_w,
    coalesce(sampled_ns, 0) / (s.of.ends - s.of.begins) AS coverage,
    period_s AS sampling_s, report.j AS reported_j, report.method AS reported_method,
    nullif(list_concat(list_filter([
            CASE WHEN has_gap THEN 'gap' END,
            CASE WHEN extent = 'run' AND r.has_run_times IS NOT true THEN 'no_run_times' END,
            CASE WHEN extent = 'run' AND r.has_run_times AND NOT r.has_clock THEN 'no_clock' END,
            CASE WHEN s.sensor IS NOT NULL AND energy_j IS NULL THEN 'not_in_run' END,
            CASE WHEN all_readings = 1 THEN 'one_reading' END,
            CASE WHEN n_files > 1 THEN 'several_files' END,
            CASE WHEN has_twin THEN 'same_bytes' END
        ], lambda flag: flag IS NOT NULL), coalesce(marks, [])), []) AS flags,
    n_implausible
FROM marks AS m
LEFT JOIN readings AS r ON r.run_id = m.run_id AND r.node IS NOT DISTINCT FROM m.node
    AND r.device IS NOT DISTINCT FROM m.device AND r.scope IS NOT DISTINCT FROM m.scope
LEFT JOIN sensors AS s ON s.run_id = m.run_id AND s.node IS NOT DISTINCT FROM m.node
    AND s.device IS NOT DISTINCT FROM m.device AND s.scope IS NOT DISTINCT FROM m.scope
LEFT JOIN energies USING (sensor)
LEFT JOIN reported AS e ON e.run_id = m.run_id AND e.node IS NOT DISTINCT FROM m.node
    AND e.device IS NOT DISTINCT FROM m.device AND e.scope IS NOT DISTINCT FROM m.scope
LEFT JOIN holders AS h ON h.run_id = m.run_id AND h.node IS NOT DISTINCT FROM m.node
    AND h.scope = coalesce(m.scope, 'other')
ORDER BY m.run_id, m.node, m.scope, m.device
