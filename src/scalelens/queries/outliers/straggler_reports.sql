-- Ranks that the training's own straggler detection names.
--
-- Answers: Which rank does the training itself find slow, and by how much?
--   The reports come from Megatron's straggler detector, from NVIDIA's Resiliency Extension (NVRx) and from FlagScale.
--   Megatron prints, for each logging interval, the ranks with the smallest and the largest value.  A rank is named if
--   it takes longest for the traced operations or for loading data, or has the lowest clock.  NVRx prints scores: 1 is
--   as fast as the fastest rank (`kernels`) or as the rank itself at its best (`own kernels`).  FlagScale names ranks,
--   and prints the time of each in every section of the step.  A rank stands out if it is named in half of the reports
--   or more and its excess reaches the threshold; for a clock, half of it.
--
-- Formula: excess = largest / least - 1 for operations; (largest - least) / largest time of the operations for data; 1
--   - least / largest for the clock; 1 / score - 1 for kernels; time / least - 1 for sections, in the section where it
--   is largest.  The median over the reports that name the rank.
--
-- Reference: Megatron-LM, megatron/core/README_STRAGGLER.md; nvidia_resiliency_ext, ptl_resiliency/
--   straggler_det_callback.py.
--
-- Limits: Megatron compares all ranks: in a pipeline, whose stages have different work, the longest is not a straggler
--   by itself.  NVRx often prints only the worst and the best ranks.
--
-- Glance: run_id rank node tool measure excess% stands_out n_named n_reports
--
-- Partition: run_id
--
-- Needs: metrics
--
-- When empty: no log has the reports of a straggler detector
--
-- Sources: metrics, selected_runs
--
-- Parameters: runs, threshold
--
-- Columns:
--   run_id        VARCHAR    run
--   rank          INTEGER    rank
--   node          VARCHAR    host name, where the tool prints it
--   tool          VARCHAR    Megatron, NVRx or FlagScale
--   measure       VARCHAR    operations, data loading, clock, kernels, own kernels or sections
--   n_reports     BIGINT     reports of the run that have the measure
--   n_named       BIGINT     reports that name the rank
--   excess        DOUBLE     share by which it is slower
--   stands_out    BOOLEAN    whether it stands out by the rule above
WITH
values_printed AS (
    SELECT run_id, file_id, line, rank, place, stat, value,
        CASE name WHEN 'straggler Rtt' THEN 'operations' WHEN 'straggler DRtt' THEN 'data loading'
            WHEN 'straggler Clk' THEN 'clock' WHEN 'GPU relative performance' THEN 'kernels' ELSE 'own kernels' END AS measure
    FROM metrics
    WHERE (name IN ('straggler Rtt', 'straggler DRtt', 'straggler Clk') AND stat IN ('min', 'max')
            OR name IN ('GPU relative performance', 'GPU individual performance'))
        AND rank IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))),
extremes AS (
    SELECT run_id, file_id, line, measure, arg_min(rank, value) AS of_least, arg_max(rank, value) AS of_largest,
        min(value) AS least, max(value) AS largest
    FROM values_printed WHERE stat <> 'value' GROUP BY ALL HAVING count(DISTINCT stat) = 2),
intervals AS (
    SELECT *, max(CASE measure WHEN 'operations' THEN largest END) OVER (PARTITION BY run_id, file_id, line) AS step_ms
    FROM extremes),
-- The scores of a report are on consecutive lines, with a heading between the worst and the best.
scores AS (
    SELECT *, count(*) FILTER (WHERE line - line_before > 2 OR measure <> measure_before) OVER in_file AS report
    FROM (
        SELECT *, lag(line) OVER in_file AS line_before, lag(measure) OVER in_file AS measure_before
        FROM values_printed WHERE stat = 'value' WINDOW in_file AS (PARTITION BY run_id, file_id ORDER BY line))
    WINDOW in_file AS (PARTITION BY run_id, file_id ORDER BY line)),
named AS (
    SELECT run_id, file_id, line AS report, 'Megatron' AS tool, measure, NULL AS node,
        CASE measure WHEN 'clock' THEN of_least ELSE of_largest END AS rank,
        CASE measure WHEN 'clock' THEN 1 - least / nullif(largest, 0) WHEN 'operations' THEN largest / nullif(least, 0) - 1
            ELSE (largest - least) / nullif(step_ms, 0) END AS excess
    FROM intervals
    UNION ALL BY NAME
    SELECT run_id, file_id, report, 'NVRx' AS tool, measure, place AS node, rank, 1 / nullif(value, 0) - 1 AS excess
    FROM scores),
sections AS (
    SELECT run_id, file_id, attempt, step, name, rank, value / nullif(min(value) OVER (PARTITION BY
        run_id, file_id, attempt, step, name), 0) - 1 AS excess
    FROM metrics
    WHERE starts_with(name, 'straggler section ') AND run_id IN (FROM selected_runs(runs := runs))),
of_sections AS (
    SELECT n.run_id, n.file_id, n.line AS report, 'FlagScale' AS tool, 'sections' AS measure, NULL AS node, n.rank,
        max(s.excess) AS excess
    FROM metrics AS n LEFT JOIN sections AS s USING (run_id, file_id, attempt, step, rank)
    WHERE n.name = 'straggler named' AND n.run_id IN (FROM selected_runs(runs := runs))
    GROUP BY ALL),
counted AS (
    SELECT *, count(DISTINCT (file_id, report)) OVER (PARTITION BY run_id, tool, measure) AS n_reports FROM named
    UNION ALL BY NAME
    SELECT o.*, r.n_reports
    FROM of_sections AS o
    JOIN (SELECT run_id, count(*) AS n_reports FROM metrics WHERE name = 'straggler report' GROUP BY run_id) AS r
        USING (run_id))
SELECT run_id, rank, any_value(node) AS node, tool, measure, any_value(n_reports) AS n_reports,
    count(DISTINCT (file_id, report)) AS n_named, median(excess) AS excess,
    coalesce(n_named >= any_value(n_reports) / 2 AND median(excess) >= threshold / CASE measure WHEN 'clock' THEN 2 ELSE 1
        END, false) AS stands_out
FROM counted
GROUP BY run_id, rank, tool, measure
ORDER BY run_id, tool, measure, excess DESC, rank
