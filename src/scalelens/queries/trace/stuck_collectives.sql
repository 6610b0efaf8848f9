-- Where the ranks of each process group were when the flight recorder was dumped.
--
-- Answers: Is any rank missing from a collective in which the other ranks wait?
--   One row per process group and rank.  A group's calls are numbered by collective_seq_id; calls between two ranks
--   (send, recv) have their own numbers and are not considered.  The last common call is the last one that all ranks
--   with a dump had called.  Calls of one number that differ in kind or size are a mismatch: these ranks wait for each
--   other forever.  A recorder keeps only the newest calls, and a rank without a dump is not judged: `missing_ranks`
--   counts them.
--
-- Formula: behind: called = last_common < the last call of another rank; waits: called > last_common; mismatch: all made
--   the same number of calls, but the last ones differ in kind or size.
--
-- Limits: Calls between two ranks are not considered, and a rank without a dump is not judged.
--
-- Glance: run_id process_group rank verdict waits_in called last_common n_ranks missing_ranks state
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: events, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id           VARCHAR      run
--   process_group    VARCHAR      name of the group, with its description
--   rank             INTEGER      rank that wrote the dump
--   verdict          VARCHAR      behind (did not call what others wait in), waits (for a rank that is behind),
--                                 mismatch, not begun (its device did not begin the call, others did), not done, done;
--                                 NULL where nothing shows it
--   waits_in         VARCHAR      the collective after the last common one, or the last one where all called it
--   called           BIGINT       number of the last call of the rank
--   completed        BIGINT       number of its last call that is known to be complete
--   last_common      BIGINT       number of the last call that all ranks with a dump had called
--   state            VARCHAR      state of its last call: scheduled (not seen to start), started, completed
--   called_at        TIMESTAMP    time at which the host made its last call
--   n_ranks          BIGINT       ranks of the group with a dump
--   missing_ranks    BIGINT       ranks of the group without a dump; NULL where the dumps do not state its size
WITH
calls AS MATERIALIZED (
    SELECT run_id, rank, process_group AS name, collective, start_ns, group_size, message_bytes,
        json_extract_string(args, '$.group') AS description, json_extract_string(args, '$.state') AS state,
        json_extract_string(args, '$.retired') IS NOT DISTINCT FROM 'true' AS retired,
        TRY_CAST(json_extract_string(args, '$.collective_seq_id') AS BIGINT) AS number
    FROM events
    WHERE category = 'flight_recorder' AND rank IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))
        AND json_extract_string(args, '$.is_p2p') IS DISTINCT FROM 'true'),
of_ranks AS (
    SELECT run_id, name, rank, any_value(description) AS description, max(group_size) AS group_size,
        max(number) AS called, max(number) FILTER (state = 'completed') AS completed,
        arg_max(state, number) AS state, arg_max(retired, number) AS retired, max(start_ns) AS last_ns
    FROM calls WHERE number IS NOT NULL GROUP BY ALL),
of_groups AS (
    SELECT run_id, name, min(called) AS last_common, max(called) AS furthest, count(*) AS n_ranks,
        max(group_size) AS group_size, bool_or(state = 'started') AS any_started
    FROM of_ranks GROUP BY ALL),
kinds AS (  -- of the call in question: the first that not all made, else the last
    SELECT run_id, name, number, count(DISTINCT (collective, message_bytes)) AS n_kinds,
        string_agg(DISTINCT collective, ' or ' ORDER BY collective) AS waits_in
    FROM calls JOIN of_groups USING (run_id, name)
    WHERE number = if(furthest > last_common, last_common + 1, last_common) GROUP BY ALL)
SELECT run_id, concat_ws(' ', name, nullif(description, 'undefined')) AS process_group, rank,
    CASE WHEN n_kinds > 1 AND furthest = last_common THEN 'mismatch'
        WHEN furthest > last_common AND called = last_common THEN 'behind'
        WHEN furthest > last_common THEN 'waits'
        WHEN completed = called THEN 'done'
        WHEN state = 'scheduled' AND any_started THEN 'not begun'
        WHEN state = 'started' OR NOT retired THEN 'not done' END AS verdict,
    waits_in, called, completed, last_common, state, make_timestamp(last_ns // 1000) AS called_at, n_ranks,
    g.group_size - n_ranks AS missing_ranks
FROM of_ranks AS r JOIN of_groups AS g USING (run_id, name) LEFT JOIN kinds USING (run_id, name)
ORDER BY run_id, process_group, rank
