-- The runs of both sides of a comparison, one by one.
--
-- Answers: Which values of which runs does a comparison rest on?
--   They are the values that `compare` and its interval are computed from.
--
-- Glance: side run_id run_value n_steps started_at
--
-- Sources: two_sides, run_values, runs
--
-- Parameters: epochs, warmup, exclude, a, b, measure, quantile
--
-- Columns:
--   side             VARCHAR      a or b
--   run_id           VARCHAR      run
--   name             VARCHAR      name of the run
--   started_at       TIMESTAMP    first time stamp of the run
--   measure          VARCHAR      what `run_value` is
--   run_value        DOUBLE       quantile of the run's records, in the unit of the measure; NULL where it has none
--   low              DOUBLE       lower end of its interval, within the run
--   high             DOUBLE       upper end of its interval
--   interval_kind    VARCHAR      ci95, or range where 95 % cannot be claimed
--   n_steps          BIGINT       records that the value rests on
SELECT side, s.run_id, name, started_at, measure AS measure, run_value, low, high, interval_kind, n_steps
FROM two_sides(a := a, b := b) AS s JOIN runs USING (run_id)
LEFT JOIN run_values(epochs := epochs, warmup := warmup, exclude := exclude, measure := measure, quantile := quantile)
    AS v ON v.run_id = s.run_id
ORDER BY side, started_at, s.run_id
