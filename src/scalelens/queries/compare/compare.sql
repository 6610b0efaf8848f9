-- Two runs, or two groups of repeats: the ratio of their values with its interval, and a verdict.
--
-- Answers: Is b slower than a, by how much, and how sure is that?
--   The value of a run is a quantile of its records (run_values); the value of a side is the geometric mean over its
--   runs.  With repeats the run is the unit: the interval is Welch's t interval of the mean logarithms.  A side with a
--   single run is taken to scatter as the runs of the other side do.  With one run on each side the interval is about
--   these two runs only: two runs of the same job differ by more than their steps show.  Then there is a verdict by
--   precedent alone, which is not significance: where both sides do the same work, their records are of one kind and the
--   ratio of medians, less what is uncertain within the runs, is beyond the largest that identical runs ever showed: ten
--   or more repeats of another configuration on this system and at least as many devices, else those of a published
--   system (noise_catalog), or your own repeats, if they differ more.  Any other is `inconclusive`, with the runs on each side that would settle it.
--   Runs of a side on the same nodes within an hour of each other count as one (independent_values).
--   `slower` and `faster` mean that the whole interval is beyond the threshold, `equivalent` that it is within.
--   There is no verdict where the runs of a side are not repeats of each other, where a step is not the same work on
--   both sides, or where the records are means of several steps and the question is how slow single steps are.
--
-- Formula:
--   ratio = exp(mean ln b - mean ln a) over the runs.  Its interval: Welch's t interval of the difference of the mean
--   logarithms; a side scatters at least as much as its runs do within.
--   slowdown = ratio - 1; for rates 1 / ratio - 1.  With one run on each side: both intervals within the runs, as
--   logarithms, added in quadrature.
--
-- Reference: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, 2013; Welch, Biometrika 34, 1947; Zou and
--   Donner, Statistics in Medicine 27, 2008.  statistics/comparisons.py.
--
-- Assumptions: The runs of a side are independent, and their values are lognormal.
--
-- Limits: One run on each side gives a verdict by precedent or none.  A single run against repeats is taken to scatter as they do.
--
-- Glance: measure a_mean b_mean ratio verdict a_runs b_runs a_steps b_steps interval_of sentence note
--
-- Sources: two_sides, run_values, independent_values, repeated_values, differences, runs, noise_catalog, settings_catalog
--
-- Parameters: epochs, warmup, exclude, a, b, measure, quantile
--   least_of_interest := 0.01  share up to which a difference is of no practical interest
--
-- Columns:
--   measure          VARCHAR    what is compared
--   a_runs           BIGINT     runs of the first side that have a value
--   b_runs           BIGINT     runs of the second side
--   a_steps          BIGINT     records that the first side's values rest on
--   b_steps          BIGINT     records of the second side
--   a_mean           DOUBLE     geometric mean over the runs of the first side, in the unit of the measure
--   b_mean           DOUBLE     the same of the second side
--   ratio            DOUBLE     b over a
--   ratio_low        DOUBLE     lower end of its interval
--   ratio_high       DOUBLE     upper end of its interval
--   interval_kind    VARCHAR    ci95, or range where 95 % cannot be claimed
--   interval_of      VARCHAR    runs: it applies to another pair of such runs; steps: to these two runs only
--   slowdown         DOUBLE     share by which b is slower, or takes more: ratio less 1; for rates 1 / ratio less 1
--   slowdown_low     DOUBLE     lower end of its interval
--   slowdown_high    DOUBLE     upper end of its interval
--   between_runs     DOUBLE     standard deviation between runs of a side, as a share; NULL for one run on each side
--   within_runs      DOUBLE     standard error of the value of one run, from its own records, as a share
--   comparable       BOOLEAN    whether the runs of a side are repeats and both sides do the same work
--   verdict          VARCHAR    faster, slower, equivalent or inconclusive; of what is not a speed, less or more
--                               instead of faster or slower
--   verdict_by       VARCHAR    interval or precedent; NULL where the verdict is inconclusive
--   precedent        DOUBLE     largest ratio that identical runs ever showed: own ones, from ten repeats on, else published ones
--   runs_needed      BIGINT     runs on each side, those that exist included, that would settle it; NULL where it is
--                               settled, cannot be compared, or 200 are too few (note)
--   noise_of         VARCHAR    runs that the noise is of: those of a side, from ten repeats on, else published ones
--   least_1          DOUBLE     smallest difference that one run a side shows at 5 % false alarms, as a share
--   least_3          DOUBLE     the same of three runs a side
--   least_5          DOUBLE     of five runs a side
--   least_10         DOUBLE     of ten runs a side
--   sentence         VARCHAR    the answer in words
--   note             VARCHAR    why there is no verdict or no interval, and what to doubt
--   other_measure    VARCHAR    measure that would compare the work done, where this one cannot; else NULL
WITH
members AS (FROM two_sides(a := a, b := b)),
compared AS (
    SELECT side, m.run_id, v.* EXCLUDE (run_id)
    FROM members AS m LEFT JOIN run_values(epochs := epochs, warmup := warmup, exclude := exclude, measure := measure,
        quantile := quantile) AS v USING (run_id)),
both_sides AS (
    SELECT count(run_value) FILTER (side = 'a') AS a_runs, count(run_value) FILTER (side = 'b') AS b_runs,
        count(*) - count(run_value) AS n_without,
        sum(n_steps) FILTER (side = 'a')::BIGINT AS a_steps, sum(n_steps) FILTER (side = 'b')::BIGINT AS b_steps,
        exp(avg(ln(run_value)) FILTER (side = 'a' AND run_value > 0)) AS a_mean,
        exp(avg(ln(run_value)) FILTER (side = 'b' AND run_value > 0)) AS b_mean,
        max(averaged_steps) AS averaged_steps, count(DISTINCT value_kinds) > 1 AS unlike_kinds,
        string_agg(DISTINCT value_kinds, ' and ' ORDER BY value_kinds) AS value_kinds,
        count(samples) = count(*) OR count(tokens) = count(*) AS is_known_work,
        max(samples) / min(samples) - 1 > 0.01 AS unlike_samples, max(tokens) / min(tokens) - 1 > 0.01 AS unlike_tokens,
        measure IN ('samples_per_s', 'tokens_per_s') AS is_rate,
        measure IN ('step_s', 'samples_per_s', 'tokens_per_s') AS is_speed,
        if(is_speed, ['slower', 'faster'], ['more', 'less']) AS word
    FROM compared),
independent AS (
    SELECT coalesce(list(run ORDER BY run_id) FILTER (side = 'a'), []) AS a_list,
        coalesce(list(run ORDER BY run_id) FILTER (side = 'b'), []) AS b_list,
        string_agg(format('{} runs of {} on the same nodes within an hour count as one', n_runs, side), '; '
            ORDER BY side, run_id) FILTER (n_runs > 1) AS alike_runs
    FROM (SELECT *, {'value': run_value, 'low': low, 'high': high, 'kind': interval_kind, 'n_eff': n_eff,
            'quantile': quantile::DOUBLE} AS run
        FROM independent_values(a := a, b := b, epochs := epochs, warmup := warmup, exclude := exclude,
            measure := measure, quantile := quantile))),
varying_settings AS (
    SELECT string_agg(setting || ' (' || CASE verdict WHEN 'varies within b' THEN b_value ELSE a_value END || ')', ', ')
        AS settings
    FROM differences(a := a, b := b) WHERE class = 'performance' AND starts_with(verdict, 'varies')),
other_work AS (
    SELECT string_agg(setting || ' (' || coalesce(a_value, 'not stated') || ' -> ' || coalesce(b_value, 'not stated') || ')',
            ', ') AS work_settings
    FROM differences(a := a, b := b)
    WHERE class = 'performance' AND setting NOT IN ('tp', 'pp', 'vp', 'ep', 'etp')  -- they split the work
        AND setting IN (SELECT setting FROM settings_catalog WHERE varies_with = 'model'
            OR setting IN ('dataset', 'seq_length', 'image_size'))),
systems AS (
    SELECT string_agg(DISTINCT lower(system), ' ') AS system, max(devices) AS most_devices FROM members JOIN runs USING (run_id)),
nearest AS (
    SELECT format('{} runs of {} on {}, assumed', n_runs, workload, c.system) AS published,
        [least_1, least_3, least_5, least_10] AS published_least
    FROM noise_catalog AS c, systems AS s
    ORDER BY coalesce(regexp_matches(s.system, pattern), false) DESC, least_1 DESC LIMIT 1),
own_repeats AS (  -- on the system of the sides, whose own runs prove nothing about themselves
    SELECT count(*) AS n_repeats, max(run_value) / min(run_value) AS largest_ratio,
        bool_and(s.system IS NOT NULL AND v.devices >= s.most_devices) IS TRUE AS is_calibrating
    FROM repeated_values(epochs := epochs, warmup := warmup, exclude := exclude, measure := measure, quantile := quantile)
        AS v, systems AS s
    WHERE lower(v.system) IS NOT DISTINCT FROM s.system AND run_id NOT IN (SELECT run_id FROM members)
    GROUP BY alike HAVING count(*) > 1 AND largest_ratio < 1.5),  -- farther apart, scaling takes none for repeats either
precedents AS (
    SELECT coalesce(max(n_repeats) FILTER (is_calibrating), 0) >= 10 AS is_own_precedent, greatest(max(largest_ratio), CASE WHEN NOT is_own_precedent
        THEN (SELECT max(largest_ratio) FROM noise_catalog) END) AS precedent
    FROM own_repeats),
noises AS (
    SELECT a_noise.least_1 IS NOT NULL AS is_of_a, is_of_a OR b_noise.least_1 IS NOT NULL AS is_own,
        if(is_of_a, a_noise, b_noise) AS own_noise
    FROM (SELECT noise_of_runs([run.value FOR run IN a_list]) AS a_noise, noise_of_runs([run.value FOR run IN b_list]) AS b_noise
        FROM independent)),
limits AS (
    SELECT CASE WHEN is_own THEN 'the repeats of ' || if(is_of_a, 'a', 'b') ELSE published END AS noise_of,
        CASE WHEN is_own THEN [own_noise.least_1, own_noise.least_3, own_noise.least_5, own_noise.least_10]
            ELSE published_least END AS least
    FROM noises, nearest),
groups AS (
    SELECT *, compare_groups(a_list, b_list) AS result,
        repeats_to_settle(a_list, b_list, least_of_interest::DOUBLE) AS plan
    FROM both_sides, independent, varying_settings, other_work, precedents, limits),
estimated AS (
    SELECT *, result.ratio AS ratio, plan.repeats::BIGINT AS repeats_needed,
        if(is_rate, 1 / result.ratio, result.ratio) - 1 AS slowdown,
        if(is_rate, 1 / result.high, result.low) - 1 AS slowdown_low,
        if(is_rate, 1 / result.low, result.high) - 1 AS slowdown_high,
        CASE WHEN settings IS NOT NULL THEN NULL
            WHEN measure IN ('step_s', 'step_j', 'data_s') AND unlike_samples THEN 'samples_per_s'
            WHEN measure IN ('step_s', 'step_j', 'data_s', 'samples_per_s', 'sample_j') AND unlike_tokens
                THEN 'tokens_per_s' END AS other_measure,
        CASE WHEN settings IS NOT NULL THEN 'the runs of a side differ among themselves in ' || settings
                || ': compare like with like'
            WHEN other_measure IS NOT NULL THEN format('a {} is not the same work on both sides: measure := ''{}'' '
                'compares work', if(other_measure = 'samples_per_s', 'step', 'sample'), other_measure)
            WHEN quantile <> 0.5 AND (averaged_steps > 1 OR regexp_matches(value_kinds, 'mean|median'))
                THEN 'records that are means of steps do not show how slow single steps are' END AS no_verdict
    FROM groups),
with_precedent AS (
    SELECT *, (no_verdict IS NULL AND result.unit = 'steps' AND is_known_work AND work_settings IS NULL AND NOT unlike_kinds
        AND quantile = 0.5
        AND abs(ln(ratio)) - 1.96 * result.within_runs > ln(precedent)) IS TRUE AS is_beyond_precedent
    FROM estimated),
judged AS (
    SELECT *, CASE WHEN is_beyond_precedent THEN if(slowdown > 0, word[1], word[2])
            WHEN result.unit IS DISTINCT FROM 'runs' OR no_verdict IS NOT NULL THEN 'inconclusive'
            WHEN slowdown_low > least_of_interest THEN word[1] WHEN 1 / (1 + slowdown_high) - 1 > least_of_interest THEN word[2]
            WHEN slowdown_high <= least_of_interest AND 1 / (1 + slowdown_low) - 1 <= least_of_interest THEN 'equivalent'
            ELSE 'inconclusive' END AS verdict
    FROM with_precedent),
-- In percent: `faster` compares speeds, `less` compares amounts.  From 100 % on, they are given as factors.
ends AS (
    SELECT *, [if(share < 0, 100 * if(is_speed, 1 / (1 + share) - 1, -share), 100 * share)
            FOR share IN [slowdown, slowdown_low, slowdown_high]] AS percent,
        [if(share < 0, word[2], word[1]) FOR share IN [slowdown, slowdown_low, slowdown_high]] AS direction,
        [if(is_speed AND slowdown < 0, 1 / (1 + share), 1 + share)
            FOR share IN [slowdown, slowdown_low, slowdown_high]] AS times
    FROM judged),
differences_in_words AS (
    SELECT *, CASE WHEN slowdown IS NULL OR no_verdict IS NOT NULL THEN 'b cannot be compared with a'
        WHEN list_max(percent) >= 100 THEN format(CASE WHEN NOT is_speed THEN 'b has {:.3g} times the ' || measure || ' of a'
                WHEN slowdown < 0 THEN 'b is {:.3g} times as fast as a' ELSE 'b takes {:.3g} times as long as a' END, times[1])
            || if(result.kind IS NULL, '', format(' ({:.3g} to {:.3g} times)', list_min(times[2:]), list_max(times[2:])))
        ELSE format('b {} {:.1f} % {}', if(is_speed, 'is', 'has'), percent[1], direction[1])
            || if(is_speed, '', ' ' || measure)
            || CASE WHEN result.kind IS NULL THEN ''
                WHEN direction[2] = direction[3] THEN format(' ({:.1f} to {:.1f} %)', list_min(percent[2:]),
                    list_max(percent[2:]))
                ELSE format(' ({:.1f} % {} to {:.1f} % {})', percent[2], direction[2], percent[3], direction[3]) END END
            AS difference
    FROM ends)
SELECT measure AS measure, a_runs, b_runs, a_steps, b_steps, a_mean, b_mean, ratio, result.low AS ratio_low,
    result.high AS ratio_high, result.kind AS interval_kind, result.unit AS interval_of, slowdown, slowdown_low,
    slowdown_high, result.between_runs AS between_runs, result.within_runs AS within_runs,
    no_verdict IS NULL AS comparable, verdict,
    CASE WHEN is_beyond_precedent THEN 'precedent' WHEN verdict <> 'inconclusive' THEN 'interval' END AS verdict_by, precedent,
    CASE WHEN verdict = 'inconclusive' AND no_verdict IS NULL THEN if(result.unit = 'steps',
        greatest(repeats_needed, runs_to_see(ratio - 1, least)), repeats_needed) END AS runs_needed,
    noise_of, least[1] AS least_1, least[2] AS least_3, least[3] AS least_5, least[4] AS least_10,
    CASE WHEN slowdown IS NULL OR no_verdict IS NOT NULL OR result.unit IS NULL THEN difference
        WHEN is_beyond_precedent THEN 'within these runs ' || difference || format('; identical runs{} were never more than '
            || '{:.2f} times apart, so this is a verdict by precedent, from one run on each side',
            if(is_own_precedent, ' here', ''), precedent)
        WHEN result.unit = 'steps'
            THEN 'within these runs ' || difference || '; one run on each side cannot tell whether that repeats'
        WHEN verdict = 'equivalent' THEN difference || format(', all within {:.3g} %', 100 * least_of_interest)
        WHEN verdict = 'inconclusive'
            THEN difference || format('; whether by more than {:.3g} % is not settled', 100 * least_of_interest)
        ELSE difference END AS sentence,
    notes([no_verdict, result.reason, alike_runs,
        CASE WHEN result.unit = 'steps' AND no_verdict IS NULL AND work_settings IS NOT NULL
            THEN 'no verdict by precedent: the work differs in ' || work_settings
            WHEN result.unit = 'steps' AND no_verdict IS NULL AND NOT is_known_work
            THEN 'no verdict by precedent: the batch of a side is not known, and so neither is the work of a step' END,
        CASE WHEN result.kind = 'range' AND result.unit = 'steps'
            THEN 'a run has too few independent steps for a 95 % interval: the range spans all of them' END,
        CASE WHEN verdict = 'inconclusive' AND no_verdict IS NULL AND result.unit = 'runs' AND repeats_needed IS NULL
            AND plan.reason IS DISTINCT FROM result.reason THEN plan.reason END,
        CASE WHEN n_without > 0 THEN n_without
            || if(n_without = 1, ' run has', ' runs have') || ' no value of this measure: exclusions say why' END,
        CASE WHEN unlike_kinds THEN 'the records are of different kinds: ' || value_kinds END]) AS note,
    other_measure
FROM differences_in_words
