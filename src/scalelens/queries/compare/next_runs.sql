-- How many repeats would settle a comparison, and what they cost.
--
-- Answers: How many more runs would settle a comparison?
--   How many runs does each side need until the verdict is no longer `inconclusive`, or until the ratio, or an
--   efficiency, is known to within a given share?
--   Continuations of what was measured are simulated, with difference and scatter as uncertain as the runs so far leave
--   them: `repeats` settles nine in ten of them, `even_repeats` one in two.  `repeats` counts all runs, those that
--   exist included.  One run on each side shows no scatter between runs: that of the noise which `compare` states is
--   assumed, with which so many runs show the difference in 80 % of cases, and three of each are the least.
--
-- Formula: The smallest number of runs on each side with which nine in ten of 1,000 simulated continuations settle the
--   question (`even_repeats`: one in two).  Difference and scatter are drawn from what the runs so far leave possible.
--   node_hours = more_runs * nodes * run_s / 3600.
--
-- Reference: Spiegelhalter et al., Bayesian Approaches to Clinical Trials, 2004, section 6.6 (assurance).
--   statistics/repeats.py.
--
-- Assumptions: New runs are like those that exist.
--
-- Limits: Needs repeats on one side at least; from one run on each side it asks for three.  At most 200 runs on a side.
--
-- Glance: side runs_done more_runs repeats even_repeats chance% between_runs% within_runs% run_s nodes node_hours note
--
-- Sources: two_sides, run_values, independent_values, compare, runs, jobs, repeat_commands
--
-- Parameters: epochs, warmup, exclude, a, b, measure, quantile
--   least_of_interest := 0.01    share up to which a difference is of no practical interest
--   to_within := 0               share to within which the ratio should be known, 0.02 for 2 %; 0 asks for a verdict
--                                instead
--
-- Columns:
--   side            VARCHAR     a or b
--   runs_done       BIGINT      runs of the side that have a value
--   repeats         BIGINT      runs that it needs in all, for a chance of nine in ten
--   more_runs       BIGINT      runs still to be made
--   even_repeats    BIGINT      runs in all for a chance of one in two
--   chance          DOUBLE      chance that `repeats` settles it
--   between_runs    DOUBLE      standard deviation between runs of a side, as a share
--   within_runs     DOUBLE      standard error of the value of one run, from its own records, as a share
--   run_s           DOUBLE s    time of one run, median over those of the side
--   nodes           INTEGER     nodes of one run
--   node_hours      DOUBLE      node-hours of the runs to make; NULL where nodes or times are not known
--   command         VARCHAR     command that makes them: for ScaleLens' own runners the full line, else sbatch with the
--                               job's script
--   note            VARCHAR     why there is no number, or what would need fewer runs
WITH
members_of AS (FROM two_sides(a := a, b := b)),
compared AS (
    SELECT side, m.run_id, v.* EXCLUDE (run_id)
    FROM members_of AS m LEFT JOIN run_values(epochs := epochs, warmup := warmup, exclude := exclude,
        measure := measure, quantile := quantile) AS v USING (run_id)),
lists AS (
    SELECT coalesce(list(run ORDER BY run_id) FILTER (side = 'a'), []) AS a_list,
        coalesce(list(run ORDER BY run_id) FILTER (side = 'b'), []) AS b_list
    FROM (SELECT *, {'value': run_value, 'low': low, 'high': high, 'kind': interval_kind, 'n_eff': n_eff,
            'quantile': quantile::DOUBLE} AS run
        FROM independent_values(a := a, b := b, epochs := epochs, warmup := warmup, exclude := exclude,
            measure := measure, quantile := quantile))),
plans AS (
    SELECT CASE WHEN to_within > 0 THEN repeats_to_size(a_list, b_list, to_within::DOUBLE)
        ELSE repeats_to_settle(a_list, b_list, least_of_interest::DOUBLE) END AS plan FROM lists),
elapsed AS (SELECT run_id, max(elapsed_s) AS elapsed_s FROM jobs WHERE step_id IS NULL GROUP BY run_id),
costs AS (
    SELECT side, count(run_value) AS runs_done, any_value(nodes) AS nodes, min(m.run_id) AS example,
        median(coalesce(elapsed_s, greatest(epoch(ended_at - started_at), timed_s))) AS run_s
    FROM compared AS m JOIN runs USING (run_id) LEFT JOIN elapsed USING (run_id) GROUP BY side),
needed AS (
    SELECT CASE WHEN plan.repeats IS NULL OR plan.chance IS NULL AND to_within <= 0 THEN c.runs_needed END AS by_noise
    FROM compare(a := a, b := b, epochs := epochs, warmup := warmup, exclude := exclude, measure := measure,
        quantile := quantile, least_of_interest := least_of_interest) AS c CROSS JOIN plans),
planned AS (
    SELECT *, coalesce(greatest(plan.repeats, by_noise), plan.repeats)::BIGINT AS repeats, greatest(repeats - runs_done, 0) AS more_runs FROM costs, plans, needed)
SELECT side, runs_done, repeats, more_runs, plan.even::BIGINT AS even_repeats, plan.chance AS chance,
    plan.between_runs AS between_runs, plan.within_runs AS within_runs, run_s, nodes,
    more_runs * nodes * run_s / 3600 AS node_hours,
    CASE WHEN more_runs > 0 THEN replace(replace(command, '$(seq 1)', format('$(seq {})', more_runs)),
        '--array=1-1%1', format('--array=1-{}%1', more_runs)) END AS command, plan.reason AS note
FROM planned LEFT JOIN repeat_commands() AS c ON c.run_id = example
ORDER BY side
