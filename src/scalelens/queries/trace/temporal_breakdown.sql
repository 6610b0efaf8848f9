-- Where the time of the devices goes: compute, communication and copies that nothing hides, idle.
--
-- Answers: How long does each rank compute, communicate, copy or idle?
--   Compute is the union of its kernels; communication and memory count where they are exposed: memory where neither of
--   the others runs.  The parts add up to the span, from the start of the first work to the end of the last.  HTA's
--   compute and idle are the same; its non-compute is exposed communication and memory together.
--
-- Formula: compute = |K|; exposed communication = |C minus K|; exposed memory = |M minus K minus C|; idle = span - |K
--   or C or M|, with K, C, M the unions of the intervals of compute kernels, of communication, and of copies and fills.
--
-- Reference: Meta, HolisticTraceAnalysis, breakdown_analysis.
--
-- Limits: Kernels whose names do not show what they do count as compute.  If the trace calls such a kernel a
--   collective, most of the time of its stream is communication, or its name speaks of sending, receiving, peers or
--   dispatch to experts, the note names it.  Kernels that wait, such as a collective for a late rank, count as busy.
--   Of a process with several devices, such as JAX's with all GPUs of a node, a row has the unions over all of them, and
--   the note says so; `gpu_events` tells them apart by `process`.
--
-- Glance: run_id rank train_step compute_share% exposed_comm_share% exposed_memory_share% idle_share% span_ns
--   compute_ns exposed_comm_ns idle_ns note
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: class_times, events
--
-- Parameters: runs, steps
--   per := 'rank'    one row per 'rank', or per rank and 'step'; work outside of steps is then left out
--
-- Columns:
--   run_id                  VARCHAR      run
--   file_id                 VARCHAR      file of the trace
--   rank                    INTEGER      global rank
--   train_step              BIGINT       step; NULL per rank
--   span_ns                 BIGINT ns    from the first work to the end of the last
--   compute_ns              BIGINT ns    compute, whatever else runs
--   exposed_comm_ns         BIGINT ns    communication without compute
--   exposed_memory_ns       BIGINT ns    copies and fills without compute or communication
--   idle_ns                 BIGINT ns    nothing
--   compute_share           DOUBLE       share of the span, 0 to 1
--   exposed_comm_share      DOUBLE       share of the span, 0 to 1
--   exposed_memory_share    DOUBLE       share of the span, 0 to 1
--   idle_share              DOUBLE       share of the span, 0 to 1
--   note                    VARCHAR      several devices in one row; kernels that may be communication and count as compute
WITH
parts AS MATERIALIZED (
    SELECT run_id, file_id, rank, train_step, span_ns,
        compute_only_ns + compute_communication_ns + compute_memory_ns + all_three_ns AS compute_ns,
        communication_only_ns + communication_memory_ns AS exposed_comm_ns,
        memory_only_ns AS exposed_memory_ns, idle_ns
    FROM class_times(runs := runs, per := per, steps := steps)),
names AS (
    SELECT run_id, file_id, rank, process, stream, class, name[:60] AS label, collective IS NOT NULL AS is_collective,
        sum(duration_ns) AS lasted_ns
    FROM events WHERE class IS NOT NULL AND run_id IN (SELECT run_id FROM parts) GROUP BY ALL),
streams AS (
    SELECT run_id, file_id, rank, process,
        list(label) FILTER (class = 'compute') AS labels,
        list(label) FILTER (class = 'compute' AND (is_collective
            OR regexp_matches(label, '(?i)(^|[^a-z])(send|recv|receive|p2p|peer|exchange|multicast|remote)([^a-z]|$)'
                '|(^|[^a-z])(inter|intra)_?node|(^|[^a-z])(dispatch|combine)_?(kernel|tokens?|experts?)([^a-z]|$)'))) AS named,
        sum(lasted_ns) FILTER (class = 'communication') > 0.5 * sum(lasted_ns) AS is_communication
    FROM names GROUP BY run_id, file_id, rank, process, stream),
found AS (
    SELECT run_id, file_id, rank, len(list_distinct(list(process))) AS n_processes,
        list_sort(list_distinct(flatten(list(CASE WHEN is_communication THEN labels ELSE named END)))) AS doubtful
    FROM streams GROUP BY run_id, file_id, rank)
SELECT parts.*, compute_ns / nullif(span_ns, 0) AS compute_share,
    exposed_comm_ns / nullif(span_ns, 0) AS exposed_comm_share,
    exposed_memory_ns / nullif(span_ns, 0) AS exposed_memory_share, idle_ns / nullif(span_ns, 0) AS idle_share,
    nullif(concat_ws('; ',
        CASE WHEN n_processes > 1 THEN n_processes || ' devices count as one: idle is where none of them works' END,
        'may be communication, but counts as compute: ' || nullif(array_to_string(doubtful[:3], ', '), '')
            || CASE WHEN len(doubtful) > 3 THEN format(' and {} more', len(doubtful) - 3) ELSE '' END), '') AS note
FROM parts LEFT JOIN found ON found.run_id = parts.run_id AND found.file_id = parts.file_id
    AND found.rank IS NOT DISTINCT FROM parts.rank
ORDER BY parts.run_id, parts.rank, parts.file_id, train_step
