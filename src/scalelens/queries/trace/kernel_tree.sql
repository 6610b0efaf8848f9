-- Device work by the operators that launched it, from the outermost to the innermost.
--
-- Answers: Which operators launched which kernels?
--   Work belongs to the innermost operator around its launching call, and to all that are around that one; each piece
--   is in one row. Sums over rows that begin alike are those of `subtree_kernel_ns` of op_summary.
--
-- Glance: run_id rank operators name total_ns share% calls class
--
-- Sources: op_calls, gpu_events, events
--
-- Parameters:
--   runs := ''        SQL condition over the columns of `runs`, as text; empty takes all
--   steps := 'all'    which part of a trace: 'all', 'complete' steps, or the selection of 'hta'
--
-- Columns:
--   run_id       VARCHAR       run
--   file_id      VARCHAR       file of the trace
--   rank         INTEGER       global rank
--   operators    VARCHAR       names from the outermost in, with ' / ' between them; NULL where none is
--                              around the launch, or the trace lacks the launch
--   class        VARCHAR       compute, communication or memory
--   name         VARCHAR       kernel, copy or fill
--   calls        BIGINT        times it ran
--   total_ns     BIGINT ns     sum of its durations
--   share        DOUBLE        of the sum over all work of the rank, 0 to 1
WITH RECURSIVE
calls AS (
    SELECT file_id, o.line, o.parent_line, coalesce(o.name, '') AS name, o.start_ns, o.duration_ns, e.process, e.thread,
        row_number() OVER (PARTITION BY file_id, e.process, e.thread ORDER BY o.start_ns, line) AS place
    FROM op_calls(runs := runs, steps := steps) AS o JOIN events AS e USING (file_id, line) WHERE subtree_kernels > 0),
paths AS (
    SELECT file_id, line, name AS operators FROM calls WHERE parent_line IS NULL
    UNION ALL
    SELECT c.file_id, c.line, p.operators || ' / ' || c.name
    FROM calls AS c JOIN paths AS p ON p.file_id = c.file_id AND p.line = c.parent_line),
work AS (
    SELECT run_id, file_id, rank, class, name, duration_ns, launch_start_ns, launch_process AS process,
        launch_thread AS thread, row_number() OVER (PARTITION BY file_id, launch_process, launch_thread
            ORDER BY launch_start_ns, line) AS work_place
    FROM gpu_events(runs := runs, steps := steps)),
-- A call ends before what starts at its end, unless it lasts no time.
spans AS (
    SELECT file_id, process, thread, list(line ORDER BY place) AS lines, list(start_ns ORDER BY place) AS starts,
        list(greatest(start_ns, start_ns + duration_ns - 1) ORDER BY place) AS ends
    FROM calls GROUP BY ALL),
launches AS (
    SELECT file_id, process, thread, list(launch_start_ns ORDER BY work_place) AS times,
        list(work_place ORDER BY work_place) AS places
    FROM work WHERE launch_start_ns IS NOT NULL GROUP BY ALL),
owners AS (
    SELECT file_id, process, thread, lines, unnest(innermost(starts, ends, times)) AS place,
        unnest(places) AS work_place
    FROM spans JOIN launches USING (file_id, process, thread)),
sums AS (
    SELECT run_id, work.file_id, rank, operators, class, work.name, count(*) AS calls,
        sum(duration_ns)::BIGINT AS total_ns
    FROM work LEFT JOIN owners USING (file_id, process, thread, work_place)
        LEFT JOIN paths ON paths.file_id = work.file_id AND paths.line = lines[place]
    GROUP BY ALL)
SELECT *, total_ns / nullif(sum(total_ns) OVER (PARTITION BY run_id, file_id, rank), 0) AS share
FROM sums
ORDER BY run_id, rank, file_id, total_ns DESC, operators, class, name
