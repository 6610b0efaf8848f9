-- The runs that the plan of a study asks for: which came back, which did not, and the line that makes each.
--
-- Answers: What of the study is missing, and which command makes it?
--   A plan is a CSV in the folder of the study, written by `scalelens bench --study` or by hand.  A planned run came back
--   if a run has a file in its folder.
--
-- Limits: Logs that were moved out of the folder of their planned run count as missing.
--
-- Glance: state planned_run nodes repeat precision dataset outcome command note
--
-- When empty: no folder has the plan of a study
--
-- Sources: planned_runs, files, members, runs, steps, phases
--
-- Columns:
--   plan           VARCHAR    path of the plan
--   planned_run    VARCHAR    folder or file of its logs, relative to the folder of the plan
--   nodes          INTEGER    nodes
--   repeat         INTEGER    repeat, from 1
--   precision      VARCHAR    precision that is asked for
--   dataset        VARCHAR    data set that is asked for
--   state          VARCHAR    completed, ended early, unclear (no log says how it ended), no steps, or missing
--   outcome        VARCHAR    how it ended, where it did not complete
--   run_ids        VARCHAR[]  runs with files in its folder
--   command        VARCHAR    line for a shell that makes the run; NULL where none is needed
--   note           VARCHAR    where its log says otherwise than the plan
WITH
plans AS (
    SELECT p.*, f.path AS plan, regexp_replace(f.path, '[^/]*$', '') AS folder,
        folder || regexp_replace(p.planned_run, '^(\./)+|/+$', '', 'g') AS target
    FROM planned_runs AS p JOIN files AS f USING (file_id)),
-- A file in several places may be in the folder of any of them.
places AS (
    SELECT DISTINCT m.run_id, p.path FROM members AS m JOIN files AS f USING (file_id), unnest(f.paths) AS p(path)),
timed AS (SELECT DISTINCT run_id FROM steps UNION SELECT run_id FROM phases),
came AS (
    SELECT DISTINCT p.plan, p.line, r.*, t.run_id IS NOT NULL AS is_timed
    FROM plans AS p JOIN places AS l ON l.path = target OR starts_with(l.path, target || '/')
    JOIN runs AS r ON r.run_id = l.run_id LEFT JOIN timed AS t ON t.run_id = r.run_id),
judged AS (
    SELECT plan, line, list(run_id ORDER BY run_id) AS run_ids,
        CASE WHEN coalesce(bool_or(outcome = 'completed' AND is_timed), false) THEN 'completed'
            WHEN coalesce(bool_or(outcome NOT IN ('completed', 'unknown')), false) THEN 'ended early'
            WHEN bool_or(is_timed) THEN 'unclear' ELSE 'no steps' END AS state,
        min(outcome) FILTER (outcome NOT IN ('completed', 'unknown')) AS outcome,
        min(nodes) FILTER (is_timed) AS own_nodes, min(precision) FILTER (is_timed) AS own_precision
    FROM came GROUP BY plan, line)
SELECT p.plan, p.planned_run, p.nodes, p.repeat, p.precision, p.dataset, coalesce(j.state, 'missing') AS state,
    CASE WHEN j.state = 'ended early' THEN j.outcome END AS outcome, coalesce(j.run_ids, []) AS run_ids,
    CASE WHEN coalesce(j.state, '') NOT IN ('completed', 'unclear') THEN p.command END AS command,
    notes([CASE WHEN own_nodes <> p.nodes THEN format('its log says {} nodes', own_nodes) END,
        CASE WHEN own_precision <> p.precision THEN format('its log says {}', own_precision) END]) AS note
FROM plans AS p LEFT JOIN judged AS j USING (plan, line)
ORDER BY p.plan, p.line
