-- Calls of collectives, rank by rank, and which calls of different ranks are one collective.
--
-- Answers: Which collectives does each rank take part in, and which calls belong together?
--   A call is a kernel of NCCL or RCCL, or where a rank has none, the span of a collective on the host (gloo, MPI).
--   What the kernel does not state itself is taken from the annotation `nccl:...` around its launch.
--   Calls are matched within their process group: by sequence number if every call has one of its own; else by their
--   order, kind by kind, if every rank has as many; else by their order within a step, where that holds.  Otherwise
--   they are not matched, and the note says what is missing.  Send and recv are matched between two ranks.  Without a
--   process group the ranks' communication streams take its place, in the order of their numbers.
--   An order does not hold where no offset of the clocks lets each rank leave an all_reduce, all_gather,
--   reduce_scatter, all_to_all or barrier after the others have come: a trace that begins later has other calls.
--
-- Formula: for a rank and the first of its group the offset of their clocks is at least start - end of the first and
--   at most end - start of the first, at each call; the order is wrong if the largest lower bound is above the smallest
--   upper bound by more than 1 ms and 0.05 % of the span (clocks drift).
--
-- Helper: used by clock_offsets, collective_arrivals and collectives
--
-- Needs: events
--
-- Sources: events, selected_runs, dtype_sizes
--
-- Parameters: runs
--
-- Columns:
--   run_id           VARCHAR         run
--   file_id          VARCHAR         file of the trace
--   line             BIGINT          position of the event in the trace
--   rank             INTEGER         rank; NULL where the trace does not state it
--   train_step       BIGINT          step
--   process_group    VARCHAR         group, with the ranks that it names; `stream 1` where the trace names none
--   kind             VARCHAR         all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter
--                                    send_recv barrier, of tokens between experts expert_dispatch expert_combine
--                                    expert_exchange, else the name of the kernel
--   call             BIGINT          number of the collective in its run, from 0; NULL where it is not matched
--   matched_by       VARCHAR         sequence, order or order_in_step
--   start_ns         BIGINT ns       start, by the clock of the rank
--   duration_ns      BIGINT ns       duration
--   group_size       BIGINT          ranks of the group according to the trace
--   group_ranks      BIGINT          ranks of the group that were traced
--   dtype            VARCHAR         element type
--   in_bytes         BIGINT bytes    bytes that the rank puts in
--   out_bytes        BIGINT bytes    bytes that the rank gets out
--   note             VARCHAR         why it is not matched
WITH
traced AS MATERIALIZED (
    SELECT run_id, file_id, line, coalesce(rank::VARCHAR, file_id) AS participant, rank, train_step, name, category, start_ns,
        duration_ns, process, thread, stream, correlation, collective, process_group, group_size, message_bytes, dtype,
        args
    FROM events
    WHERE ph = 'X' AND start_ns IS NOT NULL AND duration_ns IS NOT NULL
        AND CASE category WHEN 'user_annotation' THEN regexp_matches(name, '^(nccl|rccl|gloo|mpi|ucc|xccl|hccl):')
            WHEN 'communication' THEN collective IS NOT NULL
            ELSE class = 'communication' OR (category = 'kernel' AND collective IS NOT NULL) END
        AND run_id IN (FROM selected_runs(runs := runs))),
kernels AS (FROM traced WHERE category <> 'user_annotation'),
spans AS (FROM traced WHERE category = 'user_annotation'),
-- The annotation in which a kernel was launched.
launches AS (
    SELECT k.file_id, k.line, l.process, l.thread, min(l.start_ns) AS launched_ns
    FROM kernels AS k JOIN events AS l USING (file_id, correlation)
    WHERE k.collective IS NULL AND regexp_matches(l.category, '^(\w+_)?(runtime|driver)$')
        AND l.ph = 'X' AND l.start_ns IS NOT NULL AND l.duration_ns IS NOT NULL
    GROUP BY ALL),
entries AS (
    SELECT file_id, process, thread, NULL::BIGINT AS line, start_ns, line AS span FROM spans
    UNION ALL
    SELECT file_id, process, thread, line, launched_ns, NULL FROM launches),
surrounded AS (
    FROM (SELECT file_id, line, start_ns AS launched_ns, last_value(span IGNORE NULLS) OVER (
            PARTITION BY file_id, process, thread ORDER BY start_ns, line NULLS FIRST, span
            ROWS UNBOUNDED PRECEDING) AS span FROM entries)
    WHERE line IS NOT NULL),
annotations AS (
    SELECT l.file_id, l.line, s.name AS annotation, s.args AS annotated
    FROM surrounded AS l JOIN spans AS s ON s.file_id = l.file_id AND s.line = l.span
    WHERE s.start_ns + s.duration_ns >= l.launched_ns),
calls AS (
    SELECT k.*, annotation, annotated FROM kernels AS k LEFT JOIN annotations USING (file_id, line)
    UNION ALL BY NAME
    SELECT *, name AS annotation, args AS annotated FROM spans
    WHERE NOT starts_with(name, 'nccl:') AND file_id NOT IN (SELECT file_id FROM kernels)),
read AS (
    SELECT *,
        replace(replace(lower(coalesce(collective, annotation, name)), '_', ''), '-', '') AS word,
        nullif(lower(coalesce(dtype, regexp_extract(annotated, '"Input type"\s*:\s*\[\s*"([^"]+)"', 1))), '') AS type,
        TRY_CAST(regexp_extract(args, '"Seq"\s*:\s*(\d+)', 1) AS BIGINT) AS sequence,
        TRY_CAST(regexp_extract(args, '"In msg nelems"\s*:\s*(\d+)', 1) AS BIGINT) AS in_elements,
        TRY_CAST(regexp_extract(args, '"Out msg nelems"\s*:\s*(\d+)', 1) AS BIGINT) AS out_elements,
        TRY_CAST(regexp_extract(annotated, '"Input Dims"\s*:\s*\[\s*(\[[\d,\s]*\])', 1) AS BIGINT[]) AS shape,
        nullif(regexp_extract(args, '"Process Group Ranks"\s*:\s*"([^"]*)"', 1), '') AS members,
        TRY_CAST(regexp_extract(args, '"Src Rank"\s*:\s*(\d+)', 1) AS INTEGER) AS source_rank,
        TRY_CAST(regexp_extract(args, '"Dst Rank"\s*:\s*(\d+)', 1) AS INTEGER) AS target_rank,
        dense_rank() OVER (PARTITION BY run_id, participant ORDER BY stream) AS stream_number
    FROM calls),
kinds AS (
    SELECT r.*, CASE
            WHEN word LIKE '%barrier%' THEN 'barrier' WHEN word LIKE '%allreduce%' THEN 'all_reduce'
            WHEN word LIKE '%reducescatter%' THEN 'reduce_scatter' WHEN word LIKE '%allgather%' THEN 'all_gather'
            WHEN word LIKE '%alltoall%' THEN 'all_to_all' WHEN word LIKE '%broadcast%' THEN 'broadcast'
            WHEN regexp_matches(word, 'a2a|(inter|intra)node|deepep|hybridep|moe|pplx|mori') AND collective IS NULL
                AND annotation IS NULL THEN CASE WHEN word LIKE '%combine%' THEN 'expert_combine' WHEN word LIKE '%dispatch%'
                    THEN 'expert_dispatch' ELSE 'expert_exchange' END
            WHEN word LIKE '%send%' OR word LIKE '%recv%' THEN 'send_recv' WHEN word LIKE '%gather%' THEN 'gather'
            WHEN word LIKE '%scatter%' THEN 'scatter' WHEN word LIKE '%reduce%' THEN 'reduce'
            ELSE coalesce(collective, annotation, regexp_extract(name, '^\w+'), name) END AS kind,
        CASE WHEN source_rank IS NOT NULL OR target_rank IS NOT NULL
            THEN coalesce(source_rank, rank) || ' to ' || coalesce(target_rank, rank) END AS pair,
        coalesce(message_bytes, in_elements * element_bytes, list_product(shape)::BIGINT * element_bytes) AS in_bytes,
        out_elements * element_bytes AS out_bytes
    FROM read AS r LEFT JOIN dtype_sizes() AS d ON d.dtype = r.type),
grouped AS (
    SELECT *, CASE WHEN process_group IS NULL AND members IS NULL AND pair IS NULL THEN 'stream ' || stream_number
            ELSE concat_ws(' ', process_group, members, pair) END AS team
    FROM kinds),
counted AS (
    SELECT *,
        count(DISTINCT participant) OVER team_of AS team_ranks,
        bool_and(sequence IS NOT NULL) OVER team_of AND max(same) OVER team_of = 1 AS by_sequence,
        count(*) OVER (PARTITION BY run_id, team, kind, participant) AS own,
        count(*) OVER (PARTITION BY run_id, team, kind, train_step, participant) AS own_in_step
    FROM (SELECT *, count(*) OVER (PARTITION BY run_id, team, kind, sequence, participant) AS same,
            row_number() OVER (PARTITION BY run_id, team, kind, participant ORDER BY start_ns, line) AS position,
            row_number() OVER (PARTITION BY run_id, team, kind, train_step, participant ORDER BY start_ns, line) AS position_in_step
        FROM grouped)
    WINDOW team_of AS (PARTITION BY run_id, team)),
compared AS (
    SELECT *,
        min(own) OVER alike AS least, max(own) OVER alike AS most, count(DISTINCT participant) OVER alike AS kind_ranks,
        min(own_in_step) OVER (PARTITION BY run_id, team, kind, train_step) = max(own_in_step)
            OVER (PARTITION BY run_id, team, kind, train_step) AND train_step IS NOT NULL
            AND count(DISTINCT participant) OVER (PARTITION BY run_id, team, kind, train_step) = team_ranks AS equal_in_step
    FROM counted WINDOW alike AS (PARTITION BY run_id, team, kind)),
judged AS (SELECT *, least = most AND kind_ranks = team_ranks AS equal FROM compared),
matched AS (
    SELECT *,
        CASE WHEN by_sequence THEN 'sequence' WHEN equal THEN 'order' WHEN equal_in_step THEN 'order_in_step' END
            AS matched_by,
        CASE WHEN by_sequence THEN sequence WHEN equal THEN position WHEN equal_in_step THEN position_in_step END AS number,
        CASE WHEN NOT by_sequence AND NOT equal AND equal_in_step THEN train_step END AS step_of_match
    FROM judged),
ordered AS (
    SELECT *, min_by(start_ns, participant) OVER one AS first_start_ns,
        min_by(start_ns + duration_ns, participant) OVER one AS first_end_ns
    FROM matched WHERE matched_by <> 'sequence' AND kind IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier')
    WINDOW one AS (PARTITION BY run_id, team, kind, step_of_match, number)),
impossible AS (
    SELECT DISTINCT run_id, team, kind, true AS is_impossible
    FROM ordered GROUP BY run_id, team, kind, participant
    HAVING max(start_ns - first_end_ns) - min(start_ns + duration_ns - first_start_ns)
        > 1000000 + 0.0005 * (max(start_ns) - min(start_ns))),
tried AS (
    SELECT m.* REPLACE (if(is_impossible AND matched_by <> 'sequence', NULL, matched_by) AS matched_by), is_impossible
    FROM matched AS m LEFT JOIN impossible USING (run_id, team, kind)),
with_begins AS (
    SELECT *, min(start_ns) OVER (PARTITION BY run_id, team, kind, matched_by, step_of_match, number) AS begin_ns
    FROM tried)
SELECT run_id, file_id, line, rank, train_step, team AS process_group, kind,
    CASE WHEN matched_by IS NOT NULL THEN dense_rank() OVER (
        PARTITION BY run_id, matched_by IS NULL
        ORDER BY begin_ns, team, kind, step_of_match, number) - 1 END AS call,
    matched_by, start_ns, duration_ns, group_size, team_ranks AS group_ranks, type AS dtype, in_bytes, out_bytes,
    CASE WHEN matched_by IS NULL AND kind_ranks < team_ranks
            THEN format('{} of the {} traced ranks have no {} in this group: not matched', team_ranks - kind_ranks,
                team_ranks, kind)
        WHEN is_impossible
            THEN format('by their order a rank would leave an {} before another comes: not matched', kind)
        WHEN matched_by IS NULL
            THEN format('the ranks have {} to {} calls of {} in this group: not matched', least, most, kind)
        END AS note
FROM with_begins
ORDER BY run_id, start_ns, rank, line
