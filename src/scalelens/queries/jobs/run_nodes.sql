-- The nodes that each run used.
--
-- Answers: Which hosts did a job run on?
--   The first source that names hosts counts: NCCL's lines, where every rank printed its own (`nccl`); the scheduler's
--   list (`scheduler`); the list in a dump of the environment (`environment`); the labels that a launcher puts before
--   the lines of ranks (`log`); the hosts that traces and files of single ranks name (`file`).  A host's domain is taken
--   off.  A plain number is not taken for a host.  The last two may name only some of the nodes.
--
-- Helper: used by blame and failures
--
-- Partition: run_id
--
-- Sources: jobs, params, steps, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
--   node      VARCHAR    host name, without its domain
--   source    VARCHAR    nccl, scheduler, environment, log or file
WITH
chosen AS (FROM selected_runs(runs := runs)),
named AS (
    SELECT run_id, unnest(list_transform(string_split(value, ' '), lambda entry: string_split(entry, '/')[1])) AS host,
        'nccl' AS source, 1 AS position
    FROM params WHERE key = 'rank_places'
    UNION ALL
    SELECT run_id, unnest(string_split(node_list, ',')), 'scheduler', 2 FROM main.jobs WHERE node_list <> ''
    UNION ALL
    SELECT run_id, unnest(string_split(value, ',')), 'environment', 3 FROM params WHERE key = 'node_list'
    UNION ALL
    SELECT run_id, regexp_extract(place, '^[^/]*'), 'log', 4
    FROM (SELECT DISTINCT run_id, place FROM steps
        WHERE place IS NOT NULL AND NOT regexp_matches(place, '^(default)?\d+$|pid=|:'))
    UNION ALL
    SELECT run_id, value, 'file', 5 FROM params WHERE key IN ('host', 'host_name')),
cleaned AS (
    SELECT run_id, CASE WHEN regexp_matches(host, '^[\d.]+$|:') THEN host ELSE string_split(host, '.')[1] END AS node,
        source, n.position
    FROM (SELECT run_id, trim(host) AS host, source, position FROM named) AS n
    WHERE regexp_matches(host, '[A-Za-z]|^\d+\.\d+\.\d+\.\d+$|:') AND host NOT IN ('localhost', 'None')
        AND run_id IN (FROM chosen))
SELECT DISTINCT run_id, node, source FROM cleaned AS c
QUALIFY c.position = min(c.position) OVER (PARTITION BY run_id)
ORDER BY run_id, node
