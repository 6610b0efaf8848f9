-- The runs of the two sides of a comparison.
--
-- Answers: Which runs do `a` and `b` stand for?
--   A text with a quotation mark, with < or >, or with a word such as AND, OR, IN, LIKE or IS is a condition.  Of other
--   texts, `key=value` takes all runs of which a column of `runs`, a label or a setting (configuration) has that value.
--   Anything else names one run.  A side without a run, a name of several runs and a run on both sides are errors.
--
-- Helper: used by compare, differences and others that take two sides
--
-- Sources: runs, configuration
--
-- Parameters: a, b
--
-- Columns:
--   side      VARCHAR    a or b
--   run_id    VARCHAR    run
WITH
wanted AS (
    SELECT side, trim(wanted) AS wanted,
        regexp_matches(wanted, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$') AS is_condition,
        regexp_extract(wanted, '^\s*(\w+)\s*=\s*(.*?)\s*$', ['key', 'value']) AS pair
    FROM (VALUES ('a', a::VARCHAR), ('b', b::VARCHAR)) AS v(side, wanted)),
by_condition AS (
    SELECT 'a' AS side, run_id FROM query(
        CASE WHEN regexp_matches(a::VARCHAR, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$')
        THEN 'SELECT run_id FROM runs WHERE (' || a || ')' ELSE 'SELECT run_id FROM runs WHERE false' END)
    UNION ALL
    SELECT 'b', run_id FROM query(
        CASE WHEN regexp_matches(b::VARCHAR, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$')
        THEN 'SELECT run_id FROM runs WHERE (' || b || ')' ELSE 'SELECT run_id FROM runs WHERE false' END)),
by_pair AS (
    SELECT side, run_id FROM wanted JOIN runs AS r
        ON lower(coalesce(to_json(r) ->> pair.key, to_json(r) ->> ('label_' || pair.key))) = lower(pair.value)
    WHERE NOT is_condition AND pair.key <> ''
    UNION
    SELECT side, run_id FROM wanted JOIN configuration() AS c ON c.setting = pair.key AND c.value = lower(pair.value)
    WHERE NOT is_condition),
named AS (
    FROM (
        SELECT side, run_id, CASE WHEN run_id = wanted THEN 1 WHEN name = wanted THEN 2 ELSE 3 END AS closeness
        FROM wanted JOIN runs ON wanted <> '' AND (name = wanted OR starts_with(run_id, wanted))
        WHERE NOT is_condition)
    QUALIFY closeness = min(closeness) OVER (PARTITION BY side)),
-- A name that holds `=` is a name where a run is called so.
chosen AS (
    FROM by_condition
    UNION ALL
    SELECT side, run_id FROM named
    UNION ALL
    FROM by_pair WHERE side NOT IN (SELECT side FROM named)),
counts AS (
    SELECT w.side, wanted, is_condition, count(c.run_id) AS n_runs,
        count(c.run_id) > 1 AND w.side IN (SELECT side FROM named) AS is_ambiguous
    FROM wanted AS w LEFT JOIN chosen AS c USING (side) GROUP BY w.side, wanted, is_condition),
-- Names of runs for who wrote a wrong one, those first that are like it.
like_wanted AS (
    SELECT side, coalesce('name one of ' || list_aggregate(names[:4], 'string_agg', ', ')
        || if(len(names) > 4, format(' and {} more (FROM runs)', len(names) - 4), ''), 'the warehouse has no runs') AS names
    FROM (SELECT side, list(name ORDER BY jaro_winkler_similarity(name, wanted) DESC, name)
            FILTER (WHERE name IS NOT NULL) AS names
        FROM wanted LEFT JOIN (SELECT DISTINCT name FROM runs) ON true GROUP BY side)),
checked AS (
    SELECT side, CASE
        WHEN n_runs = 0 THEN error(format(
            '{}: no run is called ''{}''; {}, or write key=value or a condition', side, wanted, names))
        WHEN is_ambiguous THEN error(format(
            '{} := ''{}'' is the name of {} runs; give an id of FROM runs', side, wanted, n_runs))
        WHEN EXISTS (SELECT run_id FROM chosen GROUP BY run_id HAVING count(DISTINCT side) > 1) THEN error(
            'a run is on both sides: narrow a or b')
        ELSE n_runs END AS n_runs
    FROM counts JOIN like_wanted USING (side))
SELECT side, run_id FROM chosen JOIN checked USING (side) WHERE n_runs > 0
ORDER BY side, run_id
