-- Settings in which two runs differ, first those that matter.
--
-- Answers: Why are two runs no repeats of each other, or not in one series?
--   A setting that one of the two alone states is a difference too: unknown is not equal.
--
-- Sources: configuration, runs
--
-- Parameters:
--   a := ''    a run: its id, the beginning of it, or its name
--   b := ''    another run
--
-- Columns:
--   setting    VARCHAR    canonical name, or `study` for runs of no known system in different folders
--   class      VARCHAR    performance, identity or neutral
--   a_value    VARCHAR    value of the first run, NULL where it does not say
--   b_value    VARCHAR    value of the second run
--   verdict    VARCHAR    differs, or `only a says it`, `only b says it`
--   a_key      VARCHAR    name that the first run's log gives it
--   b_key      VARCHAR    name that the second run's log gives it
WITH
named AS (
    SELECT side, wanted, run_id,
        CASE WHEN run_id = wanted THEN 1 WHEN name = wanted THEN 2 ELSE 3 END AS closeness
    FROM (VALUES ('a', a), ('b', b)) AS v(side, wanted)
    LEFT JOIN runs ON wanted <> '' AND (name = wanted OR starts_with(run_id, wanted))),
chosen AS (
    SELECT side, CASE WHEN count(run_id) = 1 THEN min(run_id) ELSE error(format(
        'differences takes two runs: {} := ''{}'' is {} runs; give an id of FROM runs', side, wanted, count(run_id))) END AS run_id
    FROM (FROM named QUALIFY closeness = min(closeness) OVER (PARTITION BY side))
    GROUP BY side, wanted),
settings AS (SELECT side, c.* FROM configuration() AS c JOIN chosen USING (run_id)),
both_sides AS (
    SELECT place, setting, any_value(s.class) AS class,
        max(value) FILTER (side = 'a') AS a_value, max(value) FILTER (side = 'b') AS b_value,
        max(key) FILTER (side = 'a') AS a_key, max(key) FILTER (side = 'b') AS b_key
    FROM settings AS s GROUP BY place, setting)
SELECT setting, class, a_value, b_value,
    CASE WHEN b_value IS NULL THEN 'only a says it' WHEN a_value IS NULL THEN 'only b says it'
        ELSE 'differs' END AS verdict, a_key, b_key
FROM both_sides WHERE a_value IS DISTINCT FROM b_value
ORDER BY list_position(['performance', 'identity', 'neutral'], class), verdict, place
