-- Iterations of inference, by the annotations of the engine: phase, requests, tokens, and when they ran.
--
-- Answers: Which iterations does a trace of a serving engine hold, and when did each run on host and device?
--   What counts as an iteration is said by inference_phases.
--
-- Helper: used by energy_of_trace and inference_phases
--
-- Needs: events
--
-- Sources: events, gpu_events, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR      run
--   file_id            VARCHAR      file of the trace
--   rank               INTEGER      global rank
--   line               BIGINT       position of the first annotation in the trace
--   phase              VARCHAR      prefill, decode or mixed; of SGLang also others
--   requests           DOUBLE       requests; NULL where the annotation does not say
--   prefill_tokens     BIGINT       tokens of prompts
--   decode_tokens      BIGINT       tokens of requests that generate
--   tokens             DOUBLE tokens  of both
--   host_ns            BIGINT ns    time on the host
--   device_begin_ns    BIGINT ns    start of the first work of the device; NULL where the trace has none
--   device_ns          BIGINT ns    from there to the end of the last
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
        min(start_ns) FILTER (of_device) AS twin_begin_ns,
        max(end_ns) FILTER (of_device) - twin_begin_ns AS twin_ns,
        any_value(process) FILTER (NOT of_device) AS process, any_value(thread) FILTER (NOT of_device) AS thread,
        min(start_ns) FILTER (NOT of_device) AS start_ns, max(end_ns) FILTER (NOT of_device) AS end_ns
    FROM read GROUP BY run_id, file_id, rank, name, coalesce(external, 'line ' || line)),
launched AS (
    SELECT i.file_id, i.line, min(w.start_ns) AS work_begin_ns, max(w.end_ns) - min(w.start_ns) AS work_ns
    FROM iterations AS i JOIN gpu_events(runs := runs) AS w
        ON w.file_id = i.file_id AND w.launch_process = i.process AND w.launch_thread = i.thread
        AND w.launch_start_ns >= i.start_ns AND w.launch_start_ns < i.end_ns
    WHERE twin_ns IS NULL GROUP BY ALL)
SELECT i.run_id, i.file_id, i.rank, i.line, phase, requests::DOUBLE AS requests, prefill_tokens, decode_tokens, tokens::DOUBLE AS tokens, host_ns,
    coalesce(twin_begin_ns, work_begin_ns) AS device_begin_ns, coalesce(twin_ns, work_ns) AS device_ns
FROM iterations AS i LEFT JOIN launched USING (file_id, line)
