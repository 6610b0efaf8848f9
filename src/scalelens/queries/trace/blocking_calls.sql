-- Calls that hold up the host, what made them, and how long devices are idle for them.
--
-- Answers: Which calls of the host let the device run empty?
--   Is it `.item()`, a print of the loss, a blocking copy, an allocation, or code that is loaded at its first use?
--   `wait` synchronizes a stream, a device or an event; `copy` is a copy that is not asynchronous; `memory` allocates or
--   frees; `module` loads code; `garbage` is Python's garbage collection, where the trace has it.  `operators` is the
--   path of operators around the call, such as aten::item / aten::_local_scalar_dense; `caller` is the innermost Python
--   function around it (with_stack=True).
--   Two parts of the idle time are told apart.  `idle_within_ns`: nothing runs on the rank's device while the call
--   lasts.  `idle_after_ns`: nothing was queued when it returned, and until the next work, or the next such call, nothing
--   runs.  What the host does meanwhile may be its own slowness: the call only made it visible.
--
-- Formula: within = duration of the call - time in which work of the rank runs; after = start of the next work - end of
--   the call, where all work that started before has ended and the next was launched after the call.  Only between the
--   first start and the last end of the rank's work.
--
-- Limits: A device that idles only because an empty queue is filled slowly is not told from one that idles because the
--   host is slow.  Idle time during calls of two threads at once counts for both.
--
-- Glance: run_id rank kind name operators caller calls idle_within_ns idle_after_ns share% host_ns
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: events, gpu_work, gpu_events, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id            VARCHAR      run
--   file_id           VARCHAR      file of the trace
--   rank              INTEGER      global rank
--   kind              VARCHAR      wait, copy, memory, module or garbage
--   name              VARCHAR      call
--   operators         VARCHAR      operators around it, the outermost first; NULL where there is none
--   caller            VARCHAR      innermost Python function around it; NULL where the trace has none
--   calls             BIGINT       number of such calls
--   host_ns           BIGINT ns    sum of their durations
--   idle_within_ns    BIGINT ns    during which nothing ran on the device
--   idle_after_ns     BIGINT ns    from their ends to the next work, where nothing was queued
--   share             DOUBLE       share of both in the span of the rank's work, 0 to 1
--   longest_ns        BIGINT ns    longest call
WITH
named AS (
    SELECT run_id, file_id, line, rank, process, thread, name, start_ns, start_ns + duration_ns AS end_ns,
        CASE WHEN regexp_matches(name, '(?i)garbage.?collect|^gc$|built-in function collect') THEN 'garbage'
            WHEN NOT regexp_matches(category, 'runtime|driver|(cuda|hip)_api') THEN NULL
            WHEN regexp_matches(name, '^(cuda|hip|cu|mu)(Stream|Device|Event|Ctx|Context|Thread)Synchronize') THEN 'wait'
            WHEN contains(name, 'Async') THEN NULL
            WHEN regexp_matches(name, '^(cuda|hip|cu)Memcpy') THEN 'copy'
            WHEN regexp_matches(name, '^(cuda|hip|cu)(Malloc|Free|Mem(Alloc|Free|Create|Map|Unmap)|Host(Alloc|Free|Register))')
                THEN 'memory'
            WHEN regexp_matches(name, '^(cuda|hip|cu)(Module|Library)(Load|Unload)') THEN 'module' END AS kind
    FROM events
    WHERE class IS NULL AND duration_ns IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))),
-- A call within another one is part of it.
calls AS (
    FROM (SELECT *, max(end_ns) OVER (PARTITION BY file_id, process, thread ORDER BY start_ns, end_ns DESC, line
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS within_ns FROM named WHERE kind IS NOT NULL)
    WHERE coalesce(within_ns < end_ns, true)),
devices AS (
    SELECT run_id, file_id, rank, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM gpu_work(runs := runs) GROUP BY ALL),
clipped AS (
    SELECT c.*, first_ns, last_ns, least(greatest(start_ns, first_ns), last_ns) AS from_ns,
        least(greatest(end_ns, first_ns), last_ns) AS until_ns
    FROM calls AS c JOIN devices AS d ON d.file_id = c.file_id AND d.rank IS NOT DISTINCT FROM c.rank),
spans AS (
    SELECT file_id, rank, line, from_ns AS start_ns, until_ns AS end_ns, false AS works FROM clipped
    UNION ALL
    SELECT file_id, rank, -1, start_ns, end_ns, true FROM gpu_work(runs := runs)),
lists AS (
    SELECT file_id, rank, list(line) AS lines, time_beside(list(start_ns), list(end_ns), list(works)) AS times
    FROM spans GROUP BY file_id, rank),
busy AS (FROM (SELECT file_id, unnest(lines) AS line, unnest(times) AS busy_ns FROM lists) WHERE line >= 0),
work AS (
    SELECT file_id, coalesce(rank, -1) AS whose, start_ns, launch_start_ns, max(end_ns) OVER (
            PARTITION BY file_id, rank ORDER BY start_ns, end_ns, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before_ns
    FROM gpu_events(runs := runs)),
followed AS (
    SELECT c.*, w.start_ns AS next_ns, launch_start_ns, before_ns,
        lead(c.start_ns) OVER (PARTITION BY c.file_id, c.rank ORDER BY c.start_ns, c.line) AS next_call_ns
    FROM clipped AS c ASOF LEFT JOIN work AS w
        ON w.file_id = c.file_id AND w.whose = coalesce(c.rank, -1) AND w.start_ns >= c.end_ns),
idle AS (
    SELECT f.*, until_ns - from_ns - busy_ns AS idle_within_ns,
        CASE WHEN end_ns < first_ns OR before_ns > end_ns OR launch_start_ns < end_ns OR next_ns IS NULL THEN 0
            ELSE greatest(least(next_ns, coalesce(next_call_ns, next_ns)) - end_ns, 0) END AS idle_after_ns
    FROM followed AS f JOIN busy USING (file_id, line)),
-- What was around each call: operators, and Python's functions, on its thread.
around AS (
    SELECT file_id, process, thread, category = 'python_function' AS is_python, line, start_ns, start_ns + duration_ns AS end_ns,
        name
    FROM events
    WHERE category IN ('cpu_op', 'python_function', 'operator') AND duration_ns IS NOT NULL
        AND file_id IN (SELECT file_id FROM calls)),
threads AS (
    SELECT file_id, process, thread, is_python, list(line) AS lines, list(start_ns) AS starts, list(end_ns) AS ends,
        list(name) AS names
    FROM around GROUP BY ALL),
times AS (
    SELECT file_id, process, thread, list(line) AS call_lines, list(start_ns) AS times FROM calls GROUP BY ALL),
paths AS (
    SELECT file_id, is_python, unnest(call_lines) AS line, unnest(launch_paths(lines, starts, ends, names, times)) AS path
    FROM threads JOIN times USING (file_id, process, thread)),
made_by AS (
    SELECT file_id, line, max(path) FILTER (NOT is_python) AS operators, max(path) FILTER (is_python) AS python_path
    FROM paths GROUP BY ALL)
SELECT run_id, file_id, rank, kind, name, operators, string_split(python_path, ' / ')[-1] AS caller, count(*) AS calls,
    sum(end_ns - start_ns)::BIGINT AS host_ns, sum(idle_within_ns)::BIGINT AS idle_within_ns,
    sum(idle_after_ns)::BIGINT AS idle_after_ns,
    sum(idle_within_ns + idle_after_ns) / nullif(any_value(last_ns - first_ns), 0) AS share,
    max(end_ns - start_ns) AS longest_ns
FROM idle LEFT JOIN made_by USING (file_id, line)
GROUP BY run_id, file_id, rank, kind, name, operators, caller
ORDER BY run_id, rank, file_id, sum(idle_within_ns + idle_after_ns) DESC, host_ns DESC, kind, name, operators, caller
