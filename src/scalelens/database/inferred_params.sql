-- The global batch of each run for which it follows from other facts, as rows of `params`.  A sidecar's batch per device
-- is as good as its global batch.  Micro-batch, devices and accumulation give it where nothing states it; where what is
-- stated is less than the devices compute at once, that number is a row too, and the two are a contradiction.
-- views.py fills in how values are chosen, and the names of the accumulation.
CREATE TABLE _inferred_params AS
WITH facts AS (
    SELECT run_id, map(list(key), list(value)) AS facts, max(origin) FILTER (key = 'global_batch_size') AS batch_origin,
        $sources
    FROM ($chosen) WHERE run_id IS NOT NULL GROUP BY run_id
    HAVING bool_or(key IN ('micro_batch_size', 'batch_per_device'))),
counts AS (
    SELECT * EXCLUDE (facts), $counts,
        TRY_CAST(facts['batch_per_device'] AS DOUBLE) AS batch_per_device,
        facts['device_unit'] AS device_unit, facts['framework'] AS framework
    FROM facts),
-- DuckDB copies what an alias stands for to each place that names it: hence a CTE for each step.
devices_of_replicas AS (
    SELECT *, greatest($accumulation) AS accumulation, devices * batch_per_device AS product,
        coalesce(tp, 1) * coalesce(pp, 1) * coalesce(cp, ds_sequence_parallel_size, 1) AS devices_per_replica
    FROM counts WHERE micro_batch_size > 0 OR batch_per_device > 0),
replicas AS (
    SELECT *,
        -- How many IPUs a replica has follows from no parallel size.
        coalesce(dp, CASE WHEN devices % devices_per_replica = 0 AND device_unit IS DISTINCT FROM 'ipu'
            THEN devices / devices_per_replica END) AS replicas,
        micro_batch_size * replicas AS at_once,
        CASE WHEN abs(product - round(product)) < 1e-6 * product THEN TRY_CAST(product AS BIGINT) END AS of_devices
    FROM devices_of_replicas),
batches AS (
    SELECT *, coalesce(global_batch_size, of_devices) AS stated,
        -- A pipeline is filled with several micro-batches, and Composer splits the batch of a device as its memory asks:
        -- without their number nothing follows.
        CASE WHEN accumulation IS NOT NULL OR (coalesce(pp, 1) = 1 AND framework IS DISTINCT FROM 'composer')
            THEN at_once * coalesce(accumulation, 1) END AS accumulated
    FROM replicas),
inferred AS (
    SELECT *,
        CASE WHEN stated IS NULL AND accumulated > 0 THEN TRY_CAST(accumulated AS BIGINT) END AS inferred,
        -- What a parser inferred rests on the same facts.
        CASE WHEN at_once > stated AND batch_origin IS DISTINCT FROM 'inferred' THEN TRY_CAST(at_once AS BIGINT) END AS least
    FROM batches),
candidates AS (
    SELECT run_id, unnest([
        {key: 'global_batch_size', value: of_devices::VARCHAR, source: source_of_batch,
            origin: if(batch_origin = 'sidecar', 'inferred', 'sidecar')},
        {key: 'global_batch_size', value: coalesce(inferred, least)::VARCHAR, source: source_of_micro_batch, origin: 'inferred'},
        {key: 'global_batch_size_origin',
            value: CASE WHEN inferred > 0 THEN 'micro-batch and devices' || if(accumulation > 1, ', with accumulation', '') END,
            source: source_of_micro_batch, origin: 'inferred'},
        {key: 'global_batch_size_excluded_by',
            value: CASE WHEN least > 0
                THEN format('micro-batch {:.0f} on {:.0f} devices', micro_batch_size, coalesce(devices, replicas)) END,
            source: source_of_micro_batch, origin: 'inferred'}], max_depth := 2)
    FROM inferred)
SELECT run_id, source.*, key, value, origin FROM candidates WHERE value IS NOT NULL
