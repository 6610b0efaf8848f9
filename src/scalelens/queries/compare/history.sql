-- A measure over time for the runs of one configuration, with the runs at which its level changes.
--
-- Answers: Since when is it slower, by how much, and what changed then?
--   Runs of one series agree in system, model, precision, devices and their model, global batch, sequence length and
--   `series_by`; what else changed between them is what a history is about.  A run that states one of these is in no
--   series with a run that does not, and a run whose number of devices is not known is in no series with any other.  Change points are found by E-divisive with a t-test
--   (`shifts_between_runs` in statistics/histories.py), on values that are clipped to four robust sigma.  A point is `strong`, or `weak` if it would vanish were only one
--   series in a hundred, not one in twenty, allowed a point by chance.  The last level has two runs or more, every other
--   four.  Runs without a time are not included.
--
-- Formula: Cut where the energy distance k m / (k + m) (2 E|x - y| - E|x - x'| - E|y - y'|) of the two parts is
--   largest; keep a cut whose t-test of the logarithms, its p multiplied by the number of possible cuts, is at most
--   0.05.
--   slowdown = new level / old level - 1; for rates, of the reciprocals.
--
-- Reference: Matteson and James, J. American Statistical Association 109, 2014 (E-divisive); Hunter, arXiv
--   2301.03034.  statistics/histories.py.
--
-- Assumptions: Runs are independent of each other.
--
-- Limits: A level has two runs or more at the end and four before it, so single slow runs are not a level.  A change of 5 % is found within two runs
--   in nine of ten cases if runs scatter by 1.25 % or less, and within five runs at a scatter of 2 %.  At most 5 % of
--   series have a false point if asked once, also where a slow node hits some runs or scatter has a heavy tail; asked
--   after each of 50 runs, 19 % have one, and 5 % a strong one.
--
-- Glance: series started_at name run_value level change slowdown% p_value changed
--
-- When empty: no run has both a date and a value
--
-- Sources: runs, run_values, configuration, params
--
-- Parameters: runs, epochs, warmup, exclude, series_by, measure, quantile
--   since := ''             a day or a time; earlier runs count, but are not shown
--
-- Columns:
--   series           VARCHAR      what its runs have in common
--   run_number       BIGINT       position of the run in the series, from 1
--   run_id           VARCHAR      run
--   name             VARCHAR      name of the run
--   started_at       TIMESTAMP    first time stamp of the run
--   measure          VARCHAR      what `run_value` is
--   run_value        DOUBLE       quantile of the run's records, in the unit of the measure
--   low              DOUBLE       lower end of its interval, within the run
--   high             DOUBLE       upper end of its interval
--   interval_kind    VARCHAR      ci95, or range where 95 % cannot be claimed
--   level            DOUBLE       geometric mean of the runs from one change to the next
--   change           VARCHAR      strong or weak where a new level begins, else NULL
--   slowdown         DOUBLE       share by which the new level is slower, or more, than the one before
--   p_value          DOUBLE       of the change, for all positions of the series together
--   changed          VARCHAR      settings and versions that differ between most runs before and most runs after the
--                                 change
WITH
extra AS (
    SELECT run_id, CASE WHEN trim(series_by) <> '' THEN translate(extra::VARCHAR, '{}'':', '') END AS extra
    FROM query('SELECT r.run_id, extra FROM runs AS r, LATERAL (SELECT '
        || CASE WHEN trim(series_by) = '' THEN 'NULL' ELSE series_by END || ') AS extra')),
dated AS (
    SELECT concat_ws(' · ', system, model, r.precision, device_model, devices || ' ' || coalesce(upper(device_unit), 'device') || if(devices = 1, '', 's'),
            'batch ' || global_batch_size, 'seq ' || seq_length, extra,
            CASE WHEN devices IS NULL THEN 'devices not known: ' || run_id END) AS series,
        run_id, name, started_at, run_value, low, high, interval_kind
    FROM run_values(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, measure := measure,
        quantile := quantile) JOIN runs AS r USING (run_id) JOIN extra USING (run_id)
    WHERE started_at IS NOT NULL AND run_value > 0),
ordered AS (SELECT *, row_number() OVER (PARTITION BY series ORDER BY started_at, run_id) AS position FROM dated),
points AS (
    SELECT series, unnest(shifts_between_runs(list(run_value ORDER BY position)), recursive := true) FROM ordered GROUP BY series),
marked AS (
    SELECT o.*, p.ratio, p.p_value, p.is_weak, count(p.position) OVER (PARTITION BY o.series ORDER BY o.position) AS segment
    FROM ordered AS o LEFT JOIN points AS p ON p.series = o.series AND p.position + 1 = o.position),
stated AS (
    SELECT run_id, c.setting_order, setting, value FROM configuration(runs := runs) AS c WHERE c.class = 'performance'
    UNION ALL
    SELECT run_id, 1000, key, min(value) FROM params
    WHERE regexp_matches(key, '_version$|^version$|commit') AND key NOT IN ('framework_version', 'torch_version')
    GROUP BY run_id, key),
names AS (SELECT DISTINCT series, setting, s.setting_order FROM stated AS s JOIN marked USING (run_id)),
settings AS (
    SELECT m.series, segment, n.setting, any_value(n.setting_order) AS setting_order,
        mode(coalesce(s.value, 'not stated') ORDER BY coalesce(s.value, 'not stated')) AS value
    FROM marked AS m JOIN names AS n USING (series)
    LEFT JOIN stated AS s ON s.run_id = m.run_id AND s.setting = n.setting
    GROUP BY m.series, segment, n.setting),
changes AS (
    SELECT after.series, after.segment,
        string_agg(format('{} {} -> {}', after.setting, before.value, after.value), ', '
            ORDER BY after.setting_order) AS changed
    FROM settings AS after JOIN settings AS before ON before.series = after.series AND before.setting = after.setting
        AND before.segment = after.segment - 1 AND before.value <> after.value
    GROUP BY after.series, after.segment)
SELECT m.series, m.position AS run_number, run_id, name, started_at, measure AS measure, m.run_value, low, high,
    interval_kind,
    -- In order, so that the last digit does not depend on the threads.
    exp(avg(ln(m.run_value)) OVER (
        PARTITION BY m.series, m.segment ORDER BY m.position ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS level,
    CASE is_weak WHEN 0 THEN 'strong' WHEN 1 THEN 'weak' END AS change,
    if(measure IN ('samples_per_s', 'tokens_per_s'), 1 / ratio, ratio) - 1 AS slowdown, p_value,
    CASE WHEN ratio IS NOT NULL THEN changed END AS changed
FROM marked AS m LEFT JOIN changes AS c ON c.series = m.series AND c.segment = m.segment
QUALIFY trim(since::VARCHAR) = '' OR started_at >= nullif(trim(since::VARCHAR), '')::TIMESTAMP
ORDER BY m.series, run_number
