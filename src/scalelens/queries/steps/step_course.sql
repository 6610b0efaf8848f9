-- Step times in the order of the run, thinned for the eye, with what is left out and where the pace changes.
--
-- Answers: Where in the run are warm-up, stalls, restarts and drifts?
--   A run with more records than `slots` is cut into as many slots of records.  Of each slot the fastest and the slowest
--   stay, those that count and those left out apart: of the others a drawing of that many columns shows nothing.
--
-- Formula: none; each row is a record as it was logged.
--
-- Limits: The order within a slot is lost.
--
-- Glance: run_id step step_s rules verdict attempt place_in_run value_kind change_steps
--
-- Partition: run_id
--
-- Sources: selected_steps, steady_state
--
-- Parameters: runs, epochs, warmup, exclude
--   slots := 1000           pieces of a run of which two records stay
--
-- Columns:
--   run_id              VARCHAR    run
--   file_id             VARCHAR    file of the record
--   line                BIGINT     line of the record
--   attempt             INTEGER    restart
--   place_in_run        BIGINT     place of the record in the run, from 1
--   step                BIGINT     step, the last of an interval
--   step_s              DOUBLE s   time of the step, the largest over the ranks
--   value_kind          VARCHAR    instant, interval_mean and so on
--   rules               VARCHAR    rules that leave the record out, NULL where it counts
--   n_steps             BIGINT     records of the run
--   n_left_out          BIGINT     of them left out
--   verdict             VARCHAR    pace of the attempt: steady, warming, slowing, unsteady, too_short
--   steady_from_step    BIGINT     first step of the steady state, NULL where there is none
--   steady_s            DOUBLE s   median of the steady state
--   change_steps        VARCHAR    steps at which another level begins
WITH
taken AS (
    SELECT *, left_out IS NOT NULL AS is_out, count(*) OVER (PARTITION BY run_id) AS n_steps,
        count(left_out) OVER (PARTITION BY run_id) AS n_left_out,
        (place_in_run - 1) * slots // count(*) OVER (PARTITION BY run_id) AS slot
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
thinned AS (
    FROM taken
    QUALIFY row_number() OVER (PARTITION BY run_id, slot, is_out ORDER BY step_s, place_in_run) = 1
        OR row_number() OVER (PARTITION BY run_id, slot, is_out ORDER BY step_s DESC, place_in_run) = 1)
SELECT run_id, file_id, line, attempt, place_in_run, step, step_s, value_kind,
    array_to_string(left_out, ' ') AS rules, t.n_steps, n_left_out, verdict, steady_from_step, steady_s, change_steps
FROM thinned AS t
LEFT JOIN (SELECT run_id, attempt AS restart, verdict, steady_from_step, steady_s, change_steps
           FROM steady_state(runs := runs)) AS s USING (run_id)
WHERE restart IS NULL OR restart = coalesce(attempt, 0)
ORDER BY run_id, place_in_run
