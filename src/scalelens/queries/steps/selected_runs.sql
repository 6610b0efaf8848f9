-- Runs that a condition selects.
--
-- Answers: Which runs does `runs := '...'` stand for?
--   Every query with this parameter calls this one.  A quotation mark within the condition is doubled:
--   selected_runs(runs := 'system = ''lumi'' AND devices >= 8')
--
-- Helper: used by many queries
--
-- Sources: members, [runs]
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
SELECT run_id
FROM query(CASE WHEN trim(runs) = '' THEN 'SELECT DISTINCT run_id FROM members'
    ELSE 'SELECT run_id FROM runs WHERE (' || runs || ')' END)
