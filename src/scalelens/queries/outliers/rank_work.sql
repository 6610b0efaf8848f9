-- What each rank does on its own in each step: computing, waiting for data, communicating.
--
-- Answers: How long does a rank work in a step, apart from waiting for the others?
--   From a trace: the union of its compute kernels, that of its communication, and the spans of the DataLoader, in the
--   step that launched them; a trace without ProfilerStep annotations is one step.  The last step of a trace with three
--   or more is left out, because recording may stop within it.
--   Kernels take longer while communication runs.  `alone_s` is what computing takes free of that: the part
--   during communication is divided by the rank's factor of contention where that rests on half of this part, else by
--   the factor of all ranks of its stage together.
--   From a log with records of each rank: the time that it reports waiting for data, and forward and backward compute
--   where Megatron prints its timers rank by rank; for ScaleLens' own runners on the CPU, the processor time of the
--   step, which does not include waiting.  On GPUs they log `device_s`, the time between two events on the device, which
--   includes what a rank waits for others there.  The step time itself is not a rank's own work.
--
-- Helper: used by late_ranks, outlier_gpus and work_scores
--
-- Sources: events, step_annotations, gpu_events, kernels_beside, contention, steps, metrics, runs, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR     run
--   rank               INTEGER     rank
--   stage              INTEGER     pipeline stage, from the sizes of the run: the stage varies slowest with the rank
--   train_step         BIGINT      step; NULL for a trace without steps
--   compute_s          DOUBLE s    time it computes
--   alone_s            DOUBLE s    time that its computing takes without communication; compute_s where no factor is
--                                  known
--   beside_share       DOUBLE      share of its kernels' time in which communication runs, 0 to 1; NULL where it was
--                                  not traced
--   contention         DOUBLE      how many times as long kernels take during communication; NULL where not known
--   communication_s    DOUBLE s    time it communicates, including waiting
--   data_s             DOUBLE s    time it waits for data
--   step_s             DOUBLE s    time of the step
--   origin             VARCHAR     trace, timers, device (events on the device, as ScaleLens' runners log) or log
WITH
marks AS (
    SELECT run_id, rank, train_step, sum(duration_ns) AS step_ns
    FROM step_annotations() WHERE category IN ('user_annotation', 'cpu_op', 'nvtx')
    GROUP BY ALL),
spans AS (
    SELECT run_id, rank, train_step, class, start_ns, end_ns FROM gpu_events() WHERE class <> 'memory'
    UNION ALL
    SELECT run_id, rank, train_step, category, start_ns, start_ns + duration_ns FROM events
    WHERE category IN ('compute', 'communication') AND duration_ns IS NOT NULL
    UNION ALL
    SELECT run_id, rank, train_step, 'data', start_ns, start_ns + duration_ns FROM events
    WHERE starts_with(name, 'enumerate(DataLoader)') AND duration_ns IS NOT NULL),
kept AS (FROM spans WHERE rank IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))),
-- Element n + 1 of `lasted` is the time in which exactly the classes of the bits of n run.
swept AS (
    SELECT run_id, rank, train_step, max(end_ns) - min(start_ns) AS span_ns,
        bool_or(class = 'compute') AS computes, bool_or(class = 'communication') AS communicates,
        bool_or(class = 'data') AS loads, class_spans(list(start_ns), list(end_ns),
            list(CASE class WHEN 'compute' THEN 1 WHEN 'communication' THEN 2 ELSE 4 END)) AS lasted
    FROM kept
    WHERE train_step IS NOT NULL OR run_id NOT IN (SELECT run_id FROM kept WHERE train_step IS NOT NULL)
    GROUP BY run_id, rank, train_step),
traced AS (
    SELECT run_id, rank, train_step,
        CASE WHEN computes THEN (lasted[2] + lasted[4] + lasted[6] + lasted[8]) / 1e9 END AS compute_s,
        CASE WHEN communicates THEN (lasted[3] + lasted[4] + lasted[7] + lasted[8]) / 1e9 END AS communication_s,
        CASE WHEN loads THEN (lasted[5] + lasted[6] + lasted[7] + lasted[8]) / 1e9 END AS data_s,
        coalesce(step_ns, span_ns) / 1e9 AS step_s
    FROM swept LEFT JOIN marks USING (run_id, rank, train_step)),
complete_steps AS (
    FROM traced QUALIFY train_step IS NULL OR train_step < max(train_step) OVER (PARTITION BY run_id)
        OR max(train_step) OVER (PARTITION BY run_id) - min(train_step) OVER (PARTITION BY run_id) < 2),
timed AS (
    SELECT run_id, rank, step AS train_step,
        coalesce(sum(seconds) FILTER (name <> 'device_s'), sum(seconds) FILTER (name = 'device_s')) AS compute_s,
        bool_and(name = 'device_s') AS by_device
    FROM (
        SELECT run_id, rank, step, name, value / CASE unit WHEN 'ms' THEN 1e3 ELSE 1 END AS seconds FROM metrics
        WHERE name IN ('forward-compute', 'backward-compute', 'cpu_s', 'device_s') AND stat = 'value'
            AND unit IN ('ms', 's') AND rank IS NOT NULL AND step IS NOT NULL
            AND run_id IN (FROM selected_runs(runs := runs)))
    GROUP BY ALL),
logged AS (
    SELECT run_id, rank, step AS train_step, avg(data_s) AS data_s, avg(step_s) AS step_s
    FROM steps
    WHERE phase = 'train' AND rank IS NOT NULL AND data_s IS NOT NULL AND step IS NOT NULL
        AND value_kind IN ('instant', 'interval_mean') AND run_id IN (FROM selected_runs(runs := runs))
    GROUP BY ALL),
work AS (
    SELECT *, 'trace' AS origin FROM complete_steps
    UNION ALL BY NAME
    SELECT * EXCLUDE (by_device),
        CASE WHEN compute_s IS NULL THEN 'log' WHEN by_device THEN 'device' ELSE 'timers' END AS origin
    FROM timed FULL JOIN logged USING (run_id, rank, train_step)
    WHERE run_id NOT IN (SELECT run_id FROM complete_steps WHERE compute_s IS NOT NULL)),
staged AS (
    SELECT work.*, CASE WHEN pp = 1 THEN 0 ELSE rank // (devices // pp) END::INTEGER AS stage
    FROM work LEFT JOIN (SELECT run_id, pp, devices FROM runs) USING (run_id)),
besides AS (
    SELECT run_id, rank, train_step, sum(beside_ns) / nullif(sum(duration_ns), 0) AS beside_share
    FROM kernels_beside(runs := runs) WHERE class = 'compute' GROUP BY ALL),
factors AS (
    SELECT run_id, rank, sum(compared_ns) AS compared_ns, sum(compared_ns / factor) AS alone_ns,
        sum(compared_ns) >= 0.5 * sum(beside_ns) AS is_enough
    FROM contention(runs := runs, per := 'class') WHERE class = 'compute' AND factor IS NOT NULL GROUP BY ALL),
slowed AS (
    SELECT s.*, beside_share, CASE WHEN is_enough THEN compared_ns / alone_ns
        ELSE sum(compared_ns) OVER of_stage / sum(alone_ns) OVER of_stage END AS contention
    FROM staged AS s LEFT JOIN factors AS f USING (run_id, rank)
    LEFT JOIN besides AS b ON b.run_id = s.run_id AND b.rank = s.rank AND b.train_step IS NOT DISTINCT FROM s.train_step
    WINDOW of_stage AS (PARTITION BY s.run_id, s.stage))
SELECT run_id, rank, stage, train_step, compute_s,
    compute_s * (1 - coalesce(beside_share * (1 - 1 / greatest(contention, 1)), 0)) AS alone_s, beside_share, contention,
    communication_s, data_s, step_s, origin
FROM slowed
