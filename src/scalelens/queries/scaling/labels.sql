-- Labels that the user gave each run, as text.
--
-- Answers: What distinguishes runs beyond what their logs say?
--   Labels are what a sidecar states, except what `scaling` compares anyway (system, model, ...), what differs between
--   the sizes of a series (devices, batch, parallel sizes, ...), and what distinguishes repeats (repeat, trial, seed).
--   Each label is also a column label_NAME of `runs`.
--
-- Helper: used by energy_by_batch, energy_fixed_part and scaling_points
--
-- Sources: params
--
-- Columns:
--   run_id    VARCHAR    run
--   labels    VARCHAR    `key value`, separated by commas, in order of the key
SELECT run_id, string_agg(DISTINCT key || ' ' || value, ', ' ORDER BY key || ' ' || value) AS labels
FROM params
WHERE origin = 'sidecar' AND key NOT IN (
    'system', 'framework', 'model', 'precision', 'dataset', 'seq_length',
    'nodes', 'devices', 'devices_per_node', 'device_model', 'device_unit', 'micro_batch_size', 'global_batch_size',
    'tp', 'pp', 'dp', 'cp', 'parameters', 'num_layers', 'hidden_size', 'num_experts', 'batch_per_device', 'gradient_accumulation',
    'job_id', 'outcome', 'name',
    'repeat', 'trial', 'seed')
GROUP BY run_id
ORDER BY run_id
