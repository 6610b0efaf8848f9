-- How much of the communication is hidden by compute.
--
-- Answers: Which share of a rank's communication ran while it computed?
--   Unions of intervals: two collectives at once count once.  HTA prints the share in percent.
--
-- Formula: share = |C and K| / |C|, with C and K the unions of the intervals of communication and of compute kernels.
--
-- Reference: Meta, HolisticTraceAnalysis, get_comm_comp_overlap.
--
-- Limits: Waiting for a late rank inside a collective counts as communication, hidden or not.
--
-- Glance: run_id rank train_step overlap_share% communication_ns exposed_ns overlapped_ns
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: class_times
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id              VARCHAR      run
--   file_id             VARCHAR      file of the trace
--   rank                INTEGER      global rank
--   train_step          BIGINT       step; NULL per rank
--   communication_ns    BIGINT ns    communication
--   overlapped_ns       BIGINT ns    communication during compute
--   exposed_ns          BIGINT ns    communication without compute
--   overlap_share       DOUBLE       overlapped over all communication, 0 to 1; NULL without communication
WITH
parts AS (
    SELECT run_id, file_id, rank, train_step, compute_communication_ns + all_three_ns AS overlapped_ns,
        communication_only_ns + communication_memory_ns AS exposed_ns
    FROM class_times(runs := runs, per := per, steps := steps))
SELECT run_id, file_id, rank, train_step, overlapped_ns + exposed_ns AS communication_ns, overlapped_ns, exposed_ns,
    overlapped_ns / nullif(overlapped_ns + exposed_ns, 0) AS overlap_share
FROM parts
ORDER BY run_id, rank, file_id, train_step
