-- The catalog's device for each run, found by the name in its log.
--
-- Answers: What can the devices of a run do at best, and what is the source?
--   It is the first row of devices_catalog whose pattern matches the name; where the log names no device, the system's
--   name is tried, then what systems_catalog lists for it.  Runs whose device is not found are included with NULL.
--
-- Helper: used by energy_efficiency, roofline, configuration and mfu
--
-- Sources: runs, selected_runs, devices_catalog, systems_catalog
--
-- Parameters: runs
--
-- Columns:
--   run_id                VARCHAR           run
--   device_model          VARCHAR           name of the device in the log
--   device                VARCHAR           name in the catalog
--   unit                  VARCHAR           gpu, gcd, ipu, hpu or tpu: what the figures are of
--   memory_gb             DOUBLE GB         memory
--   fp32_tflops           DOUBLE TFLOP/s    dense peak
--   tf32_tflops           DOUBLE TFLOP/s    dense peak
--   fp16_tflops           DOUBLE TFLOP/s    dense peak
--   bf16_tflops           DOUBLE TFLOP/s    dense peak
--   fp8_tflops            DOUBLE TFLOP/s    dense peak
--   bandwidth_gb_per_s    DOUBLE GB/s       of the memory
--   tdp_w                 DOUBLE W          power limit of the vendor
--   source                VARCHAR           source of the figures
WITH
named AS (
    SELECT run_id, device_model, lower(coalesce(device_model, system)) AS name, lower(system) AS system
    FROM runs WHERE run_id IN (FROM selected_runs(runs := runs))),
-- Names are few and runs many: each name is looked up once.  A MIG slice has a part of its device's peak.
by_name AS (
    SELECT name, min(place) AS position
    FROM (SELECT DISTINCT name FROM named) JOIN devices_catalog AS d ON regexp_matches(name, d.pattern)
    WHERE NOT contains(name, ' mig ') GROUP BY name),
by_system AS (
    SELECT run_id, min(d.place) AS position
    FROM named JOIN systems_catalog AS s ON device_model IS NULL AND regexp_matches(named.system, s.pattern)
    JOIN devices_catalog AS d USING (device) GROUP BY run_id)
SELECT n.run_id, device_model, device, unit, memory_gb, fp32_tflops, tf32_tflops, fp16_tflops, bf16_tflops, fp8_tflops,
    bandwidth_gb_per_s, tdp_w, source
FROM named AS n LEFT JOIN by_name AS b USING (name) LEFT JOIN by_system AS y USING (run_id)
LEFT JOIN devices_catalog AS d ON d.place = coalesce(b.position, y.position)
ORDER BY n.run_id
