-- Snapshots of PyTorch's memory: the peak, what is reserved and free, and how fragmented it is.
--
-- Answers: How near to its limit was the device's memory, and is it fragmented?
--   How much does PyTorch reserve that no tensor uses?  Is there one free block that is large enough?
--   `reserved` is what PyTorch took from the device, in segments; `allocated` the blocks in use; `requested` what was
--   asked for, without rounding.  Free memory in a segment that also holds something in use is `stranded`: emptying the
--   cache does not give it back.
--   An allocation that failed although as much was reserved and unused failed by fragmentation, or by rounding: see the note.
--
-- Formula: free = reserved - allocated - awaiting; fragmentation = 1 - largest free block / free.  At the peak: unused =
--   reserved - requested, which holds rounding as well as free blocks.
--
-- Limits: Fragmentation is that of the moment of the snapshot, not of the peak.  Blocks of different pools (of CUDA
--   graphs) and streams cannot serve each other, so that even a large free block may be of no use.
--
-- Glance: run_id rank device peak_requested_bytes peak_reserved_bytes reserved_bytes allocated_bytes free_bytes
--   largest_free_bytes fragmentation% ooms note
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: events, memory_allocations, memory_totals, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id                  VARCHAR         run
--   file_id                 VARCHAR         snapshot
--   rank                    INTEGER         global rank, if the file's name says it
--   device                  VARCHAR         device as PyTorch numbers it
--   segments                BIGINT          segments reserved when the snapshot was taken
--   reserved_bytes          BIGINT bytes    their size
--   allocated_bytes         BIGINT bytes    blocks in use
--   requested_bytes         BIGINT bytes    what was asked for in these blocks; NULL where PyTorch did not record it
--   awaiting_bytes          BIGINT bytes    blocks that other streams may still use, before they are free
--   free_bytes              BIGINT bytes    blocks that can be used again
--   largest_free_bytes      BIGINT bytes    largest of them
--   fragmentation           DOUBLE          share of the free memory outside of the largest free block, 0 to 1
--   stranded_bytes          BIGINT bytes    free memory in segments that hold something
--   entries                 BIGINT          entries of the history; 0 where none was recorded
--   history_s               DOUBLE s        time from its first to its last entry
--   peak_requested_bytes    BIGINT bytes    most that was asked for at once, in the time of the history; NULL without one
--   unused_at_peak_bytes    BIGINT bytes    reserved at that moment, and not asked for
--   peak_reserved_bytes     BIGINT bytes    most that was reserved, in the time of the history
--   peak_at_ns              BIGINT ns       when the peak was, since 1970
--   ooms                    BIGINT          allocations that failed
--   oom_bytes               BIGINT bytes    largest allocation that failed
--   note                    VARCHAR         what to know or doubt
WITH
objects AS (
    SELECT run_id, file_id, rank, line, category, name, start_ns, args->>'device' AS device,
        TRY_CAST(args->>'bytes' AS BIGINT) AS size, TRY_CAST(args->>'requested_bytes' AS BIGINT) AS requested,
        coalesce(args->>'segment', args->>'address') AS segment
    FROM events
    WHERE category IN ('memory_history', 'memory_block', 'memory_segment')
        AND run_id IN (FROM selected_runs(runs := runs))),
in_segments AS (
    SELECT *, category = 'memory_block' AND name <> 'inactive' AS is_used,
        coalesce(bool_or(is_used) OVER (PARTITION BY file_id, device, segment), false) AS holds
    FROM objects WHERE category <> 'memory_history'),
states AS (
    SELECT run_id, file_id, rank, device, count(*) FILTER (category = 'memory_segment') AS segments,
        coalesce(sum(size) FILTER (category = 'memory_segment'), 0)::BIGINT AS reserved_bytes,
        coalesce(sum(size) FILTER (name = 'active_allocated'), 0)::BIGINT AS allocated_bytes,
        CASE WHEN count(*) FILTER (is_used AND requested IS NULL) = 0
            THEN coalesce(sum(requested) FILTER (is_used), 0)::BIGINT END AS requested_bytes,
        coalesce(sum(size) FILTER (name = 'active_awaiting_free'), 0)::BIGINT AS awaiting_bytes,
        coalesce(sum(size) FILTER (name = 'inactive'), 0)::BIGINT AS free_bytes,
        max(size) FILTER (name = 'inactive') AS largest_free_bytes,
        coalesce(sum(size) FILTER (name = 'inactive' AND holds), 0)::BIGINT AS stranded_bytes
    FROM in_segments GROUP BY ALL),
totals AS (FROM memory_totals(runs := runs)),
histories AS (
    SELECT run_id, file_id, rank, device, count(*) AS entries, (max(at_ns) - min(at_ns)) / 1e9 AS history_s,
        max(requested_bytes) AS peak_requested_bytes,
        arg_max(reserved_bytes - requested_bytes, (requested_bytes, -line)) AS unused_at_peak_bytes,
        max(reserved_bytes) AS peak_reserved_bytes, arg_max(at_ns, (requested_bytes, -line)) AS peak_at_ns,
        count(*) FILTER (action = 'oom') AS ooms, arg_max(requested_bytes, line) AS last_requested
    FROM totals GROUP BY ALL),
failures AS (
    SELECT o.file_id, o.device, max(o.size) AS oom_bytes, count(*) FILTER (t.reserved_bytes - t.requested_bytes >= o.size) AS fragmented
    FROM objects AS o JOIN totals AS t ON t.file_id = o.file_id AND t.line = o.line WHERE o.name = 'oom' GROUP BY ALL),
older AS (
    SELECT file_id, device, sum(bytes) FILTER (begin_line IS NULL) AS older_bytes
    FROM memory_allocations(runs := runs) GROUP BY ALL)
SELECT coalesce(s.run_id, h.run_id) AS run_id, coalesce(s.file_id, h.file_id) AS file_id, coalesce(s.rank, h.rank) AS rank,
    coalesce(s.device, h.device) AS device, coalesce(segments, 0) AS segments, coalesce(reserved_bytes, 0) AS reserved_bytes,
    coalesce(allocated_bytes, 0) AS allocated_bytes, CASE WHEN s.file_id IS NULL THEN 0 ELSE requested_bytes END AS requested_bytes,
    coalesce(awaiting_bytes, 0) AS awaiting_bytes, coalesce(free_bytes, 0) AS free_bytes, largest_free_bytes,
    1 - largest_free_bytes / nullif(free_bytes, 0) AS fragmentation, coalesce(stranded_bytes, 0) AS stranded_bytes,
    coalesce(entries, 0) AS entries, history_s, peak_requested_bytes, unused_at_peak_bytes, peak_reserved_bytes, peak_at_ns,
    coalesce(ooms, 0) AS ooms, oom_bytes,
    notes([
        CASE WHEN h.file_id IS NULL THEN 'no history was recorded: the peak is not known' END,
        CASE WHEN fragmented > 0 THEN format('{} of {} failed allocations asked for no more than was reserved and unused: '
            'fragmentation, or rounding', fragmented, ooms) END,
        CASE WHEN h.file_id IS NOT NULL AND older_bytes > 0
            THEN formatReadableDecimalSize(older_bytes::BIGINT) || ' were allocated before the history began' END,
        CASE WHEN last_requested <> CASE WHEN s.file_id IS NULL THEN 0 ELSE requested_bytes END
            THEN format('at the end of the history {} are held, in the blocks of the snapshot {}',
                formatReadableDecimalSize(last_requested), formatReadableDecimalSize(coalesce(requested_bytes, 0)::BIGINT))
        END]) AS note
FROM states AS s FULL JOIN histories AS h ON h.file_id = s.file_id AND h.device IS NOT DISTINCT FROM s.device
LEFT JOIN failures AS f ON f.file_id = h.file_id AND f.device IS NOT DISTINCT FROM h.device
LEFT JOIN older AS o ON o.file_id = h.file_id AND o.device IS NOT DISTINCT FROM h.device
ORDER BY run_id, rank, file_id, device
