-- Settings in which two runs, or two groups of runs, differ: those that matter first.
--
-- Answers: Why are two runs not repeats of each other, or not in one series?
--   A setting that only one run states is a difference too: unknown is not equal.  For groups it is every setting in
--   which any two of all the runs differ; a setting that differs among the runs of one side means that they are not
--   repeats.
--
-- Glance: setting a_value b_value verdict class
--
-- Sources: configuration, two_sides
--
-- Parameters: a, b
--
-- Columns:
--   setting    VARCHAR    canonical name
--   class      VARCHAR    performance, identity or neutral
--   a_value    VARCHAR    value of the first side; NULL where it states none; for a group, up to five values
--   b_value    VARCHAR    value of the second side
--   verdict    VARCHAR    differs; `only a says it`, `only b says it`; or `varies within a`, `varies within b` and
--                         `varies within both`, where the runs of a side differ among themselves
--   a_key      VARCHAR    name that the log of the first side uses for it
--   b_key      VARCHAR    name that the log of the second side uses for it
WITH
members AS (FROM two_sides(a := a, b := b)),
of_side AS (SELECT side, count(*) AS n_runs FROM members GROUP BY side),
settings AS (SELECT side, c.* FROM configuration() AS c JOIN members USING (run_id)),
values_of_sides AS (
    SELECT side, setting_order, setting, any_value(s.class) AS class, list_sort(list_distinct(list(value))) AS value_list,
        min(key) AS key, count(*) < any_value(n_runs) AS is_missing
    FROM settings AS s JOIN of_side USING (side) GROUP BY side, setting_order, setting),
texts AS (
    SELECT *, list_concat(value_list, CASE WHEN is_missing THEN ['not stated'] ELSE [] END) AS texts,
        array_to_string(texts[:5], ', ')
            || CASE WHEN len(texts) > 5 THEN format(' and {} more', len(texts) - 5) ELSE '' END AS text
    FROM values_of_sides),
both_sides AS (
    SELECT setting_order, setting, any_value(s.class) AS class,
        any_value(text) FILTER (side = 'a') AS a_value, any_value(text) FILTER (side = 'b') AS b_value,
        coalesce(any_value(len(texts)) FILTER (side = 'a'), 1) > 1 AS varies_in_a,
        coalesce(any_value(len(texts)) FILTER (side = 'b'), 1) > 1 AS varies_in_b,
        any_value(key) FILTER (side = 'a') AS a_key, any_value(key) FILTER (side = 'b') AS b_key
    FROM texts AS s GROUP BY setting_order, setting)
SELECT setting, class, a_value, b_value,
    CASE WHEN varies_in_a AND varies_in_b THEN 'varies within both' WHEN varies_in_a THEN 'varies within a'
        WHEN varies_in_b THEN 'varies within b' WHEN b_value IS NULL THEN 'only a says it'
        WHEN a_value IS NULL THEN 'only b says it' ELSE 'differs' END AS verdict, a_key, b_key
FROM both_sides WHERE a_value IS DISTINCT FROM b_value OR varies_in_a OR varies_in_b
ORDER BY list_position(['performance', 'identity', 'neutral'], class), verdict, setting_order
