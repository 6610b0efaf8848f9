-- Macros that queries use in their expressions.

-- Sentences joined into one text, without those that are NULL; NULL if none is left.
CREATE MACRO notes(sentences) AS nullif(array_to_string(sentences, '; '), '');

-- A text as an SQL literal, for composed SQL.
CREATE MACRO quoted(text) AS '''' || replace(text, '''', '''''') || '''';

-- The arguments that select records, for composed SQL.
CREATE MACRO selection(runs, epochs, warmup, exclude) AS
    format('runs := {}, epochs := {}, warmup := {}, exclude := {}', quoted(runs), quoted(epochs::VARCHAR), warmup, quoted(exclude));
