-- Memory of PyTorch after each entry of a snapshot's history: asked for by tensors, and reserved from the device.
--
-- Answers: How much memory was in use when?
--   What is held at the end is known from the segments and blocks of the snapshot.  What was held before the history
--   began follows from it.
--
-- Helper: used by memory_over_time, memory_by_site and memory_snapshots
--
-- Needs: events
--
-- Sources: events, memory_allocations, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR         run
--   file_id            VARCHAR         snapshot
--   rank               INTEGER         global rank
--   device             VARCHAR         device as PyTorch numbers it
--   line               BIGINT          entry of the history
--   action             VARCHAR         what happened: alloc, free_completed, segment_alloc, oom, ...
--   at_ns              BIGINT ns       when, since 1970; NULL where PyTorch did not record it (before 2.2)
--   requested_bytes    BIGINT bytes    asked for by allocations that live after it
--   reserved_bytes     BIGINT bytes    of all segments after it
WITH
entries AS (
    SELECT run_id, file_id, rank, line, name, start_ns, args->>'device' AS device,
        TRY_CAST(args->>'bytes' AS BIGINT) AS size
    FROM events
    WHERE category IN ('memory_history', 'memory_segment') AND run_id IN (FROM selected_runs(runs := runs))),
history AS (
    SELECT *, CASE WHEN name IN ('segment_alloc', 'segment_map') THEN size
            WHEN name IN ('segment_free', 'segment_unmap') THEN -size ELSE 0 END AS reserved_more
    FROM entries WHERE name NOT IN ('large', 'small')),
changes AS (
    SELECT file_id, unnest([begin_line, end_line]) AS line, unnest([bytes, -bytes]) AS more
    FROM memory_allocations(runs := runs)),
steps AS (
    SELECT h.*, coalesce(sum(more), 0)::BIGINT AS more
    FROM history AS h LEFT JOIN changes AS c ON c.file_id = h.file_id AND c.line = h.line GROUP BY ALL),
held_before AS (
    SELECT file_id, device, sum(bytes)::BIGINT AS bytes FROM memory_allocations(runs := runs)
    WHERE begin_line IS NULL GROUP BY ALL),
reserved AS (
    SELECT file_id, device, sum(size)::BIGINT AS bytes FROM entries WHERE name IN ('large', 'small') GROUP BY ALL)
SELECT run_id, s.file_id, rank, s.device, line, name AS action, start_ns AS at_ns,
    coalesce(b.bytes, 0) + sum(more) OVER so_far::BIGINT AS requested_bytes,
    coalesce(r.bytes, 0) - coalesce(sum(reserved_more) OVER later, 0)::BIGINT AS reserved_bytes
FROM steps AS s
LEFT JOIN held_before AS b ON b.file_id = s.file_id AND b.device IS NOT DISTINCT FROM s.device
LEFT JOIN reserved AS r ON r.file_id = s.file_id AND r.device IS NOT DISTINCT FROM s.device
WINDOW so_far AS (PARTITION BY s.file_id, s.device ORDER BY line),
    later AS (PARTITION BY s.file_id, s.device ORDER BY line ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
