-- Facts about a run that nothing states outright: they follow from other facts, or from the name of a folder.
--
-- Answers: Which facts of a run are to be doubted first?
--
-- Helper: used by runs_overview, throughput, scaling and mfu
--
-- Partition: run_id
--
-- When empty: all that is known of the runs is stated outright
--
-- Sources: params, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR      run
--   facts     VARCHAR[]  such as `devices inferred` and `nodes from the path`
WITH
trusted AS (
    SELECT run_id, key,
        min(list_position(['sidecar', 'log', 'scheduler', 'nccl', 'environment', 'path', 'inferred'], origin)) AS trust
    FROM params
    WHERE run_id IN (FROM selected_runs(runs := runs)) AND key IN ('system', 'model', 'precision', 'nodes', 'devices',
        'global_batch_size')
    GROUP BY run_id, key)
SELECT run_id, list(replace(replace(key, '_size', ''), '_', ' ') || if(trust = 6, ' from the path', ' inferred') ORDER BY key) AS facts
FROM trusted WHERE trust >= 6
GROUP BY run_id
ORDER BY run_id
