-- Energy of each sensor as the tools report it, with consecutive windows added up.
--
-- Answers: How much energy does the tool itself report for a sensor?
--   Zeus in a training log prints the energy of each interval: a run took the sum of them.  Other tools print the
--   total, so a line that repeats it adds nothing; windows of Zeus' own file lie within each other.
--
-- Helper: used by energy_of_runs and energy_reconciled
--
-- Sources: energy, files
--
-- Columns:
--   run_id        VARCHAR     run
--   file_id       VARCHAR     file that reports it
--   node          VARCHAR     host name
--   device        VARCHAR     device as the tool numbers it; several with commas, where the tool adds them up
--   scope         VARCHAR     what the sensor covers
--   method        VARCHAR     how the tool determined it
--   n_devices     BIGINT      devices that `device` lists
--   reported_j    DOUBLE J    energy
--   span_s        DOUBLE s    time that is covered
WITH
reports AS (
    SELECT e.*, coalesce(list_contains(formats, 'zeus_log'), false) AS in_turn
    FROM energy AS e LEFT JOIN files USING (file_id) WHERE energy_j IS NOT NULL)
SELECT run_id, file_id, node, device, scope, e.method, coalesce(len(string_split(device, ',')), 1) AS n_devices,
    if(in_turn, sum(energy_j ORDER BY line), max(energy_j)) AS reported_j,
    if(in_turn, sum(span_s ORDER BY line), max(span_s)) AS span_s
FROM reports AS e GROUP BY run_id, file_id, node, device, scope, e.method, in_turn
ORDER BY run_id, file_id, node, device, scope
