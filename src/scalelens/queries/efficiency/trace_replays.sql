-- Steps of kernel traces replayed from their dependencies, rank by rank: as they were, and as they would be.
--
-- Answers: How well does the replay of a trace match each step of each rank?
--   And how long would the step be with free communication, no host gaps, or without its slowest rank, node or stage?
--   The replay starts each call of a host, and each work of a device, as soon as what it waits for allows:
--   host          a call follows the last call that returned, on any thread, after the time that lay between them
--   launch        work starts a latency after its launch: the median over work on idle streams of the rank
--   stream        work on a stream follows in order, after the median gap of busy streams
--   events        work after a cudaStreamWaitEvent waits for the stream that recorded the event
--   calls         that synchronize, copies that return when they are done, and launches into a full queue wait for work
--   collectives   all traced ranks wait for the last to arrive, and then take the shortest duration of any of them
--   Where the trace does not say what a call or a stream waits for, it waits for the work that ended just before, or
--   was launched last.
--
-- Formula: start = max of (end + latency) over all that an event waits for; replay_error = replayed / measured - 1.
--
-- Reference: Daydream, ATC 2020; Lumos, arXiv 2504.09307, whose replays miss measured steps by 3.3 % on average.
--
-- Limits: The replay misses work that starts late for a reason outside of the trace (another process, parts of a CUDA
--   graph that were not recorded), kernels of several streams that slow each other down, work whose launch was not
--   traced (it only follows its stream), collectives of hosts (they count as host time), and ranks that were not
--   traced: the time that a collective waits for them stays in it.
--
-- Glance: run_id rank train_step question replay_error% measured_s replayed_s what_if_s healed reason
--
-- Partition: run_id
--
-- Needs: events
--
-- When empty: no trace shows what launched the work of its devices
--
-- Sources: rank_places, rank_stages, replay_events
--
-- Parameters: runs
--
-- Columns:
--   run_id          VARCHAR     run
--   file_id         VARCHAR     file of the trace
--   rank            INTEGER     global rank
--   train_step      BIGINT      step; NULL where a trace has no annotated steps and is replayed as a whole
--   question        VARCHAR     free communication: it takes no time, but still waits for all; no host gaps: the hosts
--                               take no time; slowest rank, node or stage: it is sped up by what would bring its time
--                               to the median of the others if none waited for another; a node or stage takes as long
--                               as the median of its ranks
--   healed          VARCHAR     the slowest rank, node or stage
--   measured_s      DOUBLE s    time of the step until its host and the work that it launched are done, from the same
--                               moment of the previous step, else from the start of the step on the host
--   replayed_s      DOUBLE s    the same in the unchanged replay
--   replay_error    DOUBLE      replayed over measured, less 1
--   what_if_s       DOUBLE s    the same with what is healed
--   reason          VARCHAR     why there is no replay, or why the question cannot be answered
WITH
events_of_runs AS (
    SELECT *, dense_rank() OVER (PARTITION BY run_id ORDER BY rank NULLS FIRST, file_id) - 1 AS position,
        min(start_ns) OVER (PARTITION BY run_id) AS first_ns
    FROM replay_events(runs := runs)),
ranks AS (
    SELECT *, dense_rank() OVER (PARTITION BY run_id ORDER BY node) - 1 AS node_number
    FROM (SELECT DISTINCT run_id, position, rank, file_id FROM events_of_runs)
    LEFT JOIN (SELECT run_id, rank, node FROM rank_places(runs := runs)) USING (run_id, rank)
    LEFT JOIN rank_stages(runs := runs) USING (run_id, rank)),
replays AS (
    SELECT run_id, unnest(kernel_what_if(list({
        position: position, role: role, begin_ns: start_ns - first_ns, end_ns: end_ns - first_ns, thread: thread,
        stream: stream, correlation: correlation, wait_stream: wait_stream, recorded_ns: recorded_ns - first_ns,
        call: call, communicates: class IS NOT DISTINCT FROM 'communication', train_step: train_step,
        node: CASE WHEN node IS NOT NULL THEN node_number END, stage: stage
    } ORDER BY position, start_ns, role = 'work', end_ns DESC, line))) AS replay
    FROM events_of_runs JOIN ranks USING (run_id, position) GROUP BY run_id)
SELECT replays.run_id, r.file_id, r.rank, replay.train_step AS train_step, replay.question AS question,
    CASE replay.question WHEN 'slowest node' THEN h.node WHEN 'slowest stage' THEN 'stage ' || h.stage
        ELSE 'rank ' || coalesce(h.rank, replay.healed) END AS healed,
    replay.measured_s AS measured_s, replay.replayed_s AS replayed_s,
    replay.replayed_s / nullif(replay.measured_s, 0) - 1 AS replay_error, replay.what_if_s AS what_if_s,
    replay.reason AS reason
FROM replays
LEFT JOIN ranks AS r ON r.run_id = replays.run_id AND r.position = replay.rank
LEFT JOIN ranks AS h ON h.run_id = replays.run_id AND h.position = replay.healed
ORDER BY replays.run_id, question, r.rank, r.file_id, train_step
