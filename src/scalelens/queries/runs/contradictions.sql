-- Facts about a run on which its sources disagree.
--
-- Answers: Which settings do sources disagree on, and which value was used?
--   Two texts for the same number do not disagree; nor do a short and a long name of a system or of a device (A100,
--   NVIDIA A100-SXM4-40GB), amp in a path with fp16 or bf16, numbers of parameters within 1 %, two ways of failing (a
--   cancelled job reports errors, too), the ranks of a run on CPUs with its sockets, or the world_size of DeepSpeed,
--   which is that of a data-parallel group, with the devices.  `step_s` is the time of a step if two sources of it
--   disagree by more than they leave open: that of origin `log` was used, such as the elapsed seconds of a progress
--   bar, and the `inferred` one, such as its rate, was not.  An `inferred` `global_batch_size` beside a smaller one is
--   what the devices compute at once, micro-batch times data-parallel size: the smaller one is not possible.  Where the
--   batch was inferred and the step records count other samples, beyond 2 % of rounding, their median is a row of origin
--   `log`, at the first of them: an accumulation, for example, that no file states.
--
-- Glance: key value chosen origin run_id~ line~
--
-- Partition: run_id
--
-- When empty: no two sources of a run disagree
--
-- Sources: params, runs, steps, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id     VARCHAR    run
--   file_id    VARCHAR    file that states it
--   line       BIGINT     line that states it
--   key        VARCHAR    fact: a column of `runs`, or step_s
--   value      VARCHAR    value as text
--   unit       VARCHAR    unit of the value
--   origin     VARCHAR    where it comes from: sidecar log scheduler nccl environment path inferred
--   chosen     BOOLEAN    whether `runs` uses this value
WITH
counted AS (
    SELECT run_id, arg_min(s.file_id, s.line) AS file_id, min(s.line) AS line, median(samples) AS batch
    FROM steps AS s JOIN params AS p USING (run_id)
    WHERE p.key = 'global_batch_size_origin' AND samples > 0 AND coalesce(phase, 'train') = 'train'
        AND value_kind IN ('instant', 'interval_mean') AND coalesce(rate_scope, 'global') = 'global'
        AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY run_id),
candidates AS (
    SELECT run_id, c.file_id, c.line, 'global_batch_size' AS key, round(batch)::BIGINT::VARCHAR AS value, NULL AS unit,
        'log' AS origin, NULL AS groups, TRY_CAST(round(batch) AS DOUBLE)::VARCHAR AS normal_value
    FROM counted AS c JOIN runs USING (run_id)
    WHERE batch NOT BETWEEN global_batch_size * 0.98 AND global_batch_size * 1.02
    UNION ALL
    SELECT p.run_id, p.file_id, p.line, key, value, unit, origin, groups,
        coalesce(TRY_CAST(value AS DOUBLE)::VARCHAR, value) AS normal_value
    FROM params AS p JOIN (
        SELECT run_id, device_unit, precision AS chosen_precision,
            coalesce(dp, devices / (coalesce(tp, 1) * coalesce(pp, 1))) AS groups
        FROM runs) USING (run_id)
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND (key = 'step_s' OR key IN (SELECT column_name FROM (DESCRIBE runs)))
        AND NOT (origin = 'path' AND key = 'precision' AND value = 'amp' AND chosen_precision IN ('fp16', 'bf16'))
        AND NOT (origin = 'inferred' AND key = 'devices' AND device_unit IS NOT DISTINCT FROM 'cpu')),
chosen_values AS (
    SELECT run_id, key, coalesce(TRY_CAST(value AS DOUBLE)::VARCHAR, value) AS normal_value
    FROM (UNPIVOT (SELECT run_id, COLUMNS(* EXCLUDE (run_id))::VARCHAR FROM runs)
        ON COLUMNS(* EXCLUDE (run_id)) INTO NAME key VALUE value)),
compared AS (
    SELECT c.run_id, key, groups, c.normal_value, t.normal_value AS chosen_value,
        regexp_replace(lower(c.normal_value), '[^a-z0-9]', '', 'g') AS letters,
        regexp_replace(lower(chosen_value), '[^a-z0-9]', '', 'g') AS chosen_letters,
        -- A100 of `NVIDIA A100-SXM4-40GB`, and 40GB.
        regexp_extract(lower(c.normal_value), '\b[a-z]{0,3}\d{2,4}[a-z]?\b') AS device,
        regexp_extract(lower(chosen_value), '\b[a-z]{0,3}\d{2,4}[a-z]?\b') AS chosen_device,
        regexp_extract(lower(c.normal_value), '\d+ ?gb') AS memory,
        regexp_extract(lower(chosen_value), '\d+ ?gb') AS chosen_memory
    FROM candidates AS c LEFT JOIN chosen_values AS t USING (run_id, key)),
disputed AS (
    SELECT run_id, key FROM compared GROUP BY run_id, key
    HAVING count(DISTINCT normal_value) > 1 AND NOT bool_and(coalesce(CASE
        WHEN normal_value = chosen_value THEN true
        WHEN key = 'system' THEN contains(letters, chosen_letters) OR contains(chosen_letters, letters)
        WHEN key = 'device_model' THEN contains(letters, chosen_letters) OR contains(chosen_letters, letters)
            OR (device <> '' AND device = chosen_device AND (memory = chosen_memory OR '' IN (memory, chosen_memory)))
        WHEN key = 'devices' THEN TRY_CAST(normal_value AS DOUBLE) = groups AND groups < TRY_CAST(chosen_value AS DOUBLE)
        WHEN key = 'outcome' THEN 'completed' NOT IN (normal_value, chosen_value)
        WHEN key = 'parameters' THEN abs(TRY_CAST(normal_value AS DOUBLE) / TRY_CAST(chosen_value AS DOUBLE) - 1) < 0.01
        END, false)))
SELECT run_id, file_id, line, key, value, unit, origin,
    coalesce(c.normal_value = t.normal_value, key = 'step_s' AND origin = 'log') AS chosen
FROM candidates AS c JOIN disputed USING (run_id, key) LEFT JOIN chosen_values AS t USING (run_id, key)
ORDER BY run_id, key, chosen DESC, origin, file_id, line, value
