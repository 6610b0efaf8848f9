-- Runs that a text names.
--
-- Answers: Which runs does a name mean?
--   `key=value` means all runs whose column of `runs` or label has that value, unless a run is called so.  Any other text is a name, and the first of these that fits a run counts: an id; a name as in
--   `run_names`; the name of a file, a folder or the model, as the run's name begins; some words of a run in their
--   order (`amp 16 nodes`); a name that was shortened, with … for what was left out; the first characters of an
--   id, four at least.
--   Where no run is called so there is one row, which says so; none where `key` is a column and no run has the value.
--
-- Helper: used by two_sides and selected_runs
--
-- Sources: runs, run_names
--
-- Parameters:
--   selector := ''      text that names runs
--   of := ''            what the text stands for, such as `a` and `runs`: errors begin with it
--
-- Columns:
--   run_id       VARCHAR    run
--   name         VARCHAR    its name
--   is_pair      BOOLEAN    whether the text was taken as `key=value`
--   complaint    VARCHAR    that no run is called so, and the names that are close to it
WITH
wanted AS (
    SELECT trim(selector::VARCHAR) AS text, regexp_extract(text, '^\s*(\w+)\s*=\s*(.*?)\s*$', ['key', 'value']) AS pair),
named AS (SELECT run_id, name, words FROM run_names()),
by_name AS (
    SELECT run_id, name, CASE
        WHEN run_id = text THEN 1
        WHEN name = text THEN 2
        WHEN words[1] = text THEN 3
        WHEN len(list_filter(words, lambda word: starts_with(lower(text) || ' ', lower(word) || ' '))) > 0
            -- any of its words in order, and the beginning of its id at the end
            AND regexp_full_match(text || ' ', '(?i)'
                || array_to_string(list_transform(words, lambda word: '(?:' || regexp_escape(word) || ' )?'), '') || '(?:(?:'
                || array_to_string(list_transform(range(4, length(run_id) + 1), lambda k: left(run_id, k)), '|') || ') )?')
            THEN 4
        WHEN contains(text, '…') AND (regexp_full_match(name, replace(regexp_escape(text), '…', '.*'))
            OR regexp_full_match(words[1], replace(regexp_escape(text), '…', '.*'))) THEN 5
        WHEN length(text) >= 4 AND starts_with(run_id, text) THEN 6 END AS closeness
    FROM named, wanted WHERE text <> ''),
closest AS (
    SELECT run_id, name FROM by_name WHERE closeness IS NOT NULL QUALIFY closeness = min(closeness) OVER ()),
by_pair AS (
    SELECT run_id FROM wanted JOIN runs AS r
        ON lower(coalesce(to_json(r) ->> pair.key, to_json(r) ->> ('label_' || pair.key))) = lower(pair.value)
    WHERE pair.key <> ''),
fitting AS (
    SELECT run_id, name, false AS is_pair FROM closest
    UNION ALL
    SELECT run_id, name, true FROM by_pair JOIN named USING (run_id) WHERE NOT EXISTS (FROM closest)),
nearest AS (
    SELECT list(name ORDER BY jaro_winkler_similarity(name, text) DESC, name) AS names FROM wanted LEFT JOIN named ON true)
SELECT run_id, name, is_pair, NULL AS complaint FROM fitting
UNION ALL
SELECT NULL, NULL, false, format('{}: {}; {}', of, if(text = '', 'name a run', format('no run is called ''{}''', text)),
    coalesce(if(len(names) = 1, 'there is only ' || names[1], 'there are ' || array_to_string(names[:4], ', ')
        || if(len(names) > 4, format(' and {} more (scalelens query run_names)', len(names) - 4), '')
        || '; or select runs by key=value or by a condition'), 'the warehouse has no runs; see why: scalelens sql "SELECT path, note FROM ' || 'files"'))
FROM wanted, nearest WHERE NOT EXISTS (FROM fitting)
    AND NOT EXISTS (FROM runs AS r WHERE list_contains(json_keys(to_json(r)), wanted.pair.key))
ORDER BY run_id
