-- Epochs of the selected runs, and which of them the log has from the first batch to the last.
--
-- Answers: Of which epochs is the first, or the last, batch known to be in the log?
--
-- Helper: used by selected_steps and work_done
--
-- Sources: logged_steps
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR    run
--   attempt            INTEGER    restart
--   epoch              DOUBLE     epoch; epochs with a fraction do not number batches, and are not included
--   first_step         BIGINT     smallest step of a record
--   last_step          BIGINT     largest step of a record
--   n_steps            BIGINT     records
--   has_every_batch    BOOLEAN    whether no step is missing in between, and there are three or more
--   starts_in_log      BOOLEAN    whether the first batch is there: the step is 0 or 1, or another epoch comes before, up
--                                 to the step before
--   ends_in_log        BOOLEAN    whether the last batch is there: another epoch follows from the next step on, or an
--                                 earlier complete one is no longer
WITH
-- Where no record names its epoch, there is nothing to gather.
epochs AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, epoch,
        min(step) AS first_step, max(step) AS last_step, count(*) AS n_steps,
        -- From a record to the next, where the log prints not every step.
        coalesce(ceil((max(step) - min(step)) / nullif(count(*) - 1, 0)), 'Infinity'::DOUBLE) AS spacing,
        coalesce(min(step) <= 1 OR min(step) - lag(max(step)) OVER of_attempt <= spacing, false) AS starts_in_log,
        coalesce(lead(min(step)) OVER of_attempt - max(step) <= spacing, false) AS is_followed
    FROM logged_steps(runs := runs, of_epochs := true)
    WHERE value_kind = 'instant' AND epoch = floor(epoch)
    GROUP BY run_id, coalesce(attempt, 0), epoch
    WINDOW of_attempt AS (PARTITION BY run_id, coalesce(attempt, 0) ORDER BY epoch))
SELECT run_id, attempt, epoch, first_step, last_step, n_steps,
    n_steps = last_step - first_step + 1 AND n_steps >= 3 AS has_every_batch,
    starts_in_log,
    is_followed OR coalesce(
        n_steps >= max(n_steps) FILTER (WHERE starts_in_log AND is_followed) OVER earlier, false) AS ends_in_log
FROM epochs
WINDOW earlier AS (PARTITION BY run_id ORDER BY attempt, epoch ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
ORDER BY run_id, attempt, epoch
