-- Annotations of steps in traces.
--
-- Answers: Which annotations of a trace say where a step begins and ends?
--   ProfilerStep#N of PyTorch's profiler, and NVTX ranges named after a step number: step 12, iteration_12, iter=12.
--
-- Helper: used by annotation_summary, gpu_events, rank_work and trace_steps
--
-- Needs: events
--
-- Sources: events
--
-- Columns:
--   run_id         VARCHAR      run
--   file_id        VARCHAR      file of the trace
--   line           BIGINT       position of the annotation in the trace
--   rank           INTEGER      global rank
--   category       VARCHAR      category of the event
--   name           VARCHAR      annotation
--   step           BIGINT       step number in its name
--   train_step     BIGINT       step in which it starts
--   start_ns       BIGINT ns    start
--   duration_ns    BIGINT ns    duration
SELECT run_id, file_id, line, rank, category, name, TRY_CAST(regexp_extract(name, '(\d+)$', 1) AS BIGINT) AS step,
    train_step, start_ns, duration_ns
FROM events
WHERE duration_ns IS NOT NULL AND (starts_with(name, 'ProfilerStep')
    OR category = 'nvtx' AND regexp_matches(name, '(?i)^(step|iteration|iter)[ _#:=.]*\d{1,18}$'))
