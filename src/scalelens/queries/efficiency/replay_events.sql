-- What the replay of kernel traces reads: device work, calls of the hosts that launch or wait, starts and ends of steps.
--
-- Answers: Which events decide when the work of a device can start?
--   All times are on one clock: the offsets of clock_offsets are subtracted where they are known.
--   Files of Nsight Systems do not say which event a stream waits for, nor do Kineto traces without the category
--   cuda_sync: there `wait_stream` is NULL.
--
-- Helper: used by trace_replays
--
-- Needs: events
--
-- Sources: events, gpu_work, trace_steps, collective_calls, clock_offsets
--
-- Parameters: runs
--
-- Columns:
--   run_id         VARCHAR      run
--   file_id        VARCHAR      file of the trace
--   line           BIGINT       position of the event in the trace
--   rank           INTEGER      global rank
--   role           VARCHAR      work, begin and end of a step, launch, copy, stream_wait, stream_sync, event_sync,
--                               device_sync
--   start_ns       BIGINT ns    start
--   end_ns         BIGINT ns    end
--   thread         VARCHAR      thread of the host
--   stream         BIGINT       stream of the work, or stream that waits or is waited for; 2^32 is added for each
--                               further device
--   correlation    BIGINT       links a launch to its work
--   wait_stream    BIGINT       stream that recorded the event that is waited for
--   recorded_ns    BIGINT ns    when the host recorded it
--   call           BIGINT       collective that the work takes part in, as in collective_calls
--   class          VARCHAR      compute, communication or memory
--   train_step     BIGINT       step that begins
WITH
offsets AS (
    SELECT run_id, rank, max_by(offset_ns, collectives)::BIGINT AS offset_ns
    FROM clock_offsets(runs := runs) WHERE offset_ns <> 0 GROUP BY run_id, rank),
works AS (
    SELECT *, dense_rank() OVER (PARTITION BY run_id, file_id, rank ORDER BY process) - 1 AS device
    FROM gpu_work(runs := runs)),
recorders AS (
    SELECT file_id, correlation, min(start_ns) AS start_ns FROM events
    WHERE correlation >= 0 AND regexp_matches(name, '(?i)eventrecord') GROUP BY ALL),
-- Which stream waits for which, as reported by the device's library.
stream_waits AS (
    SELECT file_id, correlation, min(stream) FILTER (stream BETWEEN 0 AND 4294967294) AS stream,
        min(TRY_CAST(json_extract_string(args, '$.wait_on_stream') AS BIGINT)) AS wait_stream,
        min(TRY_CAST(json_extract_string(args, '$.wait_on_cuda_event_record_corr_id') AS BIGINT)) AS recorder
    FROM events WHERE category = 'cuda_sync' AND correlation >= 0 GROUP BY ALL),
calls AS (
    SELECT e.run_id, e.file_id, line, rank, e.start_ns, e.start_ns + duration_ns AS end_ns, thread, correlation,
        stream_waits.stream, wait_stream, r.start_ns AS recorded_ns,
        CASE WHEN regexp_matches(name, '(?i)streamsync') THEN 'stream_sync'
            WHEN regexp_matches(name, '(?i)eventsync') THEN 'event_sync'
            WHEN regexp_matches(name, '(?i)(device|ctx)sync|^(cuda|hip)free(host)?(_|$)') THEN 'device_sync'
            WHEN regexp_matches(name, '(?i)streamwaitevent') THEN 'stream_wait'
            WHEN regexp_matches(name, '(?i)memcpy') THEN 'copy' ELSE 'launch' END AS role
    FROM events AS e LEFT JOIN stream_waits USING (file_id, correlation)
    LEFT JOIN recorders AS r ON r.file_id = e.file_id AND r.correlation = stream_waits.recorder
    WHERE regexp_full_match(category, '(\w+_)?(runtime|driver)') AND duration_ns IS NOT NULL
        AND (e.run_id, e.file_id) IN (SELECT (run_id, file_id) FROM works)),
marks AS (
    SELECT run_id, file_id, line, rank, unnest([
        {role: 'begin', at_ns: start_ns, train_step: train_step},
        {role: 'end', at_ns: start_ns + duration_ns, train_step: NULL}]) AS mark
    FROM trace_steps(runs := runs) WHERE start_ns IS NOT NULL AND (run_id, file_id) IN (SELECT (run_id, file_id) FROM works)),
-- A trace without annotated steps counts as one step.
spans AS (
    SELECT run_id, file_id, rank, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM (SELECT run_id, file_id, rank, start_ns, end_ns FROM works UNION ALL
        SELECT run_id, file_id, rank, start_ns, end_ns FROM calls)
    WHERE (run_id, file_id) NOT IN (SELECT (run_id, file_id) FROM marks) GROUP BY ALL),
all_events AS (
    SELECT run_id, file_id, line, rank, 'work' AS role, start_ns, end_ns, stream + device * 4294967296 AS stream,
        correlation, class FROM works
    UNION ALL BY NAME FROM calls
        WHERE role NOT IN ('launch', 'copy') OR (file_id, correlation) IN (SELECT (file_id, correlation) FROM works)
    UNION ALL BY NAME SELECT run_id, file_id, line, rank, mark.role AS role, mark.at_ns AS start_ns,
        mark.at_ns AS end_ns, mark.train_step AS train_step FROM marks
    UNION ALL BY NAME SELECT run_id, file_id, rank, 'begin' AS role, start_ns, start_ns AS end_ns FROM spans
    UNION ALL BY NAME SELECT run_id, file_id, rank, 'end' AS role, end_ns AS start_ns, end_ns FROM spans)
SELECT run_id, f.file_id, f.line, f.rank, role, f.start_ns - coalesce(offset_ns, 0) AS start_ns,
    end_ns - coalesce(offset_ns, 0) AS end_ns, thread, stream, correlation, wait_stream,
    recorded_ns - coalesce(offset_ns, 0) AS recorded_ns, c.call, class, f.train_step
FROM all_events AS f LEFT JOIN offsets USING (run_id, rank)
LEFT JOIN collective_calls(runs := runs) AS c USING (run_id, file_id, line)
ORDER BY run_id, rank, f.file_id, start_ns, end_ns, role, f.line
