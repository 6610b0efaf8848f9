-- Runs in which no step has two records.
--
-- Answers: For which runs is there nothing to gather over ranks, or over records of the same step?
--   Records are alike by the keys of step_times, which would give those of such a run as they are, and takes several
--   times as long.  Whether runs are in order (runs_in_order) is another question.
--
-- Helper: used by gathered_steps
--
-- Pays from: 10000 steps
--
-- Sources: steps, members, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
SELECT run_id
FROM (
    SELECT run_id, count(*) AS n_records
    -- `main`: a query that calls this one may have a WITH part called steps or members.
    FROM main.steps WHERE phase = 'train' AND run_id IN (FROM selected_runs(runs := runs))
    GROUP BY run_id, attempt, step, coalesce(value_kind NOT IN ('instant', 'interval_mean'), false),
        CASE WHEN step IS NULL THEN concat(file_id, CASE WHEN value_kind[:4] = 'run_' THEN value_kind ELSE line::VARCHAR END) END)
WHERE run_id NOT IN (SELECT run_id FROM main.members WHERE why = 'twin' AND run_id IS NOT NULL)
GROUP BY run_id HAVING max(n_records) = 1
ORDER BY run_id
