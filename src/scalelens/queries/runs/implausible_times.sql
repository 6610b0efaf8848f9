-- Times of steps that their job or the stamps of their log contradict.
--
-- Answers: Do the steps together fit into their job, and are they as far apart as they take?
--   A log whose steps take 0.13 s each and are printed 1.3 s apart has the time of something else than a step.
--
-- Formula: the tenth of the gaps between the stamps of two records, divided by the steps between them, that is shortest: a
--   validation or a checkpoint is not in all gaps.  Stamps of whole seconds count as a second closer.
--
-- Limits: Ten gaps at least, of the first 64 records of each rank.  Times within a factor of 1.6 are not listed: they may
--   leave out the data or the logging.
--
-- Helper: used by implausible
--
-- Partition: run_id
--
-- Sources: steps, step_times, jobs, runs, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR    run
--   file_id      VARCHAR    file of the first such number; NULL where it follows from many
--   line         BIGINT     its line
--   quantity     VARCHAR    step time
--   tool         VARCHAR    framework of the run
--   printed_value  DOUBLE   what is printed: of all steps together, or the median
--   expected     DOUBLE     what the job or the stamps leave for it
--   unit         VARCHAR    s
--   n_records    BIGINT     records with such a time
--   certainty    VARCHAR    how sure the meaning is
--   relation     VARCHAR    which relation it breaks
--   meaning      VARCHAR    what is probably meant
WITH
selected AS (FROM selected_runs(runs := runs)),
-- Rounded times and the job's own start leave a little more.
jobs_of AS (SELECT run_id, max(elapsed_s) AS elapsed_s FROM jobs WHERE elapsed_s > 0 GROUP BY run_id HAVING count(DISTINCT job_id) = 1),
trained AS (
    SELECT t.run_id, sum(step_s * coalesce(averaged_steps, 1)) AS steps_s, count(*) AS n_records
    FROM step_times AS t
    WHERE value_kind IN ('instant', 'interval_mean') AND NOT coalesce(is_implausible, false) AND t.run_id IN (SELECT run_id FROM jobs_of)
        AND t.run_id IN (FROM selected)
    GROUP BY t.run_id),
too_long AS (
    SELECT run_id, NULL::VARCHAR AS file_id, NULL::BIGINT AS line, steps_s AS printed_value, elapsed_s AS expected, n_records,
        'the steps together take longer than their job' AS relation,
        'times of several ranks or epochs counted as one, a mean that was taken for one step, or a record printed twice' AS meaning
    FROM trained JOIN jobs_of USING (run_id) WHERE steps_s > 1.1 * elapsed_s + 60),
first_records AS (
    SELECT run_id, file_id, part, attempt, rank, place,
        unnest(arg_min({'line': line, 'step': step, 'step_s': step_s, 'us': epoch_us(ts)}, line, 64)) AS record
    FROM steps
    WHERE step IS NOT NULL AND ts IS NOT NULL AND step_s > 0 AND implausible IS NULL AND coalesce(phase, 'train') = 'train'
        AND value_kind IN ('instant', 'interval_mean') AND run_id IN (FROM selected)
    GROUP BY run_id, file_id, part, attempt, rank, place),
gaps AS (
    SELECT run_id, file_id, record.line AS line, record.step_s AS step_s, record.us AS us,
        (us - lag(us) OVER rank_of_run) / 1e6 AS apart_s, record.step - lag(record.step) OVER rank_of_run AS n_steps
    FROM first_records
    WINDOW rank_of_run AS (PARTITION BY run_id, file_id, part, attempt, rank, place ORDER BY record.line)),
roundings AS (SELECT run_id, bool_and(us % 1000000 = 0)::INT AS rounding_s FROM gaps GROUP BY run_id),
stamped AS (
    SELECT run_id, arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line,
        median(step_s) AS printed_value, quantile_cont((apart_s - rounding_s) / n_steps, 0.1) AS expected, count(*) AS n_records
    FROM gaps JOIN roundings USING (run_id) WHERE n_steps > 0 AND apart_s >= 0 GROUP BY run_id HAVING count(*) >= 10),
too_short AS (
    SELECT *, format('by the stamps of its log, nine steps of ten take {:.3g} s or more', expected) AS relation,
        'the time of a micro-batch or of a part of the step, without data, logging or validation; or a rate that counts too much'
            AS meaning
    FROM stamped WHERE expected > 1.6 * printed_value)
SELECT run_id, file_id, line, 'step time' AS quantity, framework AS tool, printed_value, expected, 's' AS unit, n_records,
    'possible' AS certainty, relation, meaning
FROM (FROM too_long UNION ALL BY NAME FROM too_short) JOIN (SELECT run_id, framework FROM runs) USING (run_id)
ORDER BY run_id, line
