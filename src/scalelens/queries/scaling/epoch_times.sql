-- Three times of each epoch: the whole epoch, its training part, its batches at the median; and the differences between them.
--
-- Answers: How long did an epoch take, and how much was not the median batch?
--   t_ep is epoch_s, t_tr is train_s, and n_steps times t_b (median_batch_s) is batches_s, as EPICURE's guide defines
--   them.
--   The epoch is the log's own span; a validation that follows it belongs to it, and then the epoch ends where the next
--   one begins.  The training part is logged, or it is the epoch without its validation, or the sum of its batches if
--   each is logged.
--   epoch_s = batches_s + first_batch_s + tail_s + validation_s + startup_s + rest_s, exactly.  A part that the log
--   does not show is NULL, and is contained in rest_s; what ran in parallel to another part counts in both, and makes
--   rest_s negative.
--
-- Formula: epoch_s = batches_s + first_batch_s + tail_s + validation_s + startup_s + rest_s, with batches_s = n_steps *
--   median_batch_s, first_batch_s = first batch - median_batch_s, and tail_s what the others took beyond the median.
--   rest_s is what is left.
--
-- Reference: EPICURE, Best Practice Guide on AI Workloads, 5.2: t_ep, t_tr and the median batch time t_b
--
-- Assumptions: A validation belongs to the epoch that it follows, by the clock, by its number, or by its line.
--
-- Limits: A log such as Keras' rounds the times of epochs to whole seconds, which is seen in the times themselves: the
--   rate is then between samples_per_s_low and samples_per_s_high.  first_batch_s and tail_s need every batch of the epoch.  What ran in parallel to another part counts twice,
--   so rest_s may be below 0.
--
-- Glance: run_id epoch epoch_s train_s median_batch_s n_steps samples_per_s validation_s tail_s first_batch_s startup_s
--   rest_s is_cut train_origin attempt
--
-- When empty: no log times an epoch
--
-- Partition: run_id
--
-- Sources: phases, members, params, runs, selected_runs, selected_steps
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id            VARCHAR           run
--   attempt           INTEGER           restart
--   epoch             DOUBLE            epoch, from 0
--   epoch_s           DOUBLE s          t_ep: the whole epoch, on the slowest of several ranks; NULL where no log has
--                                       it
--   train_s           DOUBLE s          t_tr: its training part
--   train_origin      VARCHAR           logged, epoch (without its validation) or batches (their sum)
--   n_steps           BIGINT            batches of the epoch; NULL where not known
--   median_batch_s    DOUBLE s          t_b: median batch of the epoch, over the records that no rule leaves out
--   batches_s         DOUBLE s          n_steps times median_batch_s
--   first_batch_s     DOUBLE s          what the first batch took beyond the median; NULL unless every batch is logged
--   tail_s            DOUBLE s          what the other batches took beyond the median, less what faster ones saved
--   validation_s      DOUBLE s          validation
--   startup_s         DOUBLE s          start-up and compilation within the epoch, outside of its batches
--   rest_s            DOUBLE s          what is left: checkpoints, loading between batches, what no log shows
--   samples           DOUBLE samples    samples of the training part
--   samples_per_s     DOUBLE samples/s  these over the time of the training part, else of the epoch
--   samples_per_s_low  DOUBLE samples/s  least rate that the times allow; NULL unless they are in whole seconds
--   samples_per_s_high  DOUBLE samples/s  the largest
--   is_cut            BOOLEAN           whether it is the last epoch of its attempt and less than half as long as those
--                                       before it, the first apart
WITH
spans AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, phase, epoch, step, p.origin AS span_origin, span_s, samples, file_id, line, ts_origin,
        epoch_us(ts) / 1e6 AS ends, ends - span_s AS begins,
        coalesce(rank, 0) = min(coalesce(rank, 0)) OVER (PARTITION BY run_id, phase) AS is_first_rank
    FROM phases AS p
    WHERE span_s > 0 AND run_id IN (FROM selected_runs(runs := runs))
        AND phase IN ('epoch', 'train', 'validation', 'evaluation', 'startup', 'compile')
        AND (file_id, part) NOT IN (SELECT (file_id, part) FROM members WHERE why = 'twin')
        AND (exclude = 'none' OR run_id NOT IN (SELECT run_id FROM params WHERE key = 'writers' AND value = 'ambiguous'))),
whole_epochs AS (
    SELECT *, lead(begins) OVER of_clock AS next_begins, lead(epoch) OVER of_clock AS next_epoch,
        step - lag(step) OVER (PARTITION BY run_id, attempt ORDER BY epoch) AS steps_since
    FROM (FROM spans WHERE phase = 'epoch' AND epoch = floor(epoch)
        QUALIFY row_number() OVER (PARTITION BY run_id, attempt, epoch ORDER BY span_origin DESC, span_s DESC, line) = 1)
    WINDOW of_clock AS (PARTITION BY run_id, attempt, ts_origin ORDER BY epoch)),
trained AS (
    SELECT run_id, attempt, epoch, max(span_s) AS span_s, max(samples) AS samples
    FROM spans WHERE phase = 'train' AND epoch = floor(epoch) GROUP BY run_id, attempt, epoch),
validations AS (FROM spans WHERE phase IN ('validation', 'evaluation') AND is_first_rank),
-- A validation belongs to an epoch by the clock that they share, else by its number, else by its line.
validations_of_epochs AS (
    SELECT t.run_id, t.attempt, w.epoch, t.phase, t.span_s, (t.begins + t.ends) / 2 < w.ends AS is_inside
    FROM validations AS t ASOF JOIN whole_epochs AS w ON t.run_id = w.run_id AND t.attempt = w.attempt AND t.ts_origin = w.ts_origin
        AND t.begins + 0.001 >= w.begins
    UNION ALL
    SELECT t.run_id, t.attempt, t.epoch, t.phase, t.span_s, coalesce(w.span_s - r.span_s, 0) >= t.span_s / 2
    FROM validations AS t LEFT JOIN whole_epochs AS w USING (run_id, attempt, epoch) LEFT JOIN trained AS r USING (run_id, attempt, epoch)
    WHERE t.begins IS NULL AND t.phase = 'validation' AND t.epoch = floor(t.epoch)
    UNION ALL
    SELECT t.run_id, t.attempt, w.epoch, t.phase, t.span_s, false
    FROM (FROM validations AS t ANTI JOIN whole_epochs AS w ON t.run_id = w.run_id AND t.ts_origin = w.ts_origin) AS t
    ASOF JOIN whole_epochs AS w ON t.run_id = w.run_id AND t.attempt = w.attempt AND t.file_id = w.file_id AND t.line > w.line
    WHERE t.phase = 'evaluation'),
-- Some logs have both the program's validation and the evaluation of a library around it: one of them counts.
validated AS (
    -- Summed in order, so that the last digit does not depend on the number of threads.
    SELECT run_id, attempt, epoch, sum(span_s ORDER BY span_s) AS validation_s,
        coalesce(sum(span_s ORDER BY span_s) FILTER (WHERE is_inside), 0) AS inside_s,
        sum(span_s ORDER BY span_s) FILTER (WHERE NOT is_inside) AS after_s
    FROM (FROM validations_of_epochs QUALIFY phase = max(phase) OVER (PARTITION BY run_id)) GROUP BY run_id, attempt, epoch),
startups AS (
    SELECT w.run_id, w.attempt, w.epoch, sum(s.span_s ORDER BY s.span_s) AS startup_s
    FROM spans AS s JOIN whole_epochs AS w ON s.run_id = w.run_id AND s.attempt = w.attempt AND s.ts_origin = w.ts_origin
        AND s.begins + 0.001 >= w.begins AND s.ends <= w.ends + 0.001
    WHERE s.phase IN ('startup', 'compile') AND s.is_first_rank GROUP BY w.run_id, w.attempt, w.epoch),
records AS (
    SELECT *, step - averaged_steps AS step_before
    FROM selected_steps(runs := runs, warmup := warmup, exclude := exclude)
    WHERE value_kind IN ('instant', 'interval_mean') AND epoch = floor(epoch) AND step IS NOT NULL),
batches AS (
    SELECT run_id, attempt, epoch, sum(averaged_steps)::BIGINT AS n_covered, max(step) AS last_step, min(step_before) AS step_before,
        coalesce(median(step_s) FILTER (WHERE excluded_by IS NULL), median(step_s)) AS median_batch_s,
        sum(step_s * averaged_steps ORDER BY position_in_run) AS covered_s,
        CASE WHEN max(averaged_steps) = 1 AND bool_and(value_kind = 'instant') THEN arg_min(step_s, step) END AS first_s,
        sum(samples * averaged_steps ORDER BY position_in_run) AS samples, min(ts) AS begun_at
    FROM records GROUP BY run_id, attempt, epoch),
-- As the log states it, such as `[50/500]`.
iterations AS (
    SELECT run_id, list(TRY_CAST(value AS DOUBLE)) AS stated FROM params
    WHERE key IN ('iterations_per_epoch', 'steps_per_epoch', 'batches_per_epoch') GROUP BY run_id),
consecutive AS (
    SELECT *, n_covered = last_step - step_before AND n_covered >= 3
        AND (step_before <= 0 OR step_before = lag(last_step) OVER of_attempt) AS starts_in_log,
        lead(step_before) OVER of_attempt = last_step AS is_followed,
        max(step_before) OVER (PARTITION BY run_id, attempt) <= 0 AS counts_anew,
        lag(epoch) OVER of_attempt IS NOT NULL AS is_later,
        (epoch_us(lead(begun_at) OVER of_attempt) - epoch_us(begun_at)) / 1e6 AS until_next_s
    FROM batches WINDOW of_attempt AS (PARTITION BY run_id, attempt ORDER BY epoch)),
-- Every batch is there if no step is missing, also before the epoch, and another epoch follows or an earlier one that has
-- every batch was no longer.  Where each epoch counts its steps anew, the longest ones are whole if there are several.
-- Fewer than the log states are not all, nor are those that take less than a quarter of the time to the next epoch.
batches_known AS (
    SELECT c.*, starts_in_log AND coalesce(len(list_filter(stated, lambda n: abs(n - n_covered) <= 1)) > 0, true)
        AND coalesce(until_next_s <= 4 * covered_s, true)
        AND (is_followed OR stated IS NOT NULL OR (is_later AND CASE
            WHEN counts_anew THEN n_covered = max(n_covered) OVER of_attempt
                AND count(*) OVER (PARTITION BY run_id, attempt, n_covered) > 1
            ELSE n_covered >= max(n_covered) FILTER (starts_in_log AND is_followed) OVER of_attempt END)) AS seems_whole
    FROM consecutive AS c LEFT JOIN iterations USING (run_id)
    WINDOW of_attempt AS (PARTITION BY run_id, attempt)),
keys AS (
    SELECT run_id, attempt, epoch FROM whole_epochs UNION SELECT run_id, attempt, epoch FROM trained
    UNION SELECT run_id, attempt, epoch FROM batches_known),
times AS (
    SELECT k.*, median_batch_s, first_s, v.validation_s, startup_s,
        seems_whole AND coalesce(4 * b.covered_s >= coalesce(t.span_s, w.span_s - coalesce(inside_s, 0) - coalesce(startup_s, 0)), true)
            AND coalesce(coalesce(t.samples, w.samples) / nullif(global_batch_size, 0) <= n_covered + 1, true)
            AND coalesce(steps_since <= n_covered + 1, true) AS has_every_batch,
        CASE WHEN after_s IS NULL THEN w.span_s
            ELSE coalesce(CASE WHEN next_epoch = epoch + 1 THEN next_begins - begins END, w.span_s + after_s) END AS epoch_s,
        CASE WHEN t.span_s IS NOT NULL THEN 'logged'
            WHEN w.span_s IS NOT NULL AND count(inside_s) OVER (PARTITION BY run_id) > 0 THEN 'epoch'
            WHEN has_every_batch THEN 'batches' END AS train_origin,
        CASE train_origin WHEN 'logged' THEN t.span_s WHEN 'epoch' THEN w.span_s - coalesce(inside_s, 0)
            WHEN 'batches' THEN b.covered_s END AS train_s,
        CASE WHEN has_every_batch THEN b.covered_s END AS covered_s,
        coalesce(t.samples, w.samples, CASE WHEN has_every_batch THEN b.samples END) AS logged_samples,
        coalesce(CASE WHEN has_every_batch THEN n_covered END, round(logged_samples / global_batch_size),
            steps_since)::BIGINT AS n_steps,
        coalesce(logged_samples, n_steps * global_batch_size) AS samples
    FROM keys AS k JOIN runs USING (run_id)
    LEFT JOIN whole_epochs AS w USING (run_id, attempt, epoch) LEFT JOIN trained AS t USING (run_id, attempt, epoch)
    LEFT JOIN validated AS v USING (run_id, attempt, epoch) LEFT JOIN startups USING (run_id, attempt, epoch)
    LEFT JOIN batches_known AS b USING (run_id, attempt, epoch)),
ordered AS (
    SELECT *, coalesce(train_s, epoch_s) AS span_s, lead(epoch) OVER of_attempt IS NULL AS is_last,
        lag(epoch) OVER of_attempt IS NULL AS is_first
    FROM times WHERE coalesce(epoch_s, train_s) > 0 WINDOW of_attempt AS (PARTITION BY run_id, attempt ORDER BY epoch)),
judged AS (
    SELECT *, coalesce(is_last AND has_every_batch IS NOT TRUE
        AND span_s < 0.5 * median(span_s) FILTER (WHERE NOT is_first AND NOT is_last) OVER (PARTITION BY run_id, attempt), false)
        AS is_cut,
        bool_and(span_s = round(span_s) AND span_s > 1) OVER (PARTITION BY run_id) AS is_of_whole_seconds,
        if(train_origin = 'epoch' AND validation_s IS NOT NULL, 1.0, 0.5) AS rounding_s  -- of one time, or of two
    FROM ordered),
wanted_epochs AS (
    SELECT string_split(span, '-')[1]::INTEGER AS first_epoch, string_split(span, '-')[-1]::INTEGER AS last_epoch
    FROM (SELECT unnest(string_split(epochs::VARCHAR, ',')) AS span) WHERE trim(span) <> '')
SELECT run_id, attempt, epoch, epoch_s, train_s, train_origin, n_steps, median_batch_s, n_steps * median_batch_s AS batches_s,
    CASE WHEN has_every_batch THEN first_s - median_batch_s END AS first_batch_s,
    covered_s - n_steps * median_batch_s - coalesce(first_s - median_batch_s, 0) AS tail_s,
    validation_s, startup_s,
    epoch_s - coalesce(batches_s, 0) - coalesce(first_batch_s, 0) - coalesce(tail_s, 0) - coalesce(validation_s, 0)
        - coalesce(startup_s, 0) AS rest_s,
    samples, samples / span_s AS samples_per_s, CASE WHEN is_of_whole_seconds THEN samples / (span_s + rounding_s) END AS samples_per_s_low,
    CASE WHEN is_of_whole_seconds THEN samples / (span_s - rounding_s) END AS samples_per_s_high, is_cut
FROM judged
WHERE (trim(epochs::VARCHAR) = '' OR EXISTS (FROM wanted_epochs WHERE epoch BETWEEN first_epoch AND last_epoch))
ORDER BY run_id, attempt, epoch
