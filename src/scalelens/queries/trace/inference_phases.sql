-- Phases of inference: prefill, decode and both at once, with their time and tokens per second.
--
-- Answers: How long do prefill and decode take in a serving engine?
--   How many requests and tokens does an iteration have, and how many tokens a second does the device compute?
--   Each iteration is an annotation of the engine: `execute_context_3(512)_generation_5(5)` of vLLM, also with the sizes
--   of attention (`execute_517_context_3(sq512sk900..)_generation_5(sq5..)`), `step[DECODE bs=16]` of SGLang, `3 ctx reqs,
--   5 gen reqs` of TensorRT-LLM.  Where a trace has several of these for one iteration, the first of this order counts.
--   Tokens are those that the iteration computes: of a prompt in prefill, one per request in decode (more where drafts
--   are verified, which the annotation must say).
--   Time on the device is from the first to the last work launched within the annotation, over all streams: that of its
--   twins, or where the trace has none, of the work that its thread launched.  A rank of a tensor-parallel group has the
--   iterations of the others.
--
-- Formula: tokens per second = sum of tokens / sum of the device times, over iterations that have both.
--
-- Limits: Between iterations the host schedules: tokens per second of the device are more than those of the service.
--
-- Glance: run_id rank phase requests iterations tokens tokens_per_s device_mean_ns device_ns host_ns
--
-- Partition: run_id, light
--
-- Needs: events
--
-- Sources: events, gpu_events, selected_runs
--
-- Parameters: runs
--   by_requests := false    true gives a row for each number of requests in an iteration
--
-- Columns:
--   run_id            VARCHAR      run
--   file_id           VARCHAR      file of the trace
--   rank              INTEGER      global rank
--   phase             VARCHAR      prefill, decode or mixed; of SGLang also others, such as target_verify
--   requests          DOUBLE       mean number of requests in an iteration
--   iterations        BIGINT       number of iterations
--   tokens            DOUBLE tokens    tokens that they compute; NULL where one does not say how many
--   prefill_tokens    BIGINT       of prompts
--   decode_tokens     BIGINT       of requests that generate
--   host_ns           BIGINT ns    sum of their times on the host
--   device_ns         BIGINT ns    sum of their times on the device; NULL where the trace has none
--   device_mean_ns    DOUBLE ns    mean of these
--   device_max_ns     BIGINT ns    longest
--   tokens_per_s      DOUBLE tokens/s    tokens over time on the device
WITH
marks AS (
    SELECT run_id, file_id, rank, line, process, thread, category = 'gpu_user_annotation' AS of_device, name, start_ns,
        start_ns + duration_ns AS end_ns, json_extract_string(args, '$."External id"') AS external,
        regexp_extract(name, '^execute(?:_\d+)?_context_(\d+)\((?:sq)?(\d+)[^)]*\)_generation_(\d+)\((?:sq)?(\d+)[^)]*\)',
            ['contexts', 'context_tokens', 'generations', 'generated_tokens']) AS vllm,
        regexp_extract(name, '^step\[([A-Z_]+)(?: bs=(\d+))?(?: toks=(\d+))?', ['mode', 'requests', 'tokens']) AS sglang,
        regexp_extract(name, '(\d+) ctx reqs, (\d+) gen reqs', ['contexts', 'generations']) AS trt
    FROM events
    WHERE category IN ('user_annotation', 'gpu_user_annotation', 'nvtx') AND duration_ns IS NOT NULL
        AND (starts_with(name, 'execute_') OR starts_with(name, 'step[') OR contains(name, ' ctx reqs'))
        AND run_id IN (FROM selected_runs(runs := runs))),
schemes AS (
    SELECT *, CASE WHEN vllm.contexts <> '' THEN 1 WHEN sglang.mode <> '' THEN 2 WHEN trt.contexts <> '' THEN 3 END AS scheme
    FROM marks),
chosen AS (
    SELECT *, CASE scheme WHEN 2 THEN lower(sglang.mode) END AS mode,
        TRY_CAST(CASE scheme WHEN 1 THEN vllm.contexts WHEN 3 THEN trt.contexts END AS BIGINT) AS contexts,
        TRY_CAST(CASE scheme WHEN 1 THEN vllm.generations WHEN 3 THEN trt.generations END AS BIGINT) AS generations,
        TRY_CAST(sglang.requests AS BIGINT) AS said_requests, TRY_CAST(sglang.tokens AS BIGINT) AS said_tokens
    FROM schemes WHERE scheme IS NOT NULL
    QUALIFY scheme = min(scheme) OVER (PARTITION BY file_id)),
read AS (
    SELECT *, CASE WHEN contexts > 0 AND generations > 0 THEN 'mixed' WHEN contexts > 0 THEN 'prefill'
            WHEN generations > 0 THEN 'decode' WHEN mode = 'extend' THEN 'prefill' ELSE coalesce(mode, 'idle') END AS phase,
        coalesce(contexts + generations, said_requests) AS requests,
        CASE WHEN scheme = 1 THEN TRY_CAST(vllm.context_tokens AS BIGINT) WHEN contexts = 0 OR mode = 'decode' THEN 0
            WHEN mode = 'extend' THEN said_tokens END AS prefill_tokens,
        CASE WHEN scheme = 1 THEN TRY_CAST(vllm.generated_tokens AS BIGINT) WHEN mode = 'extend' THEN 0
            WHEN mode = 'decode' THEN coalesce(said_tokens, said_requests) ELSE generations END AS decode_tokens,
        coalesce(prefill_tokens + decode_tokens, said_tokens) AS tokens
    FROM chosen),
-- An iteration on the host, and its twins on the streams of the device.
iterations AS (
    SELECT run_id, file_id, rank, min(line) AS line, any_value(phase) AS phase, any_value(requests) AS requests,
        any_value(prefill_tokens) AS prefill_tokens, any_value(decode_tokens) AS decode_tokens, any_value(tokens) AS tokens,
        max(end_ns - start_ns) FILTER (NOT of_device) AS host_ns,
        max(end_ns) FILTER (of_device) - min(start_ns) FILTER (of_device) AS twin_ns,
        any_value(process) FILTER (NOT of_device) AS process, any_value(thread) FILTER (NOT of_device) AS thread,
        min(start_ns) FILTER (NOT of_device) AS start_ns, max(end_ns) FILTER (NOT of_device) AS end_ns
    FROM read GROUP BY run_id, file_id, rank, name, coalesce(external, 'line ' || line)),
launched AS (
    SELECT i.file_id, i.line, max(w.end_ns) - min(w.start_ns) AS work_ns
    FROM iterations AS i JOIN gpu_events(runs := runs) AS w
        ON w.file_id = i.file_id AND w.launch_process = i.process AND w.launch_thread = i.thread
        AND w.launch_start_ns >= i.start_ns AND w.launch_start_ns < i.end_ns
    WHERE twin_ns IS NULL GROUP BY ALL),
timed AS (SELECT i.*, coalesce(twin_ns, work_ns) AS device_ns FROM iterations AS i LEFT JOIN launched USING (file_id, line))
SELECT run_id, file_id, rank, phase, avg(requests) AS requests, count(*) AS iterations,
    CASE WHEN count(tokens) = count(*) THEN sum(tokens)::DOUBLE END AS tokens,
    CASE WHEN count(prefill_tokens) = count(*) THEN sum(prefill_tokens)::BIGINT END AS prefill_tokens,
    CASE WHEN count(decode_tokens) = count(*) THEN sum(decode_tokens)::BIGINT END AS decode_tokens,
    sum(host_ns)::BIGINT AS host_ns, sum(device_ns)::BIGINT AS device_ns, avg(device_ns) AS device_mean_ns,
    max(device_ns) AS device_max_ns,
    sum(tokens) FILTER (device_ns > 0) / nullif(sum(device_ns) FILTER (tokens IS NOT NULL), 0) * 1e9 AS tokens_per_s
FROM timed
GROUP BY run_id, file_id, rank, phase, CASE WHEN by_requests THEN requests END
ORDER BY run_id, rank, file_id, phase, requests
