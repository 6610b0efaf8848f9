-- Printed MFU and TFLOP/s that cannot be what they say.
--
-- Answers: Is a printed utilization that of this device, and do the printed TFLOP/s fit the model and its time?
--   A tool that divides by the peak of one device whatever the device is gives another figure on any other: `expected` is
--   the printed figure over the right peak.  Where parameters, devices and tokens per second are known, they tell which
--   peak was really used, and a figure that fits the device's own peak is not listed.
--
-- Formula: expected MFU = printed MFU x assumed peak / dense peak of the device; the peak that was used is about
--   6 N x tokens/s / (devices x printed MFU).
--
-- Reference: formulas_catalog: tool, versions, formula and source.  Peaks: devices_catalog.
--
-- Assumptions: A tool whose row in formulas_catalog names a peak uses it, unless the log prints another or the
--   arithmetic above is nearer to the device's own.
--
-- Limits: Peaks within 10 % of each other are not told apart, nor TFLOP/s within a factor of 1.6 of the model's: formulas
--   differ by as much.
--
-- Helper: used by implausible
--
-- Partition: run_id
--
-- Sources: metrics, params, runs, steps, mfu, run_devices, selected_runs, formulas_catalog, devices_catalog
--
-- Parameters: runs
--
-- Columns:
--   run_id       VARCHAR    run
--   file_id      VARCHAR    file of the first such number
--   line         BIGINT     its line
--   quantity     VARCHAR    mfu, tflops, tokens, profiler tflops or rate of a device
--   tool         VARCHAR    framework of the run
--   printed_value  DOUBLE   what is printed, the median of the records
--   expected     DOUBLE     what it would be; NULL where that is not known
--   unit         VARCHAR    unit of both: 1 is a share
--   n_records    BIGINT     records with such a number
--   certainty    VARCHAR    how sure the meaning is: certain, likely or possible
--   relation     VARCHAR    which relation it breaks
--   meaning      VARCHAR    what is probably meant
--   source       VARCHAR    source of the formula
WITH
selected AS (FROM selected_runs(runs := runs)),
-- Means of the records: what ranks print at the same time is the same number.
utilizations AS (
    SELECT run_id, name AS metric, median(value) / 100 AS printed, max(value) / 100 AS highest, count(*) AS n_records,
        arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line
    FROM metrics
    WHERE regexp_matches(lower(name), '(^|[^a-z])mfu$') AND unit = '%' AND value > 0 AND isfinite(value)
        AND run_id IN (FROM selected)
    GROUP BY run_id, name),
peaks AS (
    SELECT run_id, TRY_CAST(arg_max(value, (file_id, line)) AS DOUBLE) / 1e12 AS stated_peak
    FROM params WHERE key = 'mfu_peak_flops' GROUP BY run_id),
speeds AS (
    SELECT run_id, sum(tokens) / sum(step_s) AS tokens_per_s FROM steps
    WHERE step_s > 0 AND tokens > 0 AND phase IS NOT DISTINCT FROM 'train' AND implausible IS NULL
        AND run_id IN (SELECT run_id FROM utilizations)
    GROUP BY run_id HAVING count(DISTINCT coalesce(rank, 0)) = 1),
measures AS (
    SELECT u.*, r.framework, r.device_model, d.device, f.pattern, f.source, stated_peak,
        coalesce(stated_peak, f.peak_tflops) AS assumed,
        coalesce(f.peak_of, CASE WHEN stated_peak = 312 THEN 'NVIDIA A100' END) AS peak_of,
        coalesce(CASE r.precision WHEN 'fp32' THEN fp32_tflops WHEN 'tf32' THEN tf32_tflops WHEN 'fp16' THEN fp16_tflops END,
            bf16_tflops, fp16_tflops) AS peak,
        6 * r.parameters * tokens_per_s / r.devices / printed / 1e12 AS used_peak
    FROM utilizations AS u JOIN runs AS r USING (run_id) LEFT JOIN run_devices(runs := runs) AS d USING (run_id)
    LEFT JOIN formulas_catalog AS f ON f.quantity = 'mfu' AND f.tool = r.framework AND f.metric = u.metric
    LEFT JOIN peaks AS p USING (run_id) LEFT JOIN speeds AS s USING (run_id)),
doubts AS (
    SELECT *, printed * assumed / peak AS corrected,
        stated_peak IS NOT NULL OR coalesce(abs(ln(used_peak / assumed)) < abs(ln(used_peak / peak)), true) AS may_be_assumed,
        stated_peak IS NOT NULL OR coalesce(abs(ln(used_peak / assumed)) < ln(1.6), false) AS is_seen
    FROM measures),
of_peaks AS (
    SELECT run_id, file_id, line, 'mfu' AS quantity, framework AS tool, printed, '1' AS unit, n_records, source,
        CASE WHEN peak IS NOT NULL AND corrected <= 1 THEN corrected END AS expected,
        CASE WHEN corrected > 1 THEN 'possible' WHEN is_seen AND peak_of IS NOT NULL OR stated_peak IS NOT NULL THEN 'certain'
            ELSE 'likely' END AS certainty,
        format('{} divides by {:g} TFLOP/s{}; {}', framework, assumed, coalesce(', the peak of an ' || peak_of, ''),
            CASE WHEN peak IS NOT NULL THEN format('the dense peak of {} is {:g}', device, peak)
                ELSE format('the device is {}', device_model) END) AS relation,
        CASE WHEN corrected <= 1 THEN format('an MFU of {:.1f} %', 100 * corrected)
            WHEN corrected > 1 OR printed * assumed > (SELECT max(bf16_tflops) FROM devices_catalog)
                THEN 'its operations or its tokens are counted too high as well'
            ELSE format('{:.3g} TFLOP/s for each device: divide by the peak of {}', printed * assumed, device_model)
            END AS meaning
    FROM doubts
    WHERE assumed IS NOT NULL AND may_be_assumed AND CASE WHEN peak IS NOT NULL THEN abs(assumed / peak - 1) > 0.1
        ELSE device_model IS NOT NULL AND device IS NULL AND peak_of IS NOT NULL
            AND NOT regexp_matches(lower(device_model), coalesce(pattern, 'a100')) END),
above_one AS (
    SELECT run_id, file_id, line, 'mfu' AS quantity, framework AS tool, highest AS printed, '1' AS unit, n_records, source,
        NULL::DOUBLE AS expected, if(assumed IS NULL, 'possible', 'likely') AS certainty,
        'no device does more than its peak' AS relation,
        CASE WHEN assumed IS NOT NULL THEN format('{} divides by {:g} TFLOP/s{}, and this is a faster device: {:.3g} TFLOP/s for '
                || 'each', framework, assumed, coalesce(', the peak of an ' || peak_of, ''), highest * assumed)
            ELSE 'the peak is that of a slower device, or the operations of all devices are divided by the peak of one'
            END AS meaning
    FROM doubts WHERE highest > 1 AND run_id NOT IN (SELECT run_id FROM of_peaks)),
rates AS (
    SELECT run_id, arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line,
        median(tflops_per_device) AS log_tflops, count(*) AS n_records
    FROM steps WHERE tflops_per_device > 0 AND run_id IN (FROM selected) GROUP BY run_id),
-- A printed rate below 1 may have lost its digits.
models AS (
    SELECT m.run_id, t.file_id, t.line, r.framework, m.devices, m.device, model_tflops, peak_tflops, t.log_tflops, t.n_records,
        t.log_tflops / model_tflops AS ratio, m.source, m.step_s, r.global_batch_size, r.seq_length,
        list_max([d.fp32_tflops, d.tf32_tflops, d.fp16_tflops, d.bf16_tflops, d.fp8_tflops]) AS highest_peak
    FROM mfu(runs := runs) AS m JOIN runs AS r USING (run_id) LEFT JOIN run_devices(runs := runs) AS d USING (run_id)
    LEFT JOIN rates AS t USING (run_id)),
-- Where the log does not say how it computes, the fastest way; where it names no device, twice the fastest of all: fp4 is so fast.
limits AS (
    SELECT *, coalesce(peak_tflops, highest_peak, fastest) AS peak, if(highest_peak IS NULL, 2 * peak, peak) AS most,
        coalesce(devices > 1 AND abs(ratio / devices - 1) < 0.1, false) AS is_sum,
        NOT is_sum AND log_tflops > 1000 AND log_tflops BETWEEN 5 * peak AND 1000 * most AS may_be_giga,
        may_be_giga AND log_tflops > devices * most AS is_giga
    FROM models CROSS JOIN (SELECT max(greatest(bf16_tflops, fp8_tflops)) AS fastest FROM devices_catalog)),
above_peak AS (
    SELECT run_id, file_id, line, 'tflops' AS quantity, framework AS tool, log_tflops AS printed,
        CASE WHEN ratio > 1.6 AND model_tflops < most THEN model_tflops WHEN is_giga THEN log_tflops / 1000 END AS expected,
        'TFLOP/s' AS unit, n_records, if(is_sum OR coalesce(is_giga, false), 'likely', 'possible') AS certainty,
        CASE WHEN peak_tflops IS NOT NULL THEN format('the dense peak of {} is {:g} TFLOP/s', device, peak_tflops)
            WHEN highest_peak IS NOT NULL THEN format('the highest dense peak of {} is {:g} TFLOP/s', device, highest_peak)
            ELSE format('no device does {:,.0f} TFLOP/s', log_tflops) END AS relation,
        CASE WHEN is_sum THEN format('the sum over {} devices', devices)
            WHEN may_be_giga THEN format('GFLOP/s under the unit of TFLOP/s: {:.3g} TFLOP/s{}', log_tflops / 1000,
                if(coalesce(is_giga, false), '', ', the sum over the devices, or a time that does not wait for the device'))
            ELSE 'the sum over the devices, a peak with sparsity, or another precision' END AS meaning, source
    FROM limits WHERE log_tflops > 1.02 * most),
per_device AS (
    SELECT run_id, name, any_value(unit) AS unit, median(value) AS printed, count(*) AS n_records,
        arg_min(file_id, (file_id, line)) AS file_id, arg_min(line, (file_id, line)) AS line
    FROM metrics
    WHERE unit IN ('tokens/s/device', 'samples/s/device') AND value > 0 AND isfinite(value) AND run_id IN (FROM selected)
    GROUP BY run_id, name),
work AS (
    SELECT run_id, median(samples) AS samples, median(tokens) AS tokens FROM steps
    WHERE run_id IN (SELECT run_id FROM per_device) AND coalesce(phase, 'train') = 'train' GROUP BY run_id),
-- A run of unknown devices has one at least.
of_one_device AS (
    SELECT run_id, p.file_id, p.line, 'rate of a device' AS quantity, framework AS tool, p.printed, p.n_records, unit,
        if(unit = 'tokens/s/device', coalesce(global_batch_size * seq_length, tokens),
            coalesce(global_batch_size, samples)) / step_s AS job,
        job / coalesce(devices, 1) AS expected, 'possible' AS certainty,
        format('the batch and the time of a step give {:.4g} {} for {}', job, replace(unit, '/device', ''),
            if(devices IS NULL, 'all devices together', format('{} devices', devices))) AS relation,
        CASE WHEN p.printed > expected THEN 'the rate of several devices, or of a part of the time of a step'
            ELSE 'the rate of fewer tokens or samples than a step has, or the step was timed without its waits' END AS meaning
    FROM per_device AS p JOIN models USING (run_id) LEFT JOIN work USING (run_id)
    WHERE p.printed > 1.6 * expected OR devices IS NOT NULL AND p.printed < expected / 1.6),
of_models AS (
    SELECT run_id, file_id, line, 'tflops' AS quantity, framework AS tool, log_tflops AS printed, model_tflops AS expected,
        'TFLOP/s' AS unit, n_records, if(devices > 1 AND greatest(ratio / devices, devices / ratio) < 1.1
            OR greatest(ratio * devices, 1 / ratio / devices) < 1.1 AND devices > 1, 'likely', 'possible') AS certainty,
        format('the model and the time of a step give {:.4g} TFLOP/s for each device', model_tflops) AS relation,
        CASE WHEN devices > 1 AND greatest(ratio / devices, devices / ratio) < 1.1 THEN format('the sum over {} devices', devices)
            WHEN devices > 1 AND greatest(ratio * devices, 1 / ratio / devices) < 1.1 THEN 'divided by the devices twice'
            ELSE 'the tool counts another shape, batch or number of devices than the log states' END AS meaning,
        NULL::VARCHAR AS source
    FROM models
    WHERE log_tflops >= 1 AND model_tflops >= 1 AND (ratio > 1.6 OR ratio < 1 / 1.6)
        AND run_id NOT IN (SELECT run_id FROM above_peak)),
too_fast AS (
    SELECT run_id, NULL::VARCHAR AS file_id, NULL::BIGINT AS line, 'tokens' AS quantity, framework AS tool, model_tflops AS printed,
        peak_tflops AS expected, 'TFLOP/s' AS unit, NULL::BIGINT AS n_records, 'possible' AS certainty,
        format('the printed times need {:.3g} times the dense peak of {}', model_tflops / peak_tflops, device) AS relation,
        'more devices than the log states, a smaller batch or sequence, or times of something else than a step' AS meaning, source
    FROM models WHERE model_tflops > 1.02 * peak_tflops),
profiles AS (
    SELECT run_id, max(value) FILTER (name LIKE '%FLOPS per GPU' AND unit = 'flops/s' AND NOT starts_with(name, 'fwd FLOPS')
            AND NOT starts_with(name, 'bwd')) / 1e12 AS profiled,
        max(value) FILTER (name = 'fwd flops per GPU') / 1e12 AS forward_tflop, max(value) FILTER (name = 'iter latency') AS iter_s,
        arg_min(file_id, line) AS file_id, arg_min(line, line) FILTER (name LIKE '%FLOPS per GPU') AS line
    FROM metrics WHERE run_id IN (SELECT run_id FROM rates) AND (name LIKE '%FLOPS per GPU' OR name IN ('fwd flops per GPU',
        'iter latency')) GROUP BY run_id),
profiled AS (
    SELECT p.run_id, p.file_id, p.line, 'profiler tflops' AS quantity, 'deepspeed' AS tool, profiled AS printed, log_tflops AS expected,
        'TFLOP/s' AS unit, 1::BIGINT AS n_records, if(log_tflops > profiled, 'likely', 'possible') AS certainty,
        format('the log prints {:.4g} TFLOP/s for each device', log_tflops) AS relation,
        notes([if(log_tflops > profiled,
            'the profiler counts the functions of PyTorch that it replaces, in one forward pass of one process: fused and custom '
                || 'kernels, recomputation and further micro-batches are missing',
            'the profiler times one forward and backward pass, the log whole steps'),
            format('it counted {:.3g} TFLOP in a forward pass, where the rate of the log stands for {:.3g}, or {:.3g} with '
                || 'recomputation', forward_tflop, log_tflops * iter_s / 3, log_tflops * iter_s / 4)]) AS meaning,
        (SELECT source FROM formulas_catalog WHERE tool = 'deepspeed' AND quantity = 'tflops') AS source
    FROM profiles AS p JOIN rates AS t USING (run_id)
    WHERE greatest(log_tflops / profiled, profiled / log_tflops) > 1.6)
SELECT run_id, file_id, line, quantity, tool, printed AS printed_value, expected, unit, n_records, certainty, relation, meaning, source
FROM (FROM of_peaks UNION ALL BY NAME FROM above_one UNION ALL BY NAME FROM above_peak UNION ALL BY NAME FROM of_models
    UNION ALL BY NAME FROM too_fast UNION ALL BY NAME FROM profiled
    UNION ALL BY NAME FROM of_one_device)
ORDER BY run_id, quantity, line
