-- The time of a job in parts that do not overlap: what its steps needed, what was lost, and where.
--
-- Answers: How does the time that was allocated to a run divide into parts?
--   allocated_s is the scheduler's time for the run's jobs, over all restarts, if no other run was in them; else each
--   attempt from its first to its last time stamp; else the log's own span of the run; else the sum of all parts.
--   allocated_s = sum of lost_s over all parts, including `useful`.  Parts are taken in this order, and time that one
--   part has taken is not available to later ones:
--   repeated         steps of earlier attempts beyond the step from which a later attempt started, with all their time
--   data wait, and validation, checkpoints, first batches, slow tail within steps: see records_in_parts
--   useful           what is left of the steps
--   start-up         outside of steps: from an attempt's first time stamp to the start of its first record, else to the last
--                    moment of start-up in the log; without a clock, the spans of start-up in the log
--   validation       outside of steps: spans in the log; else the gap on the clock before the next record
--   checkpoints      the same
--   rest             what no log explains
--   A part that no log shows is absent, and its time is in `rest`.  Where a run's single steps are not logged, the
--   training parts of epochs (epoch_times) stand for the steps.  A part that is longer than the time left for it is cut
--   to that, and the note says so.
--
-- Helper: used by waterfall and goodput
--
-- Sources: records_in_parts, epoch_times, phases, steps, members, jobs, params, runs
--
-- Parameters: runs
--   warmup := 2    records left out at the start of each attempt; for the part first batches
--
-- Columns:
--   run_id           VARCHAR     run
--   allocated_s      DOUBLE s    time of the whole job
--   time_origin      VARCHAR     where allocated_s comes from: scheduler, clock, run or parts
--   part_order       INTEGER     order in which the parts are shown
--   part             VARCHAR     part
--   lost_s           DOUBLE s    its time
--   counted_steps    DOUBLE      steps in it, for repeated and useful; NULL for the others and where steps are not
--                                logged
--   evidence         VARCHAR     what the part was derived from
--   note             VARCHAR     what to know or doubt of the run's parts
WITH
records AS MATERIALIZED (FROM records_in_parts(runs := runs, warmup := warmup)),
epochs AS (
    SELECT run_id, train_s, (epoch >= min(epoch) OVER (PARTITION BY run_id ORDER BY attempt
        RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) IS TRUE AS is_repeated
    FROM epoch_times(runs := runs)
    WHERE train_s > 0 AND run_id NOT IN (SELECT run_id FROM records)
        AND run_id NOT IN (SELECT run_id FROM params WHERE key = 'writers' AND value = 'ambiguous')),
trained AS (
    SELECT run_id, sum(spent_s ORDER BY spent_s) AS spent_s, sum(stands_for) AS n_steps,
        sum(spent_s * thrown_away ORDER BY spent_s * thrown_away) AS repeated_s,
        sum(stands_for * thrown_away) AS repeated_steps,
        sum(wait_s * (1 - thrown_away) ORDER BY wait_s * (1 - thrown_away)) AS wait_s,
        any_value(usual_s) AS usual_s, max(stands_for) FILTER (is_sample) AS stride
    FROM records GROUP BY run_id
    UNION ALL BY NAME
    SELECT run_id, sum(train_s ORDER BY train_s) AS spent_s,
        coalesce(sum(train_s ORDER BY train_s) FILTER (is_repeated), 0) AS repeated_s
    FROM epochs GROUP BY run_id),
within AS (
    SELECT run_id, part, sum(excess_s * (1 - thrown_away) ORDER BY excess_s * (1 - thrown_away)) AS lost_s, count(*) AS n_records,
        mode(period_steps) AS period_steps, count(period_steps) AS n_periodic
    FROM records WHERE part IS NOT NULL GROUP BY run_id, part),
-- The clock of each attempt.  Times of a known and of an unknown zone are never mixed.
stamped AS (
    SELECT run_id, file_id, part, coalesce(attempt, 0) AS attempt, ts_origin, 'step' AS what, epoch_us(ts) / 1e6 AS ends,
        ends - CASE WHEN value_kind IN ('instant', 'interval_mean') THEN step_s * coalesce(averaged_steps, 1) ELSE 0 END AS begins
    FROM steps
    UNION ALL
    SELECT run_id, file_id, part, coalesce(attempt, 0), ts_origin, phase, epoch_us(ts) / 1e6 AS ends, ends - coalesce(span_s, 0)
    FROM phases),
clocks AS (
    SELECT run_id, attempt, max(ends) - min(begins) AS span_s, coalesce(
        min(begins) FILTER (what IN ('step', 'train', 'epoch')), max(ends) FILTER (what = 'startup')) - min(begins) AS startup_s,
        count(*) FILTER (what <> 'startup') AS n_after
    FROM (FROM stamped WHERE ends IS NOT NULL AND run_id IN (SELECT run_id FROM trained)
            AND (file_id, part) NOT IN (SELECT (file_id, part) FROM members WHERE why = 'twin')
        QUALIFY ts_origin = mode(ts_origin) OVER (PARTITION BY run_id))
    GROUP BY run_id, attempt),
spans AS (
    SELECT run_id, attempt, phase, span_s FROM phases
    WHERE span_s > 0 AND phase IN ('startup', 'run', 'validation', 'evaluation', 'checkpoint')
        AND (file_id, part) NOT IN (SELECT (file_id, part) FROM members WHERE why = 'twin')
    QUALIFY coalesce(rank, 0) = min(coalesce(rank, 0)) OVER (PARTITION BY run_id, phase)),
-- Some logs have both the program's validation and the evaluation of a library around it: one of them counts.
logged AS (
    SELECT run_id, sum(span_s ORDER BY span_s) FILTER (phase = 'startup') AS startup_s, max(span_s) FILTER (phase = 'run') AS run_s,
        coalesce(sum(span_s ORDER BY span_s) FILTER (phase = 'validation'),
            sum(span_s ORDER BY span_s) FILTER (phase = 'evaluation')) AS validation_s,
        sum(span_s ORDER BY span_s) FILTER (phase = 'checkpoint') AS checkpoint_s
    FROM spans GROUP BY run_id),
gaps AS (
    SELECT run_id, sum(gap_s ORDER BY gap_s) FILTER (gap_part = 'validation') AS validation_s,
        sum(gap_s ORDER BY gap_s) FILTER (gap_part = 'checkpoints') AS checkpoint_s
    FROM records GROUP BY run_id),
alone AS (SELECT job_id FROM runs WHERE job_id IS NOT NULL GROUP BY job_id HAVING count(*) = 1),
job_times AS (
    SELECT run_id, sum(elapsed_s ORDER BY elapsed_s) AS job_s FROM (
        SELECT DISTINCT j.run_id, j.job_id, j.started_at, j.elapsed_s FROM jobs AS j JOIN runs AS r USING (run_id)
        WHERE step_id IS NULL AND elapsed_s > 0 AND r.job_id IN (FROM alone)) GROUP BY run_id),
timed AS (
    SELECT run_id, sum(span_s ORDER BY span_s) FILTER (n_after > 0) AS clock_s, sum(startup_s ORDER BY startup_s) AS startup_s, count(*) AS attempts
    FROM clocks GROUP BY run_id),
-- What a part takes outside of the steps, less what was found within them.
outside_times AS (
    SELECT t.*, job_s, clock_s, run_s, attempts, coalesce(job_s, nullif(clock_s, 0), run_s) AS stated_s,
        coalesce(c.startup_s, l.startup_s, 0) AS startup_s, c.startup_s IS NULL AS startup_is_logged,
        greatest(0, coalesce(l.validation_s, g.validation_s, 0) - coalesce(v.lost_s, 0)) AS validation_s,
        greatest(0, coalesce(l.checkpoint_s, g.checkpoint_s, 0) - coalesce(s.lost_s, 0)) AS checkpoint_s,
        l.validation_s IS NULL AS validation_is_gap, l.checkpoint_s IS NULL AS checkpoint_is_gap
    FROM trained AS t LEFT JOIN timed AS c USING (run_id) LEFT JOIN logged AS l USING (run_id)
    LEFT JOIN job_times USING (run_id) LEFT JOIN gaps AS g USING (run_id) LEFT JOIN within AS v ON v.run_id = t.run_id AND v.part = 'validation'
    LEFT JOIN within AS s ON s.run_id = t.run_id AND s.part = 'checkpoints'),
fitted AS (
    SELECT *, stated_s IS NULL OR stated_s < 0.99 * spent_s AS is_sum,
        CASE WHEN is_sum THEN spent_s + startup_s + validation_s + checkpoint_s
            ELSE greatest(stated_s, spent_s) END AS allocated_s,
        CASE WHEN is_sum THEN 'parts' WHEN job_s IS NOT NULL THEN 'scheduler' WHEN clock_s > 0 THEN 'clock' ELSE 'run' END
            AS time_origin,
        least(startup_s, allocated_s - spent_s) AS startup_taken,
        least(validation_s, allocated_s - spent_s - startup_taken) AS validation_taken,
        least(checkpoint_s, allocated_s - spent_s - startup_taken - validation_taken) AS checkpoint_taken,
        notes([
            CASE WHEN n_steps IS NULL THEN 'single steps are not logged: what was lost within them is not known' END,
            format('one step in {:.0f} is logged, and stands for all of them', stride),
            CASE WHEN is_sum THEN coalesce(format('the steps take {:.4g} s, longer than the {:.4g} s of the whole job: ',
                spent_s, stated_s), '') || 'the allocated time is the sum of the parts in the log' END,
            CASE WHEN attempts > 1 AND time_origin = 'clock' THEN 'the time between attempts is not counted' END,
            CASE WHEN startup_taken < startup_s - 0.005 * allocated_s
                THEN format('start-up is cut from {:.4g} s', startup_s) END,
            CASE WHEN validation_taken < validation_s - 0.005 * allocated_s THEN format(
                'validation is cut from {:.4g} s: it ran in parallel to the steps, or within them', validation_s) END,
            CASE WHEN checkpoint_taken < checkpoint_s - 0.005 * allocated_s THEN format(
                'checkpoints are cut from {:.4g} s: they were saved in parallel to the steps, or within them',
                checkpoint_s) END
            ]) AS note
    FROM outside_times),
outside AS (
    SELECT run_id, 'start-up' AS part, startup_taken AS lost_s,
        if(startup_is_logged, 'spans of start-up in the log', 'time stamps until the first step') AS evidence FROM fitted
    UNION ALL
    SELECT run_id, 'validation', validation_taken, if(validation_is_gap, 'gaps between records', 'spans in the log') FROM fitted
    UNION ALL
    SELECT run_id, 'checkpoints', checkpoint_taken,
        if(checkpoint_is_gap, 'gaps between records', 'spans in the log') FROM fitted
    UNION ALL
    SELECT run_id, 'repeated', CASE WHEN repeated_s > 0 THEN repeated_s END,
        'steps beyond the one from which a later attempt started' FROM fitted
    UNION ALL
    SELECT run_id, 'data wait', wait_s, 'the wait of the slowest rank, as logged' FROM fitted
    UNION ALL
    SELECT run_id, part, lost_s,
        format('{} record{} beyond the usual step of {:.4g} s', n_records, if(n_records = 1, '', 's'), usual_s)
            || CASE WHEN n_periodic > 0 THEN format(', {} of them every {}th step', n_periodic, period_steps) ELSE '' END
    FROM within JOIN trained USING (run_id)),
parts AS (
    SELECT run_id, part, sum(lost_s) AS lost_s, string_agg(evidence, '; ' ORDER BY evidence) AS evidence
    FROM outside WHERE lost_s IS NOT NULL AND (lost_s > 0 OR part = 'data wait') GROUP BY run_id, part),
all_parts AS (
    FROM parts
    UNION ALL BY NAME
    SELECT run_id, 'rest' AS part, allocated_s - spent_s - startup_taken - validation_taken - checkpoint_taken AS left_s,
        if(left_s < 1e-12 * allocated_s, 0, left_s) AS lost_s, 'nothing in the log explains it' AS evidence FROM fitted
    UNION ALL BY NAME
    SELECT f.run_id, 'useful' AS part, spent_s - repeated_s - coalesce(wait_s, 0)
        - coalesce((SELECT sum(w.lost_s) FROM within AS w WHERE w.run_id = f.run_id), 0) AS lost_s,
        coalesce(format('{:.0f} steps of {:.4g} s', n_steps - repeated_steps, usual_s), 'training parts of epochs') AS evidence
    FROM fitted AS f)
SELECT run_id, allocated_s, time_origin, list_position(['start-up', 'validation', 'checkpoints', 'repeated', 'first batches',
        'data wait', 'slow tail', 'rest', 'useful'], part)::INTEGER AS part_order, part, lost_s,
    CASE part WHEN 'repeated' THEN repeated_steps WHEN 'useful' THEN n_steps - repeated_steps END AS counted_steps,
    evidence, note
FROM all_parts JOIN fitted USING (run_id)
ORDER BY run_id, part_order
