-- Runs whose records are single steps, each logged once, at equal distances, in the order of the file.
--
-- Answers: Of which runs is the place of a record known from its step alone?
--   The records are of one file and one attempt.  Epochs rise with the steps.  The log names no warm-up of its own.  Of
--   such a run nothing has to be gathered over ranks nor sorted, which takes most of the time of millions of records.
--   A run whose records come in another order is not here, and is read as all others are: the answers are the same.
--
-- Helper: used by logged_steps
--
-- Sources: steps, members, selected_runs
--
-- Parameters:
--   runs := ''    SQL condition over the columns of `runs`, as text; empty takes all
--
-- Columns:
--   run_id        VARCHAR    run
--   first_step    BIGINT     step of the first record
--   apart         BIGINT     steps from one record to the next
WITH
-- `main`: a query that calls this one may have a table of its own called steps or members.
-- A part has a number: of texts, the one of the row before would be kept for every row.
parts AS MATERIALIZED (
    SELECT file_id, part, run_id, why <> 'twin' AS counts, row_number() OVER () AS nth_part
    FROM main.members WHERE run_id IN (FROM selected_runs(runs := runs))),
records AS (
    SELECT nth_part, attempt, try_cast(step AS INTEGER)::BIGINT AS number, epoch,
        (isfinite(step_s) AND value_kind = 'instant' AND coalesce(averaged_steps, 1) = 1) IS TRUE AS is_single
    FROM main.steps JOIN parts USING (file_id, part) WHERE phase = 'train'),
-- Each with the one before it, as they are read: without an order, and without a partition, nothing is sorted.
in_turn AS (
    SELECT *, (nth_part = lag(nth_part) OVER ()) IS TRUE AS goes_on, number - lag(number) OVER () AS risen,
        (epoch < lag(epoch) OVER ()) IS NOT TRUE AS is_epoch_in_order
    FROM records),
of_parts AS (
    SELECT nth_part, min(number) AS first_step, coalesce(min(risen) FILTER (goes_on), 1) AS apart,
        count(*) FILTER (is_single AND number IS NOT NULL) = count(*)
            AND count(*) FILTER (goes_on AND is_epoch_in_order) = count(*) - 1
            AND apart > 0 AND apart = coalesce(max(risen) FILTER (goes_on), 1)
            AND count(epoch) IN (0, count(*)) AND count(attempt) IN (0, count(*))
            AND min(attempt) IS NOT DISTINCT FROM max(attempt) AS is_in_order
    FROM in_turn GROUP BY nth_part)
SELECT run_id, min(first_step) AS first_step, min(apart) AS apart
FROM of_parts JOIN parts USING (nth_part)
WHERE run_id NOT IN (SELECT run_id FROM main.steps WHERE phase = 'warmup' AND run_id IS NOT NULL)
GROUP BY run_id HAVING count(*) = 1 AND bool_and(is_in_order AND counts)
ORDER BY run_id
