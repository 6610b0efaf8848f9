-- Your own runs compared with published numbers of the same quantity, devices and batch.
--
-- Answers: How do my runs compare with published results?
--   One row for each run and quantity that has a published row: for as many devices and nodes, and for the same batch
--   where both sides state it.  Without published_name, only rows of the same model and of no other framework count.
--   Settings that differ, or that one side does not state, are listed with the numbers; nothing is judged across
--   them.  If several published rows fit because a log does not say enough, there is no number, and the note says
--   how many fit.
--
-- Formula: ratio = measured / printed.
--
-- Limits: A printed number comes from other software and another day: the ratio has no interval.  Efficiencies are
--   those of the time of a step; efficiencies published per epoch are left out.
--
-- Glance: name entry run_id devices quantity measured printed unit ratio differs unknown note
--
-- When empty: no run has a published number to be compared with
--
-- Sources: published, runs, params, selected_runs, throughput, epoch_times, energy_efficiency, scaling
--
-- Parameters: runs, epochs, warmup, exclude
--   published_name := ''    name in `published`, such as caraml/gpt-ipu; empty takes all of the run's model
--
-- Columns:
--   name             VARCHAR    document and table
--   entry            INTEGER    row of that table; NULL where several rows fit
--   run_id           VARCHAR    run
--   devices          INTEGER    devices of the run
--   quantity         VARCHAR    what is compared
--   measured         DOUBLE     value of the run, in `unit`; NULL where several rows fit
--   printed          VARCHAR    as published
--   unit             VARCHAR    as published
--   ratio            DOUBLE     measured over printed
--   is_as_printed    BOOLEAN    whether the printed digits and the rounding of the log allow the measured value
--   differs          VARCHAR    settings that differ: value of the run -> published value
--   unknown          VARCHAR    settings that one side does not state
--   note             VARCHAR    what to know or doubt
WITH
-- Of a log that times epochs in whole seconds, as Keras does: its times of a step have a digit or two.
coarse AS MATERIALIZED (
    SELECT run_id, sum(samples) / sum(samples / samples_per_s) AS samples_per_s,
        sum(samples) / sum(samples / samples_per_s_low) AS low, sum(samples) / sum(samples / samples_per_s_high) AS high
    FROM epoch_times(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE samples_per_s_low IS NOT NULL AND NOT is_cut AND (epoch > 0 OR trim(epochs::VARCHAR) <> '')
    GROUP BY run_id),
rates AS MATERIALIZED (
    SELECT run_id, coalesce(c.samples_per_s, t.samples_per_s, CASE WHEN rate_scope = 'global' THEN printed_samples_per_s END)
        AS samples_per_s,
        CASE WHEN c.samples_per_s IS NOT NULL THEN concat('from epochs in whole seconds: ', round(low)::BIGINT, ' to ', round(high)::BIGINT)
            WHEN t.samples_per_s IS NULL THEN 'the mean of the rates that the log prints, which has no times' END AS printed_kind,
        tokens_per_s
    FROM throughput(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) AS t FULL JOIN coarse AS c USING (run_id)),
energies AS MATERIALIZED (
    FROM energy_efficiency(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
efficiencies AS MATERIALIZED (
    FROM scaling(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)),
-- Values are in the units of number_unit (3600 J are 1 Wh).  is_samples: samples where the document counts tokens.
measures AS (
    SELECT run_id, 'samples_per_s' AS quantity, r.samples_per_s AS measured, false AS is_samples, printed_kind AS kind,
        NULL AS scaled, low, high
        FROM rates AS r LEFT JOIN coarse USING (run_id)
    UNION ALL SELECT run_id, 'tokens_per_s', coalesce(tokens_per_s, samples_per_s), tokens_per_s IS NULL, printed_kind,
        NULL, NULL, NULL FROM rates
    UNION ALL SELECT run_id, 'energy_per_device', unit_wh * 3600, false, NULL, NULL, NULL, NULL FROM energies
    UNION ALL SELECT run_id, 'energy', epoch_wh * 3600, false, NULL, NULL, NULL, NULL FROM energies
    UNION ALL SELECT run_id, 'samples_per_energy', samples_per_wh / 3600, false, NULL, NULL, NULL, NULL FROM energies
    UNION ALL SELECT run_id, 'tokens_per_energy', coalesce(tokens_per_wh, samples_per_wh) / 3600, tokens_per_wh IS NULL, NULL,
        NULL, NULL, NULL FROM energies
    UNION ALL SELECT run_id, 'efficiency', efficiency, false, concat(scaling, ' scaling from ', baseline_devices, if(baseline_devices = 1, ' device', ' devices')),
        scaling, NULL, NULL FROM efficiencies WHERE devices > baseline_devices
    UNION ALL SELECT run_id, 'flops_per_device', 1e12 * tflops_per_device, false, tflops_kind, scaling, NULL, NULL FROM efficiencies),
-- Of poprun: how many processes drive the devices.
instances AS (
    SELECT run_id, max(value) AS run_instances FROM params WHERE key IN ('instances', 'num_instances')
    GROUP BY run_id HAVING count(DISTINCT value) = 1),
fitting AS (
    SELECT p.*, m.measured, m.low, m.high, m.is_samples, m.kind, r.run_id, r.devices AS run_devices, r.model AS run_model,
        r.device_unit AS unit_of_devices,
        is_same_model(r.model, p.model) AS is_same_model,
        nullif(regexp_extract(p.setting, '^(PyTorch|TensorFlow|Keras|Megatron-LM)\b', 1), '') AS stated_framework,
        nullif(regexp_extract(p.setting, '\b(\d+) instances$', 1), '') AS stated_instances,
        [['framework', r.framework, stated_framework], ['system', r.system, p.system], ['device', r.device_model, p.device],
            ['model', r.model, CASE WHEN is_same_model THEN r.model ELSE p.model END],
            ['data', r.dataset, CASE WHEN p.model ILIKE '%squad%' THEN 'SQuAD' END],
            ['precision', r.precision, p.precision], ['nodes', r.nodes::VARCHAR, p.nodes::VARCHAR],
            ['micro-batch', r.micro_batch_size::VARCHAR, p.micro_batch_size::VARCHAR],
            ['batch', r.global_batch_size::VARCHAR, p.global_batch_size::VARCHAR],
            ['instances', run_instances, stated_instances]] AS settings,
        list_transform(settings, lambda s: list_transform(s, lambda t: regexp_replace(lower(t), '[^a-z0-9]', '', 'g')))
            AS plain
    FROM measures AS m JOIN selected_runs(runs := runs) USING (run_id) JOIN runs AS r USING (run_id)
    LEFT JOIN instances USING (run_id) JOIN published AS p ON p.quantity = m.quantity AND p.relation <> '<=' AND p.number IS NOT NULL
        AND (published_name = '' OR p.name = published_name) AND (p.devices IS NULL OR p.devices = r.devices)
        AND coalesce(p.global_batch_size = r.global_batch_size, true)
        AND coalesce(p.micro_batch_size = r.micro_batch_size, true) AND coalesce(p.nodes = r.nodes, true)
        AND NOT coalesce(p.setting LIKE '%per epoch%', false)
        AND coalesce(run_instances = nullif(regexp_extract(p.setting, '\b(\d+) instances$', 1), ''), true)
        AND coalesce(nullif(regexp_extract(p.setting, '(weak|strong) scaling', 1), '') = scaled, true)
    WHERE m.measured IS NOT NULL),
-- Of several published rows those of the same model count, of these the ones of the same kind of device and of the
-- same precision, and of these the ones that say most about devices and batch.
nearest AS (
    FROM fitting
    WHERE (is_same_model AND (published_name <> '' OR coalesce(contains(plain[1][2], plain[1][3]), true)))
        OR (published_name <> '' AND NOT is_samples AND (run_model IS NULL OR model IS NULL))
    QUALIFY rank() OVER (PARTITION BY name, run_id, quantity
        ORDER BY is_same_model DESC, coalesce((unit_of_devices = 'ipu') = contains(device, 'IPU'), false) DESC,
            coalesce(plain[6][2] = plain[6][3], false) DESC, (devices IS NOT NULL)::INTEGER
            + (nodes IS NOT NULL)::INTEGER + (coalesce(global_batch_size, micro_batch_size) IS NOT NULL)::INTEGER DESC) = 1),
described AS (
    SELECT *, count(*) OVER (PARTITION BY name, run_id, quantity) AS n_fitting,
        array_to_string(list_transform(list_filter(list_zip(settings, plain), lambda s: NOT contains(s[2][2], s[2][3])
            AND NOT contains(s[2][3], s[2][2])), lambda s: concat(s[1][1], ' ', s[1][2], ' -> ', s[1][3])), '; ') AS differing,
        array_to_string(list_transform(list_filter(settings, lambda s: (s[2] IS NULL) <> (s[3] IS NULL)
            AND NOT (s[1] IN ('data', 'framework', 'instances') AND s[3] IS NULL)), lambda s: s[1]), ', ') AS not_stated
    FROM nearest)
SELECT DISTINCT name, CASE WHEN n_fitting = 1 THEN entry END AS entry, run_id, run_devices AS devices, quantity,
    CASE WHEN n_fitting = 1 THEN measured / unit_size END AS measured,
    CASE WHEN n_fitting = 1 THEN printed END AS printed,
    CASE WHEN n_fitting = 1 THEN unit END AS unit, CASE WHEN n_fitting = 1 THEN measured / number END AS ratio,
    CASE WHEN n_fitting = 1 THEN coalesce(high, measured) >= coalesce(number_low, -'inf'::DOUBLE)
        AND coalesce(low, measured) <= coalesce(number_high, 'inf'::DOUBLE) END AS is_as_printed,
    CASE WHEN n_fitting = 1 THEN nullif(differing, '') END AS differs,
    CASE WHEN n_fitting = 1 THEN nullif(not_stated, '') END AS unknown,
    notes([CASE WHEN n_fitting > 1
        THEN concat(n_fitting, ' published rows fit: the log does not state what they differ in') END,
        CASE WHEN n_fitting = 1 AND relation <> '=' THEN 'published as '
            || CASE relation WHEN '>=' THEN 'a lower bound' WHEN '<=' THEN 'an upper bound' ELSE 'a round number' END END,
        CASE WHEN n_fitting = 1 AND note LIKE 'second epoch%' THEN 'published of the second epoch' END,
        CASE WHEN is_samples THEN 'samples, where the document says tokens' END, kind]) AS note
FROM described
ORDER BY name, quantity, devices, entry, run_id
