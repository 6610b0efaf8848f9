-- Energy against scale: what the same work takes on more devices, relative to the base case.
--
-- Answers: Does more speed cost more energy, and how much?
--   Energy per sample over that of the base of the series (scaling): 1 is as much as there, 2 twice as much.  It is the
--   energy of the steps if every size of the series has it, else that of the whole runs, including start-up.  Where the
--   model grows (`mixed`) the work is not the same, and nothing is compared.
--
-- Formula: relative_energy = (E / S) / (E0 / S0), with E the energy of all devices, S the samples, and E0, S0 those of
--   the smallest size of the series.
--
-- Assumptions: Devices that were not measured take as much energy as those that were.
--
-- Limits: No range without repeats of both sizes.  The range is that of the repeats, not a 95 % interval.
--
-- Glance: series devices nodes relative_energy speedup sample_j unit_w energy_of energy_kind n_runs n_steps note
--
-- Needs: power, energy, steps.energy_j
--
-- When empty: no series has an energy at two sizes or more
--
-- Sources: scaling, energy_efficiency
--
-- Parameters: runs, epochs, warmup, exclude, series_by
--   extent := 'run'          'run' is from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--                            it
--
-- Columns:
--   series               VARCHAR           what the runs of the series have in common (scaling_series)
--   scaling              VARCHAR           weak, strong or mixed
--   run_id               VARCHAR           run; for repeats, the one with the median time, the faster of two
--   nodes                INTEGER           nodes
--   devices              INTEGER           devices
--   baseline_devices     INTEGER           devices of the smallest size whose energy is known
--   global_batch_size    BIGINT samples    per step over all devices
--   n_runs               BIGINT            runs whose energy is known
--   n_steps              BIGINT            records that the energy of steps rests on, over all these runs
--   speedup              DOUBLE            throughput over that of the base of the series (scaling)
--   energy_of            VARCHAR           steps or runs
--   energy_kind          VARCHAR           integrated, reported or printed
--   sample_j             DOUBLE J          per sample, of all devices
--   unit_w               DOUBLE W          of one device, mean over the measured time
--   relative_energy      DOUBLE            sample_j over that of the base
--   relative_low         DOUBLE            lower end of its range over repeats; NULL where either has one run
--   relative_high        DOUBLE            upper end
--   note                 VARCHAR           what to know or doubt
WITH
sizes AS (
    SELECT *, unnest(coalesce(run_ids, [run_id])) AS member
    FROM scaling(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, series_by := series_by)),
energies AS (
    SELECT *, step_j / coalesce(units / nullif(devices, 0), 1) / global_batch_size AS steps_sample_j,
        3600 / samples_per_wh AS runs_sample_j
    FROM energy_efficiency(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, extent := extent,
        method := method)),
measured AS (
    SELECT s.series, s.scaling, s.run_id, s.nodes, s.devices, s.global_batch_size, s.speedup, s.note AS scaling_note,
        e.energy_kind, e.unit_w, e.n_steps, e.note, e.steps_sample_j, e.runs_sample_j,
        bool_and(e.steps_sample_j IS NOT NULL) OVER (PARTITION BY s.series) AS has_steps
    FROM sizes AS s JOIN energies AS e ON e.run_id = s.member),
points AS (
    SELECT series, scaling, run_id, nodes, devices, global_batch_size, speedup, count(*) AS n_runs,
        sum(n_steps)::BIGINT AS n_steps, CASE WHEN has_steps THEN 'steps' ELSE 'runs' END AS energy_of,
        string_agg(DISTINCT energy_kind, ' ' ORDER BY energy_kind) AS energy_kind, avg(unit_w) AS unit_w,
        median(CASE WHEN has_steps THEN steps_sample_j ELSE runs_sample_j END) AS sample_j,
        min(CASE WHEN has_steps THEN steps_sample_j ELSE runs_sample_j END) AS least_j,
        max(CASE WHEN has_steps THEN steps_sample_j ELSE runs_sample_j END) AS most_j,
        notes([string_agg(DISTINCT note, '; '), scaling_note]) AS note
    FROM measured WHERE coalesce(steps_sample_j, runs_sample_j) IS NOT NULL
    GROUP BY series, scaling, run_id, nodes, devices, global_batch_size, speedup, scaling_note, has_steps),
against_base AS (
    SELECT *, first_value(p) OVER (PARTITION BY series ORDER BY devices, sample_j, run_id) AS base FROM points AS p)
SELECT series, scaling, run_id, nodes, devices, base.devices AS baseline_devices, global_batch_size, n_runs, n_steps, speedup,
    energy_of, energy_kind, sample_j, unit_w,
    CASE WHEN speedup IS NOT NULL THEN sample_j / base.sample_j END AS relative_energy,
    CASE WHEN speedup IS NOT NULL AND n_runs > 1 AND base.n_runs > 1 AND run_id <> base.run_id
        THEN least_j / base.most_j END AS relative_low,
    CASE WHEN speedup IS NOT NULL AND n_runs > 1 AND base.n_runs > 1 AND run_id <> base.run_id
        THEN most_j / base.least_j END AS relative_high, note
FROM against_base
ORDER BY series, devices, sample_j, run_id
