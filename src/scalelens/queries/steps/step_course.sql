-- Step times in the order of the run, thinned for plotting, with what is left out and where the pace changes.
--
-- Answers: Where in the run are warm-up, stalls, restarts and drifts?
--   A run with more records than `slots` is cut into as many slots.  Each slot keeps its fastest and its slowest
--   record, separately for those that count and those left out: a drawing with that many columns shows no more.
--
-- Formula: none; each row is a record as it was logged.
--
-- Limits: The order within a slot is lost.
--
-- Glance: run_id step step_s excluded_by verdict attempt position_in_run value_kind change_steps
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: selected_steps, steady_state
--
-- Parameters: runs, epochs, warmup, exclude
--   slots := 1000    pieces of a run, each of which keeps two records
--
-- Columns:
--   run_id              VARCHAR      run
--   file_id             VARCHAR      file of the record
--   line                BIGINT       line of the record
--   attempt             INTEGER      restart
--   position_in_run     BIGINT       position of the record among those of the run, from 1, in order
--   step                BIGINT       step, the last of an interval
--   step_s              DOUBLE s     time of the step, the largest over the ranks
--   value_kind          VARCHAR      instant, interval_mean, ...
--   excluded_by         VARCHAR[]    rules that leave the record out; NULL where none does
--   n_steps             BIGINT       records of the run
--   n_excluded          BIGINT       records of the run that the rules leave out
--   verdict             VARCHAR      pace of the attempt: steady, warming, slowing, unsteady, too_short
--   steady_from_step    BIGINT       first step of the steady state; NULL where there is none
--   steady_s            DOUBLE s     median of the steady state
--   change_steps        VARCHAR      steps at which another level begins
WITH
records AS (
    SELECT *, excluded_by IS NOT NULL AS is_out, count(*) OVER (PARTITION BY run_id) AS n_steps,
        count(excluded_by) OVER (PARTITION BY run_id) AS n_excluded,
        (position_in_run - 1) * slots // count(*) OVER (PARTITION BY run_id) AS slot
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
thinned AS (
    FROM records
    QUALIFY row_number() OVER (PARTITION BY run_id, slot, is_out ORDER BY step_s, position_in_run) = 1
        OR row_number() OVER (PARTITION BY run_id, slot, is_out ORDER BY step_s DESC, position_in_run) = 1)
SELECT run_id, file_id, line, attempt, position_in_run, step, step_s, value_kind,
    excluded_by, t.n_steps, n_excluded, verdict, steady_from_step, steady_s, change_steps
FROM thinned AS t
LEFT JOIN (SELECT run_id, attempt AS restart, verdict, steady_from_step, steady_s, change_steps
           FROM steady_state(runs := runs)) AS s USING (run_id)
WHERE restart IS NULL OR restart = coalesce(attempt, 0)
ORDER BY run_id, position_in_run
