-- Step records, each divided into the wait for data, the time beyond a usual step with its cause, and what is left.
--
-- Answers: Which part of the time of the steps was not a usual step?
--   spent_s = wait_s + excess_s + the time of usual steps.  The wait for data is taken first, so that a step that is
--   slow because of its data does not count as slow twice.  Usual is the median of the fast mode of what remains
--   (slow_steps); with fewer than 40 records it is their median.  A record has one part, the first that applies:
--   validation       a validation lies in it, by the rule of selected_steps or because it is slow where one is logged
--   checkpoints      the same for saving a checkpoint
--   first batches    among the first `warmup` of its attempt, logged as warm-up, or the first of its epoch
--   slow tail        it is slow by the definition of slow_steps
--   All time beyond the usual step goes to that part; a fast record counts as usual as a whole.  Steps of an interval
--   that the previous record covers as well are subtracted from it.
--
-- Helper: used by lost_time
--
-- Sources: selected_steps, steps, phases
--
-- Parameters: runs
--   warmup := 2    records left out at the start of each attempt; for the part first batches
--
-- Columns:
--   run_id          VARCHAR     run
--   attempt         INTEGER     restart
--   epoch           DOUBLE      epoch
--   step            BIGINT      step, the last of an interval
--   stands_for      DOUBLE      steps that the record stands for: those that it is a mean of, or those up to the next
--                               one logged
--   spent_s         DOUBLE s    time of those steps
--   wait_s          DOUBLE s    part of spent_s waiting for data, on the rank that waits longest; NULL where not logged
--   part            VARCHAR     part that excess_s belongs to; NULL where there is none
--   excess_s        DOUBLE s    time beyond the usual step
--   period_steps    BIGINT      steps from one to the next, for slow records in a rhythm
--   thrown_away     DOUBLE      share of its steps beyond the step from which a later attempt started
--   usual_s         DOUBLE s    time of a usual step
--   gap_s           DOUBLE s    time on the clock since the previous record that is in neither; NULL without a clock
--   gap_part        VARCHAR     checkpoints or validation, where one is logged for the gap
--   is_sample       BOOLEAN     whether it is one step that stands for those up to the next one logged as well
WITH
waits AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, step, max(data_s) AS data_s
    FROM steps WHERE phase = 'train' AND data_s >= 0 AND isfinite(data_s) GROUP BY ALL),
logged AS (
    SELECT * REPLACE (CASE WHEN shared > 0
            THEN greatest(0, step_s * averaged_steps - before_s * shared) / (averaged_steps - shared) ELSE step_s END AS step_s,
        CASE WHEN shared > 0 THEN averaged_steps - shared ELSE averaged_steps END AS averaged_steps)
    FROM (SELECT *, lag(step) OVER of_attempt AS before, lag(step_s) OVER of_attempt AS before_s,
            CASE WHEN step > before THEN averaged_steps - (step - before) END AS shared
        FROM selected_steps(runs := runs, warmup := warmup)
        WHERE coalesce(value_kind, 'instant') IN ('instant', 'interval_mean') AND step_s > 0
            AND NOT list_has_any(coalesce(excluded_by, []), ['summary', 'ambiguous'])
        WINDOW of_attempt AS (PARTITION BY run_id, attempt ORDER BY position_in_run))),
records AS (
    SELECT s.*, CASE WHEN w.data_s IS NOT NULL THEN least(w.data_s, step_s) END AS wait_s,
        step_s - coalesce(wait_s, 0) AS own_s,
        CASE WHEN max(averaged_steps) OVER (PARTITION BY s.run_id) = 1
            THEN greatest(1, coalesce(median(s.step - before) OVER (PARTITION BY s.run_id), 1))
            ELSE averaged_steps END AS stands_for,
        row_number() OVER (PARTITION BY s.run_id ORDER BY position_in_run) - 1 AS position
    FROM logged AS s LEFT JOIN waits AS w ON w.run_id = s.run_id AND w.attempt = s.attempt AND w.step = s.step),
-- Validations and checkpoints at a step of the record, or at the step before it.
logged_phases AS (
    SELECT r.run_id, r.position, bool_or(p.phase = 'checkpoint') AS is_saved,
        bool_or(p.phase <> 'checkpoint') AS is_validated
    FROM records AS r JOIN phases AS p ON p.run_id = r.run_id AND coalesce(p.attempt, 0) = r.attempt
        AND p.step BETWEEN r.step - r.stands_for AND r.step
    WHERE p.phase IN ('checkpoint', 'evaluation', 'validation') GROUP BY ALL),
series AS (
    SELECT run_id, median(own_s) FILTER (excluded_by IS NULL) AS median_s, median(own_s) AS any_s,
        slow_classes(list(own_s ORDER BY position), list(coalesce(step, position) ORDER BY position),
            list(list_contains(coalesce(excluded_by, []), 'first_of_epoch')::INTEGER ORDER BY position),
            list((excluded_by IS NULL)::INTEGER ORDER BY position), 0.0) AS slow
    FROM records GROUP BY run_id),
-- Without the lists, which each record would carry with it.
usual AS (SELECT run_id, coalesce(slow.fast_s, median_s, any_s) AS usual_s FROM series),
slow AS (
    SELECT run_id, unnest(slow.position) AS position, unnest(slow.period) AS period_steps, true AS is_slow FROM series),
restarts AS (
    SELECT run_id, attempt, min(min(step - stands_for)) OVER (PARTITION BY run_id ORDER BY attempt
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS restart_step
    FROM records GROUP BY run_id, attempt),
judged AS (
    SELECT r.*, usual_s, period_steps, coalesce(excluded_by, []) AS rules,
        epoch_us(ts) / 1e6 AS ends, ends - lag(ends) OVER (PARTITION BY r.run_id, r.attempt ORDER BY position)
            - step_s * stands_for AS since_s,
        CASE WHEN 'evaluation' IN rules OR is_slow AND is_validated THEN 'validation'
            WHEN 'checkpoint' IN rules OR is_slow AND is_saved THEN 'checkpoints'
            WHEN list_has_any(rules, ['warmup', 'logged_warmup', 'first_of_epoch']) THEN 'first batches'
            WHEN is_slow THEN 'slow tail' END AS part,
        CASE WHEN is_validated THEN 'validation' WHEN is_saved THEN 'checkpoints' END AS gap_part,
        CASE WHEN step > restart_step THEN least(1, (step - restart_step) / stands_for) ELSE 0 END AS thrown_away
    FROM records AS r JOIN usual USING (run_id) LEFT JOIN slow USING (run_id, position)
    LEFT JOIN logged_phases USING (run_id, position) LEFT JOIN restarts USING (run_id, attempt))
SELECT run_id, attempt, epoch, step, stands_for, step_s * stands_for AS spent_s, wait_s * stands_for AS wait_s,
    CASE WHEN own_s > usual_s THEN part END AS part,
    CASE WHEN part IS NOT NULL THEN greatest(own_s - usual_s, 0) * stands_for ELSE 0 END AS excess_s,
    CASE WHEN part = 'slow tail' THEN period_steps END AS period_steps, thrown_away, usual_s,
    CASE WHEN since_s IS NOT NULL THEN greatest(since_s, 0) END AS gap_s, gap_part, averaged_steps < stands_for AS is_sample
FROM judged
ORDER BY run_id, position
