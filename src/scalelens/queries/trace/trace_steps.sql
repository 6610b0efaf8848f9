-- Annotated steps of a trace.
--
-- Answers: Which steps does a trace contain, and how long did each take?
--   When did each begin on host and device?
--   From the annotations ProfilerStep#N of PyTorch's profiler, or NVTX ranges such as `step 12`.
--
-- Glance: run_id rank train_step duration_ns device_duration_ns complete
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: step_annotations, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id                VARCHAR      run
--   file_id               VARCHAR      file of the trace
--   line                  BIGINT       position of the annotation in the trace
--   rank                  INTEGER      global rank
--   train_step            BIGINT       step
--   start_ns              BIGINT ns    start on the host
--   duration_ns           BIGINT ns    duration on the host
--   device_start_ns       BIGINT ns    start of its first work on the device, where the trace states it
--   device_duration_ns    BIGINT ns    from there to the end of its last work
--   complete              BOOLEAN      whether `steps := 'complete'` takes it: the last of several may be cut
WITH
annotations AS (
    SELECT *, category = 'gpu_user_annotation' AS of_device
    FROM step_annotations()
    WHERE (trim(runs) = '' OR run_id IN (SELECT run_id FROM selected_runs(runs := runs)))),
spans AS (
    SELECT run_id, file_id, rank, step, min(line) FILTER (NOT of_device) AS line,
        min(start_ns) FILTER (NOT of_device) AS start_ns,
        max(start_ns + duration_ns) FILTER (NOT of_device) AS end_ns,
        min(start_ns) FILTER (of_device) AS device_start_ns,
        max(start_ns + duration_ns) FILTER (of_device) AS device_end_ns
    FROM annotations WHERE step IS NOT NULL GROUP BY run_id, file_id, rank, step)
SELECT run_id, file_id, line, rank, step AS train_step, start_ns, end_ns - start_ns AS duration_ns, device_start_ns,
    device_end_ns - device_start_ns AS device_duration_ns,
    coalesce(step < max(step) OVER file OR count(*) OVER file < 2, false) AS complete
FROM spans
WINDOW file AS (PARTITION BY file_id)
ORDER BY run_id, rank, file_id, train_step
