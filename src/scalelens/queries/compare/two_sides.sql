-- The runs of the two sides of a comparison.
--
-- Answers: Which runs do `a` and `b` stand for?
--   A text with a quotation mark, with < or >, or with a word such as AND, OR, IN, LIKE or IS is a condition.  Any other
--   names runs (named_runs), or is `setting=value` (configuration).  It is an error if a side has no run, if a name fits several runs, or if a run is on both
--   sides.
--
-- Helper: used by compare, differences and others that take two sides
--
-- Sources: runs, named_runs, configuration
--
-- Parameters: a, b
--
-- Columns:
--   side      VARCHAR    a or b
--   run_id    VARCHAR    run
WITH
texts AS (
    SELECT side, trim(text) AS text, regexp_extract(text, '^\s*(\w+)\s*=\s*(.*?)\s*$', ['key', 'value']) AS pair
    FROM (VALUES ('a', a::VARCHAR), ('b', b::VARCHAR)) AS v(side, text)),
by_condition AS (
    SELECT 'a' AS side, run_id FROM query('SELECT run_id FROM runs WHERE (' || if(is_condition(a::VARCHAR), a::VARCHAR, 'false') || ')')
    UNION ALL
    SELECT 'b', run_id FROM query('SELECT run_id FROM runs WHERE (' || if(is_condition(b::VARCHAR), b::VARCHAR, 'false') || ')')),
named AS (
    SELECT 'a' AS side, * FROM named_runs(selector := a, of := 'a') WHERE NOT is_condition(a::VARCHAR)
    UNION ALL
    SELECT 'b', * FROM named_runs(selector := b, of := 'b') WHERE NOT is_condition(b::VARCHAR)),
by_setting AS (
    SELECT side, run_id FROM texts JOIN configuration() AS c ON c.setting = pair.key AND c.value = lower(pair.value)
    WHERE pair.key <> '' AND side NOT IN (SELECT side FROM named WHERE run_id IS NOT NULL)),
chosen AS (
    FROM by_condition UNION ALL FROM by_setting UNION ALL SELECT side, run_id FROM named WHERE run_id IS NOT NULL),
names AS (
    SELECT side, list(name ORDER BY name) FILTER (NOT is_pair AND run_id IS NOT NULL) AS fitting, any_value(complaint) AS complaint
    FROM named GROUP BY side),
checked AS (
    SELECT t.side, CASE
        WHEN t.side NOT IN (SELECT side FROM chosen) THEN error(coalesce(complaint, format('{}: no run matches {}; see the runs with: scalelens query runs_overview', t.side, text)))
        WHEN len(fitting) > 1 THEN error(format('{}: ''{}'' fits {} runs; name one of {}{}, or select runs by key=value or by a condition',
            t.side, text, len(fitting), array_to_string(fitting[:6], ', '),
            if(len(fitting) > 6, format(' and {} more', len(fitting) - 6), '')))
        WHEN EXISTS (SELECT run_id FROM chosen GROUP BY run_id HAVING count(DISTINCT side) > 1) THEN error(
            'a run is on both sides: narrow a or b')
        ELSE true END AS is_clear
    FROM texts AS t LEFT JOIN names USING (side))
SELECT side, run_id FROM chosen JOIN checked USING (side) WHERE is_clear
ORDER BY side, run_id
