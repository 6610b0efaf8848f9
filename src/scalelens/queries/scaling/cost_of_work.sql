-- What work cost: device hours, watt-hours and, with a price, money.
--
-- Answers: What did a run cost in device hours, energy and money?
--   And what did an epoch, a million samples or a billion tokens of it cost?
--   One row for each run and unit of work that is known for it; the unit `run` is the run itself.  The time is that of
--   the job if it contained one run only, else that which the run reports, else from its first to its last time stamp,
--   else that of its steps alone.  All devices count for all of that time, including start-up, because it is paid for.
--   Energy is that of energy_of_runs; devices that were not measured are taken to have used as much as the others.
--
-- Formula: device_hours = n T / 3600 / u, energy_wh = E / p / 3600 / u, money = device_hours * price, with n the
--   devices, T the time for which they were allocated, E the joules measured, p the share of the devices that were
--   measured, u the units of work.
--
-- Assumptions: All devices are paid for as long as the run lasts.  Devices that were not measured took as much energy
--   as the others.
--
-- Limits: No log contains a price: give it as price_per_device_hour.  Where only steps have times, start-up is missing,
--   and the note says so.  Energy is that of energy_of_runs, mostly without hosts.
--
-- Glance: work_unit run_id device_hours energy_wh money devices precision model work_units run_s run_origin
--   energy_kind note
--
-- When empty: not_compared
--
-- Sources: runs, phases, jobs, batch_stats, work_done, energy_of_runs, selected_runs
--
-- Parameters: runs
--   price_per_device_hour := NULL    price of one device for an hour, in any currency
--
-- Columns:
--   run_id               VARCHAR           run
--   name                 VARCHAR           name of the run
--   system               VARCHAR           machine
--   model                VARCHAR           model
--   precision            VARCHAR           number format
--   devices              INTEGER           devices
--   global_batch_size    BIGINT samples    per step over all devices
--   run_s                DOUBLE s          time for which the devices were allocated
--   run_origin           VARCHAR           where run_s comes from: job, run, times or steps
--   work_unit            VARCHAR           run, epoch, million samples or billion tokens
--   work_units           DOUBLE            how many of them the run did
--   device_hours         DOUBLE            per unit of work
--   energy_wh            DOUBLE Wh         per unit of work
--   money                DOUBLE            per unit of work, in the currency of the price
--   energy_kind          VARCHAR           integrated, reported or printed
--   note                 VARCHAR           what to know or doubt
WITH
chosen AS (FROM runs WHERE run_id IN (FROM selected_runs(runs := runs))),
attempts AS (
    SELECT run_id, max(span_s) AS span_s FROM phases WHERE phase = 'run' AND span_s > 0
    GROUP BY run_id, coalesce(attempt, 0)),
stated AS (SELECT run_id, sum(span_s ORDER BY span_s) AS span_s FROM attempts GROUP BY run_id),
-- The time of a job with several runs says nothing about one of them.
alone AS (SELECT job_id FROM main.runs WHERE job_id IS NOT NULL GROUP BY job_id HAVING count(*) = 1),
of_jobs AS (
    SELECT j.run_id, max(elapsed_s) AS span_s FROM jobs AS j JOIN main.runs AS r USING (run_id)
    WHERE step_id IS NULL AND elapsed_s > 0 AND r.job_id IN (FROM alone) GROUP BY j.run_id),
of_steps AS (SELECT run_id, timed_s AS span_s FROM batch_stats(runs := runs, exclude := 'none')),
-- Materialized: DuckDB 2.0.0 stops with an internal error (dict-surviving cache) where it joins them at once.
times AS MATERIALIZED (
    SELECT c.*, epoch(ended_at - started_at) AS between_s,
        CASE WHEN h.span_s > 0 THEN 'job' WHEN s.span_s > 0 THEN 'run' WHEN between_s > 0 THEN 'times'
            WHEN t.span_s > 0 THEN 'steps' END AS run_origin,
        CASE run_origin WHEN 'job' THEN h.span_s WHEN 'run' THEN s.span_s WHEN 'times' THEN between_s
            WHEN 'steps' THEN t.span_s END AS run_s
    FROM chosen AS c LEFT JOIN of_jobs AS h USING (run_id) LEFT JOIN stated AS s USING (run_id)
    LEFT JOIN of_steps AS t USING (run_id)),
costs AS (
    SELECT t.*, devices * run_s / 3600 AS hours, energy_j / coalesce(measured_share, 1) / 3600 AS wh, energy_kind,
        measured_share, n_epochs, samples, tokens
    FROM times AS t LEFT JOIN energy_of_runs(runs := runs) USING (run_id) LEFT JOIN work_done(runs := runs) USING (run_id)),
units AS (
    SELECT *, 1 AS position, 'run' AS work_unit, 1.0::DOUBLE AS work_units FROM costs
    UNION ALL SELECT *, 2, 'epoch', n_epochs::DOUBLE FROM costs
    UNION ALL SELECT *, 3, 'million samples', samples / 1e6 FROM costs
    UNION ALL SELECT *, 4, 'billion tokens', tokens / 1e9 FROM costs)
SELECT run_id, name, system, model, u.precision, devices, global_batch_size, run_s, run_origin, work_unit, work_units,
    hours / work_units AS device_hours, wh / work_units AS energy_wh,
    hours / work_units * price_per_device_hour::DOUBLE AS money, energy_kind,
    notes([
        CASE WHEN devices IS NULL THEN 'no log states the number of devices' END,
        CASE WHEN run_s IS NULL THEN 'no log states how long it took' END,
        CASE run_origin WHEN 'steps' THEN 'time of the steps only: start-up is not included' END,
        CASE WHEN wh > 0 AND measured_share IS NULL THEN 'the energy is that of all devices that were measured' END,
        CASE WHEN measured_share < 1 THEN format('{:.3g} % of the devices were measured', 100 * measured_share) END,
        CASE WHEN outcome NOT IN ('completed', 'unknown') THEN 'the run did not complete: ' || outcome END]) AS note
FROM units AS u
WHERE work_units > 0
ORDER BY system, model, u.precision, devices, name, run_id, position
