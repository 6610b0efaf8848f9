-- Where two sides differ on the devices: step time by class, collective, kernel and operator, for runs with traces.
--
-- Answers: How do two sides differ on the devices?
--   Is it computation, communication that nothing hides, copies or idling, and in which collectives, kernels and
--   operators?
--   Times are per annotated step and rank, so that traces of different length can be compared.  Traces without
--   annotated steps count as one step, and `note` says so.  `trace_diff` compares the same two sides name by name.
--
-- Glance: part name a_step_ns b_step_ns diff_ns diff_share% note
--
-- Needs: events
--
-- Sources: two_sides, temporal_breakdown, trace_steps, gpu_events, events
--
-- Parameters: a, b, steps
--
-- Columns:
--   part          VARCHAR      class, collective, kernel or operator (on the host, over the whole trace; an operator
--                              includes those that it calls)
--   name          VARCHAR      class of time, or name of the kernel or operator
--   a_step_ns     DOUBLE ns    mean per step and rank of the first side
--   b_step_ns     DOUBLE ns    the same of the second side
--   diff_ns       DOUBLE ns    b less a
--   diff_share    DOUBLE       share of the difference between the steps of both sides
--   note          VARCHAR      what to know or doubt
WITH
members_of AS (FROM two_sides(a := a, b := b)),
annotated AS (
    SELECT file_id, count(*) FILTER (steps <> 'complete' OR complete) AS n_steps FROM trace_steps() GROUP BY file_id),
traces AS (
    SELECT side, run_id, file_id, rank, span_ns, compute_ns, exposed_comm_ns, exposed_memory_ns, idle_ns,
        greatest(coalesce(n_steps, 1), 1) AS n_steps, coalesce(n_steps, 0) = 0 AS is_whole
    FROM temporal_breakdown(steps := steps) JOIN members_of USING (run_id) LEFT JOIN annotated USING (file_id)),
weights AS (SELECT side, sum(n_steps) AS n_steps, bool_or(is_whole) AS is_whole FROM traces GROUP BY side),
parts AS (
    SELECT side, 'class' AS part, c.name, c.ns FROM traces, LATERAL (SELECT unnest([
        {'name': 'step', 'ns': span_ns}, {'name': 'compute', 'ns': compute_ns},
        {'name': 'communication that nothing hides', 'ns': exposed_comm_ns},
        {'name': 'copies that nothing hides', 'ns': exposed_memory_ns}, {'name': 'idle', 'ns': idle_ns}]) AS c)
    UNION ALL
    SELECT side, CASE class WHEN 'communication' THEN 'collective' ELSE 'kernel' END, e.name, duration_ns
    FROM gpu_events(steps := steps) AS e JOIN traces USING (file_id)
    UNION ALL
    SELECT side, 'operator', e.name, duration_ns FROM events AS e JOIN traces USING (file_id)
    WHERE e.category IN ('cpu_op', 'operator') AND duration_ns IS NOT NULL AND NOT starts_with(e.name, 'ProfilerStep#')),
sums AS (
    SELECT part, p.name, sum(ns / n_steps) FILTER (side = 'a') AS a_ns, sum(ns / n_steps) FILTER (side = 'b') AS b_ns
    FROM parts AS p JOIN weights USING (side) GROUP BY part, p.name),
sides_with_traces AS (
    SELECT bool_or(side = 'a') AS has_a, bool_or(side = 'b') AS has_b, bool_or(is_whole) AS is_whole FROM weights)
SELECT part, name, if(has_a, coalesce(a_ns, 0), NULL)::DOUBLE AS a_step_ns,
    if(has_b, coalesce(b_ns, 0), NULL)::DOUBLE AS b_step_ns, b_step_ns - a_step_ns AS diff_ns,
    diff_ns / nullif(max(diff_ns) FILTER (part = 'class' AND name = 'step') OVER (), 0) AS diff_share,
    notes([CASE WHEN NOT has_a THEN 'a has no trace' WHEN NOT has_b THEN 'b has no trace' END,
        CASE WHEN is_whole THEN 'traces without annotated steps count as one step' END]) AS note
FROM sums, sides_with_traces
ORDER BY list_position(['class', 'collective', 'kernel', 'operator'], part), abs(diff_ns) DESC, name
