-- Runs whose records are single steps, each logged once, at equal distances.
--
-- Answers: For which runs does the step alone determine the position of a record?
--   All records are from one file and one attempt.  Epochs rise with the steps.  The log names no warm-up of its own.
--   For such runs nothing has to be gathered over ranks or sorted, which takes most of the time for millions of
--   records.  A run whose records come in another order is not included, and is read like all others: the answers are
--   the same.
--
-- Helper: used by selected_steps, logged_steps and gathered_steps
--
-- Pays from: 10000 steps of runs without
--   phase = 'warmup' OR phase = 'train' AND (value_kind IS DISTINCT FROM 'instant' OR averaged_steps <> 1)
--
-- Sources: steps, members, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR    run
--   first_step    BIGINT     step of the first record
--   apart         BIGINT     steps from one record to the next
WITH
-- `main`: a query that calls this one may have a WITH part called steps or members.
-- Runs with other records.  Almost free where there are none: DuckDB sees it in the ranges of the row groups.
others AS (
    SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind <> 'instant'
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND value_kind IS NULL
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'train' AND averaged_steps <> 1
    UNION ALL SELECT run_id FROM main.steps WHERE phase = 'warmup'),
-- Parts are numbered because the part of the previous row is kept for every row: as text it would fill memory.
parts AS MATERIALIZED (
    SELECT file_id, part, run_id, why <> 'twin' AS counts, row_number() OVER () AS nth_part
    FROM main.members
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND run_id NOT IN (SELECT run_id FROM others WHERE run_id IS NOT NULL)),
records AS (
    SELECT nth_part, attempt, try_cast(step AS INTEGER)::BIGINT AS number, epoch,
        isfinite(step_s) IS TRUE AS is_timed
    FROM main.steps JOIN parts USING (file_id, part) WHERE phase = 'train'),
-- Each record with the one before it, as they are read: without an order and a partition nothing is sorted.
in_turn AS (
    SELECT *, number - lag(number) OVER () AS risen,
        (nth_part = lag(nth_part) OVER () AND number > lag(number) OVER () AND (epoch < lag(epoch) OVER ()) IS NOT TRUE) IS TRUE AS rises
    FROM records),
-- A file may be stored in pieces that do not follow each other.  Within a piece the steps rise by the same amount.
with_rhythm AS (
    SELECT *, rises AND (risen <> lag(risen) OVER () AND lag(rises) OVER ()) IS NOT TRUE AS goes_on FROM in_turn),
in_pieces AS (
    SELECT *, sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER (ROWS UNBOUNDED PRECEDING) AS piece FROM with_rhythm),
pieces AS (
    SELECT nth_part, min(number) AS first_step, max(number) AS last_step, min(epoch) AS first_epoch, max(epoch) AS last_epoch,
        min(risen) FILTER (goes_on) AS least_risen, max(risen) FILTER (goes_on) AS most_risen,
        bool_and(is_timed AND number IS NOT NULL) AS is_timed,
        count(*) AS n, count(epoch) AS n_epochs, count(attempt) AS n_attempts,
        min(attempt) AS first_attempt, max(attempt) AS last_attempt
    FROM in_pieces GROUP BY nth_part, piece),
with_gaps AS (
    SELECT *, first_step - lag(last_step) OVER of_part AS gap, lag(last_epoch) OVER of_part AS epoch_before
    FROM pieces WINDOW of_part AS (PARTITION BY nth_part ORDER BY first_step)),
of_parts AS (
    SELECT nth_part, min(first_step) AS first_step, coalesce(min(least_risen), min(gap), 1) AS apart,
        bool_and(is_timed AND (first_epoch < epoch_before) IS NOT TRUE) AND apart > 0
            AND coalesce(min(least_risen), apart) = apart AND coalesce(max(most_risen), apart) = apart
            AND coalesce(min(gap), apart) = apart AND coalesce(max(gap), apart) = apart
            AND sum(n_epochs) IN (0, sum(n)) AND sum(n_attempts) IN (0, sum(n))
            AND min(first_attempt) IS NOT DISTINCT FROM max(last_attempt) AS is_in_order
    FROM with_gaps GROUP BY nth_part)
SELECT run_id, min(first_step) AS first_step, min(apart) AS apart
FROM of_parts JOIN parts USING (nth_part)
GROUP BY run_id HAVING count(*) = 1 AND bool_and(is_in_order AND counts)
ORDER BY run_id
