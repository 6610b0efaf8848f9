-- Every derived number of the published results, recomputed from the numbers next to it.
--
-- Answers: Which published numbers contradict their own tables?
--   One row for each derived number and each identity of published_identities.  A number fails only if its printed
--   digits leave no way for it to be true; a number with several readings has a row for each of them.
--
-- Formula: expected = product of the numerator / product of the denominator, with the smallest and the largest value
--   that the printed digits allow, whichever way a 5 is rounded.  Several values of one quantity in one entry are
--   summed first. off = number / expected - 1.
--
-- Assumptions: Printed counts are exact.  Where the text says about, the digits of a number are those without its
--   trailing zeros.
--
-- Limits: `follows` says that the numbers fit each other, not that they are true.
--
-- Glance: name entry quantity printed unit expected off% follows meaning
--
-- Sources: published, published_identities
--
-- Columns:
--   name             VARCHAR    document and table
--   entry            INTEGER    row of that table; 0 if it applies to all rows
--   part             VARCHAR    where the number is printed
--   row_of           VARCHAR    system, devices, model, batch and setting of the row
--   quantity         VARCHAR    what is derived
--   printed          VARCHAR    as printed
--   unit             VARCHAR    as printed
--   relation         VARCHAR    how it should compare with what is expected: =, <= or >=
--   number           DOUBLE     the printed number, in `unit`
--   expected         DOUBLE     what follows from the other numbers, in `unit`
--   expected_low     DOUBLE     smallest value that their digits allow, in `unit`
--   expected_high    DOUBLE     largest value that their digits allow, in `unit`
--   off              DOUBLE     number over expected, less 1; of a gain (`% more`), of the ratios
--   follows          BOOLEAN    whether the printed digits allow it
--   formula          VARCHAR    the identity
--   meaning          VARCHAR    what is expected, in words
WITH
printed_numbers AS (
    SELECT name, entry, quantity, sum(number ORDER BY number) AS number,
        sum(coalesce(number_low, 0) ORDER BY number_low) AS low,
        sum(coalesce(number_high, 'inf'::DOUBLE) ORDER BY number_high) AS high
    FROM published WHERE number IS NOT NULL GROUP BY ALL),
-- The keys of a row are numbers, too.
keys AS (
    SELECT name, entry, unnest(['nodes', 'devices', 'micro_batch_size', 'global_batch_size']) AS quantity,
        unnest([max(nodes), max(devices), max(micro_batch_size), max(global_batch_size)])::DOUBLE AS number
    FROM published GROUP BY name, entry),
known AS (
    FROM printed_numbers
    UNION ALL
    SELECT name, entry, quantity, number, number, number
    FROM keys ANTI JOIN printed_numbers USING (name, entry, quantity) WHERE number IS NOT NULL),
identities AS (
    SELECT place AS position, name, split_part(name, '/', 1) AS document, split_part(name, '/', 2) AS topic, relation, meaning,
        regexp_extract(derived, '^\w+') AS quantity, TRY_CAST(regexp_extract(derived, '\[(\d+)\]', 1) AS INTEGER) AS only_entry,
        list_filter(string_split(coalesce(numerator, ''), ' '), lambda term: term <> '') AS above,
        list_filter(string_split(coalesce(denominator, ''), ' '), lambda term: term <> '') AS below,
        concat_ws(' ', derived, relation, coalesce(replace(numerator, ' ', ' * '), '1'),
            '/ ' || replace(denominator, ' ', ' / ')) AS formula
    FROM published_identities),
derived AS (
    SELECT i.*, entry, number, low, high
    FROM identities AS i JOIN known USING (name, quantity) WHERE entry = coalesce(only_entry, entry)),
terms AS (
    SELECT position, entry, document, topic, unnest(above) AS term, true AS is_above FROM derived
    UNION ALL
    SELECT position, entry, document, topic, unnest(below), false FROM derived),
named AS (
    SELECT position, entry, is_above,
        concat(document, '/', coalesce(nullif(regexp_extract(term, '^([\w-]+)\.', 1), ''), topic)) AS name,
        regexp_extract(term, '(\w+)(?:\[\d+\])?$', 1) AS quantity,
        coalesce(TRY_CAST(regexp_extract(term, '\[(\d+)\]', 1) AS INTEGER), entry) AS of_entry
    FROM terms),
-- A fact of entry 0 holds for every entry without one of its own.
values_of_terms AS (
    SELECT n.position, n.entry, is_above, unnest(coalesce(
        CASE WHEN own.number IS NOT NULL THEN {number: own.number, low: own.low, high: own.high} END,
        {number: shared.number, low: shared.low, high: shared.high}))
    FROM named AS n
    LEFT JOIN known AS own ON own.name = n.name AND own.quantity = n.quantity AND own.entry = of_entry
    LEFT JOIN known AS shared ON shared.name = n.name AND shared.quantity = n.quantity AND shared.entry = 0),
factors AS (
    SELECT position, entry, CASE WHEN is_above THEN number ELSE 1 / number END AS factor,
        CASE WHEN is_above THEN low ELSE 1 / high END AS factor_low,
        CASE WHEN is_above THEN high WHEN low > 0 THEN 1 / low ELSE 'inf'::DOUBLE END AS factor_high
    FROM values_of_terms),
-- Ordered, because the last digit of a product depends on the order.
expected AS (
    SELECT position, entry, product(factor ORDER BY factor) AS expected,
        product(factor_low ORDER BY factor_low) AS expected_low,
        product(factor_high ORDER BY factor_high) AS expected_high
    FROM factors GROUP BY ALL HAVING count(factor) = count(*)),
-- An identity without terms compares with 1.
checked AS (
    SELECT * EXCLUDE (expected, expected_low, expected_high), coalesce(expected, 1) AS expected,
        coalesce(expected_low, 1) AS expected_low, coalesce(expected_high, 1) AS expected_high
    FROM derived LEFT JOIN expected USING (position, entry)
    WHERE expected IS NOT NULL OR len(above) + len(below) = 0),
cells AS (
    SELECT name, entry, quantity, first(part ORDER BY place) AS part, string_agg(printed, ' + ' ORDER BY place) AS printed,
        first(unit ORDER BY place) AS unit, first(unit_size ORDER BY place) AS unit_size
    FROM published GROUP BY ALL),
settings AS (
    SELECT name, entry, concat_ws(' · ', max(system), max(device), max(devices) || ' devices', max(model), max(precision),
        'micro-batch ' || max(micro_batch_size), 'batch ' || max(global_batch_size), max(setting)) AS row_of
    FROM published GROUP BY ALL),
-- Identities hold between numbers in units of the SI; they are shown in the unit that the document prints.
units AS (
    SELECT checked.*, part, printed, unit, row_of, CASE WHEN unit = '% more' THEN 1 ELSE 0 END AS zero,
        coalesce(unit_size, 1) AS size
    FROM checked LEFT JOIN cells USING (name, entry, quantity) LEFT JOIN settings USING (name, entry))
SELECT name, entry, part, row_of, quantity, coalesce(printed, number::BIGINT::VARCHAR) AS printed, unit, relation,
    (number - zero) / size AS number, (expected - zero) / size AS expected, (expected_low - zero) / size AS expected_low,
    (expected_high - zero) / size AS expected_high, units.number / units.expected - 1 AS off,
    (relation = '>=' OR low <= units.expected_high * (1 + 1e-9)) AND (relation = '<=' OR high >= units.expected_low * (1 - 1e-9))
        AS follows,
    formula, meaning
FROM units
ORDER BY position, entry, part, quantity, formula, units.expected, units.number
