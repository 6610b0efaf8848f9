-- The pipeline stage of each traced rank.
--
-- Answers: Which stage of the pipeline does a rank compute?
--   It is the position of the rank in a process group whose description names the pipeline, as PyTorch writes it for
--   the kernels of NCCL: PIPELINE_MODEL_PARALLEL_GROUP in Megatron, mesh_pp for a DeviceMesh.  A rank that is in no
--   such group, or in two positions, has no row: the order of ranks is never guessed from the size of the pipeline.
--
-- Helper: used by trace_replays
--
-- Needs: events
--
-- Sources: events, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
--   rank      INTEGER    global rank
--   stage     INTEGER    stage, from 0
WITH
described AS (
    SELECT DISTINCT run_id, rank, json_extract_string(args, '$."Process Group Description"') AS description,
        TRY_CAST(json_extract_string(args, '$."Process Group Ranks"') AS INTEGER[]) AS members
    FROM events
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND rank IS NOT NULL
        AND contains(args, '"Process Group Description"')),
positions AS (
    SELECT run_id, rank, list_position(list_sort(members), rank) - 1 AS stage FROM described
    WHERE regexp_matches(description, '(?i)^pipeline_model_parallel_group$|(^|_)pp$') AND len(members) > 1)
SELECT run_id, rank, min(stage)::INTEGER AS stage FROM positions
GROUP BY ALL HAVING count(DISTINCT stage) = 1
ORDER BY run_id, rank
