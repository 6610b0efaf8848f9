-- Allocations in snapshots of PyTorch's memory: from when to when each held how many bytes, and what asked for it.
--
-- Answers: Which allocations are known, and how long did each live?
--   The history gives an allocation and its end, matched by address.  Memory is given back when free_completed says so;
--   where a history has none, at free_requested.  What the history frees without having allocated it, and blocks in use
--   that it does not name, were there before: `begin_line` is NULL.
--
-- Helper: used by memory_totals, memory_by_site and memory_snapshots
--
-- Needs: events
--
-- Sources: events, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id         VARCHAR         run
--   file_id        VARCHAR         snapshot
--   rank           INTEGER         global rank
--   device         VARCHAR         device as PyTorch numbers it
--   address        BIGINT          address
--   begin_line     BIGINT          line of the allocation; NULL where it was there before the history
--   end_line       BIGINT          line of its end; NULL where the history does not end it
--   bytes          BIGINT bytes    bytes that were asked for
--   block_bytes    BIGINT bytes    bytes of its block in the snapshot; NULL where it is not there
--   site           VARCHAR         innermost frame outside of PyTorch; NULL where no stack was recorded
--   path           VARCHAR         frames outside of PyTorch, the outermost first
WITH
objects AS (
    SELECT run_id, file_id, line, rank, category, name, args->>'device' AS device,
        TRY_CAST(args->>'address' AS BIGINT) AS address, TRY_CAST(args->>'bytes' AS BIGINT) AS size,
        TRY_CAST(args->>'requested_bytes' AS BIGINT) AS requested, args->>'site' AS site, args->>'path' AS path
    FROM events
    WHERE category IN ('memory_history', 'memory_block') AND name IN ('alloc', 'free_requested', 'free_completed',
            'active_allocated', 'active_awaiting_free')
        AND run_id IN (FROM selected_runs(runs := runs))),
histories AS (
    SELECT *, coalesce(bool_or(name = 'free_completed') OVER (PARTITION BY file_id, device), false) AS completes
    FROM objects WHERE category = 'memory_history'),
turns AS (
    SELECT *, name = 'alloc' AS starts, lag(name) OVER at_address AS before, lead(line) OVER at_address AS next_line
    FROM histories WHERE name = 'alloc' OR name = CASE WHEN completes THEN 'free_completed' ELSE 'free_requested' END
    WINDOW at_address AS (PARTITION BY file_id, device, address ORDER BY line)),
blocks AS (
    SELECT b.*, t.line AS begin_line
    FROM (FROM objects WHERE category = 'memory_block') AS b
    LEFT JOIN (FROM turns WHERE starts AND next_line IS NULL) AS t
        ON t.file_id = b.file_id AND t.device IS NOT DISTINCT FROM b.device AND t.address = b.address)
SELECT t.run_id, t.file_id, t.rank, t.device, t.address, t.line AS begin_line, next_line AS end_line, t.size AS bytes,
    b.size AS block_bytes, t.site, t.path
FROM turns AS t LEFT JOIN blocks AS b ON b.file_id = t.file_id AND b.begin_line = t.line
WHERE starts
UNION ALL
SELECT run_id, file_id, rank, device, address, NULL, line, size, NULL, NULL, NULL FROM turns
WHERE NOT starts AND before IS NULL
UNION ALL
SELECT run_id, file_id, rank, device, address, NULL, NULL, coalesce(requested, size), size, site, path FROM blocks
WHERE begin_line IS NULL
