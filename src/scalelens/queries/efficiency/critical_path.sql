-- Critical path of each traced step across ranks: which work, which waiting and which rank decided how long it took.
--
-- Answers: What decides how long a step takes?
--   Which kernels, which gaps of the host, and on which rank?
--   The path is followed backwards from the last thing that the step did: each event was started by the last of the things
--   that it waits for, as in trace_replays.  At a collective it goes on at the rank that came last, so that the waiting of
--   the others is not on it.  Its pieces follow each other without gaps.
--   compute, communication, memory   work of a device
--   host      from one call of the host to the next, or from work that the host waited for to its next call
--   launch    from a launching call to its work
--   gap       between works of a device
--   Only what is on the path can make the step shorter, and at most until another path is longer: `what_if` says how much.
--
-- Formula: the pieces of a step add up to its time: from the end of the step before on the first rank that was done, else its
--   start, to the end on the last rank.
--
-- Reference: Holistic Trace Analysis, critical path analysis, for one rank; scalelens trace critical-path --by hta.
--
-- Assumptions: Clocks are equal once clock_offsets are subtracted.
--
-- Limits: Where the trace does not say what a call or a stream waits for, it is taken to be the work that ended just before,
--   and work that starts later than all that it is known to wait for is taken to wait for its busy device; what else is
--   missed says trace_replays.  Several paths may be equally long; this is one of them.
--
-- Glance: run_id train_step kind rank name pieces duration_ns share% longest_ns reason
--
-- Partition: run_id
--
-- Needs: events
--
-- When empty: no trace shows what launched the work of its devices
--
-- Sources: events, replay_events
--
-- Parameters: runs
--
-- Columns:
--   run_id         VARCHAR      run
--   train_step     BIGINT       step; NULL where a trace has no annotated steps
--   kind           VARCHAR      compute, communication, memory, host, launch or gap
--   rank           INTEGER      global rank
--   name           VARCHAR      the work, or what the host or the device did next
--   pieces         BIGINT       pieces of the path
--   duration_ns    BIGINT ns    their time
--   share          DOUBLE       share of the step, 0 to 1
--   longest_ns     BIGINT ns    longest of them
--   step_ns        BIGINT ns    time of the step, the sum of all its pieces
--   reason         VARCHAR      why there is no path
WITH
events_of_runs AS (
    SELECT *, dense_rank() OVER (PARTITION BY run_id ORDER BY rank NULLS FIRST, file_id) - 1 AS position,
        min(start_ns) OVER (PARTITION BY run_id) AS first_ns
    FROM replay_events(runs := runs)),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY position, start_ns, role = 'work', end_ns DESC, line) - 1 AS event
    FROM events_of_runs),
paths AS (
    SELECT run_id, unnest(kernel_paths(list({
        position: position, role: role, begin_ns: start_ns - first_ns, end_ns: end_ns - first_ns, thread: thread,
        stream: stream, correlation: correlation, wait_stream: wait_stream, recorded_ns: recorded_ns - first_ns,
        call: call, communicates: class IS NOT DISTINCT FROM 'communication', train_step: train_step,
        node: NULL::BIGINT, stage: NULL::BIGINT
    } ORDER BY event))) AS piece
    FROM numbered GROUP BY run_id),
placed AS (
    SELECT p.run_id, piece.train_step AS train_step, CASE piece.kind WHEN 'work' THEN n.class ELSE piece.kind END AS kind,
        n.rank, n.file_id, n.line, n.role, piece.end_ns - piece.begin_ns AS duration_ns, piece.reason AS reason
    FROM paths AS p LEFT JOIN numbered AS n ON n.run_id = p.run_id AND n.event = piece.event),
named AS (
    SELECT p.*, CASE p.role WHEN 'begin' THEN 'start of the step' WHEN 'end' THEN 'end of the step' ELSE e.name END AS name
    FROM placed AS p LEFT JOIN events AS e ON e.run_id = p.run_id AND e.file_id = p.file_id AND e.line = p.line)
SELECT run_id, train_step, kind, rank, name, count(kind) AS pieces, sum(duration_ns)::BIGINT AS duration_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER of_step, 0) AS share, max(duration_ns) AS longest_ns,
    (sum(sum(duration_ns)) OVER of_step)::BIGINT AS step_ns, reason
FROM named GROUP BY run_id, train_step, kind, rank, name, reason
WINDOW of_step AS (PARTITION BY run_id, train_step)
ORDER BY run_id, train_step, duration_ns DESC, kind, rank, name
