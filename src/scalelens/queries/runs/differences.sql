-- Settings in which two runs differ, first those that matter.
--
-- Answers: Why are two runs no repeats of each other, or not in one series?
--   A setting that one of the two alone states is a difference too: unknown is not equal.
--
-- Sources: configuration, runs, settings_catalog
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
chosen AS (
    SELECT side, CASE WHEN count(DISTINCT r.run_id) = 1 THEN min(r.run_id)
        ELSE error(format('{} names {} runs: give the id of one', any_value(wanted), count(DISTINCT r.run_id))) END AS run_id
    FROM (VALUES ('a', a), ('b', b)) AS v(side, wanted)
    LEFT JOIN runs AS r ON wanted <> '' AND (r.run_id = wanted OR r.name = wanted OR starts_with(r.run_id, wanted))
    WHERE a <> '' OR b <> ''
    GROUP BY side),
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
