-- Joules of the parts of a trace: classes of kernels, annotations, or phases of inference.
--
-- Answers: Which part of a trace takes the energy?
--   How much goes into computing, communication, or waiting?
--   Each part of a trace takes the energy of its device while it runs.  `what := 'class'` splits the time from the first to the
--   last work: compute, communication outside of it, copies outside of both, idle; they add up.  `what := 'annotation'` takes what
--   the program marks, on the device where the trace shows it there, else on the host; names that differ in numbers are
--   one, and annotations lie within each other.  `what := 'phase'` takes prefill and decode of serving engines, with joules
--   per token.
--   A sensor belongs to a rank where one of each was measured; of several, each rank counts as the mean of the sensors.
--
-- Formula: energy = integral of power over the union of the part's times; power is linear between two samples.
--
-- Assumptions: The clocks of trace and readings agree, as they do on one node.
--
-- Limits: Parts shorter than a sampling period share its readings, so that their watts are alike: over many steps they
--   differ only as far as the samples caught them.  power.draw of recent NVIDIA GPUs is a mean over the last second, which
--   smears what is shorter and comes half a second late: `lag_s=0.5` moves it back; power.draw.instant has no such lag.  Idle time takes energy as well: it is in no part but `idle`.
--
-- Glance: run_id rank part calls time_ns energy_j share% mean_w coverage% tokens token_j sensors note
--
-- Partition: run_id
--
-- Needs: events
--
-- When empty: no trace has power readings of its devices from the same time
--
-- Sources: events, gpu_work, inference_iterations, trace_power
--
-- Parameters: runs
--   what := 'class'  'class', 'annotation' or 'phase'
--   lag_s := 0.0     seconds by which a reading comes after the power that it shows
--
-- Columns:
--   run_id      VARCHAR      run
--   file_id     VARCHAR      file of the trace
--   rank        INTEGER      global rank
--   part        VARCHAR      class, annotation or phase; NULL where nothing can be said, for the reason in the note
--   calls       BIGINT       how often it occurs; NULL for classes
--   time_ns     BIGINT ns    time in which it runs, overlaps counted once
--   energy_j    DOUBLE J     energy of one device in that time, as far as power was measured
--   share       DOUBLE       share of the energy of the trace, from its first to its last work, 0 to 1
--   mean_w      DOUBLE W     mean power in that time
--   coverage    DOUBLE       share of that time in which power was measured, 0 to 1
--   tokens      DOUBLE tokens  tokens that a phase computes; NULL where one does not say
--   token_j     DOUBLE J     energy over these
--   sensors     BIGINT       sensors that were averaged
--   note        VARCHAR      what to know or doubt
WITH
powered AS (SELECT run_id, any_value(note) AS reason, max(sensors) AS sensors FROM trace_power(runs := runs, lag_s := lag_s) GROUP BY run_id),
work AS (FROM gpu_work(runs := runs) WHERE run_id IN (SELECT run_id FROM powered)),
spans AS (SELECT run_id, file_id, rank, min(start_ns) AS a, max(end_ns) AS b FROM work GROUP BY ALL),
-- Classes: how many of each run after every start and end.
edges AS (
    SELECT run_id, file_id, rank, unnest([start_ns, end_ns]) AS at_ns, unnest([1, -1]) AS more, class FROM work WHERE what = 'class'),
counts AS (
    SELECT run_id, file_id, rank, at_ns, sum(sum(more) FILTER (class = 'compute')) OVER later AS computing,
        sum(sum(more) FILTER (class = 'communication')) OVER later AS communicating, sum(sum(more)) OVER later AS running,
        lead(at_ns) OVER later AS until_ns
    FROM edges GROUP BY run_id, file_id, rank, at_ns WINDOW later AS (PARTITION BY run_id, file_id, rank ORDER BY at_ns)),
marks AS (
    SELECT run_id, file_id, rank, category = 'gpu_user_annotation' AS of_device, name, regexp_replace(name, '\d+', 'N', 'g') AS part,
        start_ns AS a, start_ns + duration_ns AS b, coalesce(json_extract_string(args, '$."External id"'), 'line ' || line) AS twin
    FROM events
    WHERE what = 'annotation' AND category IN ('user_annotation', 'gpu_user_annotation', 'nvtx') AND duration_ns IS NOT NULL
        AND run_id IN (SELECT run_id FROM powered)),
sided AS (SELECT *, bool_or(of_device) OVER (PARTITION BY file_id, rank, part) AS on_device FROM marks),
parts AS (
    SELECT run_id, file_id, rank, CASE WHEN computing > 0 THEN 'compute' WHEN communicating > 0 THEN 'exposed communication'
            WHEN running > 0 THEN 'exposed memory' ELSE 'idle' END AS part, at_ns AS a, until_ns AS b, NULL AS twin, NULL::DOUBLE AS tokens
    FROM counts WHERE until_ns > at_ns
    UNION ALL
    SELECT run_id, file_id, rank, CASE WHEN count(DISTINCT name) OVER (PARTITION BY file_id, rank, part) = 1 THEN name ELSE part END,
        a, b, twin, NULL FROM sided WHERE of_device = on_device
    UNION ALL
    SELECT run_id, file_id, rank, phase, device_begin_ns, device_begin_ns + device_ns, line::VARCHAR, tokens
    FROM inference_iterations(runs := runs) WHERE what = 'phase' AND device_ns IS NOT NULL),
called AS (
    SELECT file_id, rank, part, count(DISTINCT twin) AS calls, CASE WHEN count(tokens) = count(*) THEN sum(tokens)::DOUBLE END AS tokens
    FROM parts GROUP BY ALL),
-- The union of a part's times, in pieces that do not touch.
pieces AS (
    SELECT run_id, file_id, rank, part, min(a) AS a, max(b) AS b
    FROM (SELECT *, sum(CASE WHEN a <= until THEN 0 ELSE 1 END) OVER (PARTITION BY file_id, rank, part ORDER BY a, b) AS piece
        FROM (SELECT *, max(b) OVER (PARTITION BY file_id, rank, part ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS until FROM parts))
    GROUP BY run_id, file_id, rank, part, piece
    UNION ALL SELECT run_id, file_id, rank, NULL, a, b FROM spans),
ends AS (
    SELECT run_id, file_id, rank, part, sensor, sign, CASE sign WHEN 1 THEN b ELSE a END AS at_ns
    FROM pieces JOIN (SELECT DISTINCT run_id, sensor FROM trace_power(runs := runs, lag_s := lag_s) WHERE note IS NULL) USING (run_id),
        (SELECT unnest([1, -1]) AS sign)),
read AS (
    SELECT e.*, greatest(least(at_ns, ends_ns) - begins_ns, 0) AS x, coalesce(is_known, false) AS known, before_j, before_ns,
        begins_w, (ends_w - begins_w) / nullif(ends_ns - begins_ns, 0) AS slope
    FROM ends AS e ASOF LEFT JOIN (FROM trace_power(runs := runs, lag_s := lag_s) WHERE note IS NULL) AS p
        ON p.run_id = e.run_id AND p.sensor = e.sensor AND p.begins_ns <= e.at_ns),
summed AS (
    SELECT run_id, file_id, rank, part, sum(sign * (coalesce(before_j, 0) + CASE WHEN known
            THEN (begins_w + slope * x / 2) * x / 1e9 ELSE 0 END)) / count(DISTINCT sensor) AS energy_j,
        sum(sign * (coalesce(before_ns, 0) + CASE WHEN known THEN x ELSE 0 END)) / count(DISTINCT sensor) AS known_ns
    FROM read GROUP BY ALL),
totals AS (SELECT file_id, rank, part, sum(b - a)::BIGINT AS time_ns FROM pieces GROUP BY ALL)
SELECT s.run_id, s.file_id, s.rank, s.part, nullif(calls, 0) AS calls, time_ns,
    CASE WHEN known_ns > 0 THEN s.energy_j END AS energy_j, s.energy_j / nullif(w.energy_j, 0) AS share,
    s.energy_j / nullif(known_ns / 1e9, 0) AS mean_w, known_ns / nullif(time_ns, 0) AS coverage, tokens,
    CASE WHEN known_ns >= 0.99 * time_ns THEN s.energy_j / nullif(tokens, 0) END AS token_j, sensors,
    notes([CASE WHEN known_ns < 0.99 * time_ns THEN 'power was measured in a part of this time alone' END,
        CASE WHEN sensors > 1 THEN format('mean of {} sensors: which is of this rank is not known', sensors) END]) AS note
FROM summed AS s JOIN powered USING (run_id)
JOIN totals AS t ON t.file_id = s.file_id AND t.rank IS NOT DISTINCT FROM s.rank AND t.part = s.part
LEFT JOIN called AS c ON c.file_id = s.file_id AND c.rank IS NOT DISTINCT FROM s.rank AND c.part = s.part
LEFT JOIN (SELECT file_id, rank, energy_j FROM summed WHERE part IS NULL) AS w ON w.file_id = s.file_id AND w.rank IS NOT DISTINCT FROM s.rank
WHERE s.part IS NOT NULL
UNION ALL
SELECT run_id, file_id, rank, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, reason
FROM spans JOIN powered USING (run_id)
WHERE reason IS NOT NULL AND CASE WHEN what IN ('class', 'annotation', 'phase') THEN true
    ELSE error('what is ''class'', ''annotation'' or ''phase''') END
ORDER BY run_id, rank, file_id, energy_j DESC NULLS LAST, part
