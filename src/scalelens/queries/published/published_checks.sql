-- Numbers of published tables that follow from others of the same row, recomputed.
--
-- Answers: Which published numbers do not follow from those beside them?
--   A number that was derived in the document is recomputed from the printed ones of its row.  The printed digits leave
--   an interval to each; a number follows where the intervals meet.  Only those that do not meet are said to be off.
--
-- Formula:
--   batch over energy: the column Tokens/Energy of caraml/gpt-ipu is the batch over the energy of an epoch
--   images over energy: images/Wh of caraml/resnet-ipu is 1,281,167 images over the energy of an epoch
--   rate times time: throughput x training time is the number of images; in tamu/table-3 that of its first row, in
--   tamu/table-4 the 70,000 that the text names
--
-- Assumptions: A printed number may be off by half of its last digit, in both directions (either rounding of a 5).
--
-- Limits: It judges the arithmetic, not the measurement.
--
-- Glance: name entry devices batch quantity printed expected_low expected_high off% follows formula_used
--
-- Sources: published
--
-- Columns:
--   name             VARCHAR    document and table
--   entry            INTEGER    row of the table
--   devices          INTEGER    devices
--   batch            DOUBLE     batch in samples, as the document counts it
--   quantity         VARCHAR    the number that is recomputed
--   printed          VARCHAR    as printed
--   expected_low     DOUBLE     least value that the other numbers of the row leave possible
--   expected_high    DOUBLE     largest
--   off              DOUBLE     printed over the middle of the two, minus 1
--   follows          BOOLEAN    the intervals meet
--   formula_used     VARCHAR    batch over energy, images over energy or rate times time
WITH
bounded AS (
    SELECT *, 0.5 / 10 ** length(split_part(printed, '.', 2)) AS half, value - half AS least, value + half AS most
    FROM published),
energies AS (FROM bounded WHERE quantity = 'energy of an epoch'),
rates AS (FROM bounded WHERE quantity = 'throughput'),
times AS (FROM bounded WHERE quantity = 'training time'),
per_energy AS (
    SELECT p.*, CASE p.name WHEN 'caraml/gpt-ipu' THEN p.batch ELSE 1281167 END AS work,
        work / e.most AS expected_low, work / e.least AS expected_high,
        CASE p.name WHEN 'caraml/gpt-ipu' THEN 'batch over energy' ELSE 'images over energy' END AS formula_used
    FROM bounded AS p JOIN energies AS e ON e.name = p.name AND e.entry = p.entry
    WHERE p.quantity = 'work per energy'),
products AS (
    SELECT t.*, r.least * t.least AS images_low, r.most * t.most AS images_high, r.least AS rate_low, r.most AS rate_high
    FROM times AS t JOIN rates AS r ON r.name = t.name AND r.entry = t.entry),
expected_images AS (
    SELECT name, CASE name WHEN 'tamu/table-4' THEN 70000 ELSE min(images_low) FILTER (WHERE entry = 1) END AS wanted_low,
        CASE name WHEN 'tamu/table-4' THEN 70000 ELSE max(images_high) FILTER (WHERE entry = 1) END AS wanted_high
    FROM products GROUP BY name),
checked AS (
    SELECT place, name, entry, devices, batch, quantity, printed, value, least, most, expected_low, expected_high,
        formula_used
    FROM per_energy
    UNION ALL BY NAME
    SELECT place, name, entry, devices, batch, quantity, printed, value, least, most,
        wanted_low / rate_high AS expected_low, wanted_high / rate_low AS expected_high,
        'rate times time' AS formula_used
    FROM products JOIN expected_images USING (name))
SELECT name, entry, devices, batch, quantity, printed, expected_low, expected_high,
    value / ((expected_low + expected_high) / 2) - 1 AS off, least <= expected_high AND most >= expected_low AS follows,
    formula_used
FROM checked
ORDER BY place
