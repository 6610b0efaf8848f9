-- One row per run.  For each fact the candidate with the most trusted origin counts, then the first one.  Labels come
-- last.  What an MLPerf system file says about many runs comes after what a run's own files say, at equal trust.
-- views.py fills in the lists of names, which follow from tables.py and from the sidecars.
CREATE TABLE runs AS
WITH candidates AS (
    SELECT run_id, key, value, line, row_number() OVER (
        PARTITION BY run_id, key ORDER BY CASE origin $precedence END,
            file_id IN (SELECT file_id FROM members WHERE why = 'system file'), file_id, line) AS position
    FROM params WHERE key IN ($keys)),
facts AS (
    SELECT run_id, $facts
    FROM candidates WHERE position = 1 GROUP BY run_id),
labels AS (SELECT run_id$labelled FROM _sidecar_params GROUP BY run_id)
SELECT b.run_id, b.name, b.path, $names, b.outcome, b.outcome_line,
       CAST(b.started_at AS TIMESTAMP) AS started_at, CAST(b.ended_at AS TIMESTAMP) AS ended_at, b.attempts$labels
FROM _run_basics b LEFT JOIN facts f USING (run_id) LEFT JOIN labels l USING (run_id)
