-- Kernels, copies and fills of the devices in a trace, whatever launched them.
--
-- Answers: What ran on which stream, and when?
--   Waits, annotations and operators of the host are not work, even where they name a stream.
--
-- Helper: used by gpu_classes and gpu_events
--
-- Needs: events
--
-- Sources: events, [selected_runs]
--
-- Parameters: runs
--
-- Columns:
--   run_id         VARCHAR      run
--   file_id        VARCHAR      file of the trace
--   line           BIGINT       position of the event in the trace
--   rank           INTEGER      global rank
--   class          VARCHAR      compute, communication or memory
--   name           VARCHAR      name of the kernel, copy or fill
--   category       VARCHAR      category of the event
--   start_ns       BIGINT ns    start
--   end_ns         BIGINT ns    end
--   duration_ns    BIGINT ns    duration
--   process        VARCHAR      device as the trace numbers it
--   stream         BIGINT       device stream
--   correlation    BIGINT       links it to its launch
--   starts_in      BIGINT       step in which it starts
SELECT run_id, file_id, line, rank, class, name, category, start_ns, start_ns + duration_ns AS end_ns, duration_ns,
    process, stream, correlation, train_step AS starts_in
-- What is not needed is not bound: a condition over `runs` takes as long to plan as everything else.
FROM query(CASE WHEN trim(runs) = '' THEN 'FROM events'
    ELSE 'FROM events WHERE run_id IN (FROM selected_runs(runs := ' || quoted(runs) || '))' END)
WHERE class IS NOT NULL AND duration_ns IS NOT NULL
