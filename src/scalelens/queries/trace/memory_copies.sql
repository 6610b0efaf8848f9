-- Copies and fills of device memory: how many, how much, how fast.
--
-- Answers: What moves between host and device, and how fast?
--   The rate is all bytes over all time, for the copies whose bytes the trace gives.  1 GB is 1e9 bytes.
--
-- Glance: run_id rank kind total_bytes gb_per_s total_ns copies largest_bytes train_step
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: memory_events
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id           VARCHAR         run
--   file_id          VARCHAR         file of the trace
--   rank             INTEGER         global rank
--   train_step       BIGINT          step; NULL per rank
--   kind             VARCHAR         Memcpy HtoD, Memcpy DtoD, Memset, ...
--   copies           BIGINT          number of copies
--   total_ns         BIGINT ns       sum of their durations
--   total_bytes      BIGINT bytes    bytes moved or filled; NULL where the trace does not give them
--   largest_bytes    BIGINT bytes    bytes of the largest copy
--   gb_per_s         DOUBLE GB/s     bytes over time
WITH
copies AS (
    SELECT * EXCLUDE (train_step),
        CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step
    FROM memory_events(runs := runs, steps := steps) WHERE per <> 'step' OR train_step IS NOT NULL)
SELECT run_id, file_id, rank, train_step, kind, count(*) AS copies, sum(duration_ns)::BIGINT AS total_ns,
    sum(moved_bytes)::BIGINT AS total_bytes, max(moved_bytes) AS largest_bytes,
    sum(moved_bytes) / nullif(sum(duration_ns) FILTER (moved_bytes IS NOT NULL), 0) AS gb_per_s
FROM copies
GROUP BY run_id, file_id, rank, train_step, kind
ORDER BY run_id, rank, file_id, train_step, total_ns DESC, kind
