-- The time of a step if the slowest workers, a stage, communication or hosts were as usual, by replay of its operations.
--
-- Answers: How much faster would steps be without stragglers?
--   Is it workers, a stage, communication or the host?
--   For kernel traces (Kineto, Nsight Systems) the replay is that of trace_replays, which says what is replayed and
--   what is missed; times are means over the complete steps of the ranks:
--   free communication    communication takes no time, but still waits for all
--   no host gaps          the hosts take no time; they still wait for their devices
--   slowest rank          the rank that would be slowest if none waited for another is as fast as the median of the others
--   slowest node          the same for a node, whose time is the median of its ranks; where rank_places knows the nodes
--   slowest stage         the same for a pipeline stage; where rank_stages knows the stages
--   Communication with ranks that were not traced includes the waiting for them, which disappears with it.  Where hosts
--   never wait, the unchanged replay repeats their step as recorded, and its error says little.  With an error above
--   10 % no question is answered.
--   For tables of operations of pipeline-parallel training, such as those of StragglerAnalysis: compute of each
--   micro-batch, sends, receives and collectives, by stage, replica and step.  The replay starts each operation when
--   all that it waits for has ended: the operations before it on its stage, the compute that it belongs to, and for
--   communication all that take part (statistics/pipeline_schedule.py).  What the replay leaves out, such as a host
--   that launches late, is the replay error of the unchanged table.
--   Healed operations take as long as is usual for their name, over all steps, stages and replicas: computes their
--   mean, communication the median of its time after the last participant arrived.
--   all as usual          its slowdown is S of the paper
--   slowest workers       the slowest 3 %, rounded up; its healed share is M_W.  A worker is as slow as the smaller of two
--                         times: the steps with its stage, or with its replica, as measured and all else as usual
--   stage                 one row for each; the healed share of the last stage is M_S
--   free communication    communication takes no time, but still waits for all
--
-- Formula: slowdown = t / t_healed, healed share = (t - t_healed) / (t - t_ideal), with t the replayed time of the
--   steps, t_healed that with some operations as usual, t_ideal that with all of them.
--
-- Reference: Understanding Stragglers in Large Model Training Using What-if Analysis, arXiv 2505.05713: S, M_W and
--   M_S.  statistics/pipeline_replay.py, statistics/kernel_replay.py.
--
-- Assumptions: An operation starts as soon as its dependencies allow.
--
-- Limits: replay_error says how far the replay is off.  For what the replay of kernels misses, see trace_replays.
--
-- Glance: run_id question healed slowdown what_if_s healed_share% measured_s replayed_s replay_error% reason
--
-- Partition: run_id
--
-- When empty: no trace shows what launched the work of its devices
--
-- Sources: events, selected_runs, trace_replays, trace_steps
--
-- Parameters: runs
--   operations := ''    table with run_id, stage, replica, train_step, name, micro_batch, start_ns, duration_ns, used
--                       instead of the traces; empty takes the traces of StragglerAnalysis and of kernels
--
-- Columns:
--   run_id          VARCHAR     run
--   question        VARCHAR     what is healed, as above; NULL where there is no replay
--   healed          VARCHAR     which workers, stage, rank or node
--   measured_s      DOUBLE s    time of a step, mean over the steps
--   replayed_s      DOUBLE s    the same in the unchanged replay
--   replay_error    DOUBLE      replayed over measured, less 1
--   what_if_s       DOUBLE s    time of a step with what is healed, by replay
--   slowdown        DOUBLE      replayed time over what_if_s
--   healed_share    DOUBLE      its part of what `all as usual` would save; beyond 1 or below 0 where parts work
--                               against each other; NULL for free communication, which saves something else, and for
--                               kernels
--   reason          VARCHAR     why there is no replay, or no answer from it
WITH
all_operations AS (FROM query(CASE WHEN operations <> '' THEN 'FROM ' || operations ELSE $$
    SELECT run_id, replace(process, 'stage ', '')::BIGINT AS stage, replace(thread, 'replica ', '')::BIGINT AS replica,
        train_step, name, json_extract_string(args, '$.mb_id') AS micro_batch, start_ns, duration_ns
    FROM events
    WHERE regexp_full_match(process, 'stage \d+') AND regexp_full_match(thread, 'replica \d+')$$ END)),
chosen AS (
    FROM all_operations WHERE train_step IS NOT NULL AND start_ns IS NOT NULL AND duration_ns IS NOT NULL
        AND (operations <> '' OR run_id IN (FROM selected_runs(runs := runs)))),
interleaved AS (
    SELECT DISTINCT run_id FROM (
        SELECT run_id FROM chosen WHERE name = 'forward-compute'
        GROUP BY run_id, stage, replica, train_step HAVING count(*) > count(DISTINCT micro_batch))),
replays AS (
    SELECT run_id, unnest(pipeline_what_if(list(stage), list(replica), list(train_step), list(name), list(start_ns),
        list(duration_ns))) AS replay
    FROM chosen WHERE run_id NOT IN (FROM interleaved) GROUP BY run_id),
of_kernels AS (
    SELECT run_id, question, any_value(healed) AS healed, avg(measured_s) AS measured_s, avg(replayed_s) AS replayed_s,
        avg(replayed_s) / nullif(avg(measured_s), 0) - 1 AS replay_error, avg(what_if_s) AS what_if_s,
        any_value(reason) AS reason
    FROM trace_replays(runs := runs) LEFT JOIN (SELECT file_id, train_step, complete FROM trace_steps(runs := runs))
        USING (file_id, train_step)
    WHERE operations = '' AND (train_step IS NULL OR complete) GROUP BY run_id, question)
SELECT run_id, replay.question AS question, replay.healed AS healed, replay.measured_s AS measured_s,
    replay.replayed_s AS replayed_s, replay.replayed_s / replay.measured_s - 1 AS replay_error,
    replay.what_if_s AS what_if_s, replay.replayed_s / replay.what_if_s AS slowdown,
    CASE WHEN replay.question <> 'free communication' THEN replay.replayed_s - replay.what_if_s END
        / nullif(replay.replayed_s - min(replay.what_if_s) FILTER (WHERE replay.question = 'all as usual')
            OVER (PARTITION BY run_id), 0) AS healed_share,
    replay.reason AS reason
FROM replays
UNION ALL BY NAME
SELECT run_id, 'a stage computes each micro-batch more than once, for several parts of the model: how they interleave '
    || 'is not known' AS reason
FROM interleaved
UNION ALL BY NAME
SELECT run_id, question, healed, measured_s, replayed_s, replay_error,
    CASE WHEN abs(replay_error) <= 0.1 THEN what_if_s END AS what_if_s,
    CASE WHEN abs(replay_error) <= 0.1 THEN replayed_s / nullif(what_if_s, 0) END AS slowdown,
    CASE WHEN abs(replay_error) > 0.1 THEN 'the unchanged replay misses the step by more than 10 %: what decides '
        || 'its time is not in the trace' ELSE reason END AS reason
FROM of_kernels
ORDER BY run_id, list_position(['all as usual', 'slowest workers', 'stage', 'slowest rank', 'slowest node', 'slowest stage',
    'free communication',
    'no host gaps'], question), healed
