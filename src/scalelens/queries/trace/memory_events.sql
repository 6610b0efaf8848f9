-- Each copy and fill of device memory, with its bytes.
--
-- Answers: What was copied when, how large was it, how fast?
--
-- Helper: used by memory_bandwidth and memory_copies
--
-- Needs: events
--
-- Sources: gpu_events, events
--
-- Parameters: runs, steps
--
-- Columns:
--   run_id         VARCHAR         run
--   file_id        VARCHAR         file of the trace
--   line           BIGINT          position of the event in the trace
--   rank           INTEGER         global rank
--   train_step     BIGINT          step that launched it
--   stream         BIGINT          stream
--   kind           VARCHAR         Memcpy HtoD, Memcpy DtoD, Memset, ...
--   start_ns       BIGINT ns       start
--   duration_ns    BIGINT ns       duration
--   moved_bytes    BIGINT bytes    bytes moved or filled; NULL where the trace does not give them
--   gb_per_s       DOUBLE GB/s     as stated in the trace, else bytes over time
WITH
copies AS (
    SELECT g.*, CASE WHEN json_valid(args) THEN args END AS args
    FROM gpu_events(runs := runs, steps := steps) AS g JOIN events AS e USING (file_id, line)
    WHERE g.class = 'memory'),
sized AS (
    SELECT *, TRY_CAST(coalesce(args ->> '$.bytes', args ->> '$.size') AS BIGINT) AS moved_bytes,
        TRY_CAST(args ->> '$."memory bandwidth (GB/s)"' AS DOUBLE) AS stated_gb_per_s
    FROM copies)
SELECT run_id, file_id, line, rank, train_step, stream, regexp_extract(name, '^(Memcpy \w+|\w+)') AS kind,
    start_ns, duration_ns, moved_bytes, coalesce(stated_gb_per_s, moved_bytes / nullif(duration_ns, 0)) AS gb_per_s
FROM sized
