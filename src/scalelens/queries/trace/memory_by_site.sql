-- What fills a device's memory at its peak: the lines of the program that allocated it.
--
-- Answers: Which lines of my code hold the memory at the peak?
--   From snapshots of PyTorch's allocator with a recorded history (_record_memory_history, then _dump_snapshot).  A
--   site is the innermost frame of the stack outside of PyTorch; of gradients, which the backward pass allocates without
--   a frame of the program, the backward function where C++ frames were recorded (stacks='all').  The peak is the first
--   moment at which the bytes that allocations had asked for were most.
--   `moment := 'snapshot'` shows what was held when the snapshot was taken, for which no history is needed.
--
-- Formula: bytes = sum of the allocations of a site that live at the moment; share = bytes / those of all sites.
--
-- Limits: Bytes are those asked for; the allocator rounds them up to blocks (memory_snapshots has both).  What other
--   libraries take from the device without PyTorch's allocator (NCCL, cuBLAS contexts) is not there.  A history keeps the
--   last `max_entries` entries: the peak is that of the recorded time.  Allocations older than the history have a site only
--   if they live on in the snapshot.
--
-- Glance: run_id rank device site bytes share% allocations largest_bytes path note
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: events, memory_allocations, memory_totals, selected_runs
--
-- Parameters: runs
--   moment := 'peak'    'peak' of the history, or 'snapshot', when it was taken
--   by_path := false    true gives a row for each path of calls to a site
--
-- Columns:
--   run_id           VARCHAR         run
--   file_id          VARCHAR         snapshot
--   rank             INTEGER         global rank, if the file's name says it
--   device           VARCHAR         device as PyTorch numbers it
--   line             BIGINT          entry of the history with the peak; NULL at the snapshot
--   at_ns            BIGINT ns       when the peak was, since 1970; NULL where it was not recorded
--   site             VARCHAR         file, line and function; NULL where no stack was recorded
--   path             VARCHAR         frames outside of PyTorch that lead there, the outermost first; of several paths that
--                                    with most bytes
--   paths            BIGINT          number of such paths
--   bytes            BIGINT bytes    bytes that its allocations asked for
--   share            DOUBLE          share of all bytes at the moment, 0 to 1
--   allocations      BIGINT          number of its allocations that live
--   largest_bytes    BIGINT bytes    largest of them
--   note             VARCHAR         why there is no answer, or what to know
WITH
files_read AS (
    SELECT run_id, file_id, rank, args->>'device' AS device, count(*) FILTER (category = 'memory_history') AS entries
    FROM events
    WHERE category IN ('memory_history', 'memory_segment') AND run_id IN (FROM selected_runs(runs := runs))
    GROUP BY ALL),
peaks AS (
    SELECT file_id, device, arg_max(line, (requested_bytes, -line)) AS line, arg_max(at_ns, (requested_bytes, -line)) AS at_ns
    FROM memory_totals(runs := runs) WHERE moment = 'peak' GROUP BY ALL),
moments AS (
    SELECT f.*, p.line, p.at_ns
    FROM files_read AS f LEFT JOIN peaks AS p ON p.file_id = f.file_id AND p.device IS NOT DISTINCT FROM f.device),
living AS (
    SELECT a.*, m.line, m.at_ns
    FROM memory_allocations(runs := runs) AS a
    JOIN moments AS m ON m.file_id = a.file_id AND m.device IS NOT DISTINCT FROM a.device
    WHERE CASE moment WHEN 'peak' THEN m.line IS NOT NULL AND coalesce(a.begin_line, 0) <= m.line AND coalesce(a.end_line > m.line, true)
        WHEN 'snapshot' THEN block_bytes IS NOT NULL ELSE error('moment is ''peak'' or ''snapshot''') END),
of_paths AS (
    SELECT run_id, file_id, rank, device, line, at_ns, site, path, sum(bytes)::BIGINT AS bytes, count(*) AS allocations,
        max(bytes) AS largest_bytes, bool_and(begin_line IS NULL) AS is_older
    FROM living GROUP BY ALL),
of_sites AS (
    SELECT run_id, file_id, rank, device, line, at_ns, site, arg_max(path, (bytes, path)) AS path, count(path) AS paths,
        sum(bytes)::BIGINT AS bytes, sum(allocations)::BIGINT AS allocations, max(largest_bytes) AS largest_bytes,
        bool_and(is_older) AS is_older
    FROM of_paths GROUP BY run_id, file_id, rank, device, line, at_ns, site, CASE WHEN by_path THEN path END)
SELECT run_id, file_id, rank, device, line, at_ns, site, path, paths, bytes,
    bytes / nullif(sum(bytes) OVER (PARTITION BY file_id, device), 0) AS share, allocations, largest_bytes,
    CASE WHEN site IS NULL AND is_older THEN 'allocated before the history began'
        WHEN site IS NULL THEN 'no stack of the program was recorded' END AS note
FROM of_sites
UNION ALL
SELECT run_id, file_id, rank, device, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    'no history was recorded, so that the peak is not known: ask moment=snapshot'
FROM files_read WHERE moment = 'peak' AND entries = 0
ORDER BY run_id, rank, file_id, device, bytes DESC, site, path
