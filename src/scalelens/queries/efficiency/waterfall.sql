-- Where the lost efficiency went: from 100 % down to what is left, one row for each loss.
--
-- Answers: What ate the efficiency, and how much did each cause take?
--   The percentages of a run and source add up to 100, including `left`.
--   log      100 % is the time of the job, and the parts are those of lost_time: start-up, validation, checkpoints,
--            repeated, first batches, data wait, slow tail, rest; left is the time of usual steps.  A part that no log shows
--            is absent, not 0, and its time is in `rest`.
--   trace    100 % is the elapsed time of all traced devices, and left is the time they computed: the parallel efficiency
--            of efficiency_tree.  Each of its factors f has lost (1 - product) * ln f / ln product, so the order of the
--            factors does not matter.  If one rank of several was traced its balance is not known, and there is no row.  If
--            a smaller run of the series was traced, computation is a part too: kernels take longer per sample than there,
--            and left is the global efficiency.  Where they take less time, the part is below 0.
--   The two sources are not added: a trace looks inside a few steps.
--
-- Formula: percent = 100 * part / whole; for a trace, 100 * (1 - product) * ln f / ln product for each factor f.
--
-- Reference: additive bars of POP's factors, https://pop-coe.eu/node/69
--
-- Limits: A part that no log shows is in `rest`.  A cause that slows all steps alike is in none of the parts.
--
-- Glance: run_id part percent lost_s after_percent source evidence note
--
-- Partition: run_id
--
-- Sources: lost_time, efficiency_tree, runs
--
-- Parameters: runs, steps
--   warmup := 2    records left out at the start of each attempt; for the part first batches
--
-- Columns:
--   run_id           VARCHAR     run
--   name             VARCHAR     name of the run
--   source           VARCHAR     log or trace
--   part_order       INTEGER     order of the parts
--   part             VARCHAR     what it was lost to; the last is `left`
--   lost_s           DOUBLE s    time; for a trace, of one device
--   percent          DOUBLE      share of the whole, in percent
--   after_percent    DOUBLE      what is left after this part and those before it
--   evidence         VARCHAR     what the part was derived from
--   note             VARCHAR     what to know or doubt of the run's parts
WITH
traced AS (
    SELECT *, CASE WHEN ranks < devices THEN format('{} of {} devices were traced', ranks, devices)
            WHEN ranks = 1 AND devices IS NULL THEN 'the number of devices is not known: one is assumed' END
            AS trace_note,
        global_efficiency < 1 AND base_run_id <> run_id AS is_scaled,
        CASE WHEN is_scaled THEN global_efficiency ELSE parallel_efficiency END AS product,
        unnest([{'part_order': 1, 'part': 'load balance', 'factor': load_balance},
        {'part_order': 2, 'part': 'communication', 'factor': communication_efficiency},
        {'part_order': 3, 'part': 'orchestration', 'factor': orchestration_efficiency}]
        || CASE WHEN is_scaled THEN [{'part_order': 4, 'part': 'computation', 'factor': computation_scalability}] ELSE [] END,
        recursive := true)
    FROM efficiency_tree(runs := runs, steps := steps) WHERE parallel_efficiency > 0),
factored AS (
    SELECT *, CASE WHEN product < 1 AND factor <> 1 THEN (1 - product) * ln(factor) / ln(product) ELSE 0 END AS lost
    FROM traced),
shares AS (
    SELECT run_id, 'log' AS source, part_order, if(part = 'useful', 'left', part) AS part, lost_s,
        lost_s / allocated_s AS share, evidence, note
    FROM lost_time(runs := runs, warmup := warmup)
    UNION ALL
    SELECT run_id, 'trace', part_order, part, lost * elapsed_ns / 1e9, lost,
        format('{} {:.4f}', part, factor) || CASE part WHEN 'load balance' THEN format(' over {} traced devices', ranks)
            WHEN 'computation' THEN format(' against run {}', base_run_id) ELSE '' END,
        trace_note
    FROM factored
    UNION ALL
    SELECT run_id, 'trace', 5, 'left', product * elapsed_ns / 1e9, product, 'computing, mean over the traced devices'
            || if(is_scaled, ', at the speed of the smallest run', ''), trace_note
    FROM traced WHERE part_order = 1)
SELECT run_id, name, source, part_order, part, lost_s, 100 * share AS percent,
    100 * (1 - sum(CASE WHEN part <> 'left' THEN share ELSE 0 END) OVER so_far) AS after_percent, evidence, note
FROM shares JOIN runs USING (run_id)
WINDOW so_far AS (PARTITION BY run_id, source ORDER BY part_order)
ORDER BY run_id, source, part_order
