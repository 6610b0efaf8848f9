-- Model FLOP/s utilization: the operations that the model needs a second, over the dense peak of the devices.
--
-- Answers: How well are the devices used (MFU)?
--   Every run is included; where there is no MFU, `reason` says what is missing.  The value that the log prints is in a
--   column of its own: forks of one program count by different formulas.
--
-- Formula: MFU = F / (t n P), with F the operations of the model for a step (model_flops), t the time of a step, n the
--   devices, and P the dense peak of one device in the precision of the training.
--   HFU, the hardware FLOP/s utilization, uses the operations including recomputation in place of F.
--
-- Reference: Chowdhery et al., arXiv 2204.02311, section 4.1 and appendix B (MFU).  Korthikanti et al., arXiv 2205.05198
--   (hardware FLOPs).  Peaks: the catalog's `source`, FROM devices_catalog.
--
-- Assumptions: All devices are of one model, and run at the clock for which the vendor states the peak.  `amp` is fp16,
--   the default in PyTorch, if the device computes as fast in bf16 or no peak for bf16 is known.  Training with `fp8`
--   is compared with the peak of fp8, though some layers stay in bf16.
--
-- Limits: The interval is that of the steps of one run; it does not say what the next run would give.  For fp32 the
--   peak is that of full fp32, and no log says whether TF32 was allowed.  The time includes data loading, communication
--   and stalls that the rules of exclusion leave in.  Two values of MFU are comparable only if they use the same
--   formula.
--
-- Glance: run_id mfu% model_tflops printed_tflops peak_tflops device precision devices step_s hfu% formula_used
--   attention_counted model gflops_per_tdp_watt reason note
--
-- When empty: not_compared
--
-- Sources: batch_stats, runs, params, model_flops, run_devices, selected_runs, devices_catalog
--
-- Parameters: runs, epochs, warmup, exclude
--   statistic := 'median'    time of a step: 'median', or 'mean', which includes the stalls
--   formula := 'auto'        '6N', 'palm', 'megatron', 'layers' or 'auto'
--   attention := 'auto'      what a token attends to in formula megatron: 'causal' (those before it), 'full', or 'auto':
--                            full where the name says BERT or ELECTRA, or the log says `bidirectional`, else causal
--
-- Columns:
--   run_id                 VARCHAR             run
--   model                  VARCHAR             model
--   precision              VARCHAR             number format
--   devices                INTEGER             devices
--   device                 VARCHAR             name in the catalog
--   mfu                    DOUBLE              model FLOP/s over peak, 0 to 1
--   mfu_low                DOUBLE              at the slow end of the interval of the step time
--   mfu_high               DOUBLE              at the fast end
--   interval_kind          VARCHAR             ci95, or range where 95 % cannot be claimed
--   hfu                    DOUBLE              hardware FLOP/s over peak; NULL where no log says what is recomputed
--   formula_used           VARCHAR             6N, palm, megatron or layers (model_flops)
--   attention_counted      VARCHAR             causal, full or none
--   recomputation          VARCHAR             none, full, selective, or what the log states
--   n_steps                BIGINT              records that the statistics rest on
--   step_s                 DOUBLE s            time of a step, by the statistic
--   model_tflops           DOUBLE TFLOP/s      per device, of the model
--   hardware_tflops        DOUBLE TFLOP/s      per device, including recomputation
--   printed_tflops         DOUBLE TFLOP/s      per device, as printed, by the tool's own formula
--   total_tflops           DOUBLE TFLOP/s      of all devices, of the model
--   peak_of                VARCHAR             number format whose peak is used
--   peak_tflops            DOUBLE TFLOP/s      dense peak of one device
--   gflops_per_tdp_watt    DOUBLE GFLOP/s/W    operations of the model per second, over the vendor's power limit; for a
--                                              GCD half of the package's
--   reason                 VARCHAR             why there is no MFU
--   note                   VARCHAR             what to know or doubt
--   source                 VARCHAR             source of the peak
WITH
formats AS (
    SELECT run_id, bool_or(lower(key) IN ('fp8', 'fp8_hybrid', 'fp8_e4m3')
        AND lower(trim(value)) NOT IN ('', 'none', 'false', '0', 'null')) AS has_fp8,
        max(value) FILTER (key = 'global_batch_size_origin') AS batch_origin,
        coalesce(bool_or(key = 'scored_tokens' AND value = 'all'), false) AS scores_all
    FROM params GROUP BY run_id),
measured AS (
    SELECT run_id, n_steps, mean_s, samples_per_s, tokens_per_s, tflops_per_device AS printed_tflops, value_kinds,
        CASE statistic WHEN 'median' THEN step_s WHEN 'mean' THEN mean_s
            ELSE error('statistic is ''median'' or ''mean''') END AS time_s,
        CASE statistic WHEN 'median' THEN step_s_low END AS low_s, CASE statistic WHEN 'median' THEN step_s_high END AS high_s,
        CASE statistic WHEN 'median' THEN interval_kind END AS interval_kind
    FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
joined AS (
    SELECT r.run_id, r.model, r.precision, r.devices, r.device_model, r.global_batch_size, r.seq_length, batch_origin,
        m.* EXCLUDE (run_id), scores_all, f.* EXCLUDE (run_id, parameters, seq_length), d.* EXCLUDE (run_id, device_model),
        coalesce(tdp_w, package_w / 2) AS limit_w,
        coalesce(tokens_per_s * mean_s, r.global_batch_size * r.seq_length) AS step_tokens,
        coalesce(samples_per_s * mean_s, r.global_batch_size) AS step_samples,
        CASE WHEN has_fp8 THEN 'fp8' WHEN r.precision IN ('fp8', 'bf16', 'fp16', 'tf32', 'fp32') THEN r.precision
            WHEN r.precision = 'amp' AND coalesce(bf16_tflops = fp16_tflops, true) THEN 'fp16' END AS peak_of,
        CASE peak_of WHEN 'fp8' THEN fp8_tflops WHEN 'bf16' THEN bf16_tflops WHEN 'fp16' THEN fp16_tflops
            WHEN 'tf32' THEN tf32_tflops WHEN 'fp32' THEN fp32_tflops END AS peak_tflops
    FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id) LEFT JOIN measured AS m USING (run_id)
    LEFT JOIN model_flops(formula := formula, attention := attention) AS f USING (run_id)
    LEFT JOIN run_devices(runs := runs) AS d USING (run_id) LEFT JOIN formats USING (run_id)
    -- The power limit of a GCD is listed with the package of two, an OAM.
    LEFT JOIN (SELECT device AS package, tdp_w AS package_w FROM devices_catalog) ON package = replace(device, ' GCD', ' OAM')
        AND unit = 'gcd'),
worked AS (
    SELECT *, coalesce(flops_per_token * step_tokens, flops_per_image * step_samples) / devices / 1e12 AS model_tflop,
        coalesce(hardware_flops_per_token * step_tokens,
            CASE WHEN recomputation = 'none' THEN flops_per_image * step_samples END) / devices / 1e12 AS hardware_tflop,
        model_tflop / time_s / peak_tflops AS utilization
    FROM joined)
SELECT run_id, model, w.precision, devices, device,
    CASE WHEN utilization <= 1 THEN utilization END AS mfu,
    mfu * time_s / high_s AS mfu_low, mfu * time_s / low_s AS mfu_high,
    CASE WHEN mfu_low IS NOT NULL THEN interval_kind END AS interval_kind,
    CASE WHEN mfu IS NOT NULL THEN hardware_tflop / time_s / peak_tflops END AS hfu,
    formula_used, attention_counted, recomputation, n_steps, time_s AS step_s,
    model_tflop / time_s AS model_tflops, hardware_tflop / time_s AS hardware_tflops, printed_tflops,
    model_tflop / time_s * devices AS total_tflops, peak_of, peak_tflops,
    1000 * model_tflop / time_s / limit_w AS gflops_per_tdp_watt,
    notes([
        CASE WHEN time_s IS NULL THEN 'no step time is known' END,
        CASE WHEN devices IS NULL THEN 'no log states the number of devices' END,
        w.reason,
        CASE WHEN w.reason IS NULL AND flops_per_token IS NOT NULL AND step_tokens IS NULL
            THEN 'the tokens of a step are not known' END,
        CASE WHEN w.reason IS NULL AND flops_per_image IS NOT NULL AND step_samples IS NULL
            THEN 'the images of a step are not known' END,
        CASE WHEN device IS NULL THEN if(device_model IS NULL, 'no log names the device',
            format('the catalog has no device {}', device_model) || coalesce(', but ' || (
                SELECT array_to_string(list(c.device ORDER BY c.device)[:3], ', ') FROM devices_catalog AS c
                WHERE contains(lower(c.device), lower(w.device_model))), '')) END,
        CASE WHEN peak_of IS NULL THEN CASE WHEN w.precision IS NULL THEN 'no log names the precision'
            WHEN w.precision = 'amp' THEN 'amp is fp16 or bf16, and this device is not equally fast in both'
            ELSE format('precision {} has no peak', w.precision) END END,
        CASE WHEN device IS NOT NULL AND peak_of IS NOT NULL AND peak_tflops IS NULL
            THEN format('the catalog has no peak for {} in {}', device, peak_of) END,
        CASE WHEN utilization > 1
            THEN format('{:.0f} % of the peak is impossible: check formula, precision, device and devices',
                100 * utilization) END]) AS reason,
    notes([
        CASE WHEN peak_of = 'fp32' AND tf32_tflops > fp32_tflops
            THEN format('with TF32 allowed the peak is {:g} TFLOP/s', tf32_tflops) END,
        CASE WHEN regexp_matches(value_kinds, 'running|epoch|run_mean')
            THEN 'the times are means that may include the warm-up' END,
        CASE WHEN mfu IS NOT NULL AND attention = 'auto' AND attention_counted = 'full' AND NOT scores_all
            THEN 'if only masked tokens are scored, as usual for BERT, fewer operations are needed than counted' END,
        'global batch inferred from ' || batch_origin]) AS note,
    CASE WHEN peak_tflops IS NOT NULL THEN source END AS source
FROM worked AS w
ORDER BY model, w.precision, device, devices, run_id
