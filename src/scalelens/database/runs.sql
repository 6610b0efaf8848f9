-- One row per run.  views.py fills in the lists of names, which follow from tables.py and from the sidecars.
CREATE TABLE runs AS
WITH facts AS (SELECT run_id, map(list(key), list(value)) AS facts FROM ($chosen) GROUP BY run_id),
labels AS (SELECT run_id$labelled FROM _sidecar_params GROUP BY run_id)
SELECT b.run_id, coalesce(b.name, f.facts['model'], 'job ' || f.facts['job_id'], b.name_of_place) AS name, b.path,
       $facts, b.outcome, b.outcome_line,
       CAST(b.started_at AS TIMESTAMP) AS started_at, CAST(b.ended_at AS TIMESTAMP) AS ended_at, b.attempts$labels
FROM _run_basics b LEFT JOIN facts f USING (run_id) LEFT JOIN labels l USING (run_id)
