-- The time of a step if the slowest workers, a stage or communication were as usual, by replay of its operations.
--
-- Answers: How much faster would steps be without stragglers?
--   Is it workers, a stage, or communication?
--   For tables of the operations of pipeline parallel training, such as those of StragglerAnalysis: compute of each
--   micro-batch, sends, receives and collectives, by stage, replica and step.  The replay starts each operation when all
--   that it waits for has ended: those before it on its stage, the compute that it belongs to, and for communication all
--   that take part (statistics/pipeline_schedule.py).  What it leaves out, such as a host that launches late, is the
--   replay error of the unchanged table.
--   Healed operations take as long as is usual for their name, over all steps, stages and replicas: computes the mean,
--   communication the median of its time after the last one arrived.
--     all as usual          its slowdown is S of the paper
--     slowest workers       the slowest 3 %, rounded up; its healed share is M_W.  A worker is as slow as the smaller of
--                           the steps with its stage, or its replica, as measured, and all else as usual
--     stage                 one row each; the healed share of the last stage is M_S
--     free communication    communication takes no time, but still waits for all
--   Other traces have no row here: what their operations wait for is not recorded in such a table.
--
-- Formula: slowdown = t / t_healed, healed share = (t - t_healed) / (t - t_ideal), with t the replayed time of the
--   steps, t_healed that with some operations as usual, t_ideal that with all of them.
--
-- Reference: Understanding Stragglers in Large Model Training Using What-if Analysis, arXiv 2505.05713: S, M_W and
--   M_S.  statistics/pipeline_replay.py.
--
-- Assumptions: An operation starts as soon as its dependencies allow.
--
-- Limits: Only tables of pipeline operations are replayed, no traces of kernels.  replay_error says how far the
--   replay is off.
--
-- Glance: run_id question healed slowdown what_if_s healed_share% measured_s replayed_s replay_error% reason
--
-- Sources: events, selected_runs
--
-- Parameters:
--   runs := ''          SQL condition over the columns of `runs`, as text; empty takes all
--   operations := ''    table with run_id, stage, replica, train_step, name, micro_batch, start_ns, duration_ns; empty
--                       takes the traces of StragglerAnalysis
--
-- Columns:
--   run_id          VARCHAR      run
--   question        VARCHAR      all as usual, slowest workers, stage, free communication; NULL where there is no replay
--   healed          VARCHAR      which workers or stage
--   measured_s      DOUBLE s     time of a step, mean over the steps
--   replayed_s      DOUBLE s     the same of the unchanged replay
--   replay_error    DOUBLE       replayed over measured, less 1
--   what_if_s       DOUBLE s     time of a step with what is healed, by replay
--   slowdown        DOUBLE       replayed time over that
--   healed_share    DOUBLE       its part of what all as usual would save, beyond 1 or below 0 where parts work against
--                                each other; NULL for free communication, which saves something else
--   reason          VARCHAR      why there is no replay
WITH
given AS (FROM query(CASE WHEN operations <> '' THEN 'FROM ' || operations ELSE $$
    SELECT run_id, replace(process, 'stage ', '')::BIGINT AS stage, replace(thread, 'replica ', '')::BIGINT AS replica,
        train_step, name, json_extract_string(args, '$.mb_id') AS micro_batch, start_ns, duration_ns
    FROM events
    WHERE regexp_full_match(process, 'stage \d+') AND regexp_full_match(thread, 'replica \d+')$$ END)),
chosen AS (
    FROM given WHERE train_step IS NOT NULL AND start_ns IS NOT NULL AND duration_ns IS NOT NULL
        AND (operations <> '' OR run_id IN (FROM selected_runs(runs := runs)))),
interleaved AS (
    SELECT DISTINCT run_id FROM (
        SELECT run_id FROM chosen WHERE name = 'forward-compute'
        GROUP BY run_id, stage, replica, train_step HAVING count(*) > count(DISTINCT micro_batch))),
replays AS (
    SELECT run_id, unnest(pipeline_what_if(list(stage), list(replica), list(train_step), list(name), list(start_ns),
        list(duration_ns))) AS told
    FROM chosen WHERE run_id NOT IN (FROM interleaved) GROUP BY run_id)
SELECT run_id, told.question AS question, told.healed AS healed, told.measured_s AS measured_s,
    told.replayed_s AS replayed_s, told.replayed_s / told.measured_s - 1 AS replay_error,
    told.what_if_s AS what_if_s, told.replayed_s / told.what_if_s AS slowdown,
    CASE WHEN told.question <> 'free communication' THEN told.replayed_s - told.what_if_s END / nullif(told.replayed_s - min(told.what_if_s) FILTER (
        WHERE told.question = 'all as usual') OVER (PARTITION BY run_id), 0) AS healed_share,
    told.reason AS reason
FROM replays
UNION ALL BY NAME
SELECT run_id, 'a stage computes each micro-batch more than once, in parts of the model: how these interleave is not '
    || 'known' AS reason
FROM interleaved
ORDER BY run_id, list_position(['all as usual', 'slowest workers', 'stage', 'free communication'], question), healed
