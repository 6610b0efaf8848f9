-- What a reviewer would ask of a study, with what the logs answer.
--
-- Answers: Would a reviewer accept this study?
--   One row per rule: `met`, `not met`, or `cannot tell` where the logs lack what the rule is about.  A rule is met only if
--   every series, size or run that it concerns is known to meet it.  Figures and texts lie outside of a warehouse:
--   scalelens review --figure FILE --text FILE checks them, too.
--
-- Formula: not met if n_broken > 0; else cannot tell if n_unknown > 0 or n_of = 0; else met.
--
-- Reference: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015, by the number of the rule;
--   the artifact description of SC; MLPerf's training rules; the Energy Efficient HPC Working Group's methodology.
--
-- Limits: It checks what logs can show, not whether the study asks the right question.  Five runs of a size are what MLPerf
--   asks of most image models, six the least for an interval of a median, ten those from which `noise` calibrates itself.
--
-- Glance: rule verdict evidence remedy source
--
-- Sources: scaling, not_compared, batch_stats, configuration, runs, params, metrics, energy_efficiency, mfu, implausible_rates, noise,
--   selected_runs
--
-- Parameters: runs
--   figures := ''    what was found of figures: how many, how many differ, how many cannot be checked; empty: none named
--   claims := ''     the same of the numbers of a text
--
-- Columns:
--   rule_order    INTEGER    order in which rules are shown
--   rule          VARCHAR    what is asked
--   verdict       VARCHAR    met, not met or cannot tell
--   evidence      VARCHAR    what the logs show
--   remedy        VARCHAR    what would meet it; NULL where it is met
--   n_of          BIGINT     series, sizes or runs that it concerns
--   n_broken      BIGINT     those that break it
--   n_unknown     BIGINT     those of which the logs do not tell
--   source        VARCHAR    who asks it
WITH
selected AS (FROM selected_runs(runs := runs)),
facts AS MATERIALIZED (
    SELECT run_id, system, device_model, framework, precision, device_unit FROM runs WHERE run_id IN (FROM selected)),
sizes AS MATERIALIZED (
    SELECT *, coalesce(step_s, epoch_s) AS time_s, count(*) OVER (PARTITION BY series) AS n_sizes FROM scaling(runs := runs)),
bases AS (
    SELECT series, any_value(baseline_devices) AS base, max(nodes) FILTER (devices = baseline_devices) AS base_nodes,
        max(time_s) FILTER (devices = baseline_devices) AS base_s FROM sizes WHERE n_sizes > 1 GROUP BY series),
base_case AS (
    SELECT 'base' AS key, count(*) AS n_of, count(*) FILTER (base_nodes > 1 OR base_s IS NULL) AS n_broken,
        count(*) FILTER (base_nodes IS NULL AND base > 1 OR base IS NULL) AS n_unknown,
        CASE WHEN count(*) = 0 THEN 'no series has two sizes'
            WHEN n_broken > 0 THEN format('{} of {} series begin on several nodes, or without a time', n_broken, n_of)
            WHEN n_unknown > 0 THEN format('of {} of {} series the nodes of the base are not known', n_unknown, n_of)
            ELSE format('{} series begin on one node; the first on {} {} at {:.4g} s', n_of, arg_min(base, series),
                if(arg_min(base, series) = 1, 'device', 'devices'), arg_min(base_s, series)) END AS evidence
    FROM bases),
repeats AS (
    SELECT 'repeats' AS key, count(*) AS n_of, count(*) FILTER (n_runs < 5) AS n_broken, 0 AS n_unknown,
        if(count(*) = 0, 'no series has two sizes', format('{} of {} sizes have fewer than five runs; the least is {}', n_broken,
            n_of, min(n_runs))) AS evidence
    FROM sizes),
intervals AS (
    SELECT 'intervals' AS key, count(*) AS n_of, count(*) FILTER (interval_of IS DISTINCT FROM 'runs' OR interval_kind IS DISTINCT FROM 'ci95')
            AS n_broken, 0 AS n_unknown, if(count(*) = 0, 'no series has two sizes',
            format('{} of {} sizes have a 95 % interval between runs', n_of - n_broken, n_of)) AS evidence
    FROM sizes),
kept AS (
    SELECT *, regexp_matches(value_kinds, 'running|epoch|run_') AS is_mean FROM batch_stats(runs := runs)),
left_out AS (
    SELECT 'left out' AS key, count(*) AS n_of,
        count(*) FILTER (NOT coalesce(is_mean, false) AND n_excluded > n_steps) AS n_broken,
        count(*) FILTER (is_mean OR coalesce(n_steps + n_excluded, 0) = 0) AS n_unknown,
        CASE WHEN count(*) = 0 THEN 'there are no runs'
            WHEN n_broken > 0 THEN format('{} of {} runs keep fewer than half of their records', n_broken, n_of)
            WHEN n_unknown > 0 THEN format('{} of {} runs log no steps, or means that may hold the warm-up', n_unknown, n_of)
            ELSE format('{} of {} records are left out, each by a rule of exclusions()', sum(n_excluded),
                sum(n_excluded + n_steps)) END AS evidence
    FROM facts LEFT JOIN kept USING (run_id)),
-- A run of another model, data set or framework is another experiment, not a size of this one.
apart AS (
    SELECT count(*) AS n_apart, min(differs) AS differs FROM not_compared(runs := runs)
    WHERE NOT regexp_matches(differs, '\b(model|framework|dataset|system|num_layers|hidden_size)\b')),
series_of AS (
    SELECT count(DISTINCT series) FILTER (n_sizes > 1) AS n_series,
        count(DISTINCT series) FILTER (scaling IN ('mixed', 'throughput')) AS n_unlike FROM sizes),
settings AS (
    SELECT 'settings' AS key, n_series AS n_of, n_apart AS n_broken, n_unlike AS n_unknown,
        CASE WHEN n_apart > 0 THEN format('{} runs of other sizes differ in more than the size: {}', n_apart, differs)
            WHEN n_series = 0 THEN 'no series has two sizes'
            WHEN n_unlike > 0 THEN format('{} of {} series have no known batch, or a model that grows', n_unlike, n_series)
            ELSE format('the runs of each of {} series agree in all settings that either states', n_series) END AS evidence
    FROM apart CROSS JOIN series_of),
stated AS (
    SELECT run_id, list(DISTINCT setting) AS settings FROM configuration(runs := runs) WHERE value IS NOT NULL GROUP BY run_id),
measured AS (
    SELECT run_id, bool_or(regexp_matches(lower(name), '(sm|gpu|gfx|core)_?clock') AND value > 0) AS is_clocked,
        bool_or(regexp_matches(lower(name), 'power_?(cap|limit)') AND value > 0) AS is_capped
    FROM metrics WHERE name ILIKE '%clock%' OR name ILIKE '%power%' GROUP BY run_id),
capped AS (SELECT DISTINCT run_id FROM params WHERE regexp_matches(lower(key), 'power_?(cap|limit)') AND value IS NOT NULL),
described AS (
    SELECT f.*, coalesce(settings, []) AS settings, coalesce(list_contains(settings, 'device_clock_mhz'), false)
            OR coalesce(is_clocked, false) AS has_clock, c.run_id IS NOT NULL OR coalesce(is_capped, false) AS has_limit,
        list_filter([if(system IS NULL, 'system', NULL), if(device_model IS NULL, 'device', NULL),
            if(precision IS NULL, 'precision', NULL), if(framework IS NULL, 'framework', NULL),
            if(list_contains(settings, 'framework_version'), NULL, 'version of the framework'),
            if(list_contains(settings, 'cuda_version') OR device_unit IS NOT DISTINCT FROM 'cpu', NULL, 'version of CUDA or ROCm')],
            lambda name: name IS NOT NULL) AS missing
    FROM facts AS f LEFT JOIN stated AS s USING (run_id) LEFT JOIN measured AS m ON m.run_id = f.run_id
    LEFT JOIN capped AS c ON c.run_id = f.run_id),
clocks AS (
    SELECT 'clocks' AS key, count(*) AS n_of, count(*) FILTER (NOT (has_clock AND has_limit)) AS n_broken, 0 AS n_unknown,
        if(count(*) = 0, 'there are no runs', format('{} of {} runs state a clock of the device, {} a power limit',
            count(*) FILTER (has_clock), n_of, count(*) FILTER (has_limit))) AS evidence
    FROM described),
environment AS (
    SELECT 'environment' AS key, count(*) AS n_of, count(*) FILTER (len(missing) > 0) AS n_broken, 0 AS n_unknown,
        CASE WHEN count(*) = 0 THEN 'there are no runs'
            WHEN n_broken = 0 THEN format('{} runs state system, device, precision and versions', n_of)
            ELSE 'not stated: ' || any_value(most_missing) END AS evidence
    FROM described CROSS JOIN (
        SELECT string_agg(format('{} ({}{})', name, n_runs, if(position = 1, format(' of {} runs', n_of_runs), '')), ', '
            ORDER BY position) AS most_missing
        FROM (SELECT name, count(*) AS n_runs, row_number() OVER (ORDER BY count(*) DESC, name) AS position,
                (SELECT count(*) FROM described) AS n_of_runs
            FROM (SELECT unnest(missing) AS name FROM described) GROUP BY name))),
energies AS (SELECT run_id, min(coverage) AS coverage, bool_and(energy_j IS NOT NULL) AS is_known
    FROM energy_efficiency(runs := runs) GROUP BY run_id),
energy AS (
    SELECT 'energy' AS key, count(*) AS n_of, count(*) FILTER (coverage < 0.95) AS n_broken,
        count(*) FILTER (coverage IS NULL OR NOT is_known) AS n_unknown,
        CASE WHEN count(*) = 0 THEN 'there are no runs'
            WHEN count(is_known) = 0 THEN 'no energy of a run can be computed'
            WHEN n_broken > 0 THEN format('{} of {} runs have gaps: the least coverage is {:.0f} %', n_broken, n_of, 100 * min(coverage))
            WHEN n_unknown > 0 THEN format('{} of {} runs have no energy, or one whose extent is not known', n_unknown, n_of)
            ELSE format('the energy of {} runs covers at least {:.0f} % of each', n_of, 100 * min(coverage)) END AS evidence
    FROM facts LEFT JOIN energies USING (run_id)),
doubted AS (SELECT count(DISTINCT run_id) AS n_doubted FROM implausible_rates(runs := runs) WHERE quantity IN ('mfu', 'tflops')),
utilization AS (
    SELECT 'mfu' AS key, count(*) AS n_of,
        greatest(count(*) FILTER (contains(reason, 'impossible')), coalesce(any_value(n_doubted), 0)) AS n_broken,
        count(*) FILTER (mfu IS NULL OR peak_tflops IS NULL) AS n_unknown,
        CASE WHEN count(*) = 0 THEN 'there are no runs'
            WHEN n_broken > 0 THEN format('{} of {} runs print an MFU or TFLOP/s that cannot be true (implausible)', n_broken, n_of)
            WHEN n_unknown > 0 THEN format('{} of {} runs have no MFU: {}', n_unknown, n_of, mode(reason))
            ELSE format('{} runs: formula {}, dense peak {:g} TFLOP/s', n_of, string_agg(DISTINCT formula_used, ', '), min(peak_tflops))
            END AS evidence
    FROM mfu(runs := runs) CROSS JOIN doubted),
systems AS (
    SELECT f.system, max(n.n_runs) FILTER (calibration = 'own') AS n_own, count(n.n_runs) AS n_any
    FROM (SELECT DISTINCT system FROM facts) AS f LEFT JOIN noise(runs := runs) AS n ON n.system IS NOT DISTINCT FROM f.system
    GROUP BY f.system),
scatter AS (
    SELECT 'noise' AS key, count(*) AS n_of, count(*) FILTER (n_own IS NULL AND n_any > 0) AS n_broken,
        count(*) FILTER (n_any = 0) AS n_unknown,
        CASE WHEN n_broken > 0 THEN 'fewer than ten timed repeats of any configuration: the noise is assumed to be that of other systems'
            WHEN n_unknown > 0 OR n_of = 0 THEN 'no two runs are repeats of each other'
            ELSE format('{} repeats of one configuration tell the noise', min(n_own)) END AS evidence
    FROM systems),
outside AS (
    SELECT key, coalesce(TRY_CAST(split_part(counts, ' ', 1) AS BIGINT), 0) AS n_of,
        coalesce(TRY_CAST(split_part(counts, ' ', 2) AS BIGINT), 0) AS n_broken,
        coalesce(TRY_CAST(split_part(counts, ' ', 3) AS BIGINT), 0) AS n_unknown,
        if(trim(counts) = '', format('no {} was named', what), format('{} of {} {}s differ from the logs, {} cannot be checked',
            n_broken, n_of, what, n_unknown)) AS evidence
    FROM (VALUES ('figures', figures, 'figure'), ('claims', claims, 'number')) AS o(key, counts, what)),
answers AS (
    FROM base_case UNION ALL BY NAME FROM repeats UNION ALL BY NAME FROM intervals UNION ALL BY NAME FROM left_out
    UNION ALL BY NAME FROM settings UNION ALL BY NAME FROM clocks UNION ALL BY NAME FROM energy UNION ALL BY NAME FROM utilization
    UNION ALL BY NAME FROM environment UNION ALL BY NAME FROM scatter UNION ALL BY NAME FROM outside),
rules AS (
    FROM (VALUES
        (1, 'base', 'base case on one node, with its time', 'run the smallest size on one node, and print its time',
            'Hoefler & Belli 1'),
        (2, 'repeats', 'five runs of each size', 'repeat each size; next_runs says how often, and has the commands',
            'MLPerf training'),
        (3, 'intervals', 'intervals between runs', 'six runs of each size or more', 'Hoefler & Belli 5, 7'),
        (4, 'left out', 'left out: stated, and the smaller part', 'log single steps, and more of them',
            'Hoefler & Belli 2, 10'),
        (5, 'settings', 'series differ in their size alone', 'repeat these runs with the settings of the others',
            'Hoefler & Belli 9'),
        (6, 'clocks', 'clocks and power limits known',
            'log nvidia-smi --query-gpu=timestamp,index,power.draw,clocks.sm, and write power_cap_w into scalelens.toml',
            'Hoefler & Belli 9'),
        (7, 'energy', 'energy of the whole run', 'sample power from before the first step to after the last',
            'EE HPC WG'),
        (8, 'mfu', 'MFU with its formula and peak', 'name the device, the precision and the shape of the model',
            'Hoefler & Belli 11'),
        (9, 'environment', 'system, devices, versions recorded', 'print collect_env into the log, or write scalelens.toml',
            'SC artifact description'),
        (10, 'noise', 'noise of the system known', 'ten runs of one configuration, over days',
            'Hoefler & Belli 5'),
        (11, 'figures', 'figures follow from the logs', 'name them to the command review: --figure FILE', 'SC artifact evaluation'),
        (12, 'claims', 'numbers follow from the logs', 'name it to the command review: --text FILE', 'SC artifact evaluation'))
        AS r(rule_order, key, rule, remedy, source))
SELECT rule_order::INTEGER AS rule_order, rule,
    CASE WHEN n_broken > 0 THEN 'not met' WHEN n_unknown > 0 OR n_of = 0 THEN 'cannot tell' ELSE 'met' END AS verdict, evidence,
    CASE WHEN verdict <> 'met' THEN remedy END AS remedy, n_of::BIGINT AS n_of, n_broken::BIGINT AS n_broken,
    n_unknown::BIGINT AS n_unknown, source
FROM rules JOIN answers USING (key)
ORDER BY rule_order
