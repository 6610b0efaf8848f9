-- The host and the device that each rank runs on.
--
-- Answers: Which node, and which GPU of it, does a rank use?
--   The first source that says so counts: the label that a launcher puts before the rank's lines (`log`), NCCL's lines
--   (`nccl`), or the host that a file of only this rank names (`file`).  A trace numbers the device of its kernels.
--   Where nothing names hosts and the number of devices per node is known, nodes are blocks of as many consecutive
--   ranks, the default order of torchrun and Slurm, and are named after their ranks (`block`).  A device is the number
--   that the process gives it: the process may see a single GPU, as number 0.
--
-- Helper: used by outlier_gpus and work_ratios
--
-- Sources: events, metrics, params, runs, selected_runs, steps
--
-- Parameters: runs
--
-- Columns:
--   run_id    VARCHAR    run
--   rank      INTEGER    rank
--   node      VARCHAR    host name, or the ranks of its block
--   device    VARCHAR    device as its process numbers it; NULL where not known
--   source    VARCHAR    log, nccl, file or block; NULL where the node is not known
WITH
chosen AS (FROM selected_runs(runs := runs)),
logged AS (
    SELECT DISTINCT run_id, file_id, rank, place FROM steps WHERE rank IS NOT NULL AND run_id IN (FROM chosen)
    UNION
    SELECT DISTINCT run_id, file_id, rank, place FROM metrics WHERE rank IS NOT NULL AND run_id IN (FROM chosen)),
traced AS (
    SELECT DISTINCT run_id, file_id, rank, CASE WHEN category = 'kernel' THEN process END AS device
    FROM events WHERE rank IS NOT NULL AND run_id IN (FROM chosen)),
-- A place is `host`, `host/local rank`, or just a local rank, a process or a container.
labels AS (
    SELECT run_id, rank, regexp_extract(place, '^[^/]*') AS host, regexp_extract(place, '(\d+)$', 1) AS number,
        regexp_matches(place, '^(default)?\d+$|pid=') AS is_local, contains(place, '/') AS has_both
    FROM logged WHERE place IS NOT NULL),
named AS (
    SELECT run_id, rank, CASE WHEN NOT is_local THEN host END AS node,
        CASE WHEN is_local OR has_both THEN nullif(number, '') END AS device, 'log' AS source, 1 AS position
    FROM labels
    UNION ALL
    SELECT run_id, unnest(range(len(string_split(value, ' ')))) AS rank,
        unnest(list_transform(string_split(value, ' '), lambda entry: string_split(entry, '/')[1])) AS node,
        unnest(list_transform(string_split(value, ' '), lambda entry: string_split(entry, '/')[2])) AS device, 'nccl', 2
    FROM params WHERE key = 'rank_places' AND run_id IN (FROM chosen)
    UNION ALL
    SELECT run_id, f.rank, p.value, NULL, 'file', 3
    FROM (
        SELECT run_id, file_id, any_value(rank) AS rank
        FROM (SELECT run_id, file_id, rank FROM logged UNION SELECT run_id, file_id, rank FROM traced)
        GROUP BY ALL HAVING count(DISTINCT rank) = 1) AS f
    JOIN params AS p USING (run_id, file_id) WHERE p.key IN ('host', 'host_name')
    UNION ALL
    SELECT run_id, rank, NULL, CASE WHEN count(DISTINCT device) = 1 THEN any_value(device) END, NULL, 4
    FROM traced GROUP BY run_id, rank
    UNION ALL
    SELECT run_id, rank, NULL, NULL, NULL, 5 FROM logged),
known AS (
    SELECT run_id, rank::INTEGER AS rank, arg_min(node, n.position) AS node, arg_min(device, n.position) AS device,
        arg_min(source, n.position) FILTER (WHERE node IS NOT NULL) AS source
    FROM named AS n GROUP BY ALL),
blocks AS (
    SELECT run_id, CASE WHEN nodes = 1 THEN devices ELSE coalesce(devices_per_node,
        CASE WHEN devices % nodes = 0 THEN devices // nodes END) END AS size
    FROM runs WHERE run_id NOT IN (SELECT run_id FROM known WHERE node IS NOT NULL))
SELECT run_id, rank,
    coalesce(node, format('ranks {}-{}', rank // size * size, (rank // size + 1) * size - 1)) AS node,
    device, coalesce(source, CASE WHEN size > 0 THEN 'block' END) AS source
FROM known LEFT JOIN (SELECT * FROM blocks WHERE size > 0) USING (run_id)
ORDER BY run_id, rank
