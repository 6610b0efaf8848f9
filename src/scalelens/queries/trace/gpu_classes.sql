-- Device work by rank, or by rank and step: the basis of the sums over classes and names.
--
-- Answers: Which work counts for which row?
--
-- Helper: used by class_times and kernel_summary
--
-- Needs: events
--
-- Sources: gpu_work, gpu_events
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id         VARCHAR      run
--   file_id        VARCHAR      file of the trace
--   rank           INTEGER      global rank
--   train_step     BIGINT       step; NULL per rank
--   class          VARCHAR      compute, communication or memory
--   name           VARCHAR      name of the kernel, copy or fill
--   start_ns       BIGINT ns    start
--   end_ns         BIGINT ns    end
--   duration_ns    BIGINT ns    duration
SELECT run_id, file_id, rank,
    CASE per WHEN 'step' THEN train_step WHEN 'rank' THEN NULL ELSE error('per is ''rank'' or ''step''') END AS train_step,
    class, name, start_ns, end_ns, duration_ns
-- Where neither launches nor steps are needed they are not bound: planning them takes as long as the answer.
FROM query(CASE WHEN per = 'rank' AND steps = 'all'
    THEN 'SELECT *, NULL::BIGINT AS train_step FROM gpu_work(runs := ' || quoted(runs) || ')'
    ELSE 'FROM gpu_events(runs := ' || quoted(runs) || ', steps := ' || quoted(steps) || ', launches := ' || (per = 'step')
        || ')' END)
WHERE per <> 'step' OR train_step IS NOT NULL
