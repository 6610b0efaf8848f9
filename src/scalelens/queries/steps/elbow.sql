-- Elbows of the distribution of step times, and where it leaves the fast mode.
--
-- Answers: Which share of the steps is fast, and where does the tail begin?
--   These are two questions.  Departure: where records leave the fast mode, which ends 4 robust sigma above its median;
--   below a share of one half, the median is a time of slow steps.  Elbow: the largest distance between the
--   distribution and its chord from there on, winsorized at 0.999; where the tail has no mode of its own, the end of
--   the fast mode (statistics/elbows.py).  A long right side alone is no elbow: where one smooth distribution explains
--   all times nearly as well as a body and a tail do, there is none (statistics/smooth_shapes.py).  Without an elbow
--   there is one row that says why.
--
-- Formula:
--   Fast mode: its end is the median of its records + 4 sigma, with sigma their interquartile range / 1.349, starting
--   from the fastest fifth and repeated until it stays; where another mode begins between 2 and 4 sigma, the gap.
--   Elbow: where share(t) - (t - end) / (slowest - end) is largest, with the 0.999 quantile as slowest.  Tails without
--   a mode of their own bend at the end of the fast mode.
--   Share: Wilson's interval, for as many records as the series of faster and slower ones is worth.
--
-- Reference: statistics/elbows.py.  Wilson, J. American Statistical Association 22, 1927.
--
-- Assumptions: The fastest fifth of the records belongs to the fast mode.
--
-- Limits: No elbow below 80 records or 10 distinct times, without three records beyond the fast mode and a 0.999
--   quantile beyond max(6 sigma, 5 %), or with three modes of a fifth each.  Smooth distributions (lognormal, exponential,
--   Pareto, gamma, Weibull and others) have one in at most 10 % of cases.
--
-- Glance: run_id n_steps fast_s departure_share% elbow_share% elbow_s median_contaminated label epochs reason
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: kept_times
--
-- Parameters: runs, epochs, warmup, exclude
--   by_epoch := false    true: each epoch of 200 records on its own, shorter ones together
--
-- Columns:
--   run_id                  VARCHAR     run
--   epochs                  VARCHAR     epochs of the records; NULL where the log names none
--   n_steps                 BIGINT      records
--   label                   VARCHAR     what one record is: `single steps`, `means of 10 steps`
--   elbow_number            BIGINT      1 for the elbow, 2 and more for further ones in the tail; NULL without one
--   elbow_share             DOUBLE      share of the records up to the elbow, 0 to 1
--   elbow_share_low         DOUBLE      lower end of its 95 % interval
--   elbow_share_high        DOUBLE      upper end
--   elbow_s                 DOUBLE s    time of the last record up to the elbow
--   elbow_s_low             DOUBLE s    time of the record at elbow_share_low
--   elbow_s_high            DOUBLE s    time of the record at elbow_share_high
--   departure_share         DOUBLE      share of the records in the fast mode, 0 to 1; NULL where there is no tail
--   departure_share_low     DOUBLE      lower end of its 95 % interval
--   departure_share_high    DOUBLE      upper end
--   departure_s             DOUBLE s    time at which records leave the fast mode
--   departure_s_low         DOUBLE s    time of the record at departure_share_low
--   departure_s_high        DOUBLE s    time of the record at departure_share_high
--   fast_s                  DOUBLE s    median of the fast mode
--   median_contaminated     BOOLEAN     whether more than half of the records are beyond the departure
--   reason                  VARCHAR     why there is no elbow: few, quantized, no tail, several modes, one
--                                       smooth distribution, means
WITH
pooled AS (
    SELECT *, elbows(CASE WHEN reason IS NULL THEN times_s END) AS shape
    FROM kept_times(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, by_epoch := by_epoch)
    WHERE n_steps > 0),
numbered AS (SELECT *, unnest(range(1, 1 + greatest(len(shape.elbows), 1))) AS nth FROM pooled)
SELECT run_id,
    CASE WHEN of_epochs[-1] - of_epochs[1] + 1 > len(of_epochs) THEN array_to_string(of_epochs, ',')
        WHEN len(of_epochs) > 1 THEN format('{}-{}', of_epochs[1], of_epochs[-1])
        ELSE of_epochs[1]::VARCHAR END AS epochs,
    n_steps, CASE WHEN reason IS NULL THEN label END AS label,
    CASE WHEN corner IS NOT NULL THEN nth END AS elbow_number,
    corner.share AS elbow_share, corner.share_low AS elbow_share_low, corner.share_high AS elbow_share_high,
    corner.step_s AS elbow_s, corner.step_s_low AS elbow_s_low, corner.step_s_high AS elbow_s_high,
    shape.departure.share AS departure_share, shape.departure.share_low AS departure_share_low,
    shape.departure.share_high AS departure_share_high, shape.departure.step_s AS departure_s,
    shape.departure.step_s_low AS departure_s_low, shape.departure.step_s_high AS departure_s_high,
    shape.fast.median_s AS fast_s, shape.departure.share < 0.5 AS median_contaminated,
    coalesce(reason, shape.reason) AS reason
FROM (SELECT *, shape.elbows[nth] AS corner FROM numbered)
ORDER BY run_id, own_epoch NULLS LAST, elbow_number
