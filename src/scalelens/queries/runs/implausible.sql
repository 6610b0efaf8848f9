-- Printed numbers that cannot be true as they stand, and what is probably meant.
--
-- Answers: Which printed numbers contradict each other or the device?
--   One row for each such number of a run, the surest first: which relation it breaks, what is probably meant, and how
--   sure that is.  The numbers themselves are kept as they are.  `values` are those that a format marked when it read
--   them (the column `implausible` of steps, the flag of power): no statistic counts them.  The others are counted; what they
--   say is for you to decide.
--   mfu, tflops, tokens, profiler tflops, rate of a device: implausible_rates.  memory, utilization: implausible_use.
--   step time: implausible_times.  energy: one machine reported by several trackers, two figures for the same devices and
--   time, more devices than the job has, memory that is estimated at more than the GPUs.  busbw, algbw: benchmarks of
--   collectives.
--
-- Formula: bus bandwidth = algorithm bandwidth x factor, and the factor 2 (n - 1) / n of an all_reduce is 0 for one rank.
--   Every byte of a message is read from memory at least once: above twice the bandwidth of the memory (half of it may be
--   in caches) nothing was moved.
--
-- Reference: formulas_catalog; NVIDIA/nccl-tests, doc/PERFORMANCE.md.
--
-- Limits: What no second number contradicts is not found.  Machines of a cluster that have no names look like one.
--
-- Glance: run_id quantity printed_value expected unit certainty relation meaning n_records line~
--
-- When empty: no printed number contradicts another one or its device
--
-- Sources: implausible_rates, implausible_use, implausible_times, collective_benchmarks, energy_counted_twice,
--   energy_reconciled, energy, steps, power, runs, run_devices, devices_catalog, selected_runs, formulas_catalog
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR    run; of one machine reported by several, the first of them
--   file_id      VARCHAR    file of the first such number; NULL where it follows from many
--   line         BIGINT     its line
--   quantity     VARCHAR    mfu, tflops, tokens, profiler tflops, rate of a device, memory, utilization, energy, busbw,
--                           algbw, step time, or values
--   tool         VARCHAR    the tool that prints it
--   printed_value  DOUBLE   what is printed
--   expected     DOUBLE     what it would be, or at most is; NULL where that is not known
--   unit         VARCHAR    unit of both: 1 is a share
--   n_records    BIGINT     records with such a number
--   certainty    VARCHAR    how sure the meaning is: certain, likely or possible
--   relation     VARCHAR    which relation it breaks
--   meaning      VARCHAR    what is probably meant
--   source       VARCHAR    source of the formula or the figure
WITH
selected AS (FROM selected_runs(runs := runs)),
marked AS (
    SELECT run_id, file_id, line, name, CASE name WHEN 'step_s' THEN step_s WHEN 'samples_per_s' THEN samples_per_s
        WHEN 'tflops_per_device' THEN tflops_per_device WHEN 'energy_j' THEN energy_j WHEN 'power_w' THEN power_w END AS value
    FROM (SELECT *, unnest(string_split(implausible, ' ')) AS name FROM steps
        WHERE implausible IS NOT NULL AND run_id IN (FROM selected))),
marked_values AS (
    SELECT run_id, arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line, 'values' AS quantity,
        arg_min(value, (file_id, line)) AS printed, CASE name WHEN 'step_s' THEN 's' WHEN 'samples_per_s' THEN '1/s'
            WHEN 'tflops_per_device' THEN 'TFLOP/s' WHEN 'energy_j' THEN 'J' WHEN 'power_w' THEN 'W' END AS unit,
        count(*) AS n_records, 'certain' AS certainty,
        format('{} is {}', name, CASE WHEN value = 'inf'::DOUBLE THEN 'infinite' WHEN value > 0
            THEN 'longer than the time between the stamps of its log' ELSE 'not above zero' END) AS relation,
        'a broken record: no statistic counts it' AS meaning
    FROM marked GROUP BY run_id, name, relation
    UNION ALL BY NAME
    SELECT run_id, arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line, 'values' AS quantity,
        max(power_w) AS printed, 'W' AS unit, count(*) AS n_records, 'certain' AS certainty,
        'no device draws so much power' AS relation, if(min(power_w) / 1000 >= 1,
            format('milliwatts, {:.3g} W, or a broken reading: no energy counts it', max(power_w) / 1000),
            'a broken reading: no energy counts it') AS meaning
    FROM power WHERE flag = 'implausible' AND run_id IN (FROM selected) GROUP BY run_id),
lines AS (
    SELECT run_id, arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line FROM energy GROUP BY run_id),
several_trackers AS (
    SELECT run_ids[1] AS run_id, 'energy' AS quantity, t.source AS tool, sum_j AS printed, coalesce(once_j, high_j) AS expected, 'J' AS unit,
        n_runs AS n_records, 'likely' AS certainty,
        format('{} runs report the {} of one machine for the same time', n_runs, t.scope) AS relation,
        'the energy of the machine, once: each process started a tracker of all its devices, or a file repeats another by task; '
            || 'do not add them up' AS meaning,
        f.source
    FROM energy_counted_twice(runs := runs) AS t LEFT JOIN formulas_catalog AS f ON f.tool = t.source AND f.quantity = 'energy'),
energies AS (
    SELECT e.*, r.devices, r.nodes FROM energy_reconciled(runs := runs) AS e JOIN runs AS r USING (run_id)),
energies_that_differ AS (
    SELECT run_id, 'energy' AS quantity, source AS tool, energy_j AS printed,
        TRY_CAST(regexp_extract(note, '(\d+) J', 1) AS DOUBLE) AS expected, 'J' AS unit, windows AS n_records, 'possible' AS certainty,
        format('{} of the {}: {}', how, scope, note) AS relation,
        CASE WHEN contains(note, 'for the same') THEN format('one of the two is of another time or another sensor: {:.3g} W by {}. A '
                || 'power reading may be the mean of a second before, and a counter moves in steps: measure for longer than a minute, '
                || 'and both with the device idle and busy', mean_w, source)
            WHEN contains(note, 'draws so much') THEN 'the unit is another, or the energy is of more devices'
            ELSE 'one of them is of fewer devices or of a shorter time than it says' END AS meaning
    FROM energies
    WHERE note IS NOT NULL AND energy_j IS NOT NULL AND NOT contains(note, 'draws so little') AND NOT contains(note, 'more than ')
    QUALIFY NOT contains(note, 'for the same') OR row_number() OVER (PARTITION BY run_id, scope, contains(note, 'for the same')
        ORDER BY how DESC, source) = 1),
of_more_devices AS (
    SELECT run_id, 'energy' AS quantity, source AS tool, energy_j AS printed, energy_j * devices / covers AS expected, 'J' AS unit,
        windows AS n_records, 'possible' AS certainty,
        format('it covers {:.0f} devices, and the run has {}', covers, devices) AS relation,
        'the energy of all devices of the machine, with those that the job did not use; `expected` is an equal share' AS meaning
    FROM energies WHERE scope IN ('gpu', 'gcd') AND covers > devices AND coalesce(nodes, 1) = 1 AND energy_j IS NOT NULL),
-- CodeCarbon multiplies the memory of the machine by a constant: of a shared machine, it is that of everybody.
of_memory AS (
    SELECT m.run_id, m.file_id, m.line, 'energy' AS quantity, m.method AS tool, m.energy_j AS printed, NULL::DOUBLE AS expected, 'J' AS unit,
        1 AS n_records, 'likely' AS certainty, format('the memory takes {:.3g} W by a constant for its size, and the GPUs {:.3g} W by their counters',
            m.energy_j / m.span_s, g.energy_j / m.span_s) AS relation,
        'an estimate for all memory of the machine, whatever part of it the job has: leave it and the total out' AS meaning,
        'https://github.com/mlco2/codecarbon/issues/629' AS source
    FROM energy AS m JOIN energy AS g USING (run_id, file_id, line)
    WHERE m.scope = 'memory' AND m.flag = 'estimated' AND g.scope = 'gpu' AND m.energy_j > g.energy_j AND m.energy_j > 50 * m.span_s
        AND m.run_id IN (FROM selected)),
-- The same size twice in one table: several processes print tables of their own into one file.
messages AS (
    SELECT b.run_id, file_id, test, min(line) AS first_line, count(*) AS n_rows, max(algbw_bytes_per_s) AS algbw, max(busbw_bytes_per_s) AS busbw,
        count(*) / count(DISTINCT (message_bytes, place, dtype, redop, root)) AS tables, any_value(device) AS device,
        coalesce(any_value(bandwidth_gb_per_s), (SELECT max(bandwidth_gb_per_s) FROM devices_catalog)) * 1e9 AS memory_bytes_per_s,
        any_value(bandwidth_gb_per_s) IS NOT NULL AS is_known
    FROM collective_benchmarks AS b LEFT JOIN run_devices(runs := runs) AS d USING (run_id)
    WHERE b.run_id IN (FROM selected) GROUP BY b.run_id, file_id, test),
of_collectives AS (
    SELECT m.*, f.source, 'nccl-tests' AS tool, 'bytes/s' AS unit, n_rows AS n_records FROM messages AS m
    LEFT JOIN (SELECT any_value(source) AS source FROM formulas_catalog WHERE quantity = 'busbw') AS f ON true),
alone AS (
    SELECT run_id, file_id, first_line AS line, 'busbw' AS quantity, tool, busbw AS printed, NULL::DOUBLE AS expected, unit, n_records,
        'certain' AS certainty, format('the bus bandwidth is 0 at {:.4g} GB/s: the factor is 0 for one rank', algbw / 1e9) AS relation,
        notes([if(tables >= 1.5, format('{:.0f} processes with a communicator of their own: nothing crossed a link', tables),
            'a communicator of one rank: nothing crossed a link'),
            'where there are several processes, the test was built without MPI=1 or the launcher did not connect them']) AS meaning, source
    FROM of_collectives WHERE busbw = 0 AND algbw >= 1e9),
beyond_memory AS (
    SELECT run_id, file_id, first_line AS line, 'algbw' AS quantity, tool, algbw AS printed, memory_bytes_per_s AS expected, unit,
        n_records, 'certain' AS certainty, format('{}, whose memory moves {:.4g} TB/s, cannot read the message so fast',
            if(is_known, device, 'the fastest device of the catalog'), memory_bytes_per_s / 1e12) AS relation,
        'the operation did nothing: one rank in place, or a kernel that failed or was not waited for' AS meaning, source
    FROM of_collectives WHERE algbw > 2 * memory_bytes_per_s),
found AS (
    SELECT * RENAME (printed_value AS printed) FROM implausible_rates(runs := runs)
    UNION ALL BY NAME SELECT * RENAME (printed_value AS printed) FROM implausible_use(runs := runs)
    UNION ALL BY NAME SELECT * RENAME (printed_value AS printed) FROM implausible_times(runs := runs)
    UNION ALL BY NAME FROM marked_values
    UNION ALL BY NAME SELECT x.*, l.file_id, l.line FROM several_trackers AS x LEFT JOIN lines AS l USING (run_id)
    UNION ALL BY NAME SELECT x.*, l.file_id, l.line FROM energies_that_differ AS x LEFT JOIN lines AS l USING (run_id)
    UNION ALL BY NAME SELECT x.*, l.file_id, l.line FROM of_more_devices AS x LEFT JOIN lines AS l USING (run_id)
    UNION ALL BY NAME FROM of_memory UNION ALL BY NAME FROM alone UNION ALL BY NAME FROM beyond_memory)
SELECT run_id, file_id, line, quantity, coalesce(tool, framework) AS tool, printed AS printed_value, expected, unit, n_records, certainty, relation,
    meaning, source
FROM found LEFT JOIN (SELECT run_id, framework FROM runs) USING (run_id)
ORDER BY CASE certainty WHEN 'certain' THEN 1 WHEN 'likely' THEN 2 ELSE 3 END, run_id, quantity, file_id, line
