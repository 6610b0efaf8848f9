-- Collectives: how long they take once all ranks have arrived, at which bandwidth, and which rank kept the others waiting.
--
-- Answers: Is the network as fast as it should be, or does waiting fill the time?
--   The time of a collective is the shortest duration over its ranks: that of the last to arrive, which waits for no
--   one.  The message is what a rank puts in; for all_gather what it gets out, so that both count the whole array (as
--   nccl-tests do).  1 GB is 1e9 bytes.  Calls that are not matched have a row of their own, with the reason in the
--   note.
--
-- Formula: time = min over the ranks of the duration; algorithm bandwidth = message / time; bus bandwidth = that
--   times 2 (n - 1) / n for all_reduce, (n - 1) / n for all_gather, reduce_scatter and all_to_all, 1 for broadcast,
--   reduce and send_recv.
--
-- Reference: NVIDIA, nccl-tests, doc/PERFORMANCE.md.
--
-- Assumptions: The rank that comes last waits for no one, so its time is that of the transfer.
--
-- Limits: Where ranks of the group were not traced, the time includes waiting, and the bandwidth is a lower bound.
--
-- Glance: run_id kind message_bytes time_ns bus_gb_per_s skew_ns last_rank mean_wait_ns group_size ranks dtype
--   train_step process_group note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: collective_calls, collective_arrivals, runs
--
-- Parameters: runs, tolerance_us
--
-- Columns:
--   run_id           VARCHAR         run
--   call             BIGINT          number of the collective in its run, from 0; NULL where it is not matched
--   train_step       BIGINT          step
--   process_group    VARCHAR         process group
--   kind             VARCHAR         what it does, as in collective_calls
--   group_size       BIGINT          ranks of the group; where the trace does not state it, all ranks of the run if all
--                                    were traced
--   ranks            BIGINT          ranks of the group that were traced
--   dtype            VARCHAR         element type
--   message_bytes    BIGINT bytes    size of the message on the side that counts
--   time_ns          BIGINT ns       shortest duration over the ranks
--   algo_gb_per_s    DOUBLE GB/s     algorithm bandwidth
--   bus_gb_per_s     DOUBLE GB/s     bus bandwidth
--   skew_ns          BIGINT ns       from the first arrival to the last
--   mean_wait_ns     DOUBLE ns       time waited for the last, mean over the ranks
--   end_skew_ns      BIGINT ns       from the first rank that leaves to the last
--   first_rank       INTEGER         rank that arrives first (the highest, if several do)
--   last_rank        INTEGER         rank that arrives last (the lowest, if several do)
--   margin_ns        BIGINT ns       how much later than the last but one it arrives
--   matched_by       VARCHAR         sequence, order or order_in_step
--   note             VARCHAR         what to know or doubt
WITH
waits AS (
    SELECT run_id, call, max(wait_ns) AS skew_ns, avg(wait_ns) AS mean_wait_ns, max(early_end_ns) AS end_skew_ns,
        arg_min(rank, (lateness_ns, -rank)) AS first_rank, arg_max(rank, (lateness_ns, -rank)) AS last_rank,
        min(wait_ns, 2)[2] AS margin_ns, string_agg(DISTINCT note, '; ' ORDER BY note) AS note
    FROM collective_arrivals(runs := runs, tolerance_us := tolerance_us) WHERE ranks > 1 GROUP BY ALL),
grouped AS (
    SELECT run_id, call, min(train_step) AS train_step, process_group, kind,
        coalesce(max(group_size), max(r.devices) FILTER (WHERE group_ranks = r.devices)) AS group_size,
        count(DISTINCT rank) AS ranks, any_value(dtype) AS dtype,
        max(CASE kind WHEN 'all_gather' THEN out_bytes ELSE in_bytes END) AS message_bytes,
        min(duration_ns) AS time_ns, matched_by, min(start_ns) AS start_ns, min(c.note) AS unmatched
    FROM collective_calls(runs := runs) AS c LEFT JOIN runs AS r USING (run_id)
    GROUP BY run_id, call, process_group, kind, matched_by, CASE WHEN call IS NULL THEN (file_id, line) END)
SELECT run_id, call, train_step, process_group, kind, group_size, ranks, dtype, message_bytes, time_ns,
    message_bytes / nullif(time_ns, 0) AS algo_gb_per_s,
    message_bytes / nullif(time_ns, 0) * CASE
        WHEN kind = 'all_reduce' THEN 2 * (group_size - 1) / group_size
        WHEN kind IN ('all_gather', 'reduce_scatter', 'all_to_all') THEN (group_size - 1) / group_size
        WHEN kind IN ('broadcast', 'reduce', 'send_recv') THEN 1 END AS bus_gb_per_s,
    skew_ns, mean_wait_ns, end_skew_ns, first_rank, last_rank, margin_ns, matched_by,
    notes([unmatched,
        CASE WHEN unmatched IS NULL AND ranks < coalesce(group_size, devices, 2)
            THEN format('{} of {} ranks traced: the time holds waiting', ranks, coalesce(group_size, devices)) END,
        w.note]) AS note
FROM grouped LEFT JOIN waits AS w USING (run_id, call) LEFT JOIN (SELECT run_id, devices FROM runs) USING (run_id)
ORDER BY run_id, start_ns, call
