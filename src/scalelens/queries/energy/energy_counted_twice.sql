-- Runs whose tools measured the same machine at the same time: the same joules, several times.
--
-- Answers: Which runs' energies must not be added up?
--   A tool that measures the whole machine (CodeCarbon with tracking_mode machine) gives the energy of all that ran on
--   it to each program that asked.  One row per sensor that several runs report for overlapping times.  `once_j` counts
--   what the windows cover together once; `sum_j` is what adding the runs up would give.
--
-- Formula: once_j by the rule of reported_energy over the runs' windows; sum_j = sum over the runs of reported_j.
--
-- Assumptions: Machines that a tool describes alike, or that have one name, are one machine.  A measurement that is in
--   the files of two runs, with the same end, length and energy, is copied, and not measured twice.
--
-- Limits: Twins of a cluster that have no names look like one machine: then the sum is right, which the note says.
--
-- Glance: source device scope once_j sum_j n_runs begins ends node note
--
-- Needs: energy
--
-- When empty: no two runs measured the same machine at the same time
--
-- Sources: reported_energy, energy, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   source       VARCHAR         the tool
--   node         VARCHAR         host name, or what the tool says of the machine
--   device       VARCHAR         device as the tool numbers it
--   scope        VARCHAR         what the sensor covers
--   n_runs       BIGINT          runs that report it
--   run_ids      VARCHAR[]       these runs
--   begins       TIMESTAMP       begin of the first window
--   ends         TIMESTAMP       end of the last one
--   once_j       DOUBLE J        energy of the time that the windows cover, counted once; NULL where only bounds are known
--   low_j        DOUBLE J        at least
--   high_j       DOUBLE J        at most
--   sum_j        DOUBLE J        sum over the runs
--   note         VARCHAR         what to know or doubt
WITH
reports AS (
    SELECT * FROM reported_energy(runs := runs)
    WHERE node IS NOT NULL AND begins IS NOT NULL AND reported_j IS NOT NULL AND ends > begins),
marked AS (
    SELECT *, coalesce(begins >= max(ends) OVER (PARTITION BY source, node, device, scope ORDER BY begins, ends DESC, run_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true) AS is_first
    FROM reports),
together AS (
    SELECT *, sum(is_first::BIGINT) OVER (PARTITION BY source, node, device, scope ORDER BY begins, ends DESC, run_id) AS number
    FROM marked),
-- Runs that take turns on a machine share none of its time.
measurements AS (
    SELECT DISTINCT ON (node, device, scope, ts, span_s, energy_j) run_id, node, device, scope, epoch_ns(ts) AS ends_ns,
        ends_ns - (span_s * 1e9)::BIGINT AS begins_ns
    FROM energy WHERE node IS NOT NULL AND ts IS NOT NULL AND span_s > 0 AND energy_j IS NOT NULL
        AND run_id IN (FROM selected_runs(runs := runs))
    ORDER BY run_id),
placed AS (
    SELECT *, max({'ends_ns': ends_ns, 'run_id': run_id}) OVER (PARTITION BY node, device, scope
        ORDER BY begins_ns, ends_ns DESC, run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM measurements),
sharing AS (SELECT DISTINCT run_id FROM placed WHERE before.ends_ns > begins_ns AND before.run_id <> run_id),
sums AS (
    SELECT source, node, device, scope, count(DISTINCT run_id) AS n_runs,
        list_sort(list(DISTINCT run_id)) AS run_ids, min(begins) AS first_begin, max(ends) AS last_end,
        covered(list(epoch_ns(begins) ORDER BY run_id), list(epoch_ns(ends) ORDER BY run_id),
            list(reported_j ORDER BY run_id)) AS w,
        sum(reported_j ORDER BY run_id) AS sum_j
    FROM together GROUP BY source, node, device, scope, number HAVING count(DISTINCT run_id) > 1
        AND bool_or(run_id IN (FROM sharing)))
SELECT source, node, device, scope, n_runs, run_ids, first_begin AS begins, last_end AS ends,
    CASE WHEN w.high_j - w.low_j <= 1e-9 * w.high_j THEN w.high_j END AS once_j, w.low_j AS low_j, w.high_j AS high_j, sum_j,
    format('{} runs report this machine for the same time: the same energy, unless they ran on as many machines that are '
        || 'described alike', n_runs) AS note
FROM sums
ORDER BY begins, source, node, device, scope
