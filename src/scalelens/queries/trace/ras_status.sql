-- How far each rank was in each communicator, by a status of NCCL's RAS.
--
-- Answers: Which rank of a hanging job lags, and which does not respond?
--   One row per communicator and rank, those that explain most first.
--
-- Formula: behind = max over the collectives of (the most launches of any rank - launches of this rank).
--
-- Limits: A status shows one moment: in a running job, a rank may be one launch behind the others.  Query RAS again to
--   see which ranks still have the same count.  RAS does not count sends and receives, nor collectives of a CUDA graph:
--   a job that hangs in one looks level.  Communicators are not compared with each other.  Of several statuses in a
--   file the last one counts.
--
-- Glance: run_id communicator communicator_rank place state behind collective launched async_error
--
-- Partition: run_id
--
-- Needs: metrics
--
-- When empty: no status of NCCL's RAS was read
--
-- Sources: metrics, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id               VARCHAR    run
--   file_id              VARCHAR    file of the status
--   line                 BIGINT     line of the rank in the file
--   communicator         VARCHAR    hashes of the communicator
--   communicator_rank    BIGINT     rank within the communicator, which need not be the rank of the job
--   place                VARCHAR    host and GPU
--   state                VARCHAR    considered dead, unresponsive, missing (not yet a member, or no longer), aborted,
--                                   initialising, behind, or level with the others
--   behind               BIGINT     launches by which it trails the rank that is furthest; NULL for a missing rank
--   collective           VARCHAR    collective in which it is behind
--   launched             BIGINT     launches of all collectives
--   async_error          BIGINT     code of ncclResult_t, if it is an error
WITH
fields_of_ranks AS (
    SELECT run_id, file_id, line, place, split_part(name, '.', 2) AS communicator, split_part(name, '.', 3) AS field, value
    FROM metrics
    WHERE starts_with(name, 'ras.') AND field NOT IN ('size', 'ranks_count', 'missing_ranks_count')
        AND run_id IN (FROM selected_runs(runs := runs))
    QUALIFY step = max(step) OVER (PARTITION BY run_id, file_id)),
counts AS (
    FROM fields_of_ranks WHERE field NOT IN
        ('rank', 'missing', 'unresponsive', 'considered_dead', 'init_state', 'async_error', 'abort_flag')),
ranks AS (
    SELECT run_id, file_id, communicator, line, any_value(place) AS place, list(field) AS fields,
        max(value) FILTER (field = 'rank')::BIGINT AS communicator_rank,
        max(value) FILTER (field = 'async_error' AND value <> 7)::BIGINT AS async_error  -- 7: in progress
    FROM fields_of_ranks GROUP BY ALL),
most AS (
    SELECT run_id, file_id, communicator, field AS collective, max(value) AS most FROM counts GROUP BY ALL),
-- A rank that never launched a collective does not name it.
lags AS (
    SELECT r.run_id, r.file_id, r.communicator, r.line, max(most - coalesce(c.value, 0))::BIGINT AS behind,
        arg_max(collective, (most - coalesce(c.value, 0), collective)) AS collective, sum(c.value)::BIGINT AS launched
    FROM ranks AS r JOIN most AS m USING (run_id, file_id, communicator)
    LEFT JOIN counts AS c ON c.run_id = r.run_id AND c.file_id = r.file_id AND c.communicator = r.communicator
        AND c.line = r.line AND c.field = m.collective
    WHERE NOT list_contains(fields, 'missing') GROUP BY ALL)
SELECT run_id, file_id, line, communicator, communicator_rank, place,
    CASE WHEN list_contains(fields, 'considered_dead') THEN 'considered dead'
        WHEN list_contains(fields, 'unresponsive') THEN 'unresponsive'
        WHEN list_contains(fields, 'missing') THEN 'missing'
        WHEN list_contains(fields, 'abort_flag') THEN 'aborted'
        WHEN list_contains(fields, 'init_state') THEN 'initialising'
        WHEN behind > 0 THEN 'behind' ELSE 'level with the others' END AS state,
    behind, CASE WHEN behind > 0 THEN collective END AS collective, launched, async_error
FROM ranks LEFT JOIN lags USING (run_id, file_id, communicator, line)
ORDER BY run_id, file_id, list_contains(fields, 'missing') DESC, behind DESC, communicator, line
