-- Work per energy: samples and tokens per watt-hour, joules per step.
--
-- Answers: How much work did a watt-hour give?
--   How many watt-hours did a unit take, and how much of that was idling?
--   If only some of the devices were measured, the others are taken to have done the same work.  A tool's watt-hours
--   mostly include start-up and compilation: `steps_share` says how much of them went into steps.
--
-- Formula: samples_per_wh = 3600 S p / E, with S the samples of the whole run (work_done), E the joules of the measured
--   units (energy_of_runs), and p the share of the devices that were measured; likewise for tokens.  step_j is the
--   median over the steps of what all measured devices took.
--
-- Reference: Green500 and MLPerf Power (arXiv 2410.12032): work over energy, total over total.  The interval is
--   median_interval (batch_stats).
--
-- Assumptions: Devices that were not measured did as much work as those that were.  A tool's sensor is right, although
--   nvidia-smi samples A100 and H100 for part of the time only.
--
-- Limits: The energy of devices is not that of nodes: hosts, fans and network are included only with per := 'node'.
--
-- Glance: run_id system precision devices global_batch_size energy_j unit_w tdp_share% coverage% samples_per_wh
--   tokens_per_wh step_j energy_kind note
--
-- Needs: power, energy, steps.energy_j
--
-- Sources: runs, energy_of_runs, energy_of_steps, work_done, run_devices, devices_catalog, power, selected_runs
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
--   run_id               VARCHAR              run
--   system               VARCHAR              machine
--   model                VARCHAR              model
--   precision            VARCHAR              number format
--   devices              INTEGER              devices
--   global_batch_size    BIGINT samples       per step over all devices
--   energy_kind          VARCHAR              integrated, reported or printed
--   unit                 VARCHAR              device, package or node
--   units                DOUBLE               units whose energy counts
--   energy_j             DOUBLE J             of all units; NULL where only bounds are known
--   unit_wh              DOUBLE Wh            of one unit
--   unit_w               DOUBLE W             of one unit, mean over the measured time
--   tdp_w                DOUBLE W             power limit of one unit, according to the vendor (run_devices); for a GCD
--                                             half of the package's; NULL for nodes, which contain more than
--                                             accelerators
--   tdp_share            DOUBLE               unit_w over tdp_w
--   coverage             DOUBLE               share of the extent outside of gaps, for the worst sensor
--   idle_share           DOUBLE               share that the lowest power of each sensor would have taken by itself
--   steps_share          DOUBLE               share that went into steps, including warm-up; NULL where the clocks
--                                             cannot be joined
--   samples              DOUBLE samples       samples of these steps; else of the epochs
--   samples_per_wh       DOUBLE samples/Wh    samples over the energy of all units
--   tokens_per_wh        DOUBLE tokens/Wh     tokens over the energy of all units
--   batch_per_wh         DOUBLE samples/Wh    global batch over unit_wh, which CARAML's tables print as tokens per
--                                             energy
--   epoch_wh             DOUBLE Wh            of all units, per epoch
--   n_steps              BIGINT               records that step_j rests on
--   step_j               DOUBLE J             per step, of all units: median over the records
--   step_j_low           DOUBLE J             lower end of its interval
--   step_j_high          DOUBLE J             upper end of its interval
--   interval_kind        VARCHAR              ci95, or range where 95 % cannot be claimed
--   reported_j           DOUBLE J             as reported by the tool, for the same units
--   reported_method      VARCHAR              how the tool determined it
--   note                 VARCHAR              what to know or doubt
WITH
energies AS (FROM energy_of_runs(runs := runs, per := per, extent := extent, method := method)),
records AS (
    SELECT * FROM energy_of_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    QUALIFY sensors IS NOT DISTINCT FROM max(sensors) OVER (PARTITION BY run_id)),
steps AS (
    SELECT run_id, count(*) FILTER (WHERE excluded_by IS NULL) AS n_steps, max(sensors) AS sensors,
        median(energy_j) FILTER (WHERE excluded_by IS NULL) AS step_j,
        median_interval(list(energy_j ORDER BY position_in_run) FILTER (WHERE excluded_by IS NULL)) AS bounds,
        sum(energy_j * averaged_steps ORDER BY position_in_run) AS steps_j
    FROM records GROUP BY run_id),
-- The catalog lists a GCD without a power limit, and the package of two (an OAM) with one, under the same name.
limits AS (
    SELECT run_id, CASE
        WHEN device_unit = 'gcd' THEN coalesce(package.tdp_w, CASE WHEN ends_with(d.device, ' OAM') THEN d.tdp_w END)
            / CASE per WHEN 'device' THEN 2 WHEN 'package' THEN 1 END
        WHEN d.unit <> 'gcd' AND coalesce(device_unit, d.unit) = d.unit AND per <> 'node' THEN d.tdp_w END AS tdp_w
    FROM run_devices(runs := runs) AS d JOIN runs USING (run_id)
    LEFT JOIN devices_catalog AS package ON d.unit = 'gcd' AND package.device = replace(d.device, ' GCD', ' OAM')),
implausible AS (
    SELECT run_id, count(*) AS n_implausible FROM power
    WHERE flag = 'implausible' AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY run_id)
SELECT e.run_id, system, model, r.precision, devices, global_batch_size, energy_kind, unit, units, e.energy_j,
    e.energy_j / units / 3600 AS unit_wh, unit_w, tdp_w, unit_w / tdp_w AS tdp_share, coverage, idle_share,
    CASE energy_kind WHEN 'integrated' THEN steps_j / e.energy_j END AS steps_share,
    samples, samples * share / e.energy_j * 3600 AS samples_per_wh, tokens * share / e.energy_j * 3600 AS tokens_per_wh,
    global_batch_size / unit_wh AS batch_per_wh, e.energy_j / share / 3600 / n_epochs AS epoch_wh,
    n_steps, step_j, bounds.low AS step_j_low, bounds.high AS step_j_high, bounds.kind AS interval_kind,
    reported_j, reported_method,
    notes([
        CASE WHEN e.energy_j IS NULL THEN format('the energy is from {:.6g} J', e.low_j)
            || coalesce(format(' to {:.6g} J', e.high_j), ' on') || ' (energy_reconciled says why)' END,
        CASE WHEN measured_share IS NULL THEN 'the number of devices is not known, so all that were measured count' END,
        CASE WHEN measured_share < 1 THEN format('{:.3g} % of the devices were measured', 100 * measured_share) END,
        CASE WHEN contains(flags, 'more_measured')
            THEN 'more devices were measured than the run had: those that took most energy count' END,
        CASE WHEN coverage < 0.95 THEN 'less than 95 % of the time was measured' END,
        format('{} power samples are implausible and left out', n_implausible),
        CASE WHEN contains(flags, 'no_clock')
            THEN 'the clocks of the power readings and the log cannot be joined (power_clock)' END,
        CASE WHEN contains(flags, 'clock_changed') OR contains(flags, 'clock_back')
            THEN 'the clock of the power readings was changed while they ran (energy_integrated)' END,
        CASE energy_kind WHEN 'reported' THEN 'the energy includes start-up, as far as the tool measured it' END]) AS note
FROM (SELECT *, coalesce(measured_share, 1) AS share FROM energies) AS e JOIN runs AS r USING (run_id)
LEFT JOIN work_done(runs := runs) USING (run_id) LEFT JOIN steps USING (run_id) LEFT JOIN limits USING (run_id)
LEFT JOIN implausible USING (run_id)
ORDER BY system, model, r.precision, devices, global_batch_size, e.run_id
