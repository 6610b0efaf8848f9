-- Accuracy or loss over the course of a training run, thinned for plotting.
--
-- Answers: How did accuracy or loss develop, thinned to what a plot can show?
--   The rows of accuracy_curve.  A long run is cut into pieces of equal length: by epoch, by step and by time.  Each
--   piece keeps its lowest and its highest score, for training and validation separately.
--
-- Formula: none; each row is a row of accuracy_curve.
--
-- Limits: The order within a piece is lost.
--
-- Glance: run_id elapsed_s epoch step score phase n_points clock
--
-- Partition: run_id
--
-- Sources: accuracy_curve
--
-- Parameters: runs, score_name
--   slots := 1000    pieces of a run, each of which keeps two records
--
-- Columns:
--   run_id       VARCHAR     run
--   file_id      VARCHAR     file of the value; for a validation, that of its last batch
--   line         BIGINT      line of the value
--   attempt      INTEGER     restart
--   phase        VARCHAR     train or validation; NULL for a name in `metrics`
--   epoch        DOUBLE      epoch
--   step         BIGINT      step
--   score        DOUBLE      accuracy from 0 to 1, or loss
--   n_records    BIGINT      records that the score is a mean of
--   elapsed_s    DOUBLE s    time elapsed, by `clock`
--   clock        VARCHAR     run start, first record, or sum of steps
--   n_points     BIGINT      rows of the run before thinning
WITH
points AS (
    SELECT *, count(*) OVER of_run AS n_points,
        {'score': score, 'line': line} AS by_score,  -- one of several equal scores stays
        [epoch, step, elapsed_s] AS coordinates,
        [min(epoch) OVER of_run, min(step) OVER of_run, min(elapsed_s) OVER of_run] AS firsts,
        [max(epoch) OVER of_run, max(step) OVER of_run, max(elapsed_s) OVER of_run] AS lasts
    FROM accuracy_curve(runs := runs, score_name := score_name)
    WINDOW of_run AS (PARTITION BY run_id)),
slotted AS (
    SELECT *, list_transform(range(1, 4),
        lambda n: floor(slots * (coordinates[n] - firsts[n]) / nullif(lasts[n] - firsts[n], 0))) AS slot
    FROM points)
SELECT run_id, file_id, line, attempt, phase, epoch, step, score, n_records, elapsed_s, clock, n_points
FROM slotted
WINDOW of_epoch AS (PARTITION BY run_id, attempt, phase, slot[1]),
    of_step AS (PARTITION BY run_id, attempt, phase, slot[2]),
    of_time AS (PARTITION BY run_id, attempt, phase, slot[3])
QUALIFY n_points <= slots OR by_score IN (
    min(by_score) OVER of_epoch, max(by_score) OVER of_epoch, min(by_score) OVER of_step, max(by_score) OVER of_step,
    min(by_score) OVER of_time, max(by_score) OVER of_time)
ORDER BY run_id, attempt, file_id, line
