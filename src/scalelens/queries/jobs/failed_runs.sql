-- Runs that failed: why, by which line, and how much work was lost.
--
-- Answers: What ended each job that did not complete?
--   The outcome of a run is that of `runs`.  The cause is told by the lines after its last step: of the causes that they
--   name, the first in this list counts, and the first line that names it.
--   gpu            an Xid, an uncorrectable error of memory, a device that is lost
--   out of memory  of a device or of the host
--   file system    no space, quota, stale handles, errors of input and output
--   node           the scheduler lost a node, or a host went down
--   nccl           errors and timeouts of collective communication, lost connections
--   time limit     of the scheduler
--   code           any other error: the program, its data or its settings
--   Runs that somebody cancelled, and runs of which no log says how they ended, are not among them.
--   Work is lost from the last checkpoint that the log shows to the last step; where a log shows none, it is not known.
--
-- Formula: lost_s = (last step - step of the last checkpoint) * median time of a step.
--   hours = the scheduler's time of the run's jobs, else from the first time stamp to the last, else the sum of its steps.
--
-- Limits: A job that failed and was started again within one log counts by how it ended at last.  Messages that no format
--   reads cannot tell a cause: such a run has the cause `code`.
--
-- Glance: run_id name cause code node nodes devices hours lost_steps lost_node_hours first_line
--
-- When empty: no run is known to have failed
--
-- Sources: job_exposure, params, steps, phases, run_nodes
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR        run
--   name               VARCHAR        name of the run
--   ended_at           TIMESTAMP      last time stamp
--   outcome            VARCHAR        oom, collective_timeout, time_limit, node_failure or error
--   cause              VARCHAR        gpu, out of memory, file system, node, nccl, time limit or code
--   code               VARCHAR        what the line names: Xid 79, ECC, the kind of exception, ...; NULL for none
--   node               VARCHAR        node of the run that the line names; NULL for none
--   first_line         VARCHAR        the first line that says why
--   file_id            VARCHAR        file of that line
--   line               BIGINT         its number
--   nodes              INTEGER        nodes of the run
--   devices            INTEGER        devices of the run
--   hours              DOUBLE h       time of the run
--   last_step          BIGINT         last step of the training
--   checkpoint_step    BIGINT         step of the last checkpoint
--   lost_steps         BIGINT         steps after it
--   lost_s             DOUBLE s       their time
--   lost_node_hours    DOUBLE         their time on all nodes
WITH
ended AS (FROM job_exposure(runs := runs) WHERE outcome NOT IN ('completed', 'cancelled', 'unknown')),
last_steps AS (
    SELECT run_id, file_id, part, max(line) AS line FROM steps
    WHERE phase = 'train' AND run_id IN (SELECT run_id FROM ended) GROUP BY ALL),
texts AS (
    SELECT p.run_id, p.file_id, p.line, p.value AS text, p.key = 'outcome_text' AS is_outcome
    FROM params AS p JOIN ended USING (run_id) LEFT JOIN last_steps AS s
        ON s.run_id = p.run_id AND s.file_id = p.file_id AND s.part = p.part
    WHERE p.key = 'outcome_text' OR (p.key = 'failure_text' AND p.line > coalesce(s.line, 0))),
causes AS (
    SELECT e.run_id, e.outcome, t.file_id, t.line, t.text,
        CASE WHEN regexp_matches(text, 'NVRM: Xid|(?i:ecc error|uncorrectable|fallen off the bus|gpu is lost|unspecified launch failure|device-side hardware)') THEN 1
            WHEN regexp_matches(text, '(?i)out.of.memory|oom[-_ ]?kill|MemoryError|OOM when|RESOURCE_EXHAUSTED|bad_alloc|allocate memory|memory limit|memory_allocation|TERM_MEMLIMIT|killed: p?v?mem') THEN 2
            WHEN regexp_matches(text, '(?i)no space left|stale file handle|quota exceeded|transport endpoint|input/output error|remote I/O|\[Errno (5|28|30|103|107|116|121|122)\]|lustre') THEN 3
            WHEN regexp_matches(text, '(?i)node fail|host .{0,60} (is down|unreachable)|node .{0,60} (is down|not responding)') THEN 4
            WHEN regexp_matches(text, '(?i)nccl|collective operation timeout|monitoredBarrier|Gloo|DistBackendError|DistNetworkError|connection (closed|reset|refused)|Timed out waiting') THEN 5
            WHEN regexp_matches(text, '(?i)time limit|walltime|RUNLIMIT|TERM_DEADLINE') THEN 6
            WHEN is_outcome AND e.outcome = 'error' THEN 7 END AS cause
    FROM ended AS e LEFT JOIN texts AS t USING (run_id)),
named AS (
    SELECT run_id, coalesce(cause, CASE outcome WHEN 'oom' THEN 2 WHEN 'node_failure' THEN 4 WHEN 'collective_timeout' THEN 5
        WHEN 'time_limit' THEN 6 ELSE 7 END) AS cause, file_id, line, text
    FROM causes QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY coalesce(cause, 8), file_id, line) = 1),
step_times_of AS (
    SELECT run_id, max(step) AS last_step, median(step_s) AS step_s FROM steps
    WHERE phase = 'train' AND run_id IN (SELECT run_id FROM ended) GROUP BY run_id),
saved AS (
    SELECT run_id, max(step) AS checkpoint_step FROM phases WHERE phase = 'checkpoint' AND step IS NOT NULL GROUP BY run_id),
nodes_named AS (
    SELECT run_id, min(node) AS node FROM ended JOIN named USING (run_id) JOIN run_nodes(runs := runs) AS n USING (run_id)
    WHERE regexp_matches(text, '(^|[^\w.-])' || regexp_escape(n.node) || '($|[^\w-])') GROUP BY run_id)
SELECT e.run_id, e.name, e.ended_at, e.outcome,
    ['gpu', 'out of memory', 'file system', 'node', 'nccl', 'time limit', 'code'][n.cause] AS cause,
    CASE n.cause WHEN 1 THEN coalesce(nullif('Xid ' || regexp_extract(text, 'NVRM: Xid \(.{1,40}?\): (\d+)', 1), 'Xid '),
            CASE WHEN regexp_matches(text, '(?i)ecc|uncorrectable') THEN 'ECC' END)
        ELSE coalesce(nullif(regexp_extract(text, '\b(nccl[A-Z]\w*(Error|Usage|Argument)|Errno \d+)\b', 1), ''),
            nullif(regexp_extract(text, '((\w+\.)*[A-Z]\w*(Error|Exception|Interrupt))\b', 1), ''),
            nullif(regexp_extract(text, '(?i)(exit code \d+|signal \d+)', 1), '')) END AS code,
    m.node, text AS first_line, file_id, line, e.nodes, e.devices, e.hours, last_step, checkpoint_step,
    CASE WHEN last_step >= checkpoint_step THEN last_step - checkpoint_step END AS lost_steps,
    CASE WHEN last_step >= checkpoint_step THEN last_step - checkpoint_step END * s.step_s AS lost_s,
    CASE WHEN last_step >= checkpoint_step THEN last_step - checkpoint_step END * s.step_s * e.nodes / 3600 AS lost_node_hours
FROM ended AS e JOIN named AS n USING (run_id) LEFT JOIN step_times_of AS s USING (run_id) LEFT JOIN saved USING (run_id)
LEFT JOIN nodes_named AS m USING (run_id)
ORDER BY cause, e.ended_at, e.run_id
