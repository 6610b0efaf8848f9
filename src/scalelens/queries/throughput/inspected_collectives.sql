-- Operations measured by NCCL's Inspector, by kind, size and number of ranks: time and bandwidth.
--
-- Answers: What bandwidth do the collectives of the training reach?
--   And which process takes longest?
--   A time is that of one process and includes its wait for the others.  Bandwidths are total work over total time.
--   For what the fabric itself reaches, see collective_benchmarks.  Dropped operations are missing: see problems.
--
-- Formula: algbw = sum of bytes / sum of times; busbw = sum(busbw t) / sum(t), with busbw and the time t of each
--   operation as NCCL's Inspector gives them; slowest_ratio = largest median of a process / median of all.
--
-- Limits: The time of a process includes its wait for the others, so the bandwidth is a lower bound for the fabric.
--
-- Glance: run_id collective message_bytes group_size nodes operations time_s p95_time_s busbw_bytes_per_s
--   slowest_process slowest_ratio
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
--   run_id               VARCHAR           run
--   collective           VARCHAR           all_reduce, reduce_scatter, send, ...
--   message_bytes        BIGINT bytes      size of the message, as NCCL counts it
--   group_size           BIGINT            ranks of the communicator
--   nodes                INTEGER           nodes of the communicator
--   operations           BIGINT            operations, summed over the processes
--   processes            BIGINT            processes that recorded them
--   time_s               DOUBLE s          median of an operation
--   p95_time_s           DOUBLE s          95th percentile
--   algbw_bytes_per_s    DOUBLE bytes/s    total bytes over total time
--   busbw_bytes_per_s    DOUBLE bytes/s    the same, corrected for the collective and its ranks by NCCL's own factor
--   slowest_process      VARCHAR           host and process with the largest median
--   slowest_ratio        DOUBLE            its median over the median of all
WITH
operations AS (
    SELECT run_id, collective, message_bytes, group_size, process, duration_ns / 1e9 AS time_s,
        TRY_CAST(json_extract_string(args, '$.nodes') AS INTEGER) AS nodes,
        TRY_CAST(json_extract_string(args, '$.busbw_bytes_per_s') AS DOUBLE) AS busbw
    FROM events
    WHERE category = 'nccl_inspector' AND duration_ns > 0 AND run_id IN (FROM selected_runs(runs := runs))),
of_processes AS (
    SELECT run_id, collective, message_bytes, group_size, nodes, process, median(time_s) AS process_s
    FROM operations GROUP BY ALL),
slowest AS (
    SELECT run_id, collective, message_bytes, group_size, nodes, count(process) AS processes,
        arg_max(process, process_s) AS slowest_process, max(process_s) AS slowest_s
    FROM of_processes GROUP BY ALL),
all_processes AS (
    SELECT run_id, collective, message_bytes, group_size, nodes, count(*) AS operations, median(time_s) AS time_s,
        quantile_cont(time_s, 0.95) AS p95_time_s, sum(message_bytes) / sum(time_s) AS algbw_bytes_per_s,
        sum(busbw * time_s) / sum(time_s) FILTER (busbw IS NOT NULL) AS busbw_bytes_per_s
    FROM operations GROUP BY ALL)
SELECT t.run_id, t.collective, t.message_bytes, t.group_size, t.nodes, operations, processes, time_s, p95_time_s,
    algbw_bytes_per_s, busbw_bytes_per_s, if(processes > 1, slowest_process, NULL) AS slowest_process,
    if(processes > 1, slowest_s / time_s, NULL) AS slowest_ratio
FROM all_processes AS t JOIN slowest AS s ON t.run_id = s.run_id AND t.collective = s.collective
    AND t.message_bytes IS NOT DISTINCT FROM s.message_bytes AND t.group_size IS NOT DISTINCT FROM s.group_size
    AND t.nodes IS NOT DISTINCT FROM s.nodes
ORDER BY t.run_id, t.collective, t.group_size, t.nodes, t.message_bytes
