-- Times of each operator, on the host and for the device work that it launched.
--
-- Answers: Which operators take the time of host and device?
--   Device time of an operator is that of the work it launched itself, so that the shares add up; `subtree_kernel_ns`
--   includes that of the operators within, and counts an operator within one of its own name twice.
--
-- Glance: run_id rank name kernel_ns share% self_ns total_ns calls kernels train_step
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: op_calls
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id               VARCHAR      run
--   file_id              VARCHAR      file of the trace
--   rank                 INTEGER      global rank
--   train_step           BIGINT       step in which the call starts; NULL per rank
--   name                 VARCHAR      operator
--   calls                BIGINT       number of calls
--   total_ns             BIGINT ns    sum of the durations on the host
--   self_ns              BIGINT ns    part of it outside of the operators within
--   kernels              BIGINT       pieces of device work that it launched itself; NULL, like the times, where the trace
--                                     links no work to a launch
--   kernel_ns            BIGINT ns    sum of their durations
--   subtree_kernel_ns    BIGINT ns    the same, including the operators within
--   share                DOUBLE       share of the device time of all operators, 0 to 1
WITH
calls AS (
    SELECT * EXCLUDE (train_step),
        CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step
    FROM op_calls(runs := runs, steps := steps) WHERE per <> 'step' OR train_step IS NOT NULL),
sums AS (
    SELECT run_id, file_id, rank, train_step, name, count(*) AS calls, sum(duration_ns)::BIGINT AS total_ns,
        sum(self_ns)::BIGINT AS self_ns, sum(kernels)::BIGINT AS kernels, sum(kernel_ns)::BIGINT AS kernel_ns,
        sum(subtree_kernel_ns)::BIGINT AS subtree_kernel_ns
    FROM calls GROUP BY run_id, file_id, rank, train_step, name),
shares AS (
    SELECT *, sum(kernel_ns) OVER (PARTITION BY run_id, file_id, rank, train_step) AS all_ns FROM sums)
SELECT * EXCLUDE (all_ns), kernel_ns / nullif(all_ns, 0) AS share
FROM shares
ORDER BY run_id, rank, file_id, train_step, kernel_ns DESC, total_ns DESC, name
