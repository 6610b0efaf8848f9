-- Floating-point operations that a model needs per token, from its shape.
--
-- Answers: How much work is a token, whatever the tool prints?
--   6 parameters + 12 layers * hidden size * sequence length: forward and backward pass with attention in full, nothing
--   computed twice (PaLM, arXiv 2204.02311, appendix B).  For dense transformers only.
--
-- Helper: used by scaling_points
--
-- Sources: runs, params
--
-- Columns:
--   run_id             VARCHAR    run
--   parameters         DOUBLE     number of parameters
--   layers             DOUBLE     layers
--   hidden_size        DOUBLE     hidden size
--   seq_length         BIGINT     tokens per sample
--   flops_per_token    DOUBLE     operations per token; NULL without that shape, or for a mixture of experts
WITH
-- Structs are compared field by field: the largest value that a sidecar gives, else the largest.
numbers AS (
    SELECT run_id, key, {'is_sidecar': coalesce(origin = 'sidecar', false), 'value': TRY_CAST(value AS DOUBLE)}
        AS candidate
    FROM params WHERE TRY_CAST(value AS DOUBLE) IS NOT NULL),
shapes AS (
    SELECT run_id,
        (max(candidate) FILTER (WHERE key = 'num_layers')).value AS layers,
        (max(candidate) FILTER (WHERE key = 'hidden_size')).value AS hidden_size,
        coalesce((max(candidate) FILTER (WHERE key IN ('num_experts', 'moe_num_experts'))).value, 1) AS experts
    FROM numbers GROUP BY run_id)
SELECT run_id, parameters, layers, hidden_size, seq_length,
    CASE WHEN experts <= 1 THEN 6 * parameters + 12 * layers * hidden_size * seq_length END AS flops_per_token
FROM runs LEFT JOIN shapes USING (run_id)
ORDER BY run_id
