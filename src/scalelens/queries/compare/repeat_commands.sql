-- The command that repeats each run.
--
-- Answers: How do I repeat this run once?
--   For ScaleLens' own runners it is `scalelens bench` with the options that the log states; with more than one node it
--   writes and submits the job.  For all others it is `sbatch` with the script of the job, which no log contains.
--
-- Helper: used by next_runs
--
-- Sources: runs, members, files, params
--
-- Columns:
--   run_id     VARCHAR    run
--   command    VARCHAR    line for a shell
WITH
own_runs AS (
    SELECT DISTINCT run_id FROM members JOIN files USING (file_id) WHERE list_contains(formats, 'scalelens_run')),
settings AS (
    SELECT run_id, MAP_FROM_ENTRIES(list((key, value))) AS settings
    FROM (SELECT run_id, key, min(value) AS value FROM params GROUP BY run_id, key) GROUP BY run_id),
named AS (
    SELECT r.*, settings, o.run_id IS NOT NULL AS is_own, framework LIKE 'megatron%' AS is_language,
        CASE WHEN is_language THEN 'language' WHEN model LIKE '%bert%' THEN 'bert' ELSE 'vision' END AS workload,
        coalesce(settings['scaling'] = 'strong', false) AS is_strong
    FROM runs AS r LEFT JOIN own_runs AS o USING (run_id) LEFT JOIN settings USING (run_id)),
options AS (
    SELECT *, [
        ('--precision', r.precision), ('--device', if(device_unit = 'cpu', 'cpu', NULL)),
        ('--model', if(workload = 'vision', model, NULL)),
        ('--shape', if(workload = 'vision', NULL, replace(model, 'gpt-', ''))),
        ('--image-size', if(workload = 'vision', settings['image_size'], NULL)),
        ('--seq-length', if(workload = 'bert', seq_length::VARCHAR, NULL)),
        (if(is_language, '--micro-batch-size', '--batch-per-device'),
            if(is_language OR NOT is_strong, micro_batch_size::VARCHAR, NULL)),
        ('--accumulation', if(is_language AND NOT is_strong, settings['accumulation'], NULL)),
        ('--global-batch-size', if(is_strong, global_batch_size::VARCHAR, NULL)),
        ('--tp', nullif(tp, 1)::VARCHAR), ('--pp', nullif(pp, 1)::VARCHAR),
        ('--steps', coalesce(settings['steps_per_epoch'], settings['train_iters'])), ('--epochs', settings['epochs']),
        ('--warmup-steps', settings['warmup_steps'])] AS options
    FROM named AS r)
SELECT run_id, CASE WHEN is_own THEN
        format('for k in $(seq 1); do scalelens bench {} {} --out results/{}-again-$k ',
            workload,
            if(coalesce(nodes, 1) > 1, format('--slurm --nodes {}', nodes),
                format('--nproc {}', coalesce(devices, 1))), name)
        || array_to_string([concat(o[1], ' ', o[2]) FOR o IN options IF o[2] IS NOT NULL], ' ') || '; done'
    ELSE format('sbatch --array=1-1%1 {} # the script of {}{}',
        coalesce('--nodes=' || nodes, ''), name, coalesce(', job ' || job_id, '')) END AS command
FROM options
ORDER BY run_id
