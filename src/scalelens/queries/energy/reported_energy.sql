-- Energy of each sensor as the tools report it, windows that follow each other added up.
--
-- Answers: How much does the tool itself say that a sensor took?
--   Zeus in a training log prints the energy of each interval: a run took the sum of them.  What other tools print is
--   the whole, a line that says it again adds nothing, and windows of Zeus' own file lie within each other.
--
-- Helper: used by energy_of_runs and energy_reconciled
--
-- Sources: energy, files
--
-- Columns:
--   run_id         VARCHAR      run
--   file_id        VARCHAR      file that says so
--   node           VARCHAR      host name
--   device         VARCHAR      device as the tool numbers it; several with commas, where it adds them up
--   scope          VARCHAR      what the sensor covers
--   method         VARCHAR      how the tool came to it
--   n_devices      BIGINT       devices that `device` lists
--   reported_j     DOUBLE J     energy
--   span_s         DOUBLE s     seconds covered
WITH
said AS (
    SELECT e.*, coalesce(list_contains(formats, 'zeus_log'), false) AS in_turn
    FROM energy AS e LEFT JOIN files USING (file_id) WHERE energy_j IS NOT NULL)
SELECT run_id, file_id, node, device, scope, e.method, coalesce(len(string_split(device, ',')), 1) AS n_devices,
    if(in_turn, sum(energy_j ORDER BY line), max(energy_j)) AS reported_j,
    if(in_turn, sum(span_s ORDER BY line), max(span_s)) AS span_s
FROM said AS e GROUP BY run_id, file_id, node, device, scope, e.method, in_turn
ORDER BY run_id, file_id, node, device, scope
