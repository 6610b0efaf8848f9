-- Runs of which no statistic of steps can be given, and what can be asked instead.
--
-- Answers: Why has a run no step times?
--   The first reason that applies: its records are all left out, it prints rates alone, it times epochs alone, or no
--   time at all.
--
-- Glance: run_id reason remedy
--
-- When empty: steps of each run are timed
--
-- Sources: runs, step_times, batch_stats, rates_logged, epoch_times, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id     VARCHAR    run
--   name       VARCHAR    name of the run
--   reason     VARCHAR    what is missing
--   remedy     VARCHAR    what to do about it
WITH
with_times AS (SELECT DISTINCT run_id FROM step_times WHERE step_s > 0),
with_rates AS (
    SELECT run_id FROM rates_logged(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE coalesce(samples_per_s, tokens_per_s) > 0),
with_epochs AS (
    SELECT DISTINCT run_id FROM epoch_times(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
    WHERE epoch_s > 0 AND NOT is_cut),
untimed AS (
    SELECT r.run_id, name, r.run_id IN (FROM with_times) AS has_times, r.run_id IN (FROM with_rates) AS has_rates,
        r.run_id IN (FROM with_epochs) AS has_epochs, split_part(coalesce(path, 'FILE'), '!', 1) AS on_disk,
        shell_word(on_disk) AS opened
    FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id)
    WHERE r.run_id NOT IN (
        SELECT run_id FROM batch_stats(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude) WHERE step_s > 0))
SELECT run_id, name,
    CASE WHEN has_times THEN 'every record that times a step is left out'
        WHEN has_rates THEN 'the log prints a rate but no step time'
        WHEN has_epochs THEN 'the log times epochs, not steps'
        ELSE 'no record times a step' END AS reason,
    CASE WHEN has_times THEN format('see by which rule: scalelens query exclusions runs={}', run_id)
        WHEN has_rates THEN 'see its rates: scalelens query throughput runs=' || run_id
        WHEN has_epochs THEN 'see its epochs: scalelens query epoch_times runs=' || run_id
        ELSE 'see what was read from its file: scalelens identify ' || opened END AS remedy
FROM untimed
ORDER BY reason, name, run_id
