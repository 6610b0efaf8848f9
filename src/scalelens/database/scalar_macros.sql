-- What queries share in their expressions.

-- Sentences as one text: those that are NULL left out, NULL where none is left.
CREATE MACRO notes(sentences) AS nullif(array_to_string(sentences, '; '), '');

-- A text as SQL writes it, for SQL that is put together.
CREATE MACRO quoted(text) AS '''' || replace(text, '''', '''''') || '''';

-- Arguments that select records, for SQL that is put together.
CREATE MACRO selection(runs, epochs, warmup, exclude) AS
    format('runs := {}, epochs := {}, warmup := {}, exclude := {}', quoted(runs), quoted(epochs::VARCHAR), warmup, quoted(exclude));
