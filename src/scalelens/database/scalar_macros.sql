-- Macros that queries use in their expressions.

-- Sentences joined into one text, without those that are NULL; NULL if none is left.
CREATE MACRO notes(sentences) AS nullif(array_to_string(sentences, '; '), '');

-- A text as an SQL literal, for composed SQL.
CREATE MACRO quoted(text) AS '''' || replace(text, '''', '''''') || '''';

-- The arguments that select records, for composed SQL.
CREATE MACRO selection(runs, epochs, warmup, exclude) AS
    format('runs := {}, epochs := {}, warmup := {}, exclude := {}', quoted(runs), quoted(epochs::VARCHAR), warmup, quoted(exclude));

-- Whether a text that selects runs is a condition in SQL; any other is a name, or `key=value`.
CREATE MACRO is_condition(text) AS
    regexp_matches(text, '[''<>(]|(?i)\b(and|or|in|like|ilike|is|between|not)\s|^\s*(true|false|\d+)\s*$');

-- A selection of runs as a further condition; empty where it takes all.
CREATE MACRO and_selected(runs) AS CASE
    WHEN trim(runs) = '' THEN ''
    WHEN is_condition(runs) THEN ' AND (' || runs || ')'
    ELSE ' AND run_id IN (SELECT if(complaint IS NULL, run_id, error(complaint)) FROM named_runs(selector := '
        || quoted(runs) || ', of := ''runs''))' END;
