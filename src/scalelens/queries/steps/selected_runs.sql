-- Runs that a condition or a name selects.
--
-- Answers: Which runs does `runs := '...'` stand for?
--   Every query with this parameter calls this one.  A quotation mark within the condition is doubled:
--   selected_runs(runs := 'system = ''lumi'' AND devices >= 8').  A text that is not a condition names runs
--   (named_runs): a run's name or words of it, a model, `key=value`.
--
-- Helper: used by many queries
--
-- Sources: members, [runs], [named_runs]
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
SELECT run_id
FROM query(CASE WHEN trim(runs) = '' THEN 'SELECT DISTINCT run_id FROM members'
    WHEN is_condition(runs) THEN 'SELECT run_id FROM runs WHERE (' || runs || ')'
    ELSE 'SELECT if(complaint IS NULL, run_id, error(complaint)) AS run_id FROM named_runs(selector := ' || quoted(runs) || ', of := ''runs'')'
    END)
