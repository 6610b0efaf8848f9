-- One step of a trace across its ranks: when each stream computes, communicates or moves memory.
--
-- Answers: What did the devices do at the same time within one step?
--   The step is cut into `step_slots` slots.  Work of one class on one stream becomes one row as long as no whole slot
--   between is idle: a drawing with that many columns shows no more.  A row keeps its true begin and end.
--   Without `step_number` it is the step of median length among the complete steps that most ranks have.  Traces
--   without annotated steps are taken as a whole.  Times count from the first work of the step.  If the clocks of all
--   ranks are known relative to each other, their offsets are subtracted and the first work is that of all ranks; else
--   each rank counts from its own.
--
-- Formula: none; the ends of a row are those of events.
--
-- Limits: Gaps below a slot cannot be seen: for shares of time see temporal_breakdown.
--
-- Glance: run_id rank stream class train_step begins_ns ends_ns work_ns n_events clock
--
-- Partition: run_id
--
-- Needs: events
--
-- Sources: gpu_events, clock_offsets
--
-- Parameters: runs
--   step_number := NULL    number of the step; NULL takes one of median length
--   step_slots := 1000     number of slots of the step; gaps of a slot or more are kept
--
-- Columns:
--   run_id        VARCHAR      run
--   file_id       VARCHAR      file of the trace
--   line          BIGINT       position of the first event in the trace
--   rank          INTEGER      global rank
--   process       VARCHAR      device as the trace numbers it
--   stream        BIGINT       stream
--   class         VARCHAR      compute, communication or memory
--   train_step    BIGINT       step; NULL where the traces have none
--   begins_ns     BIGINT ns    begin, from the first work of the step
--   ends_ns       BIGINT ns    end
--   work_ns       BIGINT ns    sum of the durations of its events
--   n_events      BIGINT       kernels, copies and fills
--   clock         VARCHAR      common: all ranks have the same zero; own: each rank has its own
WITH
work AS MATERIALIZED (FROM gpu_events(runs := runs)),
lengths AS (
    SELECT run_id, file_id, train_step, max(end_ns) - min(start_ns) AS length_ns,
        train_step IS NULL OR train_step < max(train_step) OVER file OR count(train_step) OVER file < 2 AS is_complete
    FROM work GROUP BY run_id, file_id, train_step WINDOW file AS (PARTITION BY file_id)),
steps AS (
    SELECT run_id, train_step, max(length_ns) AS length_ns,
        count(*) FILTER (is_complete) * (train_step IS NOT NULL)::INT AS n_complete
    FROM lengths WHERE step_number IS NULL OR train_step = step_number GROUP BY run_id, train_step),
chosen AS (
    SELECT run_id, train_step
    FROM (FROM steps QUALIFY n_complete = max(n_complete) OVER (PARTITION BY run_id))
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY length_ns, train_step)
        = (count(*) OVER (PARTITION BY run_id) + 1) // 2),
-- Offsets of one process group count from one host; those of several groups would not.
clocks AS (
    SELECT run_id, rank, offset_ns
    FROM (SELECT *, count(offset_ns) OVER (PARTITION BY run_id, process_group) AS n_known FROM clock_offsets(runs := runs))
    QUALIFY process_group = first_value(process_group) OVER (PARTITION BY run_id ORDER BY n_known DESC, process_group)),
events_of_step AS (
    SELECT w.*, w.start_ns - coalesce(round(offset_ns), 0)::BIGINT AS from_ns,
        w.end_ns - coalesce(round(offset_ns), 0)::BIGINT AS to_ns,
        count(DISTINCT w.file_id) OVER run = 1 OR count(offset_ns) OVER run = count(*) OVER run AS is_common
    FROM work AS w JOIN chosen AS c ON w.run_id = c.run_id AND w.train_step IS NOT DISTINCT FROM c.train_step
    LEFT JOIN clocks AS k ON w.run_id = k.run_id AND w.rank = k.rank
    WINDOW run AS (PARTITION BY w.run_id)),
zeroed AS (
    SELECT *, if(is_common, min(from_ns) OVER (PARTITION BY run_id), min(start_ns) OVER (PARTITION BY file_id)) AS zero_ns,
        if(is_common, from_ns, start_ns) - zero_ns AS begins_ns, if(is_common, to_ns, end_ns) - zero_ns AS ends_ns
    FROM events_of_step),
with_slots AS (
    SELECT *, greatest(max(ends_ns) OVER (PARTITION BY run_id), 1) AS whole_ns,
        begins_ns * step_slots // whole_ns AS first_slot, ends_ns * step_slots // whole_ns AS last_slot
    FROM zeroed),
numbered AS (
    SELECT *, sum(coalesce(is_apart, true)::INT) OVER lane AS island
    FROM (SELECT *, first_slot > 1 + max(last_slot) OVER (lane ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS is_apart
        FROM with_slots WINDOW lane AS (PARTITION BY file_id, process, stream, class ORDER BY begins_ns, ends_ns, line))
    WINDOW lane AS (PARTITION BY file_id, process, stream, class ORDER BY begins_ns, ends_ns, line))
SELECT run_id, file_id, min(line) AS line, rank, process, stream, class, train_step,
    min(begins_ns)::BIGINT AS begins_ns, max(ends_ns)::BIGINT AS ends_ns, sum(duration_ns)::BIGINT AS work_ns,
    count(*) AS n_events, if(is_common, 'common', 'own') AS clock
FROM numbered
GROUP BY run_id, file_id, rank, process, stream, class, train_step, island, is_common
ORDER BY run_id, rank, file_id, process, stream, begins_ns, class
