-- Memory and utilization of a device above all that it has.
--
-- Answers: Is more memory in use than the device has, or more than 100 % of its time?
--   Of a run whose device is not known, the memory is held against the device of the catalog that has most.
--
-- Reference: devices_catalog.
--
-- Limits: What a tool that only knows the process prints of the host's memory is not told apart by name from the device's.
--
-- Helper: used by implausible
--
-- Partition: run_id
--
-- Sources: steps, metrics, runs, run_devices, selected_runs, devices_catalog
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR    run
--   file_id      VARCHAR    file of the largest such number
--   line         BIGINT     its line
--   quantity     VARCHAR    memory or utilization
--   tool         VARCHAR    framework of the run
--   printed_value  DOUBLE   the largest that is printed
--   expected     DOUBLE     the most that there is
--   unit         VARCHAR    bytes, or % of the time
--   n_records    BIGINT     records above it
--   certainty    VARCHAR    how sure the meaning is
--   relation     VARCHAR    which relation it breaks
--   meaning      VARCHAR    what is probably meant
WITH
selected AS (FROM selected_runs(runs := runs)),
-- A vendor's GB of memory are GiB.
readings AS (
    SELECT run_id, file_id, line, peak_memory_bytes AS value FROM steps WHERE peak_memory_bytes > 0 AND run_id IN (FROM selected)
    UNION ALL BY NAME
    SELECT run_id, file_id, line, value FROM metrics
    WHERE unit = 'bytes' AND regexp_matches(lower(name), '(gpu|cuda).*mem|mem.*(gpu|cuda|alloc|reserv)')
        AND NOT regexp_matches(lower(name), 'cpu|host|delta') AND run_id IN (FROM selected)),
capacities AS (
    SELECT run_id, device, framework, coalesce(memory_gb, largest_gb) * 1024 ** 3 AS capacity, memory_gb IS NOT NULL AS is_known
    FROM run_devices(runs := runs) JOIN runs AS r USING (run_id)
    CROSS JOIN (SELECT max(memory_gb) AS largest_gb FROM devices_catalog)
    WHERE coalesce(r.device_unit, 'gpu') <> 'cpu'),
memory AS (
    SELECT run_id, arg_max(file_id, value) AS file_id, arg_max(line, value) AS line, 'memory' AS quantity, any_value(framework) AS tool,
        max(value) AS printed_value, any_value(capacity) AS expected, 'bytes' AS unit, count(*) AS n_records, 'possible' AS certainty,
        if(any_value(is_known), format('{} has {:.0f} GiB', any_value(device), any_value(capacity) / 1024 ** 3),
            format('no device of the catalog has more than {:.0f} GiB', any_value(capacity) / 1024 ** 3)) AS relation,
        'the memory of several devices or of the host, a wrong unit, or memory that moves to the host and back' AS meaning
    FROM readings JOIN capacities USING (run_id) WHERE value > 1.02 * capacity GROUP BY run_id),
utilization AS (
    SELECT run_id, arg_max(file_id, value) AS file_id, arg_max(line, value) AS line, 'utilization' AS quantity, any_value(framework) AS tool,
        max(value) AS printed_value, 100.0 AS expected, '%' AS unit, count(*) AS n_records, 'certain' AS certainty,
        'a device is not busy for more than all of the time' AS relation, 'the sum over several devices, or a broken reading' AS meaning
    FROM metrics AS m JOIN runs AS r USING (run_id)
    WHERE m.unit = '%' AND value > 100 AND regexp_matches(lower(m.name), 'gpu.*util|util.*gpu|gpu\.\d+\.gpu') AND m.run_id IN (FROM selected)
    GROUP BY run_id)
SELECT * FROM (FROM memory UNION ALL BY NAME FROM utilization) ORDER BY run_id, quantity
