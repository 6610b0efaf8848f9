-- Facts about a run on which its sources disagree.
--
-- Answers: Which settings do sources disagree on, and which value was used?
--   Two texts for the same number do not disagree; nor does a short device name in a path (A100), or amp in a path with
--   fp16 or bf16.  `step_s` is the time of a step if two sources of it disagree by more than they leave open: that of
--   origin `log` was used, such as the elapsed seconds of a progress bar, and the `inferred` one, such as its rate, was not.
--   An `inferred` `global_batch_size` beside a smaller one is what the devices compute at once, micro-batch times
--   data-parallel size: the smaller one is not possible.
--
-- Glance: key value chosen origin run_id~ line~
--
-- Partition: run_id
--
-- Sources: params, runs, selected_runs
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
candidates AS (
    SELECT run_id, file_id, line, key, value, unit, origin,
        coalesce(TRY_CAST(value AS DOUBLE)::VARCHAR, value) AS normal_value
    FROM params JOIN (SELECT run_id, lower(device_model) AS device_model, precision AS chosen_precision FROM runs) USING (run_id)
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND (key = 'step_s' OR key IN (SELECT column_name FROM (DESCRIBE runs)))
        AND NOT (origin = 'path' AND key = 'device_model'
            AND length([w FOR w IN string_split(lower(value), '-') IF NOT contains(device_model, w)]) = 0)
        AND NOT (origin = 'path' AND key = 'precision' AND value = 'amp' AND chosen_precision IN ('fp16', 'bf16'))),
chosen_values AS (
    SELECT run_id, key, coalesce(TRY_CAST(value AS DOUBLE)::VARCHAR, value) AS normal_value
    FROM (UNPIVOT (SELECT run_id, COLUMNS(* EXCLUDE (run_id))::VARCHAR FROM runs)
        ON COLUMNS(* EXCLUDE (run_id)) INTO NAME key VALUE value)),
disputed AS (SELECT run_id, key FROM candidates GROUP BY run_id, key HAVING count(DISTINCT normal_value) > 1)
SELECT run_id, file_id, line, key, value, unit, origin,
    coalesce(c.normal_value = t.normal_value, key = 'step_s' AND origin = 'log') AS chosen
FROM candidates AS c JOIN disputed USING (run_id, key) LEFT JOIN chosen_values AS t USING (run_id, key)
ORDER BY run_id, key, chosen DESC, origin, file_id, line, value
