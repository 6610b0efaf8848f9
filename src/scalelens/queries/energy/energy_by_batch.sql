-- Throughput and energy against batch size: the three panels of CARAML.
--
-- Answers: Which batch gives most throughput, and most work per watt-hour?
--   One row for each batch of runs that are otherwise equal; for repeats, the median with their range.  A tool's
--   watt-hours may be mostly start-up, which a larger batch only spreads over more work: see energy_fixed_part.
--
-- Formula: The median over the repeats, with the smallest and the largest; samples_per_wh is samples over watt-hours,
--   run by run.
--
-- Reference: John et al., CARAML, arXiv 2409.12994, figures of throughput and energy against batch.
--
-- Limits: The range of repeats is not a 95 % interval.  A run that failed before it did any work is not a point.
--
-- Glance: series global_batch_size devices samples_per_s unit_wh samples_per_wh tokens_per_wh n_runs rate_of unit
--   energy_kind note
--
-- Needs: power, energy, steps.energy_j
--
-- Sources: runs, labels, held_settings, energy_efficiency, batch_stats, phases
--
-- Parameters: runs, epochs, warmup, exclude
--   per := 'device'          unit: 'device' as the run counts them, 'package' (two GCDs are one) or 'node' with
--                            everything in it
--   extent := 'run'          'run' is from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--                            it
--
-- Columns:
--   series                 VARCHAR              what the runs share
--   devices                INTEGER              devices
--   device_unit            VARCHAR              gpu, gcd, ipu, hpu, tpu or cpu
--   global_batch_size      BIGINT samples       per step over all devices
--   run_ids                VARCHAR[]            runs of that batch
--   n_runs                 BIGINT               how many
--   n_steps                BIGINT               records that the throughput rests on, over all these runs
--   rate_of                VARCHAR              steps, or epochs where the log has no steps
--   samples_per_s          DOUBLE samples/s     of the whole job
--   samples_per_s_low      DOUBLE samples/s     lower end of the range of repeats; NULL for one run
--   samples_per_s_high     DOUBLE samples/s     upper end
--   tokens_per_s           DOUBLE tokens/s      of the whole job
--   unit                   VARCHAR              device, package or node
--   energy_kind            VARCHAR              integrated, reported or printed
--   unit_wh                DOUBLE Wh            of one unit
--   unit_wh_low            DOUBLE Wh            lower end of the range of repeats; NULL for one run
--   unit_wh_high           DOUBLE Wh            upper end
--   samples_per_wh         DOUBLE samples/Wh    over the energy of all units
--   samples_per_wh_low     DOUBLE samples/Wh    lower end of the range of repeats; NULL for one run
--   samples_per_wh_high    DOUBLE samples/Wh    upper end
--   tokens_per_wh          DOUBLE tokens/Wh     over the energy of all units
--   note                   VARCHAR              what to know or doubt
WITH
times AS MATERIALIZED (
    FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE samples_per_s IS NOT NULL),
rates AS (
    SELECT run_id, n_steps, 'steps' AS rate_of, samples_per_s, tokens_per_s FROM times
    UNION ALL
    SELECT run_id, NULL, 'epochs', sum(samples) / sum(span_s ORDER BY span_s), NULL
    FROM phases
    WHERE phase = 'epoch' AND coalesce(rank, 0) = 0 AND samples > 0 AND span_s > 0
        AND run_id NOT IN (SELECT run_id FROM times)
    GROUP BY run_id),
points AS (
    SELECT e.*, device_unit, n_rate_steps, rate_of, samples_per_s, tokens_per_s, held, held_of_model, study, r.nodes,
        concat_ws(' · ', r.model, r.precision, r.system, dataset, 'seq ' || seq_length, framework, labels,
            format('{} {}{}', r.devices, coalesce(upper(device_unit), 'device'), CASE r.devices WHEN 1 THEN '' ELSE 's' END)
        ) AS series
    FROM energy_efficiency(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, per := per,
        extent := extent, method := method) AS e
    JOIN runs AS r USING (run_id) JOIN held_settings(runs := runs) USING (run_id) LEFT JOIN labels() USING (run_id)
    LEFT JOIN (SELECT * EXCLUDE (n_steps), n_steps AS n_rate_steps FROM rates) USING (run_id)
    WHERE e.global_batch_size > 0
        AND (samples_per_s IS NOT NULL OR samples_per_wh IS NOT NULL OR outcome IN ('completed', 'unknown')))
SELECT series, devices, device_unit, global_batch_size, list(run_id ORDER BY run_id) AS run_ids, count(*) AS n_runs,
    sum(n_rate_steps)::BIGINT AS n_steps, string_agg(DISTINCT rate_of, ' ' ORDER BY rate_of) AS rate_of,
    median(samples_per_s) AS samples_per_s,
    CASE WHEN count(samples_per_s) > 1 THEN min(samples_per_s) END AS samples_per_s_low,
    CASE WHEN count(samples_per_s) > 1 THEN max(samples_per_s) END AS samples_per_s_high,
    median(tokens_per_s) AS tokens_per_s, unit,
    string_agg(DISTINCT energy_kind, ' ' ORDER BY energy_kind) AS energy_kind,
    median(unit_wh) AS unit_wh, CASE WHEN n_runs > 1 THEN min(unit_wh) END AS unit_wh_low,
    CASE WHEN n_runs > 1 THEN max(unit_wh) END AS unit_wh_high,
    median(samples_per_wh) AS samples_per_wh,
    CASE WHEN count(samples_per_wh) > 1 THEN min(samples_per_wh) END AS samples_per_wh_low,
    CASE WHEN count(samples_per_wh) > 1 THEN max(samples_per_wh) END AS samples_per_wh_high,
    median(tokens_per_wh) AS tokens_per_wh, notes([string_agg(DISTINCT note, '; ' ORDER BY note),
        CASE WHEN greatest(max(samples_per_wh) / min(samples_per_wh), max(samples_per_s) / min(samples_per_s)) > 1.05
            THEN format('runs of the same settings differ by a factor of {:.2f}: no log says why',
                greatest(max(samples_per_wh) / min(samples_per_wh), max(samples_per_s) / min(samples_per_s))) END]) AS note
FROM points GROUP BY series, held, held_of_model, study, nodes, devices, device_unit, global_batch_size, unit
ORDER BY series, devices, global_batch_size
