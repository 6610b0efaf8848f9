-- Memory of a device over time, from snapshots of PyTorch: asked for by tensors, and reserved; thinned for plotting.
--
-- Answers: How does the memory rise and fall, and when is its peak?
--   A history of more entries than `points` is cut into slots of entries, each of which keeps the first, the lowest and
--   the highest, so that no peak is lost.
--
-- Formula: requested = held before the history + sum of allocations so far - sum of what was given back so far.
--
-- Limits: see memory_by_site
--
-- Glance: run_id rank device at_s~ requested_bytes~ reserved_bytes~ is_peak
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: memory_totals
--
-- Parameters: runs
--   points := 1000    samples of a sensor that are kept, at most
--
-- Columns:
--   run_id             VARCHAR         run
--   file_id            VARCHAR         snapshot
--   rank               INTEGER         global rank, if the file's name says it
--   device             VARCHAR         device as PyTorch numbers it
--   line               BIGINT          entry of the history
--   action             VARCHAR         what happened: alloc, free_completed, segment_alloc, oom, ...
--   at_s               DOUBLE s        time since the first entry; NULL where PyTorch did not record it (before 2.2)
--   requested_bytes    BIGINT bytes    asked for by allocations that live after it
--   reserved_bytes     BIGINT bytes    of all segments after it
--   is_peak            BOOLEAN         whether requested_bytes is the largest, for the first time
--   entries            BIGINT          all entries of the history
WITH
placed AS (
    SELECT *, (at_ns - min(at_ns) OVER of_device) / 1e9 AS at_s, count(*) OVER of_device AS entries,
        row_number() OVER (PARTITION BY file_id, device ORDER BY line) - 1 AS place,
        line = arg_max(line, (requested_bytes, -line)) OVER of_device AS is_peak
    FROM memory_totals(runs := runs) WINDOW of_device AS (PARTITION BY file_id, device)),
slotted AS (
    SELECT *, CASE WHEN entries <= points THEN place ELSE place * greatest(points // 4, 1) // entries END AS slot FROM placed),
kept AS (
    SELECT *, line = min(line) OVER in_slot OR line = arg_min(line, (requested_bytes, line)) OVER in_slot
        OR line = arg_max(line, (requested_bytes, -line)) OVER in_slot OR line = arg_max(line, (reserved_bytes, -line)) OVER in_slot
        OR place = entries - 1 OR action = 'oom' AS is_kept
    FROM slotted WINDOW in_slot AS (PARTITION BY file_id, device, slot))
SELECT run_id, file_id, rank, device, line, action, at_s, requested_bytes, reserved_bytes, is_peak, entries
FROM kept WHERE is_kept
ORDER BY run_id, rank, file_id, device, line
