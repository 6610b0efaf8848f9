-- Each launch of device work, and how long the work waited for the device.
--
-- Answers: How long did a launched kernel wait for the device?
--   How long did the call take, and the work that it launched?  Work without a launching call in the trace is not
--   included.
--
-- Glance: run_id name duration_ns delay_ns launch_duration_ns launch_name rank train_step class
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: gpu_events
--
-- Parameters: runs, steps
--
-- Columns:
--   run_id                VARCHAR      run
--   file_id               VARCHAR      file of the trace
--   line                  BIGINT       position of the work in the trace
--   rank                  INTEGER      global rank
--   train_step            BIGINT       step that launched it
--   correlation           BIGINT       links work and call
--   launch_name           VARCHAR      call
--   class                 VARCHAR      compute, communication or memory
--   name                  VARCHAR      kernel, copy or fill
--   launch_duration_ns    BIGINT ns    duration of the call
--   duration_ns           BIGINT ns    duration of the work
--   delay_ns              BIGINT ns    from the end of the call to the start of the work, at least 0
SELECT run_id, file_id, line, rank, train_step, correlation, launch_name, class, name, launch_duration_ns, duration_ns,
    greatest(start_ns - launch_start_ns - launch_duration_ns, 0) AS delay_ns
FROM gpu_events(runs := runs, steps := steps)
WHERE launch_start_ns IS NOT NULL
ORDER BY run_id, file_id, line
