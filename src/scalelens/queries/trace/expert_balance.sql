-- Balance of all-to-alls: how unequally tokens go to experts or ranks, and what that can cost.
--
-- Answers: Do all ranks get equally many tokens in an all-to-all?
--   Or do some experts get most of them, and what does that cost?
--   One row for each rank that receives, in a process group and kind of exchange.  Where all ranks of a group were traced,
--   what each receives is the output of its own calls.  Else it is what the traced ranks send to it, by their split
--   sizes: a sample of the senders.  An exchange without split sizes is even.  Exchanges that state no sizes, such as
--   those of DeepEP's kernels, have times alone.
--   `imbalance` is what the unequal load costs where time follows the rank with most: 1.5 means that with equal loads
--   the exchange and the experts after it could take 1 / 1.5 of the time.
--
-- Formula: load = bytes received / mean over the ranks of the group; imbalance = sum over calls of the largest bytes
--   received by a rank / sum over calls of the mean.
--
-- Limits: Time of experts is not in it.  Split sizes are rows: their bytes are their share of the message.  Lists that the
--   profiler cut (more than 30 ranks) are not used.
--
-- Glance: run_id process_group kind rank load worst_load imbalance received_bytes calls duration_ns wait_ns origin note
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: events, collective_calls, collective_arrivals
--
-- Parameters: runs
--
-- Columns:
--   run_id            VARCHAR         run
--   process_group     VARCHAR         process group, as in collective_calls
--   kind              VARCHAR         all_to_all, expert_dispatch, expert_combine or expert_exchange
--   rank              INTEGER         rank that receives; NULL where only its rank in the group is known
--   group_rank             BIGINT          its rank in the group, from 0, if split sizes say it
--   calls             BIGINT          exchanges in which it takes part
--   received_bytes    BIGINT bytes    bytes that it gets; NULL where no sizes are known
--   load              DOUBLE          these over the mean of the group
--   worst_load        DOUBLE          the largest such ratio in one exchange
--   imbalance         DOUBLE          of the whole group: largest over mean, summed over exchanges
--   duration_ns       BIGINT ns       time that it spends in them; NULL where it was not traced
--   wait_ns           BIGINT ns       of it, waiting for the last to arrive
--   origin            VARCHAR         received (its own calls), sent (splits of the traced ranks) or times
--   note              VARCHAR         what to know or doubt
WITH
calls AS (
    SELECT c.*, a.wait_ns,
        TRY_CAST(regexp_extract(args, '"In split size"\s*:\s*"?(\[[\d,\s]*\])', 1) AS BIGINT[]) AS parts,
        TRY_CAST(regexp_extract(args, '"Process Group Ranks"\s*:\s*"?(\[[\d,\s]*\])', 1) AS INTEGER[]) AS members
    FROM collective_calls(runs := runs) AS c JOIN events AS e USING (run_id, file_id, line)
    LEFT JOIN collective_arrivals(runs := runs) AS a USING (run_id, file_id, line)
    WHERE c.kind IN ('all_to_all', 'expert_dispatch', 'expert_combine', 'expert_exchange')),
-- The last resort for the size of a group that no metadata gives: the ranks traced.
sized AS (
    SELECT *, coalesce(len(members), max(c.group_size) OVER same, group_ranks) AS size,
        count(DISTINCT coalesce(rank::VARCHAR, file_id)) OVER same AS traced,
        count(*) FILTER (out_bytes IS NULL OR call IS NULL OR rank IS NULL) OVER same AS unknown
    FROM calls AS c WINDOW same AS (PARTITION BY run_id, process_group, kind)),
judged AS (
    SELECT *, CASE WHEN unknown = 0 AND traced = size THEN 'received'
        WHEN bool_and(in_bytes IS NOT NULL AND (parts IS NOT NULL AND (len(parts) = 0 OR len(parts) = size)) AND size > 1)
            OVER (PARTITION BY run_id, process_group, kind) THEN 'sent' ELSE 'times' END AS origin
    FROM sized),
-- Even where nothing is split; a rank of the group is a rank of the job where its members are known.
sent AS (
    SELECT run_id, process_group, kind, origin, coalesce(call, -1 - line) AS exchange, members, size, traced,
        in_bytes, unnest(range(size)) AS group_rank,
        CASE WHEN len(parts) = 0 THEN list_transform(range(size), lambda n: 1) ELSE parts END AS shares
    FROM judged WHERE origin = 'sent'),
shared_out AS (
    SELECT run_id, process_group, kind, origin, exchange, group_rank, members[group_rank + 1] AS rank, size, traced,
        sum(in_bytes * shares[group_rank + 1] / nullif(list_sum(shares), 0)) AS bytes
    FROM sent GROUP BY ALL),
gathered AS (
    SELECT run_id, process_group, kind, origin, exchange, group_rank, rank, size, traced, coalesce(bytes, 0) AS bytes FROM shared_out
    UNION ALL
    SELECT run_id, process_group, kind, origin, coalesce(call, -1 - line), NULL, rank, size, traced,
        CASE origin WHEN 'received' THEN out_bytes END
    FROM judged WHERE origin <> 'sent'),
weighed AS (
    SELECT *, bytes / nullif(avg(bytes) OVER exchange_of, 0) AS ratio, max(bytes) OVER exchange_of AS most,
        avg(bytes) OVER exchange_of AS mean
    FROM gathered WINDOW exchange_of AS (PARTITION BY run_id, process_group, kind, exchange)),
costs AS (
    SELECT run_id, process_group, kind, sum(most) / nullif(sum(mean), 0) AS imbalance
    FROM (SELECT DISTINCT run_id, process_group, kind, exchange, most, mean FROM weighed) GROUP BY ALL),
ranks AS (
    SELECT run_id, process_group, kind, rank, group_rank, origin, size, traced, count(DISTINCT exchange) AS calls,
        round(sum(bytes))::BIGINT AS received_bytes, max(ratio) AS worst_load
    FROM weighed GROUP BY ALL),
times AS (
    SELECT run_id, process_group, kind, rank, sum(duration_ns)::BIGINT AS duration_ns, sum(wait_ns)::BIGINT AS wait_ns
    FROM judged GROUP BY ALL)
SELECT run_id, process_group, kind, r.rank, group_rank, calls, received_bytes,
    received_bytes / nullif(avg(received_bytes) OVER (PARTITION BY run_id, process_group, kind), 0) AS load, worst_load,
    imbalance, duration_ns, wait_ns, origin,
    CASE WHEN origin = 'sent' AND traced < size THEN format('what {} of {} ranks send', traced, size)
        WHEN origin = 'times' THEN 'the trace does not say how many bytes each rank gets' END AS note
FROM ranks AS r JOIN costs USING (run_id, process_group, kind)
LEFT JOIN times AS t USING (run_id, process_group, kind, rank)
ORDER BY run_id, process_group, kind, group_rank, r.rank
