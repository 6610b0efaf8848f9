-- Work of each run: steps, samples, tokens and epochs that it processed.
--
-- Answers: How much was done in all, including warm-up and repeated steps?
--   Where a log prints every tenth step, the nine between count too: a record stands for the steps since the previous
--   record of its attempt, else for as many as it is a mean of.  A mean over an epoch or a run of unknown length stands
--   for an unknown number of steps: the work of its run is not known either, unless the epochs state it.
--
-- Helper: used by energy_efficiency
--
-- Sources: selected_steps, phases, epochs_logged, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id        VARCHAR           run
--   steps_done    BIGINT            steps
--   samples       DOUBLE samples    samples of these steps; else of the epochs
--   tokens        DOUBLE tokens     tokens of these steps
--   n_epochs      BIGINT            whole epochs: as the log names them, else as its steps show them
WITH
records AS (
    SELECT *, step - lag(step) OVER (PARTITION BY run_id, attempt ORDER BY position_in_run) AS since,
        steps_of_record(since, step, averaged_steps, value_kind) AS stands_for
    FROM selected_steps(runs := runs) WHERE NOT list_has_any(coalesce(excluded_by, []), ['summary', 'logged_warmup'])),
steps AS (
    SELECT run_id, sum(stands_for)::BIGINT AS steps_done, sum(stands_for * samples ORDER BY position_in_run) AS samples,
        sum(stands_for * tokens ORDER BY position_in_run) AS tokens
    FROM records GROUP BY run_id HAVING bool_and(stands_for IS NOT NULL)),
logged_epochs AS (
    SELECT run_id, count(DISTINCT (attempt, epoch)) AS n_epochs, sum(samples) AS samples
    FROM phases WHERE phase = 'epoch' AND coalesce(rank, 0) = 0 GROUP BY run_id),
complete_epochs AS (
    SELECT run_id, count(*) AS n_epochs FROM epochs_logged(runs := runs)
    WHERE has_every_batch AND starts_in_log AND ends_in_log GROUP BY run_id)
SELECT run_id, steps_done, coalesce(s.samples, n.samples) AS samples, tokens,
    coalesce(n.n_epochs, complete_epochs.n_epochs) AS n_epochs
FROM selected_runs(runs := runs) LEFT JOIN steps AS s USING (run_id) LEFT JOIN logged_epochs AS n USING (run_id)
LEFT JOIN complete_epochs USING (run_id)
WHERE steps_done > 0 OR n.n_epochs > 0
ORDER BY run_id
