-- Time to train for each benchmark of an MLPerf submission, by MLCommons' rule.
--
-- Answers: What is the score of each system and benchmark?
--   From how many results, and how many of them converged?
--   A submission is recognized by its layout: SUBMITTER/results/SYSTEM/BENCHMARK/result_*.txt, described by
--   SUBMITTER/systems/SYSTEM.json.  The time of a result is that from its run_start to its run_stop.  The score is the
--   mean without the fastest and the slowest result; with 40 results or more, without four of each.  A result that did
--   not converge counts as the slowest; if more results did not converge than may be left out, there is no score.  Nor
--   is there a score from fewer results than MLPerf requires for the benchmark, or fewer than three where that is not
--   known.  The published score may be higher, by a factor for runs that converge faster than the reference
--   (scaling.json).  Weak scaling (MLPerf HPC) is scored by another rule, and is not included.
--
-- Formula: score = (sum of the times - fastest - slowest) / (n - 2); with 40 results or more, without the four fastest
--   and the four slowest.
--
-- Reference: MLCommons, training_policies, training_rules.adoc, section on results, and mlcommons/logging,
--   result_summarizer.
--
-- Assumptions: Each result file is one training run.  A file with several counts by its first.
--
-- Limits: No interval: the rule gives a mean of few runs.  The compliance of the results is not checked.
--
-- Glance: submitter system benchmark minutes n_results n_converged nodes devices division note
--
-- When empty: no file lies where a submission to MLPerf has its results: SUBMITTER/results/SYSTEM/BENCHMARK/result_*.txt
--
-- Sources: files, params, phases, members, runs
--
-- Columns:
--   submitter      VARCHAR    folder of the submitter
--   system         VARCHAR    folder of the system
--   benchmark      VARCHAR    folder of the benchmark
--   division       VARCHAR    closed or open, by the system file, else by the logs
--   nodes          INTEGER    nodes, by the system file, else by the logs
--   devices        INTEGER    accelerators, by the system file, else by the logs; NULL where the system has none
--   n_results      BIGINT     result files
--   n_converged    BIGINT     results that reached the target
--   minutes        DOUBLE     time to train, in minutes
--   note           VARCHAR    why there is no score, or what to doubt
WITH
-- mlcommons/logging, benchmark_meta.py; the smallest number over all rounds.
required(benchmark, n_required) AS (
    VALUES ('bert', 10), ('dlrm', 5), ('dlrm_dcnv2', 10), ('gnmt', 10), ('gpt3', 3), ('maskrcnn', 5), ('minigo', 10),
        ('resnet', 5), ('ssd', 5), ('retinanet', 5), ('stable_diffusion', 10), ('transformer', 10), ('ncf', 10),
        ('rnnt', 10), ('unet3d', 40), ('gnn', 10), ('rgat', 10), ('llama2_70b_lora', 10), ('llama31_405b', 3),
        ('llama31_8b', 10), ('flux1', 10), ('deepcam', 5), ('cosmoflow', 10), ('oc20', 5), ('openfold', 10)),
-- The same content may be at several paths: each path is a result, and each system has a file of its own.
located AS (
    SELECT file_id, list_has_any(formats, ['mllog', 'mllog_old']) AS is_log,
        list_contains(formats, 'system_json') AS is_system,
        regexp_extract(path, '^((?:.*[/!])?([^/!]+))/results/([^/]+)/(?:strong/)?([^/]+)/result_[^/]+\.(?:txt|log)$',
            ['submission', 'submitter', 'system', 'benchmark']) AS result,
        regexp_extract(path, '^(.*)/systems/([^/]+)\.json$', ['submission', 'system']) AS described
    FROM (
        SELECT file_id, formats, regexp_replace(unnest(paths), '\.(?:gz|zst|xz|bz2)$', '') AS path FROM files)),
facts AS (
    SELECT file_id,
        arg_min(value, line) FILTER (WHERE key = 'run_status') AS status,
        arg_min(value, line) FILTER (WHERE key = 'submission_division') AS division,
        arg_min(value, line) FILTER (WHERE key = 'machine.division') AS system_division,
        arg_min(TRY_CAST(value AS INTEGER), line) FILTER (WHERE key = 'nodes') AS nodes,
        arg_min(TRY_CAST(value AS INTEGER), line) FILTER (WHERE key = 'devices') AS devices,
        coalesce(bool_or(value = 'cpu') FILTER (WHERE key = 'device_unit'), false) AS has_no_accelerators
    FROM params GROUP BY file_id),
systems AS (
    SELECT described.submission AS submission, described.system AS system, any_value(system_division) AS division,
        any_value(nodes) AS nodes, any_value(CASE WHEN NOT has_no_accelerators THEN devices END) AS devices
    FROM located JOIN facts USING (file_id) WHERE is_system AND described.system <> '' GROUP BY ALL),
-- A file may hold several runs; the first counts.
trained AS (SELECT file_id, arg_min(span_s, line) AS span_s FROM phases WHERE phase = 'run' GROUP BY file_id),
sizes AS (
    SELECT DISTINCT m.file_id, r.nodes, CASE WHEN device_unit IS DISTINCT FROM 'cpu' THEN r.devices END AS devices
    FROM members AS m JOIN runs AS r USING (run_id) WHERE part = 0 AND why <> 'system file'),
results AS (
    SELECT unnest(result), is_log, span_s, coalesce(status IN ('success', '{"success": true}'), false)
            AND span_s IS NOT NULL AS has_converged,
        f.division, s.nodes, s.devices,
        row_number() OVER (PARTITION BY result ORDER BY has_converged DESC, span_s) AS position
    FROM located LEFT JOIN facts AS f USING (file_id) LEFT JOIN trained USING (file_id)
    LEFT JOIN sizes AS s USING (file_id)
    WHERE result.benchmark <> ''),
counted AS (
    SELECT submission, submitter, system, benchmark, count(*) AS n_results,
        count(*) FILTER (WHERE has_converged) AS n_converged,
        list(span_s ORDER BY position) FILTER (WHERE has_converged) AS spans_s, min(division) AS division,
        CASE WHEN min(nodes) = max(nodes) THEN min(nodes) END AS nodes,
        CASE WHEN min(devices) = max(devices) THEN min(devices) END AS devices
    FROM results GROUP BY ALL HAVING bool_or(is_log)),
judged AS (
    SELECT c.*, s.system IS NOT NULL AS is_described, s.division AS system_division, s.nodes AS system_nodes,
        s.devices AS system_devices, CASE WHEN n_results >= 40 THEN 4 ELSE 1 END AS n_trimmed,
        coalesce(n_required, 3) AS n_least,
        notes([
            CASE WHEN n_results < n_least THEN concat('MLPerf requires ', n_least, ' results') END,
            CASE WHEN n_results - n_converged > n_trimmed
                THEN concat(n_results - n_converged, ' results did not converge, and at most ', n_trimmed, ' may') END]) AS lacks
    FROM counted AS c LEFT JOIN systems AS s USING (submission, system) LEFT JOIN required USING (benchmark))
SELECT submitter, system, benchmark, coalesce(system_division, division) AS division,
    CASE WHEN is_described THEN system_nodes ELSE nodes END AS nodes,
    CASE WHEN is_described THEN system_devices ELSE devices END AS devices, n_results, n_converged,
    CASE WHEN lacks IS NULL THEN list_avg(spans_s[n_trimmed + 1:n_results - n_trimmed]) / 60 END AS minutes,
    notes([lacks, CASE WHEN NOT is_described THEN 'no system file' END,
        CASE WHEN system_devices <> devices THEN concat('the logs state ', devices, ' devices') END]) AS note
FROM judged
ORDER BY submission, system, benchmark
