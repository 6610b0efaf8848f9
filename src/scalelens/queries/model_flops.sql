-- Floating-point operations that a model needs per token, from its shape.
--
-- Answers: How much work is a token, whatever the tool prints?
--   6 parameters + 12 layers * hidden size * sequence length: forward and backward pass with attention in full, nothing
--   computed twice (PaLM, arXiv 2204.02311, appendix B).  For dense transformers only.
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
shapes AS (
    SELECT run_id,
        max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key = 'num_layers') AS layers,
        max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key = 'hidden_size') AS hidden_size,
        coalesce(max(TRY_CAST(value AS DOUBLE)) FILTER (WHERE key IN ('num_experts', 'moe_num_experts')), 1) AS experts
    FROM params GROUP BY run_id)
SELECT run_id, parameters, layers, hidden_size, seq_length,
    CASE WHEN experts <= 1 THEN 6 * parameters + 12 * layers * hidden_size * seq_length END AS flops_per_token
FROM runs LEFT JOIN shapes USING (run_id)
ORDER BY run_id
