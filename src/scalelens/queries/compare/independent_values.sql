-- The values of both sides of a comparison, one for each group of runs that are known to be alike for another reason.
--
-- Answers: Which values of a side count as independent?
--   Runs of a side on the same nodes that started within an hour of each other met the same machine: together they count
--   as one, with the geometric mean of their values.  Where nodes or times are not known, each run counts.
--
-- Helper: used by compare and next_runs
--
-- Sources: two_sides, run_values, runs, configuration
--
-- Parameters: epochs, warmup, exclude, a, b, measure, quantile
--
-- Columns:
--   side             VARCHAR    a or b
--   run_id           VARCHAR    first of the runs
--   n_runs           BIGINT     runs that count as one
--   run_value        DOUBLE     geometric mean of their values, in the unit of the measure
--   low              DOUBLE     lower end of the interval within a run, median over the runs
--   high             DOUBLE     upper end
--   interval_kind    VARCHAR    ci95, or range where 95 % cannot be claimed for one of them
--   n_eff            DOUBLE     equivalent number of independent records of a run, the smallest
WITH
valued AS (
    SELECT m.side, m.run_id, started_at, c.value AS nodes, run_value, low, high, interval_kind, n_eff
    FROM two_sides(a := a, b := b) AS m JOIN runs AS r USING (run_id)
    JOIN run_values(epochs := epochs, warmup := warmup, exclude := exclude, measure := measure, quantile := quantile) AS v
        ON v.run_id = m.run_id
    LEFT JOIN configuration() AS c ON c.run_id = m.run_id AND c.setting = 'node_list'
    WHERE run_value IS NOT NULL),
in_turn AS (
    SELECT *, CASE WHEN nodes IS NULL OR started_at IS NULL THEN run_id ELSE nodes END AS place,
        coalesce(started_at - lag(started_at) OVER (PARTITION BY side, nodes ORDER BY started_at, run_id) > INTERVAL 1 HOUR,
            false) AS is_later
    FROM valued),
grouped AS (
    SELECT *, sum(is_later::INTEGER) OVER (PARTITION BY side, place ORDER BY started_at, run_id) AS session FROM in_turn)
SELECT side, min(run_id) AS run_id, count(*) AS n_runs,
    if(count(*) = 1, any_value(run_value), exp(avg(ln(CASE WHEN run_value > 0 THEN run_value END) ORDER BY run_id))) AS run_value,
    median(low) AS low, median(high) AS high,
    CASE WHEN count(interval_kind) = count(*) THEN max(interval_kind) END AS interval_kind, min(n_eff) AS n_eff
FROM grouped GROUP BY side, place, session
ORDER BY side, run_id
