-- Slow steps: which they are, what they cost, and whether they come singly, in a rhythm or for a while.
--
-- Answers: Which steps are slow, and what do they have in common?
--   A record is slow beyond the departure from the fast mode (see elbow) and beyond 1.05 times its median.  This looks
--   at the records that the statistics read, and at the first batches of epochs.  The classes
--   (statistics/slow_classes.py):
--   first_of_epoch   first batch of an epoch whose start is in the log
--   regime_shift     in a level of ten records or more that is slow as a whole
--   periodic         most of the steps at this distance are slow, and more than by chance
--   isolated         none of these
--   A run without slow steps has one row that says why.
--
-- Formula:
--   slow: t > max(end of the fast mode, 1.05 of its median), as in `elbow`.  cost_s = (t - fast_s) k, with k the steps
--   of the record; cost_percent = 100 cost_s / sum(t k).
--   periodic: of the steps of one remainder at a distance, 60 % or more are slow, and more than by chance.
--   regime_shift: a level of ten records or more that is slow as a whole, or a row of slow records too long for chance
--   (probability 0.001).
--
-- Reference: statistics/slow_classes.py, statistics/level_shifts.py.
--
-- Limits: Below 40 records nothing is called slow.  A rhythm must be exact in steps: one that comes about every hundred
--   steps counts as isolated.
--
-- Glance: run_id step step_s fast_s cost_s cost_percent class period_steps epoch line reason
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: selected_steps, epochs_logged
--
-- Parameters: runs, epochs, warmup, exclude
--   slower_than := 0    how many times the median of the fast mode a slow step takes, such as 1.5; 0 finds the limit in
--                       the distribution, as above
--
-- Columns:
--   run_id            VARCHAR     run
--   file_id           VARCHAR     file of the record
--   line              BIGINT      line of the record
--   attempt           INTEGER     restart
--   epoch             DOUBLE      epoch
--   step              BIGINT      step, the last of an interval
--   averaged_steps    BIGINT      steps that the time is a mean of
--   step_s            DOUBLE s    time of the step
--   fast_s            DOUBLE s    median of the fast mode
--   limit_s           DOUBLE s    records that took longer are slow
--   cost_s            DOUBLE s    time beyond the fast mode, of all steps of the record
--   cost_percent      DOUBLE      cost_s in percent of the time of all records considered
--   class             VARCHAR     first_of_epoch, regime_shift, periodic or isolated
--   period_steps      BIGINT      steps from one to the next, for periodic ones
--   reason            VARCHAR     why the run has no slow steps; NULL in rows of slow steps
WITH
records AS (
    SELECT s.*, (s.step = l.first_step AND l.starts_in_log AND l.n_steps > 1) IS TRUE AS is_first,
        row_number() OVER (PARTITION BY s.run_id ORDER BY position_in_run) - 1 AS position,
        sum(step_s * averaged_steps) OVER (PARTITION BY s.run_id ORDER BY position_in_run
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS run_s
    FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS s
    LEFT JOIN epochs_logged(runs := runs) AS l ON l.run_id = s.run_id AND l.attempt = s.attempt AND l.epoch = s.epoch
    WHERE coalesce(excluded_by, ['first_of_epoch']) = ['first_of_epoch'] AND s.step IS NOT NULL
        AND coalesce(value_kind, 'instant') IN ('instant', 'interval_mean')),
series AS (
    SELECT run_id, any_value(run_s) AS run_s, slow_classes(list(step_s ORDER BY position), list(step ORDER BY position),
        list(is_first::INTEGER ORDER BY position), list((excluded_by IS NULL)::INTEGER ORDER BY position),
        slower_than::DOUBLE) AS slow
    FROM records GROUP BY run_id),
slow_records AS (
    SELECT run_id, slow.fast_s AS fast_s, slow.limit_s AS limit_s, unnest(slow.position) AS position,
        unnest(slow.kind) AS class, unnest(slow.period) AS period_steps FROM series)
SELECT run_id, file_id, line, attempt, epoch, step, averaged_steps, step_s, fast_s, limit_s,
    (step_s - fast_s) * averaged_steps AS cost_s, 100 * (step_s - fast_s) * averaged_steps / run_s AS cost_percent,
    class, period_steps, NULL::VARCHAR AS reason
FROM slow_records JOIN records USING (run_id, position)
UNION ALL BY NAME
SELECT run_id, slow.fast_s AS fast_s, slow.limit_s AS limit_s,
    coalesce(slow.reason, format('no record took longer than {:.4g} s', slow.limit_s)) AS reason
FROM series WHERE slow.position = []
ORDER BY run_id, attempt, epoch, step
