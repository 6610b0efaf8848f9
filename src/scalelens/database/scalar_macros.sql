-- Macros that queries use in their expressions.

-- Sentences joined into one text, without those that are NULL; NULL if none is left.
CREATE MACRO notes(sentences) AS nullif(array_to_string(sentences, '; '), '');

-- A text as an SQL literal, for composed SQL.
CREATE MACRO quoted(text) AS '''' || replace(text, '''', '''''') || '''';

-- A path as a word of a shell.
CREATE MACRO shell_word(path) AS
    if(regexp_full_match(path, '[\w@%+=:,./-]+'), path, '''' || replace(path, '''', '''"''"''') || '''');

-- The arguments that select records, for composed SQL.
CREATE MACRO selection(runs, epochs, warmup, exclude) AS
    format('runs := {}, epochs := {}, warmup := {}, exclude := {}', quoted(runs), quoted(epochs::VARCHAR), warmup, quoted(exclude));

-- Whether a text that selects runs is a condition in SQL; any other is a name, or `key=value`.  Files are called by the
-- numbers of jobs, and the id of a run may be digits alone: 3665238 is a name.  A quotation mark after a letter is an
-- apostrophe: bob's run is a name.  A word in parentheses after a space is part of a name, where there is no
-- equals sign: slurm (2) is a name, isfinite(parameters) and abs (devices) = 4 are none.
CREATE MACRO is_condition(text) AS
    regexp_matches(text, '(?:^|\W)''|[<>]|^\s*\(|\S\(|\(.*[=,]|=.*\(|(?i)\b(and|or|in|like|ilike|is|between|not)[\s'']|^\s*(true|false)\s*$');

-- A selection of runs as a further condition; empty where it takes all.
CREATE MACRO and_selected(runs) AS CASE
    WHEN trim(runs) = '' THEN ''
    WHEN is_condition(runs) THEN ' AND (' || runs || ')'
    ELSE ' AND run_id IN (SELECT if(complaint IS NULL, run_id, error(complaint)) FROM named_runs(selector := '
        || quoted(runs) || ', of := ''runs''))' END;

-- Parameters of a GPT by its name, in millions: 175000 of `GPT 175B` and of `gpt-175b-96x12288`; NULL for other names.
CREATE MACRO gpt_size(name) AS
    TRY_CAST(regexp_extract(lower(name), '^gpt[-_ ]?[23]?[-_ ](\d+(?:\.\d+)?) ?[mbt]\b', 1) AS DOUBLE)
    * CASE regexp_extract(lower(name), '^gpt[-_ ]?[23]?[-_ ][\d.]+ ?([mbt])\b', 1) WHEN 't' THEN 1e6 WHEN 'b' THEN 1e3 ELSE 1 END;

-- The name of a model without what does not change it: `resnet50` of `ResNet-50`, `rn50` and `resnet50_v1.5`.
CREATE MACRO model_key(name) AS regexp_replace(regexp_replace(regexp_replace(
    lower(name), '^(?:tf|torch|torchvision)[-_ /.]+|[-_ ]?v1[._]?5$|[-_ ](?:un)?cased$| (?:squad )?fine-?tuning$', '', 'g'),
    '[-_ ]100$|[^a-z0-9]+', '', 'g'), '^rn(\d+)$', 'resnet\1');

-- Whether two names mean one model.  Parameters of a GPT are counted with its embeddings or without: 3 % are no difference.
CREATE MACRO is_same_model(a, b) AS
    coalesce(abs(ln(gpt_size(a) / gpt_size(b))) < 0.03, model_key(a) = model_key(b), false);

-- Steps that a record stands for: those since the previous record, else those that its time is a mean of.  NULL for the
-- mean over an epoch or a run of which no log says how many steps it had: it is not one step.
CREATE MACRO steps_of_record(since, step, averaged_steps, value_kind) AS CASE
    WHEN since > 0 THEN since
    WHEN step IS NULL AND averaged_steps = 1 AND value_kind IN ('running_mean', 'epoch_mean', 'run_mean', 'run_median') THEN NULL
    ELSE averaged_steps END;
