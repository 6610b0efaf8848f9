-- What ended jobs: how often by cause, by node and by number of devices, and after how many hours.
--
-- Answers: What keeps failing, and how often?  Which node fails more than chance?  How long until a job of so many
--   devices fails?
--   One row for all runs, one for each cause (failed_runs), one for each number of devices, and one for each node that a
--   failed run had.  A rate is the number of failed runs over the node-hours of all runs, failed or not, with the exact
--   interval of a count.  The mean time between failures is that of one running job of the row's size: hours over
--   failures.  Reaching the time limit is how a job was planned, so it is counted as a cause, but not among `all`, sizes
--   and nodes; nor are runs that somebody cancelled.
--   A node is `failing` if runs with it fail more often than runs without it, by more than the most conspicuous of all
--   nodes would by chance.  `named` counts the runs whose line names the node: a hint, which is not tested.
--
-- Formula: failures_per_1000_node_h = 1000 failures / node-hours; mtbf = hours / failures; intervals from the exact 95 % interval of a Poisson count.
--   p_value: rank sums of failed or not, runs with a node against those without, exchanged 999 times within 48 runs of one
--   number of nodes next to each other in time; the largest of all nodes.
--
-- Reference: Garwood, Biometrika 28, 1936; Westfall and Young, Resampling-Based Multiple Testing, 1993.
--   statistics/blame.py, statistics/significance.py.
--
-- Assumptions: Failures are independent, and as likely in each hour.  It is chance which runs get which nodes.
--
-- Limits: A run whose log just stops counts nowhere, though it may have failed.  Runs without a time or a number of nodes count as failures, but add nothing to rates; n_without_hours says how
--   many.  A run that was started again counts once, by how it ended.
--
-- Glance: part what failures n_runs verdict failures_per_1000_node_h mtbf_h p_value named node_hours lost_node_hours n_unknown first_line
--
-- Sources: job_exposure, failed_runs, run_nodes
--
-- Parameters: runs
--
-- Columns:
--   part               VARCHAR          all, cause, devices or node
--   what               VARCHAR          the cause, the number of devices, the node
--   failures           BIGINT           runs that failed
--   n_runs             BIGINT           runs of which it is known how they ended
--   n_unknown          BIGINT           further runs, of which no log says how they ended: they count nowhere
--   n_without_hours    BIGINT           runs whose time or nodes are not known, which add nothing to rates
--   hours              DOUBLE h         time of the runs
--   node_hours         DOUBLE           time of the runs on all their nodes; of a node, on it alone
--   failures_per_1000_node_h  DOUBLE         failures per 1,000 node-hours
--   failures_per_1000_node_h_low  DOUBLE         lower end of its 95 % interval
--   failures_per_1000_node_h_high  DOUBLE         upper end
--   mtbf_h             DOUBLE h         mean time between failures of a running job; NULL where none failed
--   mtbf_h_low         DOUBLE h         lower end of its 95 % interval
--   mtbf_h_high        DOUBLE h         upper end; NULL where none failed
--   lost_node_hours    DOUBLE           work lost since the last checkpoints; NULL where no log shows one
--   p_value            DOUBLE           of a node, for all nodes together; NULL where it cannot be tested
--   verdict            VARCHAR          of a node: failing, confounded or ordinary; NULL for other parts
--   rivals             VARCHAR          nodes that it cannot be told from
--   named              BIGINT           failed runs whose line names the node; NULL for other parts
--   run_id             VARCHAR          first run of those that failed
--   first_line         VARCHAR          the line that says why it did
--   file_id            VARCHAR          file of that line
--   line               BIGINT           its number
--   run_ids            VARCHAR[]        all runs, in the row of all; NULL in the others
WITH
exposed AS MATERIALIZED (SELECT *, outcome <> 'unknown' AS is_known FROM job_exposure(runs := runs)),
failed AS MATERIALIZED (FROM failed_runs(runs := runs)),
faults AS (FROM failed WHERE cause <> 'time limit'),
nodes_of AS MATERIALIZED (FROM run_nodes(runs := runs) WHERE run_id IN (SELECT run_id FROM exposed WHERE is_known)),
judged AS (
    SELECT unnest(failing_labels(list(is_failed ORDER BY run_id), list(size ORDER BY run_id), list(moment ORDER BY run_id),
        list(nodes ORDER BY run_id)), recursive := true)
    FROM (SELECT run_id, run_id IN (SELECT run_id FROM faults) AS is_failed, coalesce(any_value(system), '') || ' ' || count(*) AS size,
            epoch(any_value(started_at)) AS moment, list(node ORDER BY node) AS nodes
        FROM nodes_of JOIN exposed USING (run_id) GROUP BY run_id)),
verdicts AS (
    SELECT unnest(string_split(j.name, '+')) AS node, p_value, if(j.name LIKE '%+%', replace(j.name, '+', ', '), rivals) AS rivals,
        CASE WHEN verdict = 'slow' AND j.name NOT LIKE '%+%' THEN 'failing' WHEN verdict IN ('slow', 'confounded') THEN 'confounded'
            ELSE 'ordinary' END AS verdict
    FROM judged AS j),
grouped AS (
    SELECT 'all' AS part, 'all' AS what, run_id, node_hours FROM exposed
    UNION ALL
    SELECT 'cause', cause, e.run_id, e.node_hours FROM exposed AS e, (SELECT DISTINCT cause FROM failed)
    UNION ALL
    SELECT 'devices', devices::VARCHAR, run_id, node_hours FROM exposed WHERE devices IS NOT NULL
    UNION ALL
    SELECT 'node', node, run_id, e.hours FROM nodes_of JOIN exposed AS e USING (run_id)
    WHERE node IN (SELECT node FROM nodes_of WHERE run_id IN (SELECT run_id FROM faults))),
counted AS (
    SELECT g.part, g.what, count(f.run_id) AS failures, count(*) FILTER (is_known) AS n_runs, count(*) FILTER (NOT is_known) AS n_unknown,
        count(*) FILTER (is_known AND e.node_hours IS NULL) AS n_without_hours,
        sum(e.hours ORDER BY e.hours) FILTER (is_known AND e.node_hours IS NOT NULL) AS hours,
        sum(g.node_hours ORDER BY g.node_hours) FILTER (is_known) AS node_hours,
        count(f.run_id) FILTER (g.node_hours > 0) AS counted_failures,
        sum(f.lost_node_hours ORDER BY f.lost_node_hours) AS lost_node_hours,
        min_by({'run_id': f.run_id, 'first_line': f.first_line, 'file_id': f.file_id, 'line': f.line}, (f.ended_at, f.run_id)) AS example
    FROM grouped AS g JOIN exposed AS e USING (run_id)
    LEFT JOIN failed AS f ON f.run_id = g.run_id AND CASE g.part WHEN 'cause' THEN f.cause = g.what ELSE f.cause <> 'time limit' END
    GROUP BY g.part, g.what),
named AS (SELECT node, count(*) AS named FROM faults WHERE node IS NOT NULL GROUP BY node)
SELECT c.part, what, failures, n_runs, n_unknown, n_without_hours, c.hours, node_hours,
    1000 * counted_failures / nullif(node_hours, 0) AS failures_per_1000_node_h,
    1000 * poisson_interval(counted_failures).low / nullif(node_hours, 0) AS failures_per_1000_node_h_low,
    1000 * poisson_interval(counted_failures).high / nullif(node_hours, 0) AS failures_per_1000_node_h_high,
    c.hours / nullif(counted_failures, 0) AS mtbf_h,
    c.hours / poisson_interval(counted_failures).high AS mtbf_h_low,
    c.hours / nullif(poisson_interval(counted_failures).low, 0) AS mtbf_h_high,
    lost_node_hours, p_value, CASE WHEN c.part = 'node' THEN coalesce(v.verdict, 'ordinary') END AS verdict, rivals,
    CASE WHEN c.part = 'node' THEN coalesce(named, 0) END AS named,
    example.run_id AS run_id, example.first_line AS first_line, example.file_id AS file_id, example.line AS line,
    CASE WHEN c.part = 'all' THEN (SELECT list(run_id ORDER BY run_id) FROM exposed) END AS run_ids
FROM counted AS c LEFT JOIN verdicts AS v ON c.part = 'node' AND v.node = c.what
LEFT JOIN named AS n ON c.part = 'node' AND n.node = c.what
ORDER BY list_position(['all', 'cause', 'devices', 'node'], c.part), CASE WHEN c.part = 'devices' THEN what::BIGINT END,
    p_value, failures DESC, what
