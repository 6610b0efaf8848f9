-- Operations that a model needs per token or image, by a formula of your choice.
--
-- Answers: How much work is a token, whatever the tool prints?
--   A run whose formula lacks an input is included with the reason.
--
-- Formula:
--   With N parameters (in a mixture of experts, those that a token uses), L layers, width h, s tokens per sequence, a
--   the width of all attention heads, k that of all keys, f the width of the MLP, g 3 if the MLP has a gate, else 2,
--   and V entries of the vocabulary, the operations of forward and backward pass for a token are
--   6N         6 N
--   palm       6 N + 12 L h s: full attention
--   megatron   3 (L (4 h (a + k) + 2 g h f + 4 s a) + 2 h V); with causal attention 2 s a in place of 4 s a.  In layers of
--              experts 2 g h (top-k f_expert + f_shared) in place of 2 g h f.
--   layers     per image: 3 times the convolutions and matrix products of the model with that name
--   auto       megatron where its inputs are known, else palm; `layers` for models of images
--   Hardware operations add recomputation: with full recomputation the forward pass of the layers, with Megatron's
--   selective recomputation that of the attention products.
--
-- Reference: Kaplan et al., arXiv 2001.08361 (6N).  Chowdhery et al., arXiv 2204.02311, appendix B (palm).
--   Narayanan et al., arXiv 2104.04473, equation 3, and Megatron-LM, num_floating_point_operations (megatron).
--   Korthikanti et al., arXiv 2205.05198, appendix A (recomputation).
--
-- Assumptions: A multiply-add is two operations.  The backward pass is twice the forward pass.  A language model is a
--   decoder, whose mask is causal, unless its name or its log says otherwise.  Every sequence is `seq_length` long.
--
-- Limits: Embedding lookups are not work, but 6N and palm count the tables in N: Llama 3.2 1B with separate tables has
--   1.5e9 parameters and multiplies with 1.2e9 of them.  The backward pass of flash attention recomputes the scores; no
--   formula contains that.  The scores of the vocabulary are counted at every token: of a BERT-base with 128
--   tokens whose masked ones alone are scored, 22 % too much.  Documents of one sequence that are masked from each other need less attention than is
--   counted.  No formula counts state-space layers, latent attention, sliding windows, or an encoder with a decoder.
--
-- Helper: used by scaling_points and mfu
--
-- Sources: runs, model_shapes
--
-- Parameters:
--   formula := 'auto'        '6N', 'palm', 'megatron', 'layers' or 'auto'
--   attention := 'auto'      what a token attends to in formula megatron: 'causal' (those before it), 'full', or 'auto':
--                            full where the name says BERT or ELECTRA, or the log says `bidirectional`, else causal
--
-- Columns:
--   run_id                      VARCHAR    run
--   parameters                  DOUBLE     number of parameters
--   active_parameters           DOUBLE     those that a token uses; NULL where too little is known about the mixture of
--                                          experts
--   layers                      DOUBLE     layers
--   hidden_size                 DOUBLE     hidden size
--   seq_length                  BIGINT     tokens per sample
--   formula_used                VARCHAR    6N, palm, megatron or layers; NULL where an input is missing
--   attention_counted           VARCHAR    causal, full or none
--   flops_per_token             DOUBLE     operations per token, without recomputation
--   hardware_flops_per_token    DOUBLE     including recomputation; NULL where no log says whether there is any
--   flops_per_image             DOUBLE     operations per image
--   recomputation               VARCHAR    none, full, selective, or what the log states; NULL where it states nothing
--   reason                      VARCHAR    why there is no number
WITH
checked_parameters AS (
    SELECT CASE WHEN attention NOT IN ('causal', 'full', 'auto')
            THEN error('attention is ''causal'', ''full'' or ''auto''')
        WHEN formula NOT IN ('6N', 'palm', 'megatron', 'layers', 'auto')
            THEN error('formula is ''6N'', ''palm'', ''megatron'', ''layers'' or ''auto''') ELSE true END AS is_known),
widths AS (
    SELECT *, coalesce(head_size, hidden_size / heads) * heads AS a, a * coalesce(query_groups / heads, 1) AS k,
        CASE WHEN is_gated THEN 3 ELSE 2 END AS g, experts > 1 AS is_mixture,
        coalesce(NOT is_mixture OR (is_in_every_layer AND top_k > 0 AND expert_ffn > 0), false) AS is_countable
    FROM model_shapes()),
sizes AS (
    SELECT r.run_id, r.parameters, r.seq_length, w.* EXCLUDE (run_id),
        CASE WHEN is_mixture IS NOT TRUE THEN r.parameters
            WHEN is_countable THEN r.parameters - layers * (experts - top_k) * g * hidden_size * expert_ffn END
            AS active_parameters,
        CASE WHEN is_countable AND uncounted IS NULL THEN layers * (4 * hidden_size * (a + k)
            + 2 * g * hidden_size * CASE WHEN is_mixture THEN top_k * expert_ffn + shared_ffn ELSE ffn END) END AS products,
        CASE WHEN attention <> 'auto' THEN attention
            WHEN is_bidirectional OR regexp_matches(lower(r.model), 'bert|electra') THEN 'full' ELSE 'causal' END AS attends,
        layers * r.seq_length * a * CASE attends WHEN 'full' THEN 4 ELSE 2 END AS scores,
        image_model_work(r.model, image_size, unet_channels) AS image
    FROM runs AS r LEFT JOIN widths AS w USING (run_id)),
by_formula AS (
    SELECT *, CASE WHEN seq_length > 0 THEN 6 * active_parameters END AS by_6n,
        CASE WHEN uncounted IS NULL THEN by_6n + 12 * layers * hidden_size * seq_length END AS by_palm,
        3 * (products + scores + 2 * hidden_size * vocabulary) AS by_megatron,
        CASE WHEN formula <> 'auto' THEN formula WHEN image.flops IS NOT NULL THEN 'layers'
            WHEN by_megatron IS NOT NULL THEN 'megatron' ELSE 'palm' END AS chosen,
        CASE chosen WHEN '6N' THEN by_6n WHEN 'palm' THEN by_palm WHEN 'megatron' THEN by_megatron END AS model_flops,
        CASE WHEN chosen = 'layers' THEN image.flops END AS image_flops
    FROM sizes)
SELECT run_id, parameters, active_parameters, layers, hidden_size, seq_length,
    CASE WHEN coalesce(model_flops, image_flops) IS NOT NULL THEN chosen END AS formula_used,
    CASE formula_used WHEN '6N' THEN 'none' WHEN 'palm' THEN 'full' WHEN 'megatron' THEN attends END AS attention_counted,
    model_flops AS flops_per_token,
    model_flops + CASE recomputation WHEN 'none' THEN 0
        WHEN 'full' THEN CASE chosen WHEN 'megatron' THEN products + scores ELSE model_flops / 3 END
        WHEN 'selective' THEN CASE chosen WHEN 'megatron' THEN scores
            WHEN 'palm' THEN 4 * layers * hidden_size * seq_length END END AS hardware_flops_per_token,
    image_flops AS flops_per_image, recomputation,
    CASE WHEN formula_used IS NOT NULL THEN NULL
        WHEN uncounted IS NOT NULL AND chosen IN ('palm', 'megatron') THEN format('no formula counts {}', uncounted)
        WHEN chosen = 'layers' OR image.is_known AND image.flops IS NULL
            THEN coalesce(image.reason, 'no log names the model')
        WHEN is_mixture AND NOT is_countable THEN 'a mixture of experts: no log says how many parameters a token uses'
        ELSE format('{}formula {} needs {}', if(formula = 'auto' AND image.reason IS NOT NULL,
            'the name of the model does not say its layers, and ', ''), chosen, concat_ws(', ',
            CASE WHEN seq_length IS NULL THEN 'seq_length' END,
            CASE WHEN chosen <> 'megatron' AND parameters IS NULL THEN 'parameters' END,
            CASE WHEN chosen <> '6N' AND layers IS NULL THEN 'num_layers' END,
            CASE WHEN chosen <> '6N' AND hidden_size IS NULL THEN 'hidden_size' END,
            CASE WHEN chosen = 'megatron' AND ffn IS NULL THEN 'ffn_hidden_size' END,
            CASE WHEN chosen = 'megatron' AND heads IS NULL THEN 'num_attention_heads' END,
            CASE WHEN chosen = 'megatron' AND vocabulary IS NULL THEN 'vocabulary' END)) END AS reason
FROM by_formula, checked_parameters WHERE is_known
ORDER BY run_id
