-- The settings of each run as texts to group by: runs that are alike have the same texts.
--
-- Answers: Which runs are repeats of each other, and which belong to one series?
--   Repeats agree in all columns, runs of a series in all but `layout`.  A setting that only one run states separates
--   it from the others: unknown is not equal.  Runs whose system is not known belong to one study only if the folders
--   two levels up have the same names apart from numbers (logs/n1/a.out and logs/n2/b.out), or if a sidecar gives them
--   the same label `study`.
--
-- Helper: used by scaling_points and energy_by_batch and energy_fixed_part
--
-- Sources: configuration, runs, params, labels
--
-- Parameters: runs
--
-- Columns:
--   run_id           VARCHAR    run
--   held             VARCHAR    performance settings that follow neither from the size nor from the model, and labels
--   held_of_model    VARCHAR    those of the model: its name, its shape, how it is split over devices
--   layout           VARCHAR    those that follow from the number of devices and the batch
--   study            VARCHAR    folders above the run, with numbers masked, if its system is not known; NULL where it
--                               is
--   has_model        BOOLEAN    whether a model or its shape is known
WITH
texts AS (
    SELECT run_id,
        string_agg(setting || ' ' || value, ', ' ORDER BY setting_order) FILTER (varies_with IS NULL) AS held,
        string_agg(setting || ' ' || value, ', ' ORDER BY setting_order) FILTER (varies_with = 'model') AS held_of_model,
        string_agg(setting || ' ' || value, ', ' ORDER BY setting_order)
            FILTER (varies_with = 'size' AND setting <> 'dp') AS layout,  -- dp follows from devices, tp, pp and cp
        bool_or(setting IN ('model', 'num_layers', 'hidden_size')) AS has_model,
        bool_or(setting = 'system') AS has_system
    FROM configuration(runs := runs) AS c WHERE c.class = 'performance' GROUP BY run_id),
studies AS (
    SELECT run_id, max(value) AS study FROM params WHERE key = 'study' AND origin = 'sidecar' GROUP BY run_id)
SELECT run_id, concat_ws(', ', held, labels) AS held, coalesce(held_of_model, '') AS held_of_model,
    coalesce(layout, '') AS layout,
    CASE WHEN has_system IS NOT TRUE THEN
        coalesce(study, regexp_replace(array_to_string(string_split(path, '/')[-4:-3], '/'), '[0-9]+', '#', 'g'))
    END AS study,
    coalesce(has_model, false) AS has_model
FROM runs LEFT JOIN texts USING (run_id) LEFT JOIN studies USING (run_id) LEFT JOIN labels() USING (run_id)
ORDER BY run_id
