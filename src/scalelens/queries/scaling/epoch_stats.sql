-- The first epoch of each attempt compared with the later ones.
--
-- Answers: How much longer did the first epoch take than the later ones?
--   Compilation and cold caches make it longer.  How long is an epoch after that?
--   This is the whole epoch where the log has it, else its training part (`time_of`).  A single epoch has nothing to be
--   compared with, and a last epoch that broke off does not count.  The later epochs have a median and a range, not an
--   interval: there are too few of them.  What the first epoch took beyond that median is the cost of compiling,
--   filling caches and tuning, if it lies outside of the range; within the range, it is an epoch like any other.
--
-- Formula: extra_s = t1 - m and first_over_later = t1 / m, with t1 the first epoch and m the median of the later
--   ones; is_apart where t1 exceeds each of three later ones or more.
--
-- Limits: The range of the later epochs is not a 95 % interval.  Times do not show why the first epoch took longer:
--   compilation, caches and start-up look alike.
--
-- Glance: run_id n_epochs first_epoch_s later_epoch_s extra_s first_batch_s first_over_later is_apart time_of attempt
--
-- When empty: no log times several epochs
--
-- Partition: run_id
--
-- Sources: epoch_times
--
-- Parameters: runs, warmup, exclude
--
-- Columns:
--   run_id                VARCHAR     run
--   attempt               INTEGER     restart
--   time_of               VARCHAR     epoch, or train where the log has no whole epochs
--   n_epochs              BIGINT      epochs
--   first_epoch_s         DOUBLE s    the first epoch
--   later_epoch_s         DOUBLE s    median of the others
--   later_epoch_s_low     DOUBLE s    shortest of the others
--   later_epoch_s_high    DOUBLE s    longest of the others
--   first_over_later      DOUBLE      the first over the median of the others
--   extra_s               DOUBLE s    what the first epoch took beyond that median
--   first_batch_s         DOUBLE s    what its first batch took beyond the median batch; NULL where not known
--   is_apart              BOOLEAN     whether the first is longer than each of the others, of which there are three or
--                                     more
WITH
times AS (
    SELECT *, count(epoch_s) OVER of_attempt = count(*) OVER of_attempt AS has_epochs,
        CASE WHEN has_epochs THEN epoch_s ELSE train_s END AS span_s
    FROM epoch_times(runs := runs, warmup := warmup, exclude := exclude)
    WINDOW of_attempt AS (PARTITION BY run_id, attempt)),
complete_epochs AS (
    SELECT *, row_number() OVER (PARTITION BY run_id, attempt ORDER BY epoch) = 1 AS is_first
    FROM times WHERE span_s > 0 AND NOT is_cut)
SELECT run_id, attempt, CASE WHEN bool_and(has_epochs) THEN 'epoch' ELSE 'train' END AS time_of, count(*) AS n_epochs,
    max(span_s) FILTER (is_first) AS first_epoch_s, median(span_s) FILTER (NOT is_first) AS later_epoch_s,
    min(span_s) FILTER (NOT is_first) AS later_epoch_s_low, max(span_s) FILTER (NOT is_first) AS later_epoch_s_high,
    first_epoch_s / later_epoch_s AS first_over_later, first_epoch_s - later_epoch_s AS extra_s,
    max(first_batch_s) FILTER (is_first) AS first_batch_s,
    count(*) > 3 AND first_epoch_s > later_epoch_s_high AS is_apart
FROM complete_epochs GROUP BY run_id, attempt HAVING count(*) > 1
ORDER BY run_id, attempt
