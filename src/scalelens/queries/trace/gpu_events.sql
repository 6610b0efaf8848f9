-- Work of the devices in a trace: kernels, copies and fills, with the call that launched each.
--
-- Answers: What ran on which stream, when, for which step, and when was it launched?
--   Waits, annotations and operators of the host are not work, even where they name a stream.
--   `steps := 'complete'` takes the work of annotated steps (ProfilerStep#N), without the last of a trace that has
--   several, because recording may stop within it.  Traces without annotations have none.  `steps := 'hta'` is the
--   selection of Holistic Trace Analysis 0.6.1, file by file: in a trace with two step names or more it keeps the work
--   launched by calls that start before the last start of such an annotation, including its twin on the device, once
--   per such call; in other traces it keeps all work on a stream.
--
-- Helper: used by many queries
--
-- Needs: events
--
-- Sources: events, gpu_work, step_annotations
--
-- Parameters: runs, steps
--   launches := true    false leaves the calls and their steps out where `steps` is 'all', and is faster
--
-- Columns:
--   run_id                VARCHAR      run
--   file_id               VARCHAR      file of the trace
--   line                  BIGINT       position of the event in the trace
--   rank                  INTEGER      global rank
--   class                 VARCHAR      compute, communication or memory
--   name                  VARCHAR      name of the kernel, copy or fill
--   category              VARCHAR      category of the event
--   start_ns              BIGINT ns    start
--   end_ns                BIGINT ns    end
--   duration_ns           BIGINT ns    duration
--   process               VARCHAR      device as the trace numbers it
--   stream                BIGINT       stream
--   correlation           BIGINT       links it to its launch
--   train_step            BIGINT       step that launched it, else the step in which it starts
--   launch_name           VARCHAR      call that launched it; NULL where the trace lacks it
--   launch_start_ns       BIGINT ns    start of that call
--   launch_duration_ns    BIGINT ns    duration of that call
--   launch_process        VARCHAR      process of the host that made the call
--   launch_thread         VARCHAR      thread of the host that made the call
WITH
work AS (FROM gpu_work(runs := runs)),
calls AS (
    SELECT file_id, correlation, name, start_ns, duration_ns, train_step, process, thread FROM events
    WHERE (launches OR steps <> 'all') AND correlation >= 0 AND duration_ns IS NOT NULL
        AND class IS NULL AND (stream IS NULL OR stream < 0)),
first_calls AS (
    SELECT file_id, correlation, arg_min(name, start_ns) AS name, min(start_ns) AS start_ns,
        arg_min(duration_ns, start_ns) AS duration_ns, arg_min(train_step, start_ns) AS train_step,
        arg_min(process, start_ns) AS process, arg_min(thread, start_ns) AS thread
    FROM calls WHERE steps <> 'hta' GROUP BY file_id, correlation),
marks AS (
    SELECT file_id, max(train_step) AS last_step, count(DISTINCT name) AS n_steps, max(start_ns) AS last_ns
    FROM step_annotations() WHERE steps <> 'all' GROUP BY file_id),
launched AS (
    SELECT work.*, first_calls.name AS launch_name, first_calls.start_ns AS launch_start_ns,
        first_calls.duration_ns AS launch_duration_ns, first_calls.process AS launch_process,
        first_calls.thread AS launch_thread, coalesce(first_calls.train_step, work.starts_in) AS of_step
    FROM work LEFT JOIN first_calls USING (file_id, correlation)
    WHERE steps <> 'hta'
    UNION ALL BY NAME
    SELECT work.*, calls.name AS launch_name, calls.start_ns AS launch_start_ns,
        calls.duration_ns AS launch_duration_ns, calls.process AS launch_process,
        calls.thread AS launch_thread, coalesce(calls.train_step, work.starts_in) AS of_step
    FROM work LEFT JOIN calls USING (file_id, correlation) LEFT JOIN marks USING (file_id)
    WHERE steps = 'hta' AND work.stream >= 0
        AND (coalesce(n_steps, 0) < 2 OR calls.start_ns < last_ns))
SELECT run_id, l.file_id, line, rank, class, l.name, category, l.start_ns, end_ns,
    l.duration_ns, process, stream, correlation, of_step AS train_step,
    launch_name, launch_start_ns, launch_duration_ns, launch_process, launch_thread
FROM launched AS l LEFT JOIN marks USING (file_id)
WHERE CASE steps WHEN 'complete' THEN of_step IS NOT NULL AND (n_steps < 2 OR of_step < last_step)
    WHEN 'all' THEN true WHEN 'hta' THEN true
    ELSE error('steps is ''all'', ''complete'' or ''hta''') END
