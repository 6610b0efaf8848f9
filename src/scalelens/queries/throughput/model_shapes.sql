-- The shape of each run's model, from its arguments.
--
-- Answers: How many layers does the model have, how wide are they, with how many experts, and what is recomputed?
--   Of several values that of a sidecar counts, else the largest: a dump may contain a 0 for an encoder that does not
--   exist.  Megatron's dump of arguments names a gate and grouped queries where there are any; without such a line
--   there are none.
--
-- Helper: used by model_flops
--
-- Sources: params
--
-- Columns:
--   run_id               VARCHAR    run
--   layers               DOUBLE     layers
--   hidden_size          DOUBLE     hidden size
--   ffn                  DOUBLE     width of the MLP
--   heads                DOUBLE     attention heads
--   head_size            DOUBLE     width of a head, where it is stated
--   query_groups         DOUBLE     heads of keys and values; NULL where each query has its own
--   vocabulary           DOUBLE     entries of the vocabulary with padding
--   is_gated             BOOLEAN    whether the MLP has a gate
--   experts              DOUBLE     experts of a layer, 1 for a dense model
--   top_k                DOUBLE     experts that a token is sent to
--   expert_ffn           DOUBLE     width of an expert
--   shared_ffn           DOUBLE     width of the experts that all tokens use, 0 for none
--   is_in_every_layer    BOOLEAN    whether every layer has experts
--   uncounted            VARCHAR    arguments that are on and give the model layers that no formula counts
--   is_bidirectional     BOOLEAN    whether the log says that a token attends to those after it too
--   unet_channels        BIGINT     channels of the first level of a U-Net
--   image_size           VARCHAR    size of the images, as the log prints it
--   recomputation        VARCHAR    none, full, selective, or what the log states; NULL where it states nothing
WITH
-- max() compares the structs field by field: a sidecar's value first, then the largest.
arguments AS (
    SELECT run_id, lower(key) AS key, lower(trim(value)) AS word,
        word NOT IN ('', 'none', 'false', 'null', '0', '(-1, -1)') AS is_on,
        key IN ('recompute_granularity', 'checkpoint_activations', 'gradient_checkpointing', 'activation_checkpointing',
            'recompute') AS is_recompute,
        CASE WHEN TRY_CAST(value AS DOUBLE) IS NOT NULL
            THEN {'is_sidecar': coalesce(origin = 'sidecar', false), 'value': TRY_CAST(value AS DOUBLE)} END AS candidate
    FROM params),
gathered AS (
    SELECT run_id,
        (max(candidate) FILTER (WHERE key IN ('num_layers', 'n_layer'))).value AS layers,
        (max(candidate) FILTER (WHERE key IN ('hidden_size', 'n_embd'))).value AS hidden_size,
        (max(candidate) FILTER (WHERE key = 'ffn_hidden_size')).value AS ffn,
        (max(candidate) FILTER (WHERE key = 'num_attention_heads')).value AS heads,
        (max(candidate) FILTER (WHERE key = 'kv_channels')).value AS head_size,
        (max(candidate) FILTER (WHERE key = 'num_query_groups')).value AS query_groups,
        bool_or(key = 'group_query_attention' AND NOT is_on) AS is_ungrouped,
        (max(candidate) FILTER (WHERE key IN ('vocabulary', 'padded_vocab_size'))).value AS vocabulary,
        bool_or(key IN ('swiglu', 'glu_activation', 'activation') AND (word = 'true' OR word LIKE '%glu%')) AS is_gated,
        (max(candidate) FILTER (WHERE key IN ('num_experts', 'moe_num_experts'))).value AS experts,
        (max(candidate) FILTER (WHERE key IN ('experts_per_token', 'moe_router_topk'))).value AS top_k,
        (max(candidate) FILTER (WHERE key = 'moe_ffn_hidden_size')).value AS expert_ffn,
        (max(candidate) FILTER (WHERE key = 'moe_shared_expert_intermediate_size')).value AS shared_ffn,
        bool_and(word = '1') FILTER (WHERE key IN ('moe_layer_freq', 'expert_interval', 'moe_expert_interval'))
            AS is_in_every_layer,
        string_agg(DISTINCT key, ', ' ORDER BY key) FILTER (WHERE is_on AND key IN ('multi_latent_attention',
            'attention_output_gate', 'hybrid_attention_enabled', 'hybrid_override_pattern', 'is_hybrid_model',
            'linear_attention_freq', 'experimental_attention_variant', 'window_size', 'attn_sliding_window',
            'sliding_window', 'mtp_num_layers', 'encoder_decoder')) AS uncounted,
        bool_or(key = 'bidirectional' AND is_on) AS is_bidirectional,
        max(TRY_CAST(word AS BIGINT)) FILTER (WHERE key = 'unet_channels') AS unet_channels,
        max(word) FILTER (WHERE key IN ('image_size', 'image_shape')) AS image_size,
        bool_or(is_recompute) AS says_recompute,
        max(word) FILTER (WHERE is_recompute AND is_on) AS recompute,
        bool_or(key = 'recompute_granularity' AND word = 'selective') AS is_of_megatron,
        bool_or(key = 'recompute_method' AND word = 'block') AS is_by_block,
        max(translate(word, '[]'' ', '')) FILTER (WHERE key = 'recompute_modules') AS modules
    FROM arguments GROUP BY run_id)
SELECT run_id, layers, hidden_size, ffn, heads, nullif(head_size, 0) AS head_size,
    CASE WHEN is_ungrouped IS NOT TRUE AND query_groups BETWEEN 1 AND heads THEN query_groups END AS query_groups,
    vocabulary, coalesce(is_gated, false) AS is_gated, coalesce(experts, 1) AS experts, top_k,
    coalesce(nullif(expert_ffn, 0), ffn) AS expert_ffn, coalesce(shared_ffn, 0) AS shared_ffn,
    coalesce(is_in_every_layer, true) AS is_in_every_layer, uncounted,
    coalesce(is_bidirectional, false) AS is_bidirectional, unet_channels, image_size,
    CASE WHEN says_recompute THEN CASE WHEN recompute IS NULL THEN 'none'
        WHEN recompute IN ('true', '1', 'full') THEN if(is_by_block, 'full, of some layers', 'full')
        WHEN is_of_megatron AND coalesce(modules, '') IN ('', 'none', 'core_attn') THEN 'selective'
        ELSE recompute || ', of other modules' END END AS recomputation
FROM gathered ORDER BY run_id
