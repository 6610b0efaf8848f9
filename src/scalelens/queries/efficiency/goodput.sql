-- Goodput of a whole job, over its restarts: the time of steps that count over the time that was allocated.
--
-- Answers: How much of the allocated time went into steps that count?
--   A step counts unless a later attempt started before it: then it was done again, or is lost.  Its time is the time
--   it took, slow or waiting for data; validations and checkpoints, within steps or between them, are not included.
--   allocated_s and the parts are those of lost_time.  A run is all its attempts together; jobs that the scheduler
--   restarted under other numbers count if the run's log names them.
--
-- Formula: goodput = time of the steps that count / allocated time; lost hours = (allocated time - that) x devices / 3600.
--
-- Limits: Without the scheduler's record, the time between attempts is not known and does not count.  A log that names
--   no single steps has no goodput.
--
-- Glance: run_id goodput% allocated_s step_time_s attempts repeated_s devices lost_hours time_origin note
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: lost_time, runs
--
-- Parameters: runs
--
-- Columns:
--   run_id            VARCHAR     run
--   name              VARCHAR     name of the run
--   devices           INTEGER     devices
--   attempts          INTEGER     times it was started
--   allocated_s       DOUBLE s    time of the whole job
--   time_origin       VARCHAR     where allocated_s comes from: scheduler, clock, run or parts
--   steps             DOUBLE      steps that count; NULL where single steps are not logged
--   repeated_steps    DOUBLE      steps that were thrown away
--   step_time_s       DOUBLE s    time of the steps that count
--   repeated_s        DOUBLE s    time of the steps that were thrown away
--   goodput           DOUBLE      step_time_s over allocated_s
--   lost_hours        DOUBLE h    the rest of the allocated time, times the devices
--   note              VARCHAR     what to know or doubt
SELECT l.run_id, any_value(r.name) AS name, any_value(r.devices) AS devices, any_value(r.attempts)::INTEGER AS attempts,
    any_value(allocated_s) AS allocated_s, any_value(time_origin) AS time_origin,
    max(counted_steps) FILTER (part = 'useful') AS steps,
    CASE WHEN steps IS NOT NULL THEN coalesce(max(counted_steps) FILTER (part = 'repeated'), 0) END AS repeated_steps,
    sum(lost_s ORDER BY lost_s) FILTER (part IN ('useful', 'data wait', 'slow tail', 'first batches')) AS step_time_s,
    coalesce(sum(lost_s ORDER BY lost_s) FILTER (part = 'repeated'), 0) AS repeated_s,
    step_time_s / any_value(allocated_s) AS goodput,
    (any_value(allocated_s) - step_time_s) * any_value(r.devices) / 3600 AS lost_hours, any_value(note) AS note
FROM lost_time(runs := runs) AS l JOIN runs AS r USING (run_id)
GROUP BY l.run_id
ORDER BY l.run_id
