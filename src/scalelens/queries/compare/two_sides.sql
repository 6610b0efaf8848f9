-- The runs of the two sides of a comparison.
--
-- Answers: Which runs do `a` and `b` stand for?
--   A text with a quotation mark, with < or >, or with a word such as AND, OR, IN, LIKE or IS is a condition.
--   Otherwise `key=value` takes all runs whose column of `runs`, label or setting (configuration) has that value.
--   Anything else names one run.  It is an error if a side has no run, if a name fits several runs, or if a run is on
--   both sides.
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
selector AS (
    SELECT side, trim(selector) AS selector,
        regexp_matches(selector, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$') AS is_condition,
        regexp_extract(selector, '^\s*(\w+)\s*=\s*(.*?)\s*$', ['key', 'value']) AS pair
    FROM (VALUES ('a', a::VARCHAR), ('b', b::VARCHAR)) AS v(side, selector)),
by_condition AS (
    SELECT 'a' AS side, run_id FROM query(
        CASE WHEN regexp_matches(a::VARCHAR, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$')
        THEN 'SELECT run_id FROM runs WHERE (' || a || ')' ELSE 'SELECT run_id FROM runs WHERE false' END)
    UNION ALL
    SELECT 'b', run_id FROM query(
        CASE WHEN regexp_matches(b::VARCHAR, '[''<>]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*true\s*$')
        THEN 'SELECT run_id FROM runs WHERE (' || b || ')' ELSE 'SELECT run_id FROM runs WHERE false' END)),
by_pair AS (
    SELECT side, run_id FROM selector JOIN runs AS r
        ON lower(coalesce(to_json(r) ->> pair.key, to_json(r) ->> ('label_' || pair.key))) = lower(pair.value)
    WHERE NOT is_condition AND pair.key <> ''
    UNION
    SELECT side, run_id FROM selector JOIN configuration() AS c ON c.setting = pair.key AND c.value = lower(pair.value)
    WHERE NOT is_condition),
by_name AS (
    FROM (
        SELECT side, run_id, CASE WHEN run_id = selector THEN 1 WHEN name = selector THEN 2 ELSE 3 END AS closeness
        FROM selector JOIN runs ON selector <> '' AND (name = selector OR starts_with(run_id, selector))
        WHERE NOT is_condition)
    QUALIFY closeness = min(closeness) OVER (PARTITION BY side)),
-- A text with `=` is a name if a run is called that.
chosen AS (
    FROM by_condition
    UNION ALL
    SELECT side, run_id FROM by_name
    UNION ALL
    FROM by_pair WHERE side NOT IN (SELECT side FROM by_name)),
counts AS (
    SELECT w.side, selector, is_condition, count(c.run_id) AS n_runs,
        count(c.run_id) > 1 AND w.side IN (SELECT side FROM by_name) AS is_ambiguous
    FROM selector AS w LEFT JOIN chosen AS c USING (side) GROUP BY w.side, selector, is_condition),
-- Names of runs to suggest for a wrong one, the most similar first.
suggestions AS (
    SELECT side, coalesce('name one of ' || list_aggregate(names[:4], 'string_agg', ', ')
        || if(len(names) > 4, format(' and {} more (FROM runs)', len(names) - 4), ''), 'the warehouse has no runs') AS names
    FROM (SELECT side, list(name ORDER BY jaro_winkler_similarity(name, selector) DESC, name)
            FILTER (WHERE name IS NOT NULL) AS names
        FROM selector LEFT JOIN (SELECT DISTINCT name FROM runs) ON true GROUP BY side)),
checked AS (
    SELECT side, CASE
        WHEN n_runs = 0 THEN error(format(
            '{}: no run is called ''{}''; {}, or write key=value or a condition', side, selector, names))
        WHEN is_ambiguous THEN error(format(
            '{} := ''{}'' is the name of {} runs; give an id of FROM runs', side, selector, n_runs))
        WHEN EXISTS (SELECT run_id FROM chosen GROUP BY run_id HAVING count(DISTINCT side) > 1) THEN error(
            'a run is on both sides: narrow a or b')
        ELSE n_runs END AS n_runs
    FROM counts JOIN suggestions USING (side))
SELECT side, run_id FROM chosen JOIN checked USING (side) WHERE n_runs > 0
ORDER BY side, run_id
