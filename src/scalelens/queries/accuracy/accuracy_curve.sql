-- Accuracy or loss over the course of a training: by epoch, by step, by time.
--
-- Answers: How well did the model do, and when?
--   If several ranks print scores, those of the first rank with scores count: in a pipeline only the last stage has any.
--   Validation counts as a whole: its batches become one row per epoch.  Training rows are the records as logged, each
--   for one batch or for the batches since the previous record.  Where ranks that are not told apart log a step one
--   after another, it is one row, with the mean of their scores.
--
-- Formula: elapsed_s is the wall-clock time since the run began, where the log has both times; else the wall-clock time
--   since the first time stamp, less the step that it ends; else the sum of the training steps logged so far.  `clock`
--   says which.
--
-- Assumptions: MLPerf's eval_accuracy is an accuracy for its benchmarks resnet and bert; for others it may be a loss.
--   A metric `val_accuracy`, `valid_acc` or the like is the accuracy of a validation if all its values are from 0 to 1; a
--   metric `accuracy` next to it is that of the training.  Next to fastai's `valid_loss` it is that of a validation.  A
--   bare `accuracy` may be either, since most trainers print that of the training so: its phase is NULL.  What MLPerf's
--   rules make a log say counts more than what its program says as well.
--   A validation that names an epoch took place at its end.
--
-- Limits: Runs are left out of which nothing tells whether several launches or several ranks wrote the records: one after
--   another these would be a course that no training took.
--   A sum of steps leaves out start-up, validation and checkpoints.  Time spent on work that a restart repeated
--   counts.
--
-- Helper: used by time_to_accuracy
--
-- Glance: run_id elapsed_s epoch step score phase n_records clock
--
-- When empty: no run logs such a score, or nothing tells apart the launches or ranks that logged it
--
-- Sources: steps, metrics, phases, params, runs, selected_steps, selected_runs
--
-- Parameters: runs, score_name
--
-- Columns:
--   run_id       VARCHAR     run
--   file_id      VARCHAR     file of the value; for a validation, that of its last batch
--   line         BIGINT      line of the value
--   attempt      INTEGER     restart
--   phase        VARCHAR     train or validation; NULL where the log does not say, and for a name in `metrics`
--   epoch        DOUBLE      epoch
--   step         BIGINT      step
--   score        DOUBLE      accuracy from 0 to 1, or loss
--   n_records    BIGINT      records that the score is a mean of
--   elapsed_s    DOUBLE s    time elapsed, by `clock`
--   clock        VARCHAR     run start, first record, or sum of steps
WITH
of_unknown_writers AS (SELECT run_id FROM params WHERE key = 'writers' AND value = 'ambiguous'),
of_ranks AS (
    SELECT s.run_id, file_id, line, attempt, phase, epoch, step, ts, averaged_steps, value_kind, coalesce(rank, 0) AS rank,
        CASE score_name WHEN 'accuracy' THEN accuracy WHEN 'loss' THEN loss END AS score
    FROM steps AS s
    WHERE s.run_id IN (FROM selected_runs(runs := runs)) AND score IS NOT NULL AND phase IN ('train', 'validation')
        AND s.run_id NOT IN (FROM of_unknown_writers)),
scored AS (
    SELECT * EXCLUDE (rank)
    FROM of_ranks JOIN (SELECT run_id, min(rank) AS rank FROM of_ranks GROUP BY run_id) USING (run_id, rank)),
validations AS (
    SELECT run_id, arg_max(file_id, line) AS file_id, max(line) AS line, attempt, phase, epoch,
        CASE WHEN epoch IS NULL THEN max(step) END AS step, max(ts) AS ts,
        CASE WHEN bool_or(value_kind = 'running_mean') THEN arg_max(score, line)
            ELSE sum(score * coalesce(averaged_steps, 1) ORDER BY line) / sum(coalesce(averaged_steps, 1)) END AS score,
        count(*) AS n_records
    FROM scored WHERE phase = 'validation'
    GROUP BY run_id, attempt, phase, epoch, CASE WHEN epoch IS NULL THEN concat(file_id, line) END),
beginnings AS (
    SELECT *, step IS NULL OR {'epoch': epoch, 'step': step} IS DISTINCT FROM
        {'epoch': lag(epoch) OVER in_order, 'step': lag(step) OVER in_order} AS begins
    FROM scored WHERE phase = 'train'
    WINDOW in_order AS (PARTITION BY run_id, attempt, file_id ORDER BY line)),
trained AS (
    SELECT run_id, file_id, max(line) AS line, attempt, phase, epoch, step, max(ts) AS ts,
        sum(score ORDER BY line) / count(*) AS score, count(*) AS n_records
    FROM (SELECT *, count_if(begins) OVER (PARTITION BY run_id, attempt, file_id ORDER BY line) AS place FROM beginnings)
    GROUP BY run_id, file_id, attempt, phase, epoch, step, place),
evaluations AS (SELECT run_id, file_id, line, epoch, step, ts FROM phases WHERE phase = 'evaluation'),
-- Metrics that are scores.
names_of_metrics AS (
    SELECT m.run_id, m.name, regexp_matches(m.name, '(?i)^val(id|idation)?[_/ .-]acc(uracy)?$') AS names_validation
    FROM metrics AS m JOIN runs AS r USING (run_id)
    WHERE m.run_id IN (FROM selected_runs(runs := runs)) AND m.run_id NOT IN (FROM of_unknown_writers)
        AND (m.name = score_name OR (score_name = 'accuracy' AND (names_validation
            OR (m.name = 'eval_accuracy' AND r.model IN ('resnet', 'bert')))))
    GROUP BY m.run_id, m.name
    HAVING m.name = score_name OR NOT names_validation OR (min(m.value) >= 0 AND max(m.value) <= 1
        AND m.run_id NOT IN (SELECT run_id FROM scored WHERE phase = 'validation'))),
scores_of_metrics AS (
    SELECT run_id, name,
        CASE WHEN score_name <> 'accuracy' THEN NULL
            WHEN names_validation OR name = 'eval_accuracy' THEN 'validation'
            WHEN bool_or(names_validation) OVER of_run THEN 'train'
            WHEN run_id IN (SELECT run_id FROM metrics WHERE name = 'valid_loss') THEN 'validation' END AS phase
    FROM names_of_metrics
    WINDOW of_run AS (PARTITION BY run_id)
    QUALIFY NOT names_validation OR (NOT bool_or(name = 'eval_accuracy') OVER of_run
        AND name = max(name) FILTER (names_validation) OVER of_run)),
-- A metric has neither an epoch nor a time: it takes those of the nearest evaluation in the same file.  In a table of
-- epochs its step is the epoch of its row.
epochs_of_lines AS (
    SELECT file_id, line, epoch FROM steps
    WHERE step IS NULL AND epoch IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY ALL),
of_metrics AS (
    SELECT m.run_id, m.file_id, m.line, m.attempt,
        c.phase, m.value AS score, l.epoch AS epoch,
        CASE WHEN l.epoch IS NULL THEN m.step END AS metric_step,
        arg_min({'epoch': e.epoch, 'step': e.step, 'ts': e.ts}, abs(e.line - m.line)) AS evaluation
    FROM metrics AS m JOIN scores_of_metrics AS c ON c.run_id = m.run_id AND c.name = m.name
    LEFT JOIN epochs_of_lines AS l ON l.file_id = m.file_id AND l.line = m.line AND l.epoch = m.step
    LEFT JOIN evaluations AS e ON e.run_id = m.run_id AND e.file_id = m.file_id AND abs(e.line - m.line) <= 3
    WHERE coalesce(m.rank, 0) = 0
    GROUP BY ALL),
points AS (
    FROM trained
    UNION ALL BY NAME FROM validations
    UNION ALL BY NAME
    SELECT run_id, file_id, line, attempt, phase, coalesce(epoch, evaluation.epoch) AS epoch,
        coalesce(metric_step, evaluation.step) AS step,
        evaluation.ts AS ts, score, 1 AS n_records
    FROM of_metrics),
starts AS (
    SELECT run_id, min(ts - to_microseconds((span_s * 1e6)::BIGINT)) AS started_at
    FROM phases WHERE phase = 'run' AND span_s IS NOT NULL AND ts IS NOT NULL GROUP BY run_id),
firsts AS (
    SELECT run_id, min(ts - to_microseconds((coalesce(step_s * averaged_steps, 0) * 1e6)::BIGINT)) AS started_at
    FROM steps WHERE phase = 'train' AND ts IS NOT NULL GROUP BY run_id),
-- A record stands for the steps since the one before it, as in work_done.
clocked AS MATERIALIZED (
    SELECT p.*, CASE WHEN p.ts >= s.started_at THEN 'run start' WHEN p.ts >= f.started_at THEN 'first record' END AS clock,
        epoch_us(p.ts - if(clock = 'run start', s.started_at, f.started_at)) / 1e6 AS clocked_s
    FROM points AS p LEFT JOIN starts AS s USING (run_id) LEFT JOIN firsts AS f USING (run_id)),
-- Only where no clock tells the time: to find the records of each point takes longer than all else.
records AS (
    SELECT *, step - lag(step) OVER (PARTITION BY run_id, attempt ORDER BY position_in_run) AS since,
        step_s * CASE WHEN since > 0 THEN since ELSE averaged_steps END AS took_s
    FROM selected_steps(runs := runs)
    WHERE run_id IN (SELECT run_id FROM clocked WHERE clock IS NULL)
        AND NOT list_has_any(coalesce(excluded_by, []), ['summary', 'logged_warmup'])),
sums AS (
    SELECT run_id, attempt, epoch, step, sum(took_s) OVER (PARTITION BY run_id ORDER BY position_in_run) AS summed_s
    FROM records),
ends AS (SELECT run_id, attempt, floor(epoch) AS epoch, max(summed_s) AS epoch_end_s FROM sums GROUP BY ALL),
timed AS (
    SELECT *, clocked_s AS elapsed_s FROM clocked WHERE clock IS NOT NULL
    UNION ALL BY NAME
    SELECT p.* EXCLUDE (clock), CASE WHEN p.step IS NULL THEN epoch_end_s ELSE summed_s END AS elapsed_s,
        CASE WHEN elapsed_s IS NOT NULL THEN 'sum of steps' END AS clock
    FROM (FROM clocked WHERE clock IS NULL) AS p
    ASOF LEFT JOIN (FROM sums WHERE step IS NOT NULL) AS s
        ON s.run_id = p.run_id AND s.attempt = p.attempt AND s.step <= p.step
    LEFT JOIN ends AS e ON e.run_id = p.run_id AND e.attempt = p.attempt AND e.epoch = floor(p.epoch))
SELECT run_id, file_id, line, attempt, phase, epoch, step, score, n_records, elapsed_s, clock
FROM timed
ORDER BY run_id, attempt, file_id, line, epoch, step, phase, score
