-- When each rank arrives at each collective, and how long it waits there for the last.
--
-- Answers: Who waits for whom, collective by collective?
--   Starts are compared after the offset of the clocks is subtracted (clock_offsets); where it is not known they are
--   compared as they are, and the note says so.  If a rank was traced alone, it is not known for whom it waits.
--   Blame: the last to arrive is charged, for each of the others, with the time by which it is later than the last but
--   one: the waiting that would not have happened had it come with the rest.  If two come last together, neither is
--   charged.
--
-- Formula: lateness = a - min a, wait = max a - a, with a the arrival by the corrected clock; blame = (a - a2) (n -
--   1) for the last of n ranks, with a2 the last but one, else 0.
--
-- Assumptions: Clocks are equal once clock_offsets are subtracted.
--
-- Limits: Ranks that were not traced may have come later.  Where the offset is not known, times are compared as they
--   are, and the note says so.
--
-- Glance: run_id call kind rank lateness_ns wait_ns blame_ns duration_ns in_bytes train_step process_group note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: collective_calls, clock_offsets
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id           VARCHAR         run
--   file_id          VARCHAR         file of the trace
--   line             BIGINT          position of the event in the trace
--   call             BIGINT          number of the collective in its run, from 0
--   process_group    VARCHAR         process group
--   kind             VARCHAR         what it does, as in collective_calls
--   train_step       BIGINT          step of its first arrival
--   rank             INTEGER         rank
--   lateness_ns      BIGINT ns       how much later than the first rank it arrives
--   wait_ns          BIGINT ns       how long it waits for the last rank
--   duration_ns      BIGINT ns       how long it is in the collective
--   early_end_ns     BIGINT ns       how much earlier than the last rank it leaves
--   offset_ns        DOUBLE ns       how far its clock is ahead, which is subtracted; NULL where it is not known
--   ranks            BIGINT          ranks of the group that were traced in this call
--   group_size       BIGINT          ranks of the group according to the trace
--   in_bytes         BIGINT bytes    bytes that the rank puts in
--   note             VARCHAR         what to know or doubt
--   blame_ns         BIGINT ns       waiting of the others that it causes, as defined above: above 0 where it alone
--                                    comes last; NULL where no other rank of the group was traced
WITH
with_offsets AS (
    SELECT c.*, offset_ns, o.note AS clock_note,
        start_ns - coalesce(offset_ns, 0)::BIGINT AS arrived_ns,
        start_ns + duration_ns - coalesce(offset_ns, 0)::BIGINT AS left_ns
    FROM collective_calls(runs := runs) AS c
    LEFT JOIN clock_offsets(runs := runs, tolerance_us := tolerance_us) AS o USING (run_id, process_group, rank)
    WHERE call IS NOT NULL AND rank IS NOT NULL),
compared AS (
    SELECT *, min(arrived_ns) OVER same AS first_ns, max(arrived_ns) OVER same AS last_ns, min(left_ns) OVER same
        AS first_left_ns, max(left_ns) OVER same AS last_left_ns, count(*) OVER same AS ranks,
        max(arrived_ns, 2) OVER same AS last_two_ns
    FROM with_offsets WINDOW same AS (PARTITION BY run_id, call))
SELECT run_id, file_id, line, call, process_group, kind, min_by(train_step, arrived_ns) OVER (PARTITION BY run_id, call)
        AS train_step, rank, arrived_ns - first_ns AS lateness_ns, last_ns - arrived_ns AS wait_ns, duration_ns,
    last_left_ns - left_ns AS early_end_ns, offset_ns, ranks, group_size, in_bytes,
    notes([
        CASE WHEN ranks = 1 THEN 'no other rank of the group was traced' END,
        CASE WHEN ranks > 1 AND ranks < group_ranks THEN format('{} of {} traced ranks', ranks, group_ranks) END,
        CASE WHEN ranks > 1 THEN clock_note END,
        CASE WHEN kind IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier')
                AND first_left_ns < last_ns
            THEN 'a rank leaves before the last arrives: the clocks differ, or these are not one collective' END]) AS note,
    CASE WHEN ranks > 1 THEN greatest(arrived_ns - last_two_ns[2], 0) * (ranks - 1) END AS blame_ns
FROM compared
ORDER BY run_id, call, rank
