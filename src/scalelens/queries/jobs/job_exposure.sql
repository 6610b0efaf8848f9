-- How long each run used how many nodes, and how it ended.
--
-- Answers: Over how many node-hours could failures have happened?
--   hours are the scheduler's time for the run's jobs, if no other run was in them; else from the run's first time stamp to
--   its last; else the sum of its steps.  Nodes are those that the log states, else the hosts that are known.
--
-- Helper: used by failed_runs and failures
--
-- Sources: runs, jobs, step_times, run_nodes, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR        run
--   name          VARCHAR        name of the run
--   started_at    TIMESTAMP      first time stamp
--   ended_at      TIMESTAMP      last time stamp
--   outcome       VARCHAR        how it ended; unknown where no log says
--   system        VARCHAR        machine
--   nodes         INTEGER        nodes; NULL where not known
--   devices       INTEGER        devices; NULL where not known
--   hours         DOUBLE h       time of the run; NULL where not known
--   node_hours    DOUBLE         its time on all nodes
WITH
alone AS (SELECT job_id FROM runs WHERE job_id IS NOT NULL GROUP BY job_id HAVING count(*) = 1),
job_times AS (
    SELECT run_id, sum(elapsed_s ORDER BY elapsed_s) AS span_s FROM (
        SELECT DISTINCT j.run_id, j.job_id, j.started_at, j.elapsed_s FROM main.jobs AS j JOIN runs AS r USING (run_id)
        WHERE j.step_id IS NULL AND j.elapsed_s > 0 AND (r.job_id IS NULL OR r.job_id IN (FROM alone)))
    GROUP BY run_id),
hosts AS (SELECT run_id, count(*)::INTEGER AS hosts FROM run_nodes(runs := runs) GROUP BY run_id),
step_sums AS (
    SELECT run_id, sum(step_s * coalesce(averaged_steps, 1) ORDER BY step) AS span_s FROM step_times
    WHERE step_s > 0 AND isfinite(step_s) GROUP BY run_id),
spans AS (
    SELECT r.run_id, name, started_at, ended_at, coalesce(outcome, 'unknown') AS outcome, system,
        coalesce(nodes, hosts) AS nodes, devices,
        coalesce(j.span_s, nullif(epoch(ended_at) - epoch(started_at), 0), s.span_s) / 3600 AS hours
    FROM runs AS r LEFT JOIN job_times AS j USING (run_id) LEFT JOIN hosts USING (run_id) LEFT JOIN step_sums AS s USING (run_id)
    WHERE r.run_id IN (FROM selected_runs(runs := runs)))
SELECT *, nodes * hours AS node_hours FROM spans ORDER BY run_id
