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
-- Sources: inference_iterations
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
SELECT run_id, file_id, rank, phase, avg(requests) AS requests, count(*) AS iterations,
    CASE WHEN count(tokens) = count(*) THEN sum(tokens)::DOUBLE END AS tokens,
    CASE WHEN count(prefill_tokens) = count(*) THEN sum(prefill_tokens)::BIGINT END AS prefill_tokens,
    CASE WHEN count(decode_tokens) = count(*) THEN sum(decode_tokens)::BIGINT END AS decode_tokens,
    sum(host_ns)::BIGINT AS host_ns, sum(device_ns)::BIGINT AS device_ns, avg(device_ns) AS device_mean_ns,
    max(device_ns) AS device_max_ns,
    sum(tokens) FILTER (device_ns > 0) / nullif(sum(device_ns) FILTER (tokens IS NOT NULL), 0) * 1e9 AS tokens_per_s
FROM inference_iterations(runs := runs)
GROUP BY run_id, file_id, rank, phase, CASE WHEN by_requests THEN requests END
ORDER BY run_id, rank, file_id, phase, requests
